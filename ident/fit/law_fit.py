"""One law fitted to the points of one joint: optimum, noise model, intervals and verdicts.

The optimum is sought on a grid of the nonlinear parameters, first with white noise, then with the
noise model of the residuals (`variable_projection`, `noise`), and then refined. The misfit around
it gives the intervals (`intervals`) and the verdicts.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError, NoFriction
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.intervals import interval_ends, spread
from stribeck.ident.fit.law_on_points import held_at_zero, parameter_names, predicted
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import DOUBT, FitPoints
from stribeck.ident.fit.search_range import search_grid
from stribeck.ident.fit.variable_projection import Moments, polish
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named, laws_on_offer, unit
from stribeck.ident.laws.parameter import Parameter, verdict

# a pass has many speeds; three passes determine Coulomb friction, offset, scatter
LEAST_ROUND_TRIPS, LEAST_PASSES = 4, 3
_SPARE_SPEEDS = 1  # distinct speeds that a law needs in addition to its parameters of speed
_SAME_SPEED = 0.1  # largest difference of speeds of one class, in the logarithm


def fit_law(data: FitPoints, law: Law, load_name: str = "none") -> FitResult:
    """Fit one law to the points of one joint."""
    points = data.condensed()
    _enough(points, law)
    return with_intervals(best_of(searched(points, law)), load_name).of_points(data)


def searched(points: FitPoints, law: Law) -> Moments:
    """Return the sums for a law over its whole search grid."""
    return Moments.of(points, law, search_grid(points, law))


@dataclass(frozen=True)
class Best:
    """A law at its best parameters, without intervals.

    Attributes
    ----------
    whole : Moments
        Sums of the points over the search grid.
    noise : Noise
        Noise of round trips, not of points.
    values : dict of str to float
        All parameters, in the order of `parameter_names`.
    """

    whole: Moments
    noise: Noise
    values: dict[str, float]

    @cached_property
    def residual(self) -> Array:
        """Torque minus prediction, shape (N,) [N·m]."""
        return self.whole.data.tau - predicted(self.whole.data, self.whole.law, self.values)

    @cached_property
    def rmse(self) -> float:
        """Root mean square residual of the samples that were condensed to the points [N·m]."""
        data = self.whole.data
        weight = np.ones(len(self.residual)) if data.count is None else data.count
        square = float(weight @ self.residual**2) + (
            0.0 if data.spread is None else float(data.spread.sum())
        )
        return float(np.sqrt(square / weight.sum()))

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Search range of every nonlinear parameter."""
        return {
            name: (float(grid.min()), float(grid.max())) for name, grid in self.whole.grid.items()
        }

    @property
    def at_bound(self) -> bool:
        """Whether a parameter of the law lies at its bound."""
        own, held = self.whole.law.parameters(False), held_at_zero(self.whole.data, self.whole.law)
        return any(
            self.at_edge(name) if name in self.limits else self.values[name] <= 0.0
            for name in own
            if name not in held
        )

    def at_edge(self, name: str) -> bool:
        """Return whether a nonlinear parameter lies at the edge of its search range."""
        low, high = self.limits[name]
        return not 1.01 * low < self.values[name] < high / 1.01


def best_of(whole: Moments) -> Best:
    """Return the optimum: refined from the best points of the search grid, and again with
    the noise of its residuals.
    """
    points, law, start = whole.data, whole.law, whole.start
    best = min(
        (polish(points, law, start.noise, at) for at in whole.starts),
        key=lambda one: float(one.solve(start.noise).misfit[0]),
    )
    noise = best.noise(0, best.solve(start.noise).beta[0], start.noise)
    best = polish(
        points, law, noise, {name: float(values[0]) for name, values in best.grid.items()}
    )
    values = (*best.solve(noise).beta[0], *(values[0] for values in best.grid.values()))
    return Best(
        whole, noise, dict(zip(parameter_names(points, law), map(float, values), strict=True))
    )


def supports(data: FitPoints, law: Law) -> bool:
    """Return whether there are more distinct speeds than the law has parameters of speed."""
    return int(speed_classes(data.w).max()) + 1 >= _speeds_for(law)


def least_speeds() -> int:
    """Return the number of distinct speeds that the simplest competing law needs."""
    return min(_speeds_for(law_named(law)) for law in laws_on_offer())


