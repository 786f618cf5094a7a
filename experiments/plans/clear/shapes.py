"""What the model says of the shapes of links and table: how far they stay apart along ways in joint space.

Collision geoms of an MJCF, and collision shapes of a URDF with the meshes that can be read. Links that share a joint, and shapes
that are close to each other at home, may touch.
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

GAP = 0.005             # m; shapes that come closer to each other count as touching
_SEEN = 0.1             # m; distance up to which shapes are looked for


@dataclass(frozen=True)
class Geometry:
    """Shapes of an arm and of what stands around it.

    Attributes
    ----------
    data : MjData
        Where MuJoCo computes, made once: it takes longer to make than many places to look at.
    places : ndarray of int, shape (n + k,)
        Where positions of joints and followers lie in MuJoCo's.
    may_touch : ndarray of bool, shape (geoms, geoms)
        Pairs that are left out.
    at_home : tuple of str
        Those among them that are left out because they are that close in the home posture, in words.
    unread, bare : tuple of str
        Bodies that have meshes that cannot be read, and joints whose link has mass but no shape: nothing looks at those.
    mover : ndarray of int, shape (geoms,)
        Joint or follower that moves a shape with what lies behind it; n + k for what stands on the ground.
    size : ndarray, shape (n + k + 1,)
        Farthest that any shape of these reaches from the joint's origin [m].
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
        """Compiled with shapes; distances up to `_SEEN` are computed."""
        return self.data.model

    @property
    def shapes(self) -> int:
        """How many could meet others."""
        return int(np.count_nonzero((self.model.geom_contype != 0) | (self.model.geom_conaffinity != 0)))

    def meetings(self, mechanism: Mechanism, start: Array, target: Array) -> Iterator[str | None]:
        """Which shapes come closer than `GAP` on each straight way start -> target, shapes (K, n); None if none do."""
        tree, begin, *_ = with_followers(mechanism, start)
        end = with_followers(mechanism, target)[1]
        for way in zip(begin, end, self._approach(tree, begin, end), strict=True):
            yield self._meeting(*way)

    def _meeting(self, begin: Array, end: Array, approach: Array) -> str | None:
        """Between two places that are looked at nothing can have come closer than half of `GAP`."""
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
                    return f"{_called(model, int(one[nearest]))} and {_called(model, int(other[nearest]))}"
                nearing = np.maximum(approach[self.mover[one], self.mover[other]], 1e-9)
                step = min(step, float(((apart - GAP / 2.0) / nearing).min()))
            if s >= 1.0:
                return None
            s = min(1.0, s + step)

    def _approach(self, tree: Mechanism, begin: Array, end: Array) -> Array:
        """How far shapes of two movers can come nearer to each other on each way, shape (K, n + k + 1, n + k + 1) [m].

        Only joints that move one and not the other count. A joint moves what it turns by its angle times the length of the arm
        from it to there at most, and what slides by as much as it slides.
        """
        moves = np.vstack((tree.carries.T, np.zeros(tree.n, dtype=bool)))     # shape (n + k + 1, n + k)
        lengths = np.linalg.norm(tree.origin, axis=1) + tree.prismatic * np.maximum(np.abs(begin), np.abs(end))
        along = lengths[:, None] * moves
        behind = np.cumsum(along[..., ::-1], axis=-1)[..., ::-1] - along + self.size[:, None]
        moved = np.abs(end - begin)[:, None] * np.where(tree.prismatic, 1.0, behind) * moves
        alone = moved @ ~moves.T
        return np.asarray(alone + alone.swapaxes(1, 2))


def geometry_of(arm: ArmFile, mechanism: Mechanism) -> Geometry | None:
    """Shapes of an arm; None where its model has none that could meet, or is a mechanism file, which says nothing of them.

    None of a closed chain, too: how far its passive joints move between two places is not bounded by its lengths.
    """
    if arm.model.suffix.lower() == ".toml" or mechanism.chain is not None:
        return None
    model, unread = _compiled(arm.model, arm.model.stat().st_mtime_ns)
    return None if model is None else _geometry(model, unread, mechanism, arm.home(mechanism))


@lru_cache(maxsize=8)
def _compiled(path: Path, changed: int) -> "tuple[mujoco.MjModel | None, tuple[str, ...]]":
    """Model with shapes, and bodies that lack some, kept as long as its file does not change; None where nothing can meet."""
    model, unread = collision_model(path)
    return model if model.geom_contype.any() and model.geom_conaffinity.any() else None, unread


def _geometry(model: "mujoco.MjModel", unread: tuple[str, ...], mechanism: Mechanism, home: Array) -> Geometry | None:
    """Which pairs may touch, and how far shapes reach."""
    import mujoco

    tree, place, *_ = with_followers(mechanism, home[None])
    joints = np.array([model.joint(name).id for name in tree.names])
    places, movers = model.jnt_qposadr[joints].astype(int), _movers(model)
    owner, above = movers[model.geom_bodyid], np.where(np.arange(model.nbody) > 0, movers[model.body_parentid], -1)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    model.opt.o_margin = _SEEN
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    mujoco.mj_kinematics(model, data)
    last = model.body_jntadr + model.body_jntnum - 1        # joint of each body that has one
    moved = np.flatnonzero(owner > 0)
    mover, size = np.full(model.ngeom, tree.n), np.zeros(tree.n + 1)
    mover[moved] = np.argsort(joints)[np.searchsorted(np.sort(joints), last[owner[moved]])]
    np.maximum.at(size, mover[moved], np.linalg.norm(data.geom_xpos[moved] - data.xanchor[last[owner[moved]]], axis=1)
                  + model.geom_rbound[moved])
    may_touch = (owner[:, None] == owner) | (above[owner][:, None] == owner) | (owner[:, None] == above[owner])
    data.qpos[places] = place[0]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    close = [(int(one), int(other)) for one, other in data.contact.geom[data.contact.dist < GAP] if not may_touch[one, other]]
    for one, other in close:
        may_touch[one, other] = may_touch[other, one] = True
    names = dict.fromkeys(f"{_called(model, one)} and {_called(model, other)}" for one, other in close)
    seen = mover[(model.geom_contype != 0) | (model.geom_conaffinity != 0)]
    bare = tuple(name for k, name in enumerate(tree.names) if k not in seen and tree.mass[k] > 0.0)
    return None if may_touch.all() else Geometry(data, places, may_touch, mover, size, tuple(names), unread, bare)


def _movers(model: "mujoco.MjModel") -> np.ndarray:
    """The body with a joint that each body is fixed to; 0 is the ground."""
    movers = np.arange(model.nbody)
    for body in range(1, model.nbody):
        if model.body_jntnum[body] == 0:
            movers[body] = movers[model.body_parentid[body]]
    return movers


def _called(model: "mujoco.MjModel", geom: int) -> str:
    """A shape by the link that it belongs to."""
    body = int(model.geom_bodyid[geom])
    return model.body(body).name if body else model.geom(geom).name or "what stands on the ground"
