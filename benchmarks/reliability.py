"""Fault campaign: motion of the joints after bus, drives or computer fail while a small arm moves.

`stribeck run` drives two emulated drives on a loopback bus; each program is a process of its own. A
fault occurs at a random time. A judge that is independent of drivers and protocols reads the
emulator's record of the joints (`Body.trace`), the exit code, the messages, and the run folder.
"""

import argparse
import json
import os
import re
import shutil
import signal
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from benchmarks.between import (
    WIRES,
    break_bus,
    spoil_frames,
)
from benchmarks.page import Table, commit
from benchmarks.pauses import robbed, watched
from stribeck.drivers.emulators.body import POWERS
from stribeck.drivers.emulators.emulator import emulate
from stribeck.drivers.realtime import real_time
from stribeck.experiments.plans.margins import run_on, silence
from stribeck.experiments.plans.motion_profile import robot_time
from stribeck.experiments.plans.plan import Plan, Segment, write_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import StribeckError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import DONE, REPLIES, arm_sha256, load_run
from tests.drivers.wires import (
    PAIR,
    as_of_another_computer,
    free_port,
    merged,
    processes,
    with_port,
)

# a column that turns, a boom that it lifts
ARM = Path(__file__).parents[1] / "tests" / "arms" / "pair.toml"
# ends [rad], speed of the column [rad/s], number
STRIKES, SPEED, PASSES = ((-0.4, 0.8), (0.4, 1.3)), 1.2, 4
# of both [rad/s]
PACES = SPEED, SPEED * abs(STRIKES[1][1] - STRIKES[0][1]) / abs(STRIKES[1][0] - STRIKES[0][0])
# rad; margin of the position limits beyond the stopping distance from the ends of the sweeps
ROOM = 0.005
# the boom hangs, so that friction holds it until it is powered; it has no brake
CHANGES: dict[str, Any] = {
    "workspace": {"box": [[-2.0, 2.0], [-2.0, 2.0], [-2.0, 2.0]], "home": [0.0, 1.2]},
    "driver": {"watchdog": 0.2},
    "joints": {"turn": {"stop": "brake"}, "lift": {}},
}
MOVING = 0.02  # rad/s; a faster joint counts as moving
STILL = 0.005  # rad; allowed displacement of a joint that must not move
# s; allowance for physics and a busy computer, beyond watchdog and braking time
SLACK = 0.1
SET_UP = 0.2  # share of cases with a fault before the joints have power, or shortly after
BEGINNING = 1.5  # s; approximate time from program start to power
FIRST = 0.2  # share of cases with a fault during the slow first motion
SLOWLY = 3.0  # s; approximate duration of the slow first motion
ENDING = 0.8  # s; approximate time from the last sweep to the end of the program
STOPPED = 0.8  # s; duration of the pause of a stopped computer
WATCHED = 0.6  # s; time for which joints are recorded after the end of the program
STOOD = 0.025  # s; a longer pause of this computer may be the reason for a stop of the arm
AGAIN = 2  # largest number of repetitions of such a case,
# if the case deviates in these points only
EXCUSED = ("not tolerated", "not said", "moved under power")
COUNTED = 2.0  # s; a loss of 1 % of the frames must be noticed within this time
# s; timeout of a program; a busy computer may need a minute to start a program
PATIENCE = 300.0
NOTHING_HEARD = r"has not replied|does not reply|no drive replies|does not answer"
SECOND, TAKEN = "second program", r"follows another program|cannot be opened"
TORN = (
    rf"{NOTHING_HEARD}|stopped by itself|the bus failed|this computer sent nothing|is 'fault' "
    r"after|does not hold it"
)
HELD, BRAKED = "held by their drives", "stopped by their drives, then braked or held"
LET_GO = "without power by their drives' watchdogs: braked, or falling"


