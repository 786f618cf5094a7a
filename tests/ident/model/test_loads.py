"""Joint loads against the five-axis tree, Pinocchio, MuJoCo, calculations by
hand, and laws of mechanics.
"""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import Mechanism, joint_loads, load_mechanism
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import inverse_dynamics, kinematics, with_followers
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.loads import normal_load
from tests.judges import HAND

# Guo, Ju and Wang, Aerospace 11 (2024) 368, Table 2: the tree of five vertical axes with q = 0.1
# t^2, recomputed independently with Pinocchio, MuJoCo and the paper's own equations, which agree to
# 1e-13. Bearings: R_p = 0.02, R_n = 0.015, R_b = 0.05 m. Columns: t [s], joint, tau_d0 [N·m], tau_r
# [N·m], f_r [N], f_m [N], tau_n [N·m].
FIVE_AXES = np.array(
    [
        (0, 1, 1.965952, 27.439889, 2.043916, 107.8, 12.633834),
        (0, 2, 1.499971, 46.670466, 1.474567, 58.8, 19.579678),
        (0, 3, 0.180010, 17.639612, 1.066581, 29.4, 7.518176),
        (0, 4, 1.095981, 31.113644, 1.111385, 39.2, 13.055685),
        (0, 5, 0.144006, 11.759741, 0.787907, 19.6, 5.013655),
        (1, 1, 2.284110, 30.088976, 2.506219, 107.8, 13.702715),
        (1, 2, 2.043826, 48.417043, 2.021991, 58.8, 20.289257),
        (1, 3, -0.059936, 17.639612, 1.520744, 29.4, 7.527260),
        (1, 4, 0.752218, 29.973183, 0.968880, 39.2, 12.596651),
        (1, 5, 0.282312, 11.759741, 0.660410, 19.6, 5.011105),
        (3, 1, 11.104917, 61.692838, 12.321400, 107.8, 26.540563),
        (3, 2, 6.430815, 61.626649, 12.155669, 58.8, 25.775773),
        (3, 3, -2.173226, 17.639612, 9.655131, 29.4, 7.689947),
        (3, 4, 0.023785, 23.709535, 1.136050, 39.2, 10.094535),
        (3, 5, 0.211267, 11.759741, 0.580603, 19.6, 5.009509),
        (5, 1, 6.029607, 78.518164, 23.353058, 107.8, 33.491327),
        (5, 2, 2.461462, 69.476614, 38.970715, 58.8, 29.452060),
        (5, 3, 5.508243, 17.639612, 30.892027, 29.4, 8.114685),
        (5, 4, 8.169490, 35.849908, 16.811632, 39.2, 15.264196),
        (5, 5, -5.322072, 11.759741, 13.555157, 19.6, 5.269000),
    ]
)

SCARA = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
 <body name="one" pos="0 0 0.3"><joint name="turn1" axis="0 0 1"/>
  <inertial pos="0.2 0.01 0.03" mass="3" fullinertia="0.02 0.05 0.06 0.001 -0.002 0.003"/>
  <body name="two" pos="0.4 0 0.05" euler="0.3 0 0"><joint name="turn2" axis="0 0.1 1"/>
   <inertial pos="0.15 0 0.02" mass="2" fullinertia="0.01 0.03 0.03 0 0.001 0"/>
   <body name="three" pos="0.3 0 0" euler="0 0.2 0.4"><joint name="slide" type="slide" axis="0 0.2 -1"/>
    <inertial pos="0.05 0.02 -0.1" mass="1.5" fullinertia="0.008 0.008 0.002 0 0 0.001"/>
    <body name="four" pos="0 0 -0.2"><joint name="spin" axis="1 0 1"/>
     <inertial pos="0.03 -0.04 -0.06" mass="0.7" fullinertia="0.002 0.002 0.001 0 0 0"/></body></body></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the loads")


@pytest.fixture(scope="module")
def lab6() -> Mechanism:
    return load_mechanism("lab6")


def motion(n: int, samples: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-2.0, 2.0, (samples, n)),
        rng.normal(size=(samples, n)),
        rng.normal(scale=2.0, size=(samples, n)),
    )


def test_five_axis_tree_has_the_published_loads() -> None:
    t = np.unique(FIVE_AXES[:, 0])
    q, dq, ddq = (
        np.repeat(column[:, None], 5, axis=1)
        for column in (0.1 * t**2, 0.2 * t, np.full_like(t, 0.2))
    )
    loads = joint_loads(load_mechanism("five-axis-tree"), q, dq, ddq)
    ours = np.stack(
        [loads.tau, loads.bending, loads.radial, loads.axial, loads.normal], axis=2
    ).reshape(-1, 5)
    np.testing.assert_allclose(ours, FIVE_AXES[:, 2:], rtol=0, atol=1.01e-6)
    np.testing.assert_allclose(loads.torque.ravel(), np.abs(FIVE_AXES[:, 2]), rtol=0, atol=1.01e-6)


