"""Errors of a rigid model that identifies the friction of one elastic joint or flexible
link, for falling stiffness.

The drive follows three harmonics in torque mode, with a PD controller and the torque of the rigid
model as feed-forward. A torque command is constant during a cycle, so the recorded torque is the
acting torque. In velocity mode the velocity loop of the arm responds within a cycle to each step of
the set-point, and one recorded torque per cycle is not the mean of this response.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.page import Table
from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import joint_loads

Array = NDArray[np.float64]
REFERENCE = Path(__file__).parent.parent / "data" / "reference" / "f_flexjoint.json"
FREQUENCY = np.array([0.5, 1.0, 1.5])  # Hz
AMPLITUDE = np.array([0.5, 0.2, 0.1])  # rad
# s; the motion grows during this period, identification starts one period later
FADE = 2.0
KP, KD = 400.0, 20.0  # N·m/rad, N·m·s/rad
SLOWEST = 0.05  # rad/s
PARAMETERS = ("J", "mgc", "mu_r", "fv")  # names in the reference
# phase step in turns; fills the plane evenly
SPREAD = np.array([0.0, 0.7548776662466927, 0.5698402909980532])
# frequency [rad/s] of a clamped beam's first mode per sqrt(E I / (m l^3))
CLAMPED = 1.8751041**2


@dataclass(frozen=True)
class Recording:
    """Drive position, velocity and torque, deflection of the spring [rad] and of the link's
    tip [m], each shape (N,).
    """

    rate: float
    q: Array
    dq: Array
    tau: Array
    twist: Array
    bending: Array


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--seconds", type=float, default=14.0, help="length of a recording [s], at least 6"
    )
    parser.add_argument(
        "--motions",
        type=int,
        default=16,
        help="number of motions with different phases; the first is the reference's",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Record and identify at every stiffness of the reference, of the joint and of the
    link, along every motion.
    """
    references = json.loads(REFERENCE.read_text(encoding="utf-8"))
    arm = load_arm("elastic1")
    true = truth(arm)
    stiffnesses = [reference["K"] for reference in references]
    soft = {"joint": [spring(K) for K in stiffnesses], "link": [beam(arm, K) for K in stiffnesses]}
    with ProcessPoolExecutor() as pool:
        jobs = {
            what: [
                [
                    pool.submit(experiment, arm, knobs, phase, options.seconds)
                    for phase in phases(options.motions)
                ]
                for knobs in every
            ]
            for what, every in soft.items()
        }
        found = {
            what: [[job.result() for job in row] for row in rows] for what, rows in jobs.items()
        }
    locked = [np.sqrt(K / link_inertia(arm)) / (2.0 * np.pi) if K else np.inf for K in stiffnesses]
    return {
        "truth": true,
        "reference": references,
        "stiffness": stiffnesses,
        "locked_hz": locked,
        "bending_stiffness": [
            knobs["flexible_link"]["bending_stiffness"] if knobs else None for knobs in soft["link"]
        ],
        "phases": phases(options.motions),
        "found": found,
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each stiffness, for a spring in the joint and for a link that bends."""
    true, rows = figures["truth"], []
    for k, stiffness in enumerate(figures["stiffness"]):
        cells = []
        for motions in (figures["found"]["joint"][k], figures["found"]["link"][k]):
            coulomb, viscous = (
                np.array([motion[key] / true[key] - 1.0 for motion in motions])
                for key in ("mu_r", "fv")
            )
            rms = 100.0 * float(np.sqrt(np.mean(coulomb**2)))
            cells += [_spread(coulomb), f"{rms:.1f}", f"{100.0 * np.median(viscous):+.1f}"]
        spring_of_row = "rigid" if stiffness is None else f"{stiffness:g}"
        hertz = "-" if stiffness is None else f"{figures['locked_hz'][k]:.1f}"
        rows.append([spring_of_row, hertz, *cells])
    return Table(
        f"Bias in per cent over {len(figures['phases'])} motions, median (smallest ... largest). "
        "Link: a rigid joint whose link bends, with the same first natural frequency behind the "
        "locked drive.",
        [
            "spring N·m/rad",
            "locked Hz",
            "spring: Coulomb",
            "rms",
            "viscous",
            "link: Coulomb",
            "rms",
            "viscous",
        ],
        rows,
    )


def _spread(biases: Array) -> str:
    return (
        f"{100.0 * np.median(biases):+.1f} ({100.0 * biases.min():+.1f} ... "
        f"{100.0 * biases.max():+.1f})"
    )


def phases(motions: int) -> list[tuple[float, ...]]:
    """Phases of the harmonics [rad]; the first phase is always 0, because a shift in
    time gives the same motion.
    """
    return [
        tuple(row) for row in (2.0 * np.pi * (np.arange(motions)[:, None] * SPREAD % 1.0)).tolist()
    ]


def spring(stiffness: float | None) -> dict[str, Any]:
    """Knobs of a joint with stiffness K [N·m/rad] and damping 0.002 sqrt(K);
    None gives a rigid joint.
    """
    return (
        {}
        if stiffness is None
        else {"stiffness": stiffness, "stiffness_damping": 0.002 * np.sqrt(stiffness)}
    )


def beam(arm: ArmFile, stiffness: float | None, segments: int = 4) -> dict[str, Any]:
    """Knobs of a rigid joint with a flexible link of the same first natural
    frequency and damping as a spring.
    """
    if stiffness is None:
        return {}
    mechanism = load_mechanism(arm)
    mass, length = mechanism.mass[0], 2.0 * np.linalg.norm(mechanism.com[0])
    EI = float(mass * length**3 * stiffness / link_inertia(arm) / CLAMPED**2)
    return {
        "flexible_link": {
            "bending_stiffness": EI,
            "segments": segments,
            "relaxation_time": 0.002 / np.sqrt(stiffness),
        }
    }


def truth(arm: ArmFile) -> dict[str, float]:
    """True parameters of the rigid model."""
    mechanism, joint = load_mechanism(arm), arm.simulation["joints"]["shoulder"]
    link = inverse_dynamics(mechanism, [[0.0], [0.0]], ddq=[[0.0], [1.0]])[:, 0]
    return {
        "J": float(link[1] - link[0]) + arm.joint("shoulder").rotor_inertia,
        "mgc": float(link[0]),
        "mu_r": joint["coulomb_coefficient"] * joint["bearing"]["pin_radius"],
        "fv": joint["viscous"],
    }


def link_inertia(arm: ArmFile) -> float:
    """Inertia of the rigid link about its joint [kg·m²]."""
    return truth(arm)["J"] - arm.joint("shoulder").rotor_inertia


def experiment(
    arm: ArmFile,
    knobs: dict[str, Any],
    phase: tuple[float, ...] = (0.0, 0.0, 0.0),
    seconds: float = 14.0,
) -> dict[str, Any]:
    """Record one motion of a joint with these knobs and identify the parameters; keys
    are those of the reference.
    """
    recording = record(arm, knobs, phase, seconds)
    return {
        **identify(arm, recording),
        "max_twist": float(np.abs(recording.twist).max()),
        "max_bending": float(recording.bending.max()),
    }


def record(
    arm: ArmFile, knobs: dict[str, Any], phase: tuple[float, ...], seconds: float
) -> Recording:
    """Record the harmonics with the arm's friction and these knobs."""
    joint = {
        key: value
        for key, value in arm.simulation["joints"]["shoulder"].items()
        if not key.startswith("stiffness")
    } | knobs
    rate = arm.driver.rate
    q_ref, dq_ref, ddq_ref = motion(np.arange(round(seconds * rate)) / rate, phase)
    rigid = truth(arm)
    feed_forward = rigid["J"] * ddq_ref + rigid["mgc"] * np.cos(q_ref)
    start = replace(arm.workspace, home=(float(q_ref[0]),))
    rows = []
    with SimulatedArm(
        replace(arm, simulation={"joints": {"shoulder": joint}}, workspace=start)
    ) as simulated:
        simulated.enable()
        q, dq = q_ref[0], 0.0
        for k in range(len(q_ref)):
            torque = feed_forward[k] + KP * (q_ref[k] - q) + KD * (dq_ref[k] - dq)
            sample = simulated.step(Command(np.zeros(1), np.array([torque]), ("torque",)))
            q, dq = float(sample.q[0]), float(sample.dq[0])
            rows.append(
                (
                    q,
                    dq,
                    sample.tau[0],
                    simulated.links()[0][0] - q,
                    np.linalg.norm(simulated.bending()[0]),
                )
            )
    return Recording(rate, *np.array(rows).T)


def motion(t: Array, phase: tuple[float, ...]) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of the reference, each shape (N,); it grows from
    rest during the first period.
    """
    w, wt = 2.0 * np.pi * FREQUENCY, 2.0 * np.pi * FREQUENCY * t[:, None] + np.array(phase)
    q, dq, ddq = (
        np.sum(terms, axis=1)
        for terms in (
            AMPLITUDE * np.sin(wt),
            AMPLITUDE * w * np.cos(wt),
            -AMPLITUDE * w**2 * np.sin(wt),
        )
    )
    s = np.clip(t / FADE, 0.0, 1.0)
    fade = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    dfade, ddfade = (
        30.0 * (s * (1.0 - s)) ** 2 / FADE,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / FADE**2,
    )
    return fade * q, fade * dq + dfade * q, fade * ddq + 2.0 * dfade * dq + ddfade * q


def identify(arm: ArmFile, recording: Recording) -> dict[str, float]:
    """Least squares of tau = J ddq + mgc cos(q) + mu_r F(q, dq, ddq) sgn(dq) + fv dq, F the
    rigid model's radial force.

    The torque is constant during a cycle, so the matching motion is the mean of the cycle.
    """
    q, dq = (recording.q[1:] + recording.q[:-1]) / 2.0, (recording.dq[1:] + recording.dq[:-1]) / 2.0
    ddq = np.diff(recording.dq) * recording.rate
    radial = joint_loads(load_mechanism(arm), *(values[:, None] for values in (q, dq, ddq))).radial[
        :, 0
    ]
    X = np.column_stack((ddq, np.cos(q), radial * np.sign(dq), dq))
    used = (np.abs(dq) > SLOWEST) & (np.arange(len(q)) > 2.0 * FADE * recording.rate)
    X, tau = X[used], recording.tau[1:][used]
    parameters = np.linalg.lstsq(X, tau, rcond=None)[0]
    rms = float(np.sqrt(np.mean((tau - X @ parameters) ** 2)))
    return {**dict(zip(PARAMETERS, parameters.tolist(), strict=True)), "rms": rms}
