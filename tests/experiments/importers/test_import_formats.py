"""Logs of other programs: the same motion in every format gives the same run; what a log cannot show is said or refused."""

import io
import json
import re
import shlex
import shutil
import sqlite3
import struct
import tracemalloc
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from benchmarks.mutations import joint_state
from stribeck.experiments.importers.columns import check_complete, parse_columns, read_map
from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.import_log import import_log
from stribeck.experiments.importers.outlook import outlook
from stribeck.experiments.importers.readers import open_log
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.speeds_and_postures import ConstantSpeed
from stribeck.experiments.recording.record import record
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import SIGNALS, find_runs, load_run
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.places import DATA, TEST_ARMS

GOLDEN = DATA / "golden"
NAMES = ("turn", "lift")
ROWS = 400
T = np.arange(ROWS) / 100.0
Q = np.column_stack((np.sin(T), 0.3 * np.cos(3.0 * T)))
TAU = np.column_stack((4.0 * np.cos(T), 2.0 + T))
STAMPS = 1_700_000_000_000_000_000 + np.arange(ROWS) * 10_000_000


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def bring(arm, tmp_path):
    """Imports a log by guesses alone, beside what is given, and loads the run."""
    def run(path, given=(), **options):
        table, mechanism = open_log(path), load_mechanism(arm)
        columns = guess_columns(table, parse_columns(list(given), NAMES), arm, mechanism)
        check_complete(columns, NAMES)
        return load_run(import_log(table, arm, columns, tmp_path / "campaign", **options), SIGNALS)
    return run


def assert_is_the_log(run, digits=1e-12):
    np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-9)
    np.testing.assert_allclose(run.signals["q"], Q, atol=digits)
    np.testing.assert_allclose(run.signals["tau"], TAU, atol=digits)


class TestTables:
    def test_npz_with_vectors_and_matrices(self, bring, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU.T, text=np.array(["rig"]), thing=np.array([None]), scalar=3.0)
        assert_is_the_log(bring(tmp_path / "log.npz"))

    def test_mat_structure(self, bring, tmp_path):
        savemat(tmp_path / "log.mat", {"log": {"t": T, "q": Q, "arm": {"tau": TAU}}}, do_compression=True)
        assert_is_the_log(bring(tmp_path / "log.mat"))

    @pytest.mark.parametrize(("labels", "named"), [
        (("pos_1", "pos_2", "tau_1", "tau_2"), ("pos_1", "tau_2")), (("x",) * 4, ("0", "3")), (("",) * 4, ("0", "3")),
        (("pos1 [deg]", "pos2 [deg]", "tau1 [Nm]", "tau2 [Nm]"), ("pos1 [deg]",))])
    def test_what_a_simulink_scope_saved(self, bring, tmp_path, labels, named):
        """"Structure with time": the time, and a list of signals."""
        signals = np.zeros(4, dtype=[("values", object), ("dimensions", object), ("label", object)])
        q = np.degrees(Q) if "deg" in labels[0] else Q
        for k, (values, label) in enumerate(zip((*q.T, *TAU.T), labels, strict=True)):
            signals[k] = (values[:, None], 1.0, label)
        savemat(tmp_path / "log.mat", {"out": {"time": T[:, None], "signals": signals, "blockName": "arm/Scope"}})
        names = open_log(tmp_path / "log.mat").names
        assert {"out.time", *(f"out.signals.{name}" for name in named)} <= set(names)
        given = [f"{signal}=out.signals.{k}" for k, signal in enumerate(("q.turn", "q.lift", "tau.turn", "tau.lift"))]
        assert_is_the_log(bring(tmp_path / "log.mat", given if labels[0] in ("x", "") else ()))

    def test_parquet_with_lists_times_and_missing_values(self, bring, tmp_path):
        stamps = pa.array(STAMPS, pa.timestamp("ns"))
        temperature = pa.array([None] + [40.0] * (ROWS - 1))
        pq.write_table(pa.table({"time": stamps, "q": list(Q), "effort": list(TAU), "mode": ["x"] * ROWS,
                                 "temperature_1": temperature, "temperature_2": temperature}), tmp_path / "log.parquet")
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-6)
        np.testing.assert_array_equal(run.signals["q"], Q)
        assert np.isnan(run.signals["temperature"][0]).all()
        assert (run.signals["temperature"][1:] == 40.0).all()

    @pytest.mark.parametrize("named", ["timestamp_ns", "time"])
    @pytest.mark.parametrize("as_text", [
        lambda: pa.array(STAMPS, pa.timestamp("ns")), lambda: [f"{date}Z" for date in STAMPS.astype("M8[ns]")],
        lambda: [str(date).replace("T", " ") for date in STAMPS.astype("M8[ns]")]], ids=["stamps", "dates", "dates with a blank"])
    def test_parquet_says_times_whatever_the_column_is_called(self, bring, tmp_path, as_text, named):
        pq.write_table(pa.table({named: as_text(), "q": list(Q), "effort": list(TAU), "mode": ["x"] * ROWS}),
                       tmp_path / "log.parquet")
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-6)
        assert "mode" not in open_log(tmp_path / "log.parquet").names

    def test_dates_that_begin_late(self, tmp_path):
        texts = [None, None, *(f"{date}Z" for date in STAMPS.astype("M8[ns]")[2:])]
        pq.write_table(pa.table({"time": texts, "q": list(Q)}), tmp_path / "log.parquet")
        found = open_log(tmp_path / "log.parquet").read(["time"])["time"]
        assert np.isnan(found[:2]).all()
        np.testing.assert_allclose(found[2:], 1e-9 * STAMPS[2:], atol=1e-6)

    def test_parquet_with_numbers_as_texts_and_decimals(self, bring, tmp_path):
        texts = {f"q_{k + 1}": [f"{value:.9f}" for value in column] for k, column in enumerate(Q.T)}
        decimals = {f"tau_{k + 1}": pa.array(column, pa.float64()).cast(pa.decimal128(20, 9), safe=False)
                    for k, column in enumerate(TAU.T)}
        pq.write_table(pa.table({"t": [f"{value:.6f}" for value in T], **texts, **decimals}), tmp_path / "log.parquet")
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-8)
        np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-8)

    def test_what_is_not_asked_for_may_be_odd(self, bring, tmp_path):
        """Texts in an NPZ, lists that come late in a Parquet file."""
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU, mode=np.array(["auto"] * ROWS, dtype=object))
        assert_is_the_log(bring(tmp_path / "log.npz"))
        pq.write_table(pa.table({"t": T, "q": list(Q), "tau": list(TAU), "camera": [None, *([[1.0, 2.0]] * (ROWS - 1))]}),
                       tmp_path / "log.parquet")
        assert_is_the_log(bring(tmp_path / "log.parquet"))

    def test_lists_of_different_lengths_are_refused(self, bring, tmp_path):
        pq.write_table(pa.table({"t": T, "q": [row[: 1 + k % 2] for k, row in enumerate(Q)], "p": T, "tau": list(TAU)}),
                       tmp_path / "log.parquet")
        with pytest.raises(InputError, match="lists of 1 to 2 values"):
            bring(tmp_path / "log.parquet", ["q.turn=q.0", "q.lift=p"])

    @pytest.mark.parametrize("names", [["turn.pos", "lift.pos"], {"motors": ["turn", "lift"]}, None])
    def test_lerobot_episodes_follow_each_other(self, bring, tmp_path, names):
        """Each starts its time anew; together they are one run of as many pieces."""
        folder = tmp_path / "dataset"
        for part in ("meta", "data/chunk-000"):
            (folder / part).mkdir(parents=True)
        (folder / "meta/info.json").write_text(json.dumps({"features": {
            "observation.state": {"names": names}, "observation.effort": {"names": names}, "timestamp": {"names": None}}}))
        for k, rows in enumerate((slice(0, 150), slice(150, ROWS))):
            pq.write_table(pa.table({"timestamp": T[rows] - T[rows][0], "observation.state": list(Q[rows]),
                                     "action": list(Q[rows]), "observation.effort": list(TAU[rows]),
                                     "episode_index": np.full(len(T[rows]), k)}), folder / f"data/chunk-000/episode_{k}.parquet")
        run = bring(folder)
        np.testing.assert_array_equal(run.signals["q"], Q)
        np.testing.assert_array_equal(run.signals["tau"], TAU)
        np.testing.assert_array_equal(run.segment, np.repeat([0, 1], [150, ROWS - 150]))
        assert run.t[150] - run.t[149] == pytest.approx(1.0)
        assert (np.diff(run.t) > 0.0).all()

    @pytest.mark.parametrize("elsewhere", ["../somewhere/list.parquet", "/{}/somewhere/list.parquet"])
    def test_a_dataset_names_no_files_elsewhere(self, bring, tmp_path, elsewhere):
        """What is in ``data/`` is read, whatever path its description states."""
        folder = tmp_path / "dataset"
        (folder / "meta").mkdir(parents=True)
        (tmp_path / "somewhere").mkdir()
        path = elsewhere.format(str(tmp_path).lstrip("/"))
        (folder / "meta/info.json").write_text(json.dumps({
            "codebase_version": "v3.0", "data_path": path, "video_path": path, "features": {"q": {"names": None}}}))
        columns = {"timestamp": T, "q": list(Q), "tau": list(TAU)}
        pq.write_table(pa.table(columns | {"secret": T, "q": list(2.0 * Q)}), tmp_path / "somewhere/list.parquet")
        with pytest.raises(InputError, match=r"a LeRobot dataset without data/"):
            open_log(folder)
        (folder / "data").mkdir()
        pq.write_table(pa.table(columns), folder / "data/file-000.parquet")
        assert "secret" not in open_log(folder).names
        assert_is_the_log(bring(folder))

    def test_one_file_of_a_dataset_has_its_episodes(self, bring, tmp_path):
        """Whose time starts anew each time."""
        pq.write_table(pa.table({"timestamp": np.concatenate((T[:150], T[150:] - T[150])), "observation.state": list(Q),
                                 "observation.effort": list(TAU), "episode_index": np.repeat([0, 1], [150, ROWS - 150])}),
                       tmp_path / "file-000.parquet")
        run = bring(tmp_path / "file-000.parquet")
        np.testing.assert_array_equal(run.segment, np.repeat([0, 1], [150, ROWS - 150]))

    @pytest.mark.parametrize("names", [("turn", "lift"), ("joint_1", "joint_2")])
    def test_two_arms_in_one_log_are_not_guessed(self, cli, arm, tmp_path, names):
        """Whatever their joints are called, the left one is no better than the right one."""
        sides = {f"{side}_{name}.{what}": values[:, k] for side in ("left", "right") for k, name in enumerate(names)
                 for what, values in (("pos", Q), ("torque", TAU))}
        pq.write_table(pa.table({"timestamp": T, **sides}), tmp_path / "log.parquet")
        outcome = cli("import", tmp_path / "log.parquet", "--arm", arm.path, "--yes", "--out", tmp_path / "runs")
        assert outcome.code == 2
        assert (f"left_{names[0]}.pos and right_{names[0]}.pos fit turn equally well, and others like them: give those of one arm"
                in outcome.err.replace("\n", " "))

    def test_which_torque_it_is_when_nobody_says(self, cli, make_arm, tmp_path):
        pq.write_table(pa.table({"t": T, "q": list(Q), "tau": list(TAU)}), tmp_path / "log.parquet")
        for k, (changes, words) in enumerate((({}, "motor current (by default: the arm file has no torque_signal;"),
                                              ({"torque_signal": "motor current"}, "motor current (as the arm file says;"))):
            arm = make_arm(changes)
            outcome = cli("import", tmp_path / "log.parquet", "--arm", arm.path, "--yes", "--out", tmp_path / str(k))
            assert words in outcome.out.replace("\n          ", " "), outcome.err

    def test_a_dataset_without_torque_says_what_is_missing(self, cli, arm, tmp_path):
        folder = tmp_path / "dataset"
        (folder / "meta").mkdir(parents=True)
        (folder / "data").mkdir()
        (folder / "meta/info.json").write_text('{"features": {}}')
        pq.write_table(pa.table({"timestamp": T, "observation.state": list(Q), "action": list(Q)}), folder / "data/a.parquet")
        outcome = cli("import", folder, "--arm", arm.path)
        assert outcome.code == 2
        assert "positions alone show no friction" in outcome.err
        assert "observation.state.0" in outcome.err


