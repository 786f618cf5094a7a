"""Small arms behind device emulators, each in a process of its own on a bus of this computer, and
functions for tests with them, in real and in virtual time.
"""

import multiprocessing
import random
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stribeck.drivers import staleness
from stribeck.drivers.arm import Arm, Command, JointSample
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.emulator import emulate
from stribeck.drivers.realtime import real_time
from stribeck.drivers.wire import connection
from stribeck.ident.arm.arm_file import ArmFile, load_arm

processes = multiprocessing.get_context("forkserver")  # imports once, then starts quickly
processes.set_forkserver_preload(
    [
        *(
            f"stribeck.drivers.{module}"
            for module in (
                "canopen.canopen_link",
                "mit.damiao",
                "dynamixel.dynamixel_link",
                "odrive.odrive_link",
                "wire.wired_arm",
            )
        ),
        *(
            f"stribeck.drivers.emulators.{kind}"
            for kind in ("canopen", "damiao", "dynamixel", "odrive")
        ),
        __name__,
    ]
)

REST = np.zeros(2)
PACE = np.array([0.3, -0.2])
GROUP = "239.74.163.2"
ENDPOINTS = {
    "axis0.config.enable_watchdog": 301,
    "axis0.config.watchdog_timeout": 302,
    "axis0.config.torque_soft_max": 303,
    "axis0.config.torque_soft_min": 304,
    "axis0.controller.config.vel_limit": 305,
    "axis0.controller.config.control_mode": 306,
    "axis0.controller.config.input_mode": 307,
    "axis0.controller.input_vel": 308,
    "axis0.controller.config.absolute_setpoints": 309,
}
# changes that give the pair of tests/arms drives of a protocol; {port} is a free port
PAIR: dict[str, dict[str, Any]] = {
    "canopen": {
        "driver": {
            "kind": "canopen",
            "bus": {"interface": "udp_multicast", "channel": GROUP, "port": "{port}"},
            "watchdog": 0.5,
            "modes": ["velocity", "torque"],
        },
        "joints": {
            "turn": {
                "stop": "brake",
                "drive": {"node": 1, "rated_torque": 0.6, "position_counts": 65536},
            },
            "lift": {
                "stop": "brake",
                "drive": {"node": 2, "rated_torque": 0.4, "position_counts": 65536},
            },
        },
    },
    "dynamixel": {
        "driver": {"kind": "dynamixel", "port": "socket://127.0.0.1:{port}", "watchdog": 0.5},
        "joints": {
            "turn": {
                "stop": "brake",
                "torque": 12.0,
                "drive": {"id": 1, "model": "XM430-W210", "reduction": 3.0},
            },
            "lift": {
                "stop": "brake",
                "torque": 24.0,
                "drive": {"id": 2, "model": "XM540-W150", "reduction": 3.0},
            },
        },
    },
    "damiao": {
        "driver": {
            "kind": "damiao",
            "bus": {"interface": "udp_multicast", "channel": GROUP, "port": "{port}"},
            "watchdog": 0.5,
        },
        "joints": {
            "turn": {"stop": "brake", "drive": {"id": 1, "reply": 0x11, "motor": "DM10010L"}},
            "lift": {"stop": "brake", "drive": {"id": 2, "reply": 0x12, "motor": "DM8009"}},
        },
    },
    "cubemars": {
        "driver": {
            "kind": "cubemars",
            "bus": {"interface": "udp_multicast", "channel": GROUP, "port": "{port}"},
            "allow_no_watchdog": True,
        },
        "joints": {
            "turn": {
                "stop": "brake",
                "drive": {"id": 1, "motor": "AK70-10", "gear": 4.0, "kp": 80.0, "kd": 5.0},
            },
            "lift": {
                "stop": "brake",
                "drive": {"id": 2, "motor": "AK70-10", "gear": 4.0, "kp": 80.0, "kd": 5.0},
            },
        },
    },
    "odrive": {
        "driver": {
            "kind": "odrive",
            "bus": {"interface": "udp_multicast", "channel": GROUP, "port": "{port}"},
            "watchdog": 0.5,
            "firmware": "0.6.10",
            "endpoints": ENDPOINTS,
        },
        "joints": {
            "turn": {"stop": "brake", "drive": {"node": 1, "encoder_counts": 16384}},
            "lift": {"stop": "brake", "drive": {"node": 2, "encoder_counts": 16384}},
        },
    },
}


