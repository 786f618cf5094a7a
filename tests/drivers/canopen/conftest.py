"""Emulated CANopen drives, and probes that read and write them."""

import pytest

from stribeck.drivers.connect import connect
from tests.drivers.canopen.canopen_probe import Probe
from tests.drivers.wires import PAIR, with_port


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated drives; tests leave them without faults."""
    return bench("canopen")


@pytest.fixture
def probe(pair):
    return Probe(pair)


@pytest.fixture
def own(bench):
    """Emulated drives for a single test, and a probe; for tests that break the drives."""

    def start(**changes):
        drives = bench("canopen", changes)
        return drives, Probe(drives)

    return start


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["canopen"], 1))).axes[0]
