"""Findings about lack of fit: the variable with which residuals of a joint vary, where, by
how much, and what to do.
"""

from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.misfit import GROWTH, Misfit
from stribeck.ident.laws.law_table import unit
from stribeck.ident.log.finding import Finding

_LEAST_P = 1e-6  # p values below are shown as "< 1e-06"
_DO = {
    "speed": "look at the residuals in the report; add round trips at more speeds near this one "
    "to show the curve",
    "load": "friction may not be proportional to this load, or may grow with another load (--load)",
    "position": "friction varies along the stroke, as gears and windings cause; add postures "
    "elsewhere to average it",
    "direction": "viscous friction may differ between the directions (--directional viscous)",
    GROWTH: "viscous friction may grow with the load; measure round trips at several speeds under "
    "each load",
    "time": "warm up longer, or record again (--repeats)",
    "repeats": "no law that was tried follows friction over speed and load; look at the residuals "
    "in the report",
}


def misfit_findings(
    name: str, fit: FitResult, friction: float, prismatic: bool, in_order: bool = False
) -> tuple[Finding, ...]:
    """Return a finding if the law of a joint does not fit; `friction` is the median
    of its points [N·m or N].
    """
    if not fit.lack_of_fit:
        return ()
    said = "; ".join(size_and_place(one, friction, prismatic) for one in fit.lack_of_fit)
    overs = {one.over for one in fit.lack_of_fit}
    do = (
        "speeds were measured from slow to fast or fast to slow, so time may be the cause as "
        "well: shuffle the speeds"
        if (in_order and overs & {"speed", "time", "repeats"})
        else _DO[fit.lack_of_fit[0].over]
    )
    p = fit.lack_of_fit[0].p
    held = "" if overs == {"direction"} else "Intervals and band include this misfit; "
    return (
        Finding(
            name,
            "lack of fit",
            f"{name}: the law {fit.law} does not fit: {said} "
            f"(p {f'= {p:.1g}' if p >= _LEAST_P else f'< {_LEAST_P:.0e}'}). {held}{do}",
        ),
    )


def size_and_place(one: Misfit, friction: float, prismatic: bool) -> str:
    """Return the variable with which residuals vary, the largest deviation,
    and where it is, in words.
    """
    tau, turn = unit("coulomb", prismatic), "m" if prismatic else "rad"
    where = {"load": tau, "position": turn, "time": "s"}.get(one.over, f"{turn}/s")
    what = {
        "repeats": "round trips of one speed and load agree with each other but not with the law",
        "direction": "the difference between the directions varies with speed",
        GROWTH: "the difference between heavy and light load varies with speed",
    }.get(one.over, f"residuals vary with {one.over}")
    return (
        f"{what}, by up to {one.size:+.2g} {tau} "
        f"({100.0 * abs(one.size) / max(friction, 1e-300):.1f} % of friction) at "
        f"{one.at:.3g} {where}"
    )


def order_finding(name: str, ordered: bool) -> tuple[Finding, ...]:
    """Return a finding if speeds were measured in order: changes over time and over
    speed then look the same.
    """
    if not ordered:
        return ()
    return (
        Finding(
            name,
            "speed order",
            f"{name}: speeds were measured from slow to fast or fast to slow, so a change of "
            "friction over time, as during warm-up, looks like a change with speed; the intervals "
            "include only a steady "
            "drift of a few per cent. Shuffle the speeds (stribeck plan does)",
        ),
    )
