"""Emulated servos, and probes that read and write them."""

import pytest

from tests.drivers.dynamixel.servo_probe import Probe
from tests.drivers.wires import PAIR, with_port


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated servos; tests leave them without faults."""
    return bench("dynamixel")


@pytest.fixture
def probe(pair):
    return Probe(pair)


@pytest.fixture
def own(bench):
    """Emulated servos for a single test, and a probe; for tests that break the servos."""

    def start(**changes):
        servos = bench("dynamixel", changes)
        return servos, Probe(servos)

    return start


@pytest.fixture
def arm_file(make_arm):
    return make_arm(with_port(PAIR["dynamixel"], 1))
