"""What the model says of the shapes of links and table: how far they stay apart along ways in joint space.

Collision geoms of an MJCF, and collision shapes of a URDF with the meshes that can be read. Links that share a joint, and shapes
that are close to each other at home, may touch.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.armfile import ArmFile
from ident.dynamics import with_followers
from ident.mechanism import Array, Mechanism
from ident.model_file import collision_model

if TYPE_CHECKING:
    import mujoco

GAP = 0.005             # m; shapes that come closer to each other count as touching
_SEEN = 0.1             # m; distance up to which shapes are looked for


@dataclass(frozen=True)
class Geometry:
    """Shapes of an arm and of what stands around it.

    Attributes
    ----------
    model : MjModel
        Compiled with shapes; distances up to `_SEEN` are computed.
    places : ndarray of int, shape (n + k,)
        Where positions of joints and followers lie in MuJoCo's.
    may_touch : ndarray of bool, shape (geoms, geoms)
        Pairs that are left out.
    size : float
        Farthest that any shape reaches from the origin of its joint [m].
    """

    model: "mujoco.MjModel"
    places: np.ndarray
    may_touch: np.ndarray
    size: float

    def meeting(self, mechanism: Mechanism, start: Array, target: Array) -> str | None:
        """Which shapes come closer than `GAP` on the straight way start -> target, each shape (n,); None if none do.

        From each place that is looked at the next is as far as all joints can go together before anything could touch.
        """
        import mujoco

        tree, ends, *_ = with_followers(mechanism, np.array([start, target]))
        (begin, end), data, s = ends, mujoco.MjData(self.model), 0.0
        fastest = float(np.abs(end - begin) @ self._reach(tree, np.abs(ends).max(axis=0)))
        while True:
            data.qpos[self.places] = begin + s * (end - begin)
            mujoco.mj_kinematics(self.model, data)
            mujoco.mj_collision(self.model, data)
            free = _SEEN
            if data.ncon:
                pairs, apart = data.contact.geom, data.contact.dist
                apart = np.where(self.may_touch[pairs[:, 0], pairs[:, 1]], _SEEN, apart)
                free = min(_SEEN, float(apart.min()))
                if free < GAP:
                    return " and ".join(_called(self.model, int(geom)) for geom in pairs[int(np.argmin(apart))])
            if s >= 1.0:
                return None
            s = min(1.0, s + free / max(fastest, 1e-9))


    def _reach(self, tree: Mechanism, far: Array) -> Array:
        """How far a joint's motion of 1 can move any shape, shape (n + k,): the longest arm behind it, or 1 for a slide."""
        lengths = np.linalg.norm(tree.origin, axis=1) + tree.prismatic * far
        return np.where(tree.prismatic, 1.0, np.cumsum(lengths[::-1])[::-1] - lengths + self.size)


def geometry_of(arm: ArmFile, mechanism: Mechanism) -> Geometry | None:
    """Shapes of an arm; None where its model has none that could meet."""
    model = _compiled(arm.model, arm.model.stat().st_mtime_ns)
    return None if model is None else _geometry(model, mechanism, arm.home(mechanism))


@lru_cache(maxsize=8)
def _compiled(path: Path, changed: int) -> "mujoco.MjModel | None":
    """Model with shapes, kept as long as its file does not change; None where nothing can meet."""
    model = collision_model(path)
    return model if model.geom_contype.any() and model.geom_conaffinity.any() else None


def _geometry(model: "mujoco.MjModel", mechanism: Mechanism, home: Array) -> Geometry | None:
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
    moved = np.flatnonzero(owner > 0)
    origin = data.xanchor[(model.body_jntadr + model.body_jntnum - 1)[owner[moved]]]
    size = float(np.max(np.linalg.norm(data.geom_xpos[moved] - origin, axis=1) + model.geom_rbound[moved], initial=0.0))
    may_touch = (owner[:, None] == owner) | (above[owner][:, None] == owner) | (owner[:, None] == above[owner])
    data.qpos[places] = place[0]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    for one, other in data.contact.geom[data.contact.dist < GAP]:
        may_touch[one, other] = may_touch[other, one] = True
    return None if may_touch.all() else Geometry(model, places, may_touch, size)


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
