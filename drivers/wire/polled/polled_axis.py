"""A drive that answers every frame it receives: settings, power, watchdog and set-points,
independent of the protocol.
"""

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

_REPLY = 0.1  # s for an answer to a question outside the cycles
_TRIES = 3  # times that such a question is sent
# fraction of the watchdog's time between two frames that keep a watchdog quiet
_FEED = 0.25

Condition = Literal["unknown", "off", "powered", "fault"]


@dataclass(frozen=True)
class Frame:
    """A frame on the bus; a remote frame requests the data of its identifier."""

    identifier: int
    data: bytes = b""
    remote: bool = False


class PolledKeys(LinkKeys):
    """Keys of ``[driver]`` that drivers of polled drives share."""

    bus: dict[str, Any]  # python-can's: interface, channel, ...
    bit_rate: PositiveFloat = 1e6
    watchdog: Annotated[float, Field(ge=0.02, le=2.0)] = 0.2

    @property
    def feed_period(self) -> float:
        """Time between frames to drives with a running watchdog while
        other drives are asked [s].
        """
        return self.watchdog * _FEED


class AskedBus(Protocol):
    """Methods of the bus with which an axis asks its drive outside the cycles."""

    def clear(self) -> None:
        """Read and drop all frames that came too late or without a request."""

    def send(self, frame: Frame) -> None:
        """Send one frame."""

    def feed(self) -> None:
        """Repeat set-point zero to drives whose watchdogs run before their cycles do."""

    def listen(self, done: Callable[[], bool], deadline: float) -> bool:
        """Give received frames to the axes until `done()` or the deadline; return
        whether `done()` came in time.
        """


