"""Checks of a plan before motion, and of the path from the arm's position
to the start of the plan.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.check_segment import Bounds, check_segment, check_silence
from stribeck.experiments.plans.check_wave import check_harmonics, check_wave
from stribeck.experiments.plans.clear.clearance import (
    are_clear,
    in_the_way,
    may_move_together,
    singular_margins,
)
from stribeck.experiments.plans.margins import (
    MAX_GRAVITY_SHARE,
    MAX_RIGID_SHARE,
    gravity_share,
    motions_share,
    silence,
)
from stribeck.experiments.plans.motion_profile import corner_points, motion_profile
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arrays import Array
from stribeck.ident.log.run import (
    BREAKAWAY,
    EXCITATION,
    FIT,
    PRESLIDING,
    TO_START,
    VALIDATION,
    arm_sha256,
)
from stribeck.ident.model.mechanism import Mechanism

# kinds by purpose; others: strokes, sweeps
KINDS = {
    VALIDATION: ("swing",),
    EXCITATION: ("wave",),
    BREAKAWAY: ("ramp",),
    PRESLIDING: ("stroke", "swing", "wave"),
}
# rad or m; a joint closer than this to the start of a plan counts as at the start
_THERE = 0.02
_SWAY = 1e-3  # rad or m that a joint at rest may deviate


def check_plan(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> float:
    """Refuse a plan that exceeds a limit of position, speed or torque, or whose path is not clear.

    Real hardware moves several joints simultaneously only if a workspace box or collision shapes
    allow a check. Rigid-body torque must leave part of every torque limit to friction.

    Returns
    -------
    float
        Smallest clearance to a position limit [rad or m].

    Raises
    ------
    PlanError
        If a check fails; the message names segment, joint, value and limit.
    """
    return _room_and_margins(plan, arm, mechanism)[0]


def checked(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> Plan:
    """Return a plan that passes `check_plan`, with its smallest margin to a singular posture of a
    closed chain.
    """
    _, margins = _room_and_margins(plan, arm, mechanism)
    return (
        plan if margins is None else replace(plan, singular_margin=round(float(margins.min()), 4))
    )


def _room_and_margins(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> tuple[float, Array | None]:
    """Check a plan; return its `position_room`, and the `singular_margins` of its paths."""
    bounds = Bounds(mechanism, arm.limits(mechanism), silence(arm))
    _check_origin(plan, arm, mechanism)
    _check_numbers(plan)
    for segment in plan.segments:
        check_harmonics(segment, mechanism.n)
    _check_together(plan, arm, mechanism)
    room = position_room(plan, arm, mechanism)
    _check_held(plan, bounds)
    _check_purpose(plan)
    _check_mirrors(plan)
    margins = singular_margins(arm, mechanism, *_ways(plan)[:2])
    # torques exist only within reach, so reach is checked first
    if margins is not None:
        _check_clear(plan, arm, mechanism, margins)
    _check_gravity(plan, bounds)
    _check_torque(plan, bounds)
    if margins is None:
        _check_clear(plan, arm, mechanism, margins)
    return room, margins


def position_room(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> float:
    """Refuse a plan with a segment that exceeds a limit; return the smallest clearance to a
    position limit [rad or m].
    """
    bounds = Bounds(mechanism, arm.limits(mechanism), silence(arm))
    return min(
        [
            np.inf,
            *(check_segment(segment, start, bounds) for start, segment in plan.legs()),
            *(
                check_wave(segment, start, bounds)
                for start, segment in plan.legs()
                if segment.kind == "wave"
            ),
        ]
    )


def _check_origin(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse a plan for other joints or for another version of the arm file."""
    if plan.names != mechanism.names:
        raise PlanError(
            f"the plan is for joints {', '.join(plan.names)}, but {arm.name} has joints "
            f"{', '.join(mechanism.names)}; plan again for this arm"
        )
    if plan.arm_sha256 != arm_sha256(arm):
        raise PlanError(
            f"the plan was made for another version of the arm file of {plan.arm}; plan again"
        )


