"""Judges of models that are read from files."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def pin() -> ModuleType:
    return pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the models")


@pytest.fixture(scope="session")
def mujoco() -> ModuleType:
    return pytest.importorskip("mujoco", reason="MuJoCo judges the models")
