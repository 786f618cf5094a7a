"""Friction written into robot descriptions: URDF, MJCF and SDF; the rest
of the file stays as it is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, no_file, no_text, unknown_name
from stribeck.ident.export.approximation import approximate, coulomb_viscous_losses
from stribeck.ident.export.descriptions.mjcf_inertia import rotor_inertia, with_links
from stribeck.ident.export.descriptions.mujoco_elements import stated_attributes, with_elements
from stribeck.ident.export.descriptions.mujoco_joint import FIRST_VERSION, HARD
from stribeck.ident.export.descriptions.urdf_inertia import bare_arm, with_inertia
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    Element,
    attributes_set,
    child_added,
    child_of,
    content_set,
    elements,
    spliced,
    with_attributes,
)
from stribeck.ident.export.result import Export, number
from stribeck.ident.export.shared_motors import (
    as_tendons,
    motor_losses,
    passive_friction,
    passive_losses,
)
from stribeck.ident.model.files.closed_mujoco import closed_spec
from stribeck.ident.model.files.urdf_mjcf import model_spec
from stribeck.ident.model.mechanism import Mechanism

if TYPE_CHECKING:
    import mujoco

_HARD = " ".join(map(str, HARD))
_DRAKE = (
    "Drake keeps the damping of {} and ignores the friction; BatchedFriction and stopping_torque "
    "supply it there (manual, other simulators)"
)
_FRICTION = ("friction", "frictionloss", "damping")
_CREEPS = (
    'MJCF joints get solimpfriction="0.9999 ...": with MuJoCo\'s default, dry friction yields at '
    "slow speeds and acts "
    "like damping"
)
_OLD = (
    f"MuJoCo {FIRST_VERSION} holds friction that falls with speed, bent viscous friction, offsets "
    "and cogging, too; the installed version does not read these elements"
)
_BARE = (
    "MJCF converted from URDF has no geometry and no meshes; --into FILE writes into your own MJCF"
)
_SOFT = (
    "equality constraints close the loops, and are soft with MuJoCo's default solref and solimp; "
    "for stiff loops, set "
    'solimp "0.9999 0.9999" and a solref of two time steps'
)
_STARTS = (
    "friction of passive joints is not written: none was identified (name the joints in [passive] "
    "of the arm file)"
)
_ROTORS = (
    "armature of {} is left at zero: the calibration does not hold the inertia of these rotors "
    "(times the gear ratio squared), which is not friction"
)


def to_urdf(calibration: Calibration, into: Path | None = None) -> Export:
    """Return a URDF with ``<dynamics friction damping>`` of every calibrated joint, and of passive
    joints of a closed chain.

    Parameters
    ----------
    calibration : Calibration
    into : Path, optional
        The URDF; default is the calibration's model.

    Raises
    ------
    InputError
        If the file is not a URDF or lacks a calibrated joint.
    """
    text = _text(into or _model(calibration), ("robot",))
    if into is None and calibration.model.inertia is not None:
        text = with_inertia(text, bare_arm(calibration))
    joints = _joints(text, calibration, into, lambda path: path == ("robot",))

    found = elements(text)

    rubbing = _rubbing_joints(calibration, joints)

    def changes() -> Iterator[Change]:
        for name, (friction, damping) in rubbing.items():
            values, joint = {"damping": number(damping), "friction": number(friction)}, joints[name]
            dynamics = child_of(found, joint, "dynamics")
            yield (
                child_added(text, joint, with_attributes("<dynamics/>", values))
                if dynamics is None
                else attributes_set(text, dynamics, values)
            )

    stated = {
        name: dynamics.attributes
        for name, joint in joints.items()
        if (dynamics := child_of(found, joint, "dynamics"))
    }
    losses = (
        *coulomb_viscous_losses(calibration, "URDF"),
        *_uncalibrated("URDF", calibration, into),
        *motor_losses(calibration, "URDF"),
        *passive_losses(calibration, "URDF", rubbing),
        *_kept("URDF", rubbing, stated),
        *_masses("URDF", calibration, into is None),
        _DRAKE.format("a URDF"),
    )
    return Export(spliced(text, list(changes())), ".urdf", losses)


def to_mjcf(calibration: Calibration, into: Path | None = None, plain: bool = False) -> Export:
    """Return an MJCF with the friction of every calibrated joint, and of passive
    joints of a closed chain.

    MuJoCo converts a URDF model. A mechanism file becomes bodies and joints, whose loops are
    closed by equality constraints.

    Parameters
    ----------
    calibration : Calibration
    into : Path, optional
        The MJCF; default is the calibration's model.
    plain : bool
        Whether joints get constant and viscous friction only, ``frictionloss`` and ``damping``, as
        MuJoCo before version 4 reads them; otherwise the elements of `mujoco_joint`.

    Raises
    ------
    InputError
        As for `to_urdf`.
    """
    import mujoco

    if plain or int(mujoco.__version__.split(".")[0]) < FIRST_VERSION:
        found = _coulomb_viscous(
            calibration, into, (*coulomb_viscous_losses(calibration, "MJCF"), _CREEPS)
        )
        return found if plain else replace(found, losses=(*found.losses, _OLD))
    found = _coulomb_viscous(calibration, into, ())
    text, losses = with_elements(found.text, calibration)
    return Export(text, found.suffix, (*losses, *found.losses))


def _coulomb_viscous(
    calibration: Calibration, into: Path | None, losses: tuple[str, ...]
) -> Export:
    """Return an MJCF with ``frictionloss`` and ``damping``; `losses` are those of the laws."""
    path = into or _model(calibration)
    losses = (
        *losses,
        *_uncalibrated("MJCF", calibration, into),
        *motor_losses(calibration, "MJCF", keeps=True),
    )
    if into is None and path.suffix.lower() == ".urdf" and not calibration.model.loops:
        converted = _converted(calibration, path)
        stated = {
            one.attributes.get("name", ""): one.attributes
            for one in elements(converted)
            if one.tag == "joint"
        }
        return Export(
            converted,
            ".xml",
            (*losses, *_kept("URDF", calibration.joints, stated), *_no_rotors(calibration), _BARE),
        )
    if into is None and path.suffix.lower() in (".toml", ".urdf"):
        arm = bare_arm(calibration)
        of_passive = (
            passive_losses(calibration, "MJCF", passive_friction(calibration))
            if calibration.model.passive.classes
            else (_STARTS,)
        )
        of_loops = () if arm.chain is None else (_SOFT, *of_passive)
        return Export(
            _rubbing(closed_spec(_whole(arm)), calibration),
            ".xml",
            (*losses, *_no_rotors(calibration), *of_loops),
        )
    text, rotors = _text(path, ("mujoco", "mujocoinclude")), rotor_inertia(calibration)
    corrected = None
    if into is None and calibration.model.inertia is not None:
        corrected = with_links(text, path, calibration)
        text = corrected or text
    joints = _joints(
        text, calibration, into, lambda path: path[-1:] != ("default",) and "worldbody" in path
    )
    changes = (
        [child_added(text, elements(text)[0], as_tendons(calibration, _HARD))]
        if calibration.motors.motors
        else []
    )
    rubbing = _rubbing_joints(calibration, joints)
    stated = stated_attributes(elements(text), joints)
    own = {name for name, attributes in stated.items() if "armature" in attributes}
    rotors = {name: value for name, value in rotors.items() if into is None or name not in own}
    changes += [
        attributes_set(
            text,
            joints[name],
            {
                "frictionloss": number(friction),
                "damping": number(damping),
                "solimpfriction": _HARD,
                **({"armature": number(rotors[name])} if name in rotors else {}),
            },
        )
        for name, (friction, damping) in rubbing.items()
    ]
    return Export(
        spliced(text, changes),
        ".xml",
        (
            *losses,
            *_masses("MJCF", calibration, corrected is not None),
            *passive_losses(calibration, "MJCF", rubbing),
            *_kept("MJCF", rubbing, stated),
            *_no_rotors(calibration, own),
        ),
    )


def to_sdf(calibration: Calibration, into: Path | None = None) -> Export:
    """Return an SDF with ``<dynamics>`` of every calibrated joint, and of passive
    joints of a closed chain.

    A URDF or MJCF model is converted to links and joints.

    Parameters and errors as for `to_urdf`.
    """
    losses = (
        *coulomb_viscous_losses(calibration, "SDF"),
        *_uncalibrated("SDF", calibration, into),
        *motor_losses(calibration, "SDF"),
    )
    if into is None:
        _model(calibration)
        if (arm := bare_arm(calibration)).chain is not None:
            raise InputError(
                f"{calibration.model.file}: an SDF converted from a closed chain would leave out "
                "its loops; export to mjcf, which keeps them, or write the friction into your own "
                "SDF with --into FILE"
            )
        text = _sdf_of(arm)
        losses = (
            *losses,
            "SDF converted from the model has masses, joints and joint ranges (links are named "
            "after their joints), but no effort and velocity limits and no geometry, and uses the "
            "world's gravity; --into FILE writes into your own SDF",
        )
    else:
        text = _text(into, ("sdf",))
        losses = (*losses, *_masses("SDF", calibration, written=False))
    joints = _joints(text, calibration, into, lambda path: path[-1:] == ("model",))
    found, changes, rubbing = elements(text), [], _rubbing_joints(calibration, joints)
    for name, (friction, damping) in rubbing.items():
        axis = child_of(found, joints[name], "axis")
        if axis is None:
            raise InputError(
                f"{into}: joint {name} has no <axis>; check that the file describes the "
                "calibrated arm"
            )
        values = {"damping": number(damping), "friction": number(friction)}
        dynamics = child_of(found, axis, "dynamics")
        if dynamics is None:
            inner = "".join(f"<{tag}>{value}</{tag}>" for tag, value in values.items())
            changes.append(child_added(text, axis, f"<dynamics>{inner}</dynamics>"))
            continue
        missing = []
        for tag, value in values.items():
            stated = child_of(found, dynamics, tag)
            if stated is None:
                missing.append(f"<{tag}>{value}</{tag}>")
            else:
                changes.append(content_set(text, stated, value))
        if missing:
            changes.append(child_added(text, dynamics, "".join(missing)))
    data = text.encode()
    kept = {
        name: {
            one.tag: data[one.inside : one.close].decode().strip()
            for one in found
            if one.path[-3:] == ("joint", "axis", "dynamics")
            and joint.begin < one.begin < joint.end
        }
        for name, joint in joints.items()
    }
    return Export(
        spliced(text, changes),
        ".sdf",
        (
            *losses,
            *passive_losses(calibration, "SDF", rubbing),
            *_kept("SDF", rubbing, kept),
            _DRAKE.format("an SDF"),
        ),
    )


def _converted(calibration: Calibration, path: Path) -> str:
    """MuJoCo's own translation of a URDF."""
    if calibration.model.inertia is None:
        spec = model_spec(path)
    else:
        with TemporaryDirectory() as folder:
            corrected = Path(folder, path.name)
            corrected.write_text(
                with_inertia(_text(path, ("robot",)), bare_arm(calibration)), encoding="utf-8"
            )
            spec = model_spec(corrected)
    return _rubbing(spec, calibration)


