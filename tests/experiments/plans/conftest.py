"""The small arm and its plan with two speeds."""

import pytest


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def plan(arm, make_plan):
    return make_plan(arm, speeds=(0.4, 0.1))
