"""Arm file of a simulated arm for a bare model, or for an arm file without limits, with a
sentence for each assumption.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from stribeck.experiments.arm_files.assumed_limits import assumed_limits
from stribeck.experiments.arm_files.init_arm import GUESS, guessed_friction, inside, refuse_default
from stribeck.experiments.arm_files.ready_posture import ready_posture
from stribeck.experiments.recording.arm_copy import refuse_parts
from stribeck.ident.arm.arm_file import ArmFile, Limits, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism, mechanism_of
from stribeck.ident.errors import InputError, command
from stribeck.ident.log.run import ARM
from stribeck.ident.model.files.drive_ratings import rated_torques, rated_velocities
from stribeck.ident.toml_tables import SCHEMA, as_name
from stribeck.ident.whole_files import whole, write_whole

_ELSEWHERE = "zero is too close to a limit, or the arm is too heavy to hold at zero"


def assumed_arm(model: Path, folder: Path) -> ArmFile:
    """Write an arm file and a copy of the model to the ``arm`` folder of the
    results, and load the arm file.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    folder : Path
        Folder of the results; created if it is missing.

    Raises
    ------
    InputError
        If the model consists of several files, or the folder already has a
        different arm file or model.
    """
    refuse_parts(model)
    name = as_name(model.stem)
    return load_arm(_written(folder, f"{name}.toml", _text(model, name), model, model))


def completed_arm(arm: ArmFile, folder: Path) -> ArmFile:
    """Return a simulated arm with assumed values for missing limits; an arm without missing
    limits is returned unchanged.

    Largest velocities and torques are the model's where the file states none, as for a bare model.
    The file with these limits and the key `assumed` is written beside a copy of the model into
    ``arm`` of a folder of results. Meshes stay where the model looks for them.

    Raises
    ------
    InputError
        As in `assumed_arm`.
    """
    mechanism = load_mechanism(arm)
    stated = arm.limits(mechanism)
    lacking = stated.lacking(mechanism.names)
    if arm.driver.kind != "simulated" or not lacking:
        return arm
    refuse_parts(arm.model)
    rated = _rated(arm.model, mechanism.names)
    taken = {
        key: [
            name
            for name, limit in zip(mechanism.names, getattr(rated, key), strict=True)
            if name in lacking.get(key, ()) and np.isfinite(limit)
        ]
        for key in ("velocity", "torque")
    }
    known = replace(
        stated,
        **{
            key: np.where(np.isnan(getattr(stated, key)), getattr(rated, key), getattr(stated, key))
            for key in taken
        },
    )
    limits, said = assumed_limits(mechanism, known, arm.path.name)
    said = [
        *(f"{key} of {', '.join(names)}: the model's" for key, names in taken.items() if names),
        *said,
    ]
    table = tomlkit.parse(arm.path.read_text(encoding="utf-8"))
    table["model"], table["assumed"] = arm.model.name, _lines([*arm.assumed, *said])
    joints = table.setdefault("joints", tomlkit.table(is_super_table=True))
    for key, names in lacking.items():
        for name in names:
            joints.setdefault(name, tomlkit.table())[key] = getattr(limits, key)[
                mechanism.names.index(name)
            ].tolist()
    if mechanism.chain is not None:  # a joint has a drive if it has a table
        for name in mechanism.names:
            joints.setdefault(name, tomlkit.table())
    target = _written(folder, arm.path.name, tomlkit.dumps(table), arm.model, arm.path)
    return load_arm(target, arm.model.parent)


def _written(folder: Path, name: str, text: str, model: Path, source: Path) -> Path:
    """Write an arm file and a copy of its model to a folder of results; refuse
    to replace different files.
    """
    place = folder / ARM
    target, copy, content = place / name, place / model.name, model.read_bytes()
    if target.exists() and target.read_text(encoding="utf-8") != text:
        raise InputError(
            f"{target} differs from the arm file that would be assumed for {source}; to use it "
            f"unchanged, run {command('calibrate', target)}"
        )
    if copy.exists() and copy.read_bytes() != content:
        raise InputError(f"{copy} already exists and differs from {model}; choose another --out")
    place.mkdir(parents=True, exist_ok=True)
    with whole(copy) as part:
        part.write_bytes(content)
    write_whole(target, text)
    return target


def _text(model: Path, name: str) -> str:
    """Text of the arm file for a bare model."""
    mechanism = mechanism_of(model, name, None)
    names = mechanism.names
    refuse_default(model, names)
    position = np.array([inside(low, high) for low, high in mechanism.position])
    limits, said = assumed_limits(
        mechanism, replace(_rated(model, names), position=position), "the model"
    )
    home = ready_posture(mechanism, limits.position, limits.torque)
    away = ", ".join(
        f"{joint} at {value:g} {mechanism.position_unit(j)}"
        for j, (joint, value) in enumerate(zip(names, home, strict=True))
        if value
    )
    parts = {key: f"{100.0 * part:g} %" for key, part in GUESS.items()}
    said = [
        "limits of position, velocity and torque: from the model, if the model states them",
        *said,
        f"home posture: zero{f', except {away}: {_ELSEWHERE}' if away else ''}",
        "friction of the simulated arm, as a part of the torque limit: Coulomb friction "
        f"{parts['coulomb']}, static "
        f"friction {parts['static']}, viscous friction at full speed {parts['viscous']}",
        f"gear: unknown, so no gear_ratio; rotor inertia at the joint: {parts['armature']} of the "
        "torque limit",
        "torque signal: motor current, as torque at the joint; no tool; no workspace box: only "
        "the arm itself is an obstacle",
    ]
    keys = ("position", "velocity", "acceleration", "torque")
    table: dict[str, Any] = {
        "schema": SCHEMA,
        "name": name,
        "model": model.name,
        "gravity": mechanism.gravity.tolist(),
        "torque_signal": "motor current",
        "assumed": _lines(said),
        "workspace": {"home": home.tolist()},
        "driver": {"kind": "simulated", "rate": 250.0},
        "joints": {
            joint: {key: getattr(limits, key)[j].tolist() for key in keys}
            for j, joint in enumerate(names)
        },
        "simulation": {
            "torque_noise": float(f"{0.002 * limits.torque.min():.3g}"),
            "stroke_scatter": 0.01,
            "joints": {
                joint: guessed_friction(
                    float(limits.torque[j]), float(limits.velocity[j]), bool(mechanism.prismatic[j])
                )
                for j, joint in enumerate(names)
            },
        },
    }
    return (
        f"# Assumed arm file for {model.name}: a simulated arm for first trials. Before this file "
        "moves hardware,\n"
        "# check every value and remove the key `assumed`.\n" + tomlkit.dumps(table)
    )


def _rated(model: Path, names: Sequence[str]) -> Limits:
    """Largest velocities and torques that a URDF or MJCF states, all else unknown."""
    unknown = np.full(len(names), np.nan)
    velocity, torque = (
        np.array([found.get(joint, np.nan) for joint in names])
        for found in (rated_velocities(model), rated_torques(model, names))
    )
    return Limits(np.full((len(names), 2), np.nan), velocity, unknown, torque, unknown, unknown)


def _lines(sentences: Sequence[str]) -> tomlkit.items.Array:
    """TOML array with one sentence in each line."""
    lines = tomlkit.array()
    for sentence in sentences:
        lines.append(sentence)
    return lines.multiline(True)
