r"""Changes between two calibrations: parameters, and friction at the same speeds and loads.

A difference counts as a change if it exceeds the tolerance that follows from both intervals and
the deviation between runs,

.. math:: |b - a| > \frac{z}{1.96} \sqrt{h_a^2 + h_b^2 + (t\, s)^2 (1/n_a + 1/n_b)}

with the 95 % half widths h on the sides that face each other, the deviation s between n runs
(pooled; Student's t), and z such that the whole comparison, not each number, is wrong in at most
one case of twenty (Bonferroni). Curves are compared simultaneously at all speeds and loads
(Scheffé): correlated parameters may change while the friction stays the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtri, stdtrit

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.comparison_notes import (
    comparison_notes,
    same_law,
    same_memory,
    same_temperature,
)
from stribeck.ident.calibration.joint_calibration import JointCalibration, loads_agree
from stribeck.ident.calibration.pictures import draw_side_by_side
from stribeck.ident.calibration.reference_states import reference_states
from stribeck.ident.errors import InputError
from stribeck.ident.fit.inertia.motor_friction import RubbingMotor
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.ripple.wave import KINDS
from stribeck.ident.views.frames import frame_html
from stribeck.ident.views.panels import shown_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# probability that a comparison of unchanged joints finds a change: half by
# parameters, half by curves
LEVEL = 0.05
_NORMAL = 1.96  # half width of a 95 % interval in standard errors, of many round trips
_DIRECTIONS = ("viscous_difference", "driving_difference")
_GRAVITY = ("scale", "offset", *_DIRECTIONS)


def _beside(name: str) -> bool:
    """Whether a parameter is not part of the law: another parameter of the joint
    cannot compensate its change.
    """
    return name in _GRAVITY or name.startswith(KINDS)


class _Change:
    """A quantity before and after, and the tolerance of its difference."""

    before: float
    after: float
    allowed: float

    @property
    def difference(self) -> float:
        """Value after minus value before."""
        return self.after - self.before

    @property
    def changed(self) -> bool:
        """Whether the difference exceeds the tolerance."""
        return abs(self.difference) > self.allowed


@dataclass(frozen=True)
class ParameterChange(_Change):
    """One parameter in two calibrations.

    Attributes
    ----------
    joint, name, unit : str
    before, after : float
        Estimates.
    allowed : float
        Tolerance of the difference, from intervals and the deviation between runs.
    """

    joint: str
    name: str
    unit: str
    before: float
    after: float
    allowed: float


@dataclass(frozen=True)
class CurveChange(_Change):
    """Friction of one joint in two calibrations, at the speed and load where its difference is
    largest against the tolerance.

    Attributes
    ----------
    joint, unit : str
    speed : float
        [rad/s or m/s]
    load : float, optional
        Load at this point; None if neither friction grows with a load, or the
        loads are of different kinds.
    before, after, allowed : float
        Friction and the tolerance of its difference at this point [N·m].
    rms : float
        Difference over all common speeds and loads, as a fraction of the friction before.
    """

    joint: str
    unit: str
    speed: float
    load: float | None
    before: float
    after: float
    allowed: float
    rms: float


@dataclass(frozen=True)
class Comparison:
    """Two calibrations, joint by joint.

    Attributes
    ----------
    parameters : tuple of ParameterChange
        Parameters of joints with the same law in both, and scale and offset of the torque signal.
    curves : dict of str to CurveChange
        Friction by joint, if the speed ranges overlap.
    apart : tuple of str
        Joints whose friction was not compared: their speed or load ranges do not overlap.
    notes : tuple of str
        What was not compared and why; whether the deviation between runs is unknown.
    before, after : Calibration
        The two calibrations.
    """

    parameters: tuple[ParameterChange, ...]
    curves: Mapping[str, CurveChange]
    apart: tuple[str, ...]
    notes: tuple[str, ...]
    before: Calibration = field(repr=False, compare=False)
    after: Calibration = field(repr=False, compare=False)

    @property
    def traded(self) -> tuple[str, ...]:
        """Joints whose parameters changed while the friction stayed the same."""
        moved = {
            change.joint
            for change in self.parameters
            if change.changed and not _beside(change.name)
        }
        return tuple(
            joint for joint, curve in self.curves.items() if joint in moved and not curve.changed
        )

    @property
    def changed(self) -> bool:
        """Whether a joint's friction, or its torque's scale or offset, changed."""
        counts = (
            change
            for change in self.parameters
            if change.joint not in self.traded or _beside(change.name)
        )
        return any(curve.changed for curve in self.curves.values()) or any(
            change.changed for change in counts
        )

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each compared parameter and, named ``friction``, for the
        friction curve of each joint.
        """
        curves = [(joint, "friction", curve) for joint, curve in self.curves.items()]
        rows = [(change.joint, change.name, change) for change in self.parameters] + curves
        return pd.DataFrame(
            [
                (
                    joint,
                    name,
                    one.before,
                    one.after,
                    one.difference,
                    one.allowed,
                    one.unit,
                    one.changed,
                )
                for joint, name, one in rows
            ],
            columns=[
                "joint",
                "parameter",
                "before",
                "after",
                "difference",
                "tolerance",
                "unit",
                "changed",
            ],
        )

    def plot(self) -> "dict[str, Axes]":
        """Draw friction over speed by both calibrations with their 95 % bands;
        returns the panel of each joint.
        """
        axes = shown_figure(tuple(self.before.joints))
        for name, ax in axes.items():
            draw_side_by_side(
                ax,
                name,
                [one.joints.get(name) for one in (self.before, self.after)],
                ("before", "after"),
            )
        return axes

    def __repr__(self) -> str:
        moved = [name for name, curve in self.curves.items() if curve.changed]
        said = (
            f"friction of {', '.join(moved)} changed"
            if moved
            else "changed"
            if self.changed
            else "no change"
        )
        return (
            f"<Comparison of {len(self.curves)} joint{'s' * (len(self.curves) != 1)} of "
            f"{self.before.arm}: {said}>"
        )

    def _repr_html_(self) -> str:
        return frame_html(repr(self).strip("<>"), self.to_dataframe())


