"""Damaged input: randomly changed arm files, models, runs, calibrations and logs of every
format, read by the commands.

The number of a case determines the file, the kind of damage and its position, so
each case can be repeated.
"""

import argparse
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import re
import resource
import shutil
import sqlite3
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import Table
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.export.formats import export_formats
from stribeck.ident.log.run import ARM, EVENTS, RECORD, SAMPLES, arm_sha256, load_run

_RAM = Path("/dev/shm")  # memory file system, if there is one: cases do not wait for a disk
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
JOINT, ROWS = "hinge", 300
# slow kinds begin with these words; other kinds run this many times as often
SLOWER, OFTEN = "fit and report:", 6
# formats that refuse the golden joint, whose friction is not that of a bearing
BEARINGS = ("motionsolve", "adams")
SLOW = 20.0  # s; a longer case counts as a hang; cases should take less than a tenth
BLOWN = 500.0  # MB; largest allowed increase of memory in a case
_CODES = (0, 1, 2, 3)
_TEXTS = (
    b"nan",
    b"-1",
    b"1e999",
    b"-inf",
    b"99999999999999999999",
    b"0",
    b"",
    b"true",
    b'"',
    b"[",
    b"]",
    b"{}",
    b"\0",
    b"=",
    b"../../secret",
    b"/etc/passwd",
    b"\xff\xfe",
    b"\n",
    b",",
    b"1e-320",
    b"[[[[[[[[",
    b"'''",
    b"<include file='../x.xml'/>",
)
_WORDS = (
    b"\xff" * 8,
    b"\x00" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\x01",
    b"\x00\x00\xf8\x7f",
)


