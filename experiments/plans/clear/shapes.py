"""Distances between shapes of links and surroundings along paths in joint space.

Shapes are the collision geoms of an MJCF, or the collision shapes of a URDF with its readable
meshes. Links that share a joint, and shapes that are close to each other at home, may touch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import with_followers
from stribeck.ident.model.files.collision_model import collision_model
from stribeck.ident.model.mechanism import Mechanism

if TYPE_CHECKING:
    import mujoco

GAP = 0.005  # m; shapes that come closer to each other count as touching
_SEEN = 0.1  # m; distance up to which pairs of shapes are computed


@dataclass(frozen=True)
class Geometry:
    """Shapes of an arm and of its surroundings.

    Attributes
    ----------
    data : MjData
        Data of MuJoCo; created once, because creation takes longer than many checks.
    places : ndarray of int, shape (n + k,)
        Index of each joint and follower in MuJoCo's positions.
    may_touch : ndarray of bool, shape (geoms, geoms)
        Pairs of shapes that are not checked.
    at_home : tuple of str
        Pairs that are not checked because they are closer in the home posture, in words.
    unread, bare : tuple of str
        Bodies with unreadable meshes, and joints whose link has mass but no
        shape; they are not checked.
    mover : ndarray of int, shape (geoms,)
        Joint or follower that moves a shape; n + k for shapes fixed to the ground.
    size : ndarray, shape (n + k + 1,)
        Greatest distance of the mover's shapes from the joint's origin [m].
    """

    data: "mujoco.MjData"
    places: np.ndarray
    may_touch: np.ndarray
    mover: np.ndarray
    size: np.ndarray
    at_home: tuple[str, ...]
    unread: tuple[str, ...]
    bare: tuple[str, ...]

    @property
    def model(self) -> "mujoco.MjModel":
        """Compiled model with shapes; distances up to `_SEEN` are computed."""
        return self.data.model

    @property
    def shapes(self) -> int:
        """Number of shapes that can collide."""
        return int(
            np.count_nonzero((self.model.geom_contype != 0) | (self.model.geom_conaffinity != 0))
        )

    def meetings(self, mechanism: Mechanism, start: Array, target: Array) -> Iterator[str | None]:
        """Names of two shapes closer than `GAP` on each straight path start -> target, shapes (K,
        n); None if there are none.
        """
        tree, begin, *_ = with_followers(mechanism, start)
        end = with_followers(mechanism, target)[1]
        for way in zip(begin, end, self._approach(tree, begin, end), strict=True):
            yield self._meeting(*way)

    def _meeting(self, begin: Array, end: Array, approach: Array) -> str | None:
        """Check one path in steps so short that shapes cannot come closer than half
        of `GAP` between two steps.
        """
        import mujoco

        model, data, qpos, s = self.model, self.data, self.data.qpos, 0.0
        longest = (_SEEN - GAP / 2.0) / max(float(approach.max()), 1e-9)
        while True:
            qpos[self.places] = begin + s * (end - begin)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            step = longest
            if data.ncon:
                one, other = data.contact.geom.T
                apart = np.where(self.may_touch[one, other], np.inf, data.contact.dist)
                nearest = int(np.argmin(apart))
                if apart[nearest] < GAP:
                    return (
                        f"{_called(model, int(one[nearest]))} and "
                        f"{_called(model, int(other[nearest]))}"
                    )
                nearing = np.maximum(approach[self.mover[one], self.mover[other]], 1e-9)
                step = min(step, float(((apart - GAP / 2.0) / nearing).min()))
            if s >= 1.0:
                return None
            s = min(1.0, s + step)

    def _approach(self, tree: Mechanism, begin: Array, end: Array) -> Array:
        """Bound on the approach of shapes of two movers on each path, shape (K,
        n + k + 1, n + k + 1) [m].

        Only joints that move one of the two shapes count. A revolute joint moves a shape by at most
        its angle times the length of the arm from the joint to the shape; a prismatic joint moves a
        shape by its displacement.
        """
        # shape (n + k + 1, n + k)
        moves = np.vstack((tree.carries.T, np.zeros(tree.n, dtype=bool)))
        lengths = np.linalg.norm(tree.origin, axis=1) + tree.prismatic * np.maximum(
            np.abs(begin), np.abs(end)
        )
        along = lengths[:, None] * moves
        behind = np.cumsum(along[..., ::-1], axis=-1)[..., ::-1] - along + self.size[:, None]
        moved = np.abs(end - begin)[:, None] * np.where(tree.prismatic, 1.0, behind) * moves
        alone = moved @ ~moves.T
        return np.asarray(alone + alone.swapaxes(1, 2))


def geometry_of(arm: ArmFile, mechanism: Mechanism) -> Geometry | None:
    """Return the shapes of an arm; None if its model is a mechanism file or has
    no shapes that can collide.

    None for a closed chain, too: link lengths do not bound the motion of its passive
    joints between two places.
    """
    if arm.model.suffix.lower() == ".toml" or mechanism.chain is not None:
        return None
    model, unread = _compiled(arm.model, arm.model.stat().st_mtime_ns)
    return None if model is None else _geometry(model, unread, mechanism, arm.home(mechanism))


@lru_cache(maxsize=8)
def _compiled(path: Path, changed: int) -> "tuple[mujoco.MjModel | None, tuple[str, ...]]":
    """Compiled model with shapes, and bodies with missing meshes; cached until the file
    changes; None without collisions.
    """
    model, unread = collision_model(path)
    return model if model.geom_contype.any() and model.geom_conaffinity.any() else None, unread


def _geometry(
    model: "mujoco.MjModel", unread: tuple[str, ...], mechanism: Mechanism, home: Array
) -> Geometry | None:
    """Find the pairs that may touch, and the size of the shapes of each joint."""
    import mujoco

    tree, place, *_ = with_followers(mechanism, home[None])
    joints = np.array([model.joint(name).id for name in tree.names])
    places, movers = model.jnt_qposadr[joints].astype(int), _movers(model)
    owner, above = (
        movers[model.geom_bodyid],
        np.where(np.arange(model.nbody) > 0, movers[model.body_parentid], -1),
    )
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    model.opt.o_margin = _SEEN
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    mujoco.mj_kinematics(model, data)
    last = model.body_jntadr + model.body_jntnum - 1  # joint of each body with a joint
    moved = np.flatnonzero(owner > 0)
    mover, size = np.full(model.ngeom, tree.n), np.zeros(tree.n + 1)
    mover[moved] = np.argsort(joints)[np.searchsorted(np.sort(joints), last[owner[moved]])]
    np.maximum.at(
        size,
        mover[moved],
        np.linalg.norm(data.geom_xpos[moved] - data.xanchor[last[owner[moved]]], axis=1)
        + model.geom_rbound[moved],
    )
    may_touch = (
        (owner[:, None] == owner)
        | (above[owner][:, None] == owner)
        | (owner[:, None] == above[owner])
    )
    data.qpos[places] = place[0]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    close = [
        (int(one), int(other))
        for one, other in data.contact.geom[data.contact.dist < GAP]
        if not may_touch[one, other]
    ]
    for one, other in close:
        may_touch[one, other] = may_touch[other, one] = True
    names = dict.fromkeys(
        f"{_called(model, one)} and {_called(model, other)}" for one, other in close
    )
    seen = mover[(model.geom_contype != 0) | (model.geom_conaffinity != 0)]
    bare = tuple(name for k, name in enumerate(tree.names) if k not in seen and tree.mass[k] > 0.0)
    return (
        None
        if may_touch.all()
        else Geometry(data, places, may_touch, mover, size, tuple(names), unread, bare)
    )


def _movers(model: "mujoco.MjModel") -> np.ndarray:
    """For each body, the body with a joint that carries it; 0 is the ground."""
    movers = np.arange(model.nbody)
    for body in range(1, model.nbody):
        if model.body_jntnum[body] == 0:
            movers[body] = movers[model.body_parentid[body]]
    return movers


def _called(model: "mujoco.MjModel", geom: int) -> str:
    """Name of a shape: its link, or a geom on the ground."""
    body = int(model.geom_bodyid[geom])
    return model.body(body).name if body else model.geom(geom).name or "a shape on the ground"
