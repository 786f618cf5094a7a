"""Inspection of a servo: its identity, and reasons to refuse it. Nothing is written."""

from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_keys import DynamixelKeys, ServoConfig
from stribeck.drivers.dynamixel.protocol2 import MODELS
from stribeck.drivers.dynamixel.servo_registers import ServoRegisters
from stribeck.drivers.wire.clock import Clock

_FIRMWARE = 42  # first version with time-based profiles


def identity(registers: ServoRegisters, config: ServoConfig) -> dict[str, str]:
    """Return model, firmware, mode and supply of the servo, and its limits at the joint."""
    modes = {number: name for name, number in dxl.MODES.items()}
    mode, current = registers.read(dxl.OPERATING_MODE), registers.read(dxl.CURRENT_LIMIT)
    return {
        "id": str(config.drive.id),
        "device": config.drive.model,
        "firmware": str(registers.read(dxl.FIRMWARE)),
        "mode": modes.get(mode, str(mode)),
        "supply": f"{0.1 * registers.read_once(dxl.VOLTAGE):.1f} V",
        "current limit": f"{current * config.model.current_step:.2f} A",
        "holds": f"{registers.read(dxl.VELOCITY_LIMIT) * abs(config.scale.velocity):.3g} "
        f"{config.joint.position_unit}/s, "
        f"{current * abs(config.scale.torque):.3g} {config.joint.torque_unit}",
    }


def check_servo(registers: ServoRegisters, config: ServoConfig) -> None:
    """Refuse a servo of another model, with old firmware, Reverse Mode or a fault, or
    that follows another servo.

    Raises
    ------
    DriverError
        The message has the servo's value and the remedy.
    """
    model, number = config.model, registers.read(dxl.MODEL_NUMBER)
    if number != model.number:
        name = next((name for name, known in MODELS.items() if known.number == number), "another")
        raise registers.error(
            f"reports model number {number} ({name}); the arm file states {config.drive.model}, "
            f"which has number {model.number}. Every torque would be wrong. Correct model or id"
        )
    leader = registers.read(dxl.SECONDARY_ID)
    if leader <= dxl.LAST_ID:
        raise registers.error(
            f"also follows the commands to servo {leader}; set its Secondary ID (register 12) to "
            "255"
        )
    firmware = registers.read(dxl.FIRMWARE)
    if firmware < _FIRMWARE:
        raise registers.error(
            f"has firmware {firmware}, which has no time-based profiles; {_FIRMWARE} or later is "
            "needed"
        )
    if registers.read(dxl.DRIVE_MODE) & dxl.REVERSE:
        raise registers.error(
            "is in Reverse Mode (bit 0 of register 10). stribeck does not clear this bit, since "
            "other software would then turn the joint the other way. Clear the bit yourself, and "
            "state direction in the arm file"
        )
    fault = registers.read(dxl.HARDWARE_ERROR)
    if fault:
        raise registers.error(
            f"has a fault, {dxl.hardware_words(fault)}; remove its cause, then clear the fault "
            "with stribeck check --reset"
        )


def stance(registers: ServoRegisters, keys: DynamixelKeys, clock: Clock) -> tuple[bool, bool]:
    """Return whether a servo is powered, and whether its watchdog has stopped it.

    If a powered servo has a running watchdog, the function first waits for the watchdog's time: a
    program may just have ended, and its servos hold only after their watchdogs have tripped.
    """
    powered = registers.read(dxl.TORQUE_ENABLE) == 1
    if powered and registers.read(dxl.WATCHDOG) > 0:
        # no questions meanwhile: they would reset the watchdog
        clock.sleep(keys.watchdog + 2.0 * dxl.WATCHDOG_STEP)
    return powered, registers.read(dxl.WATCHDOG) < 0


def refuse_leader(registers: ServoRegisters, powered: bool, tripped: bool) -> None:
    """Refuse a powered servo whose watchdog has not stopped it: it follows another program."""
    if powered and not tripped:
        raise registers.error(
            "is powered and follows another program, or a program ended without stopping the "
            "servo; end that program, or switch the servo off, first"
        )
