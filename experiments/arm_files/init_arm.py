"""Arm file for a URDF or MJCF: values of the model are filled in, all other
keys are marked as missing.
"""

import json
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

import numpy as np

from stribeck.experiments.arm_files.ready_posture import ready_posture
from stribeck.experiments.recording.arm_copy import refuse_parts
from stribeck.ident.arm.arm_file import SHARED
from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.errors import InputError, no_file
from stribeck.ident.model.files.drive_ratings import rated_torques, rated_velocities
from stribeck.ident.model.files.stated_loops import StatedChain
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import as_name, key_of

_DECIMALS = 4  # decimals of limits, which are rounded inwards
_COMMENT = 34  # text column of the comments

_HEADER = """\
# Arm file of {name}, made from {file}. Keys behind '#' have no value yet: fill in the needed keys before you plan or move,
# the optional keys at any time. All values are in SI units, at the joint. List of all keys: docs/names.md of stribeck.
schema = 1
name = {name}
model = {model}
gravity = {gravity}    # m/s², in the base frame of the model: change it for an arm on a wall or a ceiling
torque_signal = "motor current"    # or "commanded"; "joint sensor" is refused: it does not measure gear friction
{tool}{workspace}
[driver]
kind = "simulated"    # hardware: canopen, dynamixel, damiao, odrive or cubemars, and the bus or port
rate = 250.0          # Hz, control cycles; the drives' interface must keep up with this rate
"""


_TOOL = """\
# tool = { mass = 0.0, com = [0.0, 0.0, 0.0] }    # optional, kg and m in the frame of the last link: weigh the mounted tool
"""
_PASSIVE = """\
# Joints without a drive, moved by closed loops: {passive}. A joint with a table [joints.NAME] has a drive.
"""
_ZERO = """\
# workspace = {{ box = {box}, home = {home} }}
#     # optional; box [m]: allowed room for all joint origins, measured from the base; home: a posture free of obstacles
"""
_READY = """\
workspace = {{ home = {home} }}
#     # check: home must be free of obstacles (zero is too close to a limit, or the arm is too heavy to hold at zero)
#     # optional, m: box = {box}, allowed room for all joint origins, measured from the base
"""
_BOX = "[[-1.0, 1.0], [-1.0, 1.0], [0.05, 1.5]]"
_TRIAL = """
# True friction of the simulated arm: guesses from the torque limits, for first trials. Hardware does not use this table.
[simulation]
torque_noise = {noise}
stroke_scatter = 0.01

[simulation.joints]
"""
# part of torque limit; viscous at full speed
GUESS = {"armature": 0.005, "coulomb": 0.05, "static": 0.07, "viscous": 0.05}


_DEFAULT = """
# Values for all joints; a key in a joint's own table below replaces the value here.
[joints.default]
"""


def refuse_default(model: Path, names: Sequence[str]) -> None:
    """Refuse a model with a joint named like the shared table of arm files.

    Raises
    ------
    InputError
        If a joint is named `SHARED`.
    """
    if SHARED in names:
        raise InputError(
            f"{model}: the model has a joint named {SHARED}, but [joints.{SHARED}] of an arm file "
            "applies to all joints; rename this joint in the model"
        )


