"""The factor of simultaneous bands: against known cases, and as often as it says."""

import numpy as np
import pytest
from scipy.stats import f, t

from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.fit.simultaneous import simultaneous_factor
from tests.coverage import fewest

FITS = 40


def test_of_one_parameter_it_is_students() -> None:
    assert simultaneous_factor(np.array([[1.0], [3.0]]), np.array([[0.2]]), 7.0) == pytest.approx(
        t.ppf(0.975, 7), rel=1e-6
    )


@pytest.mark.slow
def test_of_all_directions_it_is_scheffes() -> None:
    turn = np.linspace(0.0, np.pi, 2000)
    factor = simultaneous_factor(np.column_stack((np.cos(turn), np.sin(turn))), np.eye(2), 20.0)
    assert factor == pytest.approx(np.sqrt(2.0 * f.ppf(0.95, 2, 20)), rel=1e-4)


def test_units_of_the_parameters_do_not_matter() -> None:
    random = np.random.default_rng(1)
    slopes, root, scale = (
        random.standard_normal((30, 3)),
        random.standard_normal((3, 3)),
        np.array([1e-3, 1.0, 1e4]),
    )
    one = simultaneous_factor(slopes, root @ root.T, 12.0)
    other = simultaneous_factor(slopes / scale, root @ root.T * np.outer(scale, scale), 12.0)
    assert one == pytest.approx(other, rel=0.01)  # other directions are drawn


@pytest.mark.slow
def test_the_whole_curve_lies_in_the_band_in_95_of_100_fits() -> None:
    speed, where = np.geomspace(0.02, 1.0, 20), np.geomspace(0.02, 1.0, 60)
    inside = pointwise = 0
    for seed in range(FITS):
        torque = 2.0 + 3.0 * speed + 0.05 * np.random.default_rng(seed).standard_normal(20)
        fit = fit_friction(speed, torque, law="coulomb-viscous")
        off = np.abs(fit.predict(where) - 2.0 - 3.0 * where)
        inside += bool((off <= fit.band(where)).all())
        pointwise += bool((off <= fit.interval(where)).all())
    assert fewest(FITS) <= inside
    assert pointwise < inside
