"""Drives on a CAN bus that answer every frame they are sent: the thread that asks also waits for the answers."""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import can
from pydantic import Field, PositiveFloat

from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading
from stribeck.drivers.wire.drive_keys import LinkKeys
from stribeck.drivers.wire.drive_link import DriveLink
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.transport import SEND, all_tried, open_can, readable

_REPLY = 0.1            # s for an answer to a question outside the cycles,
_TRIES = 3              # which is put so often
_SWAY = 0.0005          # rad, of slides a tenth in m, within which a joint at rest stays, or two steps of its position,
_STILL = 0.1            # s for which it has to: one that swings is at rest for moments, and velocities are noisy
_CREEP, _PATIENT = 0.002, 0.5       # rad that it may go meanwhile, s after it was to be held: some velocity loops creep, or hunt
_FEED = 0.25            # part of the watchdog's time after which drives that are armed hear of us again while others are asked
_BACKLOG = 1000         # frames that are read before a cycle begins; a bus that brings more is full of noise

Condition = Literal["unknown", "off", "powered", "fault"]


@dataclass(frozen=True)
class Frame:
    """What goes over the bus; a remote frame asks for data of its identifier."""

    identifier: int
    data: bytes = b""
    remote: bool = False


class PolledKeys(LinkKeys):
    """Keys of ``[driver]`` that these drivers share."""

    bus: dict[str, Any]                 # python-can's: interface, channel, ...
    bit_rate: PositiveFloat = 1e6
    watchdog: Annotated[float, Field(ge=0.02, le=2.0)] = 0.2


