"""Approximation of a law by constant and viscous friction: exact if possible, otherwise the
best, with the true error.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.export.approximation import approximate
from stribeck.ident.fit.arm.unknown_tool import UnknownTool
from tests.ident.export.conftest import known, made_joint, plainly


def grid(joint, n=400):
    w, load = np.meshgrid(
        np.geomspace(*joint.velocity_range, n), np.linspace(*(joint.load_range or (0.0, 0.0)), 41)
    )
    return w.ravel(), load.ravel()


def test_coulomb_viscous_friction_is_exact() -> None:
    joint = made_joint("coulomb-viscous", "none", 0, coulomb=3.0, viscous=1.5)
    near = approximate(joint)
    assert (near.friction, near.damping) == pytest.approx((3.0, 1.5))
    assert near.worst < 1e-9


def test_friction_per_effort_is_exact_for_targets_that_store_it() -> None:
    joint = made_joint(
        "coulomb-viscous", "torque", 0, coulomb=3.0, viscous=1.5, coulomb_coefficient=0.2
    )
    near = approximate(joint, with_effort=True)
    assert (near.friction, near.damping, near.per_effort) == pytest.approx((3.0, 1.5, 0.2))
    assert near.worst < 1e-9
    assert approximate(joint).worst == pytest.approx(0.2 * 9.0), "half the range of loads is 9 N·m"


@pytest.mark.parametrize("law", ["stribeck", "tustin", "quadratic", "brown-mcphee"])
@pytest.mark.parametrize("load", ["none", "bending"])
def test_no_other_coefficients_are_better(law: str, load: str) -> None:
    """Least squares over speeds by their logarithm and over loads; rms and worst
    as a fine grid finds them.
    """
    joint = made_joint(law, load, 3)
    near, (w, at) = approximate(joint), grid(joint)
    friction = joint.torque(w, at)

    def rms(constant: float, damping: float) -> float:
        return float(np.sqrt(np.mean((constant + damping * w - friction) ** 2)))

    best = rms(near.friction, near.damping)
    assert near.rms == pytest.approx(best, rel=0.05)
    assert near.worst == pytest.approx(
        np.abs(near.friction + near.damping * w - friction).max(), rel=0.02
    )
    for change in (0.9, 1.1):
        assert rms(change * near.friction, near.damping) > best
        if near.damping > 0.0:
            assert rms(near.friction, change * near.damping) > best
    nominal = joint.values["coulomb"] + joint.values.get("coulomb_coefficient", 0.0) * (
        11.0 if load != "none" else 0.0
    )
    assert best <= rms(nominal, joint.values["viscous"]) + 1e-9, (
        "better than the law's own constant and viscous part"
    )


def test_coefficients_are_never_negative() -> None:
    """Strong Stribeck friction falls with speed, but damping that drives is no damping."""
    joint = made_joint(
        "stribeck", "none", 0, coulomb=1.0, static=9.0, stribeck_velocity=0.5, viscous=0.1
    )
    assert approximate(joint).damping == 0.0


def test_directions_that_differ_count_both_ways() -> None:
    joint = replace(
        made_joint("coulomb-viscous", "none", 0),
        directional="viscous",
        gravity={"viscous_difference": known(0.4)},
    )
    assert approximate(joint).worst == pytest.approx(0.4 * 1.5)


def test_losses_name_what_and_where_and_how_much(
    make_calibration: Callable[..., Calibration],
) -> None:
    joints = {
        "j1": made_joint("stribeck", "torque", 1),
        "j2": made_joint("coulomb-viscous", "none", 2),
        "j3": replace(made_joint("quadratic", "none", 3), gravity={"offset": known(0.31)}),
        "j4": replace(made_joint("coulomb-viscous", "none", 4), gravity={"offset": known(0.001)}),
    }
    made = make_calibration(joints=joints)
    for target, name in (("urdf", "URDF"), ("mjcf", "MJCF"), ("sdf", "SDF")):
        lost, off, offset, *_ = plainly(made, target).losses
        assert lost == (
            f"{name} keeps constant and viscous friction; lost: growth with load (j1), the "
            "Stribeck effect (j1) and the quadratic part (j3)"
        )
        near = approximate(joints["j1"])
        assert f"j1 {near.rms:.2g} (worst {near.worst:.2g}) N·m" in off
        assert "j2" not in off
        assert offset == f"{name} leaves out the torque offset: j3 0.31 N·m", (
            "that of j4 may well be zero"
        )
    assert "growth" not in plainly(made, "vendor").losses[0], "it has friction per effort"
    assert plainly(made, "json").losses == ()


def test_an_unknown_tool_is_in_the_c_header_alone(
    make_calibration: Callable[..., Calibration],
) -> None:
    made = make_calibration(joints={"j1": made_joint("coulomb-viscous", "none", 1)})
    entries = {"mass": known(1.5, "kg"), **{f"moment_{axis}": known(0.1, "kg·m") for axis in "xyz"}}
    made = replace(made, model=replace(made.model, unknown_tool=UnknownTool("used", entries)))
    for target in ("urdf", "sdf", "ros2"):
        assert any(
            "without the unknown tool of 1.5 kg" in loss for loss in plainly(made, target).losses
        ), target
    assert not any("unknown tool" in loss for loss in plainly(made, "c").losses)
