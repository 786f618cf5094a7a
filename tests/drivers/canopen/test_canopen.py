"""CiA 402 drives over CANopen: what is written before power, what moves, and what ends motion.

Most tests have the emulated drives in another process on a real (loopback) bus; those that need an impossible drive have one on
python-can's virtual bus. A `Probe` looks at the drives by frames of its own.
"""

import ast
import os
import re
import signal
import struct
import time
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from unittest.mock import patch

import can
import canopen
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.canopen.canopen402 import Setting
from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.body import RESET, SILENT
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError
from tests.drivers.wires import (
    PACE,
    PAIR,
    REST,
    drives_here,
    merged,
    processes,
    program_of,
    steps,
    until_it_fails,
    virtual_drives,
    with_port,
)
from tests.places import ROOT

TEST_OBJECT = 0x2FFF


class Probe:
    """Reads and writes objects of drives beside the driver."""

    def __init__(self, bus):
        self.bus = bus

    def ask(self, node, request):
        while self.bus.recv(0) is not None:
            pass
        self.bus.send(can.Message(arbitration_id=0x600 + node, data=request, is_extended_id=False))
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            reply = self.bus.recv(0.1)
            if reply is not None and reply.arbitration_id == 0x580 + node and reply.data[1:4] == request[1:4]:
                return bytes(reply.data)
        raise TimeoutError

    def read(self, node, index, sub=0, form="<i"):
        reply = self.ask(node, struct.pack("<BHB4x", 0x40, index, sub))
        assert reply[0] != 0x80, reply
        return struct.unpack_from(form, reply, 4)[0]

    def write(self, node, index, value, form="<i", sub=0):
        data = struct.pack(form, value)
        request = struct.pack("<BHB", 0x23 | (4 - len(data)) << 2, index, sub) + data.ljust(4, b"\0")
        self.bus.send(can.Message(arbitration_id=0x600 + node, data=request, is_extended_id=False))

    def state(self, node):
        return self.read(node, 0x6041, form="<H") & 0x6F


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated drives in another process; tests leave them without faults."""
    return bench("canopen")


@pytest.fixture
def probe(pair):
    yield from probing(pair)


def probing(bench):
    bus = can.Bus(**{"hop_limit": 0, **bench.arm.driver.model_extra["bus"]})
    yield Probe(bus)
    bus.shutdown()


@pytest.fixture
def own(bench):
    """Emulated drives of a test's own, and a probe; for tests that break them."""
    with ExitStack() as made:
        def start(**changes):
            drives = bench("canopen", changes)
            made.callback(drives.end)
            return drives, made.enter_context(contextmanager(probing)(drives))

        yield start


