"""Whether straight ways in joint space stay clear: in reach of a closed chain, in the workspace box, and of what the model's
shapes could touch."""

import numpy as np
from numpy.typing import NDArray

from stribeck.experiments.plans.clear.shapes import GAP, Geometry, geometry_of
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import joint_origins, with_followers
from stribeck.ident.model.mechanism import Mechanism

_COARSE = 33            # places along a way that are looked at after its ends
_FINE = 1e-4            # m; ways that come close to a wall are looked at until they cannot leave the box by more than this
_TOGETHER = 32          # such ways
_PARTS = 6              # of ways of a closed chain that are looked at one by one
_HALVINGS = 8           # to find where shapes meet


def in_the_way(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> str | None:
    """What a straight way start -> target, each shape (n,), does that it must not; None if it is clear."""
    if (margin := singular_margins(arm, mechanism, start[None], target[None])) is not None and not _keeps(arm, margin)[0]:
        return ("leads out of the machine's reach" if margin[0] == 0.0 else
                f"comes nearer to a singular posture than its margin allows: {margin[0]:.2f}, where home has 1 and a singular "
                f"posture 0, and workspace.singular_margin = {arm.workspace.singular_margin:g} is kept")
    if not _in_box(arm, mechanism, start[None], target[None])[0]:
        return f"takes a joint or the tool out of the workspace box of {arm.path.name}"
    geometry = geometry_of(arm, mechanism)
    met = next(geometry.meetings(mechanism, start[None], target[None])) if geometry else None
    return met and f"brings {met} within {1e3 * GAP:g} mm of each other"


def what_meets(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> tuple[str, Array, float] | None:
    """Which shapes meet on a straight way start -> target, each shape (n,), where, and after which part of it."""
    geometry, clear, met = geometry_of(arm, mechanism), 0.0, 1.0
    if geometry is None or not (shapes := next(geometry.meetings(mechanism, start[None], target[None]))):
        return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (clear + met)
        if found := next(geometry.meetings(mechanism, start[None], (start + middle * (target - start))[None])):
            met, shapes = middle, found
        else:
            clear = middle
    return shapes, start + met * (target - start), clear


def ways_are_clear(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> NDArray[np.bool_]:
    """Whether the arm stays clear on the straight ways start -> target, each (K, n); shape (K,)."""
    margin = singular_margins(arm, mechanism, start, target)
    clear = np.ones(len(start), dtype=bool) if margin is None else _keeps(arm, margin)
    clear[clear] = _in_box(arm, mechanism, start[clear], target[clear])
    if geometry := geometry_of(arm, mechanism):
        clear[clear] = [met is None for met in geometry.meetings(mechanism, start[clear], target[clear])]
    return clear


def singular_margins(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> Array | None:
    """How far straight ways of a closed chain's drives, (K, n) each, stay away from singular postures, shape (K,).

    The least reciprocal condition number of the passive joints' Jacobian over that of home: 1 at home, 0 where a posture is
    singular or out of reach. None for a tree.
    """
    if mechanism.chain is None:
        return None
    home = arm.home(mechanism)[None]
    best = float(mechanism.chain.condition(home, home)[0])
    return np.asarray(best / mechanism.chain.condition(start, target)) if np.isfinite(best) else np.zeros(len(start))


def in_reach(arm: ArmFile, mechanism: Mechanism, home: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """Postures of a closed chain on straight ways from home, shape (n,), towards some that are drawn, shape (K, n): a random part
    of as much of each way as keeps the margin to singular postures."""
    ends = home + np.linspace(0.0, 1.0, _PARTS + 1)[1:, None, None] * (drawn - home)
    flat = ends.reshape(-1, len(home))
    margin = singular_margins(arm, mechanism, flat, flat)
    kept = np.zeros(ends.shape[:2], dtype=bool) if margin is None else _keeps(arm, margin).reshape(ends.shape[:2])
    far = np.logical_and.accumulate(kept, axis=0).sum(axis=0) / _PARTS
    return np.asarray(home + (rng.uniform(0.0, 1.0, len(drawn)) ** 0.25 * far)[:, None] * (drawn - home))


def _keeps(arm: ArmFile, margin: Array) -> NDArray[np.bool_]:
    return np.asarray(margin >= arm.workspace.singular_margin)


def relied_on(arm: ArmFile, mechanism: Mechanism) -> list[str]:
    """What ways are checked against, in words; empty where there is nothing."""
    box = arm.workspace.box
    walls = "" if box is None else " x ".join(f"{low:g} … {high:g}" for low, high in box)
    geometry = geometry_of(arm, mechanism)
    margin = arm.workspace.singular_margin
    return ([f"{margin:g} of home's margin to singular postures"] if mechanism.chain else []) + (
        [f"the workspace box {walls} m, for joint origins"] if box else []) + (
        [f"{geometry.shapes} shapes of {arm.model.name}, {1e3 * GAP:g} mm apart{_but(geometry)}"] if geometry else [])


def _but(geometry: Geometry) -> str:
    """What shapes do not say."""
    said = f", but {', '.join(geometry.at_home)}, which are closer at home" if geometry.at_home else ""
    said += f"; meshes that cannot be read: of {', '.join(geometry.unread)}" if geometry.unread else ""
    return said + (f"; links without any shape: of {', '.join(geometry.bare)}" if geometry.bare else "")


def may_move_together(arm: ArmFile, mechanism: Mechanism) -> bool:
    """Whether several joints may move at once to be measured: real hardware only where something says what is clear."""
    return arm.driver.kind == "simulated" or says_what_is_clear(arm, mechanism)


def says_what_is_clear(arm: ArmFile, mechanism: Mechanism) -> bool:
    """Whether the arm file has a workspace box, or the model shapes of all links that have mass."""
    if arm.workspace.box is not None:
        return True
    geometry = geometry_of(arm, mechanism)
    return geometry is not None and not geometry.unread and not geometry.bare


def _in_box(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array) -> NDArray[np.bool_]:
    """Whether ways stay in the workspace box.

    All joint origins that move and the last link's centre of mass stay in the workspace box, between the places that are looked
    at too: where a way is a curve of second derivative c at most, it strays from its chords of length h by no more than c h²/8.
    """
    clear = np.ones(len(start), dtype=bool)
    if arm.workspace.box is None:
        return clear
    if mechanism.chain is not None:         # how curved its ways are is not bounded by its lengths
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
    """How far all points of the arm stay inside its box in postures (K, n), shape (K,) [m]; negative is outside."""
    return _depth(arm, mechanism, q, q, 1)


def _depth(arm: ArmFile, mechanism: Mechanism, start: Array, target: Array, places: int) -> Array:
    """How far all points stay inside the box at so many places along each way, shape (K,) [m]; negative is outside."""
    s = np.linspace(0.0, 1.0, places)[:, None, None]
    points = joint_origins(mechanism, (start + s * (target - start)).reshape(-1, mechanism.n))
    whole = mechanism if mechanism.chain is None else mechanism.chain.whole
    still = np.array([whole.parent[j] < 0 and not whole.prismatic[j] for j in range(whole.n)])
    points = points[:, ~np.pad(still, (0, points.shape[1] - whole.n))]
    low, high = np.array(arm.workspace.box).T
    inside = np.minimum(points - low, high - points).min(axis=(1, 2))
    return np.asarray(inside.reshape(places, -1).min(axis=0))


def _curvature(mechanism: Mechanism, start: Array, target: Array) -> Array:
    """Greatest second derivative of any point on the arm along each way of length 1, shape (K,) [m].

    A vector that several joints turn by a way W in all changes by its length times W² at most; one that slides
    by V as well by 2 W V more.
    """
    tree, start, *_ = with_followers(mechanism, start)
    target = with_followers(mechanism, target)[1]
    way, far = np.abs(target - start), np.maximum(np.abs(start), np.abs(target))
    turned, slid = way @ ~tree.prismatic, way @ tree.prismatic
    reach = np.linalg.norm(tree.origin, axis=1).sum() + np.linalg.norm(mechanism.com[-1]) + far @ tree.prismatic
    return np.asarray(turned**2 * reach + 2.0 * turned * slid)
