"""Public arms with `stribeck init` and `stribeck calibrate`: success in simulation, computing
time, and friction error.

Every arm comes from a public package. The only change to the arm file is the maker's usual ready
posture, if there is one. `calibrate` assumes the values that `init` marks as needed. Each arm has
the friction that `init` guesses, with noise and scatter between strokes. There are three truths:
with rotor inertia and scatter, without rotor inertia, and with noise only.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from benchmarks.page import Table
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import load_run
from stribeck.ident.model.loads import JointLoads, joint_loads

# speeds and loads of the error measure; positions of a run whose loads are computed
_SPEEDS, _LOADS, _MET = 50, 20, 2000
_PATIENCE = 600.0  # s; timeout of a command
_UR = (0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0)
_ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
_EXAMPLES, _GYMNASIUM, _ROBOSUITE = "example-robot-data", "gymnasium", "robosuite"


@dataclass(frozen=True)
class PublicArm:
    """A model of a package, the joints of the arm, and its usual ready posture, if there is one.

    `joints` is the common beginning of the joint names, or a list of names; if empty, all joints of
    the model belong to the arm.
    """

    package: str
    file: str
    joints: tuple[str, ...] = ()
    home: tuple[float, ...] | None = None

    @property
    def path(self) -> Path | None:
        """Return the path of the model; None if its package is not installed."""
        if self.package == _EXAMPLES:
            try:
                return Path(str(distribution(self.package).locate_file(_ROBOTS))) / self.file
            except PackageNotFoundError:
                return None
        found = importlib.util.find_spec(self.package)
        return Path(found.origin).parent / self.file if found and found.origin else None


def _numbered(pattern: str, *numbers: int | str) -> tuple[str, ...]:
    return tuple(pattern.format(number) for number in numbers)


_SEVEN = tuple(range(1, 8))
_GYM_ARM = (
    "r_shoulder_pan_joint",
    "r_shoulder_lift_joint",
    "r_upper_arm_roll_joint",
    "r_elbow_flex_joint",
    "r_forearm_roll_joint",
    "r_wrist_flex_joint",
    "r_wrist_roll_joint",
)
ARMS = {
    "ur3": PublicArm(_EXAMPLES, "ur_description/urdf/ur3_robot.urdf", home=_UR),
    "ur5": PublicArm(_EXAMPLES, "ur_description/urdf/ur5_robot.urdf", home=_UR),
    "ur10": PublicArm(_EXAMPLES, "ur_description/urdf/ur10_robot.urdf", home=_UR),
    "ur5-limited": PublicArm(_EXAMPLES, "ur_description/urdf/ur5_joint_limited_robot.urdf"),
    "ur5-gripper": PublicArm(_EXAMPLES, "ur_description/urdf/ur5_gripper.urdf", home=_UR),
    "panda": PublicArm(
        _EXAMPLES,
        "panda_description/urdf/panda.urdf",
        _numbered("panda_joint{}", *_SEVEN),
        (0.0, -0.7854, 0.0, -2.3562, 0.0, 1.5708, 0.7854),
    ),
    "xarm7": PublicArm(_EXAMPLES, "xarm_description/urdf/xarm7.urdf"),
    "z1": PublicArm(_EXAMPLES, "z1_description/urdf/z1.urdf", _numbered("joint{}", *range(1, 7))),
    "b1-z1": PublicArm(
        _EXAMPLES, "b1_description/urdf/b1-z1.urdf", _numbered("joint{}", *range(1, 7))
    ),
    "kinova-j2s6s200": PublicArm(_EXAMPLES, "kinova_description/robots/kinova.urdf"),
    "so100": PublicArm(_EXAMPLES, "so_arm_description/urdf/so100.urdf"),
    "so101": PublicArm(_EXAMPLES, "so_arm_description/urdf/so101.urdf"),
    "talos-arm": PublicArm(
        _EXAMPLES,
        "talos_data/robots/talos_left_arm.urdf",
        _numbered("arm_left_{}_joint", *range(2, 8)),
    ),
    "tiago-arm": PublicArm(
        _EXAMPLES, "tiago_description/robots/tiago_no_hand.urdf", _numbered("arm_{}_joint", *_SEVEN)
    ),
    "tiago-pro-arm": PublicArm(
        _EXAMPLES,
        "tiago_pro_description/robots/tiago_pro.urdf",
        _numbered("arm_left_{}_joint", *_SEVEN),
    ),
    "baxter-left": PublicArm(
        _EXAMPLES,
        "baxter_description/urdf/baxter.urdf",
        _numbered("left_{}", "s0", "s1", "e0", "e1", "w0", "w1", "w2"),
    ),
    "pr2-right": PublicArm(_EXAMPLES, "pr2_description/urdf/pr2.urdf", _GYM_ARM),
    "g1-left": PublicArm(
        _EXAMPLES,
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        _numbered(
            "left_{}_joint",
            "shoulder_pitch",
            "shoulder_roll",
            "shoulder_yaw",
            "elbow",
            "wrist_roll",
            "wrist_pitch",
            "wrist_yaw",
        ),
    ),
    "alex-left": PublicArm(
        _EXAMPLES,
        "alex_description/urdf/alex_nub_hands.urdf",
        _numbered(
            "Left{}",
            "ShoulderPitch",
            "ShoulderRoll",
            "ShoulderYaw",
            "ElbowPitch",
            "WristYaw",
            "WristRoll",
            "GripperYaw",
        ),
    ),
    "allegro-finger": PublicArm(
        _EXAMPLES,
        "allegro_hand_description/urdf/allegro_left_hand.urdf",
        _numbered("joint_{}.0", *range(4)),
    ),
    "asr-twodof": PublicArm(_EXAMPLES, "asr_twodof_description/urdf/TwoDofs.urdf"),
    "finger-edu": PublicArm(_EXAMPLES, "finger_edu_description/robots/finger_edu.urdf"),
    "reacher": PublicArm(_GYMNASIUM, "envs/mujoco/assets/reacher.xml", ("joint0", "joint1")),
    "pusher": PublicArm(_GYMNASIUM, "envs/mujoco/assets/pusher_v5.xml", _GYM_ARM),
    **{
        f"robosuite-{name}": PublicArm(_ROBOSUITE, f"models/assets/robots/{name}/robot.xml")
        for name in ("panda", "sawyer", "iiwa", "jaco", "kinova3", "ur5e", "xarm7")
    },
}
TRUTHS = ("as init guesses", "no rotor inertia", "noise alone")
_PARAMETERS = ("coulomb", "static", "viscous", "stribeck_velocity")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=TRUTHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="3min", help="robot time of each campaign")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel campaigns")
    parser.add_argument("--keep", type=Path, help="folder that keeps the campaigns")
    parser.add_argument(
        "--parts", action="store_true", help="print only and leave the page unchanged"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate every installed arm and judge the results."""
    cases = [(name, truth) for name in options.arms for truth in options.truths]

    def one(case: tuple[str, str]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(options.keep or folder) / "-".join(case).replace(" ", "-")
            place.mkdir(parents=True)
            found = init_and_calibrate(*case, place, options.seed, options.budget)
            found["said"] = found["said"].replace(f"{place}/", "")
        print(json.dumps(found), file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, cases))
    return {"cases": results}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each kind of truth."""
    tried = [case for case in figures["cases"] if "init_s" in case]
    rows = []
    for truth in dict.fromkeys(case["truth"] for case in tried):
        asked = [case for case in tried if case["truth"] == truth]
        passed = [case for case in asked if case["ok"]]
        errors = [100.0 * max(case["error"].values()) for case in passed]
        bands = [100.0 * share for case in passed for share in case["held"].values()]
        seconds = [case["seconds"] for case in passed]
        rows.append(
            [
                truth,
                f"{len(passed)} of {len(asked)}",
                f"{np.median(seconds):.0f} ({max(seconds):.0f})",
                f"{np.median(errors):.2f} ({max(errors):.2f})",
                f"{np.mean(bands):.1f} ({min(bands):.0f})",
                f"{sum(case['covered'] for case in passed)} of "
                f"{sum(case['identified'] for case in passed)}",
            ]
        )
    names = ", ".join(dict.fromkeys(case["arm"] for case in tried))
    failed = ", ".join(f"{case['arm']} ({case['truth']})" for case in tried if not case["ok"])
    return Table(
        f"Models of example-robot-data, gymnasium and robosuite, three minutes of robot time: "
        f"{names}. Collision meshes are ignored. Failed: {failed or 'none'}.",
        [
            "truth",
            "succeeded",
            "wall time s, median (largest)",
            "friction error of the worst joint %, median (largest)",
            "states with the truth in the band %, mean (least joint)",
            "identified intervals that cover",
        ],
        rows,
    )


def init_and_calibrate(
    name: str, truth: str, folder: Path, seed: int, budget: str
) -> dict[str, Any]:
    """Result for one arm: `ok`, last output, seconds of each command, and the
    friction error of every joint.
    """
    arm, found = ARMS[name], {"arm": name, "truth": truth, "ok": False}
    if arm.path is None or not arm.path.is_file():
        return found | {"said": f"{arm.package} is not installed"}
    file, out = folder / f"{name}.toml", folder / "campaign"
    some = ["--joints", ",".join(arm.joints)] if arm.joints else []
    code, said, seconds = _command("init", arm.path, *some, "--out", file)
    found |= {"init_s": seconds}
    if code:
        return found | {"said": said}
    change(file, arm, truth)
    code, said, seconds = _command(
        "calibrate", file, "--seed", seed, "--budget", budget, "--out", out
    )
    found |= {"seconds": seconds, "code": code}
    if code:
        return found | {"said": said}
    return found | {"ok": True, "said": ""} | judge(out)


def judge(out: Path) -> dict[str, Any]:
    """Friction error of every joint (rms of predicted minus true friction over rms
    friction), and the joints left out.
    """
    runs = [load_run(path) for path in find_runs(out)]
    calibration, truth = identify(runs).calibration, SimulatedArm(runs[0].arm)
    met = np.vstack([run.signals["q"] for run in runs])
    errors, held = friction_within(calibration, truth, met[:: max(1, len(met) // _MET)])
    identified, covered = intervals_that_cover(calibration, truth)
    return {
        "error": {joint: round(value, 5) for joint, value in errors.items()},
        "held": {joint: round(value, 5) for joint, value in held.items()},
        "identified": identified,
        "covered": covered,
        "robot_s": round(sum(float(run.t[-1]) for run in runs), 1),
        "left_out": [joint for joint in truth.names if joint not in errors],
    }


def intervals_that_cover(calibration: Calibration, truth: SimulatedArm) -> tuple[int, int]:
    """Number of identified parameters that the truth also has, and number of their
    intervals that contain the truth.
    """
    entries = [
        (joint.parameters.get(name), float(truth.truth.column(name)[truth.names.index(joint_name)]))
        for joint_name, joint in calibration.joints.items()
        for name in _PARAMETERS
    ]
    found = [
        low <= true <= high
        for entry, true in entries
        if entry is not None
        and entry.verdict == "identified"
        and (low := entry.low) is not None
        and (high := entry.high) is not None
    ]
    return len(found), sum(found)


def friction_within(
    calibration: Calibration, truth: SimulatedArm, met: np.ndarray
) -> tuple[dict[str, float], dict[str, float]]:
    """Relative rms error of predicted friction, and the share of states whose band contains
    the truth, joint by joint.

    Over 50 speeds, even in the logarithm over the tested range, 20 loads from the least to the
    greatest at the positions `met`, shape (N, n), and both directions.
    """
    weights, out, held = joint_loads(calibration.mechanism, met).torque, {}, {}
    for name, joint in calibration.joints.items():
        j = truth.names.index(name)
        loads = np.linspace(weights[:, j].min(), weights[:, j].max(), _LOADS)
        q = met[np.abs(weights[:, j, None] - loads).argmin(axis=0)]
        speeds = np.geomspace(*joint.velocity_range, _SPEEDS)
        dq = np.zeros((2, _SPEEDS, _LOADS, met.shape[1]))
        dq[..., j] = np.array([1.0, -1.0])[:, None, None] * speeds[:, None]
        where, rate = (
            np.broadcast_to(q, dq.shape).reshape(-1, met.shape[1]),
            dq.reshape(-1, met.shape[1]),
        )
        true, predicted = truth.friction(where, rate)[:, j], calibration.friction(where, rate)[:, j]
        out[name] = float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))
        band = joint.band(
            rate[:, j],
            joint.load_of(partial(_of_joint, joint_loads(calibration.mechanism, where, rate), j)),
        )
        held[name] = float(np.mean(np.abs(predicted - true) <= band))
    return out, held


def _of_joint(loads: JointLoads, joint: int, kind: str) -> np.ndarray:
    return loads.get(kind)[:, joint]


def change(file: Path, arm: PublicArm, truth: str) -> None:
    """Change the arm file: the usual ready posture; no rotor inertia or no scatter of
    strokes if the truth has none.
    """
    table = tomlkit.parse(file.read_text(encoding="utf-8"))
    if truth == TRUTHS[1]:
        for rotor in table["simulation"]["joints"].values():
            del rotor["armature"]
    if truth == TRUTHS[2]:
        table["simulation"]["stroke_scatter"] = 0.0
    if arm.home:
        table["workspace"] = {"home": list(arm.home)}
    file.write_text(tomlkit.dumps(table), encoding="utf-8")


def _command(*words: object) -> tuple[int, str, float]:
    """Run a command in a process of its own; return exit code, last output and seconds."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "stribeck", *map(str, words)],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"not finished after {_PATIENCE:g} s", _PATIENCE
    said = " ".join(done.stderr.split()) or " ".join(done.stdout.split())
    return done.returncode, said, round(time.perf_counter() - began, 1)
