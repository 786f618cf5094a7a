"""Options of a fit."""

from dataclasses import dataclass, fields

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.fit.choice.selection import ORDER
from stribeck.ident.fit.joint.directions import DIFFERENCES
from stribeck.ident.fit.joint.general_motion import RIGID
from stribeck.ident.fit.joint.outliers import LOSSES
from stribeck.ident.fit.joint.torque_basis import BASES
from stribeck.ident.fit.points import CONSTANT, Growth
from stribeck.ident.laws.law_table import is_law, law_names

INERTIA = ("auto", "fit", "trust")
# see `ident.memory.states.memories`
MEMORY = ("auto", "any", "none", "relaxing", "dahl", "lugre", "two-states", "maxwell-slip")
RIPPLE = ("none", "auto")

TEMPERATURE = ("auto", "any", "self-heating", "none")
BACKLASH = ("auto", "any", "none")


@dataclass(frozen=True)
class Options:
    """Options of a fit; with "auto", all possibilities compete."""

    law: str = "auto"
    load: str = "auto"
    # "model" or "joint": fit general motion, with rigid-body torque of the model or joint
    motion: str = "none"
    # difference between the directions: "none", "viscous", "driving"
    directional: str = "auto"
    # or "gravity-corrected": torque divided by its scale against gravity
    torque_basis: str = "drive"
    # same in all runs; "auto": fitted if there are many round trips, "none": only reported
    drift: str = "auto"
    # "huber": outliers count less, "squares": all count alike, "auto": "huber" with outliers
    loss: str = "auto"
    # waves of friction with position: "none", "once a turn", "twice a turn"
    place: str = "auto"
    # of reversals: a name, "any", "none", or "auto": sought in presliding runs
    memory: str = "auto"
    # "auto": sought where it rises and falls, "any": wherever it varies, "self-heating", "none"
    temperature: str = "auto"
    # of links: "fit" it, "trust" the model, or "auto": fit it in general
    # motion if the model is wrong
    inertia: str = "auto"
    # "auto": sought where the link's position is logged, "any": also from
    # torque, "none": not sought
    backlash: str = "auto"
    # Hz, of the filter for general motion; by default 20, or less if positions are coarse
    bandwidth: float | None = None
    # part of friction levels beside a load; "none": they grow in proportion to their load
    constant: str = "fit"
    # "auto": torque that ripples with position is taken out of the samples where it is claimed
    ripple: str = "none"

    def __post_init__(self) -> None:
        if self.law != "auto" and not is_law(self.law):
            raise unknown_name("law", self.law, ("auto", *law_names()))
        if self.load not in ("auto", *ORDER[:-1]):
            raise unknown_name("load", self.load, ("auto", *ORDER[:-1]))
        if self.motion not in ("none", *RIGID):
            raise unknown_name("motion", self.motion, ("none", *RIGID))
        if self.drift not in ("auto", "none"):
            raise unknown_name("drift option", self.drift, ("auto", "none"))
        if self.loss not in LOSSES:
            raise unknown_name("loss", self.loss, LOSSES)
        if self.loss == "huber" and self.motion != "none":
            raise InputError(
                'loss = "huber" weights round trips, which general motion does not have; leave '
                "motion out"
            )
        if self.memory not in MEMORY:
            raise unknown_name("memory", self.memory, MEMORY)
        if self.temperature not in TEMPERATURE:
            raise unknown_name("temperature option", self.temperature, TEMPERATURE)
        if self.backlash not in BACKLASH:
            raise unknown_name("backlash option", self.backlash, BACKLASH)
        if self.inertia not in INERTIA:
            raise unknown_name("inertia option", self.inertia, INERTIA)
        if self.bandwidth is not None and not 0.0 < self.bandwidth < float("inf"):
            raise InputError(
                f"bandwidth = {self.bandwidth:g} Hz is not a positive number; leave it out for 20 "
                "Hz"
            )
        if self.constant not in CONSTANT:
            raise unknown_name("constant part", self.constant, CONSTANT)
        if self.constant == "none" and (self.load == "none" or self.motion == "joint"):
            said = 'load = "none"' if self.load == "none" else 'motion = "joint"'
            raise InputError(
                f'constant = "none" makes friction proportional to a load, but {said} has no '
                "load; leave one of "
                "the two out"
            )
        if self.ripple not in RIPPLE:
            raise unknown_name("ripple option", self.ripple, RIPPLE)
        if self.inertia == "fit" and self.motion == "joint":
            raise InputError(
                'inertia = "fit" fits the links of the model, but motion = "joint" fits the '
                "joint's own "
                'inertia; use motion = "model"'
            )
        if self.directional not in ("auto", "none", *DIFFERENCES):
            raise unknown_name("directional", self.directional, ("auto", "none", *DIFFERENCES))
        if self.directional == "driving" and self.motion != "none":
            raise InputError('directional = "driving" needs round trips; leave motion out')
        if self.directional == "driving" and self.torque_basis == "gravity-corrected":
            raise InputError(
                'directional = "driving" assumes that the torque scale is right, torque_basis = '
                '"gravity-corrected" corrects the scale; choose one of the two'
            )
        if self.torque_basis not in BASES:
            raise unknown_name("torque basis", self.torque_basis, BASES)
        if self.torque_basis != "drive" and self.motion != "none":
            raise InputError(
                f'torque_basis = "{self.torque_basis}" needs round trips; leave motion out'
            )
        if self.load == "components" and (self.motion != "none" or self.directional == "driving"):
            raise InputError(
                'load = "components" needs round trips, and its coefficients cannot differ '
                "between driving and "
                "back-driving; leave motion and directional out"
            )
        if self.motion == "joint" and self.load not in ("auto", "none"):
            raise InputError(f'load = "{self.load}" needs the model; use motion = "model"')

    @property
    def growth(self) -> Growth:
        """How friction grows with a load."""
        return Growth(self.load, self.constant == "fit")

    @property
    def differing(self) -> dict[str, str | float]:
        """Options that are not at their defaults, besides the torque basis, which
        calibrations state elsewhere.
        """
        return {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if option.name != "torque_basis" and getattr(self, option.name) != option.default
        }
