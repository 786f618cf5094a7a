"""`stribeck import`: options for common logs, and refusals that name a command that
works on the refused log.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.table import in_memory
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import load_run
from tests.experiments.importers.logged_motion import ROWS, TAU, Q, T

HEADER = ("t", "q1", "q2", "tau1", "tau2")
COLUMNS = np.column_stack((T, Q, TAU))


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def bring(cli, arm, tmp_path):
    """Return a function that imports a CSV with more options and returns the outcome."""

    def run(header, columns, *options):
        path = tmp_path / "log.csv"
        path.write_text(
            "\n".join((",".join(header), *(",".join(f"{x:.9g}" for x in row) for row in columns))),
            encoding="utf-8",
        )
        return cli("import", path, "--arm", arm.path, "--yes", *options)

    return run


def recorded(outcome):
    assert outcome.code == 0, outcome.err
    return load_run(*Path().glob("campaign-*/runs/*"))


def test_a_log_without_time(bring):
    refused = bring(HEADER[1:], COLUMNS[:, 1:])
    assert refused.code == 2
    assert "--rate HZ" in refused.err
    assert "N·m" not in refused.err
    done = bring(HEADER[1:], COLUMNS[:, 1:], "--rate", "100")
    np.testing.assert_allclose(recorded(done).t, T, atol=1e-9)


def test_a_rate_beside_a_time(bring):
    refused = bring(HEADER, COLUMNS, "--rate", "100", "--column", "t=t[s]")
    assert refused.code == 2
    assert "leave out one of them" in refused.err


def test_a_stretch(bring):
    run = recorded(bring(HEADER, COLUMNS, "--from", "1", "--to", "2"))
    np.testing.assert_allclose(run.signals["tau"], TAU[100:201], atol=1e-6)
    assert "--from 1 --to 2: 101 of 400 rows are used" in run.record["import"]["notes"]


def test_misleading_column_name(bring):
    """Two sets of torques with equally good names are refused; with the second
    left out, the first is used.
    """
    header, columns = (*HEADER, "torque1", "torque2"), np.column_stack((COLUMNS, TAU[:, ::-1]))
    refused = bring(header, columns)
    assert refused.code == 2
    options = shlex.split(" ".join(re.findall(r"--ignore [^\s;]+", refused.err)))
    assert options, refused.err
    assert bring(header, columns, *options).code == 0


def test_currents_by_one_factor_each(bring):
    columns = np.column_stack((T, Q, TAU / (0.5, 0.2)))
    run = recorded(
        bring(("t", "q1", "q2", "i_1", "i_2"), columns, "--column", "tau=i_1:i_2[0.5, 0.2 N·m/A]")
    )
    np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-6)


def test_missing_torque_names_possible_columns(bring):
    columns = np.column_stack((T, Q, 100.0 * TAU))
    refused = bring(("t", "q1", "q2", "load1", "pwm2"), columns)
    assert refused.code == 2
    assert "pulse width, not a torque" in refused.err
    assert len(columns) == ROWS


@pytest.mark.slow
class TestKnownNames:
    """Column names of UR's RTDE recorder, LeRobot and Franka's programs; measured signals
    among commands and poses.
    """

    @pytest.mark.parametrize(
        ("before", "names", "beside", "torque"),
        [
            (
                "timestamp",
                ("actual_q_", "actual_qd_", "actual_current_"),
                (
                    "target_q_",
                    "target_qd_",
                    "target_qdd_",
                    "target_current_",
                    "target_moment_",
                    "joint_control_output_",
                    "actual_TCP_pose_",
                    "actual_TCP_force_",
                    "joint_temperatures_",
                    "actual_joint_voltage_",
                ),
                "A",
            ),
            (
                "timestamp",
                ("joint_positions.", "joint_velocities.", "motor_torques_measured."),
                ("joint_torques_computed.", "motor_torques_external.", "motor_torques_desired."),
                "Nm",
            ),
            (
                "%time",
                ("field.q", "field.dq", "field.tau_J"),
                ("field.q_d", "field.tau_J_d", "field.dtau_J"),
                "Nm",
            ),
            (
                "timestamp",
                ("observation.state.pos_", "observation.state.vel_", "observation.effort_"),
                ("action.pos_",),
                "Nm",
            ),
        ],
    )
    def test_known_names_are_recognised_among_other_columns(
        self, arm, before, names, beside, torque
    ):
        columns = {
            before: T,
            **{f"{name}{k}": Q[:, k] for name in (*beside, *names) for k in (0, 1)},
        }
        found = guess_columns(in_memory("log", columns), (), arm, load_mechanism(arm))
        own = {entry.target: (entry.column, entry.unit) for entry in found}
        assert own["t"] == (before, "s")
        for signal, name in zip(("q", "dq", "tau"), names, strict=True):
            assert own[f"{signal}.turn"][0] == f"{name}0"
        assert own["tau.lift"] == (f"{names[2]}1", torque)

    def test_a_sensor_behind_the_gear(self, bring):
        """Neither it nor the command, to which the robot adds friction, is taken; the option of the
        message imports a torque.
        """
        header = ("time", "q[0]", "q[1]", "tau_J[0]", "tau_J[1]", "tau_J_d[0]", "tau_J_d[1]")
        columns = np.column_stack((T, Q, TAU, 0.5 * TAU))
        refused = bring(header, columns)
        assert refused.code == 2
        assert "sensor behind the gear" in refused.err
        assert "tau_J_d is a command without gravity and friction" in refused.err
        options = shlex.split(re.search(r"its kind: (--torque-signal .*)$", refused.err.strip())[1])
        run = recorded(bring(header, columns, *options))
        np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-6)
        assert run.record["import"]["torque_signal"] == "motor current"

    def test_a_torque_without_gravity(self, bring):
        """Of UR's RTDE: refused alone, and left out beside currents."""
        header = (
            "timestamp",
            "actual_q_0",
            "actual_q_1",
            "actual_current_as_torque_0",
            "actual_current_as_torque_1",
        )
        columns = np.column_stack((T, Q, TAU))
        refused = bring(header, columns)
        assert refused.code == 2
        assert "subtracted gravity" in refused.err
        both = bring(
            (*header, "actual_current_0", "actual_current_1"),
            np.column_stack((columns, TAU / 0.5)),
            "--torque-constant",
            "gravity",
        )
        assert "tau.turn=actual_current_0[A]" in both.out

    def test_torque_setpoints_of_a_controller(self, bring):
        """Simulators log such torques. A message names them if they are the only torques,
        and an option imports them.
        """
        header = (
            "time",
            "dof_pos.0",
            "dof_pos.1",
            "des_dof_pos.0",
            "des_dof_pos.1",
            "des_dof_torque.0",
            "des_dof_torque.1",
        )
        columns = np.column_stack((T, Q, Q, TAU))
        refused = bring(header, columns)
        assert refused.code == 2
        assert (
            "similar columns are commanded torques: import them with --torque-signal commanded"
            in refused.err
        )
        run = recorded(bring(header, columns, "--torque-signal", "commanded"))
        np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-6)
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-6)
