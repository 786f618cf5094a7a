r"""Cramer-Rao bounds for one log of a parallel machine, from the derivatives of
its independent equations.

Unknowns are those of the fit: friction of each drive, friction arm of the pins, offset, delay and
own inertia of each drive, and masses, centres of mass and inertia of the links, which a prior knows
within 30 %. The motion is unknown, too: positions are known with their noise only. With the
torque's derivatives C to the parameters and G to the coordinates x at all samples, the positions'
derivatives J to x, and weights W of the torque samples, the information on the parameters is

.. math:: C^T W C - C^T W G \, (J^T J / \sigma_q^2 + G^T W G)^{-1} \, G^T W C .
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from benchmarks.parallel_logs import WrongMachine

Array = np.ndarray
_PRIOR = 0.3  # standard deviation of relative errors of the links
_SMALL = 1e-6  # step for derivatives


def bounds(case: WrongMachine) -> dict[str, dict[str, float]]:
    """Return the least relative standard errors of unbiased estimates, by drive
    (and "pins") and parameter.
    """
    names = case.mechanism.names
    n, columns, prior = len(names), *_of_parameters(case)
    speed = case.forces(case.times)[2]
    weight = (np.abs(speed) > case.conditions.slow) / case.conditions.noise**2
    rows = columns.reshape(len(columns), -1)
    size = np.sqrt(np.sum(rows**2 * weight.ravel(), axis=1) + prior)
    rows, prior = rows / size[:, None], prior / size**2
    known = _Information(case, weight.ravel()).on(rows)
    errors = np.sqrt(np.diag(np.linalg.pinv(known + np.diag(prior), hermitian=True))) / size
    found = {
        name: dict(zip(case.friction, errors[k : n * len(case.friction) : n].tolist(), strict=True))
        for k, name in enumerate(names)
    }
    return found | ({"pins": {"coulomb_coefficient": float(errors[-1])}} if case.pin else {})


def _of_parameters(case: WrongMachine) -> tuple[Array, Array]:
    """Derivatives of the torques to the parameters, shape (P, N, n), and the information
    of the prior, shape (P,).
    """
    t = case.times
    torque, _, _, gain = case.forces(t)

    def with_friction(key: str, x: float) -> Array:
        return case.forces(t, {key: case.friction[key] * (1.0 + x)})[0]

    def with_pin(x: float) -> Array:
        return replace(case, pin=case.pin * (1.0 + x)).forces(t)[0]

    def with_link(which: int, x: float) -> Array:
        return case.with_link(which, x).forces(t)[0]

    of_friction = [_derivative(partial(with_friction, key)) for key in case.friction]
    of_links = [_derivative(partial(with_link, which)) for which in range(case.links)]
    of_pins = [_derivative(with_pin)] if case.pin else []
    own = [
        *of_friction,
        np.ones_like(torque),
        gain,
        np.gradient(torque, t, axis=0) / case.conditions.rate,
    ]
    columns = [one * side for one in own for side in np.eye(torque.shape[1])]
    prior = np.concatenate(
        (np.zeros(len(columns)), np.full(len(of_links), _PRIOR**-2.0), np.zeros(len(of_pins)))
    )
    return np.stack(columns + of_links + of_pins), prior


@dataclass(frozen=True)
class _Information:
    """Information of a log on parameters, if the motion is known by noisy positions.

    Attributes
    ----------
    case : WrongMachine
    weight : ndarray, shape (N n,)
        Inverse variance of each torque sample; zero for samples that are not used.
    """

    case: WrongMachine
    weight: Array

    def on(self, columns: Array) -> Array:
        """Information matrix, shape (P, P), for derivatives of the torques to
        parameters, shape (P, N n).
        """
        of_torque, of_position = self._of_motion()
        by_torque = of_torque.multiply(self.weight[:, None]).T.tocsc()
        of_both = by_torque @ columns.T
        positions = of_position.T @ of_position / self.case.conditions.position_noise**2
        return columns * self.weight @ columns.T - of_both.T @ splu(
            (positions + by_torque @ of_torque).tocsc()
        ).solve(of_both)

    def _of_motion(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Derivatives of torques and positions to the coordinates at all
        samples, shape (N n, N n) each.
        """
        motion, slopes = self.case.motion(self.case.times), []
        for order in range(3):
            slopes.append(
                [
                    _derivative(partial(self._changed, motion, order, k))
                    for k in range(motion[0].shape[1])
                ]
            )
        torque = [[one[0] for one in row] for row in slopes]
        N, n = motion[0].shape
        rate, unit = self.case.conditions.rate, sp.eye(n)
        # the ends miss a neighbour: two samples
        first = sp.diags([-rate / 2.0, rate / 2.0], [-1, 1], shape=(N, N))
        second = sp.diags([rate**2, -2.0 * rate**2, rate**2], [-1, 0, 1], shape=(N, N))
        steps = (sp.eye(N * n), sp.kron(first, unit), sp.kron(second, unit))
        return (
            sum(
                (_blocks(of) @ step for of, step in zip(torque, steps, strict=True)),
                sp.csr_matrix((N * n, N * n)),
            ),
            _blocks([one[1] for one in slopes[0]]),
        )

    def _changed(
        self, motion: tuple[Array, Array, Array], order: int, which: int, by: float
    ) -> Array:
        """Torques and positions of the drives, shape (2, N, n), after a change of a coordinate
        or one of its derivatives.
        """
        changed = [one.copy() for one in motion]
        changed[order][:, which] += by
        return np.stack(self.case.along((changed[0], changed[1], changed[2]), {})[:2])


def _blocks(columns: list[Array]) -> sp.csr_matrix:
    """Return the block-diagonal matrix with a block for each sample, from
    its columns of shape (N, n).
    """
    blocks = np.stack(columns, axis=-1)
    at = np.arange(len(blocks) + 1)
    N, n = blocks.shape[:2]
    return sp.bsr_matrix((blocks, at[:-1], at), shape=(N * n, N * n)).tocsr()


def _derivative(of: Callable[[float], Array]) -> Array:
    return (of(_SMALL) - of(-_SMALL)) / (2.0 * _SMALL)
