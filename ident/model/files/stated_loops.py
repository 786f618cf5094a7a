"""Loops that a table states: of a mechanism file, and of an arm file for a URDF or MJCF, which has none or not all of its own."""

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
    """A name that is not blank."""
    if not name.strip():
        raise ValueError("a name is needed")
    return name


Name = Annotated[str, AfterValidator(said)]


class EndTable(BaseModel):
    """Where a loop is tied to a link: `point` in the link's axes, from its origin [m]."""

    model_config = _STRICT
    link: str
    point: Vector


class LoopTable(BaseModel):
    """One loop."""

    model_config = _STRICT
    type: Literal["pin", "spherical", "rigid"]
    a: EndTable
    b: EndTable
    name: Name | None = None
    axis: Vector | None = None

    def fault(self) -> str:
        """What is wrong with it by itself; empty where nothing is."""
        if self.a.link == self.b.link:
            return f" ties {self.a.link!r} to itself; a loop needs two links"
        if self.axis is not None and self.type != "pin":
            return f".axis: only a pin has one; a {self.type} closure has none"
        if self.axis is not None and not any(self.axis):
            return ".axis has length 0"
        return ""

    @property
    def called(self) -> str:
        """Its name, or what it ties."""
        return self.name or f"{self.a.link}-{self.b.link}"


@dataclass(frozen=True)
class StatedChain:
    """What is stated beside a URDF or MJCF of the closed chain that it may be.

    Attributes
    ----------
    drives : tuple of str
        Joints with a drive; none: those with an actuator in the MJCF.
    more : bool
        Whether those with an actuator have drives beside them.
    loops : tuple of LoopTable
        Loops beside those of the MJCF.
    source : str
        File that states it.
    """

    drives: tuple[str, ...] = ()
    more: bool = False
    loops: tuple[LoopTable, ...] = ()
    source: str = ""


def closures_of_tables(stated: StatedChain, model: "mujoco.MjModel", data: "mujoco.MjData", owner: NDArray[np.int_],
                       root: str) -> tuple[Closure, ...]:
    """Closures of loops whose ends are links of a URDF or bodies of an MJCF, each with its own axes.

    A pin's axis is written in those of link a; links stand to each other in pins and rigid closures as they do where all joints
    are at zero.

    Parameters
    ----------
    stated : StatedChain
    model, data : MjModel, MjData
        With all bodies, after ``mj_kinematics`` with all joints at zero.
    owner : ndarray of int, shape (bodies,)
        Joint that carries each body; -1 is the ground.
    root : str
        Link of a URDF that is the ground; empty where it has no name.

    Raises
    ------
    InputError
        Names file, loop and key.
    """
    bodies = {**dict.fromkeys((*GROUND, *([root] if root else [])), 0),
              **{str(model.body(b).name): b for b in range(1, model.nbody) if model.body(b).name}}
    found, source = list[Closure](), stated.source
    for k, loop in enumerate(stated.loops):
        for end in (loop.a, loop.b):
            if end.link not in bodies:
                raise InputError(f"{source}: loops[{k}]: {unknown_name('link', end.link, _listed(bodies, root))}")
        if loop.type == "pin" and loop.axis is None:
            raise InputError(f"{source}: loops[{k}].axis is missing; a pin needs one, in axes of link {loop.a.link}")
        if fault := loop.fault():
            raise InputError(f"{source}: loops[{k}]{fault}")
        body = [bodies[end.link] for end in (loop.a, loop.b)]
        links = int(owner[body[0]]), int(owner[body[1]])
        if links[0] == links[1]:
            raise InputError(f"{source}: loops[{k}] ties {loop.a.link!r} and {loop.b.link!r}, between which no joint moves; a "
                             "loop needs two links that move against each other")
        if loop.called in [other.name for other in found]:
            raise InputError(f"{source}: loops[{k}] is named {loop.called!r} like another; give each a name of its own")
        turn = [data.xmat[b].reshape(3, 3) for b in body]
        points = [data.xpos[b] + R @ end.point for b, R, end in zip(body, turn, (loop.a, loop.b), strict=True)]
        axis: Array = turn[0] @ np.array(loop.axis or (0.0, 0.0, 1.0))
        origins = [data.xanchor[j] if j >= 0 else np.zeros(3) for j in links]
        found.append(Closure(loop.called, loop.type, links, np.array(points) - origins, axis / np.linalg.norm(axis)))
    return tuple(found)


def _listed(bodies: Mapping[str, int], root: str) -> list[str]:
    """Links that a message offers: the ground once, by the name that a person would look for."""
    return [name for name in bodies if name not in GROUND or name == root] if root else [
        name for name in bodies if name != GROUND[1]]