class TestText:
    @pytest.mark.parametrize(("head", "separator"), [
        ("", ","), ("", " "), ("", "|"), ("# t q_1 q_2 tau_1 tau_2\n", " "), ("Logger 3\nrig 7\n\nt;q_1;q_2;tau_1;tau_2\n", ";"),
        ("t;q_1;q_2;tau_1;tau_2\ns;rad;rad;Nm;Nm\n", ";"), ('"t","q_1","q_2","tau_1","tau_2"\n', ",")])
    def test_heads_of_all_kinds(self, bring, tmp_path, head, separator):
        rows = [separator.join(repr(value) for value in row) for row in np.column_stack((T, Q, TAU)).tolist()]
        (tmp_path / "log.csv").write_text(head + "\n".join(rows) + "\n")
        given = [] if "t" in head else ["t=1", "q=2:3", "tau=4:5"]
        run = bring(tmp_path / "log.csv", given)
        assert_is_the_log(run)
        if "Nm" in head:
            assert run.record["import"]["columns"]["q.turn"]["unit"] == "rad"

    @pytest.mark.parametrize("missing", [1, 2])
    def test_the_first_values_of_the_last_columns_may_be_missing(self, bring, tmp_path, missing):
        """As pandas writes a temperature that came late."""
        rows = [[repr(value) for value in row] + ["40.0"] * 2 for row in np.column_stack((T, Q, TAU)).tolist()]
        rows[0][-missing:] = [""] * missing
        header = "t,q_1,q_2,tau_1,tau_2,temperature_1,temperature_2"
        (tmp_path / "log.csv").write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
        run = bring(tmp_path / "log.csv")
        assert_is_the_log(run)
        assert np.isnan(run.signals["temperature"][0]).sum() == missing
        assert (run.signals["temperature"][1:] == 40.0).all()

    def test_a_line_of_units_among_which_one_is_unknown(self, bring, tmp_path):
        rows = [",".join(repr(value) for value in row) for row in np.column_stack((T, Q, TAU, TAU[:, 0])).tolist()]
        (tmp_path / "log.csv").write_text("t,q_1,q_2,tau_1,tau_2,duty\n[s],[rad],[rad],[Nm],[Nm],[%]\n" + "\n".join(rows) + "\n")
        assert open_log(tmp_path / "log.csv").names == ("t [s]", "q_1 [rad]", "q_2 [rad]", "tau_1 [Nm]", "tau_2 [Nm]", "duty [%]")
        assert_is_the_log(bring(tmp_path / "log.csv"))

    def test_a_range_must_fit_the_joints(self):
        with pytest.raises(InputError, match="3 columns for 2 joints"):
            parse_columns(["q=2:4"], NAMES)

    def test_a_torn_last_row_is_left_out_and_noted(self, bring, tmp_path):
        rows = [",".join(repr(value) for value in row) for row in np.column_stack((T, Q, TAU)).tolist()]
        (tmp_path / "log.csv").write_text("t,q_1,q_2,tau_1,tau_2\n" + "\n".join(rows)[:-25])
        run = bring(tmp_path / "log.csv")
        assert len(run.t) == ROWS - 1
        assert run.record["import"]["notes"] == ["1 row(s) at the log's ends are incomplete and are left out"]

    def test_a_column_map_in_a_file(self, tmp_path):
        (tmp_path / "map.toml").write_text('t = "time[ms]"\n"q.turn" = "a[deg]"\n')
        assert read_map(tmp_path / "map.toml") == ("t=time[ms]", "q.turn=a[deg]")
        (tmp_path / "map.toml").write_text('q.turn = "a[deg]"\n')
        with pytest.raises(InputError, match="a key with a dot"):
            read_map(tmp_path / "map.toml")


