"""The library: each entry is made again by the commands of its provenance,
and compared digit by digit.

Entries of public recordings need the recordings, which lie beside the project (see `real_logs`);
the figures name what is missing.
"""

import argparse
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import tomlkit

from benchmarks.page import Table
from benchmarks.real_logs import LOGS, tx40_run, z1_run
from benchmarks.servos import xl330_runs
from stribeck.experiments.cli.app import run as stribeck
from stribeck.experiments.fit_runs import save_results
from stribeck.experiments.fit_servo_runs import save_servos
from stribeck.experiments.library.library_entry import POINTS, LibraryEntry
from stribeck.experiments.library.library_folders import BUILT_IN
from stribeck.experiments.library.provenance import PROVENANCE
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.numbers import calibration_table
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.identify_servos import identify_servos
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run
from stribeck.ident.versions import versions_of
from stribeck.ident.whole_files import file_sha256

TOLERANCE = 1e-5  # relative: one unit of the last of the six digits that files have
FIGURES = ("value", "std_error", "low", "high")
_FIGURE = re.compile(rf"^(joints|motors)\..*\.parameters\.\w+\.({'|'.join(FIGURES)})$")
# of every calibration; `run` is a column of its points
_CHANGING = ("created", "runs", "versions", "run")
_VERSIONS = ("stribeck", "numpy", "scipy", "mujoco")


@dataclass(frozen=True)
class Refit:
    """An entry against what its commands made.

    Attributes
    ----------
    name, kind : str
        The entry.
    seconds : float
        Time of the commands.
    numbers, other : int
        Numbers in calibration and points, and how many of them have other digits.
    worst : float
        Greatest difference of a figure (value, standard error or end of the interval of a friction
        parameter), relative to the largest of the same parameter.
    where : str
        That figure.
    words : tuple of str
        Words that differ, such as laws and verdicts, and numbers that only one of the two has.
    """

    name: str
    kind: str
    seconds: float
    numbers: int
    other: int
    worst: float
    where: str
    words: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether all words agree, and all figures within the tolerance."""
        return not self.words and self.worst <= TOLERANCE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmark."""
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=[entry.name for entry in built_in()],
        help="only these entries, and leave the page unchanged",
    )
    parser.add_argument(
        "--out", type=Path, help="folder that keeps what the commands made, a folder for each entry"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="replace the entries by what the commands made, as after a change of the estimator",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Make all entries, or the requested ones, again."""
    found, left_out = [], {}
    for entry in built_in():
        if options.parts and entry.name not in options.parts:
            continue
        if lacks := missing(entry):
            left_out[entry.name] = lacks
            continue
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            made = refit(entry, Path(folder))
            seconds = time.perf_counter() - began
            if options.update:
                entry = updated(entry, made)
            found.append(compared(entry, made, seconds))
            if options.out is not None:
                shutil.copytree(made, options.out / entry.name)
    entries = {refitted.name: {**vars(refitted), "same": refitted.same} for refitted in found}
    return {"entries": entries, "left_out": left_out}


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each entry."""
    left_out = "; ".join(f"{name}: {lacks}" for name, lacks in figures["left_out"].items())
    return Table(
        "Same: all laws, loads and verdicts agree, and all values, standard errors and interval "
        f"ends within {TOLERANCE:g} of the largest of them. Not made again: {left_out or 'none'}.",
        ["entry", "numbers", "same", "time s"],
        [
            [
                name,
                entry["numbers"],
                "yes" if entry["same"] else "no",
                f"{entry['seconds']:.0f}",
            ]
            for name, entry in figures["entries"].items()
        ],
    )


def built_in() -> list[LibraryEntry]:
    """Entries that stribeck brings, by name."""
    return [LibraryEntry.of(path.parent) for path in sorted(BUILT_IN.glob(f"*/{PROVENANCE}"))]


def missing(entry: LibraryEntry) -> str:
    """Return why an entry cannot be made here; empty if it can."""
    recordings = entry.provenance.recordings
    for name, digest in ({} if recordings is None else recordings.files).items():
        path = LOGS / entry.name / name
        if not path.is_file():
            return (
                f"the recording {name} is missing; it belongs into `shared/data/{entry.name}`, "
                "beside the project"
            )
        if file_sha256(path) != digest:
            return f"{name} is not the recording that the provenance names (its sha256 differs)"
    return ""


def refit(entry: LibraryEntry, folder: Path) -> Path:
    """Run the commands of an entry in an empty folder with its recordings; return the
    folder with what they made.
    """
    recordings = entry.provenance.recordings
    for name in () if recordings is None else recordings.files:
        (folder / name).symlink_to(LOGS / entry.name / name)
    with chdir(folder):
        for line in entry.provenance.commands:
            program, *words = shlex.split(line)
            if program == "stribeck":
                _stribeck(words)
            else:
                FROM_LOGS[entry.name](Path(entry.name))  # this benchmark, as of `--parts NAME`
    return folder / entry.name


def _stribeck(words: Sequence[str]) -> None:
    with redirect_stdout(StringIO()) as said, redirect_stderr(said):
        code = stribeck(list(words))
    if code:
        raise RuntimeError(f"stribeck {shlex.join(words)} ended with {code}: {said.getvalue()}")


def _in_motion(log: Callable[[], Run], options: Options) -> Callable[[Path], None]:
    """Fit of a recording in general motion."""

    def make(out: Path) -> None:
        out.mkdir()
        save_results(identify([log()], options, datetime.now(UTC)), out)

    return make


def _xl330(out: Path) -> None:
    out.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for several in xl330_runs(Path(folder)).values() for run in several]
        save_servos(identify_servos(runs, created=datetime.now(UTC)), out)


