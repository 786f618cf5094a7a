"""Which round trips: those that tell most for a second of robot time, until every joint is known well enough."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.experiments.plans.speeds_and_postures import Array, Goal, Trip
from stribeck.ident.fit.information import Expectation, Outlook, information, planned

_MUCH = 0.3             # of the logarithm of a variance, by one round trip
_LONGEST = 1200.0       # s of robot time; what takes longer is out of reach, where nobody says how much may be spent
Told = list[Array]      # what round trips tell of a joint, candidate by candidate


@dataclass
class JointKnowledge:
    """What is known of a joint while round trips are chosen, and what those on offer would add.

    Attributes
    ----------
    expected : Expectation
        Its candidates.
    outlooks : list of Outlook
        What is known, candidate by candidate.
    told : list of ndarray, shape (O, V, p, p)
        What each variant of each offer would tell.
    asked : list of ndarray, shape (C, p)
        See `Outlook.asked`.
    """

    expected: Expectation
    outlooks: list[Outlook]
    told: Told
    asked: list[Array]

    @classmethod
    def of(cls, points: pd.DataFrame, shape: tuple[int, int], expected: Expectation, goal: Goal) -> "JointKnowledge":
        """From the points of all variants (O, V) of all offers; those that give no point tell nothing."""
        trips, told = points["segment"].unique(), []
        for own in _told(points, expected):
            every = np.zeros((shape[0] * shape[1], *own.shape[1:]))
            every[trips] = own
            told.append(every.reshape(*shape, *own.shape[1:]))
        outlooks = [Outlook.of(planned(points, candidate), candidate, expected.earlier) for candidate in expected.candidates]
        return cls(expected, outlooks, told, [outlook.asked(points, goal.friction, goal.parameters) for outlook in outlooks])

    def fall(self, offers: NDArray[np.int_]) -> Array:
        """By how much each variant of some offers would make what is lacking fall, what lacks most first, shape (O, V)."""
        return np.asarray(np.sum([outlook.lacks(asked) ** 2 * outlook.fall(told[offers], asked) for outlook, told, asked
                                  in zip(self.outlooks, self.told, self.asked, strict=True)], axis=0))

    def needs(self, fall: Array, time: Array) -> float:
        """Robot time that the goal still takes at least, of offers with these falls and times, shape (O,) [s].

        Variances go with the inverse of the number of round trips. Where a single one still tells much, that is no measure: 0.
        """
        lacking = sum(outlook.lacks(asked) ** 2 for outlook, asked in zip(self.outlooks, self.asked, strict=True))
        best = int(np.argmax(fall / time))
        logarithm = float(fall[best]) / lacking
        return 0.0 if logarithm > _MUCH else (self.lacks() ** 2 - 1.0) * float(time[best]) / max(logarithm, 1e-12)

    def tell(self, points: pd.DataFrame) -> Told:
        """What a round trip with these points would tell, shape (p, p) each."""
        return [own.sum(axis=0) for own in _told(points, self.expected)]

    def take(self, told: Told, times: int = 1) -> None:
        """Count a round trip as made, or as not made (-1 times)."""
        self.outlooks = [outlook.with_trips(own, times) for outlook, own in zip(self.outlooks, told, strict=True)]

    def learn(self, offer: int, variant: int, told: Told) -> None:
        """What a round trip told is what an offer tells; beforehand only what the other joints do in it was guessed."""
        for every, own in zip(self.told, told, strict=True):
            every[offer, variant] = own

    def lacks(self) -> float:
        """The worst half width over that wanted, of the candidates' root mean square by load; 1 when the goal is reached."""
        worst: dict[str, list[float]] = {}
        for outlook, asked in zip(self.outlooks, self.asked, strict=True):
            worst.setdefault(outlook.candidate.load, []).append(outlook.lacks(asked))
        return max(float(np.sqrt(np.mean(np.square(own)))) for own in worst.values())


def _told(points: pd.DataFrame, expected: Expectation) -> Told:
    return [information(points, planned(points, candidate), candidate, expected.noise) for candidate in expected.candidates]


def choose(joints: Mapping[int, JointKnowledge], cost: Callable[[], Array], accept: Callable[[int, dict[int, int]], Trip | None],
           points: Callable[[Trip], Mapping[int, pd.DataFrame]], limit: float, spent: float = 0.0) -> list[Trip]:
    """Greedy choice of what makes most of the lacking precision up for a second of robot time, until none is lacking that is
    within reach.

    Parameters
    ----------
    joints : mapping of int to JointKnowledge
        Those that move.
    cost : callable
        Robot time of every offer, given those already taken, shape (O,) [s].
    accept : callable
        Given an offer and the best variant of each joint: the round trip, or None where the arm cannot go it.
    points : callable
        From a round trip to the points of every joint that it will give.
    limit : float
        Robot time that may be spent [s].
    spent : float
        Robot time already spent [s].

    Returns
    -------
    list of Trip
        Round trips; what later ones made superfluous is taken back.
    """
    made: list[tuple[Trip, dict[int, Told]]] = []
    reach = _LONGEST if np.isinf(limit) else np.inf
    while weak := [j for j, joint in joints.items() if joint.lacks() > 1.0]:
        time = cost()
        offers = np.flatnonzero(np.isfinite(time))
        offers = offers[spent + time[offers] <= limit]
        falls = {j: joints[j].fall(offers).max(axis=1) for j in weak} if len(offers) else {}
        within = [own for j, own in falls.items() if joints[j].needs(own, time[offers]) <= reach]
        if not within:
            break
        value = np.sum(within, axis=0) / time[offers]
        for offer in offers[np.argsort(-value)]:
            variants = {j: int(np.argmax(joint.fall(offer[None])[0])) for j, joint in joints.items()}
            trip = accept(int(offer), variants)
            if trip is not None:
                spent += float(time[offer])
                told = {j: joints[j].tell(own) for j, own in points(trip).items()}
                for j, own in told.items():
                    joints[j].take(own)
                    joints[j].learn(int(offer), variants[j], own)
                made.append((trip, told))
                break
        else:
            break
    return [trip for trip, told in made if not _dispensable(joints, told)]


def _dispensable(joints: Mapping[int, JointKnowledge], told: Mapping[int, Told]) -> bool:
    """Whether the goal is reached without a round trip that was made; then it is taken back."""
    for j, own in told.items():
        joints[j].take(own, -1)
    if all(joint.lacks() <= 1.0 for joint in joints.values()):
        return True
    for j, own in told.items():
        joints[j].take(own)
    return False
