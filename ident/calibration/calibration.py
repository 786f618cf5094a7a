"""Calibration of an arm: friction of every joint as a function of the state of the arm."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration_content import CalibrationContent
from stribeck.ident.calibration.calibration_file import (
    calibration_path,
    read_calibration,
    write_calibration,
)
from stribeck.ident.calibration.pictures import draw_joint, stored_points
from stribeck.ident.errors import InputError, about_file, unknown_name
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.memory.states.path import Path as Displacements
from stribeck.ident.model.driven.passive_joints import check_classes
from stribeck.ident.model.loads import JointLoads, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import changed, inertial_parameters
from stribeck.ident.model.transmission import Transmission
from stribeck.ident.temperature.joint_temperature import each_temperature
from stribeck.ident.temperature.self_heating import heat_log
from stribeck.ident.views.frames import frame_html, parameter_frame
from stribeck.ident.views.panels import shown_figure
from stribeck.ident.whole_files import file_sha256

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Calibration(CalibrationContent):
    """Friction of an arm.

    Attributes
    ----------
    folder : Path
        Folder of the file and the model; the other attributes are those of `CalibrationContent`.

    Examples
    --------
    >>> from stribeck import Calibration
    >>> calibration = Calibration.load("data/golden")
    >>> calibration.friction([0.3], [0.1]).round(2)         # torque at one position and velocity
    array([2.65])
    >>> len(calibration.sample(100, rng=0))                 # parameter sets for a simulation that randomises friction
    100
    """

    folder: Path = field(default=Path(), compare=False)

    @property
    def pass_count(self) -> int:
        """Number of passes: runs that neither continue another run nor consist of torque ramps."""
        return sum("continues" not in run and "purpose" not in run for run in self.runs)

    def with_offset(self) -> "Calibration":
        """Return the calibration with the torque offset of each joint added to its friction,
        for feed-forward and C code.

        The offset is a constant torque at all speeds and at rest. It is the sum of half the
        difference between the Coulomb friction of both directions and errors of the torque signal
        or of the model's gravity; constant speeds show only this sum. It was fitted together with
        the model's gravity times `gravity["scale"]` of the joint. A calibration file stores the
        offset separately from the friction, so a calibration with the offset in its friction cannot
        be saved.
        """
        return replace(
            self, joints={name: joint.with_offset() for name, joint in self.joints.items()}
        )

    def at_temperature(self, temperature: ArrayLike) -> "Calibration":
        """Return the calibration with the parameters of all joints at a temperature, for
        exports, feed-forward and C code.

        Parameters
        ----------
        temperature : array_like, shape () or (n,)
            Temperature of the drives [°C], for all joints or for each of `names`; nan stands for
            the reference temperature.
        """
        at = dict(
            zip(self.names, each_temperature(temperature, (len(self.names),)).tolist(), strict=True)
        )
        return replace(
            self,
            joints={name: joint.at_temperature(at[name]) for name, joint in self.joints.items()},
        )

    def only(self, joints: Sequence[str]) -> "Calibration":
        """Return the calibration of some joints only."""
        return replace(
            self, joints={name: joint for name, joint in self.joints.items() if name in joints}
        )

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """Read a calibration file, or the one in a folder.

        Raises
        ------
        InputError
            If it is missing or malformed; names the key.
        """
        path = calibration_path(Path(path))
        return cls(**vars(read_calibration(path)), folder=path.parent)

    def save(self, path: str | Path) -> None:
        """Write the calibration as TOML, one parameter a line.

        Raises
        ------
        InputError
            If it was made by `with_offset`: a file could not tell it from other calibrations.
        """
        if any(joint.offset for joint in self.joints.values()):
            raise InputError(
                f"{path}: a calibration from with_offset() cannot be saved; save the original "
                "calibration, and call with_offset() after loading it"
            )
        write_calibration(Path(path), self)

    @cached_property
    def mechanism(self) -> Mechanism:
        """Rigid-body model of the calibration, with bearings, tools, and the identified
        links and passive joints.

        Raises
        ------
        InputError
            As `stated_mechanism`.
        """
        stated = self.stated_mechanism
        return self.model.passive.of(
            stated if self.model.inertia is None else self.model.inertia.of(stated)
        )

    @cached_property
    def stated_mechanism(self) -> Mechanism:
        """Rigid-body model as its file states it, with the bearings and tools of the calibration.

        Raises
        ------
        InputError
            If the model file beside the calibration is missing or was changed.
        """
        path = self.folder / Path(self.model.file).name
        if not path.is_file():
            raise InputError(
                f"{path}: the calibration's model is missing; keep it beside calibration.toml"
            )
        if file_sha256(path) != self.model.sha256:
            raise InputError(
                f"{path}: this is not the model that the calibration was made with (its sha256 "
                "differs); restore the original file"
            )
        bearings = {name: joint.bearing for name, joint in self.joints.items()}
        mechanism = mechanism_of(
            path,
            self.arm,
            self.model.gravity,
            (self.model.tool, self.model.unknown_tool.tool),
            bearings,
            self.model.stated_chain,
        )
        if self.model.transmission:
            with about_file(f"{self.folder / 'calibration.toml'}: model.transmission"):
                mechanism = replace(
                    mechanism,
                    transmission=Transmission.of_pairs(mechanism.names, self.model.transmission),
                )
        if self.model.passive.classes:
            with about_file(f"{self.folder / 'calibration.toml'}: model.passive"):
                if (chain := self.model.passive.of(mechanism).chain) is None:
                    raise InputError(f"{self.arm} is not a closed chain")
                check_classes(chain.whole, chain.classes)
        for name in self.joints:
            if name not in mechanism.names:
                raise InputError(
                    f"{path}: {unknown_name('joint', name, mechanism.names)}; the calibration "
                    "names this joint"
                )
        for name in self.motors.motors:
            if name not in self.model.transmission:
                raise InputError(
                    f"{self.folder / 'calibration.toml'}: motors.{name}: model.transmission does "
                    "not list this motor"
                )
        return mechanism

    def with_inertia(self, arm: Mechanism) -> Mechanism:
        """Add the identified links and passive joints to a model of the same arm,
        perhaps with another tool.
        """
        if self.model.inertia is not None:
            arm = changed(
                arm,
                inertial_parameters(self.mechanism) - inertial_parameters(self.stated_mechanism),
            )
        return self.model.passive.of(arm)

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> list["Calibration"]:
        """Draw `n` calibrations with parameters from the distribution of the
        estimates (mean and covariance).

        A simulation that randomises friction takes one calibration per episode. Each can be
        exported and used like the original calibration.

        Parameters
        ----------
        n : int
            Number of calibrations.
        rng : numpy.random.Generator or int, optional
            Generator, or its seed.

        Returns
        -------
        list of Calibration
            Calibrations with values only, without intervals. Joints are drawn independently;
            friction of shared motors and passive joints, and memory and temperature laws of joints
            that have them, are not varied.
        """
        rng = np.random.default_rng(rng)
        drawn = {name: joint.drawn(n, rng) for name, joint in self.joints.items()}
        return [
            replace(self, joints={name: joints[k] for name, joints in drawn.items()})
            for k in range(n)
        ]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each parameter of each joint: joint, parameter, value, low, high,
        std_error, unit, verdict, note.
        """
        return parameter_frame({name: joint.parameters for name, joint in self.joints.items()})

    def plot(self, joints: Sequence[str] | None = None) -> "dict[str, Axes]":
        """Draw friction over speed with its 95 % band, at the least, middle and greatest
        load, one panel per joint.

        The points of the fit are drawn, too, if ``points.csv`` is beside the calibration.

        Parameters
        ----------
        joints : sequence of str, optional
            Joints to draw; default all calibrated joints.

        Returns
        -------
        dict of str to matplotlib Axes
            The panels.

        Raises
        ------
        InputError
            If a joint is not calibrated.
        """
        names = tuple(self.joints if joints is None else joints)
        for name in names:
            if name not in self.joints:
                raise unknown_name("joint", name, self.joints)
        points, axes = stored_points(self.folder, self.joints), shown_figure(names)
        for name, ax in axes.items():
            draw_joint(ax, name, self.joints[name], points.get(name))
        return axes

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{name} {joint.verdict()}" for name, joint in self.joints.items())
        return f"<Calibration of {self.arm}, {self.created:%Y-%m-%d}: {verdicts}>"

    def _repr_html_(self) -> str:
        return frame_html(
            f"Calibration of {self.arm}, {self.created:%Y-%m-%d}", self.to_dataframe()
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Joints of the arm, columns of `friction`."""
        return self.mechanism.names

    def friction(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction torque of every joint at one sample or along a motion, with
        the ripple that is claimed.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (n,) or (N, n)
            Joint motion, columns as `names`; accelerations default to zero.
        temperature : array_like, shape (), (n,) or (N, n), optional
            Temperature of the drives [°C]; for joints that friction heats, their state as from
            `self_heating`. None and nan stand for the temperature at which a joint's parameters
            hold. Friction of joints without a dependence on temperature stays the same.

        Returns
        -------
        ndarray, shape (n,) or (N, n)
            Friction [N·m or N], including the friction of shared motors; nan where a
            joint was not calibrated.
        """
        return self.friction_on(self.mechanism, q, dq, ddq, temperature)

    def friction_along(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction torque of every joint along one motion, with the memory of joints that have one.

        Samples are in the order of time. At the first sample all states are those of rest.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (N, n)
            As for `friction`.
        temperature : array_like, shape (), (n,) or (N, n), optional
            As for `friction`.

        Returns
        -------
        ndarray, shape (N, n)
            Friction [N·m or N]. Without memory it equals `friction`.

        Raises
        ------
        InputError
            If a shape does not fit the mechanism or a value is not finite.
        """
        q, dq = np.asarray(q, dtype=float), np.asarray(dq, dtype=float)
        if q.ndim != 2:
            raise InputError(
                f"q has shape {q.shape}; a motion needs (N, {len(self.names)}). For one sample "
                "after the other use Feedforward.follow"
            )
        out, loads = self.friction(q, dq, ddq, temperature), joint_loads(self.mechanism, q, dq, ddq)
        warm = None if temperature is None else each_temperature(temperature, dq.shape)
        for column, name in enumerate(self.names):
            joint = self.joints.get(name)
            if joint is not None and joint.memory is not None and len(q):
                w = dq[:, column]
                level = joint.dry_level(
                    w,
                    joint.load_of(lambda kind: loads.get(kind)[:, column]),  # noqa: B023  # called at once
                    None if warm is None else warm[:, column],
                )
                dry = joint.memory.dry(Displacements.of(q[:, column]), w, level)
                out[:, column] += dry - level * np.sign(w)
        return out

    def self_heating(
        self, t: ArrayLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike | None = None
    ) -> Array:
        """State of self-heating of every joint along one motion, for
        `temperature` of the other methods.

        Parameters
        ----------
        t : array_like, shape (N,)
            Ascending times [s]; at the first one all joints are cold.
        q, dq, ddq : array_like, shape (N, n)
            As for `friction`.

        Returns
        -------
        ndarray, shape (N, n)
            States; nan for joints that are not calibrated with self-heating.

        Raises
        ------
        InputError
            If a shape does not fit the mechanism, or times do not ascend.
        """
        t, rate = np.asarray(t, dtype=float), np.asarray(dq, dtype=float)
        loads = joint_loads(self.mechanism, q, dq, ddq)
        if (
            t.shape != rate.shape[:1]
            or rate.ndim != 2
            or len(t) < 2
            or not np.all(np.diff(t) > 0.0)
        ):
            raise InputError(
                f"t has shape {t.shape}, dq {rate.shape}; ascending times of shape (N,) and "
                f"velocities of shape (N, {len(self.names)}) are needed"
            )
        out = np.full(rate.shape, np.nan)
        for column, name in enumerate(self.names):
            joint = self.joints.get(name)
            if (
                joint is None
                or joint.temperature is None
                or (heating := joint.temperature.heating) is None
            ):
                continue
            load = joint.load_of(lambda kind: loads.get(kind)[:, column])  # noqa: B023  # called at once
            log = heat_log(
                law_named(joint.law),
                joint.values,
                t[1:],
                np.diff(t),
                np.abs(rate[:-1, column]),
                None if load is None else load[:-1],
            )
            out[:, column] = log.states(
                t, heating.times, heating.shares, heating.power, joint.temperature.power_factors
            )
        return out

    def friction_on(
        self,
        mechanism: Mechanism,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction torque as `friction`, with the loads of another model, such as
        the arm with another tool.
        """
        if np.ndim(q) == 1:
            one, rate, *more = [
                np.asarray(values, dtype=float)[None]
                for values in ((q, dq) if ddq is None else (q, dq, ddq))
            ]
            return np.asarray(
                self.friction_on(mechanism, one, rate, more[0] if more else None, temperature)[0]
            )
        return self.friction_under(
            joint_loads(mechanism, q, dq, ddq), mechanism, q, dq, temperature
        )

    def friction_under(
        self,
        loads: JointLoads,
        mechanism: Mechanism,
        q: ArrayLike,
        dq: ArrayLike,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction torque along a motion, shape (N, n), with known loads of a model."""
        q, dq, coupled = (
            np.asarray(q, dtype=float),
            np.asarray(dq, dtype=float),
            mechanism.transmission,
        )
        warm = None if temperature is None else each_temperature(temperature, dq.shape)
        out = np.where(
            [self.motors.moves(coupled, name) for name in self.names], np.zeros(dq.shape), np.nan
        )
        for column, name in enumerate(self.names):
            if name in self.joints:
                joint = self.joints[name]
                load = joint.load_of(lambda kind: loads.get(kind)[:, column])  # noqa: B023  # called at once
                out[:, column] = joint.friction(
                    q[:, column],
                    dq[:, column],
                    load,
                    loads.tau[:, column],
                    None if warm is None else warm[:, column],
                )
        return out if coupled is None else out + self.motors.torque(coupled, dq)
