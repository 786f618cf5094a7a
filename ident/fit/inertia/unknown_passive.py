r"""Unknown friction of the passive joints (joints without a drive) of a closed chain, and its
contribution to the drive torques.

Friction of a passive joint acts on the drives twice: by virtual work, and because it changes the
loads that friction grows with (P0, Eqs. 55, 56),

.. math:: \tau_a \ni D^T \tau_{f,p}(\dot q_p, N_p), \qquad N_p = N_p(q, \dot q, \ddot q, \tau_{f,p})

so its derivatives are finite differences of the chain's torques and loads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.link_prior import is_told
from stribeck.ident.fit.inertia.passive_friction import PassiveFriction, RubbingJoints
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.model.driven.passive_joints import parameters_of, unit_of
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints

_STEP = 1e-3  # step of y for finite differences
_NORMAL = 1.96
# of the friction of its joints: a parameter with a smaller half width is
# identified, whatever its value
_SMALL = 0.05
_NOTHING = 1e-9  # of a unit: smaller values count as zero
_TINY = 1e-12  # of a unit of torque: a parameter with a smaller effect moves no drive


@dataclass(frozen=True)
class UnknownPassive:
    """Unknown friction parameters of passive joints.

    Attributes
    ----------
    classes : tuple of PassiveJoints
        Classes of joints whose friction is unknown.
    names : tuple of (str, str)
        Class and parameter of each unknown.
    units : ndarray, shape (p,)
        Physical value of an unknown of 1; such an unknown causes drive torques of typical size.
    """

    classes: tuple[PassiveJoints, ...]
    names: tuple[tuple[str, str], ...]
    units: Array

    @classmethod
    def of_chain(
        cls, mechanism: Mechanism, q: Array, dq: Array, tau: Array
    ) -> "UnknownPassive | None":
        """Return the unknowns of a mechanism; None without passive joints of unknown friction.

        Motion `q`, `dq` and torques `tau`, shape (N, n) each, set the units.
        """
        if mechanism.chain is None:
            return None
        classes = tuple(one for one in mechanism.chain.classes if not one.stated)
        names = tuple(
            (one.name, key) for one in classes for key in parameters_of(one, mechanism.chain.whole)
        )
        if not names:
            return None
        size, ones = (
            float(np.sqrt(np.mean(tau**2))),
            cls(classes, names, np.full(len(names), _STEP)),
        )
        slopes = ones.slopes(
            lambda model: inverse_dynamics(model, q, dq), ones.at(mechanism, np.zeros(len(names)))
        )
        moved = np.sqrt(np.mean(slopes**2, axis=(0, 1))) / _STEP
        return cls(classes, names, np.where(moved > _TINY, size / np.maximum(moved, _TINY), 1.0))

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    def at(self, mechanism: Mechanism, y: Array) -> Mechanism:
        """Return a mechanism of the same chain whose passive joints have the friction
        parameters y, shape (p,).
        """
        assert mechanism.chain is not None
        values = dict(zip(self.names, (self.units * y).tolist(), strict=True))
        own = {
            one.name: replace(
                one,
                values={key: value for (name, key), value in values.items() if name == one.name},
            )
            for one in self.classes
        }
        return replace(
            mechanism,
            chain=mechanism.chain.with_classes(
                [own.get(one.name, one) for one in mechanism.chain.classes]
            ),
        )

    def slopes(self, response: Callable[[Mechanism], Array], mechanism: Mechanism) -> Array:
        """Derivative by y of a function of the mechanism, at the mechanism's own
        friction, shape (..., p).
        """
        y, here = self.of(mechanism), response(mechanism)
        return np.stack(
            [
                (response(self.at(mechanism, y + _STEP * unit)) - here) / _STEP
                for unit in np.eye(self.count)
            ],
            axis=-1,
        )

    def of(self, mechanism: Mechanism) -> Array:
        """Return the y of a mechanism's passive joints, shape (p,)."""
        assert mechanism.chain is not None
        stated = {one.name: one.values for one in mechanism.chain.classes}
        return np.array([stated[name].get(key, 0.0) for name, key in self.names]) / self.units

    def found(self, y: Array, covariance: Array, mechanism: Mechanism) -> PassiveFriction:
        """Return the identified friction with 95 % intervals."""
        assert mechanism.chain is not None
        whole, classes = mechanism.chain.whole, dict[str, RubbingJoints]()
        errors = np.sqrt(np.diag(covariance))
        for one in self.classes:
            own = [k for k, (name, _) in enumerate(self.names) if name == one.name]
            level, parameters = float(y[own].sum()), {}
            for k in own:
                key, value, half = (
                    self.names[k][1],
                    float(y[k]) if y[k] > _NOTHING else 0.0,
                    _NORMAL * float(errors[k]),
                )
                low, high = max(0.0, value - half), value + half
                word, note = verdict(value, low, high), ""
                if not is_told(float(errors[k]), 1.0):
                    word, note = "unidentifiable", "the motion hardly constrains this parameter"
                elif half < _SMALL * level:
                    word, note = (
                        "identified",
                        "known to be small compared with the friction of these joints",
                    )
                elif word == "unidentifiable":
                    note = (
                        "the interval contains zero"
                        if low == 0.0
                        else "the interval is as wide as the value"
                    )
                value, error, low, high = (
                    float(self.units[k] * one) for one in (value, errors[k], low, high)
                )
                parameters[key] = Parameter(
                    value, error, low, high, unit_of(one, key, whole), word, note
                )
            classes[one.name] = RubbingJoints(one.joints, one.load, parameters)
        return PassiveFriction(classes)