def _rubbing(spec: "mujoco.MjSpec", calibration: Calibration) -> str:
    """Return the MJCF text of a specification, with the friction of the calibrated
    joints and of passive joints.
    """
    rotors = rotor_inertia(calibration)
    for name, (friction, damping) in _rubbing_joints(
        calibration, [one.name for one in spec.joints]
    ).items():
        there, viscous = spec.joint(name), float(number(damping))
        there.armature += float(number(rotors.get(name, 0.0)))
        there.frictionloss, there.solimp_friction = float(number(friction)), HARD
        # a polynomial since MuJoCo 3.7
        there.damping = [viscous, 0.0, 0.0] if np.ndim(there.damping) else viscous
    spec.compile()
    text = spec.to_xml()
    if not calibration.motors.motors:
        return str(text)
    return spliced(text, [child_added(text, elements(text)[0], as_tendons(calibration, _HARD))])


def _no_rotors(calibration: Calibration, stated: Collection[str] = ()) -> tuple[str, ...]:
    """Return the loss of rotors that the calibration does not hold; the file has its own
    armature for the joints `stated`.
    """
    lacking = [
        name for name in calibration.joints if name not in (*rotor_inertia(calibration), *stated)
    ]
    return (_ROTORS.format(", ".join(lacking)),) if lacking else ()


