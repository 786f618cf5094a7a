"""Results of benchmark cases in a file: a run that was stopped is continued,
and nothing is judged twice.
"""

import numpy as np
import pytest

from benchmarks.kept import judged_cases


def half(case):
    if case == 13:
        raise ValueError("13")
    return {"half": np.float64(case / 2.0)}


def refuse(case):
    raise AssertionError(f"{case} is judged again")


@pytest.mark.slow
def test_a_stopped_run_is_continued(tmp_path):
    kept = tmp_path / "kept.jsonl"
    with pytest.raises(ValueError, match="13"):
        judged_cases([1, 2, 13], half, 1, kept)
    assert judged_cases([2, 1], refuse, 1, kept) == [{"half": 1.0}, {"half": 0.5}]
    assert judged_cases([3, 1], half, 2, kept) == [{"half": 1.5}, {"half": 0.5}]
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 3


def test_without_a_file_everything_is_judged():
    assert judged_cases([4, 6], half, 1, None) == [{"half": 2.0}, {"half": 3.0}]
