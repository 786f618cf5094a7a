"""The ROS 2 controller, compiled against stand-ins for ROS 2 (`ros2_stubs`) and run: it adds the
feed-forward to references.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, load_mechanism
from stribeck.experiments.cli.app import run
from stribeck.experiments.exporters.calibration_export import export_calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.export.ros2.ros2_controller import package_name
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.model.files.drive_ratings import rated_torques
from stribeck.ident.ripple.wave import COGGING, FRICTION
from stribeck.ident.whole_files import file_sha256
from tests.ident.export.compiled import CXX, accept, compiled, needs_cpp
from tests.ident.export.conftest import known, made_joint, model_of
from tests.ident.export.test_carried import wave
from tests.ident.temperature.test_heat_in_use import heated
from tests.ident.temperature.test_joint_temperature import WARM
from tests.places import DATA

STUBS = Path(__file__).parent / "ros2_stubs"
RELEASES = {"Humble": 2, "Jazzy": 4, "Lyrical": 6}
NAN = float("nan")
DT = 0.002


def rich(folder: Path) -> Calibration:
    """lab6 with every effect: directions, memory, temperature with and without a sensor,
    ripple; j6 is not calibrated.
    """
    source = model_of("lab6")
    shutil.copy(source, folder)
    joints = {
        "j1": replace(
            made_joint("stribeck", "torque", 1),
            directional="driving",
            gravity={"driving_difference": known(0.1)},
        ),
        "j2": replace(
            made_joint("stribeck", "bending", 2),
            memory=JointMemory(
                "relaxing", {"presliding_distance": known(0.002, "rad", 1e-4)}, 2e-3, 0.1, 0.5
            ),
            temperature=WARM,
        ),
        "j3": replace(made_joint("tustin", "torque", 3), temperature=WARM),
        "j4": replace(
            made_joint("coulomb-viscous", "none", 4),
            temperature=heated().joints["hinge"].temperature,
        ),
        "j5": replace(made_joint("power", "radial", 5), ripple=(wave(FRICTION), wave(COGGING))),
    }
    return calibration("lab6", joints, source.name, folder)


def plain(folder: Path) -> Calibration:
    """A UR5 with a tool and one law and load after the other."""
    source = model_of("ur5")
    shutil.copy(source, folder)
    kinds = [
        ("stribeck-free", "normal"),
        ("quadratic", "torque"),
        ("andersson", "axial"),
        ("rounded-kink", "none"),
        ("stribeck", "bending"),
        ("coulomb-viscous", "torque"),
    ]
    joints = {
        name: made_joint(*kind, seed=k)
        for k, (name, kind) in enumerate(zip(load_mechanism(source).names, kinds, strict=True))
    }
    return calibration("ur5", joints, source.name, folder, Tool(0.7, (0.02, -0.01, 0.1)))


def calibration(
    arm: str, joints: dict, model: str, folder: Path, tool: Tool | None = None
) -> Calibration:
    return Calibration(
        arm,
        datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
        "made up",
        "drive",
        (),
        Model(model, file_sha256(folder / model), (0.0, 0.0, -9.81), tool or Tool()),
        {},
        joints,
        folder,
    )


@dataclass(frozen=True)
class Controller:
    """A compiled controller and its calibration."""

    made: Calibration
    program: Path

    def __call__(
        self, *arguments: str, effort, q, dq, at=(NAN, NAN, NAN), temperature=NAN, pause=0.0
    ) -> np.ndarray:
        """Efforts of each sample; `at` has references of position, velocity and
        acceleration, shape (N, n) each.

        Before the last sample, there is a pause [s] without updates.
        """
        said = self.run(*arguments, rows=self.rows(effort, *at, q, dq, temperature, pause=pause))
        assert said.returncode == 0, (said.returncode, said.stderr)
        lines = [
            line
            for line in said.stdout.splitlines()
            if not line.startswith(("command", "state", "reference"))
        ]
        return np.array([line.split() for line in lines], dtype=float)

    def run(self, *arguments: str, rows: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.program), *arguments], input=rows, capture_output=True, text=True, check=False
        )

    def rows(self, *columns, pause=0.0) -> str:
        shape = np.broadcast_shapes(*map(np.shape, columns))
        table = np.stack(
            [np.broadcast_to(np.asarray(column, dtype=float), shape) for column in columns], axis=-1
        )
        times = DT * np.arange(1, len(table) + 1) + pause * (
            np.arange(1, len(table) + 1) == len(table)
        )
        return "\n".join(
            f"{round(t * 1e9)} {round(DT * 1e9)} {' '.join(map(repr, row.ravel().tolist()))}"
            for t, row in zip(times, table, strict=True)
        )


def written(
    make: Callable[[Path], Calibration], release: str, folder: Path
) -> tuple[Calibration, Path, list[str]]:
    """Calibration, source of a program with its controller, and options of the compiler."""
    made = make(folder)
    target, _ = export_calibration(made, "ros2-controller", folder / "package")
    harness = (STUBS / "harness.cpp").read_text(encoding="utf-8")
    source = folder / "harness.cpp"
    source.write_text(harness.replace("PACKAGE", package_name(made.arm)), encoding="utf-8")
    places = (STUBS, target / "include", target / "src")
    options = ["-std=c++17", f"-DROS2_CONTROL={RELEASES[release]}", *(f"-I{at}" for at in places)]
    return made, source, options


@needs_cpp
@pytest.mark.slow
def test_the_release_between_compiles(tmp_path: Path) -> None:
    """Its conditions are those of an older release in part, and of a newer one in part."""
    _, source, options = written(rich, "Jazzy", tmp_path)
    accept(source, *options)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((rich, "Humble"), id="lab6 in Humble", marks=pytest.mark.slow),
        pytest.param((plain, "Lyrical"), id="ur5 in Lyrical", marks=pytest.mark.slow),
    ],
)
def controller(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Controller:
    if CXX is None:
        pytest.skip("there is no C++ compiler")
    made, source, options = written(*request.param, tmp_path_factory.mktemp("controller"))
    return Controller(made, compiled(source, *options))


def motion(n: int, samples: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random motion with reversals: positions, velocities and accelerations, shape (N, n)."""
    rng = np.random.default_rng(seed)
    t, size, rate, phase = (
        np.arange(samples)[:, None] * DT,
        *rng.uniform((0.1, 4.0, 0.0), (0.6, 20.0, 6.0), (n, 3)).T,
    )
    wave_ = rate * t + phase
    return size * np.sin(wave_), size * rate * np.cos(wave_), -size * rate**2 * np.sin(wave_)


