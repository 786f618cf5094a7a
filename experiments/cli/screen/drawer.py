"""What the terminal shows while an arm moves is drawn by a process of its own.

The loop that drives the arm drops a line into a pipe ten times a second and never waits: where the pipe is full, a line is left
out. Drawing in the loop's own process would hold it up for whole cycles.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pkgutil import resolve_name
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import RenderableType

_PERIOD = 0.3           # s between pictures
PICTURES = {"bar": "stribeck.experiments.cli.screen.progress:Bar", "joints": "stribeck.experiments.cli.screen.live:Joints",
            "viewer": "stribeck.experiments.cli.screen.rerun_viewer:Viewer"}


class Picture(Protocol):
    """What is drawn; made from a head, a table of what stays."""

    lasting: bool           # whether it stays in the terminal in the end

    def add(self, row: dict[str, Any]) -> None:
        """Take what the loop told."""

    def draw(self) -> "RenderableType":
        """As it is now."""


@contextmanager
def drawer(picture: str, head: dict[str, Any], to: IO[Any] | None = None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Draw while the arm moves; gives the function that tells the picture something new.

    Parameters
    ----------
    picture : str
        Of `PICTURES`.
    head : dict
        What it is made from.
    to : file, optional
        Where it is drawn; default is standard error. On Windows nothing is.
    """
    if not hasattr(os, "set_blocking") or sys.platform == "win32":         # a pipe there can only be waited for
        yield lambda _: None
        return
    process = subprocess.Popen([sys.executable, "-c", f"from {__name__} import main; main()", picture], stdin=subprocess.PIPE,
                               stdout=to or sys.stderr)
    assert process.stdin
    pipe = process.stdin.fileno()
    os.set_blocking(pipe, False)

    def send(table: dict[str, Any]) -> None:
        with suppress(BlockingIOError, BrokenPipeError):        # a picture is not worth a cycle
            os.write(pipe, json.dumps(table).encode() + b"\n")

    send(head)
    try:
        yield send
    finally:
        if process.poll():
            print("note      the picture ended by itself, see above; recording is not concerned", file=sys.stderr)
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
        process.kill()


def main() -> None:
    """Draw what comes on standard input until it ends; where there is more than can be drawn, the newest."""
    from rich.console import Console
    from rich.live import Live

    signal.signal(signal.SIGINT, signal.SIG_IGN)        # Ctrl-C is for the arm; this ends with its input
    lines = _lines(sys.stdin.fileno())
    try:
        picture: Picture = resolve_name(PICTURES[sys.argv[1]])(json.loads(next(line for line in lines if line)))
    except ImportError as error:
        raise SystemExit(f"note      there is no picture: {error}") from None
    told = False
    with Live(console=Console(file=sys.stdout, force_terminal=True), auto_refresh=False, transient=not picture.lasting) as screen:
        for line in lines:
            if line is not None:
                picture.add(json.loads(line))
                told = True
            elif told:
                screen.update(picture.draw(), refresh=True)
                told = False
        if picture.lasting:
            screen.update(picture.draw(), refresh=True)


def _lines(file: int) -> Iterator[str | None]:
    """Lines as they come, and None whenever it is time to draw."""
    rest, due = b"", monotonic() + _PERIOD
    while True:
        if select.select([file], [], [], max(0.0, due - monotonic()))[0]:
            got = os.read(file, 1 << 16)
            if not got:
                return
            *whole, rest = (rest + got).split(b"\n")
            yield from (line.decode() for line in whole)
        if monotonic() >= due:
            due = monotonic() + _PERIOD
            yield None

