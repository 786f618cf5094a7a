"""Transmissions with motors that move several joints, against tendons in MuJoCo."""

import mujoco
import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.transmission import Transmission

WRIST = {"c": {"b": 1.0}}
DIFFERENTIAL = {"b": {"b": 1.0, "c": 1.0}, "c": {"b": 1.0, "c": -1.0}}
NAMES = ("a", "b", "c")
ARM = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="a" axis="0 0 1"/><geom size="0.1"/><body pos="0 0 1">
<joint name="b" axis="0 1 0"/><geom size="0.1"/><body pos="0.5 0 0"><joint name="c" axis="1 0 0"/><geom size="0.1"/></body></body>
</body></worldbody><tendon>{tendons}</tendon><actuator>{motors}</actuator></mujoco>"""


@pytest.mark.parametrize("pairs", [{}, WRIST, DIFFERENTIAL], ids=["none", "wrist", "differential"])
def test_travel_and_torque_agree_with_tendons_in_mujoco(pairs) -> None:
    coupled, rng = Transmission.of_pairs(NAMES, pairs), np.random.default_rng(0)
    tendons = "".join(
        f'<fixed name="{name}">'
        + "".join(
            f'<joint joint="{joint}" coef="{ratio}"/>'
            for joint, ratio in zip(NAMES, row, strict=True)
            if ratio
        )
        + "</fixed>"
        for name, row in zip(NAMES, coupled.ratios, strict=True)
    )
    motors = "".join(f'<motor tendon="{name}"/>' for name in NAMES)
    model = mujoco.MjModel.from_xml_string(ARM.format(tendons=tendons, motors=motors))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = rng.normal(size=(3, 3))
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(coupled.of_motors(data.qpos), data.ten_length, atol=1e-12)
    np.testing.assert_allclose(coupled.of_motors(data.qvel), data.ten_velocity, atol=1e-12)
    np.testing.assert_allclose(coupled.torque_of_joints(data.ctrl), data.qfrc_actuator, atol=1e-12)
    np.testing.assert_allclose(
        coupled.of_joints(coupled.of_motors(data.qpos)), data.qpos, atol=1e-12
    )
    np.testing.assert_allclose(
        coupled.torque_of_motors(coupled.torque_of_joints(data.ctrl)), data.ctrl, atol=1e-12
    )


def test_a_matrix_and_pairs_give_the_same_transmission() -> None:
    by_rows = Transmission.of_matrix(NAMES, [[1, 0, 0], [0, 1, 1], [0, 1, -1]])
    assert by_rows.pairs == Transmission.of_pairs(NAMES, DIFFERENTIAL).pairs
    assert Transmission.of_pairs(NAMES, WRIST).pairs == {"c": {"b": 1.0, "c": 1.0}}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("j6 = { j7 = 1.0 }", "[transmission]: unknown joint 'j7'"),
        ("j9 = { j5 = 1.0 }", "[transmission]: unknown joint 'j9'"),
        (
            "matrix = [[1.0, 0.0], [0.0, 1.0]]",
            "2 rows with [2, 2] numbers; 6 rows with 6 numbers each are needed",
        ),
        (
            "j5 = { j6 = 1.0 }\nj6 = { j5 = 1.0 }",
            "the motor positions do not determine the joint positions: the ratios of the motor "
            "of j5 and of j6 are linearly dependent",
        ),
        ("j6 = { j6 = 0.0 }", "the ratios of the motor of j6 are zero or tiny beside the others"),
        ("j6 = [[1.0]]", "transmission.j6 = [[1.0]]: a table of finite numbers by joint is needed"),
        (
            "j6 = { j5 = nan }",
            "transmission.j6 = {'j5': nan}: a table of finite numbers by joint is needed",
        ),
        ("matrix = 'eye'", "transmission.matrix = eye: rows of finite numbers are needed"),
    ],
)
def test_impossible_transmissions_are_refused_by_key(tmp_path, table: str, said: str) -> None:
    from stribeck.ident.arm.built_in import data_dir

    folder = data_dir() / "arms" / "lab6"
    (tmp_path / "lab6.urdf").write_bytes((folder / "lab6.urdf").read_bytes())
    text = (folder / "lab6.toml").read_text(encoding="utf-8")
    (tmp_path / "arm.toml").write_text(
        text.replace("[driver]", f"[transmission]\n{table}\n\n[driver]", 1), encoding="utf-8"
    )
    with pytest.raises(InputError) as error:
        load_mechanism(tmp_path / "arm.toml")
    assert said in str(error.value)
    assert str(tmp_path / "arm.toml") in str(error.value)


def test_transmitted_torque_is_that_of_the_joints_own_motor() -> None:
    """The gear of joint 5 does not transmit the torque of joint 6's motor."""
    from dataclasses import replace

    plain = load_mechanism("lab6")
    wrist = replace(plain, transmission=Transmission.of_pairs(plain.names, {"j6": {"j5": 1.0}}))
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 5, 6))
    before, after = joint_loads(plain, q, dq, ddq), joint_loads(wrist, q, dq, ddq)
    np.testing.assert_allclose(after.tau, before.tau)
    np.testing.assert_allclose(after.torque[:, 4], np.abs(before.tau[:, 4] - before.tau[:, 5]))
    np.testing.assert_allclose(
        np.delete(after.torque, 4, axis=1), np.delete(before.torque, 4, axis=1)
    )
