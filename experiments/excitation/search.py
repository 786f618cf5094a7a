"""Search for the motion with the greatest information gain in a given robot time: gradient ascent
with penalties for limits.

The search starts from random motions. It maximises the gain of `motion_information` minus the cost
of an `Allowance` by L-BFGS. Collisions have no gradient: if a motion collides, a cost pulls the
colliding samples towards the start posture, and the ascent continues. A motion that still violates
a limit is shrunk towards the start posture, where every limit is kept.
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

RATE = 25.0  # Hz; sampling rate of the search
# s; longest period: candidates have the fewest possible periods, and twice as many
_LONGEST = 40.0
# the same for closed chains, whose samples take thirty times as long to compute
_CHAIN_RATE, _CHAIN_LONGEST = 10.0, 15.0
# candidates for the highest frequency, over the frequency at which speed and
# acceleration limits meet
_BEYOND = (1.0, 2.0)
_LEAST_PERIOD = 5.0  # s; shortest period
_MOST_HERTZ = 1.0  # Hz; highest harmonic that velocity loops of arms follow well
_LEAST_HARMONICS, _MOST_HARMONICS = 4, 40
# iterations of the ascent for each trial, and for each stage of the chosen trial
_TRIAL_TURNS, _TURNS = 25, 120
# updates of the reversals of joints in one ascent: between updates the gain is continuous
_REVERSALS = 4
_HARD = (1e3, 3e4)  # nat per squared relative excess over a limit, the softer penalty first
# rounds of collision avoidance, and first strength of the pull [nat per squared range]
_PULLS, _PULL = 8, 10.0
_NEAR = 0.1  # s; width of the pull around the time of a collision
_START = 0.4  # standard deviation of the first random motion
_HALVINGS = 12  # bisections for the factor by which a motion must shrink
_CORNERS = 16  # straight segments in a period of the highest harmonic for collision checks
_SLACK = 1.0 + 1e-6  # rounding tolerance of limits
# of the motion that was found: a motion that must shrink below counts as none
_LEAST = 0.05


@dataclass(frozen=True)
class Found:
    """A motion of the search; the result of the search keeps every limit.

    Attributes
    ----------
    series : RestToRest
        Period and harmonics of the motion.
    x : ndarray, shape (directions, m)
        Design variables.
    gain : float
        Information gain minus the cost of violated limits [nat].
    shrunk : float
        Factor by which the motion was shrunk; 1 means that it was not.
    """

    series: RestToRest
    x: Array
    gain: float
    shrunk: float


@dataclass(frozen=True)
class Search:
    """Search for the motion with the greatest gain.

    Attributes
    ----------
    information : MotionInformation
        Expected information of motions.
    before : ndarray, shape (p, p)
        Information before the motion.
    allowance : Allowance
        Limits of the motion.
    """

    information: MotionInformation
    before: Array
    allowance: Allowance

    @property
    def _rate(self) -> float:
        return RATE if self.allowance.design.mechanism.chain is None else _CHAIN_RATE

    def best(
        self, start: Array, active: Sequence[int], time: float, seed: int, effort: float = 1.0
    ) -> Found:
        """Return the motion from and to a start posture, shape (n,), with the greatest
        gain in a robot time [s].

        Short trials compare numbers of periods and of harmonics. `effort` scales
        the number of iterations.

        Raises
        ------
        PlanError
            If no motion, or only a very small one, keeps all limits.
        """
        tried = [
            self._climbed(
                series, self._random(series, seed), (_HARD[0],), round(effort * _TRIAL_TURNS), ()
            )
            for series in self._offers(start, tuple(active), time)
        ]
        best: Found | None = None
        for trial in sorted(tried, key=lambda one: -one.gain):
            if best is not None and best.gain > trial.gain:
                break
            found = self._shrunk(self._clear(trial, effort))
            if found and (best is None or found.gain > best.gain):
                best = found
        if best is None:
            raise PlanError(
                f"{self.allowance.design.arm.path}: found no motion around home that keeps all "
                "joint limits, stays in the workspace box and avoids collisions; move "
                "workspace.home, or enlarge workspace.box"
            )
        return best

    def _clear(self, trial: Found, effort: float) -> Found:
        """Continue the ascent of a trial, and pull the motion towards the start
        posture where it collides.
        """
        found, pulls = (
            self._climbed(trial.series, trial.x, _HARD, round(effort * _TURNS), ()),
            list[tuple[float, float]](),
        )
        for turn in range(_PULLS):
            if not (blocked := self._blocked_times(found)):
                break
            pulls += [(part, _PULL * 2.0**turn) for part in blocked]
            found = self._climbed(
                trial.series, found.x, _HARD[1:], round(effort * _TURNS / 2.0), pulls
            )
        return found

    def _offers(self, start: Array, active: tuple[int, ...], time: float) -> list[RestToRest]:
        directions, reach = self.allowance.directions(active)
        meet = float(np.max(reach[2] / reach[1])) / (2.0 * np.pi)
        offers = {}
        closed = self.allowance.design.mechanism.chain is not None
        fewest = int(np.ceil(time / (_CHAIN_LONGEST if closed else _LONGEST)))
        for share in (fewest, 2 * fewest):
            for beyond in _BEYOND:
                period = time / share
                count = int(
                    np.clip(
                        min(beyond * meet, _MOST_HERTZ) * period, _LEAST_HARMONICS, _MOST_HARMONICS
                    )
                )
                if period >= _LEAST_PERIOD or share == fewest:
                    offers[share, count] = RestToRest(
                        start, directions, reach, period, share, count
                    )
        return list(offers.values())

    def _random(self, series: RestToRest, seed: int) -> Array:
        rng = np.random.default_rng((seed, series.periods, series.harmonics))
        amplitude = _START / np.sqrt(series.harmonics)
        return np.asarray(amplitude * rng.standard_normal((len(series.reach[0]), series.size)))

    def _climbed(
        self,
        series: RestToRest,
        x: Array,
        walls: Sequence[float],
        turns: int,
        pulled: Sequence[tuple[float, float]],
    ) -> Found:
        """Return the motion after an ascent with increasing penalties.

        `pulled` : relative times in the period at which the motion is pulled towards the start posture, and strength of the pull.
        """
        from scipy.optimize import minimize  # takes a while to load

        shape = x.shape
        for wall in walls:
            # with shifted samples, so that the result does not depend on single ones
            for again in range(_REVERSALS):
                sampled = series.sampled(self._rate, (again + 0.5) / _REVERSALS)
                passes, pulls = passes_of(sampled.course(x)), _pulls(sampled, pulled)
                x = minimize(
                    self._cost,
                    x.ravel(),
                    (sampled, wall, pulls, shape, passes),
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": max(1, turns // _REVERSALS), "maxcor": 20},
                ).x.reshape(shape)
        sampled = series.sampled(self._rate)
        nowhere = np.zeros(len(sampled.t))
        return Found(
            series,
            x,
            -self._cost(
                x.ravel(), sampled, _HARD[-1], nowhere, shape, passes_of(sampled.course(x))
            )[0],
            1.0,
        )

    def _cost(
        self,
        flat: Array,
        sampled: Sampled,
        wall: float,
        pulls: Array,
        shape: tuple[int, ...],
        passes: list[Groups],
    ) -> tuple[float, Array]:
        """Return the costs minus the gain, and the gradient by x."""
        x = flat.reshape(shape)
        course = sampled.course(x)
        wall *= course.dt * RATE

        def of_torques(tau: Array) -> tuple[float, Array]:
            cost, slope = self.allowance.of_torques(tau)
            return wall * cost, wall * slope

        reached, inside = self.allowance.in_reach(course)
        gain, torques, slopes = self.information.gain_and_slope(
            reached, self.before, of_torques, passes
        )
        cost, by_motion = self.allowance.of_motion(course)
        away = (course.q - sampled.series.start) / np.ptp(
            self.allowance.design.limits.position, axis=1
        )
        pulled, by_pull = float(np.sum(pulls[:, None] * away**2)), 2.0 * pulls[:, None] * away
        by_pull /= np.ptp(self.allowance.design.limits.position, axis=1)
        whole = tuple(
            wall * part - inside[:, None] * slope
            for part, slope in zip(by_motion, slopes, strict=True)
        )
        return (
            torques + wall * cost + pulled - gain,
            sampled.slope((whole[0] + by_pull, whole[1], whole[2])).ravel(),
        )

    def _blocked_times(self, found: Found) -> list[float]:
        """Relative times in the period at which a motion leaves the box or collides."""
        corners = _corners(found, found.x)
        return [
            (k + 0.5) / (len(corners) - 1) for k in np.flatnonzero(self.allowance.blocked(corners))
        ]

    def _shrunk(self, found: Found) -> Found | None:
        """Return the motion, shrunk until it keeps all limits, the box and clearances; None if
        hardly any motion is left.
        """
        least, most = 0.0, 1.0
        if not self._allowed(found, 1.0):
            for _ in range(_HALVINGS):
                middle = 0.5 * (least + most)
                least, most = (middle, most) if self._allowed(found, middle) else (least, middle)
        else:
            least = 1.0
        if least < _LEAST:
            return None
        gain = self.information.gain_and_slope(
            found.series.sampled(self._rate).course(least * found.x), self.before
        )[0]
        return Found(found.series, least * found.x, gain, least)

    def _allowed(self, found: Found, part: float) -> bool:
        course = found.series.sampled(4.0 * self._rate).course(part * found.x)
        if any(share.max() > _SLACK for share in self.allowance.shares(course).values()):
            return False
        return not self.allowance.blocked(_corners(found, part * found.x)).any()


def _pulls(sampled: Sampled, pulled: Sequence[tuple[float, float]]) -> Array:
    """Strength of the pull towards the start posture for each sample, shape (N,)."""
    period, pulls = sampled.series.period, np.zeros(len(sampled.t))
    for part, much in pulled:
        near = np.abs((sampled.t / period - part + 0.5) % 1.0 - 0.5) * period
        pulls += much * np.exp(-np.square(near / _NEAR))
    return pulls


def _corners(found: Found, x: Array) -> Array:
    """Postures of a period between which the motion is almost straight."""
    motion = found.series.harmonic_motion(x)
    wave = Wave(np.array(motion.sines), np.array(motion.cosines), motion.period, motion.period)
    return np.asarray(found.series.start + wave(wave.close(_CORNERS))[0])