class TestSettings:
    def test_the_drives_hold_what_was_written(self, pair, probe):
        with connect(pair.arm):
            for node, torque in ((1, 1000), (2, 1000)):
                assert probe.read(node, 0x1016, 1, "<I") == 127 << 16 | 500                  # host and ms
                assert probe.read(node, 0x6007, 0, "<h") == 3                                # quick stop
                assert probe.read(node, 0x605A, 0, "<h") == 2                                # which ends in the brake
                assert probe.read(node, 0x60FF) == 0
                assert probe.read(node, 0x6060, 0, "<b") == 9
                assert probe.read(node, 0x6072, 0, "<H") == torque                           # 60 and 40 N·m
                assert probe.read(node, 0x6085, 0, "<I") == round(8.0 * 100.0 * 65536 / (2.0 * np.pi))
                assert [probe.read(node, 0x1A00, k, "<I") for k in range(4)] == [3, 0x60410010, 0x60640020, 0x60770010]
                assert probe.read(node, 0x1800, 1, "<I") == 0x180 + node
                assert (probe.read(node, 0x60C2, 1, "<B"), probe.read(node, 0x60C2, 2, "<b")) == (5, -3)     # 200 Hz
                assert probe.read(node, 0x1803, 1, "<I") >> 31                               # others stay off

    def test_resolution_is_that_of_the_counts(self, pair):
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.torque_step, [0.06, 0.04])
        np.testing.assert_allclose(resolution.position_step, 2.0 * np.pi / 65536 / 100.0)

    def test_a_bus_that_cannot_carry_the_rate_is_refused(self, make_arm):
        arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"bit_rate": 125000.0}}))
        with pytest.raises(InputError, match=r"200 Hz would take \d+ % of the bus, at most 70 % is safe; at most \d+ Hz fit"):
            connect(arm)

    @pytest.mark.parametrize(("changes", "words"), [
        ({"driver": {"bitrate": 1e6}}, r"driver.bitrate: unknown key 'bitrate'; did you mean 'bit_rate'"),
        ({"driver": {"watchdog": 9.0}}, r"driver.watchdog = 9"),
        ({"driver": {"profile": "csp"}}, r"driver.profile = 'csp'"),
        ({"joints": {"lift": {"drive": {"nod": 1}}}}, r"joints.lift.drive.nod: unknown key 'nod'; did you mean 'node'"),
        ({"joints": {"lift": {"drive": {"node": 1}}}}, r"joints.lift.drive.node = 1 is also that of turn"),
        ({"joints": {"lift": {"drive": {"rated_torque": -1}}}}, r"joints.lift.drive.rated_torque = -1"),
        ({"joints": {"lift": {"drive": {"position_counts": 1e300}}}}, r"joints.lift.drive.position_counts = 1e\+300"),
        ({"joints": {"lift": {"gear_ratio": None}}}, r"pair.toml: joints.lift.gear_ratio is missing: this drive counts motor"),
        ({"joints": {"lift": {"acceleration": 5e5}}}, r"joints.lift: its quick-stop deceleration is \d+ in the drive's counts "
                                                      r"\(0x6085\), which holds 1 to 4294967295"),
        ({"joints": {"lift": {"drive": {"velocity_counts": 1e-4}}}}, r"joints.lift: its quick-stop deceleration is 0 in the"),
        ({"joints": {"lift": {"drive": {"position_counts": 1e9, "velocity_counts": 4096}}}},
         r"joints.lift: a position of .* is .* counts, more than 32 bits"),
        ({"joints": {"lift": {"torque": 1e5}}}, r"joints.lift.torque = 100000 N·m is .* thousandths of the rated torque"),
    ])
    def test_keys_are_checked_before_anybody_is_asked(self, make_arm, changes, words):
        with pytest.raises(InputError, match=words):
            connect(make_arm(merged(with_port(PAIR["canopen"], 1), changes)))

    def test_nobody_there_is_said_in_time(self, make_arm, pair):
        missing = merged(with_port(PAIR["canopen"], pair.arm.driver.model_extra["bus"]["port"]),
                         {"joints": {"lift": {"drive": {"node": 9}}}})
        began = time.monotonic()
        with pytest.raises(DriverError, match=r"drive of lift \(node 9\) does not answer"), connect(make_arm(missing)):
            pass
        assert time.monotonic() - began < 3.0


