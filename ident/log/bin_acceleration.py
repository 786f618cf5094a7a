"""Torque of the inertia while a drive settles at the ends of a stroke, from the mean acceleration over each bin."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.polynomial import legendre

from stribeck.ident.arrays import Array
from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.model.mechanism import Mechanism

_DEGREE = 8             # of the polynomial in time, which follows a drive that settles within a sixth of its stroke
_SAMPLES = 4            # that a stroke should have for each degree
_SURE = 3.0             # standard errors beyond which a torque is told, however noisy positions are


def moved_inertia(run: Run, mechanism: Mechanism, q: Array, joint: np.ndarray, moving: np.ndarray) -> Array:
    """Inertia of links and rotor that a joint's torque accelerates, over the accelerations of all joints that move.

    Parameters
    ----------
    run : Run
        Whose arm file states the rotors.
    mechanism : Mechanism
        Rigid-body model with joints in the run's order.
    q : ndarray, shape (S, n)
        Positions of all joints at the middle of each bin [rad or m].
    joint : ndarray of int, shape (S,)
        Whose torque.
    moving : ndarray of bool, shape (S, n)
        Which joints move.

    Returns
    -------
    ndarray, shape (S, n)
        0 where a joint holds: what its position trembles is noise.
    """
    own = np.arange(len(q)), joint
    inertia = mass_matrix(mechanism, q)[own]
    table = [run.arm.joint(name) for name in run.names]
    inertia[own] += np.array([one.rotor_inertia * one.ratio**2 for one in table])[joint]
    return np.where(moving, inertia, 0.0)


def accelerating_torque(run: Run, inertia: Array, strokes: Sequence[Stroke], rows: Sequence[np.ndarray], error: Array) -> Array:
    """Mean torque that accelerates links and rotor over each bin, shape (S,) [N·m or N].

    Only as much of it as exceeds the noise of the positions, and none where it is within that and less sure than the mean torque.

    Parameters
    ----------
    run : Run
        Of which the bins are.
    inertia : ndarray, shape (S, n)
        As `moved_inertia` gives it.
    strokes : sequence of Stroke
        On which each bin lies; those of a stroke follow each other.
    rows : sequence of ndarray of int
        Samples of each bin.
    error : ndarray, shape (S,)
        Standard error of the measured torque's mean [N·m or N].
    """
    torque, variance = np.zeros((2, len(strokes)))
    between = run.t[np.array([(own[0], own[-1]) for own in rows])]
    first = 0
    for _, group in groupby(strokes, key=lambda stroke: stroke.key):
        stroke, *others = group
        bins = slice(first, first + 1 + len(others))
        first = bins.stop
        for joint in np.flatnonzero(inertia[bins].any(axis=0)).tolist():
            mean, unsure = mean_acceleration(run.t[stroke.rows], run.signals["q"][stroke.rows, joint], between[bins])
            torque[bins] += inertia[bins, joint] * mean
            variance[bins] += (inertia[bins, joint] * unsure) ** 2
    exceeds = 1.0 - np.divide(variance, torque**2, where=torque != 0.0, out=np.ones(len(torque)))
    told = (variance < error**2) | (torque**2 > _SURE**2 * variance)
    return np.where(told, np.maximum(exceeds, 0.0) * torque, 0.0)


def mean_acceleration(t: Array, x: Array, between: Array) -> tuple[Array, Array]:
    """Mean acceleration over parts of a stroke and its standard error, from one polynomial in time through the whole stroke.

    Parameters
    ----------
    t, x : ndarray, shape (N,)
        Time and position along the stroke [s; rad or m].
    between : ndarray, shape (S, 2)
        When each part begins and ends [s].

    Returns
    -------
    mean, error : ndarray, shape (S,)
        [rad/s² or m/s²]; 0 and infinite where the stroke has too few samples, or a part lasts no time.
    """
    degree = min(_DEGREE, len(t) // _SAMPLES)
    lasts = between[:, 1] - between[:, 0]
    if degree < 2 or not (lasts > 0.0).all():
        return np.zeros(len(between)), np.full(len(between), np.inf)
    middle, half = (t[0] + t[-1]) / 2.0, (t[-1] - t[0]) / 2.0
    terms = legendre.legvander((t - middle) / half, degree)
    inverse = np.linalg.inv(terms.T @ terms)
    about = x - x.mean()
    along = inverse @ (terms.T @ about)
    noise = np.sum((about - terms @ along) ** 2) / (len(t) - degree - 1)
    rates = np.array([legendre.legval((between - middle) / half, legendre.legder(unit)) for unit in np.eye(degree + 1)])
    change = ((rates[..., 1] - rates[..., 0]) / half / lasts).T
    return change @ along, np.sqrt(noise * np.einsum("si,ij,sj->s", change, inverse, change))