@dataclass(frozen=True)
class Nature:
    """Behaviour of the drives of a protocol without the computer.

    Attributes
    ----------
    alone : str
        State of the joints after the drives receive nothing any more: `HELD`, `BRAKED` or `LET_GO`.
    fault : str
        Pattern of the message about the drives' own fault.
    rate : float
        Command rate [Hz].
    behind : float
        Largest tracking error of a joint [rad].
    swings : float
        Longest oscillation of a joint about the position at which its drive stopped [s].
    brakes : bool
        True if these drives are refused for joints without brake.
    """

    alone: str
    fault: str
    rate: float = 250.0
    behind: float = 0.05
    swings: float = 0.0
    brakes: bool = False


PROTOCOLS = {
    "canopen": Nature(BRAKED, r"error 0x2310 \(overcurrent\)"),
    "dynamixel": Nature(HELD, "overload", 200.0, 0.1, 0.6),
    "damiao": Nature(LET_GO, "overcurrent"),
    "odrive": Nature(LET_GO, "bus overcurrent"),
    "cubemars": Nature(HELD, "temperature of the motor", brakes=True),
}


@dataclass(frozen=True)
class Required:
    """Required outcome of a fault.

    Attributes
    ----------
    text : str
        Text for the table; {alone} is the behaviour of the drives.
    words : str
        Pattern of the message with which the program ends with exit code 3; {fault}
        is the drives' own fault.
    unheard : bool
        True if all drives, or the faulty drive, receive nothing any more.
    tolerated : bool
        True if the program must continue to the end of the plan.
    may_end : bool
        True if the program may continue or stop.
    harmless : str
        Phase before which the fault is harmless and the program may continue: "power",
        "motion", or "" for never.
    falls : bool
        True if the joint of the faulty drive may lose power, and fall without a brake.
    code : int
        Exit code if the program stops.
    """

    text: str
    words: str = ""
    unheard: bool = False
    tolerated: bool = False
    may_end: bool = False
    harmless: str = ""
    falls: bool = False
    code: int = 3


FAULTS: dict[str, Required] = {
    "frames lost": Required("tolerated and counted", tolerated=True),
    "frames delayed": Required("tolerated, late replies counted", tolerated=True),
    "frames doubled": Required("tolerated", tolerated=True),
    "frames swapped": Required("tolerated, late replies counted", tolerated=True),
    "replies damaged": Required(
        "counted, or segment dropped and all joints stopped",
        rf"limit|the drive of|{TORN}",
        may_end=True,
    ),
    "cable out": Required(
        "segment dropped; all joints {alone}", rf"{NOTHING_HEARD}|stopped by itself", unheard=True
    ),
    "drive silent": Required(
        "segment dropped; this joint {alone}, other joints stopped", NOTHING_HEARD, unheard=True
    ),
    "drive reset": Required(
        "segment dropped; this joint braked, or falls; other joints stopped",
        r"was reset|outside its limits|watchdog expired|following error|position with stopping "
        r"distance|"
        rf"{TORN}",
        falls=True,
        harmless="motion",
    ),
    "drive fault": Required(
        "segment dropped; this joint braked, or falls; other joints stopped", "{fault}", falls=True
    ),
    "bus error": Required(
        "segment dropped; all joints {alone}",
        r"the bus failed|cannot be read|does not answer",
        unheard=True,
    ),
    "emulator killed": Required(
        "segment dropped", rf"{NOTHING_HEARD}|the bus failed|cannot be opened"
    ),
    "host stopped": Required(
        "segment dropped; all joints {alone}, and stopped when the computer continues",
        rf"watchdog expired|stood at|{TORN}",
        unheard=True,
        harmless="power",
    ),
    "host killed": Required(
        "all joints {alone}; all finished segments on disk", unheard=True, code=-signal.SIGKILL
    ),
    SECOND: Required(
        "refused if the first program has power; the first program continues; after simultaneous "
        "starts both may stop",
        rf"reads back|was reset|{TAKEN}|{TORN}",
        tolerated=True,
        harmless="power",
    ),
}
DRIVES = {"drive silent": "silent", "drive reset": "reset", "drive fault": "fault"}