class TestMotion:
    def test_profile_velocity_moves_as_well(self, own):
        drives, _ = own(driver={"profile": "pv"})
        with connect(drives.arm) as arm:
            arm.enable()
            assert steps(arm, 100, PACE)[-1].dq == pytest.approx(PACE, abs=0.01)

    def test_a_joint_in_torque_mode_has_the_torque_and_the_other_its_velocity(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            for _ in range(40):
                sample = arm.step(Command(np.array([0.0, 0.1]), np.array([2.4, 0.0]), ("torque", "velocity")))
            assert sample.tau[0] == pytest.approx(2.4, abs=0.06)
            assert sample.dq == pytest.approx([0.0, 0.1], abs=0.01)         # it sticks below 4.5 N·m
            for _ in range(40):
                sample = arm.step(Command(np.array([0.0, 0.0]), np.array([6.0, 0.0]), ("torque", "velocity")))
            assert sample.dq[0] > 0.05                                      # and breaks loose above
            assert probe.read(1, 0x6061, 0, "<b") == 10
            arm.stop("enough")
            arm.enable()
            assert abs(steps(arm, 5)[-1].dq[0]) < 0.01

    def test_directions_and_zeros_are_the_models(self, own):
        """The drive turns the other way; the emulator knows it from the same keys, the probe sees its counts."""
        drives, probe = own(joints={"turn": {"direction": -1, "zero_offset": 0.5}})
        with connect(drives.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] > first.q[0] + 0.03
            assert probe.read(1, 0x606C) < 0
            assert probe.read(1, 0x6064) == pytest.approx((0.5 - last.q[0]) * 100.0 * 65536 / (2.0 * np.pi), rel=0.1)


class TestStaleVelocity:
    """Somebody left a velocity in the drive, as its target or to be added to that."""

    STALE = 20000       # counts/s: 0.02 rad/s at the joint

    @pytest.mark.parametrize(("index", "form", "value"), [
        (0x60FF, "<i", 50 * STALE), (0x60B1, "<i", 50 * STALE), (0x60B2, "<h", 300)])
    def test_the_driver_never_lets_it_move(self, pair, probe, index, form, value):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            probe.write(1, index, value, form)
            assert probe.read(1, index, 0, form) == value
            arm.enable()
            assert probe.read(1, index, 0, form) == 0
            samples = steps(arm, 20)
            np.testing.assert_allclose([sample.q for sample in samples], np.tile(before, (20, 1)), atol=2e-4)

    @pytest.mark.parametrize("index", [0x60FF, 0x60B1])
    def test_without_the_driver_it_does(self, own, index):
        """Else the test above would prove nothing."""
        _, probe = own()
        before = probe.read(1, 0x6064)
        probe.write(1, 0x6060, 9, "<b")
        probe.write(1, index, 50 * self.STALE)
        for word in (0x06, 0x07, 0x0F):
            probe.write(1, 0x6040, word, "<H")
        time.sleep(0.2)
        assert abs(probe.read(1, 0x6064) - before) > self.STALE


class TestFaults:
    def test_a_drive_fault_stops_all_joints_and_is_not_reset_by_anything_but_a_reset(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, 0x2310, "<H")
            with pytest.raises(DriverError, match=r"drive of turn stopped by itself: fault, error 0x2310 \(overcurrent\)"):
                until_it_fails(arm)
            assert abs(probe.read(2, 0x606C)) < 100
            assert probe.state(2) == 0x40                                   # braked
            with pytest.raises(DriverError, match="fault"):
                arm.enable()
            assert probe.state(1) & 0x4F == 0x08
        with pytest.raises(DriverError, match="stribeck check --reset"), connect(pair.arm):
            pass
        arm = connect(pair.arm)
        arm.reset()
        assert probe.state(1) == 0x40                                       # without power
        assert probe.read(1, 0x60FF) == 0
        with arm:
            arm.enable()
            steps(arm, 5)

    @pytest.mark.parametrize(("code", "power"), [(0x2310, "off"), (0x8611, "velocity")], ids=["overcurrent", "following error"])
    def test_an_emulated_drive_brakes_after_faults_that_leave_it_its_current(self, make_arm, code, power):
        """Else programs would only have met drives that can always brake."""
        nodes = []
        with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), nodes.append) as arm:
            with arm:
                arm.enable()
                steps(arm, 20, PACE)
                nodes[0].fault(code)
                assert nodes[0].drive.power == power
                with pytest.raises(DriverError, match="drive of turn stopped by itself"):
                    until_it_fails(arm)
            assert (nodes[0].drive.power, nodes[0].drive.held_by) == ("off", "brake")

    @pytest.mark.parametrize(("stop", "state"), [("brake", "switch on disabled"), ("hold", "quick stop active")])
    def test_a_drive_in_torque_mode_that_hears_nothing_lets_its_torque_go(self, make_arm, stop, state):
        """A joint with a brake is left to that; one without falls."""
        changes = {"driver": {"watchdog": 0.2}, "joints": {"lift": {"stop": stop}}}
        with drives_here(make_arm, "canopen", changes) as (file, emulator), connect(file) as arm:
            lift = emulator._nodes[1]
            arm.enable()
            for _ in range(20):
                arm.step(Command(np.zeros(2), np.array([0.0, 5.0]), ("velocity", "torque")))
            assert lift.drive.tau == pytest.approx(5.0, abs=0.2)
            time.sleep(0.2 + 0.1)                       # the program hangs
            assert (lift.state, lift.drive.tau) == (state, pytest.approx(0.0, abs=0.2))
            time.sleep(0.1)
            there = lift.drive.q
            time.sleep(0.1)
            assert (abs(lift.drive.q - there) > 0.01) == (stop == "hold")

    @pytest.mark.parametrize(("word", "coasts"), [(0x00, True), (0x02, False)], ids=["disable voltage", "quick stop"])
    def test_an_emulated_drive_that_loses_its_power_in_motion_coasts_until_its_brake_has_closed(self, make_arm, word, coasts):
        nodes = []
        with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), nodes.append) as arm, arm:
            arm.enable()
            steps(arm, 40, PACE)
            nodes[0]._control(word)
            assert nodes[0].drive.held_by == ("nothing" if coasts else "drive")
            with pytest.raises(DriverError, match="drive of turn stopped by itself"):
                until_it_fails(arm)
            assert nodes[0].drive.held_by == "brake"

    def test_a_reset_leaves_a_joint_that_is_held_as_it_is(self, own):
        drives, probe = own(joints={"lift": {"stop": "hold"}})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 5)
            probe.write(1, TEST_OBJECT, 0x2310, "<H")
            with pytest.raises(DriverError, match=r"overcurrent\); the arm was stopped"):
                until_it_fails(arm, REST)
        assert (probe.state(1) & 0x4F, probe.state(2)) == (0x08, 0x07)      # faulty; held
        before = probe.read(2, 0x6064)
        connect(drives.arm).reset()
        assert (probe.state(1), probe.state(2)) == (0x40, 0x07)
        assert abs(probe.read(2, 0x6064) - before) < 50

    def test_a_look_at_drives_that_follow_another_program_does_not_stop_it(self, own):
        drives, probe = own()
        with program_of(drives.arm) as (_, said):
            with pytest.raises(DriverError, match="is powered and follows another program"), connect(drives.arm):
                pass
            time.sleep(0.2)
            assert said.empty()
            assert abs(probe.read(1, 0x606C)) > 1000

    def test_drives_that_meanwhile_follow_another_program_are_left_alone_by_one_that_comes_again(self, own):
        drives, probe = own()
        arm = connect(drives.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            arm.stop("enough")
        with program_of(drives.arm) as (_, said), can.Bus(**{"hop_limit": 0, **drives.arm.driver.model_extra["bus"]}) as bus:
            while bus.recv(0) is not None:
                pass
            with pytest.raises(DriverError, match="is powered and follows another program"), arm:
                pass
            assert not any(frame.arbitration_id == 0 for frame in iter(lambda: bus.recv(0), None))
            assert said.empty()
            assert abs(probe.read(2, 0x606C)) > 1000

    def test_a_node_that_falls_silent_is_noticed_and_the_others_stop(self, own):
        drives, probe = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
        assert probe.state(2) == 0x40
        assert abs(probe.read(2, 0x606C)) < 100

    def test_a_node_that_was_reset_is_not_taken_back(self, own):
        drives, probe = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, RESET, "<H")
            with pytest.raises(DriverError, match=r"turn.*(was reset|has not replied)"):
                until_it_fails(arm)
            with pytest.raises(DriverError):
                arm.enable()

    @pytest.mark.parametrize("stop", ["brake", "hold"])
    def test_a_drive_that_was_told_to_leave_its_cycles_stops(self, own, stop):
        """By another master, or a vendor's tool: it hears heartbeats, which keep its watchdog quiet, but no set-points."""
        drives, probe = own(driver={"watchdog": 0.5}, joints={"turn": {"stop": stop}})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            before = probe.read(1, 0x6064)
            probe.bus.send(can.Message(arbitration_id=0, data=b"\x80\x01", is_extended_id=False))
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
            assert probe.state(1) == (0x40 if stop == "brake" else 0x07)
            ran = abs(probe.read(1, 0x6064) - before) / (100.0 * 65536 / (2.0 * np.pi))
            assert ran < PACE[0] * 0.4
        assert probe.state(2) == 0x40

    def test_after_a_pause_a_drive_that_is_silent_keeps_no_other_from_its_brake(self, own):
        drives, probe = own(driver={"watchdog": 0.2})
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.write(1, TEST_OBJECT, SILENT, "<H")
            time.sleep(0.5)
            with pytest.raises(DriverError, match=r"this computer sent nothing for \d+ ms; then turn does not reply"):
                arm.step(Command(PACE))
            assert probe.state(2) == 0x40

    def test_when_all_drives_vanish_the_arm_says_so(self, own):
        drives, _ = own()
        with connect(drives.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            drives.end()
            with pytest.raises(DriverError, match="has not replied for"):
                until_it_fails(arm)

    def test_a_bus_that_fails_is_an_error_of_ours_and_the_watchdogs_stop_the_joints(self, pair, probe, monkeypatch):
        def broken(*_, **__):
            raise can.CanOperationError("No buffer space available")

        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            monkeypatch.setattr(arm.link._bus, "send", broken)
            with pytest.raises(DriverError, match="the bus failed: No buffer space"):
                until_it_fails(arm)
        time.sleep(0.6)
        for node in (1, 2):
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == 0x40

    def test_a_drive_that_leaves_power_by_itself_is_not_brought_back(self, pair, probe):
        """Another master, or a key switch."""
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 10)
            probe.write(1, 0x6040, 0x02, "<H")
            with pytest.raises(DriverError, match=r"turn stopped by itself: (quick stop|switch on disabled)"):
                until_it_fails(arm, REST)
            with pytest.raises(ArmStopped):
                arm.step(Command(REST))


