"""The simulated arm behind the protocols of real drives, each at the other end of a real bus and in a process of its own."""

from drivers.emulators.emulator import EMULATORS, Emulator, emulate

__all__ = ["EMULATORS", "Emulator", "emulate"]
