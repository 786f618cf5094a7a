"""Gains of the simulated drives' velocity loops, and the step rate of the physics
that loops and springs need.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
from scipy.linalg import eigh

from stribeck.drivers.arm import Array
from stribeck.drivers.errors import DriverError
from stribeck.drivers.simulation.physics_model import PhysicsModel
from stribeck.drivers.simulation.truth import Truth
from stribeck.drivers.simulation.weighing import Scales
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.errors import InputError

_FINEST_RATE = 20000.0  # Hz, largest step rate of the physics
# rad, largest phase of a spring's vibration per step: its frequency is then right within 0.2 %
_SPRING_ANGLE = 0.2
# rad, such a phase for a beam's modes above the first: stable, frequency wrong by 4 %
_HIGHEST_ANGLE = 1.0
# rad, such a phase for a joint on its bristles: the velocity loop damps this vibration
_BRISTLE_ANGLE = 0.3
# part of a velocity error that a loop may remove in a step, if a spring separates rotor and link
_LOOP_STEP = 0.5
# largest such part for rigid joints; above it, loops are computed implicitly (at 2 they oscillate)
_EXPLICIT = 1.2
# part of its following error by which a joint may lag when its friction changes sign; if it lags
_WEAK = 0.6
_STRONG = 0.2  # more, the gain of the loop is raised until the joint lags by this part
# limit, and value after tuning, of friction's falling slope over kp: steeper
# slopes cause stick-slip
_STEEPEST = 1.2, 0.5
_POSTURES = 64  # number of random postures at which loops are examined


@dataclass(frozen=True)
class Tuning:
    """Result of `tune`.

    Attributes
    ----------
    kp : ndarray, shape (n,)
        Gains of the velocity loops [N·m·s/rad].
    rate : float
        Step rate of the physics that springs and bristles need [Hz]; 0 without them.
    stiff : bool
        Whether the loops are too stiff to be computed with the velocities at the begin of a step.
    """

    kp: Array
    rate: float
    stiff: bool = False


def tune(
    physics: PhysicsModel, data: "mujoco.MjData", limits: Limits, dt: float, path: Path
) -> Tuning:
    """Tune the velocity loops at the posture of `data`.

    The gains are those of a rigid joint: a drive is tuned for the inertia of rotor and link
    together. If no rotor is stated and the link is so light that friction would stop it, the gain
    is higher. Random postures within `limits` show whether physics steps of `dt` can follow the
    loops.

    Raises
    ------
    InputError
        If a rotor is too light or a spring too stiff for the finest step; the message names the
        key of the arm file `path`.
    """
    model, axes, truth = physics.model, physics.axes, physics.truth
    mujoco.mj_forward(model, data)
    M = physics.inertia(data)
    inertia = np.diag(M) if physics.loops else np.diag(M)[axes.drives]
    kp = 2.0 * np.pi * truth.column("bandwidth") * inertia
    # otherwise MuJoCo takes the inertia of the single joint, and sticking joints creep
    if physics.loops:
        model.dof_invweight0[axes.drives] = np.diag(np.linalg.inv(M))
    bristles = _bristle_rate(
        physics, np.diag(np.linalg.inv(M))[slice(None) if physics.loops else axes.drives], path
    )
    if not len(axes.springs):
        tuning = _rigid(physics, kp, limits, min(dt, 1.0 / bristles) if bristles else dt, path)
        return replace(tuning, rate=bristles)
    # otherwise a sticking rotor creeps more than a rigid joint
    model.dof_invweight0[axes.drives] = 1.0 / inertia
    soft = np.unique(axes.owner)
    loop = (kp * np.diag(np.linalg.inv(M))[axes.drives])[soft] / _LOOP_STEP
    if loop.max() > _FINEST_RATE:
        joint = int(soft[np.argmax(loop)])
        raise InputError(
            f"{path}: joints.{physics.names[joint]}.rotor_inertia is too small, with this elastic "
            f"link, for a velocity loop of {truth.joints[joint].bandwidth:g} Hz; make it "
            f"{loop.max() / _FINEST_RATE:.3g} times as large"
        )
    # the first modes are those of the drives, with frequency zero
    squares, modes = eigh(np.diag(model.jnt_stiffness), M)
    swings = np.sqrt(np.maximum(squares, 0.0))
    # a beam bends about two axes
    first = len(physics.names) + axes.behind + 2 * len(physics.beams)
    rates = np.concatenate((swings[:first] / _SPRING_ANGLE, swings[first:] / _HIGHEST_ANGLE))
    fastest = int(np.argmax(rates))
    if rates[fastest] > _FINEST_RATE:
        stored = model.jnt_stiffness[axes.springs] * modes[axes.springs, fastest] ** 2
        name, knob, value = physics.spring_key(int(np.argmax(stored)))
        raise InputError(
            f"{path}: {knob} = {value:g}: {name} would vibrate at "
            f"{swings[fastest] / 2.0 / np.pi:.0f} Hz; the simulation computes at most "
            f"{_FINEST_RATE:g} steps per second, which allow values up to about "
            f"{value * (_FINEST_RATE / rates[fastest]) ** 2:.2g}. Fewer segments vibrate more "
            "slowly; without this key the part is rigid"
        )
    return Tuning(kp, max(float(rates[fastest]), float(loop.max()), bristles))


def _bristle_rate(physics: PhysicsModel, mobility: Array, path: Path) -> float:
    """Return the step rate that presliding of joints with these inverse inertias, shape (n,),
    needs [Hz]; 0 without memory.
    """
    stiffness = np.array([joint.presliding_stiffness for joint in physics.truth.joints])
    swings = np.sqrt(stiffness * mobility)
    rates = swings / _BRISTLE_ANGLE
    joint = int(np.argmax(rates))
    if rates[joint] > _FINEST_RATE:
        truth, name = physics.truth.joints[joint], physics.names[joint]
        key, found, what = (
            ("bristle_stiffness", f"{stiffness[joint]:g}", "values")
            if truth.memory == "lugre"
            else ("stiffnesses", f"{list(truth.stiffnesses or ())}", "a sum")
        )
        raise InputError(
            f"{path}: simulation.joints.{name}.{key} = {found}: {name} would vibrate at "
            f"{swings[joint] / 2.0 / np.pi:.0f} Hz before it slides; the simulation computes at "
            f"most {_FINEST_RATE:g} steps per second, which allow {what} up to about "
            f"{stiffness[joint] * (_FINEST_RATE / rates[joint]) ** 2:.2g}. With a larger armature "
            "it vibrates more slowly; without memory it sticks rigidly"
        )
    return float(rates[joint])


def _rigid(physics: PhysicsModel, kp: Array, limits: Limits, dt: float, path: Path) -> Tuning:
    """Return loops of rigid joints that are strong enough for their friction at all postures."""
    model, truth = physics.model, physics.truth
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    low, high = np.where(np.isfinite(limits.position), limits.position, [-np.pi, np.pi]).T
    scales, told = Scales(physics), []
    for q in rng.uniform(low, high, (_POSTURES, len(kp))):
        if physics.loops is None:
            physics.stand(data, q)
            told.append((physics.inertia(data), *scales(q)))
            continue
        # at some postures loops do not close, or drives cannot hold the arm
        with suppress(DriverError):
            physics.stand(data, rng.uniform() * q)
            if not (np.abs(physics.held(data)) > limits.torque).any():
                told.append((physics.inertia(data), *scales(data.qpos[physics.axes.drives])))
    if not told:
        raise InputError(
            f"{path}: at none of {_POSTURES} random postures within the position limits do the "
            "loops close and the drives hold the arm; check position and torque in [joints.NAME]"
        )
    M, load, transmitted = (np.array(values) for values in zip(*told, strict=True))
    # in closed chains the inertia at a drive depends strongly on the posture: take the largest
    if physics.loops:
        kp = 2.0 * np.pi * truth.column("bandwidth") * M.diagonal(axis1=1, axis2=2).max(axis=0)
    level, slope = _friction(truth, np.abs(load).max(axis=0), np.abs(transmitted).max(axis=0))
    error = np.nan_to_num(limits.following_error, nan=0.05)
    integral = 2.0 * np.pi * truth.column("bandwidth") / 4.0 * error
    # a joint with a stated rotor keeps its stated bandwidth
    rotors = model.dof_armature[physics.axes.drives]
    weak = (rotors == 0.0) & ((2.0 * level > _WEAK * integral * kp) | (slope > _STEEPEST[0] * kp))
    kp = np.where(
        weak, np.maximum.reduce((kp, 2.0 * level / (_STRONG * integral), slope / _STEEPEST[1])), kp
    )
    root = np.sqrt(kp)
    return Tuning(
        kp,
        0.0,
        bool(dt * np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root).max() > _EXPLICIT),
    )


def _friction(truth: Truth, load: Array, transmitted: Array) -> tuple[Array, Array]:
    """Return the highest level of each joint's friction, and the steepest falling slope of its
    Stribeck part, each shape (n,).
    """
    coulomb, static = (
        truth.column(key) + truth.column(f"{key}_coefficient") * load
        for key in ("coulomb", "static")
    )
    loss = (1.0 / truth.column("efficiency") - 1.0) * transmitted
    level = (np.maximum(coulomb, static) + loss) * (
        1.0
        + truth.column("breakaway")
        + 2.0 * truth.column("stroke_scatter")
        + truth.column("warm_up")
        + truth.column("ripple")
    )
    power = np.maximum(1.0, truth.column("stribeck_exponent"))
    part = (power - 1.0) / power
    fall = np.maximum(0.0, static - coulomb) / truth.column("stribeck_velocity")
    return level, fall * power * part**part * np.exp(-part)
