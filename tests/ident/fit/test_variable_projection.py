"""The optimum: no better parameters nearby, and never worse than a law that is a special case."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from stribeck import FitResult, fit_friction
from stribeck.ident.laws.law_table import LAWS
from tests.round_trip_points import SPEEDS, friction, nasty, points, random_truth


def least_misfit(
    fit: FitResult, w: np.ndarray, tau: np.ndarray, group: np.ndarray, velocities: np.ndarray
) -> float:
    """Brute force: the least weighted misfit of the law over Stribeck velocities,
    in the fit's own weights.
    """

    def misfit(columns: list[np.ndarray]) -> float:
        return (
            nnls(fit.noise.whiten(np.column_stack(columns), group), fit.noise.whiten(tau, group))[1]
            ** 2
        )

    fading = (np.exp(-((w / velocity) ** 2)) for velocity in velocities)
    return min(misfit([(1.0 - fade) * np.sign(w), fade * np.sign(w), w]) for fade in fading)


@pytest.mark.parametrize("seed", range(12))
def test_no_local_optimum_and_never_worse_than_the_nested_law(seed: int) -> None:
    w, tau, group = nasty(seed)
    fit = fit_friction(w, tau, group=group, law="stribeck", loss="squares")
    reached = float(np.sum(fit.noise.whiten(fit.residual, group) ** 2))
    speed = np.abs(w)
    best = least_misfit(fit, w, tau, group, np.geomspace(speed.min(), 0.5 * speed.max(), 400))
    nested = least_misfit(fit, w, tau, group, np.array([1e9]))
    assert reached <= best * (1.0 + 1e-6)
    assert reached <= nested * (1.0 + 1e-6)
    assert all(value >= 0.0 for value in fit.values.values()), "friction would drive the joint"


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    law=st.sampled_from(["stribeck", "tustin", "stribeck-free", "andersson", "quadratic"]),
)
def test_a_larger_law_never_ends_worse_than_the_law_it_holds(seed: int, law: str) -> None:
    """Each holds coulomb-viscous (a drop or a square of zero), and stribeck-free
    holds stribeck and tustin.
    """
    rng, p = np.random.default_rng(seed), points()
    tau = p.measured(rng, friction(p.w, **random_truth(rng)), 0.03, 0.1)
    fit = fit_friction(p.w, tau, group=p.group, law=law, loss="squares")
    target = fit.noise.whiten(tau, p.group)
    reached = float(np.sum(fit.noise.whiten(fit.residual, p.group) ** 2))

    def misfit(smaller: str, **nonlinear: float) -> float:
        return (
            nnls(fit.noise.whiten(LAWS[smaller].columns(p.w, None, nonlinear), p.group), target)[1]
            ** 2
        )

    least = [misfit("coulomb-viscous")] if law != "andersson" else []
    if law == "stribeck-free":
        speed = np.geomspace(SPEEDS[0], 0.5 * SPEEDS[-1], 100)
        least += [
            misfit(smaller, stribeck_velocity=w_s)
            for smaller in ("stribeck", "tustin")
            for w_s in speed
        ]
    if law == "andersson":
        least += [
            misfit("andersson", stribeck_velocity=w_s, tanh_velocity=0.05 * SPEEDS[0])
            for w_s in np.geomspace(SPEEDS[0], 0.5 * SPEEDS[-1], 100)
        ]
    assert reached <= min(least) * (1.0 + 1e-6)
