"""URDF and MJCF through MuJoCo's compiler, without their meshes."""

import html
import logging
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, ModelError, no_text, unknown_name
from stribeck.ident.model.files.older_mujoco import correct_model

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
NO_MASS = 1e-14         # kg, kg·m²; what a link without mass or inertia is compiled with
_ATTRIBUTE = re.compile(r"""\s*([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")
_MOST = 1e9             # kg, m, kg·m²: more is a slip
_PACKAGE = "package://"
_MOVING = ("revolute", "continuous", "prismatic")
_SUPPORTED = "only revolute, continuous and prismatic joints of a mounted arm are supported"


def model_spec(path: Path) -> "mujoco.MjSpec":
    """MuJoCo specification of a URDF or MJCF file, without geometry and meshes.

    Inertias that no body can have, which MuJoCo refuses, are the nearest possible ones.

    Raises
    ------
    InputError
        If MuJoCo cannot read or compile the file; gives MuJoCo's reason.
    ModelError
        If it has a floating, planar, ball or closed-loop joint, or no moving joint; names the joint.
    """
    return read_model(path)[0]


def read_model(path: Path) -> tuple["mujoco.MjSpec", dict[str, Array]]:
    """Specification as `model_spec` says, and what the stated inertias of links exceed it by, in link axes."""
    import mujoco

    text = path.read_text(encoding="utf-8", errors="replace")
    if "\0" in text:
        raise no_text(path)
    urdf = "<robot" in text
    _refuse_includes(path, text, {path.resolve()})
    impossible: dict[str, Array] = {}
    if urdf:
        _refuse_urdf_joints(text, path.stem)
    try:
        with _logged(path):
            spec = _parsed(path, text)
            spec.modelname = path.stem          # its own may be no text
            _refuse_joints(spec, path.stem)
            _refuse_masses(spec, path.stem)
            if spec.option.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:      # kept as a gravity that can be overridden
                spec.option.gravity = np.zeros(3)
                spec.option.disableflags ^= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
            if urdf:                    # a link of a URDF has what it states, possible or not
                impossible = _made_possible(spec)
            else:
                _inertia_of_geoms(spec, path.stem)
            for part in (*spec.geoms, *spec.meshes):
                spec.delete(part)
            spec = spec.copy()          # which sheds what refers to them: sensors, pairs, tuples
            if any(body.joints and (body.mass <= 0.0 or not _inertia(body).any()) for body in spec.bodies):
                _allow_no_mass(spec)
            leaders_of(spec.copy().compile(), path.stem)
    except ModelError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"{path}: not a usable URDF or MJCF model: {_malformed(text) or _one_line(error)}") from error
    return spec, impossible


def _refuse_includes(path: Path, text: str, seen: set[Path]) -> None:
    """Refuse a model that includes files outside its folder, itself or by one that it includes.

    Meshes may lie elsewhere, as in packages: nothing but their shape is read.
    """
    for part in _included(text):
        included = (path.parent / part).resolve()
        if not included.is_relative_to(path.parent.resolve()):
            raise InputError(f"{path}: includes {part!r}, which lies outside its folder; put it beside the model")
        if included.is_file() and included not in seen:
            seen.add(included)
            _refuse_includes(path, included.read_text(encoding="utf-8", errors="replace"), seen)


def _included(text: str) -> Iterator[str]:
    """Files that elements name which bring in others; as MuJoCo reads attributes, entities and all."""
    for element in re.finditer(r"<(?:include|model)\b", text):
        at = element.end()
        while attribute := _ATTRIBUTE.match(text, at):
            name, value = attribute.groups()
            at = attribute.end()
            if name == "file":
                yield html.unescape(value[1:-1])


def collision_model(path: Path) -> tuple["mujoco.MjModel", tuple[str, ...]]:
    """A URDF or MJCF that `read_model` accepts, compiled with its shapes, and the bodies that lack some.

    Those have meshes that cannot be read; the log names these.
    """
    import mujoco

    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        with _logged(path):
            spec = _parsed(path, text)
            lost = _unreadable_meshes(spec)
            lacking = dict.fromkeys(_called(body) for body in spec.bodies for geom in body.geoms
                                    if geom.meshname in lost and (geom.contype or geom.conaffinity))
            for part in (*spec.geoms, *spec.meshes):
                if (part.meshname if isinstance(part, mujoco.MjsGeom) else part.name) in lost:
                    spec.delete(part)
            _made_possible(spec)
            _allow_no_mass(spec)
            model = spec.copy().compile()
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"{path}: the geometry of the model cannot be used: {_one_line(error)}") from error
    if lost:
        _log.warning("%s: meshes that cannot be read take no part in checks for collision: %s", path, ", ".join(sorted(lost)))
    return model, tuple(lacking)


def _parsed(path: Path, text: str) -> "mujoco.MjSpec":
    """Specification as MuJoCo reads it, which knows two endings only, in small letters."""
    import mujoco

    if path.suffix in (".xml", ".urdf"):
        spec = mujoco.MjSpec.from_file(str(path))
    else:
        spec = mujoco.MjSpec.from_string(text)
        spec.modelfiledir = str(path.parent)
    correct_model(spec, text)
    for mesh in spec.meshes:
        if mesh.file.startswith(_PACKAGE):
            mesh.file = _in_package(mesh.file, path.resolve()) or mesh.file
    return spec


def _in_package(file: str, model: Path) -> str | None:
    """File of a ROS package in which the model lies, or which lies beside one of its folders."""
    package, _, rest = file.removeprefix(_PACKAGE).partition("/")
    for folder in model.parents:
        for root in ([folder] if folder.name == package else []) + [folder / package]:
            found = (root / rest).resolve()
            if found.is_relative_to(root) and found.is_file():
                return str(found)
    return None


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """MuJoCo's warnings in the log instead of on the console and in a file of its own."""
    import mujoco

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: _log.warning("%s: %s", path, text))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _made_possible(spec: "mujoco.MjSpec") -> dict[str, Array]:
    """Replace inertias that no body can have by the nearest possible ones; returns what is missing then, in link axes."""
    import mujoco

    missing = {}
    for body in spec.bodies[1:]:
        stated = _inertia(body)
        if not stated.any():
            continue                    # a point
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