class TestGuesses:
    @pytest.mark.parametrize(("header", "found"), [
        ("timestamp,position_1,position_2,effort_1,effort_2", "timestamp position_1 position_2 effort_1 effort_2"),
        ("timestamp,actual_q_0,actual_q_1,target_q_0,target_q_1,actual_current_0,actual_current_1,target_moment_0",
         "timestamp actual_q_0 actual_q_1 actual_current_0 actual_current_1"),
        ("time_[s],joint1/position,joint2/position,joint1/effort,joint2/effort,joint1/velocity,joint2/velocity",
         "time_[s] joint1/position joint2/position joint1/effort joint2/effort"),
        ("t,q.turn,q.lift,q_cmd.turn,q_cmd.lift,dq.turn,dq.lift,tau.lift,tau.turn,t.turn,t.lift",
         "t q.turn q.lift tau.turn tau.lift"),
        ("t,lift_position,turn_position,lift_torque,turn_torque", "t turn_position lift_position turn_torque lift_torque"),
        ("sec,q0,q1,q2,tau_J_0,tau_J_1,tau_J_d_0,tau_J_d_1,tau_ext_0,tau_ext_1", "sec q0 q1 tau_J_0 tau_J_1"),
        ("t,q_1,q_2,motor_torque_1,motor_torque_2,link_torque_1,link_torque_2", "t q_1 q_2 motor_torque_1 motor_torque_2"),
        ("t,a_q_1,a_q_2,b_q_1,b_q_2,tau_1,tau_2", "t - - tau_1 tau_2"),         # two ways to read it: none is taken
        ("t,qd_1,qd_2,tau_1,tau_2", "t - - tau_1 tau_2"),
        ("Zeit [s];Winkel 1 [rad];Winkel 2 [rad];Drehmoment 1 [Nm];Drehmoment 2 [Nm]",
         "Zeit [s];Winkel 1 [rad];Winkel 2 [rad];Drehmoment 1 [Nm];Drehmoment 2 [Nm]"),
        ("Zeit;Istposition Achse 1;Istposition Achse 2;Sollposition Achse 1;Sollposition Achse 2;Iststrom Achse 1;"
         "Iststrom Achse 2",
         "Zeit;Istposition Achse 1;Istposition Achse 2;Iststrom Achse 1;Iststrom Achse 2"),
        ("t,pos_1,pos_2,eff_1,eff_2", "t pos_1 pos_2 eff_1 eff_2"),
        ("temps [s];axe 1 [rad];axe 2 [rad];axe 1 [rad/s];axe 2 [rad/s];couple 1 [Nm];couple 2 [Nm]",     # units speak for them
         "temps [s];axe 1 [rad];axe 2 [rad];couple 1 [Nm];couple 2 [Nm]"),
    ])
    def test_names(self, arm, tmp_path, header, found):
        separator = ";" if ";" in header else ","
        width = header.count(separator) + 1
        (tmp_path / "log.csv").write_text(header + "\n" + "".join(separator.join([repr(k / 100)] + ["0.1"] * (width - 1)) + "\n"
                                                                  for k in range(5)))
        columns = {entry.target: entry.column for entry in guess_columns(open_log(tmp_path / "log.csv"), (), arm,
                                                                         load_mechanism(arm))}
        assert [columns.get(target, "-") for target in ("t", "q.turn", "q.lift", "tau.turn", "tau.lift")] == (
            found.split(";") if ";" in found else found.split())

    def test_a_log_of_more_joints_than_the_arm_has_is_told(self, bring, cli, arm, tmp_path):
        """It may be another arm's."""
        np.savez(tmp_path / "log.npz", t=T, q=np.column_stack((Q, Q)), tau=np.column_stack((TAU, TAU)))
        seen = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--yes")
        assert seen.code == 0, seen.err
        assert '--column "q.turn=q.0[rad]"  (name; 2 of its 4 numbers, in order; the usual unit)' in seen.out
        assert "not used  q.2, q.3, tau.2, tau.3" in seen.out

    @pytest.mark.parametrize(("scale", "unit"), [(1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")])
    def test_unit_of_time_by_its_steps(self, bring, tmp_path, scale, unit):
        np.savez(tmp_path / "log.npz", t=scale * T, q=Q, tau=TAU)
        run = bring(tmp_path / "log.npz")
        assert_is_the_log(run)
        assert run.record["import"]["columns"]["t"]["unit"] == unit
        assert "steps" in run.record["import"]["columns"]["t"]["guess"]

    @pytest.mark.parametrize("name", ["q", "q_deg", "q [deg]"])
    def test_degrees_by_name_or_size(self, bring, tmp_path, name):
        values = np.column_stack((T, np.degrees(Q[:, 0]), 1000.0 * TAU[:, 0], np.degrees(Q[:, 1]), 1000.0 * TAU[:, 1]))
        stem, _, unit = name.partition(" ")
        header = [f"{stem.replace('q', f'q{k}')} {unit}".strip() for k in (1, 2)]
        np.savetxt(tmp_path / "log.csv", values, delimiter=",", header=f"t,{header[0]},tau1 [mNm],{header[1]},tau2 (mNm)",
                   comments="", fmt="%.17g")
        assert_is_the_log(bring(tmp_path / "log.csv"))

    def test_a_joint_that_hardly_moves_is_in_the_unit_of_the_others(self, bring, tmp_path):
        """Two degrees would be as possible in radians."""
        q = np.column_stack((Q[:, 0], 0.02 + 0.01 * Q[:, 1]))
        np.savez(tmp_path / "log.npz", t=T, q=np.degrees(q), tau=TAU)
        run = bring(tmp_path / "log.npz")
        np.testing.assert_allclose(run.signals["q"], q, atol=1e-12)
        assert run.record["import"]["columns"]["q.lift"]["guess"] == "name; joints by order, and that of turn"

    def test_a_joint_that_rests_far_outside_its_limits_is_refused(self, bring, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=np.column_stack((Q[:, 0], np.full(ROWS, 45.0))), tau=TAU)
        with pytest.raises(InputError, match=r"the position of lift is 45 rad, far outside its limits, -1.5 ... 1.5 rad"):
            bring(tmp_path / "log.npz", ["q.lift=q.1[rad]"])

    def test_names_of_joints_are_no_units(self, make_arm, tmp_path):
        """KUKA's joints are called A1, A2, ...; effort is not in ampere for that."""
        header = "t,position.joint_a1,position.joint_a2,effort.joint_a1,effort.joint_a2"
        (tmp_path / "log.csv").write_text(header + "\n" + "".join(f"{k / 100},0.1,0.1,0.1,0.1\n" for k in range(5)))
        arm = make_arm()
        found = {entry.target: entry for entry in guess_columns(open_log(tmp_path / "log.csv"), (), arm, load_mechanism(arm))}
        assert found["tau.turn"].column == "effort.joint_a1"
        assert found["tau.turn"].unit == "Nm"

    @pytest.mark.parametrize("name", ["Time (sec)", "time [seconds]", "time_secs"])
    def test_seconds_in_all_spellings(self, bring, tmp_path, name):
        np.savetxt(tmp_path / "log.csv", np.column_stack((T, Q, TAU)), delimiter=",", comments="", fmt="%.17g",
                   header=f"{name},q1,q2,tau1,tau2")
        assert_is_the_log(bring(tmp_path / "log.csv"))

    @pytest.mark.parametrize("at", [0, 512])
    def test_a_file_of_version_7_3_is_told_by_its_head(self, tmp_path, at):
        head = b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(at)[:at] + b"\x89HDF\r\n\x1a\n"
        (tmp_path / "log.mat").write_bytes(head + bytes(2000))
        with pytest.raises(InputError, match=r"version 7\.3 are HDF5, which is not read; save with -v7"):
            open_log(tmp_path / "log.mat")

    def test_an_unknown_unit_of_time_is_refused_with_a_remedy_that_works(self, bring, tmp_path):
        np.savetxt(tmp_path / "log.csv", np.column_stack((100.0 * T, Q, TAU)), delimiter=",", header="time [cs],q1,q2,tau1,tau2",
                   comments="", fmt="%.17g")
        with pytest.raises(InputError, match=r'--column "t=time\[1.5 s/cs\]"'):
            bring(tmp_path / "log.csv")
        assert_is_the_log(bring(tmp_path / "log.csv", ["t=time[0.01 s/cs]"]))

    @pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[us]", "timedelta64[ms]"])
    def test_dates_of_numpy_are_times(self, cli, arm, tmp_path, kind):
        t = (np.round(1e9 * T).astype(np.int64) + (1_760_000_000_000_000_000 if kind.startswith("date") else 0)).astype(
            f"{kind[:kind.index('6')]}64[ns]").astype(kind)
        np.savez(tmp_path / "log.npz", stamp=t, q=Q, tau=TAU)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--yes", "--out", tmp_path / "out")
        assert outcome.code == 0, outcome.err
        assert '--column "t=stamp[s]"' in outcome.out
        run = load_run(find_runs(tmp_path / "out")[0], ("t", "q"))
        np.testing.assert_allclose(run.t - run.t[0], T - T[0], atol=1e-6)

    def test_they_are_shown_before_they_are_used(self, cli, arm, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--yes")
        assert outcome.code == 0
        for line in ('--column "t=t[s]"', '--column "q.lift=q.1[rad]"', '--column "tau.turn=tau.0[Nm]"'):
            assert f"guess     {line}  (name" in outcome.out
        assert outcome.out.index("guess") < outcome.out.index("wrote")

    def test_without_a_terminal_they_are_not_used_unseen(self, cli, arm, tmp_path):
        """But shown as options that can be pasted, after which nothing is guessed."""
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        refused = cli("import", tmp_path / "log.npz", "--arm", arm.path, "-o", tmp_path / "out")
        assert refused.code == 2
        assert not (tmp_path / "out").exists()
        (line,) = refused.err.splitlines()
        options = shlex.split(line[line.index("--column"):])
        assert options[1::2] == ["t=t[s]", "q.turn=q.0[rad]", "q.lift=q.1[rad]", "tau.turn=tau.0[Nm]", "tau.lift=tau.1[Nm]",
                                 "motor current"]
        for k, agreed in enumerate((options, ["--yes"])):
            outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, *agreed, "-o", tmp_path / str(k))
            assert outcome.code == 0, outcome.err

    @pytest.mark.parametrize(("given", "guess"), [
        (("--torque-signal", "motor current"), "--column \"t=t[s]\""), (("--column", "t=t"), "--torque-signal 'motor current'")])
    def test_one_guess_is_enough_to_refuse(self, cli, arm, tmp_path, given, guess):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        columns = [part for entry in ("q.turn=q.0", "q.lift=q.1", "tau.turn=tau.0", "tau.lift=tau.1")
                   for part in ("--column", entry)]
        refused = cli("import", tmp_path / "log.npz", "--arm", arm.path, *columns, *given)
        assert (refused.code, refused.err.rstrip().endswith(f"of {guess}")) == (2, True), refused.err

    def test_what_the_arm_file_says_is_no_guess(self, cli, make_arm, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        columns = [part for entry in ("t=t", "q.turn=q.0", "q.lift=q.1", "tau.turn=tau.0", "tau.lift=tau.1")
                   for part in ("--column", entry)]
        arm = make_arm({"torque_signal": "commanded"})
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, *columns)
        assert outcome.code == 0, outcome.err

    HEADS = pytest.mark.parametrize("header", [
        "Time [s],turn Position [deg],lift Position [deg],turn Torque [mNm],lift Torque [mNm],turn Temperature,lift Temperature",
        "Time [ms],Pos [deg] turn,Pos [deg] lift,Torque [mNm] turn,Torque [mNm] lift",
        "Time (sec),(deg) pos turn,(deg) pos lift,turn (Nm) torque,lift (Nm) torque",
        "Zeit [ms];Istwinkel [°] Achse 1;Istwinkel [°] Achse 2;Istmoment (mNm) Achse 1;Istmoment (mNm) Achse 2",
        "Zeit [s];Lage (ist) Achse 1;Lage (ist) Achse 2;Drehmoment Achse 1 [N·m];Drehmoment Achse 2 [N·m]",
        "t,q[0] [deg],q[1] [deg],tau_J[0],tau_J[1]",
        "t,q[0] [Degrees] actual,q[1] [Degrees] actual,tau_J[0] (mNm),tau_J[1] (mNm)",
        "t,q[turn].pos,q[lift].pos,tau[turn].raw_nm,tau[lift].raw_nm",
        "$t [us],$pos 1 [deg],$pos 2 [deg],`tau` 1,`tau` 2",
    ])

    def log_in_units(self, path, header):
        """The log in the units that its header states."""
        separator = ";" if ";" in header else ","
        scale = {"ms": 1e3, "us": 1e6, "deg": np.degrees(1.0), "°": np.degrees(1.0), "Degrees": np.degrees(1.0), "mNm": 1e3}
        names = header.split(separator)
        values = np.column_stack((T, Q, TAU, 40.0 + T, 40.0 + T))[:, : len(names)]
        values = values * [max(factor if f"[{unit}]" in name or f"({unit})" in name else 1.0 for unit, factor in scale.items())
                           for name in names]
        path.write_text(header + "\n" + "".join(separator.join(map(repr, row)) + "\n" for row in values.tolist()),
                        encoding="utf-8")
        return path

    @HEADS
    def test_what_is_shown_can_be_given_and_means_the_same(self, cli, arm, tmp_path, header):
        """Copied into a shell, or into a map."""
        log = self.log_in_units(tmp_path / "log.csv", header)
        outcome = cli("import", log, "--arm", arm.path, "--yes", "-o", tmp_path / "guessed")
        assert outcome.code == 0, outcome.err
        guessed = load_run(next((tmp_path / "guessed/runs").iterdir()), SIGNALS)
        assert_is_the_log(guessed, 1e-9)
        shown = re.findall(r"^guess +(--column .*?)  \(", outcome.out, flags=re.MULTILINE)
        assert len(shown) == len(guessed.record["import"]["columns"]) == len(re.split("[;,]", header))
        entries = [option.removeprefix("--column ") for option in shown]
        (tmp_path / "map.toml").write_text("".join(f'"{entry[1:].partition("=")[0]}" = {entry[0]}{entry.partition("=")[2]}\n'
                                                   for entry in entries), encoding="utf-8")
        for name, given in (("shell", shlex.split(" ".join(shown))), ("map", ["--map", tmp_path / "map.toml"])):
            outcome = cli("import", log, "--arm", arm.path, *given, "--torque-signal", "motor current", "-o", tmp_path / name)
            assert outcome.code == 0, outcome.err
            assert "guess  " not in outcome.out
            run = load_run(next((tmp_path / name / "runs").iterdir()), SIGNALS)
            stated = {target: {key: value for key, value in column.items() if key != "guess"}
                      for target, column in guessed.record["import"]["columns"].items()}
            assert run.record["import"]["columns"] == stated
            assert run.signals.keys() == guessed.signals.keys()
            for signal, values in guessed.signals.items():
                np.testing.assert_array_equal(run.signals[signal], values)

    @pytest.mark.parametrize("answer", ["y", "n"])
    def test_on_a_terminal_they_are_agreed_to(self, cli, arm, tmp_path, monkeypatch, answer):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        monkeypatch.setattr("sys.stdin", Terminal(f"\n{answer}\n"))
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "-o", tmp_path / "out")
        assert "Which torque does log.npz hold? motor current, commanded, joint sensor, compensated" in outcome.out
        assert (outcome.code, (tmp_path / "out").exists()) == ((0, True) if answer == "y" else (3, False))


class Terminal(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self):
        return True


class TestTorque:
    @pytest.mark.parametrize("signal", ["joint sensor", "compensated", "telepathy"])
    def test_a_signal_that_cannot_show_the_friction_of_a_gear(self, cli, arm, tmp_path, signal):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--torque-signal", signal, "-o", tmp_path / "out")
        assert outcome.code == 2
        assert signal in outcome.err
        assert not (tmp_path / "out").exists()

    def test_the_arm_files_signal_is_the_default(self, make_arm, cli, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        arm = make_arm({"torque_signal": "joint sensor"})
        assert "does not see the gear's friction" in cli("import", tmp_path / "log.npz", "--arm", arm.path).err
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--torque-signal", "commanded", "--yes", "-o",
                      tmp_path / "out")
        assert outcome.code == 0
        run = load_run(next((tmp_path / "out" / "runs").iterdir()))
        assert run.record["import"]["torque_signal"] == "commanded"
        from stribeck.ident.identify import _same_arm

        assert _same_arm([run]) is run.arm          # the fit goes by the run, not by the arm file

    def test_amperes_by_the_arm_files_constant(self, make_arm, bring, tmp_path):
        table = make_arm({"joints": {"turn": {"torque_constant": 0.05}, "lift": {"torque_constant": 0.08, "direction": -1}}})
        np.savez(tmp_path / "log.npz", t=T, q=Q * [1, -1], current=TAU / [5.0, -8.0])
        columns = guess_columns(open_log(tmp_path / "log.npz"), (), table, load_mechanism(table))
        run = load_run(import_log(open_log(tmp_path / "log.npz"), table, columns, tmp_path / "x"), SIGNALS)
        assert_is_the_log(run)
        np.testing.assert_allclose(run.signals["raw"], TAU / [5.0, -8.0])           # what the drive said, in its own sign
        assert run.record["import"]["torque_constants"]["lift"] == {"value": 8.0, "source": "arm file"}

    def test_amperes_without_a_constant_are_refused(self, bring, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, current=TAU)
        with pytest.raises(InputError, match=r"the torque of turn is in A, and pair.toml has no joints.turn.torque_constant"):
            bring(tmp_path / "log.npz")
        with pytest.raises(InputError, match=r"nor can gravity tell \("):
            bring(tmp_path / "log.npz", torque_constant="gravity")


@pytest.fixture(scope="module")
def general():
    """A minute of general motion of the pair, with known friction: time, positions, torques."""
    from stribeck.ident.arm.arm_file import load_arm

    arm = load_arm(TEST_ARMS / "pair.toml")
    t = np.arange(0.0, 60.0, 1.0 / 200.0)
    phase, rate = np.array([0.9, 0.61]), np.array([2.3, 1.7])
    q = 1.1 * np.sin(phase * t[:, None]) + 0.2 * np.sin(rate * t[:, None])
    dq = 1.1 * phase * np.cos(phase * t[:, None]) + 0.2 * rate * np.cos(rate * t[:, None])
    ddq = -1.1 * phase**2 * np.sin(phase * t[:, None]) - 0.2 * rate**2 * np.sin(rate * t[:, None])
    tau = np.asarray(inverse_dynamics(load_mechanism(arm), q, dq, ddq)) + 0.4 * ddq + [3.0, 2.0] * np.sign(dq) + [2.0, 1.5] * dq
    return t, q, tau + np.random.default_rng(0).normal(0.0, 0.05, q.shape)


class TestGeneralMotion:
    def test_positions_and_currents_are_enough(self, cli, make_arm, general, tmp_path):
        """No velocity in the log, one torque constant from gravity: the fit that the import names finds the friction."""
        from stribeck.ident.calibration.calibration import Calibration

        t, q, tau = general
        arm = make_arm({"joints": {"turn": {"torque_constant": 0.04}}})
        np.savez(tmp_path / "log.npz", t=t, q=q, current=tau / 4.0)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--torque-constant", "gravity", "--yes",
                      "-o", "campaign")
        assert outcome.code == 0, outcome.err
        assert "next      stribeck fit campaign --motion model\n" in outcome.out
        assert "velocity is not in the log: it is differentiated" in outcome.out
        assert "turn: 4 N·m/A at the joint (arm file)" in outcome.out
        record = load_run(next(Path("campaign/runs").iterdir())).record
        lift = record["import"]["torque_constants"]["lift"]
        assert lift["source"] == "gravity"
        assert lift["value"] == pytest.approx(4.0, abs=5.0 * lift["std_error"])
        assert lift["value"] == pytest.approx(4.0, rel=0.005)
        assert cli("fit", "campaign", "--motion", "model", "--law", "coulomb-viscous", "-o", "out").code == 0
        joints = Calibration.load(Path("out/calibration.toml")).joints
        for name, coulomb, viscous in (("turn", 3.0, 2.0), ("lift", 2.0, 1.5)):
            assert joints[name].values["coulomb"] == pytest.approx(coulomb, rel=0.02)
            assert joints[name].values["viscous"] == pytest.approx(viscous, rel=0.02)

    @pytest.mark.parametrize("motion", ["model", "none"])
    def test_a_joint_without_gravity_does_not_stop_the_others(self, cli, arm, general, tmp_path, motion):
        """Its own torque is left out; both ways in fit the other one, and validation judges it."""
        from stribeck.ident.calibration.calibration import Calibration

        t, q, tau = general
        if motion == "none":
            plan = plan_constant_speed(arm, None, 0, ConstantSpeed(postures=2, speeds=5, longest_stroke=3.0))
            run = load_run(record(arm, plan, tmp_path / "driven", 0))
            t, q, tau = run.t, run.signals["q"], run.signals["tau"]
        np.savez(tmp_path / "log.npz", t=t, q=q, current=tau / 4.0)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--torque-constant", "gravity", "--yes",
                      "-o", "campaign")
        assert outcome.code == 0, outcome.err
        said = " ".join(outcome.out.split())
        assert "note turn: its torque is in A and gravity cannot tell its torque constant (its gravity hardly varies)" in said
        assert "State joints.turn.torque_constant in the arm file" in said
        assert "never changes" not in said
        assert "note lift: fewer" not in said or motion == "model"
        imported = load_run(next(Path("campaign/runs").iterdir()), SIGNALS)
        assert np.isnan(imported.signals["tau"][:, 0]).all()
        assert imported.record["import"]["torque_constants"].keys() == {"lift"}
        np.testing.assert_allclose(imported.signals["raw"], tau / 4.0)              # nothing of the log is lost
        fitted = cli("fit", "campaign", "--motion", motion, "--law", "coulomb-viscous", "-o", "out")
        assert fitted.code == 0, fitted.err
        assert "the torque of turn was not recorded" in " ".join(fitted.out.split())
        joints = Calibration.load(Path("out/calibration.toml")).joints
        assert joints.keys() == {"lift"}
        assert joints["lift"].values["coulomb"] == pytest.approx(2.0, rel=0.02)
        assert joints["lift"].values["viscous"] == pytest.approx(1.5, rel=0.02)
        assert cli("export", next(Path("campaign/runs").iterdir()), "--to", "csv", "-o", "log.csv").code == 0
        if motion == "none":
            return
        stated = ("--column", "tau.turn=current.0[4 N·m/A]", "--torque-constant", "gravity", "--yes", "-o", "known")
        assert cli("import", tmp_path / "log.npz", "--arm", arm.path, *stated).code == 0
        assert cli("fit", "known", "--motion", motion, "--law", "coulomb-viscous", "-o", "both").code == 0
        judged = cli("validate", "campaign", "both", "--tolerance", "0.9")
        assert judged.code == 0, judged.out + judged.err
        assert "the torque of turn was not recorded" in " ".join(judged.out.split())

    def test_current_against_gravity_is_refused(self, make_arm, cli, general, tmp_path):
        t, q, tau = general
        np.savez(tmp_path / "log.npz", t=t[:4000], q=q[:4000], current=tau[:4000] * [1.0, -1.0])
        arm = make_arm({"joints": {"turn": {"torque_constant": 0.01}}})
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--torque-constant", "gravity", "--yes", "-o",
                      tmp_path / "out")
        assert outcome.code == 2
        assert "lift" in outcome.err
        assert not (tmp_path / "out").exists()

    def test_round_trips_are_found_and_still_joints_named(self, cli, tmp_path):
        run = load_run(next((GOLDEN / "runs").iterdir()))
        np.savez(tmp_path / "log.npz", t=run.t, q=run.signals["q"], tau=run.signals["tau"])
        outcome = cli("import", tmp_path / "log.npz", "--arm", GOLDEN / "pendulum.toml", "--yes", "-o", "campaign")
        assert "next      stribeck fit campaign\n" in outcome.out
        assert "round trips" not in outcome.out
        np.savez(tmp_path / "still.npz", t=run.t, q=np.zeros(len(run.t)), tau=run.signals["tau"])
        outcome = cli("import", tmp_path / "still.npz", "--arm", GOLDEN / "pendulum.toml", "--yes", "-o", "still")
        assert "hinge: no motion, so no friction" in outcome.out
        assert "nothing can be fitted" in outcome.out

    @pytest.mark.parametrize(("factor", "words"), [(0.01, "times the model's gravity: is it in amperes"),
                                                   (-1.0, "hinge: torque opposes motion in 100% of the points")])
    def test_a_torque_in_another_unit_or_direction_is_said_at_once(self, cli, tmp_path, factor, words):
        run = load_run(next((GOLDEN / "runs").iterdir()))
        np.savez(tmp_path / "log.npz", t=run.t, q=run.signals["q"], tau=factor * run.signals["tau"])
        outcome = cli("import", tmp_path / "log.npz", "--arm", GOLDEN / "pendulum.toml", "--yes", "-o", "campaign")
        assert (outcome.code, words in outcome.out.replace("\n", " ")) == (0, True)

    def test_a_single_speed_is_said_to_be_too_few(self, arm, bring, tmp_path):
        t = np.arange(0.0, 40.0, 0.01)
        way = np.abs((t % 4.0) - 2.0)
        tau = np.sign(np.gradient(way))[:, None] * [3.0, 2.0]
        np.savez(tmp_path / "log.npz", t=t, q=np.column_stack((way, 0.5 * way)), tau=tau)
        seen = outlook(bring(tmp_path / "log.npz"), load_mechanism(arm))
        assert seen.options == ""
        assert any("turn, lift: fewer than 3 speeds" in sentence for sentence in seen.sentences)

    def test_a_joint_that_only_goes_to_a_posture_leaves_the_fit_as_it_is(self, arm, bring, tmp_path):
        t, (way, tau), leg = np.arange(0.0, 42.0, 0.01), np.zeros((2, 4200)), 200
        for k, speed in enumerate(np.repeat(np.geomspace(0.1, 0.5, 10), 2)):
            rows, sign = slice(k * leg, (k + 1) * leg), (-1.0) ** k
            way[rows] = speed * (sign * (t[rows] - t[rows][0]) + (2.0 if sign < 0.0 else 0.0))
            tau[rows] = sign * (3.0 + speed)
        q = np.column_stack((way, np.maximum(0.0, 0.1 * (t - 40.5))))
        np.savez(tmp_path / "log.npz", t=t, q=q, tau=np.column_stack((tau, tau)))
        seen = outlook(bring(tmp_path / "log.npz"), load_mechanism(arm))
        assert seen.options == ""
        assert any(sentence.startswith("lift: fewer than 4 round trips") and "--motion model would" in sentence
                   for sentence in seen.sentences)
        assert not any("too slow" in sentence or "masses" in sentence for sentence in seen.sentences)