def _check_numbers(plan: Plan) -> None:
    """Refuse a plan without strokes, and segments with negative or repeated ids."""
    if all(segment.kind == "move" for segment in plan.segments):
        raise PlanError("the plan has no stroke; there is nothing to record")
    ids = [segment.id for segment in plan.segments]
    if len(set(ids)) < len(ids) or min(ids) < 0:
        raise PlanError(
            "every segment of a plan needs a unique id of at least 0; "
            f"found {', '.join(str(id_) for id_ in sorted(ids) if id_ < 0 or ids.count(id_) > 1)}"
        )


def _check_together(plan: Plan, arm: ArmFile, mechanism: Mechanism) -> None:
    """Refuse to move several joints simultaneously if collisions cannot be checked."""
    together = any(np.count_nonzero(segment.moving(start)) > 1 for start, segment in plan.legs())
    if together and not may_move_together(arm, mechanism):
        option = "--method single" if plan.purpose == FIT else "--joints NAME"
        # it needs postures
        alone = (
            ""
            if plan.purpose == BREAKAWAY
            else f", or move one joint at a time from home ({option})"
        )
        raise PlanError(
            f"{arm.path}: real hardware moves several joints simultaneously only if collisions "
            "can be checked, with "
            f"a workspace box or with shapes of all links in the model; state workspace.box{alone}"
        )


def _check_held(plan: Plan, bounds: Bounds) -> None:
    """Refuse joints that rest at a position limit: the smallest deviation would end the run."""
    places, position = (
        np.array([plan.start, *(segment.target for segment in plan.segments)]),
        bounds.limits.position,
    )
    room = np.minimum(places - position[:, 0], position[:, 1] - places)[1:]
    segments, joints = np.nonzero((places[1:] == places[:-1]) & (room < _SWAY))
    if len(segments):
        k, j = int(segments[0]), int(joints[0])
        (low, high), unit = position[j], bounds.unit(j)
        raise PlanError(
            f"{plan.names[j]} rests at {places[k, j]:.4g} {unit} in segment {plan.segments[k].id}, "
            f"less than {_SWAY:g} {unit} from its limits [{low:g}, {high:g}]; move it inward with "
            "workspace.home, or lock it with stribeck init --joints"
        )


def _check_purpose(plan: Plan) -> None:
    """Refuse segments whose kind does not fit the purpose of the plan."""
    kinds = KINDS.get(plan.purpose, ("stroke", "sweep"))
    for segment in plan.segments:
        if segment.kind not in ("move", *kinds):
            raise PlanError(
                f"segment {segment.id} is a {segment.kind}; a plan whose purpose is {plan.purpose} "
                f"has {' or '.join(kinds)} and move segments only"
            )


def _check_mirrors(plan: Plan) -> None:
    """Refuse a segment that does not play its `mirror_of` segment backwards."""
    legs = {segment.id: (start, segment) for start, segment in plan.legs()}
    for number, (start, segment) in legs.items():
        if segment.mirror_of is None:
            continue
        there, other = legs.get(segment.mirror_of, (start, segment))
        alike = (segment.kind, segment.joint, segment.speed) == (
            other.kind,
            other.joint,
            other.speed,
        )
        if not (
            alike and np.allclose([*start, *segment.target], [*other.target, *there], 0.0, 1e-6)
        ):
            raise PlanError(
                f"segment {number} has mirror_of = {segment.mirror_of}, but is not the same "
                "motion backwards"
            )


def _check_gravity(plan: Plan, bounds: Bounds) -> None:
    """Refuse segment ends where gravity leaves a drive too little torque for friction."""
    ends = np.array([segment.target for segment in plan.segments])
    share = gravity_share(bounds.mechanism, bounds.limits, ends)
    row, j = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[row, j] > MAX_GRAVITY_SHARE:
        name, force, limit = plan.names[j], bounds.mechanism.unit(int(j)), bounds.limits.torque[j]
        raise PlanError(
            f"segment {plan.segments[row].id} ends where gravity needs {share[row, j] * limit:.3g} "
            f"{force} at {name}, more than {100 * MAX_GRAVITY_SHARE:g} % of its torque limit of "
            f"{limit:g} {force}; raise joints.{name}.torque if the drive allows, or exclude this "
            "posture with joints.NAME.position"
        )


