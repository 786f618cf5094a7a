"""Emulated CANopen drives in another process on a real (loopback) bus, and probes
that read and write them.
"""

from contextlib import ExitStack, contextmanager

import pytest

from stribeck.drivers.connect import connect
from tests.drivers.canopen.canopen_probe import probing
from tests.drivers.wires import PAIR, with_port


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated drives in another process; tests leave them without faults."""
    return bench("canopen")


@pytest.fixture
def probe(pair):
    yield from probing(pair)


@pytest.fixture
def own(bench):
    """Emulated drives for a single test, and a probe; for tests that break the drives."""
    with ExitStack() as made:

        def start(**changes):
            drives = bench("canopen", changes)
            made.callback(drives.end)
            return drives, made.enter_context(contextmanager(probing)(drives))

        yield start


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["canopen"], 1))).axes[0]