# s, allowed age of replies in real time, and the watchdogs' time: a busy computer may stand still
PATIENCE = 1.0


@dataclass
class Bench:
    """An arm file and the process that emulates its drives."""

    arm: ArmFile
    process: Any

    def end(self) -> None:
        """End the emulator; safe to call twice."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def benches(make_arm: Callable[..., ArmFile]) -> Iterator[Callable[..., Bench]]:
    """Start emulators by `start(kind, changes)`, and kill them at the end."""
    running: list[Bench] = []

    def start(kind: str, changes: dict[str, Any] | None = None, seed: int = 0) -> Bench:
        patient = merged(PAIR[kind], {"driver": {"watchdog": PATIENCE}})
        arm = make_arm(merged(with_port(patient, free_port()), changes or {}))
        listens = processes.Event()
        process = processes.Process(target=play, args=(arm.path, seed, listens), daemon=True)
        process.start()
        running.append(Bench(arm, process))
        assert listens.wait(60.0)
        return running[-1]

    yield start
    for made in running:
        made.end()


def play(arm: Path, seed: int, listens: Any) -> None:
    """The emulator's process."""
    emulator = emulate(load_arm(arm), seed)
    listens.set()
    with real_time():
        emulator.serve()


def free_port() -> int:
    """A free port outside the range of outgoing connections, so that parallel tests do not
    receive each other's frames.
    """
    while True:
        port = random.SystemRandom().randint(10000, 30000)  # independent of seeds that tests set
        with suppress(OSError), ExitStack() as probes:
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                probes.enter_context(socket.socket(socket.AF_INET, kind)).bind(("", port))
            return port


def with_port(table: Any, port: int) -> Any:
    """A copy with the port filled in."""
    if isinstance(table, dict):
        return {key: with_port(value, port) for key, value in table.items()}
    if table == "{port}":
        return port
    return table.replace("{port}", str(port)) if isinstance(table, str) else table


def merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with changes; tables merge."""
    out = dict(table)
    for key, value in changes.items():
        inner = out.get(key)
        out[key] = (
            merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
        )
    return out


def steps(arm: Arm, count: int, velocity: np.ndarray = REST) -> list[JointSample]:
    """Run `count` cycles at one velocity."""
    return [arm.step(Command(velocity)) for _ in range(count)]


def until_it_fails(arm: Arm, velocity: np.ndarray = PACE, most: float = 3.0) -> None:
    """Run cycles until the arm raises an error, for `most` seconds of its time."""
    steps(arm, round(most * arm.rate), velocity)
    pytest.fail("nothing was noticed")


@contextmanager
def patiently() -> Iterator[None]:
    """Allow older replies than usual before an arm is stopped, since tests share the
    computer with other programs.
    """
    with pytest.MonkeyPatch.context() as patience:
        patience.setattr(staleness, "SHORTEST_AGE", PATIENCE)
        yield


@contextmanager
def program_of(arm: ArmFile) -> Iterator[tuple[Any, Any]]:
    """The process of a program that has moved the joints for a while, and
    the queue with its output.
    """
    said = processes.Queue()
    program = processes.Process(target=drive_on, args=(arm.path, said), daemon=True)
    program.start()
    assert said.get(timeout=60.0) == "moving"
    yield program, said
    if program.is_alive():
        program.kill()
    program.join()


def as_of_another_computer() -> None:
    """Claim no drives in this process, so that only the drives show that
    another program moves them.
    """

    @contextmanager
    def unclaimed(place: str) -> Iterator[None]:
        yield

    connection.alone = unclaimed


def drive_on(arm: Path, said: Any) -> None:
    """Move the joints until the program is stopped, as a program on another
    computer on the same bus.
    """
    as_of_another_computer()
    staleness.SHORTEST_AGE = PATIENCE
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    try:
        with connect(load_arm(arm)) as connected:
            connected.enable()
            start = connected.step(Command(PACE)).q
            while np.any(np.abs(connected.step(Command(PACE)).q - start) < 0.2 * np.abs(PACE)):
                pass
            said.put("moving")
            while True:
                connected.step(Command(PACE))
    except BaseException as error:
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_IGN)
        said.put(f"{type(error).__name__}: {error}")