class TestHost:
    """What becomes of the joints when the program that moves them does not go on."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, what it said, and a probe; "lift" has no brake."""
        drives, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(drives.arm) as (program, said):
            assert abs(probe.read(1, 0x606C)) > 1000
            yield program, said, probe

    def test_killed_it_leaves_the_joints_to_their_watchdogs(self, host):
        program, _, probe = host
        program.kill()
        time.sleep(0.2 + 0.3)                       # watchdog, and braking from 0.3 rad/s at 8 rad/s²
        for node, state in ((1, 0x40), (2, 0x07)):  # braked; the one without brake held: quick stop active
            assert abs(probe.read(node, 0x606C)) < 2000
            assert probe.state(node) == state

    def test_hung_it_is_stopped_and_does_not_resume(self, host):
        program, said, probe = host
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(0.5)
        assert abs(probe.read(1, 0x606C)) < 2000
        os.kill(program.pid, signal.SIGCONT)
        assert re.match(r"DriverError: (turn has not replied|this computer sent nothing) for \d+ ms; the arm was stopped",
                        said.get(timeout=30.0))
        assert abs(probe.read(1, 0x606C)) < 2000
        assert probe.state(1) == 0x40               # brake: it was told once it could be
        assert probe.state(2) == 0x07

    @pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted_it_stops_brakes_and_holds(self, host, ending):
        """However often: a person who sees the arm still slow down may try again."""
        program, said, probe = host
        while said.empty():
            os.kill(program.pid, ending)
            time.sleep(0.003)
        assert "KeyboardInterrupt" in said.get(timeout=30.0)
        assert probe.state(1) == 0x40               # brake
        assert probe.state(2) == 0x07               # no brake: held by its drive
        assert abs(probe.read(2, 0x606C)) < 2000


