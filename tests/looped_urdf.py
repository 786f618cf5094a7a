"""A four-bar as URDF; the arm file states its loop as a pin, spherical or rigid closure."""

from pathlib import Path

from tests.model_texts import written

LINK = (
    '<link name="{0}"><inertial><origin xyz="0.1 0.02 0.01" rpy="0.2 0 0.1"/><mass value="0.8"/>'
    '<inertia ixx="0.002" iyy="0.003" izz="0.004" ixy="0" ixz="0.0005" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}" '
    'rpy="{}"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="20" velocity="2"/></joint>'
)
# a plane that is tilted; every link has axes of its own
URDF = (
    "<robot name='r'><link name='base'/><link name='plate'/>"
    + "".join(map(LINK.format, ("crank", "coupler", "rocker", "end")))
    + JOINT.format("tilt", "fixed", "base", "plate", "0 0 0.5", "0.5 -0.7 0.2")
    + JOINT.format("drive", "revolute", "plate", "crank", "0 0 0", "0 0 0.3")
    + JOINT.format("c", "revolute", "crank", "coupler", "0.2 0.05 0", "0 0 -0.5")
    + JOINT.format("r", "revolute", "plate", "rocker", "0.4 -0.1 0", "0 0 1.2")
    + JOINT.format("e", "{0}", "rocker", "end", "{1} 0", "0 0 0.4")
    + "</robot>"
)
# of coupler and rocker: the same place, to four digits
TIP, THERE = "0.25, 0.0, 0.0", "0.1542, 0.0371, 0.0"
LOOPS = {
    "pin": (
        f'loops = [{{ type = "pin", axis = [0, 0, 2], a = {{ link = "coupler", point = [{TIP}] }}, '
        f'b = {{ link = "rocker", point = [{THERE}] }} }}]'
    ),
    "spherical": (
        f'[[loops]]\nname = "tip"\ntype = "spherical"\na = {{ link = "rocker", point = [{THERE}] '
        f"}}\n"
        f'b = {{ link = "coupler", point = [{TIP}] }}\n'
    ),
    "rigid": (
        f'[[loops]]\ntype = "rigid"\na = {{ link = "coupler", point = [{TIP}] }}\n'
        'b = { link = "end", point = [0, 0, 0] }\n'
    ),
}


def machine(
    folder: Path, loops: str, kind: str = "pin", tables: str = "[joints.drive]\nvelocity = 1.0\n"
) -> Path:
    end = (
        ("revolute", THERE.rpartition(",")[0].replace(",", ""))
        if kind == "rigid"
        else ("fixed", "0.1 0.1")
    )
    written(folder, URDF.format(*end), "machine.urdf")
    head = 'schema = 1\nname = "machine"\nmodel = "machine.urdf"\ngravity = [3.0, 6.0, -8.0]\n'
    return written(
        folder,
        f"{head}{loops}\n{tables}" if loops.startswith("loops") else f"{head}{tables}{loops}",
        "machine.toml",
    )
