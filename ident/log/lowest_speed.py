"""Lowest speed that each velocity loop holds, from a run with slower and slower strokes."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.errors import InputError
from stribeck.ident.log.run import Run
from stribeck.ident.log.speed_ripple import resolved, uneven

_RAMPS = 8  # one eighth of a segment is left out at each end
_WENT = 0.5  # smallest part of its planned distance for a moving joint


@dataclass(frozen=True)
class LowestSpeed:
    """Result of the search for one joint.

    Attributes
    ----------
    held : float or None
        Lowest speed for which this and all faster speeds were held in both directions; None if
        there is none [rad/s or m/s].
    lost : float or None
        Highest speed that was not held; None if all speeds were held [rad/s or m/s].
    """

    held: float | None
    lost: float | None


def lowest_speeds(run: Run) -> dict[str, LowestSpeed]:
    """Return the lowest held speed of each moved joint, judged by the ripple of its speed.

    Parameters
    ----------
    run : Run
        Run with a plan of strokes or sweeps at several speeds.

    Raises
    ------
    InputError
        If the run has no strokes with planned speeds.
    """
    plan = run.record.get("plan") or {}
    legs = [
        (segment, np.array(start), np.array(segment["target"]))
        for segment, start in zip(
            plan.get("segments", ()),
            [plan.get("start"), *(segment["target"] for segment in plan.get("segments", ()))],
            strict=False,
        )
        if segment.get("speed") and segment.get("kind") in ("stroke", "sweep")
    ]
    if not legs:
        raise InputError(
            f"{run.path}: the run has no strokes with planned speeds; record one with stribeck run "
            "ARM --experiment lowest-speed"
        )
    speed, lost = (np.zeros((len(legs), len(run.names))) for _ in range(2))
    for k, (segment, start, target) in enumerate(legs):
        way = np.abs(target - start)
        speed[k] = segment["speed"] * way / way[run.names.index(segment["joint"])]
        lost[k] = ~_held(run, segment["id"], target - start)
    found = {}
    for joint, name in enumerate(run.names):
        moved = speed[:, joint] > 0.0
        if moved.any():
            slips = speed[moved & (lost[:, joint] > 0.0), joint]
            highest = float(slips.max()) if len(slips) else None
            keeps = speed[moved & (speed[:, joint] > 1.01 * (highest or 0.0)), joint]
            found[name] = LowestSpeed(float(keeps.min()) if len(keeps) else None, highest)
    return found


def _held(run: Run, segment: int, way: np.ndarray) -> np.ndarray:
    """Whether each joint held its speed in a segment, shape (n,)."""
    rows = np.flatnonzero(run.segment == segment)
    skip = len(rows) // _RAMPS
    held = np.zeros(len(way), dtype=bool)
    if len(rows) <= 2 * skip + 2:
        return held
    middle = slice(int(rows[skip]), int(rows[-1 - skip]))
    for joint in np.flatnonzero(np.abs(way) > 0.0):
        x = run.signals["q"][:, joint]
        went = (x[rows[-1]] - x[rows[0]]) * np.sign(way[joint])
        held[joint] = went > _WENT * abs(way[joint]) and not uneven(run.t, x, [middle], resolved(x))
    return held