def write_bag(folder, kind, messages, topic="/joint_states"):
    """A bag by an independent implementation; messages are (receipt, stamp, names, position, velocity, effort)."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    state, header, time = (store.types[name] for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header",
                                                          "builtin_interfaces/msg/Time"))
    with Writer(folder, version=9, storage_plugin=StoragePlugin[kind]) as bag:
        connections = {}
        for receipt, stamp, names, *values in messages:
            name = topic if isinstance(topic, str) else topic(names)
            if name not in connections:
                connections[name] = bag.add_connection(name, state.__msgtype__, typestore=store)
            message = state(header(time(int(stamp // 10**9), int(stamp % 10**9)), "base"), list(names),
                            *(np.array(part, dtype=float) for part in values))
            bag.write(connections[name], int(receipt), store.serialize_cdr(message, state.__msgtype__))
    return folder


def states(order=lambda k: (0, 1), effort=True):
    for k in range(ROWS):
        j = list(order(k))
        yield STAMPS[k] + 1000, STAMPS[k], [NAMES[i] for i in j], Q[k, j], [], TAU[k, j] if effort else []


def add_temperatures(folder, kind, every, label="", last=ROWS):
    """Beside joint states a slow topic of the motors' temperatures, by the independent implementation; one value a second."""
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = (store.types[f"std_msgs/msg/{name}"] for name in ("Float64MultiArray", "MultiArrayLayout", "MultiArrayDimension"))
    many, layout, dimension = kinds
    with Reader(folder) as old, Writer(folder.with_name("both"), version=9, storage_plugin=StoragePlugin[kind]) as bag:
        states = bag.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        slow = bag.add_connection("/motors/temperature", many.__msgtype__, typestore=store)
        for k, (_, stamp, data) in enumerate(old.messages()):
            bag.write(states, stamp, data)
            if k % every == every // 2 and k < last:
                values = np.array([30.0, 40.0]) + k
                message = many(layout([dimension(label, 2, 2)] if label else [], 0), values)
                bag.write(slow, stamp, store.serialize_cdr(message, many.__msgtype__))
    return folder.with_name("both")


