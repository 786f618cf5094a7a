"""Tracking error of slow motion under a torque controller, with three kinds
of friction feed-forward.

All joints follow sines about home in torque mode, at speeds in the range of the Stribeck effect.
The torque is the sum of the rigid-body torque of the reference motion, a soft
proportional-derivative loop, and the friction feed-forward at the reference velocity: none,
constant and viscous friction as in a simulator, or the identified law.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck import Calibration, Feedforward
from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arrays import Array
from stribeck.ident.export.approximation import approximate
from stribeck.ident.model.dynamics import mass_matrix

SPEEDS = (0.02, 0.05, 0.2)
_AMPLITUDE = 0.1  # rad
_SWINGS = 1.5  # number of swings; the last full swing is judged
_LOOP = 3.0  # Hz; bandwidth of the feedback controller

Friction = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Tracked:
    """A recorded motion.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time [s].
    wanted, error : ndarray, shape (N, n)
        Reference position, and tracking error [rad].
    """

    t: Array
    wanted: Array
    error: Array

    @property
    def rms(self) -> Array:
        """Root mean square of the error over the last swing, shape (n,) [rad]."""
        last = self.t >= self.t[-1] * (1.0 - 1.0 / _SWINGS)
        return np.asarray(np.sqrt(np.mean(self.error[last] ** 2, axis=0)))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arm", default="lab6")
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate and follow."""
    with tempfile.TemporaryDirectory() as folder:
        campaign = Path(folder) / "campaign"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "stribeck",
                "calibrate",
                options.arm,
                "--seed",
                str(options.seed),
                "--out",
                str(campaign),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ},
        )
        calibration = Calibration.load(campaign)
        return _errors(options.arm, calibration)


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each speed and kind of feed-forward."""
    return Table(
        "Slow sines of all joints of a simulated arm; rms error in mrad. The two laws are the "
        "calibration's, and constant and viscous friction alone.",
        ["friction feed-forward", *figures["joints"]],
        [
            [motion, *(f"{error:.2f}" for error in errors)]
            for motion, errors in figures["rms_mrad"].items()
        ],
    )


def _errors(arm: str, calibration: Calibration) -> dict[str, Any]:
    """Tracking errors of all joints for each speed and kind of feed-forward."""
    errors = {
        f"up to {speed:g} rad/s, {kind}": 1e3 * follow(arm, calibration, friction, speed).rms
        for speed in SPEEDS
        for kind, friction in told(calibration).items()
    }
    return {"joints": calibration.names, "rms_mrad": errors}


def told(calibration: Calibration) -> dict[str, Friction]:
    """Kinds of friction feed-forward, each a function of (q, dq, ddq) with shape (n,)."""
    near = [approximate(joint) for joint in calibration.joints.values()]
    constant, viscous = np.array([(one.friction, one.damping) for one in near]).T
    return {
        "no friction": lambda q, dq, ddq: np.zeros(len(q)),
        "constant and viscous": lambda q, dq, ddq: constant * np.sign(dq) + viscous * dq,
        "Feedforward": Feedforward(calibration.mechanism, calibration),
    }


def follow(
    arm: str, calibration: Calibration, friction: Friction, speed: float, seed: int = 7
) -> Tracked:
    """Follow slow sines with all joints of a simulated arm; `speed` is the largest speed [rad/s],
    `seed` that of the noise.
    """
    file, mechanism = load_arm(arm), calibration.mechanism
    device, rigid = SimulatedArm(file, seed), Feedforward(mechanism, calibration).rigid
    home, n = np.array(file.home(mechanism)), mechanism.n
    inertia = np.diag(mass_matrix(mechanism, home[None])[0]) + rotors(file, mechanism.names)
    w = 2.0 * np.pi * _LOOP
    kp, kd = inertia * w**2, 2.0 * inertia * w
    rate = speed / _AMPLITUDE
    t = np.arange(int(_SWINGS * 2.0 * np.pi / rate * device.rate)) / device.rate
    sine, cosine = np.sin(rate * t), np.cos(rate * t)
    wanted = home + _AMPLITUDE * (1.0 - cosine)[:, None] * np.ones(n)  # starts at rest
    error, torque_mode = np.empty_like(wanted), ("torque",) * n
    device.enable()
    sample = device.step(Command(np.zeros(n)))
    for k in range(len(t)):
        q, dq, ddq = wanted[k], np.full(n, speed * sine[k]), np.full(n, speed * rate * cosine[k])
        torque = (
            rigid(q, dq, ddq) + friction(q, dq, ddq) + kp * (q - sample.q) + kd * (dq - sample.dq)
        )
        sample = device.step(Command(dq, torque, torque_mode))
        error[k] = q - sample.q
    return Tracked(t, wanted, error)


def rotors(file: ArmFile, names: tuple[str, ...]) -> Array:
    """Rotor inertia at the joint, shape (n,) [kg·m²]."""
    tables = [file.joints[name] for name in names]
    return np.array(
        [(table.rotor_inertia or 0.0) * (table.gear_ratio or 1.0) ** 2 for table in tables]
    )
