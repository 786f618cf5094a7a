"""Derivatives of friction with temperature against differences of its
prediction, for every law and load.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.temperature.temperature_fit import TemperatureData, TemperatureFit
from stribeck.ident.temperature.temperature_laws import EXPONENTIAL, LINEAR, NONE, QUADRATIC
from tests.offenders import assert_each

COMPONENTS = ("bending", "axial")
PAIRS = {
    "none": (NONE, NONE),
    "line and decay": (LINEAR, EXPONENTIAL),
    "parabolas": (QUADRATIC, QUADRATIC),
}
OF_TEMPERATURE = {"slope": -0.004, "curvature": 5e-5, "decay": 15.0, "floor": 0.4}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("loads", [0, 1, 2])
def test_derivatives_are_those_of_the_prediction(loads: int, pair: str) -> None:
    names = [name for name in sorted(LAWS) if not loads or LAWS[name].with_load]
    assert_each(((name, loads, pair) for name in names), derivatives_are_those_of_the_prediction)


def derivatives_are_those_of_the_prediction(name: str, loads: int, pair: str) -> None:
    law, rng = LAWS[name], np.random.default_rng(1)
    speed, theta = (
        rng.uniform(0.02, 1.5, 40) * rng.choice([-1.0, 1.0], 40),
        rng.uniform(-10.0, 20.0, 40),
    )
    load = {0: None, 1: rng.uniform(1.0, 9.0, 40), 2: rng.uniform(1.0, 9.0, (40, 2))}[loads]
    own = law.parameters(load is not None, COMPONENTS if loads == 2 else ())
    coulomb, viscous = PAIRS[pair]
    of_temperature = (*coulomb.parameters("coulomb"), *viscous.parameters("viscous"))
    vector = np.array(
        [
            *rng.uniform(0.3, 1.2, len(own)),
            *(OF_TEMPERATURE[key.rsplit("_", 1)[1]] for key in of_temperature),
        ]
    )
    data = TemperatureData(speed, np.zeros(40), theta, load, np.arange(40) // 4)
    fit = TemperatureFit(
        data,
        law,
        coulomb,
        viscous,
        (*own, *of_temperature),
        vector,
        np.ones(len(vector), dtype=bool),
    )

    def changed(k: int, part: float) -> np.ndarray:
        other = vector.copy()
        other[k] *= 1.0 + part
        return replace(fit, vector=other).predict(speed, theta, load)

    differences = [
        (changed(k, 1e-5) - changed(k, -1e-5)) / (2e-5 * vector[k]) for k in range(len(vector))
    ]
    found = fit.jacobian(speed, theta, load)
    assert found.shape == (40, len(vector))
    np.testing.assert_allclose(found, np.column_stack(differences), rtol=1e-4, atol=1e-6)