def script(arm, said):
    """As a user may write it: nothing in it cares for signals."""
    try:
        with connect(load_arm(arm)) as connected:
            connected.enable()
            steps(connected, 5)
            said.put("moving")
            while True:
                connected.step(Command(PACE))
    except KeyboardInterrupt:
        said.put("interrupted")


def test_a_script_that_is_asked_to_end_stops_the_arm_first(own):
    drives, probe = own(joints={"lift": {"stop": "hold"}})
    said = processes.Queue()
    program = processes.Process(target=script, args=(drives.arm.path, said), daemon=True)
    program.start()
    assert said.get(timeout=60.0) == "moving"
    os.kill(program.pid, signal.SIGTERM)
    assert said.get(timeout=10.0) == "interrupted"
    assert [probe.state(node) for node in (1, 2)] == [0x40, 0x07]          # brake; held by its drive
    program.join()


def test_a_joint_without_brake_falls_when_its_drive_has_no_power(own):
    """The emulated drives do what real ones do; else "hold" would not be needed."""
    _, probe = own(joints={"lift": {"stop": "hold"}})
    first = probe.read(2, 0x6064)
    time.sleep(0.3)
    assert probe.read(2, 0x6064) > first + 1000


# drives as they should not be, on a virtual bus

def without(*key):
    return lambda node: node.types.pop(key)


def deaf_to(key):
    """Takes a write and keeps its old value."""
    def spoil(node):
        set_ = node._set
        node._set = lambda found, data: None if found == key else set_(found, data)
    return spoil


def stuck_at(key, value):
    """Keeps a value that another program left."""
    def spoil(node):
        node.values[key] = value
        deaf_to(key)(node)
    return spoil


def says(index, value):
    return lambda node: node.values.update({(index, 0): value})


