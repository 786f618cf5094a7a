"""Torque signals that are late or filtered, against closed forms and small changes."""

import numpy as np
import pytest

from stribeck.ident.memory.torque_signal import as_reported

T = np.arange(0.0, 4.0, 1e-3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("delay", lambda: np.sin(5.0 * (T - 0.0123))),
        (
            "lag",
            lambda: (
                (np.sin(5.0 * T) - 5.0 * 0.0123 * np.cos(5.0 * T)) / (1.0 + (5.0 * 0.0123) ** 2)
            ),
        ),
    ],
)
def test_a_sine_comes_late_or_filtered(name, expected):
    told, _ = as_reported(T, np.array([0]), {name: 0.0123}, np.sin(5.0 * T)[None])
    # after the filter has settled
    np.testing.assert_allclose(told[0][200:], expected()[200:], atol=2e-5)


@pytest.mark.parametrize(
    "values", [{"delay": 0.0125}, {"lag": 0.02}, {"delay": 0.0125, "lag": 0.02}]
)
def test_derivatives_are_those_of_small_changes(values):
    begins, signal = np.array([0, 1500]), np.sin(5.0 * T) + np.cos(11.0 * T)
    _, slopes = as_reported(T, begins, values, signal[None])
    for name, slope in zip(values, slopes, strict=True):
        changed = [
            as_reported(T, begins, {**values, name: values[name] + step}, signal[None])[0][0]
            for step in (4e-4, -4e-4)
        ]
        numeric = (changed[0] - changed[1]) / 8e-4
        inner = np.r_[200:1400, 1700 : len(T)]
        np.testing.assert_allclose(
            slope[inner], numeric[inner], atol=0.02 * np.abs(numeric[inner]).max()
        )


def test_recordings_do_not_reach_into_each_other():
    signal = np.where(np.arange(len(T)) < 1500, 1.0, -1.0)
    told, _ = as_reported(T, np.array([0, 1500]), {"delay": 0.02, "lag": 0.05}, signal[None])
    np.testing.assert_allclose(told[0], signal, atol=1e-12)
