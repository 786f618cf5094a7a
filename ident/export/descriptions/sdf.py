"""Friction written into SDF, and models converted to SDF."""

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
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
from stribeck.ident.export.descriptions.urdf_inertia import bare_arm
from stribeck.ident.export.descriptions.xml_markup import (
    child_added,
    child_of,
    content_set,
    elements,
    spliced,
)
from stribeck.ident.export.result import Export, number
from stribeck.ident.export.shared_motors import motor_losses, passive_losses
from stribeck.ident.model.mechanism import Mechanism


def to_sdf(calibration: Calibration, into: Path | None = None) -> Export:
    """Return an SDF with ``<dynamics>`` of every calibrated joint, and of passive
    joints of a closed chain.

    A URDF or MJCF model is converted to links and joints.

    Parameters and errors as for `robot_descriptions.to_urdf`.
    """
    losses = (
        *coulomb_viscous_losses(calibration, "SDF"),
        *uncalibrated_losses("SDF", calibration, into),
        *motor_losses(calibration, "SDF"),
    )
    if into is None:
        model_path(calibration)
        if (arm := bare_arm(calibration)).chain is not None:
            raise InputError(
                f"{calibration.model.file}: an SDF converted from a closed chain would leave out "
                "its loops; export to mjcf, which keeps them, or write the friction into your own "
                "SDF with --into FILE"
            )
        text = _sdf_of(arm)
        losses = (
            *losses,
            "SDF converted from the model has masses, joints and joint ranges (links are named "
            "after their joints), but no effort and velocity limits and no geometry, and uses the "
            "world's gravity; --into FILE writes into your own SDF",
        )
    else:
        text = description_text(into, ("sdf",))
        losses = (*losses, *kept_masses("SDF", calibration, written=False))
    joints = joint_elements(text, calibration, into, lambda path: path[-1:] == ("model",))
    found, changes, rubbing = elements(text), [], joint_friction(calibration, joints)
    for name, (friction, damping) in rubbing.items():
        axis = child_of(found, joints[name], "axis")
        if axis is None:
            raise InputError(
                f"{into}: joint {name} has no <axis>; check that the file describes the "
                "calibrated arm"
            )
        values = {"damping": number(damping), "friction": number(friction)}
        dynamics = child_of(found, axis, "dynamics")
        if dynamics is None:
            inner = "".join(f"<{tag}>{value}</{tag}>" for tag, value in values.items())
            changes.append(child_added(text, axis, f"<dynamics>{inner}</dynamics>"))
            continue
        missing = []
        for tag, value in values.items():
            stated = child_of(found, dynamics, tag)
            if stated is None:
                missing.append(f"<{tag}>{value}</{tag}>")
            else:
                changes.append(content_set(text, stated, value))
        if missing:
            changes.append(child_added(text, dynamics, "".join(missing)))
    data = text.encode()
    kept = {
        name: {
            one.tag: data[one.inside : one.close].decode().strip()
            for one in found
            if one.path[-3:] == ("joint", "axis", "dynamics")
            and joint.begin < one.begin < joint.end
        }
        for name, joint in joints.items()
    }
    return Export(
        spliced(text, changes),
        ".sdf",
        (
            *losses,
            *passive_losses(calibration, "SDF", rubbing),
            *kept_friction("SDF", rubbing, kept),
            DRAKE.format("an SDF"),
        ),
    )


def _sdf_of(mechanism: Mechanism) -> str:
    """Return an SDF of links, joints and ranges; all frames are parallel to
    the model's frame at q = 0.
    """
    tree, followers = mechanism.tree, {one.name: one for one in mechanism.followers}
    lines = [
        '<?xml version="1.0"?>',
        '<sdf version="1.11">',
        f"  <model name={quoteattr(mechanism.name)}>",
    ]
    for j, name in enumerate(tree.names):
        parent = tree.parent[j]
        relative = f" relative_to={quoteattr(tree.names[parent] + '_link')}" if parent >= 0 else ""
        inertia = tree.inertia[j]
        moments = {
            f"i{a}{b}": inertia["xyz".index(a), "xyz".index(b)]
            for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
        }
        lines += [
            f"    <link name={quoteattr(name + '_link')}>",
            f"      <pose{relative}>{_numbers(tree.origin[j])} 0 0 0</pose>",
            "      <inertial>",
            f"        <pose>{_numbers(tree.com[j])} 0 0 0</pose>",
            f"        <mass>{tree.mass[j]:.10g}</mass>",
            "        <inertia>"
            + "".join(f"<{key}>{value:.10g}</{key}>" for key, value in moments.items())
            + "</inertia>",
            "      </inertial>",
            "    </link>",
        ]
    for j, name in enumerate(tree.names):
        carrier = tree.names[tree.parent[j]] + "_link" if tree.parent[j] >= 0 else "world"
        lines += [
            f"    <joint name={quoteattr(name)} "
            f'type="{"prismatic" if tree.prismatic[j] else "revolute"}">',
            f"      <parent>{escape(carrier)}</parent>",
            f"      <child>{escape(name + '_link')}</child>",
            "      <axis>",
            f"        <xyz>{_numbers(tree.axis[j])}</xyz>",
        ]
        one, (low, high) = followers.get(name), tree.position[j]
        if one is not None and one.leader < 0:  # the joint is held fixed
            low = high = one.shift
        elif one is not None:
            lines.append(
                "        <mimic "
                f"joint={quoteattr(mechanism.names[one.leader])}><multiplier>{one.ratio:.10g}"
                f"</multiplier><offset>{one.shift:.10g}</offset><reference>0</reference></mimic>"
            )
        if np.isfinite([low, high]).all():
            lines.append(
                f"        <limit><lower>{low:.10g}</lower><upper>{high:.10g}</upper></limit>"
            )
        lines += ["      </axis>", "    </joint>"]
    return "\n".join([*lines, "  </model>", "</sdf>", ""])


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value + 0.0:.10g}" for value in values)
