"""Waiting until drives reach a power state: "on", "held" or "off"."""

from collections.abc import Sequence

from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.at_rest import AtRest
from stribeck.drivers.wire.axis import Axis, Power
from stribeck.drivers.wire.cycle import Cycle

# states that count as reached: a drive without power cannot hold any more, and a
# fault switches power off
_ENOUGH = {"held": ("held", "off", "fault"), "off": ("off", "fault")}


class PowerWait:
    """Tells whether drives have reached a power state, and makes the error for a drive that is
    late. The caller runs the cycles.

    Parameters
    ----------
    power : str
        The power state to reach.
    patience : float
        Time from now that the drives may take [s].
    axes : sequence of Axis
        The drives that must reach the state.
    cycle : Cycle
        The cycle of all drives.
    at_rest : AtRest
        Thresholds below which joints count as at rest.
    """

    def __init__(
        self, power: Power, patience: float, axes: Sequence[Axis], cycle: Cycle, at_rest: AtRest
    ) -> None:
        self._power, self._patience, self._axes, self._cycle, self._at_rest = (
            power,
            patience,
            axes,
            cycle,
            at_rest,
        )
        self._end = self._cycle.clock.now() + patience
        self._enough = _ENOUGH.get(power, (power,))

    def over(self) -> bool:
        """Whether all drives are in the state and reply; for "held", the
        joints must also be at rest.
        """
        return not (
            any(axis.power not in self._enough for axis in self._axes)
            or self._cycle.silent(self._axes)
            or (self._power == "held" and self._turning())
        )

    def late(self) -> bool:
        """Whether the drives have taken longer than they may."""
        return self._cycle.clock.now() > self._end

    def error(self) -> DriverError:
        """Return the error for the first drive that is late."""
        silent = self._cycle.silent(self._axes)
        if silent:
            return DriverError(
                "no drive replies" if self._cycle.nobody_speaks() else f"{silent[0]} does not reply"
            )
        if turning := self._turning():
            return DriverError(
                f"{turning[0]} still moves {self._patience:.2g} s after its drive was told to stop"
            )
        axis = next((axis for axis in self._axes if axis.power not in self._enough), None)
        if axis is None:  # another thread received the state just now
            return DriverError(
                f"the drives took longer than {self._patience:g} s to reach the state "
                f"{self._power!r}"
            )
        return DriverError(
            f"the drive of {axis.joint.name} is {axis.power!r} after {self._patience:g} s, not "
            f"{self._power!r}" + (f": {axis.trouble}" if axis.trouble else "")
        )

    def _turning(self) -> list[str]:
        return self._at_rest.turning(self._cycle.axes)
