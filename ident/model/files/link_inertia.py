"""Mass and inertia of links before MuJoCo compiles the model: stated, computed from
geoms, impossible, or missing.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.files.mujoco_bodies import body_name, unfused
from stribeck.ident.model.files.mujoco_parsing import unreadable_meshes

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
# kg, kg·m²; mass and inertia with which a link without mass or inertia is compiled
NO_MASS = 1e-14


def make_inertias_possible(spec: "mujoco.MjSpec") -> dict[str, Array]:
    """Replace each impossible inertia by the nearest possible inertia; return stated minus
    possible inertia, in link axes.
    """
    import mujoco

    missing = {}
    for body in spec.bodies[1:]:
        stated = stated_inertia(body)
        if not stated.any():
            continue  # a point mass
        frame = np.empty(9)
        mujoco.mju_quat2Mat(frame, body.iquat)
        stated = frame.reshape(3, 3) @ stated @ frame.reshape(3, 3).T
        moment, axes = second_moment(stated)
        least = max(1e-9 * np.abs(moment).max(), NO_MASS)
        if moment[0] >= 0.5 * least:
            continue
        moment = np.maximum(moment, least)
        possible = moment.sum() * np.eye(3) - (axes * moment) @ axes.T
        body.iquat, body.inertia = [1.0, 0.0, 0.0, 0.0], [0.0] * 3
        body.fullinertia = [*np.diag(possible), *possible[[0, 0, 1], [1, 2, 2]]]
        missing[body.name] = stated - possible
    return missing


def stated_inertia(body: "mujoco.MjsBody") -> Array:
    """Inertia that the file states for a body, in axes of the body's inertia frame."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    return (
        np.diag(body.inertia)
        if np.isnan(xx)
        else np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    )


def second_moment(inertia: Array) -> tuple[Array, Array]:
    """Principal second moments of mass, ascending, and their axes; a real body has
    no negative second moment.
    """
    moment, axes = np.linalg.eigh(np.trace(inertia) / 2.0 * np.eye(3) - inertia)
    return moment, axes


def write_inertia_of_geoms(spec: "mujoco.MjSpec", name: str) -> None:
    """Compute the inertia that an MJCF derives from geoms and write it into the bodies, so that
    the geoms can be deleted.

    A mesh that cannot be read adds no mass and no inertia. A log warning names the bodies
    that depend on such a mesh.
    """
    import mujoco

    kind = mujoco.mjtInertiaFromGeom
    of_geoms = [
        body
        for body in spec.bodies[1:]
        if body.geoms
        and spec.compiler.inertiafromgeom != kind.mjINERTIAFROMGEOM_FALSE
        and not (
            body.explicitinertial and spec.compiler.inertiafromgeom == kind.mjINERTIAFROMGEOM_AUTO
        )
    ]
    if not of_geoms:
        return
    lost = unreadable_meshes(spec)
    low, high = spec.compiler.inertiagrouprange
    lacking = [
        body
        for body in of_geoms
        if any(
            geom.meshname in lost and _has_mass(geom) and low <= geom.group <= high
            for geom in body.geoms
        )
    ]
    for part in (*spec.geoms, *spec.meshes):
        if (part.meshname if isinstance(part, mujoco.MjsGeom) else part.name) in lost:
            spec.delete(part)
    if lacking:
        _log.warning(
            "%s: mass and inertia of %s are too small: meshes that cannot be read (%s) do not "
            "count; state an <inertial>, or put the mesh files where the model looks for them",
            name,
            ", ".join(map(body_name, lacking)),
            ", ".join(sorted(lost)),
        )
    whole = spec.copy()
    allow_no_mass(whole)
    model = unfused(whole)
    for k, body in enumerate(spec.bodies):
        if body not in of_geoms:
            continue
        body.mass, body.ipos, body.iquat = (
            model.body_mass[k],
            model.body_ipos[k],
            model.body_iquat[k],
        )
        body.inertia, body.fullinertia[:] = model.body_inertia[k], np.nan
        body.explicitinertial = True


def _has_mass(geom: "mujoco.MjsGeom") -> bool:
    return bool(geom.density > 0.0 if np.isnan(geom.mass) else geom.mass > 0.0)


def allow_no_mass(spec: "mujoco.MjSpec") -> None:
    """Let MuJoCo compile links without mass or inertia: MuJoCo refuses such
    links, stribeck only warns.
    """
    for bound in ("boundmass", "boundinertia"):
        setattr(spec.compiler, bound, max(getattr(spec.compiler, bound), NO_MASS))


def add_point_mass(body: "mujoco.MjsBody", mass: float, com: Sequence[float]) -> None:
    """Attach a point mass [kg] to a body, at the position com in the body's frame [m]."""
    if mass > 0.0:
        body.add_body(mass=mass, ipos=list(com), inertia=[NO_MASS] * 3, explicitinertial=True)
