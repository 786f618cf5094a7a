"""Cramer-Rao bounds for one log of a parallel machine, from the derivatives of its independent equations.

Unknowns are those of the fit: friction of each drive, friction arm of the pins, offset, delay and own inertia of each drive, and
masses, centres of mass and inertia of the links, which a prior knows within 30 %.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.parallel_logs import WrongMachine

Array = np.ndarray
_PRIOR = 0.3            # standard deviation of relative errors of the links
_SMALL = 1e-6           # step for derivatives


def bounds(case: WrongMachine) -> dict[str, dict[str, float]]:
    """Return the least relative standard errors of unbiased estimates, by drive (and "pins") and parameter."""
    t, names = case.times, case.mechanism.names
    torque, _, speed, gain = case.forces(t)
    moving, n = np.abs(speed) > case.conditions.slow, len(names)

    def with_friction(key: str, x: float) -> Array:
        return case.forces(t, {key: case.friction[key] * (1.0 + x)})[0]

    def with_pin(x: float) -> Array:
        return replace(case, pin=case.pin * (1.0 + x)).forces(t)[0]

    def with_link(which: int, x: float) -> Array:
        return case.with_link(which, x).forces(t)[0]

    of_friction = [_derivative(partial(with_friction, key)) for key in case.friction]
    of_links = [_derivative(partial(with_link, which)) for which in range(case.links)]
    of_pins = [_derivative(with_pin)] if case.pin else []
    own = [*of_friction, np.ones_like(torque), gain, np.gradient(torque, t, axis=0) / case.conditions.rate]
    columns = np.stack([one * side for one in own for side in np.eye(n)] + of_links + of_pins)
    rows = (columns * moving / case.conditions.noise).reshape(len(columns), -1)
    prior = np.zeros(len(columns))
    prior[n * len(own):n * len(own) + case.links] = _PRIOR**-2.0
    size = np.sqrt(np.sum(rows**2, axis=1) + prior)
    covariance = np.linalg.pinv((rows @ rows.T + np.diag(prior)) / np.outer(size, size), hermitian=True) / np.outer(size, size)
    errors = np.sqrt(np.diag(covariance))
    found = {name: dict(zip(case.friction, errors[k:n * len(case.friction):n].tolist(), strict=True))
             for k, name in enumerate(names)}
    return found | ({"pins": {"coulomb_coefficient": float(errors[-1])}} if case.pin else {})


def _derivative(of: Callable[[float], Array]) -> Array:
    return (of(_SMALL) - of(-_SMALL)) / (2.0 * _SMALL)
