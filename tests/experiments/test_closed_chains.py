"""Calibration of parallel machines: plans with a margin to singular postures, runs,
fits, validation, export.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import tomlkit

from stribeck import Calibration, Feedforward
from stribeck.experiments.methods.registry import plan_experiment
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.plan import Plan, Segment, plan_from_table, read_plan, write_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import load_run
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism
from tests.places import DATA
from tests.recorded import Few, Made, Recorded
from tests.short_runs import shortened
from tests.true_friction import friction_errors

pytestmark = pytest.mark.slow

RATE = 125.0  # Hz; enough for strokes at constant speed


def machine(
    folder: Path,
    name: str,
    changes: dict[str, Any] | None = None,
    mechanism: dict[str, Any] | None = None,
) -> ArmFile:
    """Copy of a built-in machine with changed keys in its arm file and
    in its mechanism's joints.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for source in (DATA / "arms" / name).iterdir():
        shutil.copy(source, folder)
    text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    table = tomlkit.parse(text)
    for key, value in (changes or {}).items():
        place, here = key.split("/"), table
        for part in place[:-1]:
            here = here.setdefault(part, {})
        here[place[-1]] = value
    (folder / f"{name}.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    if mechanism:
        path = folder / f"{name}.mechanism.toml"
        chain = tomlkit.parse(path.read_text(encoding="utf-8"))
        for joint in chain["joints"]:
            joint.update(mechanism.get(joint["name"], {}))
        path.write_text(tomlkit.dumps(chain), encoding="utf-8")
    return load_arm(folder / f"{name}.toml")


@pytest.fixture(scope="module")
def planar(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> tuple[ArmFile, Made]:
    """A small calibration of the planar machine with friction in its pins, sampled at a low
    rate, with little noise.
    """
    rubs = {
        "load": "normal",
        "bearing": {"pin_radius": 0.01, "friction_arm": 0.01, "bending_arm": 0.02},
        "coulomb_coefficient": 0.2,
    }
    changes = {
        "driver/rate": RATE,
        "simulation/passive": {"pins": rubs},
        "simulation/torque_noise": 0.03,
        "passive": {"pins": {"joints": ["link1", "link2", "link3"]}},
    }
    arm = machine(tmp_path_factory.mktemp("planar"), "planar-3-prr", changes)
    return arm, recorded.command("calibrate", arm, "--seed", "1", *law("tustin"), few=Few(2, 4))


@pytest.fixture(scope="module")
def crank(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> Path:
    """Folder of a calibration of the machine with one drive."""
    arm = machine(tmp_path_factory.mktemp("crank"), "three-loop-chain", {"driver/rate": RATE})
    options = "--seed", "1", *law("stribeck")
    return recorded.command("calibrate", arm, *options, few=Few(2, 3)).folder


def law(name: str) -> tuple[str, ...]:
    """Options of a fit with the law of the truth: a small campaign does not choose it safely."""
    return "--law", name, "--load", "normal"


def nearest(arm: ArmFile, driven: Mechanism, plan: Plan) -> float:
    """Smallest margin of a plan to singular postures, from 33 places on each path and
    independent use of `close_loops`.
    """
    part = np.linspace(0.0, 1.0, 33)[:, None]
    q = np.concatenate(
        [start + part * (np.array(segment.target) - start) for start, segment in plan.legs()]
    )
    whole = driven.chain.whole
    home = close_loops(whole, arm.home(driven)[None]).condition[0]
    return float(home / close_loops(whole, np.unique(q.round(12), axis=0)).condition.max())


def test_friction_of_the_crank_within_three_percent(crank: Path) -> None:
    errors = friction_errors(load_arm("three-loop-chain"), crank)
    assert max(errors.values()) < 0.03, errors


def test_a_plan_states_and_keeps_its_margin(planar: tuple[ArmFile, Made], tmp_path: Path) -> None:
    arm, out = planar[0], planar[1].folder
    driven = load_mechanism(arm)
    recorded = load_run(find_runs(out)[0], ())
    plan = plan_from_table(recorded.record["plan"], out)
    assert plan.singular_margin is not None
    assert plan.singular_margin >= arm.workspace.singular_margin
    assert nearest(arm, driven, plan) == pytest.approx(plan.singular_margin, rel=0.02)
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan


def test_another_experiment_keeps_the_margin(small_plans: None) -> None:
    """The benchmark `machines` judges more plans of every experiment."""
    arm = load_arm("planar-3-prr")
    plan = plan_experiment("breakaway", "whole-arm", arm, seed=3)
    assert (
        nearest(arm, load_mechanism(arm), replace(plan, segments=plan.segments[:40]))
        >= 0.98 * arm.workspace.singular_margin
    )


def test_a_plan_too_near_a_singular_posture_is_refused(planar: tuple[ArmFile, Made]) -> None:
    arm, out = planar[0], planar[1].folder
    plan = plan_from_table(load_run(find_runs(out)[0], ()).record["plan"], out)
    stricter = replace(
        arm, workspace=replace(arm.workspace, singular_margin=plan.singular_margin + 0.01)
    )
    with pytest.raises(InputError, match="nearer to a singular posture than its margin allows"):
        check_plan(plan, stricter, load_mechanism(stricter))
    way = [
        Segment(1000 + k, "move", target, 0)
        for k, target in enumerate(((0.3, -0.3, 0.0), plan.start))
    ]
    away = replace(plan, segments=(*way, *plan.segments))
    with pytest.raises(InputError, match="leads out of the machine's reach"):
        check_plan(away, arm, load_mechanism(arm))


def test_a_run_contains_the_drives_only_and_a_second_fit_is_identical(
    crank: Path, cli: Callable[..., Any]
) -> None:
    folder = find_runs(crank)[0]
    assert load_run(folder).names == ("1''",)
    before = Calibration.load(crank)
    assert cli("fit", crank, *law("stribeck"), "--out", "again").code == 0
    after = Calibration.load("again")
    assert after.joints["1''"].values == before.joints["1''"].values


def test_validation_report_and_feed_forward(crank: Path, cli: Callable[..., Any]) -> None:
    """The run is judged as if the calibration were of others; `benchmarks machines` plans
    validation motions.
    """
    shutil.copytree(crank, "other", ignore=shutil.ignore_patterns("runs"))
    calibration = Calibration.load(crank)
    replace(calibration, runs=()).save(Path("other/calibration.toml"))
    outcome = cli("validate", shortened(find_runs(crank)[0], Path("short"), 1500), "other")
    assert outcome.code in (0, 1), outcome
    assert "1''" in outcome.out
    assert cli("report", crank, "--out", "page").code == 0
    feedforward = Feedforward(calibration.mechanism, calibration)
    q, dq, ddq = np.array([0.4]), np.array([0.3]), np.array([1.0])
    assert feedforward(q, dq, ddq) == pytest.approx(
        calibration.friction(q[None], dq[None], ddq[None])[0]
    )
    assert np.isfinite(feedforward.rigid(q, dq, ddq)).all()


def test_exports_contain_loops_or_report_their_loss(
    planar: tuple[ArmFile, Made], cli: Callable[..., Any]
) -> None:
    path = planar[1].folder / "calibration.toml"
    assert cli("export", path, "--to", "mjcf", "--out", "machine.xml").code == 0
    model = mujoco.MjModel.from_xml_path("machine.xml")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert (model.nv, model.neq) == (9, 3)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9
    bristles = {str(model.actuator(k).name) for k in range(len(model.actuator_trnid))}
    assert (model.dof_frictionloss > 0.0).sum() + len(
        bristles & {f"slider{k}_friction" for k in (1, 2, 3)}
    ) == 3
    read, q = driven_joints(load_mechanism("machine.xml")), np.array([[0.01, -0.02, 0.015]])
    assert read.names == ("slider1", "slider2", "slider3")
    # rounded
    np.testing.assert_allclose(
        inverse_dynamics(read, q), inverse_dynamics(load_mechanism(planar[0]), q), rtol=1e-4
    )
    outcome = cli("export", path, "--to", "c", "--out", "machine.h")
    assert outcome.code == 0
    assert "computes no loads of a closed chain" in outcome.out
    assert "planar_3_prr_loads(" not in Path("machine.h").read_text(encoding="utf-8")
    assert cli("export", path, "--to", "json", "--out", "machine.json").code == 0
    assert json.loads(Path("machine.json").read_text(encoding="utf-8"))["joints"].keys() == {
        "slider1",
        "slider2",
        "slider3",
    }
    for target, words in (("urdf", "may have loops"), ("sdf", "leave out its loops")):
        outcome = cli("export", path, "--to", target)
        assert outcome.code == 2
        assert words in outcome.err


@pytest.mark.parametrize(
    ("arguments", "changes", "mechanism", "words"),
    [
        (("plan", "ARM"), {}, {"slider3": {"passive": True}}, "the closures determine only"),
        (
            ("plan", "ARM"),
            {},
            {"link1": {"passive": False}, "link3": {"passive": False}},
            "cannot move independently",
        ),
        (
            ("plan", "ARM"),
            {"workspace/home": [0.3, -0.3, 0.0]},
            {},
            "the home posture (workspace.home, else all zero) is out of reach",
        ),
        (("plan", "ARM"), {"workspace/singular_margin": 1.5}, {}, "workspace.singular_margin"),
        (
            ("plan", "ARM"),
            {"tool": {"mass": 1.0}},
            {},
            "a tool needs a last link, and a closed chain has none",
        ),
        (("plan", "ARM"), {"joints/link1": {"velocity": 1.0}}, {}, "unknown joint 'link1'"),
        (("plan", "ARM"), {"model": "planar-3-prr.toml"}, {}, "this is an arm file, not a model"),
        (("plan", "MECHANISM"), {}, {}, "this is a mechanism file, not an arm file"),
        (
            ("calibrate", "ARM", "--out", "out"),
            {"simulation/joints/slider1": {"stiffness": 1e5, "armature": 1.0}},
            {},
            "are not simulated",
        ),
    ],
)
def test_mistakes_are_refused(
    cli: Callable[..., Any],
    tmp_path: Path,
    arguments: tuple[str, ...],
    changes: dict[str, Any],
    mechanism: dict[str, Any],
    words: str,
) -> None:
    """The command prints one clear sentence and writes no file."""
    arm = machine(tmp_path / "arm", "planar-3-prr") if "model" in changes else None
    folder = tmp_path / "arm"
    try:
        arm = machine(folder, "planar-3-prr", changes, mechanism)
    except InputError:
        assert arm is None or "model" in changes
    path = folder / (
        "planar-3-prr.mechanism.toml" if "MECHANISM" in arguments else "planar-3-prr.toml"
    )
    outcome = cli(*(path if one in ("ARM", "MECHANISM") else one for one in arguments))
    assert outcome.code == 2, outcome
    assert len(outcome.err.splitlines()) == 1, outcome.err
    assert words in outcome.err
    assert not Path("out").exists()


def test_round_trips_identify_links_of_a_closed_chain(crank: Path, cli: Callable[..., Any]) -> None:
    outcome = cli("fit", crank, *law("stribeck"), "--inertia", "fit", "--out", "heavy")
    assert outcome.code == 0, outcome
    found = Calibration.load("heavy").model.inertia
    assert found is not None
    assert found.told >= 1
    assert "first moments were fitted to the even parts" in outcome.out
    assert max(friction_errors(load_arm("three-loop-chain"), Path("heavy")).values()) < 0.03


def test_friction_of_pins_and_of_sliders_is_separated(planar: tuple[ArmFile, Made]) -> None:
    """The pins of the simulated machine have a radius of 10 mm and a friction coefficient of 0.2.

    The interval of the pins' coefficient reaches 2.5 % to both sides; this run is 1.1 % off, and
    1.4 % at a slider.
    """
    arm, made = planar
    calibration = Calibration.load(made.folder)
    pins = calibration.model.passive.classes["pins"].parameters["coulomb_coefficient"]
    assert pins.low < 0.002 < pins.high
    assert pins.value == pytest.approx(0.002, rel=0.03)
    assert "passive   pins (joints without a drive: link1, link2 and link3): " in made.printed
    page = (made.folder / "report.html").read_text(encoding="utf-8")
    assert "Joints without a drive" in page
    errors = friction_errors(arm, made.folder)
    assert set(errors) == {"slider1", "slider2", "slider3"}
    assert max(errors.values()) < 0.02, errors


def test_joint_names_belong_to_arm_and_mechanism() -> None:
    """`load_mechanism` returns all joints, the arm has its drives only."""
    for name in ("planar-3-prr", "three-loop-chain", "gough-stewart"):
        whole, arm = load_mechanism(name), load_arm(name)
        assert whole.closures
        assert load_mechanism(arm).names == tuple(whole.names[j] for j in whole.active)