@pytest.mark.parametrize("kind", ["SQLITE3", "MCAP"])
class TestBags:
    @pytest.mark.parametrize("label", ["", "lift, turn"])
    def test_temperatures_beside_them_hold_until_the_next(self, bring, tmp_path, kind, label):
        run = bring(add_temperatures(write_bag(tmp_path / "bag", kind, states()), kind, 100, label))
        assert_is_the_log(run, 0.0)
        heard = (np.arange(ROWS) + 50) // 100 * 100.0 - 50.0
        expected = np.where(heard[:, None] < 0.0, np.nan, heard[:, None] + ([40.0, 30.0] if label else [30.0, 40.0]))
        np.testing.assert_array_equal(run.signals["temperature"], expected)
        assert any("under /motors/temperature, 1 Hz, hold until the next" in note for note in run.record["import"]["notes"])

    def test_but_not_for_ever(self, bring, tmp_path, kind):
        """The topic ended, or paused, in the middle of the log: its last values are none of what follows."""
        run = bring(add_temperatures(write_bag(tmp_path / "bag", kind, states()), kind, 10, last=200))
        known = np.flatnonzero(np.isfinite(run.signals["temperature"]).all(axis=1))
        assert (known[0], known[-1]) == (5, 195 + 30)

    def test_joints_in_any_order(self, bring, tmp_path, kind):
        run = bring(write_bag(tmp_path / "bag", kind, states(lambda k: (0, 1) if k % 3 else (1, 0))))
        assert_is_the_log(run, 0.0)
        assert np.isnan(run.signals["dq"]).all()

    def test_one_file_of_a_bag(self, bring, tmp_path, kind):
        folder = write_bag(tmp_path / "bag", kind, states())
        (file,) = (path for path in folder.iterdir() if path.suffix in (".db3", ".mcap"))
        before = file.read_bytes()
        assert_is_the_log(bring(file), 0.0)
        assert file.read_bytes() == before
        assert len(list(folder.iterdir())) == 2             # SQLite leaves nothing beside it

    @pytest.mark.parametrize("unset", [(0,), (0, 1, 2), range(0, ROWS, 2)])
    def test_stamps_that_are_set_in_part(self, bring, tmp_path, kind, unset):
        """A few are left out; where many are zero, messages were received in order all the same."""
        messages = [(receipt, 0 if k in unset else stamp, *rest) for k, (receipt, stamp, *rest) in enumerate(states())]
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        few = len(unset) <= 0.01 * ROWS
        kept = np.delete(np.arange(ROWS), list(unset)) if few else np.arange(ROWS)
        np.testing.assert_array_equal(run.signals["q"], Q[kept])
        np.testing.assert_allclose(run.t - run.t[0], T[kept] - T[kept[0]], atol=1e-9)
        (note,) = (note for note in run.record["import"]["notes"] if "not set" in note)
        assert note.endswith(f"; {len(unset)} message(s) whose header stamp is not set are left out" if few else
                             f"; the header stamps are not set in {len(unset)} of {ROWS} messages")

    def test_a_topic_is_known_without_its_slash(self, tmp_path, kind):
        write_bag(tmp_path / "bag", kind, states(), topic="/left/joint_states")
        assert len(open_log(tmp_path / "bag", topic="left/joint_states").read(["t"])["t"]) == ROWS

    def test_duplicates_late_messages_other_publishers_and_parts(self, bring, tmp_path, kind):
        messages = list(states())
        messages[10], messages[11] = messages[11], messages[10]
        messages.insert(50, messages[49])
        messages.insert(60, (STAMPS[58] + 1, STAMPS[58] + 1, ["gripper"], [0.5], [], []))
        whole = messages[100]
        stamp = whole[:2]
        messages[100:101] = [(*stamp, [NAMES[j]], [whole[3][j]], [], [whole[5][j]]) for j in (0, 1)]
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        assert_is_the_log(run, 0.0)
        notes = " ".join(run.record["import"]["notes"])
        assert "1 message(s) came out of order" in notes
        assert "2 message(s) with the stamp of another were joined" in notes
        assert "1 row(s) hold neither position nor torque of this arm" in notes

    def test_stamps_that_nobody_set(self, bring, tmp_path, kind):
        run = bring(write_bag(tmp_path / "bag", kind, ((message[0], 0, *message[2:]) for message in states())))
        assert_is_the_log(run, 0.0)
        assert "the header stamps are not set" in run.record["import"]["notes"][0]

    def test_jitter_of_receipt_does_not_matter(self, bring, tmp_path, kind):
        late = np.random.default_rng(0).integers(0, 3_000_000, ROWS)
        messages = ((message[0] + late[k], *message[1:]) for k, message in enumerate(states()))
        run = bring(write_bag(tmp_path / "bag", kind, messages))
        assert_is_the_log(run, 0.0)
        table = open_log(tmp_path / "bag", stamps="receipt")
        assert np.abs(np.diff(table.read(["t"])["t"]) - 0.01).max() > 1e-3

    def test_a_joint_that_is_missing_is_named(self, bring, tmp_path, kind):
        folder = write_bag(tmp_path / "bag", kind, states(lambda k: (0,) if 200 <= k < 220 else (0, 1)))
        with pytest.raises(InputError, match="q of lift is not a finite number in row 200"):
            bring(folder)

    def test_several_topics(self, bring, tmp_path, kind):
        """Two arms in one bag: the topic has to be chosen, unless one has the usual name."""
        folder = write_bag(tmp_path / "bag", kind, states(lambda k: (0, 1) if k % 2 else (1, 0)),
                           lambda names: f"/{names[0]}/joint_states")
        with pytest.raises(InputError, match="choose one with --topic"):
            open_log(folder)
        assert len(open_log(folder, topic="/turn/joint_states").read(["t"])["t"]) == ROWS // 2
        with pytest.raises(InputError, match=r"no message of sensor_msgs/JointState under /x .*/lift/joint_states"):
            open_log(folder, topic="/x")

    def test_without_effort(self, cli, arm, tmp_path, kind):
        outcome = cli("import", write_bag(tmp_path / "bag", kind, states(effort=False)), "--arm", arm.path)
        assert outcome.code == 2
        assert "no column is given for tau.turn" in outcome.err
        assert "position.turn" in outcome.err