class PolledAxis(Axis):
    """A drive that answers what it is asked, follows set-points, and loses power when it hears nothing for the watchdog's time.

    With its power goes a joint without brake. To be held, a joint is brought to rest by a set-point of zero and then has its
    watchdog released, so that the drive goes on holding by itself, whatever becomes of us. A drive that left power by itself is
    only asked.

    Attributes
    ----------
    link : PolledLink
        Its bus.
    due : bool
        Whether an answer of this cycle is still missing.
    answers : dict
        What was answered to questions outside the cycles; `take` fills it.
    released : bool
        Whether its watchdog is off.
    settings : dict
        What was written, by the key of the answer that tells it: the question for it, and the value. Read back once more when
        there is power.
    """

    link: "PolledLink"

    def __init__(self, joint: DrivenJoint, keys: PolledKeys) -> None:
        self.joint, self.keys = joint, keys
        self.due, self.released = False, False
        self.answers: dict[Hashable, Any] = {}
        self.settings: dict[Hashable, tuple[Frame, float]] = {}
        self._doubtful: list[Hashable] = []         # settings that were not read back since power came
        self._goal: str | None = None       # "on", "follow", "held", "off"; None leaves the drive as it is
        self._velocity = 0.0
        self._told_to_hold = math.inf       # since when it is to be held
        self._zeroed = False                # it has answered a set-point of zero since it was to be powered
        self._asked = 0.0                   # when its state was asked for last,
        self._seen = self._moved = 0.0      # when it was answered last, and when the joint was last seen moving,
        self._place = math.nan              # and where

    # what a driver adds

    @property
    @abstractmethod
    def condition(self) -> Condition:
        """What the drive's last answer says of its power."""

    @abstractmethod
    def setpoint(self, velocity: float) -> Frame:
        """Frame that tells it a velocity of the joint."""

    @abstractmethod
    def power_on(self) -> Iterator[Frame]:
        """Frames that ask for power."""

    @abstractmethod
    def power_off(self) -> Iterator[Frame]:
        """Frames that take it away."""

    @abstractmethod
    def release(self) -> Iterator[Frame]:
        """Frames that switch the watchdog off; the answer sets `released`."""

    @abstractmethod
    def questions(self, told: bool) -> Iterator[Frame]:
        """Frames that ask for the state, in a cycle in which it was told a set-point or not."""

    @abstractmethod
    def watch(self, on: bool) -> None:
        """Arm or release the watchdog, and read it back. It must not trip at once where the drive has heard nothing for long."""

    @abstractmethod
    def take(self, frame: Frame) -> None:
        """Whatever comes on the bus, also what is not for this drive. A state that is not `due` is no answer."""

    def try_watchdog(self, holds: bool) -> None:
        """Arm it and release it again until the drive is enabled, as it would trip while the drive stands by.

        One that holds its joint is spared that, which would let the joint fall if the release were lost: only `enable` arms it.
        """
        if not holds:
            self.watch(True)
            self.watch(False)
        self.watched = True

    # orders

    @property
    def power(self) -> Power:
        """By its last answer; powered, it is "held" when it stands still and goes on standing without us.

        It is "on" when nothing is doubtful any more, as its settings, which a reset since then would have taken. One that is to
        be left without power has its watchdog released first, which else would trip; what is not known may have power.
        """
        condition = self.condition
        if condition == "fault":
            return "fault"
        stopped = self._goal in ("held", "off")
        if condition != "powered":
            return "on" if stopped and not (self.released and condition == "off") else "off"
        if self._goal in ("on", "follow"):
            return "off" if self._goal == "on" and self.doubtful else "on"
        return "held" if self._at_rest() and self.released else "on"

    def enable(self) -> None:
        """Arm the watchdog; then, cycle by cycle: zero velocity, its answer, only then power, and at last its settings."""
        self._velocity, self._zeroed, self._goal = 0.0, False, "on"          # before it is armed: it is fed while it is asked
        self._told_to_hold = math.inf
        if self.watched:
            self.watch(True)

    def command(self, mode: str, value: float) -> None:
        """Velocity of the next frame."""
        self.setpoint(value)                # raises what it cannot hold
        self._velocity = value

    def quick_stop(self) -> None:
        """Zero velocity; at rest the watchdog is released. One that creeps is held by no more than its drive's velocity loop, but
        would fall where its watchdog stayed armed.
        """
        self._velocity, self._goal = 0.0, "held"
        self._told_to_hold = min(self._told_to_hold, time.monotonic())

    def disable(self) -> None:
        """Power off."""
        self._velocity, self._goal = 0.0, "off"

    @property
    def rests_armed(self) -> bool:
        """Whether its watchdog runs before its cycles do."""
        return self.watched and self._goal == "on"

    @property
    def doubtful(self) -> bool:
        """Whether something has still to be confirmed that was asked for with its power."""
        return bool(self._doubtful)

    def _at_rest(self) -> bool:
        return self._seen - self._moved > _STILL

    def frames(self) -> Iterator[Frame]:
        """What to send in this cycle."""
        self.due, self._asked = True, time.monotonic()
        condition = self.condition
        told = self._goal == "on" or (condition in ("powered", "unknown") and self._goal is not None)
        if told:
            yield self.setpoint(self._velocity)
        if self._goal == "on":
            yield from self.confirm(condition == "powered")
        if self._goal == "on" and self._zeroed and condition == "off":
            yield from self.power_on()
        elif self._goal == "off" and condition in ("powered", "unknown"):
            yield from self.power_off()
        elif self._goal in ("held", "off") and not self.released and (condition == "off" or self._at_rest()):
            yield from self.release()
        yield from self.questions(told)

    def confirm(self, powered: bool) -> Iterator[Frame]:
        """Settings are read back once more, one a cycle: a drive that was reset after it had been set up has lost them."""
        if not powered:
            self._doubtful = list(self.settings)
            for key in self._doubtful:
                self.answers.pop(key, None)
        elif self._doubtful:
            key = self._doubtful[0]
            if key not in self.answers:
                yield self.settings[key][0]
            elif self.has(key, self.answers[key]):
                del self._doubtful[0]
            else:
                self._goal = "off"
                raise self.error(f"was reset after it had been set up (setting {key}: told {self.settings[key][1]:g}, is "
                                 f"{self.answers[key]:g}); connect again")

    def has(self, key: Hashable, found: float) -> bool:
        """Whether what was read back is what was written."""
        _, value = self.settings[key]
        return abs(found - value) <= 1e-6 * abs(value)

    # answers

    def measured(self, reading: Reading) -> None:
        """The answer of this cycle."""
        self.due, self.reading, self._seen = False, reading, self._asked
        sway = self.joint.small * (_CREEP if self._asked - self._told_to_hold > _PATIENT else _SWAY)
        if not abs(reading.q - self._place) <= max(sway, 2.0 * self.steps.position):
            self._place, self._moved = reading.q, self._asked
        self.replies += 1
        self._zeroed = self._goal == "on"
        if self._goal == "on" and self.power == "on":
            self._goal = "follow"

    def forget(self) -> None:
        """Called before cycles begin again after a pause."""
        self.due, self._place = False, math.nan
        self._seen = self._moved = time.monotonic()

    def ask(self, frame: Frame, key: Hashable, see_to: str = "; check power, wiring, bit_rate and identifiers") -> Any:
        """Put a question until there is an answer under this key, a few times.

        Raises
        ------
        NoAnswer
        """
        for _ in range(_TRIES):
            self.link.clear()
            self.answers.pop(key, None)
            self.link.send(frame)
            end = time.monotonic() + _REPLY
            while (now := time.monotonic()) < end:
                self.link.feed()
                if self.link.listen(lambda: key in self.answers, min(end, now + self.keys.watchdog * _FEED)):
                    return self.answers[key]
        raise self.error(f"does not answer{see_to}", NoAnswer)

    def error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        """An error of this drive."""
        return kind(f"the drive of {self.joint.name} {words}")


