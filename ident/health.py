"""Health of a log before fitting: what is wrong with it, which joint, when, and what follows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ident.errors import InputError
from ident.mechanism import Array
from ident.run import Run

GAP = 1.5               # periods from which a step of time is a gap
_SATURATED = 0.98       # fraction of the torque limit that counts as saturated
_SAME_RATE = 0.1        # by which velocity and the derivative of position may differ


@dataclass(frozen=True)
class Finding:
    """One finding; `joint` is None where it concerns the whole log."""

    joint: str | None
    kind: str
    text: str


def check_log(run: Run) -> tuple[Finding, ...]:
    """Findings about the samples of a run.

    Raises
    ------
    InputError
        If time decreases or a position or torque is not a number: names joint, row and time.
    """
    rate, gaps = check_time(run.t, str(run.path))
    for signal in ("q", "tau"):
        check_numbers(run.signals[signal], signal, run.names, run.t, str(run.path))
    findings = [Finding(None, "rate", f"{rate:.1f} Hz" + (f", {len(gaps)} gap(s), the longest "
                f"{float(np.diff(run.t)[gaps].max()):.3f} s at t = {run.t[gaps[0]]:.2f} s" if len(gaps) else ", no gaps"))]
    for joint, name in enumerate(run.names):
        if np.ptp(run.signals["q"][:, joint]) > 0.0 and np.ptp(run.signals["tau"][:, joint]) == 0.0:
            raise InputError(f"{run.path}: the torque of {name} never changes though it moves; its signal is dead or was "
                             "not recorded")
    if run.closed is None:
        findings.append(Finding(None, "torn", f"the recording was cut off after {len(run.t)} samples (no closing event); "
                                              "what was recorded is used"))
    elif run.closed.get("reason") not in ("done", None):
        findings.append(Finding(None, "ended", f"the run ended early: {run.closed['reason']}"))
    limits = np.array([run.arm.joint(name).torque or np.inf for name in run.names])
    saturated = (np.abs(run.signals["tau"]) > _SATURATED * limits).mean(axis=0)
    findings += [Finding(name, "saturation", f"torque of {name} is at its limit in {100 * share:.1f} % of the samples")
                 for name, share in zip(run.names, saturated, strict=True) if share > 0.001]
    return tuple(findings)


def check_velocity(q: Array, dq: Array, t: Array, names: tuple[str, ...], source: str) -> None:
    """Refuse velocities that are not the derivative of the positions: a unit or a sign is wrong.

    Parameters
    ----------
    q, dq : ndarray, shape (N, n)
        Positions and velocities; a velocity that was not recorded is nan.
    t : ndarray, shape (N,)
        Times [s].
    names : tuple of str
        Joint names.
    source : str
        What messages name.

    Raises
    ------
    InputError
        Names the joint and the factor between both.
    """
    for joint, name in enumerate(names):
        v = dq[:, joint]
        way = 0.5 * (v[1:] + v[:-1]) * np.diff(t)           # what the velocity says the joint went
        if not np.isfinite(way).all():
            continue
        steps = max(1, len(t) // 200)                       # over which noise of the position hardly counts
        said = np.add.reduceat(way, np.arange(0, len(way) - steps + 1, steps))[:-1]
        went = np.diff(q[::steps, joint])[: len(said)]
        if len(said) < 3 or not np.abs(went).max() > 0.0:
            continue
        factor = float(said @ went / (went @ went))
        alike = float(said @ went) ** 2 > 0.8 * float(said @ said) * float(went @ went)
        if alike and not abs(factor - 1.0) < _SAME_RATE:
            raise InputError(f"{source}: the velocity of {name} is {factor:.4g} times the derivative of its position; "
                             "check unit and sign of both")


def check_time(t: Array, source: str) -> tuple[float, np.ndarray]:
    """True rate [Hz], and the rows after which there is a gap.

    Raises
    ------
    InputError
        If time is not a number or does not increase.
    """
    steps = np.diff(t)
    if len(t) < 2 or not np.isfinite(t).all() or (steps <= 0.0).any():
        row = int(np.argmin(np.append(np.where(np.isfinite(steps), steps, -1.0) > 0.0, True)))
        raise InputError(f"{source}: time must increase from row to row; it does not after row {row} (t = {t[row]:.6g} s)"
                         if len(t) > 1 else f"{source}: fewer than two samples")
    period = float(np.median(steps))
    return 1.0 / period, np.flatnonzero(steps > GAP * period)


def check_numbers(values: Array, signal: str, names: tuple[str, ...], t: Array, source: str) -> None:
    """Refuse values that are not numbers."""
    bad = ~np.isfinite(values)
    if bad.any():
        row, joint = np.argwhere(bad)[0]
        raise InputError(f"{source}: {signal} of {names[joint]} is not a number in row {row} (t = {t[row]:.3f} s) "
                         f"(of {int(bad.sum())} such places)")


def drift(points: pd.DataFrame) -> dict[str, float]:
    """Change of friction from the first to the last reference round trip of each joint, as a fraction."""
    out = {}
    for joint, rows in points[points["reference"].astype(bool)].groupby("joint", sort=False):
        level = rows.groupby(["run", "segment"], sort=False)["odd"].mean()
        if len(level) >= 2:
            out[str(joint)] = float(level.iloc[-1] / level.iloc[0] - 1.0)
    return out
