"""Play of one joint from arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.find_play import FoundPlay, find_play
from stribeck.ident.backlash.joint_backlash import JointBacklash
from stribeck.ident.backlash.play_data import PlayData, Section, busiest, most_samples
from stribeck.ident.backlash.two_bodies import Drive
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.strokes import encoder_step, position_noise
from stribeck.ident.memory.joint_log import check_shapes, recordings
from stribeck.ident.memory.states.path import Path
from stribeck.ident.views.frames import frame_html, parameter_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 200  # fewest samples of a recording
_NOISE = 4.0  # standard deviations of position noise that are no reversal


@dataclass(frozen=True)
class BacklashResult:
    """Play of one joint.

    Attributes
    ----------
    joint : JointBacklash or None
        Play and wind-up, as a calibration holds them; None if no play is claimed.
    reason : str
        Why no play is claimed.
    found : FoundPlay or None
        Samples and fit.
    """

    joint: JointBacklash | None
    reason: str = ""
    found: FoundPlay | None = None

    @property
    def play(self) -> float:
        """Width of the gap [rad or m]; 0 if no play is claimed."""
        return 0.0 if self.joint is None or self.joint.play.value is None else self.joint.play.value

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Play, stiffness, and dry friction of the link; empty if no play is claimed."""
        return {} if self.joint is None else self.joint.parameters

    def __repr__(self) -> str:
        if self.joint is None:
            return f"<BacklashResult: none: {self.reason}>"
        half, one = self.joint.play.half_width or 0.0, self.joint
        return (
            f"<BacklashResult: play {self.play:.4g} ± {half:.2g} {one.play.unit}, "
            f"{one.play.verdict}, from {one.method}; "
            f"{one.crossings} crossings of {one.samples:g} samples>"
        )

    def _repr_html_(self) -> str:
        return frame_html("backlash", self.to_dataframe()) if self.joint else self.reason

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each parameter."""
        return parameter_frame({"": self.parameters})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw motor minus link over the torque of the link: the loop, its width at
        zero torque, and its slope.

        Raises
        ------
        FitError
            If no play is claimed.
        """
        from stribeck.ident.backlash.loop_picture import draw_loop

        if self.joint is None or self.found is None:
            raise FitError(f"no play to plot: {self.reason}")
        data = self.found.data
        label = "measured" if data.measures_link else "link by the fit"
        return draw_loop(self.joint, self.found.torque, self.found.gap, label, ax)


def fit_backlash(
    time: ArrayLike,
    position: ArrayLike,
    torque: ArrayLike,
    load: ArrayLike,
    inertia: ArrayLike,
    link_position: ArrayLike | None = None,
    load_slope: ArrayLike | None = None,
    stiffness: float | None = None,
) -> BacklashResult:
    """Fit the play between motor and link of one joint to a motion with reversals.

    Play competes with wind-up and presliding friction by errors on blocks of the motion that were
    left out. Of long recordings the part with the most reversals is used.

    Parameters
    ----------
    time, position, torque : array_like, shape (N,)
        Samples of the motor, on the joint side of the gear [s, rad or m, N·m or N]. Several
        recordings may follow each other.
    load : array_like, shape (N,)
        Torque that holds the link at each posture, such as gravity, without its inertia [N·m or N].
    inertia : array_like, shape () or (N,)
        Inertia of the link about the joint [kg·m² or kg].
    link_position : array_like, shape (N,), optional
        Measured position of the link [rad or m]; without it, play follows from the torque.
    load_slope : array_like, shape (N,), optional
        Derivative of `load` by the position; default zero [N·m/rad or N/m].
    stiffness : float, optional
        Known stiffness between motor and link [N·m/rad or N/m].

    Returns
    -------
    BacklashResult
        Without play, but with the reason, if none is claimed.

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not finite, or an inertia or
        stiffness is not positive.
    FitError
        If the motion is too short.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import fit_backlash
    >>> t = np.arange(5000) / 250.0
    >>> q = 0.1 * np.sin(0.3 * np.pi * t)
    >>> load = np.full(5000, 50.0)                      # a weight that presses one flank all the time
    >>> fit = fit_backlash(t, q, 50.0 + 4.0 * np.sign(np.gradient(q, t)), load, 0.5)
    >>> fit.play, fit.reason.partition(":")[0]
    (0.0, 'gravity keeps one flank in contact')
    """
    t, q, tau, g = (
        np.atleast_1d(np.asarray(values, dtype=float)) for values in (time, position, torque, load)
    )
    J = np.broadcast_to(np.asarray(inertia, dtype=float), t.shape)
    link, slope = (
        None if one is None else np.atleast_1d(np.asarray(one, dtype=float))
        for one in (link_position, load_slope)
    )
    check_shapes(
        time=t, position=q, torque=tau, load=g, inertia=J, link_position=link, load_slope=slope
    )
    if not (J > 0.0).all():
        raise InputError(f"inertia is {J.min():g} in row {int(np.argmin(J))}; it must be positive")
    if stiffness is not None and not stiffness > 0.0:
        raise InputError(f"stiffness = {stiffness:g}; it must be positive")
    parts = recordings(t)
    most = most_samples(float(np.median(np.diff(t))) if len(t) > 1 else 1.0, link is not None)
    sections = [
        _section(
            _cut(rows, q, most // len(parts)),
            t,
            q,
            tau,
            g,
            J,
            link,
            np.zeros(len(t)) if slope is None else slope,
        )
        for rows in parts
    ]
    data = PlayData(tuple(sections))
    try:
        found = find_play(data, None, stiffness)
    except FitError as error:
        return BacklashResult(None, str(error))
    return BacklashResult(found.joint, "", found)


def _cut(rows: slice, q: Array, most: int) -> slice:
    """Return the rows of a recording that hold the most reversals, `most` at most."""
    if rows.stop - rows.start <= max(most, _LEAST):
        return rows
    width = float(encoder_step(q[rows])) + _NOISE * position_noise(q[rows], 0.0)
    own = busiest(Path.of(q[rows], width).reversals, max(most, _LEAST), rows.stop - rows.start)
    return slice(rows.start + own.start, rows.start + own.stop)


def _section(
    rows: slice,
    t: Array,
    q: Array,
    tau: Array,
    load: Array,
    inertia: Array,
    link: Array | None,
    slope: Array,
) -> Section:
    """Return one recording at even times."""
    if rows.stop - rows.start < _LEAST:
        raise FitError(
            f"a recording has {rows.stop - rows.start} samples, from row {rows.start}; at least "
            f"{_LEAST} are needed"
        )
    even = np.linspace(t[rows.start], t[rows.stop - 1], rows.stop - rows.start)
    own = [np.interp(even, t[rows], one[rows]) for one in (q, inertia, load, slope, tau)]
    drive = Drive(own[0], float(even[1] - even[0]), *own[1:4])
    return Section(drive, own[4], None if link is None else np.interp(even, t[rows], link[rows]))
