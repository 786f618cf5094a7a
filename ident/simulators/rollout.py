r"""Proof by motion: MuJoCo simulates what a run recorded, with and without friction, and its motion
is compared with the arm's.

Where the drives follow position references with known gains, or with gains that the log shows
(`servo_gains`), the references drive the simulation from the first sample to the last, and so do
set-points of servos that the calibration knows, and those of velocity loops, if the run has no
position references and shows the gains of the loops. Otherwise the recorded torques drive it, and
it starts again from the measured motion every `horizon`, because errors of torques add up without a
controller.

References may act late. With each friction, the simulation runs without delay and with a small one,
which shows how errors grow with the delay; twice, the delay of least error by this growth is tried,
and the best is kept. The delay of recorded torques is that of the calibration.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import as_recorded, inertia_beside_model, refuse_fitted
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.log.motion.filtered_motion import Log, Stretch, filtered
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import unrecorded_torques
from stribeck.ident.model.files.to_mujoco import compile_mechanism
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.servo.servo_commands import of_servos
from stribeck.ident.simulators.drive_torques import (
    Drive,
    Torques,
    by_references,
    by_servos,
    by_torques,
    by_velocities,
    servos_of,
)
from stribeck.ident.simulators.mujoco_friction import MujocoFriction, attach
from stribeck.ident.simulators.servo_gains import (
    SHOWN,
    ServoGains,
    identified_gains,
    references,
    stated_gains,
    velocity_set_points,
)
from stribeck.ident.views.frames import frame_html

if TYPE_CHECKING:
    import mujoco

HORIZON = 0.3  # s
REFERENCES, VELOCITIES, TORQUES = "references", "velocities", "torques"
WITHOUT, OWN, CALIBRATED = "without friction", "model's own friction", "calibration"
_STEP = 1e-3  # s; longest step of the simulation
_PROBE = 2e-3  # s; small delay that shows how errors change with it
LATEST = 0.05  # s; greatest delay of references
_TURNS = 2  # further delays that are tried
_SAME = 2e-4  # s; delays that are nearer to each other are the same
_LEAST = 1e-9  # kg·m² or kg; inertia of a drive whose link has none
_PLAIN = {"coulomb", "viscous"}  # parameters of friction that a model's file states
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SimulatedMotion:
    """Motion simulated with one friction.

    Attributes
    ----------
    q : ndarray, shape (N, n)
        Positions [rad or m].
    error : ndarray, shape (n,)
        Root mean square of simulated minus measured position [rad or m].
    delay : float
        Time by which references act late [s]; 0 for recorded torques.
    """

    q: Array
    error: Array
    delay: float


@dataclass(frozen=True)
class Rollout:
    """Motion of an arm, measured and simulated.

    Attributes
    ----------
    names : tuple of str
        Joints.
    prismatic : ndarray of bool, shape (n,)
        Joints that slide.
    by : str
        What drives the simulation: "references" of positions, "velocities" or "torques".
    gains : dict of str to ServoGains
        Gains with which the drives follow references or velocity set-points; empty if recorded
        torques drive the simulation.
    reason : str
        Why position references do not drive the simulation; empty if they do.
    horizon : float
        Time after which the simulation starts again from the measured motion [s]; infinite
        without recorded torques.
    t : ndarray, shape (N,)
        Time [s].
    measured : ndarray, shape (N, n)
        Measured positions [rad or m].
    simulated : dict of str to SimulatedMotion
        "without friction"; "model's own friction", with the rotors of the model's file and without
        torque offset, if the file states friction; and "calibration".
    """

    names: tuple[str, ...]
    prismatic: np.ndarray
    by: str
    gains: dict[str, ServoGains]
    reason: str
    horizon: float
    t: Array
    measured: Array
    simulated: dict[str, SimulatedMotion]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each joint: root mean square position error with
        each friction [rad or m].
        """
        return pd.DataFrame(
            {"joint": self.names} | {name: one.error for name, one in self.simulated.items()}
        )

    def __repr__(self) -> str:
        of = ", ".join(
            f"{1e3 * float(one.error.mean()):.3g} {name}" for name, one in self.simulated.items()
        )
        return (
            f"<Rollout of {len(self.names)} joints by {self.by}: mean position error in mrad (mm "
            f"where sliding) {of}>"
        )

    def _repr_html_(self) -> str:
        return frame_html(repr(self).strip("<>"), self.to_dataframe())


