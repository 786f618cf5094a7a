r"""Laws of presliding: dry friction as a function of the path, with states that
remember the last reversals.

Every law replaces the sign of the velocity in the dry part of a friction law. With the dry
level :math:`D(|\omega|, L)` of the law (Coulomb and static friction with the load),
direction :math:`s` and path x:

- relaxing: friction :math:`D z`, with :math:`z' = (s - z)/h` along the path. After a reversal 63 %
  of the change takes the presliding distance h.
- dahl: the same with the exponent i: :math:`z' = s |1 - s z|^i/h`.
- two-states: :math:`D (a z_1 + (1 - a) z_2)`, two relaxing states with the distances h_1 < h_2.
- lugre: bristles of stiffness sigma_0 and damping sigma_1 bend by z: friction :math:`\sigma_0 z
  + \sigma_1 \dot z`, with :math:`\dot z = \omega - \sigma_0 |\omega| z / D`. The force, not
  only its sign, has memory.
- maxwell-slip: :math:`D \sum_j a_j z_j`; each element is a spring that slips at its own
  distance, :math:`z_j' = s/h_j` within -1 ... 1. It remembers every reversal that no
  larger motion has erased.

Along a run between reversals all states are known functions of the distance since the last
reversal, but for bristles: their level varies, and they are a linear recursion over the steps.

References
----------
Dahl, The Aerospace Corporation TOR-0158 (1968); Canudas de Wit, Olsson, Astrom and Lischinsky, IEEE
Trans. Autom. Control 40 (1995) 419; Lampaert, Swevers and Al-Bender, IEEE Trans. Autom. Control 47
(2002) 683, for Maxwell slip.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.laws.quantity import (
    DAMPING,
    DISTANCE,
    EXPONENT,
    SECOND_DISTANCE,
    SHARE,
    STIFFNESS,
    Quantity,
    element_share,
)
from stribeck.ident.memory.states.linear_recursion import recursion
from stribeck.ident.memory.states.path import Path

_SMALL = 1e-4  # relative step of numerical derivatives
_EXPONENTS = 0.2, 3.0  # range of Dahl's exponent

Answer = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Drive:
    """Motion that a memory answers to.

    Attributes
    ----------
    path : Path
        Displacements.
    velocity : ndarray, shape (M,)
        Velocity [rad/s or m/s].
    level : ndarray, shape (M,)
        Dry level D of friction at speed and load, positive [N·m or N].
    slopes : ndarray, shape (p, M)
        Derivatives of the level.
    """

    path: Path
    velocity: Array
    level: Array
    slopes: Array


@dataclass(frozen=True)
class Memory:
    """A law of presliding.

    Attributes
    ----------
    name : str
        Name in files and options.
    quantities : tuple of Quantity
        Parameters.
    answer : callable
        ``answer(drive, values)``: dry friction, shape (M,), its derivatives by the parameters, (m,
        M), and by the parameters of the level, (p, M).
    starts : callable
        ``starts(distance, level)``: starting values of the search, from the distance of the
        relaxing state and the mean level.
    low, high : dict of str to float
        Limits of parameters besides zero and infinity.
    distances : tuple of float
        Fixed slip distances of the elements [rad or m]; empty except for maxwell-slip.
    """

    name: str
    quantities: tuple[Quantity, ...]
    answer: Callable[[Drive, Mapping[str, float]], Answer]
    starts: Callable[[float, float], Sequence[Mapping[str, float]]]
    low: Mapping[str, float]
    high: Mapping[str, float]
    distances: tuple[float, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(quantity.name for quantity in self.quantities)

    def __reduce__(self) -> tuple[Callable[..., "Memory"], tuple[str, tuple[float, ...]]]:
        """Pickle by name, as functions of laws cannot be pickled."""
        return memory_named, (self.name, self.distances)


def relaxed(path: Path, distance: float) -> tuple[Array, Array]:
    """Return the relaxing state and its derivative by the distance, shape (M,) each.

    Along a run the state approaches the direction by a factor :math:`e^{-x/h}`, with x the
    distance since the run began; so only the states at the beginnings of runs are a recursion.
    """
    runs, moved = path.runs, path.since_reversal / distance
    left = 2.0 * np.exp(-path.since / distance)
    at_section = path.sliding * (1.0 - left)
    slope_at_section = -path.sliding * left * _finite(path.since) / distance**2
    gone = runs.length / distance
    kept = np.exp(-gone)
    begin = _at_beginnings(kept, (1.0 - kept) * runs.direction, at_section, runs.section)
    apart = begin - runs.direction
    change = kept * gone / distance * apart
    slope = _at_beginnings(kept, change, slope_at_section, runs.section)
    fading = np.exp(-moved)
    state = path.direction + fading * apart[runs.at]
    return state, fading * (slope[runs.at] + moved / distance * apart[runs.at])


def _at_beginnings(kept: Array, push: Array, at_section: Array, section: Groups) -> Array:
    """Return z at the beginnings of runs, shape (R,): along a run it becomes ``kept * z + push``,
    and at the beginning of a section it is known.
    """
    push = push.copy()
    push[section] += kept[section] * at_section
    factor = kept.copy()
    factor[section] = 0.0
    begin = np.append(0.0, recursion(factor, push)[:-1])
    begin[section] = at_section
    return begin


def _finite(since: Array) -> Array:
    """Return distances since a reversal, zero without one."""
    return np.asarray(np.where(np.isfinite(since), since, 0.0))


def _before(state: Array, path: Path) -> Array:
    """Return the state at the previous sample, zero at the beginning of the log."""
    return np.concatenate(([0.0], state[:-1]))


def _sign(drive: Drive, values: Mapping[str, float]) -> Answer:
    # a step may hold a reversal
    s = np.where(drive.velocity == 0.0, drive.path.direction, np.sign(drive.velocity))
    return drive.level * s, np.zeros((0, len(s))), drive.slopes * s


def _relaxing(drive: Drive, values: Mapping[str, float]) -> Answer:
    state, by_distance = relaxed(drive.path, values[DISTANCE.name])
    return drive.level * state, (drive.level * by_distance)[None], drive.slopes * state


def _two_states(drive: Drive, values: Mapping[str, float]) -> Answer:
    share = values[SHARE.name]
    (first, by_first), (second, by_second) = (
        relaxed(drive.path, values[key.name]) for key in (DISTANCE, SECOND_DISTANCE)
    )
    state = second + share * (first - second)
    return (
        drive.level * state,
        drive.level * np.stack((share * by_first, (1.0 - share) * by_second, first - second)),
        drive.slopes * state,
    )


def _dahl(drive: Drive, values: Mapping[str, float]) -> Answer:
    def state(distance: float, exponent: float) -> Array:
        return _dahl_state(drive.path, distance, exponent)

    h, i = values[DISTANCE.name], values[EXPONENT.name]
    by_distance = (state(h * (1.0 + _SMALL), i) - state(h * (1.0 - _SMALL), i)) / (2.0 * _SMALL * h)
    by_exponent = (state(h, i + _SMALL) - state(h, i - _SMALL)) / (2.0 * _SMALL)
    now = state(h, i)
    return drive.level * now, drive.level * np.stack((by_distance, by_exponent)), drive.slopes * now


def _dahl_state(path: Path, distance: float, exponent: float) -> Array:
    """Return Dahl's state: 1 - s z decays along a run as a power, exactly."""
    power = 1.0 - exponent
    if abs(power) < 1e-6:
        return relaxed(path, distance)[0]

    least = 0.0 if power > 0.0 else 1e-300

    def left(begin: float, travelled: float) -> float:
        """What is left of 1 - s z after a distance."""
        return float(max(begin**power - power * travelled / distance, least) ** (1.0 / power))

    runs = path.runs
    begin, state = np.empty(len(runs.first)), 0.0
    at = {
        row: s * (1.0 - left(2.0, far)) if np.isfinite(far) else s
        for row, s, far in zip(
            path.begins.tolist(), path.sliding.tolist(), path.since.tolist(), strict=True
        )
    }
    for k, (row, s, far) in enumerate(
        zip(runs.first.tolist(), runs.direction.tolist(), runs.length.tolist(), strict=True)
    ):
        state = at.get(row, state)
        apart = max(1.0 - s * state, 1e-12)
        begin[k] = apart**power
        state = s * (1.0 - left(apart, far))
    base = np.maximum(begin[runs.at] - power * path.since_reversal / distance, least)
    return np.asarray(path.direction * (1.0 - base ** (1.0 / power)))