FROM_LOGS: dict[str, Callable[[Path], None]] = {
    "tx40": _in_motion(tx40_run, Options(motion="model", inertia="trust")),
    "z1": _in_motion(
        z1_run, Options(motion="model", inertia="trust", law="coulomb-viscous", load="none")
    ),
    "xl330": _xl330,
}


def updated(entry: LibraryEntry, made: Path) -> LibraryEntry:
    """Replace the files of an entry, and versions and digests of its provenance."""
    for name in entry.provenance.files:
        shutil.copyfile(made / name, entry.folder / name)
    path = entry.folder / PROVENANCE
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    document["versions"] = versions_of(*_VERSIONS)
    document["files"] = {name: file_sha256(entry.folder / name) for name in entry.provenance.files}
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    return LibraryEntry.of(entry.folder)


def compared(entry: LibraryEntry, made: Path, seconds: float) -> Refit:
    """Compare an entry with what its commands made."""
    before, after = (
        dict(_leaves(calibration_table(one))) for one in (entry.calibration, Calibration.load(made))
    )
    if POINTS in entry.provenance.files:
        for leaves, folder in ((before, entry.folder), (after, made)):
            leaves |= dict(_leaves({POINTS: pd.read_csv(folder / POINTS).to_dict("list")}))
    words = [
        f"{key}: {before.get(key)!r}, {after.get(key)!r}"
        for key in {**before, **after}
        if _is_number(before.get(key)) != _is_number(after.get(key))
        or (not _is_number(before.get(key)) and before.get(key) != after.get(key))
    ]
    differences = {
        key: str(value) != str(after[key])
        for key, value in before.items()
        if _is_number(value) and _is_number(after.get(key))
    }
    figures = {
        key: abs(before[key] - after[key]) / _scale(before, key)
        for key in differences
        if _FIGURE.search(key)
    }
    where = max(figures, key=lambda key: figures[key])
    return Refit(
        entry.name,
        entry.provenance.kind,
        seconds,
        len(differences),
        sum(differences.values()),
        figures[where],
        where,
        tuple(words),
    )


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and word of plain data with its place."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key not in _CHANGING:
                yield from _leaves(one, f"{where}.{key}" if where else str(key))
    elif isinstance(value, (list, tuple)):
        for k, one in enumerate(value):
            yield from _leaves(one, f"{where}.{k}")
    else:
        yield where, value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _scale(numbers: Mapping[str, Any], key: str) -> float:
    """Largest number of the estimate that a figure belongs to: an end of an
    interval may be almost zero.
    """
    estimate = key.rpartition(".")[0]
    return max(abs(numbers.get(f"{estimate}.{name}") or 0.0) for name in FIGURES) or 1.0
