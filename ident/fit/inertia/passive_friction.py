"""Friction of a closed chain's joints without a drive, as it was found or is stated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints


@dataclass(frozen=True)
class RubbingJoints:
    """Joints without a drive that are alike.

    Attributes
    ----------
    joints : tuple of str
        The joints.
    load : str
        That their friction grows with.
    parameters : mapping of str to Parameter
        Of their friction, as it was found.
    friction : mapping of str to float
        Parameters that the arm file states instead.
    """

    joints: tuple[str, ...]
    load: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    friction: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """Parameters of their friction."""
        return {**self.friction, **{key: float(one.value or 0.0) for key, one in self.parameters.items()}}


@dataclass(frozen=True)
class PassiveFriction:
    """Friction of joints without a drive, by the classes of the arm file."""

    classes: Mapping[str, RubbingJoints] = field(default_factory=dict)

    def of(self, mechanism: Mechanism) -> Mechanism:
        """Driven joints of the chain, whose torques and loads hold this friction."""
        if mechanism.chain is None or not self.classes:
            return mechanism
        classes = [PassiveJoints(name, one.joints, one.load, one.values, not one.parameters)
                   for name, one in self.classes.items()]
        return replace(mechanism, chain=mechanism.chain.with_classes(classes))


def stated_friction(mechanism: Mechanism) -> PassiveFriction:
    """What the arm file states of it."""
    return PassiveFriction({} if mechanism.chain is None else {
        one.name: RubbingJoints(one.joints, one.load, {}, one.values) for one in mechanism.chain.classes if one.stated})


NO_PASSIVE = PassiveFriction()
