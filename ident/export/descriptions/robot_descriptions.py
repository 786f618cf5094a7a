"""Friction written into URDF and MJCF; the rest of the file stays as it is."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.approximation import coulomb_viscous_losses
from stribeck.ident.export.descriptions.description_files import (
    DRAKE,
    description_text,
    joint_elements,
    joint_friction,
    kept_friction,
    kept_masses,
    model_path,
    uncalibrated_losses,
)
from stribeck.ident.export.descriptions.mjcf_inertia import rotor_inertia, with_links
from stribeck.ident.export.descriptions.mujoco_elements import stated_attributes, with_elements
from stribeck.ident.export.descriptions.mujoco_joint import FIRST_VERSION, HARD
from stribeck.ident.export.descriptions.urdf_inertia import bare_arm, with_inertia
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    attributes_set,
    child_added,
    child_of,
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
    text = description_text(into or model_path(calibration), ("robot",))
    if into is None and calibration.model.inertia is not None:
        text = with_inertia(text, bare_arm(calibration))
    joints = joint_elements(text, calibration, into, lambda path: path == ("robot",))

    found = elements(text)

    rubbing = joint_friction(calibration, joints)

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
        *uncalibrated_losses("URDF", calibration, into),
        *motor_losses(calibration, "URDF"),
        *passive_losses(calibration, "URDF", rubbing),
        *kept_friction("URDF", rubbing, stated),
        *kept_masses("URDF", calibration, into is None),
        DRAKE.format("a URDF"),
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
    path = into or model_path(calibration)
    losses = (
        *losses,
        *uncalibrated_losses("MJCF", calibration, into),
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
            (
                *losses,
                *kept_friction("URDF", calibration.joints, stated),
                *_no_rotors(calibration),
                _BARE,
            ),
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
    text, rotors = description_text(path, ("mujoco", "mujocoinclude")), rotor_inertia(calibration)
    corrected = None
    if into is None and calibration.model.inertia is not None:
        corrected = with_links(text, path, calibration)
        text = corrected or text
    joints = joint_elements(
        text, calibration, into, lambda path: path[-1:] != ("default",) and "worldbody" in path
    )
    changes = (
        [child_added(text, elements(text)[0], as_tendons(calibration, _HARD))]
        if calibration.motors.motors
        else []
    )
    rubbing = joint_friction(calibration, joints)
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
            *kept_masses("MJCF", calibration, corrected is not None),
            *passive_losses(calibration, "MJCF", rubbing),
            *kept_friction("MJCF", rubbing, stated),
            *_no_rotors(calibration, own),
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
                with_inertia(description_text(path, ("robot",)), bare_arm(calibration)),
                encoding="utf-8",
            )
            spec = model_spec(corrected)
    return _rubbing(spec, calibration)


def _rubbing(spec: "mujoco.MjSpec", calibration: Calibration) -> str:
    """Return the MJCF text of a specification, with the friction of the calibrated
    joints and of passive joints.
    """
    rotors = rotor_inertia(calibration)
    for name, (friction, damping) in joint_friction(
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


def _whole(arm: Mechanism) -> Mechanism:
    """Return the mechanism with all joints, including the passive joints of a closed chain."""
    return arm if arm.chain is None else replace(arm.chain.whole, gravity=arm.gravity)