def expected(made: Calibration, q, dq, ddq, temperature=None) -> np.ndarray:
    """Feed-forward along a motion with memory and heat, and zero for joints
    that were not calibrated.
    """
    feedforward, out = Feedforward(made.mechanism, made), []
    for k in range(len(q)):
        warm = feedforward.warmth
        if temperature is not None:
            warm = np.where(np.isnan(warm), temperature[k], warm)
        out.append(feedforward.follow(q[k], dq[k], ddq[k], warm))
        feedforward.warm(DT)
    return np.nan_to_num(np.array(out))


def test_effort_is_reference_plus_feed_forward_of_the_references(controller: Controller) -> None:
    n = controller.made.mechanism.n
    q, dq, ddq = motion(n)
    effort = np.random.default_rng(1).normal(scale=5.0, size=q.shape)
    unlimited = f"effort_limits={','.join(['1e6'] * n)}"
    found = controller(unlimited, effort=effort, q=q, dq=dq, at=(q, dq, ddq))
    np.testing.assert_allclose(
        found, effort + expected(controller.made, q, dq, ddq), rtol=0, atol=1e-9
    )
    assert np.abs(found - effort).max() > 1.0
    half = controller(
        unlimited, f"scale={','.join(['0.5'] * n)}", effort=effort, q=q, dq=dq, at=(q, dq, ddq)
    )
    np.testing.assert_allclose(half - effort, 0.5 * (found - effort), rtol=0, atol=1e-9)


