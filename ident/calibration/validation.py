r"""Validation: predicted torque of a calibration against measured torque of
a run that was not fitted.

.. math:: \hat\tau(t) = s\, \tau_\mathrm{rigid}(q, \dot q, \ddot q) + \tau_f(\dot q, L) + \tau_0, \quad
          \tau(t) \leftrightarrow \hat\tau(t - d)

with the scale s of the torque signal against gravity, its offset and its delay d, if the
calibration states them. Measured and predicted torque pass the same low-pass filter
(`motion_points`), so neither noise nor the filter counts as an error of the law.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

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
from stribeck.ident.laws.parameter import known_value
from stribeck.ident.log.free_motion import white_noise
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import unrecorded_torques
from stribeck.ident.model.dynamics import same_dynamics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.frames import frame_html
from stribeck.ident.views.panels import shown_figure
from stribeck.ident.views.torques_over_time import draw_torques
from stribeck.ident.whole_files import file_sha256

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# least part of the squared error that must follow the acceleration for the
# error to count as inertia
_INERTIA_EXPLAINS = 0.5
# largest error of the torque, as a part of friction, with which a joint passes
TOLERANCE = 0.1


@dataclass(frozen=True)
class JointValidation:
    """Prediction error of one joint's torque; root mean squares over the points [N·m or N].

    Attributes
    ----------
    error, without_friction : float
        Measured minus predicted torque, and the same with a prediction without friction.
    friction, noise : float
        Predicted friction, and noise of the measured torque after the filter.
    outside : float
        Share of the points at speeds outside the calibrated range.
    inertia : float
        Inertia that would explain most of the error [kg·m² or kg]; 0 if the error does
        not follow the acceleration.
    passed : bool
        Whether the error without noise is within the tolerance.
    lack_of_fit : tuple of Misfit
        Variables with which the error varies, beyond a scale of friction and an offset, by more
        than the tolerance somewhere.
    t, measured, predicted, rigid : ndarray, shape (N,)
        Time [s], torques, and the prediction without friction.
    unit : str
        Unit of the torques: N·m, or N for a prismatic joint.
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
    unit: str = "N·m"


