"""The prior of inertial parameters: it excludes impossible bodies and is
independent of frames and units.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.regressor import changed, inertial_parameters, torque_regressor
from tests.judges import rotation, states, tree


def possible(mechanism) -> bool:
    """True for positive masses and principal moments of inertia that a body can have."""
    moments = np.linalg.eigvalsh(mechanism.inertia)
    return bool(
        (mechanism.mass > 0.0).all()
        and (moments[:, 0] + moments[:, 1] >= moments[:, 2] - 1e-12).all()
        and (moments > 0.0).all()
    )


@pytest.mark.parametrize("seed", range(4))
def test_parameters_at_y_zero_are_those_of_the_model(seed: int) -> None:
    mechanism = tree(seed)
    np.testing.assert_allclose(
        LinkPrior(mechanism).middle, inertial_parameters(mechanism), atol=1e-12
    )


def test_link_without_mass_or_extension_gets_least_values() -> None:
    mechanism = tree(1)
    mass, inertia = mechanism.mass.copy(), mechanism.inertia.copy()
    mass[2], inertia[2], inertia[4] = 0.0, 0.0, 0.0
    prior = LinkPrior(replace(mechanism, mass=mass, inertia=inertia))
    assert possible(changed(prior.mechanism, prior.middle - inertial_parameters(prior.mechanism)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_most_plausible_bodies_are_possible_even_for_wild_data(seed: int) -> None:
    """Torques of a model with negative masses and impossible inertia; least
    squares would follow them.
    """
    mechanism, rng = tree(seed), np.random.default_rng(seed)
    prior = LinkPrior(mechanism)
    wild = -2.0 * prior.middle + 0.3 * rng.normal(size=len(prior.middle))
    Y = (
        torque_regressor(mechanism, *states(seed, mechanism.n, 100)).reshape(-1, len(wild))
        @ prior.directions
    )
    tau = torque_regressor(mechanism, *states(seed, mechanism.n, 100)).reshape(-1, len(wild)) @ (
        wild - prior.middle
    )
    y = prior.most_plausible(1e4 * Y.T @ Y, 1e4 * Y.T @ tau, Scatter(1.0, 0.5))
    assert possible(changed(mechanism, prior.theta(y) - inertial_parameters(mechanism)))


def test_most_plausible_equals_result_of_a_general_minimiser() -> None:
    mechanism, rng = tree(0, 2), np.random.default_rng(0)
    prior = LinkPrior(mechanism)
    A, b = rng.normal(size=(40, 20)), 3.0 * rng.normal(size=40)
    scatter = Scatter(0.5, 0.3)
    y = prior.most_plausible(A.T @ A, A.T @ b, scatter)

    def objective(at: np.ndarray) -> float:
        values = prior._distance(at, scatter)
        return 1e12 if np.isinf(values) else 0.5 * np.sum((A @ at - b) ** 2) + values

    found = minimize(
        objective, np.zeros(20), method="BFGS", options={"gtol": 1e-6, "maxiter": 2000}
    )
    assert objective(y) <= found.fun + 1e-6
    np.testing.assert_allclose(y, found.x, atol=1e-3)


def test_result_is_independent_of_the_frame() -> None:
    """The same arm, described in a turned base frame, gets the same torques from the same data."""
    mechanism, R = tree(3, 4), rotation(np.random.default_rng(7))
    turned = replace(
        mechanism,
        axis=mechanism.axis @ R.T,
        origin=mechanism.origin @ R.T,
        com=mechanism.com @ R.T,
        inertia=R @ mechanism.inertia @ R.T,
        gravity=R @ mechanism.gravity,
    )
    q, dq, ddq = states(3, 4, 60)
    tau = inverse_dynamics(
        replace(mechanism, mass=1.3 * mechanism.mass, com=0.8 * mechanism.com), q, dq, ddq
    )
    found = []
    for one in (mechanism, turned):
        prior = LinkPrior(one)
        Y = torque_regressor(one, q, dq, ddq)
        left = (tau - Y @ prior.middle).ravel()
        A = Y.reshape(-1, Y.shape[-1]) @ prior.directions
        theta = prior.theta(prior.most_plausible(A.T @ A, A.T @ left, Scatter(0.2, 0.2)))
        found.append(inverse_dynamics(changed(one, theta - prior.middle), q, dq, ddq))
    np.testing.assert_allclose(found[0], found[1], atol=1e-7)


def test_torques_of_a_changed_arm_equal_its_regressor() -> None:
    mechanism = load_mechanism("lab6")
    rng = np.random.default_rng(0)
    change = 0.01 * rng.normal(size=60)
    q, dq, ddq = states(0, 6)
    np.testing.assert_allclose(
        inverse_dynamics(changed(mechanism, change), q, dq, ddq),
        torque_regressor(mechanism, q, dq, ddq) @ (inertial_parameters(mechanism) + change),
        atol=1e-10,
    )


@pytest.mark.parametrize("scatter", [Scatter(0.1, 0.3), Scatter(0.3, 0.1)])
def test_derivatives_equal_finite_differences_of_the_distance(scatter: Scatter) -> None:
    prior = LinkPrior(tree(2, 2))
    y, step = 0.2 * np.random.default_rng(1).normal(size=20), 1e-6
    slope, curvature = prior._slope(y, scatter)
    steps = step * np.eye(20)
    np.testing.assert_allclose(
        slope,
        [
            (prior._distance(y + e, scatter) - prior._distance(y - e, scatter)) / (2.0 * step)
            for e in steps
        ],
        rtol=1e-5,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        curvature,
        [
            (prior._slope(y + e, scatter)[0] - prior._slope(y - e, scatter)[0]) / (2.0 * step)
            for e in steps
        ],
        rtol=1e-4,
        atol=1e-4,
    )


def test_prior_is_normal_near_the_model() -> None:
    """Its covariance is the square of `root`."""
    scatter, prior = Scatter(0.1, 0.3), LinkPrior(tree(2, 2))
    root = scatter.root(2)
    np.testing.assert_allclose(
        np.linalg.inv(prior._slope(np.zeros(20), scatter)[1]), root @ root, atol=1e-12
    )
    # y along the first diagonal entry of Y
    heavier = (root @ root)[0, 0] / 1.0
    assert heavier == pytest.approx(0.1**2 + 0.3**2, rel=1e-12)
