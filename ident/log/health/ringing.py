"""Ringing: a joint oscillates at one frequency during its whole motion, because of a too
stiff velocity loop or a gear.
"""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_time

_SLOWEST = 3.0  # Hz; and this many times the median frequency of the velocity's power:
_ABOVE = 8.0  # slower oscillations may be commanded
_BAND = 0.15  # relative width of the frequency band of a swing,
# and ratio of its power to the power beside the band, in velocity and torque
_STANDS_OUT = 10.0
_MATTERS = 0.03  # smallest swing, as a part of the rms velocity
# windows of the log; half must show the swing (gear ripple changes its frequency with speed)
_WINDOWS = 8
_LEAST = 512  # smallest number of rows


def ringing(run: Run, joint: int, unit: str) -> list[Finding]:
    """Finding about the ringing of one joint, with frequency and amplitude."""
    rate, gaps = check_time(run.t, str(run.path))
    edges = np.concatenate(([0], gaps + 1, [run.rows]))
    longest = int(np.argmax(np.diff(edges)))
    rows = slice(int(edges[longest]), int(edges[longest + 1]))
    if rows.stop - rows.start < _LEAST:
        return []
    v, tau = np.gradient(run.signals["q"][rows, joint], 1.0 / rate), run.signals["tau"][rows, joint]
    if not (v.any() and np.isfinite(v).all() and np.isfinite(tau).all()):
        return []
    f, power = _spectra(v, rate)
    mean = power.mean(axis=0)
    half = float(f[np.searchsorted(np.cumsum(mean), 0.5 * mean.sum())])
    k = _peak(f, mean, max(_SLOWEST, _ABOVE * half))
    if k is None:
        return []
    band = np.abs(f / f[k] - 1.0) <= _BAND
    swing = float(np.sqrt(max(0.0, mean[band].sum() - band.sum() * _around(f, mean, k))))
    # corrects the attenuation by central differences
    swing /= float(np.sinc(2.0 * f[k] / rate))
    everywhere = np.mean([_stands_out(f, one, k) for one in power])
    in_torque = _stands_out(f, _spectra(tau, rate)[1].mean(axis=0), k)
    if swing < _MATTERS * float(np.sqrt(np.mean(v**2))) or everywhere < 0.5 or not in_torque:
        return []
    name = run.names[joint]
    return [
        Finding(
            name,
            "ringing",
            f"{name} oscillates at {f[k]:.3g} Hz during its whole motion, by {swing:.2g} {unit} "
            "rms: unless this motion was commanded, the velocity loop is too stiff or the gear "
            "rings. Friction at slow speeds is a mean over the speeds of the oscillation. Use a "
            "softer velocity loop",
        )
    ]


def _spectra(values: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies [Hz], and power in each window of a log, shape (windows, frequencies)."""
    from scipy.signal import spectrogram  # loads slowly

    size = max(_LEAST // 4, min(len(values) // _WINDOWS, round(4.0 * rate)))
    f, _, density = spectrogram(values, rate, "hann", size, size // 2)
    return f[1:], np.asarray(density[1:].T * f[1])


def _peak(f: Array, power: Array, least: float) -> int | None:
    """Index of the frequency, at least `least`, whose power stands out most; None if
    there is no such frequency.
    """
    from scipy.signal import find_peaks

    found = [k for k in find_peaks(power)[0].tolist() if f[k] >= least and _stands_out(f, power, k)]
    return max(found, key=lambda k: float(power[k] / _around(f, power, k)), default=None)


def _stands_out(f: Array, power: Array, k: int) -> bool:
    """Whether the power near a frequency is far above the power beside its band."""
    near = np.abs(f / f[k] - 1.0) <= _BAND
    return bool(power[near].max() > _STANDS_OUT * _around(f, power, k))


def _around(f: Array, power: Array, k: int) -> float:
    """Median power beside the band of a frequency, from half to twice the frequency."""
    ring = (np.abs(f / f[k] - 1.0) > _BAND) & (f >= 0.5 * f[k]) & (f <= 2.0 * f[k])
    return float(np.median(power[ring])) if ring.any() else np.inf
