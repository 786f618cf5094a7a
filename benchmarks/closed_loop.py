"""One joint in a closed loop: false alarms and power of the bias test, and coverage of
intervals after correction.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loop_simulation import Loop
from benchmarks.page import Table
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.closed_loop import BIASED, UNTESTED
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.fit_joint_motion import identify_motion
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.motion.commanded_motion import commanded
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

ASKED = ("coulomb", "viscous", "inertia")
_AT_ONCE = 50  # number of logs that are simulated together
_FAR = 2.0  # error in half widths from which bias should be reported
_G = 9.81


@dataclass(frozen=True)
class Row:
    """One row of the table: its name, the loop, the fitted law, and a bandwidth [Hz]; default is
    the bandwidth of the log.
    """

    name: str
    loop: Loop
    law: str = "coulomb-viscous"
    bandwidth: float | None = None


_NOISY = Loop(encoder=5e-4, jitter=3e-4, stiffness=300.0, damping=10.0)
ORDINARY = (
    Row("stiff", Loop()),
    Row("soft", Loop(stiffness=200.0, damping=20.0)),
    Row("coarse encoder", Loop(encoder=5e-4)),
    Row("ripple of 3 %", Loop(ripple=0.03)),
    Row("stiff, any law", Loop(), "auto"),
)
DISTURBED = (
    *(
        Row(
            f"soft, pushed by {push:g} N·m",
            Loop(stiffness=100.0, damping=5.0, inertia=0.2, push=push),
        )
        for push in (0.05, 0.1, 0.2, 0.4)
    ),
    Row("stiff, pushed by 0.3 N·m", Loop(push=0.3)),
    Row(
        "positions of 0.1 mrad step, 0.03 mrad noise, stiff",
        Loop(encoder=1e-4, jitter=3e-5, stiffness=2000.0),
    ),
    Row(
        "positions of 0.3 mrad step, 0.1 mrad noise, stiff",
        Loop(encoder=3e-4, jitter=1e-4, stiffness=2000.0),
    ),
    Row("positions of 0.5 mrad step, 0.3 mrad noise, low-pass at 20 Hz", _NOISY, bandwidth=20.0),
    Row("the same with the log's own low-pass", _NOISY),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--logs",
        type=int,
        default=500,
        help="number of logs of the rows stiff and soft; other rows have a tenth",
    )
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit and judge every log of every row."""
    figures = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in (*ORDINARY, *DISTURBED):
            logs = options.logs if row in ORDINARY[:2] else options.logs // 10
            blocks = [range(k, min(k + _AT_ONCE, logs)) for k in range(0, logs, _AT_ONCE)]
            found = [one for block in pool.map(partial(judged, row), blocks) for one in block]
            figures.append({"name": row.name, **summary(found)})
    return {"rows": figures}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each loop."""
    rows = [
        [
            row["name"],
            f"{100.0 * row['named'] / row['logs']:.0f}",
            f"{100.0 * row['corrected'] / row['logs']:.0f}",
            f"{row['far_named']} of {row['far']}",
            *(
                ", ".join(f"{100.0 * row[f'{when} {name}'][1]:.0f}" for name in ASKED)
                for when in ("before", "after")
            ),
        ]
        for row in figures["rows"]
    ]
    return Table(
        f"{figures['rows'][0]['logs']} logs of stiff and soft, {figures['rows'][-1]['logs']} of "
        "the others; four sines for 40 s, Coulomb-viscous law, Coulomb friction of 2 N·m. The "
        "test has a level of 1 %. Pushed: an unknown torque. Coarse encoders spoil the correction, "
        "because the instruments have the same error.",
        [
            "loop",
            "bias reported %",
            "corrected %",
            "wrong by two half widths: reported",
            "least squares: Coulomb, viscous, inertia covered %",
            "calibration: the same",
        ],
        rows,
    )


def judged(row: Row, seeds: range) -> list[dict[str, Any]]:
    """Results of least squares and of instruments for each log."""
    found = []
    for run in logs_of(row.loop, seeds):
        log = filtered([run], [model(row.loop)], row.bandwidth)
        fit = partial(
            identify_motion, log, model(row.loop), "joint", Options(law=row.law, motion="joint")
        )
        try:
            told = fit(reference=commanded(log))
            plain = told if told.loop is None or told.loop.verdict != BIASED else fit()
        except FitError:  # the noise hides the reversals of the joint
            continue
        assert told.loop is not None
        found.append(
            {
                "verdict": told.loop.verdict,
                "named": bool(told.loop.named),
                "before": _against(plain, row.loop),
                "after": _against(told, row.loop),
            }
        )
    return found


def model(loop: Loop) -> Mechanism:
    """Model of a joint that turns about y; the link is horizontal at zero."""
    return Mechanism(
        "joint",
        ("joint",),
        (-1,),
        prismatic=np.array([False]),
        axis=np.array([[0.0, 1.0, 0.0]]),
        origin=np.zeros((1, 3)),
        mass=np.array([loop.gravity / _G]),
        com=np.array([[1.0, 0.0, 0.0]]),
        inertia=np.zeros((1, 3, 3)),
        gravity=np.array([0.0, 0.0, -_G]),
        position=np.array([[-3.0, 3.0]]),
        bearings=(None,),
    )


def logs_of(loop: Loop, seeds: range) -> list[Run]:
    """Simulate one log for each seed."""
    t, q, tau, told = loop.recorded(seeds)
    arm = ArmFile(
        Path("joint.toml"),
        "joint",
        Path("joint.urdf"),
        (0.0, 0.0, -_G),
        "motor current",
        Tool(),
        Workspace(),
        DriverTable(),
        {"joint": JointTable()},
        {},
    )
    return [
        Run(
            Path("log"),
            {},
            arm,
            (),
            ("joint",),
            t,
            np.zeros(len(t), dtype=int),
            {"q": q[k][:, None], "tau": tau[k][:, None], "q_cmd": told[k][:, None]},
        )
        for k in range(len(seeds))
    ]


def _against(joint: JointFit, loop: Loop) -> dict[str, tuple[float, bool]]:
    """Error of each parameter in half widths of its interval, and whether the
    interval contains the truth.
    """
    found = {}
    for name in ASKED:
        entry: Parameter | None = joint.fit.parameters.get(name, joint.gravity.get(name))
        if entry is not None and entry.value is not None and entry.half_width:
            assert entry.low is not None
            assert entry.high is not None
            true = getattr(loop, name)
            found[name] = ((entry.value - true) / entry.half_width, entry.low <= true <= entry.high)
    return found


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of a row."""
    out: dict[str, Any] = {
        "logs": len(found),
        "named": sum(one["named"] for one in found),
        "corrected": sum(one["verdict"] == BIASED for one in found),
        "untested": sum(one["verdict"] == UNTESTED for one in found),
    }
    for when in ("before", "after"):
        for name in ASKED:
            own = [one[when][name] for one in found if name in one[when]]
            out[f"{when} {name}"] = (
                float(np.median([off for off, _ in own])),
                float(np.mean([holds for _, holds in own])),
            )
    far = [any(abs(off) > _FAR for off, _ in one["before"].values()) for one in found]
    out["far"], out["far_named"] = (
        sum(far),
        sum(one["named"] for one, so in zip(found, far, strict=True) if so),
    )
    return out
