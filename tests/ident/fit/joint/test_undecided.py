"""A finding says if the data neither show nor exclude a Stribeck effect, and only then."""

import numpy as np
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import identify_joint
from stribeck.ident.fit.joint.options import Options
from tests.ident.fit.joint.test_drift import points


@pytest.mark.slow
def test_an_undecided_shape_is_a_finding_with_the_laws_in_question() -> None:
    told = []
    for seed in range(4):
        table, rng = points(24, 0.0, "one", seed=seed), np.random.default_rng(100 + seed)
        level = rng.standard_normal(24)[table["segment"]]
        table["odd"] += 0.25 * np.exp(-((table["speed"] / 0.05) ** 2)) + 0.15 * level
        found = identify_joint(table, load_mechanism("lab6"), "j4", Options(load="none"))
        said = [finding.text for finding in found.findings if finding.kind == "law"]
        assert bool(said) == found.fit.undecided
        told += said
    assert len(told) >= 2
    assert all(
        "j4: low-speed excess, shape undecided: a Stribeck effect is " in text for text in told
    )
    assert all("stribeck" in text or "tustin" in text for text in told)


def test_a_requested_law_is_not_called_undecided() -> None:
    found = identify_joint(
        points(24, 0.0, "one"), load_mechanism("lab6"), "j4", Options(law="stribeck")
    )
    assert found.fit.stribeck_share is None
    assert not [finding for finding in found.findings if finding.kind == "law"]
