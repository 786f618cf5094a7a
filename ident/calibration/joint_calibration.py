"""Friction of one joint as a function of velocity and load: law, load,
parameters and covered ranges.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stribeck.ident.arrays import Array, Numbers, floats, library_of
from stribeck.ident.backlash.joint_backlash import JointBacklash
from stribeck.ident.fit.fit_result import Candidate, further_band, needed_load, prediction_band
from stribeck.ident.fit.joint.directions import DIFFERENCES
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.laws.load_components import components_of
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.breakaway import Breakaway
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.memory.joint_memory import JointMemory, dry_level
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.ripple.wave import Wave, ripple_torque
from stribeck.ident.servo.joint_servo import JointServo
from stribeck.ident.temperature.joint_temperature import JointTemperature

# most draws of a parameter set if a parameter of the drawn set has a wrong sign
_TRIES = 1000
_BAND_SPEEDS = 12  # speeds in the table of the wider band at another temperature
_JITTER = 1e-12  # added to the diagonal of a correlation that is singular by rounding


@dataclass(frozen=True)
class JointCalibration:
    """Friction of one joint.

    Attributes
    ----------
    law, load, directional : str
        Name of the law, of the load with which friction grows ("none" without), and of the
        difference between directions.
    parameters : dict of str to Parameter
        Parameters of the law; parameters without a value are not part of it.
    gravity : dict of str to Parameter
        Scale, offset and delay of the torque signal against the model's gravity; half the
        difference between the directions.
    bearing : Bearing, optional
        Bearing with which the normal load was computed.
    held_out_rmse : float
        Root mean square error over round trips left out of the fit. All round trips of a speed are
        left out together; at the slowest and fastest speed, one at a time [N·m].
    velocity_range, load_range, load_part, temperature_range : tuple of float
        Ranges of the data; a `load_range` for each load component with its own
        coefficient. `load_part` is the least, median and greatest part of Coulomb friction
        that comes from the load [N·m].
    names, correlation : tuple of str, ndarray
        Parameters and the correlation of their estimates.
    factor : float
        Half width of `band` in standard errors.
    torque_scale : float, optional
        Divisor of the drive's torque; None leaves the torque as it is.
    stribeck_share : float, optional
        Plausibility of a Stribeck effect, if laws competed: share of the laws with a
        Stribeck effect among all.
    further_error : ndarray, shape (n, 2), optional
        Speeds, and the widening of the band there for other plausible laws [rad/s, N·m].
    candidates : tuple of Candidate
        Laws and loads that competed and have a held-out error.
    place : str
        Variation of friction with position that the fit removed: "none", "once
        a turn" or "twice a turn".
    offset : float
        Constant torque that `Calibration.with_offset` added to the friction; 0 otherwise [N·m].
    breakaway : Breakaway, optional
        Breakaway torque from rest, if it was measured; not part of the law.
    memory : JointMemory, optional
        How dry friction follows the path after a reversal, if it was identified. `torque`
        is that of steady sliding.
    ripple : tuple of Wave
        Claimed harmonics of the position, which were taken out of the samples; not part of the law.
    temperature : JointTemperature, optional
        How friction changes with temperature, if it was identified. The parameters hold at
        its reference temperature.
    backlash : JointBacklash, optional
        Play and wind-up between motor and link, if play was identified; not part of the law.
    free_motion : FreeMotion, optional
        Noise of the signals, and torque that neither model nor law explains; for
        thresholds of external torque.
    servo : JointServo, optional
        The servo, if friction was identified by its commands, without a torque signal.
    """

    law: str
    load: str
    parameters: Mapping[str, Parameter]
    gravity: Mapping[str, Parameter]
    bearing: Bearing | None
    held_out_rmse: float
    velocity_range: tuple[float, float]
    load_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None
    load_part: tuple[float, float, float] | None
    temperature_range: tuple[float, float] | None
    names: tuple[str, ...]
    correlation: Array
    factor: float
    directional: str = "none"
    torque_scale: float | None = None
    stribeck_share: float | None = None
    further_error: Array | None = None
    candidates: tuple[Candidate, ...] = ()
    place: str = "none"
    offset: float = 0.0
    breakaway: Breakaway | None = None
    memory: JointMemory | None = None
    ripple: tuple[Wave, ...] = ()
    temperature: JointTemperature | None = None
    backlash: JointBacklash | None = None
    free_motion: FreeMotion | None = None
    servo: JointServo | None = None

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        return f"<JointCalibration {self.law}, load {self.load}: {values}; {self.verdict()}>"

    @property
    def values(self) -> dict[str, float]:
        """Parameter values of the law."""
        return {name: float(p.value) for name, p in self.parameters.items() if p.value is not None}

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the load that have a coefficient each, where `load` is "components"."""
        return components_of(self.values)

    @property
    def load_ends(self) -> Array:
        """Least and greatest load that the data covered, shape (2,); (2, m) with a column
        for each of `components`.
        """
        ends = self.load_range
        return (
            np.transpose([ends[name] for name in self.components])
            if isinstance(ends, Mapping)
            else np.array(ends)
        )

    @property
    def middle_load(self) -> Array:
        """Middle of the loads that the data covered, shape () or (m,) as for
        `load_ends`; zero without load.
        """
        return (
            self.load_ends.mean(axis=0)
            if self.load != "none" and self.load_range is not None
            else np.zeros(())
        )

    def load_of(self, values: Callable[[str], Array]) -> Array | None:
        """Return the load with which friction grows: (N,), (N, m) with a column for each
        of `components`, or None.
        """
        if self.components:
            parts = [values(part) for part in self.components]
            return library_of(parts[0]).stack(parts, axis=-1)
        return None if self.load == "none" else values(self.load)

    def torque(
        self, velocity: Numbers, load: Numbers | None = None, temperature: Numbers | None = None
    ) -> Array:
        """Return the friction torque at velocities and loads, shape (N,) [N·m], as
        the mean of both directions.

        If `load` is "components", loads have a column for each of `components`. Temperatures [°C]
        have shape () or (N,); None and nan stand for the reference temperature, and without
        `temperature` dependence they change nothing.

        Raises
        ------
        InputError
            If the law needs a load, but no load is given.
        """
        own = needed_load(self.load, load)
        if self.temperature is None or temperature is None:
            return law_named(self.law).torque(velocity, self.values, own)
        return self.temperature.friction(
            law_named(self.law),
            self.values,
            floats(velocity),
            None if own is None else floats(own),
            temperature,
        )

    def dry_level(
        self, velocity: Numbers, load: Numbers | None = None, temperature: Numbers | None = None
    ) -> Array:
        """Return the dry part of the friction in steady sliding, shape (N,), positive [N·m];
        arguments as for `torque`.
        """
        own = needed_load(self.load, load)
        level = dry_level(
            law_named(self.law), self.values, floats(velocity), None if own is None else floats(own)
        )
        return (
            level
            if self.temperature is None or temperature is None
            else level * self.temperature.factors(temperature)[0]
        )

    def at_temperature(self, temperature: float) -> "JointCalibration":
        """Return the joint with the parameters and the band of its law at a temperature
        [°C], without a dependence.

        A joint without `temperature`, and any joint at nan, stays as it is.
        """
        return (
            self
            if self.temperature is None or np.isnan(temperature)
            else _at_temperature(self, self.temperature, temperature)
        )

    def with_offset(self) -> "JointCalibration":
        """Return the joint with the torque offset of the fit, if there is
        one, added to the friction.
        """
        found = self.gravity.get("offset")
        return replace(
            self, offset=0.0 if found is None or found.value is None else float(found.value)
        )

    @property
    def difference(self) -> float:
        """Half the difference of viscous friction between the directions, or of the load
        coefficient between driving and back-driving; 0 without a difference."""
        return (
            float(self.gravity[DIFFERENCES[self.directional]].value or 0.0)
            if self.directional != "none"
            else 0.0
        )

    def directional_torque(self, velocity: Numbers, load: Numbers | None, rigid: Numbers) -> Array:
        """Return the friction in addition to `torque` due to different directions, plus the
        offset, shape (N,) [N·m].

        Parameters
        ----------
        velocity, load : array_like, shape (N,)
            As for `torque`.
        rigid : array_like, shape (N,)
            Signed rigid-body torque of the drive: with motion in its direction the joint drives,
            against it the joint is back-driven.
        """
        w, xp = floats(velocity), library_of(velocity)
        if self.directional == "driving" and load is not None:
            return self.offset + self.difference * floats(load) * xp.sign(floats(rigid)) * xp.abs(
                xp.sign(w)
            )
        return self.offset + self.difference * xp.abs(w)

    def ripple_torque(self, q: Numbers, velocity: Numbers) -> Array:
        """Return the torque in addition to `torque` that ripples with the
        position, shape (N,) [N·m].
        """
        return ripple_torque(self.ripple, q, velocity)

    def friction(
        self,
        q: Numbers | None,
        velocity: Numbers,
        load: Numbers | None,
        rigid: Numbers | None,
        temperature: Numbers | None = None,
    ) -> Array:
        """Return the friction torque of steady sliding, shape (N,) [N·m]: the law,
        directions, offset and ripple.

        Parameters
        ----------
        q : array_like, shape (N,)
            Position, at which friction ripples.
        velocity, load, rigid, temperature : array_like, shape (N,)
            As for `torque` and `directional_torque`.
        """
        sliding = self.torque(velocity, load, temperature) + self.directional_torque(
            velocity, load, rigid
        )
        return sliding + self.ripple_torque(q, velocity) if self.ripple else sliding

    def band(
        self, velocity: Numbers, load: Numbers | None = None, temperature: Numbers | None = None
    ) -> Array:
        """Return the half width of the simultaneous 95 % band of `torque`, over speeds and
        loads of the data, (N,) [N·m].

        At other temperatures than the reference, the band covers all temperature laws that
        the data do not tell apart.
        """
        if self.temperature is not None and temperature is not None:
            return self.band(velocity, load) + self.temperature.widening(temperature) * np.abs(
                self.torque(velocity, load)
            )
        error = np.array([self.parameters[name].std_error or 0.0 for name in self.names])
        covariance = self.correlation * np.outer(error, error)
        own = prediction_band(
            self.law,
            self.values,
            self.names,
            covariance,
            velocity,
            needed_load(self.load, load),
            self.factor,
        )
        return own + further_band(self.further_error, velocity)

    def drawn(self, n: int, rng: np.random.Generator) -> list["JointCalibration"]:
        """Draw `n` parameter sets from the covariance of the estimates.

        A draw that makes a nonnegative estimate negative is repeated. The drawn joints have
        values only, no intervals.
        """
        mean = np.array([self.values[name] for name in self.names])
        error = np.array([self.parameters[name].std_error or 0.0 for name in self.names])
        root = (
            np.linalg.cholesky(self.correlation + _JITTER * np.eye(len(mean)))
            if len(mean)
            else np.zeros((0, 0))
        )
        values = np.tile(mean, (n, 1))
        again = np.arange(n)
        for _ in range(_TRIES):
            values[again] = mean + (rng.standard_normal((len(again), len(mean))) @ root.T) * error
            again = again[np.any((values[again] < 0.0) & (mean >= 0.0), axis=1)]
            if not len(again):
                break
        values[again] = mean
        return [self._with(dict(zip(self.names, map(float, row), strict=True))) for row in values]

    def _with(self, values: Mapping[str, float]) -> "JointCalibration":
        """Return the joint with other values of some parameters, without intervals."""
        known = {
            name: Parameter(
                values.get(name, entry.value), None, None, None, entry.unit, entry.verdict
            )
            for name, entry in self.parameters.items()
        }
        return replace(
            self, parameters=known, names=(), correlation=np.zeros((0, 0)), further_error=None
        )

    def verdict(self) -> str:
        """The weakest verdict of the law's own parameters."""
        rank = ("identified", "weak", "at bound", "unidentifiable")
        return max(
            (p.verdict for p in self.parameters.values() if p.value is not None), key=rank.index
        )