def _inertia(body: "mujoco.MjsBody") -> Array:
    """Inertia that is stated for a body, in axes of its inertia frame."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    return np.diag(body.inertia) if np.isnan(xx) else np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _inertia_of_geoms(spec: "mujoco.MjSpec", name: str) -> None:
    """Write the inertia that an MJCF leaves to its geoms into the bodies, so that it survives them.

    Geoms of meshes that cannot be read give none; bodies that depend on one are named.
    """
    import mujoco

    kind = mujoco.mjtInertiaFromGeom
    of_geoms = [body for body in spec.bodies[1:] if body.geoms and spec.compiler.inertiafromgeom != kind.mjINERTIAFROMGEOM_FALSE
                and not (body.explicitinertial and spec.compiler.inertiafromgeom == kind.mjINERTIAFROMGEOM_AUTO)]
    if not of_geoms:
        return
    lost = _unreadable_meshes(spec)
    low, high = spec.compiler.inertiagrouprange
    lacking = [body for body in of_geoms
               if any(geom.meshname in lost and _has_mass(geom) and low <= geom.group <= high for geom in body.geoms)]
    for part in (*spec.geoms, *spec.meshes):
        if (part.meshname if isinstance(part, mujoco.MjsGeom) else part.name) in lost:
            spec.delete(part)
    if lacking:
        _log.warning("%s: the mass and inertia of %s lack those of meshes that cannot be read (%s); state an <inertial>, or put "
                     "the files where the model looks for them", name, ", ".join(map(_called, lacking)), ", ".join(sorted(lost)))
    whole = spec.copy()
    _allow_no_mass(whole)
    model = unfused(whole)
    for k, body in enumerate(spec.bodies):
        if body not in of_geoms:
            continue
        body.mass, body.ipos, body.iquat = model.body_mass[k], model.body_ipos[k], model.body_iquat[k]
        body.inertia, body.fullinertia[:] = model.body_inertia[k], np.nan
        body.explicitinertial = True


def _unreadable_meshes(spec: "mujoco.MjSpec") -> set[str]:
    """Names of the meshes that are missing or damaged."""
    import mujoco

    lost = set()
    for mesh in spec.meshes:
        alone = mujoco.MjSpec()
        alone.modelfiledir, alone.compiler.meshdir = spec.modelfiledir, spec.compiler.meshdir
        alone.strippath = spec.strippath
        alone.add_mesh(**{key: getattr(mesh, key) for key in (
            "name", "file", "content_type", "scale", "inertia", "uservert", "userface")})
        try:
            alone.compile()
        except (ValueError, mujoco.FatalError):
            lost.add(mesh.name)
    return lost


def _allow_no_mass(spec: "mujoco.MjSpec") -> None:
    """MuJoCo refuses what is only warned of here."""
    for bound in ("boundmass", "boundinertia"):
        setattr(spec.compiler, bound, max(getattr(spec.compiler, bound), NO_MASS))


def _has_mass(geom: "mujoco.MjsGeom") -> bool:
    return bool(geom.density > 0.0 if np.isnan(geom.mass) else geom.mass > 0.0)


def _called(body: "mujoco.MjsBody") -> str:
    if body.name:
        return f"body {body.name}"
    return f"the body of joint {body.joints[0].name}" if body.joints else f"a nameless body on {_called(body.parent)}"


def unfused(spec: "mujoco.MjSpec") -> "mujoco.MjModel":
    """Compiled with every body, those on fixed joints too."""
    whole = spec.copy()
    whole.compiler.fusestatic = False
    return whole.compile()


def last_link(spec: "mujoco.MjSpec") -> "mujoco.MjsBody":
    """Body that the last joint with a drive carries."""
    model = unfused(spec)
    driven = np.setdiff1d(np.arange(model.njnt), list(leaders_of(model, spec.modelname)))
    return spec.bodies[int(model.jnt_bodyid[driven[-1]])]


def add_point_mass(body: "mujoco.MjsBody", mass: float, com: Sequence[float]) -> None:
    """Attach a point mass [kg] to a body, at com in the body's own frame [m]."""
    if mass > 0.0:
        body.add_body(mass=mass, ipos=list(com), inertia=[NO_MASS] * 3, explicitinertial=True)


