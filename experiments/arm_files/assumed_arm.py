"""A simulated arm for a bare URDF or MJCF: what the model states, and assumptions, each said, for all that it does not."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from stribeck.experiments.arm_files.init_arm import GUESS, guessed_friction, inside, refuse_default
from stribeck.experiments.arm_files.ready_posture import ready_posture
from stribeck.experiments.recording.arm_copy import refuse_parts
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, command
from stribeck.ident.log.run import ARM
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.files.drive_ratings import rated_torques, rated_velocities
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import SCHEMA, as_name
from stribeck.ident.whole_files import whole, write_whole

_RANGE = (np.pi, 0.5)           # rad and m either way from zero, where the model states no limits,
_VELOCITY = (1.0, 0.25)         # rad/s and m/s, where it states no velocity
_TO_SPEED = 0.5                 # s to full speed
_SPARE = 2.0                    # times what gravity and acceleration ask: friction needs some, too
_LEAST_TORQUE = 10.0            # N·m or N
_ELSEWHERE = "the middle where zero is not well inside the limits, or where the weight is less"
_POSTURES = 200                 # random ones in which gravity is looked at


def assumed_arm(model: Path, folder: Path) -> ArmFile:
    """Write an arm file beside a copy of the model into ``arm`` of a folder of results, and read it.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    folder : Path
        Of results; made where it is missing.

    Raises
    ------
    InputError
        If the model is in several files, or another arm file or model stands there already.
    """
    refuse_parts(model)
    name, place = as_name(model.stem), folder / ARM
    target, copy = place / f"{name}.toml", place / model.name
    text, content = _text(model, name), model.read_bytes()
    if target.exists() and target.read_text(encoding="utf-8") != text:
        raise InputError(f"{target} is no longer what is assumed for {model}; {command('calibrate', target)} uses it as it is")
    if copy.exists() and copy.read_bytes() != content:
        raise InputError(f"{copy} is another model than {model}; choose another --out")
    place.mkdir(parents=True, exist_ok=True)
    with whole(copy) as part:
        part.write_bytes(content)
    write_whole(target, text)
    return load_arm(target)


def _text(model: Path, name: str) -> str:
    """The arm file."""
    mechanism = mechanism_of(model, name, None)
    refuse_default(model, mechanism.names)
    position, velocity, torque, said = _limits(model, mechanism)
    acceleration = velocity / _TO_SPEED
    home = ready_posture(mechanism, position, torque)
    away = ", ".join(f"{joint} at {value:g} {unit}" for joint, value, unit in
                     zip(mechanism.names, home, _units(mechanism), strict=True) if value)
    parts = {key: f"{100.0 * part:g} %" for key, part in GUESS.items()}
    said += [
        f"acceleration: full speed after {_TO_SPEED:g} s",
        f"home posture: zero{f', but {away}: {_ELSEWHERE}' if away else ''}",
        f"friction of the simulated arm: of its torque limit, each joint has {parts['coulomb']} as Coulomb, {parts['static']} as "
        f"static friction, and {parts['viscous']} as viscous friction at full speed",
        f"gear: none is known, so no gear_ratio; rotors have {parts['armature']} of the torque limit as inertia at the joint",
        "torque signal: the motor current, as torque at the joint; no tool; no workspace box: nothing is in the way but the arm"]
    table: dict[str, Any] = {
        "schema": SCHEMA, "name": name, "model": model.name, "gravity": mechanism.gravity.tolist(),
        "torque_signal": "motor current", "assumed": said, "workspace": {"home": home.tolist()},
        "driver": {"kind": "simulated", "rate": 250.0},
        "joints": {joint: {"position": position[j].tolist(), "velocity": float(velocity[j]),
                           "acceleration": float(acceleration[j]), "torque": float(torque[j])}
                   for j, joint in enumerate(mechanism.names)},
        "simulation": {"torque_noise": float(f"{0.002 * torque.min():.3g}"), "stroke_scatter": 0.01, "joints": {
            joint: guessed_friction(float(torque[j]), float(velocity[j]), bool(mechanism.prismatic[j]))
            for j, joint in enumerate(mechanism.names)}}}
    return (f"# Assumed for {model.name}, of which no arm file was given: a simulated arm to try things out with. Before\n"
            "# hardware moves by it, check every value and remove the key `assumed`.\n" + tomlkit.dumps(_with_long_lists(table)))


def _with_long_lists(table: Mapping[str, Any]) -> dict[str, Any]:
    """With one assumption a line."""
    lines = tomlkit.array()
    for sentence in table["assumed"]:
        lines.append(sentence)
    return {**table, "assumed": lines.multiline(True)}


def _limits(model: Path, mechanism: Mechanism) -> tuple[Array, Array, Array, list[str]]:
    """Positions (n, 2), velocities and torques (n,): the model's where it states them; and what is assumed where not."""
    names, kind, units = mechanism.names, mechanism.prismatic.astype(int), _units(mechanism)
    stated, rated, said = rated_torques(model, names), rated_velocities(model), defaultdict[str, list[str]](list)
    position = np.array([inside(low, high) for low, high in mechanism.position])
    for j in np.flatnonzero(~np.isfinite(position).all(axis=1)).tolist():
        way, (low, high) = _RANGE[kind[j]], position[j]
        begin = low if np.isfinite(low) else high - 2.0 * way if np.isfinite(high) else -way
        position[j] = np.round((begin, begin + 2.0 * way), 4)
        said[f"position from {position[j, 0]:.4g} to {position[j, 1]:.4g} {units[j]}"].append(names[j])
    velocity = np.array([rated.get(name, _VELOCITY[kind[j]]) for j, name in enumerate(names)])
    for j, name in enumerate(names):
        if name not in rated:
            said[f"velocity {velocity[j]:g} {units[j]}/s"].append(name)
    asked = _asked(mechanism, position, velocity / _TO_SPEED)
    torque = np.array([stated.get(name, float(f"{max(_LEAST_TORQUE, _SPARE * asked[j]):.2g}")) for j, name in enumerate(names)])
    for j, name in enumerate(names):
        if name not in stated:
            said[f"torque {torque[j]:g} {mechanism.unit(j)}"].append(name)
    every = len(names) if len(names) > 1 else 0
    return position, velocity, torque, ["limits of position, velocity and torque: the model's where it states them", *(
        f"{what}: {'every joint' if len(joints) == every else ', '.join(joints)}, as the model states none"
        for what, joints in said.items())]


def _asked(mechanism: Mechanism, position: Array, acceleration: Array) -> Array:
    """The greatest torque that gravity and acceleration ask of each joint, shape (n,)."""
    rng = np.random.default_rng(0)
    q = rng.uniform(position[:, 0], position[:, 1], (_POSTURES, mechanism.n))
    signs = rng.choice([-1.0, 1.0], q.shape)
    return np.asarray(np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q), signs * acceleration)).max(axis=0))


def _units(mechanism: Mechanism) -> list[str]:
    return [mechanism.position_unit(j) for j in range(mechanism.n)]
