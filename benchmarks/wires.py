"""The main job over the wire against the same job in process, and the punctuality
of cycles at several rates.

Emulated drives run in a process of their own (`stribeck emulate`), and `stribeck run` is
the computer side, as in use. In process, the same simulated arm as in the emulated
drives follows the same plan.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from benchmarks.judge import judge_parameters
from benchmarks.main_job import motions_of_points
from benchmarks.page import Table, commit
from benchmarks.pauses import near, watched
from stribeck.drivers.realtime import real_time
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.whole_arm import WHOLE_ARM, plan_whole_arm
from stribeck.experiments.plans.motion_profile import robot_time
from stribeck.experiments.plans.plan import Plan, write_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run, arm_sha256, load_run
from tests.drivers.wires import PAIR, free_port, merged, with_port

SMALL = Path(__file__).parents[1] / "tests" / "arms" / "pair.toml"
ROOMY = {"workspace": {"box": [[-2.0, 2.0], [-2.0, 2.0], [-2.0, 2.0]], "home": [0.0, 0.0]}}
IMPERFECT = {"torque_noise": 0.1, "ripple": 0.02, "ripple_period": 0.0628, "stroke_scatter": 0.005}
MAIN_JOBS = {  # protocol: the built-in arm with this protocol, and changes to its file
    "canopen": ("lab6-canopen", {"driver": {"bus": {"port": "{port}"}}}),
    "dynamixel": ("desk4-dynamixel", {"driver": {"port": "socket://127.0.0.1:{port}"}}),
}
# protocol: rates [Hz] of the small arm, with changes to its file
RATES: dict[str, dict[float, dict[str, Any]]] = {
    "canopen": {250.0: {}, 500.0: {}, 1000.0: {"driver": {"bit_rate": 2e6}}},
    "dynamixel": {200.0: {}, 500.0: {}, 1000.0: {"driver": {"baud_rate": 4_000_000}}},
}
WITHIN = 1.96  # allowed difference in standard errors
LEAST = 20.0  # s; least waiting time
# fraction of a period by which a cycle may begin earlier than usual after its tick
EARLY = 0.4
# periods within which the replies of a cycle must arrive and the next cycle must begin
PATIENCE = 3.0
# attempts for a run that was stopped or lost samples because of pauses of this computer
TRIES = 6
# message of a run that such a pause stopped
PAUSED = r"has not replied for \d+ ms|sent nothing for \d+ ms"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--protocols", nargs="*", default=list(MAIN_JOBS), choices=[*MAIN_JOBS, []])
    parser.add_argument(
        "--small",
        action="store_true",
        help="run the main job with the small arm of two joints, which takes about a minute",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="approximate robot time for each rate [s]; 0 skips the rates",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="*",
        default=[1, 2, 3],
        help="seeds of the main jobs; an empty list skips the main jobs",
    )
    parser.add_argument(
        "--add",
        type=Path,
        nargs="*",
        default=[],
        help="results of earlier runs that are included",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate over the wire and in process, compare, then run at each rate."""
    jobs = {
        protocol: [main_job(protocol, options.small, seed) for seed in options.seeds]
        for protocol in options.protocols
        if options.seeds
    }
    paces = {
        protocol: {rate: pace(protocol, rate, options.seconds) for rate in RATES[protocol]}
        for protocol in options.protocols
        if options.seconds
    }
    rates = sorted({rate for rates in RATES.values() for rate in rates})
    idle = {
        str(rate): waiting(rate, min(options.seconds, LEAST)) for rate in rates if options.seconds
    }
    for path in options.add:
        before = json.loads(path.read_text(encoding="utf-8"))["figures"]
        jobs, paces, idle = (
            before["main_job"] | jobs,
            before["rates"] | paces,
            before["waiting"] | idle,
        )
    return {"main_job": jobs, "rates": paces, "waiting": idle}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each run over a wire."""
    jobs = [job for jobs in figures["main_job"].values() for job in jobs]
    close = [entry["off"] <= WITHIN for job in jobs for entry in job["parameters"]]
    runs: dict[tuple[str, int, float], list[dict[str, Any]]] = {}
    for protocol, campaigns in figures["main_job"].items():
        for run in (*campaigns, *figures["rates"].get(protocol, {}).values()):
            runs.setdefault((protocol, run.get("joints", 2), run["rate"]), []).append(run)
    rows = [
        [
            protocol,
            joints,
            f"{rate:.0f}",
            sum(run["rows"] for run in own),
            f"{sum(run['lost'] for run in own)}, {sum(run['lost_unheld'] for run in own)}",
            f"{min(run['clear_s'] for run in own):.0f}",
            *(
                _listed(np.max([run[key] for run in own], axis=0))
                for key in ("latency_ms", "lateness_ms")
            ),
        ]
        for (protocol, joints, rate), own in runs.items()
    ]
    waiting = ", ".join(f"{idle['lateness_ms'][2]:.2f}" for idle in figures["waiting"].values())
    return Table(
        f"{sum(close)} of {len(close)} parameters agree over the wire and in process within "
        f"{WITHIN} standard errors (95 % by chance). A sample is lost if a reply is missed or a "
        "cycle skipped; in a pause this computer ran no program. Latency and lateness: "
        "median, 99 %, 99.9 %, largest; a program that only waits is late by "
        f"{waiting} ms (99.9 %). Buses at 1 kHz have 2 Mbit/s (CANopen) and 4 Mbit/s.",
        [
            "protocol",
            "joints",
            "rate Hz",
            "cycles",
            "samples lost, outside pauses",
            "longest without loss s",
            "latency ms",
            "lateness ms",
        ],
        rows,
    )


def main_job(protocol: str, small: bool, seed: int) -> dict[str, Any]:
    """Run one campaign over the wire and in process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        usual = next(iter(RATES[protocol]))
        arm = (
            small_arm(protocol, folder, usual, ROOMY | {"simulation": IMPERFECT})
            if small
            else built_in(protocol, folder)
        )
        inside = _changed(
            arm,
            folder / "inside",
            {"driver": {"kind": "simulated", "rate": arm.driver.rate}},
            ("driver",),
        )
        plan = plan_whole_arm(
            arm,
            None,
            seed,
            replace(WHOLE_ARM, postures=3, speeds=4, longest_stroke=4.0) if small else None,
        )
        wired, figures = over_the_wire(arm, plan, folder, seed)
        plain = follow(
            inside, replace(plan, arm=inside.name, arm_sha256=arm_sha256(inside)), folder / "plain"
        )
        return {
            "commit": commit(),
            "arm": arm.name,
            "seed": seed,
            "joints": len(arm.joints),
            "robot_time_s": plan.robot_time,
            **figures,
            **compared(load_run(wired), load_run(plain)),
        }


