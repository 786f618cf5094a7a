"""The cut-off of positions: low enough that their noise does not show, high enough that no motion is lost."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import REST_TOLERANCE, encoder_step, position_noise

BANDWIDTH = 20.0        # Hz; joints of arms do not accelerate faster than this, torque ripple and noise do
POSITION = 5.0         # cut-off of the position, as a multiple of the bandwidth: what follows filters once more
_SHOWS = (0.002, 0.1)   # noise of the velocity over its greatest value, of the acceleration over its rms, that may be
_TAKES = 1.1            # times the noise that a cut-off may take from positions: more is motion
_LOOKED = 100_000       # rows of a run that tell it
_CUTOFFS = POSITION * BANDWIDTH * 2.0 ** (-0.5 * np.arange(12))      # Hz, those that are tried where positions are coarse


def position_cutoff(runs: Sequence[Run]) -> float:
    """Highest cut-off [Hz] at which noise of the positions does not show, but none that would take a part of the motion."""
    chosen = float(_CUTOFFS[0])
    for cutoff in map(float, _CUTOFFS):
        seen = [_noise_seen(run, cutoff) for run in runs]
        if cutoff < _CUTOFFS[0] and any(takes for _, takes in seen):
            break
        chosen = cutoff
        if not any(shows for shows, _ in seen):
            break
    return chosen


def _noise_seen(run: Run, cutoff: float) -> tuple[bool, bool]:
    """Of the joints that move: whether noise shows behind this cut-off, and whether the cut-off takes more than noise."""
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
        of_acceleration = noise * gain * np.sqrt(2.0 * dt * bandwidth)          # of white noise
        fastest = float(np.quantile(np.abs(dq), 0.999))
        ddq = np.gradient(low_pass(dq, bandwidth * dt), dt)[np.abs(dq) > 0.05 * fastest]
        shows |= (velocity_noise(run, j, cutoff, dt) > _SHOWS[0] * fastest
                  or of_acceleration > _SHOWS[1] * float(np.sqrt(np.mean(ddq**2))))
        taken = (raw - low_pass(raw, cutoff * dt))[(inner := round(SETTLING / cutoff / dt)):-inner]      # but at the borders
        takes |= float(np.sqrt(np.mean(taken**2))) > _TAKES * noise if len(taken) else True
    return bool(shows), bool(takes)


def has_velocity(run: Run) -> bool:
    """Whether velocities are those that were recorded; else they are positions differentiated."""
    return "dq" in run.signals and bool(np.isfinite(run.signals["dq"]).all())


def signal_noise(run: Run, joint: int) -> float:
    """Standard deviation of the noise of a joint's velocity where it was recorded [rad/s or m/s], else of its position."""
    if has_velocity(run):
        return position_noise(run.signals["dq"][:_LOOKED, joint], 0.0)
    x = run.signals["q"][:_LOOKED, joint]
    return max(encoder_step(x) / np.sqrt(12.0), position_noise(x, 0.0))


def velocity_noise(run: Run, joint: int, cutoff: float, dt: float) -> float:
    """Standard deviation of the noise of a joint's velocity [rad/s or m/s] behind the cut-off of the positions [Hz]."""
    gain = 1.0 if has_velocity(run) else 2.0 * np.pi * cutoff / np.sqrt(3.0)
    return float(signal_noise(run, joint) * gain * np.sqrt(2.0 * dt * cutoff))          # of white noise


def bandwidth_of(cutoff: float) -> float:
    """Of all that is compared, for a cut-off of the positions [Hz]."""
    return min(BANDWIDTH, 0.5 * cutoff)
