"""Calibrated friction in simulators: errors against the law while sliding, creep at rest, and time of a step.

Each simulator gets the calibration in its own way, and moves lab6 at given speeds in random postures. The torque with which its
joints resist is compared with the law of the calibration, whose loads come from stribeck's own rigid-body model.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from stribeck.experiments.calibrate import calibrate
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.formats import export
from stribeck.mujoco import attach

_STEPS = (0.001, 0.002, 0.005)          # s
_SPEEDS = np.geomspace(0.01, 1.0, 9)    # rad/s
_ARMATURE = 0.1         # kg·m² of each joint
_SETTLE = 25            # steps at the same state: friction follows the loads of the step before
_BENT = 0.01            # rad of motion before a state, which bends bristles


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--postures", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=60.0, help="time at rest")
    parser.add_argument("--seed", type=int, default=1)


@dataclass(frozen=True)
class Way:
    """A way to give MuJoCo the friction of a calibration.

    Attributes
    ----------
    model : callable
        From a calibration to the text of an MJCF.
    whole : bool
        Whether `attach` gives the model the whole law.
    """

    model: Callable[[Calibration], str]
    whole: bool = False


WAYS = {
    "stribeck.mujoco.attach": Way(lambda made: export(made, "mjcf", plain=True).text, whole=True),
    "export --to mjcf": Way(lambda made: export(made, "mjcf").text),
    "export --to mjcf --plain": Way(lambda made: export(made, "mjcf", plain=True).text),
    "the same two numbers, MuJoCo's defaults": Way(lambda made: re.sub(
        ' solimpfriction="[^"]*"', "", export(made, "mjcf", plain=True).text))}


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Calibrate lab6 in simulation, and judge all ways."""
    with tempfile.TemporaryDirectory() as folder:
        made = calibrate(load_arm("lab6"), Path(folder, "out"), CampaignOptions(seed=options.seed)).calibration
        rows = [judged(name, way, made, dt, options) for name, way in WAYS.items() for dt in _STEPS]
    return {"rows": rows}, _table(rows, made, options)


def judged(name: str, way: Way, made: Calibration, dt: float, options: argparse.Namespace) -> dict[str, Any]:
    """Errors while sliding, creep at rest, and time of a step."""
    errors = np.array(list(sliding(way, made, dt, np.random.default_rng(options.seed), options.postures)))
    truth, off = errors[:, 0], errors[:, 1]
    relative = np.sqrt(np.mean(off**2, axis=0) / np.mean(truth**2, axis=0))
    loaded = np.array([joint.load != "none" for joint in made.joints.values()])
    first, later, took = rest(way, made, dt, options.seconds)
    return {"way": name, "step": dt, "without_load": float(100.0 * relative[~loaded].max()),
            "with_load": float(100.0 * relative[loaded].max()), "first": float(np.abs(first).max()),
            "later": float(np.abs(later).max()), "us": took}


def loaded_model(way: Way, made: Calibration, dt: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return lab6 with rotors, without joint limits."""
    model = mujoco.MjModel.from_xml_string(way.model(made))
    model.opt.timestep, model.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.dof_armature[:], model.jnt_limited[:] = _ARMATURE, 0
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    mujoco.mj_resetData(model, data)
    return model, data


@contextmanager
def stepping(way: Way, model: mujoco.MjModel, data: mujoco.MjData, made: Calibration) -> Iterator[Callable[[], None]]:
    """Give the function that simulates a step with friction."""
    if not way.whole:
        yield lambda: mujoco.mj_step(model, data)
        return
    with attach(model, data, made) as friction:
        yield friction.step


def sliding(way: Way, made: Calibration, dt: float, rng: np.random.Generator,
            postures: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield friction of the law and its error at speeds in random postures, (6,) each, as the mean of both directions.

    The mean over the directions leaves out torque offsets.
    """
    model, data = loaded_model(way, made, dt)
    with stepping(way, model, data, made) as step:
        for _ in range(postures):
            posture = rng.uniform(-1.2, 1.2, 6)
            for speed in _SPEEDS:
                found = np.zeros((2, 6))
                for way_round in (1.0, -1.0):
                    expected = made.friction(posture[None], np.full((1, 6), way_round * speed))[0]
                    for _ in range(max(_SETTLE, round(_BENT / speed / dt))):
                        drive = _at(model, data, posture, way_round * speed, expected)
                        mujoco.mj_forward(model, data)
                        step()
                        data.qfrc_applied[:] -= drive
                    surplus = np.zeros(6)           # torque that accelerates, as the law and MuJoCo's friction differ
                    mujoco.mj_mulM(model, data, surplus, data.qacc)
                    found += 0.5 * way_round * np.array([expected, -surplus])
                yield found[0], found[1]


def _at(model: mujoco.MjModel, data: mujoco.MjData, posture: np.ndarray, speed: float, friction: np.ndarray) -> np.ndarray:
    """Set a state, and apply what the drives supply there: gravity, inertia and the friction of the law."""
    data.qpos[:], data.qvel[:] = posture, speed
    mujoco.mj_forward(model, data)
    drive = data.qfrc_bias + friction
    data.qfrc_applied[:] += drive
    return np.asarray(drive)


def rest(way: Way, made: Calibration, dt: float, seconds: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Motion under 0.9 of static friction: in the first two seconds, and later; and the time of a step [µs]."""
    model, data = loaded_model(way, made, dt)
    model.opt.gravity[:] = 0.0
    static = np.array([float(joint.torque([1e-6], None if joint.load == "none" else [0.0])[0]) for joint in made.joints.values()])
    with stepping(way, model, data, made) as step:
        start, took = np.zeros(6), []
        for k in range(round(seconds / dt)):
            pull = 0.9 * static * min(1.0, k * dt)
            data.qfrc_applied[:] += pull
            began = time.perf_counter()
            step()
            took.append(time.perf_counter() - began)
            data.qfrc_applied[:] -= pull
            if k == round(2.0 / dt):
                start = data.qpos.copy()
    return start, data.qpos - start, 1e6 * float(np.median(took))


def _table(rows: list[dict[str, Any]], made: Calibration, options: argparse.Namespace) -> str:
    loads = ", ".join(f"{name} {joint.law}{'' if joint.load == 'none' else f' with {joint.load}'}"
                      for name, joint in made.joints.items())
    text = [f"lab6, calibrated in simulation: {loads}. Sliding: rms error relative to rms friction of the worst joint, over "
            f"{len(_SPEEDS)} speeds from 0.01 to 1 rad/s, as the mean of both directions, in {options.postures} random postures; "
            "the motion is given, and the drives supply gravity and the friction of the law. At rest, without gravity: 0.9 of "
            "static friction pulls at each joint, reached within one second; motion of the worst joint in the first two seconds, "
            f"and in the following {options.seconds - 2.0:.0f} s. Each joint has a rotor of 0.1 kg·m². Goals: attach 0.1 %, MJCF "
            "1 % for joints without load, drift below 1e-6 rad, 0.2 ms a step.", "",
            "| friction by | step ms | sliding, joints without load % | joints with load % | first motion rad | later drift rad "
            "| µs a step |", "|---|---|---|---|---|---|---|"]
    text += [f"| {row['way']} | {1e3 * row['step']:g} | {_percent(row['without_load'])} | {_percent(row['with_load'])} "
             f"| {row['first']:.1g} | {row['later']:.1g} | {row['us']:.0f} |" for row in rows]
    return "\n".join(text)


def _percent(value: float) -> str:
    return "< 0.001" if value < 1e-3 else f"{value:.2g}"
