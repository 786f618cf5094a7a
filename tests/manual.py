"""Runs a page of the manual: its shell and Python blocks in a folder, each compared with the
output that is shown below it.

- ``sh``: `stribeck` commands, run in this process; ``# exit code N`` behind one that does not end
  with 0. Below a comment ``<!-- ... -->`` they are only parsed, as where an arm is needed.
- ``python``: run, one namespace a page. Below ``<!-- needs MODULE, MODULE -->`` the block, and the
  output below it, is left out where a module is not installed.
- ``toml``: pasted at the end of the file that its first line names (made where there is none), as
  it stands. Below ``<!-- replaces ... -->`` its tables replace those of the same names.
- ``text``: lines that the block before it printed; words and integers are equal, measured numbers
  agree (`tests.printed`). Below ``<!-- decimals are measured in real time -->`` decimals are not
  compared.

`STRIBECK_WRITE_PAGES=1 pytest tests/test_manual.py` puts what is printed into the pages.
"""

import io
import os
import re
import shlex
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stribeck.experiments.cli.app import parser, run
from tests.places import DOCS
from tests.printed import ANEW, LIVE, assert_printed, masked, plain
from tests.recorded import Recorded

MANUAL = DOCS / "manual"
_BLOCK = re.compile(r"(<!-- [^>]* -->\n)?^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^\[.*?(?=^\[|\Z)", flags=re.DOTALL | re.MULTILINE)
SHARED = ("calibrate", "run")  # commands whose results pages and tests share
WRITES = "STRIBECK_WRITE_PAGES"  # environment variable: pages get what is printed
REAL_TIME = "decimals are measured in real time"  # mark of such a block


@dataclass(frozen=True)
class Block:
    """A block of a page; below a `mark` it is not run, or pasted in the place of something."""

    kind: str
    body: str
    mark: str

    @property
    def needs(self) -> list[str]:
        """Modules without which the block is left out."""
        found = re.fullmatch(r"<!-- needs ([\w., ]+) -->\n", self.mark)
        return found[1].split(", ") if found else []


def blocks(page: Path) -> list[Block]:
    """Blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(kind, body, mark) for mark, kind, body in _BLOCK.findall(text)]


def run_page(
    page: str, folder: Path, recorded: Recorded | None = None, part: float = ANEW
) -> tuple[str, ...]:
    """Run a page in a folder; return modules that blocks need and lack.

    Parameters
    ----------
    page : str
        Name of the page in the manual.
    folder : Path
        Folder in which the commands run.
    recorded : Recorded, optional
        Runs and campaigns of built-in arms that pages and tests share.
    part : float
        That of `tests.printed`: `STORED` if the page fits stored runs.
    """
    namespace: dict[str, Any] = {}
    printed, missing = "", dict[str, None]()
    lacks = False
    with chdir(folder):
        for block in blocks(MANUAL / f"{page}.md"):
            if block.kind != "text":
                absent = [name for name in block.needs if find_spec(name) is None]
                missing |= dict.fromkeys(absent)
                lacks = bool(absent)
            if lacks:
                continue
            if block.kind == "text":
                _compare(MANUAL / f"{page}.md", block, printed, part)
            elif block.kind == "sh":
                printed = "".join(
                    _command(line, bool(block.mark), recorded) for line in block.body.splitlines()
                )
            elif block.kind == "python":
                with redirect_stdout(io.StringIO()) as out:
                    exec(compile(block.body, f"{page}.md", "exec"), namespace)
                printed = out.getvalue()
            elif block.kind == "toml":
                paste(
                    block.body,
                    Path(block.body.splitlines()[0].removeprefix("# ")),
                    "replaces" in block.mark,
                )
            else:
                raise AssertionError(f"{page}.md: a block of kind {block.kind!r} is not checked")
    return tuple(missing)


def _command(line: str, parsed: bool, recorded: Recorded | None) -> str:
    """Run or parse one command and return its output."""
    name, *words = shlex.split(line, comments=True)
    assert name == "stribeck", line
    arguments = []
    for word in words:
        arguments += sorted(map(str, Path().glob(word))) if "*" in word else [word]
    if parsed:
        program = parser().make_context("stribeck", ["--version"], resilient_parsing=True)
        command = parser().commands[arguments[0]]
        command.make_context(arguments[0], arguments[1:], parent=program)
        return ""
    if recorded and arguments[0] in SHARED and not Path(arguments[1]).exists():
        return copy_of(recorded, arguments)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = run(arguments)
    expected = re.search(r"# exit code (\d)", line)
    assert code == int(expected[1] if expected else 0), f"{line}\n{out.getvalue()}"
    return out.getvalue()


def copy_of(recorded: Recorded, arguments: list[str]) -> str:
    """Copy what a command that ends with ``--out FOLDER`` makes of a built-in arm, and return its
    output.
    """
    command, arm, *options, out, folder = arguments
    assert out == "--out"
    made = recorded.command(command, arm, *options)
    made.copy(Path(folder))
    return (made.printed + made.said).replace(str(made.folder), folder)


def paste(text: str, path: Path, replaces: bool) -> None:
    """Paste text at the end of a TOML file as a reader does, or its tables in the place
    of those of the same names.
    """
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if replaces:
        for table in _TABLE.findall(text):
            header = table.splitlines()[0]
            there = [found for found in _TABLE.findall(old) if found.splitlines()[0] == header]
            assert len(there) == 1, f"{path} has no single table {header} to replace"
            old = old.replace(there[0], table)
    else:
        old += f"\n{text}"
    tomllib.loads(old)
    path.write_text(old, encoding="utf-8")


def _compare(page: Path, block: Block, printed: str, part: float) -> None:
    """Compare a block of output with what was printed, or replace it in the page."""
    if REAL_TIME in block.mark:
        assert_printed(block.body, printed, LIVE)
    elif WRITES in os.environ:
        text = page.read_text(encoding="utf-8")
        fence = "```text\n"
        written = text.replace(fence + block.body, fence + renewed(block.body, printed), 1)
        page.write_text(written, encoding="utf-8")
    else:
        assert_printed(block.body, printed, part)


def renewed(shown: str, printed: str) -> str:
    """Replace lines that a page shows by printed lines of the same words, where numbers differ."""
    lines = iter(printed.splitlines())
    new = []
    for line in shown.splitlines():
        words = masked(plain(line))
        match = next((other for other in lines if masked(plain(other)) == words), None)
        assert match is not None, f"no line of these words:\n{line}\nin\n{printed}"
        new.append(line if plain(line) == plain(match) else match.rstrip())
    return "".join(f"{line}\n" for line in new)