def rollout(
    run: Run,
    calibration: Calibration,
    gains: Mapping[str, tuple[float, ...]] | None = None,
    horizon: float = HORIZON,
) -> Rollout:
    """Simulate a recorded run in MuJoCo with the friction of a calibration, and compare positions.

    Parameters
    ----------
    run : Run
        A run that was not fitted.
    calibration : Calibration
        Friction and torque offsets; the simulated model has its links, the run's tool and rotors.
    gains : mapping of str to tuple of float, optional
        By joint, or "default": torque per position error and per velocity, and per velocity of the
        reference if that differs [N·m/rad, N·m·s/rad]. Default: identified, if the log shows them.
    horizon : float
        Time after which a simulation by recorded torques starts again [s].

    Returns
    -------
    Rollout

    Raises
    ------
    InputError
        If the run is of another arm, has unmeasured torques or no references for the
        gains, a value is out of range, or the arm has closed loops, followers or shared
        motors, which are not simulated.
    FitError
        If the run has no section long enough, or a simulation diverges.
    """
    if not 0.0 < horizon <= 1e4:
        raise InputError(f"horizon = {horizon:g} s: needed is a time above 0 and up to 10000 s")
    refuse_fitted(run, calibration)
    mechanism = as_recorded(run, calibration)
    _refuse(run, mechanism, calibration)
    log = filtered([run], [mechanism])
    world = _World(run, mechanism, calibration, log)
    measured = np.concatenate([part.q for part in log.stretches])

    def result(
        by: str,
        gains: dict[str, ServoGains],
        simulated: dict[str, SimulatedMotion],
        reason: str = "",
    ) -> Rollout:
        return Rollout(
            run.names,
            mechanism.prismatic,
            by,
            gains,
            reason,
            horizon if by == TORQUES else np.inf,
            np.concatenate([part.t for part in log.stretches]),
            measured,
            simulated,
        )

    if of_servos(run):
        if gains is not None:
            raise InputError(
                f"{run.path}: gains are given, but the run has the gains of its servos; leave the "
                "gains out"
            )
        known, drive = by_servos(run, servos_of(run, calibration))
        simulated = {
            name: _against(measured, world.motion(name, drive)) for name in world.frictions
        }
        return result(REFERENCES, known, simulated)
    told, known, reason = _references(run, log, gains)
    if told is not None:

        def late(name: str, delay: float) -> Array:
            return world.motion(name, by_references(run, told, known, delay))

        return result(
            REFERENCES,
            known,
            {name: _with_delay(partial(late, name), measured) for name in world.frictions},
        )
    rates = velocity_set_points(run) if references(run)[0] is None else None
    if (
        rates is not None
        and _shown(known := identified_gains(run, log, rates, rates=True))[1] >= SHOWN
    ):
        drive = by_velocities(run, rates, known)
        simulated = {
            name: _against(measured, world.motion(name, drive)) for name in world.frictions
        }
        return result(VELOCITIES, known, simulated, reason)
    if horizon < 2.0 * log.dt:
        raise InputError(
            f"horizon = {horizon:g} s: needed are at least two samples, {2.0 * log.dt:.3g} s"
        )
    drive = by_torques(calibration, run.names)
    return result(
        TORQUES,
        {},
        {name: _against(measured, world.motion(name, drive, horizon)) for name in world.frictions},
        reason,
    )


