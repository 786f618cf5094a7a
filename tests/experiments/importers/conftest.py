"""Fixtures: a small arm, and the import of a log with guessed columns."""

import pytest

from stribeck.experiments.importers.columns import check_complete, parse_columns
from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.import_log import import_log
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import SIGNALS, load_run
from tests.experiments.importers.logged_motion import NAMES


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def bring(arm, tmp_path):
    """Import a log with the given columns and guesses for the others, and load the run."""

    def run(path, given=(), **options):
        table, mechanism = open_log(path), load_mechanism(arm)
        columns = guess_columns(table, parse_columns(list(given), NAMES), arm, mechanism)
        check_complete(columns, NAMES)
        return load_run(import_log(table, arm, columns, tmp_path / "campaign", **options), SIGNALS)

    return run
