"""An enabled arm of ideal drives."""

import pytest

from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.ideal_drives import Loopback
from tests.drivers.wires import steps


@pytest.fixture
def arm(make_arm):
    with WiredArm(make_arm(), Loopback) as made:
        made.enable()
        steps(made, 3)
        yield made
