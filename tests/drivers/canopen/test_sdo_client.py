"""SDO transfers with answers that are lost, doubled, damaged or late."""

from contextlib import suppress
from itertools import islice
from unittest.mock import patch

import canopen
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stribeck.drivers.canopen.canopen_settings import Setting
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import virtual_drives
from tests.drivers.wires import PACE, PAIR, merged, steps, with_port


class TestSilence:
    def test_a_missing_drive_is_reported_in_time(self, make_arm, pair):
        missing = merged(
            with_port(PAIR["canopen"], pair.arm.driver.model_extra["bus"]["port"]),
            {"joints": {"lift": {"drive": {"node": 9}}}},
        )
        began = pair.clock.now()
        with (
            pytest.raises(DriverError, match=r"drive of lift \(node 9\) does not answer"),
            connect(make_arm(missing)),
        ):
            pass
        assert pair.clock.now() - began < 3.0


def losing_answers(node):
    """One SDO answer in twenty is lost, and every fifth comes twice."""
    transmit, count = node._transmit, 0

    def lossy(identifier, data):
        nonlocal count
        count += identifier == 0x580 + node.id
        if identifier != 0x580 + node.id or count % 20:
            transmit(identifier, data)
            if identifier == 0x580 + node.id and count % 5 == 0:
                transmit(identifier, data)

    node._transmit = lossy


@pytest.mark.slow
def test_settings_arrive_although_answers_are_lost_or_doubled(make_arm):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"modes": ["velocity"]}}))
    with virtual_drives(arm, losing_answers) as driver, driver:
        assert all(axis.watched for axis in driver.axes)


@pytest.mark.slow
def test_watchdogs_do_not_trip_during_a_wait_for_an_answer(make_arm):
    """The watchdogs are shorter than the time before a repeated question, and
    run from the first cycle on.
    """
    nodes = []

    def loses_an_answer(node):
        transmit, left = node._transmit, [2]
        nodes.append(node)

        def lossy(identifier, data):
            asked = (
                identifier == 0x580 + node.id
                and data[1:3] == b"\xff\x60"
                and node._watchdog is not None
                and left[0]
            )
            left[0] -= bool(asked)
            if not asked:
                transmit(identifier, data)

        node._transmit = lossy
        node.left = left

    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"watchdog": 0.1}}))
    with virtual_drives(arm, loses_an_answer) as driver, driver:
        driver.enable()
        assert nodes[0].left == [0]
        assert steps(driver, 20, PACE)[-1].dq == pytest.approx(PACE, abs=0.5)
        assert all(axis._emergency is None for axis in driver.axes)


class Garbled(canopen.Network):
    """Answers each SDO frame with the next of the given replies, then falls silent."""

    def __init__(self, axis, replies):
        super().__init__()
        self.replies = iter(replies)
        axis.join(self, lambda: None)
        self.answer = axis.node.sdo.on_response

    def send_message(self, can_id, data, remote=False):
        for reply in islice(self.replies, 1):
            self.answer(0x581, bytearray(reply), 0.0)


commands = st.sampled_from([0x40, 0x41, 0x42, 0x43, 0x4F, 0x60, 0x80, 0x00, 0x01, 0x10, 0x1F])
answers = st.one_of(
    st.binary(max_size=8),
    st.builds(
        lambda command, rest: bytes([command, 0x41, 0x60, 0]) + rest,
        commands,
        st.binary(max_size=4),
    ),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(replies=st.lists(answers, max_size=8), write=st.booleans())
@example([b"\x4b\x41\x60"], False)
def test_damaged_answers_are_requested_again_or_raise_driver_error(axis, replies, write):
    Garbled(axis, replies)
    with suppress(DriverError), patch("stribeck.drivers.canopen.sdo_client._REPLY", 1e-3):
        if write:
            axis.sdo.write(Setting(0x6041, 0, "<H", 1, "something"))
        else:
            assert isinstance(axis.sdo.read(0x6041, 0, "<H"), int | None)
