"""What a run can give: which fit it is for, and what it cannot show and why."""

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

_LEAST_WAY = 0.02       # part of a joint's range that a way between reversals has, or it is ripple


@dataclass(frozen=True)
class Outlook:
    """Options of the fit that a run is for, and sentences about what it lacks; `options` is None where nothing can be fitted."""

    options: str | None
    sentences: tuple[str, ...]


def outlook(run: Run, mechanism: Mechanism) -> Outlook:
    """Round trips where any joint has them, else general motion with the model's rigid-body torque.

    Parameters
    ----------
    run : Run
        With signals q, tau, dq and temperature as far as there are any.
    mechanism : Mechanism
        Its arm.
    """
    points = reduce_run(run, mechanism).points
    moves = [name for name, way in zip(run.names, np.ptp(run.signals["q"], axis=0), strict=True) if way > 2.0 * REST_TOLERANCE]
    still, without = [name for name in run.names if name not in moves], unrecorded_torques(run)
    dead = [name for name in dead_torques(run) if name not in without]
    moves = [name for name in moves if name not in (*dead, *without)]
    trips = {str(name): rows["segment"].nunique() for name, rows in points.groupby("joint", sort=False)}
    few = [name for name in moves if trips.get(name, 0) < LEAST_ROUND_TRIPS]
    alike = [name for name in moves if name not in few and not _enough_speeds(points[points["joint"] == name])]
    short = [name for name in moves if name in (*few, *alike)]
    said = []
    if still:
        said.append(f"{', '.join(still)}: no motion, so no friction")
    if dead:
        said.append(f"{', '.join(dead)}: the torque never changes though the joint moves, so it was not recorded; not calibrated")
    if not moves:
        return Outlook(None, (*said, "no joint moves"))
    turned = {name: against for name in moves if name not in short and (against := opposing(points[points["joint"] == name]))}
    said += [f"{name}: {against}" for name, against in turned.items()]
    said += [finding.text for name in moves if name not in short and name not in turned
             for finding in check_scale(points[points["joint"] == name])]
    if turned and not set(moves) - set(turned) - set(short):
        return Outlook(None, (*said, _other_sign(run, list(turned))))
    general = short == moves
    if general and (stuck := [name for name in moves if _passes(run, name) < LEAST_PASSES]) == moves:
        said.append(f"{', '.join(stuck)}: fewer than {LEAST_PASSES} ways between reversals, from which no fit tells "
                    "friction from gravity and inertia; record speeds there and back, or read steady speeds and torques from the "
                    "log and give them to stribeck fit --table FILE")
        return Outlook(None, tuple(said))
    for names, lack in ((few, f"fewer than {LEAST_ROUND_TRIPS} round trips at constant speed, so half differences are not to be "
                              "had"),
                        (alike, f"round trips at fewer than {least_speeds()} speeds, which do not tell Coulomb from viscous "
                                "friction")):
        if names:
            then = ("in general motion friction rests on the model's masses" if general else
                    "not calibrated; --motion model would take them in general motion")
            said.append(f"{', '.join(names)}: {lack}; {then}")
    if general:
        said += _rate(run)
        if "dq" not in run.signals or not np.isfinite(run.signals["dq"]).all():
            said.append(f"velocity is not in the log: it is differentiated from positions, low-passed at {5 * BANDWIDTH:.0f} Hz, "
                        "or lower where they are coarse")
    if "temperature" not in run.signals or np.isnan(run.signals["temperature"]).all():
        said.append("temperature is not in the log: whether the arm was warm is not known")
    return Outlook(" --motion model" if general else "", tuple(said))


def _other_sign(run: Run, names: list[str]) -> str:
    """What to import again, where the torque of no joint that could be calibrated opposes its motion as friction does."""
    columns = (run.record.get("import") or {}).get("columns", {})
    entries = [(name, columns.get(f"tau.{name}", {})) for name in names]
    if any(entry.get("unit") in CURRENTS or "column" not in entry for _, entry in entries):
        return ("the torque has the other sign; turn that of the current in the log, or set direction = -1 in the arm file if "
                "positions are reversed too")
    again = " ".join(f'--column "tau.{name}={entry["column"]}[{-entry["factor"]:g}]"' for name, entry in entries)
    return f"the torque has the other sign; import the log again with {again}"


def _passes(run: Run, name: str) -> int:
    """Ways of a joint between two reversals, each of them worth a part of its whole motion."""
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
    return [f"{rate:.3g} Hz is slow for general motion, which is filtered at {BANDWIDTH:.0f} Hz: torque of quick accelerations "
            "is taken for friction"]


def _enough_speeds(points: pd.DataFrame) -> bool:
    """Whether round trips of a joint have as many speeds as the law of fewest parameters needs."""
    speeds = points["speed"].to_numpy(dtype=float)
    return int(speed_classes(speeds).max()) + 1 >= least_speeds()
