"""JSON, CSV, ROS 2 parameters and vendor fields: independent readers read the same values back."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import NUMBERS, export, export_formats
from stribeck.ident.export.result import Export
from stribeck.ident.fit.arm.unknown_tool import UnknownTool
from stribeck.ident.fit.fit_result import Candidate
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia, LinkBody
from stribeck.ident.fit.inertia.passive_friction import PassiveFriction, RubbingJoints
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.breakaway import Breakaway
from stribeck.ident.model.files.stated_loops import EndTable, LoopTable
from tests.ident.export.conftest import known, made_joint
from tests.schemas import judge


def test_json_holds_every_parameter(calibration: Calibration) -> None:
    table = json.loads(export(calibration, "json").text)
    for name, joint in calibration.joints.items():
        for parameter, entry in joint.parameters.items():
            read = table["joints"][name]["parameters"][parameter]
            assert (read["value"], read["low"], read["unit"]) == (
                entry.value,
                entry.low,
                entry.unit,
            )
    judge("calibration", table)


def test_json_holds_what_only_some_calibrations_have(
    make_calibration: Callable[..., Calibration],
) -> None:
    joint = replace(
        made_joint("stribeck", "torque", 0),
        load_range={"radial": (1.0, 2.0), "axial": (0.0, 3.0)},
        temperature_range=(20.0, 30.0),
        further_error=np.array([[0.1, 0.02], [1.0, 0.03]]),
        torque_scale=1.1,
        stribeck_share=0.9,
        load_part=(0.1, 0.2, 0.3),
        candidates=(Candidate("stribeck", "torque", 0.1, 8),),
        breakaway=Breakaway(known(2.0), (1.9, 2.1), 0.5, (1.0, 9.0), 4),
    )
    made = make_calibration(joints={"j1": joint})
    pin = LoopTable(
        type="pin",
        a=EndTable(link="l1", point=(0.0, 0.0, 0.1)),
        b=EndTable(link="l3", point=(0.0, 0.0, 0.0)),
        axis=(0.0, 0.0, 1.0),
    )
    model = replace(
        made.model,
        loops=(pin,),
        drives=("j1",),
        tool=Tool(0.5, (0.0, 0.0, 0.1)),
        unknown_tool=UnknownTool("used", {"mass": known(1.0, "kg")}),
        inertia=IdentifiedInertia(
            0.1, 0.0, {"j1": LinkBody(1.0, (0.0,) * 3, (1.0,) * 6)}, {"Izz1": known(1.0)}
        ),
        passive=PassiveFriction(
            {"pins": RubbingJoints(("p1", "p2"), "radial", {"coulomb": known(0.1)})}
        ),
    )
    runs = (
        {
            "path": "runs/one",
            "sha256": "0",
            "tool": {"mass": 0.0, "com": [0.0, 0.0, 0.0]},
            "purpose": "breakaway",
        },
    )
    table = json.loads(export(replace(made, model=model, runs=runs), "json").text)
    judge("calibration", table)
    assert table["model"]["loops"] == [
        {
            "type": "pin",
            "a": {"link": "l1", "point": [0.0, 0.0, 0.1]},
            "b": {"link": "l3", "point": [0.0, 0.0, 0.0]},
            "axis": [0.0, 0.0, 1.0],
        }
    ]
    assert table["model"]["passive"]["pins"]["parameters"]["coulomb"]["value"] == 0.1


def test_csv_is_a_row_a_parameter(calibration: Calibration) -> None:
    rows = list(csv.DictReader(io.StringIO(export(calibration, "csv").text)))
    read = {(row["joint"], row["parameter"]): row for row in rows}
    assert (
        len(read)
        == len(rows)
        == sum(len(joint.parameters) for joint in calibration.joints.values())
    )
    for name, joint in calibration.joints.items():
        for parameter, entry in joint.parameters.items():
            row = read[name, parameter]
            assert float(row["value"]) == pytest.approx(entry.value, rel=1e-5)
            assert float(row["high"]) == pytest.approx(entry.high, rel=1e-5)
            assert (row["law"], row["load"], row["unit"], row["verdict"]) == (
                joint.law,
                joint.load,
                entry.unit,
                entry.verdict,
            )


def test_ros2_parameters_give_the_law_back(calibration: Calibration) -> None:
    """As a node would: law by name, values as its arguments, loads as they come."""
    yaml = pytest.importorskip("yaml", reason="PyYAML reads parameters back")
    text = export(calibration, "ros2").text
    table = yaml.safe_load(text)["/**"]["ros__parameters"]["friction"]
    assert table["joints"] == list(calibration.joints)
    w = np.linspace(-1.0, 1.0, 11)
    for name, joint in calibration.joints.items():
        read = table[name]
        law = law_named(read["law"])
        values = {key: read[key] for key in law.parameters(read["load"] != "none")}
        assert all(isinstance(value, float) for value in values.values()), (
            "ROS 2 tells integers from doubles"
        )
        load = None if read["load"] == "none" else np.full(11, 5.0)
        np.testing.assert_allclose(
            law.function(w, **values, load=load), joint.torque(w, load), rtol=1e-8
        )


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3.0"), (1e-7, "1.0e-07"), (2.5e12, "2.5e+12"), (-0.25, "-0.25")]
)
def test_numbers_are_doubles_in_every_yaml(
    make_calibration: Callable[..., Calibration], value: float, text: str
) -> None:
    """YAML 1.1 takes 1e-07 for a string and 3 for an integer."""
    made = make_calibration(joints={"j1": made_joint("coulomb-viscous", "none", 0, coulomb=value)})
    assert f"        coulomb: {text}\n" in export(made, "ros2").text


def test_vendor_fields_are_the_friction_they_say(
    make_calibration: Callable[..., Calibration],
) -> None:
    made = make_calibration(
        joints={
            "j1": made_joint("coulomb-viscous", "torque", 1),
            "j2": made_joint("stribeck", "bending", 2),
        }
    )
    table = json.loads(export(made, "vendor").text)["joints"]
    fields, joint = table["j1"], made.joints["j1"]
    w, load = np.array([0.02, 0.3, 1.4]), np.array([3.0, 20.0, 8.0])
    said = (fields["constant"] + fields["coulomb_per_effort"] * load) * np.minimum(
        w / fields["transition_velocity"], 1.0
    )
    np.testing.assert_allclose(said + fields["viscous"] * w, joint.torque(w, load), rtol=1e-4)
    assert table["j2"]["coulomb_per_effort"] == 0.0, "bending is no effort"


def test_an_unknown_format_lists_the_formats(make_calibration: Callable[..., Calibration]) -> None:
    with pytest.raises(InputError, match=r"unknown export format 'sdff'; did you mean 'sdf'\?"):
        export(make_calibration(), "sdff")
    assert export_formats()[:10] == (
        "urdf",
        "mjcf",
        "sdf",
        "usd",
        "json",
        "csv",
        "ros2",
        "c",
        "isaac-lab",
        "vendor",
    )


def test_a_format_that_a_script_adds_is_listed(
    make_calibration: Callable[..., Calibration], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NUMBERS, "modelica", lambda calibration: Export(calibration.arm, ".mo", ()))
    assert "modelica" in export_formats()
    with pytest.raises(InputError, match=r"did you mean 'modelica'\?"):
        export(make_calibration(), "modelika")


@pytest.mark.slow
def test_exports_are_the_same_every_time(make_calibration: Callable[..., Calibration]) -> None:
    made = make_calibration("panda")
    of_bearings = {
        name: joint for name, joint in made.joints.items() if joint.load in ("none", "normal")
    }
    changing = []
    for target in export_formats():
        # these have friction of bearings only
        bare = target in ("motionsolve", "adams")
        calibration = replace(made, joints=of_bearings) if bare else made
        if export(calibration, target) != export(calibration, target):
            changing.append(target)
    assert changing == []


def test_trossen_arguments_are_the_friction_of_its_documentation(
    make_calibration: Callable[..., Calibration],
) -> None:
    """(constant + coulomb_coef |inverse dynamics| + viscous_coef |velocity|) sgn, linear
    below the transition velocity.
    """
    made = make_calibration(
        joints={
            "j2": made_joint("coulomb-viscous", "torque", 0),
            "j5": made_joint("stribeck", "none", 1),
        }
    )
    scope: dict = {}
    exec(export(made, "trossen").text, scope)
    friction = scope["FRICTION"]
    assert list(friction) == [1, 4]
    joint, w, effort = made.joints["j2"], np.array([0.02, 0.3, 1.4]), np.array([3.0, 20.0, 8.0])
    one = friction[1]
    said = (
        one["friction_constant_term"]
        + one["friction_coulomb_coef"] * effort
        + one["friction_viscous_coef"] * w
    )
    slow = np.minimum(w / one["friction_transition_velocity"], 1.0)
    np.testing.assert_allclose(said * slow, joint.torque(w, effort), rtol=1e-4)
    assert friction[4]["friction_coulomb_coef"] == 0.0
    assert (
        json.loads(export(made, "vendor").text)["joints"]["j5"]["constant"]
        == friction[4]["friction_constant_term"]
    )
