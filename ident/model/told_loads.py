"""Which loads are functions of the base parameters, and which contain what torques do not tell."""

import numpy as np

from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import changed, inertial_parameters, of_bodies

_STATES, _WAYS = 3, 2  # random states, and random changes that torques do not show
_REACH = 1.5  # rad or m from zero
_CHANGE = 1e-4  # of the greatest inertial parameter
_SAME, _LEAST = 1e-7, 1e-9  # of a load that has not changed, and of the least load [N·m or N]


def told_loads(mechanism: Mechanism) -> dict[str, tuple[str, ...]]:
    """Return the joints whose load is a function of the base parameters, by load; joints
    without a load are left out.

    The links change in ways that no torque shows, in random states; a load that keeps its value is
    a function of base parameters. Coefficients of other loads contain the uncertainty of the
    model. The mechanism is a tree.

    Examples
    --------
    >>> from stribeck import load_mechanism
    >>> from stribeck.ident.model.told_loads import told_loads
    >>> told_loads(load_mechanism("lab6"))["torque"]
    ('j1', 'j2', 'j3', 'j4', 'j5', 'j6')
    """
    rng, n = np.random.default_rng(0), mechanism.n
    room = np.clip(
        np.nan_to_num(mechanism.position, posinf=_REACH, neginf=-_REACH), -_REACH, _REACH
    )
    q, dq, ddq = (
        rng.uniform(room[:, 0], room[:, 1], (_STATES, n)),
        *rng.uniform(-1.0, 1.0, (2, _STATES, n)),
    )
    before, hidden = joint_loads(mechanism, q, dq, ddq), _hidden(mechanism)
    told = {
        kind: [
            name
            for j, name in enumerate(mechanism.names)
            if np.isfinite(before.get(kind)[:, j]).all()
        ]
        for kind in LOADS
    }
    size = _CHANGE * np.abs(inertial_parameters(mechanism)).max()
    for way in rng.standard_normal((_WAYS, hidden.shape[1])) @ hidden.T:
        after = joint_loads(changed(mechanism, size * way), q, dq, ddq)
        for kind, names in told.items():
            old, new = before.get(kind), after.get(kind)
            same = np.abs(new - old).max(axis=0) <= _SAME * np.maximum(
                np.abs(old).max(axis=0), _LEAST
            )
            told[kind] = [name for name in names if same[mechanism.names.index(name)]]
    return {kind: tuple(names) for kind, names in told.items()}


def _hidden(mechanism: Mechanism) -> np.ndarray:
    """Return an orthonormal basis of changes of the inertial parameters that no
    torque shows, shape (10 n, k).
    """
    combination = base_parameters(mechanism).combination
    own = np.flatnonzero(of_bodies(mechanism))
    _, values, rows = np.linalg.svd(combination[:, own])
    out = np.zeros((combination.shape[1], len(own) - len(values)))
    out[own] = rows[len(values) :].T
    return out
