"""Health checks of the samples of a log: rate, lost replies, jitter, temperature
change, saturated torque.
"""

from typing import Any

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.findings_by_run import of_all_parts
from stribeck.ident.log.health.torque_limit import at_stated_limit, at_unstated_limit
from stribeck.ident.log.parts import parts
from stribeck.ident.log.run import DONE, REPLIES, Run
from stribeck.ident.log.signal_checks import (
    GAP,
    JITTER,
    check_signals,
    check_time,
    dead_torques,
    unrecorded_torques,
)

_JITTER_SHARE = 0.01  # share of uneven time steps that is reported
_LOST = 0.001  # part of a joint's replies that may be missing without a finding,
_LATE = 0.01  # part of the cycles that may begin late without a finding
_SLOW = 0.05  # part by which the true rate may differ from the rate of the driver
WARMED = 15.0  # °C; a larger change in a run is reported


def check_log(run: Run) -> tuple[Finding, ...]:
    """Findings about the samples of a run.

    Raises
    ------
    InputError
        If time does not increase, or a position or torque is not a finite number;
        names joint, row and time.
    """
    without, dead = unrecorded_torques(run), dead_torques(run)
    rates, gaps, longest, last = list[float](), 0, (0.0, 0.0), np.empty(0)
    about_parts: list[list[Finding]] = []
    for part in parts(run):
        t = np.append(last, part.t)
        rate, before = check_time(t, str(run.path), first=part.first - len(last))
        rates, gaps, last = [*rates, rate], gaps + len(before), part.t[-1:]
        longest = max(
            [longest, *zip((t[before + 1] - t[before]).tolist(), t[before].tolist(), strict=True)]
        )
        check_signals(part, without)
        about_parts.append([*_jitter(part.t), *at_stated_limit(part), *at_unstated_limit(part)])
    rate = float(np.median(rates))
    findings = [Finding(None, "rate", f"{rate:.1f} Hz{'' if gaps else ', no gaps'}")]
    if gaps:
        findings.append(
            Finding(
                None,
                "gaps",
                f"{gaps} gap(s) between samples, the longest {longest[0]:.3f} s at t = "
                f"{longest[1]:.2f} s",
            )
        )
    findings += [
        Finding(
            name,
            "dead torque",
            f"the torque of {name} was not recorded; this run has no information about {name}"
            if name in without
            else f"the torque of {name} is constant although the joint moves: it is dead or was "
            f"not recorded; this run has no information about {name}",
        )
        for name in dead
    ]
    findings += [*_claimed(run, rate), *of_all_parts(about_parts), *_bus(run), *_warming(run)]
    if run.closed is None:
        findings.append(
            Finding(
                None,
                "torn",
                f"the recording was cut off after {run.rows} samples (no closing event); "
                "the recorded samples are used",
            )
        )
    elif run.closed.get("reason") not in (DONE, None):
        findings.append(Finding(None, "ended", f"the run ended early: {run.closed['reason']}"))
    return tuple(findings)


def _claimed(run: Run, rate: float) -> list[Finding]:
    """Compare the rate of the log with the rate that the driver claims; imported
    logs have no claimed rate.
    """
    claimed = (run.record.get("driver") or {}).get("rate")
    if not claimed or run.record.get("plan") is None or abs(rate / claimed - 1.0) < _SLOW:
        return []
    return [
        Finding(
            None,
            "true rate",
            f"the driver claims {claimed:.4g} Hz, but the log has {rate:.4g} Hz. Speeds are "
            f"computed from the log's times, but ramps were planned for {claimed:.4g} Hz. Correct "
            "driver.rate in the arm file",
        )
    ]


def _jitter(t: Array) -> list[Finding]:
    """Time steps that differ from their median, without gaps."""
    steps = np.diff(t)
    period = float(np.median(steps))
    off = np.abs(steps / period - 1.0)
    off[steps > GAP * period] = 0.0
    share = float(np.mean(off > JITTER))
    if share < _JITTER_SHARE:
        return []
    worst, at = float(np.quantile(off, 0.99)), float(t[int(np.argmax(off))])
    return [
        Finding(
            None,
            "jitter",
            f"{100 * share:.0f} % of the time steps differ by more than {100 * JITTER:.0f} % from "
            f"{1e3 * period:.3g} ms (99th percentile {100 * worst:.0f} %, largest at t = {at:.2f} "
            "s). Speeds are computed from these times: log the time at which the drive measured, "
            "not the time of its reply",
            at,
        )
    ]


def _bus(run: Run) -> list[Finding]:
    """Missing, late and damaged replies on a bus, late cycles and error frames; an
    arm tolerates a few of them.
    """
    told: dict[str, Any] = next(
        (event for event in reversed(run.events) if event.get("event") == REPLIES), {}
    )
    try:
        # older runs lack this count
        cycles, late, errors, corrupt = (
            max(0, int({"corrupt": 0, **told}[key]))
            for key in ("cycles", "late", "error_frames", "corrupt")
        )
        missed = [max(0, int(count)) for count in told["missed"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        # not on a bus, or a damaged line
        return []
    findings = [
        Finding(
            name,
            "bus",
            f"{count} of {cycles} replies of {name} were late or missing "
            f"({100.0 * count / cycles:.2g} %); these samples repeat the previous sample. Check "
            "wiring, termination, bit rate and other devices on the bus",
        )
        for name, count in zip(run.names, missed, strict=False)
        if count > _LOST * cycles > 0.0
    ]
    if late > _LATE * cycles > 0.0:
        findings.append(
            Finding(
                None,
                "bus",
                f"{late} of {cycles} cycles began more than a period late, because the computer "
                "was busy. Close other programs, or use a real-time kernel",
            )
        )
    if corrupt > _LOST * cycles > 0.0:
        findings.append(
            Finding(
                None,
                "bus",
                f"{corrupt} damaged replies in {cycles} cycles; they were not used. Check wiring "
                "and other devices on the bus",
            )
        )
    if errors:
        findings.append(
            Finding(
                None,
                "bus",
                f"{errors} error frame(s) on the bus: wiring, termination or bit rate are wrong, "
                "or a device was disconnected",
            )
        )
    return findings


def _warming(run: Run) -> list[Finding]:
    """Joints whose temperature changed by more than `WARMED` in the run; missing
    temperatures are not reported.
    """
    if "temperature" not in run.signals:
        return []
    findings = []
    for joint, (name, low, high) in enumerate(
        zip(run.names, *run.range_of("temperature"), strict=True)
    ):
        if high - low > WARMED:
            at = next(
                float(part.t[rows[0]])
                for part in parts(run)
                if len(rows := np.flatnonzero(part.signals["temperature"][:, joint] == high))
            )
            findings.append(
                Finding(
                    name,
                    "temperature",
                    f"{name} was between {low:.0f} and {high:.0f} °C, warmest at t = {at:.2f} s. "
                    "Friction is a mean over this range: warm up and run again, or use the result "
                    "in this range only",
                    at,
                )
            )
    return findings