def pace(protocol: str, rate: float, seconds: float) -> dict[str, Any]:
    """Record a short run of the small arm at a rate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arm = small_arm(protocol, folder, rate, merged(ROOMY, RATES[protocol][rate]))
        plan = plan_whole_arm(
            arm, None, 0, replace(WHOLE_ARM, postures=4, speeds=4, longest_stroke=6.0)
        )
        limits = arm.limits(load_mechanism(arm))
        while robot_time(shorter := replace(plan, segments=plan.segments[:-1]), limits) > seconds:
            plan = shorter
        return {"commit": commit(), **over_the_wire(arm, plan, folder, 0, clear=True)[1]}


# arms and programs


def small_arm(protocol: str, folder: Path, rate: float, changes: dict[str, Any]) -> ArmFile:
    """Write the arm file of the small arm with drives of this protocol."""
    wired = merged(with_port(PAIR[protocol], free_port()), {"driver": {"rate": rate}})
    return _changed(load_arm(SMALL), folder / "arm", merged(wired, changes))


def built_in(protocol: str, folder: Path) -> ArmFile:
    """Write the file of the built-in arm with a bus that no other program uses."""
    name, changes = MAIN_JOBS[protocol]
    return _changed(load_arm(name), folder / "arm", with_port(changes, free_port()))


def _changed(
    arm: ArmFile, folder: Path, changes: dict[str, Any], replaced: tuple[str, ...] = ()
) -> ArmFile:
    """Write a copy of an arm file with changed keys or replaced tables."""
    folder.mkdir()
    table = tomllib.loads(arm.path.read_text(encoding="utf-8"))
    table = merged({key: value for key, value in table.items() if key not in replaced}, changes)
    (folder / arm.model.name).write_bytes(arm.model.read_bytes())
    path = folder / arm.path.name
    path.write_text(tomlkit.dumps(table | {"model": arm.model.name}), encoding="utf-8")
    return load_arm(path)


@contextmanager
def emulated(arm: ArmFile, seed: int) -> Iterator[None]:
    """Run `stribeck emulate` during the block."""
    command = [sys.executable, "-m", "stribeck", "emulate", str(arm.path), "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "listen" in process.stdout.readline()
            yield
        finally:
            process.kill()


def over_the_wire(
    arm: ArmFile, plan: Plan, folder: Path, seed: int, clear: bool = False
) -> tuple[Path, dict[str, Any]]:
    """Return run folder and figures of the first run that no pause of this computer
    stopped, or of the last attempt.

    With `clear`, a run that lost samples in such pauses only is repeated; a sample lost outside
    pauses is the fault of the program. `ended` is the number of earlier runs that were stopped, and
    `again` has the lost samples of the other earlier runs.
    """
    ended, again = 0, list[int]()
    while True:
        left = TRIES - 1 - ended - len(again)
        with emulated(arm, seed), watched() as stood:
            try:
                path = follow(arm, plan, folder / f"out {left}")
            except RuntimeError as error:
                if not left or not re.search(PAUSED, str(error)):
                    raise
                ended += 1
                continue
        figures = punctuality(path, stood)
        if not left or not clear or not figures["lost"] or figures["lost_unheld"]:
            return path, {"ended": ended, "again": again, **figures}
        again.append(figures["lost"])


def follow(arm: ArmFile, plan: Plan, out: Path) -> Path:
    """Run `stribeck run` with a plan; return the run folder."""
    path = arm.path.with_name("plan.toml")
    write_plan(plan, path)
    command = [
        sys.executable,
        "-m",
        "stribeck",
        "run",
        str(arm.path),
        "--plan",
        str(path),
        "--out",
        str(out),
        "--seed",
        str(plan.seed),
        "--yes",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arm.name}: stribeck run ended with {done.returncode}: {done.stderr}")
    return Path(json.loads(done.stdout)["run"])


# figures


def waiting(rate: float, seconds: float) -> dict[str, Any]:
    """Punctuality of cycles without any work, which is the best that this computer allows."""
    late, left_out = [], 0
    with real_time():
        tick = began = time.perf_counter()
        while tick < began + seconds:
            tick += 1.0 / rate
            time.sleep(max(0.0, tick - time.perf_counter()))
            late.append(1e3 * (time.perf_counter() - tick))
            passed = int(late[-1] * rate / 1e3)
            tick, left_out = tick + passed / rate, left_out + passed
    return {
        "commit": commit(),
        "rate": rate,
        "rows": len(late),
        "seconds": seconds,
        "left_out": left_out,
        "lateness_ms": _quantiles(np.array(late)),
    }


def punctuality(path: Path, stood: list[tuple[float, float]]) -> dict[str, Any]:
    """Lost samples, lateness and latency of a run over the wire; `pauses` are the pauses of
    the computer during the run.
    """
    run = load_run(path, ("t",))
    told = next(event for event in run.events if event["event"] == "replies")
    rate, latency = run.arm.driver.rate, 1e3 * (run.signals["t"] - run.t[:, None])
    ticks, late = on_the_grid(run.t, rate)
    left_out = np.diff(ticks, append=ticks[-1] + 1) - 1
    lost = (latency < 0.0).any(axis=1) + left_out
    held = near(told["epoch"] + run.t, stood, PATIENCE / rate)
    clear = np.diff(run.t[lost > 0], prepend=run.t[0], append=run.t[-1])
    return {
        "lost": int(lost.sum()),
        "lost_unheld": int(lost[~held].sum()),
        "held": float(held.mean()),
        "stood": len(stood),
        "clear_s": float(clear.max()),
        "rate": rate,
        "rows": len(run.t),
        "seconds": float(run.t[-1] - run.t[0]),
        "missed": sum(told["missed"]),
        "left_out": int(left_out.sum()),
        "latency_ms": _quantiles(latency[latency >= 0.0]),
        "lateness_ms": _quantiles(1e3 * late),
    }


def on_the_grid(t: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the tick of each cycle, and the delay of its begin relative to the usual
    delay after the tick [s].

    A cycle begins after its tick and before the next tick. A cycle that has not
    begun by then is skipped.
    """
    turn = rate * (t - t[0])
    # cycles begin about as long after their ticks as the first
    usual = np.median((turn + 0.5) % 1.0) - 0.5
    ticks, each = np.floor(turn - usual + EARLY).astype(int), np.arange(len(t))
    # one that is taken for the next one's comes before
    ticks = each + np.minimum.accumulate((ticks - each)[::-1])[::-1]
    return ticks, (turn - usual - ticks) / rate


