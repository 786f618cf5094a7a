"""A fleet: calibrations of one arm model, what is normal for each joint, and what differs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_file import calibration_path
from stribeck.ident.errors import InputError
from stribeck.ident.fleet.findings import FALSE, Finding, adjusted, tests
from stribeck.ident.fleet.fleet_notes import fleet_notes
from stribeck.ident.fleet.fleet_picture import draw_fleet
from stribeck.ident.fleet.joint_levels import JointLevels, independent, joint_levels, moment
from stribeck.ident.fleet.random_effects import RandomEffects, random_effects
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.views.frames import frame_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 3  # independent calibrations of a fleet
COLUMNS = [
    "joint",
    "arm",
    "calibration",
    "created",
    "friction",
    "std_error",
    "unit",
    "ratio",
    "arm_ratio",
    "adjusted",
]


@dataclass(frozen=True)
class JointPopulation:
    """Friction of one joint in a fleet, as the mean over reference speeds and loads.

    Attributes
    ----------
    friction : float
        Population mean [N·m or N].
    between_arms, between_days : tuple of float
        Relative standard deviation with the ends of its 95 % interval; nan for days if no arm has
        calibrations of two days: then `between_arms` includes them.
    within : float
        Relative standard deviation of a calibration by its intervals, the deviation between its
        runs, and the scatter of calibrations of one day; median.
    normal : tuple of float
        95 % prediction interval of one calibration of a new arm [N·m or N].
    unit : str
    speeds, loads : tuple of float
        Ends of the compared speeds [rad/s or m/s] and loads; the loads are
        equal without a common load.
    temperature : float, optional
        Temperature of the drives at which friction is compared [°C].
    levels, model
        Levels of all calibrations, and their random-effects model.
    """

    friction: float
    between_arms: tuple[float, float, float]
    between_days: tuple[float, float, float]
    within: float
    normal: tuple[float, float]
    unit: str
    speeds: tuple[float, float]
    loads: tuple[float, float]
    temperature: float | None
    levels: JointLevels = field(repr=False)
    model: RandomEffects = field(repr=False)


@dataclass(frozen=True)
class Membership:
    """Whether one joint of a calibration is in the family of a fleet.

    Attributes
    ----------
    friction : float
        At the reference states [N·m or N].
    normal : tuple of float
        Prediction interval by the arms of the fleet, without its own [N·m or N]. All joints of a
        calibration together are within theirs with 95 %.
    probability : float
        Two-sided probability of friction so far from the mean, in the fleet.
    unit : str
    """

    friction: float
    normal: tuple[float, float]
    probability: float
    unit: str

    @property
    def inside(self) -> bool:
        """Whether friction is within the prediction interval."""
        return self.normal[0] <= self.friction <= self.normal[1]


@dataclass(frozen=True, eq=False, repr=False)
class Fleet:
    """Calibrations of one arm model.

    Friction of each joint is compared at speeds, loads and the temperature that all calibrations
    cover, whatever their laws. Calibrations with the same serial number are of one arm; without a
    serial number, each is of an arm of its own.

    Attributes
    ----------
    calibrations : dict of str to Calibration
        Independent calibrations by name.
    notes : tuple of str
        What was left out, and why; and what may explain differences, other than the arms.

    Examples
    --------
    >>> from stribeck import Fleet
    >>> fleet = Fleet.load("arms")  # doctest: +SKIP
    >>> fleet.populations["j3"].normal  # doctest: +SKIP
    (5.61, 6.88)
    >>> [(one.arm, one.joint, one.effect) for one in fleet.findings if one.found]  # doctest: +SKIP
    [('A-17', 'j3', 0.31)]
    """

    calibrations: Mapping[str, Calibration]
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, *places: str | Path) -> "Fleet":
        """Read calibration files, calibration folders, and all calibrations below other folders.

        Raises
        ------
        InputError
            If a folder holds none, or as `Fleet.of`.
        """
        return cls.of(calibrations_below(map(Path, places)))

    @classmethod
    def of(cls, calibrations: Mapping[str, Calibration]) -> "Fleet":
        """Make a fleet of loaded calibrations by name.

        Of calibrations that share runs, the newest stays.

        Raises
        ------
        InputError
            If fewer than three remain, or arm models, torque bases or units differ.
        """
        _check_alike(calibrations)
        kept, dropped = independent(calibrations)
        if len(kept) < LEAST:
            same = (
                f"; left out since they share runs with a newer one: {', '.join(dropped)}"
                if dropped
                else ""
            )
            raise InputError(
                f"a fleet needs at least {LEAST} calibrations of different runs, but found only "
                f"{', '.join(kept) or 'none'}{same}; add more"
            )
        notes = (
            [f"{', '.join(dropped)}: shares runs with a newer calibration; left out"]
            if dropped
            else []
        )
        return cls(kept, (*notes, *fleet_notes(kept)))

    @property
    def arm(self) -> str:
        """Name of the arm model."""
        return next(iter(self.calibrations.values())).arm

    @cached_property
    def arms(self) -> dict[str, str]:
        """Arm of each calibration: its serial number, or its own name."""
        return {name: one.serial or name for name, one in self.calibrations.items()}

    @property
    def days(self) -> int:
        """Number of different days of all arms."""
        return len(
            {(self.arms[name], moment(one).date()) for name, one in self.calibrations.items()}
        )

    @cached_property
    def _levels(self) -> dict[str, JointLevels | str]:
        joints = dict.fromkeys(joint for one in self.calibrations.values() for joint in one.joints)
        return {joint: joint_levels(joint, self.calibrations, self.arms) for joint in joints}

    @property
    def apart(self) -> tuple[str, ...]:
        """A sentence for each joint that cannot be compared, in all or in some calibrations."""
        some = (
            f"{joint}: friction of {', '.join(found.left_out)} is not positive at all common "
            "speeds and loads; left out"
            for joint, found in self._levels.items()
            if isinstance(found, JointLevels) and found.left_out
        )
        return (*(found for found in self._levels.values() if isinstance(found, str)), *some)

    @cached_property
    def populations(self) -> dict[str, JointPopulation]:
        """What is normal for each joint."""
        return {
            joint: _population(found)
            for joint, found in self._levels.items()
            if isinstance(found, JointLevels)
        }

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All tests, the most improbable first; those with `found` differ."""
        return tuple(
            adjusted(
                [
                    one
                    for joint, own in self.populations.items()
                    for one in tests(joint, own.levels, own.model)
                ]
            )
        )

    @property
    def differs(self) -> bool:
        """Whether a joint of an arm differs or changed over time."""
        return any(one.found for one in self.findings)

    def membership(self, calibration: Calibration) -> dict[str, Membership]:
        """Return whether each joint of a calibration is in the family of the fleet, which
        its own arm is left out of.

        Joints without reference states in common are not in the result.

        Raises
        ------
        InputError
            As `of`.
        """
        own = calibration.serial or "this calibration"
        name = f"{own} {calibration.created.isoformat()}"
        runs = {run["sha256"] for run in calibration.runs}
        others = {
            key: one
            for key, one in self.calibrations.items()
            if self.arms[key] != own and not runs & {run["sha256"] for run in one.runs}
        }
        joined = Fleet.of({name: calibration, **others})
        rows = {
            joint: place
            for joint, population in joined.populations.items()
            if (place := _newest_of(population, joined.arms[name])) is not None
        }
        found = {}
        for joint, (row, arm) in rows.items():
            levels, model = joined.populations[joint].levels.levels, joined.populations[joint].model
            y, error = levels.y[[row]], levels.error[[row]]
            low, high = np.exp(model.interval(float(error[0]), arm, 1.0 - FALSE / len(rows)))
            found[joint] = Membership(
                float(np.exp(y[0])),
                (float(low), float(high)),
                float(model.outside(y, error, np.array([arm]))[0]),
                joined.populations[joint].unit,
            )
        return found

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each joint of each calibration.

        Columns: joint, arm, calibration, created, friction and its standard error at the reference
        states, their unit, the ratio of friction to the population mean, the predicted ratio of the
        arm (best linear unbiased prediction), and the adjusted probability of its tests if it is
        the newest of the arm.
        """
        lowest = {}
        for one in reversed(self.findings):
            lowest[one.joint, one.arm] = one.adjusted
        rows = []
        for joint, own in self.populations.items():
            levels, predicted, last = (
                own.levels.levels,
                own.model.predicted(),
                set(own.levels.levels.newest),
            )
            for row, names in enumerate(own.levels.calibrations):
                arm = own.levels.arms[levels.arm[row]]
                friction = float(np.exp(levels.y[row]))
                rows += [
                    (
                        joint,
                        arm,
                        name,
                        moment(self.calibrations[name]),
                        friction,
                        friction * levels.error[row],
                        own.unit,
                        friction / own.friction,
                        float(np.exp(predicted[levels.arm[row]])),
                        lowest.get((joint, arm), np.nan) if row in last else np.nan,
                    )
                    for name in names
                ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def plot(self) -> "Figure":
        """Draw friction of every joint relative to the population, arm by arm,
        with the prediction interval.

        Raises
        ------
        InputError
            If no joint can be compared.
        """
        if not self.populations:
            raise InputError(
                "; ".join(self.apart)
                or f"{self.arm}: no calibration has a joint; nothing can be drawn"
            )
        return draw_fleet(
            self.to_dataframe(),
            {
                joint: (one.normal[0] / one.friction, one.normal[1] / one.friction)
                for joint, one in self.populations.items()
            },
            self._marked,
        )

    @property
    def _marked(self) -> set[tuple[str, str]]:
        return {(one.joint, one.arm) for one in self.findings if one.found}

    def __repr__(self) -> str:
        differing = len({(one.arm, one.joint) for one in self.findings if one.found})
        return (
            f"<Fleet of {len(set(self.arms.values()))} {self.arm}, {len(self.calibrations)} "
            "calibrations: "
            f"{differing} joint{'s' * (differing != 1)} differ{'s' * (differing == 1)}>"
        )

    def _repr_html_(self) -> str:
        frame = pd.DataFrame(
            [
                (one.arm, one.joint, one.test, one.effect, one.deviations, one.adjusted)
                for one in self.findings
                if one.found
            ],
            columns=["arm", "joint", "test", "effect", "deviations", "adjusted"],
        )
        return frame_html(repr(self).strip("<>"), frame)


def calibrations_below(places: Iterable[Path]) -> dict[str, Calibration]:
    """Read the files of `calibration_files`; names are those of folders, or
    of files with another name.
    """
    return {
        str(path.parent if path.name == CALIBRATION else path): Calibration.load(path)
        for path in calibration_files(places)
    }


def calibration_files(places: Iterable[Path]) -> list[Path]:
    """Return calibration files, the one of a folder, or all below a folder that
    has none itself; each once.

    Raises
    ------
    InputError
        If there is none below a folder.
    """
    return list(dict.fromkeys(path for place in places for path in _below(place)))


def _below(place: Path) -> list[Path]:
    if not place.is_dir() or (place / "runs").is_dir():
        return [calibration_path(place)]
    if (place / CALIBRATION).exists():
        return [place / CALIBRATION]
    found = sorted(place.rglob(CALIBRATION))
    if not found:
        raise InputError(
            f"{place}: no {CALIBRATION} in this folder or below it; give a folder with "
            "calibrations; a result of stribeck fleet fit goes to stribeck fleet compare"
        )
    return found


def _check_alike(calibrations: Mapping[str, Calibration]) -> None:
    """Refuse calibrations of different arm models, torque bases or units."""
    units: dict[str, str] = {}
    for name, other in calibrations.items():
        first, one = next(iter(calibrations.items()))
        for what, do in (
            ("arm", "compare arms of one model"),
            ("torque_basis", "fit all with the same --torque-basis"),
        ):
            if getattr(other, what) != getattr(one, what):
                raise InputError(
                    f"{name}: {what} is {getattr(other, what)}, but {getattr(one, what)} in "
                    f"{first}; {do}"
                )
        for joint, unit in _units(other).items():
            if units.setdefault(joint, unit) != unit:
                raise InputError(
                    f"{name}: joint {joint} has friction in {unit}, but in {units[joint]} in "
                    f"{first}; compare arms of one model"
                )


def _units(calibration: Calibration) -> dict[str, str]:
    return {joint: one.parameters["coulomb"].unit for joint, one in calibration.joints.items()}


def _population(own: JointLevels) -> JointPopulation:
    model, states = random_effects(own.levels), own.states
    error = float(np.median(own.levels.error))
    low, high = (float(np.exp(end)) for end in model.interval(error))
    return JointPopulation(
        float(np.exp(model.population())),
        model.between_arms,
        model.between_days,
        error,
        (low, high),
        own.unit,
        _span(states.speeds),
        _span(states.loads[0]),
        states.temperature,
        own,
        model,
    )


def _newest_of(population: JointPopulation, arm: str) -> tuple[int, int] | None:
    """Return row and number of an arm's newest calibration; None if it or the arms beside it do
    not suffice for a verdict.
    """
    if arm not in population.levels.arms:
        return None
    number = population.levels.arms.index(arm)
    return (
        (int(population.levels.levels.newest[number]), number)
        if population.model.testable[number]
        else None
    )


def _span(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())
