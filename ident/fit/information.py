r"""Expected precision of planned round trips, before anything moves.

Planned round trips are rows of points whose torque is not known yet. The Jacobian J of a
candidate law at its points, whitened by the expected noise, gives the Fisher information that
each round trip adds to the fit:

.. math:: M = P + \sum_{\text{round trips}} J^T \Sigma^{-1} J, \qquad \operatorname{cov} \hat\theta \approx M^{-1}

where P is the prior information. M depends on the unknown parameters, most of all on the Stribeck
velocity; so criteria are means over a few plausible candidates. The target quantities are linear
functions c of the parameters, each divided by its wanted half width: friction at the ends of speeds
and loads, and the parameters themselves. A design is good if the greatest of their variances is
small (a c-optimal design for several c; the greatest is approximated by a norm, which is
differentiable).

References
----------
Atkinson, Donev and Tobias, Optimum Experimental Designs, with SAS, 2007, sections 10, 11 and 18.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from stribeck.ident.arrays import Array, first_of_groups, group_index
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.fit_joint import PRIOR, nuisance
from stribeck.ident.fit.joint.offered_loads import excited_loads
from stribeck.ident.fit.law_on_points import jacobian, parameter_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.fit.variable_projection import whitened
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import components_of, load_at, load_part

STATIC = 1.4  # expected ratios of a joint: static over Coulomb friction,
VISCOUS = 2.0  # viscous friction at the velocity limit over Coulomb friction,
# growth of friction up to the greatest load, over Coulomb friction,
LOADED = 0.5
STRIBECK = (0.02, 0.035, 0.06)  # and Stribeck velocity over velocity limit (one of these)
# standard deviation of the expectation, as a part of the expected value
_VAGUE = 3.0
_SPEEDS = 8  # number of speeds at which a band is evaluated
_ALIKE = 0.95  # correlation from which loads count as one
_NORM = 4  # exponent of the norm of the target variances


@dataclass(frozen=True)
class ExpectedNoise:
    """Expected noise of a joint, as fractions of its friction.

    The defaults are those of geared laboratory arms that report motor current.

    Attributes
    ----------
    within : float
        Standard deviation of a point within its round trip.
    scatter : float
        Standard deviation of the level of friction from stroke to stroke.
    ripple : float
        Amplitude of the torque that varies with the angle of the motor.
    """

    within: float = 0.008
    scatter: float = 0.01
    ripple: float = 0.03

    @classmethod
    def of_fit(cls, fit: FitResult) -> "ExpectedNoise":
        """Return the noise that a fit found; its scatter includes the remaining ripple."""
        assert fit.data is not None
        assert fit.noise.level is not None
        friction, within = np.abs(fit.data.tau), fit.noise.within
        shared = np.sqrt(
            np.maximum(0.0, fit.noise.level**2 - within**2 / fit.data.samples[fit.data.group])
        )
        return cls(
            within / float(np.median(friction)),
            np.sqrt(2.0) * float(np.median(shared / friction)),
            0.0,
        )

    def of_trips(self, friction: Array, left: Array, count: Array) -> Noise:
        """Return the noise model of round trips with this friction, remaining part of ripple,
        and points, each shape (G,).
        """
        within, level = (
            self.within * float(np.median(friction)),
            (self.scatter**2 + (self.ripple * left) ** 2) / 2.0,
        )
        return Noise(within, np.sqrt(friction**2 * level + within**2 / count))


@dataclass(frozen=True)
class PlausibleLaw:
    """A law, a load and parameters that are plausible for a joint."""

    law: str
    load: str
    values: Mapping[str, float]

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the load that have a coefficient each."""
        return components_of(self.values)


@dataclass(frozen=True)
class Expectation:
    """Expectation about a joint before its next round trips.

    Attributes
    ----------
    candidates : tuple of PlausibleLaw
        Candidates; criteria are means over all candidates.
    noise : ExpectedNoise
        Expected noise of the joint.
    earlier : FitResult, optional
        The fit of earlier round trips; its law, load and parameters are the only candidate.
    """

    candidates: tuple[PlausibleLaw, ...]
    noise: ExpectedNoise = field(default_factory=ExpectedNoise)
    earlier: FitResult | None = None


