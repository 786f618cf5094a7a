"""Clocks: virtual time passes only while somebody waits, and acts happen in their order."""

import math
import threading

import can
import pytest

from stribeck.drivers.wire.clock import RealClock, VirtualClock
from stribeck.drivers.wire.memory_bus import MemoryBus, MemoryLine
from stribeck.drivers.wire.transport import can_bits


class Ticker:
    """Acts at the given times and notes what the clock shows."""

    def __init__(self, clock, *times, then=lambda: None):
        self.clock, self.left, self.seen, self.then = clock, list(times), [], then

    def due(self):
        return self.left[0] if self.left else math.inf

    def act(self):
        self.left.pop(0)
        self.seen.append(self.clock.now())
        self.then()


@pytest.fixture
def clock():
    return VirtualClock()


def test_acts_happen_in_order_at_their_own_times(clock):
    begin, order = clock.now(), []
    first = Ticker(clock, begin + 0.1, begin + 0.3, then=lambda: order.append("first"))
    second = Ticker(clock, begin + 0.1, begin + 0.2, then=lambda: order.append("second"))
    clock.members += [first, second]
    clock.sleep(0.25)
    assert order == ["first", "second", "second"]
    assert second.seen == [begin + 0.1, begin + 0.2]
    assert clock.now() == begin + 0.25
    clock.sleep(0.25)
    assert first.seen == [begin + 0.1, begin + 0.3]


def test_an_overdue_act_happens_now_and_the_clock_never_goes_back(clock):
    late = Ticker(clock, clock.now() - 5.0)
    clock.members.append(late)
    now = clock.now()
    clock.sleep(0.0)
    assert late.seen == [now]


@pytest.mark.parametrize(("set_after", "came"), [(0.1, True), (0.3, False)])
def test_waiting_ends_with_the_event_or_in_time(clock, set_after, came):
    event, begin = threading.Event(), clock.now()
    clock.members.append(Ticker(clock, begin + set_after, then=event.set))
    assert clock.wait(event, begin + 0.2) == came
    assert clock.now() == begin + min(set_after, 0.2)


def test_the_real_clock_waits_for_another_thread():
    clock, event = RealClock(), threading.Event()
    assert not clock.wait(event, clock.now() + 0.01)
    threading.Timer(0.01, event.set).start()
    assert clock.wait(event, clock.now() + 60.0)


def frame(number, data=bytes(8)):
    return can.Message(arbitration_id=number, data=data, is_extended_id=False)


def test_a_bus_carries_one_frame_after_the_other_to_all_but_its_sender(clock):
    bus = MemoryBus(clock, 1e6)
    sender, *readers = (bus.join() for _ in range(3))
    for number in (1, 2):
        sender.send(frame(number))
    begin = clock.now()
    for reader in readers:
        assert reader.recv(0.0) is None
    for number in (1, 2):
        assert [reader.recv(1.0).arbitration_id for reader in readers] == [number, number]
        assert clock.now() == pytest.approx(begin + number * can_bits(8) / 1e6, abs=1e-9)
    assert sender.recv(0.1) is None


def test_listeners_get_frames_while_somebody_waits(clock):
    bus, came = MemoryBus(clock, 1e6), []
    sender, reader = bus.join(), bus.join()
    sender.send(frame(1))
    reader.tell([lambda message: came.append(message.arbitration_id)])
    sender.send(frame(2))
    clock.sleep(0.01)
    reader.tell(())
    sender.send(frame(3))
    clock.sleep(0.01)
    assert came == [2]


def test_a_line_gives_what_arrives_before_its_timeout(clock):
    line = MemoryLine(clock)
    port = line.join()
    port.timeout = 0.01
    port.write(b"question")
    ((asked, answer),) = line.receive(0.0)
    assert bytes(asked) == b"question"
    assert line.receive(0.0) == []
    answer(b"answer", 0.004)
    answer(b"late", 0.02)
    begin = clock.now()
    assert port.read(6) == b"answer"
    assert clock.now() == begin + 0.004
    assert port.read(4) == b""
    assert port.read(4) == b"late"
