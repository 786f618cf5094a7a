"""An unknown tool from even parts: MuJoCo weighs the arm, tool included; the estimate must
cover it, and invent none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.arm.unknown_tool import (
    TOOL_PARAMETERS,
    EvenParts,
    ToolFit,
    find_tool,
    places,
    tool_regressor,
)
from stribeck.ident.model.files.link_inertia import add_point_mass
from stribeck.ident.model.files.mimic_joints import last_link
from stribeck.ident.model.files.urdf_mjcf import model_spec

PAYLOAD = Tool(1.5, (0.03, -0.02, 0.08))
MOMENT = (1.5, 0.045, -0.03, 0.12)
NONE = Tool()
# N·m, what the levels of round trips scatter with
FRICTION = (7.0, 8.0, 5.0, 2.0, 2.0, 1.3)
SCALES = (1.0, 1.04, 0.95, 1.0, 0.97, 1.0)


def weight(arm: ArmFile, payload: Tool, q: np.ndarray) -> np.ndarray:
    """MuJoCo's gravity torques at postures, shape (N, n)."""
    spec = model_spec(arm.model)
    add_point_mass(last_link(spec), payload.mass, payload.com)
    spec.option.gravity = list(arm.gravity)
    model = spec.compile()
    data, out = mujoco.MjData(model), np.empty_like(q)
    for row, posture in enumerate(q):
        data.qpos[:] = posture
        mujoco.mj_forward(model, data)
        out[row] = data.qfrc_bias
    return out


def recorded(
    arm: ArmFile,
    payload: Tool,
    scales: Sequence[float],
    seed: int,
    postures: int = 7,
    joints: Sequence[int] = range(6),
    trips: int = 6,
    bins: int = 3,
) -> list[EvenParts]:
    """Even parts as a campaign gives them: round trips in random postures, whose levels
    scatter by 1 % of friction.
    """
    rng = np.random.default_rng(seed)
    mechanism = load_mechanism(arm)
    low, high = (
        np.maximum(mechanism.position, -2.0)[:, 0],
        np.minimum(mechanism.position, 2.0)[:, 1],
    )
    at = rng.uniform(low, high, (postures, mechanism.n))
    q = np.tile(np.repeat(at, trips * bins, axis=0), (len(joints), 1, 1))
    for k, j in enumerate(joints):
        q[k, :, j] += np.tile(np.linspace(0.0, 0.4, bins), postures * trips)
    weights, stated, regressors = (
        values.reshape(*q.shape[:2], *values.shape[1:])
        for values in (
            weight(arm, payload, q.reshape(-1, mechanism.n)),
            weight(arm, NONE, q.reshape(-1, mechanism.n)),
            tool_regressor(arm, mechanism, q.reshape(-1, mechanism.n)),
        )
    )
    trip = np.repeat(np.arange(postures * trips), bins)
    parts = []
    for k, j in enumerate(joints):
        level = 0.01 * FRICTION[j] * rng.standard_normal(postures * trips) / np.sqrt(2.0)
        even = scales[j] * weights[k, :, j] + 0.1 * rng.standard_normal() + level[trip]
        parts.append(
            EvenParts(
                mechanism.names[j],
                even + 0.01 * rng.standard_normal(len(trip)),
                stated[k, :, j],
                np.full(len(trip), FRICTION[j]),
                regressors[k, :, j],
                trip,
                places(pd.DataFrame({"posture": np.zeros(len(trip))}), np.delete(q[k], j, axis=1)),
            )
        )
    return parts


@pytest.fixture(scope="module")
def lab6() -> ArmFile:
    return load_arm("lab6")


@pytest.fixture(scope="module")
def found(lab6: ArmFile) -> list[ToolFit]:
    """Fits over seeds, with a payload and torque constants that are off."""
    return [find_tool(recorded(lab6, PAYLOAD, SCALES, seed)) for seed in range(4)]


def covered(fits: Sequence[ToolFit]) -> Iterator[bool]:
    for fit in fits:
        for name, truth in zip(TOOL_PARAMETERS, MOMENT, strict=True):
            parameter = fit.unknown.parameters[name]
            yield parameter.low <= truth <= parameter.high
        for joint, truth in zip(("j2", "j3", "j5"), (SCALES[1], SCALES[2], SCALES[4]), strict=True):
            scale = fit.gravity[joint]["scale"]
            yield scale.low <= truth <= scale.high


def test_regressor_equals_gravity_torque_of_a_tool(lab6: ArmFile) -> None:
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (5, 6))
    added = weight(lab6, PAYLOAD, q) - weight(lab6, NONE, q)
    np.testing.assert_allclose(
        tool_regressor(lab6, load_mechanism(lab6), q) @ MOMENT, added, atol=1e-9
    )


