"""The truth of the simulated arm: the ``[simulation]`` table and the friction that follows from it.

This code is independent of the estimator: the laws, loads and bearings here belong to the simulated
world, and nothing in ``ident`` reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from stribeck.drivers.simulation.friction_heat import HeatTruth
from stribeck.ident.arm.arm_file import SHARED, ArmFile
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.toml_tables import parse_table

Array = NDArray[np.float64]
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)
_MEMORY_KEYS = {
    "lugre": ("bristle_stiffness", "bristle_damping"),
    "maxwell-slip": ("stiffnesses", "shares"),
}
_NEEDED_KEYS = {"lugre": ("bristle_stiffness",), "maxwell-slip": ("stiffnesses", "shares")}
_SHARES = 1e-6  # allowed deviation of the sum of shares from 1


class Knobs(BaseModel):
    """Imperfections of a joint and its drive, set for the whole arm or for
    one joint. Joint side, SI.
    """

    model_config = _STRICT
    torque_noise: NonNegativeFloat = Field(
        0.0, description="standard deviation of the torque signal's noise, N·m"
    )
    torque_noise_time: NonNegativeFloat = Field(
        0.0, description="correlation time of that noise, s; 0 is white noise"
    )
    torque_step: NonNegativeFloat = Field(0.0, description="resolution of the torque signal, N·m")
    torque_delay: NonNegativeFloat = Field(
        0.0, description="lag of the torque signal behind the position, s"
    )
    torque_scale: PositiveFloat = Field(1.0, description="reported torque over true torque")
    offset: float = Field(0.0, description="constant added to the reported torque, N·m")
    encoder_step: NonNegativeFloat = Field(0.0, description="resolution of the position, rad")
    velocity_noise: NonNegativeFloat = Field(
        0.0, description="standard deviation of the velocity signal's noise, rad/s"
    )
    ripple: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.0, description="amplitude of the position-dependent part of friction, as a fraction of it"
    )
    ripple_period: PositiveFloat = Field(0.0628318530718, description="period of the ripple, rad")
    ripple_phase: float | None = Field(
        None,
        description="phase of the ripple's sine at the joint's zero, rad; drawn from the seed if "
        "not stated",
    )
    cogging: NonNegativeFloat = Field(
        0.0,
        description="amplitude of a torque that depends on the position only, N·m: equal in both "
        "directions",
    )
    cogging_order: PositiveFloat = Field(
        100.0, description="waves of the cogging per turn of the joint (per 2 pi m of a slide)"
    )
    cogging_phase: float = Field(
        0.0, description="phase of the cogging's sine at the joint's zero, rad"
    )
    stroke_scatter: NonNegativeFloat = Field(
        0.0,
        description="standard deviation of the friction level from stroke to stroke, as a fraction",
    )
    warm_up: NonNegativeFloat = Field(
        0.0, description="additional friction of a cold joint, as a fraction"
    )
    warm_up_time: PositiveFloat = Field(900.0, description="time constant of the warm-up, s")
    breakaway: NonNegativeFloat = Field(
        0.0, description="growth of friction during a long rest, as a fraction of the static level"
    )
    breakaway_time: PositiveFloat = Field(
        1.0, description="rest after which half of that growth is reached, s"
    )
    bandwidth: PositiveFloat = Field(25.0, description="bandwidth of the drive's velocity loop, Hz")
    efficiency: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0,
        description="efficiency of the gear: the drive gives 1/efficiency of the transmitted "
        "torque when it drives, "
        "efficiency of it when it is back-driven",
    )
    stiffness: PositiveFloat | None = Field(
        None,
        description="stiffness of the spring between drive and link, N·m/rad; a joint without "
        "this key is rigid",
    )
    stiffness_damping: NonNegativeFloat = Field(
        0.0, description="damping of that spring, N·m·s/rad"
    )
    backlash: NonNegativeFloat | None = Field(
        None, description="play between drive and link, rad; needs stiffness, the flanks'"
    )
    link_friction: NonNegativeFloat | None = Field(
        None, description="dry friction of the link, behind spring and gap, N·m; needs stiffness"
    )
    link_encoder_step: NonNegativeFloat | None = Field(
        None,
        description="resolution of a second encoder, at the link, rad; without this key there is "
        "none",
    )


class FlexibleLink(BaseModel):
    """A link that bends like a beam: a uniform rod that begins at its joint's origin."""

    model_config = _STRICT
    bending_stiffness: PositiveFloat = Field(description="E I, the same about both axes, N·m²")
    segments: PositiveInt = Field(4, description="number of pairs of elastic hinges in the beam")
    relaxation_time: NonNegativeFloat = Field(0.0, description="material damping over stiffness, s")


