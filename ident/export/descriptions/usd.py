"""Friction for PhysX (Isaac Sim, Isaac Lab): a USD layer, and the arguments
of an Isaac Lab actuator.

PhysX holds a joint at rest up to the static friction effort. In motion, the dynamic friction effort
and viscous friction act. USD states angles in degrees: the viscous coefficient of a revolute joint
is per degree (PhysxJointAxisAPI of the PhysX schema, PhysX 5.6 and Isaac Sim 5 or newer).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError, no_file
from stribeck.ident.export.approximation import approximate, coulomb_viscous_losses
from stribeck.ident.export.result import Export, number
from stribeck.ident.export.shared_motors import motor_losses, passive_losses

# path of each joint in a stage, and its axis
Places = dict[str, tuple[tuple[str, ...], str]]
Tree = dict[str, "Tree | str"]  # prims by name; a text for a joint
_DEGREE = np.pi / 180.0
_KINDS = {"PhysicsRevoluteJoint": "angular", "PhysicsPrismaticJoint": "linear"}
_STATIC = (
    "PhysX holds joints at rest by static friction, and rubs by one constant and viscous friction "
    "in motion"
)


def to_usd(calibration: Calibration, into: Path | None = None) -> Export:
    """Return a USD layer with the friction of every calibrated joint.

    Parameters
    ----------
    calibration : Calibration
    into : Path, optional
        The stage, in which joints are found by their names; the layer then holds it as a
        sublayer. Without a stage, joints are expected where Isaac Sim's URDF importer puts
        them: ``/ARM/joints/JOINT``.

    Raises
    ------
    InputError
        If the stage cannot be read, or lacks a calibrated joint or has it twice; or the
        package usd-core is missing.
    """
    slides = _slides(calibration)
    if into is None:
        places: Places = {
            name: (
                (_named(calibration.arm), "joints", _named(name)),
                "linear" if slides[name] else "angular",
            )
            for name in calibration.joints
        }
        said = (
            f"the layer expects joints at /{_named(calibration.arm)}/joints/NAME; --into STAGE "
            "finds them by their names"
        )
    else:
        places = _joints_of(into, calibration)
        said = (
            f"the layer has {into.name} as a sublayer: keep it in the same folder, or add the "
            "layer to your own stage"
        )
    text = "".join(_layer(calibration, places, None if into is None else into.name))
    return Export(text, ".usda", (*_losses(calibration, "USD"), said))


def to_isaac_lab(calibration: Calibration) -> Export:
    """Return Python text with arguments of Isaac Lab's actuators
    (``ActuatorBaseCfg``), by joint.
    """
    values = {name: _values(joint) for name, joint in calibration.joints.items()}
    origin = calibration.origin.replace("\\", "/").replace('"', "'")
    lines = [
        f'"""Joint friction of {origin}, for actuators of Isaac Lab.',
        "",
        "    from isaaclab.actuators import ImplicitActuatorCfg",
        '    actuator = ImplicitActuatorCfg(joint_names_expr=[".*"], stiffness=..., damping=..., '
        "**FRICTION)",
        "",
        "Efforts in N·m (N), viscous friction in N·m·s/rad (N·s/m). PhysX needs Isaac Sim 5 or "
        "newer, and joints with",
        "PhysxJointAxisAPI. With Newton as backend, `friction` is the limit of dry friction.",
        '"""',
        "",
        "FRICTION = {",
    ]
    for key, entry in (("friction", 0), ("dynamic_friction", 1), ("viscous_friction", 2)):
        lines.append(f"    {json.dumps(key)}: {{")
        lines += [
            f"        {json.dumps(name, ensure_ascii=False)}: {number(found[entry])},"
            for name, found in values.items()
        ]
        lines.append("    },")
    return Export("\n".join([*lines, "}", ""]), ".isaaclab.py", _losses(calibration, "Isaac Lab"))


def _losses(calibration: Calibration, target: str) -> tuple[str, ...]:
    """Return what PhysX cannot express, one sentence each."""
    return (
        *coulomb_viscous_losses(calibration, target),
        _STATIC,
        *motor_losses(calibration, target),
        *passive_losses(calibration, target),
    )


