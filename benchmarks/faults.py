"""Deliberate faults, each tried on the tests that should catch it.

`faults.toml` lists slips in a single place of the package. Each is made in a copy of the tree, and
the tests of its folder and of the neighbouring folders run there until one fails. The fault counts
as caught by a test that fails twice with the fault and passes without it.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.page import Table

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
CAUGHT, MISSED, UNDECIDED = "caught", "not caught", "undecided"
FAST = ("-m", "not slow")
_PYTEST = ("-m", "pytest", "-q", "-x", "--tb=no", "--no-header", "-p", "no:randomly")
# exit codes of pytest
_PASSED, _FAILED, _INTERRUPTED, _NO_TESTS = 0, 1, 2, 5


@dataclass(frozen=True)
class Fault:
    """A slip in a single place.

    Attributes
    ----------
    number : int
        Its place in the list, from 1.
    part, file : str
        Part of the package and file.
    find, replace : str
        A text that occurs once in the file, and the text with the fault.
    breaks : str
        The harm to a user.
    tests : tuple of str
        Files and folders of tests that should catch it, the nearest first.
    """

    number: int
    part: str
    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...]

    @classmethod
    def of(cls, number: int, table: dict[str, Any]) -> "Fault":
        """Return the fault of a table of the list."""
        return cls(number, **{**table, "tests": tuple(table["tests"])})

    def faulty(self, text: str) -> str:
        """Return the text of the file with the fault.

        Raises
        ------
        ValueError
            If the text to replace does not occur exactly once.
        """
        times = text.count(self.find)
        if times != 1:
            raise ValueError(
                f"fault {self.number}: {self.find!r} occurs {times} times in {self.file}; it must "
                f"occur once: correct {LIST.name}"
            )
        return text.replace(self.find, self.replace)


def listed_faults() -> list[Fault]:
    """Return all faults of the list."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))["fault"]
    return [Fault.of(number, table) for number, table in enumerate(tables, 1)]


@dataclass(frozen=True)
class Trial:
    """What the tests made of a fault.

    Attributes
    ----------
    outcome : str
        "caught", "not caught" or "undecided".
    by : str
        The test that caught the fault, or why it is undecided.
    seconds : float
        Wall time of all runs [s].
    unsteady : list of str
        Tests that failed once with the fault, but do not count: they fail without it, too, or pass
        when they are repeated.
    """

    outcome: str
    by: str
    seconds: float
    unsteady: list[str]