def _rubbing_joints(
    calibration: Calibration, there: Collection[str]
) -> dict[str, tuple[float, float]]:
    """Constant and viscous friction of the calibrated joints, and of those without a
    drive that a file has by name.
    """
    near = {name: approximate(joint) for name, joint in calibration.joints.items()}
    return {
        **{name: values for name, values in passive_friction(calibration).items() if name in there},
        **{name: (one.friction, one.damping) for name, one in near.items()},
    }


def _sdf_of(mechanism: Mechanism) -> str:
    """Return an SDF of links, joints and ranges; all frames are parallel to
    the model's frame at q = 0.
    """
    tree, followers = mechanism.tree, {one.name: one for one in mechanism.followers}
    lines = [
        '<?xml version="1.0"?>',
        '<sdf version="1.11">',
        f"  <model name={quoteattr(mechanism.name)}>",
    ]
    for j, name in enumerate(tree.names):
        parent = tree.parent[j]
        relative = f" relative_to={quoteattr(tree.names[parent] + '_link')}" if parent >= 0 else ""
        inertia = tree.inertia[j]
        moments = {
            f"i{a}{b}": inertia["xyz".index(a), "xyz".index(b)]
            for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
        }
        lines += [
            f"    <link name={quoteattr(name + '_link')}>",
            f"      <pose{relative}>{_numbers(tree.origin[j])} 0 0 0</pose>",
            "      <inertial>",
            f"        <pose>{_numbers(tree.com[j])} 0 0 0</pose>",
            f"        <mass>{tree.mass[j]:.10g}</mass>",
            "        <inertia>"
            + "".join(f"<{key}>{value:.10g}</{key}>" for key, value in moments.items())
            + "</inertia>",
            "      </inertial>",
            "    </link>",
        ]
    for j, name in enumerate(tree.names):
        carrier = tree.names[tree.parent[j]] + "_link" if tree.parent[j] >= 0 else "world"
        lines += [
            f"    <joint name={quoteattr(name)} "
            f'type="{"prismatic" if tree.prismatic[j] else "revolute"}">',
            f"      <parent>{escape(carrier)}</parent>",
            f"      <child>{escape(name + '_link')}</child>",
            "      <axis>",
            f"        <xyz>{_numbers(tree.axis[j])}</xyz>",
        ]
        one, (low, high) = followers.get(name), tree.position[j]
        if one is not None and one.leader < 0:  # the joint is held fixed
            low = high = one.shift
        elif one is not None:
            lines.append(
                "        <mimic "
                f"joint={quoteattr(mechanism.names[one.leader])}><multiplier>{one.ratio:.10g}"
                f"</multiplier><offset>{one.shift:.10g}</offset><reference>0</reference></mimic>"
            )
        if np.isfinite([low, high]).all():
            lines.append(
                f"        <limit><lower>{low:.10g}</lower><upper>{high:.10g}</upper></limit>"
            )
        lines += ["      </axis>", "    </joint>"]
    return "\n".join([*lines, "  </model>", "</sdf>", ""])


