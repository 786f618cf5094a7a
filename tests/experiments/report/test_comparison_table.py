"""The comparison of two calibrations as data: motors and passive joints are in it beside the
joints, as in the printed table.
"""

import json
from dataclasses import replace

import pytest

from stribeck import Calibration, compare
from stribeck.experiments.report.comparison import comparison_table
from stribeck.ident.fit.inertia.motor_friction import MotorFriction, RubbingMotor
from stribeck.ident.laws.parameter import Parameter
from tests.places import DATA
from tests.schemas import judge


def test_motors_are_compared_beside_the_joints():
    golden = Calibration.load(DATA / "golden")
    before, after = (
        replace(
            golden,
            motors=MotorFriction(
                {
                    "hinge": RubbingMotor(
                        "coulomb-viscous",
                        {
                            "coulomb": Parameter(
                                level, 0.01, level - 0.02, level + 0.02, "N·m", "identified"
                            ),
                            "viscous": Parameter(0.8, 0.01, 0.78, 0.82, "N·m·s/rad", "identified"),
                        },
                        (0.01, 2.0),
                    )
                }
            ),
        )
        for level in (1.5, 1.8)
    )
    table = comparison_table(before, after, compare(before, after))
    motor = table["motors_and_passive"]["motor of hinge"]
    assert motor["coulomb"]["difference"] == pytest.approx(0.3)
    assert (motor["coulomb"]["changed"], motor["viscous"]["changed"]) == (True, False)
    assert table["joints"].keys() == {"hinge"}
    printed = {"changed": True, "first": "a", "others": [{"name": "b", **table}], "files": []}
    judge("compare", json.loads(json.dumps(printed)))
