"""A simulated joint with a gear: a drive, a gap, and a link."""

from collections.abc import Mapping
from pathlib import Path

BALANCED = """<mujoco><compiler inertiafromgeom="false"/><worldbody><body><joint name="turn" type="hinge" axis="0 0 1"/>
<inertial pos="0 0 0" mass="2" diaginertia="0.5 0.5 0.5"/></body></worldbody></mujoco>"""
ARM = """schema = 1
name = "turner"
model = "turner.xml"
torque_signal = "motor current"
driver = {{ kind = "simulated", rate = {rate} }}
gravity = [{gravity}, 0.0, 0.0]
[joints.turn]
position = [-1.5, 1.5]
velocity = {velocity}
acceleration = 2.0
torque = 60.0
gear_ratio = 100.0
rotor_inertia = 3.0e-5
[simulation]
{simulation}
[simulation.joints.turn]
{knobs}
"""


def geared_joint(
    folder: Path,
    knobs: Mapping[str, object],
    simulation: Mapping[str, object] | None = None,
    rate: float = 250.0,
    velocity: float = 1.5,
    gravity: float = 0.0,
    model: str = BALANCED,
) -> Path:
    """Write model and arm file of the joint turn with these keys of its simulation (None:
    none), and return the file.
    """

    def lines(table: Mapping[str, object]) -> str:
        return "\n".join(f"{key} = {value}" for key, value in table.items() if value is not None)

    (folder / "turner.xml").write_text(model)
    path = folder / "turner.toml"
    path.write_text(
        ARM.format(
            rate=rate,
            velocity=velocity,
            gravity=gravity,
            simulation=lines(simulation or {}),
            knobs=lines(knobs),
        )
    )
    return path