@pytest.mark.parametrize(("spoil", "words"), [
    (without(0x1016, 1), r"turn has no watchdog.*allow_no_watchdog"),
    (without(0x6007, 0), r"turn has no watchdog.*allow_no_watchdog"),
    (without(0x605A, 0), r"turn \(node 1\) has no object 0x605A:0 \(quick stop that ends in the brake\)"),
    (deaf_to((0x6007, 0)), r"was told reaction to a lost connection = 3 \(0x6007:0\) and reads back 1"),
    (deaf_to((0x1A00, 2)), r"was told PDO 0x1800"),
    (deaf_to((0x60FF, 0)), None),
    (says(0x6502, 0b100), r"has no mode csv \(0x6502 offers pv\)"),
    (says(0x6076, 600_000), r"rated torque is 600 N·m \(0x6076, in mN·m\), the arm file says 0.6 N·m"),
    (says(0x60A9, 0x00B44700), r"counts speeds in revolutions per min \(0x60A9\), 60 at one motor revolution a second, the arm "
                               r"file says \d+ \(velocity_counts, by default position_counts\)"),
    (says(0x60AA, 0x00C00300), r"counts accelerations in revolutions per min per s \(0x60AA\), 60 at one motor revolution a "
                               r"second squared, the arm file says \d+ \(acceleration_counts, by default velocity_counts\)"),
    *[(says(0x607E, 1 << bit), rf"reverses what it is told, or what it says \(0x607E = 0x{1 << bit:02X}\)") for bit in (5, 6, 7)],
    (says(0x607E, 0b1100_0000), r"reverses what it is told, or what it says \(0x607E = 0xC0\).* direction = -1"),
    (deaf_to((0x60B1, 0)), None),
    (stuck_at((0x60B1, 0), 5), r"was told velocity offset = 0 \(0x60B1:0\) and reads back 5"),
    (lambda node: node.fault(0x4310), r"has a fault, error 0x4310 \(temperature of the drive\)"),
    (lambda node: node._enter("operation enabled"), "is powered and follows another program"),
], ids=["no heartbeat consumer", "no reaction", "no quick stop option", "reaction not taken", "mapping not taken", "zero is zero",
        "no csv", "unit of torque", "unit of speed", "unit of acceleration", "torque reversed", "velocity reversed",
        "position reversed", "all reversed", "no offset is zero", "offset not taken", "fault", "somebody else's"])
def test_a_drive_that_is_not_as_it_should_be_is_not_powered(make_arm, spoil, words):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"modes": ["velocity"]}}))
    with virtual_drives(arm, spoil) as driver:
        if words is None:
            with driver:
                pass
            return
        with pytest.raises(DriverError, match=words), driver:
            pass


def test_profile_torque_where_there_is_no_cyclic_one_has_no_ramp_of_its_own(make_arm):
    nodes = []

    def spoil(node):
        nodes.append(node)
        node.values[0x6502, 0] &= ~(1 << 9)

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), spoil) as driver, driver:
        assert nodes[0].values[0x6087, 0] == round(60.0 / (0.6 * 100.0 / 1000.0) / 0.01)
        assert driver.axes[0]._torque_profile == 4


@pytest.mark.parametrize(("stuck", "words"), [(10, r"shows mode 10 \(0x6061\) \d+ ms after it was told mode 9"),
                                              (9, r"shows mode 9 \(0x6061\) \d+ ms after it was told mode 10")])
def test_a_drive_that_stays_in_its_mode_is_stopped_without_torque(make_arm, stuck, words):
    """A joint that broke loose and is to stop would go on with the torque that broke it loose, and the other way round."""
    nodes = []

    def spoil(node):
        set_ = node._set
        nodes.append(node)
        node._set = lambda found, data: None if found == (0x6060, 0) and node.values[found] == stuck else set_(found, data)

    torque = Command(REST, np.array([2.4, 0.0]), ("torque", "velocity"))

    def go_on(driver, command):
        for _ in range(100):
            driver.step(command)

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), spoil) as driver, driver:
        driver.enable()
        steps(driver, 5)
        driver.step(torque)
        with pytest.raises(DriverError, match=words):
            go_on(driver, torque if stuck == 9 else Command(REST))
        assert nodes[0].values[0x6071, 0] == 0


def test_error_frames_are_counted(make_arm):
    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), lambda _: None) as driver, driver:
        driver.link._network.listeners[0].on_message_received(can.Message(is_error_frame=True))
        driver.look(1)
        assert driver.link.error_frames == 1