def compare(before: Calibration, after: Calibration) -> Comparison:
    """Compare two calibrations of an arm, or of two arms of the same type.

    Raises
    ------
    InputError
        If they have no joint in common, a joint has different units, or the torque basis differs.
    """
    joints = [name for name in before.joints if name in after.joints]
    if not joints:
        raise InputError(
            f"the calibrations have no joint in common: {', '.join(before.joints)} and "
            f"{', '.join(after.joints)}"
        )
    if before.torque_basis != after.torque_basis:
        raise InputError(
            f"torque_basis is {before.torque_basis} in the first calibration and "
            f"{after.torque_basis} in the other; fit both with the same --torque-basis"
        )
    runs = max(1, before.pass_count), max(1, after.pass_count)
    pairs = {name: (before.joints[name], after.joints[name]) for name in joints}
    sought = all(one.fit.get("ripple", "none") != "none" for one in (before, after))
    common = {name: list(_comparable(a, b, sought)) for name, (a, b) in pairs.items()}
    common |= {
        _of_motor(name): list(_alike(before.motors.motors[name], after.motors.motors[name]))
        for name in before.motors.motors
        if name in after.motors.motors
    }
    common |= {
        f"memory of {name}": list(_both(a.memory.parameters, b.memory.parameters))
        for name, (a, b) in pairs.items()
        if a.memory is not None and b.memory is not None and same_memory(a, b)
    }
    common |= {
        f"temperature of {name}": list(
            _both(a.temperature.all_parameters, b.temperature.all_parameters)
        )
        for name, (a, b) in pairs.items()
        if a.temperature is not None and b.temperature is not None and same_temperature(a, b)
    }
    common |= {
        f"backlash of {name}": list(_both(a.backlash.parameters, b.backlash.parameters))
        for name, (a, b) in pairs.items()
        if a.backlash is not None and b.backlash is not None
    }
    passive = [one.model.passive.classes for one in (before, after)]
    common |= {
        name: list(_both(passive[0][name].parameters, passive[1][name].parameters))
        for name in passive[0]
        if name in passive[1] and passive[0][name].load == passive[1][name].load
    }
    z = float(ndtri(1.0 - LEVEL / 4.0 / max(1, sum(map(len, common.values())))))
    parameters = tuple(
        ParameterChange(
            name,
            key,
            p.unit,
            float(p.value or 0.0),
            float(q.value or 0.0),
            z / _NORMAL * _half_width(p, q, runs),
        )
        for name, found in common.items()
        for key, p, q in found
    )
    curves = {
        name: curve
        for name, (a, b) in pairs.items()
        if (curve := _curve_change(name, a, b, runs, LEVEL / 2.0 / len(joints))) is not None
    }
    apart = tuple(name for name in pairs if name not in curves)
    return Comparison(
        parameters,
        curves,
        apart,
        tuple(comparison_notes(before, after, pairs, curves)),
        before,
        after,
    )


def _comparable(
    a: JointCalibration, b: JointCalibration, sought: bool
) -> Iterator[tuple[str, Parameter, Parameter]]:
    """Yield the parameters that have the same meaning in both calibrations and intervals."""
    pairs = {key: found for key in _GRAVITY if (found := _beside_law(a, b, key)) is not None}
    if same_law(a, b):
        pairs = {
            key: (a.parameters[key], b.parameters[key]) for key in a.values if key in b.values
        } | pairs
    pairs |= _waves(a, b, sought)
    for key, (p, q) in pairs.items():
        if all(
            one.value is not None and one.low is not None and one.high is not None for one in (p, q)
        ):
            yield key, p, q


def _waves(
    a: JointCalibration, b: JointCalibration, sought: bool
) -> dict[str, tuple[Parameter, Parameter]]:
    """Return the amplitudes of the waves of both calibrations; a wave of one of them only if both
    fits sought ripple (`sought`).

    A wave that was sought and not claimed has an amplitude of zero, with the half
    width of the claimed one.
    """
    found: dict[str, tuple[Parameter, Parameter]] = {}
    for here, there, turned in ((a, b, False), (b, a, True)):
        for wave in here.ripple:
            other = next((one for one in there.ripple if one.same(wave)), None)
            if (turned and other is not None) or (other is None and not sought):
                continue
            own, zero = (
                wave.parameter,
                replace(wave.parameter, value=0.0, low=0.0, high=(wave.high - wave.low) / 2.0),
            )
            pair = own, zero if other is None else other.parameter
            found[wave.label] = pair[::-1] if turned else pair
    return found


