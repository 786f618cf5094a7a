"""Motion in simulation, in the report: how far MuJoCo's motion is from the measured one,
without friction and with it.
"""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from stribeck.experiments.report.frame.palette import COLOURS
from stribeck.experiments.report.svg import inline
from stribeck.ident.arrays import Array
from stribeck.ident.simulators.rollout import CALIBRATED, TORQUES, VELOCITIES, WITHOUT, Rollout

_WIDTH, _HEIGHT = 7.2, 0.95  # inches: figure, and panel of one joint
_PARTS = 120  # parts of the time in which errors are averaged


@dataclass(frozen=True)
class RolloutSection:
    """Sentence, table and figure of a rollout; a row has the joint, its unit, and
    an error for each heading.
    """

    sentence: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    figure: Markup


def rollout_section(found: Rollout, run: str) -> RolloutSection:
    """Return the section of a rollout of the run with this name."""
    how = (
        "its recorded torques moved the simulated arm, from the measured motion again every "
        f"{found.horizon:g} s"
        if found.by == TORQUES
        else "its velocity set-points moved the simulated arm, through the velocity loops of the "
        "drives"
        if found.by == VELOCITIES
        else "its position references moved the simulated arm, through the gains of the drives"
    )
    rows = tuple(
        (
            name,
            "mm" if found.prismatic[j] else "mrad",
            tuple(f"{1e3 * float(one.error[j]):.3g}" for one in found.simulated.values()),
        )
        for j, name in enumerate(found.names)
    )
    return RolloutSection(
        f"MuJoCo simulated {run}, which was not fitted: {how}. Errors are root mean squares of "
        "simulated minus measured position.",
        tuple(found.simulated),
        rows,
        _figure(found),
    )


def _figure(found: Rollout) -> Markup:
    """Errors over time, averaged in parts, on a logarithmic axis."""
    count = len(found.names)
    figure = Figure(figsize=(_WIDTH, _HEIGHT * count + 0.45))
    axes = figure.subplots(
        count,
        1,
        sharex=True,
        squeeze=False,
        gridspec_kw={
            "left": 0.08,
            "right": 0.99,
            "top": 1.0 - 0.2 / (_HEIGHT * count + 0.45),
            "bottom": 0.4 / (_HEIGHT * count + 0.45),
            "hspace": 0.35,
        },
    )[:, 0]
    colours = {WITHOUT: COLOURS.faint, CALIBRATED: COLOURS.accent}
    for j, ax in enumerate(axes):
        for name, one in found.simulated.items():
            t, error = _averaged(found.t, 1e3 * (one.q[:, j] - found.measured[:, j]))
            ax.semilogy(t, error, color=colours.get(name, COLOURS.point), linewidth=1.1)
        ax.set_title(
            f"{found.names[j]}, {'mm' if found.prismatic[j] else 'mrad'}", parse_math=False
        )
    axes[-1].set_xlabel("time, s")
    return inline(figure, f"Error of simulated position over time: {', '.join(found.simulated)}")


def _averaged(t: Array, error: Array) -> tuple[Array, Array]:
    """Root mean square of the error in parts of the time, shape (at most 120,)."""
    parts = [part for part in np.array_split(np.arange(len(t)), min(_PARTS, len(t))) if len(part)]
    return (
        np.array([t[part].mean() for part in parts]),
        np.array([max(float(np.sqrt(np.mean(error[part] ** 2))), 1e-3) for part in parts]),
    )
