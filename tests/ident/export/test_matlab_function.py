"""The MATLAB function: read by MATLAB's rules (`tests.matlab`), and run by GNU
Octave where it is installed.
"""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.export.matlab_function import law_in_matlab
from stribeck.ident.laws.law_table import LAWS, WITH_LOADED_VISCOUS
from stribeck.ident.ripple.wave import COGGING, FRICTION
from tests.ident.export.conftest import ARMS, known, made_joint
from tests.ident.export.test_carried import wave
from tests.ident.export.test_shared_motors import wrist as wrist
from tests.judges import tree
from tests.matlab import Matlab

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


def states(n: int, samples: int, seed: int = 0) -> np.ndarray:
    """Random positions, velocities and accelerations, and one sample at rest; shape (N, 3, n)."""
    found = np.random.default_rng(seed).normal(scale=1.5, size=(samples, 3, n))
    found[0, 1] = 0.0
    return found


def assert_same(made: Calibration, samples: int = 3, seed: int = 0) -> None:
    given = states(made.mechanism.n, samples, seed)
    found = export(made, "matlab")
    functions = Matlab(found.text)
    said = [functions(found.name.removesuffix(".m"), 1, *state)[0][:, 0] for state in given]
    np.testing.assert_allclose(said, made.friction(*given.transpose(1, 0, 2)), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_friction_of_random_states(make_calibration: Callable[..., Calibration], arm: str) -> None:
    """The panda has a finger that follows the other; laws and loads have their turn, and
    one joint is not calibrated.
    """
    made = make_calibration(arm, seed=1, tool=Tool(0.7, (0.02, -0.01, 0.1)))
    made = replace(made, joints=dict(list(made.joints.items())[:-1]))
    assert_same(made)


@pytest.mark.slow
def test_every_law_is_translated(make_calibration: Callable[..., Calibration]) -> None:
    names = list(LAWS)
    for k in range(0, len(names), 6):
        assert_same(
            make_calibration(
                joints={
                    f"j{j + 1}": made_joint(law, "bending", j)
                    for j, law in enumerate(names[k : k + 6])
                },
                seed=k,
            ),
            samples=2,
        )


def test_directions_offsets_ripple_and_components(
    make_calibration: Callable[..., Calibration],
) -> None:
    law = next(
        name
        for name in LAWS
        if name not in WITH_LOADED_VISCOUS and "static" in LAWS[name].parameters(False)
    )
    parts = {"radial": (0.1, 8.0), "bending": (0.2, 3.0)}
    names = LAWS[law].parameters(True, tuple(parts))
    joints = {
        "j1": replace(
            made_joint("stribeck", "torque", 1),
            directional="driving",
            gravity={"driving_difference": known(0.2)},
        ),
        "j2": replace(
            made_joint("stribeck", "torque", 2),
            directional="viscous",
            gravity={"viscous_difference": known(0.3), "offset": known(0.4)},
        ),
        "j3": replace(made_joint("tustin", "radial", 3), ripple=(wave(FRICTION), wave(COGGING))),
        "j4": replace(
            made_joint(law, "none", 4),
            load="components",
            names=names,
            correlation=np.eye(len(names)),
            parameters={name: known(0.1 * (k + 1)) for k, name in enumerate(names)},
            load_range=parts,
            load_part=(0.1, 1.0, 2.0),
        ),
    }
    made = make_calibration(joints=joints)
    assert_same(made)
    assert_same(made.with_offset(), seed=1)


def test_trees_that_branch_and_slide(make_calibration: Callable[..., Calibration]) -> None:
    made = make_calibration()
    mechanism = tree(1, n=8)
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
    assert_same(own)


@pytest.mark.skipif(
    OCTAVE is None, reason="GNU Octave is not installed; tests.matlab reads the function instead"
)
@pytest.mark.parametrize("arm", ARMS)
def test_octave_computes_the_same(
    make_calibration: Callable[..., Calibration], tmp_path: Path, arm: str
) -> None:
    made = make_calibration(arm, seed=2)
    found, given = export(made, "matlab"), states(made.mechanism.n, 20)
    (tmp_path / found.name).write_text(found.text, encoding="utf-8")
    np.savetxt(tmp_path / "states.csv", given.reshape(20, -1), delimiter=",", fmt="%.17g")
    n = made.mechanism.n
    script = (
        f"x = csvread('states.csv'); for k = 1:20, printf('%.17g ', {found.name[:-2]}(x(k, 1:{n}), "
        f"x(k, {n + 1}:{2 * n}), x(k, {2 * n + 1}:end))); end"
    )
    said = subprocess.run(
        [str(OCTAVE), "-q", "--no-gui", "--eval", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    np.testing.assert_allclose(
        np.array(said.split(), dtype=float).reshape(20, n),
        made.friction(*given.transpose(1, 0, 2)),
        rtol=1e-9,
        atol=1e-9,
    )


def test_motors_that_move_several_joints(wrist: Calibration) -> None:
    assert_same(wrist)


def test_it_is_a_file_that_matlab_finds(make_calibration: Callable[..., Calibration]) -> None:
    """The file has the name of its first function; code generation is asked
    for; no line has a sign of C.
    """
    found = export(make_calibration(), "matlab")
    assert found.text.startswith(
        "function [tau, load, rigid] = lab6_friction(q, dq, ddq)\n%LAB6_FRICTION "
    )
    assert (found.name, found.suffix) == ("lab6_friction.m", ".m")
    assert "\n%#codegen\n" in found.text
    assert "@" not in found.text


def test_notes_that_look_like_marks_stay(make_calibration: Callable[..., Calibration]) -> None:
    note = "grease of me@UP and @M, @_ and @LINES"
    assert note in export(replace(make_calibration(), note=note), "matlab").text


def test_a_closed_chain_is_refused(make_calibration: Callable[..., Calibration]) -> None:
    made = make_calibration(joints={"j1": made_joint("stribeck", "none", 0)})
    vars(made)["mechanism"] = replace(made.mechanism, chain=object())
    with pytest.raises(
        InputError,
        match="lab6 is a closed chain, whose loads the MATLAB function does not compute; export",
    ):
        export(made, "matlab")


@pytest.mark.parametrize(
    "body",
    [
        "double x = w; return x;",
        "const double x = w > 0 ? 1.0 : 2.0; return x;",
        "return erf(w);",
        "return w * table[3];",
    ],
)
def test_c_code_that_cannot_be_translated_is_refused(body: str) -> None:
    with pytest.raises(
        InputError,
        match=r"a law has the C code `.*`, which is not translated to MATLAB: .*; export to c",
    ):
        law_in_matlab("static inline double @_odd(double w, double load)\n{\n    " + body + "\n}\n")
