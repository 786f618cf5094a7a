"""What runs without contact show beside friction: noise of the signals, and torque that
neither model nor law explains.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.calibration.validation import as_recorded
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.external.external_torque import GAIN, ExternalTorque
from stribeck.ident.external.false_alarms import HOUR
from stribeck.ident.external.observed_arm import estimate_noise, refuse_unobservable
from stribeck.ident.external.recorded_motion import recorded_motions
from stribeck.ident.log.free_motion import FreeMotion, white_noise
from stribeck.ident.log.run import Run

_ROWS = 100_000  # rows of all runs that are used
_BINS, _FEWEST = 8, 200  # speeds of the table, and fewest samples of one


def with_free_motion(calibration: Calibration, runs: Sequence[Run]) -> Calibration:
    """Add to each joint what the observer shows in the fitted runs; arms that it
    refuses stay as they are.
    """
    try:
        refuse_unobservable(calibration.mechanism, calibration)
    except (InputError, ModelError):
        return calibration
    mechanisms = [as_recorded(run, calibration) for run in runs]
    period = float(np.median([run.period for run in runs]))
    seen: list[list[Array]] = []
    for run, mechanism in zip(runs, mechanisms, strict=True):
        observer = ExternalTorque.without_noise(mechanism, calibration, GAIN, period)
        for part in recorded_motions(run, calibration, _ROWS // len(runs)):
            found = observer.along(part.t, part.q, part.dq, part.tau, part.temperature)
            seen.append(
                [
                    found.resting,
                    np.abs(part.dq),
                    np.abs(found.torque) - found.threshold,
                    part.tau,
                    part.dq,
                ]
            )
    if not seen:
        return calibration
    resting, speed, excess, tau, dq = (np.concatenate(values) for values in zip(*seen, strict=True))
    joints, hours = dict(calibration.joints), len(tau) * period / HOUR
    columns = {name: mechanisms[0].names.index(name) for name in joints}
    rotors = (
        np.zeros((mechanisms[0].n,) * 2) if mechanisms[0].rotors is None else mechanisms[0].rotors
    )
    bare = {
        name: FreeMotion(
            period,
            white_noise(tau[:, j]),
            white_noise(dq[:, j]),
            tuple(rotors[j].tolist()),
            np.zeros((1, 2)),
        )
        for name, j in columns.items()
    }
    noise = estimate_noise(
        mechanisms[0],
        bare,
        ExternalTorque.without_noise(mechanisms[0], calibration, GAIN, period).bounds,
        np.full(mechanisms[0].n, GAIN),
    )
    for name, j in columns.items():
        slides = ~resting[:, j]
        usual = (
            noise[j].level(1.0 / hours, period) * noise[j].deviation
            if noise[j].deviation > 0.0
            else 0.0
        )
        table = _unexplained(joints[name], speed[slides, j], excess[slides, j] - usual)
        joints[name] = replace(joints[name], free_motion=replace(bare[name], unexplained=table))
    return replace(calibration, joints=joints)


def _unexplained(joint: JointCalibration, speed: Array, excess: Array) -> Array:
    """Return speeds and a bound of the unexplained torque near each of them, shape (m, 2): the
    greatest that was seen there.
    """
    low, high = joint.velocity_range
    edges = np.geomspace(low, max(high, 1.01 * low), _BINS + 1)
    where = np.clip(np.searchsorted(edges, speed, "right") - 1, 0, _BINS - 1)
    bins = np.full(_BINS + 2, np.nan)
    for k in range(_BINS):
        own = excess[where == k]
        if len(own) >= _FEWEST:
            bins[k + 1] = max(0.0, float(own.max()))
    known = np.flatnonzero(np.isfinite(bins))
    if not len(known):
        overall = float(excess.max()) if len(excess) else 0.0
        return np.column_stack((edges, np.full(_BINS + 1, max(0.0, overall))))
    bins = np.interp(np.arange(_BINS + 2), known, bins[known])
    return np.column_stack((edges, np.maximum(bins[1:], bins[:-1])))
