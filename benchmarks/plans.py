"""Random arms: whether plans keep limits and workspace box and keep shapes apart, with a judge
independent of the planner.

An arm is a random serial chain with URDF and arm file in a random posture; one in ten arms has
shapes. All motions of a campaign are planned for the arm. The judge reads the limits from the file
and follows every segment in time steps. Speeds and accelerations are finite differences; positions
of joints and distances of shapes come from MuJoCo.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import tomlkit

from benchmarks.page import Table
from stribeck.experiments.errors import PlanError
from stribeck.experiments.methods.breakaway_ramps import plan_breakaway
from stribeck.experiments.methods.lowest_speed_search import plan_lowest_speed
from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.methods.validation_motion import plan_validation
from stribeck.experiments.methods.warm_up import plan_warm_up
from stribeck.experiments.methods.whole_arm import plan_whole_arm
from stribeck.experiments.plans.check_plan import check_way
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed, Goal
from stribeck.experiments.plans.forecast import expectations, ways_of
from stribeck.experiments.plans.motion_profile import motion_profile
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError

# m; tolerance of the planner for the box, see experiments/plans/clear/clearance.py
INSIDE = 1.1e-4
APART = 0.005  # m; shapes with at least this distance at home must not touch
_STEPS, _PLACES = 300, 60  # judged time steps of a segment, and judged steps for shapes
_SHAPES = 0.1  # share of arms with shapes
_REFINED = 0.25  # share of arms with a second plan that uses the result of the first plan
_TIME = 60.0  # s; robot time of this plan
_METHODS = {"whole-arm": plan_whole_arm, "single": plan_constant_speed}
_BESIDE: dict[str, Callable[..., Plan]] = {
    "warm-up": plan_warm_up,
    "lowest speed": plan_lowest_speed,
    "breakaway": plan_breakaway,
    "validation": plan_validation,
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first arm")
    parser.add_argument("--jobs", type=int, default=2)


@dataclass(frozen=True)
class Case:
    """A random arm, the options of its plan, and its posture."""

    arm: ArmFile
    table: dict[str, Any]
    method: str
    joints: tuple[str, ...] | None
    options: ConstantSpeed
    stands: np.ndarray


@dataclass(frozen=True)
class Judgement:
    """Result of a case: the reason why nothing was planned or moved, or the distance to the limits.

    `kept` has the smallest distance to a position limit, to the box and between shapes
    (negative: violated), and the greatest speed and acceleration relative to their limits.
    `beside` has the further plans.
    """

    seed: int
    joints: int
    method: str
    refused: str | None
    kept: dict[str, float]
    beside: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Violated limits."""
        bound = {"position": -1e-9, "box": -INSIDE, "shapes": 0.0}
        return tuple(
            name
            for name, value in self.kept.items()
            if (value < bound[name] if name in bound else value > 1.0 + 1e-6)
        )


