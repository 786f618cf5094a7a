"""A flange without mass in the model: its joint has no load, and its
identified link is a possible body.
"""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_logs import as_run
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify

ARM = """<robot name="flange"><link name="base"/><link name="a"><inertial><origin xyz="0.2 0 0.03"/><mass value="1.7"/>
<inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="b"/>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="3" effort="60"/></joint>
<joint name="k" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="3" effort="9"/></joint></robot>"""
MASS, COM, INERTIA = 2.0, (0.2, 0.03), 0.03  # true link a


@pytest.mark.slow
def test_inertia_and_friction_of_an_arm_with_a_flange(tmp_path: Path) -> None:
    (tmp_path / "flange.urdf").write_text(ARM, encoding="utf-8")
    t, rng = np.arange(0.0, 25.0, 0.004), np.random.default_rng(0)
    w, a = 2.0 * np.pi * np.array([0.17, 0.29, 0.43]), np.array([0.6, 0.35, 0.2])
    phase = rng.uniform(0.0, 6.0, (2, 3, 1))
    q, dq, ddq = (
        np.stack([(a * w**k) @ wave(w[:, None] * t + one) for one in phase], axis=1)
        for k, wave in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))
    )
    (x, z), about = COM, INERTIA + MASS * (COM[0] ** 2 + COM[1] ** 2)
    rigid = about * ddq[:, 0] - MASS * 9.81 * (x * np.cos(q[:, 0]) + z * np.sin(q[:, 0]))
    friction = np.sign(dq) * [1.5, 0.15] + dq * [0.8, 0.07]
    tau = (
        np.column_stack((rigid, np.zeros(len(t))))
        + friction
        + rng.normal(size=q.shape) * [0.05, 0.005]
    )
    run = as_run(tmp_path / "flange.urdf", t, q, tau)
    found = identify(
        [run], Options(motion="model", law="coulomb-viscous", inertia="fit")
    ).calibration
    assert abs(found.joints["j"].values["coulomb"] - 1.5) < 0.03
    assert abs(found.joints["k"].values["coulomb"] - 0.15) < 0.003
    links = found.model.inertia.links
    assert abs(links["j"].mass * links["j"].com[0] - MASS * COM[0]) < 0.004
    assert 0.0 < links["k"].mass < 0.02
    assert min(links["k"].inertia[:3]) > 0.0