def arm_text(
    model: Path, beside: str = "", joints: Sequence[str] | None = None, name: str = ""
) -> str:
    """Return the text of an arm file for a model.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    beside : str
        File name of the model beside the arm file; default: the same name.
    joints : sequence of str, optional
        Joints with drives; default: all joints of a tree, or the joints with actuators of a closed
        chain. The model beside the arm file must fix the other joints of a tree; closed loops move
        the other joints of a closed chain.
    name : str
        Name of the arm; default: name of the model file.

    Raises
    ------
    InputError
        If the file is not a usable URDF or MJCF.
    """
    if model.suffix.lower() == ".toml":
        raise InputError(
            f"{model}: this is a TOML file; init needs a URDF or MJCF, from which it writes a "
            "TOML file"
        )
    if not model.is_file():
        raise no_file(model)
    refuse_parts(model)
    mechanism = mechanism_of(
        model, model.stem, None, stated=StatedChain(tuple(joints or ()), source=str(model))
    )
    moving = [j for j, name in enumerate(mechanism.names) if joints is None or name in joints]
    refuse_default(model, [mechanism.names[j] for j in moving])
    torque, velocity = (
        rated_torques(model, [mechanism.names[j] for j in moving]),
        rated_velocities(model),
    )
    passive = passive_joints(mechanism)
    head = _HEADER.format(
        name=_quoted(name or as_name(model.stem)),
        file=_quoted(model.name),
        model=_quoted(beside or model.name),
        gravity=_list(mechanism.gravity),
        tool=_PASSIVE.format(passive=", ".join(passive)) if passive else _TOOL,
        workspace=_workspace(mechanism, moving, torque),
    )
    # a shared table has one unit
    alike = len(moving) > 1 and len({bool(mechanism.prismatic[j]) for j in moving}) == 1
    # with a shared table, all actuators of a closed chain would count as drives
    alike &= not (passive and joints)
    names = [mechanism.names[j] for j in moving]
    everywhere = {
        key
        for key, known in (("velocity", velocity), ("torque", torque))
        if alike and not known.keys() & set(names)
    }
    shared = {"acceleration", *everywhere} if alike else set()
    slides = bool(mechanism.prismatic[moving[0]])
    default = (
        _DEFAULT + "\n".join([*_limits(slides, None, None, everywhere), *_of_drives(slides)]) + "\n"
        if alike
        else ""
    )
    tables = [
        _joint(mechanism, j, torque.get(name), velocity.get(name), shared)
        for j, name in zip(moving, names, strict=True)
    ]
    return head + default + "".join(tables) + _trial(mechanism, moving, torque, velocity)


def passive_joints(mechanism: Mechanism) -> tuple[str, ...]:
    """Joints of a closed chain without a drive; empty for a tree."""
    if mechanism.chain is None:
        return ()
    return tuple(name for name in mechanism.chain.whole.names if name not in mechanism.names)


def _workspace(mechanism: Mechanism, moving: Sequence[int], torque: dict[str, float]) -> str:
    """Workspace line of the arm file; a comment if the home posture is zero."""
    limits = np.array([torque.get(name, np.nan) for name in mechanism.names])
    home = ready_posture(mechanism, np.asarray(mechanism.position), limits, moving)[list(moving)]
    return (_READY if home.any() else _ZERO).format(box=_BOX, home=_list(home))


def _trial(
    mechanism: Mechanism,
    moving: Sequence[int],
    torque: dict[str, float],
    velocity: dict[str, float],
) -> str:
    """Simulation tables of the arm file; an unknown torque limit is assumed to be 10 N·m or N."""
    lines = []
    for j in moving:
        name = mechanism.names[j]
        guess = guessed_friction(
            torque.get(name, 10.0), velocity.get(name, 1.0), bool(mechanism.prismatic[j])
        )
        lines.append(
            f"{key_of(name)} = {{ "
            f"{', '.join(f'{key} = {value:.3g}' for key, value in guess.items())} }}\n"
        )
    return _TRIAL.format(noise=f"{0.002 * min(torque.values(), default=10.0):.3g}") + "".join(lines)


def guessed_friction(torque: float, velocity: float, slides: bool) -> dict[str, float]:
    """Guess the true friction and armature of a simulated joint from its
    limits of torque and velocity.
    """
    guess = {key: part * torque for key, part in GUESS.items()}
    guess["viscous"] /= velocity
    guess["stribeck_velocity"] = 0.02 if slides else 0.05
    return {key: float(f"{value:.3g}") for key, value in guess.items()}


