"""The fault campaign: what the joints truly do when bus, drives or computer fail while a small arm moves, many times each.

`stribeck run` drives two emulated drives on a loopback bus, each program a process of its own. Something fails at a random
instant; a judge who knows neither driver nor protocol looks at the emulator's record of the joints (`Body.trace`), the exit
code, what was said, and the run folder.
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

from benchmarks.between import DAMAGED, DELAY, DELAYED, DOUBLED, LOST, SWAPPED, WIRES, break_bus, spoil_frames
from benchmarks.pauses import robbed, watched
from benchmarks.provenance import commit, listed
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
from tests.drivers.wires import PAIR, as_of_another_computer, free_port, merged, processes, with_port

ARM = Path(__file__).parents[1] / "tests" / "arms" / "pair.toml"        # a column that turns, a boom that it lifts
STRIKES, SPEED, PASSES = ((-0.4, 0.8), (0.4, 1.3)), 1.2, 4             # sweeps between, at the column's speed [rad/s], how many
PACES = SPEED, SPEED * abs(STRIKES[1][1] - STRIKES[0][1]) / abs(STRIKES[1][0] - STRIKES[0][0])          # of both [rad/s]
ROOM = 0.005            # rad beyond the way that a joint may run on for
CHANGES: dict[str, Any] = {     # the boom hangs, so that friction holds it until it is powered; it has no brake
    "workspace": {"box": [[-2.0, 2.0], [-2.0, 2.0], [-2.0, 2.0]], "home": [0.0, 1.2]},
    "driver": {"watchdog": 0.2},
    "joints": {"turn": {"stop": "brake"}, "lift": {}}}
MOVING = 0.02           # rad/s from which a joint moves,
STILL = 0.005           # rad that it may give all the same where it has to stand
SLACK = 0.1             # s that physics and a busy computer may take beyond watchdog and braking
SET_UP = 0.2            # part of the cases in which something fails before joints have power, or a little later
BEGINNING = 1.5         # s from starting the program to power, about
FIRST = 0.2             # part of the cases in which something fails while joints go their first way, slowly,
SLOWLY = 3.0            # s that this takes, about
ENDING = 0.8            # s from the last sweep to the end of the program, about
STOPPED = 0.8           # s that a stopped computer stands
WATCHED = 0.6           # s that joints are watched after the program's end
STOOD = 0.025           # s from which a pause of this computer may be what an arm is stopped for
AGAIN = 2               # times that such a case is tried again,
EXCUSED = ("not tolerated", "not said", "moved under power")       # if all that was not as required was that
COUNTED = 2.0           # s in which one of a hundred frames lost has to be noticed
PATIENCE = 300.0        # s after which a program hangs; a crowded computer may take a minute to start one
NOTHING_HEARD = r"has not replied|does not reply|no drive replies|does not answer"
SECOND, TAKEN = "second program", r"follows another program|cannot be opened"
TORN = rf"{NOTHING_HEARD}|stopped by itself|the bus failed|this computer sent nothing|is 'fault' after|does not hold it"
HELD, BRAKED = "held by their drives", "stopped by their drives, then braked or held"
LET_GO = "without power by their drives' watchdogs: braked, or falling"


@dataclass(frozen=True)
class Nature:
    """What drives of a protocol do by themselves.

    Attributes
    ----------
    alone : str
        What becomes of joints whose drives hear nothing any more: `HELD`, `BRAKED` or `LET_GO`.
    fault : str
        Pattern of how the fault that they may have is told.
    rate : float
        At which they are driven [Hz].
    behind : float
        How far a joint may fall behind its commands [rad].
    swings : float
        How long a joint may swing about the place where its drive stopped it [s].
    brakes : bool
        Whether they are refused for joints without brake.
    """

    alone: str
    fault: str
    rate: float = 250.0
    behind: float = 0.05
    swings: float = 0.0
    brakes: bool = False


PROTOCOLS = {"canopen": Nature(BRAKED, r"error 0x2310 \(overcurrent\)"), "dynamixel": Nature(HELD, "overload", 200.0, 0.1, 0.6),
             "damiao": Nature(LET_GO, "overcurrent"), "odrive": Nature(LET_GO, "bus overcurrent"),
             "cubemars": Nature(HELD, "temperature of the motor", brakes=True)}


@dataclass(frozen=True)
class Required:
    """What has to become of a fault.

    Attributes
    ----------
    text : str
        For people; {alone} is what the drives do.
    words : str
        Pattern of what the program says as it ends with exit code 3; {fault} is the drives' own fault.
    unheard : bool
        Whether drives, or the one that is struck, hear nothing any more.
    tolerated : bool
        Whether the program must go on to the end of the plan.
    may_end : bool
        Whether it may go on, or stop.
    harmless : str
        Until when it does no harm, and the program may go on: before "power", before "motion", or never "".
    falls : bool
        Whether the joint whose drive is struck may lose power, and without a brake fall.
    code : int
        Exit code where it stops.
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
    "replies damaged": Required("counted, or segment dropped and all joints stopped", rf"limit|the drive of|{TORN}",
                                may_end=True),
    "cable out": Required("segment dropped; all joints {alone}", rf"{NOTHING_HEARD}|stopped by itself", unheard=True),
    "drive silent": Required("segment dropped; that joint {alone}, the others stopped", NOTHING_HEARD, unheard=True),
    "drive reset": Required("segment dropped; that joint braked, or falls; the others stopped",
                            r"was reset|outside its limits|watchdog expired|following error|position with stopping distance|"
                            rf"{TORN}", falls=True, harmless="motion"),
    "drive fault": Required("segment dropped; that joint braked, or falls; the others stopped",
                            "{fault}", falls=True),
    "bus error": Required("segment dropped; all joints {alone}", r"the bus failed|cannot be read|does not answer", unheard=True),
    "emulator killed": Required("segment dropped", rf"{NOTHING_HEARD}|the bus failed|cannot be opened"),
    "host stopped": Required("segment dropped; all joints {alone}, and stopped when it goes on",
                             rf"watchdog expired|stood at|{TORN}", unheard=True, harmless="power"),
    "host killed": Required("all joints {alone}; all finished segments on disk", unheard=True, code=-signal.SIGKILL),
    SECOND: Required("tolerated, and refused where the first has power; of two that begin at once none may move, or go on",
                     rf"reads back|was reset|{TAKEN}|{TORN}", tolerated=True, harmless="power"),
}
DRIVES = {"drive silent": "silent", "drive reset": "reset", "drive fault": "fault"}

