"""What a run can give: which fit it is for, and what it cannot show and why."""

from dataclasses import dataclass

import numpy as np

from stribeck.ident.fit.law_fit import LEAST_ROUND_TRIPS
from stribeck.ident.log.health.points_health import check_scale, opposing
from stribeck.ident.log.motion.position_cutoff import BANDWIDTH
from stribeck.ident.log.round_trips import reduce_run
from stribeck.ident.log.run import Run
from stribeck.ident.log.signal_checks import check_time, dead_torques, unrecorded_torques
from stribeck.ident.log.strokes import REST_TOLERANCE
from stribeck.ident.model.mechanism import Mechanism

_LEAST_SPEEDS = 3       # from which viscous friction is more than a line through two points
_LEAST_WAY = 0.02       # part of a joint's range that a way between reversals has, or it is ripple
_SAME = 1.1             # ratio within which speeds are one


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
    short = [name for name in moves if trips.get(name, 0) < LEAST_ROUND_TRIPS]
    said = []
    if still:
        said.append(f"{', '.join(still)}: no motion, so no friction")
    if dead:
        said.append(f"{', '.join(dead)}: the torque never changes though the joint moves, so it was not recorded; not calibrated")
    if not moves:
        return Outlook(None, (*said, "no joint moves"))
    for name in (name for name in moves if name not in short):
        rows = points[points["joint"] == name]
        against = opposing(rows)
        said += [f"{name}: {against}"] if against else [finding.text for finding in check_scale(rows)]
    general = short == moves
    if general and (stuck := [name for name in moves if _passes(run, name) < LEAST_ROUND_TRIPS]) == moves:
        said.append(f"{', '.join(stuck)}: fewer than {LEAST_ROUND_TRIPS} ways between reversals, from which no fit tells "
                    "friction from gravity and inertia; record speeds there and back, or read steady speeds and torques from the "
                    "log and give them to stribeck fit --table FILE")
        return Outlook(None, tuple(said))
    if short:
        few = (f"{', '.join(short)}: fewer than {LEAST_ROUND_TRIPS} round trips at constant speed, so half differences are not "
               "to be had")
        said.append(f"{few}; in general motion friction rests on the model's masses" if general else
                    f"{few}: not calibrated; --motion model would take them in general motion")
    if general:
        said += _rate(run)
        if "dq" not in run.signals or not np.isfinite(run.signals["dq"]).all():
            said.append(f"velocity is not in the log: it is differentiated from positions, low-passed at {5 * BANDWIDTH:.0f} Hz, "
                        "or lower where they are coarse")
    else:
        speeds = {name: _speeds(points[points["joint"] == name]["speed"].to_numpy(dtype=float)) for name in trips}
        alike = [name for name in moves if name not in short and speeds[name] < _LEAST_SPEEDS]
        if alike:
            said.append(f"{', '.join(alike)}: fewer than {_LEAST_SPEEDS} speeds, so Coulomb, viscous and Stribeck friction "
                        "cannot be told apart")
    if "temperature" not in run.signals or np.isnan(run.signals["temperature"]).all():
        said.append("temperature is not in the log: whether the arm was warm is not known")
    return Outlook(" --motion model" if general else "", tuple(said))


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


def _speeds(speed: np.ndarray) -> int:
    """Speeds that differ by more than a tenth."""
    ordered = np.sort(speed)
    return 1 + int((ordered[1:] > _SAME * ordered[:-1]).sum()) if len(speed) else 0
