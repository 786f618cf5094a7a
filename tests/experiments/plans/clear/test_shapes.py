"""Collisions with shapes of the model: detected however thin, avoided by plans, required for
motion of several joints.
"""

import logging
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from stribeck.drivers.connect import DRIVERS
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.check_plan import check_plan, check_way
from stribeck.experiments.plans.clear.clearance import (
    in_the_way,
    relied_on,
    ways_are_clear,
    what_meets,
)
from stribeck.experiments.plans.clear.shapes import GAP, geometry_of
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import motion_profile
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism

INERTIAL = (
    '<inertial><origin xyz="0.15 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
ROD = (
    '<collision><origin xyz="0.15 0 0"/><geometry><box size="0.3 0.04 '
    '0.04"/></geometry></collision>'
)
TABLE = '<collision><origin xyz="0 0 -0.3"/><geometry><box size="3 3 0.1"/></geometry></collision>'


def joint(name, parent, child, x, low=-3.1, high=3.1, axis="0 1 0", kind="revolute"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child '
        f'link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/><limit lower="{low}" '
        f'upper="{high}" velocity="3" effort="99"/></joint>'
    )


ARM = """schema = 1
name = "snake"
model = "snake.urdf"
workspace = {{ home = [0.0, -0.3, -0.3]{box} }}
driver = {{ kind = "{kind}", rate = 200.0 }}
""" + "".join(
    f"[joints.{name}]\nvelocity = 1.0\nacceleration = 6.0\ntorque = 99.0\ngear_ratio = 200.0\n"
    for name in "abc"
)


@pytest.fixture
def snake(tmp_path):
    """Three rods on parallel axes above a table; they can collide with each
    other and with the table.
    """

    def make(shapes=ROD, table=TABLE, box="", kind="simulated"):
        links = "".join(
            f'<link name="{name}">{INERTIAL}{shapes}</link>' for name in ("upper", "fore", "hand")
        )
        (tmp_path / "snake.urdf").write_text(
            f'<robot name="snake"><link name="base">{table}</link>{links}'
            + joint("a", "base", "upper", 0)
            + joint("b", "upper", "fore", 0.3)
            + joint("c", "fore", "hand", 0.3)
            + "</robot>",
            encoding="utf-8",
        )
        (tmp_path / "snake.toml").write_text(ARM.format(kind=kind, box=box), encoding="utf-8")
        return load_arm(tmp_path / "snake.toml")

    return make


def distances(arm, q):
    """Smallest distance of checked shapes in every posture, by another algorithm of MuJoCo."""
    model = mujoco.MjModel.from_xml_path(str(arm.model))
    data, names = mujoco.MjData(model), [model.body(int(body)).name for body in model.geom_bodyid]
    pairs = [
        (i, j)
        for i in range(model.ngeom)
        for j in range(i)
        if {names[i], names[j]} in ({"world", "fore"}, {"world", "hand"}, {"upper", "hand"})
    ]
    assert len(pairs) == 3
    out = []
    for data.qpos[:] in np.atleast_2d(q):
        mujoco.mj_kinematics(model, data)
        out.append(min(mujoco.mj_geomDistance(model, data, i, j, 2.0, None) for i, j in pairs))
    return np.array(out)


class TestWays:
    @pytest.mark.slow
    def test_random_paths_are_judged_as_by_a_thousand_samples(self, snake):
        arm = snake()
        mechanism, rng = load_mechanism(arm), np.random.default_rng(0)
        start, target = rng.uniform(-1.8, 1.8, (2, 60, 3))
        clear = ways_are_clear(arm, mechanism, start, target)
        s = np.linspace(0.0, 1.0, 1000)[:, None]
        near = np.array(
            [
                distances(arm, begin + s * (end - begin)).min()
                for begin, end in zip(start, target, strict=True)
            ]
        )
        assert 5 <= clear.sum() <= 55
        assert (near[clear] > 0.49 * GAP).all()  # clear paths keep their distance
        assert (near[~clear] < GAP + 1e-3).all()  # refused paths are really too near

    def test_a_thin_shape_on_the_path_is_detected(self, snake):
        """A long path crosses a blade of one millimetre in a thousandth of its length."""
        blade = (
            '<collision><origin xyz="0 0.0 0.75"/><geometry><box size="0.001 0.2 '
            '0.3"/></geometry></collision>'
        )
        arm = snake(table=blade)
        mechanism = load_mechanism(arm)
        assert (
            in_the_way(arm, mechanism, np.array([-3.0, 0.0, 0.0]), np.array([-0.2, 0.0, 0.0]))
            is not None
        )
        assert (
            in_the_way(arm, mechanism, np.array([0.2, 0.0, 0.0]), np.array([3.0, 0.0, 0.0])) is None
        )

    @pytest.mark.slow
    def test_arms_on_one_base_that_meet_on_the_path_are_detected(self, tmp_path):
        """Both arms move far; their thin fingers cross for an instant, or pass each other."""
        finger = (
            '<collision><origin xyz="0.3 0 0"/><geometry><box size="0.6 0.002 '
            '0.002"/></geometry></collision>'
        )
        shapes = {"ul": "", "fl": finger, "ur": "", "fr": finger}
        links = "".join(
            f'<link name="{name}">{INERTIAL}{shape}</link>' for name, shape in shapes.items()
        )
        (tmp_path / "twins.urdf").write_text(
            f'<robot name="twins"><link name="base"/>{links}'
            + joint("l1", "base", "ul", -0.35)
            + joint("r1", "base", "ur", 0.35)
            + joint("l2", "ul", "fl", 0.3)
            + joint("r2", "ur", "fr", 0.3)
            + "</robot>",
            encoding="utf-8",
        )
        arm = load_arm(tmp_path / "twins.urdf")
        mechanism = load_mechanism(arm)
        model = mujoco.MjModel.from_xml_path(str(arm.model))
        data, order = (
            mujoco.MjData(model),
            [model.joint(name).qposadr[0] for name in mechanism.names],
        )
        rng = np.random.default_rng(1)
        start, target = rng.uniform(-3.0, 3.0, (2, 30, 4))
        clear = ways_are_clear(arm, mechanism, start, target)
        near = []
        for begin, end in zip(start, target, strict=True):
            least = np.inf
            for s in np.linspace(0.0, 1.0, 3000):
                data.qpos[order] = begin + s * (end - begin)
                mujoco.mj_kinematics(model, data)
                least = min(least, mujoco.mj_geomDistance(model, data, 0, 1, 2.0, None))
            near.append(least)
        assert 5 <= clear.sum() <= 25
        assert (np.array(near)[clear] > 0.0).all()
        assert (np.array(near)[~clear] < GAP + 3e-3).all()

    def test_colliding_shapes_are_named(self, snake):
        arm = snake()
        mechanism, home = load_mechanism(arm), np.array([0.0, -0.3, -0.3])
        assert "hand" in in_the_way(arm, mechanism, home, np.array([0.8, 0.3, 0.3]))
        folded = in_the_way(arm, mechanism, np.array([-1.5, 1.0, 1.0]), np.array([-1.5, 2.9, 2.9]))
        assert {"upper", "hand"} <= set(folded.split())
        assert f"within {1e3 * GAP:g} mm" in folded

    def test_neighbours_and_shapes_close_at_home_may_touch(self, snake):
        arm = snake()
        mechanism = load_mechanism(arm)
        # the fore folded onto the upper, the hand upright
        folded = np.array([0.0, -2.8, 1.2])
        assert in_the_way(arm, mechanism, np.array([0.0, -1.5, 1.2]), folded) is None
        # a hand that rests on the table
        home = (0.0, 0.3, 0.185)
        resting = replace(arm, workspace=replace(arm.workspace, home=home))
        assert distances(arm, home)[0] < GAP
        assert in_the_way(resting, mechanism, np.array([0.0, -0.3, -0.3]), np.array(home)) is None
        assert not any("closer at home" in words for words in relied_on(arm, mechanism))
        assert any(
            "closer at home" in words and "hand" in words for words in relied_on(resting, mechanism)
        )

    def test_a_prismatic_joint_moves_shapes(self, tmp_path):
        wall = (
            '<collision><origin xyz="2 0 0"/><geometry><box size="0.1 1 1"/></geometry></collision>'
        )
        (tmp_path / "rail.urdf").write_text(
            f'<robot name="rail"><link name="base">{wall}</link><link name="cart">{INERTIAL}</link>'
            f'<link name="rod">{INERTIAL}{ROD}</link>'
            + joint("x", "base", "cart", 0, -1, 3, "1 0 0", "prismatic")
            + joint("b", "cart", "rod", 0.3)
            + "</robot>",
            encoding="utf-8",
        )
        arm = load_arm(tmp_path / "rail.urdf")
        mechanism = load_mechanism(arm)
        # 1.3 + 0.6 stays before 1.95
        assert in_the_way(arm, mechanism, np.zeros(2), np.array([1.3, 0.0])) is None
        assert in_the_way(arm, mechanism, np.zeros(2), np.array([1.36, 0.0])) is not None
        assert in_the_way(arm, mechanism, np.array([1.5, 3.0]), np.array([1.5, 0.0])) is not None


class TestModels:
    def test_a_model_with_fewer_than_two_shapes_has_no_geometry(self, make_arm, snake):
        for arm in (make_arm(), snake(shapes="", table=""), snake(shapes="", table=TABLE)):
            assert geometry_of(arm, load_mechanism(arm)) is None

    def test_a_changed_model_file_is_read_again(self, snake):
        with_table = geometry_of(arm := snake(), load_mechanism(arm))
        without = geometry_of(arm := snake(table=""), load_mechanism(arm))
        assert (with_table.model.ngeom, without.model.ngeom) == (4, 3)

    def test_missing_meshes_are_left_out_and_named(self, snake, caplog):
        mesh = (
            '<collision><geometry><mesh filename="package://arm/lost.stl"/></geometry></collision>'
        )
        arm = snake(shapes=ROD + mesh)
        with caplog.at_level(logging.WARNING):
            found = geometry_of(arm, load_mechanism(arm))
        assert found.model.ngeom == 4
        assert "lost" in caplog.text
        assert "collision checks ignore these meshes, which cannot be read: lost" in caplog.text
        (said,) = relied_on(arm, load_mechanism(arm))
        assert said.endswith("5 mm apart; unreadable meshes: body upper, body fore, body hand")

    def test_links_without_a_shape_are_named(self, snake):
        arm = snake()
        arm.model.write_text(
            arm.model.read_text(encoding="utf-8").replace(ROD, "", 1), encoding="utf-8"
        )
        (said,) = relied_on(arm, load_mechanism(arm))
        assert said.endswith("5 mm apart; links without shapes: a")


@pytest.mark.parametrize("method", [plan_whole_arm, plan_constant_speed])
@pytest.mark.slow
def test_plans_keep_shapes_apart(snake, method):
    arm = snake()
    made = method(arm, None, 1, ConstantSpeed(postures=2, speeds=2))
    limits, least = arm.limits(load_mechanism(arm)), np.inf
    for start, segment in made.legs():
        motion = motion_profile(start, segment, made.names, limits)
        s = motion(np.linspace(0.0, motion.duration, 300))[0]
        least = min(
            least, distances(arm, start + s[:, None] * (np.array(segment.target) - start)).min()
        )
    assert least > 0.0
    free = method(snake(table="", shapes=""), None, 1, ConstantSpeed(postures=2, speeds=2))
    # without shapes plans collide
    assert min(distances(snake(), np.array([segment.target for segment in free.segments]))) < 0.0


@pytest.mark.slow
def test_plans_and_start_paths_that_collide_are_refused(snake):
    arm = snake()
    mechanism, made = (
        load_mechanism(arm),
        plan_whole_arm(snake(), None, 1, ConstantSpeed(postures=2, speeds=2)),
    )
    low = replace(made.segments[0], target=(0.9, 0.3, 0.3), id=1000, kind="move")
    with pytest.raises(PlanError, match=r"segment 1000 .* brings .* within 5 mm of each other"):
        check_plan(replace(made, segments=(low, *made.segments)), arm, mechanism)
    with pytest.raises(
        PlanError,
        match=r"from the arm's position, \[0\.9, 0\.3, 0\.3\], .* brings .*; nothing moved",
    ):
        check_way(np.array([0.9, 0.3, 0.3]), made, arm, mechanism)


class TestHardware:
    @pytest.fixture(autouse=True)
    def bench(self, monkeypatch):
        monkeypatch.setitem(DRIVERS, "bench", lambda arm, seed: SimulatedArm(arm, seed=seed))

    @pytest.mark.slow
    def test_the_whole_arm_moves_only_with_a_box_or_geometry(self, snake):
        small = ConstantSpeed(postures=1, speeds=2)
        with pytest.raises(
            PlanError,
            match=r"snake\.toml: real hardware moves several joints simultaneously "
            r"only .* workspace\.box",
        ):
            plan_whole_arm(snake(shapes="", table="", kind="bench"), None, 0, small)
        plan_whole_arm(snake(shapes="", table="", kind="simulated"), None, 0, small)
        lost = (
            '<collision><geometry><mesh filename="package://arm/lost.stl"/></geometry></collision>'
        )
        with pytest.raises(
            PlanError, match=r"real hardware moves several joints simultaneously only"
        ):
            plan_whole_arm(snake(shapes=ROD + lost, kind="bench"), None, 0, small)
        bare = snake(kind="bench")
        bare.model.write_text(
            bare.model.read_text(encoding="utf-8").replace(ROD, "", 1), encoding="utf-8"
        )
        with pytest.raises(
            PlanError, match=r"real hardware moves several joints simultaneously only"
        ):
            plan_whole_arm(load_arm(bare.path), None, 0, small)
        plan_whole_arm(snake(kind="bench"), None, 0, small)
        plan_whole_arm(
            snake(shapes="", table="", kind="bench", box=", box = [[-1, 1], [-1, 1], [-1, 1]]"),
            None,
            0,
            small,
        )

    @pytest.mark.slow
    def test_without_box_and_shapes_the_arm_stays_at_home(self, snake):
        """A move to another posture moves several joints, too."""
        arm = snake(shapes="", table="", kind="bench")
        plan = plan_constant_speed(arm, None, 0, ConstantSpeed(postures=2, speeds=2))
        assert all(
            np.count_nonzero(np.array(segment.target) != start) <= 1
            for start, segment in plan.legs()
        )
        assert {segment.joint for segment in plan.segments if segment.joint} == set(plan.names)
        with pytest.raises(PlanError, match="several joints simultaneously"):
            plan_breakaway(arm)

    def test_swings_are_motion_of_the_whole_arm(self, snake):
        with pytest.raises(
            PlanError,
            match=r"real hardware moves several joints simultaneously only if .* workspace\.box",
        ):
            plan_validation(snake(shapes="", table="", kind="bench"))
        plan_validation(snake(shapes="", table="", kind="bench"), ("a",))

    def test_without_box_and_shapes_the_lowest_speed_is_searched_joint_by_joint(self, snake):
        alone, together = (
            plan_lowest_speed(snake(shapes="", table="", kind=kind))
            for kind in ("bench", "simulated")
        )
        assert {segment.kind for segment in alone.segments} == {"move", "stroke"}
        assert {segment.kind for segment in together.segments} == {"move", "sweep"}
        assert {segment.joint for segment in alone.segments if segment.joint} == set(alone.names)

    @pytest.mark.slow
    def test_the_planned_motion_is_printed_before_consent(self, snake, cli, monkeypatch):
        arm = snake(kind="bench", box=", box = [[-1, 1], [-1, 1], [-0.2, 1]]")
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.confirm", lambda text, **options: False)
        outcome = cli("calibrate", arm.path, "-o", "out")
        assert outcome.code == 3
        said = " ".join(outcome.out.split())
        for words in (
            "snake will move",
            "-3.1 … 3.1 rad",
            "1 rad/s",
            "99 N·m",
            "of robot time",
            "limits in force",
            "a, b, c: no brake; may fall when power is lost, as happens if this computer hangs "
            '(stop = "hold")',
            "at 10 % of its speed; each joint moves its first 0.15 rad at that speed.",
            "Is the space around the arm free, and is a hand on the emergency stop?",
            "the workspace box -1 … 1 x -1 … 1 x -0.2 … 1 m, for joint origins and 4 shapes of "
            "snake.urdf, 5 mm apart",
        ):
            assert words in said, outcome.out


def test_colliding_shapes_are_named_with_posture_and_distance(snake):
    """The arm turns down until hand or forearm reaches the table; judged by
    another algorithm of MuJoCo.
    """
    arm = snake()
    mechanism, home = load_mechanism(arm), np.array([0.0, -0.3, -0.3])
    target = home + np.array([1.5, 0.0, 0.0])
    shapes, place, part = what_meets(arm, mechanism, home, target)
    assert "hand" in shapes
    assert "base" in shapes or "ground" in shapes
    assert distances(arm, place)[0] < GAP
    assert distances(arm, home + part * (target - home))[0] > 0.0
    assert 0.0 < part < 1.0
    assert what_meets(arm, mechanism, home, home + 0.5 * part * (target - home)) is None


@pytest.mark.slow
def test_a_refusal_names_the_shapes_in_the_way(snake, monkeypatch):
    """Between two walls not even slow strokes have room; the message names the
    walls, not limits or box. Slower strokes are tried at home only, which is quick.
    """
    walls = "".join(
        f'<collision><origin xyz="0.3 0 {z}"/><geometry><box size="2 2 '
        '0.02"/></geometry></collision>'
        for z in (-0.045, 0.045)
    )
    arm = snake(table=walls)
    arm = replace(arm, workspace=replace(arm.workspace, home=(0.0, 0.0, 0.0)))
    choose_postures, chosen = Design.choose_postures, []
    monkeypatch.setattr(
        Design, "choose_postures", lambda *given: chosen.append(1) or choose_postures(*given)
    )
    for plan in (plan_constant_speed, plan_whole_arm):
        chosen.clear()
        with pytest.raises(
            PlanError,
            match=r"no room for a stroke of .* rad: after .* are within 5 mm of each other",
        ) as caught:
            plan(arm)
        assert "the box" not in str(caught.value)
        assert len(chosen) == 1
