"""A drive that answers every frame it is sent: its settings, power, watchdog and set-points, whatever its protocol."""

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, PositiveFloat

from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.wire.axis import Axis, Power, Reading
from stribeck.drivers.wire.drive_keys import LinkKeys
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.standstill import Standstill

_REPLY = 0.1            # s for an answer to a question outside the cycles,
_TRIES = 3              # which is put so often
_FEED = 0.25            # part of the watchdog's time

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

    @property
    def feed_period(self) -> float:
        """Time after which drives that are armed hear of us again while others are asked [s]."""
        return self.watchdog * _FEED


class AskedBus(Protocol):
    """What an axis needs of its bus to ask its drive outside the cycles."""

    def clear(self) -> None:
        """Read away what came unasked, or too late."""

    def send(self, frame: Frame) -> None:
        """One frame out."""

    def feed(self) -> None:
        """Drives that are to have power are told to rest once more, now and then."""

    def listen(self, done: Callable[[], bool], deadline: float) -> bool:
        """Hand out what comes until it is done; says whether it was done in time."""


class PolledAxis(Axis):
    """A drive that answers what it is asked, follows set-points, and loses power when it hears nothing for the watchdog's time.

    With its power goes a joint without brake. To be held, a joint is brought to rest by a set-point of zero and then has its
    watchdog released, so that the drive goes on holding by itself, whatever becomes of us. A drive that left power by itself is
    only asked.

    What a cycle sends beside questions, and what `power` then says, by the goal that orders have set and the drive's condition:

    =========  ============  ============================================  ============================================
    goal       condition     sent                                          power
    =========  ============  ============================================  ============================================
    none       off, unknown  nothing                                       off
    none       powered       nothing                                       held once at rest and released, on until then
    on         off           velocity 0; power on once 0 was answered      off
    on         unknown       velocity 0                                    off
    on         powered       velocity 0, question for a doubtful setting   on once no setting is doubtful, off until then
    follow     powered       velocity                                      on
    follow     unknown       velocity                                      off
    follow     off           nothing                                       off
    held       powered       velocity 0; release once at rest              held once at rest and released, on until then
    held       unknown       velocity 0; release once at rest              on
    off        powered       velocity 0, power off                         held if at rest and released, else on
    off        unknown       velocity 0, power off                         on
    held, off  off           release                                       off once released, on until then
    on         fault         velocity 0                                    fault
    held, off  fault         release once at rest                          fault
    =========  ============  ============================================  ============================================

    Nothing is released twice.

    Attributes
    ----------
    link : AskedBus
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

    link: AskedBus

    def __init__(self, joint: DrivenJoint, keys: PolledKeys) -> None:
        self.joint, self.keys = joint, keys
        self.due, self.released = False, False
        self.answers: dict[Hashable, Any] = {}
        self.settings: dict[Hashable, tuple[Frame, float]] = {}
        self._doubtful: list[Hashable] = []         # settings that were not read back since power came
        self._goal: str | None = None       # "on", "follow", "held", "off"; None leaves the drive as it is
        self._velocity = 0.0
        self._zeroed = False                # it has answered a set-point of zero since it was to be powered
        self._asked = 0.0                   # when its state was asked for last
        self._standstill = Standstill(joint.small)

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
        return "held" if self._standstill.reached and self.released else "on"

    def enable(self) -> None:
        """Arm the watchdog; then, cycle by cycle: zero velocity, its answer, only then power, and at last its settings."""
        self._velocity, self._zeroed, self._goal = 0.0, False, "on"          # before it is armed: it is fed while it is asked
        self._standstill.lead()
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
        self._standstill.hold(time.monotonic())

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
        elif self._goal in ("held", "off") and not self.released and (condition == "off" or self._standstill.reached):
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
                raise self.error(f"was reset after it had been set up (setting {key}: set to {self.settings[key][1]:g}, reads "
                                 f"{self.answers[key]:g}); connect again")

    def has(self, key: Hashable, found: float) -> bool:
        """Whether what was read back is what was written."""
        _, value = self.settings[key]
        return abs(found - value) <= 1e-6 * abs(value)

    # answers

    def measured(self, reading: Reading) -> None:
        """The answer of this cycle."""
        self.due, self.reading = False, reading
        self._standstill.see(self._asked, reading.q, self.steps.position)
        self.replies += 1
        self._zeroed = self._goal == "on"
        if self._goal == "on" and self.power == "on":
            self._goal = "follow"

    def forget(self) -> None:
        """Called before cycles begin again after a pause."""
        self.due = False
        self._standstill.forget(time.monotonic())

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
                if self.link.listen(lambda: key in self.answers, min(end, now + self.keys.feed_period)):
                    return self.answers[key]
        raise self.error(f"does not answer{see_to}", NoAnswer)

    def error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        """An error of this drive."""
        return kind(f"the drive of {self.joint.name} {words}")
