"""Margins that plans keep: torque beside gravity for friction, and way to stop in if the computer falls silent."""

import numpy as np

from stribeck.drivers.connect import HOLDING
from stribeck.drivers.wire.axis import BRAKE_CLOSES
from stribeck.drivers.wire.drive_keys import LinkKeys
from stribeck.experiments.plans.motion_profile import ACCELERATION_SHARE
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arrays import Array
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism

MAX_GRAVITY_SHARE = 0.9     # fraction of the torque limit that gravity may take: friction needs some, too
SILENT_CYCLES = 2           # beyond a watchdog's time: of a set-point on its way, and until a drive has looked at it


def gravity_share(mechanism: Mechanism, limits: Limits, q: Array) -> Array:
    """Gravity torque of every joint in postures (K, n), as a part of its limit, shape (K, n); 0 where there is none."""
    held = np.abs(inverse_dynamics(mechanism, q, np.zeros_like(q)))
    return np.where(np.isnan(limits.torque), 0.0, held / limits.torque)


def silence(arm: ArmFile) -> float:
    """Time that drives go on by themselves once the computer falls silent, until their watchdogs act [s]; 0 if simulated.

    Where watchdogs take the power, as those of plug-ins may, brakes have still to close: by friction alone a joint goes on for
    so long at most, as it does after any fault that takes the power of a drive at once.
    """
    if arm.driver.kind == "simulated":
        return 0.0
    watchdog = float(arm.driver.model_dump().get("watchdog", LinkKeys.model_fields["watchdog"].default))
    acts = watchdog + SILENT_CYCLES / arm.driver.rate
    return max(acts, BRAKE_CLOSES) if arm.driver.kind in HOLDING else acts + BRAKE_CLOSES


def run_on(speed: Array, acceleration: Array, silent: float) -> Array:
    """How far beyond its target a joint comes at most if the computer falls silent while it goes there, shape (n,) [rad or m].

    At v when the ramp down from `speed` begins, or later on it, it goes on for v T and brakes within v²/2a, where the ramp would
    have ended after v²/(2 s a), s = `ACCELERATION_SHARE`; the worst v is the highest, or where less speed on a shorter ramp
    leaves more.
    """
    gain = 0.5 / ACCELERATION_SHARE - 0.5
    v = np.minimum(speed, 0.5 * silent * acceleration / gain)
    return np.asarray(v * silent - gain * v**2 / acceleration)
