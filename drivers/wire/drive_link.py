"""The drives of an arm on one bus: the methods that the link of a driver implements."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from stribeck.drivers.wire.axis import Axis
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.drivers.wire.drive_keys import Keys, LinkKeys
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.ident.model.mechanism import Mechanism


class DriveLink(ABC):
    """The drives of an arm on one bus.

    Attributes
    ----------
    keys, joint_keys : type of Keys
        Tables that check the driver's keys of ``[driver]`` and of ``drive = {...}`` of each joint.
    axes : tuple of Axis
        The axes in the order of the joints. The constructor makes them and talks to no drive.
    modes : frozenset of str
        Subset of {"velocity", "torque"}.
    mechanism : Mechanism
        The arm's model, for drives that need its gravity torque; set before `open`.
    clock : Clock
        Clock of the cycles, also of all axes; set before `open`.
    knows_coupling : bool
        Whether the axes may be motors that move several joints.
    error_frames : int
        Number of error frames on the bus so far. They indicate wrong wiring, termination or bit
        rate, or a member that was disconnected while it sent.
    """

    keys: ClassVar[type[LinkKeys]] = LinkKeys
    joint_keys: ClassVar[type[Keys]] = Keys
    axes: tuple[Axis, ...]
    modes: frozenset[str] = frozenset({"velocity"})
    knows_coupling: ClassVar[bool] = True
    mechanism: Mechanism
    clock: Clock = REAL_TIME
    error_frames: int = 0

    @property
    def corrupt(self) -> int:
        """Number of damaged replies so far that the bus itself did not reject."""
        return sum(axis.corrupt for axis in self.axes)

    @abstractmethod
    def __init__(self, joints: tuple[DrivenJoint, ...], keys: Any, drives: tuple[Any, ...]) -> None:
        """Make the axes; `keys` are the checked keys of ``[driver]``, `drives` the checked
        keys of each joint's drive.
        """

    @abstractmethod
    def open(self, transport: Any = None) -> None:
        """Take an open transport, or open the bus or port that the keys name."""

    def start(self) -> None:
        """Make configured drives ready for `exchange`; called before
        each enabling, moves nothing.
        """
        return

    @abstractmethod
    def close(self) -> None:
        """Release the bus; drives stay as they are."""

    @abstractmethod
    def exchange(self, deadline: float) -> float:
        """Run one cycle: send the set-point of every axis and the sign of life, ask for
        replies, and wait for them.

        The cycle ends when all axes have replied, or at `deadline`. A late reply raises no error;
        `Reading.t` shows its age. No other code may send set-points or signs of life, so that the
        drives hear nothing when the program hangs.

        Returns
        -------
        float
            Time at which the axes were asked and measured, by `clock` [s].
        """

    @abstractmethod
    def load(self) -> float:
        """Fraction of the bus that the cycles use at the stated rate; at most
        `wired_arm.MOST_LOAD` is accepted.
        """
