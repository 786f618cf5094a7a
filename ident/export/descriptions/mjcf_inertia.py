"""The inertia of links that was identified, written into an MJCF, and the inertia
of rotors, its armatures.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.validation import inertia_beside_model
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.export.descriptions.urdf_inertia import bare_arm
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    Element,
    attributes_set,
    child_added,
    child_of,
    elements,
    spliced,
)
from stribeck.ident.model.files.from_mujoco import LinkFrame, link_frames
from stribeck.ident.model.files.urdf_mjcf import read_model
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import inertial_parameters

_NOTHING = '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
_ROUNDING = 1e-12  # of the greatest component; smaller ones are zero
# of the greatest parameter of a kind: the written links are the identified links within this
_EQUAL = 1e-6


def with_links(text: str, path: Path, calibration: Calibration) -> str | None:
    """Return an MJCF with an ``<inertial>`` for each moving body, which
    includes the bodies fixed to it.

    Parameters
    ----------
    text : str
        The MJCF.
    path : Path
        Its file, the calibration's model.
    calibration : Calibration

    Returns
    -------
    str or None
        None if the text does not hold the bodies themselves, as with ``include`` and ``replicate``,
        or if MuJoCo's compiler would change the written inertia.
    """
    stated, arm = calibration.model.stated_chain, bare_arm(calibration)
    frames, found = link_frames(read_model(path)[0], calibration.arm, stated), elements(text)
    bodies = [
        one
        for one in found
        if one.tag == "body" and "worldbody" in one.path and "default" not in one.path
    ]
    written = _written(text, found, bodies, arm.link_tree, frames)
    if written is None:
        return None
    with TemporaryDirectory() as folder:
        corrected = Path(folder, path.name)
        corrected.write_text(written, encoding="utf-8")
        try:
            again = mechanism_of(
                corrected, calibration.arm, calibration.model.gravity, stated=stated
            )
        except (InputError, ModelError):
            return None
    return written if _equal(again, arm) else None


def rotor_inertia(calibration: Calibration) -> dict[str, float]:
    """Return the inertia of the rotors, for the joints of which the
    calibration holds it [kg·m² or kg].

    It is the inertia that the arm file states, and that a fit of general motion found in addition.
    """
    found, of_servos = {}, calibration.fit.get("stated_rotors", {})
    for name, joint in calibration.joints.items():
        # one is not zero
        stated = (
            of_servos.get(name, 0.0) if joint.free_motion is None else sum(joint.free_motion.rotors)
        )
        if (inertia := stated + inertia_beside_model(calibration, name)) > 0.0:
            found[name] = inertia
    return found


def _written(
    text: str,
    found: list[Element],
    bodies: list[Element],
    tree: Mechanism,
    frames: dict[str, LinkFrame],
) -> str | None:
    changes: list[Change] = []
    for name, frame in frames.items():
        if name not in tree.names or max((frame.body, *frame.fixed)) > len(bodies):
            return None
        own = _inertial(tree, tree.names.index(name), frame)
        for body, new in ((frame.body, own), *((one, _NOTHING) for one in frame.fixed)):
            stated = child_of(found, bodies[body - 1], "inertial")
            changes.append(
                child_added(text, bodies[body - 1], new)
                if stated is None
                else (stated.begin, stated.end, new)
            )
    changes += [
        attributes_set(text, one, {"inertiafromgeom": "auto"})
        for one in found
        if one.tag == "compiler" and one.attributes.get("inertiafromgeom") == "true"
    ]
    return spliced(text, changes)


def _inertial(tree: Mechanism, j: int, frame: LinkFrame) -> str:
    """Return the ``<inertial>`` element of a link, in axes of its body."""
    com = _tidy(frame.origin + frame.turn.T @ tree.com[j])
    inertia = _tidy(frame.turn.T @ tree.inertia[j] @ frame.turn)
    moments = " ".join(
        f"{inertia[row, column]:.10g}"
        for row, column in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    )
    kind = f'fullinertia="{moments}"' if inertia.any() else 'diaginertia="0 0 0"'
    return (
        f'<inertial pos="{" ".join(f"{x:.10g}" for x in com)}" mass="{tree.mass[j]:.10g}" {kind}/>'
    )


def _tidy(values: Array) -> Array:
    """Return the values with rounding errors of zero as zero."""
    return np.asarray(np.where(np.abs(values) < _ROUNDING * np.abs(values).max(), 0.0, values))


def _equal(one: Mechanism, other: Mechanism) -> bool:
    """Return whether two mechanisms have the same links."""
    if one.link_tree.names != other.link_tree.names:
        return False
    first, second = (inertial_parameters(each).reshape(-1, 10) for each in (one, other))
    size = np.repeat(
        [np.abs(second[:, part]).max() for part in (slice(0, 1), slice(1, 4), slice(4, 10))],
        (1, 3, 6),
    )
    return bool((np.abs(first - second) <= _EQUAL * size).all())