def test_without_references_friction_is_that_of_the_measured_motion(controller: Controller) -> None:
    n = controller.made.mechanism.n
    q, dq, ddq = motion(n, seed=1)
    found = controller(
        f"effort_limits={','.join(['1e6'] * n)}",
        f"rest_velocity={','.join(['0'] * n)}",
        effort=0.0,
        q=q,
        dq=dq,
    )
    np.testing.assert_allclose(
        found, expected(controller.made, q, dq, 0.0 * ddq), rtol=0, atol=1e-9
    )


def test_near_rest_friction_of_a_measured_velocity_is_on_a_straight_line(
    controller: Controller,
) -> None:
    """From its value at -rest_velocity to that at +rest_velocity; a memory already
    makes friction continuous.
    """
    made = controller.made
    n, rest, far = made.mechanism.n, 0.05, 1e-9
    feedforward = Feedforward(made.mechanism, made)
    part = np.linspace(-1.0, 1.0, 9)
    for j, name in enumerate(made.mechanism.names):
        joint = made.joints.get(name)
        if joint is None or joint.memory is not None or joint.ripple:
            continue
        dq = np.zeros((9, n))
        dq[:, j] = rest * part * (1.0 - far)
        found = controller(
            f"rest_velocity={','.join([str(rest)] * n)}", effort=0.0, q=np.full((9, n), 0.3), dq=dq
        )[:, j]
        ends = feedforward(
            np.full((2, n), 0.3), dq[[0, -1]], None, np.tile(feedforward.warmth, (2, 1))
        )[:, j]
        np.testing.assert_allclose(
            found, ends[0] + (ends[1] - ends[0]) * 0.5 * (1.0 + part), rtol=1e-3
        )
        assert abs(found[4]) < 1e-9
        assert found[-1] > 0.1


def test_references_pass_where_friction_is_unknown(controller: Controller) -> None:
    made = controller.made
    n = made.mechanism.n
    q, dq, ddq = motion(n, samples=4)
    effort = np.full((4, n), 3.0)
    sick = q.copy()
    sick[1, 2] = NAN
    locked = dq.copy()
    locked[2, 0] = 2e300  # the harness locks its interface
    found = controller(effort=effort, q=sick, dq=locked, at=(q, dq, ddq))
    np.testing.assert_array_equal(found[1:3], effort[1:3])
    for row in (0, 3):
        known_ = [j for j, name in enumerate(made.mechanism.names) if name in made.joints]
        assert (found[row, known_] != 3.0).all()
        np.testing.assert_array_equal(np.delete(found[row], known_), 3.0)


def test_efforts_stay_within_limits_and_are_zero_without_a_reference(
    controller: Controller,
) -> None:
    made = controller.made
    n = made.mechanism.n
    q, dq, _ = motion(n, samples=3)
    found = controller(
        f"effort_limits={','.join(['2.5'] * n)}",
        "off",
        effort=[[1e3] * n, [-1e3] * n, [NAN] * n],
        q=q,
        dq=dq,
    )
    np.testing.assert_array_equal(found, np.array([2.5, -2.5, 0.0, 0.0])[:, None] * np.ones(n))
    stated = rated_torques(made.folder / made.model.file, made.mechanism.names)
    strong = controller(effort=np.full((3, n), 1e6), q=q, dq=dq)
    np.testing.assert_array_equal(strong[0], [stated[name] for name in made.mechanism.names])
    np.testing.assert_array_equal(
        controller("unchained", effort=np.full((3, n), 7.0), q=q, dq=dq), 0.0
    )


def test_measured_temperatures_are_used_on_request(controller: Controller) -> None:
    if controller.made.arm != "lab6":
        pytest.skip("its friction does not depend on temperature")
    n = controller.made.mechanism.n
    q, dq, ddq = motion(n, seed=2)
    warm = np.linspace(20.0, 45.0, len(q))[:, None] * np.ones(n)
    given = {"effort": 0.0, "q": q, "dq": dq, "at": (q, dq, ddq)}
    cold, hot = (
        controller(temperature=warm, **given),
        controller("use_temperature", temperature=warm, **given),
    )
    np.testing.assert_allclose(hot, expected(controller.made, q, dq, ddq, warm), rtol=0, atol=1e-9)
    assert (np.abs(hot - cold)[:, [1, 2]].max(axis=0) > 0.01).all()
    np.testing.assert_array_equal(hot[:, [0, 3, 4, 5]], cold[:, [0, 3, 4, 5]])