def test_lab6_loads_agree_with_pinocchio(lab6: Mechanism, pin: ModuleType) -> None:
    """Comparison in joint axes, one of which is the axis of the joint."""
    model = pin.buildModelFromUrdf(str(data_dir() / "arms" / "lab6" / "lab6.urdf"))
    data = model.createData()
    axis = {"j1": 2, "j2": 1, "j3": 1, "j4": 2, "j5": 1, "j6": 2}
    q, dq, ddq = motion(6)
    loads = joint_loads(lab6, q, dq, ddq)
    for k in range(len(q)):
        pin.rnea(model, data, q[k], dq[k], ddq[k])
        for j, name in enumerate(lab6.names):
            wrench, along = data.f[model.getJointId(name)], axis[name]
            across = [i for i in range(3) if i != along]
            assert loads.tau[k, j] == pytest.approx(wrench.angular[along], abs=1e-9)
            assert loads.torque[k, j] == pytest.approx(abs(wrench.angular[along]), abs=1e-9)
            assert loads.axial[k, j] == pytest.approx(abs(wrench.linear[along]), abs=1e-9)
            assert loads.radial[k, j] == pytest.approx(np.hypot(*wrench.linear[across]), abs=1e-9)
            assert loads.bending[k, j] == pytest.approx(np.hypot(*wrench.angular[across]), abs=1e-9)


def test_loads_of_turning_and_sliding_joints_agree_with_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo judges the loads")
    path = tmp_path / "scara.xml"
    path.write_text(SCARA)
    mechanism = load_mechanism(path)
    assert mechanism.prismatic.tolist() == [False, False, True, False]
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q, dq, ddq = motion(4)
    loads = joint_loads(mechanism, q, dq, ddq)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        np.testing.assert_allclose(loads.tau[k], data.qfrc_inverse, rtol=0, atol=1e-9)
        for j in range(4):
            body, n = j + 1, data.xaxis[j]
            force = data.cfrc_int[body, 3:]
            moment = data.cfrc_int[body, :3] + np.cross(
                data.subtree_com[1] - data.xpos[body], force
            )
            np.testing.assert_allclose(loads.force[k, j], force, rtol=0, atol=1e-9)
            np.testing.assert_allclose(loads.moment[k, j], moment, rtol=0, atol=1e-9)
            assert loads.axial[k, j] == pytest.approx(abs(n @ force), abs=1e-9)
            assert loads.radial[k, j] == pytest.approx(np.linalg.norm(np.cross(n, force)), abs=1e-9)
            assert loads.bending[k, j] == pytest.approx(
                np.linalg.norm(np.cross(n, moment)), abs=1e-9
            )


def slider(com: tuple[float, float, float], bearing: Bearing | None) -> Mechanism:
    """Return a horizontal slide along x with 3 kg under 10 m/s²."""
    return Mechanism(
        "slider",
        ("s",),
        (-1,),
        np.array([True]),
        np.array([[1.0, 0.0, 0.0]]),
        np.zeros((1, 3)),
        np.array([3.0]),
        np.array([com]),
        np.zeros((1, 3, 3)),
        np.array([0.0, 0.0, -10.0]),
        np.array([[-np.inf, np.inf]]),
        (bearing,),
    )


@pytest.mark.parametrize(
    ("com", "normal"),
    [
        ((0.0, 0.0, 0.0), 30.0),
        ((0.1, 0.0, 0.0), 30.0 + 3.0 / 0.2),
        ((0.0, -0.1, 0.0), 30.0 + 3.0 / 0.05),
        ((0.1, -0.1, 0.5), 30.0 + 3.0 / 0.2 + 3.0 / 0.05),
    ],
)
def test_normal_load_of_a_slide_by_hand(com: tuple[float, float, float], normal: float) -> None:
    """Eq. 47, prismatic: weight ahead bends over R_b = 0.2 m, weight beside
    twists over R_n = 0.05 m.
    """
    bearing = Bearing(pin_radius=0.01, friction_arm=0.05, bending_arm=0.2)
    for q in (0.0, 0.7):
        assert joint_loads(slider(com, bearing), [[q]]).normal[0, 0] == pytest.approx(
            normal, rel=1e-12
        )


def test_normal_load_of_a_pin_by_hand() -> None:
    """Eq. 47, revolute: (12 / 0.06 + 50) 0.02 + 30 * 0.015."""
    bearing = Bearing(pin_radius=0.02, friction_arm=0.015, bending_arm=0.06)
    bending, radial, axial, twist = np.array([[12.0], [50.0], [30.0], [99.0]])
    normal = normal_load(bearing, False, bending=bending, radial=radial, axial=axial, twist=twist)
    assert normal[0] == pytest.approx(5.45, rel=1e-12)


def test_normal_load_is_unknown_without_bearing(lab6: Mechanism) -> None:
    some = replace(lab6, bearings=(lab6.bearings[0], None, *lab6.bearings[2:]))
    normal = joint_loads(some, np.zeros((3, 6))).normal
    assert np.isnan(normal[:, 1]).all()
    assert np.isfinite(np.delete(normal, 1, axis=1)).all()


