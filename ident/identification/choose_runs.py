"""First stage of identification: choose the runs that count, all of one arm."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.arm.between_runs import runs_by_pass
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.breakaway import breakaway_table
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.run import BREAKAWAY, EXCITATION, PRESLIDING, Run, arm_sha256
from stribeck.ident.servo.servo_commands import POSITION_ERROR


@dataclass(frozen=True)
class ChosenRuns:
    """Runs of one arm, without duplicates.

    Attributes
    ----------
    arm : ArmFile
        Arm file of the first run with motion; the calibration states its tool.
    runs, ramps, small : tuple of Run
        Runs with motion; runs of torque ramps, which measure breakaway; and runs of small round
        trips, which show friction with memory. Without other runs with motion, `runs` has those
        of small round trips, too.
    logs : tuple of tuple of Finding
        Findings about the samples of each of `runs`.
    findings : tuple of Finding
        Runs that do not count, and why.
    """

    arm: ArmFile
    runs: tuple[Run, ...]
    ramps: tuple[Run, ...]
    logs: tuple[tuple[Finding, ...], ...]
    findings: tuple[Finding, ...]
    small: tuple[Run, ...] = ()

    @cached_property
    def passes(self) -> list[list[int]]:
        """Indices of the runs of each pass over the plan."""
        return runs_by_pass(self.runs)

    @cached_property
    def breakaway(self) -> pd.DataFrame:
        """Table of the pairs of torque ramps."""
        return breakaway_table(self.ramps)


def choose_runs(runs: Sequence[Run]) -> ChosenRuns:
    """Choose the runs that count towards a calibration, and check their samples.

    Raises
    ------
    InputError
        If the runs belong to different arms, a run is given twice, or a log cannot be used.
    FitError
        If all given runs are torque ramps.
    """
    check_one_arm(runs)
    ramps, moving = (
        [run for run in runs if run.purpose == BREAKAWAY],
        [run for run in runs if run.purpose != BREAKAWAY],
    )
    if not moving:
        raise FitError(
            f"{ramps[0].path}: all given runs are torque ramps, which measure breakaway from rest "
            "only; friction in motion needs a run with strokes"
        )
    moving, short = _without_stubs(moving)
    moving, copies = _without_copies(moving)
    ramps, more_copies = _without_copies(ramps)
    _check_labels([*moving, *ramps])
    small = [run for run in moving if run.purpose == PRESLIDING]
    moving = [run for run in moving if run.purpose != PRESLIDING] or small
    return ChosenRuns(
        moving[0].arm,
        tuple(moving),
        tuple(ramps),
        tuple(check_log(run) for run in moving),
        (*short, *copies, *more_copies),
        tuple(small),
    )


def options_for(chosen: ChosenRuns, options: Options) -> Options:
    """Return the options for these runs: if one of them is general motion, all are
    fitted as general motion.

    Raises
    ------
    InputError
        If an option needs round trips.
    """
    general = next((run for run in chosen.runs if run.purpose in (EXCITATION, PRESLIDING)), None)
    if general is None or options.motion != "none":
        return options
    try:
        return replace(options, motion="model")
    except InputError as error:
        article = "an" if general.purpose == EXCITATION else "a"
        raise InputError(
            f"{general.label} is {article} {general.purpose} run, so all runs are fitted as "
            f"general motion (--motion model): {error}; or name only the folders of the round "
            "trips, to fit them alone"
        ) from None


def check_one_arm(runs: Sequence[Run], servos: bool = False) -> None:
    """Refuse runs of different arms; only the tool may differ. Runs of servos
    without torque need `servos`.
    """
    if not runs:
        raise InputError("no run given")
    first = runs[0]
    for run in runs[1:]:
        if run.record.get("arm_sha256") != first.record.get("arm_sha256") and arm_sha256(
            run.arm, "tool"
        ) != arm_sha256(first.arm, "tool"):
            raise InputError(
                f"{run.path} was recorded with another arm file or model than {first.path}; runs "
                "fitted together may differ only in the tool"
            )
    if len(serials := {run.arm.serial: run for run in runs if run.arm.serial}) > 1:
        one, other, *_ = serials
        raise InputError(
            f"{serials[other].path} is of the arm with the serial number {other}, "
            f"{serials[one].path} of {one}; runs fitted together must be of one arm"
        )
    signals = {
        (run.record.get("import") or {}).get("torque_signal", run.arm.torque_signal) for run in runs
    }
    if len(signals) > 1:
        raise InputError(
            f"these runs have different torque signals ({', '.join(sorted(signals))}); fit the "
            "runs of each torque signal separately"
        )
    if POSITION_ERROR in signals and not servos:
        raise InputError(
            f"{first.path}: the run has set-points of servos and no torque; fit it with --signal "
            "commands"
        )
    if "joint sensor" in signals:
        raise InputError(
            f'{first.arm.path}: torque_signal = "joint sensor": a sensor behind the gear does not '
            "measure "
            "the gear's friction; log the motor current"
        )


def serial_of(runs: Sequence[Run]) -> str:
    """Return the serial number that runs of one arm state; empty if none does."""
    return next((run.arm.serial for run in runs if run.arm.serial), "")


def notes_of(runs: Sequence[Run]) -> str:
    """Return the different notes on runs, one after the other."""
    return "; ".join(dict.fromkeys(run.note for run in runs if run.note))


def _check_labels(runs: Sequence[Run]) -> None:
    """Refuse runs with the same name, such as two runs of different campaigns that were
    imported in the same second.
    """
    labels = [run.label for run in runs]
    for run in runs:
        if labels.count(run.label) > 1:
            raise InputError(
                f"{run.path}: another of the given runs has the same name, {run.label}; rename one "
                "of the two folders"
            )


def _without_stubs(runs: Sequence[Run]) -> tuple[list[Run], list[Finding]]:
    """Leave out runs that ended after their first sample (the path to the start was blocked);
    keep all if none is left.
    """
    stubs = [run for run in runs if run.rows <= 1]
    if len(stubs) == len(runs):
        return list(runs), []
    return [run for run in runs if run.rows > 1], [
        Finding(None, "ended", f"{run.label} ended after its first sample and is not fitted")
        for run in stubs
    ]


def _without_copies(runs: Sequence[Run]) -> tuple[list[Run], list[Finding]]:
    """Leave out runs with the same samples as another run: a simulated arm without
    noise repeats itself exactly.

    Raises
    ------
    InputError
        If a run or a copy of it is given twice.
    """
    seen: dict[str, Run] = {}
    findings = []
    for run in runs:
        if run.sha256 not in seen:
            seen[run.sha256] = run
            continue
        first = seen[run.sha256]
        if run.record.get("start") == first.record.get("start"):
            raise InputError(
                f"{run.path} is the same run as {first.path}; counted twice, it would make the "
                "intervals too narrow. Name each run once"
            )
        findings.append(
            Finding(
                None,
                "repeats",
                f"{run.label} equals {first.label} in every sample, which only a simulated "
                "arm without noise can do; it adds no information and is not counted",
            )
        )
    return list(seen.values()), findings
