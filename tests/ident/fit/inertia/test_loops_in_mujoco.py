"""General motion of machines with closed loops whose masses are wrong: MuJoCo makes the log."""

import numpy as np
import pytest

from benchmarks.parallel import friction_errors
from benchmarks.parallel_mujoco import WrongLoops
from stribeck.ident.identify import identify
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import joint_loads

LOADS = {"three-loop-chain": "normal", "gough-stewart": "torque"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADS)
def test_torques_and_loads_equal_those_of_mujoco(name: str) -> None:
    """Along a motion with wrong masses; friction in proportion to the load shows MuJoCo's load."""
    case = WrongLoops(1, 0.3, name=name)
    t, m = np.linspace(0.1, 9.7, 25), case.mechanism
    free, q, dq, ddq = case.forces(t, case.frictionless)
    of_load = dict(case.frictionless) | {"coulomb_coefficient": 1.0, "static_coefficient": 1.0}
    rubbing = case.forces(t, of_load)[0] - free
    rotors = 0.0 if m.rotors is None else ddq @ m.rotors
    np.testing.assert_allclose(inverse_dynamics(m, q, dq, ddq) + rotors, free, atol=1e-6)
    np.testing.assert_allclose(
        joint_loads(m, q, dq, ddq).get(LOADS[name]) * np.sign(dq), rubbing, atol=1e-6
    )


@pytest.mark.parametrize("name", LOADS)
def test_a_heavier_link_needs_another_torque(name: str) -> None:
    case = WrongLoops(0, 0.0, name=name)
    t = np.linspace(0.0, 9.0, 10)
    heavier = case.with_link(0, 0.1)
    assert heavier.mechanism.link_tree.mass.sum() > case.mechanism.link_tree.mass.sum()
    assert np.abs(heavier.forces(t)[0] - case.forces(t)[0]).max() > 0.01


@pytest.mark.slow
def test_friction_of_six_legs_is_told_although_the_platform_is_30_percent_off() -> None:
    case = WrongLoops(0, 0.3, name="gough-stewart", rate=50.0)
    found = identify([case.recorded()], case.conditions.options)
    assert max(friction_errors(found, case).values()) < 0.01
