"""What `validate --external` prints: false alarms in free motion, thresholds, and marked pushes."""

from collections.abc import Sequence
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

_SHOWN = 0.01           # share of fast motion that a note tells


def validate_external(run: "Run", calibrations: "dict[str, Calibration]", pushes: Path | None, gain: float, false_alarms: float,
                      out: Path | None, text: "Console", as_json: bool) -> bool:
    """Observe external torque in a run with each calibration, print what it shows; return whether all pass."""
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.ident.errors import about_file
    from stribeck.ident.external.judged_run import judge_external
    from stribeck.ident.external.pushes import read_pushes

    marked = [] if pushes is None else read_pushes(pushes, run.names, float(run.t[-1]))
    found = {}
    for path, calibration in calibrations.items():
        with about_file(path):
            found[path] = judge_external(run, calibration, marked, gain, false_alarms)
    text.print(f"run       {run.path}, {run.duration:.0f} s")
    for path, one in found.items():
        text.print(f"observer  {path}: gain {gain:g} 1/s ({1e3 / gain:.3g} ms), noise may cause {false_alarms:g} false "
                   "alarms per hour and joint")
        text.print(fitted(_joints(one), text.width))
        if marked:
            text.print(fitted(_pushes(one), text.width))
        for reason in one.left_out.values():
            text.print(f"note      {path}: {reason}; it is not observed")
        for name, joint in one.joints.items():
            if joint.faster > _SHOWN:
                text.print(f"note      {path}: {name} slides faster than the calibration covers in {100.0 * joint.faster:.0f} % "
                           "of the time; thresholds are wide there, and yet friction may differ by more")
        quiet = [f"{name} {joint.undetectable[1]:.3g} {joint.unit}" for name, joint in one.joints.items() if joint.undetectable]
        if quiet:
            text.print(f"note      {path}: friction of a resting joint may have any value up to its static level; pushes at "
                       f"rest are undetectable below {', '.join(quiet)}")
        text.print(f"verdict   {path}: {_verdict(one)}")
    if out is not None:
        from stribeck.experiments.report.plots.external_plot import plot_external

        plot_external(next(iter(found.values())).joints, out)
        text.print(f"wrote     {out}")
    passed = not any(one.failed for one in found.values())
    if as_json:
        print_json({"run": str(run.path), "gain": gain, "false_alarms": false_alarms, "passed": passed, "calibrations": [
            {"path": path, "joints": {name: _numbers(joint) for name, joint in one.joints.items()}, "left_out": one.left_out}
            for path, one in found.items()]}, [] if out is None else [out])
    return passed


def _verdict(one: "ExternalValidation") -> str:
    alarms = sum(joint.false_alarms for joint in one.joints.values())
    free = max(joint.moving + joint.resting for joint in one.joints.values())
    pushes = [push for joint in one.joints.values() for push in joint.pushes]
    said = f"{alarms or 'no'} false alarm{'s' * (alarms != 1)} in {free:.0f} s of free motion"
    if pushes:
        said += f"; {sum(push.delay is not None for push in pushes)} of {len(pushes)} pushes found"
    return f"fails for {', '.join(one.failed)}: {said}" if one.failed else f"passes: {said}"


def _joints(one: "ExternalValidation") -> "Table":
    """Table with one row per joint: free time, thresholds and false alarms."""
    rows = [(name, f"{joint.moving:.0f} s", _median(joint.threshold, joint.unit), _median(joint.undetectable, joint.unit),
             f"{joint.false_alarms}", f"{joint.rate[0]:.3g} to {joint.rate[1]:.3g}{' (fails)' if name in one.failed else ''}")
            for name, joint in one.joints.items()]
    return _table(("joint", "moving", "threshold, moving", "threshold, at rest", "false alarms", "per hour (95 %)"), rows)


def _pushes(one: "ExternalValidation") -> "Table":
    """Table with one row per marked push."""
    rows = [(name, f"{judged.push.start:.2f} s", "at rest" if judged.resting else "moving",
             "-" if judged.push.torque is None else f"{judged.push.torque:.3g} {joint.unit}", f"{judged.torque:.3g} {joint.unit}",
             f"{judged.threshold:.3g}", "missed" if judged.delay is None else f"{1e3 * judged.delay:.0f} ms")
            for name, joint in one.joints.items() for judged in joint.pushes]
    return _table(("joint", "push", "joint is", "true", "observed", "threshold", "found after"), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("joint", "joint is") else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _median(values: tuple[float, float, float] | None, unit: str) -> str:
    return "-" if values is None else f"{values[1]:.3g} {unit}"


def _numbers(joint: "JointExternal") -> dict[str, Any]:
    keys = ("moving", "resting", "faster", "threshold", "undetectable", "false_alarms", "per_hour", "rate", "unit")
    return {**{key: getattr(joint, key) for key in keys}, "pushes": [
        {**asdict(judged.push), "delay": judged.delay, "resting": judged.resting, "observed": judged.torque,
         "threshold": judged.threshold} for judged in joint.pushes]}
