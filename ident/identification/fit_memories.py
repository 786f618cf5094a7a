"""Stage of identification after the fits of joints: friction with memory, from reversals
that the positions resolve.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.general_motion import DELAY
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.judge_joints import JudgedJoints
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.laws.quantity import DAMPING, DISTANCE, STIFFNESS
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.memory.arm_samples import arm_samples
from stribeck.ident.memory.choose_memory import beats_shift, choose_memory, reach
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.memory.memory_fit import MemoryFit
from stribeck.ident.memory.memory_result import with_intervals
from stribeck.ident.memory.states.memories import NONE

LATE = "late torque"
# findings about a law without memory
_OF_LAWS = "lack of fit", "stick-slip", "law", "correlation", "closed loop"
_REVERSALS = 8  # least number of reversals that show a memory
_LAGS = 0.002 * 1.6 ** np.arange(11)  # s; delays of the torque that compete with a memory
_NORMAL = 1.96  # half width of a 95 % interval in standard errors


@dataclass(frozen=True)
class FittedMemories:
    """Memories of the joints that show one.

    Attributes
    ----------
    joints : dict of str to JointMemory
        Memory of each joint that has one.
    findings : tuple of Finding
        Joints without memory, and why.
    together : dict of str to JointFit
        Joints of general motion whose sliding law was fitted together with the memory.
    """

    joints: Mapping[str, JointMemory]
    findings: tuple[Finding, ...] = ()
    together: Mapping[str, JointFit] = field(default_factory=dict)

    def without_explained(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings without those that memory explains: torque that seems late, laws that
        do not fit without memory.
        """
        moot = {LATE: self.joints, **dict.fromkeys(_OF_LAWS, self.together)}
        return [one for one in findings if one.joint not in moot.get(one.kind, ())]

    def applied(self, judged: JudgedJoints) -> JudgedJoints:
        """Return the joints with the laws that were fitted together with a memory."""
        return replace(
            judged,
            joints={name: self.together.get(name, joint) for name, joint in judged.joints.items()},
        )


NO_MEMORIES = FittedMemories({})


def fit_memories(
    chosen: ChosenRuns, reduced: ReducedRuns, joints: Mapping[str, JointFit]
) -> FittedMemories:
    """Fit the memory of fitted joints, with the law and load of their fits.

    With the option "auto", memory is sought in presliding runs; without such runs, in all runs, but
    only for joints whose torque seems late, since memory looks like a delay. With another option,
    it is sought for all joints, in presliding runs if there are any.
    """
    option = reduced.options.memory
    late = {one.joint for one in reduced.findings if one.kind == LATE}
    asked = (
        joints
        if option != "auto" or chosen.small
        else {name: one for name, one in joints.items() if name in late}
    )
    if option == "none" or not asked:
        return NO_MEMORIES
    runs, general = chosen.small or chosen.runs, reduced.options.motion != "none"
    log = reduced.log(runs, reduced.models_of(runs))
    found, together, findings = dict[str, JointMemory](), dict[str, JointFit](), list[Finding]()
    for name, joint in asked.items():
        try:
            fit, found[name] = _fitted(
                log, name, joint, "auto" if option == "any" else option, general
            )
        except FitError as error:
            if option != "auto" or chosen.small:
                findings.append(
                    Finding(name, "memory", f"{name} has no memory of reversals: {error}")
                )
            continue
        if general:
            together[name] = _with_law(joint, fit)
    return FittedMemories(found, tuple(findings), together)


