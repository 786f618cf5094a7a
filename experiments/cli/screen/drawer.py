"""Drawing in the terminal while an arm moves, in a separate process.

The control loop writes a line to a pipe ten times a second and never waits: if the pipe is full, it
drops the line. Drawing in the process of the control loop would delay the loop by whole cycles.
"""

import json
import logging
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

_PERIOD = 0.3  # s between pictures
PICTURES = {
    "bar": "stribeck.experiments.cli.screen.progress:Bar",
    "joints": "stribeck.experiments.cli.screen.live:Joints",
    "viewer": "stribeck.experiments.cli.screen.rerun_viewer:Viewer",
}


class Picture(Protocol):
    """A picture in the terminal; its constructor takes the head, a table of constant data."""

    lasting: bool  # True if the picture stays in the terminal after the motion

    def add(self, row: dict[str, Any]) -> None:
        """Add a row that the control loop has sent."""

    def draw(self) -> "RenderableType":
        """Return the present picture."""


@contextmanager
def drawer(
    picture: str, head: dict[str, Any], to: IO[Any] | None = None
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Draw a picture while the arm moves; yields the function that sends a row to the picture.

    Parameters
    ----------
    picture : str
        Name of a picture in `PICTURES`.
    head : dict
        Constant data of the picture.
    to : file, optional
        Output; default is standard error. On Windows nothing is drawn.
    """
    # writes to a pipe always block there
    if not hasattr(os, "set_blocking") or sys.platform == "win32":
        yield lambda _: None
        return
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", picture],
        stdin=subprocess.PIPE,
        stdout=to or sys.stderr,
    )
    assert process.stdin
    pipe = process.stdin.fileno()
    os.set_blocking(pipe, False)

    def send(table: dict[str, Any]) -> None:
        # drop the row: drawing must not delay a cycle
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(pipe, json.dumps(table).encode() + b"\n")

    send(head)
    try:
        yield send
    finally:
        if process.poll():
            print(
                "note      the picture ended by itself, see above; recording is not concerned",
                file=sys.stderr,
            )
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
        process.kill()


def main() -> None:
    """Draw the rows from standard input until it ends; if rows arrive faster than
    pictures, draw the newest.
    """
    from rich.console import Console
    from rich.live import Live

    # Ctrl-C stops the arm; this process ends when its input ends
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)  # the terminal belongs to the picture
    lines = _lines(sys.stdin.fileno())
    try:
        picture: Picture = resolve_name(PICTURES[sys.argv[1]])(
            json.loads(next(line for line in lines if line))
        )
    except ImportError as error:
        raise SystemExit(f"note      there is no picture: {error}") from None
    told = False
    with Live(
        console=Console(file=sys.stdout, force_terminal=True),
        auto_refresh=False,
        transient=not picture.lasting,
    ) as screen:
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
    """Yield lines as they arrive, and None whenever a picture is due."""
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
