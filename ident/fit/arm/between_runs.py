"""Between-run deviation: the scatter of parameters over passes of a campaign, each fitted alone.

All passes use the law and the load that all runs chose together. The deviation includes effects
that the interval of one run does not cover: another temperature, another run-in, another day. It is
reported beside the interval and never widens it, because a few runs determine it only roughly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.run import Run


def runs_by_pass(runs: Sequence[Run]) -> list[list[int]]:
    """Group the indices of runs by pass over their plan; a run that continues an interrupted run
    belongs to the same pass.
    """
    found: list[list[int]] = []
    for k, run in enumerate(runs):
        before = next(
            (
                one
                for one in found
                if run.record.get("continues") in [runs[part].label for part in one]
            ),
            None,
        )
        if before is None:
            found.append([k])
        else:
            before.append(k)
    return found


def with_deviation(
    parameters: Mapping[str, Parameter], runs: Sequence[Mapping[str, Parameter]]
) -> dict[str, Parameter]:
    """Return the parameters with their standard deviation over runs, if at
    least two runs estimated them.

    Parameters
    ----------
    parameters : mapping of str to Parameter
        Estimates from all runs together.
    runs : sequence of mapping of str to Parameter
        Estimates from each run alone.
    """
    out = {}
    for name, parameter in parameters.items():
        values = [value for run in runs if name in run and (value := run[name].value) is not None]
        known = parameter.value is not None and len(values) >= 2
        out[name] = (
            replace(parameter, repeat_deviation=float(np.std(values, ddof=1)))
            if known
            else parameter
        )
    return out
