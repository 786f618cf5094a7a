"""Export of plans for arms that other software moves: set-points as CSV, or a ROS 2
joint trajectory as JSON.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.motion_profile import course, motion_profile, rest_after
from stribeck.experiments.plans.plan import Plan, write_plan
from stribeck.ident.arm.arm_file import ArmFile, Limits, refuse_assumed
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.errors import unknown_name
from stribeck.ident.whole_files import write_whole


@dataclass(frozen=True)
class Trajectory:
    """Set-points of a plan.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time since the start of the plan [s].
    segment : ndarray of int, shape (N,)
        Id of the plan segment.
    q, dq : ndarray, shape (N, n)
        Positions [rad or m] and velocities [rad/s or m/s] of all joints.
    """

    t: Array
    segment: np.ndarray
    q: Array
    dq: Array


def sampled(plan: Plan, limits: Limits, rate: float) -> Trajectory:
    """Set-points of a plan at a constant rate [Hz]."""
    _refuse_ramps(plan)
    ends = np.cumsum(
        [
            motion_profile(start, segment, plan.names, limits).duration + rest_after(segment)
            for start, segment in plan.legs()
        ]
    )
    t = np.arange(int(np.ceil(ends[-1] * rate)) + 1) / rate
    return _at(
        [
            t[(t >= begin) & (t < end)] - begin
            for begin, end in zip((0.0, *ends[:-1]), (*ends[:-1], np.inf), strict=True)
        ],
        plan,
        limits,
    )


def knots(plan: Plan, limits: Limits) -> Trajectory:
    """Set-points at each change of acceleration, for cubic interpolation; closely
    spaced on swings and waves.

    The cubic interpolation deviates from the plan by at most 2e-6 of a swing, and 4e-6 of the
    amplitude of a wave's highest harmonic.
    """
    _refuse_ramps(plan)
    times: list[Array] = []
    for start, segment in plan.legs():
        motion = motion_profile(start, segment, plan.names, limits)
        since = np.append(motion.knots, motion.duration + rest_after(segment))
        # the previous segment has the first point
        times.append(since[1:] if times else since)
    return _at(times, plan, limits)


def _at(times: list[Array], plan: Plan, limits: Limits) -> Trajectory:
    """Set-points at given times since the start of each segment."""
    begin, parts = 0.0, []
    for (start, segment), since in zip(plan.legs(), times, strict=True):
        motion = motion_profile(start, segment, plan.names, limits)
        parts.append(
            (begin + since, np.full(len(since), segment.id), *course(motion, since, start, segment))
        )
        begin += motion.duration + rest_after(segment)
    return Trajectory(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _refuse_ramps(plan: Plan) -> None:
    if any(segment.kind == "ramp" for segment in plan.segments):
        raise PlanError(
            "the plan has torque ramps, which end when the joint moves; set-points cannot express "
            "this end. Write the plan as .toml"
        )


def write_csv(plan: Plan, path: Path, arm: ArmFile) -> None:
    """Write time, segment, and position and velocity of all joints, one row for each
    control cycle of the arm.
    """
    refuse_assumed(arm)
    made = sampled(plan, arm.limits(load_mechanism(arm)), arm.driver.rate)
    names = ["t", "segment", *(f"{signal}.{name}" for signal in ("q", "dq") for name in plan.names)]
    n = len(plan.names)
    np.savetxt(
        path,
        np.column_stack((made.t, made.segment, made.q, made.dq)),
        delimiter=",",
        header=",".join(names),
        comments="",
        fmt=["%.6f", "%d", *["%.9g"] * (2 * n)],
        encoding="utf-8",
    )


def write_joint_trajectory(plan: Plan, path: Path, arm: ArmFile) -> None:
    """Write a ``trajectory_msgs/JointTrajectory`` as JSON, with a point at
    each change of acceleration.
    """
    refuse_assumed(arm)
    made = knots(plan, arm.limits(load_mechanism(arm)))
    points = []
    for t, q, dq in zip(made.t, made.q, made.dq, strict=True):
        sec, nanosec = divmod(round(1e9 * float(t)), 1_000_000_000)
        points.append(
            {
                "positions": q.round(12).tolist(),
                "velocities": dq.round(12).tolist(),
                "accelerations": [],
                "effort": [],
                "time_from_start": {"sec": sec, "nanosec": nanosec},
            }
        )
    message = {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
        "joint_names": list(plan.names),
        "points": points,
    }
    write_whole(path, json.dumps(message) + "\n")


def _write_toml(plan: Plan, path: Path, arm: ArmFile) -> None:
    write_plan(plan, path)


WRITERS: dict[str, Callable[[Plan, Path, ArmFile], None]] = {
    ".toml": _write_toml,
    ".csv": write_csv,
    ".json": write_joint_trajectory,
}


def plan_writer(path: Path) -> Callable[[Plan, Path, ArmFile], None]:
    """Return the function that writes a plan in the format of the file suffix; without
    suffix the format is TOML.

    Raises
    ------
    InputError
        If the suffix is unknown; the message lists the known suffixes.
    """
    suffix = path.suffix.lower() or ".toml"
    if suffix not in WRITERS:
        raise unknown_name("kind of plan file", path.suffix, WRITERS)
    return WRITERS[suffix]
