"""General motion of a real industrial arm, the TX40 (see its README), whose Coulomb friction is published."""

import pytest

from benchmarks.real import TX40
from benchmarks.real_logs import LOGS, tx40_run
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import reduce_motion


@pytest.fixture(scope="module")
def log():
    run = tx40_run()
    return filtered([run], [load_mechanism(run.arm)])


@pytest.mark.skipif(not (LOGS / "tx40").is_dir(), reason="the measured TX40 log is no part of the project and missing beside it")
@pytest.mark.parametrize("joint", ["joint_1", "joint_2", "joint_4"])
def test_published_coulomb_friction_lies_in_a_narrow_interval(log, joint: str) -> None:
    coulomb = fit_motion(reduce_motion(log, joint), "model", law="coulomb-viscous").parameters["coulomb"]
    assert coulomb.low <= TX40[joint].coulomb <= coulomb.high
    assert coulomb.half_width <= 0.15 * coulomb.value
