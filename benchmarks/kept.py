"""Cases of a long benchmark, judged in several processes; a file keeps the results, so
that a run can be continued.

`benchmarks/kept_cases/` has the files of benchmarks that take hours; a change of what they
measure makes a file worthless.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Case = TypeVar("Case")


def judged_cases(
    cases: Sequence[Case], judge: Callable[[Case], Any], jobs: int, path: Path | None
) -> list[Any]:
    """Return the results of all cases, in their order; cases whose results are in the
    file are not judged again.

    Parameters
    ----------
    cases : sequence
        Cases; their texts tell them apart.
    judge : callable
        From a case to plain data.
    jobs : int
        Number of processes.
    path : Path, optional
        JSON lines file, to which new results are added.
    """
    found = _kept(path)
    with ProcessPoolExecutor(jobs) as pool:
        missing = [case for case in cases if str(case) not in found]
        for case, result in zip(missing, pool.map(judge, missing), strict=True):
            found[str(case)] = result
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(
                        json.dumps({"case": str(case), "rows": result}, default=_plain) + "\n"
                    )
    return [found[str(case)] for case in cases]


def _kept(path: Path | None) -> dict[str, Any]:
    """Return the results of an earlier run by case."""
    if path is None or not path.is_file():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["case"]: line["rows"] for line in lines}


def _plain(value: np.generic) -> Any:
    """Return a number in a form that JSON can store."""
    return value.item()
