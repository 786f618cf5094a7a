"""Published URDFs of real arms, as they are: loads against Pinocchio's and MuJoCo's
reading of the same file.
"""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.model.mechanism import Mechanism

try:
    ROBOTS = Path(
        str(
            distribution("example-robot-data").locate_file(
                "cmeel.prefix/share/example-robot-data/robots"
            )
        )
    )
except PackageNotFoundError:
    pytest.skip("the package example-robot-data has the URDFs", allow_module_level=True)

ARMS = {  # what is special about it: number of drives, joints that follow others
    "ur_description/urdf/ur5_robot.urdf": (6, {}),
    "ur_description/urdf/ur10_robot.urdf": (6, {}),
    "panda_description/urdf/panda.urdf": (8, {"panda_finger_joint2": "panda_finger_joint1"}),
    "kinova_description/robots/kinova.urdf": (6, {}),  # continuous joints
    "xarm_description/urdf/xarm7.urdf": (7, {}),
    "z1_description/urdf/z1.urdf": (7, {}),
    "so_arm_description/urdf/so101.urdf": (6, {}),
    # wheels, a lift, impossible inertias on the base
    "tiago_description/robots/tiago_no_hand.urdf": (12, {}),
    "talos_data/robots/talos_left_arm.urdf": (7, {}),  # links that are points
    "baxter_description/urdf/baxter.urdf": (
        17,
        {
            "l_gripper_r_finger_joint": "l_gripper_l_finger_joint",
            "r_gripper_r_finger_joint": "r_gripper_l_finger_joint",
        },
    ),
    # grippers of five followers
    "tiago_pro_description/robots/tiago_pro.urdf": (23, None),
}
SAMPLES = 8


def motion(arm: str, n: int) -> np.ndarray:
    return np.random.default_rng(len(arm)).normal(size=(3, SAMPLES, n))


@pytest.fixture(scope="module", params=ARMS, ids=lambda arm: Path(arm).stem)
def arm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def mechanism(arm: str) -> Mechanism:
    return load_mechanism(ROBOTS / arm, gravity=(1.0, -2.0, -9.0))


def test_driven_joints_have_columns_and_followers_have_none(arm: str, mechanism: Mechanism) -> None:
    drives, followers = ARMS[arm]
    assert mechanism.n == drives
    if followers is not None:
        assert {one.name: mechanism.names[one.leader] for one in mechanism.followers} == followers


def assert_same_loads(
    mechanism: Mechanism,
    arm: str,
    k: int,
    names: tuple[str, ...],
    tau: np.ndarray,
    force: np.ndarray,
    moment: np.ndarray,
    axis: np.ndarray,
) -> None:
    """Sample k: drive torques, wrenches about the joint origins in base axes,
    and what follows from them.
    """
    order = [names.index(name) for name in mechanism.names]
    f, m, n = force[order], moment[order], axis[order]
    loads = joint_loads(mechanism, *motion(arm, mechanism.n)[:, k : k + 1])
    along = np.sum(f * n, axis=1)
    expected = {
        "tau": tau[order],
        "torque": np.abs(tau[order]),
        "force": f,
        "moment": m,
        "axial": np.abs(along),
        "radial": np.linalg.norm(f - along[:, None] * n, axis=1),
        "bending": np.linalg.norm(np.cross(n, m), axis=1),
    }
    for key, value in expected.items():
        np.testing.assert_allclose(
            getattr(loads, key)[0], value, rtol=0, atol=1e-9, err_msg=f"{key} of sample {k}"
        )


def test_loads_agree_with_pinocchio(arm: str, mechanism: Mechanism) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the models")
    model = pin.buildModelFromUrdf(str(ROBOTS / arm), mimic=True)
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    data = model.createData()
    q, dq, ddq = motion(arm, mechanism.n)
    joints = [model.joints[model.getJointId(name)] for name in mechanism.names]
    assert model.nv == mechanism.n
    for k in range(SAMPLES):
        posture, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for j, joint in enumerate(joints):
            posture[joint.idx_q] = q[k, j] if joint.nq == 1 else np.cos(q[k, j])
            # a continuous joint is cosine and sine
            if joint.nq == 2:
                posture[joint.idx_q + 1] = np.sin(q[k, j])
            v[joint.idx_v], a[joint.idx_v] = dq[k, j], ddq[k, j]
        tau = pin.rnea(model, data, posture, v, a).copy()
        wrench = [data.f[joint.id].copy() for joint in joints]
        pin.computeJointJacobians(model, data, posture)  # rnea leaves oMi as it was
        turn = [data.oMi[joint.id].rotation for joint in joints]
        column = [
            pin.getJointJacobian(model, data, joint.id, pin.LOCAL_WORLD_ALIGNED)[:, joint.idx_v]
            for joint in joints
        ]
        assert_same_loads(
            mechanism,
            arm,
            k,
            mechanism.names,
            tau[[joint.idx_v for joint in joints]],
            np.array([R @ f.linear for R, f in zip(turn, wrench, strict=True)]),
            np.array([R @ f.angular for R, f in zip(turn, wrench, strict=True)]),
            np.array([c[3:] if c[3:].any() else c[:3] for c in column]),
        )


def mujoco_model(
    mujoco: ModuleType, path: Path
) -> tuple[object, dict[str, tuple[str, float, float]]]:
    """The file without meshes, friction and couplings; and who follows whom
    with which ratio and shift.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    followers = {
        equality.name1: (equality.name2, equality.data[1], equality.data[0])
        for equality in spec.equalities
    }
    for part in (*spec.geoms, *spec.meshes, *spec.equalities):
        spec.delete(part)
    for body in spec.bodies[1:]:
        carried = body
        while carried.name != "world" and not carried.joints:
            carried = carried.parent
        if carried.name == "world":  # what stands still may have any inertia
            body.fullinertia, body.inertia = np.full(6, np.nan), np.ones(3)
    spec.compiler.boundinertia = 1e-14  # MuJoCo refuses points
    spec.option.gravity = [1.0, -2.0, -9.0]
    model = spec.compile()
    model.dof_damping[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # limits, dry friction
    return model, followers


def test_loads_agree_with_mujoco(arm: str, mechanism: Mechanism) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo judges the models")
    model, followers = mujoco_model(mujoco, ROBOTS / arm)
    data, column = mujoco.MjData(model), {name: j for j, name in enumerate(mechanism.names)}
    names = tuple(model.joint(j).name for j in range(model.njnt))
    assert set(names) == set(column) | set(followers)
    for k, state in enumerate(motion(arm, mechanism.n).transpose(1, 0, 2)):
        for j, name in enumerate(names):
            leader, ratio, shift = followers.get(name, (name, 1.0, 0.0))
            data.qpos[j], data.qvel[j], data.qacc[j] = ratio * state[:, column[leader]] + [
                shift,
                0.0,
                0.0,
            ]
        mujoco.mj_inverse(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        tau = data.qfrc_inverse.copy()
        for name, (leader, ratio, _) in followers.items():
            tau[names.index(leader)] += ratio * data.qfrc_inverse[names.index(name)]
        body = model.jnt_bodyid
        force = data.cfrc_int[body, 3:]
        # cfrc_int is about the tree's centre of mass
        lever = data.subtree_com[model.body_rootid[body]] - data.xpos[body]
        moment = data.cfrc_int[body, :3] + np.cross(lever, force)
        assert_same_loads(mechanism, arm, k, names, tau, force, moment, data.xaxis)