TURNED = """
<mujoco>
  <worldbody>
    <body pos="0 0 0.3">
      <joint name="a" axis="0 1 0"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>
      <body pos="0.1 0.2 0.3" euler="30 40 50">
        <joint name="b" pos="0.02 0.03 0.04" axis="1 0 0"/>
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_the_tool_is_stated_in_the_frame_of_the_last_link(tmp_path: Path) -> None:
    """Its axes are turned against the base, and its joint is away from its origin."""
    path = tmp_path / "turned.xml"
    path.write_text(TURNED)
    arm, q = load_arm(path), np.random.default_rng(0).uniform(-1.5, 1.5, (5, 2))
    added = weight(arm, PAYLOAD, q) - weight(arm, NONE, q)
    np.testing.assert_allclose(
        tool_regressor(arm, load_mechanism(arm), q) @ MOMENT, added, atol=1e-9
    )


@pytest.mark.slow
def test_a_payload_is_found_and_used_over_seeds(found: list[ToolFit]) -> None:
    assert [fit.unknown.status for fit in found] == ["used"] * len(found)
    for fit in found:
        tool = fit.unknown.tool
        assert tool is not None
        assert tool.mass == pytest.approx(1.5, rel=0.15)
        np.testing.assert_allclose(tool.com, PAYLOAD.com, atol=0.015)


def test_intervals_cover_the_payload_and_the_scales(found: list[ToolFit]) -> None:
    """Of 28 intervals at 95 %, fewer than 23 cover by chance in one case of four hundred."""
    assert sum(covered(found)) >= 23


@pytest.mark.slow
def test_with_right_scales_the_tool_alone_is_fitted_with_smaller_intervals(
    lab6: ArmFile, found: list[ToolFit]
) -> None:
    fits = [find_tool(recorded(lab6, PAYLOAD, (1.0,) * 6, seed)) for seed in range(3)]
    width = [
        np.median([fit.unknown.parameters["mass"].half_width for fit in some])
        for some in (fits, found)
    ]
    assert [fit.unknown.status for fit in fits] == ["used"] * 3
    assert width[0] < 0.5 * width[1]
    assert (
        sum(
            fit.unknown.parameters["mass"].low <= 1.5 <= fit.unknown.parameters["mass"].high
            for fit in fits
        )
        >= 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(1.0,) * 6, SCALES, (0.9,) * 6, (1.0, 1.2, 1.0, 1.0, 1.0, 1.0)])
def test_no_tool_is_claimed_without_a_tool(lab6: ArmFile, scales: tuple[float, ...]) -> None:
    fits = [find_tool(recorded(lab6, NONE, scales, 100 + seed)) for seed in range(2)]
    assert {fit.unknown.status for fit in fits} <= {"none", "possible"}
    assert all(not fit.gravity and fit.unknown.tool is None for fit in fits)


def test_stated_tool_that_is_not_mounted_is_reported_as_missing_mass(lab6: ArmFile) -> None:
    stated = replace(lab6, tool=PAYLOAD)
    parts = [
        replace(part, gravity=part.gravity + part.tool @ MOMENT)
        for part in recorded(stated, NONE, (1.0,) * 6, 3)
    ]
    fit = find_tool(parts)
    assert fit.unknown.status == "none"
    assert fit.missing == pytest.approx(-1.5, abs=0.2)


def test_parameter_that_no_joint_feels_has_no_value_but_a_note(make_arm) -> None:
    """Of `pair` only the boom feels gravity: neither the mass at its axis nor
    a moment along that axis.
    """
    arm = make_arm()
    fit = find_tool(recorded(arm, Tool(0.8, (0.3, 0.05, 0.1)), (1.0, 1.0), 1, joints=(0, 1)))
    assert fit.unknown.status == "found"
    assert fit.unknown.tool is None
    for name in ("mass", "moment_y"):
        assert fit.unknown.parameters[name].value is None
        assert "no measured joint feels it" in fit.unknown.parameters[name].note
    for name, truth in (("moment_x", 0.24), ("moment_z", 0.08)):
        parameter = fit.unknown.parameters[name]
        assert parameter.value == pytest.approx(truth, abs=0.02)
        assert parameter.verdict == "weak"  # a scale of that joint looks the same
        assert "torque scales of the joints have the same effect" in parameter.note


def test_note_names_the_combined_parameter(lab6: ArmFile) -> None:
    """A tool that every joint feels at one lever: mass and moment act as one."""
    parts = [
        replace(part, tool=np.column_stack((0.3 * part.tool[:, 1], part.tool[:, 1:])))
        for part in recorded(lab6, NONE, (1.0,) * 6, 5)
    ]
    parameters = find_tool(
        [replace(part, even=part.even + part.tool @ MOMENT) for part in parts]
    ).unknown.parameters
    assert parameters["mass"].value is parameters["moment_x"].value is None
    assert "identified only in combination with moment_x" in parameters["mass"].note
    assert parameters["moment_z"].low <= MOMENT[3] <= parameters["moment_z"].high


def test_one_posture_is_too_few(lab6: ArmFile) -> None:
    assert find_tool(recorded(lab6, PAYLOAD, SCALES, 1, postures=3)).unknown.status == "not sought"
