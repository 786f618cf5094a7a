"""Colours of the report's traffic lights."""

from types import SimpleNamespace

import numpy as np
import pytest

from stribeck.experiments.report.lights import BAD, GOOD, MIND, _fit


@pytest.mark.parametrize(
    ("errors", "colour", "worst"),
    [
        ({"shoulder": 0.04, "elbow": 0.02}, GOOD, "4.0 % of friction (shoulder)"),
        ({"shoulder": 0.02, "elbow": 0.1}, MIND, "10.0 % of friction (elbow)"),
        ({"shoulder": 0.3, "elbow": 0.02}, BAD, "30.0 % of friction (shoulder)"),
    ],
)
def test_the_worst_joint_gives_the_light_of_the_fit(errors, colour, worst):
    joints = [
        SimpleNamespace(
            name=name,
            odd=np.array([1.0, 2.0, 5.0]),
            calibration=SimpleNamespace(held_out_rmse=2.0 * error),
            fit=SimpleNamespace(fit=SimpleNamespace(lack_of_fit=None)),
        )
        for name, error in errors.items()
    ]
    light = _fit(joints)
    assert light.colour == colour
    assert worst in light.text