class PolledAxis(Axis):
    """A drive that answers questions, follows set-points, and loses power when it hears
    nothing for the watchdog's time.

    A joint without brake falls when its drive loses power. To hold a joint, the axis brings it to
    rest by set-point zero and then releases (switches off) the watchdog: the drive holds by itself,
    even if this program ends. A drive that lost power by itself receives questions only.

    The table lists the frames that a cycle sends beside questions, and the value of
    `power`. They depend on the goal, which `enable`, `quick_stop` and `disable` set, and on
    the condition of the drive:

    =========  ============  ============================================  ============================================
    goal       condition     sent                                          power
    =========  ============  ============================================  ============================================
    none       off, unknown  nothing                                       off none       powered
    nothing                                       held once at rest and released, on until then on
    off           velocity 0; power on after its answer         off on         unknown
    velocity 0                                    off on         powered       velocity 0, question
    for a doubtful setting   on once no setting is doubtful, off until then follow     powered
    velocity                                      on follow     unknown       velocity
    off follow     off           nothing                                       off held
    powered       velocity 0; release once at rest              held once at rest and released, on
    until then held       unknown       velocity 0; release once at rest              on off
    powered       velocity 0, power off                         held if at rest and released, else
    on off        unknown       velocity 0, power off                         on held, off  off
    release                                       off once released, on until then on         fault
    velocity 0                                    fault held, off  fault         release once at
    rest                          fault
    =========  ============  ============================================  ============================================

    A watchdog that is off already is not released again.

    Attributes
    ----------
    link : AskedBus
        The bus of the drive.
    due : bool
        Whether the answer of this cycle is still missing.
    answers : dict
        Answers to questions outside the cycles; `take` fills it.
    released : bool
        Whether the watchdog of the drive is off.
    settings : dict
        Written settings, each as (question that reads it back, value), by the key of its answer.
        They are read back again when the drive gets power.
    """

    link: AskedBus

    def __init__(self, joint: DrivenJoint, keys: PolledKeys) -> None:
        self.joint, self.keys = joint, keys
        self.due, self.released = False, False
        self.answers: dict[Hashable, Any] = {}
        self.settings: dict[Hashable, tuple[Frame, float]] = {}
        # settings that were not read back since the drive got power
        self._doubtful: list[Hashable] = []
        # "on", "follow", "held", "off"; None leaves the drive as it is
        self._goal: str | None = None
        self._velocity = 0.0
        # whether the drive has answered set-point zero since `enable`
        self._zeroed = False
        self._asked = 0.0  # time of the last question for its state
        self._standstill = Standstill(joint.small)

    # methods that a driver implements

    @property
    @abstractmethod
    def condition(self) -> Condition:
        """Power condition according to the drive's last answer."""

    @abstractmethod
    def setpoint(self, velocity: float) -> Frame:
        """Frame with a velocity set-point of the joint."""

    @abstractmethod
    def power_on(self) -> Iterator[Frame]:
        """Frames that ask for power."""

    @abstractmethod
    def power_off(self) -> Iterator[Frame]:
        """Frames that switch power off."""

    @abstractmethod
    def release(self) -> Iterator[Frame]:
        """Frames that switch the watchdog off; the answer sets `released`."""

    @abstractmethod
    def questions(self, told: bool) -> Iterator[Frame]:
        """Frames that ask for the state; `told` says whether this cycle also sends a set-point."""

    @abstractmethod
    def watch(self, on: bool) -> None:
        """Arm or release the watchdog and read the setting back. Arming must not trip a
        watchdog after a long pause.
        """

    @abstractmethod
    def take(self, frame: Frame) -> None:
        """Take a frame from the bus, which may belong to another drive. A state counts as an
        answer only while it is `due`.
        """

    def try_watchdog(self, holds: bool) -> None:
        """Test the watchdog: arm it, then release it until `enable`, since it would trip
        while the drive stands by.

        A drive that holds its joint is not tested: if the release were lost, the joint would fall.
        Only `enable` arms its watchdog.
        """
        if not holds:
            self.watch(True)
            self.watch(False)
        self.watched = True

    # orders

    @property
    def power(self) -> Power:
        """Power state according to the last answer.

        A powered drive is "held" when its joint stands still and its watchdog is off. It is "on"
        when its settings are confirmed: a reset since `configure` would have cleared them. After
        `disable`, a drive is "off" only when its watchdog is off too, since the watchdog would
        trip. A drive in an unknown condition may have power.
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
        """Arm the watchdog. The next cycles send zero velocity, ask for power after its answer,
        and then read settings back.
        """
        # set before arming, so that `feed` starts
        self._velocity, self._zeroed, self._goal = 0.0, False, "on"
        self._standstill.lead()
        if self.watched:
            self.watch(True)

    def command(self, mode: str, value: float) -> None:
        """Keep the velocity of the next frame."""
        self.setpoint(value)  # raises an error if the frame cannot hold the value
        self._velocity = value

    def quick_stop(self) -> None:
        """Send zero velocity, and release the watchdog when the joint is at rest.

        A joint that creeps counts as at rest too: only its drive's velocity loop holds it, but an
        armed watchdog would let it fall.
        """
        self._velocity, self._goal = 0.0, "held"
        self._standstill.hold(self.clock.now())

    def disable(self) -> None:
        """Switch power off."""
        self._velocity, self._goal = 0.0, "off"

    @property
    def rests_armed(self) -> bool:
        """Whether the watchdog runs before the cycles do."""
        return self.watched and self._goal == "on"

    @property
    def doubtful(self) -> bool:
        """Whether settings must still be confirmed before the drive counts as "on"."""
        return bool(self._doubtful)

    def frames(self) -> Iterator[Frame]:
        """Frames of this cycle."""
        self.due, self._asked = True, self.clock.now()
        condition = self.condition
        told = self._goal == "on" or (
            condition in ("powered", "unknown") and self._goal is not None
        )
        if told:
            yield self.setpoint(self._velocity)
        if self._goal == "on":
            yield from self.confirm(condition == "powered")
        if self._goal == "on" and self._zeroed and condition == "off":
            yield from self.power_on()
        elif self._goal == "off" and condition in ("powered", "unknown"):
            yield from self.power_off()
        elif (
            self._goal in ("held", "off")
            and not self.released
            and (condition == "off" or self._standstill.reached)
        ):
            yield from self.release()
        yield from self.questions(told)

    def confirm(self, powered: bool) -> Iterator[Frame]:
        """Frames that read settings back again, one per cycle: a drive that was reset after
        `configure` has lost them.
        """
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
                raise self.error(
                    f"was reset after it had been set up (setting {key}: set to "
                    f"{self.settings[key][1]:g}, reads {self.answers[key]:g}); connect again"
                )

    def has(self, key: Hashable, found: float) -> bool:
        """Whether the value that was read back is the value that was written."""
        _, value = self.settings[key]
        return abs(found - value) <= 1e-6 * abs(value)

    # answers

    def measured(self, reading: Reading) -> None:
        """Take the reading of this cycle."""
        self.due, self.reading = False, reading
        self._standstill.see(self._asked, reading.q, self.steps.position)
        self.replies += 1
        self._zeroed = self._goal == "on"
        if self._goal == "on" and self.power == "on":
            self._goal = "follow"

    def forget(self) -> None:
        """Forget the time before a pause; called before cycles begin again."""
        self.due = False
        self._standstill.forget(self.clock.now())

    def ask(
        self,
        frame: Frame,
        key: Hashable,
        see_to: str = "; check power, wiring, bit_rate and identifiers",
    ) -> Any:
        """Send a question, up to three times, and return the answer under this key.

        Raises
        ------
        NoAnswer
        """
        for _ in range(_TRIES):
            self.link.clear()
            self.answers.pop(key, None)
            self.link.send(frame)
            end = self.clock.now() + _REPLY
            while (now := self.clock.now()) < end:
                self.link.feed()
                if self.link.listen(
                    lambda: key in self.answers, min(end, now + self.keys.feed_period)
                ):
                    return self.answers[key]
        raise self.error(f"does not answer{see_to}", NoAnswer)

    def error(self, words: str, kind: type[DriverError] = DriverError) -> DriverError:
        """Return an error that names this drive."""
        return kind(f"the drive of {self.joint.name} {words}")
