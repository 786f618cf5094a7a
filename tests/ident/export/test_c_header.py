"""The C header, compiled: its loads and friction are those of the batch code."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, joint_loads, load_mechanism
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.errors import InputError
from stribeck.ident.export.c.c_header import identifier
from stribeck.ident.export.formats import export
from stribeck.ident.laws.law_table import LAWS, WITH_LOADED_VISCOUS
from stribeck.ident.model.loads import LOADS
from stribeck.ident.whole_files import file_sha256
from tests.ident.export.compiled import accept, compiled, needs_c, needs_cpp, printed
from tests.ident.export.conftest import ARMS, EVERY_LAW, known, made_joint
from tests.judges import tree

pytestmark = needs_c
MAIN = """
#include <stdio.h>
#include "arm.h"
#ifdef SINGLE
#define SCAN "%f"
#else
#define SCAN "%lf"
#endif

int main(void)
{
    ARM_real s[3][N], load[ARM_load_count], rigid[N], tau[N], mean[N];
    int j, k;
    for (;;) {
        for (k = 0; k < 3; ++k) for (j = 0; j < N; ++j) if (scanf(SCAN, &s[k][j]) != 1) return 0;
        ARM_loads(s[0], s[1], s[2], load, rigid);
        ARM_friction(s[1], load, rigid, tau);
        ARM_friction(s[1], load, NULL, mean);
        for (j = 0; j < N; ++j)
            printf("%.17g %.17g %.17g %.17g\\n", (double)load[j], (double)rigid[j], (double)tau[j], (double)mean[j]);
    }
}
"""


def written(made: Calibration, folder: Path, suffix: str = ".c") -> Path:
    """Source of a program that prints what the header computes."""
    (folder / "arm.h").write_text(export(made, "c").text, encoding="utf-8")
    n = made.mechanism.n
    source = MAIN.replace("ARM_", f"{identifier(made.arm)}_")
    source = source.replace("N]", f"{n}]").replace("< N", f"< {n}")
    path = folder / f"main{suffix}"
    path.write_text(source, encoding="utf-8")
    return path


def run_header(made: Calibration, folder: Path, states: np.ndarray, *options: str) -> np.ndarray:
    """Load, rigid torque, friction and its mean over the directions, shape (4, N, n)."""
    program = compiled(written(made, folder), "-std=c99", *options)
    said = printed(program, states.transpose(1, 0, 2))
    return said.reshape(states.shape[1], -1, 4).transpose(2, 0, 1)


def random_states(n: int, seed: int = 0, samples: int = 40) -> np.ndarray:
    """Positions, velocities and accelerations, shape (3, N, n); no joint moves in the last."""
    states = np.random.default_rng(seed).normal(scale=1.5, size=(3, samples, n))
    states[1, -1] = 0.0
    return states


def assert_same(made: Calibration, folder: Path, seed: int = 0) -> None:
    q, dq, ddq = states = random_states(made.mechanism.n, seed)
    load, rigid, friction, mean = run_header(made, folder, states)
    loads = joint_loads(made.mechanism, q, dq, ddq)
    scale = max(1.0, float(np.abs(loads.tau).max()))
    np.testing.assert_allclose(rigid, loads.tau, rtol=0, atol=1e-11 * scale)
    for j, name in enumerate(made.names):
        joint = made.joints.get(name)
        expected = (
            np.zeros(len(q))
            if joint is None or joint.load == "none"
            else loads.get(joint.load)[:, j]
        )
        np.testing.assert_allclose(
            load[:, j], expected, rtol=0, atol=1e-10 * max(1.0, float(np.abs(expected).max()))
        )
        if joint is not None:
            np.testing.assert_allclose(
                mean[:, j],
                joint.torque(dq[:, j], None if joint.load == "none" else expected)
                + (
                    joint.directional_torque(dq[:, j], None, rigid[:, j])
                    if joint.directional == "viscous"
                    else 0.0
                ),
                rtol=1e-9,
                atol=1e-9,
            )
    np.testing.assert_allclose(friction, made.friction(q, dq, ddq), rtol=1e-9, atol=1e-9)
    assert (np.nan_to_num(friction[-1]) == 0.0).all(), "nothing rubs at rest"


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_loads_and_friction_of_random_states(
    make_calibration: Callable[..., Calibration], tmp_path: Path, arm: str
) -> None:
    """The panda has a finger that follows the other."""
    tool = Tool(0.7, (0.02, -0.01, 0.1))
    assert_same(make_calibration(arm, seed=EVERY_LAW[arm], tool=tool), tmp_path)


def test_every_law_and_load_has_its_turn(make_calibration: Callable[..., Calibration]) -> None:
    made = [make_calibration(arm, seed=seed) for arm, seed in EVERY_LAW.items()]
    joints = [joint for calibration in made for joint in calibration.joints.values()]
    assert {joint.law for joint in joints} == set(LAWS)
    assert {joint.load for joint in joints} == {*LOADS, "none"}


@pytest.mark.slow
def test_torque_offsets_on_request(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    plain = make_calibration()
    # one is not known
    offsets = {
        name: {"offset": known(0.3 - 0.1 * k)} for k, name in enumerate(plain.joints) if k != 4
    }
    plain = replace(
        plain,
        joints={
            name: replace(joint, gravity=joint.gravity | offsets.get(name, {}))
            for name, joint in plain.joints.items()
        },
    )
    made = plain.with_offset()
    expected = np.array([0.3, 0.2, 0.1, 0.0, 0.0, -0.2])
    q, dq, ddq = states = np.random.default_rng(0).normal(scale=1.5, size=(3, 40, 6))
    np.testing.assert_allclose(
        made.friction(q, dq, ddq) - plain.friction(q, dq, ddq),
        np.tile(expected, (40, 1)),
        atol=1e-12,
    )
    _, _, friction, _ = run_header(made, tmp_path, states)
    np.testing.assert_allclose(friction, made.friction(q, dq, ddq), rtol=1e-9, atol=1e-9)
    feedforward = Feedforward(made.mechanism, made)
    np.testing.assert_allclose(
        [feedforward(*state) for state in states.transpose(1, 0, 2)],
        made.friction(q, dq, ddq),
        rtol=1e-9,
        atol=1e-9,
    )
    lost = ["offset" in " ".join(export(one, "c").losses) for one in (plain, made)]
    assert lost == [True, False]


@pytest.mark.slow
def test_trees_that_branch_and_slide(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    """The tree of this seed has two roots, and slides in and behind its branches."""
    made, seed = make_calibration(), 4
    mechanism = tree(seed, n=8)
    kinds = [
        ("stribeck", "normal"),
        ("coulomb-viscous", "torque"),
        ("tustin", "axial"),
        ("andersson", "radial"),
    ]
    joints = {name: made_joint(*kinds[k % 4], seed=k) for k, name in enumerate(mechanism.names)}
    own = replace(made, joints=joints)
    vars(own)["mechanism"] = replace(
        mechanism, bearings=tuple(joint.bearing for joint in joints.values())
    )
    assert_same(own, tmp_path, seed)


HELD = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><inertial pos="0.1 0 0.2" mass="2" diaginertia="0.02 0.02 0.01"/>
  <body pos="0 0 0.4"><joint name="b" axis="1 0 0"/><inertial pos="0 0.1 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
  <body pos="0 0.2 0.1"><joint name="finger" type="slide" axis="0 1 0"/>
    <inertial pos="0 0 0.05" mass="0.4" diaginertia="0.001 0.001 0.001"/></body></body></body></worldbody>
  <equality><joint joint1="finger" polycoef="0.03 0 0 0 0"/></equality></mujoco>"""