@dataclass(frozen=True)
class ExpectedPrecision:
    """Expected precision of a joint's friction after round trips, if a candidate is right.

    Attributes
    ----------
    joint, law, load : str
        Joint, and law and load of the candidate.
    round_trips : int
        Number of round trips.
    friction : float
        Greatest half width of the 95 % band of friction over the tested speeds and
        loads, as a part of friction.
    parameters : mapping of str to float
        95 % half widths as parts of the values.
    """

    joint: str
    law: str
    load: str
    round_trips: int
    friction: float
    parameters: Mapping[str, float]

    def needed(self, target: float) -> int:
        """Return the number of such round trips for a half width of friction, which falls
        with the root of this number.
        """
        spare = self.round_trips * (self.friction / target) ** 2
        return max(len(self.parameters) + 1, int(np.ceil(spare)))


def expectation(
    coulomb: float, velocity: float, points: pd.DataFrame, noise: ExpectedNoise | None = None
) -> Expectation:
    """Return the expectation about a joint that was never measured.

    Parameters
    ----------
    coulomb : float
        Expected Coulomb friction [N·m or N].
    velocity : float
        Velocity limit of the joint, or the highest reachable velocity [rad/s or m/s].
    points : DataFrame
        Planned points of the joint; loads that vary enough in them become candidates.
    noise : ExpectedNoise, optional
        Default: that of geared laboratory arms.
    """
    offered, _ = excited_loads(points.assign(odd=coulomb))
    candidates = []
    loads: dict[str, Array | None] = {}
    for load, pressed in offered.items():
        others = [other for other in loads.values() if other is not None]
        if pressed is None or all(np.corrcoef(pressed, other)[0, 1] < _ALIKE for other in others):
            loads[load] = pressed
    for load, pressed in loads.items():
        for part in STRIBECK:
            values = {
                "coulomb": coulomb,
                "static": STATIC * coulomb,
                "viscous": VISCOUS * coulomb / velocity,
                "stribeck_velocity": part * velocity,
            }
            if pressed is not None:
                slope = LOADED * coulomb / float(pressed.max())
                values |= {"coulomb_coefficient": slope, "static_coefficient": STATIC * slope}
            candidates.append(PlausibleLaw("stribeck", load, values))
    return Expectation(tuple(candidates), noise or ExpectedNoise())


def learnt(fit: FitResult) -> Expectation:
    """Return the expectation about a joint from a fit."""
    return Expectation(
        (PlausibleLaw(fit.law, fit.load, fit.values),), ExpectedNoise.of_fit(fit), fit
    )


def planned(points: pd.DataFrame, candidate: PlausibleLaw, drift: bool = False) -> FitPoints:
    """Return the planned points of a joint in the form of a fit; `drift`: whether
    their order in time is known.
    """
    speed, law = points["speed"].to_numpy(dtype=float), law_named(candidate.law)
    load = load_at(points, candidate.load, candidate.values)
    odd, group = (
        law.torque(speed, candidate.values, load),
        group_index(points["segment"].to_numpy()),
    )
    columns = (
        nuisance(points.assign(odd=odd), int(group.max()) + 1)
        if drift
        else {"delay": -points["gravity_rate"].to_numpy(dtype=float)}
    )
    return FitPoints(
        speed,
        odd,
        load,
        group,
        columns,
        {name: PRIOR[name] for name in columns},
        components=candidate.components,
    )


