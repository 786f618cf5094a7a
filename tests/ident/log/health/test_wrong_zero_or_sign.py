"""A mistake about positions is named with its correction; MuJoCo computes the true torques."""

import re
from typing import Any

import mujoco
import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.health.wrong_zero_or_sign import misplaced
from stribeck.ident.model.files.urdf_mjcf import model_spec

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
POINTS, FRICTION, NOISE = 40, 3.0, 0.1  # points, friction [N·m] and noise [N·m] of a joint


@pytest.fixture(scope="module")
def lab6() -> Any:
    return load_mechanism(LAB6)


def recorded(seed: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Random postures of lab6, shape (N, 6), and the torques that hold it there."""
    model = model_spec(LAB6).compile()
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    q = rng.uniform(
        0.7 * model.jnt_range[:, 0], 0.7 * model.jnt_range[:, 1], (6 * POINTS, model.nv)
    )
    tau = np.empty_like(q)
    for row, place in enumerate(q):
        data.qpos[:] = place
        mujoco.mj_inverse(model, data)
        tau[row] = data.qfrc_inverse
    return q, scale * tau + NOISE * rng.standard_normal(q.shape) + rng.normal(size=6)


def findings(
    q: np.ndarray, tau: np.ndarray, mechanism: Any, tables: dict[str, JointTable] | None = None
) -> list[tuple[Any, ...]]:
    """Joint, kind and text of each finding; each joint has a part of the points."""
    joint = np.tile(np.arange(6), POINTS)
    points = pd.DataFrame(
        {
            "joint": [mechanism.names[j] for j in joint],
            "odd": FRICTION,
            "even": tau[np.arange(len(q)), joint],
        }
    )
    found = misplaced(points, q, np.zeros_like(q), mechanism, tables or {})
    return [(one.joint, one.kind, one.text) for one in found]


class TestMistakes:
    @pytest.mark.parametrize(("joint", "zero", "direction"), [(1, 0.0, 1), (2, 0.2, -1)])
    def test_a_wrong_direction(self, lab6: Any, joint: int, zero: float, direction: int) -> None:
        q, tau = recorded(joint)
        q[:, joint], tau[:, joint] = 2.0 * zero - q[:, joint], -tau[:, joint]
        tables = {lab6.names[joint]: JointTable(zero_offset=zero, direction=direction)}
        ((name, kind, text),) = findings(q, tau, lab6, tables)
        assert (name, kind) == (lab6.names[joint], "direction")
        assert f"write direction = {-direction} in joints.{name}" in text

    @pytest.mark.slow
    @pytest.mark.parametrize(("joint", "shift"), [(2, -0.35), (2, 0.1), (1, 1.4)])
    def test_a_wrong_zero(self, lab6: Any, joint: int, shift: float) -> None:
        q, tau = recorded(joint, scale=0.93)
        q[:, joint] -= shift
        ((name, kind, text),) = findings(
            q, tau, lab6, {lab6.names[joint]: JointTable(zero_offset=0.5)}
        )
        assert (name, kind) == (lab6.names[joint], "zero")
        (told,) = re.findall(r"write zero_offset = (\S+) in", text)
        assert float(told) == pytest.approx(0.5 + shift, abs=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "moved"),
    [((1, 2), True), ((1, 2), False), ((2, 3), True), ((0, 1), False)],
    ids=["next positions", "next torques", "other positions", "first torques"],
)
def test_two_exchanged_joints(lab6: Any, pair: tuple[int, int], moved: bool) -> None:
    q, tau = recorded(1)
    back = pair[::-1]
    tau[:, pair] = tau[:, back]
    if moved:
        q[:, pair] = q[:, back]
    ((name, kind, text),) = findings(q, tau, lab6)
    assert (name, kind) == (lab6.names[pair[0]], "order")
    what = "positions and torques" if moved else "torques"
    assert text.startswith(f"{name} and {lab6.names[pair[1]]}: ")
    assert f"if the {what} of these two joints are exchanged" in text


def test_a_correct_log_has_no_finding(lab6: Any) -> None:
    assert all(findings(*recorded(seed, scale), lab6) == [] for seed, scale in ((0, 1.0), (1, 0.9)))


@pytest.mark.slow
def test_a_reversed_wrist_pitch_may_be_explained_by_a_roll_of_half_a_turn(lab6: Any) -> None:
    q, tau = recorded(0)
    q[:, 4] *= -1.0
    tau[:, 4] *= -1.0
    told = findings(q, tau, lab6)
    assert [one[:2] for one in told] in ([], [("j5", "direction")], [("j4", "zero")])
    assert all(
        one[1] == "direction"
        or abs(abs(float(re.findall(r"are shifted by (\S+) rad", one[2])[0])) - np.pi) < 0.1
        for one in told
    )


@pytest.mark.slow
def test_two_mistakes_are_not_explained_by_one(lab6: Any) -> None:
    q, tau = recorded(0)
    q[:, 1] += 0.8
    q[:, 2] *= -1.0
    tau[:, 2] *= -1.0
    assert findings(q, tau, lab6) == []


@pytest.mark.slow
def test_torques_of_another_arm_are_not_explained(lab6: Any) -> None:
    q, tau = recorded(0)
    tau[:, 1] = 20.0 * np.sin(3.0 * q[:, 4])
    assert findings(q, tau, lab6) == []
