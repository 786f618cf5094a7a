"""The CANopen driver against `durand`, an independent CANopen stack: its SDO server, NMT,
SYNC and PDOs are not ours.

This file adds only the states of CiA 402 and a shaft that follows its set-point
immediately, on durand's object dictionary. durand has no heartbeat consumer (0x1016), so
these drives have no watchdog.
"""

import can
import numpy as np
import pytest
from durand import MinimalNode, Record, Variable
from durand.datatypes import DatatypeEnum as Type
from durand.network import NetworkABC

from stribeck.drivers.arm import Command
from stribeck.drivers.errors import DriverError
from tests.drivers.virtual import World
from tests.drivers.wires import PACE, PAIR, merged, steps, until_it_fails, with_port

OBJECTS = {  # of CiA 402-2
    **dict.fromkeys((0x603F, 0x6040, 0x6041, 0x6072), Type.UNSIGNED16),
    **dict.fromkeys((0x6060, 0x6061), Type.INTEGER8),
    **dict.fromkeys((0x605A, 0x6071, 0x6077), Type.INTEGER16),
    **dict.fromkeys((0x6064, 0x606C, 0x60FF), Type.INTEGER32),
    **dict.fromkeys((0x6076, 0x607F, 0x6083, 0x6084, 0x6085, 0x6502), Type.UNSIGNED32),
}
MEASURED = (0x603F, 0x6041, 0x6061, 0x6064, 0x606C, 0x6076, 0x6077, 0x6502)
DISABLED, READY, SWITCHED_ON, ENABLED, STOPPED = 0x40, 0x21, 0x23, 0x27, 0x07
FRICTION = 75  # thousandths of the rated torque
CSV, CST = 9, 10


class InMemory(NetworkABC):
    """The bus in memory for durand."""

    def __init__(self, interface):
        self._interface, self._callbacks = interface, {}
        interface.tell([self._give])

    def _give(self, message):
        callback = self._callbacks.get(message.arbitration_id)
        if callback is not None:
            callback(message.arbitration_id, message.data)

    def add_subscription(self, cob_id, callback):
        self._callbacks[cob_id] = callback

    def remove_subscription(self, cob_id):
        self._callbacks.pop(cob_id)

    def send(self, cob_id, msg):
        self._interface.send(can.Message(arbitration_id=cob_id, data=msg, is_extended_id=False))


class Drive:
    """A durand node with the states of CiA 402; `told` holds its reports at each SYNC."""

    def __init__(self, node, rated, bus):
        self.clock = bus.clock
        self.node = MinimalNode(InMemory(bus.join()), node)
        self.od, self.state, self.position, self.then, self.told = (
            self.node.object_dictionary,
            DISABLED,
            0.0,
            None,
            [],
        )
        for index, form in OBJECTS.items():
            self.od[index] = Variable(form, "ro" if index in MEASURED else "rw", value=0)
        limits = Record()
        limits[1], limits[2] = Variable(Type.INTEGER32, "rw", 0), Variable(Type.INTEGER32, "rw", 0)
        self.od[0x607D] = limits
        self.od.write(0x6076, 0, rated)
        self.od.write(0x6502, 0, 1 << CSV - 1 | 1 << CST - 1)
        self.od.update_callbacks[0x6040, 0].add(self.control)
        self.od.update_callbacks[0x6060, 0].add(lambda mode: self.od.write(0x6061, 0, mode))
        self.node.sync.callbacks.add(self.measure)
        self.show()

    def show(self):
        self.od.write(0x6041, 0, self.state)

    def control(self, word):
        if not word & 0x02:
            self.state = DISABLED
        elif not word & 0x04:
            self.state = STOPPED if self.state in (ENABLED, STOPPED) else DISABLED
        elif word & 0x0F == 0x06:
            self.state = READY
        elif word & 0x0F == 0x07 and self.state in (READY, ENABLED):
            self.state = SWITCHED_ON
        elif word & 0x0F == 0x0F and self.state in (SWITCHED_ON, STOPPED):
            self.state = ENABLED
        self.show()

    def measure(self):
        now = self.clock.now()
        velocity = self.od.read(0x60FF, 0) if self.state == ENABLED else 0
        self.position += velocity * (now - self.then if self.then else 0.0)
        self.then = now
        row = (int(self.position), velocity, int(np.sign(velocity)) * FRICTION)
        for index, value in zip((0x6064, 0x606C, 0x6077), row, strict=True):
            self.od.write(index, 0, value)
        self.told.append(row)


