"""Motors that move several joints in exports: C code says what Python says, and
MuJoCo feels their friction.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import Calibration, Feedforward
from stribeck.ident.fit.inertia.motor_friction import MotorFriction, RubbingMotor
from tests.ident.export.compiled import needs_c
from tests.ident.export.conftest import known, made_joint, plainly
from tests.ident.export.test_c_header import run_header
from tests.schemas import judge

WRIST = {"j6": {"j5": 0.5, "j6": 1.0}}
FLAT = RubbingMotor(
    "coulomb-viscous",
    {"coulomb": known(1.5), "viscous": known(0.8), "inertia": known(0.01)},
    (0.01, 2.0),
)
BENT = RubbingMotor(
    "stribeck",
    {
        "coulomb": known(1.5),
        "static": known(2.0),
        "stribeck_velocity": known(0.05),
        "viscous": known(0.8),
        "inertia": known(0.01),
    },
    (0.01, 2.0),
)


@pytest.fixture
def wrist(make_calibration: Callable[..., Calibration]) -> Calibration:
    """Of lab6; joint 6 has no friction of its own, and gears rub by what they transmit."""
    made = make_calibration(
        joints={f"j{k}": made_joint("coulomb-viscous", "torque", seed=k) for k in range(1, 6)}
    )
    return replace(
        made, model=replace(made.model, transmission=WRIST), motors=MotorFriction({"j6": BENT})
    )


@pytest.mark.slow
@needs_c
def test_c_code_and_feed_forward_are_the_batch_code(wrist: Calibration, tmp_path: Path) -> None:
    q, dq, ddq = states = np.random.default_rng(0).normal(scale=1.5, size=(3, 30, 6))
    expected = wrist.friction(q, dq, ddq)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(expected[:, 5], BENT.torque(0.5 * dq[:, 4] + dq[:, 5]), atol=1e-12)
    np.testing.assert_allclose(
        run_header(wrist, tmp_path, states)[2], expected, rtol=1e-9, atol=1e-9
    )
    feedforward = Feedforward(wrist.mechanism, wrist)
    np.testing.assert_allclose(
        [feedforward(*state) for state in states.transpose(1, 0, 2)], expected, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("own", [False, True], ids=["converted", "into an MJCF of one's own"])
def test_mujoco_feels_the_motor_at_every_joint_that_it_moves(
    wrist: Calibration, tmp_path: Path, own: bool
) -> None:
    made = replace(wrist, motors=MotorFriction({"j6": FLAT}), joints={})
    text = plainly(made, "mjcf").text
    if own:
        plain = replace(made, motors=MotorFriction({}))
        (tmp_path / "mine.xml").write_text(plainly(plain, "mjcf").text, encoding="utf-8")
        text = plainly(made, "mjcf", tmp_path / "mine.xml").text
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    assert model.tendon_armature.tolist() == [0.01]
    for rates in ((0.7, 0.4), (0.7, -0.6)):
        data.qvel[:] = [0.0, 0.0, 0.0, 0.0, *rates]
        data.qacc[:] = 0.0
        mujoco.mj_inverse(model, data)
        rate = 0.5 * rates[0] + rates[1]
        torque = 1.5 * np.sign(rate) + 0.8 * rate
        np.testing.assert_allclose(
            (data.qfrc_inverse - data.qfrc_bias)[4:], [0.5 * torque, torque], rtol=1e-3
        )


@pytest.mark.parametrize("target", ["urdf", "sdf", "ros2", "vendor"])
def test_targets_without_shared_motor_friction_say_so(wrist: Calibration, target: str) -> None:
    assert any(
        "motors that move several joints: that of j6 (which moves j5 and j6) is lost" in loss
        for loss in plainly(wrist, target).losses
    )


def test_formats_of_numbers_have_shared_motor_friction(wrist: Calibration) -> None:
    table = json.loads(plainly(wrist, "json").text)
    judge("calibration", table)
    assert table["model"]["transmission"] == WRIST
    assert table["motors"]["j6"]["parameters"]["static"]["value"] == 2.0
    assert "motor of j6,stribeck,none,none,static,2,0.01" in plainly(wrist, "csv").text
