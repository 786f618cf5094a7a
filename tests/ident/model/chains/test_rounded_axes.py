"""Correction of axes that a file has rounded."""

import numpy as np

from stribeck.ident.model.chains.rounded_axes import without_rounding


def test_rounded_axes_become_parallel_or_normal() -> None:
    rng = np.random.default_rng(0)
    meant = np.array(
        [[0.0, 0.6, 0.8], [0.0, -0.6, -0.8], [0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.6, 0.0, 0.8]]
    )
    slides = np.array([False, False, False, True, False])
    rounded = meant + rng.uniform(-2e-5, 2e-5, meant.shape)
    rounded /= np.linalg.norm(rounded, axis=1, keepdims=True)
    found = without_rounding(rounded, slides)
    assert np.abs(np.cross(found[0], found[[1, 2]])).max() < 1e-15
    assert found[0] @ found[1] < 0.0 < found[0] @ found[2]
    # the slide lies in the plane normal to three hinge axes
    assert abs(found[3] @ found[0]) < 1e-15
    np.testing.assert_array_equal(found[4], rounded[4])
    np.testing.assert_allclose(found, meant, atol=5e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-15)


def test_exact_axes_are_not_changed() -> None:
    axes = np.array(
        [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, np.sin(1e-3), np.cos(1e-3)]]
    )
    np.testing.assert_allclose(
        without_rounding(axes, np.array([False, False, True, False])), axes, rtol=0, atol=1e-16
    )
