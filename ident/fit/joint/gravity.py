r"""Gravity check: torque scale and offset of each joint, from the even part of round
trips and the model's gravity.

.. math:: (\tau_+ + \tau_-) / 2 = s\, \tau_g(q) + o

The scale s is the product of torque constant, model masses and gear efficiency. The
offset o includes half of a constant difference between the directions; see
`directions` for other differences.
"""

from collections.abc import Mapping

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.choice.selection import RIVAL
from stribeck.ident.fit.cluster_covariance import cluster_covariance
from stribeck.ident.fit.group_sums import group_sum, symmetric_inverse
from stribeck.ident.fit.joint.advice import more
from stribeck.ident.fit.noise import WHITE, Noise, estimate_noise
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter, verdict

# the spread of gravity must exceed the scatter of the even part by this factor
SHOWS = 3.0
TELLS = 0.2  # widest interval of a scale that is used
_SHIFTED = 0.02  # rad; smaller shifts of the zero do not matter,
_LINEAR = 0.5  # rad; for larger shifts the linear approximation of gravity is wrong
# factor on the difference of gravity and even part, because a shift increases this difference
_MUCH = 0.1
# largest scatter of even parts about gravity, as a part of friction, if the
# model's gravity is right
_ASTRAY = 0.2
# first words of the note that rejects such a scale
ASTRAY = "torque does not follow the model's gravity"
SHARED = (
    "half of a constant friction difference between the directions has the same effect as a "
    "torque offset"
)


def fit_gravity(
    even: Array,
    gravity: Array,
    friction: Array,
    group: Groups,
    prismatic: bool = False,
    differences: Mapping[str, Array] | None = None,
    scaled: bool = True,
) -> dict[str, Parameter]:
    """Scale and offset of one joint's torque against gravity.

    Parameters
    ----------
    even, gravity, friction : ndarray, shape (N,)
        Half sums, the model's gravity torque, and the friction that scales their scatter [N·m].
    group : ndarray of int, shape (N,)
        Round trips.
    prismatic : bool
        Whether the joint slides; decides the units.
    differences : mapping of str to ndarray, shape (N,)
        Differences between the directions that are fitted, too: name -> column.
    scaled : bool
        False assumes a scale of 1.

    Returns
    -------
    dict of str to Parameter
        "scale", "offset" and the differences; the scale is `unidentifiable`
        if gravity hardly varies.
    """
    differences = differences or {}
    shows = scaled and shows_scale(even, gravity)
    A, target = even_columns(even, gravity, shows, differences)
    noise = even_noise(A, target, friction, group)
    W, b = noise.whiten(A, group), noise.whiten(target, group)
    beta, *_ = np.linalg.lstsq(W, b, rcond=None)
    intervals = cluster_covariance(W, b - W @ beta, group)
    half, error = intervals.half_width(), intervals.std_error
    found = {}
    for k, name in enumerate((*(("scale",) if shows else ()), "offset", *differences)):
        value, low, high = float(beta[k]), float(beta[k] - half[k]), float(beta[k] + half[k])
        # an offset may be zero, so its verdict compares its interval with friction
        size = float(np.median(friction)) if name == "offset" else value
        word = verdict(size, -half[k], half[k])
        relative = float(half[k]) / max(abs(size), 1e-300)
        note = SHARED if name == "offset" and low * high > 0.0 else ""
        note = note if word == "identified" else more(relative, int(group.max()) + 1)
        if name == "scale" and 2.0 * half[k] > TELLS and astray(even, gravity, friction):
            note = ASTRAY
        found[name] = Parameter(
            value, float(error[k]), low, high, unit(name, prismatic), word, note
        )
    if not scaled:
        note = (
            "assumed to be 1: a friction difference between driving and back-driving has the same "
            "effect as a scale"
        )
        found = {"scale": Parameter(None, None, None, None, "1", "unidentifiable", note), **found}
    elif not shows:
        spread = float(np.ptp(gravity))
        tau = unit("offset", prismatic)
        note = (
            f"{ASTRAY}, which varies by {spread:.2g} {tau}"
            if astray(even, gravity, friction)
            else f"the gravity torque of this joint varies by only {spread:.2g} {tau}"
            if spread > 1e-3
            else "the gravity torque of this joint does not vary with its position"
        )
        found = {"scale": Parameter(None, None, None, None, "1", "unidentifiable", note), **found}
    return found


