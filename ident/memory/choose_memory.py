"""Choice of law and memory: they compete by their errors on blocks of the motion that
were left out of the fit.

1. The laws of sliding compete with the relaxing state, the simplest memory.
2. All memories, and none, compete with the chosen law and with laws of one nonlinear parameter: a
   wrong memory can make a wrong law look better.
3. With another memory than the relaxing state, the laws compete again.

A difference of viscous friction between the directions competes, too. Laws that the rough search
shows to be much worse than the best are not fitted closely. Long logs compete with fewer samples;
the winner is fitted to all.

The simplest candidate wins that no other beats: the errors of the blocks must differ by two
standard errors of their signed ranks, or by half of their squares. A memory does not win if the
position signal cannot resolve its distance (the shorter one of two), or if its distance is beyond
the motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError, unknown_name
from stribeck.ident.fit.choice.signed_ranks import excess_ranks
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named, laws_on_offer
from stribeck.ident.laws.quantity import ELEMENTS
from stribeck.ident.memory.compose import DIFFERENCES, Offers, grown, pruned
from stribeck.ident.memory.composition import PLAIN, Composition
from stribeck.ident.memory.memory_data import Levels, MemoryData
from stribeck.ident.memory.memory_fit import MemoryFit, alike, concluded, minima, refitted
from stribeck.ident.memory.memory_search import Start, elements, search
from stribeck.ident.memory.states.memories import (
    DISTANCE,
    MAXWELL_SLIP,
    MEMORIES,
    NAMES,
    NONE,
    RELAXING,
    SECOND_DISTANCE,
    STIFFNESS,
    Memory,
)

# standard errors of the signed ranks by which a law or a richer memory must win
_RIVAL = 2.0
_CLAIM = 2.6  # and by which a memory must win against none
_HALVED = 0.5  # ratio of mean squares, of blocks and of quarters, that wins without a test
_DISTANCES = 12  # distances in the global search
# greatest distance of the search, and of a memory that may win, as a part of the range of positions
_LONGEST = 0.25
# presliding distances after which the state does not depend on its beginning
_FORGETS = 5.0
_ROWS, _FEWER = 20_000, 6000  # most samples of the contest; fewer if they lie closer
_FINE = 0.003  # s; than this
# laws with this many nonlinear parameters meet all memories only if they win
# with the relaxing state
_SLOW = 2
# held-out error with the relaxing state, relative to the best, up to which laws meet all memories
_NEAR = 1.2
# rms error of the rough search, relative to the best, up to which laws are fitted closely
_ROUGHLY = 1.1
# least and greatest slip distance of elements, as parts of the distance of the relaxing state
_SPREAD = 0.12, 6.0


@dataclass(frozen=True)
class MemoryCandidate:
    """A law with a memory that competed.

    Attributes
    ----------
    law, memory : str
    held_out_rmse : float
        Root mean square error of blocks that were left out of the fit [N·m or N].
    parameters : int
        Number of fitted parameters.
    dismissed : str
        Why it cannot be chosen, or "".
    """

    law: str
    memory: str
    held_out_rmse: float
    parameters: int
    dismissed: str = ""


@dataclass(frozen=True)
class Chosen:
    """The best fit, all candidates, and what was fitted beside law and memory."""

    fit: MemoryFit
    candidates: tuple[MemoryCandidate, ...]
    composition: Composition


def choose_memory(
    data: MemoryData,
    law: str = "auto",
    memory: str = "auto",
    resolution: float = 0.0,
    offers: Offers = DIFFERENCES,
) -> Chosen:
    """Fit the competing laws, memories and further parts.

    Parameters
    ----------
    data : MemoryData
    law, memory : str
        Names, or "auto" to let all compete.
    resolution : float
        Displacement that the position signal cannot resolve [rad or m].
    offers : Offers
        Further parts that compete.

    Raises
    ------
    InputError
        If a name is unknown.
    FitError
        If no law with friction at low speeds is offered.
    """
    if memory not in ("auto", *NAMES):
        raise unknown_name("memory", memory, ("auto", *NAMES))
    laws = [one for name in laws_on_offer(law) if _dry(one := law_named(name))]
    if not laws:
        raise FitError(
            f"the law {law} has no friction at the lowest speeds, but a memory needs a law with "
            "Coulomb friction; choose another law, for example stribeck"
        )
    distances = _distances(data, resolution)
    data = data.from_distance(
        _FORGETS * search(data.thinned(_ROWS), laws[0], distances[1:])[0][1][DISTANCE.name]
    )
    few = data.thinned(_ROWS if data.period > _FINE else _FEWER)
    contest = _Contest(few, distances, resolution)
    first = RELAXING if memory == "auto" else contest.named(memory, laws[0])
    begin = contest.best(
        [
            (contest.likely(laws, first), one)
            for one in {first.name: first, NONE.name: NONE}.values()
            if memory in ("auto", one.name)
        ]
    )
    _, composition = grown(few, begin, PLAIN, offers, beats)
    if composition != PLAIN:
        contest = _Contest(composition.applied(few), distances, resolution)
    best = contest.winner(laws, memory)
    best, more = grown(few, best, composition, offers, beats)
    best, more = pruned(few, best, more, beats)
    if more != composition:
        contest = _Contest(more.applied(few), distances, resolution)
        best = contest.winner([best.law], memory)
    best = contest.with_rivals(best.law, best.memory)
    return Chosen(concluded(more.applied(data), best), contest.table, more)


def _dry(law: Law) -> bool:
    """Whether a law has friction at the lowest speeds."""
    values = {quantity.name: 1.0 for quantity in law.quantities if not quantity.raises}
    return bool(law.torque(np.array([1e-9]), values)[0] > 1e-3)


def _distances(data: MemoryData, resolution: float) -> Array:
    """Return the distances of the global search, the first of which is 0 for no memory."""
    position = np.cumsum(data.path.step)
    longest = _LONGEST * float(np.ptp(position))
    moving = data.path.length[data.path.length > 0.0]
    least = max(resolution, float(np.median(moving)) if len(moving) else 0.0, 1e-5 * longest)
    if not least < longest:
        raise FitError(
            f"the joint moves by {np.ptp(position):.2g} in all, and the position signal resolves "
            f"{least:.2g}, so a "
            "memory of reversals cannot be seen; record longer motion, or finer positions"
        )
    return np.append(0.0, np.geomspace(least, longest, _DISTANCES))


class _Contest:
    """Fits of laws and memories to the same samples, each made once."""

    def __init__(self, data: MemoryData, distances: Array, resolution: float) -> None:
        self._data, self.distances, self._resolution = data, distances, resolution
        self._starts: dict[tuple[str, bool], list[Start]] = {}
        self._minima: dict[tuple[str, str], list[MemoryFit]] = {}
        self._slip: Memory | None = None

    def named(self, name: str, law: Law) -> Memory:
        """Return a memory by name; the elements of Maxwell slip follow from the
        motion and a law of sliding.
        """
        if name != MAXWELL_SLIP:
            return MEMORIES[name]
        if self._slip is None:
            start = self._start(law, RELAXING)[0][1]
            far = start[DISTANCE.name] * np.geomspace(*_SPREAD, ELEMENTS)
            self._slip = elements(self._data, law, start, far.tolist())
        return self._slip

    def _start(self, law: Law, memory: Memory) -> list[Start]:
        """Return the starting points of the rough search."""
        lasts = memory.name != NONE.name
        if (law.name, lasts) not in self._starts:
            self._starts[law.name, lasts] = search(
                self._data, law, self.distances[1:] if lasts else self.distances[:1]
            )
        return self._starts[law.name, lasts]

    def winner(self, laws: Sequence[Law], memory: str) -> MemoryFit:
        """Return the best fit of all laws with one or all memories."""
        first = RELAXING if memory == "auto" else self.named(memory, laws[0])
        near = self.near(laws, first)
        best = self.best([(one, first) for one in near])
        if memory != "auto":
            self.fit(best.law, NONE)  # for comparison
            return best
        simple = [
            one
            for one in near
            if len(one.nonlinear) < _SLOW
            and one != best.law
            and self.fit(one, first).held_out_rmse < _NEAR * best.held_out_rmse
        ]
        best = self.best(
            [(one, self.named(name, one)) for name in NAMES for one in (*simple, best.law)]
        )
        return (
            best
            if best.memory.name == RELAXING.name
            else self.best([(one, best.memory) for one in near])
        )

    def likely(self, laws: Sequence[Law], memory: Memory) -> Law:
        """Return the law with the least error in the rough search."""
        return min(laws, key=lambda law: self._start(law, memory)[0][0])

    def near(self, laws: Sequence[Law], memory: Memory) -> list[Law]:
        """Return the laws that fit roughly as well as the best, the simplest first; simple laws get
        the benefit of the doubt.
        """
        errors = {law.name: self._start(law, memory)[0][0] for law in laws}
        near = [
            law
            for law in laws
            if len(law.nonlinear) < _SLOW or errors[law.name] <= _ROUGHLY * min(errors.values())
        ]
        return sorted(near, key=lambda law: len(law.parameters(False)))

    def fit(self, law: Law, memory: Memory) -> MemoryFit:
        """Return the best fit of a law and a memory.

        Where the relaxing state competes, other memories begin at its minima, but for those whose
        distance is at a limit or cannot be chosen.
        """
        key = law.name, memory.name
        if key not in self._minima:
            relaxing = self._minima.get((law.name, RELAXING.name), [])
            start = [
                (fit.rmse, dict(fit.values))
                for fit in relaxing
                if DISTANCE.name in fit.free and not self.dismissed(fit)
            ]
            if memory.name == NONE.name or not start:
                start = self._start(law, memory)
            self._minima[key] = minima(self._data, law, memory, start)
        return self._minima[key][0]

    def with_rivals(self, law: Law, memory: Memory) -> MemoryFit:
        """Return the fit of the winner with its rivals, from the starting points of the rough
        search, too.
        """
        self.fit(law, memory)
        fits = self._minima[law.name, memory.name]
        if memory.name not in (NONE.name, RELAXING.name):
            fits = fits + minima(self._data, law, memory, self._start(law, memory))
        best, *rivals = alike(fits)
        return replace(best, rivals=tuple(fit for fit in rivals if not self.dismissed(fit)))

    def best(self, pairs: Sequence[tuple[Law, Memory]]) -> MemoryFit:
        """Return the simplest fit that no other beats."""
        fits = sorted((self.fit(*pair) for pair in pairs), key=lambda fit: len(fit.values))
        able = [fit for fit in fits if not self.dismissed(fit)] or fits[:1]
        for fit in able:
            if not any(beats(other, fit) for other in able):
                return fit
        return min(able, key=lambda fit: fit.held_out_rmse)

    def dismissed(self, fit: MemoryFit) -> str:
        """Return why a fit cannot be chosen, or ""."""
        if fit.memory.name == NONE.name:
            return ""
        if (
            fit.memory.distances
            and (last := 1.0 - sum(fit.values[name] for name in fit.memory.parameters)) < 0.0
        ):
            return f"the share of its last element is {last:.2g}, below 0"
        near, far, longest = (
            least_reach(fit),
            reach(fit),
            _LONGEST * float(np.ptp(np.cumsum(self._data.path.step))),
        )
        if near < self._resolution:
            return (
                f"its presliding distance of {near:.2g} is below {self._resolution:.2g}, which "
                "the position signal resolves"
            )
        if far > longest:
            return (
                f"its presliding distance of {far:.2g} is beyond {longest:.2g}, which this motion "
                "shows"
            )
        return ""

    @property
    def table(self) -> tuple[MemoryCandidate, ...]:
        """All candidates."""
        return tuple(
            MemoryCandidate(law, memory, fit.held_out_rmse, len(fit.values), self.dismissed(fit))
            for (law, memory), (fit, *_) in self._minima.items()
        )


def beats_shift(fit: MemoryFit, shifted: MemoryData) -> bool:
    """Return whether a memory predicts better than the same law without memory does for a
    torque that is shifted in time.
    """
    few = shifted.thinned(_ROWS)
    return beats(
        refitted(fit.data.thinned(_ROWS), fit),
        minima(few, fit.law, NONE, search(few, fit.law, np.zeros(1)))[0],
    )


def least_reach(fit: MemoryFit) -> float:
    """Return the shorter distance of two-states, for other memories the distance over which
    friction reverses [rad or m].
    """
    values = fit.values
    return values[DISTANCE.name] if SECOND_DISTANCE.name in values else reach(fit)


def reach(fit: MemoryFit) -> float:
    """Return the distance over which friction reverses, the longer one of two [rad or m]."""
    values = fit.values
    if fit.memory.distances:
        shares = [values[name] for name in fit.memory.parameters]
        return float(np.dot([*shares, 1.0 - sum(shares)], fit.memory.distances))
    if STIFFNESS.name in values:
        return float(np.median(Levels.of(fit.data, fit.law, values).dry)) / max(
            values[STIFFNESS.name], 1e-12
        )
    return max(values[DISTANCE.name], values.get(SECOND_DISTANCE.name, 0.0))


def beats(one: MemoryFit, other: MemoryFit) -> bool:
    """Return whether a fit predicts left-out blocks better than another, beyond chance
    and in the mean over all.

    A block may hold one reversal or many. In the mean over left-out quarters of the log it must be
    better, too: there the motion may be faster or wider than in the rest. Halved squares, in the
    blocks and in the quarters, need no more evidence: with few reversals most blocks are alike
    under any memory.
    """
    margin = _CLAIM if other.memory.name == NONE.name != one.memory.name else _RIVAL
    quarters = float(
        np.mean(one.held_out_quarters) / max(float(np.mean(other.held_out_quarters)), 1e-300)
    )
    if quarters < _HALVED and one.held_out_rmse**2 < _HALVED * other.held_out_rmse**2:
        return True
    return (
        one.held_out_rmse < other.held_out_rmse
        and excess_ranks(one.held_out, other.held_out) > margin
        and quarters < 1.0
    )
