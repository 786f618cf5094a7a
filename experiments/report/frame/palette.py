"""Colours of pages and figures, light and dark: blue and vermilion, which colour-blind readers
tell apart, beside greys.
"""

from collections.abc import Sequence
from types import SimpleNamespace

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2733",
    "muted": "#55626e",
    "faint": "#98a3ad",
    "line": "#dde3e8",
    "grid": "#e9edf0",
    "band": "#c9d6df",
    "point": "#2f6f94",
    "measured": "#a9cbe0",
    "accent": "#b8501f",
    "other": "#7a5ea8",
    "good": "#155a6b",
    "good-fill": "#e3f1f3",
    "good-line": "#b7d9de",
    "mind": "#7a5200",
    "mind-fill": "#fdf3dc",
    "mind-line": "#efd9a3",
    "bad": "#93371a",
    "bad-fill": "#fbe9e2",
    "bad-line": "#eec4b3",
    "dull-fill": "#f0f2f4",
    "low": "#3b7cb4",
    "middle": "#f4f5f6",
    "high": "#c9652f",
}
DARK = {
    "paper": "#12181e",
    "ink": "#e6ecf1",
    "muted": "#a9b5bf",
    "faint": "#74818d",
    "line": "#323d47",
    "grid": "#242e37",
    "band": "#3d5364",
    "point": "#6fb4dd",
    "measured": "#41708f",
    "accent": "#f0905f",
    "other": "#bba2e6",
    "good": "#8fd3e0",
    "good-fill": "#12323a",
    "good-line": "#2a5a65",
    "mind": "#f0c766",
    "mind-fill": "#3a2e10",
    "mind-line": "#6b5620",
    "bad": "#f5a98d",
    "bad-fill": "#42200f",
    "bad-line": "#7a4029",
    "dull-fill": "#232c34",
    "low": "#2f6fa8",
    "middle": "#2a333b",
    "high": "#a8501f",
}
# of figures on paper
COLOURS = SimpleNamespace(
    **{
        name: LIGHT[name]
        for name in ("ink", "muted", "faint", "line", "grid", "band", "point", "measured", "accent")
    }
)
# of loads on a dark page, from least to greatest
DARK_SHADES = ("#3c6f9c", "#3f9ea0", "#66b79c", "#a9d8a2", "#f1f4bd")
# of calibrations on a dark page
DARK_SERIES = ("#a9b5bf", "#f0905f", "#7fb2e5", "#7fd1c7", "#bba2e6", "#e0bf5a")


def themed(light: str, dark: str) -> str:
    """Return a colour of an interactive figure that differs between a light and a dark page."""
    return f"{light}|{dark}"


def colour_scale(light: Sequence[str], dark: Sequence[str]) -> list[list[float | str]]:
    """Return a scale of colours, evenly spaced, for an interactive figure."""
    return [
        [k / (len(light) - 1), themed(*pair)]
        for k, pair in enumerate(zip(light, dark, strict=True))
    ]
