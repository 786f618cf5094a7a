"""The codec of CAN Simple against the published DBC, an independent mock
of an ODrive, and garbage.
"""

import asyncio
import threading
import time
from importlib.resources import files

import can
import cantools
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odrive_can.mock import ODriveCANMock

from stribeck.drivers.odrive import can_simple as cansimple

NODE = 3


@pytest.fixture(scope="module")
def published():
    """ODrive's own description of its messages."""
    return cantools.database.load_file(
        str(files("odrive_can") / "dbc" / "odrive-cansimple-0.6.10.dbc")
    )


@pytest.mark.parametrize(
    ("name", "command", "data", "fields"),
    [
        ("Set_Axis_State", cansimple.STATE, cansimple.pack_state(8), {"Axis_Requested_State": 8}),
        (
            "Set_Controller_Mode",
            cansimple.MODE,
            cansimple.pack_mode(2, 1),
            {"Control_Mode": 2, "Input_Mode": 1},
        ),
        (
            "Set_Input_Vel",
            cansimple.VELOCITY,
            cansimple.pack_velocity(-1.5, 0.25),
            {"Input_Vel": -1.5, "Input_Torque_FF": 0.25},
        ),
        (
            "RxSdo",
            cansimple.RX_SDO,
            cansimple.pack_sdo(0x1234, "B", 7),
            {"Opcode": 1, "Endpoint_ID": 0x1234, "Reserved": 0, "Value": 7},
        ),
        (
            "RxSdo",
            cansimple.RX_SDO,
            cansimple.pack_sdo(0x1234, "f"),
            {"Opcode": 0, "Endpoint_ID": 0x1234, "Reserved": 0, "Value": 0},
        ),
        ("Clear_Errors", cansimple.CLEAR, b"\0", {"Identify": 0}),
    ],
)
def test_packed_messages_are_read_by_the_published_dbc(published, name, command, data, fields):
    message = published.get_message_by_name(f"Axis{NODE}_{name}")
    assert cansimple.identifier(NODE, command) == message.frame_id
    assert message.decode(data, decode_choices=False) == pytest.approx(fields)


@pytest.mark.parametrize(
    ("name", "command", "fields", "parse", "expected"),
    [
        (
            "Heartbeat",
            cansimple.HEARTBEAT,
            {"Axis_Error": 1 << 24, "Axis_State": 8},
            cansimple.unpack_heartbeat,
            (1 << 24, 8),
        ),
        (
            "Get_Encoder_Estimates",
            cansimple.ENCODER,
            {"Pos_Estimate": -2.5, "Vel_Estimate": 0.5},
            cansimple.unpack_pair,
            (-2.5, 0.5),
        ),
        (
            "Get_Torques",
            cansimple.TORQUES,
            {"Torque_Target": 1.0, "Torque_Estimate": -0.25},
            cansimple.unpack_pair,
            (1.0, -0.25),
        ),
        (
            "Get_Temperature",
            cansimple.TEMPERATURE,
            {"FET_Temperature": 30.0, "Motor_Temperature": 41.0},
            cansimple.unpack_pair,
            (30.0, 41.0),
        ),
        (
            "Get_Version",
            cansimple.VERSION,
            {
                "Hw_Version_Major": 4,
                "Hw_Version_Minor": 4,
                "Hw_Version_Variant": 58,
                "Fw_Version_Major": 0,
                "Fw_Version_Minor": 6,
                "Fw_Version_Revision": 10,
            },
            cansimple.unpack_version,
            ("4.4.58", "0.6.10"),
        ),
    ],
)
def test_messages_packed_by_the_published_dbc_are_read(
    published, name, command, fields, parse, expected
):
    message = published.get_message_by_name(f"Axis{NODE}_{name}")
    assert cansimple.identifier(NODE, command) == message.frame_id
    data = message.encode({signal.name: 0 for signal in message.signals} | fields)
    assert parse(data) == expected


