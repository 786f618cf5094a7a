"""MuJoCo specification of a closed chain: bodies and joints of its tree, and equality
constraints that close its loops.
"""

from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.model.chains.loop_geometry import gap_jacobian
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.joint_parts import Closure
from stribeck.ident.model.mechanism import Mechanism

if TYPE_CHECKING:
    import mujoco

# kg and kg·m²; mass and inertia given to links without mass, because MuJoCo refuses zero
LEAST = 1e-9
# fraction of the trace added to the moments of flat bodies: MuJoCo refuses a
# moment above the others' sum
_FLAT = 1e-13
# singular values below this fraction of the greatest singular value count as zero
_RANK = 1e-9


def closed_spec(mechanism: Mechanism) -> "mujoco.MjSpec":
    """Return the MuJoCo specification of a mechanism in natural coordinates, with
    the loops of a closed chain.

    Coincident joints without mass between them, such as the two joints of a universal joint, share
    a body. Every other joint has a body with the name of the joint. A rotor on the ground with an
    inertia about its own axis only becomes an armature. A spherical closure becomes a ``connect``
    and a rigid closure a ``weld``. A pin becomes a ``connect``, and a second ``connect`` along the
    pin's axis if the rest of the chain lets the axis tilt. Each driven joint of a closed chain gets
    a motor, which marks the joint as driven.

    Parameters
    ----------
    mechanism : Mechanism
        Tree or closed chain.
    """
    import mujoco

    spec = mujoco.MjSpec()
    spec.modelname = mechanism.name
    spec.option.gravity = mechanism.gravity
    spec.compiler.degree = False
    bodies: list[mujoco.MjsBody] = []
    for j, parent in enumerate(mechanism.parent):
        below = spec.worldbody if parent < 0 else bodies[parent]
        body = (
            below
            if parent >= 0 and _shares(mechanism, j)
            else below.add_body(pos=mechanism.origin[j])
        )
        body.name = mechanism.names[j]
        body.explicitinertial = True
        body.mass = max(float(mechanism.mass[j]), LEAST)
        rotor = _rotor(mechanism, j)
        body.ipos, body.fullinertia = (
            mechanism.com[j],
            _moments((rotor == 0.0) * mechanism.inertia[j]),
        )
        kind = (
            mujoco.mjtJoint.mjJNT_SLIDE if mechanism.prismatic[j] else mujoco.mjtJoint.mjJNT_HINGE
        )
        joint = body.add_joint(
            name=mechanism.names[j], type=kind, axis=mechanism.axis[j], armature=rotor
        )
        if np.isfinite(mechanism.position[j]).all():
            joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, mechanism.position[j]
        bodies.append(body)
    tilting = _may_tilt(mechanism)
    for k, closure in enumerate(mechanism.closures):
        _close(spec, bodies, closure, length_of(mechanism) if k in tilting else 0.0)
    for j in mechanism.active if mechanism.closures else ():
        spec.add_actuator(
            name=mechanism.names[j], target=mechanism.names[j], trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
    return spec


def _shares(m: Mechanism, j: int) -> bool:
    """Return True if a joint coincides with its parent joint, and the parent's link has no mass
    and carries nothing else.
    """
    parent = m.parent[j]
    return bool(
        m.mass[parent] == 0.0
        and not m.inertia[parent].any()
        and not m.origin[j].any()
        and m.parent.count(parent) == 1
        and all(parent not in closure.links for closure in m.closures)
    )


def _rotor(m: Mechanism, j: int) -> float:
    """Inertia of a link that is a rotor on the ground, which MuJoCo represents as armature;
    0 for other links [kg·m²].
    """
    about = float(m.axis[j] @ m.inertia[j] @ m.axis[j])
    alone = np.allclose(m.inertia[j], about * np.outer(m.axis[j], m.axis[j]), rtol=0.0, atol=LEAST)
    return about if m.mass[j] == 0.0 and m.parent[j] < 0 and not m.prismatic[j] and alone else 0.0


def _moments(inertia: Array) -> Array:
    """Moments and products of inertia in MuJoCo's order, enlarged slightly if MuJoCo
    would refuse the inertia.
    """
    lacking = (
        LEAST if float(np.linalg.eigvalsh(inertia)[0]) < LEAST else _FLAT * float(np.trace(inertia))
    )
    J = inertia + lacking * np.eye(3)
    return np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])


def _close(
    spec: "mujoco.MjSpec", bodies: "list[mujoco.MjsBody]", closure: Closure, arm: float
) -> None:
    """Add the constraints of a closure; `arm` is the distance along a pin's axis to its second
    constraint, 0 for none [m].
    """
    import mujoco

    rigid = closure.kind == "rigid"
    for end, away in (("", 0.0), *((("'", arm),) if arm else ())):
        sites = [f"{closure.name}{end} {side}" for side in "ab"]
        for name, link, point in zip(sites, closure.links, closure.points, strict=True):
            body = bodies[link] if link >= 0 else spec.worldbody
            body.add_site(name=name, pos=point + away * closure.axis)
        spec.add_equality(
            name=f"{closure.name}{end}",
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=sites[0],
            name2=sites[1],
            type=mujoco.mjtEq.mjEQ_WELD if rigid else mujoco.mjtEq.mjEQ_CONNECT,
        )


def _may_tilt(m: Mechanism) -> frozenset[int]:
    """Return the pins whose axes could tilt if a constraint held only the pin's point."""
    rows, places = [], []
    for k, closure in enumerate(m.closures):
        rows += [k] * (3 + len(closure.across))
        places += [0] * 3 + [1] * len(closure.across)
    if not rows:
        return frozenset()
    G = gap_jacobian(m, kinematics(m, np.zeros((1, m.n))))[0]
    kind = np.array([m.closures[k].kind == "pin" for k in rows]) & (np.array(places) == 1)
    kept, whole = ~kind, _rank(G)
    tilting = set()
    for k in sorted({k for k, of_pin in zip(rows, kind, strict=True) if of_pin}):
        if _rank(G[kept]) == whole:
            break
        mine = kind & (np.array(rows) == k)
        if _rank(G[kept | mine]) > _rank(G[kept]):
            kept |= mine
            tilting.add(k)
    return frozenset(tilting)


def _rank(G: Array) -> int:
    return int(np.linalg.matrix_rank(G, tol=_RANK * np.abs(G).max()))


def length_of(m: Mechanism) -> float:
    """Mean distance between neighbouring joints and cut points [m]."""
    reach = np.linalg.norm(
        np.vstack([m.origin, *(closure.points for closure in m.closures)]), axis=1
    )
    return float(reach[reach > 0.0].mean()) if reach.any() else 1.0
