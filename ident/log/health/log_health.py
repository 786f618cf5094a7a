"""Health of a log before fitting: what is wrong with it, which joint, when, and what follows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import DONE, REPLIES, Run
from stribeck.ident.log.signal_checks import GAP, JITTER, check_signals, check_time, dead_torques, unrecorded_torques

_JITTER_SHARE = 0.01    # and the share of such steps that is worth a word
_LOST = 0.001           # part of a joint's replies that may be missing without a word,
_LATE = 0.01            # and of the cycles that may begin late
_SLOW = 0.05            # by which the true rate may differ from what the driver said
WARMED = 15.0           # °C over a run from which friction is not that of one temperature
UNIT = 3.0              # factor between torque and the model's gravity beyond which the unit is in doubt
_EXPLAINED = 0.8        # part of the even torque's variance that gravity must explain for that
_SATURATED = 0.98       # fraction of the torque limit that counts as saturated
_SATURATED_SHARE = 0.001        # and the share of such samples that is worth a word
_PLATEAU = 10.0         # times as often as the next value below, and by how little above it, as a part of it: the greatest torque
_NEXT = 0.02            # of a joint in motion is a limit that nobody stated
_MISREAD = 0.02         # part of friction at the highest speeds that a moment's reading may be off by without a word
_FAST = 0.8             # part of the highest speed from which on speeds are that


def check_log(run: Run) -> tuple[Finding, ...]:
    """Findings about the samples of a run.

    Raises
    ------
    InputError
        If time decreases or a position or torque is not a finite number: names joint, row and time.
    """
    rate, gaps = check_time(run.t, str(run.path))
    check_signals(run)
    without = unrecorded_torques(run)
    findings = [Finding(None, "rate", f"{rate:.1f} Hz" + (f", {len(gaps)} gap(s), the longest "
                f"{float(np.diff(run.t)[gaps].max()):.3f} s at t = {run.t[gaps[0]]:.2f} s" if len(gaps) else ", no gaps"))]
    findings += [Finding(name, "dead torque", f"the torque of {name} was not recorded, and this run tells nothing of it"
                         if name in without else f"the torque of {name} never changes though it moves; its signal is dead or was "
                                                 "not recorded, and this run tells nothing of it") for name in dead_torques(run)]
    findings += [*_claimed(run, rate), *_jitter(run.t), *_bus(run), *_warming(run)]
    if run.closed is None:
        findings.append(Finding(None, "torn", f"the recording was cut off after {len(run.t)} samples (no closing event); "
                                              "what was recorded is used"))
    elif run.closed.get("reason") not in (DONE, None):
        findings.append(Finding(None, "ended", f"the run ended early: {run.closed['reason']}"))
    return (*findings, *_saturation(run), *_plateau(run))


def _claimed(run: Run, rate: float) -> list[Finding]:
    """The rate that the driver promised against the one in the log; an imported log was promised none."""
    claimed = (run.record.get("driver") or {}).get("rate")
    if not claimed or run.record.get("plan") is None or abs(rate / claimed - 1.0) < _SLOW:
        return []
    return [Finding(None, "true rate", f"the driver claims {claimed:.4g} Hz, the log runs at {rate:.4g} Hz; speeds rest on "
                    f"the log's times, but ramps were planned for {claimed:.4g} Hz. Correct the rate in the arm file")]


def _bus(run: Run) -> list[Finding]:
    """Replies that did not come in time, and what disturbed the bus: the arm goes on without a few of them."""
    told: dict[str, Any] = next((event for event in reversed(run.events) if event.get("event") == REPLIES), {})
    try:
        cycles, late, errors, corrupt = (max(0, int({"corrupt": 0, **told}[key]))          # older runs count no damaged replies
                                         for key in ("cycles", "late", "error_frames", "corrupt"))
        missed = [max(0, int(count)) for count in told["missed"]]
    except (KeyError, TypeError, ValueError, OverflowError):        # not on a bus, or a damaged line
        return []
    findings = [Finding(name, "bus", f"{count} of {cycles} replies of {name} came too late or not at all "
                        f"({100.0 * count / cycles:.2g} %); those samples repeat the last one. See to wiring, termination, bit "
                        "rate and what else is on the bus")
                for name, count in zip(run.names, missed, strict=False) if count > _LOST * cycles > 0.0]
    if late > _LATE * cycles > 0.0:
        findings.append(Finding(None, "bus", f"{late} of {cycles} cycles began more than a period late: this computer was busy; "
                                "close what else runs on it, or let it run in real time"))
    if corrupt > _LOST * cycles > 0.0:
        findings.append(Finding(None, "bus", f"{corrupt} damaged replies in {cycles} cycles; none of them was used. See to "
                                "wiring, and to what else is on the bus"))
    if errors:
        findings.append(Finding(None, "bus", f"{errors} error frame(s) on the bus: wiring, termination or bit rate are not "
                                "right, or a device was cut off"))
    return findings


def _jitter(t: Array) -> list[Finding]:
    """Steps of time that differ from their median, gaps aside."""
    steps = np.diff(t)
    period = float(np.median(steps))
    off = np.abs(steps / period - 1.0)
    off[steps > GAP * period] = 0.0
    share = float(np.mean(off > JITTER))
    if share < _JITTER_SHARE:
        return []
    worst, at = float(np.quantile(off, 0.99)), float(t[int(np.argmax(off))])
    return [Finding(None, "jitter", f"{100 * share:.0f} % of the steps of time differ by more than {100 * JITTER:.0f} % from "
                    f"{1e3 * period:.3g} ms (99th percentile {100 * worst:.0f} %, the most at t = {at:.2f} s); speeds rest on "
                    "these times, which must be when the drive measured, not when its reply came", at)]


def _saturation(run: Run) -> list[Finding]:
    """Joints whose torque stands at its limit."""
    limits, tau = np.array([run.arm.joint(name).torque or np.inf for name in run.names]), run.signals["tau"]
    findings = []
    for joint in np.flatnonzero(np.maximum(tau.max(axis=0), -tau.min(axis=0)) > _SATURATED * limits):
        at_limit = np.abs(tau[:, joint]) > _SATURATED * limits[joint]
        if (share := float(at_limit.mean())) > _SATURATED_SHARE:
            name, first = run.names[joint], float(run.t[int(np.argmax(at_limit))])
            findings.append(Finding(name, "saturation", f"torque of {name} is at its limit of {limits[joint]:.4g} in "
                                    f"{100 * share:.1f} % of the samples, first at t = {first:.2f} s; the drive could not hold "
                                    "its speed there, and a limit is no friction. Lower speed and acceleration, or choose a "
                                    "lighter posture", first))
    return findings


def _plateau(run: Run) -> list[Finding]:
    """Joints whose torque in motion stands at its greatest value: a limit below that of the arm file."""
    limits = np.array([run.arm.joint(name).torque or np.inf for name in run.names])
    findings = []
    for joint, name in enumerate(run.names):
        q, tau = run.signals["q"][:, joint], run.signals["tau"][:, joint]
        in_motion = np.append(q[1:] != q[:-1], False)
        for side, word, greatest in ((1.0, "above", np.max), (-1.0, "below", np.min)):
            top = side * float(greatest(tau, where=in_motion, initial=0.0))
            at_top = in_motion & (tau == side * top)
            if not 0.0 < top < _SATURATED * limits[joint] or at_top.mean() <= _SATURATED_SHARE:
                continue
            torque = np.where(in_motion, side * tau, 0.0)
            if not len(below := torque[torque < top]):
                continue
            following = float(below.max())
            if top - following < _NEXT * top and at_top.sum() > _PLATEAU * np.sum(below == following):
                first = float(run.t[int(np.argmax(at_top))])
                findings.append(Finding(name, "saturation", f"torque of {name} is never {word} {side * top:.4g} and stands there "
                                        f"in {100.0 * at_top.mean():.1f} % of the samples, first at t = {first:.2f} s: a limit "
                                        "of the drive or of the log, which is no friction. Raise it, or lower speed and "
                                        "acceleration", first))
    return findings


def _warming(run: Run) -> list[Finding]:
    """Joints whose temperature changed much over the run; a temperature that was not reported is no finding."""
    temperature = run.signals.get("temperature")
    if temperature is None:
        return []
    findings = []
    for joint, name in enumerate(run.names):
        seen = temperature[:, joint]
        low, high = float(np.fmin.reduce(seen)), float(np.fmax.reduce(seen))
        if high - low > WARMED:
            at = float(run.t[int(np.nanargmax(seen))])
            findings.append(Finding(name, "temperature", f"{name} was between {low:.0f} and {high:.0f} °C, warmest at t = "
                                    f"{at:.2f} s; its friction is a mean over them. Warm up and run again, or use it in that "
                                    "range only", at))
    return findings


def check_scale(points: pd.DataFrame) -> list[Finding]:
    """Torque of one joint over the model's gravity so far from 1 that its unit or direction must be wrong."""
    name, even = str(points["joint"].iloc[0]), points["even"].to_numpy(dtype=float)
    gravity = points["gravity"].to_numpy(dtype=float)
    even, gravity = even - even.mean(), gravity - gravity.mean()
    square = float(gravity @ gravity)
    if float(even @ gravity) ** 2 <= _EXPLAINED * square * float(even @ even):      # gravity is not what varies in the torque
        return []
    scale = float(even @ gravity) / square
    if scale < 0.0:
        return [Finding(name, "direction", f"torque of {name} is {scale:.2g} times the model's gravity: positions and torques "
                        "run against the model, so its loads are those of another posture. Check direction and zero_offset of "
                        f"joints.{name}, and the arm's gravity")]
    if 1.0 / UNIT < scale < UNIT:
        return []
    return [Finding(name, "torque unit", f"torque of {name} is {scale:.2g} times the model's gravity: is it in amperes, in per "
                    "cent, or at the motor's side of the gear, or is there a tool that the model lacks? In the first cases "
                    f"friction of {name} is wrong by the same factor. State torque constant and gear, or the tool")]


