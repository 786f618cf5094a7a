"""What a rigid model makes of the friction of an elastic joint: one link on a softer and softer spring.

The drive follows three harmonics in torque mode, by a PD controller with the rigid model's torque fed forward. In velocity
mode the arm's own loop answers the steps of its set-point within a cycle, and one torque a cycle is no mean of that; a torque
command holds for the cycle, so that what is reported is what acted.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers import Command
from drivers.simulated import SimulatedArm
from ident.armfile import ArmFile, load_arm
from ident.description import load_mechanism
from ident.dynamics import inverse_dynamics
from ident.loads import joint_loads

Array = NDArray[np.float64]
REFERENCE = Path(__file__).parent.parent / "data" / "reference" / "f_flexjoint.json"
FREQUENCY = np.array([0.5, 1.0, 1.5])       # Hz
AMPLITUDE = np.array([0.5, 0.2, 0.1])       # rad
FADE = 2.0                                  # s in which the motion grows, a period; identification starts a period later
KP, KD = 400.0, 20.0                        # N·m/rad, N·m·s/rad
SLOWEST = 0.05                              # rad/s
PARAMETERS = ("J", "mgc", "mu_r", "fv")     # names of the reference
OTHER_PHASES = ((0.0, 1.0, 2.0), (1.0, 2.0, 3.0), (0.0, 2.0, 4.0))


@dataclass(frozen=True)
class Recording:
    """Drive position, velocity and torque, and the spring's deflection, each shape (N,)."""

    rate: float
    q: Array
    dq: Array
    tau: Array
    twist: Array


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--seconds", type=float, default=14.0, help="length of a recording, from 6 s")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Record and identify at every stiffness of the reference; then again along other motions."""
    references = json.loads(REFERENCE.read_text(encoding="utf-8"))
    arm = load_arm("elastic1")
    true = truth(arm)

    def bias(values: dict[str, Any], key: str) -> str:
        return f"{100.0 * (values[key] / true[key] - 1.0):+.1f} %"

    rows = ["Beside each bias, rms and twist in brackets: the reference's.", "",
            "| K N·m/rad | locked Hz | J kg·m² | m g c N·m | mu_r m | bias | f_v N·m·s/rad | bias | rms N·m | twist rad |",
            "|---" * 10 + "|"]
    found = [experiment(arm, reference["K"], seconds=options.seconds) for reference in references]
    for entry, reference in zip(found, references, strict=True):
        rows.append(f"| {_stiffness(entry['K'])} | {entry['f_locked_Hz'] or np.inf:.1f} | {entry['J']:.5f} | "
                    f"{entry['mgc']:.4f} | {entry['mu_r']:.5f} | {bias(entry, 'mu_r')} ({bias(reference, 'mu_r')}) | "
                    f"{entry['fv']:.4f} | {bias(entry, 'fv')} ({bias(reference, 'fv')}) | "
                    f"{entry['rms']:.4f} ({reference['rms']:.4f}) | {entry['max_twist']:.4f} ({reference['max_twist']:.4f}) |")
    others = {str(phase): [experiment(arm, entry["K"], phase, options.seconds) for entry in found] for phase in OTHER_PHASES}
    rows += ["", f"True values: J {true['J']:.5f}, m g c {true['mgc']:.4f}, mu_r {true['mu_r']:.3f}, f_v {true['fv']:.2f}. "
             "Amplitudes and phases of the reference are not stated: the trend compares, the digits do not.", "",
             "The bias belongs to spring and motion together. Bias of mu_r with other phases of the three harmonics:", "",
             "| phases rad | " + " | ".join(_stiffness(entry["K"]) for entry in found) + " |", "|---" * (len(found) + 1) + "|"]
    rows += [f"| {phase} | " + " | ".join(bias(entry, "mu_r") for entry in entries) + " |" for phase, entries in others.items()]
    return {"truth": true, "found": found, "other_phases": others}, "\n".join(rows)


def _stiffness(K: float | None) -> str:
    return "inf" if K is None else f"{K:g}"


def truth(arm: ArmFile) -> dict[str, float]:
    """What a rigid model should find."""
    mechanism, joint = load_mechanism(arm), arm.simulation["joints"]["shoulder"]
    link = inverse_dynamics(mechanism, [[0.0], [0.0]], ddq=[[0.0], [1.0]])[:, 0]
    return {"J": float(link[1] - link[0]) + arm.joint("shoulder").rotor_inertia, "mgc": float(link[0]),
            "mu_r": joint["coulomb_coefficient"] * joint["bearing"]["pin_radius"], "fv": joint["viscous"]}


