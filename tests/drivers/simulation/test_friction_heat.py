"""Heat of the simulated arm against a closed form: temperature from the power of friction, and
friction at this temperature.
"""

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.friction_heat import HeatedBody, HeatTruth
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.errors import InputError

HEAT = {"warming": 5.0, "time_constant": 2.0, "ambient": 20.0, "dry_growth": -0.004}


def heated(make_arm, **keys: object) -> ArmFile:
    return make_arm({"simulation": {"joints": {"turn": {"heat": {**HEAT, **keys}}}}})


def moved(arm: SimulatedArm, velocity: float, seconds: float) -> np.ndarray:
    """Move `turn` to and fro, 0.5 s each way; return time, velocity, torque and reported
    temperature of each cycle, (N, 4).
    """
    rows = []
    for k in range(round(seconds * arm.rate)):
        sample = arm.step(Command(np.array([velocity * (-1.0) ** (k // 100), 0.0])))
        rows.append((sample.t, sample.dq[0], sample.tau[0], sample.temperature[0]))
    return np.array(rows)


def friction_at(w: float, t: float) -> float:
    """Friction of `turn` of the arm file `pair`, written out."""
    above = t - 30.0
    excess = 1.5 * (1.0 + 0.02 * above) * np.exp(-((w / (0.08 * (1.0 + 0.02 * above))) ** 2))
    return (3.0 + excess) * (1.0 - 0.004 * above) + 2.0 * (0.3 + 0.7 * np.exp(-above / 20.0)) * w


def test_a_body_nears_the_settled_temperature_and_cools_at_rest() -> None:
    body = HeatedBody.cold(HeatTruth.model_validate(HEAT))
    for time in (0.5, 1.0, 3.0):
        body.advance(time, 4.0)
        assert body.temperature == pytest.approx(20.0 + 20.0 * (1.0 - np.exp(-time / 2.0)))
    hot = body.temperature
    body.advance(13.0, 0.0)
    assert body.temperature == pytest.approx(20.0 + (hot - 20.0) * np.exp(-5.0))


@pytest.mark.slow
def test_friction_heats_the_joint_and_changes_with_its_temperature(make_arm) -> None:
    arm = SimulatedArm(heated(make_arm))
    arm.enable()
    found = moved(arm, 0.9, 8.0)
    t, w, tau, temperature = found.T
    steady = (np.arange(len(t)) % 100) > 60
    expected = np.array(
        [friction_at(abs(rate), warm) for rate, warm in zip(w, temperature, strict=True)]
    )
    assert np.abs(tau)[steady] == pytest.approx(expected[steady], rel=0.01)
    body, worst = 20.0, 0.0
    for k in range(1, len(t)):  # integrated here from the reported motion
        body += (
            (t[k] - t[k - 1]) / 2.0 * (20.0 + 5.0 * abs(w[k]) * friction_at(abs(w[k]), body) - body)
        )
        worst = max(worst, abs(body - temperature[k]))
    assert worst < 0.03 * (temperature.max() - 20.0)
    assert temperature.max() > 33.0
    assert arm.temperature()[0] == pytest.approx(temperature[-1])
    assert np.isnan(arm.temperature()[1])
    hot = arm.friction([0.0, 0.0], [0.9, 0.0], arm.temperature()[0])[0, 0]
    assert hot == pytest.approx(friction_at(0.9, arm.temperature()[0]))
    assert arm.friction([0.0, 0.0], [0.9, 0.0])[0, 0] == pytest.approx(friction_at(0.9, 30.0))
    moved(arm, 0.0, 0.5)
    arm.wait(4000)
    assert arm.step(Command(np.zeros(2))).temperature[0] == pytest.approx(20.0, abs=0.5)


def test_without_a_sensor_no_temperature_is_reported(make_arm) -> None:
    arm = SimulatedArm(heated(make_arm, sensor=False))
    arm.enable()
    sample = arm.step(Command(np.zeros(2)))
    assert np.isnan(sample.temperature[0])
    assert sample.temperature[1] == pytest.approx(25.0, abs=0.1)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"time_constant": 0.0}, "time_constant"),
        ({"warming": -1.0}, "warming"),
        ({"viscous_floor": 1.5}, "viscous_floor"),
        ({"colour": 1.0}, "colour"),
    ],
)
def test_impossible_heat_is_refused(keys: dict[str, float], said: str, make_arm) -> None:
    with pytest.raises(InputError, match=said):
        SimulatedArm(heated(make_arm, **keys))