@pytest.mark.slow
def test_joints_that_are_held(tmp_path: Path) -> None:
    """They have weight and no place in any array."""
    (tmp_path / "held.xml").write_text(HELD, encoding="utf-8")
    mechanism = load_mechanism(tmp_path / "held.xml")
    assert (mechanism.names, mechanism.followers[0].leader) == (("a", "b"), -1)
    model = Model("held.xml", file_sha256(tmp_path / "held.xml"), (0.0, 0.0, -9.81), Tool())
    joints = {"a": made_joint("stribeck", "torque", 1), "b": made_joint("stribeck", "bending", 2)}
    made = Calibration(
        "held",
        datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
        "made up",
        "drive",
        (),
        model,
        {},
        joints,
        tmp_path,
    )
    assert_same(made, tmp_path)
    assert "<lower>0.03</lower><upper>0.03</upper>" in export(made, "sdf").text


@pytest.mark.slow
def test_directions_that_differ(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    joints = {}
    for k, name in enumerate(load_mechanism("lab6").names[:4]):
        directional = ("viscous", "driving")[k % 2]
        joints[name] = replace(
            made_joint("stribeck", "torque", k),
            directional=directional,
            gravity={f"{directional}_difference": known(0.1 + 0.1 * k)},
        )
    assert_same(make_calibration(joints=joints), tmp_path)


def test_joints_that_were_not_calibrated_are_nan(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    made = make_calibration(joints={"j2": made_joint("coulomb-viscous", "none", 0)})
    assert np.isnan(run_header(made, tmp_path, np.ones((3, 1, 6)))[2, 0]).tolist() == [
        True,
        False,
    ] + 4 * [True]


def single(prefix: str) -> tuple[str, ...]:
    return (
        f"-D{prefix.upper()}_REAL=float",
        "-DSINGLE",
        "-fsingle-precision-constant",
        "-Wdouble-promotion",
    )


@pytest.mark.slow
@needs_cpp
@pytest.mark.parametrize("arm", ARMS)
def test_it_is_cpp_too_and_in_single_precision_nothing_is_promoted(
    make_calibration: Callable[..., Calibration], tmp_path: Path, arm: str
) -> None:
    """The compilers refuse any promotion."""
    made = make_calibration(arm, seed=EVERY_LAW[arm], tool=Tool(0.7, (0.02, -0.01, 0.1)))
    options = single(identifier(made.arm))
    accept(written(made, tmp_path), "-std=c99", *options)
    source = written(made, tmp_path, ".cc")
    for more in ((), options):
        accept(source, "-std=c++11", *more)


@pytest.mark.slow
def test_in_single_precision_nothing_is_computed_in_double(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    """What is lost is what a float cannot hold."""
    made = make_calibration("panda", seed=1, tool=Tool(0.7, (0.02, -0.01, 0.1)))
    states = random_states(made.mechanism.n, 1)[:, :-1]
    exact = run_header(made, tmp_path, states)
    for found, expected in zip(
        run_header(made, tmp_path, states, *single(identifier(made.arm))), exact, strict=True
    ):
        np.testing.assert_allclose(
            found, expected, rtol=1e-4, atol=1e-4 * float(np.nanmax(np.abs(expected)))
        )
        assert not np.array_equal(found, expected), "it was computed in double"


def test_every_law_has_a_translation(make_calibration: Callable[..., Calibration]) -> None:
    for law in LAWS:
        export(
            make_calibration(
                joints={"j1": made_joint(law, "bending", 0)}, seed=list(LAWS).index(law)
            ),
            "c",
        )


def test_load_components_with_coefficients_of_their_own(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    parts = {"radial": (0.1, 8.0), "bending": (0.2, 3.0)}
    laws = [law for law in LAWS if law not in WITH_LOADED_VISCOUS]
    n = 6
    for first in range(0, len(laws), n):
        joints = {}
        for k, law in enumerate(laws[first : first + n]):
            names = LAWS[law].parameters(True, tuple(parts))
            values = {name: 0.05 * (2 + k) for k, name in enumerate(names)}
            values["stribeck_exponent"] = 1.5
            joints[f"j{k + 1}"] = replace(
                made_joint(law, "none", 0),
                load="components",
                parameters={name: known(values[name]) for name in names},
                names=names,
                correlation=np.eye(len(names)),
                load_range=parts,
                load_part=(0.1, 1.0, 2.0),
            )
        made = make_calibration(joints=joints)
        q, dq, ddq = states = np.random.default_rng(1).normal(size=(3, 20, n))
        *_, friction, mean = run_header(made, tmp_path, states)
        np.testing.assert_allclose(friction, made.friction(q, dq, ddq), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mean, friction, rtol=1e-12)


@pytest.mark.parametrize("law", WITH_LOADED_VISCOUS)
def test_viscous_friction_that_grows_with_components_of_the_load_is_refused(
    make_calibration: Callable[..., Calibration], law: str
) -> None:
    names = LAWS[law].parameters(True, ("radial", "bending"))
    joint = replace(
        made_joint(law, "none", 0),
        load="components",
        parameters={name: known(0.1) for name in names},
        names=names,
        correlation=np.eye(len(names)),
        load_range={"radial": (0.1, 8.0), "bending": (0.2, 3.0)},
        load_part=(0.1, 1.0, 2.0),
    )
    with pytest.raises(
        InputError, match=f"the law {law} has no C code with a coefficient for each load component"
    ):
        export(make_calibration(joints={"j3": joint}), "c")


def test_a_law_without_translation_is_refused(
    make_calibration: Callable[..., Calibration], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        LAWS, "stribeck", replace(LAWS["stribeck"], c="", no_c="its exponential is too slow")
    )
    with pytest.raises(
        InputError,
        match="the law stribeck has no C code: its exponential is too slow; export to json",
    ):
        export(make_calibration(joints={"j1": made_joint("stribeck", "none", 0)}), "c")


@pytest.mark.parametrize(
    ("name", "c_name"), [("lab6", "lab6"), ("my-arm.2", "my_arm_2"), ("7dof", "arm_7dof")]
)
def test_names_become_identifiers(name: str, c_name: str) -> None:
    assert identifier(name) == c_name