def losing_answers(node):
    """One answer by SDO in twenty is lost, every fifth comes twice."""
    transmit, count = node._transmit, 0

    def lossy(identifier, data):
        nonlocal count
        count += identifier == 0x580 + node.id
        if identifier != 0x580 + node.id or count % 20:
            transmit(identifier, data)
            if identifier == 0x580 + node.id and count % 5 == 0:
                transmit(identifier, data)

    node._transmit = lossy


def test_settings_arrive_where_answers_are_lost_or_come_twice(make_arm):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"modes": ["velocity"]}}))
    with virtual_drives(arm, losing_answers) as driver, driver:
        assert all(axis.watched for axis in driver.axes)


def test_watchdogs_stay_quiet_while_an_answer_is_waited_for(make_arm):
    """They are shorter than the time after which a drive is asked again, and run since the first cycle."""
    nodes = []

    def loses_an_answer(node):
        transmit, left = node._transmit, [2]
        nodes.append(node)

        def lossy(identifier, data):
            asked = identifier == 0x580 + node.id and data[1:3] == b"\xff\x60" and node._watchdog is not None and left[0]
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


@pytest.mark.parametrize("counts", [60.0, 60_000.0, 123.0])
def test_other_units_of_speed(make_arm, counts):
    """Which the drive names, but the last."""
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"joints": {"turn": {"drive": {"velocity_counts": counts}}}}))
    with virtual_drives(arm, lambda _: None) as driver, driver:
        told = driver.axes[0].identity()["speed counts"]
        assert told.startswith(f"{counts:g} at one motor revolution a second, as the ")
        assert told.endswith("drive says" if counts != 123.0 else "arm file says; the drive does not (0x60A9)")


def test_ramps_are_counted_in_units_of_their_own(make_arm):
    """Else a drive whose computer falls silent would stop a thousand times too slowly, or at once."""
    nodes = []
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"joints": {"turn": {"drive": {
        "velocity_counts": 60.0, "acceleration_counts": 65536.0}}}}))
    with virtual_drives(arm, nodes.append) as driver, driver:
        assert nodes[0].values[0x6085, 0] == round(8.0 * 100.0 * 65536 / (2.0 * np.pi))
        told = driver.axes[0].identity()["acceleration counts"]
        assert told == "65536 at one motor revolution a second squared, as the drive says"


class TestGreeting:
    """A node that answers nothing."""

    def silent(self, make_arm, talks):
        heard = []

        def spoil(node):
            transmit, receive = node._transmit, node.receive
            node._transmit = lambda identifier, data: None if identifier == 0x580 + node.id else transmit(identifier, data)
            node.receive = lambda identifier, data: (heard.append((identifier, data)), receive(identifier, data))
            if talks:
                node.nmt = 5
                node.values[0x1017, 0] = 50

        arm = make_arm(with_port(PAIR["canopen"], 1))
        with virtual_drives(arm, spoil) as driver, pytest.raises(DriverError, match=r"turn \(node 1\) does not answer"), driver:
            pass
        return (0, b"\x80\x01") in heard

    def test_one_that_may_have_stopped_is_told_to_answer(self, make_arm):
        assert self.silent(make_arm, talks=False)

    def test_one_that_works_for_somebody_is_told_nothing(self, make_arm):
        assert not self.silent(make_arm, talks=True)


def test_a_drive_that_hears_the_start_late_is_asked_again(make_arm):
    def deaf_once(node):
        nmt, heard = node._nmt, []

        def late(command):
            heard.append(command)
            if command != 1 or heard.count(1) > 3:
                nmt(command)

        node._nmt = late

    with virtual_drives(make_arm(with_port(PAIR["canopen"], 1)), deaf_once) as driver, driver:
        driver.enable()
        steps(driver, 5)


def test_halves_of_different_cycles_are_never_one_reading(axis):
    """The frame with the velocity was lost, then that with the position; a reading would be wrong by a cycle for ever."""
    axis.expect()
    axis.on_state(0x181, bytearray(struct.pack("<Hih", 0x27, 1000, 5)), 0.0)
    before = axis.replies
    axis.expect()
    axis.on_velocity(0x281, bytearray(struct.pack("<ib", 70, 9)), 0.0)
    assert axis.replies == before
    axis.expect()
    axis.on_velocity(0x281, bytearray(struct.pack("<ib", 80, 9)), 0.0)
    axis.on_state(0x181, bytearray(struct.pack("<Hih", 0x27, 1100, 5)), 0.0)
    assert axis.replies == before + 1
    assert axis.reading.dq == pytest.approx(80 * axis.scale.velocity)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")     # how pytest shows a thread's end
