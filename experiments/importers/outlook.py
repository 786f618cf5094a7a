"""Suitable fit for an imported run, and sentences about missing data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stribeck.experiments.importers.columns import CURRENTS
from stribeck.ident.fit.law_fit import LEAST_PASSES, LEAST_ROUND_TRIPS, least_speeds, speed_classes
from stribeck.ident.log.health.points_health import check_scale, opposing
from stribeck.ident.log.motion.position_cutoff import BANDWIDTH
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_time, dead_torques, unrecorded_torques
from stribeck.ident.log.strokes import REST_TOLERANCE
from stribeck.ident.model.mechanism import Mechanism

_LEAST_WAY = 0.02  # part of a joint's range; a shorter way between reversals counts as ripple


@dataclass(frozen=True)
class Outlook:
    """Options of the suitable fit, None if no fit is possible, and sentences about missing data."""

    options: str | None
    sentences: tuple[str, ...]


def outlook(run: Run, mechanism: Mechanism) -> Outlook:
    """Choose the fit for a run: round trips if any joint has enough of them, otherwise
    general motion with the model.

    Parameters
    ----------
    run : Run
        Run with signals q and tau, and with dq and temperature if they were recorded.
    mechanism : Mechanism
        Model of the arm.
    """
    points = reduce_run(run, mechanism).points
    moves = [
        name
        for name, way in zip(run.names, np.ptp(run.signals["q"], axis=0), strict=True)
        if way > 2.0 * REST_TOLERANCE
    ]
    still, without = [name for name in run.names if name not in moves], unrecorded_torques(run)
    dead = [name for name in dead_torques(run) if name not in without]
    moves = [name for name in moves if name not in (*dead, *without)]
    trips = {
        str(name): rows["segment"].nunique() for name, rows in points.groupby("joint", sort=False)
    }
    few = [name for name in moves if trips.get(name, 0) < LEAST_ROUND_TRIPS]
    alike = [
        name
        for name in moves
        if name not in few and not _enough_speeds(points[points["joint"] == name])
    ]
    short = [name for name in moves if name in (*few, *alike)]
    said = []
    if still:
        said.append(f"{', '.join(still)}: no motion in this log; not calibrated")
    if dead:
        said.append(
            f"{', '.join(dead)}: the torque is constant although the joint moves, so it was not "
            "recorded; not calibrated"
        )
    if not moves:
        return Outlook(None, (*said, "no joint moves"))
    turned = {
        name: against
        for name in moves
        if name not in short and (against := opposing(points[points["joint"] == name]))
    }
    said += [f"{name}: {against}" for name, against in turned.items()]
    said += [
        finding.text
        for name in moves
        if name not in short and name not in turned
        for finding in check_scale(points[points["joint"] == name])
    ]
    if turned and not set(moves) - set(turned) - set(short):
        return Outlook(None, (*said, _other_sign(run, list(turned))))
    general = short == moves
    if (
        general
        and (stuck := [name for name in moves if _passes(run, name) < LEAST_PASSES]) == moves
    ):
        said.append(
            f"{', '.join(stuck)}: fewer than {LEAST_PASSES} movements between reversals; no fit "
            "can separate friction from gravity and inertia. Record each speed in both "
            "directions, or write steady speeds and torques to a table and run stribeck fit "
            "--table FILE"
        )
        return Outlook(None, tuple(said))
    for names, lack in (
        (
            few,
            f"fewer than {LEAST_ROUND_TRIPS} round trips at constant speed; too few to separate "
            "friction",
        ),
        (
            alike,
            f"round trips at fewer than {least_speeds()} speeds; too few to separate Coulomb and "
            "viscous friction",
        ),
    ):
        if names:
            then = (
                "a fit of general motion (--motion model) relies on the model's masses, or fits "
                "them, too"
                if general
                else "not calibrated; --motion model fits them from general motion"
            )
            said.append(f"{', '.join(names)}: {lack}; {then}")
    if general:
        said += _rate(run)
        if "dq" not in run.signals or not np.isfinite(run.signals["dq"]).all():
            said.append(
                "the log has no velocity: it is computed from the positions, low-passed at "
                f"{5 * BANDWIDTH:.0f} Hz (lower for coarse encoders)"
            )
    if "temperature" not in run.signals or np.isnan(run.signals["temperature"]).all():
        said.append("the log has no temperature: the fit cannot know whether the arm was warm")
    return Outlook(" --motion model" if general else "", tuple(said))


def _other_sign(run: Run, names: list[str]) -> str:
    """Advice for a log in which the torques of all usable joints have the wrong sign:
    options of a second import.
    """
    columns = (run.record.get("import") or {}).get("columns", {})
    entries = [(name, columns.get(f"tau.{name}", {})) for name in names]
    if any(entry.get("unit") in CURRENTS or "column" not in entry for _, entry in entries):
        return (
            "the torque has the wrong sign; reverse the sign of the current in the log, or set "
            "direction = -1 in the arm file if the positions are reversed, too"
        )
    again = " ".join(
        f'--column "tau.{name}={entry["column"]}[{-entry["factor"]:g}]"' for name, entry in entries
    )
    return f"the torque has the wrong sign; import the log again with {again}"


def _passes(run: Run, name: str) -> int:
    """Number of movements between two reversals; shorter ones than `_LEAST_WAY` of the
    joint's range do not count.
    """
    q = run.signals["q"][:, run.names.index(name)]
    least, ways, end, sign = _LEAST_WAY * float(np.ptp(q)), 0, float(q[0]), 0
    for place in q.tolist():
        if sign * (place - end) > 0.0:
            end = place
        elif abs(place - end) > least:
            ways, end, sign = ways + 1, place, 1 if place > end else -1
    return ways


def _rate(run: Run) -> list[str]:
    rate, _ = check_time(run.t, str(run.path))
    if rate >= 5.0 * BANDWIDTH:
        return []
    return [
        f"a sampling rate of {rate:.3g} Hz is low for general motion, which is filtered at "
        f"{BANDWIDTH:.0f} Hz: torque of quick accelerations looks like friction"
    ]


def _enough_speeds(points: pd.DataFrame) -> bool:
    """Whether a joint has round trips at enough speeds for the law with the fewest parameters."""
    speeds = points["speed"].to_numpy(dtype=float)
    return int(speed_classes(speeds).max()) + 1 >= least_speeds()
