r"""Motion predicted from position references alone, free of the noise of positions and torques.

Each joint follows its position reference like a delay and a linear filter. The delay, and then the
filter taps, are least-squares estimates from the velocities of the whole log:

.. math:: \dot q(t) \approx \dot q_{cmd}(t - \lambda) + \sum_k a_k\, \dot q_{cmd}(t - k \delta)

These are some forty numbers from thousands of samples, so they contain almost no noise.
The velocity set-point of a position controller is not a reference, because it depends
on the measured position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import Log, Stretch
from stribeck.ident.log.motion.low_pass import low_pass
from stribeck.ident.log.motion.motion_points import Motion
from stribeck.ident.log.run import Run, read_signal
from stribeck.ident.model.loads import LOADS

# s; earliest and latest response to a command; "early" allows for wrong time stamps
_EARLY, _LATE = 0.025, 0.4
_TAPS = 4.0  # filter taps per period of the bandwidth
_LOOKED = 20_000  # largest number of samples of each section for delay and taps
# relative singular value; directions below it are not identifiable and are set to 0
_RANK = 1e-2


@dataclass(frozen=True)
class Following:
    """Response of a joint to its reference: filter `taps` at `lags` [s], shapes (K,)."""

    lags: Array
    taps: Array

    def of(self, t: Array, reference: Array) -> Array:
        """Predicted positions of the joint, shape (M,)."""
        begin = reference[0]
        return np.asarray(
            begin
            + sum(
                tap * (np.interp(t - lag, t, reference) - begin)
                for lag, tap in zip(self.lags, self.taps, strict=True)
            )
        )


def commanded(log: Log) -> Log | None:
    """Return the log with predicted motion in place of measured motion.

    The result is None if a run has no references, or if the arm is a closed chain, which may not
    reach all predicted postures.
    """
    if any(part.mechanism.chain is not None for part in log.stretches):
        return None
    references = [_reference(part.run, part.t) for part in log.stretches]
    known = [one for one in references if one is not None]
    if len(known) < len(references):
        return None
    joints = [_following(log, known, j) for j in range(known[0].shape[1])]
    return replace(
        log,
        stretches=tuple(
            _moved(part, one, joints, log) for part, one in zip(log.stretches, known, strict=True)
        ),
    )


def along(motion: Motion, log: Log, names: Sequence[str]) -> Motion:
    """Return the samples and points of a joint with the motion of another log
    that has the same sections.
    """
    column, cuts = names.index(motion.joint), [(log.stretches[k], rows) for k, rows in motion.cuts]

    def joined(values: Sequence[Array]) -> Array:
        return np.concatenate(
            [own[rows, column] for own, (_, rows) in zip(values, cuts, strict=True)]
        )

    q, dq, ddq, rigid, gravity = (
        joined([getattr(part, key) for part, _ in cuts])
        for key in ("q", "dq", "ddq", "rigid", "gravity")
    )
    rotors = np.concatenate(
        [part.ddq[rows] @ part.run.rotor_inertia()[column] for part, rows in cuts]
    )
    return replace(
        motion,
        q=q,
        dq=dq,
        ddq=ddq,
        rigid=rigid + rotors,
        gravity=gravity,
        loads={load: joined([part.loads[load] for part, _ in cuts]) for load in LOADS},
    )


def _reference(run: Run, t: Array) -> Array | None:
    """Position references of all joints at the times t, shape (M, n); None
    if they were not recorded.
    """
    recorded = read_signal(run, "q_cmd", run.rows)
    if recorded is None or len(recorded) < run.rows or not np.isfinite(recorded).all():
        return None
    return np.column_stack([np.interp(t, run.t, column) for column in recorded.T])


def _following(log: Log, references: Sequence[Array], j: int) -> Following:
    """Estimate delay and taps of a joint."""
    step = max(log.dt, 1.0 / (_TAPS * log.bandwidth))
    earliest, latest = -max(1, round(_EARLY / step)), max(1, round(_LATE / step))
    lags = np.arange(earliest, latest + 1, dtype=float) * step
    parts = []
    for part, reference in zip(log.stretches, references, strict=True):
        every = slice(None, None, max(1, len(part.t) // _LOOKED))
        parts.append(
            (
                part.t,
                np.gradient(low_pass(reference[:, j], log.cutoff * log.dt), log.dt),
                every,
                part.dq[every, j],
            )
        )

    def after(lag: float) -> Array:
        return np.concatenate([np.interp(t[every] - lag, t, told) for t, told, every, _ in parts])

    goal = np.concatenate([dq for *_, dq in parts])

    def off(lag: float) -> float:
        return float(np.sum((goal - after(lag)) ** 2))

    late = minimize_scalar(off, None, _around(lags, [off(lag) for lag in lags]), method="bounded").x
    rows = np.column_stack([after(lag) for lag in lags])
    taps = np.linalg.lstsq(rows, goal - after(late), rcond=_RANK)[0]
    return Following(np.append(lags, late), np.append(taps, 1.0))


def _around(lags: Array, off: Sequence[float]) -> tuple[float, float]:
    """Lags next to the best lag, on both sides."""
    k = int(np.clip(np.argmin(off), 1, len(lags) - 2))
    return float(lags[k - 1]), float(lags[k + 1])


def _moved(part: Stretch, reference: Array, joints: Sequence[Following], log: Log) -> Stretch:
    """Section with the predicted motion, whose mean positions equal the measured ones."""
    q = np.column_stack(
        [own.of(part.t, column) for own, column in zip(joints, reference.T, strict=True)]
    )
    q = low_pass(q + part.q.mean(axis=0) - q.mean(axis=0), log.cutoff * log.dt)
    dq = np.gradient(q, log.dt, axis=0)
    return replace(part, q=q, dq=dq, ddq=np.gradient(dq, log.dt, axis=0)).with_model(part.mechanism)
