"""Emulators: the simulated arm behind the protocols of real drives, each at the other end of a real bus."""
