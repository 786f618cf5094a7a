"""Torque at a limit, stated in the arm file or detected: a torque limit is not friction."""

import numpy as np

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run

_SATURATED = 0.98  # fraction of the torque limit that counts as saturated
_SATURATED_SHARE = 0.001  # share of saturated samples that is reported
# an unstated limit: the largest torque occurs this many times as often as the next lower value,
_PLATEAU = 10.0
_NEXT = 0.02  # and both differ by less than this part


def at_stated_limit(run: Run) -> list[Finding]:
    """Findings about joints whose torque is at the limit of the arm file."""
    limits, tau = (
        np.array([run.arm.joint(name).torque or np.inf for name in run.names]),
        run.signals["tau"],
    )
    findings = []
    for joint in np.flatnonzero(
        np.maximum(tau.max(axis=0), -tau.min(axis=0)) > _SATURATED * limits
    ):
        at_limit = np.abs(tau[:, joint]) > _SATURATED * limits[joint]
        if (share := float(at_limit.mean())) > _SATURATED_SHARE:
            name, first = run.names[joint], float(run.t[int(np.argmax(at_limit))])
            findings.append(
                Finding(
                    name,
                    "saturation",
                    f"torque of {name} is at its limit of {limits[joint]:.4g} in {100 * share:.1f} "
                    f"% of the samples, first at t = {first:.2f} s; the drive could not hold its "
                    "speed, and such torque does not show friction. Reduce speed and "
                    "acceleration, or choose a posture with less load",
                    first,
                )
            )
    return findings


def at_unstated_limit(run: Run) -> list[Finding]:
    """Findings about moving joints whose torque stays at its largest value: a limit below
    the limit of the arm file.
    """
    limits = np.array([run.arm.joint(name).torque or np.inf for name in run.names])
    findings = []
    for joint, name in enumerate(run.names):
        q, tau = run.signals["q"][:, joint], run.signals["tau"][:, joint]
        in_motion = np.append(q[1:] != q[:-1], False)
        for side, word, greatest in ((1.0, "above", np.max), (-1.0, "below", np.min)):
            top = side * float(greatest(tau, where=in_motion, initial=0.0))
            at_top = in_motion & (tau == side * top)
            if not 0.0 < top < _SATURATED * limits[joint] or at_top.mean() <= _SATURATED_SHARE:
                continue
            torque = np.where(in_motion, side * tau, 0.0)
            if not len(below := torque[torque < top]):
                continue
            following = float(below.max())
            if top - following < _NEXT * top and at_top.sum() > _PLATEAU * np.sum(
                below == following
            ):
                first = float(run.t[int(np.argmax(at_top))])
                findings.append(
                    Finding(
                        name,
                        "saturation",
                        f"torque of {name} is never {word} {side * top:.4g} and equals it in "
                        f"{100.0 * at_top.mean():.1f} % of the samples, first at t = {first:.2f} "
                        "s: a limit of the drive or of the log, not friction. Raise this limit, "
                        "or reduce speed and acceleration",
                        first,
                    )
                )
    return findings