@dataclass(frozen=True)
class Outlook:
    """Expected information about a joint, if a candidate is right.

    Attributes
    ----------
    candidate : PlausibleLaw
        Law, load and parameters.
    names : tuple of str
        Rows and columns of `total`; nonlinear parameters by their logarithm.
    total : ndarray, shape (p, p)
        Fisher information.
    trips : int
        Number of round trips that it comes from.
    """

    candidate: PlausibleLaw
    names: tuple[str, ...]
    total: Array
    trips: int

    @classmethod
    def of(
        cls, data: FitPoints, candidate: PlausibleLaw, earlier: FitResult | None = None
    ) -> "Outlook":
        """Return the information before the planned round trips: priors, a vague
        expectation, and an earlier fit.
        """
        law = law_named(candidate.law)
        names = parameter_names(data, law)
        known = np.array(
            [
                data.prior[name]
                if name in data.prior
                else _VAGUE
                if name in law.nonlinear
                else _VAGUE * max(candidate.values[name], 1e-9)
                for name in names
            ]
        )
        total = np.diag(known**-2.0)
        if earlier is None:
            return cls(candidate, names, total, 0)
        rows = [names.index(name) for name in earlier.names]
        step = np.array(
            [earlier.values[name] if name in law.nonlinear else 1.0 for name in earlier.names]
        )
        total[np.ix_(rows, rows)] += np.linalg.pinv(earlier.covariance, hermitian=True) * np.outer(
            step, step
        )
        return cls(candidate, names, total, 0 if earlier.data is None else earlier.data.groups)

    def with_trips(self, told: Array, trips: int) -> "Outlook":
        """Add the information of round trips, shape (p, p)."""
        return replace(self, total=self.total + np.sign(trips) * told, trips=self.trips + trips)

    def asked(self, points: pd.DataFrame, friction: float, parameters: float) -> Array:
        """Return the target quantities over their wanted half widths: friction over the points, and
        parameters; shape (C, p).
        """
        rows, level = self._slopes(
            *speeds_at_extreme_loads(points, self.candidate.load, self.candidate.values)
        )
        values = np.array(
            [
                1.0 if name in self._nonlinear else self.candidate.values.get(name, 0.0)
                for name in self.names
            ]
        )
        own = np.diag(1.0 / np.where(values > 0.0, values, np.inf))[values > 0.0]
        return np.vstack((rows / (friction * level[:, None]), own / parameters))

    def fall(self, told: Array, asked: Array) -> Array:
        """Return by how much each of many round trips (..., p, p) lowers the log of the targets'
        variance norm, shape (...).
        """
        scale = 1.0 / np.sqrt(np.diag(self.total))
        known, rows = self.total * np.outer(scale, scale), (asked * scale).T
        after = np.linalg.inv(known + told * np.outer(scale, scale)) @ rows
        before = _norm((rows * (np.linalg.inv(known) @ rows)).sum(axis=0))
        return np.asarray(np.log(before / _norm((rows * after).sum(axis=-2))))

    @property
    def factor(self) -> float:
        """Half width of a 95 % interval in standard errors."""
        return _student(max(1, self.trips - len(self.names)))

    @property
    def covariance(self) -> Array:
        """Covariance of the estimates, shape (p, p)."""
        scale = np.sqrt(np.diag(self.total))
        return np.asarray(
            np.linalg.inv(self.total / np.outer(scale, scale)) / np.outer(scale, scale)
        )

    def lacks(self, asked: Array) -> float:
        """Return the greatest ratio of a half width to the wanted half width."""
        return self.factor * float(
            np.sqrt(np.einsum("ci,ij,cj->c", asked, self.covariance, asked).max())
        )

    def half_widths(self) -> dict[str, float]:
        """Return the 95 % half widths of the law's parameters, as parts of their values."""
        error = dict(zip(self.names, self.factor * np.sqrt(np.diag(self.covariance)), strict=True))
        return {
            name: float(error[name] / (1.0 if name in self._nonlinear else value))
            for name, value in self.candidate.values.items()
            if name in error and value
        }

    def band(self, speed: Array, load: Array | None) -> Array:
        """Return the half width of the 95 % interval of friction at each point, as a
        part of friction, shape (N,).
        """
        rows, friction = self._slopes(speed, load)
        return np.asarray(
            self.factor * np.sqrt(np.einsum("ni,ij,nj->n", rows, self.covariance, rows)) / friction
        )

    def _slopes(self, speed: Array, load: Array | None) -> tuple[Array, Array]:
        """Return the derivatives of friction with respect to the parameters,
        shape (N, p), and friction.
        """
        values, nothing = self.candidate.values, np.zeros(len(speed))
        beside = [name for name in self.names if name not in values]
        law = law_named(self.candidate.law)
        data = FitPoints(
            speed,
            nothing,
            load,
            np.arange(len(speed)),
            dict.fromkeys(beside, nothing),
            components=self.candidate.components,
        )
        return jacobian(data, law, {**values, **dict.fromkeys(beside, 0.0)}), law.torque(
            speed, values, load
        )

    @property
    def _nonlinear(self) -> tuple[str, ...]:
        return law_named(self.candidate.law).nonlinear