def hold_followers(spec: "mujoco.MjSpec") -> None:
    """Fix the joints that others move where they stand while their leaders are at zero.

    Raises
    ------
    ModelError
        If such a joint shares its body with another joint.
    """
    import mujoco

    model = unfused(spec)
    leaders = leaders_of(model, spec.modelname)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    for joint, (_, _, shift) in leaders.items():
        data.qpos[joint] = shift
    mujoco.mj_kinematics(model, data)
    inverse, place, turn = np.empty(4), np.empty(3), np.empty(4)
    for joint in leaders:
        child = int(model.jnt_bodyid[joint])
        parent, body = int(model.body_parentid[child]), spec.bodies[child]
        if len(body.joints) > 1:
            raise ModelError(f"{spec.modelname}: joint {model.joint(joint).name} shares its body with another joint and "
                             "cannot be held; give it a body of its own")
        mujoco.mju_negQuat(inverse, data.xquat[parent])
        mujoco.mju_rotVecQuat(place, data.xpos[child] - data.xpos[parent], inverse)
        mujoco.mju_mulQuat(turn, inverse, data.xquat[child])
        body.pos, body.quat, body.alt.type = place, turn, mujoco.mjtOrientation.mjORIENTATION_QUAT
        spec.delete(body.joints[0])
    for part in (*spec.equalities, *spec.keys):
        spec.delete(part)
    if leaders:
        _log.warning("%s: joints %s follow others; they are held where they stand while those are at zero",
                     spec.modelname, ", ".join(model.joint(joint).name for joint in leaders))


