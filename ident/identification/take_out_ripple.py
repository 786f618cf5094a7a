"""Between reduction and fit: find torque that ripples with position, take it out of the
samples, and reduce them again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns, reduce_runs
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import dead_torques
from stribeck.ident.log.strokes import Stroke
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.ripple.find_ripple import JointRipple, find_ripple
from stribeck.ident.ripple.known_orders import known_orders
from stribeck.ident.ripple.passages import Passage, of_motion, of_strokes
from stribeck.ident.ripple.wave import Wave


@dataclass(frozen=True)
class SoughtRipple:
    """Ripple of all joints; empty if it was not sought."""

    joints: Mapping[str, JointRipple] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Claims, and orders that the samples cannot tell."""
        return tuple(finding for joint in self.joints.values() for finding in joint.findings)

    def waves(self, name: str) -> tuple[Wave, ...]:
        """Return the claimed harmonics of a joint."""
        return self.joints[name].waves if name in self.joints else ()


NO_RIPPLE = SoughtRipple()


def take_out_ripple(
    chosen: ChosenRuns, reduced: ReducedRuns
) -> tuple[ChosenRuns, ReducedRuns, SoughtRipple]:
    """Return the runs without the ripple that is claimed, reduced again; unchanged
    with ``ripple = "none"``.
    """
    if reduced.options.ripple == "none":
        return chosen, reduced, NO_RIPPLE
    log = reduced.log(chosen.runs, reduced.mechanisms) if reduced.options.motion != "none" else None
    dead = {name for run in chosen.runs for name in dead_torques(run)}
    found = SoughtRipple(
        {
            name: _of_joint(chosen, reduced, log, name)
            for name in reduced.mechanism.names
            if name not in dead
        }
    )
    if not any(joint.waves for joint in found.joints.values()):
        return chosen, reduced, found
    runs = tuple(
        _without(run, found, log, reduction.strokes)
        for run, reduction in zip(chosen.runs, reduced.reductions, strict=True)
    )
    chosen = replace(chosen, runs=runs)
    return chosen, reduce_runs(chosen, reduced.options), found


def _of_joint(chosen: ChosenRuns, reduced: ReducedRuns, log: Log | None, name: str) -> JointRipple:
    """Return the ripple of one joint, from strokes or from general motion."""
    mechanism = reduced.mechanism
    joint = mechanism.names.index(name)
    passages: list[Passage] = []
    if log is None:
        for run, own, reduction in zip(
            chosen.runs, reduced.mechanisms, reduced.reductions, strict=True
        ):
            passages += of_strokes(run, own, reduction.strokes, joint)
    else:
        try:
            passages = of_motion(log, name)
        except FitError:  # the fit of the joint says why
            return JointRipple()
    return find_ripple(
        name,
        passages,
        known_orders(chosen.arm.joint(name), _coupled(mechanism, joint)),
        mechanism.unit(joint),
    )


def _coupled(mechanism: Mechanism, joint: int) -> bool:
    """Whether motors that move several joints move this one."""
    return mechanism.transmission is not None and bool(mechanism.transmission.motors_of(joint))


def _without(run: Run, found: SoughtRipple, log: Log | None, strokes: tuple[Stroke, ...]) -> Run:
    """Return a run whose torque lacks the ripple of its strokes, or of its general motion."""
    tau = run.signals["tau"].copy()
    for name, ripple in found.joints.items():
        joint = run.names.index(name)
        if not ripple.waves or ripple.fit is None:
            continue
        if log is None:
            for stroke in strokes:
                if stroke.joint == joint:
                    q = run.signals["q"][stroke.rows, joint]
                    tau[stroke.rows, joint] -= ripple.torque(
                        q, np.full(len(q), stroke.direction * stroke.speed), _period(run)
                    )
            continue
        for part in log.stretches:
            if part.run.path == run.path:
                rows = slice(*np.searchsorted(run.t, (part.t[0], part.t[-1])).tolist())
                dq: Array = np.interp(run.t[rows], part.t, part.dq[:, joint])
                tau[rows, joint] -= ripple.torque(run.signals["q"][rows, joint], dq, _period(run))
    return replace(run, signals={**run.signals, "tau": tau})


def _period(run: Run) -> float:
    """Time between samples [s]."""
    return float(np.ptp(run.t)) / max(1, run.rows - 1)
