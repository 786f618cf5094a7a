"""Identified or stated friction of the passive joints (joints without a
drive) of a closed chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints


@dataclass(frozen=True)
class RubbingJoints:
    """A class of equal passive joints, and their friction.

    Attributes
    ----------
    joints : tuple of str
        Names of the joints.
    load : str
        Load that the friction grows with.
    parameters : mapping of str to Parameter
        Identified friction parameters.
    friction : mapping of str to float
        Friction parameters that the arm file states.
    """

    joints: tuple[str, ...]
    load: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    friction: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """Values of the friction parameters."""
        return {
            **self.friction,
            **{key: float(one.value or 0.0) for key, one in self.parameters.items()},
        }


@dataclass(frozen=True)
class PassiveFriction:
    """Friction of passive joints, by the classes of the arm file."""

    classes: Mapping[str, RubbingJoints] = field(default_factory=dict)

    def of(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with this friction, so that torques and loads of its
        driven joints include it.
        """
        if mechanism.chain is None or not self.classes:
            return mechanism
        classes = [
            PassiveJoints(name, one.joints, one.load, one.values, not one.parameters)
            for name, one in self.classes.items()
        ]
        return replace(mechanism, chain=mechanism.chain.with_classes(classes))


def stated_friction(mechanism: Mechanism) -> PassiveFriction:
    """Return the friction of passive joints that the arm file states."""
    return PassiveFriction(
        {}
        if mechanism.chain is None
        else {
            one.name: RubbingJoints(one.joints, one.load, {}, one.values)
            for one in mechanism.chain.classes
            if one.stated
        }
    )


NO_PASSIVE = PassiveFriction()
