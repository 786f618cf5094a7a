"""Levels of one joint: its mean log friction in every calibration of a fleet, at
reference states that all cover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.reference_states import (
    ReferenceStates,
    common_speeds,
    log_friction,
    reference_states,
)
from stribeck.ident.fleet.random_effects import Levels

_DAY = 86400.0  # s
_ROUNDS = 60  # bisections of the deviation within a day


@dataclass(frozen=True)
class JointLevels:
    """Levels of a joint, a row for each day of each arm.

    Attributes
    ----------
    levels : Levels
    arms : tuple of str
        Names of the arms by their number in the levels.
    calibrations : tuple of tuple of str
        Names of the calibrations of each row, shape (n,).
    within : float
        Deviation between calibrations of one day beyond their standard errors; 0 if no day has two.
    states : ReferenceStates
        Where friction is compared.
    unit : str
    left_out : tuple of str
        Calibrations whose friction is not positive at all states.
    """

    levels: Levels
    arms: tuple[str, ...]
    calibrations: tuple[tuple[str, ...], ...]
    within: float
    states: ReferenceStates
    unit: str
    left_out: tuple[str, ...]


def joint_levels(
    joint: str, calibrations: Mapping[str, Calibration], arms: Mapping[str, str]
) -> JointLevels | str:
    """Return the levels of a joint, or a sentence that says why it cannot be compared.

    Parameters
    ----------
    joint : str
    calibrations : mapping of str to Calibration
        Calibrations by name.
    arms : mapping of str to str
        Arm of each calibration.
    """
    having = {name: one for name, one in calibrations.items() if joint in one.joints}
    curves = [one.joints[joint] for one in having.values()]
    states = reference_states(curves)
    if states is None:
        low, high = common_speeds(curves)
        slow, fast = (
            next(
                name
                for name, curve in zip(having, curves, strict=True)
                if curve.velocity_range[k] == end
            )
            for k, end in ((1, high), (0, low))
        )
        return (
            f"{joint}: not compared, because the speeds of all do not overlap: {fast} begins at "
            f"{low:.3g}, {slow} ends at {high:.3g}"
            if not low < high
            else f"{joint}: not compared, because the load ranges of all do not overlap"
        )
    found = [
        log_friction(curve, states.speeds, load, states.temperature, one.pass_count)
        for curve, load, one in zip(curves, states.loads, having.values(), strict=True)
    ]
    known = [
        (arms[name], moment(one), name, level)
        for (name, one), level in zip(having.items(), found, strict=True)
        if level is not None
    ]
    if not known:
        return (
            f"{joint}: not compared, because its friction is not positive at the common speeds "
            "and loads"
        )
    known.sort(key=lambda row: (row[0], row[1], row[2]))
    day = np.unique(
        [f"{arm}\n{created.date()}" for arm, created, _, _ in known], return_inverse=True
    )[1]
    y, error = np.array([level for *_, level in known]).T
    within = _within(y, error, day)
    weight = 1.0 / (error**2 + within**2 + 1e-18)
    total = np.bincount(day, weight)
    members: list[list[int]] = [[] for _ in total]
    for row, number in enumerate(day):
        members[number].append(row)
    order = sorted(range(len(members)), key=lambda number: members[number][0])
    names = tuple(dict.fromkeys(arm for arm, *_ in known))
    days = [created.timestamp() / _DAY for _, created, _, _ in known]
    time = np.bincount(day, weight * days) / total
    levels = Levels(
        np.array([names.index(known[members[number][0]][0]) for number in order]),
        time[order],
        (np.bincount(day, weight * y) / total)[order],
        np.sqrt(1.0 / total)[order],
    )
    return JointLevels(
        levels,
        names,
        tuple(tuple(known[row][2] for row in members[number]) for number in order),
        within,
        states,
        curves[0].parameters["coulomb"].unit,
        tuple(name for name, level in zip(having, found, strict=True) if level is None),
    )


def _within(y: Array, error: Array, day: Groups) -> float:
    """Return the deviation within a day beyond the standard errors: weighted squares equal their
    number (Paule and Mandel).
    """
    count = np.bincount(day)
    freedom = int(np.sum(count - 1))
    several = count[day] > 1

    def squares(deviation: float) -> float:
        weight = 1.0 / (error**2 + deviation**2 + 1e-18)
        mean = np.bincount(day, weight * y) / np.bincount(day, weight)
        return float(np.sum((weight * (y - mean[day]) ** 2)[several]))

    if not freedom or squares(0.0) <= freedom:
        return 0.0
    low, high = 0.0, float(np.ptp(y)) * np.sqrt(len(y))
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if squares(middle) > freedom else (low, middle)
    return (low + high) / 2.0


def moment(calibration: Calibration) -> datetime:
    """Return date and time of a calibration; without a time zone, UTC."""
    created = calibration.created
    return created if created.tzinfo is not None else created.replace(tzinfo=UTC)


def independent(
    calibrations: Mapping[str, Calibration],
) -> tuple[dict[str, Calibration], Sequence[str]]:
    """Return the calibrations without those that share runs with a newer
    one, and the names of these.
    """
    kept: dict[str, Calibration] = {}
    seen: set[str] = set()
    for name, one in sorted(calibrations.items(), key=lambda item: moment(item[1]), reverse=True):
        runs = {run["sha256"] for run in one.runs}
        if not runs & seen:
            kept[name] = one
            seen |= runs
    return {name: one for name, one in calibrations.items() if name in kept}, [
        name for name in calibrations if name not in kept
    ]
