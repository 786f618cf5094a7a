r"""Breakaway: the torque that sets a joint at rest in motion, beside the sliding curve and never part of it.

At one posture the torque grows until the joint moves, up and down. Half the difference of both is what friction held, half
the sum is gravity and offset:

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

COLUMNS = ("joint", "posture", "dwell", "rate", "up", "down", "friction", "even", "t", "temperature", "run")
_STARTED = 6.0          # encoder steps, or standard deviations of the position's noise, from which a joint has begun to move
_LEAST = 2              # pairs of ramps for an interval


@dataclass(frozen=True)
class Breakaway:
    """What holds one joint at rest.

    Attributes
    ----------
    torque : Parameter
        Mean over the pairs of ramps with the interval of that mean; postures and rests differ [N·m or N].
    range : tuple of float
        Least and greatest of the pairs [N·m or N].
    rate : float
        How fast the torque grew [N·m/s or N/s].
    dwell : tuple of float
        Shortest and longest rest before [s].
    pairs : int
        How many there are.
    """

    torque: Parameter
    range: tuple[float, float]
    rate: float
    dwell: tuple[float, float]
    pairs: int


def breakaway_table(runs: Iterable[Run]) -> pd.DataFrame:
    """Pairs of ramps, up and down at one posture after one rest, columns `COLUMNS`; torques in N·m (N).

    A ramp under which the joint did not move gives no pair.
    """
    rows = [row for run in runs for row in _pairs(run)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def breakaways(table: pd.DataFrame, units: dict[str, str], scales: dict[str, float] | None = None) -> dict[str, Breakaway]:
    """What holds each joint at rest.

    Parameters
    ----------
    table : DataFrame
        From `breakaway_table`.
    units : dict of str to str
        Unit of each joint's torque.
    scales : dict of str to float, optional
        What the drive's torque is divided by, joint by joint.

    Returns
    -------
    dict of str to Breakaway
        Of the joints with at least two pairs.
    """
    found = {}
    for name, rows in table.groupby("joint", sort=False):
        friction = rows["friction"].to_numpy(dtype=float) / (scales or {}).get(str(name), 1.0)
        if len(friction) < _LEAST:
            continue
        mean, error = float(friction.mean()), float(friction.std(ddof=1) / np.sqrt(len(friction)))
        half = float(stdtrit(len(friction) - 1, 0.975)) * error
        found[str(name)] = Breakaway(
            Parameter(mean, error, mean - half, mean + half, units[str(name)], verdict(mean, mean - half, mean + half)),
            (float(friction.min()), float(friction.max())), float(rows["rate"].mean()),
            (float(rows["dwell"].min()), float(rows["dwell"].max())), len(friction))
    return found


def _pairs(run: Run) -> Iterable[dict[str, object]]:
    """Ramps up and down of one joint in one posture, joint by joint."""
    if run.purpose != BREAKAWAY:
        return
    planned = {segment["id"]: segment for segment in run.record["plan"]["segments"] if segment.get("kind") == BREAKAWAY_RAMP}
    begun = {event["segment"]: event["row"] for event in run.events if event.get("event") == BREAKAWAY_RAMP}
    loose = {event["segment"]: event["row"] for event in run.events if event.get("event") == MOVED}
    steps = [_resolution(run.signals["q"][:, joint]) for joint in range(len(run.names))]
    ways: dict[tuple[str, int, float], dict[float, tuple[float, float, float]]] = {}
    for number, segment in planned.items():
        if number not in loose or loose[number] > len(run.t):
            continue
        joint, rows = run.names.index(segment["joint"]), slice(begun[number], loose[number])
        temperature = float(run.signals["temperature"][rows, joint].mean()) if "temperature" in run.signals else np.nan
        place = (segment["joint"], segment["posture"], segment["dwell"])
        both = ways.setdefault(place, {})
        both[float(np.sign(segment["rate"]))] = (_torque_at_onset(run, joint, rows, steps[joint]), float(run.t[rows.stop - 1]),
                                                 temperature)
        if len(both) == 2:
            (up, later, warm), (down, since, _) = both[1.0], both[-1.0]
            yield {"joint": segment["joint"], "posture": segment["posture"], "dwell": segment["dwell"],
                   "rate": abs(segment["rate"]), "up": up, "down": down, "friction": (up - down) / 2.0, "even": (up + down) / 2.0,
                   "t": (later + since) / 2.0, "temperature": warm, "run": run.label}


def _resolution(x: Array) -> float:
    """Way of which one can say that it was gone."""
    return _STARTED * max(encoder_step(x), position_noise(x, 0.0))


def _torque_at_onset(run: Run, joint: int, rows: slice, started: float) -> float:
    """Torque where the joint began to move: the line through the measured ramp up to there, at its end."""
    t, q, tau = run.t[rows], run.signals["q"][rows, joint], run.signals["tau"][rows, joint]
    rest = np.flatnonzero(np.abs(q - np.median(q[: max(1, len(q) // 4)])) <= started)
    last = int(rest[-1]) + 1 if len(rest) else len(q)
    if last < 3:
        return float(tau[:last].mean())
    since = t[:last] - t[last - 1]
    return float(np.polynomial.Polynomial.fit(since, tau[:last], 1)(0.0))
