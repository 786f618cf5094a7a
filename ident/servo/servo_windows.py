r"""Motion of one joint that a servo moves by its position error, in windows of equal
length, with the model along it.

The joint alone obeys, while all others move as measured,

.. math:: [M_{jj} + J]\, \ddot q = k\, g\, (r - q) - b\, \dot q - \tau_f(\dot q, L) - h - G_c \cos q - G_s \sin q - \tau_0

with the stated gain g of the servo, its unknown torque k per gain and position error, and the
set-point r. Inertia, the gravity terms and what the other joints' motion adds (h) come from the
rigid-body model: no signal of torque is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Stretch, filtered
from stribeck.ident.log.run import Run
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.mechanism import Mechanism

LATEST = 0.05  # s; greatest delay of set-points
_WINDOW = 6.0  # s


@dataclass(frozen=True)
class ServoWindows:
    """R windows of N samples; windows that end early repeat their last sample
    and are not `known` there.

    Attributes
    ----------
    dt : float
        Sampling period [s].
    q : ndarray, shape (R, N)
        Measured positions [rad or m].
    speed : ndarray, shape (R,)
        Velocity at the start [rad/s or m/s].
    goal : ndarray, shape (R, H + N)
        Set-points, from H samples before the window [rad or m].
    gain : ndarray, shape (R, N)
        Gain of the servo; 0 while it is off.
    inertia, links, rest, cosine, sine : ndarray, shape (R, N)
        Inertia of the joint with and without its stated rotor, torque of the other joints' motion,
        and gravity torque at q = 0 and a quarter turn further.
    loads : mapping of str to ndarray, shape (R, N)
        Loads along the measured motion.
    known : ndarray of bool, shape (R, N)
        Samples that were recorded.
    run : ndarray of int, shape (R,)
        Run of each window.
    """

    dt: float
    q: Array
    speed: Array
    goal: Array
    gain: Array
    inertia: Array
    links: Array
    rest: Array
    cosine: Array
    sine: Array
    loads: Mapping[str, Array]
    known: np.ndarray
    run: np.ndarray

    @property
    def before(self) -> int:
        """Set-points that `goal` has before each window."""
        return self.goal.shape[1] - self.q.shape[1]

    def of(self, rows: np.ndarray) -> "ServoWindows":
        """Return some of the windows."""
        parts = {
            key: getattr(self, key)[rows]
            for key in (
                "q",
                "speed",
                "goal",
                "gain",
                "inertia",
                "links",
                "rest",
                "cosine",
                "sine",
                "known",
                "run",
            )
        }
        return ServoWindows(
            self.dt, loads={name: own[rows] for name, own in self.loads.items()}, **parts
        )


def servo_windows(
    runs: Sequence[Run],
    mechanisms: Sequence[Mechanism],
    name: str,
    goals: Sequence[Array],
    gains: Sequence[Array],
    loads: Sequence[str],
) -> ServoWindows:
    """Cut the runs into windows of a joint.

    Parameters
    ----------
    runs, mechanisms : sequence of Run, sequence of Mechanism
        Runs with any finite torque signal, which is not used, and the model of each.
    name : str
        The joint.
    goals, gains : sequence of ndarray, shape (N,)
        Set-points and gains of the joint's servo at the samples of each run; a gain
        of 0 means that it is off.
    loads : sequence of str
        Loads to compute.
    """
    log = filtered(runs, mechanisms)
    number = {id(run): k for k, run in enumerate(runs)}
    longest = max(len(part.t) for part in log.stretches)
    size, before = min(longest, round(_WINDOW / log.dt)), int(np.ceil(LATEST / log.dt)) + 1
    rows = []
    for part in log.stretches:
        k = number[id(part.run)]
        along = _along(part, name, goals[k], gains[k], before, loads)
        for begin in range(0, len(part.t), size):
            if len(part.t) - begin > size // 4 or begin == 0:
                rows.append(
                    (
                        k,
                        len(part.t) - begin,
                        {
                            key: _cut(values, begin, size, before if key == "goal" else 0)
                            for key, values in along.items()
                        },
                    )
                )
    stacked = {key: np.stack([cut[key] for _, _, cut in rows]) for key in rows[0][2]}
    known = np.arange(size) < np.array([count for _, count, _ in rows])[:, None]
    speed = stacked.pop("speed")[:, 0]
    return ServoWindows(
        log.dt,
        speed=speed,
        run=np.array([k for k, *_ in rows]),
        known=known,
        loads={load: stacked.pop(load) for load in loads},
        **stacked,
    )


def _along(
    part: Stretch, name: str, goal: Array, gain: Array, before: int, loads: Sequence[str]
) -> dict[str, Array]:
    """Series of a section; that of set-points begins `before` samples earlier."""
    m, j = part.mechanism, part.mechanism.names.index(name)
    earlier = part.t[0] + np.arange(-before, len(part.t)) * (part.t[1] - part.t[0])
    told = np.interp(earlier, part.run.t, goal)
    on = np.interp(part.t, part.run.t, (gain > 0.0).astype(float)) > 0.5
    q, dq, ddq = (values.copy() for values in part.links)
    ddq[:, j] = 0.0
    rest = inverse_dynamics(m, q, dq, ddq)[:, j] - inverse_dynamics(m, q)[:, j]
    links = mass_matrix(m, q)[:, j, j]
    at = []
    for angle in (0.0, 0.5 * np.pi):
        q[:, j] = angle
        at.append(inverse_dynamics(m, q)[:, j])
    if m.prismatic[j]:  # its gravity does not depend on its position
        rest, at = rest + at[0], [np.zeros_like(rest)] * 2
    return {
        "q": part.q[:, j],
        "speed": part.dq[:, j],
        "goal": told,
        "gain": np.where(on, gain.max(), 0.0),
        "links": links,
        "inertia": links + part.run.rotor_inertia()[j, j],
        "rest": rest,
        "cosine": at[0],
        "sine": at[1],
        **{load: part.loads[load][:, j] for load in loads},
    }


def _cut(values: Array, begin: int, size: int, before: int) -> Array:
    """Part of a series; its last value is repeated where it ends too early."""
    found = values[begin : begin + size + before]
    return np.pad(found, (0, size + before - len(found)), mode="edge")
