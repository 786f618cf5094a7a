"""What every message of a refusal must say: where, what was found, and what
is allowed or what to do.

`pytest.raises` is replaced in tests/conftest.py: it holds every error of the package that a test
provokes to these rules. So does the fixture `cli` for every refusal of the command line, where the
place must be a file, an option or another argument.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from stribeck.drivers.errors import DriverError
from stribeck.experiments.errors import RecordingFailed
from stribeck.ident.errors import FitError, StribeckError
from tests.places import ROOT

_FILE = r"(?<![\w<])[\w.~-]*/[^\s'\":,;]+|\.(?:toml|urdf|xml|sdf|json|jsonl|csv|txt|arrows|npz|npy|mcap|parquet|bag|db3|h)\b"
_OPTION = r"(?<![\w-])--?[a-zA-Z][\w-]*"
_KEY = r"\b[a-z_]+\.[A-Za-z_]\w*|\[[a-z]\w*(?:\.\S+)?\]|\b\w+ = "
_PART = r"\b(?:joints?|segments?|columns?|rows?|motors?|links?|bod(?:y|ies)|servos?|drives?|bus|port|law|group)\b"
# an argument of a function
_ARRAY = r"^\w+(?:\(t\) at one time)? (?:has shape|is|of|holds)\b|\(\w+, "
_ACTOR = (
    r"^(?:the |this )?[\w'.-]+(?: [\w-]+)? "
    r"(?:accepts|needs|sent|is|stands|stood|does|has|have|was|command|reverses|of \w+ is)\b"
)
_SIGNAL = r"\b(?:velocity|torque|load|gravity|mass|path)\b"
PLACE = re.compile(
    f"{_FILE}|{_OPTION}|{_KEY}|{_PART}|{_ARRAY}|{_SIGNAL}|{_ACTOR}|^[^:; ]+(?: \\d+)?: "
    "|\\bunknown [^']+ '"
)
FOUND = re.compile(
    rf"\d|'[^']*'|\"[^\"]*\"| = |{_OPTION}|"
    r"\b(?:is|are|was|were|has|have|does|do|says?|holds?|takes|names|makes|fits?|follows?|leads|reverses|depends|"
    r"differs|defines|exists?|would|cannot|found|no|not|only|missing)\b"
)
# files and keys, which say nothing of what is allowed
_BEGINNING = re.compile(r"^(?:\S+: )+")
ALLOWED = re.compile(
    r"\(valid: |[;.:] (?!$)\S+ \S+|, but |"
    r"\b(?:needs?|needed|must|required|allowed|limits?|outside|exceeds|only|expected|cannot|give|choose|state)\b"
)
# found while the arm moves: the remedy is at the machine, not in a value
STOPS = DriverError, RecordingFailed
# raised by functions of one joint's points; who calls them for all names the joint
PARTIAL = FitError


def faults(message: str, but: str = "") -> list[str]:
    """Return what a message does not say, but for the part that is not demanded of it."""
    rules = {
        "place": (PLACE, message),
        "found": (FOUND, message),
        "allowed": (ALLOWED, _BEGINNING.sub("", message)),
    }
    return [what for what, (words, text) in rules.items() if what != but and not words.search(text)]


def refusal_faults(message: str, arguments: Iterable[str]) -> list[str]:
    """Return what the message of a refused command does not say: its place is a file, an
    option or an argument as given.
    """
    given = [
        form for word in arguments if not word.startswith("-") for form in (word, Path(word).stem)
    ]
    named = re.search(f"{_FILE}|{_OPTION}", message) or any(
        word and word in message for word in given
    )
    return [*(() if named else ("file, option or argument",)), *faults(message)]


class Judged:
    """The context of `pytest.raises` that also judges the message of an error
    which the package raises.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        expected = bool(self._inner.__exit__(kind, error, trace))
        if expected and isinstance(error, StribeckError) and not raised_in_tests(error):
            but = (
                "allowed"
                if isinstance(error, STOPS)
                else "place"
                if isinstance(error, PARTIAL)
                else ""
            )
            lacks = faults(str(error), but)
            assert not lacks, f"the message does not say {', '.join(lacks)}: {error}"
        return expected


def judged(raises: Any) -> Any:
    """Return a `pytest.raises` that also judges messages."""

    def judging(*arguments: Any, **options: Any) -> Any:
        context = raises(*arguments, **options)
        return Judged(context) if hasattr(context, "__exit__") else context

    return judging


def raised_in_tests(error: BaseException) -> bool:
    """Whether a test raised the error itself, as a stand-in does."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = Path("" if trace is None else trace.tb_frame.f_code.co_filename)
    return trace is None or file.is_relative_to(ROOT / "tests") or file.parent.name == "unittest"
