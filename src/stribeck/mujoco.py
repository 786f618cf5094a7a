"""Calibrated friction in MuJoCo: ``stribeck.mujoco.attach(model, data, calibration)``."""

from stribeck.ident.simulators.mujoco_friction import MujocoFriction, attach

__all__ = ["MujocoFriction", "attach"]
