"""Options --rate, --from, --to and --ignore, and ranges of columns."""

import numpy as np
import pytest

from stribeck.experiments.importers.columns import column_map, parse_columns
from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.narrowing import at_rate, between, without
from stribeck.experiments.importers.table import in_memory
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import NAMES, TAU, Q, T

TABLE = in_memory(
    "log.csv", {"t": T + 1.7e9, "q1": Q[:, 0], "q2": Q[:, 1], "tau1": TAU[:, 0], "tau2": TAU[:, 1]}
)
CLOCK = column_map("t", None, "t", "s", "t")


def test_time_from_a_sampling_rate():
    table, clock = at_rate(without(TABLE, ["t"]), 100.0)
    found = table.read([clock.column, "q2"])
    np.testing.assert_allclose(found[clock.column], T)
    np.testing.assert_array_equal(found["q2"], Q[:, 1])
    np.testing.assert_allclose(table.read([clock.column])[clock.column], T)


def test_a_sampling_rate_must_be_positive():
    for rate in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="positive"):
            at_rate(TABLE, rate)


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (None, None, slice(None)),
        (1.0, None, slice(100, None)),
        (None, 2.0, slice(0, 201)),
        (0.995, 2.005, slice(100, 201)),
    ],
)
def test_a_time_interval_counts_from_the_first_row(start, end, rows):
    np.testing.assert_array_equal(
        between(TABLE, CLOCK, start, end).read(["tau2"])["tau2"], TAU[rows, 1]
    )


def test_a_time_interval_is_noted_and_must_not_be_empty():
    assert between(TABLE, CLOCK, 1.0, None).notes == ("--from 1: 300 of 400 rows are used",)
    with pytest.raises(InputError, match=r"--from 5 leaves no row: the log lasts 3.99 s"):
        between(TABLE, CLOCK, 5.0, None)


def test_ignored_columns_are_not_guessed(arm):
    mechanism = load_mechanism(arm)
    other = in_memory(
        "log.csv", {**TABLE.read(TABLE.names), "torque1": TAU[:, 1], "torque2": TAU[:, 0]}
    )
    assert all(entry.signal != "tau" for entry in guess_columns(other, (), arm, mechanism))
    found = guess_columns(without(other, ["torque1", "torque2"]), (), arm, mechanism)
    assert [entry.column for entry in found if entry.signal == "tau"] == ["tau1", "tau2"]
    with pytest.raises(InputError, match="did you mean 'tau1'"):
        without(other, ["tau_1"])
    with pytest.raises(InputError, match="removes all columns"):
        without(TABLE, TABLE.names)


@pytest.mark.parametrize("name", ["times", "timestamps", "Zeitstempel", "elapsed"])
def test_names_of_time_columns(arm, name):
    table = in_memory(
        "log.csv",
        {name.lower(): T, **{key: TABLE.read([key])[key] for key in ("q1", "q2", "tau1", "tau2")}},
    )
    found = [
        entry for entry in guess_columns(table, (), arm, load_mechanism(arm)) if entry.signal == "t"
    ]
    assert [(entry.column, entry.factor) for entry in found] == [(name.lower(), 1.0)]


class TestRanges:
    COLUMNS = ("t", "i_1 [A]", "i_2 [A]", "i_3 [A]")

    @pytest.mark.parametrize(
        "text",
        ["tau=i_2:i_3[0.5 N·m/A]", "tau=i_2 [A]:i_3 [A][0.5 N·m/A]", "tau=i_2:i_3[0.5, 0.5 N·m/A]"],
    )
    def test_one_factor_for_a_range_of_columns(self, text):
        found = parse_columns([text], NAMES, self.COLUMNS)
        assert [(entry.target, entry.find(self.COLUMNS), entry.factor) for entry in found] == [
            ("tau.turn", "i_2 [A]", 0.5),
            ("tau.lift", "i_3 [A]", 0.5),
        ]

    def test_one_factor_for_each_column(self):
        found = parse_columns(["tau=2:3[0.5, -0.2 N·m/A]"], NAMES)
        assert [(entry.column, entry.factor) for entry in found] == [("2", 0.5), ("3", -0.2)]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("tau=i_1:i_3[0.5 N·m/A]", "3 columns for 2 joints"),
            ("tau=i_1:i_2[1, 2, 3 N·m/A]", "3 factors for 2 columns"),
        ],
    )
    def test_a_wrong_number_of_columns_or_factors_is_refused(self, text, words):
        with pytest.raises(InputError, match=words):
            parse_columns([text], NAMES, self.COLUMNS)
