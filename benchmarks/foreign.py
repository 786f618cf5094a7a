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
from benchmarks.foreign_physics import RATE, ForeignArm, Log, drive
from benchmarks.main_job import Motions, motions_of_points
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


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Drive, import, fit and judge every case."""
    cases = [
        case for case in CASES if not options.parts or case.name.startswith(tuple(options.parts))
    ]
    work = list(product(cases, range(1, options.seeds + 1)))
    with ProcessPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run_case, *zip(*work, strict=True)))
    return {"cases": results}, table(results)


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


def table(results: list[dict[str, Any]]) -> str:
    """Return the table with one row for each case."""
    rows = [
        "| case | friction error %, worst joint: median (largest) | of the mean of both "
        "directions | in place | states "
        "with the truth in the band, all joints: mean (least) | identified intervals that cover | "
        "claims | false, missed "
        f"| misfit reported | silent: band below {100 * BANDS:g} % and no misfit reported |",
        "|" + "---|" * 10,
    ]
    for name in dict.fromkeys(result["case"] for result in results):
        rows.append(_row(name, [result for result in results if result["case"] == name]))
    joints = [joint for result in results for joint in result["joints"]]
    silent = sum(map(_silent, joints))
    slowest = max(result["seconds"] for result in results)
    return "\n".join(
        [
            f"Physics and drive run at {RATE:g} Hz with Pinocchio's M(q) and bias forces. The arm "
            "is driven along `stribeck plan "
            "-o plan.csv` or along a user's own campaign; the log is imported and fitted with "
            "default options. Friction error: "
            "rms of predicted minus true friction over 50 speeds x 20 loads x both directions, "
            "divided by the rms of true "
            "friction. The torque offset is part of friction (`Calibration.with_offset()`), "
            "except for the mean of both "
            "directions. If friction varies with position or time, the truth is its mean over the "
            "tested positions and times; "
            'column "in place" has the error at each position in the middle of the time. Bands '
            "are those of the mean of both "
            "directions. Claims by joint: law, load, direction; the share of campaigns is in "
            "brackets if it is below 1. A false "
            "claim is an effect (drop, load, direction) that the truth does not have. Misfit "
            "reported: joints whose result "
            'reports that its law does not fit; "-": results report no misfits.',
            "",
            f"{len(joints)} joints in {len(results)} campaigns; {silent} joints are silent "
            "failures. The slowest campaign took "
            f"{slowest:.0f} s.",
            "",
            *rows,
        ]
    )


def _row(name: str, results: list[dict[str, Any]]) -> str:
    joints = [joint for result in results for joint in result["joints"]]
    errors = [
        _of_worst([result for result in results if result["joints"]], key)
        for key in ("error", "odd_error", "in_place_error")
    ]
    held = [joint["held"] for joint in joints]
    identified, covered = (
        sum(len(joint[key]) for joint in joints) for key in ("identified", "covered")
    )
    wrong = [sum(len(joint[key]) for joint in joints) for key in ("false", "missed")]
    said = [joint["says_misfit"] for joint in joints if joint["says_misfit"] is not None]
    refused = [
        f"{len(result['not_calibrated'])} not calibrated"
        + (f": {result['refused']}" if "refused" in result else "")
        for result in results
        if result["not_calibrated"]
    ]
    return " | ".join(
        [
            f"| {name}",
            *errors,
            f"{100 * np.mean(held):.0f} % ({100 * min(held):.0f} %)" if held else "-",
            f"{covered} of {identified}",
            "; ".join([*_claimed(joints), *refused]),
            f"{wrong[0]}, {wrong[1]}",
            f"{sum(said)} of {len(joints)}" if said else "-",
            f"{sum(map(_silent, joints))} of {len(joints)} |",
        ]
    )


def _of_worst(results: list[dict[str, Any]], key: str) -> str:
    worst = [100 * max(joint[key] for joint in result["joints"]) for result in results]
    return f"{np.median(worst):.2f} ({max(worst):.2f})" if worst else "-"


def _silent(joint: dict[str, Any]) -> bool:
    return bool(joint["held"] < BANDS and not joint["says_misfit"])


def _claimed(joints: list[dict[str, Any]]) -> list[str]:
    """Claims of each joint, with their frequencies if they differ between campaigns."""
    out = []
    for name in dict.fromkeys(joint["joint"] for joint in joints):
        claims = [joint["claims"] for joint in joints if joint["joint"] == name]
        counts = {claim: claims.count(claim) for claim in claims}
        out.append(
            f"{name} "
            + " / ".join(
                claim if len(counts) == 1 else f"{claim} ({count})"
                for claim, count in counts.items()
            )
        )
    return out
