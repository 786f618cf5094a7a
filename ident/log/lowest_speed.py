"""The lowest speed that each velocity loop holds, from a run in which joints went slower and slower."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.errors import InputError
from stribeck.ident.log.run import Run
from stribeck.ident.log.speed_ripple import resolved, uneven

_RAMPS = 8              # part of a segment that is left out at either end
_WENT = 0.5             # part of its way that a joint must go to count as moving


@dataclass(frozen=True)
class LowestSpeed:
    """What the search found of one joint.

    Attributes
    ----------
    held : float or None
        The lowest speed that was held, with all faster ones, in both directions; None if none was [rad/s or m/s].
    lost : float or None
        The highest speed that was not held; None if all were.
    """

    held: float | None
    lost: float | None


def lowest_speeds(run: Run) -> dict[str, LowestSpeed]:
    """The lowest speed that each moved joint holds, by the ripple of its speed (`motion_health`), joint by joint.

    Parameters
    ----------
    run : Run
        With a plan of strokes or sweeps at several speeds.

    Raises
    ------
    InputError
        If the run has no such plan.
    """
    plan = run.record.get("plan") or {}
    legs = [(segment, np.array(start), np.array(segment["target"])) for segment, start in zip(
        plan.get("segments", ()), [plan.get("start"), *(segment["target"] for segment in plan.get("segments", ()))], strict=False)
        if segment.get("speed") and segment.get("kind") in ("stroke", "sweep")]
    if not legs:
        raise InputError(f"{run.path}: no strokes at planned speeds; record some (stribeck run ARM --experiment lowest-speed)")
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
    """Whether each joint kept its speed in a segment, shape (n,)."""
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
