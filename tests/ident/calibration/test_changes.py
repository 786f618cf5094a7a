"""Comparison of calibrations: real changes are found, chance is not, and correlated parameters are
told from changed friction.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest

from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.changes import compare
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import unit
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.joint_parts import Bearing

TRUTH = {"coulomb": 6.0, "static": 8.2, "viscous": 11.3, "stribeck_velocity": 0.05}
ERRORS = np.array([0.03, 0.05, 0.06, 0.001])
NAMES = tuple(TRUTH)
#: static friction and Stribeck velocity are known only together
CORRELATION = np.array(
    [[1.0, 0.0, -0.6, 0.0], [0.0, 1.0, 0.0, -0.9], [-0.6, 0.0, 1.0, 0.0], [0.0, -0.9, 0.0, 1.0]]
)


def entry(name: str, value: float, error: float, **more: float) -> Parameter:
    return Parameter(
        value, error, value - 1.96 * error, value + 1.96 * error, unit(name), "identified", **more
    )


def joint(
    values: Mapping[str, float] = TRUTH,
    temperature: tuple[float, float] | None = (30.0, 35.0),
    deviations: Mapping[str, float] | None = None,
    **more: object,
) -> JointCalibration:
    own = dict(deviations or {})
    parameters = {
        name: replace(entry(name, value, float(error)), repeat_deviation=own.get(name))
        for (name, value), error in zip(values.items(), ERRORS, strict=True)
    }
    gravity = {"scale": entry("scale", 1.0, 0.002), "offset": entry("offset", 0.1, 0.02)}
    return replace(
        JointCalibration(
            "stribeck",
            "none",
            parameters,
            gravity,
            None,
            0.05,
            (0.01, 1.5),
            None,
            None,
            temperature,
            NAMES,
            CORRELATION,
            1.96,
        ),
        **more,
    )


NUMBERS = count()  # of runs, no two of which are the same


def calibration(
    joints: Mapping[str, JointCalibration] | None = None, runs: int = 1, basis: str = "drive"
) -> Calibration:
    return Calibration(
        "arm",
        datetime(2026, 1, 1, tzinfo=UTC),
        "made up",
        basis,
        tuple({"path": str(k), "sha256": f"{next(NUMBERS):064x}"} for k in range(runs)),
        Model("arm.urdf", "", (0.0, 0.0, -9.81), Tool()),
        {},
        joints or {"j1": joint()},
    )


def changed(**values: float) -> Calibration:
    return calibration({"j1": joint(TRUTH | values)})


def drawn(rng: np.random.Generator, count: int = 6) -> Calibration:
    """An estimate of the same joints as chance gives it."""
    covariance = CORRELATION * np.outer(ERRORS, ERRORS)
    made = {}
    for k in range(count):
        values = dict(
            zip(NAMES, rng.multivariate_normal(list(TRUTH.values()), covariance), strict=True)
        )
        gravity = {
            "scale": entry("scale", rng.normal(1.0, 0.002), 0.002),
            "offset": entry("offset", rng.normal(0.1, 0.02), 0.02),
        }
        made[f"j{k}"] = joint(values, gravity=gravity)
    return calibration(made)


def test_a_calibration_agrees_with_itself() -> None:
    found = compare(calibration(), calibration())
    assert not found.changed
    assert found.traded == ()
    assert {change.name for change in found.parameters} == {*TRUTH, "scale", "offset"}
    assert all(change.difference == 0.0 < change.allowed for change in found.parameters)


@pytest.mark.slow
def test_chance_is_no_change() -> None:
    """Of comparisons of unchanged arms about one in twenty errs, at most, not one
    of their 36 numbers each.
    """
    rng = np.random.default_rng(0)
    found = [compare(drawn(rng), drawn(rng)) for _ in range(60)]
    assert sum(comparison.changed for comparison in found) <= 6
    alone = [
        [abs(change.difference) > change.allowed * 1.96 / 3.39 for change in comparison.parameters]
        for comparison in found
    ]
    assert sum(map(any, alone)) > 30, (
        "without regard to their number most comparisons would find a change"
    )


@pytest.mark.parametrize(
    ("name", "factor"), [("coulomb", 1.05), ("coulomb", 0.95), ("viscous", 1.05), ("static", 1.1)]
)
def test_a_change_of_a_parameter_is_found(name: str, factor: float) -> None:
    found = compare(calibration(), changed(**{name: TRUTH[name] * factor}))
    assert found.changed
    assert {change.name for change in found.parameters if change.changed} == {name}
    curve = found.curves["j1"]
    assert curve.changed
    assert np.sign(curve.difference) == np.sign(factor - 1.0)
    assert found.traded == ()
    if name == "static":
        assert curve.speed < 0.1, "static friction shows at low speed"
    if name == "viscous":
        assert curve.speed > 0.3


def test_correlated_parameters_that_shift_together_are_no_change() -> None:
    """Each alone is far off, but along what the data could not tell: the
    curve is within its band.
    """
    shape = np.eye(4)
    shape[1, 3] = shape[3, 1] = -0.9999

    def made(static: float, velocity: float, errors: np.ndarray) -> Calibration:
        one = joint(
            TRUTH | {"static": static, "stribeck_velocity": velocity},
            velocity_range=(0.08, 1.5),
            correlation=shape,
        )
        parameters = {
            name: entry(name, TRUTH[name], float(error))
            for name, error in zip(NAMES, errors, strict=True)
        }
        parameters |= {
            "static": entry("static", static, errors[1]),
            "stribeck_velocity": entry("stribeck_velocity", velocity, errors[3]),
        }
        return calibration({"j1": replace(one, parameters=parameters)})

    errors = np.array([0.2, 0.01, 0.3, 2e-4])
    found = compare(made(8.2, 0.05, errors), made(9.0, 0.047, errors))
    assert {change.name for change in found.parameters if change.changed} >= {"static"}
    assert not found.curves["j1"].changed
    assert found.traded == ("j1",)
    assert not found.changed


def test_between_run_deviation_is_not_taken_for_a_change() -> None:
    """5 % more Coulomb friction is nothing where runs of one campaign deviate by as much."""
    spread = {"coulomb": 0.3}
    assert compare(calibration(), changed(coulomb=6.3)).changed
    steady = [
        calibration({"j1": joint(TRUTH | {"coulomb": value}, deviations=spread)}, runs=4)
        for value in (6.0, 6.3)
    ]
    found = compare(*steady)
    assert not found.changed
    assert found.notes == ()
    by_name = {change.name: change.allowed for change in found.parameters}
    alone = {
        change.name: change.allowed for change in compare(calibration(), calibration()).parameters
    }
    assert by_name["coulomb"] > 5.0 * alone["coulomb"]
    assert by_name["viscous"] == pytest.approx(alone["viscous"])


def test_more_runs_tell_smaller_changes() -> None:
    steady = [calibration({"j1": joint(deviations={"coulomb": 0.3})}, runs=n) for n in (2, 4, 9)]
    allowed = [compare(one, one).parameters[0].allowed for one in steady]
    assert allowed[0] > allowed[1] > allowed[2]


def test_a_changed_torque_constant_is_a_change() -> None:
    other = joint(
        gravity={"scale": entry("scale", 1.05, 0.002), "offset": entry("offset", 0.1, 0.02)}
    )
    found = compare(calibration(), calibration({"j1": other}))
    assert found.changed
    assert [change.name for change in found.parameters if change.changed] == ["scale"]
    assert not found.curves["j1"].changed


def test_a_direction_difference_in_one_calibration_only_is_a_change() -> None:
    """The one without it would have shown as much."""
    gravity = {"viscous_difference": entry("viscous_difference", 3.0, 0.1)}
    one = calibration({"j1": joint(directional="viscous", gravity=gravity)})
    for found in (compare(one, calibration()), compare(calibration(), one)):
        assert [change.name for change in found.parameters if change.changed] == [
            "viscous_difference"
        ]
        assert found.changed
    small = {"viscous_difference": entry("viscous_difference", 0.2, 0.1)}
    assert not compare(
        calibration({"j1": joint(directional="viscous", gravity=small)}), calibration()
    ).changed


def test_other_laws_are_compared_by_their_friction() -> None:
    parameters = {"coulomb": entry("coulomb", 6.0, 0.03), "viscous": entry("viscous", 11.3, 0.06)}
    plain = replace(
        joint(),
        law="coulomb-viscous",
        parameters=parameters,
        names=("coulomb", "viscous"),
        correlation=np.eye(2),
    )
    found = compare(calibration(), calibration({"j1": plain}))
    assert {change.name for change in found.parameters} == {"scale", "offset"}
    assert found.curves["j1"].changed, "the Stribeck effect is gone"
    assert found.curves["j1"].speed < 0.1
    assert any(
        "stribeck with load none and coulomb-viscous with load none" in note for note in found.notes
    )
    narrow = replace(plain, velocity_range=(0.3, 1.5))
    assert not compare(calibration(), calibration({"j1": narrow})).changed, (
        "at the speeds that both know it is the same"
    )


def loaded(
    load: str, coefficient: float, load_range: tuple[float, float], bearing: Bearing | None = None
) -> JointCalibration:
    parameters = {
        "coulomb": entry("coulomb", 6.0, 0.03),
        "viscous": entry("viscous", 11.3, 0.06),
        "coulomb_coefficient": entry("coulomb_coefficient", coefficient, 0.002),
    }
    return replace(
        joint(),
        law="coulomb-viscous",
        load=load,
        parameters=parameters,
        names=tuple(parameters),
        correlation=np.eye(3),
        load_range=load_range,
        bearing=bearing,
    )


def test_curves_are_compared_at_the_same_loads() -> None:
    a, b = (
        calibration({"j1": loaded("torque", 0.1, (0.0, 20.0))}),
        calibration({"j1": loaded("torque", 0.13, (10.0, 40.0))}),
    )
    curve = compare(a, b).curves["j1"]
    assert curve.changed
    assert curve.load == 20.0
    apart = compare(a, calibration({"j1": loaded("torque", 0.1, (30.0, 40.0))}))
    assert "j1" not in apart.curves
    assert apart.apart == ("j1",)
    assert any("do not overlap" in note for note in apart.notes)
    flat = joint(TRUTH | {"static": 6.0, "coulomb": 6.0})
    assert compare(a, calibration({"j1": flat})).curves["j1"].load == 20.0, (
        "no load part, against 2 N·m at the greatest load"
    )


def test_loads_of_other_kinds_or_bearings_are_not_mixed_up() -> None:
    a, b = (
        calibration({"j1": loaded("normal", 0.1, (5.0, 20.0), Bearing(r, 0.03, 0.08))})
        for r in (0.04, 0.08)
    )
    found = compare(a, b)
    assert {change.name for change in found.parameters} == {"scale", "offset"}
    assert found.curves["j1"].load is None
    assert any(
        "different bearings" in note and "middle of each load range" in note for note in found.notes
    )


def test_different_temperatures_are_noted() -> None:
    found = compare(calibration(), calibration({"j1": joint(temperature=(18.0, 22.0))}))
    assert any(
        "30 to 35 °C and at 18 to 22 °C; temperature may explain a change" in note
        for note in found.notes
    )
    assert not any(
        "°C" in note
        for note in compare(calibration(), calibration({"j1": joint(temperature=None)})).notes
    )


def test_different_arms_models_and_tools_are_noted() -> None:
    first = calibration()
    other = replace(
        calibration(), arm="another", model=replace(first.model, sha256="1", tool=Tool(mass=1.0))
    )
    said = " / ".join(compare(first, other).notes)
    for words in (
        "different names, arm and another",
        "the models of the two calibrations differ",
        "the stated tools differ",
    ):
        assert words in said
    assert any(
        "both calibrations are fitted to 0: differences come from the fits" in note
        for note in compare(first, first).notes
    )


def test_different_serial_numbers_are_noted() -> None:
    """A calibration that states none may be of the same arm."""
    first, other = (replace(calibration(), serial=serial) for serial in ("A-7", "B-2"))
    assert any(
        "of two arms, with the serial numbers A-7 and B-2" in note
        for note in compare(first, other).notes
    )
    assert not any(
        "serial" in note for after in (first, calibration()) for note in compare(first, after).notes
    )


def test_joints_in_one_calibration_only_are_named() -> None:
    both = calibration({"j1": joint(), "j2": joint()})
    assert "j2: only in the first calibration" in compare(both, calibration()).notes
    assert "j2: only in the other calibration" in compare(calibration(), both).notes


def test_a_parameter_without_interval_is_left_to_the_curve() -> None:
    one = joint()
    bound = {**one.parameters, "viscous": Parameter(0.0, None, None, None, "N·m·s/rad", "at bound")}
    found = compare(calibration(), calibration({"j1": replace(one, parameters=bound)}))
    assert "viscous" not in {change.name for change in found.parameters}
    assert found.curves["j1"].changed


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: calibration({"k1": joint()}), "no joint in common: j1 and k1"),
        (
            lambda: calibration(basis="gravity-corrected"),
            "torque_basis is drive in the first calibration and gravity-corrected in the other",
        ),
        (
            lambda: calibration(
                {
                    "j1": joint(
                        parameters={
                            name: replace(p, unit="N") for name, p in joint().parameters.items()
                        }
                    )
                }
            ),
            "joint j1 has friction in N·m in the first calibration and in N in the other",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(other: Callable[[], Calibration], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare(calibration(), other())
