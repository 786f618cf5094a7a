"""Powering all drives of an arm while its joints are at rest."""

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.cycle import Cycle
from stribeck.drivers.wire.power_wait import PowerWait

_POWER_ON = 5.0  # s to power all drives


def power_up(cycle: Cycle, stood: Array, following_error: Array, at_rest: AtRest) -> None:
    """Ask all drives for power and wait until all have power; each joint must stay in its place.

    Parameters
    ----------
    cycle : Cycle
        The cycle of the drives.
    stood : ndarray, shape (n,)
        Positions of the joints before the call [rad or m].
    following_error : ndarray, shape (n,)
        Largest allowed change of these positions [rad or m].
    at_rest : AtRest
        Thresholds below which joints count as at rest.

    Raises
    ------
    DriverError
        If a drive has a fault or gets no power in time, or a joint moves.
    """
    stood = stood.copy()
    for axis in cycle.axes:
        axis.enable()
    wait = PowerWait("on", _POWER_ON, cycle.axes, cycle, at_rest)
    while not wait.over():
        broken = next((axis for axis in cycle.axes if axis.power == "fault"), None)
        if broken is not None:
            raise DriverError(
                f"the drive of {broken.joint.name} has a fault"
                + (f": {broken.trouble}" if broken.trouble else "")
            )
        _refuse_to_leave(cycle, stood, following_error)
        if wait.late():
            raise wait.error()
        cycle.run()


def _refuse_to_leave(cycle: Cycle, stood: Array, following_error: Array) -> None:
    """Refuse a joint that moves before all drives have power: no other code
    monitors it during this time.

    A joint without brake may sink before its own drive has power, so its entry of `stood` is
    updated until then. A joint with a brake whose position changes before its drive has power has
    lost its zero, for example by a reset of the drive.
    """
    for j, axis in enumerate(cycle.axes):
        if axis.reading is None:
            continue
        if axis.power != "on" and axis.joint.falls:
            stood[j] = axis.reading.q
        unit, allowed = axis.joint.position_unit, following_error[j]
        if not abs(axis.reading.q - stood[j]) <= allowed:
            when = (
                "after its drive got power" if axis.power == "on" else "before its drive got power"
            )
            raise DriverError(
                f"{axis.joint.name} moved from {stood[j]:.4g} to {axis.reading.q:.4g} {unit} "
                f"{when}, more than its following_error of {allowed:g} {unit}: check the drive's "
                "tuning, commutation and zero, and the joint's brake"
            )
