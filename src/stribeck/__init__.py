"""Friction identification and calibration for lab manipulators.

This module is the public interface. Each name is imported at its first use, so that
``import stribeck`` is fast.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stribeck.experiments.commands import (
        calibrate,
        compare,
        export,
        fit,
        rollout,
        validate,
        validate_external,
    )
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.backlash.fit_backlash import fit_backlash
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.feedforward import Feedforward
    from stribeck.ident.external.external_torque import ExternalTorque
    from stribeck.ident.fit.fit_friction import fit_friction
    from stribeck.ident.fit.fit_result import FitResult
    from stribeck.ident.fleet.fleet import Fleet
    from stribeck.ident.identify import identify
    from stribeck.ident.laws.coulomb_viscous import coulomb_viscous
    from stribeck.ident.laws.stribeck import stribeck
    from stribeck.ident.log.run import load_run
    from stribeck.ident.memory.fit_memory import fit_memory
    from stribeck.ident.model.loads import joint_loads
    from stribeck.ident.model.mechanism import Mechanism
    from stribeck.ident.simulators.batched_friction import BatchedFriction
    from stribeck.ident.simulators.stopping_torque import stopping_torque
    from stribeck.ident.temperature.fit_self_heating import fit_self_heating
    from stribeck.ident.temperature.fit_temperature import fit_temperature

__all__ = [
    "BatchedFriction",
    "Calibration",
    "ExternalTorque",
    "Feedforward",
    "FitResult",
    "Fleet",
    "Mechanism",
    "calibrate",
    "compare",
    "coulomb_viscous",
    "export",
    "fit",
    "fit_backlash",
    "fit_friction",
    "fit_memory",
    "fit_self_heating",
    "fit_temperature",
    "identify",
    "joint_loads",
    "load_mechanism",
    "load_run",
    "rollout",
    "stopping_torque",
    "stribeck",
    "validate",
    "validate_external",
]

_HOMES = {
    "BatchedFriction": "ident.simulators.batched_friction",
    "Calibration": "ident.calibration.calibration",
    "ExternalTorque": "ident.external.external_torque",
    "Feedforward": "ident.calibration.feedforward",
    "FitResult": "ident.fit.fit_result",
    "Fleet": "ident.fleet.fleet",
    "Mechanism": "ident.model.mechanism",
    **dict.fromkeys(
        ("calibrate", "compare", "export", "fit", "rollout", "validate", "validate_external"),
        "experiments.commands",
    ),
    "coulomb_viscous": "ident.laws.coulomb_viscous",
    "fit_backlash": "ident.backlash.fit_backlash",
    "fit_friction": "ident.fit.fit_friction",
    "fit_memory": "ident.memory.fit_memory",
    "fit_self_heating": "ident.temperature.fit_self_heating",
    "fit_temperature": "ident.temperature.fit_temperature",
    "identify": "ident.identify",
    "joint_loads": "ident.model.loads",
    "load_mechanism": "ident.arm.load_mechanism",
    "load_run": "ident.log.run",
    "stopping_torque": "ident.simulators.stopping_torque",
    "stribeck": "ident.laws.stribeck",
}

_MODULES = ("library", "mujoco")  # with public names of their own

# a checkout in which symbolic links are text files, e.g. on Windows
if not (Path(__file__).parent / "ident").is_dir():
    __path__.append(str(Path(__file__).parents[2]))


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
