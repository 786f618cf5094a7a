"""Health of the samples of a log: rate, lost replies, jitter, warming, torque at its limit; each finding says what follows."""

from typing import Any

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.torque_limit import at_stated_limit, at_unstated_limit
from stribeck.ident.log.run import DONE, REPLIES, Run
from stribeck.ident.log.signal_checks import GAP, JITTER, check_signals, check_time, dead_torques, unrecorded_torques

_JITTER_SHARE = 0.01    # share of uneven steps of time that is worth a word
_LOST = 0.001           # part of a joint's replies that may be missing without a word,
_LATE = 0.01            # and of the cycles that may begin late
_SLOW = 0.05            # by which the true rate may differ from what the driver said
WARMED = 15.0           # °C over a run from which friction is not that of one temperature


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
    longest = max(gaps, key=lambda row: run.t[row + 1] - run.t[row], default=0)
    findings = [Finding(None, "rate", f"{rate:.1f} Hz{'' if len(gaps) else ', no gaps'}")]
    if len(gaps):
        findings.append(Finding(None, "gaps", f"{len(gaps)} gap(s) between samples, the longest "
                                f"{run.t[longest + 1] - run.t[longest]:.3f} s at t = {run.t[longest]:.2f} s"))
    findings += [Finding(name, "dead torque", f"the torque of {name} was not recorded, and this run tells nothing of it"
                         if name in without else f"the torque of {name} never changes though it moves; its signal is dead or was "
                                                 "not recorded, and this run tells nothing of it") for name in dead_torques(run)]
    findings += [*_claimed(run, rate), *_jitter(run.t), *_bus(run), *_warming(run)]
    if run.closed is None:
        findings.append(Finding(None, "torn", f"the recording was cut off after {len(run.t)} samples (no closing event); "
                                              "what was recorded is used"))
    elif run.closed.get("reason") not in (DONE, None):
        findings.append(Finding(None, "ended", f"the run ended early: {run.closed['reason']}"))
    return (*findings, *at_stated_limit(run), *at_unstated_limit(run))


def _claimed(run: Run, rate: float) -> list[Finding]:
    """The rate that the driver promised against the one in the log; an imported log was promised none."""
    claimed = (run.record.get("driver") or {}).get("rate")
    if not claimed or run.record.get("plan") is None or abs(rate / claimed - 1.0) < _SLOW:
        return []
    return [Finding(None, "true rate", f"the driver claims {claimed:.4g} Hz, the log runs at {rate:.4g} Hz; speeds rest on "
                    f"the log's times, but ramps were planned for {claimed:.4g} Hz. Correct the rate in the arm file")]


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
