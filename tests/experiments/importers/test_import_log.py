"""Import of foreign logs: only units change, and implausible logs are refused
before any file is written.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from stribeck.experiments.importers.columns import UNITS, check_complete, parse_columns
from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.import_log import TORQUE_SIGNALS, import_log
from stribeck.experiments.importers.readers import READERS, open_log
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import SIGNALS, load_run
from tests.places import DOCS, SHARED

EMPS = SHARED / "emps" / "DATA_EMPS.mat"
ROWS = 40
T = np.arange(ROWS) / 100.0
Q = np.column_stack((np.sin(T), 0.3 * np.cos(3.0 * T)))
TAU = np.column_stack((4.0 * np.cos(T), 2.0 + T))
COLUMNS = ("t=t", "q.turn=q1", "q.lift=q2", "tau.turn=tau1", "tau.lift=tau2")
NAMES = ("turn", "lift")
COLUMN_NAMES = ("t", "q1", "q2", "tau1", "tau2")


def csv(
    path,
    header=("t", "q1", "q2", "tau1", "tau2"),
    values=None,
    separator=",",
    before="",
    after="",
    decimal=".",
):
    """Write the log as a CSV file with all digits."""
    values = np.column_stack((T, Q, TAU)) if values is None else values
    rows = [[repr(float(value)).replace(".", decimal) for value in row] for row in values]
    lines = [separator.join(row) for row in (header, *rows)]
    path.write_text(before + "\n".join(lines) + "\n" + after, encoding="utf-8")
    return path


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def bring(arm, tmp_path):
    """Import a log and load the run."""

    def run(path, columns=COLUMNS):
        columns = parse_columns(list(columns), NAMES)
        return load_run(
            import_log(open_log(path), arm, columns, tmp_path / "campaign", "a note"), SIGNALS
        )

    return run


def assert_is_the_log(run):
    np.testing.assert_array_equal(run.t, T)
    np.testing.assert_array_equal(run.signals["q"], Q)
    np.testing.assert_array_equal(run.signals["tau"], TAU)


class TestReading:
    @pytest.mark.parametrize("separator", [",", ";", "\t", " ", " , ", ";  ", "   "])
    def test_the_separator_is_detected(self, bring, tmp_path, separator):
        assert_is_the_log(bring(csv(tmp_path / "log.csv", separator=separator)))

    def test_comments_and_empty_lines_are_skipped(self, bring, tmp_path):
        before = "# rig 3, 14:05\n\n# t q1 q2\n"
        assert_is_the_log(bring(csv(tmp_path / "log.csv", before=before, after="# the end\n\n")))

    @pytest.mark.parametrize("suffix", [".csv", ".txt", ".log", ".dat", ".CSV"])
    def test_suffixes_of_text_tables(self, bring, tmp_path, suffix):
        assert_is_the_log(bring(csv(tmp_path / f"log{suffix}")))

    def test_times_may_be_dates(self, bring, tmp_path):
        path = csv(tmp_path / "log.csv")
        lines = path.read_text(encoding="utf-8").splitlines()
        dated = [
            f"2026-11-22T10:59:{59.9 + t:09.6f}+01:00"
            if t < 0.1
            else f"2026-11-22 10:00:{t - 0.1:09.6f}Z"
            for t in T
        ]
        path.write_text(
            "\n".join(
                [
                    lines[0],
                    *(
                        f"{date},{line.partition(',')[2]}"
                        for date, line in zip(dated, lines[1:], strict=True)
                    ),
                ]
            ),
            encoding="utf-8",
        )
        run = bring(path)
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-6)
        np.testing.assert_array_equal(run.signals["q"], Q)

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_decimal_commas(self, bring, tmp_path, separator):
        assert_is_the_log(bring(csv(tmp_path / "log.csv", separator=separator, decimal=",")))

    @pytest.mark.parametrize("before", ["\ufeff", ""])
    def test_files_from_spreadsheets(self, bring, tmp_path, before):
        """With a byte order mark and carriage returns."""
        path = csv(tmp_path / "log.csv", before=before)
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert_is_the_log(bring(path))

    def test_a_degree_sign_in_windows_1252(self, bring, tmp_path):
        values = np.column_stack((T, np.degrees(Q[:, 0]), Q[:, 1], TAU))
        path = csv(tmp_path / "log.csv", ("t", "q1 [°]", "q2", "tau1", "tau2"), values)
        path.write_bytes(path.read_text(encoding="utf-8").encode("cp1252"))
        run = bring(path, ("t=t", "q.turn=q1[°]", "q.lift=q2", "tau.turn=tau1", "tau.lift=tau2"))
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-12)
        assert (
            run.record["import"]["notes"][0] == "the file is not UTF-8; it was read as Windows-1252"
        )

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
    def test_unicode_text_of_a_spreadsheet(self, bring, tmp_path, encoding):
        path = csv(
            tmp_path / "log.txt",
            separator="\t",
            decimal=",",
            before="\ufeff" if encoding == "utf-16-be" else "",
        )
        path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
        run = bring(path)
        assert_is_the_log(run)
        assert run.record["import"]["notes"] == []

    @pytest.mark.parametrize("first", ["0;0;0;0;0", "0;0,5;0;0;0"])
    def test_the_first_row_may_have_no_decimal_mark(self, bring, tmp_path, first):
        path = csv(tmp_path / "log.csv", separator=";", decimal=",")
        head, _, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([head, first, *rest]), encoding="utf-8")
        np.testing.assert_array_equal(bring(path).signals["q"][1:], Q[1:])

    @pytest.mark.slow
    def test_position_jumps_are_refused(self, bring, tmp_path):
        """A counter that is reset during a motion is not a wrap-around; a single damaged
        row is left out with a note.
        """
        t = np.arange(2000) / 100.0
        q = np.sin(t)
        np.savez(
            tmp_path / "log.npz",
            t=t,
            q1=q,
            q2=np.where(t > 7.0, q + 5.0, q),
            tau1=np.cos(t),
            tau2=np.cos(t),
        )
        with pytest.raises(
            InputError,
            match=r"position of lift jumps by 5\.0\d+ rad after row 700 .*--from and --to",
        ):
            bring(tmp_path / "log.npz")
        damaged = np.where(np.arange(len(t)) == 600, q + 5.0, q)
        np.savez(tmp_path / "log.npz", t=t, q1=q, q2=damaged, tau1=np.cos(t), tau2=np.cos(t))
        assert any(
            "row 600, have a position far from" in note
            for note in bring(tmp_path / "log.npz").record["import"]["notes"]
        )

    def test_numbers_with_thousands_separators_are_refused(self, bring, tmp_path):
        """Their rows must not be left out like an incomplete end of the log."""
        path = csv(tmp_path / "log.csv", separator=";")
        head, *rows = path.read_text(encoding="utf-8").splitlines()
        path.write_text(
            "\n".join([head, *rows[:9], *(f"1,00{row}" for row in rows[9:])]), encoding="utf-8"
        )
        with pytest.raises(
            InputError, match=r"31 of 40 rows, before row 0 and from row 9 on, lack a number"
        ):
            bring(path)

    @pytest.mark.parametrize(("unit", "rate"), [("us", "1e+08"), ("min", "0.0167")])
    def test_an_implausible_sampling_rate_is_refused(self, bring, tmp_path, unit, rate):
        times = T if unit == "us" else 100.0 * T
        path = csv(tmp_path / "log.csv", values=np.column_stack((times, Q, TAU)))
        with pytest.raises(
            InputError, match=rf"40 rows in .* {re.escape(rate)}\d* Hz; .*check the unit of time"
        ):
            bring(path, (f"t=t[{unit}]", *COLUMNS[1:]))

    @pytest.mark.parametrize(
        ("name", "factor"),
        [
            ("t [µs]", 1e6),
            ("t [μs]", 1e6),
            ("t (usec)", 1e6),
            ("t [min]", 1.0 / 60.0),
            ("Zeit [Sekunden]", 1.0),
        ],
    )
    def test_common_spellings_of_time_units(self, arm, tmp_path, name, factor):
        path = csv(
            tmp_path / "log.csv", (name, *COLUMN_NAMES[1:]), np.column_stack((factor * T, Q, TAU))
        )
        columns = guess_columns(open_log(path), (), arm, load_mechanism(arm))
        run = load_run(import_log(open_log(path), arm, columns, tmp_path / "campaign"), ("t", "q"))
        np.testing.assert_allclose(run.t, T, atol=1e-12)

    @pytest.mark.parametrize(
        ("unit", "factor"),
        [
            ("°/s", np.pi / 180.0),
            ("deg/sec", np.pi / 180.0),
            ("1/min", np.pi / 30.0),
            ("U/min", np.pi / 30.0),
            ("min⁻¹", np.pi / 30.0),
            ("mrad/s", 1e-3),
        ],
    )
    def test_common_spellings_of_speed_units(self, unit, factor):
        assert parse_columns([f"dq.turn=speed[{unit}]"], NAMES)[0].factor == pytest.approx(factor)

    def test_a_few_bad_rows_are_left_out_with_a_note(self, bring, tmp_path):
        """A log of 400 rows with a missing value, an infinite value and a repeated row."""
        t = np.arange(400) / 100.0
        q = np.column_stack((np.sin(t), np.cos(t)))
        values = np.column_stack((t, q, 3.0 * q))
        spoilt = put(put(values, 100, 3, np.inf), 50, 1, np.nan)
        spoilt[201] = spoilt[200]
        run = bring(csv(tmp_path / "log.csv", values=spoilt))
        np.testing.assert_array_equal(run.signals["q"], np.delete(q, [50, 100, 201], axis=0))
        assert run.record["import"]["notes"][:2] == [
            "2 row(s), the first of them row 50, are incomplete and are left out",
            "1 row(s), the first of them row 201, repeat the time stamp of the previous row and "
            "are left out",
        ]

    def test_damaged_positions_are_left_out_with_a_note(self, bring, tmp_path):
        """One damaged row, and three damaged rows in sequence."""
        t = np.arange(400) / 100.0
        q = np.column_stack((np.sin(t), np.cos(t)))
        spoilt = np.column_stack((t, q, 3.0 * q))
        spoilt[120, 1] += 0.9
        spoilt[300:303, 2] -= 0.7
        run = bring(csv(tmp_path / "log.csv", values=spoilt))
        np.testing.assert_array_equal(run.signals["q"], np.delete(q, [120, 300, 301, 302], axis=0))
        assert run.record["import"]["notes"][0] == (
            "4 row(s), the first of them row 120, have a position far from the positions before "
            "and after and are left out"
        )

    def test_damaged_positions_do_not_change_the_guessed_unit(self, arm, tmp_path):
        """A single huge position must not change the guess from radians to degrees."""
        t = np.arange(400) / 100.0
        values = np.column_stack((t, np.sin(t), np.cos(t), 3.0 * np.sin(t), 3.0 * np.cos(t)))
        path = csv(
            tmp_path / "log.csv", ("t", "q1", "q2", "tau1", "tau2"), put(values, 100, 2, 1e300)
        )
        found = {
            entry.target: entry.unit
            for entry in guess_columns(open_log(path), (), arm, load_mechanism(arm))
        }
        assert (found["q.turn"], found["q.lift"]) == ("rad", "rad")

    def test_joints_that_seem_to_have_different_units_are_refused(self, arm, tmp_path):
        t = np.arange(400) / 100.0
        values = np.column_stack(
            (t, np.degrees(np.sin(t)), np.cos(t), 3.0 * np.sin(t), 3.0 * np.cos(t))
        )
        path = csv(tmp_path / "log.csv", ("t", "q1", "q2", "tau1", "tau2"), values)
        words = r'positions of turn look like deg, positions of lift .* --column "q.lift=q2\[rad\]"'
        with pytest.raises(InputError, match=words):
            guess_columns(open_log(path), (), arm, load_mechanism(arm))

    def test_implausible_torques_are_left_out_with_a_note(self, bring, tmp_path):
        t = np.arange(400) / 100.0
        q = np.column_stack((np.sin(t), np.cos(t)))
        run = bring(
            csv(tmp_path / "log.csv", values=put(np.column_stack((t, q, 3.0 * q)), 250, 3, 1e6))
        )
        np.testing.assert_array_equal(run.signals["tau"], np.delete(3.0 * q, 250, axis=0))
        assert run.record["import"]["notes"][0] == (
            "1 row(s), the first of them row 250, have a torque far beyond the arm's limit and "
            "are left out"
        )

    @pytest.mark.slow
    def test_a_short_motion_of_a_resting_joint_is_kept(self, bring, tmp_path):
        t = np.arange(4000) / 100.0
        q = np.column_stack((np.clip(2.0 * (t - 20.0), 0.0, 0.08), np.cos(t)))
        run = bring(csv(tmp_path / "log.csv", values=np.column_stack((t, q, 3.0 * q))))
        np.testing.assert_array_equal(run.signals["q"], q)

    @pytest.mark.parametrize(("power", "rows"), [(1.0, 3), (0.0, 0)])
    def test_missing_set_points_of_a_servo_that_is_on_are_noted(self, arm, tmp_path, power, rows):
        on, goals = np.ones(ROWS), Q.copy()
        on[5:8], goals[5:8, 0] = power, np.nan
        path = csv(
            tmp_path / "servo.csv",
            ("t", "q1", "q2", "g1", "g2", "on1"),
            np.column_stack((T, Q, goals, on)),
        )
        columns = parse_columns(
            ["t=t", "q.turn=q1", "q.lift=q2", "q_cmd.turn=g1", "q_cmd.lift=g2", "on.turn=on1"],
            NAMES,
        )
        gains = {"turn": 1.0, "lift": 2.0}
        run = load_run(
            import_log(open_log(path), arm, columns, tmp_path / "campaign", "", servo_gains=gains)
        )
        found = [note for note in run.record["import"]["notes"] if "set-point" in note]
        assert [f"set-point of turn is missing in {rows} rows" in note for note in found] == [
            True
        ] * bool(rows)

    def test_a_gap_splits_the_log_into_segments(self, bring, tmp_path):
        run = bring(
            csv(
                tmp_path / "log.csv",
                values=np.column_stack((np.where(np.arange(ROWS) < 20, T, T + 5.0), Q, TAU)),
            )
        )
        np.testing.assert_array_equal(np.diff(run.segment), np.arange(1, ROWS) == 20)
        assert run.record["import"]["notes"][0].startswith(
            "1 gap(s), the longest of 5.010 s after row 19 (t = 0.190 s)"
        )

    def test_names_with_blanks_and_units(self, bring, tmp_path):
        header = (" time (s) ", "pos 1 [rad]", " pos 2[rad]", "torque 1 (Nm)", "torque 2")
        path = csv(tmp_path / "log.csv", header)
        columns = (
            "t=time[s]",
            "q.turn=pos 1[rad]",
            "q.lift = pos 2 [rad]",
            "tau.turn=torque 1[Nm]",
            "tau.lift=torque 2",
        )
        assert_is_the_log(bring(path, columns))

    @pytest.mark.parametrize(
        ("header", "columns"),
        [
            (
                ("t", "q[0]", "q[1]", "tau_J[0]", "tau_J[1]"),
                (
                    "t=t",
                    "q.turn=q[0]",
                    "q.lift=q[1][rad]",
                    "tau.turn=tau_J[0][Nm]",
                    "tau.lift=tau_J[1]",
                ),
            ),
            (
                ("t", "q[1]", "q[2]", "effort[1] [Nm]", "effort[2] (Nm)"),
                (
                    "t=t",
                    "q.turn=q[1]",
                    "q.lift=q[2]",
                    "tau.turn=effort[1][Nm]",
                    "tau.lift=effort[2][Nm]",
                ),
            ),
            (
                ("t", "q[1].x", "q[2].x", "effort[%]", "tau2"),
                (
                    "t=t",
                    "q.turn=q[1].x",
                    "q.lift=q[2].x",
                    "tau.turn=effort[1.0 Nm/%]",
                    "tau.lift=tau2",
                ),
            ),
        ],
    )
    def test_an_index_in_brackets_is_not_a_unit(self, bring, tmp_path, header, columns):
        assert_is_the_log(bring(csv(tmp_path / "log.csv", header), columns))

    def test_the_last_bracket_may_be_a_factor(self, bring, tmp_path):
        values = np.column_stack((T, Q, TAU / 2.0))
        path = csv(
            tmp_path / "log.csv", ("Time [s]", "q1", "q2", "Strom [A] 1", "Strom 2 [A]"), values
        )
        assert_is_the_log(
            bring(
                path,
                (
                    "t=Time [s][s]",
                    *COLUMNS[1:3],
                    "tau.turn=Strom [A] 1[2.0 N·m/A]",
                    "tau.lift=Strom 2 [A][2.0 N·m/A]",
                ),
            )
        )

    @pytest.mark.parametrize("behind", ["", "[deg]", " [0.017453292519943295]"])
    @pytest.mark.parametrize(
        "name",
        [
            "Pos [deg] {}",
            "Pos (deg) {}",
            "Pos [0] [deg] {}",
            "[deg] {}",
            "{} Pos (deg)",
            "[{}] [deg] Pos",
        ],
    )
    def test_a_unit_within_a_name(self, bring, tmp_path, name, behind):
        """The unit within the name applies if the entry has no other unit."""
        header = ("t", name.format("turn"), name.format("lift"), "tau1", "tau2")
        path = csv(tmp_path / "log.csv", header, np.column_stack((T, np.degrees(Q), TAU)))
        run = bring(
            path,
            ("t=t", f"q.turn={header[1]}{behind}", f"q.lift={header[2]}{behind}", *COLUMNS[3:]),
        )
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-12)

    def test_an_unknown_unit_within_a_name_is_refused(self):
        with pytest.raises(InputError, match="unknown unit '%'"):
            parse_columns(["tau.turn=Torque [%] turn"], NAMES)
        (entry,) = parse_columns(["tau.turn=Torque [%] turn[1.5 Nm/%]"], NAMES)
        assert (entry.column, entry.factor) == ("Torque [%] turn", 1.5)

    @pytest.mark.parametrize(
        ("stated", "unit"), [("[deg]", "deg"), ("(mNm)", None), ("[turns]", None)]
    )
    def test_a_unit_within_a_name_decides_the_guess(self, arm, tmp_path, stated, unit):
        """Degrees are read as degrees even if the numbers could be radians; units of
        other quantities are refused.
        """
        table = open_log(
            csv(
                tmp_path / "log.csv",
                ("t", f"Pos {stated} turn", f"Pos {stated} lift", "tau1", "tau2"),
            )
        )
        if unit is None:
            with pytest.raises(
                InputError, match=rf"Pos .{stated[1:-1]}. turn': unknown unit '{stated[1:-1]}'"
            ):
                guess_columns(table, (), arm, load_mechanism(arm))
            return
        found = {
            entry.target: entry.unit for entry in guess_columns(table, (), arm, load_mechanism(arm))
        }
        assert found["q.turn"] == found["q.lift"] == unit

    def test_a_repeated_column_name_is_renamed_with_a_note(self, bring, cli, arm, tmp_path):
        path = csv(tmp_path / "log.csv", ("t", "q1", "q1", "tau1", "tau2"))
        outcome = cli("import", path, "--arm", arm.path)
        assert outcome.code == 2
        note = (
            "two columns are named 'q1'; the second is renamed 'q1.2' (use this name in --column)"
        )
        assert "no column is given for q.turn" in outcome.err
        assert note in " ".join(outcome.err.split())
        run = bring(path, ("t=t", "q.turn=q1", "q.lift=q1.2", *COLUMNS[3:]))
        assert_is_the_log(run)
        assert run.record["import"]["notes"] == [note]

    def test_a_column_name_with_three_occurrences(self, tmp_path):
        table = open_log(csv(tmp_path / "log.csv", ("t", "q", "q", "q", "tau")))
        assert table.notes == (
            "3 columns are named 'q'; all but the first are renamed 'q.2' to 'q.3' (use these "
            "names in --column)",
        )

    def test_indices_are_guessed_as_joints(self, arm, tmp_path):
        table = open_log(csv(tmp_path / "log.csv", ("t", "q[0]", "q[1]", "tau_J[0]", "tau_J[1]")))
        found = guess_columns(table, (), arm, load_mechanism(arm))
        assert {entry.target: entry.column for entry in found} == {
            "t": "t",
            "q.turn": "q[0]",
            "q.lift": "q[1]",
            "tau.turn": "tau_J[0]",
            "tau.lift": "tau_J[1]",
        }

    @pytest.mark.parametrize(
        ("header", "words"),
        [
            (
                ("t", "q_1 [turns]", "q_2 [rad]", "tau_1", "tau_2"),
                r"q_1 \[turns\].*unknown unit 'turns'; did you mean 'turn'",
            ),
            (
                ("t", "q_1", "q_2", "torque_1 [%]", "torque_2 [%]"),
                r"torque_1 \[%\].*unknown unit '%'.*torque_1\[1.5 Nm/%\]",
            ),
            *(
                (("t", "q_1", "q_2", f"torque_1 [{unit}]", "torque_2"), f"unknown unit '{unit}'")
                for unit in ("%Nm", "µNm", "N/m", "Nm²", "m/A", "1/Nm")
            ),
        ],
    )
    def test_an_unknown_unit_in_brackets_is_refused(self, arm, tmp_path, header, words):
        table = open_log(csv(tmp_path / "log.csv", header))
        with pytest.raises(InputError, match=words):
            guess_columns(table, (), arm, load_mechanism(arm))

    @pytest.mark.parametrize("unit", ["percent", "pct", "counts", "%"])
    def test_a_unit_without_factor_at_the_end_of_a_name_is_refused(self, arm, tmp_path, unit):
        path = csv(
            tmp_path / "log.csv", ("t", "q1", "q2", *(f"j{k}_torque_{unit}" for k in (1, 2)))
        )
        with pytest.raises(InputError, match=rf"unknown unit '{unit}'.*state the unit"):
            guess_columns(open_log(path), (), arm, load_mechanism(arm))

    @pytest.mark.parametrize(
        ("stamp", "whole"),
        [
            (("header.stamp.sec", "header.stamp.nanosec"), "header.stamp"),
            (("secs", "nsecs"), "stamp"),
        ],
    )
    def test_seconds_and_nanoseconds_in_two_columns(self, bring, arm, tmp_path, stamp, whole):
        """As in ROS messages."""
        nanoseconds = np.round(1e9 * T).astype(np.int64) + 1_700_000_000_750_000_000
        values = np.column_stack((nanoseconds // 10**9, nanoseconds % 10**9, Q, TAU))
        path = csv(tmp_path / "log.csv", (*stamp, "q1", "q2", "tau1", "tau2"), values)
        table = open_log(path)
        assert guess_columns(table, (), arm, load_mechanism(arm))[0].column == whole
        run = bring(path, (f"t={whole}", *COLUMNS[1:]))
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-7)

    def test_unreadable_times_are_refused(self, bring, tmp_path):
        path = csv(tmp_path / "log.csv")
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text(
            "\n".join(
                [
                    lines[0],
                    *(
                        f"11/22/2026 10:59:{k:02d},{line.partition(',')[2]}"
                        for k, line in enumerate(lines[1:])
                    ),
                ]
            ),
            encoding="utf-8",
        )
        assert_refused(bring, path, tmp_path, "column 't' holds no readable times", "ISO 8601")

    def test_a_single_column_is_one_column(self, tmp_path):
        (tmp_path / "log.csv").write_text("time\n0\n1\n", encoding="utf-8")
        table = open_log(tmp_path / "log.csv")
        assert {name: values.tolist() for name, values in table.read(table.names).items()} == {
            "time": [0.0, 1.0]
        }

    @pytest.mark.slow
    def test_mat(self, bring, tmp_path):
        savemat(
            tmp_path / "log.mat",
            {
                "t": T,
                "q1": Q[:, :1],
                "q2": Q[:, 1][None, :],
                "tau1": TAU[:, 0],
                "tau2": TAU[:, 1],
                "text": "rig 3",
                "matrix": np.ones((ROWS, 3)),
                "scalar": 4.0,
                "more": {"a": 1.0},
            },
        )
        assert_is_the_log(bring(tmp_path / "log.mat"))
        names = {"t", "q1", "q2", "tau1", "tau2", "matrix.0", "matrix.1", "matrix.2"}
        # scalars and texts are not columns
        assert set(open_log(tmp_path / "log.mat").names) == names


class TestUnits:
    @pytest.mark.parametrize(
        ("signal", "unit", "factor"),
        [
            ("t", "ms", 1e-3),
            ("t", "us", 1e-6),
            ("t", "ns", 1e-9),
            ("q.turn", "deg", np.pi / 180.0),
            ("q.turn", "rev", 2.0 * np.pi),
            ("dq.turn", "rpm", 2.0 * np.pi / 60.0),
            ("dq.turn", "deg/s", np.pi / 180.0),
            ("tau.turn", "mNm", 1e-3),
            ("tau.turn", "0.089 N·m/A", 0.089),
            ("tau.turn", "-1", -1.0),
            ("temperature.turn", "°C", 1.0),
            ("q.turn", None, 1.0),
        ],
    )
    def test_factors_to_si(self, signal, unit, factor):
        bracket = "" if unit is None else f"[{unit}]"
        entries = [entry for entry in COLUMNS if not entry.startswith(f"{signal}=")] + [
            f"{signal}=x{bracket}"
        ]
        (found,) = [entry for entry in parse_columns(entries, NAMES) if entry.column == "x"]
        assert found.factor == pytest.approx(factor, rel=1e-15)

    def test_a_log_in_other_units_gives_the_same_run(self, bring, tmp_path):
        values = np.column_stack(
            (
                1e3 * T,
                np.degrees(Q[:, 0]),
                Q[:, 1] / (2.0 * np.pi),
                TAU[:, 0] / 0.089,
                1e3 * TAU[:, 1],
                np.ones(ROWS),
                40.0 + T,
            )
        )
        path = csv(
            tmp_path / "log.csv", ("ms", "deg", "rev", "ampere", "mNm", "speed", "degrees"), values
        )
        run = bring(
            path,
            (
                "t=ms[ms]",
                "q.turn=deg[deg]",
                "q.lift=rev[rev]",
                "tau.turn=ampere[0.089 N·m/A]",
                "tau.lift=mNm[mNm]",
                "dq.lift=speed[rpm]",
                "temperature.turn=degrees[°C]",
            ),
        )
        np.testing.assert_allclose(run.t, T, rtol=1e-12)
        np.testing.assert_allclose(run.signals["q"], Q, rtol=1e-12)
        np.testing.assert_allclose(run.signals["tau"], TAU, rtol=1e-12)
        np.testing.assert_allclose(run.signals["dq"][:, 1], 2.0 * np.pi / 60.0)
        np.testing.assert_allclose(run.signals["temperature"][:, 0], 40.0 + T)
        # missing signals are nan, not zero
        assert np.isnan(run.signals["dq"][:, 0]).all()
        assert np.isnan(run.signals["temperature"][:, 1]).all()
        assert np.isnan(run.signals["dq_cmd"]).all()

    @pytest.mark.parametrize(
        ("entry", "unit"),
        [("q.turn=q1[mm]", "mm"), ("dq.turn=q1[m/s]", "m/s"), ("tau.turn=tau1[N]", "N")],
    )
    def test_units_of_prismatic_joints_are_refused_for_revolute_joints(
        self, bring, tmp_path, entry, unit
    ):
        columns = [
            *(column for column in COLUMNS if column.partition("=")[0] != entry.partition("=")[0]),
            entry,
        ]
        with pytest.raises(
            InputError, match=f"turn is revolute, but {unit} is a unit of prismatic joints"
        ):
            bring(csv(tmp_path / "log.csv"), columns)

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ("q.turn=q1[degr]", ["unknown unit 'degr'", "did you mean 'deg'"]),
            # or a gon
            ("q.turn=q1[Grad]", ["unknown unit 'Grad'; if the unit is deg, write [deg]"]),
            ("tau.turn=tau1[V]", ["unknown unit 'V'", "[35.15 N/V]"]),  # volts need a factor
            ("q.turn=q1[Nm]", ["unknown unit 'Nm'", "rad, deg"]),
            ("t=t[deg]", ["unknown unit 'deg'", "s, ms"]),
            ("tau.turn=tau1[rad/s]", ["unknown unit 'rad/s'"]),
            ("q.turn=q1[0.0]", ["the factor is 0; it must be finite and not 0"]),
            ("q.turn=q1[nan]", ["the factor is nan; it must be finite and not 0"]),
            ("q.turn=q1[inf]", ["the factor is inf; it must be finite and not 0"]),
            ("q.trn=q1", ["unknown joint 'trn'", "did you mean 'turn'", "turn, lift"]),
            ("q=q1", ["unknown joint ''", "turn, lift"]),
            ("torque.turn=tau1", ["unknown signal 'torque'", "tau"]),
            ("t.turn=t", ["time has no joint; write t=column[unit]"]),
            ("q.turn", ["q.turn", "signal.joint=column[unit]"]),
            ("q.turn=", ["signal.joint=column[unit]"]),
            ("=q1", ["signal.joint=column[unit]"]),
            ("", ["signal.joint=column[unit]"]),
            ("q.turn=q2", ["'q.turn'", "two columns for this signal"]),
        ],
    )
    def test_an_impossible_column_map_is_refused(self, entry, words):
        entries = (
            [*COLUMNS, entry]
            if entry == "q.turn=q2"
            else [entry, *COLUMNS[1:]]
            if entry.startswith("t=")
            else [*COLUMNS[:1], entry, *COLUMNS[2:]]
        )
        with pytest.raises(InputError) as caught:
            parse_columns(entries, NAMES)
        assert_one_sentence(caught.value, *words)

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (("t=t", "q.turn=q2", *COLUMNS[2:]), ["column 'q2'", "for q.turn and for q.lift"]),
            (
                ("t=t", "q.turn=q1[rad]", "q.lift=q1[deg]", *COLUMNS[3:]),
                ["column 'q1'", "for q.turn and for q.lift"],
            ),
            ((*COLUMNS[:4], "tau.lift=q2"), ["column 'q2'", "for q.lift and for tau.lift"]),
            ((*COLUMNS[:4], "tau.lift=t"), ["column 't'", "for t and for tau.lift"]),
            (
                (*COLUMNS[:3], "tau.turn=tau2 [Nm]", "tau.lift=tau2[Nm]"),
                ["column 'tau2'", "for tau.turn and for tau.lift"],
            ),
        ],
    )
    @pytest.mark.slow
    def test_one_column_for_two_signals_is_refused(self, bring, cli, arm, tmp_path, columns, words):
        path = csv(tmp_path / "log.csv")
        assert_refused(
            lambda path: bring(path, columns),
            path,
            tmp_path,
            *words,
            "give each signal its own column",
        )
        outcome = cli(
            "import",
            path,
            "--arm",
            arm.path,
            *(part for entry in columns for part in ("--column", entry)),
        )
        assert (
            outcome.code,
            "give each signal its own column" in " ".join(outcome.err.split()),
        ) == (2, True)

    def test_joints_may_share_a_temperature_column(self, bring, tmp_path):
        path = csv(
            tmp_path / "log.csv",
            ("t", "q1", "q2", "tau1", "tau2", "case"),
            np.column_stack((T, Q, TAU, 40.0 + T)),
        )
        run = bring(path, (*COLUMNS, "temperature.turn=case[°C]", "temperature.lift=case[°C]"))
        np.testing.assert_array_equal(
            run.signals["temperature"], np.column_stack((40.0 + T, 40.0 + T))
        )

    @pytest.mark.parametrize("missing", range(5))
    def test_time_and_every_position_and_torque_are_needed(self, missing):
        target = COLUMNS[missing].partition("=")[0]
        with pytest.raises(InputError) as caught:
            check_complete(
                parse_columns([entry for k, entry in enumerate(COLUMNS) if k != missing], NAMES),
                NAMES,
            )
        assert_one_sentence(
            caught.value, f"no column is given for {target}", f'--column "{target}=NAME[unit]"'
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (
                lambda v: np.vstack((v[:20], np.full(5, np.nan), v[20:])),
                ["time is not a finite number in row 20"],
            ),
            (
                lambda v: put(v, 20, 2, np.nan),
                ["q of lift is not a finite number in row 20", "t = 0.200 s", "delete these rows"],
            ),
            (lambda v: put(v, 20, 3, np.inf), ["tau of turn is not a finite number in row 20"]),
            (lambda v: v[::-1], ["time must increase", "after row 0"]),
            (
                lambda v: np.vstack((v[:20], v[19:])),
                ["time must increase", "after row 19", "t = 0.19 s", "repeated time stamp"],
            ),
            (lambda v: put(v, 20, 0, 0.05), ["time must increase", "after row 19"]),
            (
                lambda v: np.vstack((v[:20], v[20:] + 1e6 * np.eye(5)[0])),
                ["a gap of 1e+06 s after row 19", "the clock was set"],
            ),
            (lambda v: v[:1], ["fewer than two samples"]),
            (lambda v: v[:0], ["fewer than two samples"]),
        ],
    )
    def test_invalid_numbers_are_refused(self, bring, tmp_path, damage, words):
        path = csv(tmp_path / "log.csv", values=damage(np.column_stack((T, Q, TAU))))
        assert_refused(bring, path, tmp_path, str(path), *words)

    def test_text_in_a_numeric_column_is_refused(self, bring, tmp_path):
        path = csv(tmp_path / "log.csv")
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[11] = lines[11].replace(lines[11].split(",")[4], "overload")
        path.write_text("\n".join(lines), encoding="utf-8")
        assert_refused(bring, path, tmp_path, "tau of lift is not a finite number in row 10")

    def test_a_missing_column_lists_the_likely_names(self, bring, tmp_path):
        path = csv(tmp_path / "log.csv", ("t", "q_1", "q_2", "tau_1", "tau_2"))
        columns = ("t=t", "q.turn=q_1", "q.lift=q2", "tau.turn=tau_1", "tau.lift=tau_2")
        assert_refused(
            lambda path: bring(path, columns),
            path,
            tmp_path,
            "unknown column 'q2'",
            "did you mean 'q_2'?",
        )
        path = csv(tmp_path / "log.csv", ("t", "q1", "position_2", "tau1", "tau2"))
        assert_refused(
            bring, path, tmp_path, "unknown column 'q2'", "t, q1, position_2, tau1, tau2"
        )

    def test_a_whole_number_that_may_be_a_factor_gets_a_hint(self, bring, tmp_path):
        """A whole number in brackets is an index: q[0] is a name."""
        path = csv(tmp_path / "log.csv", ("t", "q_1", "q_2", "tau_1", "tau_2"))
        columns = ("t=t", "q.turn=q_1", "q.lift=q_2", "tau.turn=tau_1 [32]", "tau.lift=tau_2[3]")
        assert_refused(
            lambda path: bring(path, columns),
            path,
            tmp_path,
            "unknown column 'tau_1 [32]'",
            "if 32 is a factor, write tau_1[32.0]",
        )

    def test_an_entry_without_the_unit_of_the_header_is_refused(self, bring, tmp_path):
        """A column in degrees must not be read as radians."""
        path = csv(tmp_path / "log.csv", ("t", "q1 [deg]", "q2", "tau1", "tau2"))
        assert_refused(bring, path, tmp_path, "unknown column 'q1'", "q1 [deg]")

    def test_columns_of_different_lengths_are_refused(self, bring, tmp_path):
        savemat(
            tmp_path / "log.mat",
            {"t": T, "q1": Q[:-1, 0], "q2": Q[:, 1], "tau1": TAU[:, 0], "tau2": TAU[:, 1]},
        )
        assert_refused(
            bring, tmp_path / "log.mat", tmp_path, "columns of different lengths (39, 40 rows)"
        )

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("log.csv", b"", ["cannot be read as a CSV table"]),
            ("log.csv", b"\n\n", ["cannot be read as a CSV table"]),
            ("log.csv", b"# only\n# comments\n", ["cannot be read as a CSV table"]),
            ("log.csv", b"t,q1,q2,tau1,tau2\n", ["fewer than two samples"]),
            (
                "log.csv",
                b"t,q1,q2,tau1,tau2\n0,1,2,3,4\n0,1,2,3,4,5,6\n",
                ["cannot be read as a CSV table", "line 3", "saw 7"],
            ),
            ("log.csv", bytes(range(256)) * 8, ["cannot be read as a CSV table"]),
            (
                "log.csv",
                "t,q°\n0,1\n\0\n".encode("latin-1"),
                ["cannot be read as a CSV table: the file is not text"],
            ),
            ("log.mat", b"", ["cannot be read as a MAT file"]),
            ("log.mat", b"nonsense" * 100, ["cannot be read as a MAT file"]),
            ("log.mat", b"MATLAB 5.0 MAT-file" + bytes(200), ["cannot be read as a MAT file"]),
            (
                "log.xlsx",
                b"x",
                [
                    "unknown kind of log '.xlsx'",
                    ".csv, .tsv, .txt, .log, .dat, .mat, .npz, .parquet, .db3, .mcap",
                ],
            ),
            ("log", b"x", ["unknown kind of log ''"]),
        ],
    )
    def test_files_without_a_log_are_refused(self, bring, tmp_path, name, content, words):
        (tmp_path / name).write_bytes(content)
        assert_refused(bring, tmp_path / name, tmp_path, name, *words)

    @pytest.mark.parametrize("part", [0.02, 0.1, 0.5, 0.99])
    def test_a_truncated_mat_file_is_refused(self, bring, tmp_path, part):
        path = tmp_path / "log.mat"
        savemat(path, {"t": T, "q1": Q[:, 0], "q2": Q[:, 1], "tau1": TAU[:, 0], "tau2": TAU[:, 1]})
        whole = path.read_bytes()
        path.write_bytes(whole[: int(part * len(whole))])
        assert_refused(bring, path, tmp_path, "log.mat")

    def test_a_missing_file_is_refused(self, bring, tmp_path):
        assert_refused(bring, tmp_path / "log.csv", tmp_path, "log.csv: no such file")

    def test_a_short_gap_is_accepted(self, bring, tmp_path):
        """Three missing samples are neither a reason to refuse a log nor filled in; the
        health check reports them.
        """
        keep = np.r_[0:20, 23:ROWS]
        run = bring(csv(tmp_path / "log.csv", values=np.column_stack((T, Q, TAU))[keep]))
        np.testing.assert_array_equal(run.t, T[keep])


class TestRun:
    def test_the_run_record_of_an_imported_log(self, bring, tmp_path):
        run = bring(csv(tmp_path / "log.csv"))
        assert run.closed["reason"] == "done"
        assert run.record["note"] == "a note"
        assert "log.csv" in run.record["experiment"]
        assert run.record["plan"] is None
        assert set(run.segment) == {0}
        np.testing.assert_array_equal(run.signals["t"], np.tile(T, (2, 1)).T)

    def test_the_log_file_is_unchanged(self, bring, tmp_path):
        path = csv(tmp_path / "log.csv")
        before = path.read_bytes()
        bring(path)
        assert path.read_bytes() == before


@pytest.mark.skipif(
    not EMPS.is_file(),
    reason="the measured EMPS log is not part of the project; it is missing beside it",
)
class TestEmps:
    """A real drive with published results, compared with an independent evaluation of
    its constant-speed strokes.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, tmp_path_factory):
        from stribeck.experiments.cli.app import run
        from stribeck.ident.calibration.calibration import Calibration

        out = tmp_path_factory.mktemp("emps")
        assert (
            run(
                [
                    "import",
                    str(EMPS),
                    "--arm",
                    "emps",
                    "--column",
                    "t=t",
                    "--column",
                    "q.carriage=qm",
                    "--column",
                    "tau.carriage=vir[35.1507 N/V]",
                    "-o",
                    str(out / "campaign"),
                ]
            )
            == 0
        )
        assert run(["fit", str(out / "campaign"), "-o", str(out / "fit")]) == 0
        return out / "fit", Calibration.load(out / "fit")

    @pytest.mark.parametrize(("speed", "force"), [(0.042, 29.9), (0.083, 37.4)])
    @pytest.mark.slow
    def test_half_differences_equal_an_independent_evaluation(self, fitted, speed, force):
        import pandas as pd

        points = pd.read_csv(fitted[0] / "points.csv")
        near = points[np.abs(points["speed"] / speed - 1.0) < 0.05]
        assert len(near) >= 3
        assert near["odd"].mean() == pytest.approx(force, rel=0.02)

    @pytest.mark.slow
    def test_no_stribeck_drop_is_claimed(self, fitted):
        joint = fitted[1].joints["carriage"]
        assert joint.law == "coulomb-viscous"
        assert "stribeck_velocity" not in joint.values
        assert joint.parameters["coulomb"].unit == "N"

    @pytest.mark.slow
    def test_general_motion_reports_its_differences_from_round_trips(
        self, fitted, tmp_path, capsys
    ):
        from stribeck.experiments.cli.app import run
        from stribeck.ident.calibration.calibration import Calibration

        assert (
            run(
                [
                    "fit",
                    str(fitted[0].parent / "campaign"),
                    "--motion",
                    "joint",
                    "--law",
                    "coulomb-viscous",
                    "-v",
                    "-o",
                    str(tmp_path / "fit"),
                ]
            )
            == 0
        )
        out = " ".join(capsys.readouterr().out.split())
        joint = Calibration.load(tmp_path / "fit").joints["carriage"]
        assert joint.law == "coulomb-viscous"
        assert joint.values["coulomb"] == pytest.approx(20.39, rel=0.01)
        # nonlinear friction
        assert re.search(r"they differ beyond their intervals in (coulomb, )?viscous", out)
        forward, backward = map(
            float,
            re.search(r"friction is ([\d.]+) forward and ([\d.]+) N·s/m backward", out).groups(),
        )
        # as published, see its README
        assert (forward, backward) == pytest.approx((166.7061, 240.4236), rel=0.01)


