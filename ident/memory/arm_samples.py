"""Samples of one joint of an arm for friction with memory, from a log of the arm's motion."""

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import binary_dilation

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.memory.joint_samples import compared, play_width, resting
from stribeck.ident.memory.memory_data import MemoryData
from stribeck.ident.memory.states.path import Path

# s; of longer rests only this time on both sides is kept, as states do not change at rest
_REST = 0.5
# part of the cut-off of positions above which changes of the rigid-body torque count as jumps,
_SLOWER = 0.4
# if they exceed so many deviations of the noise, and this part of the torque's deviation
_NOISE, _TRIFLE = 2.0, 0.02
# least variation of the model's torque, as a part of that of the rest, from
# which its scale is fitted
_VARIES = 0.1


def _smooth(log: Log, part: Stretch, column: int) -> np.ndarray:
    """Mask of samples without an acceleration nearby that changes faster than the filter
    of the positions resolves.
    """
    rigid = part.rigid[:, column] + part.ddq @ part.run.rotor_inertia()[column]
    fast = np.abs(rigid - low_pass(rigid, _SLOWER * log.cutoff * log.dt))
    rest = part.tau[:, column] - rigid
    noise = 1.4826 * float(np.median(np.abs(np.diff(rest, 2)))) / np.sqrt(6.0)
    jumps = fast > max(_NOISE * noise, _TRIFLE * float(np.std(rest)))
    return np.asarray(
        ~binary_dilation(jumps, np.ones(2 * round(1.0 / log.cutoff / log.dt) + 1, dtype=bool))
    )


def arm_samples(log: Log, joint: str, load: str, late: float = 0.0) -> tuple[MemoryData, float]:
    """Return the samples of a joint, and the displacement that its position signal
    cannot resolve [rad or m].

    Parameters
    ----------
    log : Log
        Filtered motion with the model's torques.
    joint : str
        Name of the joint.
    load : str
        Load with which its friction grows; "none" without.
    late : float
        Delay of the torque signal, which is taken out [s].
    """
    run = log.stretches[0].run
    column = run.names.index(joint)
    width = max(play_width(part.run, column, log.cutoff) for part in log.stretches)
    near = max(1, round(_REST / log.dt))
    kept = []
    for part in log.stretches:
        moves = Path.of(part.q[:, column], width).step != 0.0
        kept.append(np.flatnonzero(binary_dilation(moves, np.ones(2 * near + 1, dtype=bool))))
    sizes = np.array([len(rows) for rows in kept])
    begins = np.concatenate(([0], np.cumsum(sizes)[:-1]))[sizes > 0]

    def joined(values: Sequence[Array]) -> Array:
        return np.concatenate([own[rows] for own, rows in zip(values, kept, strict=True)])

    def own(key: str) -> Array:
        return joined([getattr(part, key)[:, column] for part in log.stretches])

    position, velocity, gain = (own(key) for key in ("q", "dq", "ddq"))
    torque = joined(
        [np.interp(part.t + late, part.t, part.tau[:, column]) for part in log.stretches]
    )
    rigid = own("rigid") + joined(
        [part.ddq @ part.run.rotor_inertia()[column] for part in log.stretches]
    )
    path = Path.of(position, width, begins if len(begins) else None, velocity, rest=resting(log.dt))
    known = np.concatenate(
        [part.known[rows, column] for part, rows in zip(log.stretches, kept, strict=True)]
    )
    used, rest = compared(path, log.dt) & known, torque - rigid
    used &= np.concatenate(
        [_smooth(log, part, column)[rows] for part, rows in zip(log.stretches, kept, strict=True)]
    )
    beside = {"offset": np.ones(len(position)), "inertia": gain}
    if len(rest) and np.ptp(rigid) > _VARIES * np.ptp(rest):
        beside["scale"] = rigid
    pressing = (
        None if load == "none" else joined([part.loads[load][:, column] for part in log.stretches])
    )
    return MemoryData(
        path,
        velocity,
        rest,
        pressing,
        beside,
        used,
        bool(log.stretches[0].prismatic[column]),
        joined([part.t for part in log.stretches]),
        position,
    ), 2.0 * width