@dataclass(frozen=True)
class Case:
    """What was seen of one fault.

    Attributes
    ----------
    fault : str
        Its name.
    struck : int or None
        Joint whose drive was struck.
    at : float
        When it began, by `time.monotonic`.
    over : float
        When the program had ended.
    code : int or None
        Its exit code; None if it hung.
    said : str
        What it wrote on standard error.
    trace : ndarray, shape (N, 1 + 3 n)
        See `Body.trace`.
    campaign : Path
        Its folder of results.
    second : tuple of (float, int or None, str)
        When a second program had ended, its exit code, and what it said.
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
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2),
                        help="number of parallel cases; each case runs two programs, and the default leaves a core for each "
                             "program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", type=Path, nargs="*", default=[],
                        help="results of earlier runs that the page includes, except for faults that this run repeats")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Let everything fail, judge, tabulate."""
    cases = [(protocol, fault, options.seed + seed) for seed in range(options.cases) for protocol in options.protocols
             for fault in options.faults]
    results = judged(cases, options.jobs)
    others = [json.loads(path.read_text(encoding="utf-8")) for path in options.add]
    again = {(protocol, fault) for protocol, fault, _ in cases}
    results += [case for other in others for case in other["figures"]["cases"] if (case["protocol"], case["fault"]) not in again]
    return {"cases": results}, _page(results)


def judged(cases: Sequence[tuple[str, str, int]], jobs: int) -> list[dict[str, Any]]:
    """Results of all cases.

    One in which this computer itself stood still, and nothing was not as required but what follows from that, is tried again;
    `before` holds what was found in tries before.
    """
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for again in range(AGAIN + 1):
        waiting = [case for case in cases if case not in found or excused(found[case])]
        with watched() as pauses, ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(lambda case: fail_and_judge(*case), waiting))
        for case, result in zip(waiting, results, strict=True):
            longest = max((end - begin for begin, end in pauses if begin < result["over"] and end > result["began"]), default=0.0)
            before = [*found[case]["before"], *found[case]["breaches"]] if case in found else []
            found[case] = {**result, "stood": longest, "again": again, "before": before}
    return [found[case] for case in cases]


