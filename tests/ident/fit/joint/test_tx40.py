"""General motion of a real industrial arm, the TX40 (see its README), whose Coulomb friction is published."""

from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import ArmFile, DriverTable, JointTable, Tool, Workspace
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.log.run import Run
from tests.places import SHARED

FOLDER = SHARED / "tx40"


@pytest.fixture(scope="module")
def log():
    at_motors, torques = (np.loadtxt(FOLDER / f"{name}_data.csv", delimiter=",", skiprows=1) for name in ("pos_read", "curr"))
    to_motors = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    to_joints = to_motors.copy()
    to_motors[5, 4] = to_joints[4, 5] = 32.0
    q, tau = np.linalg.solve(to_motors, at_motors.T).T, torques @ to_joints.T
    q += [0.0, -np.pi / 2.0, np.pi / 2.0, 0.0, 0.0, 0.0]
    mechanism = load_mechanism(FOLDER / "tx40_mdh_modified.urdf")
    arm = ArmFile(Path("tx40.toml"), "tx40", Path("tx40.urdf"), (0.0, 0.0, -9.81), "motor current", Tool(), Workspace(),
                  DriverTable(), {name: JointTable() for name in mechanism.names}, {})
    run = Run(Path("tx40"), {}, arm, (), mechanism.names, np.arange(len(q)) / 5000.0, np.zeros(len(q), dtype=int),
              {"q": q, "tau": tau})
    return filtered([run], [mechanism])


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the measured TX40 log is not part of the project; it is missing beside it")
@pytest.mark.parametrize(("joint", "published"), [("joint_1", 7.14), ("joint_2", 8.26), ("joint_4", 2.48)])
def test_published_coulomb_friction_lies_in_a_narrow_interval(log, joint: str, published: float) -> None:
    coulomb = fit_motion(reduce_motion(log, joint), "model", law="coulomb-viscous").parameters["coulomb"]
    assert coulomb.low <= published <= coulomb.high
    assert coulomb.half_width <= 0.15 * coulomb.value
