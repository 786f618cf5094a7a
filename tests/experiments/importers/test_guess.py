"""Guessed columns and units: the guesses are right, and are printed before they are used."""

import io
import re
import shlex

import numpy as np
import pytest

from stribeck.experiments.importers.columns import parse_columns, read_map
from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import SIGNALS, load_run
from tests.experiments.importers.logged_motion import NAMES, ROWS, TAU, Q, T, assert_is_the_log


class TestText:
    @pytest.mark.parametrize(
        ("head", "separator"),
        [
            ("", ","),
            ("", " "),
            ("", "|"),
            ("# t q_1 q_2 tau_1 tau_2\n", " "),
            ("Logger 3\nrig 7\n\nt;q_1;q_2;tau_1;tau_2\n", ";"),
            ("t;q_1;q_2;tau_1;tau_2\ns;rad;rad;Nm;Nm\n", ";"),
            ('"t","q_1","q_2","tau_1","tau_2"\n', ","),
        ],
    )
    def test_headers_of_all_kinds(self, bring, tmp_path, head, separator):
        rows = [
            separator.join(repr(value) for value in row)
            for row in np.column_stack((T, Q, TAU)).tolist()
        ]
        (tmp_path / "log.csv").write_text(head + "\n".join(rows) + "\n")
        given = [] if "t" in head else ["t=1", "q=2:3", "tau=4:5"]
        run = bring(tmp_path / "log.csv", given)
        assert_is_the_log(run)
        if "Nm" in head:
            assert run.record["import"]["columns"]["q.turn"]["unit"] == "rad"

    @pytest.mark.parametrize("missing", [1, 2])
    def test_the_last_columns_may_be_empty_in_the_first_row(self, bring, tmp_path, missing):
        """As pandas writes a temperature that was first measured later."""
        rows = [
            [repr(value) for value in row] + ["40.0"] * 2
            for row in np.column_stack((T, Q, TAU)).tolist()
        ]
        rows[0][-missing:] = [""] * missing
        header = "t,q_1,q_2,tau_1,tau_2,temperature_1,temperature_2"
        (tmp_path / "log.csv").write_text(
            "\n".join([header, *(",".join(row) for row in rows)]) + "\n"
        )
        run = bring(tmp_path / "log.csv")
        assert_is_the_log(run)
        assert np.isnan(run.signals["temperature"][0]).sum() == missing
        assert (run.signals["temperature"][1:] == 40.0).all()

    def test_a_line_of_units_with_an_unknown_unit(self, bring, tmp_path):
        rows = [
            ",".join(repr(value) for value in row)
            for row in np.column_stack((T, Q, TAU, TAU[:, 0])).tolist()
        ]
        (tmp_path / "log.csv").write_text(
            "t,q_1,q_2,tau_1,tau_2,duty\n[s],[rad],[rad],[Nm],[Nm],[%]\n" + "\n".join(rows) + "\n"
        )
        assert open_log(tmp_path / "log.csv").names == (
            "t [s]",
            "q_1 [rad]",
            "q_2 [rad]",
            "tau_1 [Nm]",
            "tau_2 [Nm]",
            "duty [%]",
        )
        assert_is_the_log(bring(tmp_path / "log.csv"))

    def test_a_range_needs_one_column_for_each_joint(self):
        with pytest.raises(InputError, match="3 columns for 2 joints"):
            parse_columns(["q=2:4"], NAMES)

    def test_a_truncated_last_row_is_left_out_with_a_note(self, bring, tmp_path):
        rows = [
            ",".join(repr(value) for value in row) for row in np.column_stack((T, Q, TAU)).tolist()
        ]
        (tmp_path / "log.csv").write_text("t,q_1,q_2,tau_1,tau_2\n" + "\n".join(rows)[:-25])
        run = bring(tmp_path / "log.csv")
        assert len(run.t) == ROWS - 1
        assert run.record["import"]["notes"] == [
            "1 row(s) at the ends of the log are incomplete and are left out"
        ]

    def test_a_column_map_in_a_file(self, tmp_path):
        (tmp_path / "map.toml").write_text('t = "time[ms]"\n"q.turn" = "a[deg]"\n')
        assert read_map(tmp_path / "map.toml") == ("t=time[ms]", "q.turn=a[deg]")
        (tmp_path / "map.toml").write_text('q.turn = "a[deg]"\n')
        with pytest.raises(InputError, match="a key with a dot"):
            read_map(tmp_path / "map.toml")


