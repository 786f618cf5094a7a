"""Model of bare joints, as for drives on a test bench: without load, or with a mass on a lever."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from stribeck.ident.errors import InputError

_ROTOR = 1.0, 1e-3  # kg, kg·m²: centre of mass on the axis, so no gravity torque


def bare_joints(names: Sequence[str], mass: float = 0.0, lever: float = 0.0) -> str:
    """Return the URDF of independent continuous joints with horizontal axes (y).

    Parameters
    ----------
    names : sequence of str
        Joint names.
    mass, lever : float
        Mass [kg] and its distance from the axis [m]; the mass hangs down at
        position 0. Default: no mass.

    Raises
    ------
    InputError
        If a name is empty or given twice, or the mass or the lever is negative.
    """
    if (
        not names
        or not all(re.search(r"\S", name) for name in names)
        or len(set(names)) < len(names)
    ):
        raise InputError(
            f"joints {', '.join(map(repr, names)) or 'not named'}: each joint needs a different, "
            "non-empty name"
        )
    if mass < 0.0 or lever < 0.0:
        raise InputError(f"mass {mass:g} kg, lever {lever:g} m: both must be 0 or positive")
    kg, inertia = (mass, 1e-6 * mass) if mass and lever else _ROTOR
    link = (
        f'<inertial><origin xyz="0 0 {-lever if mass else 0.0:g}"/><mass value="{kg:g}"/>'
        f'<inertia ixx="{inertia:g}" iyy="{inertia:g}" izz="{inertia:g}" ixy="0" ixz="0" '
        'iyz="0"/></inertial>'
    )
    lines = ['<robot name="bare-joints">', '  <link name="base"/>']
    for k, name in enumerate(names):
        lines += [
            f"  <link name={quoteattr(f'{name}-link')}>{link}</link>",
            f'  <joint name={quoteattr(name)} type="continuous"><parent link="base"/>'
            f'<child link={quoteattr(f"{name}-link")}/><origin xyz="0 {k:g} 0"/><axis xyz="0 -1 '
            '0"/></joint>',
        ]
    return "\n".join([*lines, "</robot>", ""])
