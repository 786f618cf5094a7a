"""Comparison of the output that a page shows with the output of its program.

Words and integers are equal. A value with its half width agrees if both ends of its interval do,
within a part of the half width and the last digit shown. Other decimals agree within their last
digit, because nothing on the line says how exact they are.
"""

import math
import re
from decimal import Decimal

STORED = 1e-3  # part of a half width, for fits of stored runs
ANEW = 0.5  # for fits of what is simulated anew
LIVE = math.inf  # decimals that a clock or a bus decides are not compared

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_MEASURED = re.compile(
    rf"(?P<value>-?\b{_NUMBER}) ± (?P<half_width>{_NUMBER})"
    r"|(?<![\w.])(?P<decimal>\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))(?!\.?\d)"
)


def assert_printed(shown: str, printed: str, part: float = ANEW) -> None:
    """Every line that is shown was printed, in this order; blanks do not count."""
    lines = iter([plain(line) for line in printed.splitlines()])
    for line in shown.splitlines():
        assert any(alike(plain(line), other, part) for other in lines), (
            f"not printed, or not in this order:\n{line}\nbut\n{printed}"
        )


def alike(shown: str, printed: str, part: float = ANEW) -> bool:
    """Return whether the words and integers of two lines are equal and their measured numbers
    agree.
    """
    if masked(shown) != masked(printed):
        return False
    pairs = zip(_MEASURED.finditer(shown), _MEASURED.finditer(printed), strict=True)
    return all(_agree(number, other, part) for number, other in pairs)


def masked(line: str) -> str:
    """Return a line with a mark in the place of each measured number."""
    return _MEASURED.sub(lambda number: "# ± #" if number["value"] else "#", line)


def plain(line: str) -> str:
    """Return a line with single blanks."""
    return " ".join(line.split())


def _agree(shown: re.Match[str], printed: re.Match[str], part: float) -> bool:
    if shown["decimal"]:
        apart, last_digit = _compared(shown["decimal"], printed["decimal"])
        return part == LIVE or apart <= last_digit
    value_apart, value_digit = _compared(shown["value"], printed["value"])
    width_apart, width_digit = _compared(shown["half_width"], printed["half_width"])
    # the sum is the distance of those ends of the intervals that are farther apart
    allowed = Decimal(part) * Decimal(shown["half_width"])
    return value_apart + width_apart <= allowed + value_digit + width_digit


def _compared(shown: str, printed: str) -> tuple[Decimal, Decimal]:
    """Return the difference of two numbers, and the unit of the last digit that both show."""
    numbers = Decimal(shown), Decimal(printed)
    exponent = max(number.as_tuple().exponent for number in numbers)
    return abs(numbers[0] - numbers[1]), Decimal(1).scaleb(exponent)
