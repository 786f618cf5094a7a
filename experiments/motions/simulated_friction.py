"""Friction of each joint in a simulation: from a calibration, otherwise from the arm file,
otherwise from the model file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law_table import unit
from stribeck.ident.model.driven.passive_joints import ARM, with_friction, without_friction
from stribeck.ident.model.joint_parts import JointFriction
from stribeck.ident.model.mechanism import Mechanism

MODEL, ARM_FILE, CALIBRATION = "model", "arm file", "calibration"


@dataclass(frozen=True)
class Moving:
    """A mechanism to simulate, with the sources of its friction.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism with its friction; for an arm with closed chains, the whole chain.
    source : mapping of str to str
        Joints, spherical and universal joints and closures that rub, and where their friction is
        stated: "model", "arm file" or "calibration".
    """

    mechanism: Mechanism
    source: Mapping[str, str]

    @property
    def friction(self) -> dict[str, JointFriction]:
        """Of each that rubs; of spherical and universal joints a law `ARM` with
        a parameter of that name.
        """
        m = self.mechanism
        arms = {one.name: one.friction_arm for one in m.balls} | {
            one.name: one.friction_arm for one in m.closures
        }
        return {m.names[j]: stated for j, stated in m.friction.items()} | {
            name: JointFriction(ARM, "none", {ARM: arm}) for name, arm in arms.items() if arm
        }

    def words(self) -> dict[str, list[str]]:
        """Return joints with the same friction under one text, which has parameters and source;
        last, joints without friction.
        """
        m, said = self.mechanism, dict[str, list[str]]()
        for name, stated in self.friction.items():
            slides = name in m.names and bool(m.prismatic[m.names.index(name)])
            values = ", ".join(
                f"{key} {value:.4g} {unit(key, slides, stated.load)}".removesuffix(" 1")
                for key, value in stated.parameters.items()
                if value
            )
            load = "" if stated.load == "none" else f" with its {stated.load} load"
            said.setdefault(f"{stated.law}{load}: {values} ({self.source[name]})", []).append(name)
        within = {m.names[j] for ball in m.balls for j in ball.joints}
        if without := [
            name for name in m.names if name not in self.friction and name not in within
        ]:
            said["none"] = without
        return said


def moving(mechanism: Mechanism, calibration: Calibration | None = None) -> Moving:
    """Return the mechanism to simulate, with known friction and rotors; for an arm with
    closed chains, the whole chain.

    Friction comes from the calibration first, then from the arm file (joints without a drive), then
    from the model file. Links come from the calibration if it has identified them. In a
    calibration, the friction of a closed chain's joints without a drive is in their classes, or
    else in the friction of the drives. The model file's friction of these joints would then count
    twice, so it is left out.

    Raises
    ------
    InputError
        If the calibration has a joint that the model lacks, or friction that is not simulated.
    """
    if calibration is not None:
        mechanism = calibration.with_inertia(mechanism)
    whole, chain = mechanism, mechanism.chain
    if chain is not None:
        whole = replace(chain.whole, rotors=_rotors(mechanism, chain.whole))
    if calibration is not None and whole.closures:
        whole = without_friction(whole, whole.passive)
    source = dict.fromkeys(Moving(whole, {}).friction, MODEL)
    if chain is not None:
        stated = [one for one in chain.classes if one.stated or one.values]
        whole = with_friction(whole, stated)
        of_calibration = calibration is not None and calibration.model.passive.classes
        source |= dict.fromkeys(
            (joint for one in stated for joint in one.joints),
            CALIBRATION if of_calibration else ARM_FILE,
        )
    if calibration is not None:
        whole = _with_calibrated(whole, calibration)
        source |= dict.fromkeys(calibration.joints, CALIBRATION)
    return Moving(whole, source)


def _rotors(driven: Mechanism, whole: Mechanism) -> Array | None:
    """Return the rotors of all joints of a closed chain; the arm file may
    state those of driven joints.
    """
    if driven.rotors is None:
        return whole.rotors
    rotors = np.zeros((whole.n, whole.n)) if whole.rotors is None else whole.rotors.copy()
    rotors[np.ix_(whole.active, whole.active)] = driven.rotors
    return rotors


def _with_calibrated(whole: Mechanism, calibration: Calibration) -> Mechanism:
    """The mechanism with a calibration's friction of drives."""
    if calibration.motors.motors:
        raise InputError("friction of motors that move several joints is not simulated")
    friction, bearings = dict(whole.friction), list(whole.bearings)
    for name, joint in calibration.joints.items():
        if name not in whole.names:
            raise InputError(
                f"{whole.name}: {unknown_name('joint', name, whole.names)}; the calibration names "
                "this joint"
            )
        if joint.components or joint.directional != "none":
            raise InputError(
                f"joint {name}: the simulation has no friction that depends on load components or "
                "on direction; fit the joint with a single load and --directional none"
            )
        j = whole.names.index(name)
        friction[j], bearings[j] = (
            JointFriction(joint.law, joint.load, joint.values),
            joint.bearing or bearings[j],
        )
    return replace(whole, friction=friction, bearings=tuple(bearings))
