"""What a constant-speed experiment states: round trips, the goal of the campaign, and options."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.laws.parameter import IDENTIFIED

TARGET = 0.05  # half width of the friction band over friction that counts as precise


@dataclass(frozen=True)
class Trip:
    """A round trip: a stroke `way` of all joints from a posture, shape (n,), at
    `speed` of the joint `leader`.
    """

    posture: int
    way: Array
    leader: int
    speed: float


@dataclass(frozen=True)
class Goal:
    """Precision and time at which measuring stops.

    Attributes
    ----------
    friction : float
        Half width of the 95 % band of every joint's friction over
        friction, at all speeds and loads.
    parameters : float
        Half width of every parameter over its value.
    time : float
        Allowed robot time [s].
    """

    friction: float = 0.02
    parameters: float = IDENTIFIED / 2.0
    time: float = np.inf


@dataclass(frozen=True)
class ConstantSpeed:
    """Options of constant-speed experiments.

    Attributes
    ----------
    postures, speeds : int
        Number of postures, and of speeds in each; if round trips are chosen, number
        of postures to choose from.
    reference_every : int
        Number of postures between reference round trips.
    fastest : float
        Highest speed as a fraction of the joint's velocity limit.
    spread : float
        Highest over lowest speed.
    window_time : float
        Shortest time at constant speed [s]; strokes are whole motor revolutions, so
        that ripple averages out.
    settle_time : float
        Time at constant speed before the window, in addition to a distance [s].
    longest_stroke : float
        Longest time of a stroke [s]; it raises the lowest speed of a slow joint.
    goal : Goal, optional
        Precision to reach; if earlier runs give enough information, round trips are
        chosen for this precision.
    """

    postures: int = 7
    speeds: int = 6
    reference_every: int = 2
    fastest: float = 0.85
    spread: float = 120.0
    window_time: float = 0.5
    settle_time: float = 0.1
    longest_stroke: float = 10.0
    goal: Goal | None = None