def test_joints_cool_while_the_controller_is_inactive(controller: Controller) -> None:
    made = controller.made
    if made.arm != "lab6":
        pytest.skip("friction does not heat its joints")
    q, dq, ddq = motion(made.mechanism.n, samples=300, seed=3)
    given = {"effort": 0.0, "q": q, "dq": dq, "at": (q, dq, ddq)}
    for pause in (3.0, 1e4):
        feedforward, found = (
            Feedforward(made.mechanism, made),
            controller(pause=pause, **given)[:, 3],
        )
        for k in range(len(q) - 1):
            assert feedforward(q[k], dq[k], ddq[k], feedforward.warmth)[3] == pytest.approx(
                found[k], abs=1e-9
            )
            feedforward.warm(DT)
        warm = feedforward(q[-1], dq[-1], ddq[-1], feedforward.warmth)[3]
        feedforward(q[-1], 0.0 * dq[-1])
        feedforward.warm(pause)
        assert feedforward(q[-1], dq[-1], ddq[-1], feedforward.warmth)[3] == pytest.approx(
            found[-1], abs=1e-9
        )
        assert abs(found[-1] - warm) > 1e-4


@pytest.mark.parametrize(
    "wrong", ["scale=1,1,1", "scale={0}", "scale={1}", "effort_limits={1}", "rest_velocity={1}"]
)
def test_impossible_parameters_are_refused(controller: Controller, wrong: str) -> None:
    n = controller.made.mechanism.n
    said = controller.run(wrong.format(",".join(["1.2"] * n), ",".join(["-1"] * n)))
    assert said.returncode == 3
    assert wrong.split("=")[0] in said.stderr


def test_interfaces_have_the_names_that_other_controllers_expect(controller: Controller) -> None:
    names = controller.made.mechanism.names
    said = controller.run().stdout.splitlines()
    assert said == [
        *(f"command {name}/effort" for name in names),
        *(f"state {name}/position" for name in names),
        *(f"state {name}/velocity" for name in names),
        *(
            f"reference friction_controller/{name}/{kind}"
            for kind in ("effort", "position", "velocity", "acceleration")
            for name in names
        ),
    ]


