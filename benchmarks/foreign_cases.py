"""Truths and campaigns of the cases of the benchmark `foreign`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.foreign_physics import ForeignArm, Gear, JointTruth, Ripple
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism

TRIO = str(Path(__file__).parent / "trio" / "trio.toml")
_RIGHT = {  # truths that follow the law of the estimator, by arm and joint
    TRIO: {
        "turn": JointTruth(4.0, 6.0, 6.0, 0.06),
        "shoulder": JointTruth(
            3.0, 8.0, 4.5, 0.05, coulomb_coefficient=0.10, static_coefficient=0.14
        ),
        "elbow": JointTruth(1.6, 2.5),
    },
    "lab6": {
        "j1": JointTruth(8.0, 11.0, 11.0, 0.05),
        "j2": JointTruth(6.5, 12.0, 9.0, 0.045, coulomb_coefficient=0.085, static_coefficient=0.13),
        "j3": JointTruth(4.5, 6.5, 6.5, 0.06, coulomb_coefficient=0.08, static_coefficient=0.11),
        "j4": JointTruth(1.9, 2.4),
        "j5": JointTruth(1.6, 1.7, 2.4, 0.08),
        "j6": JointTruth(1.1, 1.2, 1.7, 0.09),
    },
}
_GRAVITY = {"shoulder": 14.7, "elbow": 2.7}  # N·m; greatest gravity torque of the arm `trio`
_NOISE = {TRIO: 0.05, "lab6": 0.1}
# ripple: waves per turn of the joint, and phase
_TURN, _TWICE, _TEETH = (1.0, 0.6), (2.0, 1.1), (200.0, 0.3)
# slowest and fastest speed of a user's own campaign, per velocity limit
_FIRST, _FASTEST = 0.02, 0.8
_WAY, _STROKE_TIME = 1.0, 8.0  # rad, s; length and time of its longest stroke
BRISTLE = 1e-3  # rad; deflection of the bristles before a joint slides


@dataclass(frozen=True)
class Case:
    """A truth and a campaign.

    Attributes
    ----------
    name : str
        Name in the table.
    changed : callable
        Function from a truth that follows the estimator's law to the truth of
        the case, for every joint.
    arm : str
        Arm file, or name of a built-in arm.
    own_speeds : int
        Number of ascending speeds of a user's own campaign; 0 for our plan.
    gear, torque_scale, payload
        See `ForeignArm`; all joints have the same scale.
    viscous_growth : float
        Relative growth of viscous friction from zero load to the greatest gravity load of a joint.
    """

    name: str
    changed: Callable[[JointTruth], JointTruth] = replace
    arm: str = TRIO
    own_speeds: int = 0
    gear: Gear | None = None
    torque_scale: float = 1.0
    payload: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    viscous_growth: float = 0.0

    def foreign_arm(self) -> ForeignArm:
        """Return the driven arm."""
        file = load_arm(self.arm)
        tables = [file.joint(name) for name in load_mechanism(file).names]
        armature = tuple(
            (table.gear_ratio or 1.0) ** 2 * (table.rotor_inertia or 0.0) for table in tables
        )
        truths = {
            name: replace(
                self.changed(truth),
                viscous_coefficient=self.viscous_growth / _GRAVITY.get(name, np.inf),
            )
            for name, truth in _RIGHT[self.arm].items()
        }
        return ForeignArm(
            file.model,
            armature,
            truths,
            dict.fromkeys(truths, self.torque_scale),
            self.payload,
            self.gear,
            _NOISE[self.arm],
        )

    def plan(self, seed: int, options: ConstantSpeed | None = None) -> Plan:
        """Return the driven motion; `options` give a smaller plan."""
        file = load_arm(self.arm)
        return (
            own_campaign(file, self.own_speeds)
            if self.own_speeds
            else plan_whole_arm(file, None, seed, options or WHOLE_ARM)
        )


def own_campaign(arm: ArmFile, speeds: int) -> Plan:
    """A user's own campaign: joint by joint from one posture, one round trip at each of
    several ascending speeds.
    """
    mechanism = load_mechanism(arm)
    names, home = mechanism.names, np.array(arm.home(mechanism))
    segments: list[Segment] = []
    for j, fastest in enumerate(arm.limits(mechanism).velocity):
        for speed in np.geomspace(_FIRST, _FASTEST, speeds) * fastest:
            away = home.copy()
            away[j] += min(_WAY, _STROKE_TIME * speed)
            there = len(segments)
            segments += [
                Segment(there, "stroke", tuple(away.tolist()), 0, names[j], float(speed)),
                Segment(
                    there + 1,
                    "stroke",
                    tuple(home.tolist()),
                    0,
                    names[j],
                    float(speed),
                    mirror_of=there,
                ),
            ]
    return with_robot_time(
        Plan(
            arm.name,
            "",
            "a user's own: one joint at a time at ascending speeds",
            0,
            names,
            tuple(home.tolist()),
            tuple(segments),
        ),
        arm.limits(mechanism),
    )


def _greased(truth: JointTruth, viscous_power: float) -> JointTruth:
    """Change a truth to one without drop and with viscous friction that flattens."""
    return replace(truth, static=0.0, static_coefficient=0.0, viscous_power=viscous_power)


def _bristled(truth: JointTruth) -> JointTruth:
    return replace(truth, bristle=max(truth.static, truth.coulomb) / BRISTLE)


def _mixed(truth: JointTruth) -> JointTruth:
    """Add a little of every effect, as in real arms."""
    return replace(
        _bristled(truth),
        stribeck_exponent=1.2,
        viscous_power=0.9,
        asymmetry=0.04,
        warm_up=0.06,
        warm_up_time=150.0,
        ripples=(Ripple(0.03, *_TURN), Ripple(0.05, *_TEETH)),
        scatter=0.01,
    )


_WARMS_UP = partial(replace, warm_up=0.15, warm_up_time=100.0)
CASES = (
    Case("ideal law"),
    Case("ideal law, lab6", arm="lab6"),
    Case("LuGre, 1 mrad", _bristled),
    Case("exponent 0.6", partial(replace, stribeck_exponent=0.6)),
    Case("exponent 1", partial(replace, stribeck_exponent=1.0)),
    Case("exponent 1.2", partial(replace, stribeck_exponent=1.2)),
    Case("viscous power 0.6", partial(_greased, viscous_power=0.6)),
    Case("viscous power 0.8", partial(_greased, viscous_power=0.8)),
    Case("viscous grows 20 % with load", viscous_growth=0.2),
    Case("ripple once a turn, 10 %", partial(replace, ripples=(Ripple(0.10, *_TURN),))),
    Case("ripple twice a turn, 10 %", partial(replace, ripples=(Ripple(0.10, *_TWICE),))),
    Case("ripple at gear pitch, 10 %", partial(replace, ripples=(Ripple(0.10, *_TEETH),))),
    Case("asymmetry 5 %", partial(replace, asymmetry=0.05)),
    Case("asymmetry 20 %", partial(replace, asymmetry=0.20)),
    Case("thermal drift, 15 %", _WARMS_UP),
    Case("backlash 3 mrad", gear=Gear(40.0, 3e-3)),
    Case("gear elasticity, 20 Hz", gear=Gear(20.0)),
    Case(
        "torque constants +7 %, unknown 1.5 kg", torque_scale=1.07, payload=(1.5, 0.30, 0.02, 0.03)
    ),
    Case("mix", _mixed, gear=Gear(40.0), torque_scale=1.03),
    Case("mix, lab6", _mixed, arm="lab6", gear=Gear(40.0), torque_scale=1.03),
    Case("own campaign, 8 speeds, warm", own_speeds=8),
    Case("own campaign, 8 speeds, warms up", _WARMS_UP, own_speeds=8),
    Case("own campaign, 15 speeds, warm", own_speeds=15),
    Case("own campaign, 15 speeds, warms up", _WARMS_UP, own_speeds=15),
)
