"""Plan of the excitation: the periodic motion from home and back with the most information
about links and friction.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stribeck.experiments.excitation.allowance import Allowance
from stribeck.experiments.excitation.expected import Told, guesses, told, told_by_runs
from stribeck.experiments.excitation.search import Search
from stribeck.experiments.plans.check_plan import checked
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.motion_profile import Wave, motion_profile, with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.plans.speeds_and_postures import Design
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.arm.motion_information import Course, MotionInformation
from stribeck.ident.log.run import EXCITATION, Run, arm_sha256

METHOD = "periodic excitation"
# s of motion: in less time, joints reverse too rarely to identify the law of friction
TIME = 60.0
_RATE = 100.0  # Hz; sampling rate of a forecast


def plan_excitation(
    arm: ArmFile,
    joints: tuple[str, ...] | None = None,
    seed: int = 0,
    time: float | None = None,
    earlier: Sequence[Run] = (),
    effort: float = 1.0,
) -> Plan:
    """Plan the excitation of some or all joints, and check the plan against all limits.

    Parameters
    ----------
    arm, joints, seed
        As in `one_joint_at_a_time.plan_constant_speed`.
    time : float, optional
        Time of the motion [s]; default `TIME`.
    earlier : sequence of Run
        Runs that will be fitted together with the excitation; their information counts as known.
    effort : float
        Factor on the usual number of iterations.

    Raises
    ------
    PlanError, InputError
        As in `one_joint_at_a_time.plan_constant_speed`, and if no motion
        around home keeps all limits.
    """
    design = Design.of(arm, joints, ConstantSpeed())
    home, expected = arm.home(design.mechanism), guesses(design)
    if (chain := design.mechanism.chain) is not None:
        design = replace(design, mechanism=replace(design.mechanism, chain=chain.continued()))
    information, allowance = (
        MotionInformation(design.mechanism, expected),
        Allowance(design, expected),
    )
    allowance.check_start(home)
    before = information.prior + told_by_runs(
        earlier, [load_mechanism(run.arm) for run in earlier], information
    )
    found = Search(information, before, allowance).best(
        home, design.active, time or TIME, seed, effort
    )
    target = tuple(home.tolist())
    segments = (
        Segment(0, "move", target, 0),
        Segment(1, "wave", target, 1, wave=found.series.harmonic_motion(found.x)),
    )
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        METHOD,
        seed,
        design.mechanism.names,
        target,
        segments,
        purpose=EXCITATION,
        predicted=told(information, before, found.series.sampled(_RATE).course(found.x)).friction,
    )
    mechanism = load_mechanism(arm)
    return with_robot_time(checked(plan, arm, mechanism), design.limits)


def foretold(
    plan: Plan, arm: ArmFile, earlier: Sequence[Run] = ()
) -> tuple[Told, dict[str, tuple[str, float]]]:
    """Return the expected information of an excitation plan, and for each kind of limit the
    tightest joint and its free share.
    """
    design = Design.of(arm, None, ConstantSpeed())
    expected = guesses(design)
    information = MotionInformation(design.mechanism, expected)
    before = information.prior + told_by_runs(
        earlier, [load_mechanism(run.arm) for run in earlier], information
    )
    start, segment = next(leg for leg in plan.legs() if leg[1].wave is not None)
    motion = motion_profile(start, segment, plan.names, design.limits)
    assert isinstance(motion, Wave)
    assert segment.wave is not None
    t = np.arange(round(_RATE * motion.period)) / _RATE
    s, ds = motion(t)
    course = Course(start + s, ds, motion.accelerations(t), 1.0 / _RATE, segment.wave.periods)
    shares = Allowance(design, expected).shares(course)
    return told(information, before, course), {
        kind: (plan.names[int(np.argmax(share))], 1.0 - float(share.max()))
        for kind, share in shares.items()
    }
