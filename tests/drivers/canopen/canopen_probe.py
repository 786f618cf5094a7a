"""A probe that reads and writes CANopen drives by frames of its own, independent of the driver."""

import struct

import can

TEST_OBJECT = 0x2FFF


class Probe:
    """Reads and writes objects of drives without the driver."""

    def __init__(self, bench):
        self.bus, self.clock = bench.bus.join(), bench.clock

    def ask(self, node, request):
        while self.bus.recv(0) is not None:
            pass
        self.bus.send(can.Message(arbitration_id=0x600 + node, data=request, is_extended_id=False))
        end = self.clock.now() + 1.0
        while self.clock.now() < end:
            reply = self.bus.recv(0.1)
            if (
                reply is not None
                and reply.arbitration_id == 0x580 + node
                and reply.data[1:4] == request[1:4]
            ):
                return bytes(reply.data)
        raise TimeoutError

    def read(self, node, index, sub=0, form="<i"):
        reply = self.ask(node, struct.pack("<BHB4x", 0x40, index, sub))
        assert reply[0] != 0x80, reply
        return struct.unpack_from(form, reply, 4)[0]

    def write(self, node, index, value, form="<i", sub=0):
        data = struct.pack(form, value)
        request = struct.pack("<BHB", 0x23 | (4 - len(data)) << 2, index, sub) + data.ljust(
            4, b"\0"
        )
        self.bus.send(can.Message(arbitration_id=0x600 + node, data=request, is_extended_id=False))
        self.clock.sleep(0.002)  # the answer must not be taken for another one

    def state(self, node):
        return self.read(node, 0x6041, form="<H") & 0x6F
