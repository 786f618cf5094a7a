"""What `validate --rollout` prints: errors of simulated positions with each friction."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.table import Table

    from stribeck.ident.simulators.rollout import Rollout

_MILLI = 1e3


def rollout_lines(found: Mapping[str, "Rollout"]) -> list[str]:
    """Lines above the table: what drives the simulation."""
    first = next(iter(found.values()))
    if first.by == "torques":
        return [
            "rollout   recorded torques in MuJoCo, from the measured motion again every "
            f"{first.horizon:g} s: {first.reason}"
        ]
    explained = [gain.explained for gain in first.gains.values() if gain.explained is not None]
    told = "; ".join(
        ", ".join(
            (
                f"{name} {gain.position:.3g}",
                _gain(gain.velocity),
                _gain(gain.reference),
                *((_gain(gain.constant),) if explained else ()),
            )
        )
        for name, gain in first.gains.items()
    )
    what, how = (
        (
            ", reference velocity and constant torque",
            f"identified from the torques (R² at least {np.floor(1e4 * min(explained)) / 1e4:.4f})",
        )
        if explained
        else (" and reference velocity", "known")
    )
    heading = (
        f"velocity set-points in MuJoCo, through the loops of the drives: {first.reason}"
        if first.by == "velocities"
        else "position references in MuJoCo, through the gains of the drives"
    )
    return [
        f"rollout   {heading}",
        f"gains     torque per position error, velocity{what}, {how}: {told}",
    ]


def rollout_table(found: Mapping[str, "Rollout"]) -> "Table":
    """Table with one row per joint: rms error of the simulated position without friction, with the
    model's, and with each calibration."""
    from rich import box
    from rich.table import Table

    from stribeck.ident.simulators.rollout import LATEST

    first = next(iter(found.values()))
    columns = columns_of(found)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="RMS of simulated minus measured position",
        title_justify="left",
        title_style="",
    )
    for heading in ("joint", *columns):
        table.add_column(
            heading,
            justify="left" if heading == "joint" else "right",
            overflow="fold" if heading in found else "ellipsis",
        )
    for j, name in enumerate(first.names):
        unit = "mm" if first.prismatic[j] else "mrad"
        cells = [_digits(_MILLI * float(one.error[j])) for one in columns.values()]
        table.add_row(name, f"{cells[0]} {unit}", *cells[1:])
    if not first.prismatic.any():
        table.add_row(
            "mean", *(_digits(_MILLI * float(one.error.mean())) for one in columns.values())
        )
    if any(one.delay for one in columns.values()):
        table.add_row(
            "delay, ms",
            *(
                f"{_MILLI * one.delay:.1f}{' or more' if one.delay >= LATEST else ''}"
                for one in columns.values()
            ),
        )
    return table


def columns_of(found: Mapping[str, "Rollout"]) -> dict[str, Any]:
    """Simulated motions by heading: those of the first calibration, and
    that of every further one.
    """
    from stribeck.ident.simulators.rollout import CALIBRATED

    first = next(iter(found.values()))
    return {name: one for name, one in first.simulated.items() if name != CALIBRATED} | {
        path: one.simulated[CALIBRATED] for path, one in found.items()
    }


def rollout_numbers(found: Mapping[str, "Rollout"]) -> dict[str, Any]:
    """Return the rollouts as JSON."""
    first = next(iter(found.values()))
    return {
        "by": first.by,
        "reason": first.reason or None,
        "horizon": first.horizon if math.isfinite(first.horizon) else None,
        "gains": {
            name: {
                "position": one.position,
                "velocity": one.velocity,
                "reference": one.reference,
                "constant": one.constant,
                "explained": one.explained,
            }
            for name, one in first.gains.items()
        },
        "simulated": {
            name: {
                "delay": one.delay,
                "joints": dict(zip(first.names, one.error.tolist(), strict=True)),
            }
            for name, one in columns_of(found).items()
        },
    }


def _gain(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3g}"  # no minus sign before zero


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 100.0 else f"{value:.0f}"
