"""The calibration: its file keeps every number, its friction is what a hand computation
gives, faults are refused.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.whole_files import file_sha256

LAB6 = data_dir() / "arms" / "lab6" / "lab6.urdf"
BEARING = Bearing(pin_radius=0.04, friction_arm=0.03, bending_arm=0.08)
TOOL = Tool(1.25, (0.02, -0.01, 0.1))


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) judges the loads")


def known(value: float, unit: str, error: float = 0.0123456789) -> Parameter:
    return Parameter(value, error, value - 2.1 * error, value + 2.1 * error, unit, "identified")


def j1() -> JointCalibration:
    """Stribeck friction that grows with the normal load."""
    parameters = {
        "coulomb": known(6.123456789, "N·m"),
        "static": known(8.2, "N·m"),
        "viscous": known(11.3, "N·m·s/rad"),
        "coulomb_coefficient": known(0.12, "1"),
        "static_coefficient": known(0.2, "1"),
        "stribeck_velocity": known(0.051, "rad/s", 1.0e-3),
    }
    correlation = np.eye(6) + 0.1234567 * (np.ones((6, 6)) - np.eye(6))
    gravity = {
        "scale": known(0.9876543, "1"),
        "offset": known(-0.25, "N·m"),
        "delay": Parameter(
            None, None, None, None, "s", "unidentifiable", "gravity changes too slowly"
        ),
    }
    return JointCalibration(
        "stribeck",
        "normal",
        parameters,
        gravity,
        BEARING,
        0.0812345678,
        (0.004, 1.2),
        (12.1, 41.0),
        (1.4512345, 2.6, 4.92),
        (31.0, 38.5),
        tuple(parameters),
        correlation,
        2.13,
    )


def j2() -> JointCalibration:
    """Coulomb-viscous friction that grows with the transmitted torque."""
    parameters = {
        "coulomb": known(6.5, "N·m"),
        "viscous": known(12.0, "N·m·s/rad"),
        "coulomb_coefficient": known(0.085, "1"),
    }
    return JointCalibration(
        "coulomb-viscous",
        "torque",
        parameters,
        {},
        None,
        0.11,
        (0.004, 1.2),
        (0.5, 70.0),
        (0.04, 3.0, 6.0),
        None,
        tuple(parameters),
        np.eye(3),
        1.98,
    )


def j2_among_others() -> JointCalibration:
    """The same where other laws widen its band."""
    return replace(
        j2(), stribeck_share=0.3123456, further_error=np.array([[0.01, 0.2], [1.0, 0.4]])
    )


def j3() -> JointCalibration:
    """No load part; a coefficient that the data could not show, and a parameter at its bound."""
    parameters = {
        "coulomb": known(4.2, "N·m"),
        "viscous": Parameter(0.0, None, None, None, "N·m·s/rad", "at bound", "zero"),
        "coulomb_coefficient": Parameter(
            None, None, None, None, "1", "unidentifiable", "the load never changed"
        ),
    }
    return JointCalibration(
        "coulomb-viscous",
        "none",
        parameters,
        {},
        None,
        0.09,
        (0.004, 1.2),
        None,
        None,
        None,
        ("coulomb",),
        np.eye(1),
        2.0,
    )


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    (tmp_path / "lab6.urdf").write_bytes(LAB6.read_bytes())
    model = Model("lab6.urdf", file_sha256(tmp_path / "lab6.urdf"), (0.0, 1.5, -9.6), TOOL)
    return Calibration(
        "lab6",
        datetime(2026, 11, 21, 10, 22, 31, tzinfo=UTC),
        "constant-speed round trips",
        "drive",
        ({"path": "runs/a", "sha256": "ab12"}, {"path": "runs/b", "sha256": "cd34"}),
        model,
        {"law": "auto", "load": "auto", "seed": 7, "versions": {"numpy": "2.0"}},
        {"j1": j1(), "j2": j2(), "j3": j3()},
        tmp_path,
    )


@pytest.fixture
def saved(calibration: Calibration) -> Path:
    path = calibration.folder / "calibration.toml"
    calibration.save(path)
    return path


def same(a: Any, b: Any) -> bool:
    """Equal to the six digits that the file keeps, all the way down."""
    if isinstance(a, (np.ndarray, float)):
        return bool(np.allclose(a, b, rtol=5.1e-6, atol=0.0))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return same(vars(a), vars(b)) if hasattr(a, "__dataclass_fields__") else a == b


# the file


def test_a_saved_calibration_comes_back_with_all_fields(
    calibration: Calibration, saved: Path
) -> None:
    again = Calibration.load(saved)
    for field in ("arm", "created", "method", "torque_basis", "runs", "model", "fit"):
        assert same(getattr(calibration, field), getattr(again, field)), field
    assert list(again.joints) == ["j1", "j2", "j3"]
    for name, joint in calibration.joints.items():
        for field, value in vars(joint).items():
            assert same(value, getattr(again.joints[name], field)), f"{name}.{field}"


def test_a_joint_with_all_its_parameters_at_bound_comes_back(calibration: Calibration) -> None:
    """It has no correlation; its empty matrix could not be read."""
    bound = {
        name: Parameter(0.0, None, None, None, unit, "at bound", "zero")
        for name, unit in (("coulomb", "N·m"), ("viscous", "N·m·s/rad"))
    }
    j3 = replace(calibration.joints["j3"], parameters=bound, names=(), correlation=np.zeros((0, 0)))
    path = calibration.folder / "calibration.toml"
    replace(calibration, joints={**calibration.joints, "j3": j3}).save(path)
    loaded = Calibration.load(path)
    assert same(loaded.joints["j3"], j3)
    np.testing.assert_array_equal(loaded.joints["j3"].torque(np.array([-0.5, 0.5])), 0.0)


def test_saving_what_was_loaded_changes_no_byte(saved: Path) -> None:
    copy = saved.with_name("copy.toml")
    Calibration.load(str(saved)).save(str(copy))
    assert copy.read_bytes() == saved.read_bytes()


def test_a_folder_loads_the_calibration_in_it(saved: Path) -> None:
    assert Calibration.load(saved.parent).joints["j2"].law == "coulomb-viscous"


def test_the_file_is_the_documented_one(saved: Path) -> None:
    """What other people's scripts read with a TOML parser."""
    table = tomllib.loads(saved.read_text(encoding="utf-8"))
    assert table["schema"] == 1
    coulomb = table["joints"]["j1"]["parameters"]["coulomb"]
    assert set(coulomb) == {"value", "std_error", "low", "high", "unit", "verdict"}
    assert coulomb["value"] == 6.12346
    assert table["joints"]["j1"]["bearing"] == {
        "pin_radius": 0.04,
        "friction_arm": 0.03,
        "bending_arm": 0.08,
    }
    assert table["joints"]["j1"]["load_part"] == [1.45123, 2.6, 4.92]
    assert table["joints"]["j1"]["correlation"]["names"][0] == "coulomb"
    assert "value" not in table["joints"]["j3"]["parameters"]["coulomb_coefficient"]
    parameter_lines = [
        line
        for line in saved.read_text(encoding="utf-8").splitlines()
        if line.startswith("coulomb = ")
    ]
    assert len(parameter_lines) == 3
    assert all("verdict" in line for line in parameter_lines), "one parameter a line"


