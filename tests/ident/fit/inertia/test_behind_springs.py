"""A link on a spring behind its drive: with the stiffness stated in the arm file, the
fit identifies its inertia.

The motion is exact: the motion of the link is given, and the drive's motion follows from the torque
in the spring (Spong 1987).
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.run import Run

# N·m/rad, kg·m², kg·m, kg·m²
STIFFNESS, ROTOR, FIRST_MOMENT, INERTIA = 1000.0, 0.02, 0.4, 0.1066667
COULOMB, VISCOUS = 1.0, 0.35


@cache
def fitted(stated: float | None) -> Identification:
    t = np.arange(6000) / 500.0
    w = 2.0 * np.pi * np.array([0.31, 0.83, 1.3])
    terms = np.array([0.7, 0.25, 0.12]) * np.exp(1j * (w * t[:, None] + np.array([0.0, 1.0, 2.0])))

    def link(order: int) -> np.ndarray:
        return np.sum((1j * w) ** order * terms, axis=1).imag

    def rate(values: np.ndarray) -> np.ndarray:
        return np.gradient(values, t, edge_order=2)

    arm = load_arm("elastic1")
    spring = INERTIA * link(2) + 9.81 * FIRST_MOMENT * np.cos(link(0))
    q = link(0) + spring / STIFFNESS
    dq = rate(q)
    tau = spring + ROTOR * rate(dq) + COULOMB * np.sign(dq) + VISCOUS * dq
    tau += 0.01 * np.random.default_rng(0).standard_normal(len(t))
    table = replace(arm.joint("shoulder"), stiffness=stated)
    run = Run(
        Path("log"),
        {"start": "2026-01-01T00:00:00+00:00"},
        replace(arm, joints={"shoulder": table}),
        (),
        ("shoulder",),
        t,
        np.zeros(len(t), dtype=int),
        {"q": q[:, None], "tau": tau[:, None]},
        f"stiffness {stated}",
    )
    return identify(
        [run], Options(motion="model", law="coulomb-viscous", load="none", inertia="fit")
    )


def test_model_of_the_link_is_right() -> None:
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix

    model = load_mechanism("elastic1")
    assert mass_matrix(model, [[0.3]])[0, 0, 0] == pytest.approx(INERTIA, rel=1e-4)
    assert abs(inverse_dynamics(model, [[0.3]])[0, 0]) == pytest.approx(
        9.81 * FIRST_MOMENT * np.cos(0.3), rel=1e-4
    )


@pytest.mark.slow
def test_without_stated_stiffness_the_identified_inertia_is_wrong() -> None:
    inertia = fitted(None).calibration.model.inertia
    apart = [
        abs(one.value - true) / one.std_error
        for one, true in zip(inertia.parameters.values(), truth(), strict=True)
    ]
    assert max(apart) > 5.0


@pytest.mark.slow
def test_with_stated_stiffness_intervals_cover_the_true_inertia() -> None:
    found = fitted(STIFFNESS)
    inertia = found.calibration.model.inertia
    for name, one, true in zip(
        inertia.parameters, inertia.parameters.values(), truth(), strict=True
    ):
        assert abs(one.value - true) < 1.5 * one.half_width + 1e-12, name
    parameters = found.calibration.joints["shoulder"].parameters
    assert parameters["coulomb"].value == pytest.approx(COULOMB, rel=0.01)
    assert parameters["viscous"].value == pytest.approx(VISCOUS, rel=0.01)


def truth() -> list[float]:
    """Base parameters of the link: hx, hz, Iyy."""
    return [FIRST_MOMENT, 0.0, INERTIA]