def excused(result: dict[str, Any]) -> bool:
    """Whether all that was not as required may come of this computer's having stood still."""
    breaches = result["breaches"]
    return bool(breaches) and result["stood"] > STOOD and all(any(word in breach for word in EXCUSED) for breach in breaches)


def fail_and_judge(protocol: str, fault: str, seed: int) -> dict[str, Any]:
    """One case from the start of its programs to the verdict; `breaches` lists what is not as required."""
    with tempfile.TemporaryDirectory() as folder:
        arm = small_arm(protocol, Path(folder))
        began = time.time()
        with robbed() as time_lost:
            case = let_fail(arm, fault, seed)
        return {"protocol": protocol, "fault": fault, "seed": seed, "commit": commit(), "began": began, "over": time.time(),
                **time_lost, **judge(case, arm)}


def small_arm(protocol: str, folder: Path) -> ArmFile:
    """The arm of the campaign behind drives of this protocol, and beside it its plan."""
    shutil.copy(ARM.with_suffix(".urdf"), folder)
    table = merged(merged(tomllib.loads(ARM.read_text(encoding="utf-8")), with_port(PAIR[protocol], free_port())), CHANGES)
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
    """Where the plan lies."""
    return arm.path.with_name("plan.toml")


def sweeps(arm: ArmFile) -> Plan:
    """Both joints to and fro."""
    mechanism = load_mechanism(arm)
    low, high = STRIKES
    segments = [Segment(0, "move", low, 1)]
    for k in range(1, PASSES + 1):
        segments.append(Segment(k, "sweep", high if k % 2 else low, 1, "turn", SPEED, None if k % 2 else k - 1))
    plan = Plan(arm.name, arm_sha256(arm), "sweeps", 0, mechanism.names, tuple(arm.home(mechanism)), tuple(segments))
    return replace(plan, robot_time=robot_time(plan, arm.limits(mechanism)))


# the programs

def let_fail(arm: ArmFile, fault: str, seed: int) -> Case:
    """Start emulator and program, let something fail, and see what becomes of it."""
    rng = np.random.default_rng([seed, *fault.encode()])
    lasts = sweeps(arm).robot_time + ENDING
    struck = int(rng.integers(2)) if fault in DRIVES else None
    folder, begins, listens, starts = arm.path.parent, processes.Value("d", np.inf), processes.Event(), processes.Event()
    trace, said, answer, out = folder / "trace", folder / "said", folder / "answer", folder / "campaign"
    drives = processes.Process(target=_drives, args=(arm.path, trace, fault, struck, seed, begins, listens), daemon=True)
    program = processes.Process(target=_program, args=(run_of(arm, out), said, fault, begins, starts), daemon=True)
    second = processes.Process(target=_program, args=(["check", str(arm.path), "--reset"], answer, fault, begins, starts),
                               daemon=True)
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
        at = max(at, time.monotonic())      # this program waits behind those that it watches
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
    return Case(fault, struck, at, over, code, _said(said, folder), _rows(trace), out, told or Case.second)


def run_of(arm: ArmFile, out: Path) -> list[str]:
    """Arguments of `stribeck`."""
    return ["run", str(arm.path), "--plan", str(plan_of(arm)), "--out", str(out), "--yes"]


def _code(process: Any, said: Path) -> int | None:
    """Exit code: as the program says it, since threads that start others may take it from the one that waits for it."""
    code = _code_file(said)
    return int(code.read_text(encoding="utf-8")) if code.exists() else process.exitcode


def _code_file(said: Path) -> Path:
    return said.with_suffix(".code")


def _said(file: Path, folder: Path) -> str:
    """What a program wrote, whose folder has a new name each time."""
    return file.read_text(encoding="utf-8").replace(str(folder), "folder")


def _until(happens: Callable[[], bool], process: Any) -> None:
    """Wait until something happens, as long as a process is there."""
    while process.is_alive() and not happens():
        time.sleep(0.005)


def _rows(trace: Path, newest: int | None = None) -> np.ndarray:
    """Whole rows of a trace of two joints, all or the newest."""
    columns, size = 1 + 3 * 2, np.dtype(float).itemsize
    rows = trace.stat().st_size // (columns * size)
    count = rows if newest is None else min(newest, rows)
    return np.fromfile(trace, count=count * columns, offset=(rows - count) * columns * size).reshape(-1, columns)