def _whole(arm: Mechanism) -> Mechanism:
    """Return the mechanism with all joints, including the passive joints of a closed chain."""
    return arm if arm.chain is None else replace(arm.chain.whole, gravity=arm.gravity)


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value + 0.0:.10g}" for value in values)


def _model(calibration: Calibration) -> Path:
    path = calibration.folder / Path(calibration.model.file).name
    if not path.is_file():
        raise InputError(
            f"{path}: the calibration's model is missing; keep it beside calibration.toml"
        )
    return path


def _text(path: Path, roots: tuple[str, ...]) -> str:
    """Read a file unchanged, including line ends, and check that its root
    element has one of these tags.
    """
    if path.suffix.lower() == ".toml":
        raise InputError(
            f"{path}: the calibration's model is a mechanism file, which cannot become a "
            f"<{roots[0]}> file (a mechanism may have loops, which <{roots[0]}> cannot describe); "
            f"export to mjcf, or name a <{roots[0]}> file with --into"
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, IsADirectoryError):
        raise no_file(path) from None
    except UnicodeDecodeError:
        raise no_text(path) from None
    try:
        found = elements(text)[0].tag
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if found not in roots:
        raise InputError(
            f"{path}: the root element is <{found}>, but <{roots[0]}> is needed; export to another "
            f"format, or name a <{roots[0]}> file with --into"
        )
    return text