def make_inputs(folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """Make a valid input of every kind: the file to damage, and the command that reads it,
    with a placeholder {out}.
    """
    arm = folder / "arm"
    arm.mkdir(parents=True)
    for name in ("pendulum.toml", "pendulum.urdf"):
        shutil.copy(GOLDEN / name, arm)
    campaign, short = folder / "campaign", _short_run(folder / "short")
    shutil.copytree(GOLDEN, campaign)
    (run,) = (campaign / "runs").iterdir()
    plan, columns = (
        _trip(load_arm(arm / "pendulum.toml"), folder / "plan.toml"),
        folder / "columns.toml",
    )
    columns.write_text(
        f'"t" = "time[s]"\n"q.{JOINT}" = "position[rad]"\n"tau.{JOINT}" = "torque[N·m]"\n',
        encoding="utf-8",
    )
    loads = ["loads", str(arm / "pendulum.toml"), "--q", "0.3"]
    taking = ["import", "{log}", "--arm", str(arm / "pendulum.toml"), "--yes", "-o", "{out}"]
    calibrated = campaign / "calibration.toml"
    logs = make_logs(folder / "logs")
    validate = ["validate", str(short), str(calibrated), "--tolerance", "9"]
    fit = ["fit", str(run), "--law", "stribeck", "--load", "torque", "-o", "{out}"]
    cases = {
        "arm file": (arm / "pendulum.toml", loads),
        "model": (arm / "pendulum.urdf", loads),
        "arm file: plan": (arm / "pendulum.toml", ["plan", str(arm / "pendulum.toml")]),
        "model: init": (
            arm / "pendulum.urdf",
            ["init", str(arm / "pendulum.urdf"), "-o", "{out}/arm.toml"],
        ),
        "model: init joints": (
            arm / "pendulum.urdf",
            ["init", str(arm / "pendulum.urdf"), "--joints", JOINT, "-o", "{out}/arm.toml"],
        ),
        **{
            f"calibration: {form}": (
                calibrated,
                ["export", str(calibrated), "--to", form, "-o", "{out}"],
            )
            for form in export_formats()
            if form not in BEARINGS
        },
        "calibration: compare": (
            calibrated,
            ["compare", str(GOLDEN / "calibration.toml"), str(calibrated)],
        ),
        "calibration: validate": (calibrated, validate),
        f"{SLOWER} calibration: report": (calibrated, ["report", str(campaign), "-o", "{out}"]),
        "plan": (plan, ["run", str(arm / "pendulum.toml"), "--plan", str(plan), "-o", "{out}"]),
        "columns": (columns, [*taking, "--map", str(columns)]),
        **{
            f"{SLOWER} run: {part}": (run / part, fit)
            for part in (RECORD, EVENTS, SAMPLES, f"{ARM}/pendulum.toml")
        },
    }
    for part in (RECORD, EVENTS, SAMPLES):
        cases |= {
            f"run: validate, {part}": (short / part, validate),
            f"run: replay, {part}": (short / part, ["replay", str(short), "-o", "{out}"]),
            f"run: export, {part}": (
                short / part,
                ["export", str(short), "--to", "csv", "-o", "{out}"],
            ),
        }
    for name, (_, file) in logs.items():
        cases[name] = file, taking
    return {
        kind: (
            file,
            [
                str(logs.get(kind, logs["log.csv"])[0]) if part == "{log}" else part
                for part in command
            ],
        )
        for kind, (file, command) in cases.items()
    }


def schedule(cases: Iterable[str]) -> list[str]:
    """Sequence of kinds by case number; slow kinds come less often."""
    kinds = sorted(cases)
    return [kind for kind in kinds if not kind.startswith(SLOWER)] * OFTEN + [
        kind for kind in kinds if kind.startswith(SLOWER)
    ]


def _trip(arm: ArmFile, file: Path) -> Path:
    """A plan of one short round trip."""
    from stribeck.experiments.plans.motion_profile import robot_time
    from stribeck.experiments.plans.plan import Plan, Segment, write_plan
    from stribeck.ident.arm.load_mechanism import load_mechanism

    mechanism, (home,) = load_mechanism(arm), arm.home(load_mechanism(arm))
    segments = (
        Segment(0, "move", (home,), 1),
        Segment(1, "stroke", (home + 0.3,), 1, JOINT, 0.4),
        Segment(2, "stroke", (home,), 1, JOINT, 0.4, 1),
    )
    plan = Plan(arm.name, arm_sha256(arm), "a round trip", 0, mechanism.names, (home,), segments)
    write_plan(replace(plan, robot_time=robot_time(plan, arm.limits(mechanism))), file)
    return file


def _short_run(folder: Path) -> Path:
    from stribeck.drivers.arm import JointSample
    from stribeck.experiments.recording.run_writer import RunWriter
    from stribeck.ident.arm.load_mechanism import load_mechanism

    golden = load_run(next((GOLDEN / "runs").iterdir()))
    mechanism, zero = load_mechanism(golden.arm), np.zeros(len(golden.names))
    with RunWriter(folder, golden.arm, mechanism, "a short run", 100.0) as recorder:
        for row in range(ROWS):
            values = golden.signals["q"][row], golden.signals["tau"][row]
            sample = JointSample(
                float(golden.t[row]), values[0], zero, values[1], zero, None, zero.astype(np.int64)
            )
            recorder.sample(sample, zero, zero, 0)
    return folder


def make_logs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Write a log in every format; return the path to import and the file to damage."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from mcap.writer import CompressionType, Writer
    from scipy.io import savemat

    folder.mkdir(parents=True)
    t = np.arange(ROWS) / 100.0
    q, tau = np.sin(t), np.cos(t) + 2.0 * np.sign(np.cos(t))
    columns = {"time": t, "position": q, "torque": tau}
    np.savetxt(
        folder / "log.csv",
        np.column_stack((t, q, tau)),
        delimiter=",",
        header="time,position,torque",
        comments="",
    )
    savemat(folder / "log.mat", columns, do_compression=True)
    savemat(folder / "plain.mat", {"log": columns})
    signals = np.array(
        [(q[:, None], "position"), (tau[:, None], "torque")],
        dtype=[("values", object), ("label", object)],
    )
    savemat(folder / "scope.mat", {"out": {"time": t[:, None], "signals": signals}})
    np.savez(folder / "log.npz", time=t, position=q, torque=tau)
    np.savez_compressed(folder / "packed.npz", time=t, position=q, torque=tau)
    pq.write_table(pa.table(columns), folder / "log.parquet")
    dataset = folder / "dataset"
    (dataset / "meta").mkdir(parents=True)
    (dataset / "data").mkdir()
    (dataset / "meta" / "info.json").write_text(
        json.dumps(
            {
                "features": {
                    "observation.state": {"names": [f"{JOINT}.pos"]},
                    "observation.effort": {"names": {"motors": [JOINT]}},
                }
            }
        )
    )
    pq.write_table(
        pa.table(
            {
                "timestamp": t,
                "observation.state": list(q[:, None]),
                "observation.effort": list(tau[:, None]),
                "episode_index": np.zeros(ROWS, dtype=np.int64),
            }
        ),
        dataset / "data" / "episode.parquet",
    )
    messages = [
        (k * 10_000_000, joint_state(k * 10_000_000, (JOINT,), q[k : k + 1], [], tau[k : k + 1]))
        for k in range(ROWS)
    ]
    with contextlib.closing(sqlite3.connect(folder / "log.db3")) as bag:
        bag.execute(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, "
            "serialization_format TEXT)"
        )
        bag.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, "
            "data BLOB)"
        )
        bag.execute(
            "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')"
        )
        bag.executemany(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", messages
        )
        bag.commit()
    for packing in (CompressionType.ZSTD, CompressionType.LZ4, CompressionType.NONE):
        with (folder / f"{packing.name.lower()}.mcap").open("wb") as file:
            writer = Writer(file, chunk_size=4096, compression=packing)
            writer.start("ros2", "")
            schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
            channel = writer.register_channel("/joint_states", "cdr", schema)
            many = writer.register_schema("std_msgs/msg/Float64MultiArray", "ros2msg", b"")
            beside = writer.register_channel("/temperature", "cdr", many)
            for stamp, data in messages:
                writer.add_message(channel, stamp, data, stamp)
                writer.add_message(beside, stamp, multi_array(JOINT, [40.0]), stamp)
            writer.finish()
    found = {path.name: (path, path) for path in sorted(folder.iterdir()) if path.is_file()}
    return found | {
        "dataset: meta": (dataset, dataset / "meta" / "info.json"),
        "dataset: data": (dataset, dataset / "data" / "episode.parquet"),
    }