def check_reading(runs: Sequence[Run], points: pd.DataFrame) -> list[Finding]:
    """Torque of one joint that is read at one moment of each step of a ramp, by which viscous friction is off."""
    name = str(points["joint"].iloc[0])
    stated = [dict(zip(run.names, (run.record.get("driver") or {}).get("viscous_error") or (), strict=False)) for run in runs]
    error = max(errors.get(name, 0.0) for errors in stated)
    speed, odd = points["speed"].to_numpy(dtype=float), points["odd"].to_numpy(dtype=float)
    top = speed >= _FAST * speed.max()
    share = error * speed.max() / float(np.median(odd[top]))
    if not share > _MISREAD:
        return []
    return [Finding(name, "reading", f"torque of {name} is read at one moment of each position step, between which it falls: "
                    f"viscous friction may be off by {error:.2g} N·m·s/rad, friction at {speed.max():.2g} rad/s by "
                    f"{100.0 * share:.0f} %, which no interval holds. A higher driver.rate or a smaller kp makes it less")]


def opposing(points: pd.DataFrame) -> str:
    """That the torque of one joint opposes its motion, in most round trips; empty where it does not."""
    odd = points["odd"].to_numpy(dtype=float)
    return "" if np.median(odd) > 0.0 else (
        f"torque opposes motion in {np.mean(odd < 0.0):.0%} of the points; the sign of the torque signal is wrong (in an import, "
        "give it a negative factor, or set direction = -1 if the position is reversed too)")


def name_runs(runs: Sequence[Run], found: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Findings of several runs that say which run they are about; what is so in all of them is said once."""
    if len(runs) == 1:
        return list(found[0])
    everywhere = [finding for finding in found[0] if all(finding in own for own in found)]
    return [replace(finding, text=f"all {len(runs)} runs: {finding.text}") for finding in everywhere] + [
        replace(finding, text=f"{run.label}: {finding.text}") for run, own in zip(runs, found, strict=True)
        for finding in own if finding not in everywhere]


def drift(points: pd.DataFrame) -> dict[str, float]:
    """Change of friction from the first to the last reference round trip of a run, as a fraction; of each joint the greatest.

    Those of other runs may have other loads or speeds.
    """
    out: dict[str, float] = {}
    for (joint, _), rows in points[points["reference"].astype(bool)].groupby(["joint", "run"], sort=False):
        level = rows.groupby("segment", sort=False)["odd"].mean()
        change = float(level.iloc[-1] / level.iloc[0] - 1.0)
        if len(level) >= 2 and abs(change) >= abs(out.get(str(joint), 0.0)):
            out[str(joint)] = change
    return out
