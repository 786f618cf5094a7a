"""Intervals and band that cover other laws, weighted by their plausibility.

On each side, the interval of a parameter is widened by the distance from the quantile under the
chosen law to the quantile under the mixture of all laws with this parameter. The friction band is
widened until it contains 95 % of the mixture.
"""

from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.choice.mixture import Mixture, Normals
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.laws.quantity import COULOMB, STATIC, VISCOUS

AS_WELL = 0.05  # share from which another law is named in addition to the chosen law
_LEVEL = 0.95
_ENDS = (1.0 - _LEVEL) / 2.0, (1.0 + _LEVEL) / 2.0
# levels of friction, which the friction at a measured speed contains
_LEVELS = COULOMB.name, STATIC.name
_FAR = 4.0  # standard deviations above the expected friction
_LEAST = 0.02  # least widening, as a part of the interval


def widened(fit: FitResult, mixture: Mixture) -> FitResult:
    """Widen intervals and band of a fit to cover other laws, and add the
    plausibility of a Stribeck effect.
    """
    shares = sorted(
        (
            (share, one.law.name)
            for share, one in zip(mixture.shares, mixture.evidences, strict=True)
            if one.law.name != fit.law and share >= AS_WELL
        ),
        reverse=True,
    )
    named = ", ".join(f"{name} ({share:.0%} plausible)" for share, name in shares)
    note = f"the interval also covers other plausible laws: {named}" if named else ""
    expected, deviation = mixture.expected
    data, parameters = mixture.evidences[0].data, dict[str, Parameter]()
    greatest = min(float(np.abs(data.tau).max()), float((expected + _FAR * deviation).max()))
    most = dict.fromkeys(_LEVELS, greatest) | {VISCOUS.name: greatest / float(np.abs(data.w).min())}
    for name, mine in fit.parameters.items():
        every, own = mixture.parameter(name), mixture.parameter(name, fit.law)
        parameters[name] = (
            mine
            if every is None or own is None
            else _with_others(mine, every, own, note, most.get(name, np.inf))
        )
    return replace(
        fit,
        parameters=parameters,
        stribeck_share=mixture.stribeck_share,
        further_error=_further(fit, mixture),
    )


def _with_others(
    mine: Parameter, every: Normals, own: Normals, note: str, most: float
) -> Parameter:
    """Widen the interval of a parameter, whose values under other laws do not exceed `most`."""
    if mine.low is None or mine.high is None or mine.value is None:
        return mine
    (low, high), (own_low, own_high) = (
        normals.quantiles(_ENDS).tolist() for normals in (every, own)
    )
    # the fit's interval over the model's
    robust = max(1.0, (mine.high - mine.low) / max(own_high - own_low, 1e-300))
    down, up = robust * max(0.0, own_low - low), robust * max(0.0, high - own_high)
    if max(down, up) <= _LEAST * (mine.high - mine.low):
        return mine
    low, high = min(mine.low, max(0.0, mine.low - down)), max(mine.high, min(mine.high + up, most))
    return replace(
        mine, low=low, high=high, verdict=verdict(mine.value, low, high), note=mine.note or note
    )


def _further(fit: FitResult, mixture: Mixture) -> Array:
    """Return speeds and the widening of the friction band there, at the
    median load; shape (speeds, 2).

    The interval at a speed contains 95 % of the mixture. The deviations of the mixture are
    first scaled by the ratio of the fit's own interval to the interval that the mixture
    gives for the chosen law.
    """
    chosen, band = (
        fit.predict(mixture.speeds, mixture.load),
        fit.interval(mixture.speeds, mixture.load),
    )
    every, own = mixture.friction(), mixture.friction(fit.law)
    robust = np.maximum(1.0, band / np.maximum(own.reach(chosen, _LEVEL), 1e-300))
    further = replace(every, deviation=robust * every.deviation).reach(chosen, _LEVEL) - band
    return np.column_stack((mixture.speeds, np.where(further > _LEAST * band, further, 0.0)))
