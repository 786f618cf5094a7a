"""Intervals that hold what other laws allow, each by how plausible it is.

The interval of a parameter under the chosen law is moved out on either side as far as the quantile of the mixture of all laws
that have the parameter lies beyond that of the chosen law alone; friction's band likewise.
"""

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.mixture import Mixture, Normals
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.parameter import Parameter, verdict

AS_WELL = 0.05          # share of a law that is named as one that predicts as well
_ENDS = 0.025, 0.975
_LEAST = 0.02           # part of an interval by which it has to become wider


def widened(fit: FitResult, mixture: Mixture) -> FitResult:
    """The fit with intervals and band that hold what other laws allow, and with a word where its name is not settled."""
    law, parameters = fit.law, dict(fit.parameters)
    shares = sorted(((share, one.law.name) for share, one in zip(mixture.shares, mixture.evidences, strict=True)
                     if one.law.name != law and share >= AS_WELL), reverse=True)
    others = ", ".join(f"{name} ({share:.0%})" for share, name in shares)
    for name, mine in parameters.items():
        every, own = mixture.parameter(name), mixture.parameter(name, law)
        if every is not None and own is not None and mine.low is not None and mine.high is not None:
            note = f"it holds what other laws allow that remain possible: {others}" if others else ""
            parameters[name] = _with_others(mine, every, own, note)
    return replace(fit, parameters=parameters, stribeck_share=mixture.stribeck_share,
                   further_error=_further(fit, mixture))


def _with_others(mine: Parameter, every: Normals, own: Normals, note: str) -> Parameter:
    assert mine.low is not None
    assert mine.high is not None
    assert mine.value is not None
    ends = [(every.quantile(level), own.quantile(level)) for level in _ENDS]
    robust = max(1.0, (mine.high - mine.low) / max(ends[1][1] - ends[0][1], 1e-300))    # the fit's interval over the model's
    down, up = (robust * max(0.0, out) for out in (ends[0][1] - ends[0][0], ends[1][0] - ends[1][1]))
    if max(down, up) <= _LEAST * (mine.high - mine.low):
        return mine
    low, high = min(mine.low, max(0.0, mine.low - down)), mine.high + up
    return replace(mine, low=low, high=high, verdict=verdict(mine.value, low, high), note=mine.note or note)


def _further(fit: FitResult, mixture: Mixture) -> Array:
    """By how much the band of friction is wider at speeds, at the middle load; shape (speeds, 2)."""
    weight, mean, deviation = mixture.curves
    own = fit.predict(mixture.speeds, mixture.load)
    band = fit.band(mixture.speeds, mixture.load)
    low, high = _quantiles(weight, mean, deviation)
    share = np.concatenate([np.full(len(part), one.law.name == fit.law) for one, part in
                            zip(mixture.evidences, mixture.weights, strict=True)]) * weight
    if share.sum() <= 0.0:
        share = weight
    alone = _quantiles(share / share.sum(), mean, deviation)
    robust = np.maximum(1.0, 2.0 * band / np.maximum(alone[1] - alone[0], 1e-300))
    reach = np.maximum(own - low, high - own) - np.maximum(own - alone[0], alone[1] - own)
    further = np.maximum(0.0, robust * reach)
    return np.column_stack((mixture.speeds, np.where(further > _LEAST * band, further, 0.0)))


def _quantiles(weight: Array, mean: Array, deviation: Array) -> tuple[Array, Array]:
    """Ends of the 95 % interval of mixtures, side by side: means and deviations (K, S), each shape (S,)."""
    keep = weight > 1e-6 * weight.max()
    weight, mean, deviation = weight[keep] / weight[keep].sum(), mean[keep], np.maximum(deviation[keep], 1e-300)
    found = []
    for level in _ENDS:
        low, high = (mean - 9.0 * deviation).min(axis=0), (mean + 9.0 * deviation).max(axis=0)
        for _ in range(40):
            middle = (low + high) / 2.0
            below = weight @ ndtr((middle - mean) / deviation) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found.append((low + high) / 2.0)
    return found[0], found[1]