def test_the_package_holds_together(
    tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    made = make_calibration(joints={"j1": made_joint("stribeck", "none", 0)})
    found = export(made, "ros2-controller")
    assert found.folder is not None
    package = found.name
    assert package == "lab6_friction_controller"
    manifest = ElementTree.fromstring(found.folder["package.xml"])
    assert manifest.findtext("name") == package
    plugin = ElementTree.fromstring(found.folder["friction_controller.xml"])
    assert (plugin.get("path"), plugin[0].get("type")) == (
        package,
        f"{package}::FrictionController",
    )
    assert f"project({package} " in found.folder["CMakeLists.txt"]
    depends = {one.text for one in manifest.findall("depend")}
    assert (
        set(found.folder["CMakeLists.txt"].split("DEPENDENCIES ")[1].split(")")[0].split())
        == depends
    )
    assert found.folder["README.md"] == found.text
    assert found.folder[f"include/{package}/lab6_friction.h"] == export(made, "c").text
    assert not [
        path for path, text in found.folder.items() if "@" in text.replace("user@todo.todo", "")
    ]
    assert "memory_" not in found.folder["src/friction_controller.cpp"]


@pytest.mark.parametrize(
    ("arm", "package"),
    [
        ("lab6", "lab6_friction_controller"),
        ("My-Arm 2", "my_arm_2_friction_controller"),
        ("7dof", "arm_7dof_friction_controller"),
    ],
)
def test_packages_have_names_that_ros_accepts(arm: str, package: str) -> None:
    assert package_name(arm) == package


def test_names_of_any_letters_are_themselves(
    tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    """C++ and YAML take a letter outside the basic plane as it is, and not
    as the two escapes of JSON.
    """
    name = "\U0001f9be ellbögen"
    source = tmp_path / "odd.urdf"
    source.write_text(
        model_of("lab6")
        .read_text(encoding="utf-8")
        .replace('joint name="j1"', f'joint name="{name}"'),
        encoding="utf-8",
    )
    found = export(
        calibration("lab6", {name: made_joint("stribeck", "none", 0)}, source.name, tmp_path),
        "ros2-controller",
    )
    assert found.folder is not None
    assert f'NAMES = {{"{name}", "j2"' in found.folder["src/friction_controller.cpp"]
    assert f'joints: ["{name}", "j2"' in found.folder["config/controllers.yaml"]
    assert f'"{name}": stribeck' in found.folder["include/lab6_friction_controller/lab6_friction.h"]


def test_the_folder_is_new_or_empty(
    tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    made = make_calibration(joints={"j1": made_joint("stribeck", "none", 0)})
    (tmp_path / "empty").mkdir()
    target, _ = export_calibration(made, "ros2-controller", tmp_path / "empty")
    assert (target / "src" / "friction_controller.cpp").is_file()
    with pytest.raises(InputError, match=r"empty exists and is not empty; choose another --out"):
        export_calibration(made, "ros2-controller", tmp_path / "empty")
    beside, _ = export_calibration(made, "ros2-controller")
    assert beside == made.folder / "lab6_friction_controller"
    assert (beside / "package.xml").is_file()
    assert not list(tmp_path.rglob("*.part"))


def test_the_command_names_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden, out = DATA / "golden", tmp_path / "package"
    assert run(["export", str(golden), "--to", "ros2-controller", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == sorted(str(path) for path in out.rglob("*") if path.is_file())
    assert any(path.endswith("friction_controller.cpp") for path in told["files"])
    assert run(["export", str(golden), "--to", "ros2-controller", "--out", str(out)]) == 2
    assert f"{out} exists and is not empty; choose another --out" in " ".join(
        capsys.readouterr().err.split()
    )


def test_offsets_on_request(tmp_path: Path, make_calibration: Callable[..., Calibration]) -> None:
    made = make_calibration(
        joints={"j1": replace(made_joint("stribeck", "none", 0), gravity={"offset": known(0.3)})}
    )
    without, lost = export_calibration(made, "ros2-controller", tmp_path / "without")
    with_offset, kept = export_calibration(made, "ros2-controller", tmp_path / "with", offset=True)
    assert ["offset" in " ".join(one) for one in (lost, kept)] == [True, False]
    header = "include/lab6_friction_controller/lab6_friction.h"
    assert (with_offset / header).read_text(encoding="utf-8") == export(
        made.with_offset(), "c"
    ).text
    assert (without / header).read_text(encoding="utf-8") == export(made, "c").text


def test_a_calibration_that_begins_at_rest_has_a_velocity_of_rest(
    make_calibration: Callable[..., Calibration],
) -> None:
    """Below it, the sign of a measured velocity is not trusted; a Trossen arm takes only
    positive transition velocities.
    """
    made = make_calibration(
        joints={"j1": replace(made_joint("stribeck", "none", 0), velocity_range=(0.0, 1.5))}
    )
    folder = export(made, "ros2-controller").folder
    assert folder is not None
    assert "rest_velocity: [0.0015, 0.0, 0.0, 0.0, 0.0, 0.0]" in folder["config/controllers.yaml"]
    assert (
        "REST_VELOCITY = {0.0015, 0.0, 0.0, 0.0, 0.0, 0.0};"
        in folder["src/friction_controller.cpp"]
    )
    assert '"friction_transition_velocity": 0.0015' in export(made, "trossen").text


def test_a_closed_chain_is_refused(make_calibration: Callable[..., Calibration]) -> None:
    made = make_calibration(joints={"j1": made_joint("stribeck", "none", 0)})
    vars(made)["mechanism"] = replace(made.mechanism, chain=object())
    with pytest.raises(
        InputError,
        match="lab6 is a closed chain, for which the C header computes no loads; export to c, and ",
    ):
        export(made, "ros2-controller")
