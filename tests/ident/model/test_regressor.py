"""The torque regressor against Pinocchio and inverse dynamics; base
parameters against published ranks.
"""

from types import ModuleType

import numpy as np
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.regressor import (
    PER_LINK,
    inertial_names,
    inertial_parameters,
    torque_regressor,
)
from tests.judges import HAND, Pinocchio, states, tree

# Pinocchio's order: m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
PINOCCHIO = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip(
        "pinocchio", reason="Pinocchio (the package pin) judges the regressor"
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_agree_with_pinocchio(seed: int, pin: ModuleType) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    judge = Pinocchio(pin, mechanism)
    order = [PER_LINK * link + k for link in range(mechanism.n) for k in PINOCCHIO]
    theirs = np.array(
        [
            pin.computeJointTorqueRegressor(judge.model, judge.data, *row)
            for row in zip(q, dq, ddq, strict=True)
        ]
    )
    np.testing.assert_allclose(
        torque_regressor(mechanism, q, dq, ddq)[..., order], theirs, rtol=0.0, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(4))
def test_regressor_times_parameters_equals_inverse_dynamics(seed: int) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n, 5000)  # more than one block
    theta = inertial_parameters(mechanism)
    np.testing.assert_allclose(
        torque_regressor(mechanism, q, dq, ddq) @ theta,
        inverse_dynamics(mechanism, q, dq, ddq),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        torque_regressor(mechanism, q) @ theta, inverse_dynamics(mechanism, q), atol=1e-9
    )


def test_the_regressor_of_a_leader_includes_its_followers(tmp_path) -> None:
    (tmp_path / "hand.urdf").write_text(HAND)
    mechanism = load_mechanism(tmp_path / "hand.urdf")
    assert mechanism.followers
    q, dq, ddq = states(0, mechanism.n)
    np.testing.assert_allclose(
        torque_regressor(mechanism, q, dq, ddq) @ inertial_parameters(mechanism),
        inverse_dynamics(mechanism, q, dq, ddq),
        atol=1e-10,
    )


@pytest.mark.parametrize(("arm", "told"), [("lab6", 36), ("elastic1", 3)])
def test_the_number_of_base_parameters_is_the_known_one(arm: str, told: int) -> None:
    """36 for a 6R arm with a vertical first axis (Gautier and Khalil); two first moments and
    an inertia for a pendulum.
    """
    mechanism = load_mechanism(arm)
    found = base_parameters(mechanism)
    assert len(found.names) == told == np.linalg.matrix_rank(found.combination)


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_base_parameters_reproduce_all_torques(seed: int, still: bool) -> None:
    mechanism = tree(seed)
    found = base_parameters(mechanism, still)
    q, dq, ddq = states(seed, mechanism.n, 200)
    Y = torque_regressor(mechanism, q) if still else torque_regressor(mechanism, q, dq, ddq)
    theta = inertial_parameters(mechanism)
    np.testing.assert_allclose(
        Y[..., found.independent] @ (found.combination @ theta), Y @ theta, atol=1e-8
    )
    assert len(found.independent) == np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-6)


def test_the_name_of_a_base_parameter_states_its_formula() -> None:
    """As in a two-link arm, a link's mass is regrouped into inertia and first
    moment of the link before it.
    """
    mechanism = load_mechanism("lab6")
    names = base_parameters(mechanism).names
    assert "j2.hz + 0.4 j3.m + 0.4 j4.m + 0.4 j5.m + 0.4 j6.m" in names
    assert "j6.Ixx - j6.Iyy" in names
    assert len(inertial_names(mechanism)) == 60
