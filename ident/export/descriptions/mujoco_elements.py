"""MuJoCo's own elements for friction, written into the text of an MJCF, and what they lose."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.export.approximation import lost_of, other_losses
from stribeck.ident.export.descriptions.mujoco_joint import (
    FIRST_VERSION,
    STEP,
    MujocoJoint,
    keeps_memory,
    mujoco_joint,
)
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    Element,
    attributes_set,
    child_added,
    child_of,
    elements,
    spliced,
)
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.ripple.wave import COGGING

# kg·m² or kg; inertia for the damping of bristles of a model that cannot be read
_UNKNOWN = 0.1
_IMPLICIT = "implicit", "implicitfast"
_HEAVIER = 0.01  # of the inertia: what bristles add to it that is not worth a word
_NONE = 1e-6  # of the friction: an error that is not worth a word
_NEEDS = (
    f"MJCF has friction in elements that MuJoCo reads since version {FIRST_VERSION} (dcmotor, "
    "polynomial damping); --plain writes constant and viscous friction for older versions"
)
_YIELDS = (
    "dry friction is a bristle, which yields by up to 0.4 mrad (or 0.4 mm) before the joint "
    "slides: {}"
)

# MuJoCo clamps the sum of motors and bristles, so that a bristle chatters
_UNCLAMPED = {"actuatorfrclimited": "false"}
_FREE = (
    "actuatorfrcrange would limit friction together with the motors, so it is switched off; limit "
    "the motors by their own forcerange: {}"
)


def with_elements(text: str, calibration: Calibration) -> tuple[str, tuple[str, ...]]:
    """Return an MJCF with the elements of all calibrated joints, and what
    is lost, one sentence each.
    """
    found = elements(text)
    joints = {
        one.attributes["name"]: one
        for one in found
        if one.tag == "joint"
        and "worldbody" in one.path
        and "default" not in one.path
        and one.attributes.get("name") in calibration.joints
    }
    stated, inertia = stated_attributes(found, joints), _inertia(calibration)
    moved = {
        name: inertia.get(name, _UNKNOWN) + float(stated[name].get("armature", "0"))
        for name in calibration.joints
    }
    option = child_of(found, found[0], "option")
    step = float((option.attributes if option else {}).get("timestep", STEP))
    made = {
        name: mujoco_joint(name, joint, moved[name], step)
        for name, joint in calibration.joints.items()
    }
    clamped = [name for name, one in made.items() if one.actuators and _clamps(stated[name])]
    changes = [
        attributes_set(
            text, joints[name], {**one.attributes, **(_UNCLAMPED if name in clamped else {})}
        )
        for name, one in made.items()
    ]
    actuators = [element for one in made.values() for element in one.actuators]
    if actuators:
        inside = "".join(f"\n    {element}" for element in actuators)
        changes.append(child_added(text, found[0], f"<actuator>{inside}\n  </actuator>"))
    said = (*_losses(calibration, made), *([_FREE.format(", ".join(clamped))] if clamped else []))
    if any(np.isfinite(one.holds) for one in made.values()):
        change, about = _integrated(text, found, step, made)
        changes, said = [*changes, *change], (*said, *about)
    return spliced(text, changes), said


def _clamps(stated: Mapping[str, str]) -> bool:
    """Return whether a joint with these attributes limits the sum of its actuators, or may by
    a default of the compiler.
    """
    return "actuatorfrcrange" in stated and stated.get("actuatorfrclimited", "auto") != "false"


def _integrated(
    text: str, found: list[Element], step: float, made: Mapping[str, MujocoJoint]
) -> tuple[list[Change], list[str]]:
    """Return the change to an integrator with which bristles are stable, and what to
    know about time steps [s].
    """
    option = child_of(found, found[0], "option")
    own = {} if option is None else option.attributes
    said = [
        f"bristles are damped for time steps of {1e3 * step:.3g} ms; for longer ones, --into an "
        "MJCF with its timestep"
    ]
    if heavy := {name: one.heavier for name, one in made.items() if one.heavier > _HEAVIER}:
        parts = ", ".join(f"{name} by {100.0 * part:.0f} %" for name, part in heavy.items())
        said.append(
            "with these time steps, joints that slide speed up and slow down as if their inertia "
            f"were greater: {parts}; "
            "shorter steps make it less, and stribeck.mujoco.attach does not have it"
        )
    if slow := {name: one.holds for name, one in made.items() if one.holds < step}:
        steps = ", ".join(f"{1e3 * one:.2g} ms ({name})" for name, one in slow.items())
        said.append(
            "with these time steps, joints with an identified bristle creep under load; they "
            f"hold with at most {steps}"
        )
    if own.get("integrator") in _IMPLICIT:
        return [], said
    said.append(
        'the integrator of the MJCF is "implicitfast": bristles are unstable with "Euler" and "RK4"'
    )
    change = (
        child_added(text, found[0], '<option integrator="implicitfast"/>')
        if option is None
        else attributes_set(text, option, {"integrator": "implicitfast"})
    )
    return [change], said


def _inertia(calibration: Calibration) -> dict[str, float]:
    """Return the inertia that each joint moves at zero [kg·m² or kg]; empty if the
    calibration's model cannot be read.
    """
    with suppress(InputError, ModelError):
        mechanism = calibration.mechanism
        moved = np.diag(mass_matrix(mechanism, np.zeros((1, mechanism.n)))[0])
        return dict(zip(mechanism.names, moved.tolist(), strict=True))
    return {}


def _losses(calibration: Calibration, made: Mapping[str, MujocoJoint]) -> tuple[str, ...]:
    """Return what the elements lose, one sentence each."""
    joints, said = calibration.joints, [_NEEDS]
    if lost := lost_of(calibration):
        said.append(f"MJCF loses {lost}")
    off = [
        f"{name} {one.rms:.2g} (worst {one.worst:.2g}) {joints[name].parameters['coulomb'].unit}"
        for name, one in made.items()
        if one.rms > _NONE * joints[name].values["coulomb"]
    ]
    if off:
        said.append(f"rms error of this friction over the calibrated range: {', '.join(off)}")
    yielding = [
        name for name, one in made.items() if joints[name].memory is None and np.isfinite(one.holds)
    ]
    if yielding:
        said.append(_YIELDS.format(", ".join(yielding)))
    left = replace(
        calibration,
        joints={
            name: replace(
                joint,
                memory=None if keeps_memory(joint) else joint.memory,
                ripple=tuple(wave for wave in joint.ripple if wave.kind != COGGING),
            )
            for name, joint in joints.items()
        },
    )
    return (*said, *other_losses(left, "MJCF", offset=False))


def stated_attributes(
    found: list[Element], joints: Mapping[str, Element]
) -> dict[str, dict[str, str]]:
    """Return the attributes of each joint of an MJCF, with those of its class."""
    usual = _defaults(found)
    return {
        name: {**usual.get(_class_of(joint), {}), **joint.attributes}
        for name, joint in joints.items()
    }


def _defaults(found: list[Element]) -> dict[str, dict[str, str]]:
    """Return the joint defaults of each class of an MJCF, with those of the enclosing classes;
    the main defaults under "".
    """
    classes: dict[str, dict[str, str]] = {}
    for default in found:
        if default.tag == "default":
            around, joint = default.parent, child_of(found, default, "joint")
            usual = (
                classes.get(around.attributes.get("class", ""), {})
                if around and around.tag == "default"
                else {}
            )
            name = default.attributes.get("class", "")
            classes[name] = {
                **classes.get(name, {}),
                **usual,
                **(joint.attributes if joint else {}),
            }
            # the main class, which may have any name
            if default.path.count("default") == 0:
                classes[""] = classes[name]
    return classes


def _class_of(joint: Element) -> str:
    """Return the class whose defaults apply to an element of an MJCF."""
    if "class" in joint.attributes:
        return joint.attributes["class"]
    body = joint.parent
    while body is not None and "childclass" not in body.attributes:
        body = body.parent
    return "" if body is None else body.attributes["childclass"]
