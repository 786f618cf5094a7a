"""Gains of the simulated drives' velocity loops, and how fast the physics has to be stepped for loops and springs."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from scipy.linalg import eigh

from stribeck.drivers.arm import Array
from stribeck.drivers.simulation.physics_model import PhysicsModel
from stribeck.ident.errors import InputError

_FINEST_RATE = 20000.0     # Hz up to which springs may ask for steps of the physics
_SPRING_ANGLE = 0.2        # rad of its swing that a spring may take in a step: its frequency is then right within 0.2 %
_HIGHEST_ANGLE = 1.0       # rad; the same for what the hinges of a beam swing beyond its first mode: stable, 4 % off
_LOOP_STEP = 0.5           # part of a velocity error that the loop may take away in a step, where a spring bares the rotor


@dataclass(frozen=True)
class Tuning:
    """Result of `tune`.

    Attributes
    ----------
    kp : ndarray, shape (n,)
        Gains of the velocity loops [N·m·s/rad].
    rate : float
        Steps of the physics a second that springs need; 0 without springs [Hz].
    """

    kp: Array
    rate: float


def tune(physics: PhysicsModel, data: "mujoco.MjData", path: Path) -> Tuning:
    """Tune the velocity loops at the posture of `data`.

    The gains are those of a rigid joint: a drive is tuned for the inertia of rotor and link together.

    Raises
    ------
    InputError
        If a rotor is too light or a spring too stiff for the finest step; names the key of the arm file `path`.
    """
    model, axes, truth = physics.model, physics.axes, physics.truth
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv), strict=True):      # mj_fullM takes other arguments in every few versions
        mujoco.mj_mulM(model, data, column, unit)
    inertia = np.diag(M)[axes.drives]
    kp = 2.0 * np.pi * truth.column("bandwidth") * inertia
    if not len(axes.springs):
        return Tuning(kp, 0.0)
    model.dof_invweight0[axes.drives] = 1.0 / inertia       # else a rotor creeps more than a rigid joint where it sticks
    soft = np.unique(axes.owner)
    loop = (kp * np.diag(np.linalg.inv(M))[axes.drives])[soft] / _LOOP_STEP
    if loop.max() > _FINEST_RATE:
        joint = int(soft[np.argmax(loop)])
        raise InputError(f"{path}: joints.{physics.names[joint]}.rotor_inertia is too small beside the elastic link for a "
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
        raise InputError(f"{path}: {knob} = {value:g}: {name} would swing at {swings[fastest] / 2.0 / np.pi:.0f} Hz; "
                         f"physics at {_FINEST_RATE:g} Hz follows it up to about "
                         f"{value * (_FINEST_RATE / rates[fastest]) ** 2:.2g}. Fewer segments swing slower; without the "
                         "key it is rigid")
    return Tuning(kp, max(float(rates[fastest]), float(loop.max())))
