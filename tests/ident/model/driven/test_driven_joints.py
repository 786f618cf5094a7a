"""The driven joints of closed chains as a mechanism: posture, torques and
loads of the whole chain.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.model.chains.closed_chain import close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.dynamics import (
    inverse_dynamics,
    joint_origins,
    kinematics,
    mass_matrix,
    same_dynamics,
)
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.places import DATA

# range of the drives in these tests
MACHINES = {"planar-3-prr": 0.03, "three-loop-chain": 1.0, "gough-stewart": 0.08}


def motions(
    driven: Mechanism, far: float, count: int = 40
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random reachable states, well away from singular postures."""
    rng = np.random.default_rng(3)
    q, dq, ddq = (
        rng.uniform(-far, far, (count, driven.n)),
        rng.normal(size=(count, driven.n)),
        rng.normal(size=(count, driven.n)),
    )
    near = driven.chain.condition(q, q) < 60.0
    assert near.sum() > count / 4
    return q[near], 0.1 * dq[near], ddq[near]


@pytest.mark.parametrize(("name", "far"), MACHINES.items())
def test_drive_torques_equal_those_of_the_whole_chain(name: str, far: float) -> None:
    """Virtual work against the cut-joint forces of `closed_loads`."""
    whole = load_mechanism(name)
    driven, drives = driven_joints(whole), list(whole.active)
    q, dq, ddq = motions(driven, far)
    loads = closed_loads(whole, close_loops(whole, q, dq, ddq))
    assert driven.names == tuple(whole.names[j] for j in drives)
    np.testing.assert_allclose(
        inverse_dynamics(driven, q, dq, ddq), loads.tau[:, drives], rtol=1e-8, atol=1e-8
    )
    found = joint_loads(driven, q, dq, ddq)
    for load in LOADS:
        np.testing.assert_allclose(
            found.get(load), loads.joints.get(load)[:, drives], rtol=1e-8, atol=1e-8
        )


