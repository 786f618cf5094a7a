"""Emulated servos with a wrong setting or state, in this process."""

from contextlib import contextmanager

from stribeck.drivers.connect import connect
from stribeck.drivers.emulators.dynamixel import Emulator
from tests.drivers.wires import served


@contextmanager
def servos_here(arm, spoil=lambda servo: None):
    """Emulated servos in this process, changed by `spoil`."""
    emulator = Emulator(arm)
    spoil(emulator._servos[0])
    try:
        with served(emulator):
            yield connect(arm)
    finally:
        emulator.close()


def holds(**values):
    return lambda servo: servo.values.update({int(key[1:]): value for key, value in values.items()})


def deaf_to(address):
    """The item accepts a write but keeps its old value."""

    def spoil(servo):
        set_ = servo._set
        servo._set = lambda found, value: None if found == address else set_(found, value)

    return spoil
