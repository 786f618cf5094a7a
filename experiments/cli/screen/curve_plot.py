"""Plots of a friction curve as braille characters, with axes, units and the curve of a law."""

from collections.abc import Callable, Sequence
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

Points = list[tuple[float, float]]  # speed [rad/s or m/s], friction [N·m or N]
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BLANK = 0x2800


def spread(points: Points) -> Points:
    """Scale points: the logarithm of speed to 0 ... 1, and friction to a part of its maximum."""
    if not points:
        return []
    speeds = [log10(speed) for speed, _ in points]
    low, span = min(speeds), max(max(speeds) - min(speeds), 1e-9)
    top = _top(points)
    return [
        ((speed - low) / span, friction / top)
        for speed, (_, friction) in zip(speeds, points, strict=True)
    ]


def plot(points: Points, width: int, height: int) -> list[str]:
    """Return a plot of friction (from zero) over the logarithm of speed, as
    rows of braille characters.
    """
    return [
        "".join(chr(_BLANK + cell) for cell in row) for row in _cells(spread(points), width, height)
    ]


def curve(
    points: Points,
    width: int,
    height: int,
    units: tuple[str, str],
    law: Callable[[list[float]], Sequence[float]] | None = None,
    colour: str = "",
) -> "Text":
    """Return a plot with axes, of `height` rows and a line below.

    Parameters
    ----------
    points : list of tuple
        Speed and friction.
    width, height : int
        Characters of the whole plot, and rows above its axis.
    units : tuple of str
        Units of speed and friction.
    law : callable, optional
        Friction at speeds; drawn as a line.
    colour : str
        Colour of the law.
    """
    from rich.text import Text

    label = f"{_top(points):.3g} {units[1]}" if points else ""
    pad = max(len(label), 1)
    inside = max(width - pad - 1, 1)
    dots, line = (
        _cells(spread(points), inside, height),
        _cells(_line(points, law, inside), inside, height),
    )
    drawn = Text(no_wrap=True)
    for row in range(height):
        drawn.append(
            (label if row == 0 else "").rjust(pad) + ("┤" if row == 0 and label else "│"), "dim"
        )
        for dot, own in zip(dots[row], line[row], strict=True):
            drawn.append(chr(_BLANK + (dot | own)), "bold cyan" if dot else colour)
        drawn.append("\n")
    low, high = (
        (f"{min(points)[0]:.2g}", f"{max(points)[0]:.2g} {units[0]}") if points else ("", "")
    )
    drawn.append(
        "0".rjust(pad) + "└" + low + "─" * max(inside - len(low) - len(high), 0) + high, "dim"
    )
    return drawn


def _top(points: Points) -> float:
    return max(max(friction for _, friction in points), 1e-9)


def _line(
    points: Points, law: Callable[[list[float]], Sequence[float]] | None, width: int
) -> Points:
    """Scaled points of a law between the least and the greatest speed,
    one in each column of dots.
    """
    if law is None or len(points) < 2:
        return []
    low, high = log10(min(points)[0]), log10(max(points)[0])
    right = [k / (2 * width - 1) for k in range(2 * width)]
    friction = law([10.0 ** (low + part * (high - low)) for part in right])
    return [
        (part, min(value / _top(points), 1.0)) for part, value in zip(right, friction, strict=True)
    ]


def _cells(scaled: Points, width: int, height: int) -> list[list[int]]:
    """Dots of scaled points, a number of eight bits for each character."""
    cells = [[0] * width for _ in range(height)]
    for right, up in scaled:
        column, row = round(right * (2 * width - 1)), round((1.0 - max(up, 0.0)) * (4 * height - 1))
        cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
    return cells
