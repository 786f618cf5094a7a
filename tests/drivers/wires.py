"""Small arms behind device emulators, each in a process of its own on a loopback bus."""

import multiprocessing
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.emulators import emulate
from drivers.realtime import real_time
from ident.armfile import ArmFile, load_arm

processes = multiprocessing.get_context("forkserver")       # imports once, starts in no time
processes.set_forkserver_preload(["drivers.canopen402", "drivers.dynamixel", "drivers.emulators.canopen",
                                  "drivers.emulators.dynamixel", "drivers.wired", __name__])

GROUP = "239.74.163.2"
PAIR: dict[str, dict[str, Any]] = {       # what makes the pair of tests/arms an arm of each protocol; {port} is a free one
    "canopen": {
        "driver": {"kind": "canopen", "bus": {"interface": "udp_multicast", "channel": GROUP, "port": "{port}"}, "watchdog": 0.5,
                   "modes": ["velocity", "torque"]},
        "joints": {"turn": {"stop": "brake", "drive": {"node": 1, "rated_torque": 0.6, "position_counts": 65536}},
                   "lift": {"stop": "brake", "drive": {"node": 2, "rated_torque": 0.4, "position_counts": 65536}}}},
    "dynamixel": {
        "driver": {"kind": "dynamixel", "port": "socket://127.0.0.1:{port}", "watchdog": 0.5},
        "joints": {"turn": {"stop": "brake", "drive": {"id": 1, "model": "XM430-W210", "reduction": 3.0}},
                   "lift": {"stop": "brake", "drive": {"id": 2, "model": "XM540-W150", "reduction": 3.0}}}},
}


@dataclass
class Bench:
    """An arm file and the process that plays its drives."""

    arm: ArmFile
    process: Any

    def end(self) -> None:
        """No drive is there any more; safe to call twice."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def benches(make_arm: Callable[..., ArmFile]) -> Iterator[Callable[..., Bench]]:
    """Starts emulators: `start(kind, changes)`; kills them in the end."""
    running: list[Bench] = []

    def start(kind: str, changes: dict[str, Any] | None = None, seed: int = 0) -> Bench:
        arm = make_arm(merged(with_port(PAIR[kind], free_port()), changes or {}))
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
    """A port that nobody uses: else parallel tests hear each other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


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
        out[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return out
