"""What the identified inertia says about the values of the model."""

import numpy as np
import pytest

from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia
from stribeck.ident.laws.parameter import Parameter

SIZES = np.array([0.3, -0.02, 1.5, 0.004])


def found(verdict: str = "identified") -> IdentifiedInertia:
    parameters = {
        f"p{k}": Parameter(value, 0.01, value - 0.02, value + 0.02, "kg·m", verdict)
        for k, value in enumerate(SIZES)
    }
    return IdentifiedInertia(0.3, 0.0, {}, parameters)


@pytest.mark.parametrize(
    ("factor", "said"), [(1000.0, 1000.0), (1e-3, 1e-3), (2.0, 0.0), (0.2, 0.0)]
)
def test_a_model_in_other_units_is_named(factor: float, said: float) -> None:
    stated = {f"p{k}": factor * value * (1.0 + 0.3 * (-1) ** k) for k, value in enumerate(SIZES)}
    assert found().other_unit(stated) == pytest.approx(said, rel=0.4)


def test_uncertain_or_few_parameters_do_not_show_a_unit() -> None:
    stated = {f"p{k}": 1000.0 * value for k, value in enumerate(SIZES)}
    assert found("unidentifiable").other_unit(stated) == 0.0
    assert found().other_unit({"p0": stated["p0"], "p1": stated["p1"]}) == 0.0
