"""Samples of one joint for the fit of play: motion of the motor, its torque,
and the link that it moves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import binary_dilation

from stribeck.ident.arrays import Array, Groups
from stribeck.ident.backlash.two_bodies import Drive, Passage, follow
from stribeck.ident.errors import FitError
from stribeck.ident.log.motion.low_pass import SETTLING, low_pass
from stribeck.ident.log.motion.position_cutoff import position_cutoff
from stribeck.ident.log.strokes import encoder_step
from stribeck.ident.memory.joint_log import JointLog
from stribeck.ident.memory.joint_samples import play_width
from stribeck.ident.memory.states.path import Path

_LONGEST = 0.3  # longest play over the range of positions,
# most samples, after thinning, that are used without and with the position of the link
_MOST, _MOST_LINK = 8_000, 25_000
_RATE = 250.0  # Hz; faster samples are thinned to this rate or up to twice as much
_LIMITS = 0.03, 0.003  # and its limits for joints that turn [rad] and slide [m]
Signal = Callable[["Section"], Array]
# cut-off of the position that moves the link over the sampling rate, and its limit [Hz]
_OF_RATE, _HIGHEST = 0.3, 100.0
_REST = 0.02  # part of the fast speeds below which dry friction may hold the motor,
_BLUR = 0.8  # and periods of the cut-off by which its torque reaches other samples


@dataclass(frozen=True)
class Section:
    """An evenly sampled recording of one joint.

    Attributes
    ----------
    drive : Drive
        Motion of the motor, and the link.
    torque : ndarray, shape (N,)
        Torque of the motor, on the joint side [N·m or N].
    link : ndarray, shape (N,), optional
        Measured position of the link [rad or m].
    """

    drive: Drive
    torque: Array
    link: Array | None = None


@dataclass(frozen=True)
class PlayData:
    """Recordings of one joint.

    Attributes
    ----------
    sections : tuple of Section
    prismatic : bool
        Whether the joint slides.
    highest : float
        Highest cut-off of compared signals [Hz]: vibrations of the link on its flank are faster.
    each : int
        Recorded samples that a sample is the mean of.
    """

    sections: tuple[Section, ...]
    prismatic: bool = False
    highest: float = 15.0
    each: int = 1

    @property
    def dt(self) -> float:
        """Sampling period [s]."""
        return self.sections[0].drive.dt

    def thinned(self) -> "PlayData":
        """Return means of consecutive samples, about `_RATE` a second."""
        each = thinning(self.dt)
        if each == 1:
            return self
        return replace(
            self, sections=tuple(_thin(one, each) for one in self.sections), each=each * self.each
        )

    @property
    def measures_link(self) -> bool:
        """Whether the position of the link is known."""
        return all(one.link is not None for one in self.sections)

    @cached_property
    def span(self) -> float:
        """Range of the motor's positions [rad or m]."""
        return float(np.ptp(self._joined(lambda one: one.drive.q)))

    @property
    def longest(self) -> float:
        """Longest play that is sought [rad or m]."""
        return min(_LONGEST * self.span, _LIMITS[int(self.prismatic)])

    @cached_property
    def resolution(self) -> float:
        """Displacement of the motor that its path resolves [rad or m]."""
        return 2.0 * max(play_width(log, 0, self.cutoff) for log in self._logs())

    @cached_property
    def step(self) -> float:
        """Step of the encoder of the motor, or of that of the link if it is coarser
        [rad or m]; 0 if none shows.
        """
        found = [
            encoder_step(q) for q in (self._joined(lambda one: one.drive.q), self._joined(_link))
        ]
        return max(0.0, *(float(one) for one in found if one > 1e-6 * self.span))

    @cached_property
    def cutoff(self) -> float:
        """Cut-off of all compared signals, which keeps position noise out of derivatives [Hz]."""
        return min(self.highest, 0.5 * self.fast, position_cutoff(self._logs()))

    @property
    def fast(self) -> float:
        """Cut-off of the position that moves the link [Hz]."""
        return min(_OF_RATE / self.dt, _HIGHEST)

    @cached_property
    def path(self) -> Path:
        """Path of the motor without noise at rest."""
        sizes = [len(one.torque) for one in self.sections]
        return Path.of(
            self._filtered(lambda one: one.drive.q, self.cutoff),
            0.5 * self.resolution,
            np.cumsum([0, *sizes[:-1]]),
        )

    @cached_property
    def used(self) -> np.ndarray:
        """Mask of samples that are compared, shape (M,): in motion, and away
        from the ends of recordings.
        """
        border = round(SETTLING / self.cutoff / self.dt)
        inner = np.zeros(sum(len(one.torque) for one in self.sections), dtype=bool)
        begin = 0
        for one in self.sections:
            # where an unmeasured link is in its gap is unknown until the motor has crossed any gap
            q = one.drive.q
            known = np.maximum.accumulate(q) - np.minimum.accumulate(q) > (
                0.0 if self.measures_link else self.longest
            )
            inner[begin + border : begin + len(q) - border] = known[border : len(q) - border]
            begin += len(one.torque)
        rest = (
            np.abs(self.motion[0]) < _REST * float(np.quantile(np.abs(self.motion[0][inner]), 0.9))
            if inner.any()
            else ~inner
        )
        blur = 2 * max(1, round(_BLUR / self.cutoff / self.dt)) + 1
        used = inner & ~binary_dilation(rest, np.ones(blur, dtype=bool))
        if not used.any():
            raise FitError(
                "no recording is long enough: the joint hardly moves, or the filter of its "
                "signals does not settle"
            )
        return np.asarray(used)

    @cached_property
    def blocks(self) -> Groups:
        """Block of each compared sample, 0 ... G-1; blocks end at reversals."""
        return np.unique(self.path.blocks[self.used], return_inverse=True)[1]

    @cached_property
    def motion(self) -> tuple[Array, Array]:
        """Velocity and acceleration of the motor, filtered, shape (M,) each."""
        return self.derivatives(lambda one: one.drive.q)

    def derivatives(self, of: "Signal") -> tuple[Array, Array]:
        """Return first and second derivative of a signal of each section, shape (M,) each."""
        rates, seconds = [], []
        for one in self.sections:
            rates.append(np.gradient(low_pass(of(one), self.cutoff * self.dt), self.dt))
            seconds.append(np.gradient(rates[-1], self.dt))
        return np.concatenate(rates), np.concatenate(seconds)

    @cached_property
    def torque(self) -> Array:
        """Filtered torque of the motor, shape (M,)."""
        return self._filtered(lambda one: one.torque, self.cutoff)

    @cached_property
    def load(self) -> Array:
        """Filtered torque of the link at constant speed, shape (M,)."""
        return self._filtered(lambda one: one.drive.load, self.cutoff)

    @cached_property
    def difference(self) -> Array:
        """Filtered position of the motor minus that of the link, shape (M,)."""
        return self._filtered(lambda one: one.drive.q - _link(one), self.cutoff)

    @cached_property
    def fast_difference(self) -> Array:
        """Position of the motor minus that of the link, behind the cut-off of the position that
        moves the link, shape (M,).
        """
        return self._filtered(lambda one: one.drive.q - _link(one), self.fast)

    @cached_property
    def link_motion(self) -> tuple[Array, Array]:
        """Velocity and acceleration of the link, filtered, shape (M,) each."""
        return self.derivatives(_link)

    @property
    def inertia(self) -> Array:
        """Inertia of the link, shape (M,)."""
        return self._joined(lambda one: one.drive.inertia)

    def filtered(self, values: Array) -> Array:
        """Return columns of all sections, shape (M, ...), behind the
        cut-off of all compared signals.
        """
        ends = np.cumsum([len(one.torque) for one in self.sections])[:-1]
        return np.concatenate(
            [low_pass(part, self.cutoff * self.dt) for part in np.split(values, ends)]
        )

    def follow(self, play: Array, stiffness: Array, friction: Array, ratio: Array) -> Passage:
        """Return the links of all sections behind these gears, see `follow`."""
        parts = [
            follow(
                replace(one.drive, q=low_pass(one.drive.q, self.fast * self.dt)),
                play,
                stiffness,
                friction,
                ratio,
            )
            for one in self.sections
        ]
        return Passage(
            *(
                np.concatenate([getattr(part, key) for part in parts])
                for key in ("torque", "gap", "touching")
            )
        )

    def _joined(self, of: "Signal") -> Array:
        return np.concatenate([of(one) for one in self.sections])

    def _filtered(self, of: "Signal", cutoff: float) -> Array:
        return np.concatenate([low_pass(of(one), cutoff * self.dt) for one in self.sections])

    def _logs(self) -> Sequence[JointLog]:
        return [
            JointLog(
                np.linspace(0.0, len(one.torque) * self.dt, len(one.torque)),
                {"q": one.drive.q[:, None]},
            )
            for one in self.sections
        ]


