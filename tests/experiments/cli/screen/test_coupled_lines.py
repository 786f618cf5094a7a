"""Console lines of a plan about motors that move several joints."""

import pytest

from stribeck.experiments.cli.screen.plan_text import coupled_lines
from stribeck.experiments.methods.registry import plan_experiment
from stribeck.ident.arm.load_mechanism import load_mechanism

pytestmark = pytest.mark.slow


def test_plan_says_if_it_separates_motor_friction(make_arm):
    arm = make_arm({"transmission": {"lift": {"turn": 0.5}}})
    mechanism = load_mechanism(arm)
    told = {
        method: coupled_lines(plan_experiment("round-trips", method, arm, seed=0), mechanism)
        for method in ("whole-arm", "single")
    }
    assert told["whole-arm"][0].startswith(
        "the motor of lift moves turn and lift: these joints move at unequal speeds"
    )
    assert "do not separate its friction from theirs; --method whole-arm does" in told["single"][0]
    plain = make_arm({})
    assert (
        coupled_lines(
            plan_experiment("round-trips", "whole-arm", plain, seed=0), load_mechanism(plain)
        )
        == []
    )
