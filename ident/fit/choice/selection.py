"""Selection of law and load: laws compete by their marginal likelihood, loads
by their held-out errors.

A side is a combination of a load, a difference between the directions, and waves
of friction with position.

1. For each side, all laws are weighed by their plausibility (`plausibility`, `mixture`).
2. The most plausible law of each side is fitted, and its held-out error is computed. The simplest
   side that no other side beats by `RIVAL` standard errors wins; waves count as less simple than a
   load. All round trips of one speed are left out together, so the curve must predict a new speed.
   At the slowest and fastest speed, beyond which no law has to predict, and in general motion,
   single round trips are left out.
3. On the winning side, the law is chosen whose friction is closest to the expectation of all laws;
   among laws that are nearly as close, the simplest.
4. Intervals and band cover other plausible laws (`widening`); a Stribeck effect is claimed by
   the share of laws with one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.errors import FitError
from stribeck.ident.fit.choice.contest import Contest
from stribeck.ident.fit.choice.widening import widened
from stribeck.ident.fit.fit_result import CLAIM, Candidate, FitResult
from stribeck.ident.fit.held_out import blocks_of_trips, held_out_errors, speed_of_trips
from stribeck.ident.fit.law_fit import Best, check_groups, speed_classes, supports, with_intervals
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import law_named, laws_on_offer, quantity_named
from stribeck.ident.laws.parameter import verdict

# standard errors by which a load, an unknown tool or a difference between directions must win
RIVAL = 2.0
# in the note of Coulomb friction that another load would make another number
ALIKE = "load fits equally well"
# order of preference in an exact tie
ORDER = ("none", "normal", "torque", "bending", "components", "load")
# no waves: friction is the same in all positions
NOWHERE: Mapping[str, Mapping[str, Array]] = {"none": {}}
# laws with this many nonlinear parameters, or more, compete only for the winning load
_SLOW = 2
_NEEDED = 0.5  # total share of the needed laws (`Law.needs`) from which a law competes
_PLAUSIBLE = 0.02  # least share of a law that is fitted and may be chosen
_LIKELY = 0.5  # share of a Stribeck effect from which a law with one may be chosen
# waves without a load predict as well as a load if their error is at most
# this multiple of its error
_AS_GOOD = 1.005
# standard deviations from the expectation, up to which a law is as close as the closest
_AS_NEAR = 0.5


@dataclass(frozen=True)
class _Side:
    """A load, a difference between the directions, and waves with position, with the
    laws that compete for them.
    """

    load: str
    way: str
    place: str
    whole: FitPoints
    contest: Contest

    @property
    def most_plausible(self) -> Best:
        """The fit of the law with the greatest share."""
        return self.contest.fit(self.contest.laws[int(np.argmax(self.contest.mixture.shares))])

    @property
    def plausible(self) -> list[Law]:
        """Laws that may be chosen.

        Laws with a Stribeck effect may be chosen if the effect is likely, or if rising laws are
        implausible; laws without one may be chosen unless the effect is claimed.
        """
        mixture, effect = self.contest.mixture, self.contest.mixture.stribeck_share
        falling = effect > _LIKELY or mixture.rising_share < 1.0 - CLAIM
        return [
            law
            for law, share in zip(self.contest.laws, mixture.shares, strict=True)
            if share >= _PLAUSIBLE and (falling if law.knee else effect < CLAIM)
        ] or [self.most_plausible.whole.law]

    def closest(self) -> Best:
        """Return the fit closest to the expectation of all laws; among fits that are
        nearly as close, the simplest.

        Fits with a parameter at the end of its range, where the law becomes another law, count
        only if all fits are such.
        """
        fits = [self.contest.fit(law) for law in self.plausible]
        fits = [fit for fit in fits if not fit.at_bound] or fits
        distance = [self.contest.mixture.distance(fit.whole.law, fit.values) for fit in fits]
        near = [
            (len(fit.values), apart, k)
            for k, (fit, apart) in enumerate(zip(fits, distance, strict=True))
            if apart <= max(_AS_NEAR, min(distance))
        ]
        return fits[min(near)[-1]]

    def held_out(self, fit: Best, noise: Noise) -> tuple[Array, float]:
        """Return the held-out errors, see `held_out_errors`."""
        data = self.contest.data
        return held_out_errors(
            data, fit.whole.law, noise, fit.values, blocks_of_trips(speed_of_trips(data))
        )


@dataclass(frozen=True)
class _Race:
    """Sides, the simplest first, with the fits of their most plausible laws and the
    held-out errors of these fits.

    Attributes
    ----------
    errors : list of ndarray, shape (G,)
        See `held_out_errors`.
    plain : list of float
        Root mean square errors [N·m].
    dismissed : list of str
        Why a side cannot win, or "".
    """

    sides: list[_Side]
    fits: list[Best]
    errors: list[Array]
    plain: list[float]
    dismissed: list[str]

    @classmethod
    def of(cls, sides: list[_Side], noise: Noise, without_load: bool) -> "_Race":
        """Compute the held-out errors of sides with one noise model; `without_load`: whether
        friction without load competes.
        """
        fits = [side.most_plausible for side in sides]
        errors, plain = zip(
            *(side.held_out(fit, noise) for side, fit in zip(sides, fits, strict=True)), strict=True
        )
        return cls(
            sides,
            fits,
            list(errors),
            list(plain),
            [_no_load(fit) if without_load else "" for fit in fits],
        )

    def joined(self, more: "_Race") -> "_Race":
        """Return the race with further, less simple sides."""
        return _Race(
            self.sides + more.sides,
            self.fits + more.fits,
            self.errors + more.errors,
            self.plain + more.plain,
            self.dismissed + more.dismissed,
        )

    @property
    def speed(self) -> Groups:
        """Index of the speed of each round trip among the distinct speeds."""
        return speed_of_trips(self.sides[0].contest.data)

    @property
    def winner(self) -> int:
        """Number of the winning side."""
        return _simplest_of_the_best(self.errors, self.dismissed, self.speed)


def _likely(sides: Sequence[_Side]) -> list[Law]:
    """Return the laws that are plausible on at least one of the sides."""
    return list(
        dict.fromkeys(
            law
            for side in sides
            for law, share in zip(side.contest.laws, side.contest.mixture.shares, strict=True)
            if share >= _PLAUSIBLE
        )
    )


def select(
    data: FitPoints,
    loads: Mapping[str, Array | None],
    laws: tuple[str, ...] = (),
    directional: Mapping[str, Mapping[str, Array]] | None = None,
    components: tuple[str, ...] = (),
    places: Mapping[str, Mapping[str, Array]] = NOWHERE,
    uneven: Callable[[FitResult], bool] = lambda fit: False,
) -> FitResult:
    """Let laws, loads, differences between the directions and waves with position compete
    for the points of one joint.

    Parameters
    ----------
    data : FitPoints
        Points; its own `load` is ignored.
    loads : mapping of str to ndarray or None
        Loads that compete, by name; "none" is None, "components" has a column for each component.
    laws : tuple of str
        Laws that compete; default all laws with `Law.competes`.
    directional : mapping of str to mapping of str to ndarray, optional
        Differences between the directions that compete: name -> columns, as in
        `FitPoints.nuisance`. Default: "none".
    components : tuple of str
        Names of the columns of the load "components".
    places : mapping of str to mapping of str to ndarray, optional
        Waves of friction with position that compete, in the same form. The first, by default
        "none", competes with all loads. The others compete with the winning load and without load,
        if a load wins, or if the fit is `uneven`.
    uneven : callable, optional
        Function that returns whether residuals of a fit without load vary with position.

    Returns
    -------
    FitResult
        The chosen fit, with the table of all candidates.

    Raises
    ------
    FitError
        If no candidate has enough round trips and speeds.
    """
    check_groups(data)
    named = [law_named(law) for law in laws or laws_on_offer()]
    offered = [law for law in named if supports(data, law)]
    quick = [law for law in offered if len(law.nonlinear) < _SLOW] or offered
    ways, (first, *others) = directional or {"none": {}}, places.items()
    sides = [
        _side(data, quick, (load, loads[load]), way, first, components)
        for load in loads
        for way in ways.items()
        if any(load == "none" or law.with_load for law in quick)
    ]
    if not sides:
        speeds = int(speed_classes(data.w).max()) + 1
        raise FitError(
            f"{speeds} different speed(s) are too few for the law(s) "
            f"{', '.join(law.name for law in named)}; measure more speeds"
        )
    sides.sort(
        key=lambda side: (
            len(side.whole.components) or int(side.load != "none"),
            len(side.whole.nuisance),
            ORDER.index(side.load),
        )
    )
    # one for all: comparable errors
    noise = min((side.most_plausible for side in sides), key=lambda fit: fit.rmse).noise
    race = _Race.of(sides, noise, "none" in loads)
    k = race.winner
    if others and (
        sides[k].load != "none"
        or uneven(with_intervals(race.fits[k], "none").of_points(sides[k].whole))
    ):
        way, likely = (
            sides[k].way,
            _likely([side for side in sides if side.load in ("none", sides[k].load)]),
        )
        waved = [
            _side(data, likely, (load, loads[load]), (way, ways[way]), place, components)
            for place in others
            for load in dict.fromkeys(("none", sides[k].load))
            if load in loads
        ]
        race = race.joined(_Race.of(waved, noise, "none" in loads))
        k = race.winner
    sides, fits, errors, plain, dismissed, speed = (
        race.sides,
        race.fits,
        race.errors,
        race.plain,
        race.dismissed,
        race.speed,
    )
    sides[k] = side = replace(
        sides[k],
        contest=_with_slow(
            sides[k].contest, _taking([law for law in offered if law not in quick], sides[k].load)
        ),
    )
    best = side.closest()
    fit = with_intervals(best, side.load)
    if len(side.contest.laws) > 1:
        fit = widened(fit, side.contest.mixture)
    # other loads that the winner does not beat, with their Coulomb friction
    alike = {
        other.load: other.contest.fit(best.whole.law).values["coulomb"]
        for i, other in enumerate(sides)
        if (other.way, other.place) == (side.way, side.place)
        and other.load not in (side.load, "none", "components")
        and not dismissed[i]
        and not _beats(errors[k], errors[i], speed, RIVAL)
    }
    fit = _noting_other_loads(fit, side.load, alike)
    waves = [
        (other.place, other.contest.fit(best.whole.law).values["coulomb"])
        for i, other in enumerate(sides)
        if side.load != "none" == other.load
        and other.way == side.way
        and other.place != "none"
        and (plain[i] < _AS_GOOD * plain[k] or not _beats(errors[k], errors[i], speed, RIVAL))
    ]
    fit = _doubting_the_load(fit, waves)
    # of the most plausible laws
    held = [{found.whole.law.name: error} for found, error in zip(fits, plain, strict=True)]
    held[k] |= {
        law.name: side.held_out(side.contest.fit(law), noise)[1]
        for law in side.plausible
        if law.name not in held[k]
    }
    return replace(
        fit.of_points(side.whole),
        held_out_rmse=held[k][fit.law],
        directional=side.way,
        place=side.place,
        candidates=tuple(_table(sides, dismissed, held)),
    )


def _side(
    data: FitPoints,
    laws: Sequence[Law],
    load: tuple[str, Array | None],
    way: tuple[str, Mapping[str, Array]],
    place: tuple[str, Mapping[str, Array]],
    components: tuple[str, ...],
) -> _Side:
    """Return a side: the points with its load, differences and waves, and the contest of the laws
    for the condensed points.
    """
    whole = replace(
        data,
        load=load[1],
        components=components if load[0] == "components" else (),
        nuisance={**data.nuisance, **way[1], **place[1]},
    )
    return _Side(
        load[0], way[0], place[0], whole, Contest.of(whole.condensed(), _taking(laws, load[0]))
    )


def _with_slow(contest: Contest, laws: Sequence[Law]) -> Contest:
    """Add laws with several nonlinear parameters to a contest; laws with `needs` only if
    these are plausible together.
    """
    contest = contest.with_laws([law for law in laws if not law.needs])
    share = dict(zip((law.name for law in contest.laws), contest.mixture.shares, strict=True))
    called = [
        law
        for law in laws
        if law.needs
        and (
            share.keys().isdisjoint(law.needs)
            or sum(share.get(name, 0.0) for name in law.needs) >= _NEEDED
        )
    ]
    return contest.with_laws(called)


def _taking(laws: Sequence[Law], load: str) -> list[Law]:
    """Return the laws for a load. With a load, they have load coefficients; without, a law that
    equals another is left out.
    """
    return (
        [law for law in laws if law.with_load]
        if load != "none"
        else [law for law in laws if law.competes] or list(laws)
    )


def _table(
    sides: Sequence[_Side], dismissed: Sequence[str], held_out: Sequence[Mapping[str, float]]
) -> Iterator[Candidate]:
    """Yield all candidates, with the held-out errors that were computed."""
    for side, reason, known in zip(sides, dismissed, held_out, strict=True):
        for law, share in zip(side.contest.laws, side.contest.mixture.shares, strict=True):
            count = len(law.parameters(side.load != "none", side.whole.components)) + len(
                side.whole.nuisance
            )
            yield Candidate(
                law.name,
                side.load,
                known.get(law.name, float("nan")),
                count,
                reason,
                side.way,
                share,
                side.place,
            )


def _noting_other_loads(fit: FitResult, load: str, alike: Mapping[str, float]) -> FitResult:
    """Add a note if another load predicts equally well, but gives another Coulomb friction."""
    coulomb = fit.parameters["coulomb"]
    if (
        load in ("none", "components")
        or coulomb.note
        or coulomb.low is None
        or coulomb.high is None
    ):
        return fit
    apart = [
        f"the {other} {ALIKE}, with coulomb = {value:.4g}"
        for other, value in alike.items()
        if not coulomb.low <= value <= coulomb.high
    ]
    if not apart:
        return fit
    note = f"{'; '.join(apart)}; all fits agree over the tested loads"
    return replace(fit, parameters={**fit.parameters, "coulomb": replace(coulomb, note=note)})


def _doubting_the_load(fit: FitResult, waves: Sequence[tuple[str, float]]) -> FitResult:
    """Widen the intervals of Coulomb friction and load coefficients if waves without
    load predict equally well.
    """
    if not waves:
        return fit
    note = (
        f"friction that varies with position, {waves[0][0]}, and does not grow with the load "
        "predicts equally well; to tell them apart, add round trips at the same positions under "
        "other loads (other postures, or a payload)"
    )
    levels = [coulomb for _, coulomb in waves]
    parameters = dict(fit.parameters)
    for name, entry in fit.parameters.items():
        if entry.value is None or entry.low is None or entry.high is None:
            continue
        if quantity_named(name).raises:
            low, high = 0.0, entry.high
        elif name == "coulomb":
            low, high = min(entry.low, *levels), max(entry.high, *levels)
        else:
            continue
        if (low, high) != (entry.low, entry.high):
            parameters[name] = replace(
                entry,
                low=low,
                high=high,
                verdict=verdict(entry.value, low, high),
                note="; ".join(filter(None, (entry.note, note))),
            )
    return replace(fit, parameters=parameters)


def _simplest_of_the_best(errors: Sequence[Array], dismissed: Sequence[str], speed: Groups) -> int:
    """Return the index of the simplest side that no other side beats."""
    alive = [k for k in range(len(errors)) if not dismissed[k]] or [0]
    for k in alive:
        if not any(_beats(errors[other], errors[k], speed, RIVAL) for other in alive):
            return k
    return min(alive, key=lambda k: (round(float(errors[k].mean()), 9), k))


def _beats(errors: Array, others: Array, speed: Groups, margin: float) -> bool:
    """Return whether errors are smaller than others by so many standard errors, both over
    round trips and over speeds.
    """
    better = others - errors
    means = np.bincount(speed, better) / np.bincount(speed)
    return all(
        bool(part.mean() > margin * part.std(ddof=1) / np.sqrt(len(part)) > 0.0)
        for part in (better, means)
    )


_MATTERS = 0.02  # least part of friction that a load must explain over its range


def _no_load(fit: Best) -> str:
    """Return the reason why the load of a fit cannot win (friction hardly depends
    on it), or an empty text.
    """
    data, law = fit.whole.data, fit.whole.law
    if data.load is None:
        return ""
    values = {name: fit.values[name] for name in law.parameters(True, data.components)}
    speed = np.abs(data.w)
    part = law.torque(speed, values, data.load) - law.torque(
        speed, values, np.zeros_like(data.load)
    )
    if part.max() <= 0.0:
        return "friction does not grow with the load"
    if np.ptp(part) < _MATTERS * np.median(np.abs(data.tau)):
        return "the load's part of friction is negligible"
    return ""