def test_a_bus_that_cannot_be_read_any_more_is_said_without_a_traceback(pair, capfd, monkeypatch):
    def broken(*_, **__):
        raise can.CanOperationError("no such device")

    with connect(pair.arm) as arm:
        arm.enable()
        steps(arm, 10)
        with monkeypatch.context() as patch:
            patch.setattr(arm.link._bus, "recv", broken)
            with pytest.raises(DriverError, match="cannot be read any more: no such device"):
                until_it_fails(arm)
    time.sleep(0.6)
    assert "Traceback" not in capfd.readouterr().err


def test_without_a_watchdog_it_moves_only_where_that_is_allowed(make_arm):
    arm = make_arm(merged(with_port(PAIR["canopen"], 1), {"driver": {"allow_no_watchdog": True}}))
    with virtual_drives(arm, without(0x1016, 1)) as driver, driver:
        driver.enable()
        steps(driver, 5)


@pytest.fixture(scope="module")
def axis(make_arm):
    return connect(make_arm(with_port(PAIR["canopen"], 1))).axes[0]


@given(data=st.binary(max_size=8))
def test_whatever_comes_on_the_bus_the_reader_lives(axis, data):
    for listener in (axis.on_state, axis.on_velocity, axis.on_emergency, axis.on_heartbeat):
        listener(0x181, bytearray(data), 0.0)
    assert axis.power in ("off", "on", "held", "fault")
    assert isinstance(axis.trouble, str)


class Garbled(canopen.Network):
    """Answers every SDO frame with the next of some replies, then falls silent."""

    def __init__(self, axis, replies):
        super().__init__()
        self.replies = iter(replies)
        axis.join(self, lambda: None)
        self.answer = axis.node.sdo.on_response

    def send_message(self, can_id, data, remote=False):
        for reply in islice(self.replies, 1):
            self.answer(0x581, bytearray(reply), 0.0)


commands = st.sampled_from([0x40, 0x41, 0x42, 0x43, 0x4F, 0x60, 0x80, 0x00, 0x01, 0x10, 0x1F])
answers = st.one_of(st.binary(max_size=8), st.builds(lambda command, rest: bytes([command, 0x41, 0x60, 0]) + rest, commands,
                                                     st.binary(max_size=4)))


@settings(max_examples=200, deadline=None)
@given(replies=st.lists(answers, max_size=8), write=st.booleans())
@example([b"\x4b\x41\x60"], False)
def test_damaged_answers_are_asked_for_again_or_told_in_our_words(axis, replies, write):
    Garbled(axis, replies)
    with suppress(DriverError), patch("stribeck.drivers.canopen.canopen402._REPLY", 1e-3):
        if write:
            axis.write(Setting(0x6041, 0, "<H", 1, "something"))
        else:
            assert isinstance(axis.read(0x6041, 0, "<H"), int | None)


def test_the_emulator_shares_no_code_with_the_driver():
    for path in (ROOT / "drivers" / "emulators").glob("*.py"):
        imported = imported_by(path.read_text(encoding="utf-8"))
        ours = {name.removeprefix("stribeck.drivers.") for name in imported if name.startswith("stribeck.drivers.")}
        modules = {name.rsplit(".", 1)[0] for name in ours if not name.startswith("emulators")}
        assert modules <= {"arm", "simulation.simulated_arm"}, path
        assert not {name.partition(".")[0] for name in imported} & {"canopen", "dynamixel_sdk", "odrive_can"}, path


def imported_by(text):
    """Names that a module imports, in full."""
    nodes = list(ast.walk(ast.parse(text)))
    return {f"{node.module}.{name.name}" for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names} | {
        f"{name.name}." for node in nodes if isinstance(node, ast.Import) for name in node.names}


@pytest.mark.parametrize("line", [
    "from stribeck.drivers.canopen import cia402", "from stribeck.drivers.canopen.cia402 import Scale",
    "import stribeck.drivers.canopen.cia402"])
def test_no_way_of_importing_is_overlooked(line):
    (name,) = imported_by(line)
    assert name.startswith("stribeck.drivers.canopen.cia402")
