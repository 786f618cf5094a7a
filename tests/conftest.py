"""Arms that tests may change. BLAS threads are pinned, because digits must repeat."""

import os
import shutil
import signal
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import tomlkit
from xdist.scheduler import LoadFileScheduling

from tests.places import TEST_ARMS
from tests.standstill import stood_still, watcher

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from stribeck.ident.arm.arm_file import ArmFile, load_arm  # noqa: E402  # NumPy reads the variables when it is imported

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:      # as shells start programs in the background; tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:         # nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ARMS = TEST_ARMS
LONGEST = ("test_main_job", "test_minute", "test_resumed", "test_company", "test_campaign", "test_dynamixel_axis",
           "test_clearance", "test_forecast", "test_gravity", "test_manual", "test_cia402_axis", "test_canopen_link",
           "test_reliability", "test_arm_contract", "test_agreement", "test_packaging")
REAL_TIME = ("tests/drivers/", "tests/test_reliability", "tests/experiments/cli/commands/test_emulate")
SIMULATED = ("tests/drivers/simulation/", "tests/drivers/test_supervisor")
HEAVY = ("test_minute.py", "test_company.py", "test_reliability.py", "test_resumed.py")
TRIED_AGAIN = 2         # times, where the computer stood still meanwhile


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than cores: tests of drives over a wire wait most of their time."""
    return (os.cpu_count() or 1) + 2


class Lanes(LoadFileScheduling):
    """Files one by one to whoever is free, but those with drives in real time in two lanes.

    Their programs go before all others and would starve each other: a minute of two arms takes more than one core.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not file.startswith(REAL_TIME) or file.startswith(SIMULATED):
            return file
        return "drives in real time, a minute" if file.endswith(HEAVY) else "drives in real time"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """The lanes in place of files, where files are asked for."""
    return Lanes(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest begin first, so that none is left over when the other workers are done.

    What drives do in real time is tried once more where this computer stood still, and only there.
    """
    in_real_time = [item for item in items if item.nodeid.startswith(REAL_TIME)]
    for item in in_real_time:
        item.add_marker(pytest.mark.flaky(reruns=TRIED_AGAIN, condition=stood_still))
    if in_real_time:
        watcher()
    items.sort(key=lambda item: (not item.nodeid.startswith(REAL_TIME) or item.nodeid.startswith(SIMULATED),
                                 LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)))


@pytest.fixture(scope="session")
def make_arm(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ArmFile]:
    """Makes an arm file from a small one and changes to its tables; None removes a key."""
    def make(changes: dict[str, Any] | None = None, base: str = "pair") -> ArmFile:
        folder = tmp_path_factory.mktemp("arm")
        shutil.copy(ARMS / f"{base}.urdf", folder)
        table = tomllib.loads((ARMS / f"{base}.toml").read_text(encoding="utf-8"))
        (folder / f"{base}.toml").write_text(tomlkit.dumps(_merged(table, changes or {})), encoding="utf-8")
        return load_arm(folder / f"{base}.toml")

    return make


def _merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for key, value in changes.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, dict) and isinstance(table.get(key), dict):
            _merged(table[key], value)
        else:
            table[key] = value
    return table