# friction


def wrenches(pin: ModuleType, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> list[Any]:
    """Pinocchio's wrenches in joint axes, with the calibration's tool and gravity."""
    model = pin.buildModelFromUrdf(str(LAB6))
    model.gravity.linear = np.array([0.0, 1.5, -9.6])
    tool = pin.Inertia(TOOL.mass, np.array(TOOL.com), np.zeros((3, 3)))
    model.appendBodyToJoint(model.getJointId("j6"), tool, pin.SE3.Identity())
    data = model.createData()
    pin.rnea(model, data, q, dq, ddq)
    return [data.f[model.getJointId(name)] for name in ("j1", "j2", "j3", "j4", "j5", "j6")]


@pytest.mark.parametrize("accelerated", [False, True])
def test_friction_is_what_a_hand_computation_gives(
    saved: Path, accelerated: bool, pin: ModuleType
) -> None:
    """The law at the loads of Pinocchio, worked out joint by joint; unknown
    where nothing was calibrated.
    """
    rng = np.random.default_rng(0)
    q, dq, ddq = (
        rng.uniform(-1.5, 1.5, (20, 6)),
        rng.uniform(-0.3, 0.3, (20, 6)),
        rng.normal(size=(20, 6)),
    )
    calibration = Calibration.load(saved)
    assert calibration.names == ("j1", "j2", "j3", "j4", "j5", "j6")
    friction = calibration.friction(q, dq, ddq if accelerated else None)
    for k in range(20):
        on = wrenches(pin, q[k], dq[k], ddq[k] if accelerated else np.zeros(6))
        # j1 turns about its z axis, j2 about its y axis
        f, m, w = on[0].linear, on[0].angular, dq[k]
        normal = (np.hypot(m[0], m[1]) / 0.08 + np.hypot(f[0], f[1])) * 0.04 + abs(f[2]) * 0.03
        low, high = 6.12346 + 0.12 * normal, 8.2 + 0.2 * normal
        by_hand = (low + (high - low) * np.exp(-((w[0] / 0.051) ** 2))) * np.sign(w[0]) + 11.3 * w[
            0
        ]
        assert friction[k, 0] == pytest.approx(by_hand, rel=1e-6)
        torque = abs(on[1].angular[1])
        assert friction[k, 1] == pytest.approx(
            (6.5 + 0.085 * torque) * np.sign(w[1]) + 12.0 * w[1], rel=1e-6
        )
        assert friction[k, 2] == pytest.approx(4.2 * np.sign(w[2]), rel=1e-6)
    assert np.isnan(friction[:, 3:]).all()


def test_friction_opposes_motion_at_equal_load(calibration: Calibration) -> None:
    rng = np.random.default_rng(1)
    q, dq = rng.uniform(-1.5, 1.5, (50, 6)), rng.uniform(-1.0, 1.0, (50, 6))
    there, back = calibration.friction(q, dq)[:, :3], calibration.friction(q, -dq)[:, :3]
    np.testing.assert_allclose(back, -there, rtol=1e-12)
    assert (there * dq[:, :3] > 0.0).all()


def test_a_joint_alone_takes_velocity_and_load(calibration: Calibration) -> None:
    joint = calibration.joints["j2"]
    np.testing.assert_allclose(
        joint.torque([0.5, -0.5], [10.0, 20.0]), [6.5 + 0.85 + 6.0, -(6.5 + 1.7 + 6.0)], rtol=1e-12
    )
    assert joint.values == {"coulomb": 6.5, "viscous": 12.0, "coulomb_coefficient": 0.085}
    np.testing.assert_allclose(calibration.joints["j3"].torque([0.5]), [4.2], rtol=1e-12)
    with pytest.raises(InputError, match=r"load.*torque"):
        joint.torque([0.5])


@pytest.mark.parametrize(
    ("directional", "difference"),
    [("viscous", "viscous_difference"), ("driving", "driving_difference")],
)
def test_directions_that_differ_are_in_friction(
    calibration: Calibration, directional: str, difference: str
) -> None:
    """j2 holds the forearm out: upwards is driving whichever way that is, so the difference
    follows gravity's sign, not w's.
    """
    joint = calibration.joints["j2"]
    q, dq = np.array([[0.0, 1.2, 0, 0, 0, 0], [0.0, -1.2, 0, 0, 0, 0]]), np.full((2, 6), 0.3)
    loads = joint_loads(calibration.mechanism, q, dq)
    differs = replace(joint, directional=directional, gravity={difference: known(2.0, "1")})
    apart = (
        replace(calibration, joints={"j2": differs}).friction(q, dq)[:, 1]
        - calibration.friction(q, dq)[:, 1]
    )
    sign = np.sign(loads.tau[:, 1])
    assert sign[0] == -sign[1]
    wanted = 2.0 * 0.3 if directional == "viscous" else 2.0 * loads.torque[:, 1] * sign
    np.testing.assert_allclose(apart, wanted, rtol=1e-9)
    still = replace(calibration, joints={"j2": differs}).friction(q, 0.0 * dq)
    np.testing.assert_array_equal(still[:, 1], 0.0)


def test_the_band_is_what_the_covariance_says_by_hand(calibration: Calibration) -> None:
    """Gradient of the Coulomb-viscous law: sgn w, w and L sgn w;
    uncorrelated errors of 0.0123 each.
    """
    band = calibration.joints["j2"].band([0.5, -2.0], [10.0, 0.0])
    expected = 1.98 * 0.0123456789 * np.sqrt([1.0 + 0.25 + 100.0, 1.0 + 4.0])
    np.testing.assert_allclose(band, expected, rtol=1e-4)
    assert calibration.joints["j1"].band([0.1], [20.0])[0] > 0.0


def test_the_band_is_wider_where_other_laws_are_plausible(calibration: Calibration) -> None:
    """Straight in the logarithm of speed between the speeds of the file, and as at their ends
    beyond; through the file, too.
    """
    path = calibration.folder / "calibration.toml"
    replace(calibration, joints={**calibration.joints, "j2": j2_among_others()}).save(path)
    again = Calibration.load(path).joints["j2"]
    assert same(again, j2_among_others())
    w, load = np.array([0.001, 0.01, -0.1, 1.0, 2.0]), np.full(5, 10.0)
    np.testing.assert_allclose(
        again.band(w, load) - j2().band(w, load), [0.2, 0.2, 0.3, 0.4, 0.4], rtol=1e-4
    )


def test_a_joint_is_as_good_as_its_weakest_parameter() -> None:
    assert j1().verdict() == "identified"
    weak = {**j1().parameters, "viscous": replace(j1().parameters["viscous"], verdict="weak")}
    assert replace(j1(), parameters=weak).verdict() == "weak"
    assert j3().verdict() == "at bound", "what is no part of the law does not count"


@pytest.mark.parametrize(
    ("q", "dq"),
    [
        (np.zeros((2, 5)), np.zeros((2, 5))),
        (np.zeros((2, 6)), np.zeros((3, 6))),
        (np.zeros(5), np.zeros(5)),
        (np.zeros((1, 6)), np.full((1, 6), np.nan)),
    ],
)
def test_motion_of_the_wrong_shape_is_refused(
    calibration: Calibration, q: np.ndarray, dq: np.ndarray
) -> None:
    with pytest.raises(InputError, match=r"dq|q has shape"):
        calibration.friction(q, dq)


# the model beside it


def test_a_changed_model_is_refused(saved: Path) -> None:
    model = saved.parent / "lab6.urdf"
    model.write_text(model.read_text().replace('<mass value="5.0"/>', '<mass value="5.1"/>'))
    with pytest.raises(InputError, match=r"lab6\.urdf.*sha256"):
        Calibration.load(saved).friction(np.zeros((1, 6)), np.ones((1, 6)))


def test_a_missing_model_is_refused_but_the_numbers_can_be_read(saved: Path) -> None:
    (saved.parent / "lab6.urdf").unlink()
    calibration = Calibration.load(saved)
    assert calibration.joints["j1"].values["static"] == 8.2
    with pytest.raises(InputError, match=r"lab6\.urdf.*missing"):
        calibration.friction(np.zeros((1, 6)), np.ones((1, 6)))


def test_a_calibration_works_wherever_its_folder_lies(
    saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("moved")
    for path in (saved, saved.parent / "lab6.urdf"):
        (elsewhere / path.name).write_bytes(path.read_bytes())
    motion = np.zeros((1, 6)), np.full((1, 6), 0.1)
    np.testing.assert_array_equal(
        Calibration.load(elsewhere).friction(*motion), Calibration.load(saved).friction(*motion)
    )


# faults of the file


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


FAULTS = {  # what is done to the file, and what the message names
    "newer schema": (replaced("schema = 1", "schema = 2"), ["schema 2 is newer"]),
    "no schema": (replaced("schema = 1\n", ""), ["schema"]),
    "unknown key": (replaced("method = ", "metod = "), ["metod", "did you mean 'method'"]),
    "unknown joint key": (
        replaced("held_out_rmse", "held_out_rms"),
        ["joints.j1.held_out_rms", "'held_out_rmse'"],
    ),
    "unknown parameter key": (
        replaced("verdict =", "verdikt ="),
        ["verdikt", "did you mean 'verdict'"],
    ),
    "missing key": (
        replaced("held_out_rmse = 0.0812346\n", ""),
        ["joints.j1.held_out_rmse", "missing"],
    ),
    "nan": (
        replaced("value = 6.12346", "value = nan"),
        ["joints.j1.parameters.coulomb.value", "finite"],
    ),
    "unknown verdict": (replaced('"identified"', '"sure"'), ["verdict", "'identified'"]),
    "unknown load": (
        replaced('load = "normal"', 'load = "nornal"'),
        ["joints.j1.load", "'normal'"],
    ),
    "unknown torque basis": (replaced('"drive"', '"drives"'), ["torque_basis", "'drive'"]),
    "unknown law": (
        replaced('law = "stribeck"', 'law = "stribek"'),
        ["j1", "'stribek'", "'stribeck'"],
    ),
    "parameter of the law gone": (
        lambda text: re.sub(r"static = .*\n", "", text, count=1),
        ["j1", "static"],
    ),
    "parameter without value": (replaced("value = 8.2, ", ""), ["j1", "static"]),
    "normal load without bearing": (
        lambda text: re.sub(r"bearing = .*\n", "", text, count=1),
        ["j1", "bearing"],
    ),
    "bearing without length": (
        replaced("pin_radius = 0.04", "pin_radius = 0.0"),
        ["joints.j1.bearing", "pin_radius"],
    ),
    "correlation of another size": (
        replaced("matrix = [[1.0,", "matrix = [[1.0, 0.5,"),
        ["j1", "correlation"],
    ),
    "correlation of another parameter": (
        replaced('names = ["coulomb"', 'names = ["culomb"'),
        ["j1", "culomb"],
    ),
    "a difference that is nowhere": (
        replaced('directional = "none"', 'directional = "driving"'),
        ["joints.j1.gravity.driving_difference has no value"],
    ),
    "torque scale of nothing": (
        replaced("factor =", "torque_scale = 0.0\nfactor ="),
        ["joints.j1.torque_scale"],
    ),
    "a tool that is used without a mass": (
        replaced('status = "not sought"', 'status = "used"'),
        ["model.unknown_tool", "mass"],
    ),
    "no TOML": (replaced("[model]", "[model"), ["not a TOML file"]),
    "an arm that is a path": (
        replaced('arm = "lab6"', 'arm = "../../lab6"'),
        ["arm = '../../lab6'"],
    ),
    "an arm without name": (replaced('arm = "lab6"', 'arm = ".."'), ["arm = '..'"]),
    "no speeds": (
        replaced("velocity_range = [0.004, 1.2]", "velocity_range = [0.0, 0.0]"),
        ["joints.j1.velocity_range"],
    ),
    "speeds that fall": (
        replaced("velocity_range = [0.004, 1.2]", "velocity_range = [1.2, 0.004]"),
        ["velocity_range", "1.2 is above"],
    ),
    "speeds of the band that fall": (
        replaced("factor =", "further_error = [[0.1, 1.0], [0.01, 1.0]]\nfactor ="),
        ["joints.j1.further_error", "ascend"],
    ),
    "a band of no speed": (
        replaced("factor =", "further_error = []\nfactor ="),
        ["joints.j1.further_error"],
    ),
    "speeds of no joint": (
        replaced("velocity_range = [0.004, 1.2]", "velocity_range = [1e300, 1e308]"),
        ["velocity_range"],
    ),
    "loads that fall": (
        replaced("load_range = [12.1, 41.0]", "load_range = [41.0, 12.1]"),
        ["load_range", "41 is above"],
    ),
    "a Stribeck velocity of zero": (
        replaced("value = 0.051, std_error = 0.001, low = 0.0489, high = 0.0531", "value = 0.0"),
        ["joints.j1.parameters.stribeck_velocity = 0"],
    ),
    "a value beside its interval": (
        replaced("value = 6.12346", "value = 9.0"),
        ["parameters.coulomb", "9 is outside its"],
    ),
    "an error below zero": (
        replaced("std_error = 0.0123457", "std_error = -0.01"),
        ["std_error = -0.01"],
    ),
    "a correlation above one": (
        replaced("matrix = [[1.0, 0.123457", "matrix = [[1.0, 5.0"),
        ["correlation.matrix"],
    ),
    "an option that is no text": (replaced('load = "auto"', "load = 3"), ["fit.load = 3"]),
    "a seed that is no number": (replaced("seed = 7", "seed = nan"), ["seed = nan"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_file_is_refused_in_one_line_with_its_key(fault: str, saved: Path) -> None:
    change, names = FAULTS[fault]
    text = saved.read_text(encoding="utf-8")
    assert change(text) != text, "the fault was not made"
    saved.write_text(change(text), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Calibration.load(saved)
    message = str(caught.value)
    assert message.startswith(str(saved))
    assert "\n" not in message
    for name in names:
        assert name in message


def test_a_joint_that_the_model_lacks_is_refused(saved: Path) -> None:
    """Else its friction would silently be missing from every prediction."""
    saved.write_text(
        saved.read_text(encoding="utf-8").replace("joints.j3", "joints.j33"), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"j33"):
        Calibration.load(saved).friction(np.zeros((1, 6)), np.ones((1, 6)))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"calibration\.toml: no such file"):
        Calibration.load(tmp_path)
    with pytest.raises(InputError, match=r"gone\.toml: no such file"):
        Calibration.load(tmp_path / "gone.toml")
