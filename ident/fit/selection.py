"""Which law and load: candidates compete on what was left out of their fit; the simpler wins ties.

Left out are all round trips of one speed at a time, so that a curve has to predict speeds that it has not seen. At the slowest
and the fastest speed, beyond which no law needs to reach, single round trips are left out; so they are everywhere in general
motion, whose passes have no speed of their own.

A claim passes three gates, each with thresholds of its own:

1. An effect that the fit itself does not show is dismissed: a Stribeck effect without a fall of friction with speed (`FALL`), a
   load whose part of friction is negligible (`_MATTERS`).
2. Of the others the simplest wins that no candidate beats by `CLAIM` standard errors of the held-out error; by `RIVAL` where
   their loads differ.
3. What a richer law could not claim still counts as possible: intervals widen to hold it, at a price for its further
   parameters (`_NORMAL`) and with Stribeck velocities of low speed only (`_LOW`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.held_out import blocks_of_trips, held_out_errors, speed_of_trips
from stribeck.ident.fit.law_fit import LEAST_ROUND_TRIPS, Best, best_of, speed_classes, supports, with_intervals
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import law_named, laws_on_offer
from stribeck.ident.laws.load_components import load_part
from stribeck.ident.laws.parameter import Parameter, verdict

CLAIM = 0.85            # standard errors by which a richer law must win; balances claims missed and false claims
RIVAL = 2.0             # the same for a load, of which several compete, and for what is rarer: a tool, directions that differ
ORDER = ("none", "normal", "torque", "bending", "components", "load")     # which load wins an exact tie


@dataclass(frozen=True)
class Candidate:
    """One contender: law, load, its held-out error [N·m], and why it was dismissed, if it was; how directions differ in it."""

    law: str
    load: str
    held_out_rmse: float
    parameters: int
    dismissed: str = ""
    directional: str = "none"


@dataclass(frozen=True)
class Selection:
    """The chosen fit and the table of all candidates."""

    chosen: FitResult
    candidates: tuple[Candidate, ...]


def select(data: FitPoints, loads: Mapping[str, Array | None], laws: tuple[str, ...] = (),
           directional: Mapping[str, Mapping[str, Array]] | None = None, components: tuple[str, ...] = ()) -> Selection:
    """Let laws, loads and differences between the directions compete for the points of one joint.

    Parameters
    ----------
    data : FitPoints
        Points; its own `load` is ignored.
    loads : mapping of str to ndarray or None
        Loads on offer by name; "none" is None, "components" has a column for each.
    laws : tuple of str
        Laws on offer; default those that compete where none is named.
    directional : mapping of str to mapping of str to ndarray, optional
        Differences between the directions on offer: name -> their columns, as in `FitPoints.nuisance`. Default: "none".
    components : tuple of str
        What the columns of the load "components" are.

    Returns
    -------
    Selection

    Raises
    ------
    FitError
        If no candidate has enough round trips and speeds.
    """
    if data.groups < LEAST_ROUND_TRIPS:
        raise FitError(f"{data.groups} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    ways, laws = directional or {"none": {}}, laws or laws_on_offer()
    offered = [(law_named(law), load, way) for law in laws for load in loads for way in ways
               if supports(data, law_named(law)) and (load == "none" or law_named(law).with_load)]
    if not offered:
        speeds = int(speed_classes(data.w).max()) + 1
        raise FitError(f"{speeds} different speed(s) are too few for the law(s) {', '.join(laws)}")
    parts = {load: components if load == "components" else () for load in loads}
    count = [len(law.parameters(load != "none", parts[load])) + len(ways[way]) for law, load, way in offered]
    order = sorted(range(len(offered)), key=lambda k: (count[k], ORDER.index(offered[k][1])))
    offered = [offered[k] for k in order]
    # the same points for every candidate, with the load and the directions that it takes; fits see them condensed
    whole = {(load, way): replace(data, load=loads[load], components=parts[load], nuisance={**data.nuisance, **ways[way]})
             for load in loads for way in ways}
    condensed = {key: own.condensed() for key, own in whole.items()}
    datas = [condensed[load, way] for _, load, way in offered]
    fits = [best_of(own, law) for own, (law, _, _) in zip(datas, offered, strict=True)]
    noise = min(fits, key=lambda fit: fit.rmse).noise           # one noise model, so that errors compare
    speed = speed_of_trips(datas[0])
    errors = [held_out_errors(own, law, noise, fit.values, blocks_of_trips(speed))
              for own, (law, _, _), fit in zip(datas, offered, fits, strict=True)]
    plain = any(not law.knee for law, _, _ in offered)
    dismissed = [(_no_stribeck(fit) if plain else "") or (_no_load(fit) if "none" in loads else "") for fit in fits]
    k = _simplest_of_the_best([error[0] for error in errors], dismissed, [load for _, load, _ in offered], speed)
    # intervals of the winner: what richer laws with the same load and directions allow is in them
    _, load, way = offered[k]
    rivals = [fit for fit, (_, *beside) in zip(fits, offered, strict=True)
              if beside == [load, way] and set(fits[k].values) < set(fit.values)]
    fit = _widened_by_rivals(with_intervals(fits[k], load), fits[k], rivals)
    # other loads for the same law and directions that the winner does not beat, with the Coulomb friction each gives
    alike = {offered[i][1]: fits[i].values["coulomb"] for i in range(len(offered))
             if (offered[i][0], offered[i][2]) == (offered[k][0], way) and offered[i][1] not in (load, "none", "components")
             and not dismissed[i] and not _beats(errors[k][0], errors[i][0], speed, RIVAL)}
    fit = _noting_other_loads(fit, load, alike)
    chosen = replace(fit.of_points(whole[load, way]), held_out_rmse=errors[k][1], directional=way)
    table = tuple(Candidate(law.name, load, error[1], count[index], reason, way)
                  for index, (law, load, way), error, reason in zip(order, offered, errors, dismissed, strict=True))
    return Selection(chosen, table)


def _widened_by_rivals(fit: FitResult, chosen: Best, rivals: list[Best]) -> FitResult:
    """Intervals that also hold what richer laws allow which fit as well, though they may not be claimed.

    Else an effect too small to be claimed would be a bias that no interval holds.
    """
    parameters = dict(fit.parameters)
    for rival in rivals:
        for name, (low, high) in _rival_ends(parameters, chosen, rival, fit.half_factor).items():
            mine = parameters[name]
            assert mine.value is not None
            parameters[name] = replace(mine, low=low, high=high, verdict=verdict(mine.value, low, high),
                                       note=f"the law {rival.whole.law.name} fits as well, and with it {low:.4g} to {high:.4g} "
                                            "are possible")
    return replace(fit, parameters=parameters)


def _noting_other_loads(fit: FitResult, load: str, alike: Mapping[str, float]) -> FitResult:
    """A note where another load predicts as well, by which Coulomb friction without load is another."""
    coulomb = fit.parameters["coulomb"]
    if load in ("none", "components") or coulomb.note or coulomb.low is None or coulomb.high is None:
        return fit
    apart = [f"the {other} load fits as well, with {value:.4g} for coulomb" for other, value in alike.items()
             if not coulomb.low <= value <= coulomb.high]
    if not apart:
        return fit
    note = f"{'; '.join(apart)}; within the loads that were met both give the same friction"
    return replace(fit, parameters={**fit.parameters, "coulomb": replace(coulomb, note=note)})


_LOW = 0.25             # of the fastest speed: a Stribeck velocity above it is rather curvature of the viscous part
_NORMAL = 1.96          # half width of intervals of many round trips, in standard errors


def _rival_ends(parameters: Mapping[str, Parameter], chosen: Best, rival: Best, factor: float) -> dict[str, tuple[float, float]]:
    """Intervals of linear parameters that become wider where the misfit is the least of both laws.

    What a rival has more counts 2 log(log G) for each parameter (Hannan and Quinn, J. R. Stat. Soc. B 41 (1979) 190), as far as
    intervals of few round trips reach beyond those of many. Its Stribeck velocities are those of a fall at low speed.
    """
    plain, rich = chosen.whole.solve(rival.noise), rival.whole.solve(rival.noise)
    best, more = int(np.argmin(plain.misfit)), len(rival.values) - len(chosen.values)
    price = 2.0 * np.log(np.log(rival.whole.data.groups)) * more * (factor / _NORMAL) ** 2
    fall = rival.whole.grid.get(rival.whole.law.knee, np.zeros(len(rich.misfit))) <= _LOW * np.abs(rival.whole.data.w).max()
    rise = np.where(fall, rich.misfit + price, np.inf) - plain.misfit[best]
    rise -= min(0.0, float(rise.min()))                         # over the better of both laws
    wider = {}
    for i, name in enumerate(list(chosen.values)[:plain.beta.shape[1]]):
        mine, variance, j = parameters.get(name), plain.variance[best, i], list(rival.values).index(name)
        if mine is None or mine.low is None or mine.high is None or variance <= 0.0:
            continue
        room = (mine.high - mine.low) ** 2 / 4.0 / variance - rise     # squared half width less rise: left at each grid point
        half = np.sqrt(rich.variance[room > 0.0, j] * room[room > 0.0])
        ends = [mine.low, mine.high, *(rich.beta[room > 0.0, j] - half), *(rich.beta[room > 0.0, j] + half)]
        if len(half) and (min(ends), max(ends)) != (mine.low, mine.high):
            wider[name] = float(min(ends)), float(max(ends))
    return wider


def _simplest_of_the_best(errors: list[Array], dismissed: list[str], loads: list[str], speed: Groups) -> int:
    """First candidate, in order of complexity, that no other beats."""
    alive = [k for k in range(len(errors)) if not dismissed[k]] or [0]
    best = min(alive, key=lambda k: (round(float(errors[k].mean()), 9), k))
    for k in alive:
        if not any(_beats(errors[other], errors[k], speed, CLAIM if loads[other] == loads[k] else RIVAL) for other in alive):
            return k
    return best


def _beats(errors: Array, others: Array, speed: Groups, margin: float) -> bool:
    """Whether errors are smaller than others by so many standard errors, both over round trips and over speeds."""
    better = others - errors
    means = np.bincount(speed, better) / np.bincount(speed)
    return all(bool(part.mean() > margin * part.std(ddof=1) / np.sqrt(len(part)) > 0.0) for part in (better, means))


FALL = 2.0              # standard errors by which friction must fall with speed for a Stribeck effect


def _no_stribeck(fit: Best) -> str:
    """Why what a fit calls a Stribeck effect is none, or an empty text; a reason only where a law without it is on offer."""
    knee = fit.whole.law.knee
    if not knee:
        return ""
    if fit.at_edge(knee):
        return "its Stribeck velocity lies at the edge of the measured speeds: curvature, not a Stribeck effect"
    if _fall(fit) <= FALL * fit.rmse / np.sqrt(fit.whole.data.groups):
        return "friction does not fall with speed: curvature of the viscous part would look the same"
    return ""


_MATTERS = 0.02         # least part of friction that a load must explain over its range


def _no_load(fit: Best) -> str:
    """Why friction of a fit does not depend on its load, or an empty text; a reason only where no load is on offer."""
    data = fit.whole.data
    if data.load is None:
        return ""
    part = load_part(fit.values, data.load)
    if part.max() <= 0.0:
        return "friction does not grow with the load"
    if np.ptp(part) < _MATTERS * np.median(np.abs(data.tau)):
        return "the load's part of friction is negligible"
    return ""


def _fall(fit: Best) -> float:
    """How far the fitted friction falls from the slowest speed to its least, at the greatest load."""
    data, law = fit.whole.data, fit.whole.law
    speed = np.geomspace(np.abs(data.w).min(), np.abs(data.w).max(), 64)
    load = None
    if data.load is not None:
        load = np.repeat(data.load[[np.argmax(load_part(fit.values, data.load))]], len(speed), axis=0)
    friction = law.torque(speed, {name: fit.values[name] for name in law.parameters(load is not None, data.components)}, load)
    return float(friction[0] - friction.min())
