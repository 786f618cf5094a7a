"""What a fit keeps of its runs for thresholds: against the truth of the simulated arm
that made the golden run.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck import Calibration, ExternalTorque, load_run
from stribeck.ident.errors import InputError
from stribeck.ident.external.recorded_motion import measured_velocity, recorded_motions
from stribeck.ident.external.shown_by_runs import with_free_motion
from stribeck.ident.log.free_motion import white_noise
from tests.places import DATA

GOLDEN = DATA / "golden"


@pytest.fixture(scope="module")
def run():
    return load_run(GOLDEN / "runs" / "constant-speed")


@pytest.fixture(scope="module")
def calibration():
    return Calibration.load(GOLDEN)


def without(calibration, **changes):
    return replace(
        calibration,
        joints={
            name: replace(joint, free_motion=None, **changes)
            for name, joint in calibration.joints.items()
        },
    )


def test_noise_and_rotors_are_those_of_the_arm(run, calibration):
    """Arm file: torque noise 0.1 N·m and a torque step, velocity noise 1e-3 rad/s,
    100² times 6e-5 kg·m², 80 Hz.
    """
    free = with_free_motion(without(calibration), [run]).joints["hinge"].free_motion
    assert free.torque_noise == pytest.approx(0.1, rel=0.2)
    assert free.velocity_noise == pytest.approx(1e-3, rel=0.1)
    assert free.rotors == pytest.approx((0.6,))
    assert free.period == pytest.approx(1.0 / 80.0)
    np.testing.assert_allclose(
        free.unexplained, calibration.joints["hinge"].free_motion.unexplained, rtol=0.05
    )


def test_a_wrong_law_leaves_more_unexplained(run, calibration):
    plain = without(calibration)
    weak = {
        name: replace(entry, value=0.5 * entry.value if name == "static" else entry.value)
        for name, entry in calibration.joints["hinge"].parameters.items()
    }
    right, wrong = (
        with_free_motion(one, [run]).joints["hinge"].free_motion.unexplained[:, 1]
        for one in (plain, without(calibration, parameters=weak))
    )
    assert wrong[0] > right[0] + 0.2
    assert wrong[-1] == pytest.approx(right[-1], rel=0.05)


def test_the_fitted_run_itself_raises_no_alarm(run, calibration):
    observer = ExternalTorque(calibration.mechanism, calibration)
    for part in recorded_motions(run, calibration):
        assert not observer.along(part.t, part.q, part.dq, part.tau).detected.any()


def test_a_gap_begins_a_new_motion(run, calibration):
    rows = np.r_[0:2000, 4000:6000]
    kept = {name: values[rows] for name, values in run.signals.items()}
    torn = replace(run, path=GOLDEN / "nowhere", t=run.t[rows], signals=kept)
    parts = list(recorded_motions(torn, calibration))
    assert [(part.first, len(part.t)) for part in parts] == [(0, 2000), (2000, 2000)]


def test_positions_are_differentiated_where_no_velocities_were_recorded(run):
    measured = measured_velocity(run)
    slopes = measured_velocity(replace(run, path=GOLDEN / "nowhere"))
    assert 1e-4 < np.std(measured - slopes) < 5e-3
    np.testing.assert_allclose(slopes, np.gradient(run.signals["q"], run.t, axis=0))


def test_white_noise_of_a_moving_signal():
    t = np.linspace(0.0, 10.0, 5000)
    assert white_noise(
        20.0 * np.sin(t) + 0.3 * np.random.default_rng(0).standard_normal(len(t))
    ) == pytest.approx(0.3, rel=0.05)
    assert white_noise(np.zeros(2)) == 0.0


def test_the_file_keeps_it_and_refuses_speeds_in_disorder(calibration, tmp_path):
    (tmp_path / "pendulum.urdf").write_bytes((GOLDEN / "pendulum.urdf").read_bytes())
    calibration.save(tmp_path / "calibration.toml")
    again = Calibration.load(tmp_path).joints["hinge"].free_motion
    np.testing.assert_allclose(
        again.unexplained, calibration.joints["hinge"].free_motion.unexplained
    )
    assert again.rotors == calibration.joints["hinge"].free_motion.rotors
    text = (tmp_path / "calibration.toml").read_text(encoding="utf-8")
    text = text.replace("unexplained = [[0.0106253,", "unexplained = [[9.0,")
    (tmp_path / "calibration.toml").write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"joints\.hinge\.free_motion\.unexplained: speeds must be in ascending order",
    ):
        Calibration.load(tmp_path)