def _lugre(drive: Drive, values: Mapping[str, float]) -> Answer:
    r"""Bristles: with :math:`\zeta = \sigma_0 z`, :math:`\zeta' = \sigma_0 (s -
    \zeta/D)` along the path.
    """
    stiffness, damping = values[STIFFNESS.name], values[DAMPING.name]
    path, level = drive.path, drive.level
    # level of a step: the mean of its ends
    along, rise = _of_steps(level), _of_steps(drive.slopes)
    part, s = stiffness * path.length / along, path.direction
    kept = np.exp(-part)
    kept[path.begins] = 0.0
    gone = stiffness * _finite(path.since) / along[path.begins]
    left = np.where(np.isfinite(path.since), 2.0 * np.exp(-gone), 0.0)
    push = (1.0 - kept) * s
    push[path.begins] = path.sliding * (1.0 - left)
    bent = recursion(kept, push * along)
    apart = _before(bent, path) - s * along
    by_stiffness, by_along = -part / stiffness * kept * apart, part / along * kept * apart + push
    by_stiffness[path.begins] = path.sliding * left * _finite(path.since)
    by_along[path.begins] -= path.sliding * left * gone
    of_bent = recursion(kept, np.concatenate((by_stiffness[None], by_along * rise)))
    w = drive.velocity
    free = w - np.abs(w) * bent / level  # rate of the bristles
    # derivative of the friction by the force of the bristles
    slower = 1.0 - damping * np.abs(w) / level
    by_level = slower * of_bent[1:] + damping * np.abs(w) * bent / level**2 * drive.slopes
    return bent + damping * free, np.stack((slower * of_bent[0], free)), by_level


