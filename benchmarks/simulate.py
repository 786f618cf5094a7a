"""Forward dynamics: speed, energy balance and closed loops of `forward_motion`, MuJoCo
as judge, and P3's trends.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from benchmarks.mujoco_chains import SOFTNESS, against_mujoco, rubbing_against_mujoco
from benchmarks.page import Table
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.loop_geometry import gap
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import driving_torque
from stribeck.ident.model.driven.forward_simulation import forward_motion
from stribeck.ident.model.dynamics import joint_origins, kinematics
from stribeck.ident.model.elastic_joints import flexible_link
from stribeck.ident.model.energy import mechanical_energy
from stribeck.ident.model.joint_parts import Spring
from stribeck.ident.model.mechanism import Mechanism

# N·m/rad; springs behind the drives and in the flexible joint
STIFFNESS = (300.0, 600.0, 1200.0, 2400.0, 9600.0)
# rad/s on P3's circle; P3 prints results for 1.8 and 2
SPEEDS = (1.0, 1.8, 2.0, 3.0, 4.0)
# m; radius and centre of P3's circle, and the two lengths of the arm
_RADIUS, _CENTRE, _FIRST, _SECOND = 0.1, 0.95, 0.4, 0.94
# s until full speed; number of measured turns
_RAMP, _TURNS = 1.0, 1.0
# N·m/rad and N·m·s/rad of the drives' position loops
_SERVO, _DAMPER = 2e4, 100.0

Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--long", type=float, default=60.0)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Simulate, compare, sweep."""
    found = {name: _simulated(*case, options.seconds) for name, case in _cases().items()}
    found |= {
        f"{name}, {options.long:g} s": _simulated(*_cases()[name], options.long)
        for name in ("three-loop chain, no friction", "planar 3-PRR, friction by load")
    }
    judged = {name: against_mujoco(name, 0.3) for name in ("planar-3-prr", "gough-stewart")}
    judged["planar-3-prr, friction by load"] = rubbing_against_mujoco(0.6)
    rigid, elastic = trends()
    return {
        "motions": found,
        "softness": SOFTNESS,
        "mujoco": judged,
        "stiffness": STIFFNESS,
        "speeds": SPEEDS,
        "rigid": rigid,
        "elastic": elastic,
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each motion."""
    judged = ", ".join(f"{name} {errors[-1]:.1e}" for name, errors in figures["mujoco"].items())
    return Table(
        "Energy: largest imbalance between energy and work, relative to the largest energy or "
        "work. Largest difference of a joint from MuJoCo with constraints of "
        f"{1e3 * figures['softness'][-1][1]:g} ms, rad or m: {judged}.",
        ["motion", "joints stop or break loose", "time s", "energy", "gap of loops, m or rad"],
        [
            [
                name,
                motion["events"],
                f"{motion['seconds']:.1f}",
                f"{motion['energy']:.0e}",
                "-" if motion["gap"] is None else f"{motion['gap']:.0e}",
            ]
            for name, motion in figures["motions"].items()
        ],
    )


def _cases() -> dict[str, tuple[Mechanism, Torque, np.ndarray]]:
    """Mechanisms, torques and starts."""
    tree, arm, loops, planar, stewart = (
        load_mechanism(name)
        for name in (
            "five-axis-tree",
            "flexible-arm",
            "three-loop-chain",
            "planar-3-prr",
            "gough-stewart",
        )
    )
    beam = flexible_link(
        arm, "flexure 2", (0.8, 0.0, 0.0), 2.07e11 * np.pi * 0.01475**4 / 4.0, 8, 1e-4
    )
    return {
        "five-axis tree, friction by load": (tree, _swung(tree, 5.0, 20.0), np.zeros(5)),
        "flexible arm": (arm, _shaken(arm), equilibrium(arm, np.zeros(arm.n))),
        "flexible arm with a beam of 8 segments": (
            beam,
            _shaken(beam),
            equilibrium(beam, np.zeros(beam.n)),
        ),
        "three-loop chain, no friction": (
            replace(loops, friction={}),
            lambda t, q, dq: np.zeros(loops.n),
            np.array([0.3]),
        ),
        "planar 3-PRR, friction by load": (planar, _swung(planar, 15.0, 300.0), np.zeros(3)),
        "Gough-Stewart, friction of balls and sliders": (
            stewart,
            _swung(stewart, 3.0, 300.0, 28.0),
            np.zeros(6),
        ),
    }


def _swung(m: Mechanism, size: float, stiffness: float, carried: float = 0.0) -> Torque:
    """Springs and oscillating forces on the drives."""
    active = list(m.active)

    def torque(t: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        out = np.zeros(m.n)
        out[active] = (
            carried
            + size * np.sin(3.0 * t + np.arange(len(active)))
            - stiffness * (q[active] + 0.02 * dq[active])
        )
        return out

    return torque


def _shaken(m: Mechanism) -> Torque:
    """Position loops about the posture at rest, moved by 0.1 rad."""
    rest = equilibrium(m, np.zeros(m.n))
    hold, active = driving_torque(m, [rest], [0.0 * rest], [0.0 * rest]).tau[0], list(m.active)

    def torque(t: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        out = hold.copy()
        out[active] += np.array([200.0, 200.0, 2.0]) * (
            0.1 * np.sin(3.0 * t) - (q - rest)[active] - 0.1 * dq[active]
        )
        return out

    return torque


def _simulated(m: Mechanism, torque: Torque, start: np.ndarray, seconds: float) -> dict[str, Any]:
    """One motion: time, events, energy, gaps."""
    t, began = np.linspace(0.0, seconds, round(100 * seconds) + 1), time.process_time()
    motion = forward_motion(m, torque, start, np.zeros(len(start)), t)
    spent = time.process_time() - began
    energy = mechanical_energy(m, motion.q, motion.dq)
    size = max(
        np.ptp(energy),
        np.abs([motion.driven, motion.rubbed, motion.damped]).max(),
        (energy - mechanical_energy(m, motion.q, 0.0 * motion.dq)).max(),
    )
    off = energy - energy[0] - motion.driven + motion.rubbed + motion.damped
    return {
        "seconds": spent,
        "events": len(motion.events),
        "energy": float(np.abs(off).max() / size),
        "gap": float(np.abs(gap(m, kinematics(m, motion.q))).max()) if m.closures else None,
    }


def trends() -> tuple[list[float], list[list[tuple[float, float, float]]]]:
    """P3's circle on the flexible arm: greatest torque of the rigid arm by speed;
    `_tracked` by stiffness and speed.
    """
    arm = load_mechanism("flexible-arm")
    times = {speed: np.linspace(_RAMP, _end(speed), 1001) for speed in SPEEDS}
    rigid = [
        float(np.abs(_rigid_torque(arm, *_circle(t, speed))[:, 0]).max())
        for speed, t in times.items()
    ]
    return rigid, [[_tracked(arm, stiffness, speed) for speed in SPEEDS] for stiffness in STIFFNESS]


def _end(speed: float) -> float:
    return _RAMP + _TURNS * 2.0 * np.pi / speed


def _circle(t: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Motion of shoulder and elbow on P3's circle in the vertical plane, with a smooth
    start from rest, (N, 2) each.
    """
    part = np.clip(t / _RAMP, 0.0, 1.0)
    phase = speed * np.where(
        t < _RAMP, _RAMP * part**4 * (2.5 - 3.0 * part + part**2), t - 0.5 * _RAMP
    )

    def posture(phase: np.ndarray) -> np.ndarray:
        x, z = _CENTRE + _RADIUS * np.cos(phase), _RADIUS * np.sin(phase)
        bend = np.arccos((x**2 + z**2 - _FIRST**2 - _SECOND**2) / (2.0 * _FIRST * _SECOND))
        return np.stack(
            (
                np.arctan2(z, x)
                + np.arctan2(_SECOND * np.sin(bend), _FIRST + _SECOND * np.cos(bend)),
                -bend,
            ),
            axis=1,
        )

    def rate(t: np.ndarray) -> np.ndarray:
        part = np.clip(t / _RAMP, 0.0, 1.0)
        return speed * (10.0 * part**3 - 15.0 * part**4 + 6.0 * part**5)

    d = 1e-4
    slope = (posture(phase + d) - posture(phase - d)) / (2.0 * d)
    bent = (posture(phase + d) - 2.0 * posture(phase) + posture(phase - d)) / d**2
    w = rate(t)
    gain = speed * np.where(t < _RAMP, 30.0 * part**2 * (1.0 - part) ** 2 / _RAMP, 0.0)
    return posture(phase), slope * w[:, None], bent * w[:, None] ** 2 + slope * gain[:, None]


def _rigid_torque(arm: Mechanism, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    """Torques of shoulder and elbow with all springs locked."""
    whole = [np.zeros((len(q), arm.n)) for _ in range(3)]
    for value, full in zip((q, dq, ddq), whole, strict=True):
        full[:, [0, 2]] = value
    return driving_torque(replace(arm, springs={}, passive=()), *whole).tau[:, [0, 2]]


def _tracked(arm: Mechanism, stiffness: float, speed: float) -> tuple[float, float, float]:
    """Greatest torque of the shoulder, and deviation of the wrist from the circle and from
    its sag at rest [N·m, m, m].

    At full speed, under the rigid arm's torques and stiff position loops of the drives.
    """
    m = replace(arm, springs=dict.fromkeys(arm.springs, Spring(stiffness, 1e-3 * stiffness)))
    grid = np.linspace(0.0, _end(speed), 2001)
    motion = _circle(grid, speed)
    told = make_interp_spline(
        grid, np.hstack((_rigid_torque(arm, *motion), motion[0], motion[1])), 5
    )

    def torque(t: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        ahead, wanted, rate = np.split(told(t), 3)
        out = np.zeros(m.n)
        out[[0, 2]] = ahead + _SERVO * (wanted - q[[0, 2]]) + _DAMPER * (rate - dq[[0, 2]])
        out[6] = -dq[6] - 10.0 * q[6]
        return out

    start = np.zeros(m.n)
    start[[0, 2]] = motion[0][0]
    t = np.linspace(0.0, _end(speed), 201)
    found = forward_motion(m, torque, equilibrium(m, start), np.zeros(m.n), t, tolerance=1e-6)
    wanted = np.zeros((len(t), m.n))
    wanted[:, [0, 2]] = _circle(t, speed)[0]
    full = t >= _RAMP
    tip, circle = (joint_origins(m, q[full])[:, 6] for q in (found.q, wanted))
    sagged = joint_origins(m, [equilibrium(m, posture) for posture in wanted[full]])[:, 6]
    off, beyond = (float(np.linalg.norm(tip - place, axis=1).max()) for place in (circle, sagged))
    return float(np.abs(found.tau[full, 0]).max()), off, beyond
