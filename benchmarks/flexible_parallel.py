"""P3's robot: driving torques and deviation of the platform from its circle, by speed and
stiffness; MuJoCo as judge.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from benchmarks.mujoco_chains import against_mujoco
from benchmarks.page import Table
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.closed_chain import ClosedMotion, close_loops, closed_loads
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.forward_simulation import prescribed_motion
from stribeck.ident.model.driven.stick_slip_integration import ForwardMotion
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.joint_parts import Spring
from stribeck.ident.model.mechanism import Mechanism

Array = np.ndarray
NAME = "flexible-parallel"
# N·m/rad; springs behind the drives and in the flexible joints
STIFFNESS = (300.0, 600.0, 1200.0, 2400.0, 9600.0)
# rad/s on P3's circle; P3 prints results for 1.8 and 2
SPEEDS = (1.0, 1.8, 2.0, 3.0, 4.0)
# N·m/rad; the deviation along the circle is stored for this stiffness
DRAWN = 1200.0
PRINTED = {1.8: (3.21, 1.83, 0.97), 2.0: (3.62, 1.95, 1.06)}  # greatest driving torques [N·m]
# time step and time constant of MuJoCo's closures [s]
SOFTNESS = (5e-4, 2e-2), (5e-4, 5e-3), (2e-4, 1e-3)
# m; s until full speed; number of measured turns; of compared rows
_RADIUS, _RAMP, _TURNS, _ROWS = 0.1, 1.0, 1.0, 241
_STIFF = 1e8  # N·m/rad; this stiffness counts as rigid
_TOLERANCE = 1e-7
# s; longer steps would give a less accurate energy between their ends
_LONGEST = 0.1
PARTS = {"all": "", "drives": "spring", "flexible joints": "flexure", "flexible links": "link"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--judged",
        type=float,
        default=1.0,
        help="length of the comparison with MuJoCo [s]; 0 skips it",
    )
    parser.add_argument("--processes", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Sweep, compare."""
    m = load_mechanism(NAME)
    with ProcessPoolExecutor(options.processes) as pool:
        cases = {(K, speed): pool.submit(elastic, K, speed) for K in STIFFNESS for speed in SPEEDS}
        judge = (
            pool.submit(against_mujoco, NAME, options.judged, SOFTNESS) if options.judged else None
        )
        found = [[cases[K, speed].result() for speed in SPEEDS] for K in STIFFNESS]
        curves = [{key: one.pop(key) for key in ("phase", "away")} for row in found for one in row]
        judged = judge.result() if judge else []
    return {
        "stiffness": STIFFNESS,
        "speeds": SPEEDS,
        "printed": {str(key): value for key, value in PRINTED.items()},
        "rigid": [rigid(m, speed) for speed in SPEEDS],
        "elastic": found,
        "sag": {name: sag(m, name) for name in PARTS},
        "softness": SOFTNESS,
        "mujoco": judged,
        "drawn": DRAWN,
        "curves": curves[STIFFNESS.index(DRAWN) * len(SPEEDS) :][: len(SPEEDS)],
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each stiffness."""
    energy = max(motion["energy"] for row in figures["elastic"] for motion in row)
    rows = [
        [f"{stiffness:g}", *map(told, row)]
        for stiffness, row in zip(figures["stiffness"], figures["elastic"], strict=True)
    ]
    rows.append(["rigid", *(f"{max(torque):.2f}, 0, 0" for torque in figures["rigid"])])
    against = ""
    if figures["mujoco"]:
        against = f" MuJoCo with stiff constraints differs by {min(figures['mujoco']):.1e} rad."
    return Table(
        "The mechanism `flexible-parallel` follows P3's circle of 0.1 m; stiffness of springs and "
        "flexible joints, N·m/rad. Cells: greatest driving torque, N·m; greatest deviation from "
        f"the circle, and from its equilibrium, mm. Energy is balanced within {energy:.0e}."
        + against,
        ["stiffness", *(f"{speed:g} rad/s" for speed in figures["speeds"])],
        rows,
    )


def told(one: dict[str, Any]) -> str:
    """Torque [N·m] and deviations [mm] of one motion as a cell of a table."""
    return f"{max(one['torque']):.2f}, {1e3 * one['off']:.2f}, {1e3 * one['beyond']:.2f}"


def stiffened(m: Mechanism, stiffness: float) -> Mechanism:
    """The robot with other springs behind its drives and in its flexible joints,
    with a damping time of 1 ms.
    """
    changed = {
        j: Spring(stiffness, 1e-3 * stiffness)
        for j in m.springs
        if not m.names[j].startswith("link")
    }
    return replace(m, springs={**m.springs, **changed})


def sag(m: Mechanism, part: str) -> float:
    """Sag of the platform with drives at zero if only one part of the robot is elastic [m]."""
    springs = {
        j: spring if m.names[j].startswith(PARTS[part]) else Spring(_STIFF)
        for j, spring in m.springs.items()
    }
    return float(
        -equilibrium(replace(m, springs=springs), np.zeros(3))[m.names.index("platform.z")]
    )


def end(speed: float) -> float:
    """Time at the end of the circle [s]."""
    return _RAMP + _TURNS * 2.0 * np.pi / speed


def circle(m: Mechanism, t: Array, speed: float) -> ClosedMotion:
    """Motion of all joints of the rigid robot on P3's circle, with a smooth start from rest."""
    part = np.clip(t / _RAMP, 0.0, 1.0)
    phase = speed * np.where(
        t < _RAMP, _RAMP * part**4 * (2.5 - 3.0 * part + part**2), t - 0.5 * _RAMP
    )
    rate = speed * (10.0 * part**3 - 15.0 * part**4 + 6.0 * part**5)
    gain = speed * np.where(t < _RAMP, 30.0 * part**2 * (1.0 - part) ** 2 / _RAMP, 0.0)
    c, s, rest = (
        _RADIUS * np.cos(phase),
        _RADIUS * np.sin(phase),
        np.zeros((len(t), 1 + len(m.springs))),
    )
    q, dq, ddq = (
        np.column_stack((*two, rest))
        for two in (
            (c, s),
            (-s * rate, c * rate),
            (-c * rate**2 - s * gain, -s * rate**2 + c * gain),
        )
    )
    return close_loops(
        m, q, dq, ddq, [*(m.names.index(f"platform.{axis}") for axis in "xyz"), *m.springs]
    )


def rigid(m: Mechanism, speed: float) -> list[float]:
    """Greatest torque of each drive of the rigid robot at full speed [N·m]."""
    torque = closed_loads(
        replace(m, springs=dict.fromkeys(m.springs, Spring(0.0))),
        circle(m, np.linspace(_RAMP, end(speed), 1001), speed),
    ).tau
    return [float(np.abs(torque[:, j]).max()) for j in m.active]


def moved(m: Mechanism, speed: float, t: Array, tolerance: float = _TOLERANCE) -> ForwardMotion:
    """Motion of the elastic robot; its drives move like those of the rigid robot on the circle."""
    grid = np.linspace(0.0, end(speed), 1001)
    way = make_interp_spline(grid, circle(m, grid, speed).q[:, list(m.active)], 7)
    return prescribed_motion(
        m,
        lambda t: np.stack((way(t), way(t, 1), way(t, 2))),
        t,
        corners=np.arange(0.0, t[-1], _LONGEST),
        tolerance=tolerance,
    )


def elastic(stiffness: float, speed: float) -> dict[str, Any]:
    """Greatest torque of each drive at full speed, deviation from the circle and from
    equilibrium, energy balance, gaps.
    """
    m = stiffened(load_mechanism(NAME), stiffness)
    t = np.linspace(0.0, end(speed), _ROWS)
    motion, wanted = moved(m, speed, t), circle(m, t, speed)
    full, place = t >= _RAMP, [m.names.index(f"platform.{axis}") for axis in "xyz"]
    rows = np.flatnonzero(full)[::4]
    resting = np.array([equilibrium(m, drives) for drives in wanted.q[rows][:, list(m.active)]])
    energy = mechanical_energy(m, motion.q, motion.dq)
    off = energy - energy[0] - motion.driven + motion.rubbed + motion.damped
    away = np.linalg.norm((motion.q - wanted.q)[full][:, place], axis=1)
    return {
        "torque": [float(np.abs(motion.tau[full, j]).max()) for j in m.active],
        "off": float(away.max()),
        "beyond": float(np.linalg.norm((motion.q[rows] - resting)[:, place], axis=1).max()),
        "energy": float(np.abs(off).max() / max(np.ptp(energy), np.abs(motion.driven).max())),
        "gap": float(np.abs(gap(m, kinematics(m, motion.q))).max()),
        "phase": ((t[full] - 0.5 * _RAMP) * speed).tolist(),
        "away": away.tolist(),
    }
