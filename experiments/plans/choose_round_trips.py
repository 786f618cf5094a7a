"""Choice of round trips with the most information per second of robot time, until every
joint is known well enough.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stribeck.experiments.plans.constant_speed_options import Goal, Trip
from stribeck.ident.arrays import Array
from stribeck.ident.fit.information import Expectation, Outlook, information, planned

_MUCH = 0.3  # decrease of a log variance by one round trip that counts as large
# s of robot time; without a time limit, a goal that takes longer counts as unreachable
_LONGEST = 1200.0
Told = list[Array]  # information of round trips about a joint, one array per candidate law


@dataclass
class JointKnowledge:
    """Knowledge of a joint during the choice of round trips, and the information of every offer.

    Attributes
    ----------
    expected : Expectation
        Candidate laws of the joint.
    outlooks : list of Outlook
        Expected precision, one per candidate.
    told : list of ndarray, shape (O, V, p, p)
        Information matrix of each variant of each offer.
    asked : list of ndarray, shape (C, p)
        See `Outlook.asked`.
    """

    expected: Expectation
    outlooks: list[Outlook]
    told: Told
    asked: list[Array]

    @classmethod
    def of(
        cls, points: pd.DataFrame, shape: tuple[int, int], expected: Expectation, goal: Goal
    ) -> "JointKnowledge":
        """Make it from the points of all variants (O, V) of all offers; a variant without
        points has no information.
        """
        trips, told = points["segment"].unique(), []
        for own in _told(points, expected):
            every = np.zeros((shape[0] * shape[1], *own.shape[1:]))
            every[trips] = own
            told.append(every.reshape(*shape, *own.shape[1:]))
        outlooks = [
            Outlook.of(planned(points, candidate), candidate, expected.earlier)
            for candidate in expected.candidates
        ]
        return cls(
            expected,
            outlooks,
            told,
            [outlook.asked(points, goal.friction, goal.parameters) for outlook in outlooks],
        )

    def fall(self, offers: NDArray[np.int_]) -> Array:
        """Decrease of the lacking precision by each variant of some offers, weighted by what
        lacks most, shape (O, V).
        """
        return np.asarray(
            np.sum(
                [
                    outlook.lacks(asked) ** 2 * outlook.fall(told[offers], asked)
                    for outlook, told, asked in zip(
                        self.outlooks, self.told, self.asked, strict=True
                    )
                ],
                axis=0,
            )
        )

    def needs(self, fall: Array, time: Array) -> float:
        """Estimate the least robot time to reach the goal, from offers with these decreases
        and times, shape (O,) [s].

        Variances fall with the inverse of the number of round trips. If a single round trip still
        brings much information, the estimate does not hold, and the result is 0.
        """
        lacking = sum(
            outlook.lacks(asked) ** 2
            for outlook, asked in zip(self.outlooks, self.asked, strict=True)
        )
        best = int(np.argmax(fall / time))
        logarithm = float(fall[best]) / lacking
        return (
            0.0
            if logarithm > _MUCH
            else (self.lacks() ** 2 - 1.0) * float(time[best]) / max(logarithm, 1e-12)
        )

    def tell(self, points: pd.DataFrame) -> Told:
        """Information matrices of a round trip with these points, shape (p, p) each."""
        return [own.sum(axis=0) for own in _told(points, self.expected)]

    def take(self, told: Told, times: int = 1) -> None:
        """Add the information of a round trip; `times` = -1 removes it."""
        self.outlooks = [
            outlook.with_trips(own, times) for outlook, own in zip(self.outlooks, told, strict=True)
        ]

    def learn(self, offer: int, variant: int, told: Told) -> None:
        """Store the information of an accepted round trip for its offer; it replaces
        the estimate made before.
        """
        for every, own in zip(self.told, told, strict=True):
            every[offer, variant] = own

    def lacks(self) -> float:
        """Largest ratio of expected to wanted half width, RMS over candidates with the same load; 1
        when the goal is reached.
        """
        worst: dict[str, list[float]] = {}
        for outlook, asked in zip(self.outlooks, self.asked, strict=True):
            worst.setdefault(outlook.candidate.load, []).append(outlook.lacks(asked))
        return max(float(np.sqrt(np.mean(np.square(own)))) for own in worst.values())


def _told(points: pd.DataFrame, expected: Expectation) -> Told:
    return [
        information(points, planned(points, candidate), candidate, expected.noise)
        for candidate in expected.candidates
    ]


def choose(
    joints: Mapping[int, JointKnowledge],
    cost: Callable[[], Array],
    accept: Callable[[int, dict[int, int]], Trip | None],
    points: Callable[[Trip], Mapping[int, pd.DataFrame]],
    limit: float,
    spent: float = 0.0,
) -> list[Trip]:
    """Choose round trips greedily by gained precision per second, until no
    reachable precision is lacking.

    Parameters
    ----------
    joints : mapping of int to JointKnowledge
        Knowledge of the moving joints.
    cost : callable
        Robot time of every offer after the accepted ones, shape (O,) [s].
    accept : callable
        Takes an offer and the best variant of each joint; returns the round trip, or None
        if the arm cannot drive it.
    points : callable
        Takes a round trip; returns its expected points of every joint.
    limit : float
        Robot time that may be spent [s].
    spent : float
        Robot time already spent [s].

    Returns
    -------
    list of Trip
        Round trips, without those that later ones made superfluous.
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
            variants = {
                j: int(np.argmax(joint.fall(offer[None])[0])) for j, joint in joints.items()
            }
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
    """Whether the goal is reached without a round trip; if so, its information is removed."""
    for j, own in told.items():
        joints[j].take(own, -1)
    if all(joint.lacks() <= 1.0 for joint in joints.values()):
        return True
    for j, own in told.items():
        joints[j].take(own)
    return False
