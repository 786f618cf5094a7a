"""Pages that need no other files: fills a template with the style, the script and the
interactive figures of its page.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from stribeck.experiments.report.frame.interactive import Interactive, packed
from stribeck.experiments.report.frame.palette import DARK, LIGHT
from stribeck.ident.errors import InputError
from stribeck.ident.whole_files import write_whole

_HOME = "stribeck.experiments.report"
_LIBRARY = "frame/plotly/plotly-cartesian.min.js"


def rendered(template: str, interactive: Interactive | None = None, **values: Any) -> str:
    """Return a page as text. The same input gives the same text, byte for byte.

    Parameters
    ----------
    template : str
        Name of the template below ``experiments/report``; it extends ``frame/frame.html.j2``.
    interactive : Interactive, optional
        Figures that take the place of still ones if the browser runs scripts;
        without, the page has no library.
    **values
        What the template needs.
    """
    drawn = interactive if interactive is not None and interactive.figures else None
    return (
        _environment()
        .get_template(template)
        .render(
            {"stribeck": version("stribeck"), **values},
            light=LIGHT,
            dark=DARK,
            css=Markup(resource("frame/page.css")),
            script=Markup(resource("frame/page.js")),
            payload="" if interactive is None else interactive.packed(),
            library="" if drawn is None else _library(),
            downloads=[] if interactive is None else _offered(interactive),
        )
    )


def write_page(target: Path, text: str) -> None:
    """Write a page to a new file.

    Raises
    ------
    InputError
        If the file exists.
    """
    if target.exists():
        raise InputError(f"{target} exists; choose another --out")
    write_whole(target, text)


def anchors(names: Iterable[str]) -> dict[str, str]:
    """Return the anchor of each joint's section."""
    return {name: f"joint-{k}" for k, name in enumerate(names, start=1)}


def resource(name: str) -> str:
    """Text of a file below ``experiments/report``; works from an installed wheel, too."""
    return files(_HOME).joinpath(*name.split("/")).read_text(encoding="utf-8")


def _offered(interactive: Interactive) -> list[str]:
    """Names of the files that the page can save."""
    return [
        *(["points.csv"] if any(table.saved for table in interactive.tables.values()) else []),
        *interactive.downloads,
    ]


@cache
def _library() -> str:
    return packed(resource(_LIBRARY))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(resource),
    )
    environment.filters["breaking"] = _breaking
    return environment


def _breaking(name: str) -> Markup:
    """Name of a joint; a name too long for its column may break after an underscore."""
    return escape(name).replace("_", Markup("_<wbr>"))
