"""Limits that a model states of its drives, wherever it does."""

import pytest

from stribeck.ident.model.files.drive_ratings import rated_torques, rated_velocities

BODY = (
    '<body><joint name="{name}" axis="0 1 0" {attributes}/><geom size="0.1" pos="0.1 0 0"/></body>'
)


def model(folder, actuators, attributes=""):
    path = folder / "one.xml"
    path.write_text(
        "<mujoco><compiler "
        f'angle="radian"/><worldbody>{BODY.format(name="turn", attributes=attributes)}</worldbody>'
        f"<actuator>{actuators}</actuator></mujoco>",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("actuators", "attributes", "torque"),
    [
        ('<motor joint="turn" ctrlrange="-80 80"/>', "", 80.0),
        ('<motor joint="turn" ctrlrange="-1 1" gear="200"/>', "", 200.0),
        ('<motor joint="turn" ctrlrange="-1 0.5" gear="-200"/>', "", 100.0),
        ('<general joint="turn" ctrlrange="-2 2" gainprm="7" gear="3"/>', "", 42.0),
        ('<motor joint="turn" ctrlrange="-80 80" forcerange="-30 30" gear="2"/>', "", 60.0),
        ('<motor joint="turn" ctrlrange="-80 80"/>', 'actuatorfrcrange="-25 25"', 25.0),
        ('<position joint="turn" kp="100" ctrlrange="-3 3" forcerange="-12 12"/>', "", 12.0),
        ('<position joint="turn" kp="100" ctrlrange="-3 3"/>', "", None),
        ('<velocity joint="turn" kv="10" ctrlrange="-3 3"/>', "", None),
        ('<motor joint="turn"/>', "", None),
        ('<motor joint="turn" ctrlrange="0 5"/>', "", None),
    ],
)
def test_rated_torques_of_an_mjcf(tmp_path, actuators, attributes, torque):
    found = rated_torques(model(tmp_path, actuators, attributes), ["turn"])
    assert found == ({} if torque is None else {"turn": pytest.approx(torque)})


@pytest.mark.parametrize(
    ("actuators", "velocity"),
    [
        ('<velocity joint="turn" kv="10" ctrlrange="-3 3"/>', 3.0),
        ('<velocity joint="turn" kv="10" ctrlrange="-3 3" gear="2"/>', 1.5),
        ('<position joint="turn" kp="100" ctrlrange="-3 3"/>', None),
        ('<motor joint="turn" ctrlrange="-3 3"/>', None),
    ],
)
def test_rated_velocities_of_an_mjcf(tmp_path, actuators, velocity):
    assert rated_velocities(model(tmp_path, actuators)) == (
        {} if velocity is None else {"turn": pytest.approx(velocity)}
    )
