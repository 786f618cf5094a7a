"""Arms that tests may change. BLAS threads are pinned, because digits must repeat."""

import gc
import os
import shutil
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tomlkit

from stribeck.experiments.threads import ONE_THREAD
from tests.places import TEST_ARMS
from tests.recorded import Recorded, shared_root

for variable, count in ONE_THREAD.items():
    os.environ.setdefault(variable, count)

# tests start a hundred programs; each would compile the package anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # until tests are collected, nothing becomes garbage

from stribeck.ident.arm.arm_file import ArmFile, load_arm  # noqa: E402  # NumPy reads the variables when it is imported
from tests.messages import judged  # noqa: E402

# every provoked error must say where, what was found and what is allowed
pytest.raises = judged(pytest.raises)

# as shells start programs in the background; tests send Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ARMS = TEST_ARMS


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use as many workers as there are processors."""
    return os.cpu_count() or 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests go first, so that none of them is left over at the end."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


def pytest_collection_finish() -> None:
    """Exempt modules and tests, which live until the end, from garbage collection: a
    twentieth of all computing time.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Campaigns and fits that are made once a test run and shared between its processes."""
    shared = Recorded(shared_root(tmp_path_factory, os.environ.get("PYTEST_XDIST_WORKER")))
    yield shared
    assert shared.changed() == [], "a test changed a shared folder; use Made.copy"


@pytest.fixture(scope="session")
def make_arm(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ArmFile]:
    """Make an arm file from a small arm file and changes to its tables; None removes a key."""

    def make(changes: dict[str, Any] | None = None, base: str = "pair") -> ArmFile:
        folder = tmp_path_factory.mktemp("arm")
        shutil.copy(ARMS / f"{base}.urdf", folder)
        table = tomllib.loads((ARMS / f"{base}.toml").read_text(encoding="utf-8"))
        (folder / f"{base}.toml").write_text(
            tomlkit.dumps(_merged(table, changes or {})), encoding="utf-8"
        )
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
