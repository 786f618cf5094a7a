"""Friction of a step against its own conditions, energy, and SciPy's solver of the same problem."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from stribeck import stopping_torque
from stribeck.ident.errors import InputError
from tests.offenders import assert_each

DT = 0.002


def state(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mass matrices from light to heavy coupling, velocities from rest to fast, limits from
    none to more than is needed.
    """
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 8)
    root = rng.normal(size=(n, n))
    mass = root @ root.T + rng.choice([0.01, 0.1, 1.0]) * np.eye(n)
    return (
        mass,
        rng.normal(size=n) * rng.choice([0.0, 0.01, 1.0]),
        5.0 * rng.normal(size=n),
        rng.choice([0.0, 0.3, 3.0, 30.0], n),
    )


def test_joints_stop_within_the_limit_or_slide_against_it() -> None:
    assert_each(range(400), stops_or_slides)


def stops_or_slides(seed: int) -> None:
    mass, dq, torque, limit = state(seed)
    friction = stopping_torque(mass, dq, torque, limit, DT)
    after = dq + DT * np.linalg.solve(mass, torque - friction)
    assert (np.abs(friction) <= limit * (1.0 + 1e-12)).all()
    small = 1e-8 * (1.0 + np.abs(dq).max() + DT * np.abs(np.linalg.solve(mass, torque)).max())
    sliding = np.abs(after) > small
    np.testing.assert_allclose(friction[sliding], (np.sign(after) * limit)[sliding], rtol=1e-9)


def test_it_is_the_least_energy_within_the_limits() -> None:
    """The friction minimises the kinetic energy after the step, which SciPy finds
    as bounded least squares.
    """
    assert_each(range(100), has_least_energy)


def has_least_energy(seed: int) -> None:
    mass, dq, torque, limit = state(seed)
    root = np.linalg.cholesky(np.linalg.inv(mass))
    limit = limit + 0.1  # SciPy needs room between the bounds
    found = lsq_linear(
        DT * root.T,
        root.T @ (mass @ dq + DT * torque),
        (-limit, limit),
        method="bvls",
        tol=1e-14,
        max_iter=500,
    )
    ours = stopping_torque(mass, dq, torque, limit, DT)
    energy = [
        0.5 * after @ mass @ after
        for after in (dq + DT * np.linalg.solve(mass, torque - f) for f in (ours, found.x))
    ]
    assert energy[0] <= energy[1] + 1e-12 * (1.0 + energy[1])


def test_without_friction_nothing_is_subtracted() -> None:
    mass, dq, torque, _ = state(3)
    np.testing.assert_array_equal(
        stopping_torque(mass, dq, torque, np.zeros(len(dq)), DT), np.zeros(len(dq))
    )


def test_wrong_shapes_steps_limits_and_masses_are_named() -> None:
    with pytest.raises(InputError, match=r"shapes \(2, 2\), \(1,\), \(1,\) and \(1,\)"):
        stopping_torque(np.eye(2), [0.0], [0.0], [0.0], DT)
    with pytest.raises(InputError, match="dt = 0 s"):
        stopping_torque([[1.0]], [0.0], [0.0], [0.0], 0.0)
    with pytest.raises(InputError, match="least limit = -1"):
        stopping_torque([[1.0]], [0.0], [0.0], [-1.0], DT)
    with pytest.raises(InputError, match="mass is not a mass matrix"):
        stopping_torque([[-1.0]], [0.0], [0.0], [1.0], DT)
    with pytest.raises(InputError, match=r"shapes \(\), \(\), \(\) and \(\)"):
        stopping_torque(0.5, 0.0, 0.9, 1.0, DT)
    with pytest.raises(InputError, match="not positive definite"):
        stopping_torque(np.ones((2, 2)), [0.0] * 2, [0.0] * 2, [1.0] * 2, DT)


@pytest.mark.parametrize("wrong", [[[2.0, 0.5], [0.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]]])
def test_a_triangle_of_a_mass_matrix_is_refused(wrong: list) -> None:
    with pytest.raises(InputError, match="not symmetric or not finite"):
        stopping_torque(wrong, [0.0] * 2, [0.0] * 2, [1.0] * 2, DT)


def test_a_joint_without_limit_is_locked() -> None:
    assert_each(range(20), is_locked_without_limit)


def is_locked_without_limit(seed: int) -> None:
    mass, dq, torque, limit = state(seed)
    limit[0] = np.inf
    friction = stopping_torque(mass, dq, torque, limit, DT)
    after = dq + DT * np.linalg.solve(mass, torque - friction)
    assert abs(after[0]) < 1e-8 * (1.0 + np.abs(dq).max() + np.abs(after).max())
    limit[0] = 1e6
    np.testing.assert_allclose(
        friction, stopping_torque(mass, dq, torque, limit, DT), rtol=1e-6, atol=1e-9
    )
