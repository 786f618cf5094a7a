"""Friction of one sample against the batch code, and its rigid torque against Pinocchio."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, joint_loads, load_mechanism
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.laws.law_table import LAWS, unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.model.joint_parts import Bearing, Closure, Follower
from stribeck.ident.model.loads import LOADS
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.whole_files import file_sha256
from tests.judges import tree

SEEDS = range(8)


def joint(law: str, load: str, seed: int, bearing: bool = True, **given: float) -> JointCalibration:
    """Made-up friction; parameters that the law has by default are left out unless given."""
    rng = np.random.default_rng(seed)
    values = {
        name: float(rng.uniform(0.1, 2.0)) for name in LAWS[law].parameters(load != "none")
    } | given
    parameters = {
        name: Parameter(value, None, None, None, unit(name), "identified")
        for name, value in values.items()
    }
    return JointCalibration(
        law,
        load,
        parameters,
        {},
        Bearing(*rng.uniform(0.02, 0.2, 3)) if bearing else None,
        0.0,
        (0.0, 1.0),
        None,
        None,
        None,
        (),
        np.zeros((0, 0)),
        2.0,
    )


def calibration(
    joints: Mapping[str, JointCalibration], mechanism: Mechanism | None = None, arm: str = "lab6"
) -> Calibration:
    """Of a built-in arm; or of a mechanism without file, with the bearings of the joints."""
    file = load_arm(arm)
    model = Model(file.model.name, file_sha256(file.model), file.gravity, file.tool)
    made = Calibration(
        arm,
        datetime(2026, 1, 1, tzinfo=UTC),
        "made up",
        "drive",
        (),
        model,
        {},
        joints,
        file.model.parent,
    )
    if mechanism is not None:
        bearings = tuple(
            joints[name].bearing if name in joints else None for name in mechanism.names
        )
        vars(made)["mechanism"] = replace(mechanism, bearings=bearings)
    return made


def everything(names: tuple[str, ...], seed: int) -> dict[str, JointCalibration]:
    """Every load and every law, in an order of the seed's."""
    kinds = [(law, load) for load in (*LOADS, "none") for law in LAWS]
    order = np.random.default_rng(seed).permutation(len(kinds))
    return {
        name: joint(*kinds[order[k % len(kinds)]], seed=100 * seed + k)
        for k, name in enumerate(names)
    }


def motion(seed: int, n: int, samples: int = 5) -> np.ndarray:
    return np.random.default_rng(1000 + seed).normal(scale=1.5, size=(3, samples, n))


