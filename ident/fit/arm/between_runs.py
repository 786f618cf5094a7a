"""Between-run deviation: every pass of a campaign fitted alone, with the law and load that all runs chose together.

It holds what an interval of one run does not: another temperature, another run-in, another day. It stands beside the
interval and never widens it, because a few runs tell it only roughly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.run import Run


def runs_by_pass(runs: Sequence[Run]) -> list[list[int]]:
    """Places of runs by pass over their plan: one that continues another, which was broken off, is of the same pass."""
    found: list[list[int]] = []
    for k, run in enumerate(runs):
        before = next((one for one in found if run.record.get("continues") in [runs[part].label for part in one]), None)
        if before is None:
            found.append([k])
        else:
            before.append(k)
    return found


def with_deviation(parameters: Mapping[str, Parameter], runs: Sequence[Mapping[str, Parameter]]) -> dict[str, Parameter]:
    """Parameters with the standard deviation over the runs that estimated them, where at least two did.

    Parameters
    ----------
    parameters : mapping of str to Parameter
        Estimates from all runs together.
    runs : sequence of mapping of str to Parameter
        Estimates of single runs.
    """
    out = {}
    for name, parameter in parameters.items():
        values = [value for run in runs if name in run and (value := run[name].value) is not None]
        known = parameter.value is not None and len(values) >= 2
        out[name] = replace(parameter, repeat_deviation=float(np.std(values, ddof=1))) if known else parameter
    return out
