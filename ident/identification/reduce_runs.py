"""Second stage of identification: reduce every run to points, and add an unknown tool to the
model if the points show one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.fit.arm.between_runs import with_deviation
from stribeck.ident.fit.arm.unknown_tool import ToolFit, seek_tool
from stribeck.ident.fit.inertia.motor_friction import NO_MOTORS, MotorFriction
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.findings_by_run import name_runs
from stribeck.ident.log.health.motion_health import OF_STROKES, check_motion
from stribeck.ident.log.motion.filtered_motion import Log, filtered
from stribeck.ident.log.reduction.round_trips import Reduction, reduce_run
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

# largest bandwidth of general motion that a user may ask for, as a part of the sampling rate
_HIGHEST = 0.2


@dataclass(frozen=True)
class ReducedRuns:
    """Runs as points of round trips.

    Attributes
    ----------
    options : Options
        Options of the fits, as far as the points allow.
    mechanisms : tuple of Mechanism
        The model of each run, with the tool of its arm file and the unknown tool.
    reductions : tuple of Reduction
        Points of each run.
    tool : ToolFit
        Unknown tool that the even parts of all joints show.
    findings : tuple of Finding
        Findings about samples, motion and the tool.
    motors : MotorFriction
        Friction of motors that move several joints, if it was separated: points and logs of
        general motion exclude it.
    """

    options: Options
    mechanisms: tuple[Mechanism, ...]
    reductions: tuple[Reduction, ...]
    tool: ToolFit
    findings: tuple[Finding, ...]
    motors: MotorFriction = NO_MOTORS

    @property
    def mechanism(self) -> Mechanism:
        """The model of the first run, which the calibration states."""
        return self.mechanisms[0]

    @cached_property
    def points(self) -> pd.DataFrame:
        """Points of all runs."""
        # empty ones change types
        tables = [reduction.points for reduction in self.reductions if len(reduction.points)]
        return pd.concat(tables or [self.reductions[0].points], ignore_index=True)

    @cached_property
    def q(self) -> Array:
        """Positions of all joints at the points, shape (N, n) [rad or m]."""
        return np.concatenate([reduction.q for reduction in self.reductions])

    @cached_property
    def dq(self) -> Array:
        """Velocities of all joints at the points, shape (N, n) [rad/s or m/s]."""
        return np.concatenate([reduction.dq for reduction in self.reductions])

    def without(self, motors: MotorFriction) -> "ReducedRuns":
        """Return the runs with the friction of shared motors taken out of the odd parts."""
        coupled = self.mechanism.transmission
        if coupled is None:
            return self
        reductions = []
        for one in self.reductions:
            joint = one.points["joint"].map(self.mechanism.names.index).to_numpy(dtype=int)
            taken = motors.torque(coupled, one.dq)[np.arange(len(joint)), joint]
            reductions.append(replace(one, points=one.points.assign(odd=one.points["odd"] - taken)))
        return replace(self, reductions=tuple(reductions), motors=motors)

    def log(self, runs: Sequence[Run], mechanisms: Sequence[Mechanism]) -> Log:
        """Return the general motion of some of the runs; refuses a stated bandwidth that their
        sampling rate cannot show.
        """
        if (asked := self.options.bandwidth) is not None:
            for run in runs:
                highest = _HIGHEST / float(np.median(np.diff(run.t)))
                if asked > highest:
                    raise InputError(
                        f"{run.path}: bandwidth = {asked:g} Hz is too high for this sampling rate; "
                        f"it must be at most {highest:.3g} Hz"
                    )
        return self.motors.left_out_of(filtered(runs, mechanisms, asked))

    def models_of(self, runs: Sequence[Run]) -> tuple[Mechanism, ...]:
        """Return the model of each of some runs, which may not be those of the reductions."""
        return _mechanisms(runs, self.tool.unknown.tool)

    def with_models(self, runs: Sequence[Run], mechanisms: tuple[Mechanism, ...]) -> "ReducedRuns":
        """Return the same runs reduced with other models."""
        return replace(self, mechanisms=mechanisms, reductions=_reduced(runs, mechanisms))


def reduce_runs(chosen: ChosenRuns, options: Options) -> ReducedRuns:
    """Reduce runs to points. An unknown tool that the points identify becomes part of the model."""
    mechanisms = _mechanisms(chosen.runs)
    reductions = _reduced(chosen.runs, mechanisms)
    tool = _sought(chosen, mechanisms[0], reductions) if options.motion == "none" else ToolFit()
    if tool.unknown.tool is not None:
        mechanisms = _mechanisms(chosen.runs, tool.unknown.tool)
        reductions = _reduced(chosen.runs, mechanisms)
    options, about_tool = _usable(options, tool)
    return ReducedRuns(
        options,
        mechanisms,
        reductions,
        tool,
        (*_health(chosen, reductions, mechanisms[0], options.motion == "none"), *about_tool),
    )


def _mechanisms(runs: Sequence[Run], unknown: Tool | None = None) -> tuple[Mechanism, ...]:
    """Return the model of each run, with the tool of its arm file and an unknown tool."""
    known = {run.arm.tool: run.arm for run in runs}
    made = {tool: load_mechanism(arm, tool=unknown) for tool, arm in known.items()}
    return tuple(made[run.arm.tool] for run in runs)


def _reduced(runs: Sequence[Run], mechanisms: Sequence[Mechanism]) -> tuple[Reduction, ...]:
    return tuple(reduce_run(run, own) for run, own in zip(runs, mechanisms, strict=True))


def _sought(chosen: ChosenRuns, mechanism: Mechanism, reductions: Sequence[Reduction]) -> ToolFit:
    """Seek an unknown tool in the points of all runs, with the deviation between passes."""
    found = _seek(chosen.arm, mechanism, reductions)
    if len(chosen.passes) < 2 or not found.unknown.parameters:
        return found
    alone = [
        _seek(chosen.arm, mechanism, [reductions[k] for k in one]).unknown.parameters
        for one in chosen.passes
    ]
    return replace(
        found,
        unknown=replace(found.unknown, parameters=with_deviation(found.unknown.parameters, alone)),
    )


def _seek(arm: ArmFile, mechanism: Mechanism, reductions: Sequence[Reduction]) -> ToolFit:
    """Seek an unknown tool in the points of some runs; a closed chain has no last
    link that could carry a tool.
    """
    if mechanism.chain is not None:
        return ToolFit()
    return seek_tool(
        arm,
        mechanism,
        pd.concat([reduction.points for reduction in reductions], ignore_index=True),
        *(
            np.concatenate([getattr(reduction, key) for reduction in reductions])
            for key in ("q", "dq")
        ),
    )


def _health(
    chosen: ChosenRuns, reductions: Sequence[Reduction], mechanism: Mechanism, round_trips: bool
) -> list[Finding]:
    """Return the findings about all runs; findings about strokes only if round trips are fitted."""
    found = [
        (*log, *check_motion(run, reduction, mechanism.prismatic))
        for run, log, reduction in zip(chosen.runs, chosen.logs, reductions, strict=True)
    ]
    return [
        finding
        for finding in name_runs(chosen.runs, found)
        if round_trips or finding.kind not in OF_STROKES
    ]


def _usable(options: Options, tool: ToolFit) -> tuple[Options, list[Finding]]:
    """Return the options that remain possible with an unknown tool, and findings about the tool."""
    findings = []
    if tool.missing < 0.0:
        findings.append(
            Finding(
                None,
                "unknown tool",
                f"the measured gravity torque lacks about {-tool.missing:.2g} kg on the last link; "
                "check whether the tool that the arm file or the model states is mounted",
            )
        )
    if tool.unknown.status == "found" and options.torque_basis != "drive":
        options = replace(options, torque_basis="drive")
        findings.append(
            Finding(
                None,
                "torque basis",
                "the torque is not corrected by gravity: the torque scale includes an unknown "
                "tool, whose mass is not identified well enough; state the tool in the arm file",
            )
        )
    return options, findings
