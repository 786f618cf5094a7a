"""An arm file for a URDF or MJCF: what the model knows is taken over, what it cannot know is marked."""

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

_DECIMALS = 4           # of limits, rounded inwards
_COMMENT = 34           # column of comments

_HEADER = """\
# Arm file of {name}, made from {file}. A key behind '#' is not known: one that is needed has to be filled in before
# anything is planned or moves, an optional one can wait. SI units, at the joint. Every key: docs/names.md of stribeck.
schema = 1
name = {name}
model = {model}
gravity = {gravity}    # m/s², in axes of the model's root: turn it for an arm on a wall or a ceiling
torque_signal = "motor current"    # or "commanded"; "joint sensor" is refused: it does not see the gear's friction
{tool}{workspace}
[driver]
kind = "simulated"    # how the arm is reached; hardware: canopen, dynamixel, damiao, odrive, cubemars; bus or port here
rate = 250.0          # Hz, control cycles: what the drives' interface can keep up
"""


_TOOL = """\
# tool = { mass = 0.0, com = [0.0, 0.0, 0.0] }    # optional, kg and m in the last link's frame: weigh what is mounted
"""
_PASSIVE = """\
# Closed loops move the joints that have no drive: {passive}. A table [joints.NAME] makes a joint one with a drive.
"""
_ZERO = """\
# workspace = {{ box = {box}, home = {home} }}
#     # optional, m: room that all joint origins may use, by tape measure from the base; home: a posture surely free of obstacles
"""
_READY = """\
workspace = {{ home = {home} }}
#     # check: zero is not well inside all limits, or too heavy to hold; home: a posture surely free of obstacles
#     # optional, m: box = {box}, room that all joint origins may use, by tape measure from the base
"""
_BOX = "[[-1.0, 1.0], [-1.0, 1.0], [0.05, 1.5]]"
_TRIAL = """
# What the simulated arm is truly like: guesses from the torque limits, to try things out with. Hardware does not read it.
[simulation]
torque_noise = {noise}
stroke_scatter = 0.01

[simulation.joints]
"""
GUESS = {"armature": 0.005, "coulomb": 0.05, "static": 0.07, "viscous": 0.05}     # of the torque limit; viscous: at full speed


_DEFAULT = """
# Holds for every joint whose own table below does not state the key.
[joints.default]
"""


def refuse_default(model: Path, names: Sequence[str]) -> None:
    """Refuse a model with a joint whose table in an arm file would be that of all joints.

    Raises
    ------
    InputError
    """
    if SHARED in names:
        raise InputError(f"{model}: the model has a joint named {SHARED}, and [joints.{SHARED}] of an arm file holds for every "
                         "joint; give that joint of the model another name")


def arm_text(model: Path, beside: str = "", joints: Sequence[str] | None = None, name: str = "") -> str:
    """Text of an arm file beside a model.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    beside : str
        What it will be called beside the arm file; default: the same.
    joints : sequence of str, optional
        Those that drives move, default all; in the model that will stand beside the file the others are fixed. Of a closed chain
        default are those with an actuator, and loops move the others.
    name : str
        Of the arm; default: as the model is called.

    Raises
    ------
    InputError
        If it is no usable URDF or MJCF.
    """
    if model.suffix.lower() == ".toml":
        raise InputError(f"{model}: this is a TOML file; init makes one from a URDF or MJCF")
    if not model.is_file():
        raise no_file(model)
    refuse_parts(model)
    mechanism = mechanism_of(model, model.stem, None, stated=StatedChain(tuple(joints or ()), source=str(model)))
    moving = [j for j, name in enumerate(mechanism.names) if joints is None or name in joints]
    refuse_default(model, [mechanism.names[j] for j in moving])
    torque, velocity = rated_torques(model, [mechanism.names[j] for j in moving]), rated_velocities(model)
    passive = passive_joints(mechanism)
    head = _HEADER.format(name=_quoted(name or as_name(model.stem)), file=_quoted(model.name),
                          model=_quoted(beside or model.name), gravity=_list(mechanism.gravity),
                          tool=_PASSIVE.format(passive=", ".join(passive)) if passive else _TOOL,
                          workspace=_workspace(mechanism, moving, torque))
    alike = len(moving) > 1 and len({bool(mechanism.prismatic[j]) for j in moving}) == 1      # else one unit would hold for both
    alike &= not (passive and joints)       # beside a table for all, other actuators of closed loops would count as drives, too
    names = [mechanism.names[j] for j in moving]
    everywhere = {key for key, known in (("velocity", velocity), ("torque", torque)) if alike and not known.keys() & set(names)}
    shared = {"acceleration", *everywhere} if alike else set()
    slides = bool(mechanism.prismatic[moving[0]])
    default = _DEFAULT + "\n".join([*_limits(slides, None, None, everywhere), *_of_drives(slides)]) + "\n" if alike else ""
    tables = [_joint(mechanism, j, torque.get(name), velocity.get(name), shared)
              for j, name in zip(moving, names, strict=True)]
    return head + default + "".join(tables) + _trial(mechanism, moving, torque, velocity)


