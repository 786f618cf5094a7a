"""Uncertainty of the model's torque of one joint, from the uncertain inertia of the links."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import DOUBT
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.parameter import Parameter, verdict


@dataclass(frozen=True)
class ModelDoubt:
    """Deviation of a joint's torque from the model: shift + columns @ x,
    with independent x ~ N(0, 1).

    Attributes
    ----------
    shift : ndarray, shape (N,)
        Mean deviation at the points [N·m or N].
    columns : ndarray, shape (N, r)
        Directions of the uncertainty at the points [N·m or N].
    of_links : bool
        Whether the inertia of the links is uncertain; its columns then include a
        scale of the model's torque.
    """

    shift: Array
    columns: Array
    of_links: bool = True

    @classmethod
    def none(cls, points: int) -> "ModelDoubt":
        """Return the deviation of an exact model: zero."""
        return cls(np.zeros(points), np.zeros((points, 0)))

    def __add__(self, other: "ModelDoubt") -> "ModelDoubt":
        """Return the sum of two deviations with independent causes."""
        return ModelDoubt(
            self.shift + other.shift,
            np.column_stack((self.columns, other.columns)),
            self.of_links or other.of_links,
        )

    @property
    def named(self) -> Mapping[str, Array]:
        """The columns, each under the name that it has in a fit."""
        return {f"{DOUBT}{k}": column for k, column in enumerate(self.columns.T)}


# deviation for unknown friction (None), or for the fitted load
Doubts = Callable[[FitResult | None], ModelDoubt]


def of_its_load(fit: FitResult, doubts: Doubts) -> FitResult:
    """Add the uncertainty of the load to a fit whose friction grows with a load;
    other fits stay as they are.

    Values, intervals and covariance change by the difference between two fits of the chosen law
    (with and without the uncertainty of the load), so intervals still cover other laws.
    """
    if fit.load in ("none", "components") or fit.data is None:
        return fit
    before, now, data = doubts(None), doubts(fit), fit.data
    known = {name: column for name, column in data.nuisance.items() if not name.startswith(DOUBT)}
    prior = {
        name: deviation for name, deviation in data.prior.items() if not name.startswith(DOUBT)
    }
    unsure = fit_law(
        replace(
            data,
            tau=data.tau + before.shift - now.shift,
            nuisance={**known, **now.named},
            prior={**prior, **dict.fromkeys(now.named, 1.0)},
        ),
        law_named(fit.law),
        fit.load,
    )
    sure = fit_law(data, law_named(fit.law), fit.load)
    parameters = {
        name: _moved(entry, sure.parameters[name], unsure.parameters[name])
        for name, entry in fit.parameters.items()
        if name in sure.parameters
    }
    covariance = fit.covariance
    if sure.names == unsure.names == fit.names:
        covariance = covariance + unsure.covariance - sure.covariance
    return replace(fit, parameters={**fit.parameters, **parameters}, covariance=covariance)


def _moved(entry: Parameter, sure: Parameter, unsure: Parameter) -> Parameter:
    """Shift a parameter and its interval by the difference between two fits."""
    was, before, after = (
        np.array([one.value, one.low, one.high], dtype=float) for one in (entry, sure, unsure)
    )
    # nan if one of the fits has no interval
    value, low, high = (was + after - before).tolist()
    if not np.isfinite([value, low, high]).all():
        return entry
    low, high = max(0.0, min(low, value)), max(high, value)
    return replace(entry, value=value, low=low, high=high, verdict=verdict(value, low, high))