def zero_shift(
    even: Array, gravity: Array, slope: Array, friction: Array, group: Groups
) -> tuple[float, float] | None:
    """Return the shift of positions with which the model's gravity fits the even part
    best, and its half width.

    Parameters
    ----------
    even, gravity, friction, group
        As in `fit_gravity`.
    slope : ndarray, shape (N,)
        Derivative of the model's gravity over the joint's position [N·m/rad].

    Returns
    -------
    tuple of float, or None
        [rad], to be added to the positions; None if no shift shows. Wrong centres of
        mass have the same effect.
    """
    if float(np.ptp(gravity)) <= SHOWS * max(float(np.std(even - gravity)) * _MUCH, 1e-12):
        return None
    A = np.column_stack((gravity, np.ones_like(even), slope))
    noise = even_noise(A, even, friction, group)
    W, b = noise.whiten(A, group), noise.whiten(even, group)
    whole, plain = (np.linalg.lstsq(part, b, rcond=None)[0] for part in (W, W[:, :2]))
    if whole[0] <= 0.0 or not beats(
        held_out(W, b - W @ whole, group), held_out(W[:, :2], b - W[:, :2] @ plain, group)
    ):
        return None
    half = float(cluster_covariance(W, b - W @ whole, group).half_width()[2] / whole[0])
    shift = float(whole[2] / whole[0])
    return (shift, half) if max(_SHIFTED, 2.0 * half) < abs(shift) < _LINEAR else None


def held_out(jacobian: Array, residual: Array, group: Groups) -> Array:
    """Return the whitened error of each group in a least-squares fit without it, as log(1 +
    sum of squares), shape (G,).
    """
    size = np.linalg.norm(jacobian, axis=0)
    J = jacobian / np.where(size > 0.0, size, 1.0)
    gram = group_sum(J[:, :, None] * J[:, None, :], group)
    gradient = group_sum(J * residual[:, None], group)
    change = np.einsum("gij,gj->gi", symmetric_inverse(J.T @ J - gram, 1e-10), gradient)
    return np.log1p(group_sum((residual + np.einsum("np,np->n", J, change[group])) ** 2, group))


def beats(richer: Array, simpler: Array) -> bool:
    """Return whether the held-out errors of the richer model are smaller
    by `RIVAL` standard errors.
    """
    better = simpler - richer
    return bool(better.mean() > RIVAL * better.std(ddof=1) / np.sqrt(len(better)))


def shows_scale(even: Array, gravity: Array) -> bool:
    """Return whether gravity varies much more than the even parts scatter about
    their best line over gravity.
    """
    return float(np.ptp(gravity)) > SHOWS * max(_scatter(even, gravity), 1e-12)


def astray(even: Array, gravity: Array, friction: Array) -> bool:
    """Return whether even parts scatter far more about the model's gravity than strokes
    do: the gravity is wrong.
    """
    most = _ASTRAY * float(np.median(friction))
    return float(np.ptp(gravity)) > SHOWS * most and _scatter(even, gravity) > most


def _scatter(even: Array, gravity: Array) -> float:
    """Return the scatter of the even parts about their best line over gravity."""
    A = np.column_stack((gravity, np.ones_like(gravity)))
    return float(np.std(even - A @ np.linalg.lstsq(A, even, rcond=None)[0]))


def even_columns(
    even: Array, gravity: Array, shows: bool, differences: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Return the columns of scale (if it is fitted), offset and differences,
    and the target of their fit.
    """
    first = [gravity] if shows else []
    return np.column_stack(
        [*first, np.ones_like(even), *differences.values()]
    ), even if shows else even - gravity


def even_noise(A: Array, target: Array, friction: Array, group: Groups) -> Noise:
    """Return the noise model of the even part, iterated with the fit that it weights."""
    noise = WHITE
    for _ in range(3):
        W, b = noise.whiten(A, group), noise.whiten(target, group)
        beta, *_ = np.linalg.lstsq(W, b, rcond=None)
        noise = estimate_noise(target - A @ beta, friction, group, A.shape[1])
    return noise
