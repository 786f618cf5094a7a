"""A real arm's motion, simulated with the recorded set-points and gains,
against the measured motion.
"""

from functools import cache
from shutil import copy

import pytest

from benchmarks.real_logs import LOGS, z1_run
from benchmarks.real_motion import exported_errors_of_first_half
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.simulators.rollout import CALIBRATED, OWN, rollout

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (LOGS / "z1").is_dir(),
        reason="the measured Z1 log is no part of the project and missing beside it",
    ),
]


@cache
def made() -> Calibration:
    """Friction and offset of the second half of the log."""
    options = Options(
        motion="model", law="coulomb-viscous", load="none", directional="none", inertia="trust"
    )
    return identify([z1_run(slice(2350, None))], options).calibration


def test_the_exported_file_alone_moves_like_the_arm() -> None:
    exported, attached = exported_errors_of_first_half(made())
    assert exported < 4.0
    assert attached < 4.0


def test_validation_by_motion_finds_the_gains_and_the_same_errors(tmp_path) -> None:
    """The gains of the first six joints are 80 or 120, and 2.5 times the velocity; the
    authors' model has no offset.
    """
    copy(LOGS / "z1" / "z1.xml", tmp_path)
    made().save(tmp_path / "calibration.toml")
    found = rollout(z1_run(slice(None, 1200)), Calibration.load(tmp_path))
    for name in found.names[:6]:
        assert found.gains[name].position == pytest.approx(
            120.0 if name in ("joint2", "joint3") else 80.0, rel=0.01
        )
        assert found.gains[name].velocity == pytest.approx(2.5, rel=0.06)
        assert found.gains[name].reference == pytest.approx(0.0, abs=0.05)
    own, calibrated = (
        1e3 * float(found.simulated[name].error[:6].mean()) for name in (OWN, CALIBRATED)
    )
    assert calibrated < 4.3
    assert own > 1.8 * calibrated
