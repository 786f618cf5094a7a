r"""Breakaway torque: the torque that sets a resting joint in motion. It is never a
part of sliding friction.

At one posture, the torque rises until the joint moves, once in each direction. Half the difference
of the two torques is the breakaway friction, half the sum is gravity and offset:

.. math:: F_b = (\tau_\uparrow - \tau_\downarrow) / 2
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from stribeck.ident.arrays import Array
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.run import BREAKAWAY, BREAKAWAY_RAMP, MOVED, Run
from stribeck.ident.log.strokes import encoder_step, position_noise

COLUMNS = (
    "joint",
    "posture",
    "dwell",
    "rate",
    "up",
    "down",
    "friction",
    "even",
    "t",
    "temperature",
    "run",
)
# encoder steps, or standard deviations of position noise, that count as a motion
_STARTED = 6.0
_LEAST = 2  # smallest number of ramp pairs for an interval


@dataclass(frozen=True)
class Breakaway:
    """Breakaway friction of one joint.

    Attributes
    ----------
    torque : Parameter
        Mean over the pairs of ramps, with the interval of the mean; postures
        and rests differ [N·m or N].
    range : tuple of float
        Smallest and largest value of a pair [N·m or N].
    rate : float
        Rate of the torque ramps [N·m/s or N/s].
    dwell : tuple of float
        Shortest and longest rest before a ramp [s].
    pairs : int
        Number of pairs.
    """

    torque: Parameter
    range: tuple[float, float]
    rate: float
    dwell: tuple[float, float]
    pairs: int


def breakaway_table(runs: Iterable[Run]) -> pd.DataFrame:
    """Table of ramp pairs (up and down at one posture with the same rest), columns
    `COLUMNS`; torques in N·m (N).

    A ramp without a motion gives no pair.
    """
    rows = [row for run in runs for row in _pairs(run)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def breakaways(
    table: pd.DataFrame, units: dict[str, str], scales: dict[str, float] | None = None
) -> dict[str, Breakaway]:
    """Return the breakaway friction of each joint.

    Parameters
    ----------
    table : DataFrame
        From `breakaway_table`.
    units : dict of str to str
        Torque unit of each joint.
    scales : dict of str to float, optional
        Divisor of the drive's torque, by joint; default 1.

    Returns
    -------
    dict of str to Breakaway
        Joints with at least two pairs.
    """
    found = {}
    for name, rows in table.groupby("joint", sort=False):
        friction = rows["friction"].to_numpy(dtype=float) / (scales or {}).get(str(name), 1.0)
        if len(friction) < _LEAST:
            continue
        mean, error = float(friction.mean()), float(friction.std(ddof=1) / np.sqrt(len(friction)))
        half = float(stdtrit(len(friction) - 1, 0.975)) * error
        found[str(name)] = Breakaway(
            Parameter(
                mean,
                error,
                mean - half,
                mean + half,
                units[str(name)],
                verdict(mean, mean - half, mean + half),
            ),
            (float(friction.min()), float(friction.max())),
            float(rows["rate"].mean()),
            (float(rows["dwell"].min()), float(rows["dwell"].max())),
            len(friction),
        )
    return found


def _pairs(run: Run) -> Iterable[dict[str, object]]:
    """Yield one table row for each pair of ramps of one joint at one posture."""
    if run.purpose != BREAKAWAY:
        return
    planned = {
        segment["id"]: segment
        for segment in run.record["plan"]["segments"]
        if segment.get("kind") == BREAKAWAY_RAMP
    }
    begun = {
        event["segment"]: event["row"]
        for event in run.events
        if event.get("event") == BREAKAWAY_RAMP
    }
    loose = {event["segment"]: event["row"] for event in run.events if event.get("event") == MOVED}
    steps = [_resolution(run.signals["q"][:, joint]) for joint in range(len(run.names))]
    ways: dict[tuple[str, int, float], dict[float, tuple[float, float, float]]] = {}
    for number, segment in planned.items():
        if number not in loose or loose[number] > run.rows:
            continue
        joint, rows = run.names.index(segment["joint"]), slice(begun[number], loose[number])
        temperature = (
            float(run.signals["temperature"][rows, joint].mean())
            if "temperature" in run.signals
            else np.nan
        )
        place = (segment["joint"], segment["posture"], segment["dwell"])
        both = ways.setdefault(place, {})
        both[float(np.sign(segment["rate"]))] = (
            _torque_at_onset(run, joint, rows, steps[joint]),
            float(run.t[rows.stop - 1]),
            temperature,
        )
        if len(both) == 2:
            (up, later, warm), (down, since, _) = both[1.0], both[-1.0]
            yield {
                "joint": segment["joint"],
                "posture": segment["posture"],
                "dwell": segment["dwell"],
                "rate": abs(segment["rate"]),
                "up": up,
                "down": down,
                "friction": (up - down) / 2.0,
                "even": (up + down) / 2.0,
                "t": (later + since) / 2.0,
                "temperature": warm,
                "run": run.label,
            }


def _resolution(x: Array) -> float:
    """Smallest distance that counts as a motion [rad or m]."""
    return _STARTED * max(encoder_step(x), position_noise(x, 0.0))


def _torque_at_onset(run: Run, joint: int, rows: slice, started: float) -> float:
    """Torque at the beginning of the motion: end of the straight line through the
    measured ramp up to this time.
    """
    t, q, tau = run.t[rows], run.signals["q"][rows, joint], run.signals["tau"][rows, joint]
    rest = np.flatnonzero(np.abs(q - np.median(q[: max(1, len(q) // 4)])) <= started)
    last = int(rest[-1]) + 1 if len(rest) else len(q)
    if last < 3:
        return float(tau[:last].mean())
    since = t[:last] - t[last - 1]
    return float(np.polynomial.Polynomial.fit(since, tau[:last], 1)(0.0))