class JointTruth(Knobs):
    """Friction of one joint, and imperfections stated for this joint."""

    load: Literal["none", "torque", "bending", "radial", "axial", "normal"] = "none"
    bearing: Bearing | None = None
    coulomb: NonNegativeFloat = 0.0
    coulomb_coefficient: NonNegativeFloat = 0.0
    static: NonNegativeFloat = 0.0
    static_coefficient: NonNegativeFloat = 0.0
    stribeck_velocity: PositiveFloat = 0.05
    stribeck_exponent: PositiveFloat = 2.0
    viscous: NonNegativeFloat = 0.0
    armature: NonNegativeFloat | None = Field(
        None,
        description="inertia of rotor and gear at the joint, kg·m²; default is "
        "gear_ratio² rotor_inertia of the arm file",
    )
    flexible_link: FlexibleLink | None = None
    heat: HeatTruth | None = None
    memory: Literal["lugre", "maxwell-slip"] | None = Field(
        None,
        description="how dry friction builds up before the joint slides; a joint without this key "
        "sticks rigidly",
    )
    bristle_stiffness: PositiveFloat | None = Field(
        None, description="stiffness of the bristles of lugre, N·m/rad"
    )
    bristle_damping: NonNegativeFloat = Field(
        0.0, description="damping of the bristles of lugre, N·m·s/rad"
    )
    stiffnesses: list[PositiveFloat] | None = Field(
        None, description="stiffness of each element of maxwell-slip, N·m/rad"
    )
    shares: list[PositiveFloat] | None = Field(
        None, description="share of each element of maxwell-slip in the dry level; the sum is 1"
    )

    @property
    def presliding_stiffness(self) -> float:
        """Stiffness of dry friction right after a reversal [N·m/rad]; 0 without memory."""
        return self.bristle_stiffness or sum(self.stiffnesses or ())

    @model_validator(mode="before")
    @classmethod
    def _level_without_drop(cls, table: dict[str, Any]) -> dict[str, Any]:
        """Set the static level to the Coulomb level if it is not stated: there
        is no Stribeck drop then.
        """
        return {
            "static" + end: table["coulomb" + end]
            for end in ("", "_coefficient")
            if "coulomb" + end in table
        } | table


class PassiveTruth(JointTruth):
    """Friction of joints of a closed chain that have no drive."""

    armature: None = None
    flexible_link: None = None
    stiffness: None = None
    heat: None = None
    backlash: None = None
    link_friction: None = None
    link_encoder_step: None = None
    memory: None = None


class MotorTruth(JointTruth):
    """Friction of a motor that moves several joints; it does not depend on load."""

    load: Literal["none"] = "none"
    bearing: None = None
    armature: None = None
    flexible_link: None = None
    stiffness: None = None
    heat: None = None
    backlash: None = None
    link_friction: None = None
    link_encoder_step: None = None
    memory: None = None


class _ArmTruth(Knobs):
    seed: NonNegativeInt = 0
    payload: Tool = Tool()
    mass_error: Annotated[float, Field(gt=-1.0)] = 0.0
    joints: dict[str, dict[str, Any]] = {}
    motors: dict[str, MotorTruth] = {}
    passive: dict[str, PassiveTruth] = {}


class _Border(BaseModel):
    simulation: _ArmTruth


class _JointTables(BaseModel):
    joints: dict[str, JointTruth]


class _JointBorder(BaseModel):
    # messages name the keys from the root of the arm file: simulation.joints.j1.offset
    simulation: _JointTables