def test_a_cut_off_mcap_gives_what_it_holds(bring, tmp_path):
    """A recorder that was killed wrote neither the end nor the index."""
    from mcap.writer import Writer

    file = tmp_path / "log.mcap"
    with file.open("wb") as stream:
        writer = Writer(stream, chunk_size=2000)
        writer.start("ros2", "")
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for receipt, stamp, *values in states():
            writer.add_message(channel, int(receipt), joint_state(int(stamp), *values), int(stamp))
        writer.finish()
    whole = file.read_bytes()
    kept = [len(bring_cut(bring, file, whole, part).t) for part in (0.3, 0.6, 0.9)]
    assert kept == sorted(kept)
    assert 0 < kept[0] < kept[-1]


def bring_cut(bring, file, whole, part):
    file.write_bytes(whole[: int(part * len(whole))])
    run = bring(file)
    assert "is cut off or damaged" in run.record["import"]["notes"][0]
    assert np.array_equal(run.signals["q"], Q[: len(run.t)])
    return run


def test_the_encoder_of_the_benchmark_writes_what_ros_writes():
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    message = store.deserialize_cdr(joint_state(STAMPS[7], ("a", "long name"), [1.0, 2.0], [], [3.0, 4.0]),
                                    "sensor_msgs/msg/JointState")
    assert message.name == ["a", "long name"]
    assert message.position.tolist() == [1.0, 2.0]
    assert message.effort.tolist() == [3.0, 4.0]
    assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == STAMPS[7]


