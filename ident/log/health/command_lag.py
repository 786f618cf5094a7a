"""Latency between commanded and measured speed, if the latency is long or varies."""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run, read_signal
from stribeck.ident.log.strokes import REST_TOLERANCE, encoder_step

LATE = 0.02  # s; a larger latency, or a larger spread of latencies, is reported
_LATE_PERIODS = 5.0  # if it is also more than this many periods
_COMMAND_ROWS = 30_000  # rows of the command that are read
_WIDEST = 25  # largest number of rows to each side for the measured speed
_RAMPS = 4  # smallest number of ramps of a joint


def late_motions(run: Run) -> list[Finding]:
    """Findings about the latency between commanded and measured speed, if the
    latency is long or varies.
    """
    run = run.between(0, _COMMAND_ROWS)
    command = read_signal(run, "dq_cmd", _COMMAND_ROWS)
    if command is None or len(command) < 3:
        return []
    t, period = run.t[: len(command)], float(np.median(np.diff(run.t[: len(command)])))
    findings = []
    for joint, name in enumerate(run.names):
        q = run.signals["q"][: len(command), joint]
        lags = _lags(t, command[:, joint], q, period)
        # commands that only hold a position are not ramps
        if len(lags) < _RAMPS or np.ptp(q) < 2.0 * REST_TOLERANCE:
            continue
        low, middle, high = (float(value) for value in np.quantile(lags[:, 1], (0.1, 0.5, 0.9)))
        bound = max(LATE, _LATE_PERIODS * period)
        if abs(middle) > bound or high - low > bound:
            k = int(np.argmax(np.abs(lags[:, 1])))
            findings.append(
                Finding(
                    name,
                    "latency",
                    f"{name} moves {1e3 * middle:.0f} ms after its command ({1e3 * low:.0f} to "
                    f"{1e3 * high:.0f} ms, longest at t = {lags[k, 0]:.2f} s). Friction at "
                    "constant speed is not affected, but stops and friction compensation are "
                    "late. Use a faster bus or velocity loop",
                    float(lags[k, 0]),
                )
            )
    return findings


def _lags(t: Array, command: Array, x: Array, period: float) -> Array:
    """Time [s] and lag [s] of the fast ramps of one joint, shape (M, 2); the lag is between the
    passages of half of the peak.
    """
    top = float(np.nanmax(np.abs(command), initial=0.0))
    if not top > 0.0:
        return np.empty((0, 2))
    way, least = 6.0 * encoder_step(x), 0.1 * top * period
    if way > _WIDEST * least:
        return np.empty((0, 2))
    half = max(1, int(np.ceil(way / least)))  # rows to each side for the measured speed
    speed = np.zeros(len(x))
    if len(x) <= 2 * half:
        return np.empty((0, 2))
    speed[half:-half] = (x[2 * half :] - x[: -2 * half]) / (t[2 * half :] - t[: -2 * half])
    lags = []
    moving = np.concatenate(([False], np.abs(command) > 0.01 * top, [False]))
    for start, stop in zip(
        np.flatnonzero(moving[1:] & ~moving[:-1]),
        np.flatnonzero(moving[:-1] & ~moving[1:]),
        strict=True,
    ):
        peak = command[start:stop][np.argmax(np.abs(command[start:stop]))]
        if abs(peak) < 0.2 * top:
            continue
        reach = slice(max(0, start - 2 * half), min(len(x), stop + round(0.5 / period)))
        told, did = (_crossings(t[reach], signal[reach] / peak) for signal in (command, speed))
        if told is not None and did is not None:
            lags += [(told[k], did[k] - told[k]) for k in range(2)]
    return np.array(lags).reshape(-1, 2)


def _crossings(t: Array, part: Array) -> tuple[float, float] | None:
    """Times at which a pulse first rises above and last falls below one half;
    None if the pulse is cut off.
    """
    above = np.flatnonzero(part > 0.5)
    if len(above) == 0 or above[0] == 0 or above[-1] == len(part) - 1:
        return None
    (a, b), share = (above[0] - 1, above[-1]), []
    for k in (a, b):
        share.append(float(t[k] + (0.5 - part[k]) / (part[k + 1] - part[k]) * (t[k + 1] - t[k])))
    return share[0], share[1]
