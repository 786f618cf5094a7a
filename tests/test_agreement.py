"""Friction measured with the whole arm agrees with friction measured joint by joint; a
small benchmark `agreement`, which has more conditions.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.agreement import compare
from stribeck.experiments.methods.registry import METHODS
from stribeck.ident.arm.arm_file import ArmFile

pytestmark = pytest.mark.slow

QUICK = {"gear_ratio": 400.0, "rotor_inertia": 2.5e-6}
KNOBS = {
    "torque_noise": 0.05,
    "ripple": 0.02,
    "ripple_period": 0.0157,
    "stroke_scatter": 0.01,
    "encoder_step": 1e-5,
}


@pytest.mark.parametrize("condition", ["unknown payload"])
def test_both_methods_agree_under_disturbed_torques(
    make_arm: Callable[..., ArmFile], monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    for method, (make, options) in METHODS.items():
        monkeypatch.setitem(
            METHODS, method, (make, replace(options, postures=2, speeds=4, longest_stroke=3.0))
        )
    arm = make_arm(
        {"driver": {"rate": 100.0}, "joints": {"turn": QUICK, "lift": QUICK}, "simulation": KNOBS}
    )
    rows = compare(str(arm.path), condition, 2)
    assert rows["within"].mean() > 0.8
    assert rows["wrong"].sum() == 0
