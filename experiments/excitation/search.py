"""The search for the motion that tells most in a given robot time: gradient ascent from random motions, walls as costs.

The gain of `motion_information` less the cost of leaving an `Allowance` is climbed with slopes (L-BFGS). Shapes have no slopes:
where a motion brings some together, a cost pulls those samples towards the start, and the climb goes on. What still leaves a
limit is shrunk towards the start, where nothing moves and everything is allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stribeck.experiments.errors import PlanError
from stribeck.experiments.excitation.allowance import Allowance
from stribeck.experiments.excitation.rest_to_rest import RestToRest, Sampled
from stribeck.experiments.plans.motion_profile import Wave
from stribeck.ident.arrays import Array, Groups
from stribeck.ident.fit.arm.motion_information import MotionInformation, passes_of

RATE = 25.0             # Hz of samples in the search
_LONGEST = 40.0         # s of a period at most: the robot time is cut into as few as possible, or twice as many, for trial
_CHAIN_RATE, _CHAIN_LONGEST = 10.0, 15.0        # the same of closed chains, whose samples take thirty times as long
_BEYOND = (1.0, 2.0)    # highest frequency over that at which limits of speed and acceleration meet, for trial
_LEAST_PERIOD = 5.0     # s that a period is not cut below
_MOST_HERTZ = 1.0       # Hz of the highest harmonic: what velocity loops of arms follow well
_LEAST_HARMONICS, _MOST_HARMONICS = 4, 40
_TRIAL_TURNS, _TURNS = 25, 120      # of the climb, of each trial and of each stage of the chosen one
_REVERSALS = 4          # how often on a climb it is looked where joints turn back: in between the gain has no leaps
_HARD = (1e3, 3e4)      # nat per squared part of a limit: soft walls first
_PULLS, _PULL = 8, 10.0             # rounds in which shapes are avoided, and how hard at first [nat per squared range]
_NEAR = 0.1             # s; around a time at which something is in the way
_START = 0.4           # deviation of the first random motion
_HALVINGS = 12          # to find how far a motion must shrink
_CORNERS = 16           # places in a period of the highest harmonic between which ways are looked at
_SLACK = 1.0 + 1e-6     # of what is allowed
_LEAST = 0.05           # of the motion that was sought, below which there is no room for one


@dataclass(frozen=True)
class Found:
    """A motion that keeps every limit.

    Attributes
    ----------
    series : RestToRest
        Its period and harmonics.
    x : ndarray, shape (directions, m)
        Its numbers.
    gain : float
        By how much it lowers uncertainty, less what it costs where it leaves limits [nat].
    shrunk : float
        By which factor it was shrunk at last; 1 is not at all.
    """

    series: RestToRest
    x: Array
    gain: float
    shrunk: float


@dataclass(frozen=True)
class Search:
    """Where a motion is sought.

    Attributes
    ----------
    information : MotionInformation
        What motion tells.
    before : ndarray, shape (p, p)
        Information before it.
    allowance : Allowance
        What it may not leave.
    """

    information: MotionInformation
    before: Array
    allowance: Allowance

    @property
    def _rate(self) -> float:
        return RATE if self.allowance.design.mechanism.chain is None else _CHAIN_RATE

    def best(self, start: Array, active: Sequence[int], time: float, seed: int, effort: float = 1.0) -> Found:
        """The motion from and to a start, shape (n,), that tells most in a robot time [s].

        How many periods the time is cut into and how many harmonics they have is tried shortly; `effort` scales how long the
        search goes on.

        Raises
        ------
        PlanError
            If hardly any motion is allowed.
        """
        tried = [self._climbed(series, self._random(series, seed), (_HARD[0],), round(effort * _TRIAL_TURNS), ())
                 for series in self._offers(start, tuple(active), time)]
        best: Found | None = None
        for trial in sorted(tried, key=lambda one: -one.gain):
            if best is not None and best.gain > trial.gain:
                break
            found = self._shrunk(self._clear(trial, effort))
            if found and (best is None or found.gain > best.gain):
                best = found
        if best is None:
            raise PlanError(f"{self.allowance.design.arm.path}: found no motion around home that keeps all joint limits, stays "
                            "in the workspace box and avoids collisions; move workspace.home, or enlarge workspace.box")
        return best

    def _clear(self, trial: Found, effort: float) -> Found:
        """A motion after a longer climb, pulled towards the start where something is in the way."""
        found, pulls = self._climbed(trial.series, trial.x, _HARD, round(effort * _TURNS), ()), list[tuple[float, float]]()
        for turn in range(_PULLS):
            if not (blocked := self._blocked_times(found)):
                break
            pulls += [(part, _PULL * 2.0**turn) for part in blocked]
            found = self._climbed(trial.series, found.x, _HARD[1:], round(effort * _TURNS / 2.0), pulls)
        return found

    def _offers(self, start: Array, active: tuple[int, ...], time: float) -> list[RestToRest]:
        directions, reach = self.allowance.directions(active)
        meet = float(np.max(reach[2] / reach[1])) / (2.0 * np.pi)
        offers = {}
        fewest = int(np.ceil(time / (_LONGEST if self.allowance.design.mechanism.chain is None else _CHAIN_LONGEST)))
        for share in (fewest, 2 * fewest):
            for beyond in _BEYOND:
                period = time / share
                count = int(np.clip(min(beyond * meet, _MOST_HERTZ) * period, _LEAST_HARMONICS, _MOST_HARMONICS))
                if period >= _LEAST_PERIOD or share == fewest:
                    offers[share, count] = RestToRest(start, directions, reach, period, share, count)
        return list(offers.values())

    def _random(self, series: RestToRest, seed: int) -> Array:
        rng = np.random.default_rng((seed, series.periods, series.harmonics))
        return np.asarray(_START / np.sqrt(series.harmonics) * rng.standard_normal((len(series.reach[0]), series.size)))

    def _climbed(self, series: RestToRest, x: Array, walls: Sequence[float], turns: int,
                 pulled: Sequence[tuple[float, float]]) -> Found:
        """A motion after climbing with harder and harder walls; `pulled`: parts of the period to shrink from, and how much."""
        from scipy.optimize import minimize  # takes a while to load

        shape = x.shape
        for wall in walls:
            for again in range(_REVERSALS):             # at other times, so that no few samples are what all is about
                sampled = series.sampled(self._rate, (again + 0.5) / _REVERSALS)
                passes, pulls = passes_of(sampled.course(x)), _pulls(sampled, pulled)
                x = minimize(self._cost, x.ravel(), (sampled, wall, pulls, shape, passes), jac=True, method="L-BFGS-B",
                             options={"maxiter": max(1, turns // _REVERSALS), "maxcor": 20}).x.reshape(shape)
        sampled = series.sampled(self._rate)
        nowhere = np.zeros(len(sampled.t))
        return Found(series, x, -self._cost(x.ravel(), sampled, _HARD[-1], nowhere, shape, passes_of(sampled.course(x)))[0], 1.0)

    def _cost(self, flat: Array, sampled: Sampled, wall: float, pulls: Array, shape: tuple[int, ...],
              passes: list[Groups]) -> tuple[float, Array]:
        """Costs less gain, and the slope by x."""
        x = flat.reshape(shape)
        course = sampled.course(x)
        wall *= course.dt * RATE

        def of_torques(tau: Array) -> tuple[float, Array]:
            cost, slope = self.allowance.of_torques(tau)
            return wall * cost, wall * slope

        reached, inside = self.allowance.in_reach(course)
        gain, torques, slopes = self.information.gain_and_slope(reached, self.before, of_torques, passes)
        cost, by_motion = self.allowance.of_motion(course)
        away = (course.q - sampled.series.start) / np.ptp(self.allowance.design.limits.position, axis=1)
        pulled, by_pull = float(np.sum(pulls[:, None] * away**2)), 2.0 * pulls[:, None] * away
        by_pull /= np.ptp(self.allowance.design.limits.position, axis=1)
        whole = tuple(wall * part - inside[:, None] * slope for part, slope in zip(by_motion, slopes, strict=True))
        return (torques + wall * cost + pulled - gain,
                sampled.slope((whole[0] + by_pull, whole[1], whole[2])).ravel())

    def _blocked_times(self, found: Found) -> list[float]:
        """Where in its period a motion leaves the box or brings shapes together, as parts of the period."""
        corners = _corners(found, found.x)
        return [(k + 0.5) / (len(corners) - 1) for k in np.flatnonzero(self.allowance.blocked(corners))]

    def _shrunk(self, found: Found) -> Found | None:
        """The motion, smaller by what a limit, wall or shape demands."""
        least, most = 0.0, 1.0
        if not self._allowed(found, 1.0):
            for _ in range(_HALVINGS):
                middle = 0.5 * (least + most)
                least, most = (middle, most) if self._allowed(found, middle) else (least, middle)
        else:
            least = 1.0
        if least < _LEAST:
            return None
        gain = self.information.gain_and_slope(found.series.sampled(self._rate).course(least * found.x), self.before)[0]
        return Found(found.series, least * found.x, gain, least)

    def _allowed(self, found: Found, part: float) -> bool:
        course = found.series.sampled(4.0 * self._rate).course(part * found.x)
        if any(share.max() > _SLACK for share in self.allowance.shares(course).values()):
            return False
        return not self.allowance.blocked(_corners(found, part * found.x)).any()


def _pulls(sampled: Sampled, pulled: Sequence[tuple[float, float]]) -> Array:
    """How hard each sample is pulled towards the start, by parts of the period and how hard there; shape (N,)."""
    period, pulls = sampled.series.period, np.zeros(len(sampled.t))
    for part, much in pulled:
        near = np.abs((sampled.t / period - part + 0.5) % 1.0 - 0.5) * period
        pulls += much * np.exp(-np.square(near / _NEAR))
    return pulls


def _corners(found: Found, x: Array) -> Array:
    """Places of a period between which it goes as good as straight."""
    motion = found.series.harmonic_motion(x)
    wave = Wave(np.array(motion.sines), np.array(motion.cosines), motion.period, motion.period)
    return np.asarray(found.series.start + wave(wave.close(_CORNERS))[0])