def experiment(arm: ArmFile, stiffness: float | None, phase: tuple[float, float, float] = (0.0, 0.0, 0.0),
               seconds: float = 14.0) -> dict[str, Any]:
    """Record one motion on one spring and identify it; keys are those of the reference."""
    link = truth(arm)["J"] - arm.joint("shoulder").rotor_inertia
    recording = record(arm, stiffness, phase, seconds)
    return {"K": stiffness, "f_locked_Hz": stiffness and float(np.sqrt(stiffness / link) / (2.0 * np.pi)),
            **identify(arm, recording), "max_twist": float(np.abs(recording.twist).max())}


def record(arm: ArmFile, stiffness: float | None, phase: tuple[float, float, float], seconds: float) -> Recording:
    """The drive follows the harmonics; stiffness K [N·m/rad] with damping 0.002 sqrt(K), None is a rigid joint."""
    joint = {key: value for key, value in arm.simulation["joints"]["shoulder"].items() if not key.startswith("stiffness")}
    if stiffness is not None:
        joint |= {"stiffness": stiffness, "stiffness_damping": 0.002 * np.sqrt(stiffness)}
    rate = arm.driver.rate
    q_ref, dq_ref, ddq_ref = motion(np.arange(round(seconds * rate)) / rate, phase)
    rigid = truth(arm)
    feed_forward = rigid["J"] * ddq_ref + rigid["mgc"] * np.cos(q_ref)
    start = replace(arm.workspace, home=(float(q_ref[0]),))
    rows = []
    with SimulatedArm(replace(arm, simulation={"joints": {"shoulder": joint}}, workspace=start)) as simulated:
        simulated.enable()
        q, dq = q_ref[0], 0.0
        for k in range(len(q_ref)):
            torque = feed_forward[k] + KP * (q_ref[k] - q) + KD * (dq_ref[k] - dq)
            sample = simulated.step(Command(np.zeros(1), np.array([torque]), ("torque",)))
            q, dq = float(sample.q[0]), float(sample.dq[0])
            rows.append((q, dq, sample.tau[0], simulated.links()[0][0] - q))
    return Recording(rate, *np.array(rows).T)


def motion(t: Array, phase: tuple[float, float, float]) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of the reference, each shape (N,); it grows from rest during the first period."""
    w, wt = 2.0 * np.pi * FREQUENCY, 2.0 * np.pi * FREQUENCY * t[:, None] + np.array(phase)
    q, dq, ddq = (np.sum(terms, axis=1) for terms in
                  (AMPLITUDE * np.sin(wt), AMPLITUDE * w * np.cos(wt), -AMPLITUDE * w**2 * np.sin(wt)))
    s = np.clip(t / FADE, 0.0, 1.0)
    fade = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    dfade, ddfade = 30.0 * (s * (1.0 - s)) ** 2 / FADE, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / FADE**2
    return fade * q, fade * dq + dfade * q, fade * ddq + 2.0 * dfade * dq + ddfade * q


def identify(arm: ArmFile, recording: Recording) -> dict[str, float]:
    """Least squares of tau = J ddq + mgc cos(q) + mu_r F(q, dq, ddq) sgn(dq) + fv dq, F the rigid model's radial force.

    A torque acted for a whole cycle; the motion that belongs to it is the cycle's mean.
    """
    q, dq = (recording.q[1:] + recording.q[:-1]) / 2.0, (recording.dq[1:] + recording.dq[:-1]) / 2.0
    ddq = np.diff(recording.dq) * recording.rate
    radial = joint_loads(load_mechanism(arm), *(values[:, None] for values in (q, dq, ddq))).radial[:, 0]
    X = np.column_stack((ddq, np.cos(q), radial * np.sign(dq), dq))
    used = (np.abs(dq) > SLOWEST) & (np.arange(len(q)) > 2.0 * FADE * recording.rate)
    X, tau = X[used], recording.tau[1:][used]
    parameters = np.linalg.lstsq(X, tau, rcond=None)[0]
    rms = float(np.sqrt(np.mean((tau - X @ parameters) ** 2)))
    return {**dict(zip(PARAMETERS, parameters.tolist(), strict=True)), "rms": rms}