def test_error_bits_are_those_of_the_published_dbc(published):
    """Each bit that the DBC names has words of its own; here are those of watchdog and e-stop."""
    choices = (
        published.get_message_by_name("Axis0_Heartbeat").get_signal_by_name("Axis_Error").choices
    )
    assert {
        1 << bit for bit in range(32) if "error bit" not in cansimple.error_words(1 << bit)
    } == set(choices) - {0}
    assert cansimple.error_words((1 << 24) + (1 << 25)) == "watchdog expired, e-stop requested"
    assert cansimple.error_words(0) == "no error"


def test_the_value_of_an_endpoint_is_read_back():
    data = bytes([0]) + (0x0201).to_bytes(2, "little") + b"\0" + cansimple.pack_sdo(0, "f", 0.2)[4:]
    assert cansimple.sdo_endpoint(data) == 0x0201
    assert cansimple.unpack_sdo(data, "f") == pytest.approx(0.2)


@given(st.binary(max_size=9), st.sampled_from("?Bf"))
def test_any_bytes_give_a_frame_or_none(data, form):
    for parse in (cansimple.unpack_version, cansimple.unpack_heartbeat, cansimple.unpack_pair):
        found = parse(data)
        assert found is None or len(found) == 2
    assert cansimple.unpack_sdo(data, form) is None or len(data) >= 5
    assert cansimple.sdo_endpoint(data) is None or len(data) >= 4
    assert isinstance(cansimple.error_words(int.from_bytes(data[:4], "little")), str)


def test_an_independent_mock_follows_the_messages():
    """The mock has states, modes, velocities and estimates."""
    with can.Bus(interface="virtual", channel="mock") as ours:
        mock = ODriveCANMock(NODE, can.Bus(interface="virtual", channel="mock"))
        running = asyncio.new_event_loop()
        thread = threading.Thread(target=run, args=(running, mock))
        thread.start()

        def tell(command, data):
            ours.send(
                can.Message(
                    arbitration_id=cansimple.identifier(NODE, command),
                    data=data,
                    is_extended_id=False,
                )
            )

        def until(command, parse, done):
            end = time.monotonic() + 3.0
            while time.monotonic() < end:
                message = ours.recv(0.1)
                if message is not None and message.arbitration_id == cansimple.identifier(
                    NODE, command
                ):
                    found = parse(bytes(message.data))
                    if done(*found):
                        return found
            raise TimeoutError

        try:
            tell(
                cansimple.MODE,
                cansimple.pack_mode(cansimple.VELOCITY_CONTROL, cansimple.PASSTHROUGH),
            )
            tell(cansimple.VELOCITY, cansimple.pack_velocity(2.0))
            before, _ = until(
                cansimple.ENCODER,
                cansimple.unpack_pair,
                lambda _, velocity: velocity == pytest.approx(2.0),
            )
            until(
                cansimple.ENCODER,
                cansimple.unpack_pair,
                lambda position, _: position > before + 0.2,
            )
            tell(cansimple.STATE, cansimple.pack_state(cansimple.CLOSED_LOOP))
            error, _ = until(
                cansimple.HEARTBEAT,
                cansimple.unpack_heartbeat,
                lambda _, state: state == cansimple.CLOSED_LOOP,
            )
            assert error == 0
        finally:
            running.call_soon_threadsafe(
                lambda: [task.cancel() for task in asyncio.all_tasks(running)]
            )
            thread.join()


def run(loop, mock):
    try:
        loop.run_until_complete(mock.main())
    except asyncio.CancelledError:
        pass
    finally:
        loop.close()


def test_an_error_is_an_active_error_or_the_reason_of_a_disarming():
    assert cansimple.unpack_error(b"\1\0\0\0\2\0\0\0") == 3
    assert cansimple.unpack_error(b"\0\0\0\0\0\0\0\1") == 1 << 24
    assert cansimple.unpack_error(b"\1\0\0\0") is None