def _of_steps(values: Array) -> Array:
    """Return the mean over each step of values at the samples, along the last axis."""
    means = values.copy()
    means[..., 1:] = 0.5 * (values[..., 1:] + values[..., :-1])
    return means


def slips(path: Path, distances: Array) -> Array:
    """Return the states of elements that slip at their distances, shape (N, M)."""
    runs = path.runs
    begin, state = np.empty((len(runs.first), len(distances))), np.zeros(len(distances))
    states = path.sliding[:, None] * np.minimum(1.0, path.since[:, None] / distances - 1.0)
    at = dict(zip(path.begins.tolist(), states, strict=True))
    for k, (row, s, far) in enumerate(
        zip(runs.first.tolist(), runs.direction.tolist(), runs.length.tolist(), strict=True)
    ):
        if row in at:
            state = at[row]
        begin[k] = state
        state = np.clip(state + s * far / distances, -1.0, 1.0)
    moved = (path.direction * path.since_reversal) / distances[:, None]
    return np.asarray(np.clip(begin[runs.at].T + moved, -1.0, 1.0))


def maxwell_slip(distances: Sequence[float]) -> Memory:
    """Return the Maxwell-slip law with elements of fixed slip distances [rad or m].

    The shares of the elements sum to 1. The share of the last element is what the others leave, so
    it should be the largest.
    """
    far = np.asarray(distances, dtype=float)
    shares = tuple(element_share(k + 1) for k in range(len(far) - 1))

    def answer(drive: Drive, values: Mapping[str, float]) -> Answer:
        states = slips(drive.path, far)
        of = np.array([values[share.name] for share in shares])
        apart = states[:-1] - states[-1]
        state = states[-1] + of @ apart
        return drive.level * state, drive.level * apart, drive.slopes * state

    def starts(distance: float, level: float) -> list[dict[str, float]]:
        return [dict.fromkeys((share.name for share in shares), 1.0 / len(far))]

    return Memory(
        "maxwell-slip",
        shares,
        answer,
        starts,
        {},
        dict.fromkeys((share.name for share in shares), 1.0),
        tuple(far.tolist()),
    )


NONE = Memory("none", (), _sign, lambda distance, level: [{}], {}, {})
RELAXING = Memory(
    "relaxing", (DISTANCE,), _relaxing, lambda distance, level: [{DISTANCE.name: distance}], {}, {}
)
DAHL = Memory(
    "dahl",
    (DISTANCE, EXPONENT),
    _dahl,
    lambda distance, level: [
        {DISTANCE.name: distance, EXPONENT.name: start} for start in (0.7, 1.5)
    ],
    {EXPONENT.name: _EXPONENTS[0]},
    {EXPONENT.name: _EXPONENTS[1]},
)
TWO_STATES = Memory(
    "two-states",
    (DISTANCE, SECOND_DISTANCE, SHARE),
    _two_states,
    lambda distance, level: [
        {DISTANCE.name: distance / apart, SECOND_DISTANCE.name: distance * apart, SHARE.name: 0.5}
        for apart in (2.0, 6.0)
    ],
    {},
    {SHARE.name: 1.0},
)
LUGRE = Memory(
    "lugre",
    (STIFFNESS, DAMPING),
    _lugre,
    lambda distance, level: [{STIFFNESS.name: level / distance, DAMPING.name: 0.0}],
    {},
    {},
)

MEMORIES = {memory.name: memory for memory in (NONE, RELAXING, DAHL, LUGRE, TWO_STATES)}
MAXWELL_SLIP = "maxwell-slip"
NAMES = (*MEMORIES, MAXWELL_SLIP)


def memory_named(name: str, distances: Sequence[float] = ()) -> Memory:
    """Return a law of presliding by name; `distances` are those of the elements
    of maxwell-slip [rad or m].
    """
    return maxwell_slip(distances) if name == MAXWELL_SLIP else MEMORIES[name]
