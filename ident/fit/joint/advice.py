"""Advice for parameters that the data identify badly: which further measurements
would narrow their intervals.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.laws.parameter import IDENTIFIED, Parameter
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism

_POSTURES = 200  # most postures that the search for a payload evaluates
VARIED = 1.0 / 3.0  # a load is excited if it spans more than this part of its greatest value
# rad/s and m/s (sliding): data above this speed show no Stribeck effect
_SLOW = {False: 0.05, True: 0.01}
_FALLEN = 0.5  # part of the Stribeck velocity below which the level of slow sliding shows
# viscous part of friction at the fastest speed, below which the advice is to measure faster
_SMALL = 0.2
# masses of payloads that are tried, as parts of the mass that the joint carries,
_CARRIED = (0.1, 0.2, 0.5)
_OFFSETS = np.arange(0.05, 0.51, 0.05)  # and their distances from the last axis, m
# half width over value above which more round trips are not advised: 44 times as many are needed
_LOST = 1.0
_NOTHING = 2.0  # half width over value from which the interval includes zero


def advised(
    fit: FitResult,
    speed: Array,
    load: Array | None,
    trips: int,
    prismatic: bool = False,
    auto: bool = True,
    word: str = "round trips",
) -> FitResult:
    """Return the fit with advice in the notes of weak and unidentifiable parameters.

    Parameters
    ----------
    fit : FitResult
        The fit.
    speed : ndarray, shape (N,)
        Speeds of the points [rad/s or m/s].
    load : ndarray, shape (N,), optional
        Load that the coefficients multiply.
    trips : int
        Number of round trips.
    prismatic : bool
        Whether the joint slides.
    auto : bool
        Whether laws competed; a named law without a Stribeck effect needs no advice about it.
    word : str
        Word for round trips in the advice.
    """
    parameters = dict(fit.parameters)
    w = "m/s" if prismatic else "rad/s"
    for name, entry in fit.parameters.items():
        half = entry.half_width
        if (
            entry.note
            or not entry.value
            or half is None
            or entry.verdict not in ("weak", "unidentifiable")
        ):
            continue
        relative = half / abs(entry.value)
        said = [more(relative, trips, word), _best(name, fit, speed, load, relative, w)]
        parameters[name] = replace(entry, note="; ".join(part for part in said if part))
    slow = _SLOW[prismatic]
    if auto and "static" not in parameters and float(speed.min()) > slow:
        parameters["static"] = Parameter(
            None,
            None,
            None,
            None,
            parameters["coulomb"].unit,
            "unidentifiable",
            f"no speed below {slow:g} {w}, the slowest is {speed.min():.2g}: the data cannot show "
            f"whether friction rises towards rest; add {word} from {0.2 * slow:.2g} {w} upwards",
        )
    return replace(fit, parameters=parameters)


def more(relative: float, trips: int, word: str = "round trips") -> str:
    """Return how many more round trips make a parameter identified; the half width
    falls with their square root.
    """
    further = int(np.ceil(trips * ((relative / IDENTIFIED) ** 2 - 1.0)))
    known = (
        f"known within {100.0 * relative:.0f} %"
        if relative < _NOTHING
        else "its interval includes zero"
    )
    if relative > _LOST:
        return f"{known}; more {word} like these {trips} would hardly narrow the interval"
    return (
        (
            f"{known}; about {further} {word} in addition to these {trips} would narrow the "
            f"interval to {100.0 * IDENTIFIED:.0f} %"
        )
        if further > 0
        else ""
    )


def _best(
    name: str, fit: FitResult, speed: Array, load: Array | None, relative: float, w: str
) -> str:
    """Return which other measurement narrows the interval of a parameter better than
    more of the same round trips.
    """
    if name.endswith("_coefficient") and load is not None:
        times = relative / IDENTIFIED
        return f"the load spans {load.min():.3g} to {load.max():.3g}: " + (
            f"postures over {times:.1f} times this span would narrow the interval as much"
            if relative <= _LOST
            else "the effect of the load hardly shows over this span"
        )
    if (
        name in ("static", "stribeck_velocity", "stribeck_exponent")
        and "stribeck_velocity" in fit.values
    ):
        wanted = _FALLEN * fit.values["stribeck_velocity"]
        if speed.min() > wanted:
            return (
                f"no speed below {wanted:.2g} {w}, the slowest is {speed.min():.2g}: slower "
                "speeds narrow the interval most"
            )
    if name == "viscous":
        fastest = float(speed.max())
        friction = float(
            fit.predict(
                np.array([fastest]),
                None if load is None else np.median(load, axis=0, keepdims=True),
            )[0]
        )
        if fit.values["viscous"] * fastest < _SMALL * friction:
            return (
                f"at the fastest speed, {fastest:.2g} {w}, viscous friction is "
                f"{100.0 * fit.values['viscous'] * fastest / friction:.0f} % of friction: faster "
                "speeds narrow the interval most"
            )
    return ""


def vary_load(mechanism: Mechanism, joint: int, load: str, q: Array, least: float = 0.0) -> str:
    """Return advice how to vary a joint's load by `VARIED` of its greatest value, and by `least`,
    in postures q, shape (N, n).

    The advice is a payload on the last link, at a distance from the axis of its
    joint, found with the model.
    """
    if mechanism.chain is not None:
        return (
            "other postures may vary the load: widen the range of the driven joints "
            "(joints.NAME.position), or lower workspace.singular_margin"
        )
    last, carried, q = (
        mechanism.names[-1],
        float(mechanism.carries[joint] @ mechanism.mass),
        q[:: -(-len(q) // _POSTURES)],
    )
    # two directions square to the last axis
    across = np.linalg.svd(mechanism.axis[-1][None])[2][1:]
    masses = [float(f"{part * carried:.1g}") for part in _CARRIED]
    for mass, offset, direction in product(masses, _OFFSETS, across):
        values = joint_loads(_with_mass(mechanism, mass, offset * direction), q).get(load)[:, joint]
        if np.ptp(values) > max(VARIED * values.max(), least):
            return (
                f"a payload of {mass:g} kg, {offset:.2g} m from the axis of {last}, would vary the "
                "load by a third in these postures"
            )
    return (
        f"no payload up to {masses[-1]:g} kg within {_OFFSETS[-1]:g} m of the axis of {last} would "
        "vary the load by a third in these postures; tilting the base could"
    )


def _with_mass(mechanism: Mechanism, mass: float, place: Array) -> Mechanism:
    """Return the mechanism with a point mass on its last link; `place` is from the joint's
    origin, in base axes at q = 0.
    """
    masses, com = mechanism.mass.copy(), mechanism.com.copy()
    masses[-1] += mass
    com[-1] = (mechanism.mass[-1] * com[-1] + mass * place) / masses[-1]
    return replace(mechanism, mass=masses, com=com)