def _joints(
    text: str,
    calibration: Calibration,
    into: Path | None,
    wanted: Callable[[tuple[str, ...]], bool],
) -> Mapping[str, Element]:
    """Return the elements of all joints by name, after checking that every
    calibrated joint is among them.
    """
    found: dict[str, Element] = {}
    where = into or calibration.model.file
    for element in elements(text):
        name = element.attributes.get("name", "")
        if element.tag == "joint" and name and wanted(element.path):
            if name in found and name in calibration.joints:
                raise InputError(
                    f"{where}: two joints are called {name}, so the calibrated joint is ambiguous; "
                    "rename one of them"
                )
            found[name] = element
    for name in calibration.joints:
        if name not in found:
            raise InputError(
                f"{where}: {unknown_name('joint', name, found)}; the calibration names it (files "
                "that this one includes are not searched)"
            )
    return found


def _uncalibrated(target: str, calibration: Calibration, into: Path | None) -> tuple[str, ...]:
    """Return the loss of joints of the calibration's model that were not calibrated; nothing where
    the model cannot be read.
    """
    missing: list[str] = []
    with suppress(InputError):
        missing = (
            [name for name in calibration.names if name not in calibration.joints]
            if into is None
            else []
        )
    return (
        (
            f"{', '.join(missing)}: not calibrated, so {target} has no friction of this "
            "calibration for them",
        )
        if missing
        else ()
    )


def _kept(
    target: str, written: Collection[str], stated: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """Return the friction that a file states for joints that were not calibrated."""
    kept = []
    for name, values in stated.items():
        own = [
            f"{key} {values[key]}"
            for key in _FRICTION
            if name not in written and _is_some(values.get(key, "0"))
        ]
        kept += [f"{name} ({', '.join(own)})"] * bool(own)
    return (
        (f"joints that were not calibrated keep the {target}'s own friction: {', '.join(kept)}",)
        if kept
        else ()
    )


def _masses(target: str, calibration: Calibration, written: bool) -> tuple[str, ...]:
    """Return the loss of a file that keeps its own masses instead of the identified masses."""
    if calibration.model.inertia is None or written:
        return ()
    kind = {".urdf": ", and in its URDF export", ".toml": ", and in its MJCF export"}.get(
        Path(calibration.model.file).suffix.lower(), ""
    )
    return (
        f"the {target} keeps its own masses; the masses that were fitted together with this "
        f"friction are in the calibration (model.inertia){kind}",
    )


def _is_some(text: str) -> bool:
    """Return whether a text holds a number other than zero."""
    try:
        return any(float(part) for part in text.split())
    except ValueError:
        return False
