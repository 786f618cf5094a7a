r"""Validation: the torque that a calibration predicts against the torque measured in a run that was not fitted.

.. math:: \hat\tau(t) = s\, \tau_\mathrm{rigid}(q, \dot q, \ddot q) + \tau_f(\dot q, L) + \tau_0, \quad
          \tau(t) \leftrightarrow \hat\tau(t - d)

with the scale s of the torque signal against gravity, its offset and its delay d where the calibration knows them. Measured
and predicted torque pass the same low-pass (`motion_points`), so that neither noise nor its filter is held against the law.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from stribeck.ident.arm.load_mechanism import load_mechanism, mechanism_of
from stribeck.ident.arrays import Array, group_index
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.fit.joint.general_motion import ONE_WAY
from stribeck.ident.fit.misfit import Misfit
from stribeck.ident.fit.noise import WHITE
from stribeck.ident.fit.residuals.lack_of_fit import judged, over_passes
from stribeck.ident.fit.residuals.white_residuals import Residuals
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import unrecorded_torques
from stribeck.ident.model.dynamics import same_dynamics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.frames import frame_html
from stribeck.ident.whole_files import file_sha256

_INERTIA_EXPLAINS = 0.5 # part of what is left, squared, from which it is said to follow the acceleration
TOLERANCE = 0.1         # error of the torque, as a part of friction, up to which a joint passes


@dataclass(frozen=True)
class JointValidation:
    """How well one joint's torque is predicted; all rms over the points [N·m or N].

    Attributes
    ----------
    error, without_friction : float
        Measured less predicted torque, and the same with friction left out of the prediction.
    friction, noise : float
        Predicted friction, and noise of the measured torque behind the filter.
    outside : float
        Share of the points at speeds that the calibration's data did not cover.
    inertia : float
        That whose torque the error looks like [kg·m² or kg]; 0 where it follows something else than the acceleration.
    passed : bool
        Whether the error, but for the noise, is within the tolerance.
    lack_of_fit : tuple of Misfit
        Variables over which the error runs, beyond a scale of friction and an offset, and somewhere by more than the tolerance.
    t, measured, predicted, rigid : ndarray, shape (N,)
        Time [s], torques, and the prediction without friction.
    """

    error: float
    without_friction: float
    friction: float
    noise: float
    outside: float
    inertia: float
    passed: bool
    t: Array
    measured: Array
    predicted: Array
    rigid: Array
    lack_of_fit: tuple[Misfit, ...] = ()


@dataclass(frozen=True)
class Validation:
    """A run against a calibration.

    Attributes
    ----------
    joints : dict of str to JointValidation
        Calibrated joints that were judged.
    left_out : dict of str to str
        Those that were not, and why.
    """

    joints: dict[str, JointValidation]
    left_out: dict[str, str]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each judged joint: RMS of error, friction and noise [N·m or N], and whether the joint passes."""
        keys = ("error", "without_friction", "friction", "noise", "outside", "passed")
        return pd.DataFrame([{"joint": name} | {key: getattr(joint, key) for key in keys} for name, joint in self.joints.items()],
                            columns=["joint", *keys])

    def __repr__(self) -> str:
        said = f"fails for {', '.join(self.failed)}" if self.failed else "passes"
        return f"<Validation of {len(self.joints)} joint{'s' * (len(self.joints) != 1)}: {said}>"

    def _repr_html_(self) -> str:
        return frame_html(repr(self).strip("<>"), self.to_dataframe())

    @property
    def failed(self) -> tuple[str, ...]:
        """Joints that do not pass."""
        return tuple(name for name, joint in self.joints.items() if not joint.passed)


def validate(run: Run, calibration: Calibration, tolerance: float = TOLERANCE) -> Validation:
    """Predict the torque of every calibrated joint that moves in a run.

    A joint passes if the rms of measured less predicted torque, without the noise, is at most `tolerance` of the rms of its
    friction.

    Parameters
    ----------
    run : Run
        Any motion, with signals q and tau.
    calibration : Calibration
        Fitted to other runs.
    tolerance : float
        Largest error as a part of friction.

    Raises
    ------
    InputError
        If the calibration was fitted to this very run, or is of an arm with other joints.
    FitError
        If no calibrated joint moves.
    """
    if run.sha256 in {entry.get("sha256") for entry in calibration.runs}:
        raise InputError(f"{run.path}: this calibration was fitted to this run; record another (stribeck run ARM --experiment "
                         "validation)")
    mechanism = _as_recorded(run, calibration)
    log, found, reasons = filtered([run], [mechanism]), {}, {}
    alone = calibration.motors.left_out_of(log)
    without = unrecorded_torques(run)
    for name, joint in calibration.joints.items():
        if name in without:
            reasons[name] = f"the torque of {name} was not recorded"
            continue
        try:
            motion = reduce_motion(log, name)
            found[name] = _judge(run, motion, motion.tau - reduce_motion(alone, name).tau, joint, tolerance,
                                 calibration.fit.get("motion") == "model")
        except FitError as error:
            reasons[name] = str(error)
    if not found:
        raise FitError(f"{run.path}: nothing to validate: {'; '.join(reasons.values())}")
    return Validation(found, reasons)


