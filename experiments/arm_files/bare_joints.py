"""A model of bare joints: drives on a bench or joints of a table, without weight or with a mass on a lever."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from stribeck.ident.errors import InputError

_ROTOR = 1.0, 1e-3      # kg, kg·m²: on its own axis, where no weight drives it


def bare_joints(names: Sequence[str], mass: float = 0.0, lever: float = 0.0) -> str:
    """URDF of revolute joints beside each other that turn without end about y, horizontally.

    Parameters
    ----------
    names : sequence of str
        Joints.
    mass, lever : float
        A mass [kg] at a distance from the axis [m], which hangs down at position 0; none by default.

    Raises
    ------
    InputError
        If a name is empty or given twice, or the mass or the lever is negative.
    """
    if not names or not all(re.search(r"\S", name) for name in names) or len(set(names)) < len(names):
        raise InputError(f"joints {', '.join(map(repr, names))}: each needs a name of its own")
    if mass < 0.0 or lever < 0.0:
        raise InputError(f"a mass of {mass:g} kg at {lever:g} m: neither can be negative")
    kg, inertia = (mass, 1e-6 * mass) if mass and lever else _ROTOR
    link = (f'<inertial><origin xyz="0 0 {-lever if mass else 0.0:g}"/><mass value="{kg:g}"/>'
            f'<inertia ixx="{inertia:g}" iyy="{inertia:g}" izz="{inertia:g}" ixy="0" ixz="0" iyz="0"/></inertial>')
    lines = ['<robot name="bare-joints">', '  <link name="base"/>']
    for k, name in enumerate(names):
        lines += [f'  <link name={quoteattr(f"{name}-link")}>{link}</link>',
                  f'  <joint name={quoteattr(name)} type="continuous"><parent link="base"/>'
                  f'<child link={quoteattr(f"{name}-link")}/><origin xyz="0 {k:g} 0"/><axis xyz="0 -1 0"/></joint>']
    return "\n".join([*lines, "</robot>", ""])
