"""Readings of the simulated drives, with noise, resolution of encoder and torque,
scale, offset and warm-up.
"""

import numpy as np

from stribeck.drivers.arm import Array, JointSample
from stribeck.drivers.simulation.truth import Truth

_NOISE_BLOCK = 4096  # number of cycles whose noise is drawn together


class DriveReading:
    """Makes the drives' readings, cycle by cycle.

    Parameters
    ----------
    truth : Truth
        Imperfections of the drives.
    rate : float
        Cycles per second.
    rng : numpy Generator
        Generator of the noise, which is drawn in blocks.
    """

    def __init__(self, truth: Truth, rate: float, rng: np.random.Generator) -> None:
        n = len(truth.joints)
        self._truth, self._rate, self._rng = truth, rate, rng
        self._cycle = self._row = 0
        self._noise = np.empty((0, 2, n))
        self._noise_state = np.zeros((1, n))
        self._heated, self._sensed = (
            np.array([joint.heat is not None and told(joint.heat) for joint in truth.joints])
            for told in (lambda _: True, lambda heat: heat.sensor)
        )
        steps = truth.column("link_encoder_step")
        self._heats = bool(self._heated.any())
        self._at_link, self._measures_link = np.isfinite(steps), bool(np.isfinite(steps).any())
        self._in_link_counts = Quantiser(np.nan_to_num(steps))
        self._in_torque_steps, self._in_counts = (
            Quantiser(truth.column("torque_step")),
            Quantiser(truth.column("encoder_step")),
        )

    def skip(self, cycles: int) -> None:
        """Advance the clock of the readings by cycles that nobody reads."""
        self._cycle += cycles

    def measure(
        self, q: Array, dq: Array, torque: Array, temperature: Array, link: Array
    ) -> JointSample:
        """Return the reading of the next cycle.

        Parameters
        ----------
        q, dq : ndarray, shape (n,)
            True positions and velocities of the drives [rad, rad/s].
        torque : ndarray, shape (n,)
            True torques at the time that the drives report now [N·m].
        temperature : ndarray, shape (n,)
            True temperatures of joints that friction heats [°C]; nan for others, whose
            drives warm up with time.
        link : ndarray, shape (n,)
            True positions of the links [rad or m].
        """
        truth = self._truth
        row = self._row % _NOISE_BLOCK
        if row == 0:
            self._draw_noise()
        self._row += 1
        self._cycle += 1
        tau = self._in_torque_steps(
            truth.column("torque_scale") * torque + truth.column("offset") + self._noise[row, 0]
        )
        q = self._in_counts(q.copy())
        t = self._cycle / self._rate
        shown = 25.0 + 12.0 * (1.0 - np.exp(-t / truth.column("warm_up_time")))
        if self._heats:
            shown = np.where(self._heated, np.where(self._sensed, temperature, np.nan), shown)
        return JointSample(
            t,
            q,
            dq + self._noise[row, 1],
            tau,
            np.full(len(q), t),
            shown,
            np.zeros(len(q), dtype=np.int64),
            None,
            self._in_link_counts(np.where(self._at_link, link, np.nan))
            if self._measures_link
            else None,
        )

    def _draw_noise(self) -> None:
        truth, n = self._truth, len(self._truth.joints)
        draws = self._rng.standard_normal((_NOISE_BLOCK, 2, n))
        time = truth.column("torque_noise_time")
        if time.any():
            from scipy.signal import lfilter  # takes a while to load
        for j in np.flatnonzero(time > 0.0):
            memory = np.exp(-1.0 / (self._rate * time[j]))
            if self._row == 0:  # start in the stationary state of the noise
                self._noise_state[:, j] = memory * self._rng.standard_normal()
            draws[:, 0, j], self._noise_state[:, j] = lfilter(
                [np.sqrt(1.0 - memory**2)],
                [1.0, -memory],
                draws[:, 0, j],
                zi=self._noise_state[:, j],
            )
        draws[:, 0] *= truth.column("torque_noise")
        draws[:, 1] *= truth.column("velocity_noise")
        self._noise = draws


class Quantiser:
    """Rounds values to multiples of steps, shape (n,), in place; values
    with step 0 stay as they are.
    """

    def __init__(self, step: Array) -> None:
        which = np.flatnonzero(step)
        self._which = slice(None) if len(which) == len(step) else which
        self._step, self._rounds = step[which], len(which) > 0

    def __call__(self, value: Array) -> Array:
        if self._rounds:
            value[self._which] = np.rint(value[self._which] / self._step) * self._step
        return value
