"""The command `python -m benchmarks`; the measurements have tests of their own."""

import sys

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize(
    "arguments",
    [[], *([name] for name in BENCHMARKS)],
    ids=lambda given: given[0] if given else "all",
)
def test_the_help_of_every_benchmark_is_printed(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "usage: python -m benchmarks" in printed
    if not arguments:
        assert set(BENCHMARKS) == {name for name in BENCHMARKS if f" {name} " in printed}
        assert "friction is known within 5 %" in printed