@dataclass(frozen=True)
class Truth:
    """True properties of the simulated arm; arrays have one value per joint.

    Attributes
    ----------
    seed : int
        Seed of every random number.
    payload : Tool
        Mass on the last link that is not in the model.
    mass_error : float
        Fraction by which all link masses and inertias exceed those of the model.
    joints : tuple of JointTruth
        Friction and imperfections of each joint.
    motors : mapping of int to MotorTruth
        Friction of motors that move several joints.
    ratios : ndarray, shape (n, n), optional
        Travel of each motor (row) per travel of each joint; None if each motor moves one joint.
    passive : mapping of str to PassiveTruth
        Friction of joints of a closed chain that have no drive.
    """

    seed: int
    payload: Tool
    mass_error: float
    joints: tuple[JointTruth, ...]
    motors: Mapping[int, MotorTruth] = field(default_factory=dict)
    ratios: Array | None = None
    passive: Mapping[str, PassiveTruth] = field(default_factory=dict)
    _columns: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)

    def column(self, knob: str) -> Array:
        """Return one imperfection or friction parameter of all joints, shape (n,)."""
        if knob not in self._columns:
            self._columns[knob] = np.array(
                [getattr(joint, knob) for joint in self.joints], dtype=float
            )
        return self._columns[knob]

    def friction(
        self, dq: Array, load: Array, transmitted: Array, temperature: Array | None = None
    ) -> Array:
        """Return the sliding friction torque of every joint, shape (..., n), without scatter,
        ripple and warm-up [N·m].

        Parameters
        ----------
        dq, load, transmitted : ndarray, shape (..., n)
            Velocity, load (of the kind in the truth), and signed torque behind the gear.
        temperature : ndarray, shape (..., n), optional
            Temperature of joints with heat [°C]; default: the temperature at
            which their parameters hold.
        """
        loss = gear_loss(self.column("efficiency"), dq, transmitted)
        dry, static_factor, slow, viscous = self._factors(dq.shape, temperature)
        coulomb = self.column("coulomb") + self.column("coulomb_coefficient") * load
        static = self.column("static") + self.column("static_coefficient") * load
        fading = np.exp(
            -(
                np.abs(dq / (self.column("stribeck_velocity") * slow))
                ** self.column("stribeck_exponent")
            )
        )
        level = (coulomb + (static - coulomb) * static_factor * fading) * dry + loss
        return np.asarray(
            level * np.sign(dq) + self.column("viscous") * viscous * dq + self._of_motors(dq)
        )

    def _factors(self, shape: tuple[int, ...], temperature: Array | None) -> Array:
        """Return the factors of `HeatTruth.factors` for every joint, shape (4, ..., n)."""
        out = np.ones((4, *shape))
        for j, joint in enumerate(self.joints):
            if joint.heat is not None and temperature is not None:
                out[..., j] = joint.heat.factors(np.broadcast_to(temperature, shape)[..., j])
        return out

    def _of_motors(self, dq: Array) -> Array | float:
        """Return the friction that motors of several joints add to each
        joint, shape (..., n) [N·m].
        """
        if self.ratios is None:
            return 0.0
        rate, torque = dq @ self.ratios.T, np.zeros(dq.shape)
        for motor, truth in self.motors.items():
            w = rate[..., motor]
            fading = np.exp(-(np.abs(w / truth.stribeck_velocity) ** truth.stribeck_exponent))
            dry = truth.coulomb + (truth.static - truth.coulomb) * fading
            torque[..., motor] = dry * np.sign(w) + truth.viscous * w
        return np.asarray(torque @ self.ratios)


def gear_loss(efficiency: Array | float, dq: Array | float, transmitted: Array | float) -> Array:
    """Return the part of the transmitted torque that is lost in a gear [N·m]; it is
    larger when the drive drives.
    """
    driving = dq * transmitted > 0.0
    share = np.where(driving, 1.0 / efficiency - 1.0, 1.0 - efficiency)
    return np.asarray(np.abs(transmitted) * share)


def read_truth(arm: ArmFile, names: tuple[str, ...]) -> Truth:
    """Read the truth from the arm file's ``[simulation]`` table.

    Raises
    ------
    InputError
        If a key or a joint is unknown, or a value is impossible.
    """
    table = parse_table(_Border, {"simulation": dict(arm.simulation)}, arm.path).simulation
    default = table.joints.pop(SHARED, {})
    if default and SHARED in names:
        raise InputError(
            f"{arm.path}: the model has a joint named {SHARED}, but [simulation.joints.{SHARED}] "
            "applies to every joint; rename that joint in the model"
        )
    # messages name the table at fault
    parse_table(_JointBorder, {"simulation": {"joints": {SHARED: default}}}, arm.path)
    for name in table.joints:
        if name not in names:
            raise InputError(
                f"{arm.path}: [simulation.joints.{name}]: {unknown_name('joint', name, names)}"
            )
    shared = {
        knob: value
        for knob, value in table.model_dump(exclude_unset=True).items()
        if knob in Knobs.model_fields
    }
    complete = {name: {**shared, **default, **table.joints.get(name, {})} for name in names}
    joints = parse_table(
        _JointBorder, {"simulation": {"joints": complete}}, arm.path
    ).simulation.joints
    for name, joint in joints.items():
        if joint.load == "normal" and joint.bearing is None:
            raise InputError(
                f'{arm.path}: simulation.joints.{name}: load = "normal" needs a bearing'
            )
        _check_springs(arm, name, joint)
        _check_memory(f"{arm.path}: simulation.joints.{name}", joint)
    return Truth(
        table.seed,
        table.payload,
        table.mass_error,
        tuple(joints[name] for name in names),
        *_motors(arm, names, table.motors),
        _passive(arm, table.passive),
    )


