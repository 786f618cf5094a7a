"""Gains of the simulated drives' velocity loops, and how fast the physics has to be stepped for loops and springs."""

from contextlib import suppress
from dataclasses import dataclass
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

_FINEST_RATE = 20000.0     # Hz up to which springs may ask for steps of the physics
_SPRING_ANGLE = 0.2        # rad of its swing that a spring may take in a step: its frequency is then right within 0.2 %
_HIGHEST_ANGLE = 1.0       # rad; the same for what the hinges of a beam swing beyond its first mode: stable, 4 % off
_LOOP_STEP = 0.5           # part of a velocity error that the loop may take away in a step, where a spring bares the rotor
_EXPLICIT = 1.2            # the same for rigid joints at any posture; beyond, loops take a step's end (at 2 they would swing)
_WEAK = 0.6                # part of its following error by which a joint may fall behind when its friction turns round,
_STRONG = 0.2              # and that by which it does where its loop is made stronger for its friction
_STEEPEST = 1.2, 0.5       # the same for the slope at which friction falls, over kp: else slow motion sticks and slips
_POSTURES = 64             # random ones at which loops are looked at


@dataclass(frozen=True)
class Tuning:
    """Result of `tune`.

    Attributes
    ----------
    kp : ndarray, shape (n,)
        Gains of the velocity loops [N·m·s/rad].
    rate : float
        Steps of the physics a second that springs need; 0 without springs [Hz].
    stiff : bool
        Whether the loops are too stiff to be computed with velocities of a step's begin.
    """

    kp: Array
    rate: float
    stiff: bool = False


def tune(physics: PhysicsModel, data: "mujoco.MjData", limits: Limits, dt: float, path: Path) -> Tuning:
    """Tune the velocity loops at the posture of `data`.

    The gains are those of a rigid joint: a drive is tuned for the inertia of rotor and link together. Where no rotor is stated
    and the link alone is so light that friction would hold it up, the drive is stronger. Whether steps of the physics of `dt`
    follow such loops is looked at all over the joints' ranges, `limits`.

    Raises
    ------
    InputError
        If a rotor is too light or a spring too stiff for the finest step; names the key of the arm file `path`.
    """
    model, axes, truth = physics.model, physics.axes, physics.truth
    mujoco.mj_forward(model, data)
    M = physics.inertia(data)
    inertia = np.diag(M) if physics.loops else np.diag(M)[axes.drives]
    kp = 2.0 * np.pi * truth.column("bandwidth") * inertia
    if physics.loops:               # else joints creep by what they would weigh alone
        model.dof_invweight0[axes.drives] = np.diag(np.linalg.inv(M))
    if not len(axes.springs):
        return _rigid(physics, kp, limits, dt)
    model.dof_invweight0[axes.drives] = 1.0 / inertia       # else a rotor creeps more than a rigid joint where it sticks
    soft = np.unique(axes.owner)
    loop = (kp * np.diag(np.linalg.inv(M))[axes.drives])[soft] / _LOOP_STEP
    if loop.max() > _FINEST_RATE:
        joint = int(soft[np.argmax(loop)])
        raise InputError(f"{path}: joints.{physics.names[joint]}.rotor_inertia is too small, with this elastic link, for a "
                         f"velocity loop of {truth.joints[joint].bandwidth:g} Hz; make it "
                         f"{loop.max() / _FINEST_RATE:.3g} times as large")
    squares, modes = eigh(np.diag(model.jnt_stiffness), M)          # the drives' own come first, at zero
    swings = np.sqrt(np.maximum(squares, 0.0))
    first = len(physics.names) + axes.behind + 2 * len(physics.beams)    # a beam bends about two axes
    rates = np.concatenate((swings[:first] / _SPRING_ANGLE, swings[first:] / _HIGHEST_ANGLE))
    fastest = int(np.argmax(rates))
    if rates[fastest] > _FINEST_RATE:
        stored = model.jnt_stiffness[axes.springs] * modes[axes.springs, fastest] ** 2
        name, knob, value = physics.spring_key(int(np.argmax(stored)))
        raise InputError(f"{path}: {knob} = {value:g}: {name} would vibrate at {swings[fastest] / 2.0 / np.pi:.0f} Hz; "
                         f"the physics at {_FINEST_RATE:g} Hz follow values up to about "
                         f"{value * (_FINEST_RATE / rates[fastest]) ** 2:.2g}. Fewer segments vibrate more slowly; without "
                         "this key the part is rigid")
    return Tuning(kp, max(float(rates[fastest]), float(loop.max())))


def _rigid(physics: PhysicsModel, kp: Array, limits: Limits, dt: float) -> Tuning:
    """Loops of rigid joints, strong enough for friction wherever the arm may be."""
    model, truth = physics.model, physics.truth
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    low, high = np.where(np.isfinite(limits.position), limits.position, [-np.pi, np.pi]).T
    scales, told = Scales(physics), []
    for q in rng.uniform(low, high, (_POSTURES, len(kp))):
        if physics.loops is None:
            physics.stand(data, q)
            told.append((physics.inertia(data), *scales(q)))
            continue
        with suppress(DriverError):             # loops do not close everywhere, and drives do not hold them everywhere
            physics.stand(data, rng.uniform() * q)
            if not (np.abs(physics.held(data)) > limits.torque).any():
                told.append((physics.inertia(data), *scales(data.qpos[physics.axes.drives])))
    M, load, transmitted = (np.array(values) for values in zip(*told, strict=True))
    if physics.loops:               # the inertia that a drive meets depends on the posture, and so strongly as nowhere in a tree
        kp = 2.0 * np.pi * truth.column("bandwidth") * M.diagonal(axis1=1, axis2=2).max(axis=0)
    level, slope = _friction(truth, np.abs(load).max(axis=0), np.abs(transmitted).max(axis=0))
    integral = 2.0 * np.pi * truth.column("bandwidth") / 4.0 * np.nan_to_num(limits.following_error, nan=0.05)
    rotors = model.dof_armature[physics.axes.drives]        # a joint that states one is as strong as it says
    weak = (rotors == 0.0) & ((2.0 * level > _WEAK * integral * kp) | (slope > _STEEPEST[0] * kp))
    kp = np.where(weak, np.maximum.reduce((kp, 2.0 * level / (_STRONG * integral), slope / _STEEPEST[1])), kp)
    root = np.sqrt(kp)
    return Tuning(kp, 0.0, bool(dt * np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root).max() > _EXPLICIT))


def _friction(truth: Truth, load: Array, transmitted: Array) -> tuple[Array, Array]:
    """Highest level of each joint's friction, and the steepest fall with speed that its Stribeck part has, each shape (n,)."""
    coulomb, static = (truth.column(key) + truth.column(f"{key}_coefficient") * load for key in ("coulomb", "static"))
    loss = (1.0 / truth.column("efficiency") - 1.0) * transmitted
    level = (np.maximum(coulomb, static) + loss) * (1.0 + truth.column("breakaway") + 2.0 * truth.column("stroke_scatter")
                                                    + truth.column("warm_up") + truth.column("ripple"))
    power = np.maximum(1.0, truth.column("stribeck_exponent"))
    part = (power - 1.0) / power
    return level, np.maximum(0.0, static - coulomb) / truth.column("stribeck_velocity") * power * part**part * np.exp(-part)
