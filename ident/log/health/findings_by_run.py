"""Findings of several runs, with the name of the run in each text, and
of the parts of a long run.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run


def name_runs(runs: Sequence[Run], found: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of several runs with the run in the text; findings that all
    runs share are merged to one.
    """
    if len(runs) == 1:
        return list(found[0])
    everywhere = [finding for finding in found[0] if all(finding in own for own in found)]
    return [
        replace(finding, text=f"all {len(runs)} runs: {finding.text}") for finding in everywhere
    ] + [
        replace(finding, text=f"{run.label}: {finding.text}")
        for run, own in zip(runs, found, strict=True)
        for finding in own
        if finding not in everywhere
    ]


def of_all_parts(found: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of a run from those of its parts: the first of each joint and kind,
    and how many parts have it.
    """
    if len(found) == 1:
        return list(found[0])
    first = {
        (finding.joint, finding.kind): finding
        for own in reversed(found)
        for finding in reversed(own)
    }
    counts = Counter(
        key for own in found for key in {(finding.joint, finding.kind) for finding in own}
    )
    return [
        replace(
            finding,
            text=f"{finding.text} ({counts[key]} of {len(found)} parts of this long recording "
            "have such a "
            "finding, this is the first)",
        )
        for key, finding in first.items()
    ]
