"""Default home posture in the arm file of `init`."""

import numpy as np
import pytest

from stribeck.experiments.arm_files.init_arm import arm_text
from stribeck.experiments.arm_files.ready_posture import ready_posture
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism

HEAVY = 9.81 * 2.0 * 0.5  # N·m, gravity torque of 2 kg on a horizontal lever of half a metre


def lever(folder, low=-3.0, high=3.0, effort=50.0):
    """A lever that is horizontal at zero."""
    path = folder / "lever.urdf"
    path.write_text(
        '<robot name="lever"><link name="base"/><link name="arm"><inertial><origin xyz="0.5 0 '
        '0"/><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link><joint name="lift" type="revolute"><parent '
        f'link="base"/><child link="arm"/><axis xyz="0 -1 0"/><limit lower="{low}" upper="{high}" '
        f'effort="{effort}" velocity="2"/></joint></robot>',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("low", "high", "home"),
    [(-3.0, 3.0, None), (0.8, 2.4, 1.6), (0.0, 3.0, 1.5), (-2.0, -1.0, -1.5)],
)
def test_home_is_zero_unless_zero_is_at_or_beyond_a_limit(tmp_path, low, high, home):
    path = lever(tmp_path, low, high)
    (tmp_path / "lever.toml").write_text(arm_text(path), encoding="utf-8")
    arm = load_arm(tmp_path / "lever.toml")
    assert arm.workspace.home == (None if home is None else (home,))


def test_home_needs_less_torque_if_the_arm_is_too_heavy_at_zero(tmp_path):
    mechanism = load_mechanism(lever(tmp_path))
    found = ready_posture(mechanism, np.array([[-3.0, 3.0]]), np.array([1.1 * HEAVY]))
    assert 0.0 < abs(HEAVY * np.cos(found[0])) <= 0.6 * 1.1 * HEAVY
    assert abs(found[0]) < 1.2, "the nearest of these postures"
    assert ready_posture(mechanism, np.array([[-3.0, 3.0]]), np.array([np.nan])).tolist() == [
        0.0
    ], "unknown torque limit"