def _link(one: Section) -> Array:
    """Return the position of the link, or of the motor if it is not measured."""
    return one.drive.q if one.link is None else one.link


def thinning(dt: float) -> int:
    """Return the number of samples whose mean is used, for a sampling period [s]."""
    return max(1, int(1.0 / (dt * _RATE) + 1e-6))


def most_samples(dt: float, measured: bool) -> int:
    """Return the most samples that are used, for a sampling period [s], with the
    position of the link or without.
    """
    return thinning(dt) * (_MOST_LINK if measured else _MOST)


def _thin(one: Section, each: int) -> Section:
    """Return the means of `each` consecutive samples."""

    def means(values: Array) -> Array:
        return np.asarray(values[: len(values) // each * each].reshape(-1, each).mean(axis=1))

    drive = Drive(
        means(one.drive.q),
        one.drive.dt * each,
        *(means(own) for own in (one.drive.inertia, one.drive.load, one.drive.slope)),
    )
    return Section(drive, means(one.torque), None if one.link is None else means(one.link))


def busiest(reversals: np.ndarray, most: int, length: int) -> slice:
    """Return at most `most` consecutive rows of `length`, those that hold the most reversals."""
    count = min(most, length)
    turns = np.zeros(length + 1)
    turns[reversals + 1] = 1.0
    held = np.cumsum(turns)
    begin = int(np.argmax(held[count:] - held[: length + 1 - count]))
    return slice(begin, begin + count)