def _check_torque(plan: Plan, bounds: Bounds) -> None:
    """Refuse segments during which weight and inertia leave a drive too
    little torque for friction.
    """
    legs = [
        (start, np.array(segment.target), motion_profile(start, segment, plan.names, bounds.limits))
        for start, segment in plan.legs()
    ]
    for segment, share in zip(
        plan.segments, motions_share(bounds.mechanism, bounds.limits, legs), strict=True
    ):
        j = int(np.argmax(share))
        if share[j] > MAX_RIGID_SHARE + 1e-9:
            name, force, limit = plan.names[j], bounds.mechanism.unit(j), bounds.limits.torque[j]
            asked = share[j] * limit
            raise PlanError(
                f"segment {segment.id} ({segment.joint or 'move'} in posture {segment.posture}) "
                f"needs {asked:.3g} {force} at {name} for weight and inertia, more than "
                f"{100 * MAX_RIGID_SHARE:g} % of its torque limit of {limit:g} {force}; the rest "
                f"is reserved for friction. Lower the accelerations, or raise joints.{name}.torque "
                f"to {asked / MAX_RIGID_SHARE:.3g} if the drive allows"
            )


def _check_clear(plan: Plan, arm: ArmFile, mechanism: Mechanism, margins: Array | None) -> None:
    """Refuse paths that leave the workspace box or bring shapes together."""
    start, end, segments = _ways(plan)
    clear = are_clear(arm, mechanism, start, end, margins)
    if not clear.all():
        k = int(np.argmin(clear))
        segment = segments[k]
        raise PlanError(
            f"segment {segment.id} ({segment.joint or segment.kind} in posture {segment.posture}) "
            f"{in_the_way(arm, mechanism, start[k], end[k])}; plan again, or change workspace in "
            "the arm file"
        )


def _ways(plan: Plan) -> tuple[Array, Array, list[Segment]]:
    """Return the straight, or nearly straight, parts of a plan: starts and ends, (K, n) each, and
    the segment of each part.
    """
    ways = [
        (*ends, segment)
        for start, segment in plan.legs()
        for ends in pairwise(corner_points(start, segment))
    ]
    starts, ends, segments = zip(*ways, strict=True)
    return np.array(starts), np.array(ends), list(segments)


def check_way(
    stands: Array, plan: Plan, arm: ArmFile, mechanism: Mechanism, share: float = 1.0
) -> None:
    """Refuse a straight path from the arm's position to the start of the plan that is not clear.

    The path is also refused if a joint, moving within a share of its limits, would pass a limit
    when the computer stops sending.

    Raises
    ------
    PlanError
        If the path is refused; the message gives the arm's position and the start.
    """
    start = np.array(plan.start)
    away = [
        name
        for name, way in zip(mechanism.names, np.abs(stands - start), strict=True)
        if way > _THERE
    ]
    if len(away) > 1 and not may_move_together(arm, mechanism):
        raise PlanError(
            f"{', '.join(away)} are away from the start of the plan, "
            f"{np.round(start, 3).tolist()}, and the path cannot be checked for collisions without "
            "a workspace box or shapes in the model; nothing moved. Move all of these joints but "
            "one to the start by hand, or state workspace.box"
        )
    if fault := in_the_way(arm, mechanism, stands, start):
        raise PlanError(
            f"the straight path from the arm's position, {np.round(stands, 3).tolist()}, to the "
            f"start of the plan, {np.round(start, 3).tolist()}, {fault}; nothing moved. Move the "
            "arm near the start by hand"
        )
    limits = arm.limits(mechanism)
    slow = replace(
        limits, velocity=share * limits.velocity, acceleration=share * limits.acceleration
    )
    check_silence(
        Segment(TO_START, "move", plan.start, 0), stands, Bounds(mechanism, slow, silence(arm))
    )
