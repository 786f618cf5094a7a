"""A joint that swings quickly at one frequency all along its motion: a velocity loop that is too stiff, or a gear, rings."""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_time

_SLOWEST = 3.0          # Hz; and so many times the frequency below which half of the velocity's power lies:
_ABOVE = 8.0            # what is slower may be a motion that was asked for
_BAND = 0.15            # part of its frequency by which a swing may vary,
_STANDS_OUT = 10.0      # and how far its power stands out of that around it, in velocity and in torque
_MATTERS = 0.03         # part of the velocity's root mean square from which it matters
_WINDOWS = 8            # of the log, of which half have to show it: ripple of a gear has another frequency at each speed
_LEAST = 512            # rows


def ringing(run: Run, joint: int, unit: str) -> list[Finding]:
    """A swing of one joint, with its frequency and size."""
    rate, gaps = check_time(run.t, str(run.path))
    edges = np.concatenate(([0], gaps + 1, [len(run.t)]))
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
    swing /= float(np.sinc(2.0 * f[k] / rate))              # of which central differences see no more
    everywhere = np.mean([_stands_out(f, one, k) for one in power])
    in_torque = _stands_out(f, _spectra(tau, rate)[1].mean(axis=0), k)
    if swing < _MATTERS * float(np.sqrt(np.mean(v**2))) or everywhere < 0.5 or not in_torque:
        return []
    name = run.names[joint]
    return [Finding(name, "ringing", f"{name} swings at {f[k]:.3g} Hz all along its motion, by {swing:.2g} {unit} rms: if nobody "
                    "asked for that, its velocity loop is too stiff or its gear rings; friction at slow speeds is then a mean "
                    "over those of the swing. A softer loop helps")]


def _spectra(values: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies, and the power of the values in each of the windows of a log, shape (windows, frequencies)."""
    from scipy.signal import spectrogram  # takes a while to load

    size = max(_LEAST // 4, min(len(values) // _WINDOWS, round(4.0 * rate)))
    f, _, density = spectrogram(values, rate, "hann", size, size // 2)
    return f[1:], np.asarray(density[1:].T * f[1])


def _peak(f: Array, power: Array, least: float) -> int | None:
    """Where the power stands out most above a frequency; None where it does nowhere."""
    from scipy.signal import find_peaks

    found = [k for k in find_peaks(power)[0].tolist() if f[k] >= least and _stands_out(f, power, k)]
    return max(found, key=lambda k: float(power[k] / _around(f, power, k)), default=None)


def _stands_out(f: Array, power: Array, k: int) -> bool:
    """Whether the power near a frequency is far above that around it."""
    near = np.abs(f / f[k] - 1.0) <= _BAND
    return bool(power[near].max() > _STANDS_OUT * _around(f, power, k))


def _around(f: Array, power: Array, k: int) -> float:
    """Power a step of frequency on either side of a band, from half to twice its frequency."""
    ring = (np.abs(f / f[k] - 1.0) > _BAND) & (f >= 0.5 * f[k]) & (f <= 2.0 * f[k])
    return float(np.median(power[ring])) if ring.any() else np.inf