def random_case(seed: int, folder: Path, share: float = _SHAPES) -> Case:
    """Write a random arm with 1 to 7 revolute and prismatic joints into a folder; a
    share of the arms has shapes.
    """
    rng, shapes = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    n = int(rng.integers(1, 8))
    bodied = shapes.random() < share
    slides = rng.random(n) < 0.2
    width = np.where(slides, rng.uniform(0.1, 1.2, n), rng.uniform(0.5, 6.2, n))
    low = -width * np.where(
        rng.random(n) < 0.8, rng.uniform(0.05, 0.95, n), rng.uniform(-0.3, 1.3, n)
    )
    high = low + width
    home = rng.uniform(low, high) if rng.random() < 0.5 else np.clip(0.0, low, high)
    stands = rng.uniform(low, high) if rng.random() < 0.7 else home
    axes = np.where(
        rng.random((n, 1)) < 0.7, np.eye(3)[rng.integers(0, 3, n)], rng.normal(size=(n, 3))
    )
    links = [f'<link name="base">{_shape(shapes) if bodied else ""}</link>']
    for k in range(n):
        kind, parent = "prismatic" if slides[k] else "revolute", "base" if k == 0 else f"l{k - 1}"
        links.append(
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{_text(rng.uniform(-0.3, 0.3, 3))}" '
            f'rpy="{_text(rng.uniform(-3.0, 3.0, 3))}"/>'
            f'<axis xyz="{_text(axes[k])}"/><limit lower="{low[k]}" upper="{high[k]}" '
            'velocity="9" effort="99"/></joint>'
            f'<link name="l{k}"><inertial><origin xyz="{_text(rng.uniform(-0.2, 0.2, 3))}"/>'
            f'<mass value="{rng.uniform(0.2, 8.0)}"/>'
            '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
            f"{_shape(shapes) if bodied else ''}</link>"
        )
    (folder / "arm.urdf").write_text(
        f'<robot name="arm">{"".join(links)}</robot>', encoding="utf-8"
    )
    fastest = np.exp(rng.uniform(np.log(0.1), np.log(4.0), n))
    joints = {
        f"j{k}": {
            "position": [low[k], high[k]],
            "velocity": float(fastest[k]),
            "acceleration": float(fastest[k] * np.exp(rng.uniform(np.log(1.0), np.log(20.0)))),
            "torque": 500.0,
            "gear_ratio": float(rng.choice([1.0, 20.0, 50.0, 100.0, 160.0])),
            "following_error": 0.2,
        }
        for k in range(n)
    }
    workspace: dict[str, Any] = {"home": home.tolist()}
    if rng.random() < 0.7:
        around = _origins(mujoco.MjModel.from_xml_path(str(folder / "arm.urdf")), home[None])[0]
        room = rng.uniform(0.02, 0.8, (2, 3))
        workspace["box"] = np.stack(
            (around.min(axis=0) - room[0], around.max(axis=0) + room[1]), axis=1
        ).tolist()
    table = {
        "schema": 1,
        "name": "arm",
        "model": "arm.urdf",
        "driver": {"kind": "simulated", "rate": 200.0},
        "workspace": workspace,
        "joints": joints,
        "simulation": {"joints": {name: {"coulomb": 1.0, "viscous": 1.0} for name in joints}},
    }
    (folder / "arm.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    some = tuple(name for name in joints if rng.random() < 0.6) if rng.random() < 0.3 else ()
    options = ConstantSpeed(
        postures=int(rng.integers(1, 5)),
        speeds=int(rng.integers(2, 5)),
        longest_stroke=float(rng.choice([4.0, 8.0])),
    )
    return Case(
        load_arm(folder / "arm.toml"),
        table,
        str(rng.choice(list(_METHODS))),
        some or None,
        options,
        stands,
    )


def judge_seed(seed: int, campaign: bool = True) -> Judgement:
    """Plan for a random arm and judge every path, with the path from its posture to the start.

    Arms that may have shapes get all motions of a campaign; other arms get round trips only.
    """
    with tempfile.TemporaryDirectory() as folder:
        case = random_case(seed, Path(folder), _SHAPES if campaign else 0.0)
        plan, refused, kept, beside = None, None, {}, {}
        try:
            plan = _METHODS[case.method](case.arm, case.joints, seed, case.options)
            check_way(case.stands, plan, case.arm, load_mechanism(case.arm))
        except (PlanError, InputError) as error:
            refused = _reason(str(error)) if plan is None else "way to the start"
        if plan is not None:
            beside = plans_beside(plan, case, seed) if campaign else {}
            kept = worst(
                [
                    judge(plan, case, None if refused else case.stands),
                    *(judge(one, case, None) for one in beside.values()),
                ]
            )
    return Judgement(seed, len(case.table["joints"]), case.method, refused, kept, tuple(beside))


def plans_beside(plan: Plan, case: Case, seed: int) -> dict[str, Plan]:
    """Further motions of a campaign, name -> plan; motions that are impossible
    for this arm are left out.
    """
    ways: dict[str, Callable[[], Plan]] = {
        name: partial(make, case.arm, case.joints, seed) for name, make in _BESIDE.items()
    }
    if np.random.default_rng([seed, 2]).random() < _REFINED:
        design = Design.of(case.arm, case.joints, case.options)
        options = replace(case.options, goal=Goal(time=_TIME))
        ways["refined"] = lambda: _METHODS[case.method](
            case.arm,
            case.joints,
            seed + 1,
            options,
            None,
            expectations(ways_of(plan, design), design),
        )
    made = {}
    for name, way in ways.items():
        with suppress(PlanError):
            made[name] = way()
    return made


def worst(kept: list[dict[str, float]]) -> dict[str, float]:
    """Smallest distances and greatest speed and acceleration of several plans."""
    return {
        key: (max if key in ("velocity", "acceleration") else min)(one[key] for one in kept)
        for key in (kept[0] if kept else ())
    }


def judge(plan: Plan, case: Case, stands: np.ndarray | None) -> dict[str, float]:
    """Distance of a plan to the limits of the arm file, also on the path to its start."""
    joints, box = list(case.table["joints"].values()), case.table["workspace"].get("box")
    low, high = np.array([joint["position"] for joint in joints]).T
    fastest, strongest = (
        np.array([joint[key] for joint in joints]) for key in ("velocity", "acceleration")
    )
    model, limits = (
        mujoco.MjModel.from_xml_path(str(case.arm.model)),
        case.arm.limits(load_mechanism(case.arm)),
    )
    kept = {
        "position": np.inf,
        "box": np.inf,
        "shapes": np.inf,
        "velocity": 0.0,
        "acceleration": 0.0,
    }
    legs = {
        (*start, *segment.target, segment.kind, segment.speed): (start, segment)
        for start, segment in plan.legs()
    }
    if stands is not None:
        legs["there",] = stands, Segment(-1, "move", plan.start, 0)
    pairs = _apart_at_home(model, np.array(case.table["workspace"].get("home", np.zeros(model.nq))))
    for start, segment in legs.values():
        motion = motion_profile(start, segment, plan.names, limits)
        t = np.linspace(0.0, motion.duration, _STEPS)
        s = motion(t)[0]
        q = start + (s if s.ndim == 2 else s[:, None]) * (np.array(segment.target) - start)
        kept["position"] = min(kept["position"], float(np.minimum(q - low, high - q).min()))
        if motion.duration > 0.0:
            speed = np.diff(q, axis=0) / t[1]
            rate = (
                np.diff(np.vstack((np.zeros_like(low), speed, np.zeros_like(low))), axis=0) / t[1]
            )
            kept["velocity"] = max(kept["velocity"], float((np.abs(speed) / fastest).max()))
            kept["acceleration"] = max(
                kept["acceleration"], float((np.abs(rate[1:-1]) / strongest).max())
            )
        if box is not None:
            points = _origins(model, q)
            kept["box"] = min(
                kept["box"],
                float(np.minimum(points - np.array(box)[:, 0], np.array(box)[:, 1] - points).min()),
            )
        if pairs:
            kept["shapes"] = min(
                kept["shapes"], _least_distance(model, q[:: _STEPS // _PLACES], pairs)
            )
    return kept


def _apart_at_home(model: "mujoco.MjModel", home: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of shapes that share no joint and are apart at home."""
    pairs = [
        (one, other)
        for one in range(model.ngeom)
        for other in range(one)
        if abs(int(model.geom_bodyid[one]) - int(model.geom_bodyid[other])) > 1
    ]
    return [pair for pair in pairs if _least_distance(model, home[None], [pair]) > APART]


def _least_distance(model: "mujoco.MjModel", q: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    """Smallest distance between the pairs of shapes over the postures [m]; at most 1."""
    data, least = mujoco.MjData(model), 1.0
    for posture in q:
        data.qpos[:] = posture
        mujoco.mj_kinematics(model, data)
        least = min(
            least,
            *(mujoco.mj_geomDistance(model, data, *pair, least + 1e-3, None) for pair in pairs),
        )
    return least


def _shape(rng: np.random.Generator) -> str:
    """Random collision shape of a link."""
    sizes = rng.uniform(0.02, 0.12, 3)
    shape = str(
        rng.choice(
            [
                f'<box size="{_text(sizes)}"/>',
                f'<sphere radius="{sizes[0] / 2.0:.6g}"/>',
                f'<cylinder radius="{sizes[0] / 2.0:.6g}" length="{sizes[1]:.6g}"/>',
            ]
        )
    )
    return (
        f'<collision><origin xyz="{_text(rng.uniform(-0.15, 0.15, 3))}" '
        f'rpy="{_text(rng.uniform(-3.0, 3.0, 3))}"/>'
        f"<geometry>{shape}</geometry></collision>"
    )


def _origins(model: "mujoco.MjModel", q: np.ndarray) -> np.ndarray:
    """Origins of all joints (of slides, on the moving link) and centre of mass of the last
    link, shape (N, n + 1, 3).
    """
    data, out = mujoco.MjData(model), np.empty((len(q), model.njnt + 1, 3))
    for row, posture in enumerate(q):
        data.qpos[:] = posture
        mujoco.mj_kinematics(model, data)
        out[row, :-1], out[row, -1] = data.xpos[1:], data.xipos[-1]
    return out


def _reason(text: str) -> str:
    """Message of a refusal without numbers and names."""
    for words in (
        "has no room for a stroke",
        "random postures leave room",
        "even the slowest stroke",
        "strokes of",
        "out of the workspace box",
    ):
        if words in text:
            return words
    return text.split(": ", 1)[-1][:80]


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.12g}" for value in values)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Judge many arms."""
    began = time.perf_counter()
    seeds = range(options.first, options.first + options.arms)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(judge_seed, seeds, chunksize=20))
    return summary(found, time.perf_counter() - began)


def summary(found: list[Judgement], seconds: float) -> dict[str, Any]:
    """Return figures of all judged cases."""
    groups = {
        "all": found,
        **{method: [case for case in found if case.method == method] for method in _METHODS},
        **{
            f"{n} joint{'s' if n > 1 else ''}": [case for case in found if case.joints == n]
            for n in range(1, 8)
        },
    }
    return {
        "arms": len(found),
        "seconds": round(seconds, 1),
        "broken": {case.seed: case.broken for case in found if case.broken},
        "refused": dict(Counter(case.refused for case in found if case.refused).most_common()),
        "worst": worst([case.kept for case in found if case.kept]),
        "beside": dict(Counter(name for case in found for name in case.beside)),
        "with_shapes": sum(case.kept.get("shapes", np.inf) < np.inf for case in found),
        "groups": {
            name: {
                "arms": len(cases),
                "planned": sum(bool(case.kept) for case in cases),
                "no_way_to_start": sum(bool(case.kept and case.refused) for case in cases),
                "exceeded": sum(bool(case.broken) for case in cases),
            }
            for name, cases in groups.items()
        },
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each group of arms."""
    beside = ", ".join(f"{name} {count}" for name, count in figures["beside"].items())
    return Table(
        "Revolute and prismatic joints; some arms have shapes that must not touch. Goal: no limit "
        f"is exceeded. Other judged plans: {beside}.",
        ["arms", "number", "planned", "of these no clear path to the start", "exceeded a limit"],
        [
            [
                name,
                group["arms"],
                f"{group['planned']} ({100.0 * group['planned'] / max(group['arms'], 1):.0f} %)",
                group["no_way_to_start"],
                group["exceeded"],
            ]
            for name, group in figures["groups"].items()
        ],
    )
