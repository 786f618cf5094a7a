"""Speed of rigid-body dynamics with all joint wrenches, and of the torque regressor: batch
code against loops in Python.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck.experiments.threads import ONE_THREAD

_LIMIT_MB = 300
_GOAL = 6  # goal: speed relative to Pinocchio's loop,
_GOAL_REGRESSOR = 4  # and that of the regressor


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the time of all engines in turn in one thread, and the memory of the batch
    code in a process of its own.
    """
    environment = os.environ | ONE_THREAD
    found: dict[str, Any] = {}
    for what in ("times", "memory", "regressor"):
        command = [
            sys.executable,
            "-m",
            "benchmarks.dynamics",
            what,
            str(options.samples),
            str(options.rounds),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        found |= json.loads(done.stdout)
    return found | {"samples": options.samples}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each engine, for joint wrenches and for the torque regressor."""
    wrenches = {f"wrenches: {name}": seconds for name, seconds in figures["s"].items()}
    regressors = {
        "regressor: stribeck": figures["regressor_s"],
        "regressor: Pinocchio in a loop": figures["regressor_pinocchio_s"],
    }
    rows = []
    for engines in (wrenches, regressors):
        ours = np.array(next(iter(engines.values())))
        for name, seconds in engines.items():
            micro = 1e6 * np.array(seconds) / figures["samples"]
            least = f"{np.median(micro):.2f} ({micro.min():.2f})"
            rows.append([name, least, f"{np.median(np.array(seconds) / ours):.1f}"])
    differences = [value for key, value in figures.items() if "difference" in key]
    return Table(
        f"{figures['samples']:,} samples of lab6, one thread, {len(figures['s']['stribeck'])} "
        f"rounds in turn; torques differ by at most {max(differences):.1e} N·m. Goals: "
        f"{_GOAL} times faster than Pinocchio's loop, {_GOAL_REGRESSOR} times for the regressor, "
        f"less than {_LIMIT_MB} MB ({figures['peak_mb']:.0f} MB).",
        ["engine", "µs per sample, median (least)", "time relative to stribeck"],
        rows,
    )


def _motion(samples: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return (
        rng.uniform(-2.0, 2.0, (samples, n)),
        rng.normal(size=(samples, n)),
        rng.normal(size=(samples, n)),
    )


def _memory(samples: int) -> dict[str, float]:
    import resource

    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.model.dynamics import joint_wrenches

    mechanism = load_mechanism(load_arm("lab6").model)
    motion = _motion(samples, mechanism.n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    joint_wrenches(mechanism, *motion)
    return {
        "before_mb": before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _regressor(samples: int, rounds: int) -> dict[str, Any]:
    import time

    import pinocchio as pin

    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.model.dynamics import inverse_dynamics
    from stribeck.ident.model.regressor import inertial_parameters, torque_regressor

    path = load_arm("lab6").model
    mechanism = load_mechanism(path)
    q, dq, ddq = _motion(samples, mechanism.n)
    judge = pin.buildModelFromUrdf(str(path))
    judge.gravity.linear = mechanism.gravity
    data, kept = judge.createData(), np.empty((samples, mechanism.n, 10 * mechanism.n))
    torque_regressor(mechanism, q, dq, ddq)
    seconds: dict[str, list[float]] = {"regressor_s": [], "regressor_pinocchio_s": []}
    for _ in range(rounds):
        began = time.perf_counter()
        found = torque_regressor(mechanism, q, dq, ddq)
        seconds["regressor_s"].append(time.perf_counter() - began)
        began = time.perf_counter()
        for k in range(samples):
            kept[k] = pin.computeJointTorqueRegressor(judge, data, q[k], dq[k], ddq[k])
        seconds["regressor_pinocchio_s"].append(time.perf_counter() - began)
    theirs = kept @ np.concatenate(
        [inertia.toDynamicParameters() for inertia in judge.inertias[1:]]
    )
    ours = found @ inertial_parameters(mechanism)
    assert np.allclose(theirs, inverse_dynamics(mechanism, q, dq, ddq), atol=1e-9)
    return {**seconds, "regressor_difference": float(np.abs(ours - theirs).max())}


def _times(samples: int, rounds: int) -> dict[str, Any]:
    import time

    import mujoco
    import pinocchio as pin

    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.model.dynamics import inverse_dynamics, joint_wrenches
    from stribeck.ident.model.files.urdf_mjcf import read_model

    path = load_arm("lab6").model
    mechanism = load_mechanism(path)
    q, dq, ddq = _motion(samples, mechanism.n)
    judge = pin.buildModelFromUrdf(str(path))
    judge.gravity.linear = mechanism.gravity
    data = judge.createData()
    model = read_model(path)[0].compile()
    model.opt.gravity[:] = mechanism.gravity
    state = mujoco.MjData(model)
    wrenches, tau = np.empty((samples, mechanism.n, 6)), np.empty((samples, mechanism.n))

    def stribeck() -> None:
        found = joint_wrenches(mechanism, q, dq, ddq)
        np.einsum("njk,njk->nj", found.moment, found.axis, out=tau)

    def pinocchio_by_joint() -> None:
        for k in range(samples):
            tau[k] = pin.rnea(judge, data, q[k], dq[k], ddq[k])
            for j in range(mechanism.n):
                wrenches[k, j] = data.f[j + 1].vector

    def pinocchio_by_views() -> None:
        forces = [data.f[j + 1].vector for j in range(mechanism.n)]
        for k in range(samples):
            tau[k] = pin.rnea(judge, data, q[k], dq[k], ddq[k])
            wrenches[k] = forces

    def mujoco_by_views() -> None:
        position, velocity, acceleration, reaction = (
            state.qpos,
            state.qvel,
            state.qacc,
            state.cfrc_int[1:],
        )
        for k in range(samples):
            position[:], velocity[:], acceleration[:] = q[k], dq[k], ddq[k]
            mujoco.mj_kinematics(model, state)
            mujoco.mj_comPos(model, state)
            mujoco.mj_comVel(model, state)
            mujoco.mj_rne(model, state, 1, tau[k])
            mujoco.mj_rnePostConstraint(model, state)
            wrenches[k] = reaction

    engines = {
        "stribeck": stribeck,
        "Pinocchio in a loop, forces by joint": pinocchio_by_joint,
        "Pinocchio in a loop, forces through views": pinocchio_by_views,
        "MuJoCo in a loop": mujoco_by_views,
    }
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    stribeck()
    for _ in range(rounds):
        for name, engine in engines.items():
            began = time.perf_counter()
            engine()
            seconds[name].append(time.perf_counter() - began)
    ours, differences = inverse_dynamics(mechanism, q, dq, ddq), []
    for engine in (pinocchio_by_views, mujoco_by_views):
        engine()
        differences.append(float(np.abs(ours - tau).max()))
    return {"s": seconds, "difference": differences[0], "difference_mujoco": differences[1]}


if __name__ == "__main__":
    what, samples, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    measures = {
        "memory": lambda: _memory(samples),
        "times": lambda: _times(samples, rounds),
        "regressor": lambda: _regressor(samples, rounds),
    }
    print(json.dumps(measures[what]()))
