"""A fitted law with memory: parameters with intervals and verdicts, and its
prediction along other motion.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.memory.choose_memory import MemoryCandidate, reach
from stribeck.ident.memory.composition import PLAIN, Composition
from stribeck.ident.memory.joint_log import JointLog, joined
from stribeck.ident.memory.joint_samples import Smoothing, joint_samples
from stribeck.ident.memory.memory_fit import MemoryFit
from stribeck.ident.ripple.wave import Wave
from stribeck.ident.views.frames import frame_html, parameter_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# periods, and largest steps of the position, within which a motion follows the fitted one
_NEXT = 5.0


@dataclass(frozen=True)
class MemoryResult:
    """Friction of one joint with memory, fitted to its motion.

    Attributes
    ----------
    law, memory : str
        Names of the laws of sliding and presliding; memory "none" if no memory predicts better.
    parameters : dict of str to Parameter
        Parameters of both laws.
    beside : dict of str to Parameter
        Offset, inertia, gravity, and other columns fitted together with friction.
    rmse, held_out_rmse : float
        Root mean square residual, and error of blocks of the motion that were left
        out of the fit [N·m or N].
    candidates : tuple of MemoryCandidate
        All laws and memories that competed.
    fit : MemoryFit
        The fit, with residuals and samples.
    smoothing : Smoothing
        Treatment of positions.
    rigid : bool
        Whether inertia and gravity of the joint were fitted, too.
    waves : tuple of Wave
        Torque that waves with the position.
    composition : Composition
        What was fitted beside law and memory.
    """

    law: str
    memory: str
    parameters: dict[str, Parameter]
    beside: dict[str, Parameter]
    rmse: float
    held_out_rmse: float
    candidates: tuple[MemoryCandidate, ...]
    fit: MemoryFit
    smoothing: Smoothing
    rigid: bool
    waves: tuple[Wave, ...] = ()
    composition: Composition = PLAIN

    @property
    def values(self) -> dict[str, float]:
        """Values of the parameters of both laws."""
        return {
            name: entry.value for name, entry in self.parameters.items() if entry.value is not None
        }

    @property
    def distance(self) -> float:
        """Distance over which friction reverses [rad or m]; 0 without memory."""
        return 0.0 if self.memory == "none" else reach(self.fit)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        beside = [
            f"{name}={1e3 * (self.beside[name].value or 0.0):.2g} ms"
            for name in self.composition.signal
        ]
        beside += [f"{wave.label}: {wave.amplitude:.2g}" for wave in self.waves] + ["load"] * bool(
            self.composition.load
        )
        more = f"; {', '.join(beside)}" if beside else ""
        return (
            f"<MemoryResult {self.law}, memory {self.memory}: {values}{more}; held-out rmse "
            f"{self.held_out_rmse:.3g}>"
        )

    def _repr_html_(self) -> str:
        return frame_html(f"{self.law} with memory {self.memory}", self.to_dataframe())

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each parameter, those fitted beside friction last."""
        return parameter_frame(
            {
                "": {
                    **self.parameters,
                    **self.beside,
                    **{wave.label: wave.parameter for wave in self.waves},
                }
            }
        )

    def predict(
        self,
        time: ArrayLike,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        load: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the torque along a motion, with offset, inertia and gravity of the
        fit, shape (N,) [N·m or N].

        A motion that follows the fitted one in time and position begins with its last state. Others
        begin as after long sliding in the present direction, or in the other one with a reversal
        before the first sample if the joint speeds up there. If it rests, the state is unknown, and
        predictions are wrong until it has moved by a few presliding distances.

        Parameters
        ----------
        time, position, velocity, load : array_like, shape (N,)
            As for `fit_memory`; velocity and load if the fit had them.
        columns : mapping of str to array_like
            As for `fit_memory`.
        """
        t, q, own = joined(time), joined(position), self.fit.data
        before = self._before(t, q)

        def after(fitted: Array, given: ArrayLike) -> Array:
            return np.concatenate((fitted[before], joined(given)))

        times = after(own.time - own.time[-1] + t[0] - own.period, t) if len(t) else t
        rate = None if velocity is None else after(own.velocity, velocity)
        log = JointLog.of(times, after(own.position, q), rate, own.prismatic)
        pressed = (
            None
            if load is None
            else after(np.zeros(len(own.time)) if own.load is None else own.load, load)
        )
        further = {
            name: after(own.beside[name], column) for name, column in (columns or {}).items()
        }
        data = joint_samples(
            log, np.zeros(len(log.t)), pressed, further, self.smoothing, self.rigid
        )
        return self.fit.predict(self.composition.applied(data))[len(log.t) - len(t) :]

    def _before(self, t: Array, q: Array) -> slice:
        """Return the rows of the last fitted recording if a motion follows it
        without a gap; none if not.
        """
        own = self.fit.data
        rows = slice(int(own.path.begins[-1]), len(own.time))
        step = (
            float(np.abs(np.diff(own.position[rows])).max(initial=0.0)) + self.smoothing.resolution
        )
        follows = (
            len(t)
            and abs(t[0] - own.time[-1]) < _NEXT * own.period
            and abs(q[0] - own.position[-1]) < _NEXT * step
        )
        return rows if follows else slice(0)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw torque without offset, inertia and gravity over the distance since the last
        reversal, and the fitted law.

        Torque is drawn in the direction of motion, from the first reversal on.
        """
        from matplotlib.ticker import MaxNLocator

        from stribeck.ident.views.panels import PLAIN, shown_figure

        ax = shown_figure(("presliding",))["presliding"] if ax is None else ax
        data, used = self.fit.data, self.fit.data.used
        beside = sum(
            (self.fit.values[name] * column for name, column in data.beside.items()),
            np.zeros(len(data.torque)),
        )
        way, far = data.path.direction[used], data.path.since_reversal[used]
        shown = (far > 0.0) & (far < 8.0 * (self.distance or float(np.median(far))))
        friction = (data.torque - beside)[used]
        ax.plot(
            far[shown],
            (way * friction)[shown],
            ".",
            ms=1.5,
            color="0.7",
            label="measured",
            rasterized=True,
        )
        ax.plot(
            far[shown],
            (way * (friction - self.fit.residual))[shown],
            ".",
            ms=1.5,
            color=PLAIN,
            label=f"{self.memory}",
            rasterized=True,
        )
        ax.xaxis.set_major_locator(MaxNLocator(4))
        slides = "m" if data.prismatic else "rad"
        ax.set(
            xlabel=f"distance since the last reversal, {slides}",
            ylabel=f"friction, {'N' if data.prismatic else 'N·m'}",
        )
        ax.legend(frameon=False, fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def with_intervals(fit: MemoryFit) -> dict[str, Parameter]:
    """Return all parameters of a fit with 95 % intervals and verdicts.

    If there are other minima that fit the samples alike, intervals span those of all of them.
    """
    told = {
        quantity.name: quantity.unit_of(fit.data.prismatic) for quantity in fit.memory.quantities
    }
    errors = dict(zip(fit.free, fit.intervals.std_error.tolist(), strict=True))
    spans = [_spans(one) for one in (fit, *fit.rivals)]
    found = {}
    for name, value in fit.values.items():
        own = told[name] if name in told else _unit(name, fit.data.prismatic)
        note = _note(fit, name, *spans[0][name])
        if name not in errors:
            found[name] = Parameter(
                value,
                None,
                None,
                None,
                own,
                "at bound",
                f"at the end of its range{note and '; '}{note}",
            )
            continue
        low, high = min(span[name][0] for span in spans), max(span[name][1] for span in spans)
        if name not in (*fit.data.signed, *fit.data.signal):
            low = max(low, 0.0)
        far = max(value - low, high - value) if fit.rivals else (high - low) / 2.0
        found[name] = Parameter(
            value, errors[name], low, high, own, verdict(value, value - far, value + far), note
        )
    return found


def _note(fit: MemoryFit, name: str, low: float, high: float) -> str:
    """Name the values of a parameter in other minima that are outside its own interval."""
    others = [
        f"{one.values[name]:.3g}" for one in fit.rivals if not low <= one.values[name] <= high
    ]
    return f"the log fits as well with {' or '.join(others)}" if others else ""


def _spans(fit: MemoryFit) -> dict[str, tuple[float, float]]:
    """Return the interval of each parameter; the value itself where it is at a bound."""
    half = dict(zip(fit.free, fit.intervals.half_width().tolist(), strict=True))
    return {
        name: (value - half.get(name, 0.0), value + half.get(name, 0.0))
        for name, value in fit.values.items()
    }


def _unit(name: str, prismatic: bool) -> str:
    try:
        return unit(name, prismatic)
    except KeyError:
        return "1"  # a column that the caller named; its unit is not known