def _references(
    run: Run, log: Log, gains: Mapping[str, tuple[float, ...]] | None
) -> tuple[Array | None, dict[str, ServoGains], str]:
    """Return the references that can drive the simulation, with their gains; else
    None, and why they cannot.
    """
    told, lacking = references(run)
    if gains is not None:
        if told is None:
            raise InputError(
                f"{run.path}: gains are given, but {lacking}; import them, or leave the gains out"
            )
        return told, stated_gains(gains, run.names), ""
    if told is None:
        return None, {}, lacking
    shown = identified_gains(run, log, told)
    worst, explained = _shown(shown)
    if explained >= SHOWN:
        return told, shown, ""
    return (
        None,
        {},
        (
            f"the torque of {worst} does not follow its position reference (R² {explained:.2f}, "
            f"needed {SHOWN:g}); with stated gains, references can drive the simulation"
        ),
    )


def _shown(gains: Mapping[str, ServoGains]) -> tuple[str, float]:
    """Return the joint whose gains explain the least part of its torque, and this part."""
    return min(
        ((name, one.explained or 0.0) for name, one in gains.items()), key=lambda item: item[1]
    )


def _refuse(run: Run, mechanism: Mechanism, calibration: Calibration) -> None:
    """Refuse what the simulation cannot represent."""
    lacking = (
        "closed loops"
        if mechanism.chain is not None
        else "joints that follow others"
        if mechanism.followers
        else "motors that move several joints"
        if mechanism.transmission is not None
        else ""
    )
    if lacking:
        raise InputError(
            f"{calibration.arm} has {lacking}, which a rollout does not simulate; validate "
            "without --rollout"
        )
    if missing := unrecorded_torques(run):
        raise InputError(
            f"{run.path}: the torque of {', '.join(missing)} was not recorded; a rollout needs the "
            "torques of all joints"
        )


def _against(measured: Array, q: Array, delay: float = 0.0) -> SimulatedMotion:
    return SimulatedMotion(q, np.sqrt(np.mean((q - measured) ** 2, axis=0)), delay)


def _with_delay(simulate: Callable[[float], Array], measured: Array) -> SimulatedMotion:
    """Return the motion with the delay of references that fits best."""
    tried = {delay: simulate(delay) for delay in (0.0, _PROBE)}
    for _ in range(_TURNS):
        before, last = list(tried)[-2:]
        growth = (tried[last] - tried[before]) / (last - before)
        step = -float(np.sum(growth * (tried[last] - measured))) / max(
            float(np.sum(growth**2)), 1e-300
        )
        best = float(np.clip(last + step, 0.0, LATEST))
        if min(abs(best - delay) for delay in tried) < _SAME:
            break
        tried[best] = simulate(best)
    found = [_against(measured, q, delay) for delay, q in tried.items()]
    return min(found, key=lambda one: float(np.sum(one.error**2)))


