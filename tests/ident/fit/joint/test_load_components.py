"""Radial, axial and bending load with one coefficient each: recovered, refused if they vary
together, and in every output.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stribeck import Calibration, Feedforward
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import approximate
from stribeck.ident.export.formats import to_json
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.law_fit import fit_law
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.laws.load_components import load_part
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.whole_files import file_sha256
from tests.coverage import fewest

SPEEDS = np.geomspace(0.01, 1.5, 8)
TRUTH = {
    "coulomb": 1.0,
    "static": 1.4,
    "viscous": 0.8,
    "stribeck_velocity": 0.08,
    "coulomb_coefficient_radial": 0.02,
    "static_coefficient_radial": 0.03,
    "coulomb_coefficient_bending": 0.15,
    "static_coefficient_bending": 0.2,
}
RADIAL = np.array([5.0, 60.0, 30.0, 50.0, 12.0, 40.0])  # of six postures
BENDING = np.array([12.0, 2.0, 14.0, 8.0, 3.0, 1.0])
BEARING = Bearing(pin_radius=0.05, friction_arm=0.06, bending_arm=0.1)


def points(
    seed: int,
    truth: dict[str, float] = TRUTH,
    radial: np.ndarray = RADIAL,
    bending: np.ndarray = BENDING,
) -> pd.DataFrame:
    """Round trips of one joint at every speed in six postures; the written-out law, 2 %
    scatter, a bearing not known.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for trip, (posture, w) in enumerate(
        (posture, w) for posture in range(6) for w in rng.permutation(SPEEDS)
    ):
        r, b = radial[posture], bending[posture]
        c, s = (
            truth[level]
            + truth.get(f"{level}_coefficient_radial", 0.0) * r
            + truth.get(f"{level}_coefficient_bending", 0.0) * b
            for level in ("coulomb", "static")
        )
        friction = (
            c + (s - c) * np.exp(-((w / truth["stribeck_velocity"]) ** 2)) + truth["viscous"] * w
        )
        level = 1.0 + 0.02 * rng.standard_normal()
        for place in range(2):
            rows.append(
                {
                    "joint": "j4",
                    "segment": trip,
                    "posture": posture,
                    "speed": w,
                    "position": float(place),
                    "odd": level * friction + 0.02 * rng.standard_normal(),
                    "even": 0.0,
                    "gravity": 0.0,
                    "gravity_rate": 0.0,
                    "torque": 0.0,
                    "bending": b,
                    "radial": r,
                    "axial": 20.0,
                    "normal": np.nan,
                    "n": 100,
                    "std": 0.1,
                    "t": 10.0 * trip + place,
                    "temperature": np.nan,
                    "reference": False,
                    "run": "one",
                }
            )
    return pd.DataFrame(rows)


def identified(table: pd.DataFrame, options: Options | None = None) -> JointFit:
    return identify_joint(table, load_mechanism("lab6"), "j4", options)


@pytest.mark.slow
def test_two_parts_of_the_load_are_recovered_each_with_its_coefficient() -> None:
    fit = identified(points(0)).fit
    assert (fit.load, fit.components) == ("components", ("radial", "bending"))
    assert {
        name: fit.parameters[name].unit for name in fit.parameters if "_coefficient_" in name
    } == {
        "coulomb_coefficient_radial": "m",
        "coulomb_coefficient_bending": "1",
        "static_coefficient_radial": "m",
        "static_coefficient_bending": "1",
    }
    held = [
        fit.parameters[name].low <= value <= fit.parameters[name].high
        for name, value in TRUTH.items()
    ]
    assert sum(held) >= fewest(len(held))
    assert all(fit.values[name] == pytest.approx(value, rel=0.5) for name, value in TRUTH.items())


def test_parts_that_vary_together_are_not_offered_and_the_note_says_so() -> None:
    alike = points(0, bending=1.0 + 0.2 * RADIAL)
    offered = identified(alike, Options(law="stribeck"))
    assert "components" not in {candidate.load for candidate in offered.fit.candidates}
    asked = identified(alike, Options(law="stribeck", load="components"))
    assert asked.fit.load == "none"
    assert any(
        "radial and bending loads of its bearing vary together" in finding.text
        for finding in asked.findings
    )


