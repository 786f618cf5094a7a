"""Rules that hold for many cases: one test a rule, which names every case that breaks it."""

from collections.abc import Callable, Iterable
from typing import Any

SHOWN = 20  # offenders in a message


def assert_each(cases: Iterable[Any], check: Callable[..., None]) -> None:
    """Call a check with every case, and fail with the names of all cases that break it.

    Parameters
    ----------
    cases : iterable
        Arguments of the check; a tuple holds several.
    check : callable
        Raises what a test would raise.
    """
    number, offenders = 0, []
    for case in cases:
        number += 1
        arguments = case if isinstance(case, tuple) else (case,)
        try:
            check(*arguments)
        except Exception as error:
            reason = next(iter(str(error).strip().splitlines()), "")
            offenders.append(f"{case}: {type(error).__name__}: {reason}")
    assert number, "there is no case"
    if offenders:
        raise AssertionError(
            f"{len(offenders)} of {number} cases break the rule:\n" + "\n".join(offenders[:SHOWN])
        )
