"""What the model's torque of one joint may be beside what it is: the inertia of links as the other joints leave it open."""

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
    """Torque of a joint beside the model's: shift + columns @ x with independent x of deviation 1 about zero.

    Attributes
    ----------
    shift : ndarray, shape (N,)
        At the points [N·m or N].
    columns : ndarray, shape (N, r)
        The same.
    of_links : bool
        Whether the links' inertia is doubted, and with it what a scale of the model's torque would be.
    """

    shift: Array
    columns: Array
    of_links: bool = True

    @classmethod
    def none(cls, points: int) -> "ModelDoubt":
        """Of a model that is right."""
        return cls(np.zeros(points), np.zeros((points, 0)))

    def __add__(self, other: "ModelDoubt") -> "ModelDoubt":
        """Both, of causes that have nothing to do with each other."""
        return ModelDoubt(self.shift + other.shift, np.column_stack((self.columns, other.columns)),
                          self.of_links or other.of_links)

    @property
    def named(self) -> Mapping[str, Array]:
        """The columns by the names that they have in a fit."""
        return {f"{DOUBT}{k}": column for k, column in enumerate(self.columns.T)}


Doubts = Callable[[FitResult | None], ModelDoubt]       # of a joint whose friction is not known yet, or known to grow with a load


def of_its_load(fit: FitResult, doubts: Doubts) -> FitResult:
    """A fit whose friction grows with a load, with what the model leaves open of that load; others as they are.

    Values, intervals and covariance move by what fits of the chosen law alone move by, so that they still hold other laws.
    """
    if fit.load in ("none", "components") or fit.data is None:
        return fit
    before, now, data = doubts(None), doubts(fit), fit.data
    known = {name: column for name, column in data.nuisance.items() if not name.startswith(DOUBT)}
    prior = {name: deviation for name, deviation in data.prior.items() if not name.startswith(DOUBT)}
    unsure = fit_law(replace(data, tau=data.tau + before.shift - now.shift, nuisance={**known, **now.named},
                             prior={**prior, **dict.fromkeys(now.named, 1.0)}), law_named(fit.law), fit.load)
    sure = fit_law(data, law_named(fit.law), fit.load)
    parameters = {name: _moved(entry, sure.parameters[name], unsure.parameters[name]) for name, entry in fit.parameters.items()
                  if name in sure.parameters}
    covariance = fit.covariance
    if sure.names == unsure.names == fit.names:
        covariance = covariance + unsure.covariance - sure.covariance
    return replace(fit, parameters={**fit.parameters, **parameters}, covariance=covariance)


def _moved(entry: Parameter, sure: Parameter, unsure: Parameter) -> Parameter:
    """A parameter moved by what one fit differs from another."""
    was, before, after = (np.array([one.value, one.low, one.high], dtype=float) for one in (entry, sure, unsure))
    value, low, high = (was + after - before).tolist()          # nan where one of them has no interval
    if not np.isfinite([value, low, high]).all():
        return entry
    low, high = max(0.0, min(low, value)), max(high, value)
    return replace(entry, value=value, low=low, high=high, verdict=verdict(value, low, high))
