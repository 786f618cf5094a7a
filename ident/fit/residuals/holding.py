"""Consequences of lack of fit: wider intervals and a wider band."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult, further_band
from stribeck.ident.fit.group_sums import group_sum
from stribeck.ident.fit.residuals.lack_of_fit import Tested, lack_of_fit, windows
from stribeck.ident.fit.residuals.white_residuals import Residuals
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter, verdict

_SPEEDS = 25
# part of friction; a smaller misfit is not reported, because torque and friction repeat no better
_TRIFLE = 1e-3


def with_lack_of_fit(
    fit: FitResult,
    position: Array | None = None,
    load: Array | None = None,
    even: Residuals | None = None,
    time: Array | None = None,
) -> FitResult:
    """Test a fit for lack of fit, and widen intervals and band accordingly; see
    `lack_of_fit` for the arguments.

    If residuals vary with a variable, neighbours share errors. The variance of each parameter is
    then computed for errors that are independent only between windows of the variable. If residuals
    vary with speed, the band is widened by the mean residual near each speed; if they vary with
    another variable, by the RMS of the window means. A misfit below a thousandth of the median
    friction widens the intervals, too, but is not reported: without noise, even the smallest
    difference is significant.
    """
    misfits, shown = lack_of_fit(fit, position, load, even, time)
    if not shown:
        return fit
    assert fit.data is not None
    least = _TRIFLE * float(np.median(np.abs(fit.data.tau)))
    return replace(
        _wider(fit, shown), lack_of_fit=tuple(one for one in misfits if abs(one.size) >= least)
    )


def _wider(fit: FitResult, shown: Sequence[Tested]) -> FitResult:
    # the even part has no parameters of the law
    own = [test for test in shown if test.rows.names]
    if not own:
        return fit
    found = [factors(fit, test) for test in own]
    factor = {name: max(one.get(name, 1.0) for one in found) for name in fit.names}
    parameters = {
        name: moved_out(entry, factor.get(name, 1.0)) for name, entry in fit.parameters.items()
    }
    scale = np.array(list(factor.values()))
    assert fit.data is not None
    known = fit.further_error
    speeds = (
        np.geomspace(fit.data.speed.min(), fit.data.speed.max(), _SPEEDS)
        if known is None
        else known[:, 0]
    )
    further = sum((_deviation(test, speeds) for test in own), further_band(known, speeds))
    return replace(
        fit,
        parameters=parameters,
        covariance=fit.covariance * np.outer(scale, scale),
        further_error=np.column_stack((speeds, further)),
    )


def factors(fit: FitResult, test: Tested) -> dict[str, float]:
    """Return the standard errors for errors that are independent only between windows, over
    those of the fit; at least 1.
    """
    rows = test.rows
    window = test.window if test.turn is None else 2 * test.window + (test.turn > 0.0)
    # (windows, p)
    sums = group_sum(rows.columns * rows.white[:, None], np.unique(window, return_inverse=True)[1])
    spare = max(1, len(sums) - len(rows.names))
    variance = len(sums) / spare * np.diag(rows.inverse @ (sums.T @ sums) @ rows.inverse)
    error = np.sqrt(np.maximum(variance, np.diag(rows.inverse)))
    nonlinear = law_named(fit.law).nonlinear  # in the logarithm
    found = {}
    for name, own in zip(rows.names, error.tolist(), strict=True):
        has = fit.parameters[name].std_error if name in fit.names else None
        if has:
            found[name] = max(1.0, own * (fit.values[name] if name in nonlinear else 1.0) / has)
    return found


def moved_out(entry: Parameter, factor: float, least: float = 0.0) -> Parameter:
    """Widen the interval of a parameter on both sides by a factor."""
    if factor == 1.0 or entry.value is None or entry.low is None or entry.high is None:
        return entry
    low, high = (entry.value + factor * (end - entry.value) for end in (entry.low, entry.high))
    word = (
        entry.verdict
        if entry.verdict in ("at bound", "unidentifiable")
        else verdict(entry.value, low, high)
    )
    error = None if entry.std_error is None else factor * entry.std_error
    return replace(entry, std_error=error, low=max(least, low), high=high, verdict=word)


def _deviation(test: Tested, speeds: Array) -> Array:
    """Return the deviation of friction from the law at speeds, shape (speeds,) [N·m or N]."""
    _, mean = test.means
    if test.over not in ("speed", "repeats"):
        return np.full(len(speeds), float(np.sqrt(np.mean(mean**2))))
    # windows of speed; for "repeats" they include several loads
    near = windows(test.x)
    count = np.bincount(near)
    place, off = (
        np.bincount(near, test.x) / count,
        np.sqrt(np.bincount(near, mean[test.window] ** 2) / count),
    )
    smooth = np.convolve(np.pad(off, 1, "edge"), np.ones(3) / 3.0, "valid")
    # not zero at sign changes
    return np.interp(np.log(speeds), np.log(place), np.maximum(off, smooth))