def assert_equals_batch(made: Calibration, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> None:
    feedforward = Feedforward(made.mechanism, made)
    assert feedforward.names == made.names
    batch, loads = made.friction(q, dq, ddq), joint_loads(made.mechanism, q, dq, ddq)
    still, without = made.friction(q, dq), joint_loads(made.mechanism, q, dq)
    for k in range(len(q)):
        np.testing.assert_allclose(feedforward(q[k], dq[k], ddq[k]), batch[k], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            feedforward.rigid(q[k], dq[k], ddq[k]), loads.tau[k], rtol=0, atol=1e-9
        )
        # nothing is left over
        np.testing.assert_allclose(feedforward(q[k], dq[k]), still[k], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            feedforward.rigid(q[k], dq[k]), without.tau[k], rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("arm", ["lab6", "offset6"])
def test_arms_equal_the_batch_code(arm: str, seed: int) -> None:
    made = calibration(everything(load_mechanism(arm).names, seed), arm=arm)
    assert_equals_batch(made, *motion(seed, 6))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees_equal_the_batch_code(seed: int) -> None:
    """MuJoCo counts their joints in another order."""
    mechanism = tree(seed, n=10)
    assert_equals_batch(
        calibration(everything(mechanism.names, seed), mechanism), *motion(seed, 10)
    )


def test_the_random_trees_branch_and_slide() -> None:
    trees = [tree(seed, n=10) for seed in SEEDS]
    assert all(any(m.parent[j] != j - 1 for j in range(m.n)) for m in trees)
    assert any(m.prismatic[j] and m.parent[j] >= 0 for m in trees for j in range(m.n))


@pytest.mark.parametrize("load", [*LOADS, "none"])
@pytest.mark.parametrize("law", LAWS)
def test_every_law_works_on_joints_with_parameters_of_their_own(law: str, load: str) -> None:
    """All joints of a law are evaluated at once: a law must take arrays of parameters."""
    mechanism = tree(3, n=4)
    given = {"stribeck_exponent": 1.3} if law == "stribeck" else {}
    joints = {
        name: joint(law, load, k, **(given if k == 2 else {}))
        for k, name in enumerate(mechanism.names)
    }
    assert_equals_batch(calibration(joints, mechanism), *motion(3, 4))


@pytest.mark.parametrize("massless", [0, 3, 9])
def test_links_without_mass_are_allowed(massless: int) -> None:
    mechanism = tree(1, n=10)
    mass, com, inertia = mechanism.mass.copy(), mechanism.com.copy(), mechanism.inertia.copy()
    mass[massless], com[massless], inertia[massless] = 0.0, 0.0, 0.0
    mechanism = replace(mechanism, mass=mass, com=com, inertia=inertia)
    assert_equals_batch(calibration(everything(mechanism.names, 1), mechanism), *motion(1, 10))


def test_joints_that_others_move_are_carried() -> None:
    whole = tree(5, n=9)
    leaves = [j for j in range(whole.n) if j not in whole.parent][-2:]
    kept = [j for j in range(whole.n) if j not in leaves]
    arrays = {
        key: getattr(whole, key)[kept]
        for key in ("prismatic", "axis", "origin", "mass", "com", "inertia", "position")
    }
    followers = tuple(
        Follower(
            whole.names[j],
            k,
            1.5 - 2.0 * k,
            0.3,
            -1 if whole.parent[j] < 0 else kept.index(whole.parent[j]),
            bool(whole.prismatic[j]),
            whole.axis[j],
            whole.origin[j],
            float(whole.mass[j]),
            whole.com[j],
            whole.inertia[j],
        )
        for k, j in enumerate(leaves)
    )
    parent = tuple(-1 if whole.parent[j] < 0 else kept.index(whole.parent[j]) for j in kept)
    mechanism = replace(
        whole,
        names=tuple(whole.names[j] for j in kept),
        parent=parent,
        bearings=(None,) * len(kept),
        followers=followers,
        **arrays,
    )
    joints = {name: joint("stribeck", "torque", k) for k, name in enumerate(mechanism.names)}
    assert_equals_batch(calibration(joints, mechanism), *motion(5, len(kept)))
    moved, alone = (
        joint_loads(one, *motion(5, len(kept))).tau
        for one in (mechanism, replace(mechanism, followers=()))
    )
    assert np.abs(moved - alone).max() > 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_rigid_torque_agrees_with_pinocchio(seed: int) -> None:
    pin: ModuleType = pytest.importorskip(
        "pinocchio", reason="Pinocchio (the package pin) judges the dynamics"
    )
    m = tree(seed)
    model = pin.Model()
    for j in range(m.n):
        kind = (
            pin.JointModelPrismaticUnaligned if m.prismatic[j] else pin.JointModelRevoluteUnaligned
        )
        one = model.addJoint(
            m.parent[j] + 1, kind(m.axis[j]), pin.SE3(np.eye(3), m.origin[j]), m.names[j]
        )
        model.appendBodyToJoint(
            one, pin.Inertia(m.mass[j], m.com[j], m.inertia[j]), pin.SE3.Identity()
        )
    model.gravity.linear = m.gravity
    data, feedforward = model.createData(), Feedforward(m, calibration({}))
    for q, dq, ddq in motion(seed, m.n).transpose(1, 0, 2):
        np.testing.assert_allclose(
            feedforward.rigid(q, dq, ddq), pin.rnea(model, data, q, dq, ddq), rtol=0, atol=1e-9
        )


def test_unknown_friction_is_nan_only_where_it_is_unknown() -> None:
    mechanism = tree(2, n=5)
    joints = {
        "joint0": joint("stribeck", "normal", 0),
        "joint1": joint("stribeck", "normal", 1, bearing=False),
        "joint3": joint("coulomb-viscous", "torque", 3),
        "joint4": joint("stribeck", "none", 4, bearing=False),
    }
    made = calibration(joints, mechanism)
    feedforward = Feedforward(made.mechanism, made)
    assert np.isnan(feedforward(*motion(2, 5)[:, 0])).tolist() == [False, True, True, False, False]
    assert_equals_batch(made, *motion(2, 5))


def test_a_result_survives_the_next_call_and_inputs_stay_as_they_were() -> None:
    made = calibration(everything(load_mechanism("lab6").names, 0))
    feedforward = Feedforward(made.mechanism, made)
    (q, dq, ddq), other = motion(0, 6)[:, 0].copy(), motion(0, 6)[:, 1]
    first, rigid = feedforward(q, dq, ddq), feedforward.rigid(q, dq, ddq)
    kept = first.copy(), rigid.copy()
    feedforward(*other)
    feedforward.rigid(*other)
    np.testing.assert_array_equal((first, rigid), kept)
    np.testing.assert_array_equal((q, dq, ddq), motion(0, 6)[:, 0])


def test_lists_and_integers_are_accepted() -> None:
    made = calibration(everything(load_mechanism("lab6").names, 0))
    np.testing.assert_allclose(
        Feedforward(made.mechanism, made)([0, 1, 1, 0, 1, 0], [1] * 6),
        made.friction([[0, 1, 1, 0, 1, 0]], [[1] * 6])[0],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            (np.zeros(5), np.zeros(6)),
            r"q has shape \(5,\), lab6 needs \(6,\): one value for each of j1, j2, j3, j4, j5, j6",
        ),
        ((np.zeros(6), 0.0), r"dq has shape \(\), lab6 needs \(6,\)"),
        ((np.zeros(6), np.zeros(6), np.zeros((1, 6))), r"ddq has shape \(1, 6\)"),
        (
            (np.zeros(6), np.array([0, 0, 0, np.nan, 0, 0])),
            r"dq of joint j4 is not a finite number",
        ),
        (
            (np.zeros(6), np.zeros(6), np.array([0, np.inf, -np.inf, 0, 0, 0])),
            r"ddq of joint j2 is not a finite number",
        ),
    ],
)
def test_invalid_states_are_refused_and_change_no_buffer(
    state: tuple[np.ndarray, ...], said: str
) -> None:
    made = calibration(everything(load_mechanism("lab6").names, 0))
    feedforward = Feedforward(made.mechanism, made)
    before = feedforward(np.ones(6), np.ones(6))
    for call in (feedforward, feedforward.rigid):
        with pytest.raises(InputError, match=said) as caught:
            call(*state)
        assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(feedforward(np.ones(6), np.ones(6)), before)


