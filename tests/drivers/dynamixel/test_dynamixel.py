"""Dynamixel servos on one line: what is written before power, what moves, and what ends motion.

The emulated servos are in another process behind a TCP port; tests that need an impossible servo have it in this one, on a pty.
A `Probe` looks at the servos by packets of its own. Like any instruction it keeps their watchdogs quiet.
"""

import os
import signal
import socket
import struct
import sys
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from serial.urlhandler import protocol_socket

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.dynamixel import protocol2 as dxl
from stribeck.drivers.dynamixel.dynamixel_link import Bus, Setting
from stribeck.drivers.emulators.body import RESET, SILENT
from stribeck.drivers.emulators.dynamixel import Emulator, frame, frames
from stribeck.drivers.errors import ArmStopped, DriverError
from stribeck.drivers.supervisor import Supervisor
from stribeck.ident.errors import InputError
from tests.drivers.wires import PACE, PAIR, REST, merged, program_of, served, steps, until_it_fails, with_port

SLOW = 2                # counts: 0.016 rad/s at the joint
HAPPEN = 1000           # the emulator's own item
TORQUE, STATUS_RETURN, WATCHDOG, GOAL, PROFILE_TIME, POSITION, VELOCITY = 64, 68, 98, 116, 112, 132, 128


@pytest.fixture(autouse=True)
def prompt(monkeypatch):
    """pyserial gives the other end 0.3 s to notice that a socket was closed; ours need none."""
    monkeypatch.setattr(protocol_socket, "time", SimpleNamespace(sleep=lambda seconds: None))


class Probe:
    """Reads and writes items of servos beside the driver."""

    def __init__(self, arm):
        host, port = arm.driver.model_extra["port"].removeprefix("socket://").split(":")
        self.line = socket.create_connection((host, int(port)), 2.0)

    def ask(self, servo, instruction, parameters=b""):
        self.line.sendall(frame(servo, instruction, parameters))
        buffer = bytearray()
        while True:
            buffer += self.line.recv(256)
            for _, _, rest in frames(buffer):
                return rest[0], rest[1:]

    def read(self, servo, address, form="<i"):
        error, data = self.ask(servo, 2, struct.pack("<HH", address, struct.calcsize(form)))
        assert error & 0x7F == 0
        return struct.unpack(form, data)[0]

    def write(self, servo, address, value, form="<i"):
        return self.ask(servo, 3, struct.pack("<H", address) + struct.pack(form, value))[0] & 0x7F

    def happen(self, servo, what):
        if what == SILENT:
            self.line.sendall(frame(servo, 3, struct.pack("<HH", HAPPEN, what)))
        else:
            self.write(servo, HAPPEN, what, "<H")

    def powered(self, servo):
        return self.read(servo, TORQUE, "<B") == 1


@pytest.fixture(scope="module")
def pair(bench):
    """Emulated servos in another process; tests leave them without faults."""
    return bench("dynamixel")


@contextmanager
def probing(arm):
    made = Probe(arm)
    yield made
    made.line.close()


@pytest.fixture
def probe(pair):
    with probing(pair.arm) as made:
        yield made


@pytest.fixture
def own(bench):
    """Emulated servos of a test's own, and a probe; for tests that break them."""
    with ExitStack() as made:
        def start(**changes):
            servos = bench("dynamixel", changes)
            made.callback(servos.end)
            return servos, made.enter_context(probing(servos.arm))

        yield start