def put(values, row, column, value):
    values = values.copy()
    values[row, column] = value
    return values


def assert_one_sentence(error, *words):
    assert "\n" not in str(error)
    for word in words:
        assert word in str(error)


def assert_refused(bring, path, tmp_path, *words):
    """Check that the import is refused in one sentence with these words, and
    that no file was written.
    """
    with pytest.raises(InputError) as caught:
        bring(path)
    assert_one_sentence(caught.value, *words)
    assert not (tmp_path / "campaign").exists()


class TestPlausibility:
    """Values with a wrong unit exceed the limits of the arm by far, and are refused."""

    DQ = np.column_stack((np.cos(T), -0.9 * np.sin(3.0 * T)))

    def log(self, tmp_path, q=Q, dq=DQ, tau=TAU):
        return csv(
            tmp_path / "log.csv",
            (*("t", "q1", "q2", "tau1", "tau2"), "dq1", "dq2"),
            np.column_stack((T, q, tau, dq)),
        )

    COLUMNS = (*COLUMNS, "dq.turn=dq1", "dq.lift=dq2")

    def test_a_consistent_log_passes(self, bring, tmp_path):
        np.testing.assert_array_equal(
            bring(self.log(tmp_path), self.COLUMNS).signals["dq"], self.DQ
        )

    def test_noise_of_encoder_and_tachometer_is_accepted(self, bring, tmp_path):
        noise = np.random.default_rng(0).standard_normal
        bring(
            self.log(tmp_path, Q + 1e-3 * noise(Q.shape), self.DQ + 0.05 * noise(Q.shape)),
            self.COLUMNS,
        )

    @pytest.mark.parametrize("factor", [180.0 / np.pi, -1.0, 1.0 / 60.0, 0.5])
    def test_velocity_that_is_not_the_derivative_of_position_is_refused(
        self, bring, tmp_path, factor
    ):
        with pytest.raises(
            InputError,
            match=r"velocity of lift is -?[\d.]+ times the derivative of its position; check unit",
        ):
            bring(self.log(tmp_path, dq=self.DQ * [1.0, factor]), self.COLUMNS)

    def test_velocity_is_not_compared_across_a_gap(self, bring, tmp_path):
        """The lift sinks by 0.3 m during a gap of ten seconds, and has the same speed
        before and after the gap.
        """
        t, q = T.copy(), 0.02 * Q + [0.0, 0.3]
        t[len(T) // 2 :] += 10.0
        q[len(T) // 2 :, 1] -= 0.3
        path = csv(
            tmp_path / "log.csv",
            ("t", "q1", "q2", "tau1", "tau2", "dq1", "dq2"),
            np.column_stack((t, q, TAU, 0.02 * self.DQ)),
        )
        run = bring(path, self.COLUMNS)
        assert run.segment[-1] == run.segment[0] + 1

    def test_wrapped_positions_are_unwrapped_with_a_note(self, tmp_path):
        (tmp_path / "wheel.urdf").write_text(
            ONE.replace("revolute", "continuous").replace('lower="-2" upper="2" ', "")
        )
        (tmp_path / "wheel.toml").write_text('schema = 1\nname = "wheel"\nmodel = "wheel.urdf"\n')
        t = np.arange(1000) / 100.0
        turned = 2.5 * t
        rows = np.column_stack(
            (t, (turned + np.pi) % (2.0 * np.pi) - np.pi, np.full(len(t), 2.5), 1.0 + 0.1 * t)
        )
        path = csv(tmp_path / "log.csv", ("t", "q1", "dq1", "tau1"), rows)
        columns = parse_columns(["t=t", "q.j1=q1", "dq.j1=dq1", "tau.j1=tau1"], ("j1",))
        run = load_run(
            import_log(
                open_log(path), load_arm(tmp_path / "wheel.toml"), columns, tmp_path / "campaign"
            ),
            SIGNALS,
        )
        np.testing.assert_allclose(
            run.signals["q"][:, 0] - run.signals["q"][0, 0], turned, atol=1e-9
        )
        assert run.record["import"]["notes"][0] == (
            "the position of j1 wraps around 4 time(s), by a range of 6.283 rad; the "
            "wraps are removed"
        )

    @pytest.mark.filterwarnings("error")
    def test_continuous_joints_give_no_warning(self, tmp_path):
        (tmp_path / "wheel.urdf").write_text(
            ONE.replace("revolute", "continuous").replace('lower="-2" upper="2" ', "")
        )
        (tmp_path / "wheel.toml").write_text('schema = 1\nname = "wheel"\nmodel = "wheel.urdf"\n')
        path = csv(
            tmp_path / "log.csv",
            ("t", "q1", "tau1"),
            np.column_stack((T, 40.0 * Q[:, :1], TAU[:, :1])),
        )
        columns = parse_columns(["t=t", "q.j1=q1", "tau.j1=tau1"], ("j1",))
        import_log(
            open_log(path), load_arm(tmp_path / "wheel.toml"), columns, tmp_path / "campaign"
        )

    def test_degrees_that_are_declared_as_radians_are_refused(self, bring, tmp_path):
        with pytest.raises(
            InputError,
            match=r"position of turn spans 21\.\d+ rad, the arm file allows 5 rad; check the unit",
        ):
            bring(csv(tmp_path / "log.csv", values=np.column_stack((T, np.rad2deg(Q), TAU))))

    def test_mnm_that_are_declared_as_nm_are_refused(self, bring, tmp_path):
        with pytest.raises(
            InputError,
            match=r"torque of turn reaches 4000 N·m, the arm file allows 60 N·m; check the unit",
        ):
            bring(csv(tmp_path / "log.csv", values=np.column_stack((T, Q, 1000.0 * TAU))))


ONE = """<robot name="one"><link name="base"/><link name="link">
  <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="link"/>
    <limit lower="-2" upper="2" velocity="3" effort="9"/></joint></robot>"""


class TestPage:
    """The commands in docs/logs.md work, and its lists are complete."""

    page = (DOCS / "logs.md").read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_the_import_command_works(self, cli):
        """For a log in milliseconds, degrees and amperes, of an arm with one revolute joint."""
        Path("one.urdf").write_text(ONE, encoding="utf-8")
        Path("my_arm.toml").write_text(
            'schema = 1\nname = "one"\nmodel = "one.urdf"\n', encoding="utf-8"
        )
        t = np.arange(400) / 100.0
        q, tau = np.sin(t), 4.0 * np.cos(t)
        csv(
            Path("log.csv"),
            ("time", "pos1", "cur1"),
            np.column_stack((1e3 * t, np.degrees(q), tau / 4.1)),
        )
        (line,) = re.findall(r"^```sh\n(.*)\n```$", self.page, flags=re.MULTILINE)
        outcome = cli(*shlex.split(line)[1:], "--out", "out")
        assert outcome.code == 0, outcome.err
        run = load_run(next(Path("out/runs").iterdir()), SIGNALS)
        np.testing.assert_allclose(run.signals["tau"][:, 0], tau, atol=1e-9)
        np.testing.assert_allclose(run.signals["q"][:, 0], q, atol=1e-12)

    def test_all_units_are_listed(self):
        listed = re.search(r"holds a unit \((.*?)\) or a factor", self.page, flags=re.DOTALL)[1]
        known = {unit for units in UNITS.values() for unit in units} | {"A", "mA"}
        assert known - {"N·m", "N.m", "degC"} == set(re.split(r"[`,\s]+", listed.strip("`")))

    def test_all_formats_and_torque_signals_are_listed(self):
        for suffix in set(READERS) - {".tsv", ".txt", ".log", ".dat", ".db3", ".mcap"}:
            assert f"log{suffix}" in self.page
        assert all(signal in self.page for signal in TORQUE_SIGNALS)

    def test_links_exist(self):
        for target in re.findall(r"\]\(([^)#]+)\)", self.page):
            assert (DOCS / target).exists(), target


def told(folder):
    """Write a log with position references, one of them in degrees."""
    return csv(
        folder / "log.csv",
        (*COLUMN_NAMES, "told1", "told2"),
        np.column_stack((T, Q, TAU, np.degrees(Q[:, 0] + 0.1), Q[:, 1])),
    )


class TestReferences:
    """Position references (`q_cmd`), which are never guessed."""

    def test_references_get_unit_sign_and_zero_like_positions(self, make_arm, tmp_path):
        arm = make_arm({"joints": {"turn": {"direction": -1, "zero_offset": 0.2}}})
        columns = parse_columns([*COLUMNS, "q_cmd.turn=told1[deg]", "q_cmd.lift=told2"], NAMES)
        run = load_run(
            import_log(open_log(told(tmp_path)), arm, columns, tmp_path / "campaign"), SIGNALS
        )
        np.testing.assert_allclose(
            run.signals["q_cmd"] - run.signals["q"], np.tile([-0.1, 0.0], (ROWS, 1)), atol=1e-14
        )
        assert run.record["import"]["columns"]["q_cmd.turn"]["unit"] == "deg"

    def test_velocity_set_points_get_unit_and_sign_like_velocities(self, make_arm, tmp_path):
        arm, rates = (
            make_arm({"joints": {"turn": {"direction": -1, "zero_offset": 0.2}}}),
            np.gradient(Q, T, axis=0),
        )
        path = csv(
            tmp_path / "log.csv",
            (*COLUMN_NAMES, "rate1", "rate2"),
            np.column_stack((T, Q, TAU, np.degrees(rates))),
        )
        columns = parse_columns(
            [*COLUMNS, "dq_cmd.turn=rate1[deg/s]", "dq_cmd.lift=rate2[deg/s]"], NAMES
        )
        run = load_run(import_log(open_log(path), arm, columns, tmp_path / "campaign"), SIGNALS)
        np.testing.assert_allclose(run.signals["dq_cmd"], rates * [-1.0, 1.0], rtol=1e-9)

    def test_a_log_without_references_has_nan_references(self, bring, tmp_path):
        assert np.isnan(bring(csv(tmp_path / "log.csv")).signals["q_cmd"]).all()

    def test_references_in_mm_are_refused_for_revolute_joints(self, bring, tmp_path):
        with pytest.raises(
            InputError, match=r"'told2': lift is revolute, but mm is a unit of prismatic joints"
        ):
            bring(told(tmp_path), (*COLUMNS, "q_cmd.lift=told2[mm]"))


class TestMotors:
    """Columns of motors that move several joints (`--motors`)."""

    def test_motor_signals_become_joint_signals(self, make_arm, tmp_path):
        arm = make_arm({"transmission": {"lift": {"turn": 0.5}}})
        values = np.column_stack(
            (T, Q[:, 0], Q[:, 1] + 0.5 * Q[:, 0], TAU[:, 0] - 0.5 * TAU[:, 1], TAU[:, 1])
        )
        path = csv(tmp_path / "log.csv", values=values)
        columns = parse_columns(
            ["t=t", "q.turn=q1", "q.lift=q2", "tau.turn=tau1", "tau.lift=tau2"], NAMES
        )
        run = load_run(
            import_log(open_log(path), arm, columns, tmp_path / "campaign", at_motors=True), SIGNALS
        )
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-15)
        np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-14)
        assert run.record["import"]["at_motors"]

    def test_motor_references_become_joint_references(self, make_arm, tmp_path):
        arm = make_arm({"transmission": {"lift": {"turn": 0.5}}})
        columns = parse_columns([*COLUMNS, "q_cmd.turn=told1[deg]", "q_cmd.lift=told2"], NAMES)
        run = load_run(
            import_log(
                open_log(told(tmp_path)), arm, columns, tmp_path / "campaign", at_motors=True
            ),
            SIGNALS,
        )
        np.testing.assert_allclose(
            run.signals["q_cmd"],
            np.column_stack((Q[:, 0] + 0.1, Q[:, 1] - 0.5 * (Q[:, 0] + 0.1))),
            atol=1e-14,
        )

    def test_motors_without_transmission_are_refused(self, arm, tmp_path):
        path = csv(tmp_path / "log.csv")
        columns = parse_columns(
            ["t=t", "q.turn=q1", "q.lift=q2", "tau.turn=tau1", "tau.lift=tau2"], NAMES
        )
        with pytest.raises(
            InputError, match=r"--motors needs a table \[transmission\] in the arm file"
        ):
            import_log(open_log(path), arm, columns, tmp_path / "campaign", at_motors=True)
        assert not (tmp_path / "campaign").exists()