def passive_joints(mechanism: Mechanism) -> tuple[str, ...]:
    """Joints of a closed chain that have no drive; none of a tree."""
    if mechanism.chain is None:
        return ()
    return tuple(name for name in mechanism.chain.whole.names if name not in mechanism.names)


def _workspace(mechanism: Mechanism, moving: Sequence[int], torque: dict[str, float]) -> str:
    """The home posture, where it is not zero."""
    limits = np.array([torque.get(name, np.nan) for name in mechanism.names])
    home = ready_posture(mechanism, np.asarray(mechanism.position), limits, moving)[list(moving)]
    return (_READY if home.any() else _ZERO).format(box=_BOX, home=_list(home))


def _trial(mechanism: Mechanism, moving: Sequence[int], torque: dict[str, float], velocity: dict[str, float]) -> str:
    """A truth for the simulated arm; a joint whose torque limit is not known is taken to have 10."""
    lines = []
    for j in moving:
        name = mechanism.names[j]
        guess = guessed_friction(torque.get(name, 10.0), velocity.get(name, 1.0), bool(mechanism.prismatic[j]))
        lines.append(f"{key_of(name)} = {{ {', '.join(f'{key} = {value:.3g}' for key, value in guess.items())} }}\n")
    return _TRIAL.format(noise=f"{0.002 * min(torque.values(), default=10.0):.3g}") + "".join(lines)


def guessed_friction(torque: float, velocity: float, slides: bool) -> dict[str, float]:
    """What a simulated joint may be truly like, by its limits of torque and velocity."""
    guess = {key: part * torque for key, part in GUESS.items()}
    guess["viscous"] /= velocity
    guess["stribeck_velocity"] = 0.02 if slides else 0.05
    return {key: float(f"{value:.3g}") for key, value in guess.items()}


def _limits(slides: bool, torque: float | None, velocity: float | None, keys: Set[str]) -> list[str]:
    """Largest velocity and torque, as far as they are among the keys."""
    place, force = ("m", "N") if slides else ("rad", "N·m")
    lines = {"velocity": _known("velocity", velocity, f"{place}/s", "data sheet, or the limit set in the drive"),
             "torque": _known("torque", torque, force, "data sheet, largest torque at the joint; the arm stops beyond it")}
    return [line for key, line in lines.items() if key in keys]


def _of_drives(slides: bool) -> list[str]:
    """Keys that joints often share."""
    place = "m" if slides else "rad"
    return [_line("# acceleration =", f"needed, {place}/s²: the limit set in the drive; stopping distances count on it"),
            _line("# temperature =", "optional, °C: largest drive temperature, where the drive reports one (data sheet)"),
            _line("# gear_ratio =", f"{'2π over the lead' if slides else 'motor revolutions a joint revolution'} (data sheet): "
                                    "needed where drives count at the motor (canopen, odrive); else optional: against ripple"),
            _line("# rotor_inertia =", "optional, kg·m² on the motor side (motor's data sheet)"),
            _line("# torque_constant =", "optional, N·m/A at the motor: for logs in ampere (motor's data sheet)"),
            _line("# following_error = 0.05", f"optional, {place}: how far it may fall behind its commands"),
            _line("# stop = \"brake\"", "hardware: where a brake holds it without power; without one it may fall")]


def _joint(mechanism: Mechanism, j: int, torque: float | None, velocity: float | None, shared: Set[str]) -> str:
    """Table of one joint, without keys that all of them share."""
    name, slides, (low, high) = mechanism.names[j], bool(mechanism.prismatic[j]), mechanism.position[j]
    place = "m" if slides else "rad"
    lines = [f"\n[joints.{key_of(name)}]"]
    if mechanism.mass[j] <= 0.0:
        lines.append("# the model has no mass for this link: loads are wrong until it has one (data sheet, CAD, scales)")
    if np.isfinite([low, high]).all():
        lines.append(_line(f"position = {_list(inside(low, high))}",
                           f"{place}, the model's; less where cables or the room are in the way"))
    else:
        lines.append(_line("# position =",
                           f"needed, [lower, upper] {place}: the model states none; how far may it go, cables included?"))
    lines += [*_limits(slides, torque, velocity, {"velocity", "torque"} - shared),
              *([] if shared else _of_drives(slides)),
              _line("# direction = -1", "optional: where the drive counts against the model; its zero is zero_offset"),
              _line("# drive = { }", "hardware: which drive it has, node or id, counts (docs/names.md, by driver)")]
    return "\n".join(lines) + "\n"


def inside(low: float, high: float) -> list[float]:
    """A range rounded inwards, so that it does not reach outside the model's."""
    factor = 10.0**_DECIMALS
    rounded = [float(np.ceil(low * factor - 1e-6) / factor), float(np.floor(high * factor + 1e-6) / factor)]
    return rounded if rounded[0] < rounded[1] else [low, high]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _known(key: str, value: float | None, unit: str, where: str) -> str:
    if value is None:
        return _line(f"# {key} =", f"needed, {unit}: {where}")
    return _line(f"{key} = {float(f'{value:.6g}')!r}", f"{unit}, the model's; check: {where}")


def _line(entry: str, comment: str) -> str:
    return f"{entry:<{_COMMENT}}# {comment}"


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(repr(float(value) + 0.0) for value in values)}]"
