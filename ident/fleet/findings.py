"""Findings of a fleet: the tests of every joint of every arm, with the false discovery
rate of all joints together.

A joint of an arm has up to four tests. Its probability is the least of theirs times their number
(Bonferroni), so a joint counts once, and the share of false ones among the joints that are found is
held (Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995) 289).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import numpy as np
from scipy.special import ndtri
from scipy.stats import false_discovery_control

from stribeck.ident.fleet.joint_levels import JointLevels
from stribeck.ident.fleet.over_time import Change, greatest, steps, trend
from stribeck.ident.fleet.random_effects import RandomEffects

FALSE = 0.05  # share of unchanged joints among those that are found, at most on average
_TINY = 1e-300  # least probability of a finite deviation
_DAY = 86400.0  # s


@dataclass(frozen=True)
class Finding:
    """One test of one joint of one arm.

    Attributes
    ----------
    arm, joint, calibration : str
        The calibration is the newest of the arm; of a step, the first after it.
    test : str
        "fleet": newest calibration against the other arms; "history": against the arm's own earlier
        ones; "step": greatest step between two days; "trend": slope over time.
    effect : float
        Relative difference of friction; of a trend, per year.
    deviations : float
        The ranking statistic: standard deviations of a normal distribution with the same
        probability, with the sign of the effect.
    probability, adjusted : float
        Two-sided probability without a difference; and the least false discovery rate with which it
        is a finding, among all joints of all arms.
    day : date
        Date of the calibration.
    """

    arm: str
    joint: str
    calibration: str
    test: str
    effect: float
    deviations: float
    probability: float
    adjusted: float
    day: date

    @property
    def found(self) -> bool:
        """Whether the joint differs by this test."""
        return self.adjusted <= FALSE


def tests(joint: str, own: JointLevels, model: RandomEffects) -> Iterator[Finding]:
    """Yield the tests of one joint, before the adjustment for their number."""
    levels = own.levels
    newest = levels.newest
    outside = model.outside(levels.y[newest], levels.error[newest], np.arange(levels.arms))

    def finding(test: str, arm: int, change: Change) -> Finding:
        far = -float(ndtri(max(change.probability, _TINY) / 2.0))
        day = datetime.fromtimestamp(float(levels.time[change.row]) * _DAY, UTC).date()
        return Finding(
            own.arms[arm],
            joint,
            own.calibrations[change.row][-1],
            test,
            float(change.size if test == "trend" else np.expm1(change.size)),
            float(np.copysign(far, change.size)),
            change.probability,
            np.nan,
            day,
        )

    for arm in range(levels.arms):
        if model.testable[arm]:
            yield finding(
                "fleet",
                arm,
                Change(
                    float(levels.y[newest[arm]]) - model.population(arm),
                    int(newest[arm]),
                    float(outside[arm]),
                ),
            )
        if found := steps(model, arm):
            yield finding("history", arm, found[-1])
            if len(found) > 1:
                yield finding("step", arm, greatest(found))
        if (slope := trend(model, arm)) is not None:
            yield finding("trend", arm, slope)


def adjusted(found: list[Finding]) -> list[Finding]:
    """Return all tests with the false discovery rate of the joints, the most improbable first."""
    own: dict[tuple[str, str], list[float]] = {}
    for one in found:
        own.setdefault((one.arm, one.joint), []).append(one.probability)
    if not own:
        return []
    joint = np.sort([min(1.0, len(some) * min(some)) for some in own.values()])
    rates = np.append(false_discovery_control(joint, method="bh"), 1.0)
    done = [
        replace(
            one,
            adjusted=float(
                rates[
                    np.searchsorted(joint, min(1.0, len(own[one.arm, one.joint]) * one.probability))
                ]
            ),
        )
        for one in found
    ]
    return sorted(done, key=lambda one: (one.adjusted, -abs(one.deviations)))
