r"""Momentum observer: external torque of every joint from motor torques, sample by
sample or along a motion.

.. math:: r = K \left(p - p_0 - \int (\tau - \tau_f + C^T \dot q - g + r)\, dt\right), \qquad \dot r = K (\tau_\mathrm{ext} - r)

Between samples, the integral is that of the trapezoid of its terms, and the filter of first order
is exact: :math:`r_k = a r_{k-1} + (1 - a) x_k` with :math:`a = e^{-K h}` and the mean external
torque :math:`x_k` of the step, so that no gain and no step makes it unstable. The torque that free
motion needs is delayed as much as the torque signal. Loads, on which friction depends, take the
acceleration from the velocities behind the same filter.

A bound of what friction may differ from its prediction passes the same filter. As the filter's
weights are positive, the error of r stays below the filtered bound, whatever friction does within
its bound; the noise of the signals comes on top, at the level that it crosses as often as false
alarms are allowed.

References
----------
De Luca and Mattone, IEEE ICRA (2005) 999; Haddadin, De Luca and Albu-Schäffer, IEEE
Trans. Robot. 33 (2017) 1292.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import inertia_beside_model
from stribeck.ident.errors import InputError
from stribeck.ident.external.first_order_filter import increments, lagged, means
from stribeck.ident.external.joint_bound import JointBound
from stribeck.ident.external.observed_arm import (
    free_motion_of,
    noise_margin,
    refuse_unobservable,
    usual_delay,
    with_rotors,
)
from stribeck.ident.external.sliding_state import SlidingState
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.momentum import momentum
from stribeck.ident.temperature.joint_temperature import each_temperature

GAIN = 25.0  # 1/s
FALSE_ALARMS = 0.1  # per hour and joint
_ROUNDING = 1e-9  # s


@dataclass(frozen=True)
class External:
    """External torque at one sample (n,), or along a motion (N, n); nan for
    joints that are not calibrated.

    Attributes
    ----------
    torque : ndarray
        External torque, in the torque basis of the calibration [N·m or N].
    threshold : ndarray
        Magnitude beyond which noise and friction do not explain the torque [N·m or N].
    resting : ndarray of bool
        Whether the joint rests, reverses or has just begun to move: friction then has any value up
        to its static level, and pushes below the threshold are undetectable.
    """

    torque: Array
    threshold: Array
    resting: np.ndarray

    @property
    def detected(self) -> np.ndarray:
        """Whether the external torque exceeds the threshold."""
        return np.asarray(np.abs(self.torque) > self.threshold)


class _Terms(NamedTuple):
    """Terms of the equation of motion at samples.

    Attributes
    ----------
    values : ndarray, shape (7, N, n)
        Momentum, its rate without joint torques, friction, bounds of the error of friction while
        the joint slides and at rest, measured torque, velocity.
    slides : ndarray of bool, shape (N, n)
        Whether each joint slides.
    """

    values: Array
    slides: NDArray[np.bool_]

    def followed_by(self, more: "_Terms") -> "_Terms":
        """Return these samples and those after them."""
        return _Terms(
            np.concatenate((self.values, more.values), axis=1),
            np.concatenate((self.slides, more.slides)),
        )

    def at(self, rows: slice) -> "_Terms":
        """Return some samples."""
        return _Terms(self.values[:, rows], self.slides[rows])


class _Carried(NamedTuple):
    """What the next block of samples needs of the samples before it."""

    time: Array  # of the last m samples, since the motion began [s]
    impulse: Array  # integral of the torque that free motion needs, (m, n)
    width: Array  # integral of the bound, (m, n)
    terms: _Terms  # of the last sample, N = 1
    torque: Array  # states of the filters, (n,)
    bound: Array
    ddq: Array


class ExternalTorque:
    """Momentum observer with the friction of a calibration, and with thresholds
    from its band and its noise.

    Closed chains, elastic joints and motors that move several joints are refused by name. Joints
    that are not calibrated have nan. The memory of friction is not followed: a joint counts as
    resting until it has moved by the distance of its memory.

    Parameters
    ----------
    mechanism : Mechanism
        Model of the arm: ``calibration.mechanism``, or the arm with its present tool. Rotors that
        it lacks are those with which the calibration was fitted.
    calibration : Calibration
        Friction, its band, and what free motion showed beside it.
    gain : float or sequence of float
        K, for all joints or for each [1/s]. 1/K is the time in which the estimate
        reaches 63 % of a constant push.
    false_alarms : float
        Alarms per hour and joint that noise may cause.
    distance : float, optional
        Distance after a reversal over which friction builds up [rad or m]; default three times that
        of the joint's memory, else 0.

    Raises
    ------
    InputError
        If a joint of the calibration has no `free_motion`, or a number is not allowed.
    ModelError
        If the mechanism is not a tree of rigid joints.

    Examples
    --------
    >>> from stribeck import Calibration, ExternalTorque
    >>> calibration = Calibration.load("data/golden")
    >>> observer = ExternalTorque(calibration.mechanism, calibration)
    >>> for _ in range(100):
    ...     found = observer.step(0.0125, [0.3], [0.0], [9.0])          # at rest, with a torque that only a push explains
    >>> found.torque.round(1), found.detected, found.resting
    (array([-12.8]), array([ True]), array([ True]))
    """

    def __init__(
        self,
        mechanism: Mechanism,
        calibration: Calibration,
        gain: float | Sequence[float] = GAIN,
        false_alarms: float = FALSE_ALARMS,
        distance: float | None = None,
    ) -> None:
        # the runs of such arms have no free motion
        refuse_unobservable(mechanism, calibration)
        free = free_motion_of(calibration)
        self._set(mechanism, calibration, free, gain, distance)
        if not false_alarms > 0.0:
            raise InputError(
                f"false_alarms = {false_alarms:g} per hour; a positive number is needed"
            )
        self.margin = noise_margin(self.mechanism, free, self._bounds, self.gain, false_alarms)

    @classmethod
    def without_noise(
        cls, mechanism: Mechanism, calibration: Calibration, gain: float, period: float
    ) -> "ExternalTorque":
        """Return an observer for the runs of a fit; its thresholds have
        only the band of the law.
        """
        made, none = (
            cls.__new__(cls),
            FreeMotion(period, 0.0, 0.0, (0.0,) * mechanism.n, np.zeros((1, 2))),
        )
        made._set(
            mechanism,
            calibration,
            dict.fromkeys(calibration.joints, none),
            gain,
            None,
            between=False,
        )
        made.margin = np.zeros(mechanism.n)
        return made

    def _set(
        self,
        mechanism: Mechanism,
        calibration: Calibration,
        free: Mapping[str, FreeMotion],
        gain: float | Sequence[float],
        distance: float | None,
        between: bool = True,
    ) -> None:
        refuse_unobservable(mechanism, calibration)
        if (
            np.shape(gain) not in ((), (mechanism.n,))
            or not np.all(np.isfinite(gain))
            or not np.all(np.greater(gain, 0.0))
        ):
            raise InputError(
                f"gain = {gain}; a positive finite number [1/s] is needed, or one for each of "
                f"{', '.join(mechanism.names)}"
            )
        if distance is not None and not distance >= 0.0:
            raise InputError(f"distance = {distance:g}; zero or more is needed")
        self.gain = np.broadcast_to(np.asarray(gain, dtype=float), (mechanism.n,)).copy()
        self.mechanism, self.names, self._calibration = (
            with_rotors(mechanism, free),
            mechanism.names,
            calibration,
        )
        usual = usual_delay(calibration)
        self._bounds = {
            column: JointBound.of(
                calibration.joints[name],
                free[name],
                inertia_beside_model(calibration, name),
                distance,
                usual,
                between,
            )
            for column, name in enumerate(mechanism.names)
            if name in calibration.joints
        }
        self._inertia, self._scale, self._offset, self._included, self._divisor, self._delay = (
            np.array(
                [
                    getattr(self._bounds[j], key) if j in self._bounds else default
                    for j in range(mechanism.n)
                ]
            )
            for key, default in (
                ("inertia", 0.0),
                ("scale", 1.0),
                ("offset", 0.0),
                ("included", 0.0),
                ("divisor", 1.0),
                ("delay", 0.0),
            )
        )
        self._unknown = np.array(
            [np.nan if j not in self._bounds else 0.0 for j in range(mechanism.n)]
        )
        self.forget()

    @property
    def bounds(self) -> dict[int, JointBound]:
        """Prediction and bound of each calibrated joint, by its column."""
        return dict(self._bounds)

    def forget(self) -> None:
        """Begin a new motion: the external torque is zero at first."""
        self._carried: _Carried | None = None
        self._sliding = {
            column: SlidingState(bound.slowest, bound.settling, bound.distance)
            for column, bound in self._bounds.items()
        }

    def step(
        self,
        dt: float,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        temperature: ArrayLike | None = None,
    ) -> External:
        """Take the next sample.

        Parameters
        ----------
        dt : float
            Time since the last sample [s]; not used at the first.
        q, dq, tau : array_like, shape (n,)
            Measured positions, velocities and motor torques at the joints
            [rad or m, per s, N·m or N].
        temperature : array_like, shape () or (n,), optional
            As for `Calibration.friction`.

        Returns
        -------
        External
            Of this sample, (n,) each.

        Raises
        ------
        InputError
            If a shape does not fit the mechanism, a value is not finite, or `dt` is not positive.
        """
        rows = [np.asarray(values, dtype=float)[None] for values in (q, dq, tau)]
        warm = (
            None
            if temperature is None
            else each_temperature(temperature, (self.mechanism.n,))[None]
        )
        found = self._take(np.array([dt], dtype=float), rows[0], rows[1], rows[2], warm)
        return External(found.torque[0], found.threshold[0], found.resting[0])

    def along(
        self,
        t: ArrayLike,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        temperature: ArrayLike | None = None,
    ) -> External:
        """Take the samples of a whole motion, which begins anew; the same
        numbers as `step` by step.

        Parameters
        ----------
        t : array_like, shape (N,)
            Ascending times [s].
        q, dq, tau : array_like, shape (N, n)
            As for `step`.
        temperature : array_like, shape (), (n,) or (N, n), optional
            As for `Calibration.friction`.

        Returns
        -------
        External
            Of every sample, (N, n) each.

        Raises
        ------
        InputError
            As `step`.
        """
        self.forget()
        t, q, dq, tau = (np.asarray(values, dtype=float) for values in (t, q, dq, tau))
        return self._take(
            np.diff(t, prepend=2.0 * t[:1] - t[1:2] if len(t) > 1 else t - 1.0),
            q,
            dq,
            tau,
            None if temperature is None else each_temperature(temperature, dq.shape),
        )

    def _take(
        self, dt: Array, q: Array, dq: Array, tau: Array, temperature: Array | None
    ) -> External:
        """Take a block of samples, shape (N, n)."""
        self._check(dt[self._carried is None :], tau, (len(dt), len(self.names)))
        ddq = self._accelerations(dt[:, None], dq)
        terms = self._terms(dt, q, dq, ddq, tau, temperature)
        if self._carried is not None:
            return self._block(dt[:, None], terms, self._carried._replace(ddq=ddq[-1]))
        first, terms, none = (
            terms.at(slice(1)),
            terms.at(slice(1, None)),
            np.zeros((1, len(self.names))),
        )
        resting = first.values[4]
        found = self._block(
            dt[1:, None],
            terms,
            _Carried(np.zeros(1), none, none, first, none[0], resting[0], ddq[-1]),
        )
        return External(
            np.concatenate((none + self._unknown, found.torque)),
            np.concatenate((resting + self.margin + self._unknown, found.threshold)),
            np.concatenate((~first.slides, found.resting)),
        )

    def _block(self, h: Array, terms: _Terms, before: _Carried) -> External:
        """Take steps of h, shape (N, 1), that end at samples with these terms."""
        ends = before.terms.followed_by(terms)
        p, drift, friction, sliding, resting, tau, _ = ends.values
        slides = ends.slides[1:] & ends.slides[:-1]
        free = self._scale * (np.diff(p, axis=0) - h * means(drift)) + h * (
            np.where(slides, means(friction), 0.0) + self._offset
        )
        width = h * np.where(slides, means(sliding), np.maximum(resting[1:], resting[:-1]))
        time = np.concatenate((before.time, before.time[-1] + np.cumsum(h)))
        impulse, spread = (
            np.concatenate((known, known[-1] + np.cumsum(added, axis=0)))
            for known, added in ((before.impulse, free), (before.width, width))
        )
        # times at which the torque signals were true
        true = time[len(before.time) - 1 :, None] - self._delay
        needed, bound = (increments(true, time, values) / h for values in (impulse, spread))
        known = true[:-1] >= -_ROUNDING
        external = np.where(known, needed - means(tau), 0.0)
        torque, bound = lagged(
            self.gain,
            h,
            np.stack((external, np.where(known, bound, resting[1:])), axis=1),
            np.stack((before.torque, before.bound)),
        ).swapaxes(0, 1)
        kept = slice(
            max(0, int(np.searchsorted(time, time[-1] - self._delay.max(), "right")) - 2), None
        )
        last = (torque[-1], bound[-1]) if len(h) else (before.torque, before.bound)
        self._carried = _Carried(
            time[kept],
            impulse[kept] - impulse[kept][0],
            spread[kept] - spread[kept][0],
            ends.at(slice(-1, None)),
            last[0],
            last[1],
            before.ddq,
        )
        return External(torque + self._unknown, bound + self.margin + self._unknown, ~slides)

    def _accelerations(self, h: Array, dq: Array) -> Array:
        """Return the accelerations behind the filter, shape (N, n), which loads depend on;
        zero when the motion begins.
        """
        before = self._carried
        rate = np.diff(dq, axis=0, prepend=dq[:1] if before is None else before.terms.values[6]) / h
        return lagged(
            self.gain, h, rate, np.zeros(len(self.names)) if before is None else before.ddq
        )

    def _terms(
        self, dt: Array, q: Array, dq: Array, ddq: Array, tau: Array, temperature: Array | None
    ) -> _Terms:
        """Return the terms at samples."""
        p, drift = momentum(self.mechanism, q, dq)
        loads = joint_loads(self.mechanism, q, dq, ddq)
        friction = (
            self._calibration.friction_under(loads, self.mechanism, q, dq, temperature)
            - self._included
        )
        sliding, resting, slides = (
            np.zeros(dq.shape),
            np.zeros(dq.shape),
            np.zeros(dq.shape, dtype=bool),
        )
        for column, own in self._bounds.items():
            joint = self._calibration.joints[self.names[column]]
            load = joint.load_of(lambda kind: loads.get(kind)[:, column])  # noqa: B023  # called at once
            model = own.share * np.abs(drift[:, column])
            sliding[:, column] = own.while_sliding(np.abs(dq[:, column])) + model
            resting[:, column] = (
                own.at_rest(
                    joint,
                    load,
                    loads.tau[:, column],
                    None if temperature is None else temperature[:, column],
                )
                + model
            )
            slides[:, column] = self._sliding[column].take(dt, q[:, column], dq[:, column])
        return _Terms(
            np.stack(
                (p + self._inertia * dq, drift, friction, sliding, resting, tau / self._divisor, dq)
            ),
            slides,
        )

    def _check(self, dt: Array, tau: Array, shape: tuple[int, int]) -> None:
        """Refuse times that do not ascend, and torques that are not finite."""
        if not (np.isfinite(dt).all() and (dt > 0.0).all()):
            raise InputError(
                f"t: a step of {dt[~(dt > 0.0)][0]:g} s is given, but times must ascend"
            )
        if tau.shape != shape:
            raise InputError(
                f"tau has shape {tau.shape}; {self.mechanism.name} needs {shape}: a column for "
                f"each of {', '.join(self.names)}"
            )
        for column in self._bounds:
            if not np.isfinite(tau[:, column]).all():
                raise InputError(
                    f"tau of joint {self.mechanism.names[column]} is not a finite number; finite "
                    "numbers are needed"
                )
