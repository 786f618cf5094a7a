"""Derivatives of loads by inertial parameters against finite differences of the loads."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.inertia.link_prior import LinkPrior
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.load_slopes import load_slopes
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism, PassiveJoints
from stribeck.ident.model.regressor import changed
from stribeck.ident.model.transmission import Transmission
from tests.judges import HAND, states, tree

STEP = 1e-3
CHAINS = {"planar-3-prr": 0.004, "three-loop-chain": 0.5, "gough-stewart": 0.05}  # reach


def chain(name: str) -> tuple[Mechanism, list[np.ndarray]]:
    """A machine with closed loops, and states."""
    m, rng = load_mechanism(load_arm(name)), np.random.default_rng(1)
    return m, [rng.uniform(-size, size, (3, m.n)) for size in (CHAINS[name], 1.0, 3.0)]


def check(m: Mechanism, *motion: np.ndarray, every: int = 1) -> None:
    """Compare the derivatives by every so many parameters of the prior with finite differences;
    no common factor with 10 leaves out a kind of parameter.
    """
    directions = LinkPrior(m).directions[:, ::every]
    slopes = load_slopes(m, directions, STEP, *motion)
    for k in range(directions.shape[1]):
        up, down = (
            joint_loads(changed(m, sign * STEP * directions[:, k]), *motion) for sign in (1.0, -1.0)
        )
        for load in LOADS:
            wanted = np.nan_to_num((up.get(load) - down.get(load)) / (2.0 * STEP))
            np.testing.assert_allclose(slopes[load][:, :, k], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_trees(seed: int) -> None:
    m = tree(seed)
    m = replace(m, bearings=(Bearing(0.02, 0.03, 0.05), None) * (m.n // 2))
    check(m, *states(seed, m.n), every=3)
    check(m, states(seed, m.n)[0], np.zeros((9, m.n)), every=7)


def test_followers_and_coupled_motors(tmp_path) -> None:
    (tmp_path / "hand.urdf").write_text(HAND)
    m = load_mechanism(tmp_path / "hand.urdf")
    ratios = np.eye(m.n) + np.diag(np.full(m.n - 1, 0.5), -1)
    check(replace(m, transmission=Transmission(m.names, ratios)), *states(0, m.n), every=3)


@pytest.mark.parametrize("name", CHAINS)
def test_closed_chains(name: str) -> None:
    m, motion = chain(name)
    check(m, *motion, every=7)


def test_friction_of_pins_and_shared_internal_forces_count() -> None:
    """Loads are then no longer lengths of linear functions of the joints alone."""
    m, (q, dq, ddq) = chain("planar-3-prr")
    pins = PassiveJoints("pins", ("link1", "link2"), values={"coulomb_coefficient": 0.002})
    assert m.chain is not None
    check(replace(m, chain=m.chain.with_classes((pins,))), q[:1], dq[:1], ddq[:1], every=9)
    check(driven_joints(replace(m.chain.whole, sharing="equal")), q[:1], dq[:1], ddq[:1], every=9)
