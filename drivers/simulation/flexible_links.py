"""Flexible links of the simulated arm: beams of rigid pieces with pairs of elastic hinges,
built from MuJoCo bodies.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from stribeck.drivers.simulation.truth import FlexibleLink
from stribeck.ident.errors import InputError
from stribeck.ident.model.files.older_mujoco import mujoco_release

Array = NDArray[np.float64]
# allowed deviation of a link from a uniform rod, as a fraction of its inertia
_UNIFORM = 0.01
_MUJOCO = 3, 16  # older versions crash when they free a model with a body of another model


@dataclass(frozen=True)
class Beam:
    """A link that bends.

    Attributes
    ----------
    hinges : tuple of str
        MuJoCo's names of the hinges, from the joint outwards; two successive hinges form a pair.
    straight, tip : ndarray, shape (3,)
        The end of the straight beam in the frame of its first piece, and the end of the beam in the
        frame of its last piece [m].
    """

    hinges: tuple[str, ...]
    straight: Array
    tip: Array

    def bending(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> Array:
        """Return the deflection of the end from a rigid link, shape (3,), in base axes [m];
        call after ``mj_kinematics``.
        """
        last = int(model.jnt_bodyid[model.joint(self.hinges[-1]).id])
        first = last
        for _ in self.hinges[::2]:
            first = int(model.body_parentid[first])
        there, straight = (
            data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
            for body, point in ((last, self.tip), (first, self.straight))
        )
        return np.asarray(there - straight)


def make_flexible(spec: "mujoco.MjSpec", joint: str, link: FlexibleLink, key: str) -> Beam:
    """Cut the link of a joint into pieces and return the beam; bodies attached to the link
    move with the last piece.

    The link has N segments of length h. Each has a hinge pair of stiffness E I / h in its middle,
    so that half a segment remains at both ends (rigid finite elements).

    Parameters
    ----------
    spec : MjSpec
        The specification, without actuators, tendons and other elements that
        name its joints and bodies.
    joint : str
        The joint that carries the link, a uniform rod that begins at the joint's origin.
    link : FlexibleLink
        Bending stiffness, number of segments and damping of the link.
    key : str
        Key of the arm file that describes the link; messages begin with it.

    Raises
    ------
    InputError
        If the link is not a uniform rod, or MuJoCo is older than 3.16.
    """
    if mujoco_release() < _MUJOCO:
        raise InputError(
            f"{key}: needs MuJoCo {'.'.join(map(str, _MUJOCO))} or newer; {mujoco.__version__} is "
            "installed"
        )
    source = spec.copy()
    source.compiler.fusestatic = False
    model = source.compile()
    body = int(model.jnt_bodyid[model.joint(joint).id])
    start = np.array(model.joint(joint).pos)
    e, length, axial = _rod(model, body, start, key)

    N, h = link.segments, length / link.segments
    pieces = np.full(N + 1, h)
    pieces[[0, -1]] = h / 2.0
    a = np.cross(e, np.eye(3)[np.argmin(np.abs(e))])
    axes = {"a": a / np.linalg.norm(a), "b": np.cross(e, a / np.linalg.norm(a))}
    stiffness = link.bending_stiffness / h
    piece, origin, hinges = spec.joint(joint).parent, start, []
    carried = list(piece.bodies)
    for k, size in enumerate(pieces):
        if k:
            piece, origin = (
                piece.add_body(pos=pieces[k - 1] * e + (start if k == 1 else 0.0)),
                origin + pieces[k - 1] * e,
            )
            # all values are stated, since the model's defaults are for drives
            for letter, axis in axes.items():
                hinges.append(f"{joint} {k}{letter}")
                piece.add_joint(
                    name=hinges[-1],
                    type=mujoco.mjtJoint.mjJNT_HINGE,
                    axis=axis,
                    pos=[0.0] * 3,
                    ref=0.0,
                    springref=0.0,
                    armature=0.0,
                    frictionloss=0.0,
                    stiffness=stiffness,
                    damping=stiffness * link.relaxation_time,
                )
        _fill(
            piece,
            model.body_mass[body] * size / length,
            axial * size / length,
            size,
            e,
            np.zeros(3) if k else start,
        )
    for old, new in zip(carried, source.joint(joint).parent.bodies, strict=True):
        spec.delete(old)
        _hang(piece, new, model.body_pos[new.id] - origin, model.body_quat[new.id])
    return Beam(tuple(hinges), start + length * e, pieces[-1] * e)


def _rod(model: "mujoco.MjModel", body: int, start: Array, key: str) -> tuple[Array, float, float]:
    """Return direction, length and axial inertia of a body that is a
    uniform rod from `start` on.
    """
    mass, half, turn = float(model.body_mass[body]), model.body_ipos[body] - start, np.empty(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[body])
    frame = turn.reshape(3, 3)
    inertia = (frame * model.body_inertia[body]) @ frame.T
    length = 2.0 * float(np.linalg.norm(half))
    if mass > 0.0 and length > 0.0:
        e = 2.0 * half / length
        axial = float(e @ inertia @ e)
        across = mass * length**2 / 12.0 + axial / 2.0
        wanted = axial * np.outer(e, e) + across * (np.eye(3) - np.outer(e, e))
        if np.abs(inertia - wanted).max() <= _UNIFORM * across:
            return e, length, axial
    raise InputError(
        f"{key}: the link is not a uniform rod that begins at its joint's origin: a rod of "
        f"{mass:g} kg with its centre of mass at {np.round(half, 4).tolist()} m has "
        f"{mass * length**2 / 12.0:.4g} kg·m² across, the model states "
        f"{np.round(model.body_inertia[body], 5).tolist()}; only uniform rods can bend"
    )


def _fill(
    piece: "mujoco.MjsBody", mass: float, axial: float, size: float, e: Array, start: Array
) -> None:
    """Give a body the mass and inertia of a rod along e."""
    along = np.outer(e, e)
    inertia = axial * along + (axial / 2.0 + mass * size**2 / 12.0) * (np.eye(3) - along)
    piece.mass, piece.ipos, piece.iquat = mass, start + size / 2.0 * e, [1.0, 0.0, 0.0, 0.0]
    piece.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    # otherwise MuJoCo finds two stated inertias
    piece.inertia, piece.explicitinertial = [0.0] * 3, True
    piece.fullinertia = [*np.diag(inertia), *inertia[[0, 0, 1], [1, 2, 2]]]


def _hang(piece: "mujoco.MjsBody", body: "mujoco.MjsBody", pos: Array, quat: Array) -> None:
    """Attach a body of another specification with all bodies that it
    carries, and keep all names.
    """
    prefix = "hung "
    moved = piece.add_frame().attach_body(body, prefix, "")
    moved.pos, moved.quat, moved.alt.type = pos, quat, mujoco.mjtOrientation.mjORIENTATION_QUAT
    for part in (moved, *moved.find_all("body"), *moved.find_all("joint")):
        part.name = part.name.removeprefix(prefix)
