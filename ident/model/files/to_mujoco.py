"""Conversion of a mechanism to a MuJoCo model in natural coordinates."""

from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.errors import ModelError
from stribeck.ident.model.mechanism import Mechanism

if TYPE_CHECKING:
    import mujoco


def compile_mechanism(mechanism: Mechanism) -> "mujoco.MjModel":
    """Compile a MuJoCo model in natural coordinates: a body and a joint with the same origin for
    each joint of `Mechanism.tree`.

    Links may have no mass. A simulation then needs armatures, and
    ``mujoco.mj_setConst`` after they are set.

    Raises
    ------
    ModelError
        If the mechanism has closed loops.
    """
    import mujoco

    if mechanism.closures:
        raise ModelError(
            f"{mechanism.name}: {mechanism.closures[0].name} closes a loop; needed is a tree "
            "without loops"
        )
    mechanism = mechanism.tree
    spec = mujoco.MjSpec()
    bodies = [spec.worldbody]
    for j, parent in enumerate(mechanism.parent):
        body = bodies[parent + 1].add_body(
            pos=mechanism.origin[j], mass=1.0, inertia=[1.0] * 3, explicitinertial=True
        )
        kind = (
            mujoco.mjtJoint.mjJNT_SLIDE if mechanism.prismatic[j] else mujoco.mjtJoint.mjJNT_HINGE
        )
        body.add_joint(name=mechanism.names[j], type=kind, axis=mechanism.axis[j])
        bodies.append(body)
    spec.option.gravity = mechanism.gravity
    model = spec.compile()
    # inertias are written into the compiled model: the compiler refuses links without mass
    model.body_sameframe[:] = model.body_simple[:] = model.dof_simplenum[:] = 0
    model.body_subtreemass[:] = 0.0
    for j, name in enumerate(mechanism.names):
        b = int(model.jnt_bodyid[model.joint(name).id])
        moments, axes = np.linalg.eigh(mechanism.inertia[j])
        axes[:, 0] *= np.linalg.det(axes)
        model.body_mass[b], model.body_ipos[b], model.body_inertia[b] = (
            mechanism.mass[j],
            mechanism.com[j],
            moments,
        )
        mujoco.mju_mat2Quat(model.body_iquat[b], axes.ravel())
        while b >= 0:
            model.body_subtreemass[b] += mechanism.mass[j]
            b = int(model.body_parentid[b]) if b else -1
    return model
