"""Viscous friction that grows with the load: found with and without other effects, and its
laws compete only if needed.
"""

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.options import Options

SPEEDS = np.geomspace(0.03, 1.5, 9)
LOADS = np.array([2.0, 6.0, 10.0, 14.0])  # N·m, by posture


def found(
    seed: int, grows: float, drop: float = 0.0, options: Options | None = None, dry: float = 0.08
) -> JointFit:
    """Coulomb friction 3 + `dry` L, viscous 2 + `grows` L, and an excess at low speed."""
    rng, rows = np.random.default_rng(seed), []
    for trip, (load, w) in enumerate(
        (load, w) for w in rng.permutation(SPEEDS) for load in rng.permutation(LOADS)
    ):
        friction = 3.0 + dry * load + drop * np.exp(-((w / 0.08) ** 2)) + (2.0 + grows * load) * w
        odd = friction * (1.0 + 0.004 * rng.standard_normal()) + 0.03 * rng.standard_normal(4)
        rows += [
            {
                "joint": "j4",
                "segment": trip,
                "posture": 0,
                "speed": w,
                "position": float(k),
                "odd": tau,
                "even": 0.0,
                "gravity": 0.0,
                "gravity_rate": 0.0,
                "torque": load,
                "bending": 1.0,
                "radial": 1.0,
                "axial": 1.0,
                "normal": np.nan,
                "n": 100,
                "std": 0.1,
                "t": 10.0 * trip + k,
                "temperature": np.nan,
                "reference": False,
                "run": "one",
            }
            for k, tau in enumerate(odd)
        ]
    return identify_joint(pd.DataFrame(rows), load_mechanism("lab6"), "j4", options)


@pytest.mark.slow
def test_loaded_viscous_friction_is_found_with_its_coefficient() -> None:
    drop = 1.2
    fit = found(0, 0.06, drop).fit
    assert (fit.law, fit.load) == ("stribeck-loaded-viscous", "torque")
    coefficient = fit.parameters["viscous_coefficient"]
    assert coefficient.value == pytest.approx(0.06, rel=0.2)
    assert coefficient.unit == "s/rad"
    assert 0.0 < coefficient.low <= 0.06 <= coefficient.high
    assert not fit.lack_of_fit
    w, load = (grid.ravel() for grid in np.meshgrid(SPEEDS, LOADS))
    truth = 3.0 + 0.08 * load + drop * np.exp(-((w / 0.08) ** 2)) + (2.0 + 0.06 * load) * w
    np.testing.assert_allclose(fit.predict(w, load), truth, rtol=0.02)


@pytest.mark.slow
def test_loaded_viscous_friction_is_found_without_other_growth() -> None:
    """Over all speeds the load brings little then, and no load was chosen."""
    fit = found(0, 0.03, dry=0.0).fit
    assert (fit.law, fit.load) == ("loaded-viscous", "torque")
    assert fit.parameters["viscous_coefficient"].value == pytest.approx(0.03, rel=0.25)
    w, load = (grid.ravel() for grid in np.meshgrid(SPEEDS, LOADS))
    np.testing.assert_allclose(fit.predict(w, load), 3.0 + (2.0 + 0.03 * load) * w, rtol=0.02)


@pytest.mark.slow
def test_no_load_is_claimed_without_growth() -> None:
    for seed in range(2):
        assert found(seed, 0.0, dry=0.0).fit.load == "none"


@pytest.mark.slow
def test_laws_of_loaded_viscous_friction_do_not_compete_without_a_hint() -> None:
    fit = found(0, 0.0, 1.2).fit
    assert (fit.law, fit.load) == ("stribeck", "torque")
    assert not any("loaded" in one.law for one in fit.candidates)


def test_a_requested_law_stays_and_its_misfit_is_reported() -> None:
    joint = found(0, 0.06, options=Options(law="coulomb-viscous"))
    assert joint.fit.law == "coulomb-viscous"
    (said,) = [one.text for one in joint.findings if one.kind == "lack of fit"]
    assert "the difference between heavy and light load varies with speed" in said
