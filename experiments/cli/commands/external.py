"""What `validate --external` prints: false alarms in free motion, thresholds, and marked pushes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stribeck.experiments.cli.common import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from stribeck.experiments.cli.screen.console import Console
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.external.judged_run import ExternalValidation, JointExternal
    from stribeck.ident.log.run import Run

_SHOWN = 0.01  # share of fast motion that a note tells


def validate_external(
    run: "Run",
    calibrations: "dict[str, Calibration]",
    pushes: Path | None,
    gain: float,
    false_alarms: float,
    out: Path | None,
    text: "Console",
    as_json: bool,
) -> bool:
    """Observe external torque in a run with each calibration, print what it
    shows; return whether all pass.
    """
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.report.comparison import PAGE
    from stribeck.experiments.report.pages.external_page import (
        JOINTS,
        PUSHES,
        external_verdict,
        joint_rows,
        push_rows,
        write_external,
    )
    from stribeck.experiments.report.plots.external_plot import plot_external
    from stribeck.ident.errors import about_file
    from stribeck.ident.external.judged_run import judge_external
    from stribeck.ident.external.pushes import read_pushes

    marked = [] if pushes is None else read_pushes(pushes, run.names, float(run.t[-1]))
    found: dict[str, ExternalValidation] = {}
    notes: list[str] = []
    for path, calibration in calibrations.items():
        with about_file(path):
            found[path] = judge_external(run, calibration, marked, gain, false_alarms)
    text.print(f"run       {run.path}, {run.duration:.0f} s")
    for path, one in found.items():
        text.print(
            f"observer  {path}: gain {gain:g} 1/s ({1e3 / gain:.3g} ms), noise may cause "
            f"{false_alarms:g} false alarms per hour and joint"
        )
        text.print(fitted(_table(JOINTS, joint_rows(one)), text.width))
        if marked:
            text.print(fitted(_table(PUSHES, push_rows(one)), text.width))
        for note in (own := list(_notes(path, one))):
            text.print(f"note      {note}")
        notes += own
        text.print(f"verdict   {path}: {external_verdict(one)}")
    if out is not None:
        if out.suffix == PAGE:
            write_external(run, found, notes, out)
        else:
            plot_external(next(iter(found.values())).joints, out)
        text.print(f"wrote     {out}")
    passed = not any(one.failed for one in found.values())
    if as_json:
        print_json(
            {
                "run": str(run.path),
                "gain": gain,
                "false_alarms": false_alarms,
                "passed": passed,
                "calibrations": [
                    {
                        "path": path,
                        "joints": {name: _numbers(joint) for name, joint in one.joints.items()},
                        "left_out": one.left_out,
                    }
                    for path, one in found.items()
                ],
            },
            [] if out is None else [out],
        )
    return passed


def _notes(path: str, one: "ExternalValidation") -> Iterator[str]:
    """What was not observed, or only with wide thresholds."""
    for reason in one.left_out.values():
        yield f"{path}: {reason}; it is not observed"
    for name, joint in one.joints.items():
        if joint.faster > _SHOWN:
            yield (
                f"{path}: {name} slides faster than the calibration covers in "
                f"{100.0 * joint.faster:.0f} % of the time; "
                "thresholds are wide there, and yet friction may differ by more"
            )
    quiet = [
        f"{name} {joint.undetectable[1]:.3g} {joint.unit}"
        for name, joint in one.joints.items()
        if joint.undetectable
    ]
    if quiet:
        yield (
            f"{path}: friction of a resting joint may have any value up to its static level; "
            f"pushes at rest are undetectable below {', '.join(quiet)}"
        )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("joint", "joint is") else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _numbers(joint: "JointExternal") -> dict[str, Any]:
    keys = (
        "moving",
        "resting",
        "faster",
        "threshold",
        "undetectable",
        "false_alarms",
        "per_hour",
        "rate",
        "unit",
    )
    return {
        **{key: getattr(joint, key) for key in keys},
        "pushes": [
            {
                **asdict(judged.push),
                "delay": judged.delay,
                "resting": judged.resting,
                "observed": judged.torque,
                "threshold": judged.threshold,
            }
            for judged in joint.pushes
        ],
    }
