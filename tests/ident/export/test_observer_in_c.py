"""The observer in the C header, compiled: the same numbers as `ExternalTorque`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, ExternalTorque
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.export.c.c_header import identifier
from stribeck.ident.export.formats import export
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.ripple.wave import Wave
from stribeck.ident.temperature.joint_temperature import JointTemperature
from tests.ident.export.compiled import accept, compiled, needs_c, needs_cpp, printed
from tests.ident.export.conftest import ARMS, EVERY_LAW, known, made_joint

pytestmark = needs_c
DT = 0.004
MAIN = """
#include <stdio.h>
#include "arm.h"

int main(void)
{
    double s[4 * N + 1];
    ARM_observer observer;
    int j;
    ARM_start(&observer);
    for (;;) {
        for (j = 0; j < 4 * N + 1; ++j) if (scanf("%lf", &s[j]) != 1) return 0;
        ARM_observe(&observer, s[0], s + 1, s + 1 + N, s + 1 + 2 * N, TEMPERATURE);
        for (j = 0; j < N; ++j) printf("%.17g %.17g %d %d\\n", observer.external[j], observer.threshold[j], observer.resting[j],
                                       observer.detected[j]);
    }
}
"""
CPP = """
#include "arm.h"
int main()
{
    ARM_observer o;
    BIG_REAL z[6] = {0};
    ARM_start(&o);
    ARM_observe(&o, BIG_REAL(0.004), z, z, z, 0);
    return o.detected[0];
}
"""


def observed(made: Calibration, **gravity: float) -> Calibration:
    """A calibration with all that the observer knows: noise, offset, scale, delay, rotors."""
    n = made.mechanism.n
    joints = {}
    for k, (name, joint) in enumerate(made.joints.items()):
        row = np.zeros(n)
        row[made.names.index(name)] = 0.5 + 0.1 * k
        speeds = np.geomspace(0.01, 1.5, 5)
        free = FreeMotion(
            DT, 0.2, 1e-3, tuple(row.tolist()), np.column_stack((speeds, 0.1 + 0.1 * speeds))
        )
        told = {
            "offset": known(0.3 - 0.1 * k),
            "scale": known(0.95 + 0.02 * k),
            "delay": known(0.003 * (k % 4), "s", 1e-4),
        }
        joints[name] = replace(
            joint,
            free_motion=free,
            gravity=joint.gravity | told | {key: known(value) for key, value in gravity.items()},
        )
    return replace(made, joints=joints)


def motion(n: int, samples: int = 600, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Uneven steps; joints rest, move and turn back; torques that jump."""
    rng = np.random.default_rng(seed)
    dt = DT * rng.uniform(0.8, 1.5, samples)
    t = np.cumsum(dt)
    phase, speed = rng.uniform(0.0, 6.0, n), rng.uniform(2.0, 6.0, n)
    q = 0.5 * np.sin(speed * t[:, None] + phase) * (t[:, None] % 1.0 > 0.3) + 0.3
    dq = 0.5 * speed * np.cos(speed * t[:, None] + phase) * (t[:, None] % 1.0 > 0.3)
    return (
        dt,
        q,
        dq,
        20.0 * rng.normal(size=(samples, n)),
        np.full((samples, n), 40.0) + 5.0 * rng.normal(size=(samples, n)),
    )


def run_header(made: Calibration, folder: Path, rows: np.ndarray, temperature: str) -> np.ndarray:
    n = made.mechanism.n
    (folder / "arm.h").write_text(export(made, "c").text, encoding="utf-8")
    (folder / "main.c").write_text(
        f"#define N {n}\n#define TEMPERATURE {temperature}\n"
        f"{MAIN.replace('ARM_', f'{identifier(made.arm)}_')}",
        encoding="utf-8",
    )
    said = printed(compiled(folder / "main.c", "-std=c99"), rows)
    return said.reshape(len(rows), n, 4).transpose(2, 0, 1)


