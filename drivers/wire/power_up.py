"""Bringing all drives of an arm to power, its joints at rest."""

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.cycle import Cycle
from stribeck.drivers.wire.power_wait import PowerWait

_POWER_ON = 5.0             # s to power all drives


def power_up(cycle: Cycle, stood: Array, following_error: Array, at_rest: AtRest) -> None:
    """Ask all drives for power and wait for it; each joint has to stay where it stood.

    Parameters
    ----------
    cycle : Cycle
        The cycle of the drives.
    stood : ndarray, shape (n,)
        Where the joints were before [rad or m].
    following_error : ndarray, shape (n,)
        How far a joint may go from there [rad or m].
    at_rest : AtRest
        Up to which speed a joint is held.

    Raises
    ------
    DriverError
        If a drive has a fault or does not come to power in time, or a joint moves.
    """
    stood = stood.copy()
    for axis in cycle.axes:
        axis.enable()
    wait = PowerWait("on", _POWER_ON, cycle.axes, cycle, at_rest)
    while not wait.over():
        broken = next((axis for axis in cycle.axes if axis.power == "fault"), None)
        if broken is not None:
            raise DriverError(f"the drive of {broken.joint.name} has a fault" + (f": {broken.trouble}" if broken.trouble else ""))
        _refuse_to_leave(cycle, stood, following_error)
        if wait.late():
            raise wait.error()
        cycle.run()


def _refuse_to_leave(cycle: Cycle, stood: Array, following_error: Array) -> None:
    """Refuse a joint that moves before all drives have come to power: nothing else looks after it meanwhile.

    A joint without brake may sink before its own drive has power, and `stood` follows it. A joint with a brake that is elsewhere
    before its drive has power lost its zero, as by a reset of the drive.
    """
    for j, axis in enumerate(cycle.axes):
        if axis.reading is None:
            continue
        if axis.power != "on" and axis.joint.falls:
            stood[j] = axis.reading.q
        unit, allowed = axis.joint.position_unit, following_error[j]
        if not abs(axis.reading.q - stood[j]) <= allowed:
            when = "after its drive got power" if axis.power == "on" else "before its drive got power"
            raise DriverError(f"{axis.joint.name} moved from {stood[j]:.4g} to {axis.reading.q:.4g} {unit} {when}, more "
                              f"than its following_error of {allowed:g} {unit}: check the drive's tuning, commutation and "
                              "zero, and the joint's brake")