@pytest.mark.slow
def test_a_part_that_only_speed_makes_is_not_offered() -> None:
    """A centrifugal load is there at high speed only; a static level that grows
    with it could not be seen.
    """
    table = points(
        0, {**TRUTH, "coulomb_coefficient_radial": 0.0, "static_coefficient_radial": 0.0}
    )
    table["radial"] *= table["speed"] ** 2  # more in some postures than in others
    assert identified(table, Options(law="stribeck")).fit.load == "bending"
    asked = identified(table, Options(law="stribeck", load="components"))
    assert asked.fit.load == "none"
    assert any(
        "neither the radial nor the axial load of its bearing varies" in finding.text
        for finding in asked.findings
    )


def test_parts_that_do_not_vary_are_not_offered_and_the_note_says_so() -> None:
    still = points(0, radial=np.full(6, 30.0))
    offered = identified(still, Options(law="stribeck"))
    assert "components" not in {candidate.load for candidate in offered.fit.candidates}
    asked = identified(still, Options(law="stribeck", load="components"))
    said = [finding.text for finding in asked.findings]
    assert any(
        "neither the radial nor the axial load of its bearing varies" in text for text in said
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", ["", "bending"])
def test_components_are_not_claimed_where_less_explains_friction(part: str) -> None:
    truth = {
        name: value
        for name, value in TRUTH.items()
        if "_coefficient_" not in name or (part and name.endswith(part))
    }
    assert identified(points(50, truth)).fit.load == (part or "none")


@pytest.mark.parametrize("options", [{"motion": "model"}, {"directional": "driving"}])
def test_components_are_refused_where_they_have_no_meaning(options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="components"):
        Options(load="components", **options)


def test_a_long_log_is_averaged_without_loss() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 150)
    w = np.exp(rng.uniform(np.log(0.01), np.log(1.5), 40))[group]
    load = np.column_stack((rng.uniform(5.0, 60.0, 40), rng.uniform(1.0, 15.0, 40)))[group]
    tau = LAWS["stribeck"].torque(w, TRUTH, load) * (1.0 + 0.01 * rng.standard_normal(40)[group])
    data = FitPoints(
        w, tau + 0.05 * rng.standard_normal(len(w)), load, group, components=("radial", "bending")
    )
    assert len(data.condensed().tau) == 40
    fit = fit_law(data, LAWS["stribeck"], "components")
    assert all(
        fit.parameters[name].low <= value <= fit.parameters[name].high
        for name, value in TRUTH.items()
    )


