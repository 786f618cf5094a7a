"""Arms whose model states no gear inertia: the loops of their drives are stable everywhere
and show the true friction.
"""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import tomlkit

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.simulation.simulated_drive import StiffLoop, VelocityLoop
from stribeck.ident.arm.arm_file import load_arm

ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
UR = [0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]
PUBLIC = {
    "ur3": ("ur_description/urdf/ur3_robot.urdf", UR),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", [0.3] * 7),
    "so101": ("so_arm_description/urdf/so101.urdf", [0.2] * 6),
}
# friction of every joint, large for wrists of a few grams
COULOMB, STATIC, VISCOUS, STRIBECK = 1.0, 1.4, 0.8, 0.05


@pytest.fixture(params=[("ur3", 1.0), ("xarm7", 8.0), ("so101", 1.0), ("so101", 8.0)], ids=str)
def light_arm(request, tmp_path):
    """A public arm without rotor inertia, its model, and the level of its friction."""
    name, size = request.param
    file, home = PUBLIC[name]
    try:
        model = Path(str(distribution("example-robot-data").locate_file(ROBOTS))) / file
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data has the URDFs")
    (tmp_path / model.name).write_bytes(model.read_bytes())
    table = {
        "schema": 1,
        "name": "light",
        "model": model.name,
        "workspace": {"home": home},
        "joints": {"default": {"velocity": 2.0, "acceleration": 4.0, "torque": 150.0}},
        "simulation": {
            "joints": {
                "default": {
                    "coulomb": size * COULOMB,
                    "static": size * STATIC,
                    "viscous": size * VISCOUS,
                    "stribeck_velocity": STRIBECK,
                }
            }
        },
    }
    (tmp_path / "light.toml").write_text(tomlkit.dumps(table), encoding="utf-8")
    return (
        load_arm(tmp_path / "light.toml"),
        pin.buildModelFromUrdf(str(tmp_path / model.name)),
        size,
    )


@pytest.mark.parametrize("speed", [0.02, 0.4])
@pytest.mark.slow
def test_friction_of_light_joints_is_the_true_friction(light_arm, speed):
    """At constant speed, drive torque minus Pinocchio's rigid-body torque
    equals the law within 1 %.
    """
    arm, model, size = light_arm
    with SimulatedArm(arm) as simulated:
        simulated.enable()
        n, order = (
            len(simulated.names),
            [model.joints[model.getJointId(name)].idx_v for name in simulated.names],
        )
        for sign in (1.0, -1.0):
            samples = [
                simulated.step(Command(np.full(n, sign * speed), None, None)) for _ in range(350)
            ][250:]
            level = size * (
                COULOMB + (STATIC - COULOMB) * np.exp(-((speed / STRIBECK) ** 2)) + VISCOUS * speed
            )
            for sample in samples[::20]:
                q = np.zeros(model.nq)
                q[order] = sample.q
                v = np.zeros(model.nv)
                v[order] = sample.dq
                rigid = pin.rnea(model, model.createData(), q, v, np.zeros(model.nv))[order]
                assert np.abs(sample.dq - sign * speed).max() < 0.05 * speed
                assert (sample.tau - rigid) * sign == pytest.approx(level, rel=0.01)


def test_a_stiff_loop_in_long_steps_equals_the_loop_in_short_steps():
    """A light joint at kp dt / inertia = 5, where a loop with the velocity at the
    begin of a step diverges.
    """
    inertia, kp, viscous, load = 1e-3, 5.0, 0.3, 0.8

    def run(stiff: bool, dt: float) -> tuple[list[float], list[float]]:
        loop = (StiffLoop if stiff else VelocityLoop)(kp, kp * 40.0 * dt, 50.0, 10.0 * dt, 0.0)
        if isinstance(loop, StiffLoop):
            loop.dt = dt
        dq, speeds, torques = 0.0, [], []
        for _ in range(round(0.3 / dt)):
            if isinstance(loop, StiffLoop):
                push, more = loop.push(1.0, dq)
                before, dq = (
                    dq,
                    ((inertia + more) * dq + dt * (push - load)) / (inertia + more + dt * viscous),
                )
                torque = loop.settle(push, more, before, dq)
            else:
                torque = loop.torque(1.0, dq)
                dq += dt / inertia * (torque - load - viscous * dq)
            speeds.append(dq)
            torques.append(torque)
        return speeds, torques

    fine, coarse = run(False, 1e-5), run(True, 1e-3)
    for one, other in zip(fine, coarse, strict=True):
        assert np.array(other)[19:] == pytest.approx(np.array(one)[99::100][19:], abs=0.02)
    with np.errstate(over="ignore", invalid="ignore"):
        # the long step without the stiff loop diverges
        assert np.abs(run(False, 1e-3)[0]).max() > 2.0


def test_a_stiff_loop_keeps_its_torque_limit():
    loop = StiffLoop(5.0, 0.2, 2.0, 1e3, 0.0)
    loop.yielding = 0.2
    dq = 0.0
    for _ in range(200):
        push, more = loop.push(50.0, dq)
        # friction of 1 N·m·s/rad: 2 rad/s at 2 N·m
        before, dq = dq, ((1e-3 + more) * dq + 1e-3 * push) / (2e-3 + more)
        assert abs(loop.settle(push, more, before, dq)) <= 2.0
    assert dq == pytest.approx(2.0, rel=0.01)
