"""Results of a benchmark: stored figures, and the page with one table that is made from them."""

import json
import math
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from stribeck.ident.versions import versions_of

ROOT = Path(__file__).parents[1]
# pages in docs/ instead of docs/benchmarks/NAME.md
ELSEWHERE = {
    "accuracy": "accuracy.md",
    "robot_time": "robot-time.md",
    "reliability": "reliability.md",
}
_LINE = 200  # characters of JSON that share a line


@dataclass(frozen=True)
class Table:
    """The table of a page, and what its figures mean.

    Attributes
    ----------
    text : str
        What was run, what counts, and the goal.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Cells of each row.
    """

    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]

    def markdown(self) -> str:
        """Return the table alone."""
        head, *rows = [f"| {' | '.join(map(str, cells))} |" for cells in (self.head, *self.rows)]
        return "\n".join([head, f"|{'---|' * len(self.head)}", *rows])


@cache
def commit() -> str:
    """Return the abbreviated commit of the running code."""
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()


def stored_file(name: str) -> Path:
    """Return the file with the figures of a benchmark."""
    return ROOT / "benchmarks" / "results" / f"{name}.json"


def page_file(name: str) -> Path:
    """Return the page of a benchmark."""
    return ROOT / "docs" / ELSEWHERE.get(name, f"benchmarks/{name}.md")


def plain(value: Any) -> Any:
    """Return figures as JSON stores them: nine digits, text keys, null for nan."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value if isinstance(value, bool | int | None) else str(value)


def store(name: str, figures: dict[str, Any], options: dict[str, Any]) -> None:
    """Write the figures of a run, with commit, date, machine and options."""
    record = {
        "benchmark": name,
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": versions_of("stribeck", "numpy", "scipy", "mujoco"),
        "options": options,
        "figures": figures,
    }
    stored_file(name).write_text(_broken(plain(record)) + "\n", encoding="utf-8")


def stored(name: str) -> dict[str, Any]:
    """Return the stored record of a benchmark."""
    record: dict[str, Any] = json.loads(stored_file(name).read_text(encoding="utf-8"))
    return record


def page_text(name: str, about: str, table: Table, record: dict[str, Any]) -> str:
    """Return the page of a stored record: title, sentence, table, and how it was made."""
    path = "../" * len(page_file(name).relative_to(ROOT).parent.parts)
    source = f"{path}{stored_file(name).relative_to(ROOT).as_posix()}"
    return (
        f"# {name}\n\n{about[0].upper()}{about[1:]}. {table.text}\n\n{table.markdown()}\n\n"
        f"`python -m benchmarks {name}` at commit {record['commit']}, {record['date'][:10]}, "
        f"{record['machine']['cores']} cores; [all figures]({source}).\n"
    )


def _broken(value: Any, indent: str = "") -> str:
    """Return JSON with line breaks where a line would become long."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(line) <= _LINE or not isinstance(value, dict | list):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key, ensure_ascii=False)}: {_broken(entry, deeper)}"
            for key, entry in value.items()
        ]
        begin, end = "{}"
    else:
        entries = [_broken(entry, deeper) for entry in value]
        begin, end = "[]"
    inner = f",\n{deeper}".join(entries)
    return f"{begin}\n{deeper}{inner}\n{indent}{end}"
