"""A rigid model on an elastic joint: the bias of identified friction; the benchmark `elastic`, in small."""

import json

import numpy as np
import pytest

from benchmarks.elastic import REFERENCE, experiment, truth
from ident.armfile import load_arm

ARM = load_arm("elastic1")
TRUE = truth(ARM)
STIFFNESSES = (None, 1000.0, 300.0, 100.0)


def relative_errors(entries):
    """Of each parameter, by stiffness from rigid to soft, shape (K,)."""
    return {key: np.array([entry[key] / TRUE[key] - 1.0 for entry in entries]) for key in TRUE}


@pytest.fixture(scope="module")
def found():
    return relative_errors([experiment(ARM, K, seconds=8.0) for K in STIFFNESSES])


@pytest.fixture(scope="module")
def reference():
    entries = {entry["K"]: entry for entry in json.loads(REFERENCE.read_text(encoding="utf-8"))}
    return relative_errors([entries[K] for K in STIFFNESSES])


def test_the_experiment_is_the_references():
    assert pytest.approx({"J": 0.12667, "mgc": 3.924, "mu_r": 0.012, "fv": 0.35}, rel=1e-4) == TRUE


def test_on_a_rigid_joint_the_method_finds_the_truth(found):
    assert max(abs(errors[0]) for errors in found.values()) < 0.01


def test_friction_is_biased_more_as_stiffness_falls(found, reference):
    """Coulomb friction comes out too small and viscous friction too large, as in the reference."""
    assert (np.diff(found["mu_r"]) < 0.0).all()
    assert (np.diff(found["fv"]) > 0.0).all()
    np.testing.assert_allclose(found["mu_r"], reference["mu_r"], atol=0.1)
    np.testing.assert_allclose(found["fv"], reference["fv"], atol=0.04)
    assert found["mu_r"][-1] < -0.3
