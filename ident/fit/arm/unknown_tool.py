r"""Identification of an unknown tool on the last link, from the even parts of all joints together.

Gravity torque is linear in the mass m of a tool and in its first moment m c. With the
regressor T of the model,
.. math:: (\tau_+ + \tau_-) / 2 = s_j\, [\tau_g(q) + T_j(q)\, (m, m c)] + o_j

for every joint j, with scale s_j and offset o_j. Four explanations of the even parts are compared
by cross-validation over postures: offsets alone, scales, a tool, a tool and scales. A tool is
claimed only if scales alone predict worse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import tool_frame
from stribeck.ident.arrays import Array, Groups, group_index
from stribeck.ident.fit.cluster_covariance import cluster_covariance
from stribeck.ident.fit.joint.gravity import SHARED, SHOWS, beats, held_out
from stribeck.ident.fit.noise import WHITE, Noise, estimate_noise
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import PER_LINK, point_mass, torque_regressor

MASS = "mass"
TOOL_PARAMETERS = (MASS, "moment_x", "moment_y", "moment_z")
LEAST_PLACES = 4  # least number of postures of a joint that takes part
_SAME_PLACE = 0.05  # rad or m; nearer postures count as the same
_UNSEEN = 1e-6  # of the greatest singular value: smaller singular values count as zero
_TURNS = 20  # Gauss-Newton steps; the model is almost linear


@dataclass(frozen=True)
class UnknownTool:
    """Result of the search for a tool that the arm file does not state.

    Attributes
    ----------
    status : str
        "not sought"; "none": scales alone predict as well or better, and a tool alone predicts
        worse; "possible": a tool alone predicts as well as scales; "found": a tool is identified
        too roughly to be used; "used": loads include the tool.
    parameters : mapping of str to Parameter
        `TOOL_PARAMETERS`: mass [kg] and first moment m c in the last link's frame
        [kg·m]; empty unless found.
    """

    status: str = "not sought"
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    @property
    def tool(self) -> Tool | None:
        """The tool that the loads include; None unless it is used."""
        if self.status != "used":
            return None
        mass, *moment = (float(self.parameters[name].value or 0.0) for name in TOOL_PARAMETERS)
        return Tool(mass, (moment[0] / mass, moment[1] / mass, moment[2] / mass))


@dataclass(frozen=True)
class EvenParts:
    """Even parts of one joint.

    Attributes
    ----------
    name : str
        Name of the joint.
    even, gravity, friction : ndarray, shape (N,)
        Even part of the torque, the model's gravity torque, odd part of the torque [N·m or N].
    tool : ndarray, shape (N, 4)
        Gravity torque per unit of `TOOL_PARAMETERS`.
    trip, place : ndarray of int, shape (N,)
        Index of the round trip, and of the posture of the other joints.
    prismatic : bool
        True for a prismatic joint.
    """

    name: str
    even: Array
    gravity: Array
    friction: Array
    tool: Array
    trip: Groups
    place: Groups
    prismatic: bool = False


@dataclass(frozen=True)
class ToolFit:
    """Fit of the even parts of all joints.

    Attributes
    ----------
    unknown : UnknownTool
        The tool.
    gravity : dict of str to dict of str to Parameter
        "scale" and "offset" of each joint if a tool is used; their intervals include
        the uncertainty of the tool.
    errors : dict of str to float
        Mean held-out error of each explanation: log(1 + sum of whitened squares) of a posture.
    missing : float
        Negative mass that fits best instead of a tool; the model's last
        link is then too heavy [kg].
    """

    unknown: UnknownTool = field(default_factory=UnknownTool)
    gravity: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    missing: float = 0.0


def tool_regressor(arm: ArmFile, mechanism: Mechanism, q: Array, dq: Array | None = None) -> Array:
    """Torque of a tool on the last link per unit of `TOOL_PARAMETERS` at constant speeds, (N, n,
    4) [N·m/kg and N·m/(kg·m)].

    A point mass away from the joint's origin also has a second moment, which causes centrifugal
    torque. Half the difference between point masses on opposite sides removes the part that is
    not linear in the first moment.
    """
    axes, origin = tool_frame(arm, mechanism)
    sides = [(point_mass(origin + side) - point_mass(origin - side)) / 2.0 for side in axes.T]
    last = slice(PER_LINK * (mechanism.n - 1), PER_LINK * mechanism.n)
    Y = torque_regressor(mechanism, q, dq)[..., last]
    return np.asarray(Y @ np.column_stack([point_mass(origin), *sides]))


def places(rows: pd.DataFrame, others: Array) -> Groups:
    """Index of the posture of each point, 0, 1, 2, ...: from the plan, or from the positions
    `others`, shape (N, n - 1).
    """
    if rows["posture"].nunique() > 1:
        return group_index((rows["run"].astype(str) + "#" + rows["posture"].astype(str)).to_numpy())
    if not others.shape[1]:
        return np.arange(len(others))
    return np.unique(np.round(others / _SAME_PLACE), axis=0, return_inverse=True)[1].ravel()


def seek_tool(
    arm: ArmFile, mechanism: Mechanism, points: pd.DataFrame, q: Array, dq: Array
) -> ToolFit:
    """Search for an unknown tool in the points of an arm.

    Parameters
    ----------
    arm : ArmFile
        The arm; a tool that the arm file states is part of the model.
    mechanism : Mechanism
        Model of the arm.
    points : DataFrame
        Points of all joints, see `round_trips`.
    q, dq : ndarray, shape (N, n)
        Positions and constant speeds of all joints at the points.
    """
    if points.empty:
        return ToolFit()
    regressor, parts = tool_regressor(arm, mechanism, q, dq), []
    for name, rows in points.reset_index(drop=True).groupby("joint", sort=False):
        j, own = mechanism.names.index(str(name)), rows.index.to_numpy()
        even, gravity, odd = (rows[key].to_numpy(dtype=float) for key in ("even", "gravity", "odd"))
        if np.median(odd) > 0.0:  # else the sign of the torque is wrong
            parts.append(
                EvenParts(
                    str(name),
                    even,
                    gravity,
                    odd,
                    regressor[own, j],
                    round_trips(rows),
                    places(rows, np.delete(q[own], j, axis=1)),
                    bool(mechanism.prismatic[j]),
                )
            )
    return find_tool(parts)


def find_tool(parts: Sequence[EvenParts]) -> ToolFit:
    """Search for an unknown tool in the even parts of joints that moved in several postures."""
    parts = [part for part in parts if part.place.max() + 1 >= LEAST_PLACES]
    if not parts:
        return ToolFit()
    data = _Stack.of(parts)
    basis = data.seen()
    if not basis.shape[1]:
        return ToolFit()
    nothing = basis[:, :0]
    shown, bare = data.shown(basis), data.shown(nothing)
    noise, none = data.noise(basis, shown), np.zeros_like(shown)
    ways = {
        "offsets": (nothing, none),
        "scales": (nothing, bare),
        "tool": (basis, none),
        "tool and scales": (basis, shown),
    }
    fits = {name: _fit(data, noise, *way) for name, way in ways.items()}
    held = {
        name: fit.held_out()
        for name, fit in fits.items()
        if name != "tool and scales" or fit.determined
    }
    errors = {name: float(error.mean()) for name, error in held.items()}
    rich = "tool and scales" if "tool and scales" in held else "tool"
    simple = "offsets" if not beats(held["scales"], held["offsets"]) else "scales"
    if not (beats(held[rich], held[simple]) or beats(held["tool"], held[simple])):
        possible = (
            simple == "scales"
            and beats(held["tool"], held["offsets"])
            and not beats(held["scales"], held["tool"])
        )
        return ToolFit(UnknownTool("possible" if possible else "none"), {}, errors)
    best = fits["tool"] if not beats(held[rich], held["tool"]) else fits[rich]
    parameters = best.tool_parameters()
    if rich == "tool":
        parameters = {name: _beside_scale(parameter) for name, parameter in parameters.items()}
    mass = parameters[MASS]
    if mass.value is not None and mass.value <= 0.0:
        return ToolFit(UnknownTool("none"), {}, errors, mass.value)
    used = all(parameter.verdict == "identified" for parameter in parameters.values())
    return ToolFit(
        UnknownTool("used" if used else "found", parameters),
        fits[rich].joint_parameters() if used else {},
        errors,
    )


def _beside_scale(parameter: Parameter) -> Parameter:
    """Return a parameter that assumes scales of 1 with verdict "weak" at best: the data
    cannot separate it from scales.
    """
    if parameter.value is None:
        return parameter
    return replace(
        parameter,
        verdict="weak" if parameter.verdict == "identified" else parameter.verdict,
        note="only if torque constants and model masses are right: torque scales of the joints "
        "have the same effect",
    )


@dataclass(frozen=True)
class _Stack:
    """Even parts of all joints, stacked in rows."""

    parts: Sequence[EvenParts]
    rows: tuple[slice, ...]
    member: Array  # (N, joints): which joint a row belongs to
    even: Array
    gravity: Array
    tool: Array
    place: Groups

    @classmethod
    def of(cls, parts: Sequence[EvenParts]) -> "_Stack":
        ends = np.cumsum([0, *(len(part.even) for part in parts)])
        rows = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        member = np.zeros((int(ends[-1]), len(parts)))
        for k, own in enumerate(rows):
            member[own, k] = 1.0
        place = group_index(
            np.concatenate([1000000 * k + part.place for k, part in enumerate(parts)])
        )
        even, gravity, tool = (
            np.concatenate([getattr(part, key) for part in parts])
            for key in ("even", "gravity", "tool")
        )
        return cls(parts, rows, member, even, gravity, tool, place)

    def seen(self) -> Array:
        """Basis of the observable tool parameters, shape (4, r): single parameters
        first, then combinations.
        """
        centred = self.tool - self.member @ (
            self.member.T @ self.tool / self.member.sum(axis=0)[:, None]
        )
        _, size, axes = np.linalg.svd(centred, full_matrices=False)
        row = axes[size > _UNSEEN * max(float(size[0]), 1e-12)] if size[0] > 1e-9 else axes[:0]
        alone = np.linalg.norm(row, axis=0) > 1.0 - 1e-6
        rest = row.copy()
        rest[:, alone] = 0.0
        _, size, axes = np.linalg.svd(rest, full_matrices=False)
        return np.column_stack([np.eye(4)[:, alone], axes[size > 1e-3].T])

    def whiten(self, noise: Sequence[Noise], values: Array) -> Array:
        """Return rows whitened to noise of unit variance."""
        return np.concatenate(
            [
                model.whiten(values[own], part.trip)
                for model, own, part in zip(noise, self.rows, self.parts, strict=True)
            ]
        )

    def shown(self, basis: Array) -> np.ndarray:
        """Mask of joints whose gravity torque, tool included, varies by clearly more
        than the residual scatters.
        """
        fit = _fit(self, [WHITE] * len(self.parts), basis, np.zeros(len(self.parts), dtype=bool))
        return np.array(
            [
                np.ptp(fit.rigid[own]) > SHOWS * max(float(np.std(fit.residual[own])), 1e-12)
                for own in self.rows
            ]
        )

    def noise(self, basis: Array, shown: np.ndarray) -> list[Noise]:
        """Noise model of each joint, from the residual of the richest explanation."""
        noise = [WHITE] * len(self.parts)
        for _ in range(3):
            residual = _fit(self, noise, basis, shown).residual
            noise = [
                estimate_noise(residual[own], part.friction, part.trip, 2)
                for own, part in zip(self.rows, self.parts, strict=True)
            ]
        return noise


@dataclass(frozen=True)
class _Fit:
    """Fit of one explanation: tool in coordinates of the basis, scales
    and offsets of the joints.
    """

    data: _Stack
    noise: Sequence[Noise]
    basis: Array
    scaled: np.ndarray
    tool: Array
    scale: Array
    offset: Array

    @property
    def residual(self) -> Array:
        """Even parts minus prediction."""
        member = self.data.member
        return np.asarray(
            self.data.even - (member @ self.scale) * self.rigid - member @ self.offset
        )

    @property
    def rigid(self) -> Array:
        """Gravity torque, tool included."""
        return np.asarray(self.data.gravity + self.data.tool @ self.basis @ self.tool)

    @property
    def jacobian(self) -> Array:
        """Jacobian of the prediction, with columns for tool, scales and offsets."""
        member = self.data.member
        return np.column_stack(
            [
                (member @ self.scale)[:, None] * (self.data.tool @ self.basis),
                member[:, self.scaled] * self.rigid[:, None],
                member,
            ]
        )

    @property
    def white(self) -> tuple[Array, Array]:
        """Whitened Jacobian and residual."""
        return self.data.whiten(self.noise, self.jacobian), self.data.whiten(
            self.noise, self.residual
        )

    @property
    def determined(self) -> bool:
        """True if the data determine all parameters of the explanation."""
        J, _ = self.white
        return bool(np.linalg.matrix_rank(J / np.linalg.norm(J, axis=0), 1e-8) == J.shape[1])

    def held_out(self) -> Array:
        """Error of each posture, predicted by a fit without this posture."""
        return held_out(*self.white, self.data.place)

    def _intervals(self) -> tuple[Array, Array]:
        """Standard errors and half widths of all parameters."""
        found = cluster_covariance(*self.white, self.data.place)
        return found.std_error, found.half_width()

    def tool_parameters(self) -> dict[str, Parameter]:
        """Mass and first moment; notes name the reason for parameters that are not identifiable."""
        error, half = self._intervals()
        theta, out = self.basis @ self.tool, {}
        for k, name in enumerate(TOOL_PARAMETERS):
            unit_ = "kg" if name == MASS else "kg·m"
            own = np.flatnonzero(self.basis[k])
            if len(own) != 1 or np.count_nonzero(self.basis[:, own[0]]) != 1:
                out[name] = Parameter(
                    None, None, None, None, unit_, "unidentifiable", self._unseen(k)
                )
                continue
            value, width = float(theta[k]), float(half[own[0]])
            low, high = value - width, value + width
            word = (
                verdict(value, low, high)
                if name == MASS
                else verdict(self._matters(k), -width, width)
            )
            note = (
                (
                    "only if the model's own masses are right: a common factor on all masses and "
                    "all torque constants cannot be detected"
                )
                if name == MASS
                else ""
            )
            out[name] = Parameter(value, float(error[own[0]]), low, high, unit_, word, note)
        return out

    def _matters(self, k: int) -> float:
        """Scale of a relevant first moment: its torque equals the least friction of the
        joints that feel it [kg·m].

        The interval is judged against this scale, because the first moment itself may be zero.
        """
        levels = [
            np.median(part.friction) / np.abs(part.tool[:, k]).max()
            for part in self.data.parts
            if np.abs(part.tool[:, k]).max() > 1e-9
        ]
        return float(min(levels))

    def _unseen(self, k: int) -> str:
        with_ = [
            TOOL_PARAMETERS[i]
            for i in np.flatnonzero(np.abs(self.basis @ self.basis[k]) > 1e-3)
            if i != k
        ]
        return (
            f"identified only in combination with {' and '.join(with_)}; measure other joints or "
            "more postures to separate them"
            if with_
            else "no measured joint feels it; measure a joint with an axis in another direction"
        )

    def joint_parameters(self) -> dict[str, dict[str, Parameter]]:
        """Scale (if fitted) and offset of every joint."""
        error, half = self._intervals()
        first = self.basis.shape[1]
        at = {int(k): first + i for i, k in enumerate(np.flatnonzero(self.scaled))}
        out = {}
        for k, part in enumerate(self.data.parts):
            found = {}
            for name, value, column in (
                ("scale", self.scale[k], at.get(k)),
                ("offset", self.offset[k], first + len(at) + k),
            ):
                if column is None:
                    continue
                width = float(half[column])
                word = (
                    verdict(float(value), value - width, value + width)
                    if name == "scale"
                    else verdict(float(np.median(part.friction)), -width, width)
                )
                low, high = float(value) - width, float(value) + width
                found[name] = Parameter(
                    float(value),
                    float(error[column]),
                    low,
                    high,
                    unit(name, part.prismatic),
                    word,
                    SHARED if name == "offset" and low * high > 0.0 else "",
                )
            out[part.name] = found
        return out


def _fit(data: _Stack, noise: Sequence[Noise], basis: Array, scaled: np.ndarray) -> _Fit:
    """Fit an explanation by Gauss-Newton, starting without tool and with scales of 1."""
    joints, r = len(data.parts), basis.shape[1]
    fit = _Fit(data, noise, basis, scaled, np.zeros(r), np.ones(joints), np.zeros(joints))
    for _ in range(_TURNS):
        J, e = fit.white
        size = np.linalg.norm(J, axis=0)
        size[size == 0.0] = 1.0
        step = np.linalg.lstsq(J / size, e, rcond=1e-10)[0] / size
        scale = fit.scale.copy()
        scale[scaled] += step[r : len(step) - joints]
        fit = _Fit(
            data,
            noise,
            basis,
            scaled,
            fit.tool + step[:r],
            scale,
            fit.offset + step[len(step) - joints :],
        )
        if np.abs(J @ step).max() < 1e-9 * max(1.0, float(np.abs(e).max())):
            break
    return fit