@pytest.mark.parametrize("law", LAWS)
def test_every_law_takes_components_as_it_takes_one_load(law: str) -> None:
    """Components of equal coefficients are their sum."""
    w, load = np.linspace(-1.0, 1.0, 9), np.random.default_rng(0).uniform(0.0, 10.0, (9, 2))
    own = LAWS[law]
    values = dict(
        zip(
            own.linear + own.nonlinear,
            np.linspace(0.5, 1.5, len(own.linear + own.nonlinear)),
            strict=True,
        )
    )
    single = {name: 0.1 * (1 + k) for k, name in enumerate(own.with_load)}
    apart = {
        f"{name}_{part}": value for name, value in single.items() for part in ("radial", "bending")
    }
    np.testing.assert_allclose(
        own.torque(w, values | apart, load),
        own.function(w, **values, **single, load=load.sum(axis=1)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        load_part(apart, load), load_part(single, load.sum(axis=1)), rtol=1e-12
    )
    with pytest.raises(InputError, match=r"shape \(9,\).*radial, bending, shape \(N, 2\)"):
        own.torque(w, values | apart, load[:, 0])


def calibration(joint: JointCalibration) -> Calibration:
    arm = load_arm("lab6")
    model = Model(arm.model.name, file_sha256(arm.model), arm.gravity, Tool())
    return Calibration(
        "lab6",
        datetime(2026, 1, 1, tzinfo=UTC),
        "made up",
        "drive",
        (),
        model,
        {},
        {"j4": joint},
        arm.model.parent,
    )


def as_joint(load: str, values: dict[str, float], **other: object) -> JointCalibration:
    parameters = {
        name: Parameter(value, 0.01 * value, 0.9 * value, 1.1 * value, "1", "identified")
        for name, value in values.items()
    }
    return JointCalibration(
        "stribeck",
        load,
        parameters,
        {},
        None,
        0.1,
        (0.01, 1.5),
        None,
        None,
        None,
        tuple(parameters),
        np.eye(len(parameters)),
        2.0,
        **other,
    )


@pytest.fixture
def pair() -> tuple[Calibration, Calibration]:
    """The same friction twice: by the normal load of a bearing, and by coefficient times radius
    of its components (Eq. 47).
    """
    law = {"coulomb": 0.8, "static": 1.2, "viscous": 2.4, "stribeck_velocity": 0.1}
    arms = {
        "radial": BEARING.pin_radius,
        "axial": BEARING.friction_arm,
        "bending": BEARING.pin_radius / BEARING.bending_arm,
    }
    slopes = {"coulomb_coefficient": 0.6, "static_coefficient": 0.9}
    normal = replace(
        as_joint("normal", law | slopes),
        bearing=BEARING,
        load_range=(0.5, 5.0),
        load_part=(0.3, 1.0, 3.0),
    )
    apart = as_joint(
        "components",
        law
        | {
            f"{name}_{part}": slope * arm
            for name, slope in slopes.items()
            for part, arm in arms.items()
        },
    )
    ranges = {"radial": (1.6, 42.0), "axial": (3.9, 42.0), "bending": (0.5, 7.2)}
    return calibration(normal), calibration(
        replace(apart, load_range=ranges, load_part=(1.8, 3.1, 3.8))
    )


def test_components_with_the_radii_of_a_bearing_are_its_normal_load(
    pair: tuple[Calibration, Calibration],
) -> None:
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 20, 6))
    normal, apart = pair
    expected = normal.friction(q, dq, ddq)[:, 3]
    np.testing.assert_allclose(apart.friction(q, dq, ddq)[:, 3], expected, rtol=1e-12)
    feedforward = Feedforward(apart.mechanism, apart)
    np.testing.assert_allclose(
        [feedforward(*sample)[3] for sample in zip(q, dq, ddq, strict=True)], expected, rtol=1e-9
    )


def test_components_come_back_from_the_file_and_are_in_the_export(
    pair: tuple[Calibration, Calibration], tmp_path: Path
) -> None:
    made = pair[1]
    made.save(tmp_path / "calibration.toml")
    joint = Calibration.load(tmp_path).joints["j4"]
    assert joint.components == ("radial", "axial", "bending")
    assert joint.values == pytest.approx(made.joints["j4"].values, rel=1e-5)
    assert joint.load_range == made.joints["j4"].load_range
    load = np.array([[10.0, 20.0, 3.0]])
    np.testing.assert_allclose(
        joint.torque([0.3], load), made.joints["j4"].torque([0.3], load), rtol=1e-5
    )
    assert joint.band([0.3], load) > 0.0
    table = json.loads(to_json(made).text)["joints"]["j4"]
    assert table["parameters"]["coulomb_coefficient_radial"]["value"] == pytest.approx(0.03)
    # by `load_part`, and some static friction
    assert 0.8 + 1.8 < approximate(joint).friction < 0.8 + 3.8 + 0.4
    assert approximate(joint).worst < joint.torque([0.01], np.array([[42.0, 42.0, 7.2]]))[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "coulomb_coefficient_radial",
            "coulomb_coefficient_sideways",
            "coulomb_coefficient_radial|load_range",
        ),
        (
            "static_coefficient_axial",
            "static_coefficient_sideways",
            "unknown parameter 'static_coefficient_sideways'",
        ),
        ("load_range = {radial = [1.6, 42.0], ", "load_range = {", "load_range"),
    ],
)
def test_a_file_with_half_of_the_components_is_refused(
    pair: tuple[Calibration, Calibration], tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "calibration.toml"
    pair[1].save(path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        Calibration.load(path)