def _strike(fault: str, drives: Any, program: Any) -> None:
    """What is done to a process from outside."""
    if fault == "emulator killed":
        drives.kill()
    elif program.is_alive() and fault == "host killed":
        program.kill()
    elif program.is_alive():
        os.kill(program.pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(program.pid, signal.SIGCONT)


processes.set_forkserver_preload([
    *(f"stribeck.experiments.{module}" for module in ("cli.app", "cli.screen.text", "methods.registry", "recording.drive_plan")),
    *(f"stribeck.drivers.{module}" for module in ("canopen.canopen_link", "mit.cubemars", "mit.damiao",
                                                  "dynamixel.dynamixel_link", "odrive.odrive_link", "wire.wired_arm")),
    *(f"stribeck.drivers.emulators.{protocol}" for protocol in PROTOCOLS), __name__])


def _drives(arm: Path, trace: Path, fault: str, struck: int | None, seed: int, begins: Any, listens: Any) -> None:
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
    """The process of `stribeck`."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
    if fault == "bus error":
        break_bus(lambda: float(begins.value))
    if fault == SECOND:                         # of one computer, whoever comes second is refused at once
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
    """What was seen against what is required."""
    required, nature, mechanism = FAULTS[case.fault], PROTOCOLS[arm.driver.kind], load_mechanism(arm)
    limits, n = arm.limits(mechanism), mechanism.n
    t, rows = case.trace[:, 0], case.trace[:, 1:].reshape(-1, n, 3)
    powered, q, dq = rows[:, :, 0] != POWERS.index("off"), rows[:, :, 1], rows[:, :, 2]
    moving = powered & (np.abs(dq) > MOVING)
    breaches = []

    # joints
    watchdog = float(arm.driver.model_dump()["watchdog"])
    braking = float((limits.velocity / limits.acceleration).max())
    early = case.at < _first(t, powered)                    # before any joint had power
    harmless = early if required.harmless == "power" else required.harmless == "motion" and case.at < _first(t, moving)
    at_once = not (required.tolerated or required.may_end or harmless)
    quiet = case.at + watchdog + braking + nature.swings + SLACK if at_once and case.at < case.over else case.over
    for j in map(int, np.flatnonzero(moving[t > quiet].any(axis=0))):
        if np.ptp(q[(t > quiet) & powered[:, j], j]) > STILL:
            breaches.append(f"{mechanism.names[j]} moved under power {t[moving[:, j]][-1] - case.at:.2f} s after the fault")
    safe = powered | np.array([arm.joint(name).stop == "brake" for name in mechanism.names])
    room = np.where(safe, np.minimum(q - limits.position[:, 0], limits.position[:, 1] - q), np.inf)
    if room.min() < 0.0:
        breaches.append(f"{mechanism.names[int(np.argmin(room.min(axis=0)))]} passed its limit by {-room.min():.3f} rad")
    speed = (np.abs(dq) / limits.velocity)[powered]
    if speed.size and speed.max() > 1.0:
        breaches.append(f"a joint went at {speed.max():.2f} times its highest speed")
    after = t > case.at - SLACK
    at_rest = not (moving[after].any() and np.ptp(q[after], axis=0).max() > STILL)         # when it began: not yet, or no more
    brakes = [arm.joint(name).stop == "brake" for name in mechanism.names]
    ends = [_end(powered[-1, j], brake) for j, brake in enumerate(brakes)]
    for j, (end, brake) in enumerate(zip(ends, brakes, strict=True)):
        nobodys = case.fault == "emulator killed" or (case.fault == SECOND and early)      # they have set up each other's drives
        if powered[:, j].any() and not nobodys and end not in (may := may_end_as(case, nature, j, brake, at_rest or harmless)):
            breaches.append(f"{mechanism.names[j]} was left to fall" if end == "falls" else
                            f"{mechanism.names[j]} ended {end}, not {' or '.join(sorted(may))}")

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
    elif case.code == 3 and not re.search(f"^stribeck: .*({required.words.format(fault=nature.fault) or TORN})", case.said,
                                          re.MULTILINE):
        breaches.append(f"not said: {case.said[-300:]}")
    ended, code, answer = case.second
    went_on = moving[t > ended].any()           # else the first was about to end, or had ended
    if "Traceback" in answer or code not in (0, required.code):
        breaches.append(f"the second program ended with exit code {code}: {answer[-300:]}")
    elif case.fault == SECOND and not early and went_on and not (code == required.code and re.search(TAKEN, answer)):
        breaches.append(f"the second program was not refused: exit code {code}, {answer[-300:]}")
    moved = t[moving.any(axis=1) & (t > case.at)]
    rest_after = (float(moved[-1] - case.at) if moved.size else 0.0) if at_once else None
    return {"seen": seen, "ends": ends, "struck": case.struck, "rest_after": rest_after,
            "room": float(room.min()), "segments": kept, "missed": missed, "damaged": damaged, "code": case.code,
            "breaches": breaches}


def _first(t: np.ndarray, happens: np.ndarray) -> float:
    """When something first happens to a joint."""
    return float(min(t[happens.any(axis=1)], default=np.inf))


def _seen(case: Case, never: bool, whole: bool) -> str:
    """In a word, what the program did."""
    if case.code is None:
        return "hung"
    if case.code == 0 and whole:
        return "done"
    if case.code == -signal.SIGKILL:
        return "killed"
    return "not powered" if never else "stopped"


def may_end_as(case: Case, nature: Nature, j: int, brake: bool, unmoved: bool) -> set[str]:
    """What may hold a joint in the end that had power: see `_end`.

    One that the program could tell to stop is braked, or held where there is no brake. What fails while the arm is `unmoved` may
    leave it so: when it has just been stopped, while it is being powered, or before that where it does no harm then.
    """
    required, told, without = FAULTS[case.fault], _end(not brake, brake), _end(False, brake)
    if required.unheard and case.struck in (None, j):
        alone = {HELD: "held", BRAKED: told, LET_GO: without}[nature.alone]
        if case.fault == "host stopped" and brake:      # it goes on, and stops the arm then
            alone = told
    elif required.falls and case.struck == j:
        alone = without
    else:
        return {told}
    return {alone, told} if unmoved else {alone}


def _end(powered: bool, brake: bool) -> str:
    """What holds a joint in the end."""
    return "held" if powered else "braked" if brake else "falls"


def _recorded(case: Case, arm: ArmFile) -> tuple[int, bool, int, int, list[str]]:
    """Segments finished, whether those are all, replies that were not there in time, those that the run says were damaged, and
    what was lost.
    """
    events = list(case.campaign.glob("runs/*/events.jsonl"))
    if not events or '"finished"' not in events[0].read_text(encoding="utf-8"):
        return 0, False, 0, 0, []
    try:
        run = load_run(find_runs(case.campaign)[0], ("q", "t"))
    except StribeckError as error:
        return 0, False, 0, 0, [f"the run cannot be read: {error}"]
    finished = [event for event in run.events if event["event"] == "finished"]
    lost = [f"segment {event['segment']} ended at row {event['row']}, {len(run.t)} are on disk" for event in finished
            if event["row"] > len(run.t)]
    if case.code != -signal.SIGKILL and run.closed is None:
        lost.append("the run was not closed")
    if run.closed is not None and case.code != -signal.SIGKILL and (run.closed["reason"] == DONE) != (case.code == 0):
        lost.append(f"the run was closed with {run.closed['reason']!r}, the exit code is {case.code}")
    missed, told = int((run.signals["t"] < run.t[:, None]).sum()), [event for event in run.events if event["event"] == REPLIES]
    if case.code != -signal.SIGKILL and (not told or sum(told[0]["missed"]) < missed):
        lost.append(f"{missed} replies were missed, the run says {told}")
    kept = len({event["segment"] for event in finished})
    return kept, kept == PASSES + 2, missed, sum(event["corrupt"] for event in told), lost


# the page

INTRODUCTION = """\
`stribeck run` moves two emulated drives at 250 Hz (Dynamixel: 200 Hz), one with a brake and one without (CubeMars: both with a
brake). Each program is a process of its own on a loopback bus, or on a TCP line for Dynamixel. Each case has a fault at a
random instant: in {set_up:g} % of the cases around the set-up or the enabling, in {first:g} % while the joints move slowly at
first, otherwise between the first fast motion and the end of the program. Faults of frames last from then on, in both
directions between the programs: {lost:g} % are lost; {delayed:g} % are delayed by up to {delay:g} ms, with all that follow;
{doubled:g} % are doubled; {swapped:g} % are overtaken by the next frame; {damaged:g} % of the replies have wrong bits or a
wrong length. The judge looks at the true motion of the emulated joints, and requires in every case:

- No joint moves under power by more than {still:g} mrad later than watchdog ({watchdog:g} s), braking ({braking:.2g} s) and
  {slack:g} s after the fault. Dynamixel has {swings:g} s more, in which the servo's own position loop may oscillate. If the
  fault is tolerated, the time counts from the end of the program. A computer that was stopped for {stopped:g} s moves nothing
  when it continues.
- Each joint ends as the table says. A joint that the program could still stop is braked, or held by its drive if it has no
  brake.
- No joint that is powered or braked passes a position limit or its highest speed, although the motion comes as close to the
  limits as a plan may. No joint without brake falls, unless its own drive has failed, or its drive switches its power off when
  it hears nothing (Damiao, ODrive).
- A second program, `stribeck check --reset` from another computer, is refused while the first program moves the joints.
- Every segment that the run calls finished can be read to its last row, and the run says how it ended and how many replies it
  missed.
- Exit code and message name what failed, without a traceback, and nothing hangs. (A drive that is reset while the arm is being
  powered may be powered again by the same enabling.)

In the table, "not powered" is a program that refused before any joint had power, and "done" is a program that continued to the
end of the plan. On a computer with several times more work than cores, replies are read later than the 50 ms after which an arm
is stopped; then faults that should be tolerated end in a stop. Leave one core free, here and on hardware. "Stolen" is the share
of this computer's time that its host gave to other machines during a case, if that was recorded. A process on each core, with
the highest priority, only watches the clock. A case is repeated, {again} times at most, if one of these processes saw the
computer stand still for {stood:g} ms or more, and if the only deviation is that the arm was stopped, came to rest late, or
named the silence instead of the fault. "Again" counts such cases, and their first findings are listed below."""


def _page(results: list[dict[str, Any]]) -> str:
    arm_file = tomllib.loads(ARM.read_text(encoding="utf-8"))["joints"]
    rows = [INTRODUCTION.format(watchdog=CHANGES["driver"]["watchdog"], slack=SLACK, still=1e3 * STILL,
                                swings=PROTOCOLS["dynamixel"].swings,
                                braking=max(joint["velocity"] / joint["acceleration"] for joint in arm_file.values()),
                                set_up=100 * SET_UP, first=100 * FIRST, lost=100 * LOST, delayed=100 * DELAYED, delay=1e3 * DELAY,
                                doubled=100 * DOUBLED, swapped=100 * SWAPPED, damaged=100 * DAMAGED, stopped=STOPPED,
                                stood=1e3 * STOOD, again=AGAIN),
            "", "| protocol | fault | must be | cases | as required | seen | powered motion after the fault s, median (most) "
            "| least room to a limit rad | replies missed, median | segments kept, median | again | stolen %, median (most) "
            "| at commit |", "|---" * 13 + "|"]
    for protocol in PROTOCOLS:
        for fault in FAULTS:
            own = [result for result in results if (result["protocol"], result["fault"]) == (protocol, fault)]
            if not own:
                continue
            seen = Counter(result["seen"] for result in own).most_common()
            rest = [result["rest_after"] for result in own if result["rest_after"] is not None]
            missed, kept = (np.median([result[key] for result in own]) for key in ("missed", "segments"))
            stolen = [100.0 * result["stolen"] for result in own if "stolen" in result]
            right = sum(not result["breaches"] for result in own)
            cells = [protocol, fault, FAULTS[fault].text.format(alone=PROTOCOLS[protocol].alone), len(own), right,
                     ", ".join(f"{word} {count}" for word, count in seen),
                     f"{np.median(rest):.2f} ({max(rest):.2f})" if rest else "-", f"{min(result['room'] for result in own):.2f}",
                     f"{missed:.0f}", f"{kept:.0f} of {PASSES + 2}",
                     sum(result["again"] > 0 for result in own) if all("again" in result for result in own) else "-",
                     f"{np.median(stolen):.0f} ({max(stolen):.0f})" if stolen else "-",
                     listed(result["commit"] for result in own)]
            rows.append(f"| {' | '.join(map(str, cells))} |")
    wrong, before = ([f"- {result['protocol']}, {result['fault']}, seed {result['seed']}: {'; '.join(result[key])}"
                      for result in results if result.get(key)] for key in ("breaches", "before"))
    return "\n".join([*rows, "", *(["Not as required:", "", *wrong] if wrong else ["Every case was as required."]),
                      *(["", "Cases that were repeated, with their first findings:", "", *before] if before else [])])
