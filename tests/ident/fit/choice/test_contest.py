"""A contest of laws for the points of one joint."""

import numpy as np
import pytest

from stribeck.ident.fit.choice.contest import Contest
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import law_named


def test_a_law_that_does_not_compete_can_be_fitted() -> None:
    """As where the load that won has laws that were not weighed with the others, and
    these are looked at beside it.
    """
    w = np.geomspace(0.01, 1.0, 24)
    tau = (
        1.0
        + 0.3 * np.exp(-((w / 0.05) ** 2))
        + 0.5 * w**0.7
        + 0.002 * np.random.default_rng(0).standard_normal(24)
    )
    contest = Contest.of(
        FitPoints(w, tau, None, np.arange(24)),
        [law_named("coulomb-viscous"), law_named("stribeck")],
    )
    assert contest.fit(law_named("stribeck-power")).values["coulomb"] == pytest.approx(1.0, abs=0.1)