class Tree:
    """A copy of the tracked files, in which faults are made one after the other.

    Python files are copied, other files are hard links where the file system has them: the package
    refuses models behind symbolic links to another folder.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self._caches = folder / "caches"
        self._sound: dict[str, bool] = {}  # whether a test passes without a fault
        for name in _tracked():
            self._take(ROOT / name, self.root / name)
        recordings = ROOT.parent / "shared"
        if recordings.is_dir():
            (folder / "shared").symlink_to(recordings)

    @staticmethod
    def _take(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.suffix == ".py":
            shutil.copyfile(source, target)
        elif source.exists():
            try:
                os.link(source, target)
            except OSError:
                shutil.copyfile(source, target)

    @contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """Have a fault in this copy for a while."""
        path = self.root / fault.file
        sound = path.read_text(encoding="utf-8")
        self._write(path, fault.faulty(sound))
        try:
            yield
        finally:
            self._write(path, sound)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Write a file, and remove what Python compiled of it, whose date may seem the same."""
        path.unlink()
        path.write_text(text, encoding="utf-8")
        Path(cache_from_source(str(path))).unlink(missing_ok=True)

    def test(
        self, selection: Sequence[str], options: Sequence[str], left: float
    ) -> tuple[int, list[str]]:
        """Run tests until the first failure, for at most `left` seconds.

        Returns
        -------
        int
            Exit code of pytest.
        list of str
            Ids of the failed tests.

        Raises
        ------
        subprocess.TimeoutExpired
            If the tests take longer.
        """
        shutil.rmtree(self._caches, ignore_errors=True)
        paths = [str(self.root / "src"), str(self.root)]
        process = subprocess.Popen(
            [sys.executable, *_PYTEST, "-o", f"cache_dir={self._caches}", *options, *selection],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(max(left, 1.0))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        failed = self._caches / "v" / "cache" / "lastfailed"
        return code, list(json.loads(failed.read_text())) if failed.is_file() else []

    def is_sound(self, test: str, limit: float) -> bool:
        """Whether a test passes without a fault."""
        if test not in self._sound:
            self._sound[test] = self.test([test], (), limit)[0] == _PASSED
        return self._sound[test]


def _tracked() -> list[str]:
    """Names of the tracked files, with / between folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name]


def tried(fault: Fault, tree: Tree, options: Sequence[str], limit: float) -> Trial:
    """Run the tests of a fault until one catches it.

    Parameters
    ----------
    fault : Fault
    tree : Tree
    options : sequence of str
        Options of pytest that choose tests.
    limit : float
        Longest time for the fault [s].
    """
    began, unsteady = time.monotonic(), list[str]()
    try:
        while True:
            left = limit - (time.monotonic() - began)
            with tree.with_fault(fault):
                outcome, by = _first_failure(fault, tree, options, unsteady, left)
            if outcome != CAUGHT or (tree.is_sound(by, limit) and by not in unsteady):
                break
            if by in unsteady:
                outcome, by = UNDECIDED, f"{by} cannot be left out"
                break
            unsteady.append(by)
    except subprocess.TimeoutExpired:
        outcome, by = UNDECIDED, f"more than {limit:g} s"
    return Trial(outcome, by, round(time.monotonic() - began, 1), unsteady)


def _first_failure(
    fault: Fault, tree: Tree, options: Sequence[str], unsteady: list[str], left: float
) -> tuple[str, str]:
    """Return outcome and the first test that fails twice; those that pass when they are repeated
    are added to `unsteady`.
    """
    selection = [path for path in fault.tests if (tree.root / path).exists()]
    began = time.monotonic()
    while True:
        skipped = [f"--deselect={test}" for test in unsteady]
        rest = left - (time.monotonic() - began)
        code, failed = tree.test(selection, [*options, *skipped], rest)
        if code in (_PASSED, _NO_TESTS):
            return MISSED, "no tests" if code == _NO_TESTS else ""
        if code not in (_FAILED, _INTERRUPTED) or not failed:
            return UNDECIDED, f"pytest ended with code {code}"
        test = failed[0]
        again, _ = tree.test([test], (), left - (time.monotonic() - began))
        if again != _PASSED or test in unsteady:
            return CAUGHT, test
        unsteady.append(test)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument("--fast", action="store_true", help="only tests that are not marked slow")
    parser.add_argument(
        "--only",
        dest="parts",
        type=int,
        nargs="+",
        metavar="N",
        help="numbers of faults; prints the table without writing it",
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of faults at a time")
    parser.add_argument("--limit", type=float, default=900.0, help="longest time for a fault [s]")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Try the faults."""
    faults = [
        fault for fault in listed_faults() if not options.parts or fault.number in options.parts
    ]
    with tempfile.TemporaryDirectory() as scratch:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for job in range(options.jobs):
            trees.put(Tree(Path(scratch) / str(job)))

        def try_out(fault: Fault) -> Trial:
            tree = trees.get()
            trial = tried(fault, tree, FAST if options.fast else (), options.limit)
            trees.put(tree)
            print(fault.number, trial.outcome, trial.by, f"{trial.seconds:.0f} s", flush=True)
            return trial

        with ThreadPoolExecutor(options.jobs) as pool:
            trials = list(pool.map(try_out, faults))
    return {
        "fast": options.fast,
        "faults": {
            fault.number: {
                "part": fault.part,
                "file": fault.file,
                "breaks": fault.breaks,
                **vars(trial),
            }
            for fault, trial in zip(faults, trials, strict=True)
        },
    }


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each fault."""
    trials = figures["faults"]
    count = Counter(trial["outcome"] for trial in trials.values())
    return Table(
        f"{'The fast half of the tests' if figures['fast'] else 'The tests'} of the part and of "
        f"its neighbours caught {count[CAUGHT]} of {len(trials)} faults; {count[UNDECIDED]} are "
        "undecided. A test that catches a fault passes without the fault.",
        ["", "part", "what the fault breaks", "caught by"],
        [
            [number, trial["part"], trial["breaks"], _verdict(trial["outcome"], trial["by"])]
            for number, trial in trials.items()
        ],
    )


def _verdict(outcome: str, test: str) -> str:
    if outcome == CAUGHT:
        path, _, name = test.partition("::")
        function = name.partition("[")[0] or "collection"
        return f"`{Path(path).stem}`: {function.replace('::', '.')}"
    return f"{outcome}{f' ({test})' if test else ''}"