class TestSettings:
    def test_the_servos_hold_what_was_written(self, pair, probe):
        with connect(pair.arm):
            for servo, speed, current in ((1, 2.0, 1141), (2, 1.5, 1793)):                  # 12 and 24 N·m
                assert probe.read(servo, 9, "<B") == 0                                      # return delay
                assert probe.read(servo, 10, "<B") == 4                                     # time-based profiles
                assert probe.read(servo, 11, "<B") == 4                                     # extended position
                assert probe.read(servo, 38, "<H") == current
                assert probe.read(servo, 44) == int(speed * 3.0 / (0.229 * 2.0 * np.pi / 60.0)) + 1
                assert probe.read(servo, WATCHDOG, "<b") == 25                              # 0.5 s
                assert probe.read(servo, PROFILE_TIME) == 200
                assert not probe.powered(servo)

    def test_resolution_is_that_of_the_goal_over_its_span(self, pair):
        """7.7 mrad/s at the horn, where the servo's own velocities have steps of 24."""
        resolution = connect(pair.arm).resolution
        np.testing.assert_allclose(resolution.position_step, 2.0 * np.pi / 4096 / 3.0)
        np.testing.assert_allclose(resolution.velocity_step, 2.0 * np.pi / 4096 / 3.0 / 0.2)
        np.testing.assert_allclose(resolution.torque_step, [2.69e-3 * 3.0 / 2.3 * 3.0, 2.69e-3 * 7.3 / 4.4 * 3.0])

    @pytest.mark.parametrize(("changes", "words"), [
        ({"joints": {"turn": {"torque": 60.0}}}, r"pair.toml: joints.turn.torque = 60 N·m is beyond what XM430-W210 gives there"),
        ({"driver": {"baudrate": 1}}, r"driver.baudrate: unknown key 'baudrate'; did you mean 'baud_rate'"),
        ({"driver": {"watchdog": 9.0}}, r"driver.watchdog = 9"),
        ({"driver": {"baud_rate": 57600}}, r"200 Hz would take \d+ % of the bus, at most 70 % is safe; at most \d+ Hz fit"),
        ({"joints": {"lift": {"drive": {"id": 1}}}}, r"joints.lift.drive.id = 1 is also that of turn"),
        ({"joints": {"lift": {"drive": {"model": "XL430-W250"}}}}, r"drive.model = 'XL430-W250': it reports a load by"),
        ({"joints": {"lift": {"drive": {"model": "XC330-T288"}}}}, r"drive.model = 'XC330-T288': it reports .* of its supply"),
        ({"joints": {"lift": {"drive": {"model": "XM540-W151"}}}}, r"drive.model 'XM540-W151'; did you mean 'XM540-W150'"),
    ])
    def test_keys_are_checked_before_anybody_is_asked(self, make_arm, changes, words):
        with pytest.raises(InputError, match=words):
            connect(make_arm(merged(with_port(PAIR["dynamixel"], 1), changes)))

    def test_nobody_there_is_said_in_time_and_nothing_is_written(self, make_arm, pair, probe):
        missing = make_arm(merged(PAIR["dynamixel"], {"driver": {"port": pair.arm.driver.model_extra["port"]},
                                                      "joints": {"lift": {"drive": {"id": 9}}}}))
        began = time.monotonic()
        assert probe.write(1, 112, 77) == 0                 # profile velocity
        with pytest.raises(DriverError, match=r"drive of lift \(id 9\) does not answer"), connect(missing):
            pass
        assert time.monotonic() - began < 2.0
        assert probe.read(1, 112) == 77

    def test_a_joint_with_two_servos_is_refused(self, make_arm, own):
        """The torque of one alone would be read."""
        servos, probe = own()
        alone = merged(PAIR["dynamixel"], {"driver": {"port": servos.arm.driver.model_extra["port"]},
                                           "joints": {"lift": {"drive": {"id": 9}}}})
        assert probe.write(2, 12, 1, "<B") == 0             # it follows what servo 1 is told
        follows = r"servo 2 follows what the drive of turn \(id 1\) is told"
        with pytest.raises(DriverError, match=follows), connect(make_arm(alone)):
            pass
        with pytest.raises(DriverError, match=r"lift \(id 2\) also follows what servo 1 is told; set its Secondary ID"), \
                connect(servos.arm):
            pass

    def test_one_that_counts_the_other_way_is_refused_and_not_set_back(self, own):
        servos, probe = own()
        assert probe.write(2, 10, 1, "<B") == 0
        with pytest.raises(DriverError, match=r"drive of lift \(id 2\) counts the other way \(Reverse Mode"), connect(servos.arm):
            pass
        assert probe.read(2, 10, "<B") == 1

    def test_another_model_than_the_arm_file_says_is_refused(self, make_arm, pair):
        wrong = make_arm(merged(PAIR["dynamixel"], {"driver": {"port": pair.arm.driver.model_extra["port"]},
                                                    "joints": {"lift": {"torque": 17.0, "drive": {"model": "XM430-W350"}}}}))
        with (pytest.raises(DriverError, match=r"drive of lift \(id 2\) says it is model 1130 \(XM540-W150\), the arm file says "
                                               "XM430-W350"), connect(wrong)):
            pass

    def test_a_socket_keeps_no_packet_back(self, pair):
        """Else a Sync Read waits 40 ms for the acknowledgement of the Sync Write before it, once a reply was lost."""
        with connect(pair.arm) as arm, socket.socket(fileno=os.dup(arm.link._line.fileno())) as line:
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    def test_a_socket_without_port_is_said(self, make_arm):
        with pytest.raises(InputError, match=r"pair.toml: the port socket://127.0.0.1 cannot be opened: .*number of the port"), \
                connect(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": "socket://127.0.0.1"}}))):
            pass

    def test_a_port_that_cannot_be_opened_is_said(self, make_arm):
        for port in ("socket://127.0.0.1:9", "/dev/nothing-here"):
            with pytest.raises(DriverError, match=f"the port {port} cannot be opened"), \
                    connect(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": port}}))):
                pass


class TestMotion:
    def test_slow_strokes_are_finer_than_the_servos_velocities(self, own):
        """12 mrad/s at the horn: half a step of the servo's own velocity."""
        servos, _ = own()
        with Supervisor(connect(servos.arm)) as guard:
            guard.enable()
            samples = steps(guard, 400, np.array([0.004, 0.006]))
            arm = guard.arm
            assert min(axis.replies for axis in arm.axes) > 0.98 * arm.tally.cycles     # a busy computer may be late for some
        t, q = (np.array([getattr(sample, key) for sample in samples]) for key in ("t", "q"))
        assert np.median(np.diff(t)) == pytest.approx(0.005, rel=0.02)
        assert np.polyfit(t[150:], q[150:, 0], 1)[0] == pytest.approx(0.004, rel=0.05)
        assert np.polyfit(t[150:], q[150:, 1], 1)[0] == pytest.approx(0.006, rel=0.05)

    def test_directions_and_zeros_are_the_models(self, own):
        """The servo turns the other way; the emulator knows it from the same keys, the probe sees its counts."""
        servos, probe = own(joints={"turn": {"direction": -1, "zero_offset": 0.2}})
        with connect(servos.arm) as arm:
            arm.enable()
            first, last = steps(arm, 1)[0], steps(arm, 60, np.array([0.3, 0.0]))[-1]
            assert first.q[0] == pytest.approx(0.0, abs=0.01)
            assert last.q[0] > first.q[0] + 0.03
            assert probe.read(1, VELOCITY) < 0
            assert probe.read(1, POSITION) == pytest.approx(2048 + (0.2 - last.q[0]) * 3.0 * 4096 / (2.0 * np.pi), abs=60)

    def test_a_host_that_stays_away_for_a_while_makes_up_for_nothing(self, pair):
        with connect(pair.arm) as arm:
            arm.enable()
            before = steps(arm, 20, PACE)[-1].q
            time.sleep(0.3)
            after = steps(arm, 4)[-1].q
            assert np.all(np.abs(after - before) < np.abs(PACE) * (0.2 + 0.06) + 0.002)     # the goal lies 0.2 s ahead


class TestStaleGoal:
    """Somebody left a goal in the servo."""

    FAR = 4000

    def test_the_driver_never_lets_it_move(self, pair, probe):
        with connect(pair.arm) as arm:
            before = arm.look(5)[-1].q
            assert probe.write(1, GOAL, self.FAR) == 0
            arm.enable()
            samples = steps(arm, 20)
            np.testing.assert_allclose([sample.q for sample in samples], np.tile(before, (20, 1)), atol=1.1e-3)

    def test_without_the_driver_it_does(self, own):
        """Else the test above would prove nothing."""
        _, probe = own()
        before = probe.read(1, POSITION)
        probe.write(1, GOAL, self.FAR)
        probe.write(1, TORQUE, 1, "<B")
        time.sleep(0.3)
        assert abs(probe.read(1, POSITION) - before) > 200


class TestFaults:
    def test_a_hardware_error_stops_all_joints_and_only_a_reset_clears_it(self, pair, probe):
        arm = connect(pair.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, 0x20)
            with pytest.raises(DriverError, match="drive of turn stopped by itself: overload"):
                until_it_fails(arm)
            assert not probe.powered(2)                                     # braked
            with pytest.raises(DriverError, match=r"turn.*fault"):
                arm.enable()
            assert not probe.powered(1)
        with pytest.raises(DriverError, match=r"has a fault, overload; .* stribeck check --reset"), connect(pair.arm):
            pass
        arm = connect(pair.arm)
        arm.reset()
        assert not probe.powered(1)
        with arm:
            arm.enable()
            steps(arm, 5)

    @pytest.mark.parametrize("bits", [0x01, 0x08])
    def test_an_error_that_takes_no_power_stops_all_joints_and_leaves_none_powered_that_has_a_brake(self, own, bits):
        """Input voltage and encoder are not among what shuts a servo down (register 63, from the factory)."""
        servos, probe = own(joints={"lift": {"stop": "hold"}})
        arm = connect(servos.arm)
        with arm:
            arm.enable()
            steps(arm, 20, PACE)
            for servo in (1, 2):
                probe.happen(servo, bits)
            with pytest.raises(DriverError, match=r"drive of turn stopped by itself: [\w ]+; the arm was stopped$"):
                until_it_fails(arm)
            assert (probe.powered(1), probe.powered(2)) == (False, True)
        time.sleep(0.6)
        assert probe.read(2, WATCHDOG, "<b") == -1          # held, its goals locked
        before = probe.read(2, POSITION)
        arm = connect(servos.arm)
        for _ in range(2):
            with pytest.raises(DriverError, match=r"lift .* holds its joint in spite of its fault, .* support the arm"):
                arm.reset()
            assert probe.powered(2)
            assert abs(probe.read(2, POSITION) - before) < 5

    def test_a_reset_clears_an_error_that_took_no_power_where_a_brake_holds(self, own):
        servos, probe = own()
        probe.happen(1, 0x01)
        with pytest.raises(DriverError, match=r"has a fault, input voltage; .* stribeck check --reset"), connect(servos.arm):
            pass
        arm = connect(servos.arm)
        arm.reset()
        with arm:
            arm.enable()
            steps(arm, 5)

    def test_a_servo_that_falls_silent_is_named_and_the_other_stops(self, own):
        """The first keeps the second from answering until it is asked for last."""
        servos, probe = own()
        with connect(servos.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, SILENT)
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm)
            assert not probe.powered(2)

    def test_a_servo_that_is_mute_but_hears_is_led_to_rest_and_not_back_to_where_it_was_heard(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            here = steps(arm, 60, np.array([-1.2, 0.0]))[-1].q[0]
            probe.line.sendall(frame(1, 3, struct.pack("<HB", STATUS_RETURN, 0)))
            with pytest.raises(DriverError, match="turn has not replied for"):
                until_it_fails(arm, np.array([-1.2, 0.0]))
            probe.write(1, STATUS_RETURN, 2, "<B")
            assert arm.look(2)[-1].q[0] < here - 0.1        # 50 ms until it is noticed, then braking

    def test_a_servo_that_lost_its_supply_is_not_taken_back(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            probe.happen(1, RESET)
            with pytest.raises(DriverError, match=r"turn stopped by itself: no power: .* losing its supply"):
                until_it_fails(arm)
            assert not probe.powered(1)

    def test_a_servo_that_was_reset_after_it_had_been_set_up_is_not_powered(self, pair, probe):
        """It would be a turn of the horn away from where it says it is."""
        with connect(pair.arm) as arm:
            probe.happen(1, RESET)
            with pytest.raises(DriverError, match=r"turn \(id 1\) was reset after it had been set up"):
                arm.enable()
            assert not probe.powered(1)

    def test_when_the_line_is_cut_the_arm_says_so(self, own):
        servos, _ = own()
        with connect(servos.arm) as arm:
            arm.enable()
            steps(arm, 20, PACE)
            servos.end()
            with pytest.raises(DriverError, match="the bus failed"):
                until_it_fails(arm)
            with pytest.raises(ArmStopped):
                arm.step(Command(REST))

    def test_a_servo_that_is_switched_off_by_another_is_not_brought_back(self, pair, probe):
        with connect(pair.arm) as arm:
            arm.enable()
            steps(arm, 10)
            probe.write(1, TORQUE, 0, "<B")
            with pytest.raises(DriverError, match="turn stopped by itself: no power"):
                until_it_fails(arm, REST)


class TestHost:
    """What becomes of the joints when the program that moves them does not go on."""

    @pytest.fixture
    def host(self, own):
        """A program that moves the joints, what it said, and a probe; "lift" has no brake."""
        servos, probe = own(driver={"watchdog": 0.2}, joints={"lift": {"stop": "hold"}})
        with program_of(servos.arm) as (program, said):
            assert abs(probe.read(1, VELOCITY)) > 20
            yield program, said, probe, servos.arm

    @pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
    def test_watchdogs_stop_the_joints_and_lock_their_goals(self, host, ending):
        program, _, probe, arm = host
        os.kill(program.pid, ending)
        time.sleep(0.2 + 0.3)                       # watchdog, and a moment to come to rest
        for servo in (1, 2):
            assert probe.powered(servo)
            assert probe.read(servo, WATCHDOG, "<b") == -1
            assert abs(probe.read(servo, VELOCITY)) <= SLOW
            assert probe.write(servo, GOAL, 0) == 4
        place = [probe.read(servo, POSITION) for servo in (1, 2)]
        if ending == signal.SIGSTOP:
            os.kill(program.pid, signal.SIGCONT)    # it finds that it was away, and moves nothing
            program.join(5.0)
            assert abs(probe.read(2, POSITION) - place[1]) <= 1
            return
        with connect(arm) as again:                 # a joint that is held is taken over without dropping it
            again.enable()
            steps(again, 10)
            assert abs(probe.read(2, POSITION) - place[1]) <= 2

    def test_asked_to_end_it_brakes_or_holds(self, host):
        program, said, probe, _ = host
        os.kill(program.pid, signal.SIGTERM)
        assert "KeyboardInterrupt" in said.get(timeout=30.0)
        assert not probe.powered(1)                 # brake
        assert probe.powered(2)                     # no brake: held by its servo
        assert abs(probe.read(2, VELOCITY)) <= SLOW


# servos as they should not be, in this process

@contextmanager
def servos_here(arm, spoil=lambda servo: None):
    """Emulated servos in this process, spoilt."""
    emulator = Emulator(arm)
    spoil(emulator._servos[0])
    try:
        with served(emulator):
            yield connect(arm)
    finally:
        emulator.close()


def test_a_line_that_is_unplugged_is_an_error_of_ours(on_pty):
    """The other end of a pty is gone, which the system tells by errors of several kinds."""
    emulator = Emulator(on_pty)
    with ExitStack() as leaving:
        leaving.enter_context(pytest.raises(DriverError, match=r"the bus failed|has not replied"))
        with served(emulator):
            arm = leaving.enter_context(connect(on_pty))
            arm.enable()
            steps(arm, 5)
        emulator.close()
        until_it_fails(arm)


def test_a_reset_leaves_a_servo_without_fault_as_it_is(make_arm, on_pty):
    arm = make_arm(merged(PAIR["dynamixel"], {"driver": dict(on_pty.driver.model_extra), "joints": {"turn": {"stop": "hold"}}}))
    found = []
    with servos_here(arm, found.append) as driver:
        with driver:
            driver.enable()
            steps(driver, 3)
        assert found[0].values[64] == 1         # held by its servo
        time.sleep(0.6)
        assert found[0].values[98] == -1        # which its watchdog locks;
        for _ in range(2):
            driver.reset()
            assert (found[0].values[64], found[0].values[98]) == (1, -1)
        wrong = connect(make_arm(merged(PAIR["dynamixel"], {"driver": dict(on_pty.driver.model_extra),
                                                            "joints": {"lift": {"drive": {"id": 9}}}})))
        with pytest.raises(DriverError, match=r"lift .* does not answer"), wrong:
            pass
        assert (found[0].values[64], found[0].values[98]) == (1, -1)
        with driver:                            # so that it can be taken over
            driver.enable()
            steps(driver, 3)


def test_a_servo_that_follows_somebody_else_keeps_its_watchdog(make_arm, on_pty):
    arm, found = make_arm(merged(PAIR["dynamixel"], {"driver": dict(on_pty.driver.model_extra)})), []

    def follows(servo):
        found.append(servo)
        servo.values[64], servo.values[98] = 1, 127

    with servos_here(arm, follows) as driver:
        for refused in (driver.reset, driver.__enter__):
            with pytest.raises(DriverError, match="follows another program"):
                refused()
            assert found[0].values[98] == 127


def holds(**values):
    return lambda servo: servo.values.update({int(key[1:]): value for key, value in values.items()})


def deaf_to(address):
    """Takes a write and keeps its old value."""
    def spoil(servo):
        set_ = servo._set
        servo._set = lambda found, value: None if found == address else set_(found, value)
    return spoil


@pytest.fixture
def on_pty(make_arm, tmp_path):
    if sys.platform == "win32":
        pytest.skip("has no ptys")
    return make_arm(merged(PAIR["dynamixel"], {"driver": {"port": str(tmp_path / "tty")}}))


def test_a_joint_without_brake_falls_when_its_servo_has_no_power(make_arm, on_pty):
    """The emulated servos do what real ones do; else "hold" would not be needed."""
    emulator = Emulator(make_arm(merged(PAIR["dynamixel"], {"driver": {"port": on_pty.driver.model_extra["port"]},
                                                            "joints": {"lift": {"stop": "hold"}}})))
    lift, end = emulator._servos[1].drive, time.monotonic() + 0.3
    first = lift.q
    emulator.serve(lambda: time.monotonic() < end)
    emulator.close()
    assert lift.q > first + 0.1


@pytest.mark.parametrize(("spoil", "words"), [
    (holds(_6=38), r"turn \(id 1\) has firmware 38, which has no time-based profiles; 42 or later is needed"),
    (deaf_to(9), "was told return delay = 0 .* reads back 250"),
    (deaf_to(10), "was told drive mode = 4"),
    (deaf_to(98), r"was told watchdog = 25 \(register 98\) and reads back 0"),
    (deaf_to(172), "was told indirect addresses"),
    (lambda servo: servo.fault(0x04), "has a fault, overheating"),
    (holds(_64=1), "is powered and follows another program"),
    (holds(_64=1, _98=-1, _11=3), r"holds its joint and has another return delay.*switch its supply off and on"),
], ids=["old firmware", "return delay", "drive mode", "watchdog", "indirect", "fault", "somebody else's", "held otherwise"])
def test_a_servo_that_is_not_as_it_should_be_is_not_powered(on_pty, spoil, words):
    with servos_here(on_pty, spoil) as driver, pytest.raises(DriverError, match=words), driver:
        pass


def test_a_servo_beside_the_arm_must_say_whom_it_follows(on_pty, monkeypatch):
    """One that was heard and says no more may follow what a joint's is told."""
    monkeypatch.setattr(Bus, "present", lambda _: [1, 2, 7])
    with servos_here(on_pty) as driver, pytest.raises(DriverError, match="servo 7, which is on the line beside those of the arm, "
                                                      "does not say whether it follows"), driver:
        pass


class Late:
    """A line on which every answer comes a question late, after one that came twice."""

    def __init__(self, values):
        self.values, self.waiting = values, []

    def ask(self, servo, instruction, parameters, size):
        address = int.from_bytes(parameters[:2], "little")
        self.waiting.append(SimpleNamespace(error=0, data=self.values[address]))
        if len(self.waiting) == 1:
            self.waiting *= 2
        return self.waiting.pop(0)


def test_answers_that_come_twice_are_not_taken_for_the_next(make_arm):
    """Else the firmware's number would be a fault, and "no" the answer to whether there is power."""
    axis = connect(make_arm(with_port(PAIR["dynamixel"], 1))).axes[0]
    axis._bus = lambda: late
    late = Late({12: b"\xff", 6: b"\x2d", 70: b"\x00", 64: b"\x01", 11: b"\x03"})
    found = [axis.read(item) for item in (dxl.SECONDARY_ID, dxl.FIRMWARE, dxl.HARDWARE_ERROR, dxl.TORQUE_ENABLE)]
    assert found == [255, 45, 0, 1]
    axis._verify(Setting(dxl.OPERATING_MODE, 3, "operating mode"))
    with pytest.raises(DriverError, match=r"operating mode = 4 .* reads back 3"):
        axis._verify(Setting(dxl.OPERATING_MODE, 4, "operating mode"))


def test_a_servo_that_answers_no_writes_is_told_to(on_pty):
    """Status Return Level 1: the first write is not answered, after which it is 2."""
    def quiet(servo):
        servo.values[68] = 1

    with servos_here(on_pty, quiet) as driver, driver:
        driver.enable()


def test_a_pty_serves_as_well_and_its_link_goes_with_it(on_pty, tmp_path):
    with servos_here(on_pty) as driver:
        with pytest.raises(InputError, match="is there already"):
            Emulator(on_pty)
        with driver:
            driver.enable()
            assert steps(driver, 40, PACE)[-1].q[0] > 0.03
    assert not (tmp_path / "tty").is_symlink()


def test_the_torque_limit_is_in_the_servo_where_that_is_asked_for(make_arm, on_pty):
    arm = make_arm(merged(PAIR["dynamixel"], {"driver": {**on_pty.driver.model_extra, "profile": "current-based"},
                                                 "joints": {"turn": {"torque": 5.0}}}))
    found = {}
    with servos_here(arm, lambda servo: found.update(values=servo.values)) as driver, driver:
        driver.enable()
        values = found["values"]
        assert values[11] == 5
        assert values[102] == values[38] == int(5.0 / (3.0 * 3.0 / 2.3) / 2.69e-3) + 1