def test_slider_loads_of_the_planar_machine_agree_with_an_independent_computation() -> None:
    """Reference: normal and driving forces of an independent multiplier solution, accelerations
    from splines of its speeds.
    """
    driven, table = (
        driven_joints(load_mechanism("planar-3-prr")),
        pd.read_csv(DATA / "reference" / "e_3prr.csv"),
    )
    rest = np.array([-0.385657137141714, -0.346576560118759, 0.385657137141714])
    q, dq = table[["x1", "x2", "x3"]].to_numpy() - rest, table[["v1", "v2", "v3"]].to_numpy()
    whole = load_mechanism("planar-3-prr")
    platform = [whole.names.index(f"platform.{axis}") for axis in ("x", "y", "angle")]
    t = table["t"].to_numpy()
    pose = np.array(
        [0.05 * np.sin(np.pi * t), 0.02 * np.sin(2 * np.pi * t), 0.10 * np.sin(np.pi * t)]
    ).T
    rates = (
        np.pi
        * np.array(
            [0.05 * np.cos(np.pi * t), 0.04 * np.cos(2 * np.pi * t), 0.10 * np.cos(np.pi * t)]
        ).T
    )
    gains = (
        -(np.pi**2)
        * np.array(
            [0.05 * np.sin(np.pi * t), 0.08 * np.sin(2 * np.pi * t), 0.10 * np.sin(np.pi * t)]
        ).T
    )
    ddq = close_loops(whole, pose, rates, gains, known=platform).ddq[:, list(whole.active)]
    loads = joint_loads(driven, q, dq, ddq)
    np.testing.assert_allclose(loads.normal, table[["fn1", "fn2", "fn3"]], rtol=1e-6)
    np.testing.assert_allclose(
        loads.tau, table[["tau0_1", "tau0_2", "tau0_3"]], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize(("name", "far"), MACHINES.items())
def test_mass_matrix_of_the_drives_is_symmetric_positive_and_consistent(
    name: str, far: float
) -> None:
    driven = driven_joints(load_mechanism(name))
    q, dq, ddq = motions(driven, far, 20)
    M = mass_matrix(driven, q)
    np.testing.assert_allclose(M, M.transpose(0, 2, 1), rtol=1e-9, atol=1e-9)
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    force = inverse_dynamics(driven, q, dq, ddq) - inverse_dynamics(driven, q, dq)
    np.testing.assert_allclose(force, np.einsum("nij,nj->ni", M, ddq), rtol=1e-7, atol=1e-7)


def test_gravity_and_bearings_come_from_the_driven_mechanism() -> None:
    driven = driven_joints(load_mechanism("planar-3-prr"))
    assert (np.abs(inverse_dynamics(driven.weightless, np.zeros((1, 3)))) < 1e-12).all()
    bare = replace(driven, bearings=(None, *driven.bearings[1:]))
    assert np.isnan(joint_loads(bare, np.zeros((1, 3))).normal).tolist() == [[True, False, False]]


@pytest.mark.slow
def test_a_posture_out_of_reach_is_refused_and_has_an_infinite_condition_number() -> None:
    driven = driven_joints(load_mechanism("planar-3-prr"))
    far = np.array([[0.3, -0.3, 0.0]])
    assert np.isinf(driven.chain.condition(np.zeros((1, 3)), far)).all()
    with pytest.raises(PostureError, match="is not reached"):
        inverse_dynamics(driven, far)


@pytest.mark.slow
def test_condition_number_of_a_path_is_the_greatest_along_it() -> None:
    driven = driven_joints(load_mechanism("three-loop-chain"))
    ends = np.array([[1.4]])
    along = driven.chain.condition(np.zeros((1, 1)), ends)
    assert along == pytest.approx(driven.chain.condition(ends, ends))
    assert along > 2.0 * driven.chain.condition(np.zeros((1, 1)), np.zeros((1, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("end", [(0.082, 0.340, -0.406), (0.147, 0.455, -0.427)])
def test_a_peak_of_the_condition_number_within_a_path_is_found(
    end: tuple[float, float, float],
) -> None:
    driven = driven_joints(load_mechanism("planar-3-prr"))
    start, end_ = np.zeros((1, 3)), np.array([end])
    places = np.linspace(0.0, 1.0, 201)[:, None] * end_
    everywhere = driven.chain.condition(places, places)
    assert everywhere.argmax() not in (0, 200)
    assert driven.chain.condition(start, end_) == pytest.approx(everywhere.max(), rel=2e-3)


def test_functions_of_a_tree_refuse_driven_joints() -> None:
    driven = driven_joints(load_mechanism("planar-3-prr"))
    q = np.zeros((1, 3))
    with pytest.raises(ModelError, match="slider1, slider2, slider3 drive a closed chain"):
        kinematics(driven, q, q, q)
    assert joint_origins(driven, q).shape == (1, driven.chain.whole.n + 1, 3)


def test_models_with_other_masses_or_loops_have_other_dynamics() -> None:
    whole = load_mechanism("planar-3-prr")
    driven = driven_joints(whole)
    assert same_dynamics(driven, driven_joints(load_mechanism("planar-3-prr")))
    assert not same_dynamics(driven, driven_joints(replace(whole, mass=1.1 * whole.mass)))
    assert not same_dynamics(driven, replace(driven, chain=None))
    moved = replace(whole.closures[0], points=whole.closures[0].points + np.array([1e-3, 0.0, 0.0]))
    assert not same_dynamics(
        driven, driven_joints(replace(whole, closures=(moved, *whole.closures[1:])))
    )


@pytest.mark.parametrize(
    ("passive", "words"),
    [
        ((0, 1, 2, 3, 4, 5, 6, 7, 8), "every joint is passive"),
        ((0, 1, 2, 4, 6, 7, 8), "determine only"),
        ((0, 1, 4, 6, 8), "cannot move independently"),
    ],
)
def test_drives_that_do_not_determine_the_posture(passive: tuple[int, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        driven_joints(replace(load_mechanism("planar-3-prr"), passive=passive))


def test_driven_joints_refuse_a_chain_with_free_elastic_joints() -> None:
    with pytest.raises(
        InputError,
        match=r"elastic joints \(for example spring1\) move by themselves.*stribeck loads and "
        r"simulate",
    ):
        driven_joints(load_mechanism("flexible-parallel"))
