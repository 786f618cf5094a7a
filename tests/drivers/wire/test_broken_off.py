"""Steps that Ctrl-C or a short bus failure interrupts leave every joint
at least as safe as before.
"""

from contextlib import contextmanager

import can
import numpy as np
import pytest

from stribeck.drivers.check import check_arm
from stribeck.drivers.connect import connect
from stribeck.drivers.dynamixel.protocol2 import TORQUE_ENABLE, WATCHDOG
from stribeck.drivers.errors import DriverError, NoAnswer
from stribeck.drivers.mit.damiao import DamiaoAxis
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PAIR, merged, steps, with_port

pytestmark = pytest.mark.slow

HELD = {"joints": {"turn": {"stop": "hold"}}}
ERRORS = KeyboardInterrupt(), can.CanOperationError("no buffer space"), NoAnswer("it is silent")
BREAKS = pytest.mark.parametrize("error", ERRORS, ids=repr)


@contextmanager
def drives(make_arm, kind, changes=None, spoil=lambda node: None):
    """An arm, and the first of its emulated drives."""
    nodes = []

    def note(node):
        nodes.append(node)
        spoil(node)

    with virtual_drives(make_arm(merged(with_port(PAIR[kind], 1), changes or {})), note) as arm:
        yield arm, nodes[0]


def once(function, error, here=lambda *arguments: True):
    """A function that raises an error once, after its first call for which `here` is true."""
    left = [error]

    def called(*arguments):
        result = function(*arguments)
        if left and here(*arguments):
            raise left.pop()
        return result

    return called


@BREAKS
@pytest.mark.parametrize("doing", ["connect", "reset"])
def test_an_interrupted_question_does_not_leave_a_motor_limp(make_arm, monkeypatch, error, doing):
    """The question to an AK motor has zero gains: a motor that holds its joint, with its
    brake open, would drop it.
    """

    def hold(node):
        node.on, node._awake, node._told = True, 0.0, (0.0, 0.0, 80.0, 5.0, 0.0)

    with drives(make_arm, "cubemars", spoil=hold) as (arm, motor):
        monkeypatch.setattr(arm.link, "listen", once(arm.link.listen, error))
        with pytest.raises((KeyboardInterrupt, DriverError)):
            {"connect": arm.__enter__, "reset": arm.reset}[doing]()
        arm.link.clock.sleep(0.01)
        assert not motor.on


@pytest.mark.parametrize(
    ("kind", "answer", "error"),
    [
        ("damiao", "ask", ERRORS[0]),
        ("damiao", "ask", ERRORS[1]),
        ("odrive", "read", ERRORS[0]),
        ("odrive", "read", ERRORS[2]),
    ],
    ids=repr,
)
def test_a_held_joint_is_held_after_an_interrupted_enabling(
    make_arm, monkeypatch, kind, answer, error
):
    """The watchdog may have been armed without an answer: it must be released, or it
    soon switches the power off.
    """
    with drives(make_arm, kind, HELD) as (arm, node):
        with arm:
            arm.enable()
            steps(arm, 5)
        arm.link.clock.sleep(2.0 * arm.watchdog)
        assert node.drive.power == "velocity"
        with arm:
            axis = arm.axes[0]
            monkeypatch.setattr(
                axis, answer, once(getattr(axis, answer), error, lambda *_: armed(node))
            )
            with pytest.raises((KeyboardInterrupt, DriverError)):
                arm.enable()
            assert not armed(node)
        arm.link.clock.sleep(2.0 * arm.watchdog)
        assert node.drive.power == "velocity"


def armed(node):
    """Whether the watchdog of a Damiao motor or an ODrive runs."""
    return (
        node.registers[9] > 0
        if hasattr(node, "registers")
        else node.values["axis0.config.enable_watchdog"]
    )


@pytest.mark.parametrize(
    ("error", "trembles"), [(ERRORS[0], False), (ERRORS[1], True), (ERRORS[2], False)], ids=repr
)
def test_a_servo_is_held_in_place_after_an_interrupted_enabling(
    bench, monkeypatch, error, trembles
):
    """The goals, which its watchdog had locked, may be unlocked: the goal must
    then be the present position.
    """
    drives, watchdog = bench("dynamixel", HELD), PAIR["dynamixel"]["driver"]["watchdog"]
    with connect(drives.arm) as arm:
        arm.enable()
        steps(arm, 100, np.array([0.8, 0.0]))
    drives.clock.sleep(2.0 * watchdog)
    with connect(drives.arm) as arm, monkeypatch.context() as meanwhile:
        axis, place = arm.axes[0], arm.look(5)[-1].q[0]
        assert place > 0.2
        if trembles:  # then the servo gets a goal until it stands still
            meanwhile.setattr(axis, "_stands", lambda state: False)
        meanwhile.setattr(
            axis.registers,
            "write",
            once(
                axis.registers.write,
                error,
                lambda setting: (setting.item, setting.value) == (WATCHDOG, 0),
            ),
        )
        with pytest.raises((KeyboardInterrupt, DriverError)):
            arm.enable()
    drives.clock.sleep(2.0 * watchdog)
    with connect(drives.arm) as arm:
        registers = arm.axes[0].registers
        assert (registers.read(TORQUE_ENABLE), registers.read(WATCHDOG)) == (1, -1)
        arm.enable()
        assert steps(arm, 5)[-1].q[0] == pytest.approx(place, abs=5e-3)


def test_a_bus_failure_while_drives_are_identified_is_reported(bench, monkeypatch):
    def fail(axis):
        raise can.CanOperationError("no buffer space")

    monkeypatch.setattr(DamiaoAxis, "identity", fail)
    with pytest.raises(DriverError, match="the bus failed: no buffer space"):
        check_arm(bench("damiao").arm)
