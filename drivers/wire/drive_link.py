"""The drives of an arm on one bus: what a driver's link provides."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from stribeck.drivers.wire.axis import Axis
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
        In the order of the joints. Made by the constructor, which talks to nobody.
    modes : frozenset of str
        Subset of {"velocity", "torque"}.
    mechanism : Mechanism
        The arm's model, for drives that are told its gravity; set before `open`.
    knows_coupling : bool
        Whether its axes may be motors that move several joints.
    error_frames : int
        How many the bus has shown so far: wiring, termination or bit rate are not right, or somebody was cut off.
    """

    keys: ClassVar[type[LinkKeys]] = LinkKeys
    joint_keys: ClassVar[type[Keys]] = Keys
    axes: tuple[Axis, ...]
    modes: frozenset[str] = frozenset({"velocity"})
    knows_coupling: ClassVar[bool] = True
    mechanism: Mechanism
    error_frames: int = 0

    @property
    def corrupt(self) -> int:
        """Damaged replies so far: those that the bus itself does not sort out."""
        return sum(axis.corrupt for axis in self.axes)

    @abstractmethod
    def __init__(self, joints: tuple[DrivenJoint, ...], keys: Any, drives: tuple[Any, ...]) -> None:
        """`drives` are the joints' own checked keys."""

    @abstractmethod
    def open(self, transport: Any = None) -> None:
        """Take over an open transport, or open the one that the keys name."""

    def start(self) -> None:
        """Make configured drives ready for `exchange`; called before each enabling, moves nothing."""
        return

    @abstractmethod
    def close(self) -> None:
        """Let go of the bus; drives stay as they are."""

    @abstractmethod
    def exchange(self, deadline: float) -> float:
        """One cycle: send every set-point that an axis has and the sign of life, ask for replies, wait for them.

        Ends when all axes have replied, or at `deadline`; never raises for a late reply, whose age is seen by `Reading.t`.
        Nothing else may send set-points or signs of life: a hung program falls silent.

        Returns
        -------
        float
            When the axes were asked, and measured, by `time.monotonic` [s].
        """

    @abstractmethod
    def load(self) -> float:
        """Part of the bus that the cycles take at the stated rate; at most `wired_arm.MOST_LOAD` is accepted."""