class TestGuesses:
    @pytest.mark.parametrize(
        ("header", "found"),
        [
            (
                "timestamp,position_1,position_2,effort_1,effort_2",
                "timestamp position_1 position_2 effort_1 effort_2",
            ),
            (
                "timestamp,actual_q_0,actual_q_1,target_q_0,target_q_1,actual_current_0,actual_current_1,target_moment_0",
                "timestamp actual_q_0 actual_q_1 actual_current_0 actual_current_1",
            ),
            (
                "time_[s],joint1/position,joint2/position,joint1/effort,joint2/effort,joint1/velocity,joint2/velocity",
                "time_[s] joint1/position joint2/position joint1/effort joint2/effort",
            ),
            (
                "t,q.turn,q.lift,q_cmd.turn,q_cmd.lift,dq.turn,dq.lift,tau.lift,tau.turn,t.turn,t.lift",
                "t q.turn q.lift tau.turn tau.lift",
            ),
            (
                "t,lift_position,turn_position,lift_torque,turn_torque",
                "t turn_position lift_position turn_torque lift_torque",
            ),
            (
                "sec,q0,q1,q2,tau_J_0,tau_J_1,tau_J_d_0,tau_J_d_1,tau_ext_0,tau_ext_1",
                "sec q0 q1 tau_J_0 tau_J_1",
            ),
            (
                "t,q_1,q_2,motor_torque_1,motor_torque_2,link_torque_1,link_torque_2",
                "t q_1 q_2 motor_torque_1 motor_torque_2",
            ),
            # two equally good sets of columns: no guess
            ("t,a_q_1,a_q_2,b_q_1,b_q_2,tau_1,tau_2", "t - - tau_1 tau_2"),
            ("t,qd_1,qd_2,tau_1,tau_2", "t - - tau_1 tau_2"),
            (
                "Zeit [s];Winkel 1 [rad];Winkel 2 [rad];Drehmoment 1 [Nm];Drehmoment 2 [Nm]",
                "Zeit [s];Winkel 1 [rad];Winkel 2 [rad];Drehmoment 1 [Nm];Drehmoment 2 [Nm]",
            ),
            (
                "Zeit;Istposition Achse 1;Istposition Achse 2;Sollposition Achse 1;Sollposition "
                "Achse 2;Iststrom Achse 1;Iststrom Achse 2",
                "Zeit;Istposition Achse 1;Istposition Achse 2;Iststrom Achse 1;Iststrom Achse 2",
            ),
            ("t,pos_1,pos_2,eff_1,eff_2", "t pos_1 pos_2 eff_1 eff_2"),
            # the units decide
            (
                "temps [s];axe 1 [rad];axe 2 [rad];axe 1 [rad/s];axe 2 [rad/s];couple 1 "
                "[Nm];couple 2 [Nm]",
                "temps [s];axe 1 [rad];axe 2 [rad];couple 1 [Nm];couple 2 [Nm]",
            ),
        ],
    )
    def test_names(self, arm, tmp_path, header, found):
        separator = ";" if ";" in header else ","
        width = header.count(separator) + 1
        (tmp_path / "log.csv").write_text(
            header
            + "\n"
            + "".join(
                separator.join([repr(k / 100)] + ["0.1"] * (width - 1)) + "\n" for k in range(5)
            )
        )
        columns = {
            entry.target: entry.column
            for entry in guess_columns(open_log(tmp_path / "log.csv"), (), arm, load_mechanism(arm))
        }
        assert [
            columns.get(target, "-") for target in ("t", "q.turn", "q.lift", "tau.turn", "tau.lift")
        ] == (found.split(";") if ";" in found else found.split())

    @pytest.mark.slow
    def test_unused_columns_are_printed_if_the_log_has_too_many_joints(
        self, bring, cli, arm, tmp_path
    ):
        """The log may belong to another arm."""
        np.savez(
            tmp_path / "log.npz", t=T, q=np.column_stack((Q, Q)), tau=np.column_stack((TAU, TAU))
        )
        seen = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--yes")
        assert seen.code == 0, seen.err
        assert (
            '--column "q.turn=q.0[rad]"  (name; first 2 of 4 numbered columns, in order; the '
            "usual unit)" in seen.out
        )
        assert "not used  q.2, q.3, tau.2, tau.3" in seen.out

    @pytest.mark.parametrize(("scale", "unit"), [(1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")])
    def test_the_unit_of_time_is_guessed_from_the_steps(self, bring, tmp_path, scale, unit):
        np.savez(tmp_path / "log.npz", t=scale * T, q=Q, tau=TAU)
        run = bring(tmp_path / "log.npz")
        assert_is_the_log(run)
        assert run.record["import"]["columns"]["t"]["unit"] == unit
        assert "steps" in run.record["import"]["columns"]["t"]["guess"]

    @pytest.mark.parametrize("name", ["q", "q_deg", "q [deg]"])
    def test_degrees_are_guessed_from_name_or_size(self, bring, tmp_path, name):
        values = np.column_stack(
            (T, np.degrees(Q[:, 0]), 1000.0 * TAU[:, 0], np.degrees(Q[:, 1]), 1000.0 * TAU[:, 1])
        )
        stem, _, unit = name.partition(" ")
        header = [f"{stem.replace('q', f'q{k}')} {unit}".strip() for k in (1, 2)]
        np.savetxt(
            tmp_path / "log.csv",
            values,
            delimiter=",",
            header=f"t,{header[0]},tau1 [mNm],{header[1]},tau2 (mNm)",
            comments="",
            fmt="%.17g",
        )
        assert_is_the_log(bring(tmp_path / "log.csv"))

    def test_a_joint_that_hardly_moves_gets_the_unit_of_the_others(self, bring, tmp_path):
        """A span of two could be degrees or radians."""
        q = np.column_stack((Q[:, 0], 0.02 + 0.01 * Q[:, 1]))
        np.savez(tmp_path / "log.npz", t=T, q=np.degrees(q), tau=TAU)
        run = bring(tmp_path / "log.npz")
        np.testing.assert_allclose(run.signals["q"], q, atol=1e-12)
        assert (
            run.record["import"]["columns"]["q.lift"]["guess"]
            == "name; joints by order; same unit as turn"
        )

    def test_a_joint_that_rests_far_outside_its_limits_is_refused(self, bring, tmp_path):
        np.savez(
            tmp_path / "log.npz", t=T, q=np.column_stack((Q[:, 0], np.full(ROWS, 45.0))), tau=TAU
        )
        with pytest.raises(
            InputError,
            match=r"the position of lift is 45 rad, far outside its limits, -1.5 ... 1.5 rad",
        ):
            bring(tmp_path / "log.npz", ["q.lift=q.1[rad]"])

    def test_joint_names_are_not_read_as_units(self, make_arm, tmp_path):
        """KUKA's joints are named A1, A2, ...; this does not mean that effort is in ampere."""
        header = "t,position.joint_a1,position.joint_a2,effort.joint_a1,effort.joint_a2"
        (tmp_path / "log.csv").write_text(
            header + "\n" + "".join(f"{k / 100},0.1,0.1,0.1,0.1\n" for k in range(5))
        )
        arm = make_arm()
        found = {
            entry.target: entry
            for entry in guess_columns(open_log(tmp_path / "log.csv"), (), arm, load_mechanism(arm))
        }
        assert found["tau.turn"].column == "effort.joint_a1"
        assert found["tau.turn"].unit == "Nm"

    @pytest.mark.parametrize("name", ["Time (sec)", "time [seconds]", "time_secs"])
    def test_spellings_of_seconds(self, bring, tmp_path, name):
        np.savetxt(
            tmp_path / "log.csv",
            np.column_stack((T, Q, TAU)),
            delimiter=",",
            comments="",
            fmt="%.17g",
            header=f"{name},q1,q2,tau1,tau2",
        )
        assert_is_the_log(bring(tmp_path / "log.csv"))

    @pytest.mark.parametrize("at", [0, 512])
    def test_matlab_7_3_is_detected_by_its_header(self, tmp_path, at):
        head = b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(at)[:at] + b"\x89HDF\r\n\x1a\n"
        (tmp_path / "log.mat").write_bytes(head + bytes(2000))
        with pytest.raises(InputError, match="cannot be read as an HDF5 file"):
            open_log(tmp_path / "log.mat")

    @pytest.mark.slow
    def test_an_unknown_unit_of_time_is_refused_with_a_working_example(self, bring, tmp_path):
        np.savetxt(
            tmp_path / "log.csv",
            np.column_stack((100.0 * T, Q, TAU)),
            delimiter=",",
            header="time [cs],q1,q2,tau1,tau2",
            comments="",
            fmt="%.17g",
        )
        with pytest.raises(InputError, match=r'--column "t=time\[1.5 s/cs\]"'):
            bring(tmp_path / "log.csv")
        assert_is_the_log(bring(tmp_path / "log.csv", ["t=time[0.01 s/cs]"]))

    @pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[us]", "timedelta64[ms]"])
    @pytest.mark.slow
    def test_numpy_dates_are_times(self, cli, arm, tmp_path, kind):
        t = (
            (
                np.round(1e9 * T).astype(np.int64)
                + (1_760_000_000_000_000_000 if kind.startswith("date") else 0)
            )
            .astype(f"{kind[: kind.index('6')]}64[ns]")
            .astype(kind)
        )
        np.savez(tmp_path / "log.npz", stamp=t, q=Q, tau=TAU)
        outcome = cli(
            "import", tmp_path / "log.npz", "--arm", arm.path, "--yes", "--out", tmp_path / "out"
        )
        assert outcome.code == 0, outcome.err
        assert '--column "t=stamp[s]"' in outcome.out
        run = load_run(find_runs(tmp_path / "out")[0], ("t", "q"))
        np.testing.assert_allclose(run.t - run.t[0], T - T[0], atol=1e-6)

    @pytest.mark.slow
    def test_guesses_are_printed_before_they_are_used(self, cli, arm, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "--yes")
        assert outcome.code == 0
        for line in (
            '--column "t=t[s]"',
            '--column "q.lift=q.1[rad]"',
            '--column "tau.turn=tau.0[Nm]"',
        ):
            assert f"guess     {line}  (name" in outcome.out
        assert outcome.out.index("guess") < outcome.out.index("wrote")

    @pytest.mark.slow
    def test_guesses_need_yes_without_a_terminal(self, cli, arm, tmp_path):
        """The refusal lists the guesses as options; with these options nothing is guessed."""
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        refused = cli("import", tmp_path / "log.npz", "--arm", arm.path, "-o", tmp_path / "out")
        assert refused.code == 2
        assert not (tmp_path / "out").exists()
        (line,) = refused.err.splitlines()
        options = shlex.split(line[line.index("--column") :])
        assert options[1::2] == [
            "t=t[s]",
            "q.turn=q.0[rad]",
            "q.lift=q.1[rad]",
            "tau.turn=tau.0[Nm]",
            "tau.lift=tau.1[Nm]",
            "motor current",
        ]
        for k, agreed in enumerate((options, ["--yes"])):
            outcome = cli(
                "import", tmp_path / "log.npz", "--arm", arm.path, *agreed, "-o", tmp_path / str(k)
            )
            assert outcome.code == 0, outcome.err

    @pytest.mark.parametrize(
        ("given", "guess"),
        [
            (("--torque-signal", "motor current"), '--column "t=t[s]"'),
            (("--column", "t=t"), "--torque-signal 'motor current'"),
        ],
    )
    def test_a_single_guess_is_refused_without_a_terminal(self, cli, arm, tmp_path, given, guess):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        columns = [
            part
            for entry in ("q.turn=q.0", "q.lift=q.1", "tau.turn=tau.0", "tau.lift=tau.1")
            for part in ("--column", entry)
        ]
        refused = cli("import", tmp_path / "log.npz", "--arm", arm.path, *columns, *given)
        assert (refused.code, refused.err.rstrip().endswith(f"columns: {guess}")) == (2, True), (
            refused.err
        )

    @pytest.mark.slow
    def test_the_torque_signal_of_the_arm_file_is_not_a_guess(self, cli, make_arm, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        columns = [
            part
            for entry in ("t=t", "q.turn=q.0", "q.lift=q.1", "tau.turn=tau.0", "tau.lift=tau.1")
            for part in ("--column", entry)
        ]
        arm = make_arm({"torque_signal": "commanded"})
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, *columns)
        assert outcome.code == 0, outcome.err

    HEADS = pytest.mark.parametrize(
        "header",
        [
            "Time [s],turn Position [deg],lift Position [deg],turn Torque [mNm],lift Torque "
            "[mNm],turn Temperature,lift Temperature",
            "Time [ms],Pos [deg] turn,Pos [deg] lift,Torque [mNm] turn,Torque [mNm] lift",
            "Time (sec),(deg) pos turn,(deg) pos lift,turn (Nm) torque,lift (Nm) torque",
            "Zeit [ms];Istwinkel [°] Achse 1;Istwinkel [°] Achse 2;Istmoment (mNm) Achse "
            "1;Istmoment (mNm) Achse 2",
            "Zeit [s];Lage (ist) Achse 1;Lage (ist) Achse 2;Drehmoment Achse 1 [N·m];Drehmoment "
            "Achse 2 [N·m]",
            "t,q[0] [deg],q[1] [deg],tau_m[0],tau_m[1]",
            "t,q[0] [Degrees] actual,q[1] [Degrees] actual,tau_m[0] (mNm),tau_m[1] (mNm)",
            "t,q[turn].pos,q[lift].pos,tau[turn].raw_nm,tau[lift].raw_nm",
            "$t [us],$pos 1 [deg],$pos 2 [deg],`tau` 1,`tau` 2",
        ],
    )

    def log_in_units(self, path, header):
        """The log in the units that its header states."""
        separator = ";" if ";" in header else ","
        scale = {
            "ms": 1e3,
            "us": 1e6,
            "deg": np.degrees(1.0),
            "°": np.degrees(1.0),
            "Degrees": np.degrees(1.0),
            "mNm": 1e3,
        }
        names = header.split(separator)
        values = np.column_stack((T, Q, TAU, 40.0 + T, 40.0 + T))[:, : len(names)]
        values = values * [
            max(
                factor if f"[{unit}]" in name or f"({unit})" in name else 1.0
                for unit, factor in scale.items()
            )
            for name in names
        ]
        path.write_text(
            header
            + "\n"
            + "".join(separator.join(map(repr, row)) + "\n" for row in values.tolist()),
            encoding="utf-8",
        )
        return path

    @HEADS
    @pytest.mark.slow
    def test_printed_guesses_work_as_options_and_in_a_map_file(self, cli, arm, tmp_path, header):
        """They give the same run as the guesses."""
        log = self.log_in_units(tmp_path / "log.csv", header)
        outcome = cli("import", log, "--arm", arm.path, "--yes", "-o", tmp_path / "guessed")
        assert outcome.code == 0, outcome.err
        guessed = load_run(next((tmp_path / "guessed/runs").iterdir()), SIGNALS)
        assert_is_the_log(guessed, 1e-9)
        shown = re.findall(r"^guess +(--column .*?)  \(", outcome.out, flags=re.MULTILINE)
        assert (
            len(shown) == len(guessed.record["import"]["columns"]) == len(re.split("[;,]", header))
        )
        entries = [option.removeprefix("--column ") for option in shown]
        (tmp_path / "map.toml").write_text(
            "".join(
                f'"{entry[1:].partition("=")[0]}" = {entry[0]}{entry.partition("=")[2]}\n'
                for entry in entries
            ),
            encoding="utf-8",
        )
        for name, given in (
            ("shell", shlex.split(" ".join(shown))),
            ("map", ["--map", tmp_path / "map.toml"]),
        ):
            outcome = cli(
                "import",
                log,
                "--arm",
                arm.path,
                *given,
                "--torque-signal",
                "motor current",
                "-o",
                tmp_path / name,
            )
            assert outcome.code == 0, outcome.err
            assert "guess  " not in outcome.out
            run = load_run(next((tmp_path / name / "runs").iterdir()), SIGNALS)
            stated = {
                target: {key: value for key, value in column.items() if key != "guess"}
                for target, column in guessed.record["import"]["columns"].items()
            }
            assert run.record["import"]["columns"] == stated
            assert run.signals.keys() == guessed.signals.keys()
            for signal, values in guessed.signals.items():
                np.testing.assert_array_equal(run.signals[signal], values)

    @pytest.mark.parametrize("answer", ["y", "n"])
    def test_guesses_are_confirmed_on_a_terminal(self, cli, arm, tmp_path, monkeypatch, answer):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        monkeypatch.setattr("sys.stdin", Terminal(f"\n{answer}\n"))
        outcome = cli("import", tmp_path / "log.npz", "--arm", arm.path, "-o", tmp_path / "out")
        assert (
            "Which torque does log.npz hold? motor current, commanded, joint sensor, compensated"
            in outcome.out
        )
        assert (outcome.code, (tmp_path / "out").exists()) == (
            (0, True) if answer == "y" else (3, False)
        )


class Terminal(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self):
        return True
