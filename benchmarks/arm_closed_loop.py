"""Arms in closed loops: false alarms and power of the bias test for base parameters, and
intervals after correction.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arm_in_loop import ArmLoop
from benchmarks.inertia_logs import WrongModel
from benchmarks.kept import judged_cases
from benchmarks.page import Table
from stribeck.ident.fit.inertia.fit_inertia import fit_inertia
from stribeck.ident.fit.joint.closed_loop import BIASED, UNTESTED
from stribeck.ident.fit.points import Growth
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.model.regressor import inertial_parameters

# half width in standard errors; error in half widths from which bias should be reported
_NORMAL, _FAR = 1.96, 2.0
_LAB6, _UR5 = (WrongModel(arm, 0, noise=0.02) for arm in ("lab6", "ur5"))


@dataclass(frozen=True)
class ArmRow:
    """One row of the table: its name and its loop; the seed of the loop is the seed of the log."""

    name: str
    loop: ArmLoop

    @property
    def disturbed(self) -> bool:
        """Return True if the loop has a disturbance besides the resolution of the encoder."""
        return self.loop.push > 0.0 or self.loop.jitter > 0.0


ROWS = (
    ArmRow("lab6, stiff", ArmLoop(_LAB6)),
    ArmRow("lab6, soft", ArmLoop(_LAB6, bandwidth=20.0)),
    ArmRow("ur5, stiff", ArmLoop(_UR5)),
    ArmRow("lab6, soft, pushed by 10 %", ArmLoop(_LAB6, bandwidth=20.0, push=0.1)),
    ArmRow("lab6, soft, pushed by 20 %", ArmLoop(_LAB6, bandwidth=20.0, push=0.2)),
    ArmRow("ur5, soft, pushed by 20 %", ArmLoop(_UR5, bandwidth=20.0, push=0.2)),
    ArmRow(
        "lab6, stiff, positions of 0.3 mrad step, 0.1 mrad noise",
        ArmLoop(_LAB6, encoder=3e-4, jitter=1e-4),
    ),
    ArmRow(
        "ur5, stiff, positions of 0.3 mrad step, 0.1 mrad noise",
        ArmLoop(_UR5, encoder=3e-4, jitter=1e-4),
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--logs", type=int, default=14, help="number of logs of each undisturbed loop"
    )
    parser.add_argument(
        "--disturbed", type=int, default=7, help="number of logs of each disturbed loop"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--kept",
        type=Path,
        help="JSON lines file that stores judged logs; stored logs are not judged again",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge every log of every row."""
    cases = [
        (row, seed)
        for seed in range(max(options.logs, options.disturbed))
        for row in ROWS
        if seed < (options.disturbed if row.disturbed else options.logs)
    ]
    found = judged_cases(cases, judged, options.jobs, options.kept)
    figures = [
        {
            "name": row.name,
            **summary([one for of, one in zip(cases, found, strict=True) if of[0] == row]),
        }
        for row in ROWS
    ]
    return {"rows": figures}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each loop."""
    rows = [
        [
            row["name"],
            f"{100.0 * row['named'] / row['logs']:.0f}",
            f"{100.0 * row['corrected'] / row['logs']:.0f}",
            f"{row['far_named']} of {row['far']}",
            *(f"{row[when][0]:.1f}, {row[when][1]:.2f}" for when in ("before", "after")),
        ]
        for row in figures["rows"]
    ]
    return Table(
        f"{figures['rows'][0]['logs']} logs a row (disturbed: {figures['rows'][-1]['logs']}), "
        "models up to 30 % wrong, PD controllers, MuJoCo as the true arm for 40 s. Pushed: an "
        "unknown torque, in per cent of Coulomb friction. The test has a level of 1 %; errors are "
        "rms, in standard errors.",
        [
            "loop",
            "bias reported %",
            "corrected %",
            "wrong by two half widths: reported",
            "least squares: covered %, error",
            "calibration: covered %, error",
        ],
        rows,
    )


def judged(of: tuple[ArmRow, int]) -> dict[str, Any]:
    """Results of least squares and of instruments for the links of a log."""
    row, seed = of
    loop = replace(row.loop, case=replace(row.loop.case, seed=seed))
    model, true = loop.case.model, inertial_parameters(loop.case.truth)
    fit, _ = fit_inertia(
        filtered([loop.recorded()], [model]),
        model,
        model.names,
        law="coulomb-viscous",
        growth=Growth("none"),
    )
    rows, biased = fit.base.combination, fit.loop.verdict == BIASED
    contrasts = [fit.loop.contrasts[name] for name in fit.base.names]
    errors = np.sqrt(np.diag(rows @ fit.covariance @ rows.T))
    before = (
        np.array(
            [
                (one.least_squares - value) * (one.wider if biased else 1.0)
                for one, value in zip(contrasts, rows @ true, strict=True)
            ]
        )
        / errors
    )
    after = rows @ (inertial_parameters(model) + fit.change - true) / errors
    return {
        "verdict": fit.loop.verdict,
        "named": bool(fit.loop.named),
        "before": before.tolist(),
        "after": after.tolist(),
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of a row."""
    far = [bool(np.any(np.abs(one["before"]) > _FAR * _NORMAL)) for one in found]
    out = {
        "logs": len(found),
        "named": sum(one["named"] for one in found),
        "corrected": sum(one["verdict"] == BIASED for one in found),
        "untested": sum(one["verdict"] == UNTESTED for one in found),
        "far": sum(far),
        "far_named": sum(one["named"] for one, so in zip(found, far, strict=True) if so),
    }
    for when in ("before", "after"):
        errors = np.concatenate([one[when] for one in found])
        out[when] = (
            100.0 * float(np.mean(np.abs(errors) <= _NORMAL)),
            float(np.sqrt(np.mean(errors**2))),
            len(errors),
        )
    return out