@cache
def _student(freedom: int) -> float:
    return float(stdtrit(freedom, 0.975))


def _norm(variances: Array) -> Array:
    """Return a smooth approximation of the greatest variance, from (..., C) to shape (...)."""
    return np.asarray(np.mean(variances**_NORM, axis=-1) ** (1.0 / _NORM))


def information(
    points: pd.DataFrame, data: FitPoints, candidate: PlausibleLaw, noise: ExpectedNoise
) -> Array:
    """Return the Fisher information of each planned round trip, shape (G, p, p)."""
    law = law_named(candidate.law)
    friction, left = (
        first_of_groups(values, data.group)
        for values in (data.tau, points["ripple"].to_numpy(dtype=float))
    )
    values = {**dict.fromkeys(data.nuisance, 0.0), **candidate.values}
    return whitened(data, jacobian(data, law, values), noise.of_trips(friction, left, data.samples))


def speeds_at_extreme_loads(
    points: pd.DataFrame, load: str, values: Mapping[str, float]
) -> tuple[Array, Array | None]:
    """Return speeds over the range of the points at the loads that raise friction least and most,
    and these loads; N of each.
    """
    speed = np.geomspace(points["speed"].min(), points["speed"].max(), _SPEEDS)
    loads = load_at(points, load, values)
    if loads is None:
        return speed, None
    part = load_part(values, loads)
    return np.tile(speed, 2), np.repeat(loads[[part.argmin(), part.argmax()]], _SPEEDS, axis=0)


def outlooks(points: pd.DataFrame, expected: Expectation) -> list[Outlook]:
    """Return the expected information about a joint after its planned
    points, for each candidate.
    """
    found = []
    for candidate in expected.candidates:
        data = planned(points, candidate, drift=expected.earlier is None)
        known = Outlook.of(data, candidate, expected.earlier)
        told = information(points, data, candidate, expected.noise)
        found.append(known.with_trips(told.sum(axis=0), len(told)))
    return found


def expected_precision(
    points: pd.DataFrame, expected: Expectation
) -> tuple[ExpectedPrecision, ...]:
    """Return the expected half widths after the planned points of a joint, by load: RMS over the
    candidates with this load.
    """
    ends = outlooks(points, expected)
    joint, found = str(points["joint"].iloc[0]), []
    for load in dict.fromkeys(end.candidate.load for end in ends):
        own = [end for end in ends if end.candidate.load == load]
        bands = [
            end.band(*speeds_at_extreme_loads(points, load, end.candidate.values)) for end in own
        ]
        widths = pd.DataFrame(
            [
                {"friction": float(band.max()), **end.half_widths()}
                for band, end in zip(bands, own, strict=True)
            ]
        )
        mean = np.sqrt((widths**2).mean())
        found.append(
            ExpectedPrecision(
                joint,
                own[0].candidate.law,
                load,
                own[0].trips,
                float(mean["friction"]),
                {str(name): float(value) for name, value in mean.drop("friction").items()},
            )
        )
    return tuple(found)
