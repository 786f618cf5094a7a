"""Export to a ROS 2 package: a chainable effort controller that adds
friction, around the C header.
"""

import json
import re
from collections.abc import Iterable, Mapping

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import other_losses, slowest_speed
from stribeck.ident.export.c.c_header import identifier, to_c
from stribeck.ident.export.c.memory_in_c import warm_memories
from stribeck.ident.export.result import Export, exact
from stribeck.ident.export.ros2.controller_header import HEADER
from stribeck.ident.export.ros2.controller_source import SOURCE
from stribeck.ident.export.ros2.package_texts import CMAKE, PACKAGE, PARAMETERS, PLUGIN, README
from stribeck.ident.export.shared_motors import passive_losses
from stribeck.ident.model.files.drive_ratings import rated_torques

_BLOCK = re.compile(r"^//\{ (\w+)\n(.*?)^//\}\n", flags=re.DOTALL | re.MULTILINE)
_GAINS = "{p: 0.0, i: 0.0, d: 0.0}"


def to_ros2_controller(calibration: Calibration) -> Export:
    """Return a ROS 2 package with a chainable ros2_control controller, which adds
    friction to effort references.

    Raises
    ------
    InputError
        If the arm is a closed chain, whose loads the C header does not
        compute, or a law has no C code.
    """
    mechanism = calibration.mechanism
    if mechanism.chain is not None:
        raise InputError(
            f"{calibration.arm} is a closed chain, for which the C header computes no loads; "
            "export to c, and compute the loads in your own controller"
        )
    prefix, package = identifier(calibration.arm), package_name(calibration.arm)
    joints = [calibration.joints.get(name) for name in mechanism.names]
    remembers = [joint is not None and joint.memory is not None for joint in joints]
    dependence = [None if joint is None else joint.temperature for joint in joints]
    warmed = [one is not None and one.heating is not None for one in dependence]
    sensor = [one is not None and one.heating is None for one in dependence]
    has = {
        "memory": any(remembers),
        "sensor": any(sensor),
        "warm": any(warmed),
        "temperature": any(warmed + sensor),
        "ripple": any(joint is not None and joint.ripple for joint in joints),
    }
    rated = rated_torques(calibration.folder / calibration.model.file, mechanism.names)
    limits = [rated.get(name, np.inf) for name in mechanism.names]
    slowest = [0.0 if joint is None else slowest_speed(joint) for joint in joints]
    texts = {
        "@P": package,
        "@UP": package.upper(),
        "@ARM": calibration.arm,
        "@A": prefix,
        "@NAMES": ", ".join(map(_quoted, mechanism.names)),
        "@REMEMBERS": _truths(remembers),
        "@SENSOR": _truths(sensor),
        "@WARMED": _truths(warmed),
        "@UNREMEMBERED": " && !REMEMBERS[j]" if has["memory"] else "",
        "@WARMLY": "_at" if warm_memories(joints) else "",
        "@TEMPERATURES": "temperature_.data(), " if warm_memories(joints) else "",
        "@TIME": " time" if has["warm"] else "",
        "@PERIOD": " period" if has["warm"] else "",
        "@LIMITS": ", ".join("UNLIMITED" if np.isinf(limit) else exact(limit) for limit in limits),
        "@SLOWEST": ", ".join(map(exact, slowest)),
    }
    said = texts | {
        "@JOINTS": ", ".join(map(_quoted, mechanism.names)),
        "@SCALE": ", ".join(["1.0"] * mechanism.n),
        "@LIMITS": ", ".join(".inf" if np.isinf(limit) else exact(limit) for limit in limits),
        "@CHAINED": ", ".join(_quoted(f"friction_controller/{name}") for name in mechanism.names),
        "@GAINS": "\n".join(f"      {_quoted(name)}: {_GAINS}" for name in mechanism.names),
        "@SENSOR": "    use_temperature: false      # true if the hardware states "
        "<joint>/temperature [°C]\n" * has["sensor"],
        "@STATES": ", and `<joint>/temperature` with `use_temperature`" * has["sensor"],
        "@ABOUT": _about(calibration, has),
        "@ORIGIN": calibration.origin,
    }
    readme = _filled(README, said)
    folder = {
        "CMakeLists.txt": _filled(CMAKE, said),
        "package.xml": _filled(PACKAGE, {**said, "@ARM": _plain(calibration.arm)}),
        "friction_controller.xml": _filled(PLUGIN, {**said, "@ARM": _plain(calibration.arm)}),
        "README.md": readme,
        "config/controllers.yaml": _filled(PARAMETERS, said),
        f"include/{package}/{prefix}_friction.h": to_c(calibration).text,
        f"include/{package}/friction_controller.hpp": _filled(_chosen(HEADER, has), texts),
        "src/friction_controller.cpp": _filled(_chosen(SOURCE, has), texts),
    }
    return Export(
        readme,
        "",
        (
            "the controller has no intervals; it computes loads with the calibration's model, "
            "gravity and tools",
            *passive_losses(calibration, "the controller"),
            *(
                loss
                for loss in other_losses(
                    calibration,
                    "the controller",
                    offset=not any(joint.offset for joint in calibration.joints.values()),
                    memory=False,
                    ripple=False,
                    temperature=False,
                )
                if "unknown tool" not in loss
            ),
        ),
        package,
        folder,
    )


def package_name(arm: str) -> str:
    """Return a name that ROS 2 accepts for packages: lower case, digits, single
    underscores, a letter first.
    """
    return f"{re.sub('_+', '_', identifier(arm).lower()).strip('_')}_friction_controller"


def _about(calibration: Calibration, has: Mapping[str, bool]) -> str:
    """What the README says of states that the controller keeps, and of the torque offset."""
    told = []
    if has["memory"]:
        told.append("It remembers reversals (presliding); activation begins a new memory.")
    if has["warm"]:
        told.append(
            "It follows the heat of friction; joints are cold at first, and cool while the "
            "controller is inactive."
        )
    if not any(joint.offset for joint in calibration.joints.values()):
        told.append("Torque offsets are not part of it (export with `--offset` to include them).")
    return " ".join(told)


def _chosen(text: str, has: Mapping[str, bool]) -> str:
    """Leave out the blocks of what the header does not have."""
    return _BLOCK.sub(lambda block: block[2] if has[block[1]] else "", text)


def _filled(text: str, texts: Mapping[str, str]) -> str:
    """Fill in texts for marks, which are capitals behind an @."""
    return re.sub("@[A-Z]+", lambda mark: texts[mark[0]], text)


def _quoted(name: str) -> str:
    """Return a name in quotes as C++ and YAML read it; neither reads one letter from two
    escapes, as JSON writes some.
    """
    return json.dumps(name, ensure_ascii=False)


def _plain(arm: str) -> str:
    """Return an arm's name as XML holds it."""
    return arm.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _truths(values: Iterable[bool]) -> str:
    return ", ".join("true" if value else "false" for value in values)
