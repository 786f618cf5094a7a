"""The equation of motion of each joint as one in inertial parameters, and what it tells of them whatever its friction is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.link_prior import LinkPrior
from stribeck.ident.fit.intervals import spread
from stribeck.ident.fit.joint.general_motion import motion_data
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.law_fit import best_of, searched
from stribeck.ident.fit.variable_projection import residual_sums
from stribeck.ident.laws.law import Law
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import Motion
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import torque_regressor

_BLOCK = 8192           # samples whose regressor is held at once
_STEP = 1e-3            # of a load, for the slope of friction over it
_UNSEEN = 1e-9          # part of the greatest column below which a direction is none
_OPEN = 1.0             # deviation of y at first, while the data alone shall tell


@dataclass(frozen=True)
class Information:
    """What one joint's torque tells of y, friction and all else of its own fitted along.

    Attributes
    ----------
    matrix : ndarray, shape (k, k)
        Minus the second derivative of the logarithm of the likelihood.
    moment : ndarray, shape (k,)
        Its first derivative at y = 0.
    """

    matrix: Array
    moment: Array


def slopes_of(log: Log, mechanism: Mechanism, prior: LinkPrior, motions: Mapping[str, Motion],
              growth: Mapping[str, Array]) -> dict[str, Array]:
    """Torque of each joint per unit of y as its points see it, shape (N, k).

    `growth` is, by joint and at its samples, how much the torque of a joint grows with what the links make of it: 1 and, where
    friction grows with the transmitted torque, that slope.
    """
    seen = {name: motion.seen.tocsc() for name, motion in motions.items()}
    out = {name: np.zeros((len(motion.points), prior.directions.shape[1])) for name, motion in motions.items()}
    first = {name: np.cumsum([0, *(rows.stop - rows.start for _, rows in motion.cuts)]) for name, motion in motions.items()}
    for k, part in enumerate(log.stretches):
        for start in range(0, len(part.t), _BLOCK):
            stop = min(start + _BLOCK, len(part.t))
            Y = torque_regressor(mechanism, part.q[start:stop], part.dq[start:stop], part.ddq[start:stop])
            for name, motion in motions.items():
                j = mechanism.names.index(name)
                for begin, (stretch, rows) in zip(first[name], motion.cuts, strict=False):
                    low, high = max(start, rows.start), min(stop, rows.stop)
                    if stretch == k and low < high:
                        own = slice(begin + low - rows.start, begin + high - rows.start)
                        out[name] += seen[name][:, own] @ (growth[name][own, None] * (Y[low - start:high - start, j]
                                                                                     @ prior.directions))
    return out


def growth_of(motion: Motion, fit: FitResult | None) -> Array:
    """How much a joint's torque grows with what its links make of it, friction's part with it, at the samples."""
    if fit is None or fit.load != "torque":
        return np.ones(len(motion.dq))
    load = motion.loads["torque"]
    step = _STEP * max(float(load.max()), 1e-12)
    slope = (fit.predict(motion.speed, load + step) - fit.predict(motion.speed, np.maximum(load - step, 0.0))) / (
        load + step - np.maximum(load - step, 0.0))
    return np.asarray(1.0 + slope * np.sign(motion.rigid))


def informed(motion: Motion, slopes: Array, law: Law, load: str, scaled: bool) -> Information:
    """What a joint tells of y about the model of its motion; `scaled`: its torque may have a scale, where gravity shows it."""
    weight = float(np.abs(slopes).max())
    told = np.flatnonzero(np.abs(slopes).max(axis=0) > _UNSEEN * max(weight, 1e-300))
    columns = {f"y_{k}": slopes[:, k] for k in told}
    base = motion_data(motion, "model", None if scaled else ModelDoubt(np.zeros(len(slopes)), np.zeros((len(slopes), 0))))
    data = replace(base, load=None if load == "none" else motion.loads[load], nuisance={**base.nuisance, **columns},
                   prior={**base.prior, **dict.fromkeys(columns, _OPEN)})
    best = best_of(searched(data.condensed(), law))
    points, names = best.whole.data, tuple(best.values)
    at = [names.index(name) for name in columns]
    own = [k for k, name in enumerate(names) if name not in columns and (name in law.nonlinear or name in points.nuisance
                                                                          or best.values[name] > 0.0)]
    total = residual_sums(points, law, best.noise, best.values)
    prior = np.array([name in points.prior and name not in columns for name in points.prior])
    total = total[:points.groups].sum(axis=0) + total[points.groups:][prior].sum(axis=0)
    matrix, moment = _without(total, at, own)
    known = [k for k in own if names[k] in law.parameters(load != "none")]
    wider = float(np.median(spread(best.whole, best.noise, best.values, known).wider)) ** 2 if known else 1.0
    found = np.array([best.values[name] for name in columns])
    out = Information(np.zeros((slopes.shape[1],) * 2), np.zeros(slopes.shape[1]))
    out.matrix[np.ix_(told, told)] = matrix / wider
    out.moment[told] = (moment + matrix @ found) / wider
    return out


def _without(total: Array, at: Sequence[int], own: Sequence[int]) -> tuple[Array, Array]:
    """Sums of products of some columns, and with the residual, after least squares over others."""
    cross, gram = total[np.ix_(own, at)], total[np.ix_(own, own)]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    solved = scale[:, None] * np.linalg.lstsq(gram * np.outer(scale, scale), scale[:, None] * np.column_stack(
        (cross, total[own, -1])), rcond=1e-12)[0]
    return total[np.ix_(at, at)] - cross.T @ solved[:, :-1], total[at, -1] - cross.T @ solved[:, -1]