def multi_array(label: str, values: Sequence[float]) -> bytes:
    """A std_msgs/Float64MultiArray of one dimension in little-endian CDR."""
    text = label.encode() + b"\0"
    head = struct.pack("<II", 1, len(text)) + text
    head += bytes(-len(head) % 4) + struct.pack("<IIII", len(values), len(values), 0, len(values))
    return b"\0\1\0\0" + head + bytes(-len(head) % 8) + np.asarray(values, dtype="<f8").tobytes()


def joint_state(
    stamp: int, names: Iterable[str], position: Any, velocity: Any, effort: Any
) -> bytes:
    """A sensor_msgs/JointState in little-endian CDR; stamp in ns."""
    out = bytearray(np.array([stamp // 10**9, stamp % 10**9, 1], dtype="<u4").tobytes() + b"\0")

    def pad(size: int) -> None:
        out.extend(bytes(-len(out) % size))

    names = tuple(names)
    pad(4)
    out += np.uint32(len(names)).tobytes()
    for name in names:
        pad(4)
        text = name.encode() + b"\0"
        out += np.uint32(len(text)).tobytes() + text
    for values in (position, velocity, effort):
        pad(4)
        out += np.uint32(len(values)).tobytes()
        if len(values):
            pad(8)
            out += np.asarray(values, dtype="<f8").tobytes()
    return b"\0\1\0\0" + bytes(out)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes after one to four random changes."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not out:
            break
        at, to = sorted(rng.integers(0, len(out) + 1, 2).tolist())
        to = min(to, at + int(rng.integers(1, 65)))
        way = int(rng.integers(0, 9))
        if way == 0:
            del out[at:]
        elif way == 1:
            out[min(at, len(out) - 1)] ^= 1 << int(rng.integers(0, 8))
        elif way == 2:
            word = _WORDS[int(rng.integers(len(_WORDS)))]
            out[at : at + len(word)] = word
        elif way == 3:
            del out[at:to]
        elif way == 4:
            out[at:at] = out[at:to] * int(rng.integers(1, 4))
        elif way == 5:
            out[at:to] = rng.bytes(to - at)
        elif way == 6:
            out[at:to] = bytes(to - at)
        else:
            _change_word(out, rng, whole=way == 7)
    return bytes(out)


def _change_word(out: bytearray, rng: np.random.Generator, whole: bool) -> None:
    """Replace a number or word by another text, or swap two words."""
    words = list(re.finditer(rb"[\w.+-]+", bytes(out[:200_000])))
    if not words:
        return
    one = words[int(rng.integers(len(words)))]
    if whole:
        out[one.start() : one.end()] = _TEXTS[int(rng.integers(len(_TEXTS)))]
    else:
        out[one.start() : one.end()] = words[int(rng.integers(len(words)))][0]


def _case(
    number: int, cases: dict[str, tuple[Path, list[str]]], kinds: list[str], root: Path
) -> tuple[str, str]:
    """Damage a file, run the command, restore the file; return the kind of input
    and the fault ("" if none).
    """
    from stribeck.experiments.cli.app import run

    kind = kinds[number % len(kinds)]
    file, command = cases[kind]
    whole = file.read_bytes()
    file.write_bytes(damaged(whole, np.random.default_rng(number)))
    out = root.parent / "out"
    before = _state(root.parent)
    _forget_peak()
    peak, began, fault = _peak(), time.perf_counter(), ""
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            code = run([part.replace("{out}", str(out)) for part in command])
        if code not in _CODES:
            fault = f"exit code {code}"
        elif code and "Traceback" in said.getvalue():
            fault = "a traceback was printed"
    except BaseException as error:
        fault = f"{type(error).__name__}: {error}"
    if time.perf_counter() - began > SLOW:
        fault = fault or f"took {time.perf_counter() - began:.0f} s"
    if _peak() - peak > BLOWN:
        fault = fault or f"took {_peak() - peak:.0f} MB"
    shutil.rmtree(out, ignore_errors=True)
    for written in root.parent.glob("out*"):  # with the suffix of its format
        written.unlink()
    if _state(root.parent) != before:
        fault = fault or "changed its input, or wrote files beside the input"
    file.write_bytes(whole)
    return kind, fault


def _state(root: Path) -> str:
    """Return a digest of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def _forget_peak() -> None:
    """Let the peak of memory begin at the memory in use, where the system can: an earlier case
    would hide the growth of this one.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _work(numbers: range, root: Path, answers: Connection) -> None:
    import logging

    logging.disable(logging.CRITICAL)
    cases = make_inputs(root / "in")
    kinds = schedule(cases)
    for number in numbers:
        answers.send((number, *_case(number, cases, kinds, root / "in")))
    answers.send(None)


def judged(
    numbers: range, show: Callable[[str], None] | None = None
) -> tuple[Counter[str], list[str]]:
    """Run all cases in worker processes, which may die or hang independently; return
    cases by kind, and faults.
    """
    counts: Counter[str] = Counter()
    faults: list[str] = []
    while numbers:
        with tempfile.TemporaryDirectory(dir=_RAM if _RAM.is_dir() else None) as root:
            for number, kind, fault in _answers(numbers, Path(root)):
                numbers = range(number + 1, numbers.stop)
                counts[kind] += 1
                if fault:
                    faults.append(f"case {number} ({kind}): {fault}")
                    if show:
                        show(faults[-1])
    return counts, faults


def _answers(numbers: range, root: Path) -> Iterator[tuple[int, str, str]]:
    """Return the answer of a worker; a timeout or the death of the worker also is an answer."""
    here, there = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.get_context("spawn").Process(
        target=_work, args=(numbers, root, there), daemon=True
    )
    worker.start()
    there.close()
    following = numbers.start
    try:
        while here.poll(3.0 * SLOW):
            if (answer := here.recv()) is None:
                return
            yield answer
            following = answer[0] + 1
        yield following, "any", f"no answer within {3.0 * SLOW:.0f} s"
    except EOFError:
        worker.join()
        yield following, "any", f"the process died with code {worker.exitcode}"
    finally:
        worker.kill()
        worker.join()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="number of the first case; --cases 1 repeats a single case",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="number of parallel processes"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Damage, run, count."""
    began, jobs = time.perf_counter(), min(options.jobs, options.cases)
    bounds = (
        np.linspace(options.first, options.first + options.cases, jobs + 1).astype(int).tolist()
    )
    with ThreadPoolExecutor(jobs) as pool:
        parts = list(
            pool.map(lambda begin, end: judged(range(begin, end), print), bounds[:-1], bounds[1:])
        )
    counts, faults = (
        sum((part[0] for part in parts), Counter()),
        [fault for part in parts for fault in part[1]],
    )
    return {"cases": dict(counts), "faults": faults, "s": time.perf_counter() - began}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each kind of input."""
    cases: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for kind, count in figures["cases"].items():
        name = "logs" if "." in kind.partition(":")[0] else kind.partition(":")[0]
        cases[name] += count
        faults[name] += sum(f"({kind})" in fault for fault in figures["faults"])
    return Table(
        f"{sum(cases.values())} damaged inputs in {figures['s']:.0f} s. A fault is a traceback, a "
        f"crash, more than {SLOW:.0f} s, more than {BLOWN:.0f} MB, or a changed input.",
        ["input", "cases", "faults"],
        [[name, cases[name], faults[name]] for name in sorted(cases)],
    )