def _of_motor(name: str) -> str:
    """Return the name of a shared motor in the table of parameters, in place of a joint's name."""
    return f"motor of {name}"


def _alike(a: RubbingMotor, b: RubbingMotor) -> Iterator[tuple[str, Parameter, Parameter]]:
    """Yield the parameters of a motor that have the same meaning in both
    calibrations and intervals.
    """
    if a.law == b.law:
        yield from _both(a.parameters, b.parameters)


def _both(
    a: Mapping[str, Parameter], b: Mapping[str, Parameter]
) -> Iterator[tuple[str, Parameter, Parameter]]:
    """Yield the parameters that both have with intervals."""
    for key, p in a.items():
        if (q := b.get(key)) is not None and p.half_width is not None and q.half_width is not None:
            yield key, p, q


def _beside_law(
    a: JointCalibration, b: JointCalibration, key: str
) -> tuple[Parameter, Parameter] | None:
    """Return a parameter fitted with the law, in both calibrations.

    If one calibration has no difference between the directions, its difference is zero with
    the interval of the other.
    """
    p, q = a.gravity.get(key), b.gravity.get(key)
    if key in _DIRECTIONS and "none" in (a.directional, b.directional):
        known = p or q
        half = None if known is None else known.half_width
        if known is not None and half is not None and (p is None or q is None):
            none = replace(known, value=0.0, low=-half, high=half, repeat_deviation=None)
            return p or none, q or none
    return None if p is None or q is None else (p, q)


def _half_width(a: Parameter, b: Parameter, runs: tuple[int, int]) -> float:
    """Return the 95 % half width of the difference of two estimates, from the sides of the
    intervals that face each other.
    """
    low, high = sorted(tuple(float(end or 0.0) for end in (p.value, p.low, p.high)) for p in (a, b))
    return float(np.hypot(np.hypot(low[2] - low[0], high[0] - high[1]), _between_runs(a, b, runs)))


def _between_runs(a: Parameter, b: Parameter, runs: tuple[int, int]) -> float:
    """Return the 95 % half width that the deviation between runs adds to a difference; zero if
    the deviation is unknown.
    """
    known = [
        (one.repeat_deviation, n)
        for one, n in zip((a, b), runs, strict=True)
        if one.repeat_deviation is not None and n > 1
    ]
    freedom = sum(n - 1 for _, n in known)
    if not freedom:
        return 0.0
    pooled = np.sqrt(sum((n - 1) * deviation**2 for deviation, n in known) / freedom)
    return float(stdtrit(freedom, 0.975) * pooled * np.sqrt(1.0 / runs[0] + 1.0 / runs[1]))


def _curve_change(
    name: str, a: JointCalibration, b: JointCalibration, runs: tuple[int, int], level: float
) -> CurveChange | None:
    """Return friction at the speed and load where the difference is largest against its
    tolerance; None without overlap.
    """
    if (states := reference_states((a, b))) is None:
        return None
    w, loads = states.speeds, states.loads
    before, after = (
        joint.torque(w, load, states.temperature) for joint, load in zip((a, b), loads, strict=True)
    )
    variance = sum(
        _curve_variance(joint, other, w, load, runs)
        for joint, other, load in zip((a, b), (b, a), loads, strict=True)
    )
    width = np.sqrt(chdtri(max(1, len(a.names), len(b.names)), level))
    allowed = np.maximum(width * np.sqrt(variance), 1e-9 * np.abs(before))
    worst = int(np.argmax(np.abs(after - before) / allowed))
    load = (
        float(loads[0][worst])
        if (a.load != "none" or b.load != "none") and loads[0].ndim == 1
        else None
    )
    return CurveChange(
        name,
        a.parameters["coulomb"].unit,
        float(w[worst]),
        load if loads_agree(a, b) else None,
        float(before[worst]),
        float(after[worst]),
        float(allowed[worst]),
        float(np.sqrt(np.mean((after - before) ** 2) / np.mean(before**2))),
    )


def _curve_variance(
    joint: JointCalibration, other: JointCalibration, w: Array, load: Array, runs: tuple[int, int]
) -> Array:
    """Return the squared standard error of the curve, with half of the variance between runs."""
    if not joint.names:
        return np.zeros_like(w)
    spread = {}
    for name in joint.names:
        own = joint.parameters[name]
        rival = other.parameters.get(name, own) if same_law(joint, other) else own
        # half the variance for each curve
        between = _between_runs(own, rival, runs) / _NORMAL / np.sqrt(2.0)
        spread[name] = replace(own, std_error=float(np.hypot(own.std_error or 0.0, between)))
    return np.asarray(
        (replace(joint, parameters={**joint.parameters, **spread}).band(w, load) / joint.factor)
        ** 2
    )
