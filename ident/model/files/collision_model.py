"""Shapes of an arm for collision checks."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from stribeck.ident.errors import InputError
from stribeck.ident.model.files.link_inertia import allow_no_mass, make_inertias_possible
from stribeck.ident.model.files.mujoco_bodies import body_name
from stribeck.ident.model.files.mujoco_parsing import (
    one_line,
    parsed_spec,
    unreadable_meshes,
    warnings_logged,
)

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)


def collision_model(path: Path) -> tuple["mujoco.MjModel", tuple[str, ...]]:
    """Compile a URDF or MJCF with its shapes; return the model and the bodies
    whose shapes are incomplete.

    The shapes of a body are incomplete if one of its meshes cannot be read. A log
    warning names these meshes.
    """
    import mujoco

    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        with warnings_logged(path):
            spec = parsed_spec(path, text)
            lost = unreadable_meshes(spec)
            lacking = dict.fromkeys(
                body_name(body)
                for body in spec.bodies
                for geom in body.geoms
                if geom.meshname in lost and (geom.contype or geom.conaffinity)
            )
            for part in (*spec.geoms, *spec.meshes):
                if (part.meshname if isinstance(part, mujoco.MjsGeom) else part.name) in lost:
                    spec.delete(part)
            make_inertias_possible(spec)
            allow_no_mass(spec)
            model = spec.copy().compile()
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(
            f"{path}: MuJoCo cannot compile the model with its geometry: {one_line(error)}"
        ) from error
    if lost:
        _log.warning(
            "%s: collision checks ignore these meshes, which cannot be read: %s",
            path,
            ", ".join(sorted(lost)),
        )
    return model, tuple(lacking)