@dataclass(frozen=True)
class Case:
    """Observations of one fault.

    Attributes
    ----------
    fault : str
        Name of the fault.
    struck : int or None
        Joint of the faulty drive.
    at : float
        Start time of the fault, by `time.monotonic`.
    over : float
        End time of the program.
    code : int or None
        Exit code of the program; None if it hung.
    said : str
        Standard error of the program.
    trace : ndarray, shape (N, 1 + 3 n)
        See `Body.trace`.
    campaign : Path
        Folder of results of the campaign.
    second : tuple of (float, int or None, str)
        End time, exit code and message of a second program.
    """

    fault: str
    struck: int | None
    at: float
    over: float
    code: int | None
    said: str
    trace: np.ndarray
    campaign: Path
    second: tuple[float, int | None, str] = (0.0, 0, "")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=50, help="number of cases of each fault")
    parser.add_argument("--protocols", nargs="+", default=list(PROTOCOLS), choices=list(PROTOCOLS))
    parser.add_argument("--faults", nargs="+", default=list(FAULTS), choices=list(FAULTS))
    parser.add_argument(
        "--jobs",
        type=int,
        default=max(1, (os.cpu_count() or 1) // 2),
        help="number of parallel cases; each case runs two programs, and the default leaves a "
        "core for each "
        "program",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--add",
        type=Path,
        nargs="*",
        default=[],
        help="results of earlier runs that are included, except for faults that this run repeats",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all faults and judge the cases."""
    cases = [
        (protocol, fault, options.seed + seed)
        for seed in range(options.cases)
        for protocol in options.protocols
        for fault in options.faults
    ]
    groups = grouped(judged(cases, options.jobs))
    again = {(protocol, fault) for protocol, fault, _ in cases}
    for path in options.add:
        record = json.loads(path.read_text(encoding="utf-8"))
        groups += [
            group
            for group in record["figures"]["groups"]
            if (group["protocol"], group["fault"]) not in again
        ]
    return {"groups": groups}


def grouped(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of all cases of a protocol and a fault together."""
    groups = []
    for protocol, fault in dict.fromkeys((case["protocol"], case["fault"]) for case in results):
        cases = [case for case in results if (case["protocol"], case["fault"]) == (protocol, fault)]
        rest = [case["rest_after"] for case in cases if case["rest_after"] is not None]
        groups.append(
            {
                "protocol": protocol,
                "fault": fault,
                "commits": sorted({case["commit"] for case in cases}),
                "cases": len(cases),
                "seen": dict(Counter(case["seen"] for case in cases).most_common()),
                "rest_after": [round(seconds, 3) for seconds in rest],
                "room": [round(case["room"], 4) for case in cases],
                "missed": [case["missed"] for case in cases],
                "segments": [case["segments"] for case in cases],
                "again": sum(case.get("again", 0) > 0 for case in cases),
                "wrong": {case["seed"]: case["breaches"] for case in cases if case["breaches"]},
                "before": {case["seed"]: case["before"] for case in cases if case.get("before")},
            }
        )
    return groups


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each fault, over all protocols."""
    rows = []
    for fault, required in FAULTS.items():
        groups = [group for group in figures["groups"] if group["fault"] == fault]
        if not groups:
            continue
        cases = sum(group["cases"] for group in groups)
        rest = [seconds for group in groups for seconds in group["rest_after"]]
        seen: Counter[str] = Counter()
        for group in groups:
            seen.update(group["seen"])
        rows.append(
            [
                fault,
                required.text.format(alone="left to their drives"),
                cases,
                cases - sum(len(group["wrong"]) for group in groups),
                ", ".join(f"{outcome} {count}" for outcome, count in seen.most_common()),
                f"{np.median(rest):.2f} ({max(rest):.2f})" if rest else "-",
                f"{min(min(group['room']) for group in groups):.2f}",
                sum(group["again"] for group in groups),
            ]
        )
    protocols = ", ".join(dict.fromkeys(group["protocol"] for group in figures["groups"]))
    return Table(
        f"`stribeck run` moves two emulated drives over {protocols}; at a random instant of the "
        "program comes a fault. Required in every case: joints stop, braked or held by their "
        f"drives, within watchdog ({CHANGES['driver']['watchdog']:g} s), braking and {SLACK:g} s "
        f"(Dynamixel {PROTOCOLS['dynamixel'].swings:g} s more); no powered or braked joint passes a "
        "limit; none without brake falls, unless its own drive failed or lets go in silence "
        "(Damiao, ODrive); finished segments can be read; the message names the failure; nothing "
        f"hangs. A case in which this computer stood still for {1e3 * STOOD:g} ms is repeated. "
        "Leave one core free: replies later than 50 ms stop the arm.",
        [
            "fault",
            "must be",
            "cases",
            "as required",
            "seen",
            "powered motion after the fault s, median (most)",
            "least room to a limit rad",
            "repeated",
        ],
        rows,
    )


def judged(cases: Sequence[tuple[str, str, int]], jobs: int) -> list[dict[str, Any]]:
    """Run all cases and return their results.

    A case is repeated if this computer paused and the only deviations are consequences of a pause;
    `before` has the findings of the earlier attempts.
    """
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for again in range(AGAIN + 1):
        waiting = [case for case in cases if case not in found or excused(found[case])]
        with watched() as pauses, ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(lambda case: fail_and_judge(*case), waiting))
        for case, result in zip(waiting, results, strict=True):
            longest = max(
                (
                    end - begin
                    for begin, end in pauses
                    if begin < result["over"] and end > result["began"]
                ),
                default=0.0,
            )
            before = [*found[case]["before"], *found[case]["breaches"]] if case in found else []
            found[case] = {**result, "stood": longest, "again": again, "before": before}
    return [found[case] for case in cases]


def excused(result: dict[str, Any]) -> bool:
    """Return True if a pause of this computer may explain all deviations."""
    breaches = result["breaches"]
    return (
        bool(breaches)
        and result["stood"] > STOOD
        and all(any(word in breach for word in EXCUSED) for breach in breaches)
    )


def fail_and_judge(protocol: str, fault: str, seed: int) -> dict[str, Any]:
    """Run one case from the start of its programs to the verdict;
    `breaches` lists the deviations.
    """
    with tempfile.TemporaryDirectory() as folder:
        arm = small_arm(protocol, Path(folder))
        began = time.time()
        with robbed() as time_lost:
            case = let_fail(arm, fault, seed)
        return {
            "protocol": protocol,
            "fault": fault,
            "seed": seed,
            "commit": commit(),
            "began": began,
            "over": time.time(),
            **time_lost,
            **judge(case, arm),
        }


def small_arm(protocol: str, folder: Path) -> ArmFile:
    """Write the arm file with drives of this protocol, and its plan."""
    shutil.copy(ARM.with_suffix(".urdf"), folder)
    table = merged(
        merged(
            tomllib.loads(ARM.read_text(encoding="utf-8")), with_port(PAIR[protocol], free_port())
        ),
        CHANGES,
    )
    table["driver"]["rate"] = PROTOCOLS[protocol].rate
    for joint in table["joints"].values():
        joint["following_error"] = PROTOCOLS[protocol].behind
    table["joints"]["lift"]["stop"] = "brake" if PROTOCOLS[protocol].brakes else "hold"
    path = folder / ARM.name
    path.write_text(tomlkit.dumps(table), encoding="utf-8")
    silent = silence(load_arm(path))
    for joint, *strikes, pace in zip(table["joints"].values(), *STRIKES, PACES, strict=True):
        beyond = float(run_on(np.array(pace), np.array(joint["acceleration"]), silent)) + ROOM
        joint["position"] = [min(strikes) - beyond, max(strikes) + beyond]
    path.write_text(tomlkit.dumps(table), encoding="utf-8")
    arm = load_arm(path)
    write_plan(sweeps(arm), plan_of(arm))
    return arm


def plan_of(arm: ArmFile) -> Path:
    """Path of the plan."""
    return arm.path.with_name("plan.toml")


def sweeps(arm: ArmFile) -> Plan:
    """Plan that moves both joints back and forth."""
    mechanism = load_mechanism(arm)
    low, high = STRIKES
    segments = [Segment(0, "move", low, 1)]
    for k in range(1, PASSES + 1):
        segments.append(
            Segment(k, "sweep", high if k % 2 else low, 1, "turn", SPEED, None if k % 2 else k - 1)
        )
    plan = Plan(
        arm.name,
        arm_sha256(arm),
        "sweeps",
        0,
        mechanism.names,
        tuple(arm.home(mechanism)),
        tuple(segments),
    )
    return replace(plan, robot_time=robot_time(plan, arm.limits(mechanism)))


# the programs


def let_fail(arm: ArmFile, fault: str, seed: int) -> Case:
    """Start emulator and program, cause the fault, and observe the result."""
    rng = np.random.default_rng([seed, *fault.encode()])
    lasts = sweeps(arm).robot_time + ENDING
    struck = int(rng.integers(2)) if fault in DRIVES else None
    folder, begins, listens, starts = (
        arm.path.parent,
        processes.Value("d", np.inf),
        processes.Event(),
        processes.Event(),
    )
    trace, said, answer, out = (
        folder / "trace",
        folder / "said",
        folder / "answer",
        folder / "campaign",
    )
    drives = processes.Process(
        target=_drives, args=(arm.path, trace, fault, struck, seed, begins, listens), daemon=True
    )
    program = processes.Process(
        target=_program, args=(run_of(arm, out), said, fault, begins, starts), daemon=True
    )
    second = processes.Process(
        target=_program,
        args=(["check", str(arm.path), "--reset"], answer, fault, begins, starts),
        daemon=True,
    )
    told: tuple[float, int | None, str] | None = None
    try:
        drives.start()
        assert listens.wait(PATIENCE)
        _until(lambda: len(_rows(trace)) > 0, drives)
        program.start()
        assert starts.wait(PATIENCE)
        when = rng.random()
        if when < SET_UP:
            at = time.monotonic() + rng.uniform(0.0, BEGINNING)
        elif when < SET_UP + FIRST:
            _until(lambda: bool(_rows(trace, 1)[0, 1::3].any()), program)
            at = time.monotonic() + rng.uniform(0.0, SLOWLY)
        else:
            _until(lambda: bool((np.abs(_rows(trace, 1)[0, 3::3]) > 0.5 * SPEED).any()), program)
            at = time.monotonic() + rng.uniform(0.0, lasts)
        begins.value = at
        # this program may run late, because the watched programs have priority
        at = max(at, time.monotonic())
        if fault in ("emulator killed", "host stopped", "host killed"):
            program.join(max(0.0, at - time.monotonic()))
            at = time.monotonic()
            _strike(fault, drives, program)
        elif fault == SECOND:
            program.join(max(0.0, at - time.monotonic()))
            at = time.monotonic()
            second.start()
            second.join(PATIENCE)
            told = time.monotonic(), _code(second, answer), _said(answer, folder)
        program.join(PATIENCE)
        over, code = time.monotonic(), _code(program, said)
        time.sleep(WATCHED)
    finally:
        for process in (program, second, drives):
            if process.is_alive():
                process.kill()
            if process.pid is not None:
                process.join()
    return Case(
        fault, struck, at, over, code, _said(said, folder), _rows(trace), out, told or Case.second
    )


def run_of(arm: ArmFile, out: Path) -> list[str]:
    """Arguments of `stribeck`."""
    return ["run", str(arm.path), "--plan", str(plan_of(arm)), "--out", str(out), "--yes"]


def _code(process: Any, said: Path) -> int | None:
    """Exit code as the program writes it: another thread may collect the
    code of the process first.
    """
    code = _code_file(said)
    return int(code.read_text(encoding="utf-8")) if code.exists() else process.exitcode


def _code_file(said: Path) -> Path:
    return said.with_suffix(".code")


def _said(file: Path, folder: Path) -> str:
    """Output of a program, without the name of its temporary folder."""
    return file.read_text(encoding="utf-8").replace(str(folder), "folder")


def _until(happens: Callable[[], bool], process: Any) -> None:
    """Wait for a condition while a process runs."""
    while process.is_alive() and not happens():
        time.sleep(0.005)


def _rows(trace: Path, newest: int | None = None) -> np.ndarray:
    """Complete rows of a trace of two joints, all rows or the newest rows."""
    columns, size = 1 + 3 * 2, np.dtype(float).itemsize
    rows = trace.stat().st_size // (columns * size)
    count = rows if newest is None else min(newest, rows)
    return np.fromfile(
        trace, count=count * columns, offset=(rows - count) * columns * size
    ).reshape(-1, columns)


def _strike(fault: str, drives: Any, program: Any) -> None:
    """Cause a fault of a process from outside."""
    if fault == "emulator killed":
        drives.kill()
    elif program.is_alive() and fault == "host killed":
        program.kill()
    elif program.is_alive():
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(program.pid, signal.SIGCONT)


processes.set_forkserver_preload(
    [
        *(
            f"stribeck.experiments.{module}"
            for module in (
                "cli.app",
                "cli.screen.plan_text",
                "methods.registry",
                "recording.drive_plan",
            )
        ),
        *(
            f"stribeck.drivers.{module}"
            for module in (
                "canopen.canopen_link",
                "mit.cubemars",
                "mit.damiao",
                "dynamixel.dynamixel_link",
                "odrive.odrive_link",
                "wire.wired_arm",
            )
        ),
        *(f"stribeck.drivers.emulators.{protocol}" for protocol in PROTOCOLS),
        __name__,
    ]
)


def _drives(
    arm: Path, trace: Path, fault: str, struck: int | None, seed: int, begins: Any, listens: Any
) -> None:
    """The emulator's process."""
    if fault in WIRES:
        spoil_frames(fault, lambda: float(begins.value), seed)
    emulator = emulate(load_arm(arm), seed)
    pending = struck

    def going() -> bool:
        nonlocal pending
        if pending is not None and time.monotonic() >= begins.value:
            emulator.suffer(pending, DRIVES[fault])
            pending = None
        return True

    with trace.open("wb", buffering=0) as emulator.body.trace:
        listens.set()
        with real_time():
            emulator.serve(going)


def _program(command: list[str], said: Path, fault: str, begins: Any, starts: Any) -> None:
    """Start a process of `stribeck`."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
    if fault == "bus error":
        break_bus(lambda: float(begins.value))
    # on the same computer, a second program is refused immediately
    if fault == SECOND:
        as_of_another_computer()
    from stribeck.experiments.cli.app import main

    starts.set()
    try:
        main(command)
    except SystemExit as end:
        _code_file(said).write_text(str(int(end.code or 0)), encoding="utf-8")
        raise


# the judge


def judge(case: Case, arm: ArmFile) -> dict[str, Any]:
    """Compare observations with requirements."""
    required, nature, mechanism = (
        FAULTS[case.fault],
        PROTOCOLS[arm.driver.kind],
        load_mechanism(arm),
    )
    limits, n = arm.limits(mechanism), mechanism.n
    t, rows = case.trace[:, 0], case.trace[:, 1:].reshape(-1, n, 3)
    powered, q, dq = rows[:, :, 0] != POWERS.index("off"), rows[:, :, 1], rows[:, :, 2]
    moving = powered & (np.abs(dq) > MOVING)
    breaches = []

    # joints
    watchdog = float(arm.driver.model_dump()["watchdog"])
    braking = float((limits.velocity / limits.acceleration).max())
    early = case.at < _first(t, powered)  # before any joint had power
    harmless = (
        early
        if required.harmless == "power"
        else required.harmless == "motion" and case.at < _first(t, moving)
    )
    at_once = not (required.tolerated or required.may_end or harmless)
    quiet = (
        case.at + watchdog + braking + nature.swings + SLACK
        if at_once and case.at < case.over
        else case.over
    )
    for j in map(int, np.flatnonzero(moving[t > quiet].any(axis=0))):
        if np.ptp(q[(t > quiet) & powered[:, j], j]) > STILL:
            breaches.append(
                f"{mechanism.names[j]} moved under power {t[moving[:, j]][-1] - case.at:.2f} s "
                "after the fault"
            )
    safe = powered | np.array([arm.joint(name).stop == "brake" for name in mechanism.names])
    room = np.where(safe, np.minimum(q - limits.position[:, 0], limits.position[:, 1] - q), np.inf)
    if room.min() < 0.0:
        breaches.append(
            f"{mechanism.names[int(np.argmin(room.min(axis=0)))]} passed its limit by "
            f"{-room.min():.3f} rad"
        )
    speed = (np.abs(dq) / limits.velocity)[powered]
    if speed.size and speed.max() > 1.0:
        breaches.append(f"a joint went at {speed.max():.2f} times its highest speed")
    after = t > case.at - SLACK
    # not yet or no longer in motion
    at_rest = not (moving[after].any() and np.ptp(q[after], axis=0).max() > STILL)
    brakes = [arm.joint(name).stop == "brake" for name in mechanism.names]
    ends = [_end(powered[-1, j], brake) for j, brake in enumerate(brakes)]
    for j, (end, brake) in enumerate(zip(ends, brakes, strict=True)):
        # each set up the other's drives
        nobodys = case.fault == "emulator killed" or (case.fault == SECOND and early)
        if (
            powered[:, j].any()
            and not nobodys
            and end not in (may := may_end_as(case, nature, j, brake, at_rest or harmless))
        ):
            breaches.append(
                f"{mechanism.names[j]} was left to fall"
                if end == "falls"
                else f"{mechanism.names[j]} ended {end}, not {' or '.join(sorted(may))}"
            )

    # files
    kept, whole, missed, damaged, lost = _recorded(case, arm)
    breaches += lost
    counted = {"frames lost": missed, "replies damaged": missed + damaged}.get(case.fault, 1)
    if not counted and case.over - case.at > COUNTED and not early:
        breaches.append(f"no reply is counted as missed or damaged in {case.over - case.at:.1f} s")

    # program
    never = not powered.any()
    seen = _seen(case, never, whole)
    if "Traceback" in case.said:
        breaches.append("a traceback")
    if seen == "hung":
        breaches.append(f"the program hung: {case.said[-300:]}")
    elif seen == "done":
        if at_once and not at_rest:
            breaches.append("the program went on as if nothing had happened")
    elif case.code != required.code:
        breaches.append(f"exit code {case.code}, not {required.code}: {case.said[-300:]}")
    elif required.tolerated and not never and not harmless:
        breaches.append(f"not tolerated: {case.said[-300:]}")
    elif case.code == 3 and not re.search(
        f"^stribeck: .*({required.words.format(fault=nature.fault) or TORN})",
        case.said,
        re.MULTILINE,
    ):
        breaches.append(f"not said: {case.said[-300:]}")
    ended, code, answer = case.second
    went_on = moving[t > ended].any()  # False if the first program was ending or had ended
    if "Traceback" in answer or code not in (0, required.code):
        breaches.append(f"the second program ended with exit code {code}: {answer[-300:]}")
    elif (
        case.fault == SECOND
        and not early
        and went_on
        and not (code == required.code and re.search(TAKEN, answer))
    ):
        breaches.append(f"the second program was not refused: exit code {code}, {answer[-300:]}")
    moved = t[moving.any(axis=1) & (t > case.at)]
    rest_after = (float(moved[-1] - case.at) if moved.size else 0.0) if at_once else None
    return {
        "seen": seen,
        "ends": ends,
        "struck": case.struck,
        "rest_after": rest_after,
        "room": float(room.min()),
        "segments": kept,
        "missed": missed,
        "damaged": damaged,
        "code": case.code,
        "breaches": breaches,
    }


def _first(t: np.ndarray, happens: np.ndarray) -> float:
    """Time at which a condition first holds for a joint."""
    return float(min(t[happens.any(axis=1)], default=np.inf))


def _seen(case: Case, never: bool, whole: bool) -> str:
    """One word for the outcome of the program."""
    if case.code is None:
        return "hung"
    if case.code == 0 and whole:
        return "done"
    if case.code == -signal.SIGKILL:
        return "killed"
    return "not powered" if never else "stopped"


def may_end_as(case: Case, nature: Nature, j: int, brake: bool, unmoved: bool) -> set[str]:
    """Allowed final states of a joint that had power; see `_end`.

    A joint that the program could stop is braked, or held if it has no brake. A fault while the arm
    is `unmoved` may leave the state as it is: just after a stop, during enabling, or before
    enabling if the fault is harmless then.
    """
    required, told, without = FAULTS[case.fault], _end(not brake, brake), _end(False, brake)
    if required.unheard and case.struck in (None, j):
        alone = {HELD: "held", BRAKED: told, LET_GO: without}[nature.alone]
        # the computer continues and then stops the arm
        if case.fault == "host stopped" and brake:
            alone = told
    elif required.falls and case.struck == j:
        alone = without
    else:
        return {told}
    return {alone, told} if unmoved else {alone}


def _end(powered: bool, brake: bool) -> str:
    """Final state of a joint."""
    return "held" if powered else "braked" if brake else "falls"


def _recorded(case: Case, arm: ArmFile) -> tuple[int, bool, int, int, list[str]]:
    """Return finished segments, whether these are all, missed replies, damaged replies of
    the run record, and losses.

    Losses are deviations between the files and the record.
    """
    events = list(case.campaign.glob("runs/*/events.jsonl"))
    if not events or '"finished"' not in events[0].read_text(encoding="utf-8"):
        return 0, False, 0, 0, []
    try:
        run = load_run(find_runs(case.campaign)[0], ("q", "t"))
    except StribeckError as error:
        return 0, False, 0, 0, [f"the run cannot be read: {error}"]
    finished = [event for event in run.events if event["event"] == "finished"]
    lost = [
        f"segment {event['segment']} ended at row {event['row']}, {len(run.t)} are on disk"
        for event in finished
        if event["row"] > len(run.t)
    ]
    if case.code != -signal.SIGKILL and run.closed is None:
        lost.append("the run was not closed")
    if (
        run.closed is not None
        and case.code != -signal.SIGKILL
        and (run.closed["reason"] == DONE) != (case.code == 0)
    ):
        lost.append(
            f"the run was closed with {run.closed['reason']!r}, the exit code is {case.code}"
        )
    missed, told = (
        int((run.signals["t"] < run.t[:, None]).sum()),
        [event for event in run.events if event["event"] == REPLIES],
    )
    if case.code != -signal.SIGKILL and (not told or sum(told[0]["missed"]) < missed):
        lost.append(f"{missed} replies were missed, the run says {told}")
    kept = len({event["segment"] for event in finished})
    return kept, kept == PASSES + 2, missed, sum(event["corrupt"] for event in told), lost
