"""Positions that wrap go on; motion, bad values and steps of other kinds stay as they are."""

import numpy as np
import pytest

from stribeck.ident.log.wrapped_positions import unwrapped

T = np.arange(6000) / 250.0
TRUE = 3.0 * T + 0.8 * np.sin(2.0 * T) + 1.0


@pytest.mark.parametrize("span", [2.0 * np.pi, 25.0, 4.0 * np.pi, 10.0])
@pytest.mark.parametrize("there_and_back", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_wrapped_positions_go_on(span: float, there_and_back: bool, noise: float) -> None:
    true = np.where(T < 12.0, TRUE, TRUE[3000] - (TRUE - TRUE[3000])) if there_and_back else TRUE
    true = true + noise * np.random.default_rng(0).standard_normal(len(T))
    found, size, wraps = unwrapped((true + span / 2.0) % span - span / 2.0)
    assert size == pytest.approx(span, rel=1e-3)
    assert wraps == np.abs(np.diff(np.floor((true + span / 2.0) / span))).sum()
    np.testing.assert_allclose(found - found[0], true - true[0], atol=5e-3 * wraps if span == 10.0 else 1e-9)


def test_missing_values_stay_missing() -> None:
    wrapped = (TRUE + np.pi) % (2.0 * np.pi) - np.pi
    wrapped[100:110] = np.nan
    found, _, _ = unwrapped(wrapped)
    assert np.isnan(found[100:110]).all()
    np.testing.assert_allclose(np.delete(found - TRUE, slice(100, 110)), found[0] - TRUE[0], atol=1e-9)


@pytest.mark.parametrize("values", [
    TRUE, np.sin(T), np.zeros(len(T)), np.where(T > 12.0, np.pi, -np.pi), np.where(np.arange(len(T)) == 99, 9.0, np.sin(T)),
    np.sin(T) + np.where(T > 12.0, 5.0, 0.0), np.round(np.sin(T)), np.random.default_rng(0).standard_normal(len(T)),
], ids=["long way", "swing", "still", "one step", "spike", "reset in mid-motion", "coarse", "noise"])
def test_what_does_not_wrap_stays_as_it_is(values: np.ndarray) -> None:
    found, size, wraps = unwrapped(values)
    assert found is values
    assert (size, wraps) == (0.0, 0)
