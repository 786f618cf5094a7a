"""Generalised momentum and its rate: Pinocchio as judge."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.errors import ModelError
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix
from stribeck.ident.model.momentum import momentum
from tests.judges import HAND, Pinocchio, states, tree

pin = pytest.importorskip("pinocchio")


@pytest.mark.parametrize("seed", range(6))
def test_momentum_and_its_rate_are_those_of_pinocchio(seed):
    """drift = C^T dq - g, on a serial arm: Pinocchio numbers other trees in its own order."""
    mechanism = replace(tree(seed), parent=tuple(range(-1, 7)))
    judge, (q, dq, _) = Pinocchio(pin, mechanism), states(seed, mechanism.n)
    p, drift = momentum(mechanism, q, dq)
    for k in range(len(q)):
        M = pin.crba(judge.model, judge.data, q[k])
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(p[k], M @ dq[k], rtol=1e-9, atol=1e-9)
        C = pin.computeCoriolisMatrix(judge.model, judge.data, q[k], dq[k])
        g = pin.computeGeneralizedGravity(judge.model, judge.data, q[k])
        np.testing.assert_allclose(
            drift[k], C.T @ dq[k] - g, rtol=1e-9, atol=1e-9 * np.abs(g).max()
        )


@pytest.mark.parametrize("seed", range(4))
def test_the_rate_of_momentum_balances_the_torques_of_a_branching_tree(seed):
    """Torques by Pinocchio; the rate of the momentum by central differences along a path."""
    mechanism, step = tree(seed), 1e-5
    judge, (q, dq, ddq) = Pinocchio(pin, mechanism), states(seed, mechanism.n)
    after, before = (
        momentum(mechanism, q + sign * step * dq, dq + sign * step * ddq)[0] for sign in (1.0, -1.0)
    )
    _, drift = momentum(mechanism, q, dq)
    tau = np.array([judge(*state)[0] for state in zip(q, dq, ddq, strict=True)])
    np.testing.assert_allclose(
        (after - before) / (2.0 * step) - drift, tau, rtol=1e-6, atol=1e-6 * np.abs(tau).max()
    )


def test_rotors_carry_momentum_and_no_force():
    mechanism = load_mechanism("lab6")
    q, dq, _ = states(0, 6)
    p, _ = momentum(mechanism, q, dq)
    np.testing.assert_allclose(
        p, np.einsum("nij,nj->ni", mass_matrix(mechanism, q) + mechanism.rotors, dq), atol=1e-12
    )
    np.testing.assert_allclose(np.diag(mechanism.rotors), [1.2, 1.2, 0.6, 0.15, 0.15, 0.15])


def test_a_follower_counts_for_its_leader(tmp_path):
    """Equation of motion along a path, with the derivative of the
    momentum by central differences.
    """
    (tmp_path / "hand.urdf").write_text(HAND, encoding="utf-8")
    mechanism = load_mechanism(tmp_path / "hand.urdf")
    assert mechanism.followers
    t, step = np.linspace(0.0, 1.0, 7), 1e-5
    q = lambda at: np.column_stack((np.sin(2.0 * at), 0.05 + 0.04 * np.cos(3.0 * at)))  # noqa: E731
    dq = lambda at: np.column_stack((2.0 * np.cos(2.0 * at), -0.12 * np.sin(3.0 * at)))  # noqa: E731
    ddq = np.column_stack((-4.0 * np.sin(2.0 * t), -0.36 * np.cos(3.0 * t)))
    after, before = (
        momentum(mechanism, q(t + sign * step), dq(t + sign * step))[0] for sign in (1.0, -1.0)
    )
    _, drift = momentum(mechanism, q(t), dq(t))
    np.testing.assert_allclose(
        (after - before) / (2.0 * step) - drift,
        inverse_dynamics(mechanism, q(t), dq(t), ddq),
        atol=1e-6,
    )


def test_a_closed_chain_is_refused():
    chain = load_mechanism("three-loop-chain")
    with pytest.raises(ModelError, match=r"closed chain|closures|loops"):
        momentum(chain, np.zeros((1, chain.n)), np.zeros((1, chain.n)))
