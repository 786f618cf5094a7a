"""An enabled arm of ideal drives."""

import pytest

from tests.drivers.ideal_drives import ideal_arm
from tests.drivers.wires import steps


@pytest.fixture
def arm(make_arm):
    with ideal_arm(make_arm()) as made:
        made.enable()
        steps(made, 3)
        yield made