@dataclass(frozen=True)
class Validation:
    """Result of validating a calibration with a run.

    Attributes
    ----------
    joints : dict of str to JointValidation
        Calibrated joints that were judged.
    left_out : dict of str to str
        Calibrated joints that were not judged, and why.
    """

    joints: dict[str, JointValidation]
    left_out: dict[str, str]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each judged joint: RMS of error, friction and noise [N·m or N], and
        whether the joint passes.
        """
        keys = ("error", "without_friction", "friction", "noise", "outside", "passed")
        return pd.DataFrame(
            [
                {"joint": name} | {key: getattr(joint, key) for key in keys}
                for name, joint in self.joints.items()
            ],
            columns=["joint", *keys],
        )

    def plot(self) -> "dict[str, Axes]":
        """Draw measured and predicted torque [N·m or N] and the residual over time;
        returns the panel of each joint.
        """
        axes = shown_figure(tuple(self.joints))
        for name, ax in axes.items():
            joint = self.joints[name]
            draw_torques(
                ax,
                f"{name}: {'passes' if joint.passed else 'fails'}",
                joint.t,
                joint.measured,
                joint.predicted,
                joint.rigid,
            )
            ax.set(xlabel="time, s", ylabel=f"torque, {joint.unit}")
        next(iter(axes.values())).legend(frameon=False, fontsize=7)
        return axes

    def __repr__(self) -> str:
        said = f"fails for {', '.join(self.failed)}" if self.failed else "passes"
        worst = max(
            self.joints, key=lambda name: self.joints[name].error / self.joints[name].friction
        )
        part = self.joints[worst].error / self.joints[worst].friction
        return (
            f"<Validation of {len(self.joints)} joint{'s' * (len(self.joints) != 1)}: {said}; "
            f"largest error {100.0 * part:.2g} % of friction ({worst})>"
        )

    def _repr_html_(self) -> str:
        return frame_html(repr(self).strip("<>"), self.to_dataframe())

    @property
    def failed(self) -> tuple[str, ...]:
        """Joints that do not pass."""
        return tuple(name for name, joint in self.joints.items() if not joint.passed)


def validate(run: Run, calibration: Calibration, tolerance: float = TOLERANCE) -> Validation:
    """Predict the torque of every calibrated joint that moves in a run, and compare it
    with the measured torque.

    A joint passes if the RMS of measured minus predicted torque, without noise, is at most
    `tolerance` times the RMS of its friction.

    Parameters
    ----------
    run : Run
        Any motion, with signals q and tau.
    calibration : Calibration
        Fitted to other runs.
    tolerance : float
        Largest allowed error as a part of friction.

    Raises
    ------
    InputError
        If the calibration was fitted to this run, or the arm has other joints or another model.
    FitError
        If no calibrated joint moves.
    """
    refuse_fitted(run, calibration)
    mechanism = as_recorded(run, calibration)
    log, found, reasons = filtered([run], [mechanism], calibration.fit.get("bandwidth")), {}, {}
    alone = calibration.motors.left_out_of(log)
    without = unrecorded_torques(run)
    for name, joint in calibration.joints.items():
        if name in without:
            reasons[name] = f"the torque of {name} was not recorded"
            continue
        try:
            motion = reduce_motion(log, name)
            found[name] = _judge(
                run,
                motion,
                motion.tau - reduce_motion(alone, name).tau,
                joint,
                tolerance,
                inertia_beside_model(calibration, name),
            )
        except FitError as error:
            reasons[name] = str(error)
    if not found:
        raise FitError(f"{run.path}: no joint can be validated: {'; '.join(reasons.values())}")
    return Validation(found, reasons)


def refuse_fitted(run: Run, calibration: Calibration) -> None:
    """Refuse a run that the calibration was fitted to; a run without a digest, made in
    memory, cannot be recognised.
    """
    if run.sha256 and run.sha256 in {entry.get("sha256") for entry in calibration.runs}:
        raise InputError(
            f"{run.path}: this calibration was fitted to this run; record another run (stribeck "
            "run ARM --experiment validation)"
        )


def as_recorded(run: Run, calibration: Calibration) -> Mechanism:
    """Return the model of the arm with tool and mounting of this run, and with the
    bearings of the calibration.

    Raises
    ------
    InputError
        If the run is of another arm than the calibration.
    """
    known = calibration.mechanism
    if known.names != run.names:
        raise InputError(
            f"{run.path} has the joints {', '.join(run.names)}, but the calibration of "
            f"{calibration.arm} has "
            f"{', '.join(known.names)}; validate with a run of the calibrated arm"
        )
    if file_sha256(run.arm.model) != calibration.model.sha256:
        here, there = (
            mechanism_of(path, path.stem, (3.0, 4.0, -9.0), stated=stated)
            for path, stated in (
                (run.arm.model, run.arm.stated_chain),
                (
                    calibration.folder / Path(calibration.model.file).name,
                    calibration.model.stated_chain,
                ),
            )
        )
        if not same_dynamics(here, there):
            raise InputError(
                f"{run.path} was recorded with another model than the calibration of "
                f"{calibration.arm}: the two models need different torques for the same motion; "
                "validate with a run of the calibrated arm, or fit again if its model was "
                "corrected"
            )
    here = replace(
        load_mechanism(run.arm, tool=calibration.model.unknown_tool.tool), bearings=known.bearings
    )
    return calibration.with_inertia(here)


def inertia_beside_model(calibration: Calibration, name: str) -> float:
    """Return the inertia that was fitted in addition to the model's and the stated rotor's; 0 if
    there is none [kg·m² or kg].
    """
    return (
        known_value(calibration.joints[name].gravity, "inertia", 0.0)
        if calibration.fit.get("motion") == "model"
        else 0.0
    )


def _judge(
    run: Run,
    motion: Motion,
    of_motors: Array,
    joint: JointCalibration,
    tolerance: float,
    inertia_beside: float,
) -> JointValidation:
    """Judge one joint; `of_motors` is the friction of the shared motors that move it."""
    load = joint.load_of(motion.loads.__getitem__)
    friction = (
        joint.torque(motion.dq, load)
        + joint.directional_torque(motion.dq, load, motion.rigid)
        + of_motors
    )
    scale, offset = (
        known_value(joint.gravity, "scale", 1.0),
        known_value(joint.gravity, "offset", 0.0),
    )
    rigid = scale * motion.rigid + offset + inertia_beside * motion.ddq
    if joint.torque_scale is not None:
        friction, rigid = (
            joint.torque_scale * friction,
            joint.torque_scale * (motion.rigid + offset),
        )
    since = motion.t - known_value(joint.gravity, "delay", 0.0)
    friction, rigid, measured = (
        motion.view(values)
        for values in (
            np.interp(since, motion.t, friction),
            np.interp(since, motion.t, rigid),
            motion.tau,
        )
    )
    low, high = joint.velocity_range
    speed = np.abs(motion.dq[motion.points])
    rest = measured - rigid - friction
    error, size, noise = _rms(rest), _rms(friction), _noise_behind_filter(run, motion)
    outside, inertia = (
        float(np.mean((speed < low) | (speed > high))),
        _unstated_inertia(rest, motion.view(motion.ddq)),
    )
    return JointValidation(
        error,
        _rms(measured - rigid),
        size,
        noise,
        outside,
        inertia,
        bool(error**2 - noise**2 <= (tolerance * size) ** 2),
        motion.t[motion.points],
        measured,
        rigid + friction,
        rigid,
        _lack_of_fit(motion, rest, friction, tolerance * size),
        joint.parameters["coulomb"].unit,
    )


def _lack_of_fit(
    motion: Motion, rest: Array, friction: Array, allowed: float
) -> tuple[Misfit, ...]:
    """Return the variables with which the error varies, if its mean near some
    value is larger than allowed.
    """
    seen = motion.view(np.sign(motion.dq))
    direction, one_way = np.sign(seen), np.abs(seen) > ONE_WAY
    columns = np.column_stack((direction * friction, direction))
    rows = Residuals.of_least_squares(
        columns[one_way],
        (direction * rest)[one_way],
        WHITE,
        group_index(motion.between_reversals[motion.points][one_way]),
    )
    speed, load = (
        motion.view(values)[one_way] for values in (np.abs(motion.dq), motion.loads["torque"])
    )
    found, _ = judged(
        over_passes(rows, speed, direction[one_way], load, motion.q[motion.points][one_way])
    )
    return tuple(one for one in found if abs(one.size) > allowed)


def _noise_behind_filter(run: Run, motion: Motion) -> float:
    """Return the standard deviation of the torque's white noise after the filter."""
    white = white_noise(run.signals["tau"][:, run.names.index(motion.joint)])
    return white * float(np.sqrt(motion.seen.power(2).sum(axis=1).mean()))


def _unstated_inertia(rest: Array, ddq: Array) -> float:
    """Return the inertia whose torque explains most of the error, such as rotors that
    the arm file lacks; else 0.
    """
    found = float(ddq @ rest) / max(float(ddq @ ddq), 1e-300)
    return (
        found
        if found > 0.0
        and _rms(rest - found * ddq) ** 2 < (1.0 - _INERTIA_EXPLAINS) * _rms(rest) ** 2
        else 0.0
    )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