def _as_recorded(run: Run, calibration: Calibration) -> Mechanism:
    """The arm with what it carries and how it is mounted in this run; bearings, by which loads count, are the calibration's."""
    known = calibration.mechanism
    if known.names != run.names:
        raise InputError(f"{run.path} has joints {', '.join(run.names)}, the calibration of {calibration.arm} "
                         f"{', '.join(known.names)}")
    if file_sha256(run.arm.model) != calibration.model.sha256:
        here, there = (mechanism_of(path, path.stem, (3.0, 4.0, -9.0), stated=stated) for path, stated in (
            (run.arm.model, run.arm.stated_chain),
            (calibration.folder / Path(calibration.model.file).name, calibration.model.stated_chain)))
        if not same_dynamics(here, there):
            raise InputError(f"{run.path} was recorded with another model than that of the calibration of {calibration.arm}: its "
                             "links need other torques to move; validate with runs of the calibrated arm, or fit again where its "
                             "model was corrected")
    here = replace(load_mechanism(run.arm, tool=calibration.model.unknown_tool.tool), bearings=known.bearings)
    return calibration.with_inertia(here)


def _judge(run: Run, motion: Motion, of_motors: Array, joint: JointCalibration, tolerance: float,
           beside_model: bool) -> JointValidation:
    """`of_motors`: what motors take that move it and others; `beside_model`: whether inertia was fitted beside the model's."""
    load = joint.load_of(motion.loads.__getitem__)
    friction = joint.torque(motion.dq, load) + joint.directional_torque(motion.dq, load, motion.rigid) + of_motors
    scale, offset = _value(joint.gravity, "scale", 1.0), _value(joint.gravity, "offset", 0.0)
    beside = _value(joint.gravity, "inertia", 0.0) * motion.ddq if beside_model else 0.0
    rigid = scale * motion.rigid + offset + beside
    if joint.torque_scale is not None:
        friction, rigid = joint.torque_scale * friction, joint.torque_scale * (motion.rigid + offset)
    since = motion.t - _value(joint.gravity, "delay", 0.0)
    friction, rigid, measured = (motion.view(values) for values in (
        np.interp(since, motion.t, friction), np.interp(since, motion.t, rigid), motion.tau))
    low, high = joint.velocity_range
    speed = np.abs(motion.dq[motion.points])
    rest = measured - rigid - friction
    error, size, noise = _rms(rest), _rms(friction), _noise_behind_filter(run, motion)
    outside, inertia = float(np.mean((speed < low) | (speed > high))), _unstated_inertia(rest, motion.view(motion.ddq))
    return JointValidation(error, _rms(measured - rigid), size, noise, outside, inertia,
                           bool(error**2 - noise**2 <= (tolerance * size) ** 2), motion.t[motion.points], measured,
                           rigid + friction, rigid,
                           _lack_of_fit(motion, rest, friction, tolerance * size))


def _lack_of_fit(motion: Motion, rest: Array, friction: Array, allowed: float) -> tuple[Misfit, ...]:
    """Over what the error runs, where its mean about some value is more than allowed."""
    seen = motion.view(np.sign(motion.dq))
    direction, one_way = np.sign(seen), np.abs(seen) > ONE_WAY
    columns = np.column_stack((direction * friction, direction))
    rows = Residuals.of_least_squares(columns[one_way], (direction * rest)[one_way], WHITE,
                                      group_index(motion.between_reversals[motion.points][one_way]))
    speed, load = (motion.view(values)[one_way] for values in (np.abs(motion.dq), motion.loads["torque"]))
    found, _ = judged(over_passes(rows, speed, direction[one_way], load, motion.q[motion.points][one_way]))
    return tuple(one for one in found if abs(one.size) > allowed)


def _value(parameters: Mapping[str, Parameter], name: str, default: float) -> float:
    """A parameter's value where it is told well enough to be used."""
    found = parameters.get(name)
    return default if found is None or found.value is None or found.verdict == "unidentifiable" else found.value


def _noise_behind_filter(run: Run, motion: Motion) -> float:
    """Standard deviation that white noise of the measured torque has behind the filter."""
    tau = run.signals["tau"][:, run.names.index(motion.joint)]
    white = float(np.median(np.abs(np.diff(tau, 3)))) / 0.6745 / np.sqrt(20.0)       # motion leaves no third difference
    return white * float(np.sqrt(motion.seen.power(2).sum(axis=1).mean()))


def _unstated_inertia(rest: Array, ddq: Array) -> float:
    """Inertia whose torque makes up most of what is left, as that of rotors does which the arm file does not state."""
    found = float(ddq @ rest) / max(float(ddq @ ddq), 1e-300)
    return found if found > 0.0 and _rms(rest - found * ddq) ** 2 < (1.0 - _INERTIA_EXPLAINS) * _rms(rest) ** 2 else 0.0


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
