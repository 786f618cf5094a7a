"""The command `python -m benchmarks` and its pages; the measurements have tests of their own."""

import sys

import pytest

from benchmarks.__main__ import BENCHMARKS, main, page_of, with_figures
from benchmarks.page import Table, page_file, page_text, plain, stored, stored_file

COLUMNS, CHARACTERS = 8, 160  # most columns of a table, most characters of a cell


def printed_help(name, monkeypatch, capsys):
    """Return the help of a benchmark, or of all."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", *name, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_help_of_every_benchmark_is_printed(monkeypatch, capsys):
    every = printed_help([], monkeypatch, capsys)
    assert set(BENCHMARKS) == {name for name in BENCHMARKS if f" {name} " in every}
    assert "friction is known within 5 %" in every
    assert not [
        name
        for name in BENCHMARKS
        if f"usage: python -m benchmarks {name}" not in printed_help([name], monkeypatch, capsys)
    ]


def faults_of_page(name):
    """Yield what is wrong with the page of a benchmark."""
    text = page_file(name).read_text(encoding="utf-8")
    record = stored(name)
    if text != page_of(name):
        yield "is not made from the stored figures: `python -m benchmarks pages`"
    if f"`python -m benchmarks {name}` at commit {record['commit']}" not in text:
        yield "does not name its command and commit"
    if stored_file(name).name not in text:
        yield "does not name its figures"
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    if len(tables) != 1:
        yield f"has {len(tables)} tables"
    rows = [line.strip("|").split("|") for table in tables for line in table.splitlines()]
    if {len(row) for row in rows} != {len(rows[0])} or len(rows[0]) > COLUMNS:
        yield f"has rows of {sorted({len(row) for row in rows})} cells, at most {COLUMNS}"
    long = [cell.strip() for row in rows for cell in row if len(cell.strip()) > CHARACTERS]
    if long:
        yield f"has cells of more than {CHARACTERS} characters: {long}"


def test_every_page_is_one_table_of_stored_figures():
    names = with_figures()
    assert not [f"{name} {fault}" for name in names for fault in faults_of_page(name)]
    pages = {path.name for path in page_file("loop").parent.glob("*.md")}
    assert pages <= {page_file(name).name for name in names}


def test_a_page_has_title_sentence_table_and_source():
    record = {"commit": "abc", "date": "2026-01-02T03:04:05", "machine": {"cores": 2}}
    table = Table("Goal: 1.", ["joint", "error"], [["j1", 0.5], ["j2", "-"]])
    assert page_text("loop", "speed of it", table, record).splitlines() == [
        "# loop",
        "",
        "Speed of it. Goal: 1.",
        "",
        "| joint | error |",
        "|---|---|",
        "| j1 | 0.5 |",
        "| j2 | - |",
        "",
        "`python -m benchmarks loop` at commit abc, 2026-01-02, 2 cores; "
        "[all figures](../../benchmarks/results/loop.json).",
    ]


def test_figures_are_stored_as_plain_data():
    numpy = pytest.importorskip("numpy")
    given = {1: (numpy.float64(1.0) / 3.0, numpy.nan), "b": numpy.array([1, 2]), "c": True}
    assert plain(given) == {"1": [0.333333333, None], "b": [1, 2], "c": True}