class _World:
    """The simulated arm."""

    def __init__(self, run: Run, mechanism: Mechanism, calibration: Calibration, log: Log) -> None:
        import mujoco

        self._mujoco, self._log = mujoco, log
        self._mechanism, self._names = mechanism, run.names
        self._calibration = _at_temperature(run, calibration.with_offset())
        beside = [
            inertia_beside_model(calibration, name) if name in calibration.joints else 0.0
            for name in run.names
        ]
        self._rotors = np.diag(run.rotor_inertia()) + beside
        self._own_rotors = self._rotors if mechanism.rotors is None else np.diag(mechanism.rotors)
        stated = mechanism.friction
        plain = bool(stated) and all(
            one.load == "none" and set(one.parameters) <= _PLAIN for one in stated.values()
        )
        self.frictions = (WITHOUT, *((OWN,) if plain else ()), CALIBRATED)
        self._offset = np.array(
            [
                calibration.joints[name].with_offset().offset if name in calibration.joints else 0.0
                for name in run.names
            ]
        )
        self._sub = max(1, int(np.ceil(log.dt / _STEP - 1e-6)))

    def motion(self, friction: str, drive: Drive, horizon: float = np.inf) -> Array:
        """Return simulated positions at the samples of the log, shape (N, n)."""
        model, data, rubbing = self._made(friction)
        places = [model.joint(name).id for name in self._names]
        # an offset is no friction
        pushes = self._offset if friction == WITHOUT else np.zeros(len(places))
        return np.concatenate(
            [
                self._along(
                    part,
                    drive(part, self._times(part)),
                    horizon,
                    model,
                    data,
                    rubbing,
                    places,
                    pushes,
                )
                for part in self._log.stretches
            ]
        )

    def _times(self, part: Stretch) -> Array:
        """Times of all steps in a section."""
        return np.asarray(part.t[0] + np.arange(len(part.t) * self._sub) * self._log.dt / self._sub)

    def _along(
        self,
        part: Stretch,
        torque: Torques,
        horizon: float,
        model: "mujoco.MjModel",
        data: "mujoco.MjData",
        rubbing: MujocoFriction | None,
        places: list[int],
        pushes: Array,
    ) -> Array:
        """Simulate a section, from window to window."""
        out, step = np.empty_like(part.q), self._mujoco.mj_step
        for rows in self._windows(len(part.t), horizon):
            self._mujoco.mj_resetData(model, data)
            data.qpos[places], data.qvel[places] = part.q[rows.start], part.dq[rows.start]
            for row in range(rows.start, rows.stop):
                out[row] = data.qpos[places]
                for k in range(row * self._sub, (row + 1) * self._sub):
                    data.qfrc_applied[places] = (
                        torque(k, data.qpos[places], data.qvel[places]) - pushes
                    )
                    if k == rows.start * self._sub:  # reactions, with which friction grows
                        self._mujoco.mj_forward(model, data)
                    if rubbing is not None:
                        rubbing.update()
                    step(model, data)
        kinds = self._mujoco.mjtWarning
        if bad := [
            one.lastinfo
            for kind in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
            if (one := data.warning[kind]).number
        ]:
            raise FitError(
                f"{model.joint(int(model.dof_jntid[bad[0]])).name}: its simulated motion diverges; "
                f"its drive or friction needs shorter steps than {1e3 * model.opt.timestep:.2g} "
                "ms, or its gains are too high"
            )
        return out

    def _windows(self, samples: int, horizon: float) -> Iterator[slice]:
        count = samples if np.isinf(horizon) else max(2, round(horizon / self._log.dt))
        return (slice(begin, min(begin + count, samples)) for begin in range(0, samples, count))

    def _made(
        self, friction: str
    ) -> tuple["mujoco.MjModel", "mujoco.MjData", MujocoFriction | None]:
        """Return the arm with one of the frictions."""
        mujoco = self._mujoco
        # otherwise MuJoCo writes a file into the working directory
        mujoco.set_mju_user_warning(_log.debug)
        model = compile_mechanism(self._mechanism)
        model.opt.timestep = self._log.dt / self._sub
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for j, name in enumerate(self._names):
            joint = model.joint(name).id
            dof = model.jnt_dofadr[joint]
            model.dof_armature[dof] = max(
                _LEAST, (self._own_rotors if friction == OWN else self._rotors)[j]
            )
            if (spring := self._mechanism.springs.get(j)) is not None:
                model.jnt_stiffness[joint], model.dof_damping[dof] = (
                    spring.stiffness,
                    spring.damping,
                )
            if friction == OWN and (stated := self._mechanism.friction.get(j)) is not None:
                model.dof_frictionloss[dof] = stated.parameters.get("coulomb", 0.0)
                model.dof_damping[dof] += stated.parameters.get("viscous", 0.0)
        mujoco.mj_setConst(model, data := mujoco.MjData(model))
        return (
            model,
            data,
            attach(model, data, self._calibration) if friction == CALIBRATED else None,
        )


def _at_temperature(run: Run, calibration: Calibration) -> Calibration:
    """Return the calibration at the median temperatures of the run, if it was
    calibrated over temperature.
    """
    measured = run.signals.get("temperature")
    if (
        measured is None
        or not np.isfinite(measured).any()
        or all(one.temperature is None for one in calibration.joints.values())
    ):
        return calibration
    known = dict(zip(run.names, np.nanmedian(measured, axis=0).tolist(), strict=True))
    return calibration.at_temperature([known[name] for name in calibration.names])
