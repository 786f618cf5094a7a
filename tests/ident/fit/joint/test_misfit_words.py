"""Findings about a joint whose law does not fit, and about speeds that were measured in order."""

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.options import Options
from tests.ident.fit.joint.test_drift import COULOMB, SPEEDS, VISCOUS, points


def said(found: JointFit, kind: str) -> list[str]:
    return [finding.text for finding in found.findings if finding.kind == kind]


def identified(table: pd.DataFrame, **options: str) -> JointFit:
    return identify_joint(table, load_mechanism("lab6"), "j4", Options(**options))


def test_a_law_that_fits_is_not_mentioned() -> None:
    found = identified(points(32, 0.0, "one"))
    assert found.fit.lack_of_fit == ()
    assert not said(found, "lack of fit")
    assert not said(found, "speed order")


def test_a_law_that_does_not_fit_comes_first_with_size_place_and_what_to_do() -> None:
    table = points(32, 0.0, "one")
    table["odd"] += 0.4 * np.sin(2.0 * np.log(table["speed"]))
    found = identified(table, law="coulomb-viscous", load="none")
    assert found.findings[0].kind == "lack of fit"
    (text,) = said(found, "lack of fit")
    assert text.startswith("j4: the law coulomb-viscous does not fit: ")
    assert " N·m (" in text
    assert "% of friction) at " in text
    assert " rad/s" in text


def test_directions_that_differ_at_low_speed_only_show_in_the_even_part() -> None:
    table = points(32, 0.0, "one")
    random = np.random.default_rng(3)
    table["even"] = 0.3 * np.exp(-((table["speed"] / 0.1) ** 2)) + 0.02 * random.standard_normal(
        len(table)
    )
    found = identified(table)
    assert {one.over for one in found.fit.lack_of_fit} == {"direction"}
    assert found.fit.parameters["coulomb"].verdict == "identified"


@pytest.mark.slow
@pytest.mark.parametrize("turn", [1, -1])
def test_speeds_in_the_order_of_time_are_a_finding(turn: int) -> None:
    table = points(32, 0.0, "one")
    speed = np.sort(SPEEDS[table["segment"] % len(SPEEDS)])[::turn]
    table["odd"] += VISCOUS * (speed - table["speed"])
    table["speed"] = speed
    (text,) = said(identified(table), "speed order")
    assert "a change of friction over time" in text
    assert table["odd"].min() + 0.1 > COULOMB
