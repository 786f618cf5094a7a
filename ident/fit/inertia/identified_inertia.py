"""Identified inertia of the links as a calibration stores it: bodies for the model, and base
parameters with intervals.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.link_prior import is_told
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.model.base_parameters import BaseParameters
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import INERTIAL, PER_LINK, inertial_parameters, with_bodies

_UNITS = dict(zip(INERTIAL, ("kg", *("kg·m",) * 3, *("kg·m²",) * 6), strict=True))
_NORMAL = 1.96
# fewest parameters, and least factor between model and log, that show a wrong unit
_SEVERAL, _OTHER_UNIT = 3, 30.0


@dataclass(frozen=True)
class LinkBody:
    """Mass, centre of mass and inertia of a link.

    Attributes
    ----------
    mass : float
        [kg].
    com : tuple of float
        Centre of mass from the joint's origin, link axes (natural coordinates) [m].
    inertia : tuple of float
        About the centre of mass: xx, yy, zz, xy, xz, yz [kg·m²].
    """

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class IdentifiedInertia:
    """Identified inertia of the links, which replaces the model's.

    Attributes
    ----------
    deviation : float
        Typical relative error of the model's link masses (`Scatter.of_masses`).
    constants : float
        Typical relative error of torque constants; 0 means that they are taken as right.
    links : mapping of str to LinkBody
        Links by the name of the joint that carries them, followers included.
    parameters : mapping of str to Parameter
        Base parameters: the combinations of inertial parameters that torques determine,
        by name of the combination.
    """

    deviation: float
    constants: float
    links: Mapping[str, LinkBody]
    parameters: Mapping[str, Parameter]

    @property
    def told(self) -> int:
        """Number of identifiable combinations."""
        return sum(one.verdict != "unidentifiable" for one in self.parameters.values())

    def differing(self, base: BaseParameters, stated: Mechanism) -> dict[str, float]:
        """Return the values of a model that lie outside the interval, by name of the
        combination, the clearest first.
        """
        values = dict(
            zip(base.names, (base.combination @ inertial_parameters(stated)).tolist(), strict=True)
        )
        apart = {
            name: abs(one.value - values[name]) / one.std_error
            for name, one in self.parameters.items()
            if one.value is not None and one.std_error and one.verdict != "unidentifiable"
        }
        return {
            name: values[name]
            for name in sorted(apart, key=lambda name: -apart[name])
            if apart[name] > _NORMAL
        }

    def other_unit(self, stated: Mapping[str, float]) -> float:
        """Return the median ratio of stated to identified sizes, if it is far from 1 as
        with a wrong unit; else 0.

        `stated` are values of the model by name of the combination; only identified ones count.
        """
        ratios = [
            abs(value / one.value)
            for name, value in stated.items()
            if (one := self.parameters[name]).verdict == "identified" and one.value
        ]
        factor = float(np.median(ratios)) if len(ratios) >= _SEVERAL else 1.0
        return factor if abs(np.log(max(factor, 1e-300))) > np.log(_OTHER_UNIT) else 0.0

    def doubted(
        self,
        base: BaseParameters,
        mechanism: Mechanism,
        biased: Collection[str],
        tested: Collection[str] = (),
    ) -> "IdentifiedInertia":
        """Return the inertia with lower verdicts where the closed loop biases
        least squares of some joints.

        Combinations of links that these joints carry become "weak" at best, except those that
        instruments have `tested`. A drive of a closed chain moves all links of the chain.
        """
        tree = mechanism.link_tree
        rows = tree.carries[[tree.names.index(name) for name in biased]]
        carried = np.any(rows if mechanism.chain is None else np.ones_like(rows), axis=0)
        note = (
            f"the closed loop biases least squares for {', '.join(biased)}; the instruments are "
            "too weak to test this parameter"
        )
        parameters = dict(self.parameters)
        for name, column in zip(base.names, base.independent, strict=True):
            one = parameters[name]
            if (
                carried[int(column) // PER_LINK]
                and name not in tested
                and one.verdict == "identified"
            ):
                parameters[name] = replace(one, verdict="weak", note=f"{one.note}; {note}")
        return replace(self, parameters=parameters)

    def of(self, mechanism: Mechanism) -> Mechanism:
        """Return the model with the identified links.

        Raises
        ------
        InputError
            If the identified inertia lacks a link of the model.
        """
        if missing := set(mechanism.link_tree.names) - set(self.links):
            raise InputError(
                f"{mechanism.name}: the identified inertia lacks the link of joint "
                f"{', '.join(sorted(missing))}"
            )
        bodies = [self.links[name] for name in mechanism.link_tree.names]
        mass, com = np.array([one.mass for one in bodies]), np.array([one.com for one in bodies])
        inertia = np.array(
            [
                [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
                for xx, yy, zz, xy, xz, yz in (one.inertia for one in bodies)
            ]
        )
        return with_bodies(mechanism, mass, com, inertia)


def identified(fit: InertialFit) -> IdentifiedInertia:
    """Return the identified inertia for the model that was fitted."""
    mechanism = fit.model(fit.prior.mechanism)
    tree = mechanism.link_tree
    links = {
        name: LinkBody(float(tree.mass[j]), _three(tree.com[j]), _six(tree.inertia[j]))
        for j, name in enumerate(tree.names)
    }
    return IdentifiedInertia(
        fit.scatter.of_masses,
        fit.scatter.constants,
        links,
        _combinations(fit, inertial_parameters(tree)),
    )


def _combinations(fit: InertialFit, theta: Array) -> dict[str, Parameter]:
    base = fit.base
    stated = base.combination @ inertial_parameters(fit.prior.mechanism)
    error = np.sqrt(np.diag(base.combination @ fit.covariance @ base.combination.T))
    spread = np.linalg.norm(
        base.combination @ fit.prior.directions @ fit.scatter.root(len(theta) // PER_LINK), axis=1
    )
    out = {}
    for k, value in enumerate((base.combination @ theta).tolist()):
        half = _NORMAL * float(error[k])
        word, note = verdict(value, value - half, value + half), f"the model states {stated[k]:.4g}"
        if not is_told(float(error[k]), float(spread[k])):
            word, note = "unidentifiable", f"{note}; the motion hardly constrains this combination"
        elif word == "unidentifiable":
            # the value is small, and its interval excludes large values
            word = "weak"
        unit = _UNITS[INERTIAL[int(base.independent[k]) % PER_LINK]]
        out[base.names[k]] = Parameter(
            value, float(error[k]), value - half, value + half, unit, word, note
        )
    return out


def _three(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z


def _six(matrix: Array) -> tuple[float, float, float, float, float, float]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = matrix.tolist()
    return xx, yy, zz, xy, xz, yz
