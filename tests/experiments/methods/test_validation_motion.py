"""The validation motion: a good calibration passes, a bad calibration fails,
the fitted run is refused.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tomlkit

from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods import validation_motion
from stribeck.experiments.methods.validation_motion import SWINGS, plan_validation
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE, motion_profile
from stribeck.experiments.plans.plan import Plan, read_plan, write_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration import validation
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import validate
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import FITTED, VALIDATION, load_run
from tests.places import DATA

GOLDEN = DATA / "golden"


def swings(plan: Plan):
    return [(start, segment) for start, segment in plan.legs() if segment.kind == "swing"]


@pytest.mark.parametrize("arm", ["lab6", "offset6"])
@pytest.mark.parametrize("seed", [0])
class TestPlan:
    @pytest.mark.slow
    def test_swings_keep_position_speed_and_acceleration_and_end_at_rest(self, arm, seed):
        file = load_arm(arm)
        plan, limits = plan_validation(file, seed=seed), file.limits(load_mechanism(file))
        assert len(swings(plan)) == SWINGS
        for start, segment in swings(plan):
            motion, target = (
                motion_profile(start, segment, plan.names, limits),
                np.array(segment.target),
            )
            t = np.linspace(0.0, motion.duration, 5001)
            s, ds = motion(t)
            q, dq = start + s * (target - start), ds * (target - start)
            np.testing.assert_allclose(q[[0, -1]], [start, target], atol=1e-12)
            np.testing.assert_allclose(dq[[0, -1]], 0.0, atol=1e-9)
            np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], dq[1:-1], atol=1e-4)
            assert ((q >= limits.position[:, 0]) & (q <= limits.position[:, 1])).all()
            assert (np.abs(dq) <= limits.velocity).all()
            assert (
                np.abs(np.gradient(dq, t, axis=0))
                <= 1.001 * ACCELERATION_SHARE * limits.acceleration
            ).all()

    def test_joints_turn_back_at_different_times_over_a_wide_range_of_speeds(self, arm, seed):
        plan = plan_validation(load_arm(arm), seed=seed)
        peaks = np.array([segment.speeds(start, plan.names) for start, segment in swings(plan)])
        assert (peaks.max(axis=0) > 20.0 * peaks.min(axis=0)).all()
        assert all(len(set(segment.swings)) > 1 for _, segment in swings(plan))


@pytest.fixture
def plan():
    return plan_validation(load_arm("lab6"), seed=1)


def test_the_file_gives_the_same_plan(plan, tmp_path):
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan
    assert plan.purpose == VALIDATION


def test_joints_that_are_not_requested_rest(tmp_path):
    made = plan_validation(load_arm("lab6"), ("j2", "j5"), 1)
    for start, segment in made.legs():
        assert set(np.flatnonzero(np.array(segment.target) != start)) <= {1, 4}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"swings": (3, 3, 2, 3, 3, 3)}, "odd number of passes"),
        ({"swings": (3, 3)}, "odd number"),
        ({"swings": None}, "a swing needs swings"),
        ({"kind": "sweep"}, "is a sweep: a swing needs swings"),
        ({"speed": 1.6}, "moves j1 at 1.6 rad/s, limit 1.5"),
        ({"swings": (3,) * 5 + (9001,)}, "moves j6 at .* rad/s, limit 2"),
    ],
)
@pytest.mark.slow
def test_an_invalid_swing_is_refused(plan, change, words):
    arm = load_arm("lab6")
    k = next(k for k, segment in enumerate(plan.segments) if segment.kind == "swing")
    segments = (*plan.segments[:k], replace(plan.segments[k], **change), *plan.segments[k + 1 :])
    with pytest.raises(PlanError, match=words):
        check_plan(replace(plan, segments=segments), arm, load_mechanism(arm))


@pytest.mark.slow
def test_a_swing_that_turns_too_fast_is_refused(plan):
    arm = load_arm("lab6")
    home = np.array(plan.start)
    swing = next(segment for segment in plan.segments if segment.kind == "swing")
    short = replace(swing, id=0, swings=(1,) * 6, joint="j2", speed=0.5, target=tuple(home + 0.1))
    with pytest.raises(PlanError, match=r"accelerates j1 by 5 rad/s², limit 4"):  # 2 v² / way
        check_plan(replace(plan, segments=(short,)), arm, load_mechanism(arm))


@pytest.mark.slow
def test_a_swing_through_the_floor_is_detected(plan):
    """The motion leaves the straight path between its ends, because joints
    turn back at different times.
    """
    arm = load_arm("lab6")
    home, apart = arm.home(load_mechanism(arm)), np.array([0.0, 1.2, -1.2, 0.0, 0.0, 0.0])
    k = next(k for k, segment in enumerate(plan.segments) if segment.kind == "swing")
    move = replace(plan.segments[0], target=tuple(home + apart))
    swing = replace(
        plan.segments[k], id=1, joint="j2", speed=0.1, target=tuple(home - apart), swings=(1,) * 6
    )
    assert check_plan(replace(plan, segments=(move, swing)), arm, load_mechanism(arm)) > 0.0
    with pytest.raises(PlanError, match=r"segment 1 .* workspace box"):
        check_plan(
            replace(plan, segments=(move, replace(swing, swings=(1, 1, 3, 1, 1, 1)))),
            arm,
            load_mechanism(arm),
        )


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """A validation run with the arm and the truth of the golden run."""
    arm = load_arm(GOLDEN / "runs" / "constant-speed" / "arm" / "pendulum.toml")
    campaign = tmp_path_factory.mktemp("pendulum")
    drive_plan(arm, plan_validation(arm, seed=3), campaign, 3)
    return campaign


class TestVerdict:
    @pytest.mark.slow
    def test_a_good_calibration_predicts_friction_and_passes(self, pendulum):
        (joint,) = validate(
            load_run(find_runs(pendulum)[0]), Calibration.load(GOLDEN)
        ).joints.values()
        assert joint.passed
        assert joint.lack_of_fit == ()
        assert joint.noise < joint.error < 0.08 * joint.without_friction
        assert joint.without_friction == pytest.approx(joint.friction, rel=0.05)
        # white noise of 0.1 N·m up to 20 Hz
        assert joint.noise == pytest.approx(0.1 * np.sqrt(2.0 * 20.0 / 80.0), rel=0.25)

    @pytest.mark.slow
    def test_missing_inertia_is_named(self, pendulum):
        """Inertia of a rotor behind a gear: the residual is proportional to acceleration."""
        run, good = load_run(find_runs(pendulum)[0]), Calibration.load(GOLDEN)
        (plain,) = validate(run, good).joints.values()
        ddq = np.gradient(np.gradient(run.signals["q"][:, 0], run.t), run.t)
        run.signals["tau"][:, 0] += 2.0 * ddq
        (found,) = validate(run, good).joints.values()
        assert plain.inertia == 0.0
        assert found.inertia == pytest.approx(2.0, rel=0.1)

    @pytest.mark.parametrize(
        ("parameter", "factor"), [("coulomb", 1.4), ("viscous", 0.5), ("static", 2.5)]
    )
    @pytest.mark.slow
    def test_a_calibration_that_is_wrong_fails(self, pendulum, parameter, factor):
        good = Calibration.load(GOLDEN)
        ((name, joint),) = good.joints.items()
        entry = joint.parameters[parameter]
        wrong = replace(
            joint,
            parameters={**joint.parameters, parameter: replace(entry, value=factor * entry.value)},
        )
        (found,) = validate(
            load_run(find_runs(pendulum)[0]), replace(good, joints={name: wrong})
        ).joints.values()
        assert not found.passed
        # a wrong decrease of friction with speed is named
        assert found.lack_of_fit or parameter != "static"

    @pytest.mark.slow
    def test_a_corrected_torque_basis_predicts_the_drives_torque(self, pendulum):
        good = Calibration.load(GOLDEN)
        ((name, joint),) = good.joints.items()
        scale = joint.gravity["scale"].value
        divided = {
            key: replace(entry, value=entry.value / scale)
            if "velocity" not in key and entry.value is not None
            else entry
            for key, entry in joint.parameters.items()
        }
        offset = replace(joint.gravity["offset"], value=joint.gravity["offset"].value / scale)
        other = replace(
            joint,
            parameters=divided,
            torque_scale=scale,
            gravity={**joint.gravity, "offset": offset},
        )
        run = load_run(find_runs(pendulum)[0])
        (one,), (two,) = (
            validate(run, replace(good, joints={name: entry})).joints.values()
            for entry in (joint, other)
        )
        assert two.error == pytest.approx(one.error, rel=0.02)

    @pytest.mark.slow
    def test_friction_by_load_components_is_predicted(self, pendulum):
        """Coefficients of zero for two load components change nothing."""
        good = Calibration.load(GOLDEN)
        ((name, joint),) = good.joints.items()
        nothing = replace(joint.parameters["coulomb"], value=0.0)
        joint = replace(joint, names=(), correlation=np.zeros((0, 0)))
        parts = replace(
            joint,
            load="components",
            parameters={
                key: entry for key, entry in joint.parameters.items() if "_coefficient" not in key
            }
            | {
                f"{key}_coefficient_{part}": nothing
                for key in ("coulomb", "static")
                for part in ("radial", "bending")
            },
        )
        plain = replace(
            joint,
            load="none",
            parameters={
                key: entry for key, entry in joint.parameters.items() if "_coefficient" not in key
            },
        )
        run = load_run(find_runs(pendulum)[0])
        one, two = (
            validate(run, replace(good, joints={name: entry})).joints[name].error
            for entry in (parts, plain)
        )
        assert one == pytest.approx(two, rel=1e-9)

    @pytest.mark.slow
    def test_tool_and_mounting_are_those_of_the_run(self, tmp_path, monkeypatch):
        """The same arm with a tool in its arm file."""
        monkeypatch.setattr(validation_motion, "SWINGS", 2)
        source = load_arm(GOLDEN / "runs" / "constant-speed" / "arm" / "pendulum.toml").path
        for file in source.parent.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        table = tomlkit.parse(source.read_text(encoding="utf-8"))
        table["tool"] = {"mass": 1.5, "com": [0.3, 0.0, 0.0]}
        (tmp_path / source.name).write_text(tomlkit.dumps(table), encoding="utf-8")
        arm = load_arm(tmp_path / source.name)
        run = load_run(drive_plan(arm, plan_validation(arm, seed=3), tmp_path / "out", 3))
        (joint,) = validate(run, Calibration.load(GOLDEN)).joints.values()
        assert joint.passed

    @pytest.mark.slow
    def test_another_arm_with_joints_of_the_same_names_is_refused(self, pendulum, tmp_path):
        source = load_arm(GOLDEN / "runs" / "constant-speed" / "arm" / "pendulum.toml")
        for file in source.path.parent.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        model = tmp_path / source.model.name
        text = model.read_text(encoding="utf-8")
        model.write_text(
            re.sub(
                r'<mass value="([^"]+)"',
                lambda found: f'<mass value="{1.2 * float(found[1])}"',
                text,
            ),
            encoding="utf-8",
        )
        arm = load_arm(tmp_path / source.path.name)
        run = replace(load_run(find_runs(pendulum)[0]), arm=arm)
        with pytest.raises(InputError, match=r"another model than the calibration of pendulum"):
            validate(run, Calibration.load(GOLDEN))

    @pytest.mark.slow
    def test_a_joint_that_cannot_be_judged_is_named(self, cli, pendulum, monkeypatch):
        good = Calibration.load(GOLDEN)
        (joint,) = good.joints.values()
        reduce = validation.reduce_motion

        def refuse(log, name):
            if name == "elbow":
                raise FitError("elbow does not move")
            return reduce(log, name)

        monkeypatch.setattr(validation, "reduce_motion", refuse)
        two = SimpleNamespace(
            runs=(),
            mechanism=good.mechanism,
            joints={**good.joints, "elbow": joint},
            model=good.model,
            arm=good.arm,
            folder=good.folder,
            fit=good.fit,
            with_inertia=good.with_inertia,
            motors=good.motors,
        )
        found = validate(load_run(find_runs(pendulum)[0]), two)
        assert (list(found.joints), found.left_out) == (["hinge"], {"elbow": "elbow does not move"})
        with monkeypatch.context() as patch:
            patch.setattr(validation, "validate", lambda *_: found)
            outcome = cli("validate", pendulum, GOLDEN)
        assert "elbow does not move; it is not judged" in outcome.out
        assert re.search(r"verdict .*: passes; elbow not judged", outcome.out)

    def test_the_run_that_was_fitted_is_refused(self):
        with pytest.raises(InputError, match="was fitted to this run"):
            validate(load_run(GOLDEN / "runs" / "constant-speed"), Calibration.load(GOLDEN))

    @pytest.mark.slow
    def test_another_arm_is_refused(self, pendulum, make_arm, tmp_path, make_plan):
        arm = make_arm()
        run = load_run(drive_plan(arm, make_plan(arm), tmp_path, 1))
        with pytest.raises(
            InputError,
            match=r"has the joints turn, lift, but the calibration of pendulum has hinge",
        ):
            validate(run, Calibration.load(GOLDEN))


class TestCommand:
    @pytest.mark.slow
    def test_validate_passes_and_draws_a_plot(self, cli, pendulum):
        outcome = cli(
            "validate", pendulum, GOLDEN, GOLDEN / "calibration.toml", "-o", "plot.svg", "--json"
        )
        assert outcome.code == 0, outcome.err
        table = json.loads(outcome.out)
        assert table["passed"]
        assert len(table["calibrations"]) == 2
        assert 0.0 < table["calibrations"][0]["joints"]["hinge"]["error"] < 0.3
        assert "passes" in outcome.err
        assert "</svg>" in Path("plot.svg").read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_validate_writes_a_page(self, cli, pendulum):
        outcome = cli("validate", pendulum, GOLDEN, "-o", "page.html", "--json")
        assert outcome.code == 0, outcome.err
        assert json.loads(outcome.out)["files"] == ["page.html"]
        page = Path("page.html").read_text(encoding="utf-8")
        for words in (
            "hinge",
            "passes",
            "Measured and predicted torque of hinge",
            "10 % of RMS friction",
        ):
            assert words in page
        assert cli("validate", pendulum, GOLDEN, "-o", "page.html").code == 2

    @pytest.mark.slow
    def test_a_failed_validation_has_exit_code_1(self, cli, pendulum):
        outcome = cli("validate", pendulum, GOLDEN, "--tolerance", "0.001")
        assert outcome.code == 1
        assert "fails for hinge" in outcome.out

    def test_a_campaign_without_validation_run_is_refused(self, cli):
        outcome = cli("validate", GOLDEN, GOLDEN)
        assert outcome.code == 2
        assert "the campaign only has runs for fit" in outcome.err

    @pytest.mark.slow
    def test_run_records_a_validation_and_fit_leaves_it_out(self, cli, make_arm, monkeypatch):
        monkeypatch.setattr(validation_motion, "SWINGS", 2)
        outcome = cli("run", make_arm().path, "--experiment", "validation", "-o", "campaign")
        assert outcome.code == 0, outcome.err
        (folder,) = find_runs(Path("campaign"))
        assert folder.name.endswith("_validation")
        assert "stribeck validate campaign" in outcome.out
        with pytest.raises(InputError, match="the campaign only has runs for validation"):
            find_runs(Path("campaign"), FITTED)
        outcome = cli("fit", "campaign")
        assert outcome.code == 2

    @pytest.mark.slow
    def test_a_validation_driven_by_other_software_can_be_imported(self, cli, pendulum):
        (folder,) = find_runs(pendulum)
        run = load_run(folder)
        np.savez("log.npz", t=run.t, q=run.signals["q"], tau=run.signals["tau"])
        outcome = cli("import", "log.npz", "--arm", GOLDEN / "pendulum.toml", "--yes", "-o", "back")
        assert outcome.code == 0, outcome.err
        outcome = cli("validate", "back", GOLDEN)
        assert "hinge" in outcome.out, outcome.err

    def test_an_unknown_experiment(self, cli):
        outcome = cli("plan", "lab6", "--experiment", "valdation")
        assert outcome.code == 2
        assert "did you mean 'validation'" in outcome.err
