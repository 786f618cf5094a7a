"""Where a command prints, and how much of it."""

import os
import re
import sys
import textwrap
from enum import IntEnum
from typing import Any

import rich.console

_PIPED_WIDTH = 130      # columns where nobody says how wide the paper is
_INDENT, _LABELLED = 10, re.compile(r"[a-z ]{9} \S")        # note      of what
_WHOLE = "next", "wrote", "guess"


class Detail(IntEnum):
    """How much a command prints."""

    FILES = 0           # -q: only where the results are
    RESULT = 1          # the result, and what needs attention
    ALL = 2             # -v: notes and tables beside it


class Console(rich.console.Console):
    """The terminal, a pipe, or standard error.

    Attributes
    ----------
    detail : Detail
        How much it shows.
    """

    def __init__(self, detail: Detail, to_stderr: bool, **options: Any) -> None:
        super().__init__(stderr=to_stderr, highlight=False, soft_wrap=True, markup=False, **options)
        self.detail = detail

    def print(self, *objects: Any, **options: Any) -> None:
        """Print results and what needs attention; nothing with -q.

        In a terminal, sentences break between words; the terminal itself would break them anywhere.
        """
        if self.detail > Detail.FILES:
            self.files(*objects, **options)

    def more(self, *objects: Any, **options: Any) -> None:
        """Print what is shown only with -v."""
        if self.detail == Detail.ALL:
            self.files(*objects, **options)

    def files(self, *objects: Any, **options: Any) -> None:
        """Print where the results are, at any detail."""
        parts = (hanging(part, self.width) if self.is_terminal and isinstance(part, str) else part for part in objects)
        super().print(*parts, **options)

    def on_broken_pipe(self) -> None:
        """Go on silently where nobody reads any more, as behind `head`."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_console(detail: Detail, to_stderr: bool) -> Console:
    """Return the console; a pipe, which has no width, gets one."""
    found = Console(detail, to_stderr)
    return found if found.is_terminal else Console(detail, to_stderr, width=_PIPED_WIDTH)


def hanging(text: str, width: int) -> str:
    """Break lines that are longer than the paper; the lines of a sentence are indented behind its label.

    Lines with commands and paths stay whole, so that they can be copied.
    """
    return "\n".join(line if len(line) <= width or line.startswith(_WHOLE) else textwrap.fill(
        line, max(width, 2 * _INDENT), subsequent_indent=" " * (_INDENT * bool(_LABELLED.match(line))), break_long_words=False,
        break_on_hyphens=False) for line in text.split("\n"))
