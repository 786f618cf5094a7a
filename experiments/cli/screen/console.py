"""The console of a command: where it prints, and how much detail."""

import os
import re
import sys
import textwrap
from enum import IntEnum
from typing import Any

import rich.console

_PIPED_WIDTH = 130  # columns of a pipe or file, which has no width of its own
_INDENT, _LABELLED = 10, re.compile(r"[a-z ]{9} \S")  # note      of what
_WHOLE = "next", "wrote", "guess"


class Detail(IntEnum):
    """How much a command prints."""

    FILES = 0  # -q: only the paths of the results
    RESULT = 1  # default: the result, and lines that need attention
    ALL = 2  # -v: also notes and more tables


class Console(rich.console.Console):
    """Console that prints to a terminal, a pipe, or standard error.

    Attributes
    ----------
    detail : Detail
        How much the console shows.
    """

    def __init__(self, detail: Detail, to_stderr: bool, **options: Any) -> None:
        super().__init__(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False, **options)
        self.detail = detail

    def print(self, *objects: Any, **options: Any) -> None:
        """Print results and lines that need attention; print nothing with -q.

        In a terminal, sentences are wrapped between words. The terminal itself
        would break them anywhere.
        """
        if self.detail > Detail.FILES:
            self.files(*objects, **options)

    def more(self, *objects: Any, **options: Any) -> None:
        """Print only with -v."""
        if self.detail == Detail.ALL:
            self.files(*objects, **options)

    def files(self, *objects: Any, **options: Any) -> None:
        """Print at any detail; used for the paths of the results."""
        parts = (
            hanging(part, self.width) if self.is_terminal and isinstance(part, str) else part
            for part in objects
        )
        super().print(*parts, **options)

    def on_broken_pipe(self) -> None:
        """Continue silently if the reader of the pipe has ended, for example `head`."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_console(detail: Detail, to_stderr: bool) -> Console:
    """Return the console; a pipe gets a fixed width."""
    found = Console(detail, to_stderr)
    return found if found.is_terminal else Console(detail, to_stderr, width=_PIPED_WIDTH)


def hanging(text: str, width: int) -> str:
    """Wrap lines that are longer than `width`; continuation lines are indented to
    the text after the label.

    Lines with commands and paths stay whole, so that users can copy them.
    """
    return "\n".join(
        line
        if len(line) <= width or line.startswith(_WHOLE)
        else textwrap.fill(
            line,
            max(width, 2 * _INDENT),
            subsequent_indent=" " * (_INDENT * bool(_LABELLED.match(line))),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )
