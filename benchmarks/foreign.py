"""Foreign physics: an independent simulator drives an arm along our exported plan; the
logs are imported and fitted.

Each case knows its true friction as a function of speed, load, direction, position and time. Only
this truth judges the result.
"""

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.foreign_cases import CASES, Case
from benchmarks.foreign_judge import judge
from benchmarks.foreign_physics import ForeignArm, Log, drive
from benchmarks.main_job import Motions, motions_of_points
from benchmarks.page import Table
from stribeck.experiments.exporters.plan_export import plan_writer
from stribeck.experiments.fit_runs import CALIBRATION, save_results
from stribeck.experiments.importers.columns import parse_columns
from stribeck.experiments.importers.import_log import import_log
from stribeck.experiments.importers.readers import open_log
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.identify import identify
from stribeck.ident.log.run import load_run

# goal: bands contain the truth in this share of the states, or a misfit is reported
BANDS = 0.90


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--cases",
        dest="parts",
        nargs="+",
        help="run only cases whose names begin with these words and leave page and results "
        "unchanged; "
        "default: all cases",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=2,
        help="number N of seeds (1 ... N) of each case, for postures, order and noise",
    )
    parser.add_argument("--jobs", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Drive, import, fit and judge every case."""
    cases = [
        case for case in CASES if not options.parts or case.name.startswith(tuple(options.parts))
    ]
    work = list(product(cases, range(1, options.seeds + 1)))
    with ProcessPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run_case, *zip(*work, strict=True)))
    return {"cases": results}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each case."""
    campaigns: list[dict[str, Any]] = figures["cases"]
    joints = [joint for campaign in campaigns for joint in campaign["joints"]]
    wrong = [sum(len(joint[key]) for joint in joints) for key in ("false", "missed")]
    identified = [sum(len(joint[key]) for joint in joints) for key in ("identified", "covered")]
    lost = sum(len(campaign["not_calibrated"]) for campaign in campaigns)
    rows = [
        [name, *_cells([campaign for campaign in campaigns if campaign["case"] == name])]
        for name in dict.fromkeys(campaign["case"] for campaign in campaigns)
    ]
    return Table(
        f"{len(joints)} joints in {len(campaigns)} campaigns: {wrong[0]} false and {wrong[1]} "
        f"missed effects, {lost} joints not calibrated, {sum(map(_silent, joints))} silent "
        f"failures (band below {100.0 * BANDS:g} % without a reported misfit); {identified[1]} of "
        f"{identified[0]} identified intervals cover. Error: rms of the worst joint, relative to "
        "friction; in place: at each position and time, not their mean.",
        [
            "case",
            "friction error %, median (largest)",
            "in place %",
            "states in the band %, least",
            "misfit reported",
        ],
        rows,
    )


def _cells(campaigns: list[dict[str, Any]]) -> list[str]:
    """Cells of a case after its name."""
    fitted = [campaign for campaign in campaigns if campaign["joints"]]
    joints = [joint for campaign in fitted for joint in campaign["joints"]]
    if not joints:
        return list("----")
    held = [100.0 * joint["held"] for joint in joints]
    reported = [joint["says_misfit"] for joint in joints if joint["says_misfit"] is not None]
    return [
        _of_worst(fitted, "error"),
        _of_worst(fitted, "in_place_error"),
        f"{min(held):.0f}",
        f"{sum(reported)} of {len(joints)}" if reported else "-",
    ]


def run_case(case: Case, seed: int, plan: ConstantSpeed | None = None) -> dict[str, Any]:
    """Run one campaign of a case and return its results as plain data."""
    began, arm = time.perf_counter(), case.foreign_arm()
    found: dict[str, Any] = {"case": case.name, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        try:
            joints = judge(arm, *fitted_case(case, arm, seed, Path(folder), plan))
            missing = [name for name in arm.truths if name not in {joint.joint for joint in joints}]
            found |= {"joints": [joint.table() for joint in joints], "not_calibrated": missing}
        except (InputError, FitError) as error:
            found |= {
                "joints": [],
                "not_calibrated": list(arm.truths),
                "refused": str(error).replace(folder, ""),
            }
    return found | {"seconds": round(time.perf_counter() - began, 1)}


def fitted_case(
    case: Case, arm: ForeignArm, seed: int, folder: Path, options: ConstantSpeed | None = None
) -> tuple[Path, pd.DataFrame, Motions]:
    """Plan, export, drive with the independent simulator, import and fit; return calibration
    file, points and motions.
    """
    file = load_arm(case.arm)
    exported, logged = folder / "plan.csv", folder / "log.csv"
    plan_writer(exported)(case.plan(seed, options), exported, file)
    write_log(drive(arm, *read_set_points(exported), seed), logged, list(arm.truths))
    log = open_log(logged)
    columns = parse_columns(
        [
            "t=time_ms[ms]",
            *(
                f"{signal}.{name}={signal}_{name}[{unit}]"
                for name in arm.truths
                for signal, unit in (("q", "deg"), ("tau", "Nm"))
            ),
        ],
        tuple(arm.truths),
        log.names,
    )
    recorded = load_run(import_log(log, file, columns, folder, torque_signal="motor current"))
    result = identify([recorded])
    out = folder / "fit"
    out.mkdir()
    save_results(result, out)
    return out / CALIBRATION, result.points, motions_of_points(recorded, result.points)


def read_set_points(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Read time, segment, positions and velocities of an exported plan,
    without code of the package.
    """
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    q, dq = (
        values[:, [k for k, name in enumerate(header) if name.startswith(f"{signal}.")]]
        for signal in ("q", "dq")
    )
    return values[:, 0], values[:, header.index("segment")].astype(np.int64), q, dq


def write_log(log: Log, path: Path, names: list[str]) -> None:
    """Write a log in a foreign format: milliseconds, degrees, semicolons."""
    header = ";".join(
        ["time_ms", *(f"{signal}_{name}" for signal in ("q", "tau") for name in names)]
    )
    np.savetxt(
        path,
        np.column_stack((1e3 * log.t, np.rad2deg(log.q), log.tau)),
        delimiter=";",
        header=header,
        comments="",
        fmt="%.9g",
    )


def _of_worst(results: list[dict[str, Any]], key: str) -> str:
    worst = [100 * max(joint[key] for joint in result["joints"]) for result in results]
    return f"{np.median(worst):.2f} ({max(worst):.2f})" if worst else "-"


def _silent(joint: dict[str, Any]) -> bool:
    return bool(joint["held"] < BANDS and not joint["says_misfit"])