def _fitted(
    log: Log, name: str, joint: JointFit, option: str, free: bool
) -> tuple[MemoryFit, JointMemory]:
    """Return fit and memory of a joint; `free`: all laws of sliding compete.

    Raises
    ------
    FitError
        If the motion shows no memory.
    """
    load = "none" if joint.fit.components else joint.fit.load
    data, resolution = arm_samples(log, name, load)
    if len(data.path.reversals) < _REVERSALS:
        raise FitError(
            f"it reverses {len(data.path.reversals)} times in these runs; at least {_REVERSALS} "
            "reversals are needed"
        )
    chosen = choose_memory(data, "auto" if free else joint.fit.law, option, resolution)
    fit, candidates = chosen.fit, chosen.candidates
    without = min(one.held_out_rmse for one in candidates if one.memory == NONE.name)
    if fit.memory.name == NONE.name:
        best = min(
            (one for one in candidates if one.memory != NONE.name),
            key=lambda one: one.held_out_rmse,
        )
        more = f"; {best.dismissed}" if best.dismissed else ""
        raise FitError(
            "none predicts left-out motion better than sliding friction alone (the best, "
            f"{best.memory}: error {best.held_out_rmse:.3g}, without memory {without:.3g}){more}"
        )
    if option == "auto" and (lag := _explained_by_lag(log, name, load, fit)):
        raise FitError(
            f"a torque that lags the motion by {1e3 * lag:.3g} ms explains the reversals as well "
            f"as {fit.memory.name} does"
        )
    parameters = {
        key: entry for key, entry in with_intervals(fit).items() if key in fit.memory.parameters
    }
    for key, entry in parameters.items():
        if key in (DISTANCE.name, STIFFNESS.name) and entry.verdict == "unidentifiable":
            raise FitError(
                f"{key} = {entry.value:.3g} ± {entry.half_width:.2g} {entry.unit} of "
                f"{fit.memory.name} is not "
                "determined; record more reversals, for example by run --experiment presliding"
            )
    parameters = _with_delay(parameters, joint.gravity.get("delay"))
    return fit, JointMemory(
        fit.memory.name, parameters, reach(fit), fit.held_out_rmse, without, fit.memory.distances
    )


def _with_law(joint: JointFit, fit: MemoryFit) -> JointFit:
    """Return the joint with the sliding law that was fitted together with its memory."""
    intervals = with_intervals(fit)
    own = fit.law.parameters(fit.data.load is not None)
    rows = [k for k, name in enumerate(fit.free) if name in own]
    # the test of feedback is one of the law without memory
    return replace(
        joint,
        loop=None,
        fit=replace(
            joint.fit,
            law=fit.law.name,
            parameters={name: intervals[name] for name in own},
            names=tuple(fit.free[k] for k in rows),
            covariance=fit.intervals.covariance[np.ix_(rows, rows)],
            rmse=fit.rmse,
            held_out_rmse=fit.held_out_rmse,
            lack_of_fit=(),
            stribeck_share=None,
            further_error=None,
            serial=0.0,
        ),
    )


def _explained_by_lag(log: Log, name: str, load: str, fit: MemoryFit) -> float:
    """Return the delay of the torque that explains the motion as well
    as a memory does [s], or 0.
    """
    for lag in _LAGS.tolist():
        if not beats_shift(fit, arm_samples(log, name, load, lag)[0]):
            return float(lag)
    return 0.0


def _with_delay(parameters: dict[str, Parameter], delay: Parameter | None) -> dict[str, Parameter]:
    """Return the parameters with the effect of a delay of the torque on the damping of bristles.

    A delay looks like less damping, by the stiffness times the delay. If gravity does not tell the
    delay, it may be some milliseconds.
    """
    if DAMPING.name not in parameters:
        return parameters
    late, error, note = (
        0.0,
        DELAY,
        (
            f"the interval allows for a delay of the torque by {1e3 * DELAY:.0f} ms (standard "
            "deviation), which looks like less damping"
        ),
    )
    if delay is not None and delay.value is not None and delay.std_error is not None:
        late, error, note = delay.value, delay.std_error, ""
    stiffness, damping = parameters[STIFFNESS.name].value, parameters[DAMPING.name]
    assert stiffness is not None
    assert damping.value is not None
    value = max(0.0, damping.value + stiffness * late)
    spread = float(np.hypot(damping.std_error or 0.0, stiffness * error))
    low, high = (
        value
        + way
        * float(np.hypot(0.0 if end is None else end - damping.value, _NORMAL * stiffness * error))
        for way, end in ((-1.0, damping.low), (1.0, damping.high))
    )
    low = max(0.0, low)
    return {
        **parameters,
        DAMPING.name: Parameter(
            value,
            spread,
            low,
            high,
            damping.unit,
            verdict(value, low, high),
            "; ".join(filter(None, (damping.note, note))),
        ),
    }