def assert_same(made: Calibration, folder: Path, temperature: bool = False) -> None:
    dt, q, dq, tau, warm = motion(made.mechanism.n)
    found = run_header(
        made,
        folder,
        np.column_stack((dt, q, dq, tau, warm)),
        "s + 1 + 3 * N" if temperature else "0",
    )
    observer = ExternalTorque(made.mechanism, made)
    expected = observer.along(np.cumsum(dt), q, dq, tau, warm if temperature else None)
    for values, wanted in zip(
        found,
        (expected.torque, expected.threshold, expected.resting, expected.detected),
        strict=True,
    ):
        np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-9)
    calibrated = [name in made.joints for name in made.names]
    assert expected.resting[:, calibrated].any(axis=0).all()
    assert not expected.resting[:, calibrated].all(axis=0).any()
    assert expected.detected[:, calibrated].any(axis=0).all()


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_all_laws_and_loads(
    make_calibration: Callable[..., Calibration], tmp_path: Path, arm: str
) -> None:
    """The panda has fingers that slide, one of which follows the other."""
    tool = Tool(0.7, (0.02, -0.01, 0.1))
    assert_same(observed(make_calibration(arm, seed=EVERY_LAW[arm], tool=tool)), tmp_path)


@pytest.mark.slow
def test_joints_that_are_not_calibrated(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    joints = {"j2": made_joint("stribeck", "torque", 0), "j5": made_joint("tustin", "none", 1)}
    assert_same(observed(make_calibration(joints=joints)), tmp_path)


def test_load_components(make_calibration: Callable[..., Calibration], tmp_path: Path) -> None:
    parts = {"radial": (0.1, 8.0), "bending": (0.2, 3.0)}
    names = LAWS["stribeck"].parameters(True, tuple(parts))
    values = {name: 0.05 * (2 + k) for k, name in enumerate(names)} | {"stribeck_exponent": 1.5}
    told = {name: known(values[name]) for name in names}
    joint = replace(
        made_joint("stribeck", "none", 0),
        load="components",
        parameters=told,
        names=names,
        correlation=np.eye(len(names)),
        load_range=parts,
        load_part=(0.1, 1.0, 2.0),
    )
    assert_same(
        observed(make_calibration(joints={"j2": joint, "j3": made_joint("tustin", "bending", 1)})),
        tmp_path,
    )


@pytest.mark.slow
def test_directions_ripple_and_temperature(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    wave = Wave(40.0, "cogging", "known", 0.2, 0.01, 0.18, 0.22, 0.3, 0.2, 0.4, "N·m", "identified")
    warm = JointTemperature(
        30.0,
        "linear",
        "exponential",
        {
            "coulomb_temperature_slope": known(-0.01),
            "viscous_temperature_decay": known(20.0),
            "viscous_temperature_floor": known(0.3),
        },
        (20.0, 45.0),
        0.1,
        0.2,
        ((20.0, 0.05), (45.0, 0.05)),
    )
    joints = {
        "j1": replace(
            made_joint("stribeck", "torque", 0),
            directional="driving",
            gravity={"driving_difference": known(0.1)},
        ),
        "j2": replace(
            made_joint("stribeck", "none", 1),
            directional="viscous",
            gravity={"viscous_difference": known(-0.2)},
        ),
        "j3": replace(
            made_joint("stribeck", "bending", 2),
            ripple=(wave, replace(wave, kind="friction", order=7.0)),
        ),
        "j4": replace(made_joint("coulomb-viscous", "none", 3), temperature=warm),
    }
    made = observed(make_calibration(joints=joints))
    assert_same(made, tmp_path)
    assert_same(made, tmp_path, temperature=True)


@pytest.mark.slow
def test_a_corrected_torque_and_the_offset_in_the_friction(
    make_calibration: Callable[..., Calibration], tmp_path: Path
) -> None:
    made = observed(make_calibration())
    made = replace(
        made, joints={name: replace(joint, torque_scale=1.1) for name, joint in made.joints.items()}
    )
    assert_same(made.with_offset(), tmp_path)


def test_without_free_motion_the_header_says_so(
    make_calibration: Callable[..., Calibration],
) -> None:
    exported = export(make_calibration(), "c")
    assert "observe" not in exported.text
    assert any(
        "has no observer of external torque" in loss and "free_motion" in loss
        for loss in exported.losses
    )


@needs_cpp
@pytest.mark.parametrize(
    "more", [[], ["-DLAB6_REAL=float", "-fsingle-precision-constant", "-Wdouble-promotion"]]
)
def test_it_is_cpp_too_and_single_precision(
    make_calibration: Callable[..., Calibration], tmp_path: Path, more: list[str]
) -> None:
    (tmp_path / "arm.h").write_text(
        export(observed(make_calibration()), "c").text, encoding="utf-8"
    )
    (tmp_path / "main.cc").write_text(
        CPP.replace("ARM_", "lab6_").replace("BIG_", "LAB6_"), encoding="utf-8"
    )
    accept(tmp_path / "main.cc", "-std=c++11", *more)
