"""A rigid model on an elastic joint or a flexible link: the bias of identified friction; the
benchmark `elastic`, in small.
"""

import json

import numpy as np
import pytest

from benchmarks.elastic import REFERENCE, beam, experiment, phases, spring, truth
from stribeck.ident.arm.arm_file import load_arm

pytestmark = pytest.mark.slow

ARM = load_arm("elastic1")
TRUE = truth(ARM)
STIFFNESSES = (None, 100.0)  # the benchmark has more
MOTIONS = phases(2)  # the first is the reference's


def relative_errors(entries):
    """Bias of each parameter by stiffness, from rigid to soft, shape (K,)."""
    return {key: np.array([entry[key] / TRUE[key] - 1.0 for entry in entries]) for key in TRUE}


@pytest.fixture(scope="module")
def found():
    """Errors of each parameter on springs and beams, from rigid to soft, shape (K, motions)."""
    joint = [
        [experiment(ARM, spring(K), motion, seconds=6.0) for motion in MOTIONS] for K in STIFFNESSES
    ]
    link = [[experiment(ARM, beam(ARM, K), MOTIONS[0], seconds=6.0)] for K in STIFFNESSES[1:]]
    return {
        what: {
            key: np.array([[entry[key] / TRUE[key] - 1.0 for entry in row] for row in rows])
            for key in TRUE
        }
        for what, rows in (("joint", joint), ("link", [joint[0][:1], *link]))
    }


@pytest.fixture(scope="module")
def reference():
    entries = {entry["K"]: entry for entry in json.loads(REFERENCE.read_text(encoding="utf-8"))}
    return relative_errors([entries[K] for K in STIFFNESSES])


def test_the_experiment_equals_the_reference():
    assert pytest.approx({"J": 0.12667, "mgc": 3.924, "mu_r": 0.012, "fv": 0.35}, rel=1e-4) == TRUE
    assert MOTIONS[0] == (0.0, 0.0, 0.0)


def test_the_truth_is_found_on_a_rigid_arm_along_every_motion(found):
    assert max(np.abs(errors[0]).max() for errors in found["joint"].values()) < 0.01


def test_the_bias_along_the_reference_motion_agrees_with_the_reference(found, reference):
    """Coulomb friction is too small and viscous friction is too large; both
    errors grow as stiffness falls.
    """
    mu_r, fv = found["joint"]["mu_r"][:, 0], found["joint"]["fv"][:, 0]
    assert (np.diff(mu_r) < 0.0).all()
    assert (np.diff(fv) > 0.0).all()
    np.testing.assert_allclose(mu_r, reference["mu_r"], atol=0.1)
    np.testing.assert_allclose(fv, reference["fv"], atol=0.04)
    assert mu_r[-1] < -0.3


def test_the_bias_over_motions_grows_as_stiffness_falls(found):
    """The root mean square grows; along single motions the bias may change its sign at a
    natural frequency of 5 Hz.
    """
    for key, least in (("mu_r", 0.1), ("fv", 0.03)):
        spread = np.sqrt(np.mean(found["joint"][key] ** 2, axis=1))
        assert (np.diff(spread) > 0.0).all()
        assert spread[-1] > least


def test_a_flexible_link_has_the_bias_of_a_spring_of_equal_frequency(found):
    """The biases agree within a third, along the reference's motion."""
    joint, link = found["joint"]["mu_r"][1:, 0], found["link"]["mu_r"][1:, 0]
    np.testing.assert_allclose(link, joint, rtol=1.0 / 3.0)