class PolledLink(DriveLink):
    """The drives of one CAN bus; a driver adds keys, axes and the load."""

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, axes: tuple[PolledAxis, ...]) -> None:
        self._keys, self.axes, self._axes = keys, axes, axes
        for axis in axes:
            axis.link = self
        self._bus: can.BusABC | None = None
        self._sent: set[tuple[int, bytes]] = set()
        self._fed = 0.0

    def open(self, transport: can.BusABC | None = None) -> None:
        """Take the bus."""
        self._bus, self._owned = readable(transport or open_can(self._keys.bus, self._keys.bit_rate)), transport is None

    def start(self) -> None:
        """Nothing that came before counts any more."""
        for axis in self._axes:
            axis.forget()

    def close(self) -> None:
        """Let go of the bus; one that was handed in stays open."""
        bus, self._bus = self._bus, None
        if bus is not None and self._owned:
            bus.shutdown()

    def exchange(self, deadline: float) -> float:
        """Every axis' frames out, then wait for the answers. What came before is no answer and only read away.

        What goes wrong with one axis is raised after the others have had theirs.
        """
        for axis in self._axes:
            axis.due = False
        with all_tried() as tried:
            with tried():
                self.clear()
            asked = time.monotonic()
            for axis in self._axes:
                with tried():
                    for frame in axis.frames():
                        self.send(frame)
            self.listen(lambda: not any(axis.due for axis in self._axes), deadline)
        return asked

    def feed(self) -> None:
        """Drives that are to have power are told to rest once more, now and then: their watchdogs run while others are asked."""
        now = time.monotonic()
        if now - self._fed > self._keys.watchdog * _FEED:
            self._fed = now
            for axis in self._axes:
                if axis.rests_armed:
                    self.send(axis.setpoint(0.0))

    def clear(self) -> None:
        """Read away what came unasked, or too late."""
        self._sent.clear()
        for _ in range(_BACKLOG):
            if not self._take(0.0):
                return
        raise DriverError("the CAN bus brings frames faster than they can be read; see what else is on it")

    def send(self, frame: Frame) -> None:
        """One frame out."""
        assert self._bus is not None
        self._sent.add((frame.identifier, frame.data))
        self._bus.send(can.Message(arbitration_id=frame.identifier, data=None if frame.remote else frame.data,
                                   is_remote_frame=frame.remote, is_extended_id=False), timeout=SEND)

    def listen(self, done: Callable[[], bool], deadline: float) -> bool:
        """Hand out what comes until it is done; says whether it was done in time."""
        while not done():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            self._take(left)
        return True

    def _take(self, patience: float) -> bool:
        """Read one frame; some buses hand out one's own, which nobody answered."""
        assert self._bus is not None
        message = self._bus.recv(patience)
        if message is None:
            return False
        self.error_frames += message.is_error_frame
        frame = Frame(message.arbitration_id, bytes(message.data))
        odd = message.is_error_frame or message.is_remote_frame or message.is_extended_id
        if not odd and (frame.identifier, frame.data) not in self._sent:
            for axis in self._axes:
                axis.take(frame)
        return True
