"""Loops from a ``[[loops]]`` table of a mechanism file, or of an arm file that
adds loops to a URDF or MJCF.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.joint_parts import Closure

if TYPE_CHECKING:
    import mujoco

GROUND = ("ground", "world")
_STRICT = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
Vector = tuple[float, float, float]


def said(name: str) -> str:
    """Return the name; refuse a blank name."""
    if not name.strip():
        raise ValueError("a name is needed")
    return name


Name = Annotated[str, AfterValidator(said)]


class EndTable(BaseModel):
    """One end of a loop: a link and a `point` of the link, from the link's
    origin in the link's axes [m].
    """

    model_config = _STRICT
    link: str
    point: Vector


class LoopTable(BaseModel):
    """One loop: its type, its two ends, and the axis of a pin."""

    model_config = _STRICT
    type: Literal["pin", "spherical", "rigid"]
    a: EndTable
    b: EndTable
    name: Name | None = None
    axis: Vector | None = None

    def fault(self) -> str:
        """Fault of the table, to be written after ``loops[k]``; empty if the
        table is valid by itself.
        """
        if self.a.link == self.b.link:
            return f" ties {self.a.link!r} to itself; a loop needs two links"
        if self.axis is not None and self.type != "pin":
            return f".axis: only a pin has an axis; found a {self.type} closure"
        if self.axis is not None and not any(self.axis):
            return ".axis has length 0; a direction is needed"
        return ""

    @property
    def called(self) -> str:
        """Name of the loop, or the names of its two links."""
        return self.name or f"{self.a.link}-{self.b.link}"


@dataclass(frozen=True)
class StatedChain:
    """Drives and loops of a closed chain that the arm file states beside a URDF or MJCF.

    Attributes
    ----------
    drives : tuple of str
        Joints with a drive. If empty, the joints with an actuator in the MJCF have drives.
    more : bool
        If True, joints with an actuator have drives in addition to `drives`.
    loops : tuple of LoopTable
        Loops in addition to the loops of the MJCF.
    source : str
        File that states the drives and loops.
    """

    drives: tuple[str, ...] = ()
    more: bool = False
    loops: tuple[LoopTable, ...] = ()
    source: str = ""


def closures_of_tables(
    stated: StatedChain,
    model: "mujoco.MjModel",
    data: "mujoco.MjData",
    owner: NDArray[np.int_],
    root: str,
) -> tuple[Closure, ...]:
    """Return the closures of stated loops between links of a URDF or bodies of an MJCF.

    Points are in the axes of their link, and a pin's axis is in the axes of link a. The relative
    orientation that a pin or a rigid closure holds is the orientation with all joints at zero.

    Parameters
    ----------
    stated : StatedChain
    model, data : MjModel, MjData
        Model with all bodies, and data after ``mj_kinematics`` with all joints at zero.
    owner : ndarray of int, shape (bodies,)
        Joint that carries each body; -1 is the ground.
    root : str
        Link of a URDF that is the ground; empty if this link has no name.

    Raises
    ------
    InputError
        If a loop does not fit the model; names file, loop and key.
    """
    bodies = {
        **dict.fromkeys((*GROUND, *([root] if root else [])), 0),
        **{str(model.body(b).name): b for b in range(1, model.nbody) if model.body(b).name},
    }
    found, source = list[Closure](), stated.source
    for k, loop in enumerate(stated.loops):
        for end in (loop.a, loop.b):
            if end.link not in bodies:
                raise InputError(
                    f"{source}: loops[{k}]: {unknown_name('link', end.link, _listed(bodies, root))}"
                )
        if loop.type == "pin" and loop.axis is None:
            raise InputError(
                f"{source}: loops[{k}].axis is missing; a pin needs an axis, in the axes of link "
                f"{loop.a.link}"
            )
        if fault := loop.fault():
            raise InputError(f"{source}: loops[{k}]{fault}")
        body = [bodies[end.link] for end in (loop.a, loop.b)]
        links = int(owner[body[0]]), int(owner[body[1]])
        if links[0] == links[1]:
            raise InputError(
                f"{source}: loops[{k}] ties {loop.a.link!r} to {loop.b.link!r}, but no joint "
                "moves one against the "
                "other; a loop needs two links that can move relative to each other"
            )
        if loop.called in [other.name for other in found]:
            raise InputError(
                f"{source}: loops[{k}] is named {loop.called!r} like another loop; give each loop "
                "a name of its own"
            )
        turn = [data.xmat[b].reshape(3, 3) for b in body]
        points = [
            data.xpos[b] + R @ end.point
            for b, R, end in zip(body, turn, (loop.a, loop.b), strict=True)
        ]
        axis: Array = turn[0] @ np.array(loop.axis or (0.0, 0.0, 1.0))
        origins = [data.xanchor[j] if j >= 0 else np.zeros(3) for j in links]
        found.append(
            Closure(
                loop.called,
                loop.type,
                links,
                np.array(points) - origins,
                axis / np.linalg.norm(axis),
            )
        )
    return tuple(found)


def _listed(bodies: Mapping[str, int], root: str) -> list[str]:
    """Valid links for a message; the ground appears once, under its URDF name if there is one."""
    return (
        [name for name in bodies if name not in GROUND or name == root]
        if root
        else [name for name in bodies if name != GROUND[1]]
    )