def read_all(path):
    table = open_log(path)
    return table.read(table.names)


class TestMalice:
    """Files that claim or unpack to more than they should, or that would run something; the bounds are a twentieth here."""

    @pytest.fixture(autouse=True)
    def _memory(self, monkeypatch):
        for module in ("table", "matlab"):
            monkeypatch.setattr(f"stribeck.experiments.importers.{module}.MOST_NUMBERS", 5_000_000)
        monkeypatch.setattr("stribeck.experiments.importers.bags._LARGEST_CHUNK", 10_000_000)
        tracemalloc.start()
        yield
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50e6

    def npz(self, path, header, content=b"", packed=True):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
            text = header.encode().ljust(118) + b"\n"
            with archive.open("t.npy", "w") as file:
                file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
                for _ in range(content if isinstance(content, int) else 0):
                    file.write(bytes(1 << 20))
        return path

    @pytest.mark.parametrize(("header", "mega"), [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", 0),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (13107200,), }", 100),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-5,), }", 1),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (5,), }", 1),
        ("{'descr': '<f8', 'shape': __import__('os').system('false'), }", 0),
    ])
    def test_npz(self, bring, tmp_path, header, mega):
        path = self.npz(tmp_path / "log.npz", header, mega)
        assert path.stat().st_size < 2_000_000
        with pytest.raises(InputError):
            bring(path, ["t=t", "q=1:2"])
        with pytest.raises(InputError):
            read_all(path)

    def test_mat(self, tmp_path):
        pack = zlib.compressobj(9)
        parts = [struct.pack("<II", 14, 100_000_000), *[bytes(1 << 20)] * 100]
        data = b"".join([*(pack.compress(part) for part in parts), pack.flush()])
        head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
        (tmp_path / "log.mat").write_bytes(head + struct.pack("<II", 15, len(data)) + data)
        with pytest.raises(InputError, match="unpacks to more than"):
            open_log(tmp_path / "log.mat")

    def test_mat_that_crashes_its_reader(self, tmp_path):
        """Numbers of no type."""
        savemat(tmp_path / "log.mat", {"t": np.arange(9.0)})
        whole = (tmp_path / "log.mat").read_bytes()
        (tmp_path / "log.mat").write_bytes(whole.replace(struct.pack("<II", 9, 72), struct.pack("<II", 0, 72)))
        with pytest.raises(InputError, match="damaged, so much that reading it would end this program"):
            open_log(tmp_path / "log.mat")

    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize(("old", "new", "words"), [
        (struct.pack("<2i", 9, 1), struct.pack("<2i", 9, 1 << 28), "a matrix of 9 x 268435456 in"),
        (struct.pack("<II", 9, 72), struct.pack("<II", 9, 1 << 30), "a part of an element is longer")])
    def test_mat_that_claims_more_than_it_has(self, tmp_path, packed, old, new, words):
        """SciPy would make room for it first."""
        savemat(tmp_path / "log.mat", {"t": np.arange(9.0)[:, None]})
        whole = (tmp_path / "log.mat").read_bytes()
        assert whole.count(old) == 1
        spoilt = whole.replace(old, new)
        if packed:
            body = zlib.compress(spoilt[128:])
            spoilt = spoilt[:128] + struct.pack("<II", 15, len(body)) + body
        (tmp_path / "log.mat").write_bytes(spoilt)
        with pytest.raises(InputError, match=words):
            open_log(tmp_path / "log.mat")

    @pytest.mark.parametrize("mode", ["WAL", "PERSIST"])
    def test_a_bag_that_its_recorder_did_not_close(self, bring, tmp_path, mode):
        """What was recorded last stands in a file beside it, or the file beside it says what to take back."""
        folder = write_bag(tmp_path / "bag", "SQLITE3", states())
        (file,) = folder.glob("*.db3")
        with closing(sqlite3.connect(file)) as whole:
            rows = whole.execute("SELECT * FROM messages ORDER BY timestamp").fetchall()
            whole.execute("DELETE FROM messages WHERE timestamp > ?", (rows[249][2],))
            whole.commit()
        writer = sqlite3.connect(file)
        writer.execute(f"PRAGMA journal_mode = {mode}")
        writer.execute("PRAGMA cache_size = 1")             # it writes at once
        writer.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows[250:])
        if mode == "WAL":
            writer.commit()
        left = tmp_path / "left"
        shutil.copytree(folder, left)                       # as a recorder that was killed leaves it
        writer.close()
        before = {path.name: path.read_bytes() for path in left.iterdir()}
        run = bring(left)
        np.testing.assert_array_equal(run.signals["q"], Q if mode == "WAL" else Q[:250])
        assert {path.name: path.read_bytes() for path in left.iterdir()} == before
        beside = f"{file.name}-{'wal' if mode == 'WAL' else 'journal'}"
        assert f"{file.name} was not closed by its recorder; what stands in {beside} was read with it" in \
            run.record["import"]["notes"]

    @pytest.mark.parametrize(("name", "words"), [
        ("bag/log_0.db3.zstd", r"log_0.db3.zstd: the file is compressed as a whole; unpack it with zstd -d and import log_0.db3"),
        ("log.csv.gz", "unpack it with gunzip -k and import log.csv"), ("notes.zip", "unknown kind of log '.zip'")])
    def test_what_is_packed_is_to_be_unpacked(self, tmp_path, name, words):
        (tmp_path / "bag").mkdir()
        (tmp_path / name).write_bytes(b"\x28\xb5\x2f\xfd")
        with pytest.raises(InputError, match=words):
            open_log((tmp_path / name).parent if name.startswith("bag") else tmp_path / name)

    def test_sqlite_whose_schema_is_no_text(self, tmp_path):
        with sqlite3.connect(tmp_path / "log.db3") as bag:
            bag.execute("CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)")
        bag.close()
        whole = (tmp_path / "log.db3").read_bytes()
        (tmp_path / "log.db3").write_bytes(whole.replace(b"CREATE TABLE topics(id", b"CREATE \xff\xfe\xff TABLE(id"))
        with pytest.raises(InputError, match="not a ROS 2 bag that can be read"):
            open_log(tmp_path / "log.db3")

    def test_mcap(self, tmp_path):
        import zstandard
        from mcap.data_stream import RecordBuilder
        from mcap.records import Chunk, Header

        pack = zstandard.ZstdCompressor().compressobj()
        data = b"".join([*(pack.compress(bytes(1 << 20)) for _ in range(100)), pack.flush()])
        builder = RecordBuilder()
        Header("ros2", "").write(builder)
        Chunk("zstd", data, 0, 0, 0, 100 << 20).write(builder)
        (tmp_path / "log.mcap").write_bytes(b"\x89MCAP0\r\n" + builder.end())
        with pytest.raises(InputError, match="a chunk unpacks to more than"):
            open_log(tmp_path / "log.mcap")

    @pytest.mark.parametrize("view", ["CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                                      "SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data FROM n", None])
    def test_sqlite_that_computes_for_ever(self, tmp_path, view):
        with sqlite3.connect(tmp_path / "log.db3") as bag:
            bag.execute("CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)")
            bag.execute("INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')")
            if view:
                bag.execute(view)
        bag.close()
        with pytest.raises(InputError, match="no tables topics and messages"):
            open_log(tmp_path / "log.db3")

    def test_parquet_that_claims_many_rows(self, tmp_path):
        """Runs of one value pack a hundred million rows into nothing."""
        pq.write_table(pa.table({"t": np.zeros(3_000_000), "q": np.zeros(3_000_000)}), tmp_path / "log.parquet")
        assert (tmp_path / "log.parquet").stat().st_size < 100_000
        with pytest.raises(InputError, match="3000000 rows of 2 columns are more than"):
            open_log(tmp_path / "log.parquet").read(["t", "q"])

    def test_a_line_without_end(self, tmp_path):
        (tmp_path / "log.csv").write_bytes(b"1," * 5_000_000)
        with pytest.raises(InputError, match="longer than"):
            open_log(tmp_path / "log.csv")


class TestPaths:
    """What a file names lies in its own folder."""

    @pytest.mark.parametrize("model", ["../secret.urdf", "/etc/passwd", "sub/../../secret.urdf", "link.urdf", "a\0b"])
    def test_a_model_elsewhere(self, make_arm, tmp_path, model):
        from stribeck.ident.arm.arm_file import load_arm

        arm = make_arm()
        (arm.path.parent.parent / "secret.urdf").write_bytes(arm.model.read_bytes())
        (arm.path.parent / "link.urdf").symlink_to(arm.path.parent.parent / "secret.urdf")
        (arm.path.parent / "sub").mkdir()
        arm.path.write_text(arm.path.read_text().replace('"pair.urdf"', json.dumps(model)))
        with pytest.raises(InputError, match=r"model = "):
            load_arm(arm.path)

    def test_a_model_in_a_folder_below(self, make_arm):
        from stribeck.ident.arm.arm_file import load_arm

        arm = make_arm()
        (arm.path.parent / "sub").mkdir()
        arm.model.rename(arm.path.parent / "sub" / "pair.urdf")
        arm.path.write_text(arm.path.read_text().replace('"pair.urdf"', '"sub/pair.urdf"'))
        assert load_arm(arm.path).model.is_file()

    def test_an_include_elsewhere(self, tmp_path):
        body = '<body><joint name="a"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>'
        (tmp_path / "model").mkdir()
        (tmp_path / "secret.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        (tmp_path / "model" / "inner.xml").write_text('<mujoco><include file="../secret.xml"/></mujoco>')
        for file in ("../secret.xml", str(tmp_path / "secret.xml"), "inner.xml"):
            (tmp_path / "model" / "arm.xml").write_text(f"<mujoco><include file='{file}'/></mujoco>")
            with pytest.raises(InputError, match="outside its folder"):
                load_mechanism(tmp_path / "model" / "arm.xml")

    @pytest.mark.parametrize("stated", ["../../secret.toml", "/etc/passwd", ".."])
    def test_the_arm_file_of_a_run(self, bring, tmp_path, stated):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        run = bring(tmp_path / "log.npz")
        (tmp_path / "secret.toml").write_bytes(run.arm.path.read_bytes())
        record = json.loads((run.path / "run.json").read_text())
        (run.path / "run.json").write_text(json.dumps(record | {"arm_file": stated}))
        with pytest.raises(InputError):
            load_run(run.path)

    def test_the_model_of_a_calibration(self, tmp_path):
        from stribeck.ident.calibration.calibration import Calibration

        (tmp_path / "in").mkdir()
        (tmp_path / "secret.urdf").write_bytes((GOLDEN / "pendulum.urdf").read_bytes())
        text = (GOLDEN / "calibration.toml").read_text()
        (tmp_path / "in" / "calibration.toml").write_text(text.replace('"pendulum.urdf"', '"../secret.urdf"'))
        with pytest.raises(InputError):
            _ = Calibration.load(tmp_path / "in" / "calibration.toml").mechanism
