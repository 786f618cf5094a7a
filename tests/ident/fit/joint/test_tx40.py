"""The TX40, a real industrial arm (see its README): published friction."""

import pytest

from benchmarks.real import TX40, TX40_MOTOR
from benchmarks.real_logs import LOGS, tx40_run
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (LOGS / "tx40").is_dir(),
        reason="the measured TX40 log is no part of the project and missing beside it",
    ),
]
# free links and fast rows, as in the published fit
WIDE = Options(motion="model", law="coulomb-viscous", load="none", inertia="fit", bandwidth=150.0)


@pytest.fixture(scope="module")
def made() -> Calibration:
    return identify([tx40_run()], WIDE).calibration


@pytest.mark.parametrize(
    ("joint", "width"),
    [
        ("joint_1", 0.11),
        ("joint_2", 0.1),
        ("joint_3", 0.115),
        ("joint_4", 0.085),
        ("joint_5", 0.15),
    ],
)
def test_coulomb_friction_is_as_published(made: Calibration, joint: str, width: float) -> None:
    found = made.joints[joint].parameters["coulomb"]
    assert found.value == pytest.approx(TX40[joint].coulomb, rel=0.05)
    assert found.low <= TX40[joint].coulomb <= found.high
    assert found.half_width <= width * found.value


def test_viscous_friction_is_as_published(made: Calibration) -> None:
    """That of the motor which moves joints 5 and 6 is in the figures of both."""
    motor = made.motors.motors["joint_6"].values["viscous"]
    for joint, published in TX40.items():
        beside = motor if joint in ("joint_5", "joint_6") else 0.0
        assert made.joints[joint].values["viscous"] + beside == pytest.approx(
            published.viscous, rel=0.05
        )


def test_the_coupled_motor_is_as_published(made: Calibration) -> None:
    motor = made.motors.motors["joint_6"].parameters
    for name, published in TX40_MOTOR.items():
        assert motor[name].value == pytest.approx(published, rel=0.05)
