"""The order of a campaign: postures one after the other, and reference round trips at home that show drift."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from experiments.clearance import ways_are_clear
from experiments.design import Array, Design
from experiments.plan import Plan, Segment, check_plan, with_robot_time
from ident.run import arm_sha256

REFERENCE = 0.35        # level of the reference speeds between the fastest and the slowest


class Writer:
    """Collects segments and knows where the last one ended."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.segments: list[Segment] = []
        self.position = np.zeros(len(names))

    def move(self, target: Array, posture: int) -> None:
        """All joints to a posture."""
        self._add(Segment(len(self.segments), "move", tuple(target.tolist()), posture))

    def round_trip(self, way: Array, leader: int, speed: float, posture: int, reference: bool = False) -> None:
        """A way of all joints, shape (n,), and back; the leader has the speed."""
        there, back, first = self.position + way, self.position.copy(), len(self.segments)
        kind: Literal["stroke", "sweep"] = "stroke" if np.count_nonzero(way) == 1 else "sweep"
        name, speed = self.names[leader], round(float(speed), 6)
        self._add(Segment(first, kind, tuple(there.tolist()), posture, name, speed, None, reference))
        self._add(Segment(first + 1, kind, tuple(back.tolist()), posture, name, speed, first, reference))

    def _add(self, segment: Segment) -> None:
        self.segments.append(segment)
        self.position = np.array(segment.target)


def campaign(design: Design, method: str, seed: int, postures: Array, measure: Callable[[Writer, int], None],
             refer: Callable[[Writer], None]) -> Plan:
    """Plan that measures in all postures, checked against all limits.

    Parameters
    ----------
    design : Design
        Of the arm.
    method : str
        What the plan says of itself.
    seed : int
        What the plan was drawn with.
    postures : ndarray, shape (K, n)
        Home, then those to measure in; all can be reached from home.
    measure : callable
        Writes the round trips of a posture, whose number it is given; ends where it began.
    refer : callable
        Writes the reference round trips, at home.
    """
    home, writer = postures[0], Writer(design.mechanism.names)

    def references() -> None:
        writer.move(home, 0)
        refer(writer)

    for number in range(1, len(postures)):
        if (number - 1) % design.options.reference_every == 0:
            references()
        target = postures[number]
        if not ways_are_clear(design.arm, design.mechanism, writer.position[None], target[None])[0]:
            writer.move(home, 0)
        writer.move(target, number)
        measure(writer, number)
    references()
    plan = Plan(design.arm.name, arm_sha256(design.arm), method, seed, design.mechanism.names, tuple(home.tolist()),
                tuple(writer.segments))
    check_plan(plan, design.arm, design.mechanism)
    return with_robot_time(plan, design.arm)