def test_a_calibration_of_another_arm_is_refused_by_the_joint() -> None:
    made = calibration({"j1": joint("stribeck", "none", 0), "j33": joint("stribeck", "none", 0)})
    with pytest.raises(
        InputError, match=r"lab6: unknown joint 'j33'; did you mean 'j3'\?.*names this joint"
    ) as caught:
        Feedforward(load_mechanism("lab6"), made)
    assert "\n" not in str(caught.value)


def test_memory_delays_a_reversal_and_does_not_change_sliding() -> None:
    """A joint that slides far beyond its presliding distance of 2 mrad, and turns back."""
    distance = Parameter(0.002, None, None, None, "rad", "identified")
    remembered = JointMemory("relaxing", {"presliding_distance": distance}, 0.002, 0.0, 0.0)
    mechanism = tree(2, n=1)
    plain = joint("stribeck", "none", 0, bearing=False)
    q = np.append(np.linspace(0.0, 0.1, 101), np.linspace(0.1, 0.0, 101))[:, None]
    dq = np.append(np.full(101, 0.3), np.full(101, -0.3))[:, None]
    without, found = (
        Feedforward(mechanism, calibration({"joint0": one}, mechanism)).follow(q, dq)
        for one in (plain, replace(plain, memory=remembered))
    )
    slides = np.r_[90:101, 190:202]
    np.testing.assert_allclose(found[slides], without[slides], rtol=1e-9)
    assert found[102, 0] > 0.0 > without[102, 0]


def test_closed_loops_are_refused_by_name() -> None:
    closure = Closure("knee", "pin", (0, 1), np.zeros((2, 3)), np.array([0.0, 0.0, 1.0]))
    mechanism = replace(tree(0), closures=(closure,))
    with pytest.raises(ModelError, match="knee closes a loop"):
        Feedforward(mechanism, calibration({}))


def test_the_tool_of_the_mechanism_counts_and_not_that_of_the_calibration(tmp_path: Path) -> None:
    """The same friction under another payload: the mechanism that is given makes the loads."""
    (tmp_path / "lab6.urdf").write_bytes(load_arm("lab6").model.read_bytes())
    (tmp_path / "loaded.toml").write_text(
        'schema = 1\nname = "loaded"\nmodel = "lab6.urdf"\n'
        "tool = { mass = 3.0, com = [0.0, 0.0, 0.1] }\n"
    )
    made = calibration({"j2": joint("coulomb-viscous", "torque", 0)})
    loaded = load_mechanism(tmp_path / "loaded.toml")
    q, dq = motion(0, 6)[:2, 0]
    expected = made.joints["j2"].torque(dq[1], joint_loads(loaded, q[None], dq[None]).torque[0, 1])
    found = Feedforward(loaded, made)(q, dq)[1]
    assert found == pytest.approx(float(expected), abs=1e-9)
    assert abs(found - Feedforward(made.mechanism, made)(q, dq)[1]) > 0.1