def _passive(arm: ArmFile, stated: Mapping[str, PassiveTruth]) -> dict[str, PassiveTruth]:
    """Return the friction of joints without a drive by name; it is stated for a class of
    ``[passive]`` or for one joint.
    """
    found = {}
    for name, truth in stated.items():
        if truth.load == "normal" and truth.bearing is None:
            raise InputError(
                f'{arm.path}: simulation.passive.{name}: load = "normal" needs a bearing'
            )
        found.update(
            dict.fromkeys(arm.passive[name].joints if name in arm.passive else (name,), truth)
        )
    return found


def _motors(
    arm: ArmFile, names: tuple[str, ...], stated: Mapping[str, MotorTruth]
) -> tuple[dict[int, MotorTruth], Array | None]:
    """Return the friction of motors that move several joints, and the ratios of all motors."""
    transmission = arm.transmission_of(names)
    shared = () if transmission is None else tuple(names[motor] for motor in transmission.shared)
    for name in stated:
        if name not in shared:
            raise InputError(
                f"{arm.path}: [simulation.motors.{name}]: "
                f"{unknown_name('motor of several joints', name, shared)}; "
                "[transmission] lists these motors"
            )
    if transmission is None:
        return {}, None
    still = MotorTruth.model_validate({})
    return {names.index(name): stated.get(name, still) for name in shared}, transmission.ratios


def armature(arm: ArmFile, name: str, joint: JointTruth) -> float:
    """Return the inertia of rotor and gear at a joint [kg·m²]."""
    table = arm.joint(name)
    return table.ratio**2 * table.rotor_inertia if joint.armature is None else joint.armature


def _check_springs(arm: ArmFile, name: str, joint: JointTruth) -> None:
    """Refuse a spring without a rotor inertia on its drive side, and damping without a spring."""
    for key in ("stiffness_damping", "backlash", "link_friction"):
        if joint.stiffness is None and getattr(joint, key):
            raise InputError(
                f"{arm.path}: simulation.joints.{name}: {key} = {getattr(joint, key):g} needs a "
                "spring between drive and link; state stiffness too"
            )
    for key, what in (
        ("stiffness", "rotor and link"),
        ("flexible_link", "rotor and the link's pieces"),
    ):
        if getattr(joint, key) is not None and armature(arm, name, joint) == 0.0:
            raise InputError(
                f"{arm.path}: simulation.joints.{name}: {key} puts a spring between {what}; "
                f"joints.{name}.rotor_inertia must be more than zero"
            )


def _check_memory(where: str, joint: JointTruth) -> None:
    """Refuse missing or superfluous keys of a memory, shares that do not add up, and memory of a
    joint without dry friction.
    """
    for kind, keys in _MEMORY_KEYS.items():
        for key in keys:
            if key in joint.model_fields_set and joint.memory != kind:
                found = (
                    "no memory is stated" if joint.memory is None else f'memory is "{joint.memory}"'
                )
                raise InputError(f'{where}: {key} belongs to memory = "{kind}"; {found}')
    if joint.memory is None:
        return
    for key in _NEEDED_KEYS[joint.memory]:
        if not getattr(joint, key):
            raise InputError(f'{where}: memory = "{joint.memory}" needs {key}')
    stiffnesses, shares = joint.stiffnesses or (), joint.shares or ()
    if len(stiffnesses) != len(shares):
        raise InputError(
            f"{where}: stiffnesses has {len(stiffnesses)} values, shares has {len(shares)}; state "
            "one of each for every element"
        )
    if shares and abs(sum(shares) - 1.0) > _SHARES:
        raise InputError(
            f"{where}: shares = {list(shares)} sum to {sum(shares):g}; the sum must be 1"
        )
    if not any(
        (
            joint.coulomb,
            joint.coulomb_coefficient,
            joint.static,
            joint.static_coefficient,
            joint.efficiency < 1.0,
        )
    ):
        raise InputError(
            f'{where}: memory = "{joint.memory}" needs dry friction; state coulomb or '
            "coulomb_coefficient"
        )