@pytest.fixture
def drives(make_arm):
    """An arm and its two drives on a bus in memory; no drive has a watchdog."""

    def start(**changes):
        driver = {"driver": {"allow_no_watchdog": True, **changes}}
        arm = make_arm(merged(with_port(PAIR["canopen"], 1), driver))
        world = World(arm)
        pair = [Drive(node, rated, world.bus) for node, rated in ((1, 600), (2, 400))]  # mN·m
        return world.connect(arm), pair

    return start


def test_a_drive_without_watchdog_is_refused(drives):
    arm, _ = drives(allow_no_watchdog=False)
    with pytest.raises(DriverError, match="drive of turn has no watchdog"), arm:
        pass


def test_settings_arrive_and_pdos_are_mapped(drives):
    arm, (turn, lift) = drives()
    with arm:
        for drive, node in ((turn, 1), (lift, 2)):
            read = drive.od.read
            assert [read(0x1A00, k) for k in range(4)] == [3, 0x60410010, 0x60640020, 0x60770010]
            assert [read(0x1600, k) for k in range(4)] == [3, 0x60FF0020, 0x60710010, 0x60600008]
            assert (read(0x1800, 1) & 0x7FF, read(0x1800, 2)) == (0x180 + node, 1)
            assert read(0x1802, 1) >> 31  # unused PDOs stay off
            assert (read(0x60FF, 0), read(0x6061, 0), read(0x605A, 0)) == (0, CSV, 2)
            assert read(0x607D, 1) < 0 < read(0x607D, 2)


def test_joints_follow_commands_and_report_the_drives_measurements(drives):
    arm, pair = drives()
    with arm as connected:
        connected.enable()
        assert [drive.state for drive in pair] == [ENABLED, ENABLED]
        samples = steps(connected, 100, PACE)
        q, tau, told = (
            np.array([getattr(sample, key) for sample in samples])
            for key in ("q", "tau", "t_joint")
        )
        assert (told >= np.array([sample.t for sample in samples])[:, None]).all()
        for j, (drive, gear, rated) in enumerate(
            zip(pair, (100.0, 100.0), (0.6, 0.4), strict=True)
        ):
            counts = np.round(q[:, j] * gear * 65536 / (2.0 * np.pi)).astype(int)
            # only values that the drive reported
            assert set(counts) <= {row[0] for row in drive.told}
            assert len(set(counts[5:])) == 95
            assert np.polyfit(told[5:, j], q[5:, j], 1)[0] == pytest.approx(PACE[j], rel=1e-3)
            assert tau[50:, j] == pytest.approx(np.sign(PACE[j]) * FRICTION / 1000.0 * rated * gear)
        connected.stop("enough")
        assert [drive.state for drive in pair] == [DISABLED, DISABLED]  # both have brakes
        assert [drive.told[-1][1] for drive in pair] == [0, 0]


def test_an_old_velocity_in_the_drive_moves_nothing(drives):
    arm, pair = drives()
    with arm as connected:
        connected.look(3)
        pair[0].od.write(0x60FF, 0, 1_000_000)
        connected.enable()
        steps(connected, 20)
        assert [drive.position for drive in pair] == [0.0, 0.0]


def test_torque_mode_by_pdo(drives):
    arm, (turn, lift) = drives()
    with arm as connected:
        connected.enable()
        for _ in range(10):
            connected.step(Command(np.zeros(2), np.array([6.0, 0.0]), ("torque", "velocity")))
        # 0.06 of 0.6 N·m at the motor
        assert (turn.od.read(0x6061, 0), turn.od.read(0x6071, 0)) == (CST, 100)
        assert lift.od.read(0x6061, 0) == CSV


def test_a_node_that_was_reset_is_not_powered_again(drives):
    arm, (turn, lift) = drives()
    with arm as connected:
        connected.enable()
        steps(connected, 20, PACE)
        turn.node.nmt.reset()
        with pytest.raises(DriverError, match=r"turn.*(was reset|has not replied)"):
            until_it_fails(connected)
        assert lift.state == DISABLED
        with pytest.raises(DriverError):
            connected.enable()