def loads_agree(a: JointCalibration, b: JointCalibration) -> bool:
    """Return whether the same number is the load of both joints."""
    return "none" in (a.load, b.load) or (
        a.load == b.load
        and a.components == b.components
        and (a.load != "normal" or a.bearing == b.bearing)
    )


def _at_temperature(
    joint: JointCalibration, own: JointTemperature, temperature: float
) -> JointCalibration:
    """Return a joint with its linear parameters multiplied by the factors of a temperature."""
    dry, viscous = (float(factor) for factor in own.factors(temperature))
    law = law_named(joint.law)

    def scaled(name: str, entry: Parameter) -> Parameter:
        factor = 1.0 if name in law.nonlinear else viscous if name.startswith("viscous") else dry
        ends: dict[str, Any] = {
            key: None if (end := getattr(entry, key)) is None else factor * end
            for key in ("value", "std_error", "low", "high", "repeat_deviation")
        }
        return replace(entry, **ends)

    speed = np.geomspace(
        max(joint.velocity_range[0], 1e-3 * joint.velocity_range[1]),
        joint.velocity_range[1],
        _BAND_SPEEDS,
    )
    load = (
        None
        if joint.load == "none"
        else np.repeat(np.atleast_1d(joint.middle_load)[None], len(speed), axis=0)
    )
    reach = np.abs(joint.torque(speed, load if load is None or joint.components else load[:, 0]))
    further = further_band(joint.further_error, speed) + own.widening(temperature) * reach
    return replace(
        joint,
        parameters={name: scaled(name, entry) for name, entry in joint.parameters.items()},
        temperature=None,
        further_error=np.column_stack((speed, further)),
    )
