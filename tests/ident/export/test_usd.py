"""USD layers, read back by OpenUSD, and the arguments for Isaac Lab."""

from dataclasses import replace

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdPhysics

from stribeck.experiments.cli.app import run
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import approximate
from stribeck.ident.export.formats import export
from tests.ident.export.conftest import made_joint

TURNS = made_joint("stribeck", "none", 0)
SLIDES = replace(
    made_joint("stribeck", "none", 1),
    parameters={
        name: replace(entry, unit=entry.unit.replace("N·m", "N").replace("rad", "m"))
        for name, entry in made_joint("stribeck", "none", 1).parameters.items()
    },
)


@pytest.fixture
def calibration(make_calibration):
    return make_calibration(joints={"j1": TURNS, "lift-2": SLIDES})


@pytest.fixture
def stage(tmp_path):
    """A user's stage, in which joints lie below their links."""
    path = tmp_path / "robot.usda"
    made = Usd.Stage.CreateNew(str(path))
    made.DefinePrim("/World", "Xform")
    made.SetDefaultPrim(made.GetPrimAtPath("/World"))
    for name, kind in (
        ("base/j1", UsdPhysics.RevoluteJoint),
        ("upper/lift_2", UsdPhysics.PrismaticJoint),
    ):
        kind.Define(made, f"/World/robot/{name}")
    made.GetRootLayer().Save()
    return path


def values(prim, axis):
    return [
        prim.GetAttribute(f"physxJointAxis:{axis}:{key}").Get()
        for key in ("staticFrictionEffort", "dynamicFrictionEffort", "viscousFrictionCoefficient")
    ]


def test_the_layer_adds_friction_to_the_users_stage(calibration, stage, tmp_path):
    (tmp_path / "friction.usda").write_text(
        export(calibration, "usd", stage).text, encoding="utf-8"
    )
    whole = Usd.Stage.Open(str(tmp_path / "friction.usda"))
    for path, name, axis, degree in (
        ("/World/robot/base/j1", "j1", "angular", np.pi / 180.0),
        ("/World/robot/upper/lift_2", "lift-2", "linear", 1.0),
    ):
        prim, joint = whole.GetPrimAtPath(path), calibration.joints[name]
        # from the user's stage
        assert prim.GetTypeName() in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")
        applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        assert f"PhysxJointAxisAPI:{axis}" in applied
        static, dynamic, viscous = values(prim, axis)
        near = approximate(joint)
        assert static == pytest.approx(joint.values["static"], rel=1e-5)
        assert dynamic == pytest.approx(near.friction, rel=1e-5)
        assert viscous / degree == pytest.approx(near.damping, rel=1e-5)
        assert static >= dynamic


def test_without_a_stage_the_layer_has_the_places_of_the_urdf_importer(calibration, tmp_path):
    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(export(calibration, "usd").text)
    arm = calibration.arm.replace("-", "_")
    for place, axis in ((f"/{arm}/joints/j1", "angular"), (f"/{arm}/joints/lift_2", "linear")):
        spec = layer.GetPrimAtPath(place)
        assert spec.specifier == Sdf.SpecifierOver
        assert list(spec.GetInfo("apiSchemas").prependedItems) == [f"PhysxJointAxisAPI:{axis}"]
        assert spec.attributes[f"physxJointAxis:{axis}:staticFrictionEffort"].typeName == "float"


def test_friction_that_rises_from_rest_has_static_friction_of_at_least_the_dynamic_one(
    make_calibration,
):
    """PhysX refuses less static than dynamic friction."""
    rising = make_calibration(
        joints={
            "j1": replace(
                TURNS,
                parameters={
                    **TURNS.parameters,
                    "static": replace(
                        TURNS.parameters["static"], value=0.2 * TURNS.values["coulomb"]
                    ),
                },
            )
        }
    )
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(export(rising, "usd").text)
    found = layer.GetPrimAtPath(f"/{rising.arm.replace('-', '_')}/joints/j1").attributes
    static, dynamic = (
        found[f"physxJointAxis:angular:{key}FrictionEffort"].default
        for key in ("static", "dynamic")
    )
    assert static >= dynamic > 0.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not a stage", "not a USD stage"),
        ('#usda 1.0\ndef Xform "World" {}\n', "found nowhere"),
        (
            '#usda 1.0\ndef PhysicsRevoluteJoint "j1" {}\ndef PhysicsRevoluteJoint "lift_2" {}\n',
            "but linear in the calibration",
        ),
        (
            '#usda 1.0\ndef Xform "a"\n{\n    def PhysicsRevoluteJoint "j1" {}\n}\ndef '
            'PhysicsRevoluteJoint "j1" {}\n',
            "found at /",
        ),
    ],
)
def test_stages_that_do_not_fit_are_refused(calibration, tmp_path, content, words):
    path = tmp_path / "stage.usda"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        export(calibration, "usd", path)


def test_the_command_writes_both(calibration, stage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    calibration.save(tmp_path / "made" / "calibration.toml")
    assert (
        run(["export", "made", "--to", "usd", "--into", "robot.usda", "--out", "friction.usda"])
        == 0
    )
    assert run(["export", "made", "--to", "isaac-lab", "--out", "friction.py"]) == 0
    assert (
        Usd.Stage.Open("friction.usda")
        .GetPrimAtPath("/World/robot/base/j1")
        .HasAttribute("physxJointAxis:angular:dynamicFrictionEffort")
    )
    namespace: dict = {}
    exec((tmp_path / "friction.py").read_text(encoding="utf-8"), namespace)
    found = namespace["FRICTION"]
    assert set(found) == {"friction", "dynamic_friction", "viscous_friction"}
    # per rad
    assert found["viscous_friction"]["j1"] == pytest.approx(
        approximate(calibration.joints["j1"]).damping, rel=1e-5
    )
    assert found["friction"]["lift-2"] == pytest.approx(SLIDES.values["static"], rel=1e-5)
