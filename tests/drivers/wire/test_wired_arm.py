"""An arm on a bus accepts commands only after it was entered and enabled, and
every interruption stops it.
"""

import numpy as np
import pytest

from stribeck.drivers.connect import connect
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.wire.stop_ladder import StopLadder
from stribeck.drivers.wire.wired_arm import WiredArm
from tests.drivers.ideal_drives import Ideal, ideal_arm
from tests.drivers.wires import PAIR, steps


def test_an_arm_that_stands_beyond_its_limits_is_not_powered(make_arm):
    with ideal_arm(make_arm()) as made:
        made.axes[1].q = 1.7
        with pytest.raises(
            DriverError,
            match=r"lift stands at 1.7 rad, outside its limits -1.5 ... 1.5: .*; nothing was po",
        ):
            made.enable()
        assert [axis.power for axis in made.axes] == ["off", "off"]


@pytest.mark.parametrize("again", ["look", "enable"])
def test_an_enabled_arm_is_stopped_by_any_call_but_a_step(arm, again):
    """Otherwise its drives would keep the last velocity and still receive signs of life."""
    steps(arm, 3, np.array([0.3, 0.2]))
    with pytest.raises(DriverError, match=r"the arm is enabled: .*; the arm was stopped"):
        arm.look(3) if again == "look" else arm.enable()
    assert [axis.velocity for axis in arm.axes] == [0.0, 0.0]


def test_an_arm_that_was_not_entered_cannot_be_looked_at(make_arm):
    with pytest.raises(ArmStopped, match="is not connected; enter it first"):
        ideal_arm(make_arm()).look(1)


def test_no_fault_is_cleared_while_another_program_moves_the_arm(make_arm, monkeypatch):
    def refuse(axis):
        if axis.joint.name == "lift":
            raise DriverError("the drive of lift follows another program")

    cleared = []
    monkeypatch.setattr(Ideal, "refuse_company", refuse)
    monkeypatch.setattr(Ideal, "reset", cleared.append)
    with pytest.raises(DriverError, match="lift follows another program"):
        ideal_arm(make_arm()).reset()
    assert cleared == []


@pytest.mark.parametrize(
    "error",
    [DriverError("it is gone"), KeyboardInterrupt(), ImportError("none")],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("kind", PAIR)
def test_an_interrupted_enabling_powers_nothing(bench, monkeypatch, kind, error):
    """The ladder runs cycles, many if a joint does not come to rest, with drives
    that were asked for power.
    """
    cycle, seen = StopLadder.try_cycle, []

    def restless(ladder):
        measured = cycle(ladder)
        # one that is armed is not "off" yet
        seen.append({getattr(axis, "condition", axis.power) for axis in ladder.axes})
        return measured + 1.0

    def fail():
        raise error

    def move():
        with connect(bench(kind).arm) as arm:
            monkeypatch.setattr(arm.axes[-1], "enable", fail)
            arm.enable()

    monkeypatch.setattr(StopLadder, "try_cycle", restless)
    with pytest.raises(type(error)):
        move()
    assert len(seen) > 20
    assert not set().union(*seen) & {"on", "held", "powered"}


def test_a_second_ctrl_c_before_the_ladder_delays_it_skips_no_rung(make_arm, monkeypatch):
    """Programs that forward signals send two of them."""
    stop, often = WiredArm.stop, []

    def struck(arm, reason):
        often.append(reason)
        if len(often) == 1:
            raise KeyboardInterrupt
        stop(arm, reason)

    monkeypatch.setattr(WiredArm, "stop", struck)
    arm = ideal_arm(make_arm())

    def interrupted():
        with arm:
            arm.enable()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [axis.state for axis in arm.axes] == [
        "held" if axis.joint.falls else "off" for axis in arm.axes
    ]
    assert often == ["interrupted", "interrupted"]
