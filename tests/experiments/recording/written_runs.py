"""Samples that encode their number, and the check of a run made of them."""

import time

import numpy as np

from stribeck.drivers.arm import JointSample

RATE = 50.0  # rows per batch


def sample(k, n=2, temperature=True, raw=False):
    """Sample number k; every value in it encodes k."""
    base = k + np.arange(n) / 10.0
    return JointSample(
        k / RATE,
        base + 0.01,
        base + 0.02,
        base + 0.03,
        np.full(n, k / RATE - 1e-3),
        base + 0.04 if temperature else None,
        np.zeros(n, dtype=np.int64),
        base + 0.05 if raw else None,
    )


def fill(writer, rows, first=0, n=2, **options):
    for k in range(first, first + rows):
        writer.sample(sample(k, n, **options), np.full(n, k + 0.5), np.full(n, k + 0.6), k // 100)


def assert_rows(run, least, most=None):
    """Assert that the run contains the first rows, each unchanged."""
    rows = len(run.t)
    assert least <= rows <= (least if most is None else most)
    k = np.arange(rows)
    np.testing.assert_array_equal(run.t, k / RATE)
    np.testing.assert_array_equal(run.segment, k // 100)
    base = k[:, None] + np.arange(2) / 10.0
    for signal_, offset in {"q": 0.01, "dq": 0.02, "tau": 0.03, "temperature": 0.04}.items():
        np.testing.assert_array_equal(run.signals[signal_], base + offset)
    np.testing.assert_array_equal(run.signals["q_cmd"], np.tile(k + 0.5, (2, 1)).T)
    np.testing.assert_array_equal(run.signals["dq_cmd"], np.tile(k + 0.6, (2, 1)).T)


def assert_one_sentence(error, *words):
    assert "\n" not in str(error)
    for word in words:
        assert word in str(error)


def wait_for(condition):
    end = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(1e-3)