@pytest.mark.parametrize("length", [0.0, -0.01, np.nan])
def test_a_bearing_needs_positive_lengths(length: float) -> None:
    with pytest.raises(ValueError, match="friction_arm"):
        Bearing(pin_radius=0.02, friction_arm=length, bending_arm=0.06)


def test_loads_are_even_under_velocity_reversal(lab6: Mechanism) -> None:
    q, dq, ddq = motion(6)
    there, back = joint_loads(lab6, q, dq, ddq), joint_loads(lab6, q, -dq, ddq)
    for load in ("torque", "bending", "radial", "axial", "normal"):
        np.testing.assert_allclose(there.get(load), back.get(load), rtol=0, atol=1e-11)
        assert np.ptp(there.get(load)[:, 2:]) > 1.0, "the motion does not excite this load"


def test_loads_are_never_negative(lab6: Mechanism) -> None:
    loads = joint_loads(lab6, *motion(6, 500))
    assert (
        min(loads.get(load).min() for load in ("torque", "bending", "radial", "axial", "normal"))
        >= 0.0
    )


def test_load_parts_add_up_to_the_whole_wrench(lab6: Mechanism) -> None:
    loads = joint_loads(lab6, *motion(6))
    np.testing.assert_allclose(
        loads.radial**2 + loads.axial**2, np.sum(loads.force**2, axis=2), rtol=1e-10
    )
    np.testing.assert_allclose(
        loads.bending**2 + loads.tau**2, np.sum(loads.moment**2, axis=2), rtol=1e-10
    )


def test_loads_do_not_depend_on_the_orientation_of_the_base(lab6: Mechanism) -> None:
    R, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
    R *= np.linalg.det(R)
    turned = replace(
        lab6,
        axis=lab6.axis @ R.T,
        origin=lab6.origin @ R.T,
        com=lab6.com @ R.T,
        inertia=R @ lab6.inertia @ R.T,
        gravity=R @ lab6.gravity,
    )
    upright, tilted = joint_loads(lab6, *motion(6)), joint_loads(turned, *motion(6))
    for load in ("torque", "bending", "radial", "axial", "normal"):
        np.testing.assert_allclose(tilted.get(load), upright.get(load), rtol=0, atol=1e-10)


def test_static_loads_are_proportional_to_gravity(lab6: Mechanism) -> None:
    q = motion(6)[0]
    once, twice, never = (
        joint_loads(replace(lab6, gravity=factor * lab6.gravity), q) for factor in (1.0, 2.0, 0.0)
    )
    for load in ("torque", "bending", "radial", "axial", "normal"):
        np.testing.assert_allclose(twice.get(load), 2.0 * once.get(load), rtol=1e-12)
        np.testing.assert_allclose(never.get(load), 0.0, atol=1e-12)


def test_normal_load_of_a_floor_mounted_shoulder_is_the_same_in_all_postures(
    lab6: Mechanism,
) -> None:
    """Parallel horizontal axes with a fixed wrist: the weight and its lever arm along the axis are
    the same in all postures.
    """
    q = motion(6, 200)[0]
    q[:, 3:] = q[0, 3:]
    shoulder = joint_loads(lab6, q)
    assert np.ptp(shoulder.normal[:, 1]) < 1e-9
    assert np.ptp(shoulder.normal[:, 2]) < 1e-9
    assert np.ptp(shoulder.torque[:, 1]) > 10.0


def test_external_wrenches_act_on_followers_too(tmp_path: Path) -> None:
    """External wrenches that support every link, including the
    follower's, leave zero joint loads.
    """
    (tmp_path / "hand.urdf").write_text(HAND, encoding="utf-8")
    hand = load_mechanism(tmp_path / "hand.urdf")
    tree, q, *_ = with_followers(hand, motion(2)[0])
    arm = np.einsum("nijk,ik->nij", kinematics(tree, q).rotation, tree.com)
    weight = np.broadcast_to(-tree.mass[:, None] * tree.gravity, arm.shape)
    held = np.concatenate((weight, np.cross(arm, weight)), axis=2)
    assert held.shape == (20, 3, 6)
    for key in ("tau", "force", "moment"):
        np.testing.assert_allclose(
            getattr(joint_loads(hand, q[:, :2], external=held), key), 0.0, atol=1e-12
        )
    np.testing.assert_allclose(inverse_dynamics(hand, q[:, :2], external=held), 0.0, atol=1e-12)
    with pytest.raises(
        InputError,
        match=r"external has shape \(20, 2, 6\), hand needs \(20, 3, 6\): .* wrist, left, right",
    ):
        joint_loads(hand, q[:, :2], external=held[:, :2])


def test_an_unknown_load_lists_the_loads(lab6: Mechanism) -> None:
    with pytest.raises(InputError, match=r"'nornal'.*torque, bending, radial, axial, normal"):
        joint_loads(lab6, np.zeros((1, 6))).get("nornal")
