"""The program's entry, before NumPy is imported."""

import os

import pytest

from stribeck.experiments.cli import app, entry
from stribeck.experiments.threads import ONE_THREAD


@pytest.mark.parametrize("stated", [None, "2"])
def test_linear_algebra_has_one_thread_unless_the_user_states_another_number(monkeypatch, stated):
    for variable in ONE_THREAD:
        monkeypatch.setenv(variable, stated) if stated else monkeypatch.delenv(variable)
    monkeypatch.setattr(entry.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(app, "main", lambda arguments: None)
    entry.main(["--version"])
    assert {os.environ[variable] for variable in ONE_THREAD} == {stated or "1"}
