"""Damaged input of every kind: a command answers with one sentence and an exit code."""

import contextlib
import io

import numpy as np
import pytest

from benchmarks import mutations
from benchmarks.mutations import SLOWER, damaged, judged, make_inputs, schedule
from stribeck.experiments.cli.app import run

pytestmark = pytest.mark.slow

CASES = 48  # of the benchmark's thousands; of each quick kind one


def test_damaged_inputs_are_refused_or_read_and_never_change():
    """A small benchmark `mutations`: no traceback, crash, hang, growth
    of memory, or changed file.
    """
    counts, faults = judged(range(CASES))
    assert sum(counts.values()) == CASES
    assert not faults, "\n".join(faults)


def test_undamaged_inputs_are_read(tmp_path):
    """Check that the commands do not refuse the inputs for another reason than the damage."""
    kinds: dict[tuple[str, ...], str] = {}
    for kind, (file, command) in make_inputs(tmp_path / "in").items():
        assert file.is_file()
        # a command reads several files; other tests fit and report this run
        if not kind.startswith(SLOWER):
            kinds.setdefault(tuple(command), kind)
    for command, kind in kinds.items():
        out = tmp_path / f"out-{kind}".replace("/", "-")
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            code = run([part.replace("{out}", str(out)) for part in command])
        if kind.startswith("run: replay"):  # too short for a fit, which comes after all else
            assert "no joint can be calibrated" in said.getvalue()
        else:
            assert (code, said.getvalue()) == (0, ""), kind


@pytest.mark.parametrize(
    ("what", "word"), [("raises", "KeyError"), ("writes", "changed its input"), ("takes", "MB")]
)
def test_a_fault_would_be_detected(monkeypatch, tmp_path, what, word):
    """The judge detects a command that raises, changes its input or uses too much memory."""
    cases, kept = make_inputs(tmp_path / "in"), []

    def command(arguments):
        if what == "raises":
            raise KeyError(arguments[0])
        if what == "writes":
            (tmp_path / "in" / "new").write_text("x")
        kept.append(np.ones(66_000_000 if what == "takes" else 1))
        return 2

    monkeypatch.setattr("stribeck.experiments.cli.app.run", command)
    _, fault = mutations._case(0, cases, schedule(cases), tmp_path / "in")
    assert word in fault


def test_damage_changes_the_file_and_is_reproducible():
    text = b"a = 1.0\n" * 50
    same = [damaged(text, np.random.default_rng(k)) == text for k in range(200)]
    assert np.mean(same) < 0.1
    assert damaged(text, np.random.default_rng(3)) == damaged(text, np.random.default_rng(3))