def _quantiles(values: np.ndarray) -> list[float]:
    """Median, 99 %, 99.9 % and largest value."""
    return [round(float(value), 3) for value in np.quantile(values, (0.5, 0.99, 0.999, 1.0))]


def compared(run: Run, inside: Run) -> dict[str, Any]:
    """Compare estimates of a run over the wire with those of a run in
    process and with the truth.
    """
    rows, wired, plain = [], identify([run]), identify([inside])
    for name, joint in wired.calibration.joints.items():
        other = plain.calibration.joints[name]
        for key, value in joint.parameters.items():
            twin = other.parameters.get(key)
            if (
                twin
                and value.value is not None
                and twin.value is not None
                and value.std_error
                and twin.std_error
            ):
                error = float(np.hypot(value.std_error, twin.std_error))
                rows.append(
                    {
                        "joint": name,
                        "parameter": key,
                        "wire": value.value,
                        "inside": twin.value,
                        "error": error,
                        "unit": value.unit,
                        "off": abs(value.value - twin.value) / error,
                    }
                )
    truth = SimulatedArm(inside.arm)
    verdicts = judge_parameters(
        wired.calibration, wired.points, truth, motions_of_points(run, wired.points)
    )
    return {
        "parameters": rows,
        "covered": [verdict.covered for verdict in verdicts],
        "laws": {
            name: [f"{joint.law}/{joint.load}" for joint in (found, plain.calibration.joints[name])]
            for name, found in wired.calibration.joints.items()
        },
    }


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
