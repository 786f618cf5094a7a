"""Speeds that are not constant: motions that stop and go (stick-slip), strokes whose speed ripples."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.gaps import recorded_whole
from stribeck.ident.log.run import Run
from stribeck.ident.log.speed_ripple import resolved, speed_windows, uneven
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, motions

_DROP, _AGAIN = 0.1, 0.5    # stick-slip: below this part of the mean speed, then above that,
_RESTS = (2, 3)         # so many times in a planned stroke, or in a motion that may have been told to pause,
_BETWEEN = 2.0          # s; no further apart than this


def uneven_speeds(run: Run, joint: int, step: float, strokes: list[Stroke], unit: str) -> list[Finding]:
    """Motions of one joint in which it stopped and went, and strokes whose speed was not constant."""
    x, name = run.signals["q"][:, joint], run.names[joint]
    fine = resolved(x)
    ways = list(motions(x, run.segment, max(20.0 * step, float(np.ptp(x)) / 400.0)))
    planned = {segment["id"]: segment["speed"] for segment in (run.record.get("plan") or {}).get("segments", ())
               if segment.get("joint") == name and segment.get("speed")}
    slipped = []
    for rows, mean, rests in _stick_slip(run.t, x, ways, fine):
        speed = planned.get(int(run.segment[rows.start]))
        told = speed is None and any(rows.start <= stroke.rows.start < rows.stop for stroke in strokes)    # to pause on its way
        if not told and rests >= _RESTS[speed is None] and _alone(run, joint, rows):
            slipped.append((rows, speed or mean))
    findings = []
    if slipped:
        fastest, at = max(speed for _, speed in slipped), float(run.t[slipped[0][0].start])
        findings.append(Finding(name, "stick-slip", f"{name} stopped and went again in {len(slipped)} motion(s), at up to "
                                f"{fastest:.2g} {unit}, first at t = {at:.2f} s; so friction of {name} up to {fastest:.2g} "
                                f"{unit} is not sliding friction. Keep to higher speeds, or make the velocity loop stiffer", at))
    judged = [*(stroke.rows for stroke in strokes), *_unsteady(run, joint, ways, strokes)]
    judged = [rows for rows in judged if not any(way.start <= rows.start < way.stop for way, _ in slipped)]
    rippled = uneven(run.t, x, judged, fine)
    if rippled:
        speeds = [speed for _, speed, _ in rippled]
        rows, speed, worst = max(rippled, key=lambda case: case[2])
        at = float(run.t[rows.start])
        findings.append(Finding(name, "speed not constant", f"speed of {name} was not constant in {len(rippled)} stroke(s) at "
                                f"{min(speeds):.2g} to {max(speeds):.2g} {unit}: ripple up to {100 * worst:.0f} % rms, at "
                                f"{speed:.2g} and t = {at:.2f} s; friction there is a mean over a range of speeds, with "
                                "inertia in it. Longer strokes, other speeds or a stiffer velocity loop help", at))
    return findings


def _stick_slip(t: Array, x: Array, ways: Sequence[slice], fine: float) -> list[tuple[slice, float, int]]:
    """Motions that repeatedly come to rest and go on: rows, mean speed, and how often."""
    if not ways:
        return []
    speed, owner, _ = speed_windows(t, x, ways, fine)
    ends = np.array([(rows.start, rows.stop - 1) for rows in ways]).T
    mean = np.abs(np.diff(x[ends], axis=0) / np.diff(t[ends], axis=0))[0]
    low = speed < _DROP * mean[owner]
    drops = np.bincount(owner[1:][low[1:] & ~low[:-1] & (owner[1:] == owner[:-1])], minlength=len(ways))
    found = []
    for k in np.flatnonzero(drops >= _RESTS[0]).tolist():
        rows, mine = ways[k], speed[owner == k]
        period = (t[rows.stop - 1] - t[rows.start]) / len(mine)
        state = np.where(mine < _DROP * mean[k], -1, np.where(mine > _AGAIN * mean[k], 1, 0))
        known = np.flatnonzero(state)
        turned = known[1:][np.diff(state[known]) < 0]           # windows in which it came to rest after it had gone
        rests = turned[:-1] if state[known[-1]] < 0 else turned        # the last one is then the motion's end
        if len(rests) >= _RESTS[0] and np.median(np.diff(rests)) * period < _BETWEEN:
            found.append((rows, float(mean[k]), len(rests)))
    return found


def _unsteady(run: Run, joint: int, ways: Sequence[slice], strokes: Sequence[Stroke]) -> list[slice]:
    """Middle halves of planned strokes in which no stretch at constant speed was found."""
    steady = {stroke.segment for stroke in strokes}
    planned = {segment["id"] for segment in (run.record.get("plan") or {}).get("segments", ())
               if segment.get("joint") == run.names[joint]} - steady
    ways = [rows for rows in ways if run.segment[rows.start] in planned]
    if not ways:
        return []
    whole = recorded_whole(run.t, np.array([(rows.start, rows.stop - 1) for rows in ways]))
    quarter = [(rows, (rows.stop - rows.start) // 4) for rows, complete in zip(ways, whole, strict=True) if complete]
    return [slice(rows.start + skip, rows.stop - skip) for rows, skip in quarter]


def _alone(run: Run, joint: int, rows: slice) -> bool:
    """Whether the other joints hold."""
    others = np.delete(run.signals["q"][rows][:: max(1, (rows.stop - rows.start) // 50)], joint, axis=1)
    return others.size == 0 or float(np.ptp(others, axis=0).max()) <= REST_TOLERANCE