def _limits(
    slides: bool, torque: float | None, velocity: float | None, keys: Set[str]
) -> list[str]:
    """Lines for the velocity and torque limits that are in `keys`."""
    place, force = ("m", "N") if slides else ("rad", "N·m")
    lines = {
        "velocity": _known(
            "velocity", velocity, f"{place}/s", "data sheet, or the limit set in the drive"
        ),
        "torque": _known(
            "torque", torque, force, "data sheet, at the joint; the arm stops above this torque"
        ),
    }
    return [line for key, line in lines.items() if key in keys]


def _of_drives(slides: bool) -> list[str]:
    """Lines for keys that often have the same value for all joints."""
    place = "m" if slides else "rad"
    return [
        _line(
            "# acceleration =",
            f"needed, {place}/s²: the limit set in the drive; stopping distances are computed "
            "from it",
        ),
        _line(
            "# temperature =",
            "optional, °C: largest drive temperature (data sheet), if the drive reports one",
        ),
        _line(
            "# gear_ratio =",
            f"{'2π over the lead' if slides else 'motor revolutions per joint revolution'} (data "
            "sheet): needed for canopen and odrive, else optional (against ripple)",
        ),
        _line("# rotor_inertia =", "optional, kg·m² on the motor side (motor's data sheet)"),
        _line(
            "# torque_constant =",
            "optional, N·m/A at the motor: for logs in ampere (motor's data sheet)",
        ),
        _line(
            "# following_error = 0.05",
            f"optional, {place}: largest allowed distance from the set-point",
        ),
        _line(
            '# stop = "brake"',
            "hardware: if a brake holds the joint without power; without a brake the joint may fall",
        ),
    ]


def _joint(
    mechanism: Mechanism, j: int, torque: float | None, velocity: float | None, shared: Set[str]
) -> str:
    """Table of one joint, without the shared keys."""
    name, slides, (low, high) = (
        mechanism.names[j],
        bool(mechanism.prismatic[j]),
        mechanism.position[j],
    )
    place = "m" if slides else "rad"
    lines = [f"\n[joints.{key_of(name)}]"]
    if mechanism.mass[j] <= 0.0:
        lines.append(
            "# the model has no mass for this link, so loads are wrong: add it to the model (data "
            "sheet, CAD, scales)"
        )
    if np.isfinite([low, high]).all():
        lines.append(
            _line(
                f"position = {_list(inside(low, high))}",
                f"{place}, from the model; reduce it if cables or obstacles are in the way",
            )
        )
    else:
        lines.append(
            _line(
                "# position =",
                f"needed, [lower, upper] {place}: range that the joint may use, cables included",
            )
        )
    lines += [
        *_limits(slides, torque, velocity, {"velocity", "torque"} - shared),
        *([] if shared else _of_drives(slides)),
        _line(
            "# direction = -1",
            "optional: if the drive counts opposite to the model; zero_offset shifts the zero",
        ),
        _line(
            "# drive = { }",
            "hardware: keys of the drive: node or id, counts (docs/names.md, by driver)",
        ),
    ]
    return "\n".join(lines) + "\n"


def inside(low: float, high: float) -> list[float]:
    """Round a range inwards, so that it stays within the range of the model."""
    factor = 10.0**_DECIMALS
    rounded = [
        float(np.ceil(low * factor - 1e-6) / factor),
        float(np.floor(high * factor + 1e-6) / factor),
    ]
    return rounded if rounded[0] < rounded[1] else [low, high]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _known(key: str, value: float | None, unit: str, where: str) -> str:
    if value is None:
        return _line(f"# {key} =", f"needed, {unit}: {where}")
    return _line(f"{key} = {float(f'{value:.6g}')!r}", f"{unit}, from the model; check: {where}")


def _line(entry: str, comment: str) -> str:
    return f"{entry:<{_COMMENT}}# {comment}"


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(repr(float(value) + 0.0) for value in values)}]"
