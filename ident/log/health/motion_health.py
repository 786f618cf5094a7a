"""Health of the motion in a log: stale samples, joints that stood still, late answers, uneven speed, stick-slip.

Everything is judged by what was measured; the plan and the recorded command, where there are any, say what was wanted.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.late_torque import late_torques
from stribeck.ident.log.round_trips import Reduction
from stribeck.ident.log.run import DONE, Run, read_signal
from stribeck.ident.log.signal_checks import GAP
from stribeck.ident.log.speed_ripple import resolved, speed_windows, uneven
from stribeck.ident.log.strokes import REST_TOLERANCE, Stroke, encoder_step, motions

OF_STROKES = ("left out", "speed not constant")     # kinds that matter to round trips only
STALE = 0.01            # share of repeated samples in motion that is worth a word,
STALE_ROWS = 10         # or so many of them in a row
LATE = 0.02             # s; answers that late, or that much apart, are worth a word
_LATE_PERIODS = 5.0     # if they are so many periods too
_STUCK = 0.5            # a joint that went less than this part of its planned way did not move as told
_LOST = 0.1             # part of its time that may be missing in the log of a motion that is judged
_DROP, _AGAIN = 0.1, 0.5    # stick-slip: below this part of the mean speed, then above that,
_RESTS = (2, 3)         # so many times in a planned stroke, or in a motion that may have been told to pause,
_BETWEEN = 2.0          # s; no further apart than this
_COMMAND_ROWS = 30_000  # rows of the command that are read for the latency
_WIDEST = 25            # most rows on either side of a speed that tells a latency
_RAMPS = 4              # least ramps of a joint for a latency


def check_motion(run: Run, reduction: Reduction, prismatic: np.ndarray) -> tuple[Finding, ...]:
    """Findings about how the joints moved, with the strokes that give no point.

    Parameters
    ----------
    run : Run
        With signals q and tau.
    reduction : Reduction
        What became of it.
    prismatic : ndarray of bool, shape (n,)
        Which joints slide; decides the units.
    """
    findings = _stood_still(run, prismatic)
    for joint in range(len(run.names)):
        step = encoder_step(run.signals["q"][:, joint])
        findings += _stale(run, joint, step)
        findings += _speeds(run, joint, step, [stroke for stroke in reduction.strokes if stroke.joint == joint],
                            "m/s" if prismatic[joint] else "rad/s")
    return (*findings, *_late(run), *late_torques(run, reduction.strokes), *_left_out(run, reduction.left_out))


def _stood_still(run: Run, prismatic: np.ndarray) -> list[Finding]:
    """Joints that the plan moved and that did not follow."""
    plan = run.record.get("plan") or {}
    segments = [segment for segment in plan.get("segments", ()) if "target" in segment]
    if "start" not in plan or not segments:
        return []
    edges = np.concatenate(([0], np.flatnonzero(np.diff(run.segment)) + 1, [len(run.t)]))
    rows = {int(run.segment[start]): (int(start), int(stop) - 1) for start, stop in pairwise(edges)}
    if run.closed is None or run.closed.get("reason") not in (DONE, None):
        rows.pop(int(run.segment[-1]), None)                    # it was under way when the run ended
    way = np.diff(np.array([plan["start"], *(segment["target"] for segment in segments)], dtype=float), axis=0)
    whole = _complete(run.t, np.array(list(rows.values()), dtype=int).reshape(-1, 2))
    rows = {number: ends for (number, ends), complete in zip(rows.items(), whole, strict=True) if complete}
    way = way[[segment["id"] in rows for segment in segments]]
    first, last = np.array([rows[segment["id"]] for segment in segments if segment["id"] in rows], dtype=int).reshape(-1, 2).T
    went = run.signals["q"][last] - run.signals["q"][first]
    stood = (np.abs(way) > 2.0 * REST_TOLERANCE) & (went * np.sign(way) < _STUCK * np.abs(way))
    findings = []
    for joint in np.flatnonzero(stood.any(axis=0)).tolist():
        k, name = int(np.argmax(stood[:, joint])), run.names[joint]
        at = float(run.t[first[k]])
        findings.append(Finding(name, "never moved", f"{name} did not follow its plan in {stood[:, joint].sum()} segment(s), "
                                f"first at t = {at:.2f} s: it went {abs(went[k, joint]):.2g} of {abs(way[k, joint]):.3g} "
                                f"{'m' if prismatic[joint] else 'rad'}; torque at rest is not friction and is not used. Check "
                                "its brake and torque limit, and what is in its way", at))
    return findings


def _complete(t: Array, ends: np.ndarray) -> np.ndarray:
    """Whether the log has what happened between first and last rows, shape (S, 2), and just before and after them."""
    step = np.diff(t)
    gaps = np.concatenate(([0.0], np.cumsum(np.where(step > GAP * np.median(step), step, 0.0))))
    first, last = np.maximum(ends[:, 0] - 1, 0), np.minimum(ends[:, 1] + 1, len(t) - 1)
    return np.asarray(gaps[last] - gaps[first] <= _LOST * (t[last] - t[first]))


def _stale(run: Run, joint: int, step: float) -> list[Finding]:
    """Position and torque that both repeat while the joint goes on: the jump after them is that of the time they took."""
    x, tau, name = run.signals["q"][:, joint], run.signals["tau"][:, joint], run.names[joint]
    repeats = np.flatnonzero((x[1:] == x[:-1]) & (tau[1:] == tau[:-1]))
    if len(repeats) == 0:
        return []
    cut = np.flatnonzero(np.diff(repeats) > 1) + 1
    first = repeats[np.concatenate(([0], cut))]                             # the value that is repeated
    last = repeats[np.concatenate((cut - 1, [len(repeats) - 1]))] + 1       # its last repetition
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
    return [Finding(name, "repeated samples",
                    f"position and torque of {name} repeat themselves in {100 * share:.1f} % of the samples in motion, longest "
                    f"{1e3 * lasted:.0f} ms at t = {at:.2f} s; they are old there: a delay that varies, and fewer measurements "
                    "than rows. Log no faster than the drive reports", at)]


def _speeds(run: Run, joint: int, step: float, strokes: list[Stroke], unit: str) -> list[Finding]:
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
    whole = _complete(run.t, np.array([(rows.start, rows.stop - 1) for rows in ways]))
    quarter = [(rows, (rows.stop - rows.start) // 4) for rows, complete in zip(ways, whole, strict=True) if complete]
    return [slice(rows.start + skip, rows.stop - skip) for rows, skip in quarter]


def _alone(run: Run, joint: int, rows: slice) -> bool:
    """Whether the other joints hold."""
    others = np.delete(run.signals["q"][rows][:: max(1, (rows.stop - rows.start) // 50)], joint, axis=1)
    return others.size == 0 or float(np.ptp(others, axis=0).max()) <= REST_TOLERANCE


def _late(run: Run) -> list[Finding]:
    """Time from a commanded speed to the measured one, where it is long or varies."""
    command = read_signal(run, "dq_cmd", _COMMAND_ROWS)
    if command is None or len(command) < 3:
        return []
    t, period = run.t[: len(command)], float(np.median(np.diff(run.t[: len(command)])))
    findings = []
    for joint, name in enumerate(run.names):
        q = run.signals["q"][: len(command), joint]
        lags = _lags(t, command[:, joint], q, period)
        if len(lags) < _RAMPS or np.ptp(q) < 2.0 * REST_TOLERANCE:        # what holds a joint in place is no ramp
            continue
        low, middle, high = (float(value) for value in np.quantile(lags[:, 1], (0.1, 0.5, 0.9)))
        bound = max(LATE, _LATE_PERIODS * period)
        if abs(middle) > bound or high - low > bound:
            k = int(np.argmax(np.abs(lags[:, 1])))
            findings.append(Finding(name, "latency", f"{name} moves {1e3 * middle:.0f} ms after its command ({1e3 * low:.0f} to "
                                    f"{1e3 * high:.0f} ms, most at t = {lags[k, 0]:.2f} s); friction at constant speed is not "
                                    "touched, but the arm stops that much later, and compensation by this way comes too late",
                                    float(lags[k, 0])))
    return findings


def _lags(t: Array, command: Array, x: Array, period: float) -> Array:
    """Time [s] and lag [s] of the fast ramps of one joint, shape (M, 2): both speeds pass half of what was commanded."""
    top = float(np.nanmax(np.abs(command), initial=0.0))
    if not top > 0.0:
        return np.empty((0, 2))
    way, least = 6.0 * encoder_step(x), 0.1 * top * period
    if way > _WIDEST * least:
        return np.empty((0, 2))
    half = max(1, int(np.ceil(way / least)))            # rows on either side of a measured speed
    speed = np.zeros(len(x))
    if len(x) <= 2 * half:
        return np.empty((0, 2))
    speed[half:-half] = (x[2 * half:] - x[:-2 * half]) / (t[2 * half:] - t[:-2 * half])
    lags = []
    moving = np.concatenate(([False], np.abs(command) > 0.01 * top, [False]))
    for start, stop in zip(np.flatnonzero(moving[1:] & ~moving[:-1]), np.flatnonzero(moving[:-1] & ~moving[1:]), strict=True):
        peak = command[start:stop][np.argmax(np.abs(command[start:stop]))]
        if abs(peak) < 0.2 * top:
            continue
        reach = slice(max(0, start - 2 * half), min(len(x), stop + round(0.5 / period)))
        told, did = (_crossings(t[reach], signal[reach] / peak) for signal in (command, speed))
        if told is not None and did is not None:
            lags += [(told[k], did[k] - told[k]) for k in range(2)]
    return np.array(lags).reshape(-1, 2)


def _crossings(t: Array, part: Array) -> tuple[float, float] | None:
    """When a pulse first reaches a half, and when it last leaves it."""
    above = np.flatnonzero(part > 0.5)
    if len(above) == 0 or above[0] == 0 or above[-1] == len(part) - 1:
        return None
    (a, b), share = (above[0] - 1, above[-1]), []
    for k in (a, b):
        share.append(float(t[k] + (0.5 - part[k]) / (part[k + 1] - part[k]) * (t[k + 1] - t[k])))
    return share[0], share[1]


def _left_out(run: Run, entries: Sequence[tuple[str, int, str]]) -> list[Finding]:
    """One finding a joint and reason."""
    segments: dict[tuple[str, str], list[int]] = {}
    for joint, segment, reason in entries:
        segments.setdefault((joint, reason), []).append(segment)
    findings = []
    for (joint, reason), numbers in segments.items():
        at = float(run.t[np.argmax(run.segment == numbers[0])]) if np.ptp(run.segment) > 0 else None
        where = "" if at is None else (f"; segments {', '.join(map(str, numbers[:6]))}{', ...' if len(numbers) > 6 else ''}"
                                       f"; the first at t = {at:.2f} s")
        findings.append(Finding(joint, "left out", f"{joint}: {len(numbers)} stroke(s) left out ({reason}{where}); the fit knows "
                                "nothing of them", at))
    return findings
