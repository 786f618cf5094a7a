"""Errors of a rigid model that identifies the friction of one elastic joint or flexible
link, for falling stiffness.

The drive follows three harmonics in torque mode, with a PD controller and the torque of the rigid
model as feed-forward. A torque command is constant during a cycle, so the recorded torque is the
acting torque. In velocity mode the velocity loop of the arm responds within a cycle to each step of
the set-point, and one recorded torque per cycle is not the mean of this response.
"""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
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
    text = [
        "## Along the reference's motion",
        "",
        "All phases are zero. Values in brackets are those of the reference, which states neither "
        "amplitudes nor phases: "
        "compare the trends, not the digits.",
        "",
        "| K N·m/rad | locked Hz | J kg·m² | m g c N·m | mu_r m | bias | f_v N·m·s/rad | bias | "
        "rms N·m | twist rad |",
        "|---" * 10 + "|",
    ]
    for K, hertz, (entry, *_), reference in zip(
        stiffnesses, locked, found["joint"], references, strict=True
    ):
        biases = {
            key: f"{_percent(entry[key] / true[key] - 1.0)} "
            f"({_percent(reference[key] / true[key] - 1.0)})"
            for key in true
        }
        text.append(
            f"| {K or np.inf:g} | {hertz:.1f} | {entry['J']:.5f} | {entry['mgc']:.4f} | "
            f"{entry['mu_r']:.5f} | "
            f"{biases['mu_r']} | {entry['fv']:.4f} | {biases['fv']} | {entry['rms']:.4f} "
            f"({reference['rms']:.4f}) | "
            f"{entry['max_twist']:.4f} ({reference['max_twist']:.4f}) |"
        )
    text += [
        "",
        f"True values: J {true['J']:.5f}, m g c {true['mgc']:.4f}, mu_r {true['mu_r']:.3f}, f_v "
        f"{true['fv']:.2f}.",
        "",
        f"## Along {options.motions} motions",
        "",
        "The same harmonics with evenly spread phases, including zero phases. Bias over the "
        "motions: median (smallest "
        '... largest), and root mean square. "Spring": a joint with a spring. "Link": a rigid '
        "joint whose link "
        "bends, a beam of four segments. Its E I gives it the same first natural frequency behind "
        "the locked drive as "
        "the spring.",
        "",
        "| locked Hz | spring: mu_r | rms | f_v | E I N·m² | link: mu_r | rms | f_v | tip bends "
        "by at most mm |",
        "|---" * 9 + "|",
    ]
    bias = {
        (what, key): np.array([[entry[key] / true[key] - 1.0 for entry in row] for row in rows])
        for what, rows in found.items()
        for key in ("mu_r", "fv")
    }
    for k, (hertz, knobs) in enumerate(zip(locked, soft["link"], strict=True)):
        EI = knobs["flexible_link"]["bending_stiffness"] if knobs else np.inf
        bends = 1e3 * max(entry["max_bending"] for entry in found["link"][k])
        spreads = {
            what: f"{_spread(bias[what, 'mu_r'][k])} | {100.0 * _rms(bias[what, 'mu_r'])[k]:.1f} "
            "% | "
            f"{_spread(bias[what, 'fv'][k])}"
            for what in soft
        }
        text.append(
            f"| {hertz:.1f} | {spreads['joint']} | {EI:.4g} | {spreads['link']} | {bends:.1f} |"
        )
    text += [
        "",
        "Growth of the Coulomb bias with falling stiffness:",
        "",
        *(
            f"- {name}: {_holds(bias[what, 'mu_r'], locked)}"
            for what, name in (("joint", "spring"), ("link", "link"))
        ),
    ]
    return {
        "truth": true,
        "stiffness": stiffnesses,
        "phases": phases(options.motions),
        "found": found,
    }, "\n".join(text)


def _percent(value: float) -> str:
    return f"{100.0 * value:+.1f} %"


def _spread(biases: Array) -> str:
    return (
        f"{_percent(float(np.median(biases)))} ({100.0 * biases.min():+.1f} ... "
        f"{100.0 * biases.max():+.1f})"
    )


def _rms(bias: Array) -> Array:
    """Root mean square over the motions, shape (K,)."""
    return np.asarray(np.sqrt(np.mean(bias**2, axis=1)))


def _holds(bias: Array, locked: Sequence[float]) -> str:
    """Describe the trend of the bias of each stiffness and motion, shape (K,
    motions), from rigid to soft.
    """
    motions, falls = bias.shape[1], np.diff(bias, axis=0) < 0.0
    median = np.diff(np.median(bias, axis=1)) < 0.0
    since = next(k for k in range(len(locked)) if median[k:].all())
    always = ", ".join(
        f"{hertz:.1f}" for hertz, row in zip(locked[1:], bias[1:], strict=True) if (row < 0.0).all()
    )
    return (
        "the root mean square over the motions "
        f"{'grows' if (np.diff(_rms(bias)) > 0.0).all() else 'does not grow'} at "
        f"every step. The median falls at every step from {locked[since]:.1f} Hz on. The bias "
        "itself falls at every step "
        f"from there along {int(falls[since:].all(axis=0).sum())} of {motions} motions, and from "
        "the rigid arm on along "
        f"{int(falls.all(axis=0).sum())}. Coulomb friction is too small along all motions at "
        f"{always or 'no'} Hz, and at "
        f"{locked[-1]:.1f} Hz along {int((bias[-1] < 0.0).sum())} of {motions}."
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