def leaders_of(model: "mujoco.MjModel", name: str) -> dict[int, tuple[int, float, float]]:
    """Joints that others move -> leader, ratio, shift in q = ratio q_leader + shift; leader -1 and ratio 0 hold a joint.

    Raises
    ------
    ModelError
        If the model has other couplings, or joints that lead in a circle.
    """
    import mujoco

    direct: dict[int, tuple[int, float, float]] = {}
    active = np.flatnonzero(model.eq_active0)
    closing = np.count_nonzero(model.eq_type[active] != mujoco.mjtEq.mjEQ_JOINT)
    for e in active:
        if model.eq_type[e] != mujoco.mjtEq.mjEQ_JOINT:
            raise ModelError(f"{name}: the model closes a loop by {closing} equality constraint(s), such as "
                             f"{mujoco.mjtEq(model.eq_type[e]).name[5:].lower()}; an open tree is needed here")
        joint, leader, law = int(model.eq_obj1id[e]), int(model.eq_obj2id[e]), model.eq_data[e]
        if law[2:5].any() or joint in direct:
            raise ModelError(f"{name}: joint {model.joint(joint).name} follows others by more than one constant ratio")
        ratio, there = (0.0, 0.0) if leader < 0 else (float(law[1]), float(model.qpos0[leader]))
        direct[joint] = leader, ratio, float(model.qpos0[joint] + law[0] - ratio * there)
    found = {}
    for joint, (leader, ratio, shift) in direct.items():
        for _ in direct:
            if leader in direct:
                leader, further, there = direct[leader]
                ratio, shift = ratio * further, ratio * there + shift
        if leader in direct:
            raise ModelError(f"{name}: joint {model.joint(joint).name} follows itself")
        found[joint] = leader, ratio, shift
    if len(found) == model.njnt:
        raise ModelError(f"{name}: the model has no moving joint")
    return found


def second_moment(inertia: Array) -> tuple[Array, Array]:
    """Principal second moments of mass, ascending, and their axes; no body has a negative one."""
    moment, axes = np.linalg.eigh(np.trace(inertia) / 2.0 * np.eye(3) - inertia)
    return moment, axes


def _refuse_urdf_joints(text: str, name: str) -> None:
    """Name a joint of a kind that is not supported, or that mimics no moving joint."""
    try:
        robot = ET.fromstring(text)
    except ET.ParseError:
        return                          # MuJoCo says what is wrong
    names = [joint.get("name", "without name") for joint in robot.findall("joint")]
    for k, one in enumerate(names):
        if one in names[:k]:
            raise ModelError(f"{name}: two joints are called {one}; each needs a name of its own")
    joints = dict(zip(names, robot.findall("joint"), strict=True))
    moving = [one for one, joint in joints.items() if joint.get("type") in _MOVING]
    for one, joint in joints.items():
        kind, mimic = joint.get("type"), joint.find("mimic")
        if kind is not None and kind not in (*_MOVING, "fixed"):
            raise ModelError(f"{name}: joint {one} is a {kind} joint; {_SUPPORTED}")
        if mimic is not None and one in moving and mimic.get("joint") == one:
            raise ModelError(f"{name}: joint {one} follows itself")
        if mimic is not None and one in moving and mimic.get("joint") not in (None, *moving):
            raise ModelError(f"{name}: joint {one} mimics {unknown_name('joint', str(mimic.get('joint')), moving)}")


def _refuse_joints(spec: "mujoco.MjSpec", name: str) -> None:
    import mujoco

    kinds = {int(mujoco.mjtJoint.mjJNT_FREE): "floating", int(mujoco.mjtJoint.mjJNT_BALL): "ball"}
    if not spec.joints:
        raise ModelError(f"{name}: the model has no moving joint")
    for j, joint in enumerate(spec.joints):
        if int(joint.type) in kinds:
            raise ModelError(f"{name}: joint {joint.name or j} is a {kinds[int(joint.type)]} joint; {_SUPPORTED}")
        if not joint.name:
            raise ModelError(f"{name}: joint number {j} has no name; every moving joint needs one")


def _refuse_masses(spec: "mujoco.MjSpec", name: str) -> None:
    for body in spec.bodies[1:]:
        if not body.mass >= 0.0:
            raise ModelError(f"{name}: {_called(body)} has a mass of {body.mass:g} kg; zero or more is needed")
        stated = np.array([body.mass, *body.pos, *body.ipos, *_inertia(body).ravel()])      # nan is what is not stated
        if (np.abs(stated) > _MOST).any():
            raise ModelError(f"{name}: mass, place or inertia of {_called(body)} is no number of this world")


def _malformed(text: str) -> str | None:
    """What keeps a text from being XML; None where it is, or where MuJoCo objects to something else."""
    try:
        expat.ParserCreate().Parse(text.encode(), True)
    except expat.ExpatError as error:
        return f"not well-formed XML: {error}"
    return None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
