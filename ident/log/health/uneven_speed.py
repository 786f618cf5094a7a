"""Checks for speeds that are not constant: stick-slip motions, and strokes with speed ripple."""

from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.gaps import recorded_whole
from stribeck.ident.log.run import Run
from stribeck.ident.log.speed_ripple import resolved, speed_windows, uneven
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, motions

# stick-slip: the speed falls below the first part of its mean, then rises above the second,
_DROP, _AGAIN = 0.1, 0.5
# this many times in a planned stroke, or in a motion with possible commanded pauses,
_RESTS = (2, 3)
_BETWEEN = 2.0  # s; largest time between two rests


def uneven_speeds(
    run: Run, joint: int, step: float, strokes: list[Stroke], unit: str
) -> list[Finding]:
    """Findings about stick-slip motions of one joint, and strokes whose speed was not constant."""
    x, name = run.signals["q"][:, joint], run.names[joint]
    fine = resolved(x)
    ways = list(motions(x, run.segment, max(20.0 * step, float(np.ptp(x)) / 400.0)))
    planned = {
        segment["id"]: segment["speed"]
        for segment in (run.record.get("plan") or {}).get("segments", ())
        if segment.get("joint") == name and segment.get("speed")
    }
    slipped = []
    for rows, mean, rests in _stick_slip(run.t, x, ways, fine):
        speed = planned.get(int(run.segment[rows.start]))
        # commanded pauses
        told = speed is None and any(
            rows.start <= stroke.rows.start < rows.stop for stroke in strokes
        )
        if not told and rests >= _RESTS[speed is None] and _alone(run, joint, rows):
            slipped.append((rows, speed or mean))
    findings = []
    if slipped:
        fastest, at = max(speed for _, speed in slipped), float(run.t[slipped[0][0].start])
        findings.append(
            Finding(
                name,
                "stick-slip",
                f"{name} stopped and moved again in {len(slipped)} motion(s), at up to "
                f"{fastest:.2g} {unit}, first at t = {at:.2f} s: friction of {name} up to "
                f"{fastest:.2g} "
                f"{unit} is not sliding friction. Use higher speeds or a stiffer velocity loop",
                at,
            )
        )
    judged = [*(stroke.rows for stroke in strokes), *_unsteady(run, joint, ways, strokes)]
    judged = [
        rows for rows in judged if not any(way.start <= rows.start < way.stop for way, _ in slipped)
    ]
    rippled = uneven(run.t, x, judged, fine)
    if rippled:
        speeds = [speed for _, speed, _ in rippled]
        rows, speed, worst = max(rippled, key=lambda case: case[2])
        at = float(run.t[rows.start])
        findings.append(
            Finding(
                name,
                "speed not constant",
                f"speed of {name} was not constant in {len(rippled)} stroke(s) at "
                f"{min(speeds):.2g} to {max(speeds):.2g} {unit}: ripple up to {100 * worst:.0f} % "
                f"rms, at {speed:.2g} {unit} and t = {at:.2f} s. Friction of these strokes is a "
                "mean over a range of speeds and includes inertia. Use longer strokes, other "
                "speeds or a stiffer velocity loop",
                at,
            )
        )
    return findings


def _stick_slip(
    t: Array, x: Array, ways: Sequence[slice], fine: float
) -> list[tuple[slice, float, int]]:
    """Rows, mean speed and number of rests of motions that repeatedly come to rest and continue."""
    if not ways:
        return []
    speed, owner, _ = speed_windows(t, x, ways, fine)
    ends = np.array([(rows.start, rows.stop - 1) for rows in ways]).T
    mean = np.abs(np.diff(x[ends], axis=0) / np.diff(t[ends], axis=0))[0]
    low = speed < _DROP * mean[owner]
    drops = np.bincount(
        owner[1:][low[1:] & ~low[:-1] & (owner[1:] == owner[:-1])], minlength=len(ways)
    )
    found = []
    for k in np.flatnonzero(drops >= _RESTS[0]).tolist():
        rows, mine = ways[k], speed[owner == k]
        period = (t[rows.stop - 1] - t[rows.start]) / len(mine)
        state = np.where(mine < _DROP * mean[k], -1, np.where(mine > _AGAIN * mean[k], 1, 0))
        known = np.flatnonzero(state)
        # windows in which the joint comes to rest after a motion
        turned = known[1:][np.diff(state[known]) < 0]
        # the last rest is the end of the motion
        rests = turned[:-1] if state[known[-1]] < 0 else turned
        if len(rests) >= _RESTS[0] and np.median(np.diff(rests)) * period < _BETWEEN:
            found.append((rows, float(mean[k]), len(rests)))
    return found


def _unsteady(
    run: Run, joint: int, ways: Sequence[slice], strokes: Sequence[Stroke]
) -> list[slice]:
    """Middle halves of planned strokes without a part at constant speed."""
    steady = {stroke.segment for stroke in strokes}
    planned = {
        segment["id"]
        for segment in (run.record.get("plan") or {}).get("segments", ())
        if segment.get("joint") == run.names[joint]
    } - steady
    ways = [rows for rows in ways if run.segment[rows.start] in planned]
    if not ways:
        return []
    whole = recorded_whole(run.t, np.array([(rows.start, rows.stop - 1) for rows in ways]))
    quarter = [
        (rows, (rows.stop - rows.start) // 4)
        for rows, complete in zip(ways, whole, strict=True)
        if complete
    ]
    return [slice(rows.start + skip, rows.stop - skip) for rows, skip in quarter]


def _alone(run: Run, joint: int, rows: slice) -> bool:
    """Whether the other joints rest."""
    others = np.delete(
        run.signals["q"][rows][:: max(1, (rows.stop - rows.start) // 50)], joint, axis=1
    )
    return others.size == 0 or float(np.ptp(others, axis=0).max()) <= REST_TOLERANCE