def _values(joint: JointCalibration) -> tuple[float, float, float]:
    """Static and dynamic friction effort [N·m or N], and viscous coefficient [N·m·s/rad or
    N·s/m] at the middle load.
    """
    near = approximate(joint)
    load = None if joint.load == "none" else joint.middle_load[None]
    static = float(joint.dry_level(np.zeros(1), load)[0])
    return max(static, near.friction), near.friction, near.damping


def _slides(calibration: Calibration) -> dict[str, bool]:
    return {
        name: joint.parameters["coulomb"].unit == "N" for name, joint in calibration.joints.items()
    }


def _named(name: str) -> str:
    """Name of a prim: letters, digits and underscores."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{found}" if found[:1].isdigit() else found


def _joints_of(stage: Path, calibration: Calibration) -> Places:
    """Path and axis of every calibrated joint in a stage."""
    if not stage.is_file():
        raise no_file(stage)
    try:
        from pxr import Tf, Usd
    except ImportError:
        raise InputError(
            f"--into {stage}: reading a stage needs the package usd-core; install stribeck[usd]"
        ) from None
    try:
        opened = Usd.Stage.Open(str(stage))
    except Tf.ErrorException:
        raise InputError(
            f"{stage}: not a USD stage that usd-core can open; give the .usd, .usda or .usdc file "
            "of the arm"
        ) from None
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for prim in opened.Traverse():
        if prim.GetTypeName() in _KINDS:
            path = tuple(str(prim.GetPath()).strip("/").split("/"))
            found.setdefault(prim.GetName(), []).append((path, _KINDS[prim.GetTypeName()]))
    places = {}
    for name, slides in _slides(calibration).items():
        there = found.get(_named(name), [])
        if len(there) != 1:
            seen = (
                f"at {', '.join('/' + '/'.join(path) for path, _ in there)}" if there else "nowhere"
            )
            raise InputError(
                f"{stage}: the joint {name} of the calibration was found {seen}; needed is one "
                "revolute or prismatic joint of this name (the stage has "
                f"{', '.join(sorted(found)) or 'no joints'})"
            )
        if (there[0][1] == "linear") != slides:
            raise InputError(
                f"{stage}: the joint {name} is {there[0][1]} in the stage, but "
                f"{'linear' if slides else 'angular'} in the calibration; give the stage of the "
                "calibrated arm"
            )
        places[name] = there[0]
    return places


def _layer(calibration: Calibration, places: Places, stage: str | None) -> Iterator[str]:
    """Text of the layer."""
    said = json.dumps(f"Joint friction of {calibration.origin}; for PhysX", ensure_ascii=False)
    yield f"#usda 1.0\n(\n    doc = {said}\n"
    if stage is not None:
        yield f"    subLayers = [@./{stage}@]\n"
    yield ")\n"
    tree: Tree = {}
    for name, (path, axis) in places.items():
        inner = tree
        for part in path[:-1]:
            step = inner.setdefault(part, {})
            assert isinstance(step, dict)  # no joint is above another
            inner = step
        inner[path[-1]] = _joint(calibration.joints[name], axis)
    yield from _nested(tree, "")


def _nested(tree: Tree, indent: str) -> Iterator[str]:
    for name, inner in tree.items():
        yield f"\n{indent}over {json.dumps(name)}"
        if isinstance(inner, str):
            yield inner.replace("\n", f"\n{indent}")
        else:
            yield f"\n{indent}{{"
            yield from _nested(inner, indent + "    ")
            yield f"\n{indent}}}"
    yield "\n" if not indent else ""


def _joint(joint: JointCalibration, axis: str) -> str:
    """Schema and attributes of a joint."""
    static, dynamic, viscous = _values(joint)
    entries = {
        "staticFrictionEffort": static,
        "dynamicFrictionEffort": dynamic,
        "viscousFrictionCoefficient": viscous * (_DEGREE if axis == "angular" else 1.0),
    }
    lines = [
        f"    float physxJointAxis:{axis}:{key} = {number(value)}" for key, value in entries.items()
    ]
    return "\n".join(
        [f' (\n    prepend apiSchemas = ["PhysxJointAxisAPI:{axis}"]\n)', "{", *lines, "}"]
    )
