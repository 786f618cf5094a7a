"""Cramer-Rao bounds for one log of the planar 3-PRR, from the derivatives of P2's independent equations.

Unknowns are those of the fit: friction of each slider (in proportion to its load), friction arm of the pins, offset, delay and
own inertia of each drive, and masses, centres of mass and inertia of the links, which a prior knows within 30 %.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.parallel_logs import NOISE, WrongMachine
from benchmarks.three_prr import Slider, ThreePRR

Array = np.ndarray
KEYS = ("coulomb_coefficient", "static_coefficient", "stribeck_velocity", "viscous")
_PRIOR = 0.3            # standard deviation of relative errors of the links
_COM = 0.01             # m; unit of the platform's centre of mass
_PARAMETERS = 13        # inertial parameters of the links
_SMALL = 1e-6           # step for derivatives
_SLOW = 0.0025          # m/s; slower samples are not used


def bounds(case: WrongMachine) -> dict[str, dict[str, float]]:
    """Return the least relative standard errors of unbiased estimates, by slider (and "pins") and parameter."""
    t = np.arange(round(case.seconds * case.rate)) / case.rate
    _, _, speed, gain = case.forces(t, Slider(pin=case.pin))
    moving, torque = np.abs(speed) > _SLOW, case.forces(t, Slider(pin=case.pin))[0]
    rubbing = Slider(pin=case.pin)

    def with_friction(key: str, x: float) -> Array:
        return case.forces(t, replace(rubbing, **{key: getattr(rubbing, key) * (1.0 + x)}))[0]

    def with_links(which: int, x: float) -> Array:
        return replace(case, links=_changed(case.truth, which, x)).forces(t, rubbing)[0]

    of_friction = [_derivative(partial(with_friction, key)) for key in ("coulomb", "static", "velocity", "viscous")]
    of_links = [_derivative(partial(with_links, which)) for which in range(_PARAMETERS)]
    of_pins = [_derivative(partial(with_friction, "pin"))] if case.pin else []
    own = [*of_friction, np.ones_like(torque), gain, np.gradient(torque, t, axis=0) / case.rate]
    columns = np.stack([one * side for one in own for side in np.eye(3)] + of_links + of_pins)
    rows = (columns * moving / NOISE).reshape(len(columns), -1)
    prior = np.zeros(len(columns))
    prior[3 * len(own):3 * len(own) + len(of_links)] = _PRIOR**-2.0
    size = np.sqrt(np.sum(rows**2, axis=1) + prior)
    covariance = np.linalg.pinv((rows @ rows.T + np.diag(prior)) / np.outer(size, size), hermitian=True) / np.outer(size, size)
    errors = np.sqrt(np.diag(covariance))
    found = {f"slider{k + 1}": dict(zip(KEYS, errors[k:12:3].tolist(), strict=True)) for k in range(3)}
    return found | ({"pins": {KEYS[0]: float(errors[-1])}} if case.pin else {})


def _derivative(of: Callable[[float], Array]) -> Array:
    return (of(_SMALL) - of(-_SMALL)) / (2.0 * _SMALL)


def _changed(machine: ThreePRR, which: int, part: float) -> ThreePRR:
    """Return the machine with one of its 13 inertial parameters changed by a part of its value (or of 1 cm)."""
    for key in ("sliders", "links", "middles"):
        if which < 3:
            return replace(machine, **{key: getattr(machine, key) * (1.0 + part * np.eye(3)[which])})
        which -= 3
    if which < 2:
        key = ("platform", "platform_inertia")[which]
        return replace(machine, **{key: getattr(machine, key) * (1.0 + part)})
    return replace(machine, platform_com=machine.platform_com + part * _COM * np.eye(2)[which - 2] / _PRIOR)
