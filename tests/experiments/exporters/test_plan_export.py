"""Export of plans: an exported plan, played by another controller and imported again,
gives the arm's friction.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.exporters.plan_export import plan_writer, write_joint_trajectory
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.registry import METHODS
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, motion_profile
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration

QUICK = {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}
SMALL = ConstantSpeed(postures=2, speeds=3)


@pytest.fixture(scope="module")
def arm(make_arm):
    return make_arm(
        {
            "joints": {"turn": QUICK, "lift": QUICK},
            "simulation": {"torque_noise": 0.2, "encoder_step": 1e-5},
        }
    )


def read_csv(path):
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], np.array(rows[1:], dtype=float)


def spline(path):
    """Read a joint trajectory like its controller in ROS 2: cubics through
    positions and velocities.
    """
    message = json.loads(path.read_text(encoding="utf-8"))
    t = [
        point["time_from_start"]["sec"] + 1e-9 * point["time_from_start"]["nanosec"]
        for point in message["points"]
    ]
    q, dq = (
        np.array([point[key] for point in message["points"]]) for key in ("positions", "velocities")
    )
    return message, CubicHermiteSpline(t, q, dq), np.array(t)


def test_no_two_points_of_a_joint_trajectory_have_one_time(arm, make_plan, tmp_path):
    plan = make_plan(arm, speeds=(0.4, 0.2))
    write_joint_trajectory(plan, tmp_path / "plan.json", arm)
    points = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["points"]
    times = [tuple(point["time_from_start"].values()) for point in points]
    assert len(times) > len(plan.segments)
    assert times == sorted(set(times))


@pytest.fixture(
    params=[plan_constant_speed, plan_whole_arm], ids=["single", "whole arm"], scope="module"
)
def exported(request, arm, tmp_path_factory):
    """A plan, and the folder with its files."""
    plan, folder = request.param(arm, None, 1, SMALL), tmp_path_factory.mktemp("plan")
    for suffix in ("toml", "csv", "json"):
        plan_writer(folder / f"plan.{suffix}")(plan, folder / f"plan.{suffix}", arm)
    return plan, folder


class TestFiles:
    def test_the_csv_file_has_every_cycle_of_the_plan(self, arm, exported):
        plan, folder = exported
        header, values = read_csv(folder / "plan.csv")
        assert header == ["t", "segment", "q.turn", "q.lift", "dq.turn", "dq.lift"]
        t, segment, q, dq = values[:, 0], values[:, 1], values[:, 2:4], values[:, 4:]
        np.testing.assert_allclose(np.diff(t), 1.0 / arm.driver.rate, atol=1.1e-6)
        assert plan.robot_time <= t[-1] < plan.robot_time + 1.5 / arm.driver.rate
        assert list(dict.fromkeys(segment.astype(int).tolist())) == [
            one.id for one in plan.segments
        ]
        np.testing.assert_allclose(q[0], plan.start, atol=1e-9)
        np.testing.assert_allclose(q[-1], plan.segments[-1].target, atol=1e-8)
        ramps = ACCELERATION_SHARE * arm.limits(load_mechanism(arm)).acceleration
        step = np.diff(t)[:, None]
        atol = float(ramps.max()) * step.max() / 3.0
        np.testing.assert_allclose(np.diff(q, axis=0) / step, (dq[1:] + dq[:-1]) / 2.0, atol=atol)
        assert (np.abs(np.diff(dq, axis=0)) <= ramps * step * 1.001 + 1e-6).all()

    def test_every_stroke_has_its_speed(self, exported):
        plan, folder = exported
        _, values = read_csv(folder / "plan.csv")
        for start, segment in plan.legs():
            if segment.kind != "move":
                reached = np.abs(values[values[:, 1] == segment.id][:, 4:]).max(axis=0)
                np.testing.assert_allclose(reached, segment.speeds(start, plan.names), rtol=1e-6)

    def test_the_joint_trajectory_is_the_same_motion_with_few_points(self, arm, exported):
        plan, folder = exported
        message, motion, t = spline(folder / "plan.json")
        assert message["joint_names"] == ["turn", "lift"]
        assert set(message["points"][0]) == {
            "positions",
            "velocities",
            "accelerations",
            "effort",
            "time_from_start",
        }
        assert (np.diff(t) > 0.0).all()
        assert t[-1] == pytest.approx(plan.robot_time, abs=1e-6)
        assert len(t) <= 4 * len(plan.segments) + 1
        _, values = read_csv(folder / "plan.csv")
        inside = values[:, 0] <= t[-1]
        np.testing.assert_allclose(motion(values[inside, 0]), values[inside, 2:4], atol=2e-6)
        np.testing.assert_allclose(motion(values[inside, 0], 1), values[inside, 4:], atol=2e-5)
        limits = arm.limits(load_mechanism(arm))
        assert (
            motion_profile(np.array(plan.start), plan.segments[0], plan.names, limits).duration
            <= t[-1]
        )


@pytest.mark.slow
class TestCommand:
    @pytest.mark.usefixtures("short")
    def test_a_note_says_which_limits_were_checked(self, cli, make_arm):
        bare, boxed = (
            make_arm({"workspace": None}),
            make_arm({"workspace": {"box": [[-1.0, 1.0]] * 3}}),
        )
        said = [
            " ".join(cli("plan", arm.path, "-o", name).out.split())
            for arm, name in ((bare, "bare.csv"), (boxed, "boxed.json"), (boxed, "plan.toml"))
        ]
        assert (
            "note checked against the limits and nothing else, as neither a box nor geometry is "
            "stated" in said[0]
        )
        assert "note checked against the limits and the workspace box -1 … 1" in said[1]
        assert "checked against" not in said[2]

    @pytest.mark.parametrize("suffix", [".csv", ".json", ".toml", ".CSV"])
    @pytest.mark.usefixtures("short")
    def test_the_suffix_chooses_the_format(self, cli, arm, tmp_path, suffix):
        out = tmp_path / f"plan{suffix}"
        outcome = cli("plan", arm.path, "--joints", "turn", "-o", out)
        assert outcome.code == 0, outcome.err
        text = out.read_text(encoding="utf-8")
        assert text.startswith(
            {".csv": "t,segment,", ".json": '{"header"', ".toml": "schema"}[suffix.lower()]
        )

    def test_another_suffix_is_refused_before_planning(self, cli, arm, tmp_path):
        outcome = cli("plan", arm.path, "-o", tmp_path / "plan.yaml")
        assert outcome.code == 2
        assert "unknown kind of plan file '.yaml'" in outcome.err
        assert ".toml, .csv, .json" in outcome.err
        assert not (tmp_path / "plan.yaml").exists()


def play(arm_path: Path, trajectory: Path, log: Path) -> None:
    """Play a trajectory with another controller, whose log has
    milliseconds, degrees and amperes.
    """
    arm = SimulatedArm(load_arm(arm_path), seed=9)
    if trajectory.suffix == ".csv":
        _, values = read_csv(trajectory)
        q, dq = values[:, 2:4], values[:, 4:]
    else:
        _, motion, t = spline(trajectory)
        times = np.arange(0.0, t[-1], 1.0 / arm.rate)
        q, dq = motion(times), motion(times, 1)
    rows, error = [], np.zeros(2)
    with arm:
        arm.enable()
        for wanted, rate in zip(q, dq, strict=True):
            sample = arm.step(Command(rate + 5.0 * error))
            error = wanted - sample.q
            rows.append([1e3 * sample.t, *np.rad2deg(sample.q), *(sample.tau / 0.25)])
    np.savetxt(log, rows, delimiter=";", header="time_ms;a1;a2;i1;i2", comments="", fmt="%.10g")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_log_of_another_controller_gives_the_arms_friction(cli, arm, tmp_path, monkeypatch):
    suffix, method = ".csv", "whole-arm"
    make, options = METHODS[method][0], ConstantSpeed(postures=2, speeds=6, longest_stroke=4.0)
    monkeypatch.setitem(METHODS, method, (make, options))
    assert cli("plan", arm.path, "--method", method, "-o", tmp_path / f"plan{suffix}").code == 0
    play(arm.path, tmp_path / f"plan{suffix}", tmp_path / "log.csv")
    columns = [
        "t=time_ms[ms]",
        "q.turn=a1[deg]",
        "q.lift=a2[deg]",
        "tau.turn=i1[0.25 N·m/A]",
        "tau.lift=i2[0.25 N·m/A]",
    ]
    imported = cli(
        "import",
        tmp_path / "log.csv",
        "--arm",
        arm.path,
        "--yes",
        "-o",
        tmp_path / "campaign",
        *(part for column in columns for part in ("--column", column)),
    )
    assert imported.code == 0, imported.err
    fitted = cli("fit", tmp_path / "campaign", "--load", "none", "-o", tmp_path / "fit")
    assert fitted.code == 0, fitted.err
    joints = Calibration.load(tmp_path / "fit").joints
    truth = {
        "turn": {"coulomb": 3.0, "static": 4.5, "stribeck_velocity": 0.08, "viscous": 2.0},
        "lift": {"coulomb": 2.0, "viscous": 1.5},
    }
    # in half widths: by chance, one 95 % interval may miss slightly, or two if correlated
    off = {}
    for name, values in truth.items():
        assert {
            key for key, entry in joints[name].parameters.items() if entry.verdict == "identified"
        } == set(values)
        off |= {
            (name, key): (joints[name].parameters[key].value - value)
            / joints[name].parameters[key].half_width
            for key, value in values.items()
        }
    assert max(map(abs, off.values())) < 1.5, off
    assert sum(abs(miss) > 1.0 for miss in off.values()) <= 2, off
