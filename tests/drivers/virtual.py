"""Small arms behind device emulators in this process, on a bus or line in memory, in virtual time:
nothing waits, and everything happens in the same order each time.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pkgutil import resolve_name
from typing import Any

import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import DRIVERS, LINKS
from stribeck.drivers.emulators.emulator import emulate
from stribeck.drivers.errors import DriverError
from stribeck.drivers.wire.clock import VirtualClock
from stribeck.drivers.wire.memory_bus import MemoryBus, MemoryLine
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.ident.arm.arm_file import ArmFile
from tests.drivers.wires import PACE, PAIR, merged, with_port

FIRST = 101  # number of the first bus
GONE = 0.2  # s for which another program has moved the joints before a test goes on


class World:
    """A clock, and a bus or line of a protocol on it."""

    def __init__(self, arm: ArmFile) -> None:
        self.clock = VirtualClock()
        keys = arm.driver.model_extra or {}
        self.bus: Any = (
            MemoryLine(self.clock)
            if arm.driver.kind == "dynamixel"
            else MemoryBus(self.clock, float(keys.get("bit_rate", 1e6)))
        )

    def connect(self, arm: ArmFile) -> WiredArm:
        """The driver of an arm on this bus."""
        return WiredArm(arm, resolve_name(LINKS[arm.driver.kind]), self.bus.join(), self.clock)


class Bench(World):
    """An arm file, and emulated drives on a bus of their own."""

    def __init__(self, arm: ArmFile, seed: int = 0) -> None:
        super().__init__(arm)
        self.arm = arm
        place = self.bus if arm.driver.kind == "dynamixel" else self.bus.join()
        self.emulator: Any = emulate(arm, seed, place, self.clock)
        self.clock.members.append(self.emulator)

    @property
    def drives(self) -> Any:
        """The electronics of the emulated drives."""
        return getattr(self.emulator, "_nodes", None) or self.emulator._servos

    def end(self) -> None:
        """Switch all drives off at once; safe to call twice."""
        if self.emulator in self.clock.members:
            self.clock.members.remove(self.emulator)


def bus_of(arm: ArmFile) -> str:
    """The bus or line that an arm file names."""
    keys = arm.driver.model_extra or {}
    return str(keys.get("bus", keys.get("port")))


@contextmanager
def benches(make_arm: Callable[..., ArmFile]) -> Iterator[Callable[..., Bench]]:
    """Make emulated drives by `start(kind, changes)`. Meanwhile, `connect` brings any arm file to
    the drives on the bus that it names; a bus without drives is silent.
    """
    made: dict[str, World] = {}

    def connect(arm: ArmFile, seed: int | None) -> WiredArm:
        return made.setdefault(bus_of(arm), World(arm)).connect(arm)

    def start(kind: str, changes: dict[str, Any] | None = None, seed: int = 0) -> Bench:
        table = merged(with_port(PAIR[kind], FIRST + len(made)), changes or {})
        bench = Bench(make_arm(table), seed)
        made[bus_of(bench.arm)] = bench
        return bench

    with pytest.MonkeyPatch.context() as drivers:
        for kind in LINKS:
            drivers.setitem(DRIVERS, kind, connect)
        yield start


class Program:
    """Another program that moves the joints of a bench, as on another computer.

    Attributes
    ----------
    said : str
        How the program ended; empty while it runs.
    """

    def __init__(self, bench: Bench) -> None:
        self._clock, self._arm, self._inside = bench.clock, bench.connect(bench.arm), ExitStack()
        self.said, self._next, self._works = "", 0.0, False
        self._inside.enter_context(self._arm)
        self._arm.enable()
        self.proceed()

    def due(self) -> float:
        """Time of the next cycle; infinite while one runs."""
        return math.inf if self._works else self._next

    def act(self) -> None:
        """Run a cycle."""
        self._next = self._clock.now() + 1.0 / self._arm.rate
        self._works = True
        try:
            self._arm.step(Command(PACE))
        except DriverError as error:
            self._end(error)
        finally:
            self._works = False

    def pause(self) -> None:
        """Hang, as after SIGSTOP or kill -9."""
        if self in self._clock.members:
            self._clock.members.remove(self)

    def proceed(self) -> None:
        """Go on."""
        self._clock.members.append(self)

    def interrupt(self) -> None:
        """End as after Ctrl-C."""
        self._end(KeyboardInterrupt())

    def _end(self, error: BaseException) -> None:
        self.pause()
        self._inside.pop_all().__exit__(type(error), error, None)
        self.said = f"{type(error).__name__}: {error}"


@contextmanager
def program_of(bench: Bench) -> Iterator[Program]:
    """A program that has moved the joints for a while."""
    program = Program(bench)
    bench.clock.sleep(GONE)
    assert not program.said
    yield program
    program.pause()


@contextmanager
def virtual_drives(
    arm: ArmFile, spoil: Callable[[Any], None] = lambda node: None
) -> Iterator[WiredArm]:
    """Emulated drives, the first of them changed by `spoil`, and their driver."""
    bench = Bench(arm)
    spoil(bench.drives[0])
    yield bench.connect(arm)
