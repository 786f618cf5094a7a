"""Stage of identification after the fits of joints: friction with memory, from reversals that the positions resolve."""

from collections.abc import Mapping
from dataclasses import dataclass

from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.memory.arm_samples import arm_samples
from stribeck.ident.memory.choose_memory import MemoryCandidate, choose_memory, reach
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.memory.memories import NONE
from stribeck.ident.memory.memory_fit import MemoryFit
from stribeck.ident.memory.memory_result import with_intervals


@dataclass(frozen=True)
class FittedMemories:
    """Memories of the joints that show one.

    Attributes
    ----------
    joints : dict of str to JointMemory
        Memory of each joint that has one.
    findings : tuple of Finding
        Joints without memory, and why.
    """

    joints: Mapping[str, JointMemory]
    findings: tuple[Finding, ...] = ()


NO_MEMORIES = FittedMemories({})


def fit_memories(chosen: ChosenRuns, reduced: ReducedRuns, joints: Mapping[str, JointFit]) -> FittedMemories:
    """Fit the memory of every fitted joint, with the law and load of its fit.

    With the option "auto", memory is sought in presliding runs only; otherwise in presliding runs if there are any, else in all
    runs.
    """
    option, runs = reduced.options.memory, chosen.small or chosen.runs
    if option == "none" or (option == "auto" and not chosen.small):
        return NO_MEMORIES
    log = reduced.log(runs, reduced.models_of(runs))
    found, findings = {}, []
    for name, joint in joints.items():
        try:
            memory, candidates = _fitted(log, name, joint, "auto" if option == "any" else option)
        except FitError as error:
            findings.append(Finding(name, "memory", f"{name} has no memory fitted: {error}"))
            continue
        if memory is None:
            findings.append(Finding(name, "memory", f"{name}: no memory predicts left-out motion better than the sliding law "
                                    f"alone ({_best(candidates)})"))
        else:
            found[name] = memory
    return FittedMemories(found, tuple(findings))


def _fitted(log: Log, name: str, joint: JointFit, option: str) -> tuple[JointMemory | None, tuple[MemoryCandidate, ...]]:
    """Return the memory of a joint, None if none predicts better, and all candidates."""
    load = "none" if joint.fit.components else joint.fit.load
    data, resolution = arm_samples(log, name, load)
    fit, candidates = choose_memory(data, joint.fit.law, option, resolution)
    if fit.memory.name == NONE.name:
        return None, candidates
    without = min((one.held_out_rmse for one in candidates if one.memory == NONE.name), default=float("nan"))
    return _memory(fit, without), candidates


def _memory(fit: MemoryFit, without: float) -> JointMemory:
    parameters = {name: entry for name, entry in with_intervals(fit).items() if name in fit.memory.parameters}
    return JointMemory(fit.memory.name, parameters, reach(fit), fit.held_out_rmse, without, fit.memory.distances)


def _best(candidates: tuple[MemoryCandidate, ...]) -> str:
    """Words about the best memory that did not win."""
    best = min((one for one in candidates if one.memory != NONE.name), key=lambda one: one.held_out_rmse)
    none = min((one.held_out_rmse for one in candidates if one.memory == NONE.name), default=float("nan"))
    return f"{best.memory}: error {best.held_out_rmse:.3g} against {none:.3g}" + (f"; {best.dismissed}" if best.dismissed else "")
