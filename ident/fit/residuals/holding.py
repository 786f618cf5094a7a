"""What follows from lack of fit: intervals and a band that hold it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult, further_band
from stribeck.ident.fit.group_sums import group_sum
from stribeck.ident.fit.residuals.lack_of_fit import Tested, lack_of_fit, local_means, windows
from stribeck.ident.fit.residuals.white_residuals import Residuals
from stribeck.ident.laws.parameter import Parameter, verdict

_SPEEDS = 25


def with_lack_of_fit(fit: FitResult, position: Array | None = None, load: Array | None = None,
                     even: Residuals | None = None) -> FitResult:
    """The fit with its lack of fit, which intervals, verdicts and band then hold; see `lack_of_fit` for the arguments.

    Residuals that run over a variable are errors that neighbours share. The variance of each parameter is taken as that of
    estimates whose errors are independent from window to window of the variable only. The band is wider by the mean residual
    about each speed where residuals run over speed, and by the root mean square of such means where they run over something else.
    """
    misfits, shown = lack_of_fit(fit, position, load, even)
    if not shown:
        return fit
    return replace(_wider(fit, shown), lack_of_fit=misfits)


def _wider(fit: FitResult, shown: Sequence[Tested]) -> FitResult:
    own = [test for test in shown if test.rows.names]           # the even part of round trips tells nothing of the law
    factor = {name: max(1.0, *(factors(test).get(name, 1.0) for test in own)) for name in fit.names} if own else {}
    parameters = {name: _moved_out(entry, factor.get(name, 1.0)) for name, entry in fit.parameters.items()}
    scale = np.array([factor.get(name, 1.0) for name in fit.names])
    assert fit.data is not None
    known = fit.further_error
    speeds = np.geomspace(fit.data.speed.min(), fit.data.speed.max(), _SPEEDS) if known is None else known[:, 0]
    further = sum((_deviation(test, speeds) for test in own), further_band(known, speeds))
    return replace(fit, parameters=parameters, covariance=fit.covariance * np.outer(scale, scale),
                   further_error=np.column_stack((speeds, further)) if own else known)


def factors(test: Tested) -> dict[str, float]:
    """Standard error of each parameter where errors are independent from window to window only, over that of independent rows."""
    rows, window = test.rows, windows(test.x)
    sums = group_sum(rows.columns * rows.white[:, None], window)                # (windows, p)
    spare = max(1, len(sums) - len(rows.names))
    variance = len(sums) / spare * np.diag(rows.inverse @ (sums.T @ sums) @ rows.inverse)
    ratio = variance / np.maximum(np.diag(rows.inverse), 1e-300)
    return dict(zip(rows.names, np.sqrt(np.maximum(1.0, ratio)).tolist(), strict=True))


def _moved_out(entry: Parameter, factor: float) -> Parameter:
    """A parameter whose interval reaches so many times as far to either side."""
    if factor == 1.0 or entry.value is None or entry.low is None or entry.high is None:
        return entry
    low, high = (entry.value + factor * (end - entry.value) for end in (entry.low, entry.high))
    word = entry.verdict if entry.verdict in ("at bound", "unidentifiable") else verdict(entry.value, low, high)
    error = None if entry.std_error is None else factor * entry.std_error
    return replace(entry, std_error=error, low=max(0.0, low), high=high, verdict=word)


def _deviation(test: Tested, speeds: Array) -> Array:
    """By how much friction lies off the law, shape (speeds,) [N·m or N]."""
    place, mean = local_means(test)
    if test.over in ("speed", "repeats"):
        beside = np.maximum(np.abs(mean), np.convolve(np.abs(mean), np.ones(3) / 3.0, "same"))      # where it crosses zero
        return np.interp(np.log(speeds), np.log(place), beside)
    return np.full(len(speeds), float(np.sqrt(np.mean(mean**2))))
