"""Checks whether straight paths in joint space are clear.

A clear path stays within reach of a closed chain, inside the workspace box, and apart from
other shapes of the model.
"""

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.plans.clear.shapes import GAP, Geometry, geometry_of
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import joint_origins, with_followers
from stribeck.ident.model.mechanism import Mechanism

_COARSE = 33  # places checked along a path, after its ends
# m; near a wall, a path is sampled so finely that it leaves the box by no more than this
_FINE = 1e-4
_TOGETHER = 32  # number of paths near a wall that are checked together
_PARTS = 6  # parts of a path of a closed chain that are checked one by one
_HALVINGS = 8  # bisections to find where shapes meet


def in_the_way(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> str | None:
    """Fault of a straight path start -> target, each shape (n,), as the end of a sentence;
    None if the path is clear.
    """
    if (
        margin := singular_margins(arm, mechanism, start[None], target[None])
    ) is not None and not _keeps(arm, margin)[0]:
        return (
            "leads out of the machine's reach"
            if margin[0] == 0.0
            else "comes nearer to a singular posture than its margin allows: margin "
            f"{margin[0]:.2f} (home 1, singular 0), "
            f"workspace.singular_margin = {arm.workspace.singular_margin:g}"
        )
    if not _in_box(arm, mechanism, start[None], target[None])[0]:
        return f"takes a joint or the tool out of the workspace box of {arm.path.name}"
    geometry = geometry_of(arm, mechanism)
    met = next(geometry.meetings(mechanism, start[None], target[None])) if geometry else None
    return met and f"brings {met} within {1e3 * GAP:g} mm of each other"


def what_meets(
    arm: ArmFile, mechanism: Mechanism, start: Array, target: Array
) -> tuple[str, Array, float] | None:
    """Shapes that meet on a straight path start -> target, each shape (n,), the posture, and
    the path fraction before it.
    """
    geometry, clear, met = geometry_of(arm, mechanism), 0.0, 1.0
    if geometry is None or not (
        shapes := next(geometry.meetings(mechanism, start[None], target[None]))
    ):
        return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (clear + met)
        if found := next(
            geometry.meetings(mechanism, start[None], (start + middle * (target - start))[None])
        ):
            met, shapes = middle, found
        else:
            clear = middle
    return shapes, start + met * (target - start), clear


def ways_are_clear(
    arm: ArmFile, mechanism: Mechanism, start: Array, target: Array
) -> NDArray[np.bool_]:
    """Whether the straight paths start -> target, each (K, n), are clear; shape (K,)."""
    return are_clear(arm, mechanism, start, target, singular_margins(arm, mechanism, start, target))


def are_clear(
    arm: ArmFile, mechanism: Mechanism, start: Array, target: Array, margin: Array | None
) -> NDArray[np.bool_]:
    """As `ways_are_clear`, for paths whose `singular_margins` are known."""
    clear = np.ones(len(start), dtype=bool) if margin is None else _keeps(arm, margin)
    clear[clear] = _in_box(arm, mechanism, start[clear], target[clear])
    if geometry := geometry_of(arm, mechanism):
        clear[clear] = [
            met is None for met in geometry.meetings(mechanism, start[clear], target[clear])
        ]
    return clear


def singular_margins(
    arm: ArmFile, mechanism: Mechanism, start: Array, target: Array
) -> Array | None:
    """Margin to singular postures of straight paths of a closed chain's
    drives, (K, n) each, shape (K,).

    The margin is the smallest reciprocal condition number of the passive joints' Jacobian, divided
    by its value at home: 1 at home, 0 in a singular or unreachable posture. None for a tree.
    """
    if mechanism.chain is None:
        return None
    home = arm.home(mechanism)[None]
    best = float(mechanism.chain.condition(home, home)[0])
    return (
        np.asarray(best / mechanism.chain.condition(start, target))
        if np.isfinite(best)
        else np.zeros(len(start))
    )


def in_reach(
    arm: ArmFile, mechanism: Mechanism, home: Array, drawn: Array, rng: np.random.Generator
) -> Array:
    """Return postures of a closed chain within reach, on straight paths from home, shape (n,),
    towards drawn ones, shape (K, n).

    Each posture lies at a random fraction of the part of its path that keeps the
    margin to singular postures.
    """
    ends = home + np.linspace(0.0, 1.0, _PARTS + 1)[1:, None, None] * (drawn - home)
    flat = ends.reshape(-1, len(home))
    margin = singular_margins(arm, mechanism, flat, flat)
    kept = (
        np.zeros(ends.shape[:2], dtype=bool)
        if margin is None
        else _keeps(arm, margin).reshape(ends.shape[:2])
    )
    far = np.logical_and.accumulate(kept, axis=0).sum(axis=0) / _PARTS
    return np.asarray(
        home + (rng.uniform(0.0, 1.0, len(drawn)) ** 0.25 * far)[:, None] * (drawn - home)
    )


def _keeps(arm: ArmFile, margin: Array) -> NDArray[np.bool_]:
    return np.asarray(margin >= arm.workspace.singular_margin)


def relied_on(arm: ArmFile, mechanism: Mechanism) -> list[str]:
    """Checks that paths undergo, in words; empty if there are none."""
    box = arm.workspace.box
    walls = "" if box is None else " x ".join(f"{low:g} … {high:g}" for low, high in box)
    geometry = geometry_of(arm, mechanism)
    margin = arm.workspace.singular_margin
    return (
        (
            [f"a margin to singular postures of {margin:g} times that of home"]
            if mechanism.chain
            else []
        )
        + ([f"the workspace box {walls} m, for joint origins"] if box else [])
        + (
            [
                f"{geometry.shapes} shapes of {arm.model.name}, {1e3 * GAP:g} mm "
                f"apart{_but(geometry)}"
            ]
            if geometry
            else []
        )
    )


def _but(geometry: Geometry) -> str:
    """Shapes and links that the check of shapes leaves out, in words."""
    said = (
        f", except {', '.join(geometry.at_home)}, which are closer at home"
        if geometry.at_home
        else ""
    )
    said += f"; unreadable meshes: {', '.join(geometry.unread)}" if geometry.unread else ""
    return said + (f"; links without shapes: {', '.join(geometry.bare)}" if geometry.bare else "")


def may_move_together(arm: ArmFile, mechanism: Mechanism) -> bool:
    """Whether several joints may move simultaneously; on real hardware only if
    collisions can be checked.
    """
    return arm.driver.kind == "simulated" or says_what_is_clear(arm, mechanism)


def says_what_is_clear(arm: ArmFile, mechanism: Mechanism) -> bool:
    """Whether the arm file has a workspace box, or the model has shapes of all links with mass."""
    if arm.workspace.box is not None:
        return True
    geometry = geometry_of(arm, mechanism)
    return geometry is not None and not geometry.unread and not geometry.bare


def _in_box(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> NDArray[np.bool_]:
    """Whether paths stay in the workspace box.

    Checked are all moving joint origins and the last link's centre of mass. Between the
    sampled places, a curve with a second derivative of at most c deviates from its chords of
    length h by at most c h²/8.
    """
    clear = np.ones(len(start), dtype=bool)
    if arm.workspace.box is None:
        return clear
    if mechanism.chain is not None:  # link lengths do not bound the curvature of its paths
        return _depth(arm, mechanism, start, target, _COARSE) >= 0.0
    rows, curved = np.arange(len(start)), _curvature(mechanism, start, target)
    for places in (2, _COARSE):
        depth = _depth(arm, mechanism, start[rows], target[rows], places)
        clear[rows[depth < 0.0]] = False
        rows = rows[(depth >= 0.0) & (depth < curved[rows] / 8.0 / (places - 1) ** 2)]
    for some in np.split(rows, range(_TOGETHER, len(rows), _TOGETHER)):
        places = 2 + int(np.sqrt(curved[some].max(initial=0.0) / 8.0 / _FINE))
        clear[some] = _depth(arm, mechanism, start[some], target[some], places) >= 0.0
    return clear


def depth_in_box(arm: ArmFile, mechanism: Mechanism, q: Array) -> Array:
    """Smallest distance of the arm's points to the walls of the box in postures (K, n), shape
    (K,) [m]; negative outside.
    """
    return _depth(arm, mechanism, q, q, 1)


def _depth(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array, places: int) -> Array:
    """Smallest distance of points to the walls at sampled places along each path, shape
    (K,) [m]; negative outside.
    """
    s = np.linspace(0.0, 1.0, places)[:, None, None]
    points = joint_origins(mechanism, (start + s * (target - start)).reshape(-1, mechanism.n))
    whole = mechanism if mechanism.chain is None else mechanism.chain.whole
    still = np.array([whole.parent[j] < 0 and not whole.prismatic[j] for j in range(whole.n)])
    points = points[:, ~np.pad(still, (0, points.shape[1] - whole.n))]
    low, high = np.array(arm.workspace.box).T
    inside = np.minimum(points - low, high - points).min(axis=(1, 2))
    return np.asarray(inside.reshape(places, -1).min(axis=0))


def _curvature(mechanism: Mechanism, start: Array, target: Array) -> Array:
    """Bound on the second derivative of any point of the arm along each path of
    length 1, shape (K,) [m].

    The second derivative of a vector that joints turn by a total angle W is at most its length
    times W². If the vector also slides by V, at most 2 W V is added.
    """
    tree, start, *_ = with_followers(mechanism, start)
    target = with_followers(mechanism, target)[1]
    way, far = np.abs(target - start), np.maximum(np.abs(start), np.abs(target))
    turned, slid = way @ ~tree.prismatic, way @ tree.prismatic
    reach = (
        np.linalg.norm(tree.origin, axis=1).sum()
        + np.linalg.norm(mechanism.com[-1])
        + far @ tree.prismatic
    )
    return np.asarray(turned**2 * reach + 2.0 * turned * slid)
