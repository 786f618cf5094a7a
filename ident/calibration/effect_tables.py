"""Tables of a calibration file for what friction of a joint depends on besides speed and load,
for its play and its servo.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, NonNegativeFloat, PositiveFloat
from pydantic import Field as Key

from stribeck.ident.backlash.joint_backlash import JointBacklash, checked_backlash
from stribeck.ident.calibration.parameter_table import STRICT, ParameterTable, Range
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.breakaway import Breakaway
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.memory.states.memories import MAXWELL_SLIP, NAMES
from stribeck.ident.servo.joint_servo import FURTHER, NEEDED, JointServo, checked_servo
from stribeck.ident.temperature.joint_temperature import JointTemperature, check_temperature
from stribeck.ident.temperature.self_heating import SelfHeating


class BreakawayTable(BaseModel):
    """Breakaway friction of a joint."""

    model_config = STRICT
    torque: ParameterTable
    range: Range
    rate: PositiveFloat
    dwell: Range
    pairs: int

    def breakaway(self) -> Breakaway:
        """Return the breakaway friction."""
        return Breakaway(**{**vars(self), "torque": Parameter(**vars(self.torque))})


class MemoryTable(BaseModel):
    """Memory of the friction of a joint."""

    model_config = STRICT
    kind: str
    distance: PositiveFloat
    held_out_rmse: NonNegativeFloat
    static_rmse: NonNegativeFloat
    distances: tuple[PositiveFloat, ...] = ()
    parameters: dict[str, ParameterTable]

    def memory(self, where: str) -> JointMemory:
        """Return the memory, after checks of several keys together; `where` begins the messages."""
        if self.kind not in NAMES[1:]:
            raise InputError(f"{where}.kind: {unknown_name('memory', self.kind, NAMES[1:])}")
        if (self.kind == MAXWELL_SLIP) != (len(self.distances) > 1):
            raise InputError(
                f"{where}.distances has {len(self.distances)} numbers; {MAXWELL_SLIP} needs at "
                "least 2, other memories need none"
            )
        found = JointMemory(
            self.kind,
            {name: Parameter(**vars(table)) for name, table in self.parameters.items()},
            self.distance,
            self.held_out_rmse,
            self.static_rmse,
            self.distances,
        )
        needed = found.memory.parameters
        for name in needed:
            value = found.values.get(name)
            if value is None or value < 0.0:
                raise InputError(
                    f"{where}.parameters.{name} = {value}: the memory {self.kind} needs a value "
                    "of at least 0"
                )
        for name in self.parameters:
            if name not in needed:
                raise InputError(
                    f"{where}.parameters: {unknown_name('parameter', name, needed)}, for the "
                    f"memory {self.kind}"
                )
        return found


class WaveTable(BaseModel):
    """A wave of torque over position."""

    model_config = STRICT
    order: PositiveFloat
    kind: Literal["cogging", "friction"]
    origin: Literal["known", "found"]
    amplitude: NonNegativeFloat
    std_error: NonNegativeFloat
    low: NonNegativeFloat
    high: NonNegativeFloat
    phase: float
    phase_low: float
    phase_high: float
    unit: str
    verdict: Literal["identified", "weak", "unidentifiable"]


class TemperatureTable(BaseModel):
    """Friction of a joint over temperature or a state that friction heats."""

    model_config = STRICT
    reference: float
    coulomb: str
    viscous: str
    range: Range
    held_out_rmse: NonNegativeFloat
    static_rmse: NonNegativeFloat
    further_error: tuple[tuple[float, NonNegativeFloat], ...] = ()
    parameters: dict[str, ParameterTable]
    heating: dict[str, ParameterTable] | None = None

    def temperature(self, where: str) -> JointTemperature:
        """Return the dependence on temperature, after checks of several keys together;
        `where` begins the messages.
        """
        parameters, heating = (
            {name: Parameter(**vars(table)) for name, table in (tables or {}).items()}
            for tables in (self.parameters, self.heating)
        )
        found = JointTemperature(
            **{
                **{key: getattr(self, key) for key in type(self).model_fields},
                "parameters": parameters,
                "heating": SelfHeating(heating) if self.heating is not None else None,
            }
        )
        check_temperature(found, where)
        return found


class BacklashTable(BaseModel):
    """Play between motor and link of a joint."""

    model_config = STRICT
    method: Literal["link position", "torque"]
    crossings: int
    samples: PositiveFloat
    error: NonNegativeFloat
    without: NonNegativeFloat
    play: ParameterTable
    stiffness: ParameterTable
    link_friction: ParameterTable

    def backlash(self, where: str) -> JointBacklash:
        """Return the play, after checks of its values; `where` begins the messages."""
        return checked_backlash(
            JointBacklash(
                **{
                    **vars(self),
                    **{
                        key: Parameter(**vars(getattr(self, key)))
                        for key in ("play", "stiffness", "link_friction")
                    },
                }
            ),
            where,
        )


class FreeMotionTable(BaseModel):
    """Noise of the signals of a joint, and torque in free motion that is not explained."""

    model_config = STRICT
    period: PositiveFloat
    torque_noise: NonNegativeFloat
    velocity_noise: NonNegativeFloat
    rotors: tuple[float, ...]
    unexplained: Annotated[list[tuple[NonNegativeFloat, NonNegativeFloat]], Key(min_length=1)]

    def free_motion(self, where: str) -> FreeMotion:
        """Return what free motion showed, after a check of the speeds;
        `where` begins the message.
        """
        table = np.array(self.unexplained)
        if not np.all(np.diff(table[:, 0]) > 0.0):
            raise InputError(f"{where}.unexplained: speeds must be in ascending order")
        return FreeMotion(self.period, self.torque_noise, self.velocity_noise, self.rotors, table)


class ServoTable(BaseModel):
    """Servo of a joint."""

    model_config = STRICT
    torque_per_gain: ParameterTable
    servo_delay: ParameterTable
    back_emf: ParameterTable | None = None
    error: NonNegativeFloat
    held_out: NonNegativeFloat | None = None

    def servo(self, where: str) -> JointServo:
        """Return the servo, after checks of its values; `where` begins the messages."""
        stated = {
            key: one for key in (*NEEDED, *FURTHER) if (one := getattr(self, key)) is not None
        }
        parameters = {key: Parameter(**vars(one)) for key, one in stated.items()}
        return checked_servo(JointServo(parameters, self.error, self.held_out), where)
