"""Wrapped positions are unwrapped; motion, bad values and other jumps stay unchanged."""

import numpy as np
import pytest

from stribeck.ident.log.wrapped_positions import unwrapped

T = np.arange(6000) / 250.0
TRUE = 3.0 * T + 0.8 * np.sin(2.0 * T) + 1.0


@pytest.mark.parametrize("span", [2.0 * np.pi, 25.0, 4.0 * np.pi, 10.0])
@pytest.mark.parametrize("there_and_back", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_wrapped_positions_are_unwrapped(span: float, there_and_back: bool, noise: float) -> None:
    true = np.where(T < 12.0, TRUE, TRUE[3000] - (TRUE - TRUE[3000])) if there_and_back else TRUE
    true = true + noise * np.random.default_rng(0).standard_normal(len(T))
    done = unwrapped((true + span / 2.0) % span - span / 2.0)
    found, size, wraps = done.q, done.range, done.wraps
    assert size == pytest.approx(span, rel=1e-3)
    assert wraps == np.abs(np.diff(np.floor((true + span / 2.0) / span))).sum()
    np.testing.assert_allclose(
        found - found[0], true - true[0], atol=5e-3 * wraps if span == 10.0 else 1e-9
    )


def test_missing_values_stay_missing() -> None:
    wrapped = (TRUE + np.pi) % (2.0 * np.pi) - np.pi
    wrapped[100:110] = np.nan
    found = unwrapped(wrapped).q
    assert np.isnan(found[100:110]).all()
    np.testing.assert_allclose(
        np.delete(found - TRUE, slice(100, 110)), found[0] - TRUE[0], atol=1e-9
    )


@pytest.mark.parametrize(
    "values",
    [
        TRUE,
        np.sin(T),
        np.zeros(len(T)),
        np.where(T > 12.0, np.pi, -np.pi),
        np.where(np.arange(len(T)) == 99, 9.0, np.sin(T)),
        np.sin(T) + np.where(T > 12.0, 5.0, 0.0),
        np.round(np.sin(T)),
        np.random.default_rng(0).standard_normal(len(T)),
    ],
    ids=[
        "long motion",
        "swing",
        "rest",
        "one step",
        "spike",
        "reset during motion",
        "coarse",
        "noise",
    ],
)
def test_positions_without_wraps_are_unchanged(values: np.ndarray) -> None:
    done = unwrapped(values)
    assert done.q is values
    assert (done.range, done.wraps) == (0.0, 0)


@pytest.mark.parametrize("speed", [20.0, 60.0, 100.0])
def test_a_fast_motor_is_unwrapped(speed: float) -> None:
    """A third of a turn between samples at 100 rad/s and 50 Hz, with acceleration,
    deceleration and reversal.
    """
    t = np.arange(2000) / 50.0
    true = np.cumsum(speed * np.sin(0.5 * t)) / 50.0
    done = unwrapped((true + np.pi) % (2.0 * np.pi) - np.pi)
    assert done.range == pytest.approx(2.0 * np.pi)
    np.testing.assert_allclose(done.q - done.q[0], true - true[0], atol=1e-9)


def test_a_rest_at_the_end_of_the_range() -> None:
    """Noise moves the position from one end of the range to the other and back in each row."""
    true = (
        np.pi
        + np.concatenate((np.zeros(500), np.sin(T[:2500]), np.zeros(500)))
        + 1e-3 * np.random.default_rng(0).normal(size=3500)
    )
    done = unwrapped((true + np.pi) % (2.0 * np.pi) - np.pi)
    assert done.wraps > 50
    np.testing.assert_allclose(done.q - done.q[0], true - true[0], atol=1e-9)


def test_each_recording_begins_with_its_recorded_position() -> None:
    """A jump between two recordings, as between episodes of a dataset, is not a wrap."""
    wrapped = (TRUE + np.pi) % (2.0 * np.pi) - np.pi
    twice, begins = np.concatenate((wrapped, wrapped)), np.zeros(2 * len(T), dtype=bool)
    begins[len(T)] = True
    found = unwrapped(twice, begins).q
    np.testing.assert_allclose(found[: len(T)] - TRUE, found[0] - TRUE[0], atol=1e-9)
    np.testing.assert_allclose(found[len(T) :], found[: len(T)], atol=1e-9)


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (np.sin(T) + np.where(T > 12.0, 5.0, 0.0), [3000]),
        (np.where(np.arange(len(T)) == 99, 9.0, np.sin(T)), [98, 99]),
        (np.sin(T), []),
        (np.round(np.sin(T)), []),
    ],
    ids=["reset during motion", "spike", "swing", "coarse"],
)
def test_jumps_that_are_not_wraps_are_listed(values: np.ndarray, rows: list[int]) -> None:
    assert list(unwrapped(values).leaps) == rows
