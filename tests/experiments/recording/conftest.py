"""A run writer for the small arm, and a closed run."""

import pytest

from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from tests.experiments.recording.written_runs import RATE, fill


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def start(arm, tmp_path):
    """Make a writer for the run folder ``run``."""

    def make(**options):
        return RunWriter(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE, **options)

    return make


@pytest.fixture
def closed(start, tmp_path):
    """A run of 330 rows: six full batches and one partial batch."""
    with start() as writer:
        fill(writer, 330)
    return tmp_path / "run"
