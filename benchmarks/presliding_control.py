"""A joint with bristles under position control: tracking errors after reversals
with friction feed-forward.

The joint is integrated in steps of 0.1 ms, and the controller runs at 1 kHz. Feed-forward is the
identified friction along the reference: without memory the sliding law, with memory `MemoryState`.
"""

import numpy as np

from benchmarks.presliding_truth import Case, Joint
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.memory.fit_memory import fit_memory
from stribeck.ident.memory.joint_memory import JointMemory, MemoryState, dry_level

Array = np.ndarray
# Hz of the controller, and steps of the physics in each of its periods
_RATE, _FINE = 1000, 10
_SECONDS = 20.0
_AFTER = 0.2  # s after a reversal in which errors count
_BANDWIDTH = 2.0 * np.pi * 3.0  # rad/s; of the position controller


def tracking_errors(seed: int) -> tuple[float, float]:
    """Return rms errors after reversals with the sliding law and with memory [mrad]; the
    law comes from a noisy log.
    """
    joint = Joint.drawn(seed)
    t, q, dq, ddq = _reference()
    found = fit_memory(*Case(seed).log(), law="stribeck", memory="lugre", gravity=False)
    law, values = (
        law_named(found.law),
        {name: found.values[name] for name in law_named(found.law).parameters(False)},
    )
    inertia, offset = (float(found.beside[name].value or 0.0) for name in ("inertia", "offset"))
    sliding = law.torque(dq, values)
    memory = JointMemory(
        found.memory,
        {name: found.parameters[name] for name in found.fit.memory.parameters},
        found.distance,
        found.held_out_rmse,
        found.held_out_rmse,
    )
    level = dry_level(law, values, dq, None)
    state = MemoryState(memory)
    dry = np.array(
        [
            state.follow(*sample)
            for sample in zip(q.tolist(), dq.tolist(), level.tolist(), strict=True)
        ]
    )
    remembered = sliding - level * np.sign(dq) + dry
    errors = [
        _driven(joint, q, dq, inertia * ddq + offset + friction, inertia)
        for friction in (sliding, remembered)
    ]
    turns = np.flatnonzero(np.diff(np.sign(dq)))
    near = np.zeros(len(t), dtype=bool)
    for turn in turns[1:]:
        near[turn : turn + round(_AFTER * _RATE)] = True
    without, with_memory = (1e3 * float(np.sqrt(np.mean(error[near] ** 2))) for error in errors)
    return without, with_memory


def _reference() -> tuple[Array, Array, Array, Array]:
    """Time, position, velocity and acceleration of a slow motion with long and short strokes."""
    t = np.arange(round(_SECONDS * _RATE)) / _RATE
    a, w = np.array([0.05, 0.02]), 2.0 * np.pi * np.array([0.2, 0.55])
    turn = w * t[:, None]
    return t, np.sin(turn) @ a, np.cos(turn) @ (a * w), -np.sin(turn) @ (a * w**2)


def _driven(joint: Joint, q: Array, dq: Array, forward: Array, inertia: float) -> Array:
    """Return position errors of the joint under proportional-derivative control
    with a feed-forward torque.
    """
    stiffness, damping = inertia * _BANDWIDTH**2, 2.0 * inertia * _BANDWIDTH
    dt = 1.0 / _RATE / _FINE
    x, w, bent, errors = float(q[0]), float(dq[0]), 0.0, np.empty(len(q))
    for k, (to, speed, push) in enumerate(
        zip(q.tolist(), dq.tolist(), forward.tolist(), strict=True)
    ):
        errors[k] = to - x
        torque = push + stiffness * (to - x) + damping * (speed - w)
        for _ in range(_FINE):
            level = float(joint.level(w))
            rate = w - joint.stiffness * abs(w) / level * bent
            rubs = joint.stiffness * bent + joint.damping * rate + joint.viscous * w + joint.offset
            w += dt * (torque - rubs) / joint.inertia
            rate = w - joint.stiffness * abs(w) / level * bent
            bent += dt * rate
            x += dt * w
    return errors
