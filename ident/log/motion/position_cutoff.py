"""Choice of the cut-off for positions: low enough to suppress noise, high
enough to keep the motion.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.strokes import REST_TOLERANCE, encoder_step, position_noise

# Hz; arm joints do not accelerate faster, torque ripple and noise are faster
BANDWIDTH = 20.0
POSITION = 5.0  # cut-off of the position over the bandwidth; later steps filter again
# largest noise of the velocity over its largest value, and of the acceleration over its rms
_SHOWS = (0.002, 0.1)
# largest ratio of what a cut-off removes from the positions to the noise; more would be motion
_TAKES = 1.1
_LOOKED = 100_000  # rows of a run that are used
# Hz, candidates for coarse positions
_CUTOFFS = POSITION * BANDWIDTH * 2.0 ** (-0.5 * np.arange(12))


class Recorded(Protocol):
    """Recorded signals of joints, such as a `Run`."""

    @property
    def t(self) -> Array:
        """Time of each sample [s], shape (N,)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Joints."""

    @property
    def signals(self) -> Mapping[str, Array]:
        """Signals by name, shape (N, n) each."""


def position_cutoff(runs: Sequence[Recorded]) -> float:
    """Return the highest cut-off [Hz] that suppresses position noise; a cut-off that would
    remove motion is never chosen.
    """
    chosen = float(_CUTOFFS[0])
    for cutoff in map(float, _CUTOFFS):
        seen = [_noise_seen(run, cutoff) for run in runs]
        if cutoff < _CUTOFFS[0] and any(takes for _, takes in seen):
            break
        chosen = cutoff
        if not any(shows for shows, _ in seen):
            break
    return chosen


def _noise_seen(run: Recorded, cutoff: float) -> tuple[bool, bool]:
    """Whether noise of a moving joint passes this cut-off, and whether the
    cut-off removes more than noise.
    """
    dt = float(np.median(np.diff(run.t[:_LOOKED]))) if len(run.t) > 1 else 0.0
    if dt <= 0.0 or len(run.t) < 16:
        return False, False
    cutoff, bandwidth = min(cutoff, 0.5 / dt), bandwidth_of(cutoff)
    shows = takes = False
    for j in range(len(run.names)):
        x = run.signals["q"][:_LOOKED, j]
        step = encoder_step(x)
        if np.ptp(x) < REST_TOLERANCE + 20.0 * step:
            continue
        noise = signal_noise(run, j)
        if has_velocity(run):
            raw = run.signals["dq"][:_LOOKED, j]
            dq = low_pass(raw, cutoff * dt)
            gain = 2.0 * np.pi * bandwidth / np.sqrt(3.0)
        else:
            raw = x
            dq = np.gradient(low_pass(x, cutoff * dt), dt)
            gain = (2.0 * np.pi * bandwidth) ** 2 / np.sqrt(5.0)
        of_acceleration = noise * gain * np.sqrt(2.0 * dt * bandwidth)  # for white noise
        fastest = float(np.quantile(np.abs(dq), 0.999))
        ddq = np.gradient(low_pass(dq, bandwidth * dt), dt)[np.abs(dq) > 0.05 * fastest]
        shows |= velocity_noise(run, j, cutoff, dt) > _SHOWS[
            0
        ] * fastest or of_acceleration > _SHOWS[1] * float(np.sqrt(np.mean(ddq**2)))
        # but at the borders
        taken = (raw - low_pass(raw, cutoff * dt))[
            (inner := round(SETTLING / cutoff / dt)) : -inner
        ]
        takes |= float(np.sqrt(np.mean(taken**2))) > _TAKES * noise if len(taken) else True
    return bool(shows), bool(takes)


def has_velocity(run: Recorded) -> bool:
    """Whether the run has recorded velocities; otherwise positions are differentiated."""
    return "dq" in run.signals and bool(np.isfinite(run.signals["dq"]).all())


def signal_noise(run: Recorded, joint: int) -> float:
    """Standard deviation of the noise of a joint's recorded velocity [rad/s or m/s], otherwise
    of its position [rad or m].
    """
    if has_velocity(run):
        return position_noise(run.signals["dq"][:_LOOKED, joint], 0.0)
    x = run.signals["q"][:_LOOKED, joint]
    return max(encoder_step(x) / np.sqrt(12.0), position_noise(x, 0.0))


def velocity_noise(run: Recorded, joint: int, cutoff: float, dt: float) -> float:
    """Standard deviation of the noise of a joint's velocity [rad/s or m/s] behind the
    cut-off of the positions [Hz].
    """
    gain = 1.0 if has_velocity(run) else 2.0 * np.pi * cutoff / np.sqrt(3.0)
    # for white noise
    return float(signal_noise(run, joint) * gain * np.sqrt(2.0 * dt * cutoff))


def bandwidth_of(cutoff: float) -> float:
    """Bandwidth [Hz] of all compared signals, for a cut-off of the positions [Hz]."""
    return min(BANDWIDTH, 0.5 * cutoff)
