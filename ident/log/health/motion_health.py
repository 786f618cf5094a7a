"""Health checks of the motion in a log: joints that did not move, stale
samples, strokes without a point.

All checks use the measured signals. The plan and the recorded command, if there are
any, give the wanted motion.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.command_lag import late_motions
from stribeck.ident.log.health.findings_by_run import of_all_parts
from stribeck.ident.log.health.gaps import recorded_whole
from stribeck.ident.log.health.late_torque import Starts, late_torques
from stribeck.ident.log.health.ringing import ringing
from stribeck.ident.log.health.uneven_speed import uneven_speeds
from stribeck.ident.log.parts import parts, parts_with_strokes
from stribeck.ident.log.reduction.round_trips import Reduction
from stribeck.ident.log.run import DONE, Run
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, encoder_step

OF_STROKES = ("left out", "speed not constant")  # kinds that only matter for round trips
STALE = 0.01  # a greater share of repeated samples in motion is reported,
STALE_ROWS = 10  # and also this many repeated samples in sequence
# a joint that covered a smaller part of its planned distance did not follow the plan
_STUCK = 0.5


def check_motion(run: Run, reduction: Reduction, prismatic: np.ndarray) -> tuple[Finding, ...]:
    """Findings about the motion of the joints, including strokes without a point.

    Parameters
    ----------
    run : Run
        Run with signals q and tau.
    reduction : Reduction
        Points and strokes of the run.
    prismatic : ndarray of bool, shape (n,)
        True for prismatic joints; decides the units.
    """
    found, starts = list[list[Finding]](), Starts(run)
    for part, own in parts_with_strokes(run, reduction.strokes):
        found.append(_of_part(part, own, prismatic))
        starts.add(part, own)
    return (
        *of_all_parts(found),
        *late_motions(run),
        *late_torques(run.period, starts),
        *_left_out(run, reduction.left_out),
    )


def _of_part(run: Run, strokes: Sequence[Stroke], prismatic: np.ndarray) -> list[Finding]:
    """Findings about the motion in a part of a run."""
    findings = _stood_still(run, prismatic)
    for joint in range(len(run.names)):
        step = encoder_step(run.signals["q"][:, joint])
        unit = "m/s" if prismatic[joint] else "rad/s"
        findings += _stale(run, joint, step)
        own = [stroke for stroke in strokes if stroke.joint == joint]
        findings += uneven_speeds(run, joint, step, own, unit) or ringing(run, joint, unit)
    return findings


def _stood_still(run: Run, prismatic: np.ndarray) -> list[Finding]:
    """Joints that did not follow the plan."""
    plan = run.record.get("plan") or {}
    segments = [segment for segment in plan.get("segments", ()) if "target" in segment]
    if "start" not in plan or not segments:
        return []
    edges = np.concatenate(([0], np.flatnonzero(np.diff(run.segment)) + 1, [run.rows]))
    rows = {int(run.segment[start]): (int(start), int(stop) - 1) for start, stop in pairwise(edges)}
    if run.closed is None or run.closed.get("reason") not in (DONE, None):
        # this segment was not finished when the run ended
        rows.pop(int(run.segment[-1]), None)
    way = np.diff(
        np.array([plan["start"], *(segment["target"] for segment in segments)], dtype=float), axis=0
    )
    whole = recorded_whole(run.t, np.array(list(rows.values()), dtype=int).reshape(-1, 2))
    rows = {
        number: ends
        for (number, ends), complete in zip(rows.items(), whole, strict=True)
        if complete
    }
    way = way[[segment["id"] in rows for segment in segments]]
    first, last = (
        np.array([rows[segment["id"]] for segment in segments if segment["id"] in rows], dtype=int)
        .reshape(-1, 2)
        .T
    )
    went = run.signals["q"][last] - run.signals["q"][first]
    stood = (np.abs(way) > 2.0 * REST_TOLERANCE) & (went * np.sign(way) < _STUCK * np.abs(way))
    findings = []
    for joint in np.flatnonzero(stood.any(axis=0)).tolist():
        k, name = int(np.argmax(stood[:, joint])), run.names[joint]
        at = float(run.t[first[k]])
        findings.append(
            Finding(
                name,
                "never moved",
                f"{name} did not follow its plan in {stood[:, joint].sum()} segment(s), first at t "
                f"= {at:.2f} s: it moved {abs(went[k, joint]):.2g} of {abs(way[k, joint]):.3g} "
                f"{'m' if prismatic[joint] else 'rad'}. Torque at rest is not friction and is not "
                "used. Check brake, torque limit and obstacles",
                at,
            )
        )
    return findings


def _stale(run: Run, joint: int, step: float) -> list[Finding]:
    """Samples that repeat position and torque while the joint moves: afterwards, the position
    jumps by the missed motion.
    """
    x, tau, name = run.signals["q"][:, joint], run.signals["tau"][:, joint], run.names[joint]
    repeats = np.flatnonzero((x[1:] == x[:-1]) & (tau[1:] == tau[:-1]))
    if len(repeats) == 0:
        return []
    cut = np.flatnonzero(np.diff(repeats) > 1) + 1
    # first row of the repeated value
    first = repeats[np.concatenate(([0], cut))]
    # last row of the repeated value
    last = repeats[np.concatenate((cut - 1, [len(repeats) - 1]))] + 1
    length = last - first
    after = np.minimum(last + 1, len(x) - 1)
    ahead = np.minimum(after + length + 1, len(x) - 1)
    jump = np.abs(x[after] - x[last])
    pace = np.abs(x[ahead] - x[after]) / np.maximum(ahead - after, 1)
    moved = (jump > 3.0 * step) & (jump > 0.5 * (length + 1) * pace)
    if not moved.any():
        return []
    blocks = np.abs(np.diff(x[::20])) > 0.0
    share = float(length[moved].sum()) / max(20.0 * float(blocks.sum()), float(length[moved].sum()))
    k = int(np.argmax(np.where(moved, length, 0)))
    if share < STALE and length[k] < STALE_ROWS:
        return []
    at, lasted = float(run.t[first[k]]), float(run.t[last[k]] - run.t[first[k]])
    return [
        Finding(
            name,
            "repeated samples",
            f"position and torque of {name} repeat in {100 * share:.1f} % of the samples in "
            f"motion, for up to {1e3 * lasted:.0f} ms at t = {at:.2f} s. These samples are old: "
            "there are fewer measurements than rows, and the delay varies. Log no faster than the "
            "drive reports",
            at,
        )
    ]


def _left_out(run: Run, entries: Sequence[tuple[str, int, str]]) -> list[Finding]:
    """One finding for each joint and reason."""
    begins, segments = _begins(run) if entries else {}, dict[tuple[str, str], list[int]]()
    for joint, segment, reason in entries:
        segments.setdefault((joint, reason), []).append(segment)
    findings = []
    for (joint, reason), numbers in segments.items():
        at = begins[numbers[0]] if len(begins) > 1 else None
        where = (
            ""
            if at is None
            else (
                "; segments "
                f"{', '.join(map(str, numbers[:6]))}{', ...' if len(numbers) > 6 else ''}"
                f"; the first at t = {at:.2f} s"
            )
        )
        findings.append(
            Finding(
                joint,
                "left out",
                f"{joint}: {len(numbers)} stroke(s) are excluded from the fit ({reason}{where})",
                at,
            )
        )
    return findings


def _begins(run: Run) -> dict[int, float]:
    """Time of the first sample of each segment [s]."""
    begins: dict[int, float] = {}
    for part in parts(run):
        rows = np.flatnonzero(np.diff(part.segment, prepend=part.segment[0] - 1))
        for segment, t in zip(part.segment[rows].tolist(), part.t[rows].tolist(), strict=True):
            begins.setdefault(segment, t)
    return begins
