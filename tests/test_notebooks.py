"""The notebooks run from top to bottom, print what they show, and draw
where they show a picture.
"""

import ast
import base64
import io
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

from tests.places import DATA, DOCS, ROOT
from tests.printed import STORED, assert_printed

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
MOST_BYTES = 60_000  # of a picture


def cells(notebook: Path, kind: str = "code") -> list[dict[str, Any]]:
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def outputs(cell: dict[str, Any], kind: str) -> list[str]:
    """Stored outputs of a cell: a stream, or the data of this kind."""
    texts = [
        one["text"] if "text" in one else one["data"].get(kind, "")
        for one in cell["outputs"]
        if ("text" in one) == (kind == "stream")
    ]
    return [text for text in ("".join(text) for text in texts) if text]


def without_dates(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


def run_cell(source: str, namespace: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value that it shows: that of a last
    expression without a semicolon.
    """
    body = ast.parse(source).body
    last = (
        body.pop() if isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    )
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
        value = (
            None
            if last is None
            else eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
        )
    return printed.getvalue(), value


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Path]:
    """A folder that lies beside data/golden as the notebooks do; figures are not
    shown, and closed at the end.
    """
    shutil.copytree(DATA / "golden", tmp_path / "data" / "golden")
    (tmp_path / "docs" / "notebooks").mkdir(parents=True)
    with matplotlib.rc_context():
        pyplot.switch_backend("agg")
        yield tmp_path / "docs" / "notebooks"
        pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_gives_what_it_shows(notebook: Path, beside: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    pyplot.close("all")  # of other tests
    for cell in cells(notebook):
        with chdir(beside):
            printed, value = run_cell("".join(cell["source"]), namespace)
        assert_printed("".join(outputs(cell, "stream")), printed, STORED)
        shown = [text for text in outputs(cell, "text/plain") if not text.startswith("<Figure")]
        assert len(shown) == (value is not None)
        for text in shown:
            assert_printed(without_dates(text), without_dates(repr(value)), STORED)
        assert bool(outputs(cell, "text/html")) == hasattr(value, "_repr_html_")
        assert bool(outputs(cell, "image/png")) == bool(pyplot.get_fignums())
        pyplot.close("all")


def test_there_are_two_and_pages_lead_to_them() -> None:
    assert len(NOTEBOOKS) == 2
    for page in (ROOT / "README.md", DOCS / "manual" / "README.md"):
        text = page.read_text(encoding="utf-8")
        assert all(f"notebooks/{notebook.name})" in text for notebook in NOTEBOOKS), page


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_file_is_small_and_of_no_machine(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    stored = json.loads(text)
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in stored["cells"]}) == len(stored["cells"])
    assert stored["metadata"].keys() == {"kernelspec", "language_info"}
    assert not any(cell["metadata"] for cell in stored["cells"])
    pictures = [picture for cell in cells(notebook) for picture in outputs(cell, "image/png")]
    assert pictures
    assert max(len(base64.b64decode(picture)) for picture in pictures) < MOST_BYTES
    assert not re.search(r"/(home|root|tmp|work|usr|Users)/|[A-Z]:\\\\", text)
    assert not re.search(r"\d\d:\d\d:\d\d", text)
    for target in re.findall(
        r"\]\(([^)#]+)\)",
        "\n".join("".join(cell["source"]) for cell in cells(notebook, "markdown")),
    ):
        assert (notebook.parent / target).exists(), target


def test_another_output_would_be_found() -> None:
    printed, value = run_cell("x = 2\nprint('sum', 1 + x)\nx", {})
    assert (printed, value) == ("sum 3\n", 2)
    assert run_cell("x = 2\nx;", {}) == ("", None)
    with pytest.raises(AssertionError, match="not printed"):
        assert_printed("coulomb 1.93 identified", "coulomb 1.93 weak")
    assert outputs({"outputs": [{"output_type": "stream", "text": ["a\n", "b"]}]}, "stream") == [
        "a\nb"
    ]
