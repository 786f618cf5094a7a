"""Findings of several runs, with the name of the run in each text."""

from collections.abc import Sequence
from dataclasses import replace

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run


def name_runs(runs: Sequence[Run], found: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of several runs with the run in the text; findings that all runs share are merged to one."""
    if len(runs) == 1:
        return list(found[0])
    everywhere = [finding for finding in found[0] if all(finding in own for own in found)]
    return [replace(finding, text=f"all {len(runs)} runs: {finding.text}") for finding in everywhere] + [
        replace(finding, text=f"{run.label}: {finding.text}") for run, own in zip(runs, found, strict=True)
        for finding in own if finding not in everywhere]