def _speeds_for(law: Law) -> int:
    return len(law.linear + law.nonlinear) + _SPARE_SPEEDS


def speed_classes(velocity: Array) -> Groups:
    """Return the index of each velocity among the distinct speeds, 0
    for the slowest, shape (N,).
    """
    level = np.log(np.abs(velocity))
    ascending = np.sort(level)
    first = [ascending[0]]
    while ascending[-1] > first[-1] + _SAME_SPEED:
        first.append(ascending[np.searchsorted(ascending, first[-1] + _SAME_SPEED, side="right")])
    return np.asarray(np.searchsorted(first, level, side="right") - 1)


def check_groups(data: FitPoints) -> None:
    """Refuse fewer round trips, or passes of general motion, than tell friction
    and how much it scatters.
    """
    least, word = (
        (LEAST_ROUND_TRIPS, "round trip(s)")
        if data.seen is None
        else (LEAST_PASSES, "pass(es) between reversals")
    )
    if data.groups < least:
        raise FitError(f"{data.groups} {word} found, at least {least} are needed")


def _enough(data: FitPoints, law: Law) -> None:
    check_groups(data)
    if not supports(data, law):
        raise FitError(
            f"{int(speed_classes(data.w).max()) + 1} different speed(s) are too few for the law "
            f"{law.name}: at least {_speeds_for(law)} are needed"
        )


def with_intervals(best: Best, load_name: str) -> FitResult:
    """Add intervals and verdicts to the best parameters; noise and residual are
    still those of round trips.

    Raises
    ------
    FitError
        If no parameter of friction is above zero.
    """
    whole, noise, values, limits = best.whole, best.noise, best.values, best.limits
    data, law, names = whole.data, whole.law, tuple(values)
    free = [
        k
        for k, name in enumerate(names)
        if name in limits or name in data.nuisance or values[name] > 0.0
    ]
    if not any(
        values[name] > 0.0 for name in names if name not in limits and name not in data.nuisance
    ):
        raise NoFriction(
            f"the torque shows no friction: the best fit of the law {law.name} has every "
            "parameter at zero"
        )
    found = spread(whole, noise, values, free)
    # for parameters searched in the logarithm
    scale = np.array([values[names[k]] if names[k] in limits else 1.0 for k in free])
    covariance = found.covariance * np.outer(scale, scale)
    units = {
        name: "1" if name.startswith(DOUBT) else unit(name, data.prismatic, load_name)
        for name in names
    }
    held = held_at_zero(data, law)
    fitted = {
        name: Parameter(
            values[name],
            None,
            None,
            None,
            units[name],
            "at bound",
            "set to zero: friction is proportional to its load"
            if name in held
            else "best fit at the lower bound, zero",
        )
        for name in names
    }
    ends = interval_ends(whole, noise, values, free, found)
    for k, error, (low, high) in zip(free, scale * found.std_error, ends.tolist(), strict=True):
        word, note = _verdict(best, names[k], low, high)
        # no parameter of a law is negative
        least = -np.inf if names[k] in data.nuisance else 0.0
        fitted[names[k]] = Parameter(
            values[names[k]], float(error), max(least, low), high, units[names[k]], word, note
        )
    parameters = {
        name: fitted[name] for name in law.parameters(data.load is not None, data.components)
    }
    own = tuple(name for name in parameters if names.index(name) in free)
    keep = [free.index(names.index(name)) for name in own]
    return FitResult(
        law.name,
        load_name,
        parameters,
        {name: fitted[name] for name in data.nuisance},
        own,
        covariance[np.ix_(keep, keep)],
        best.rmse,
        float("nan"),
        best.residual,
        noise,
        found.factor,
        serial=found.serial,
        data=data,
    )


def _verdict(best: Best, name: str, low: float, high: float) -> tuple[str, str]:
    """Return verdict and note of a parameter from its interval; for a nonlinear parameter,
    also from its search range.
    """
    if name not in best.limits:
        return verdict(best.values[name], low, high), ""
    if best.at_edge(name):
        return "at bound", ""
    least, most = best.limits[name]
    sides = [side for side, open_ in (("below", low <= least), ("above", high >= most)) if open_]
    if sides:
        return (
            "unidentifiable",
            f"the data do not limit the value {' and '.join(sides)}; add speeds there",
        )
    return verdict(best.values[name], low, high), ""
