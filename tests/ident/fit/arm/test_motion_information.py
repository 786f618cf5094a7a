"""Expected information of a motion: gradients, sums, and standard errors against least
squares on simulated torques.
"""

from dataclasses import replace

import numpy as np
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.arm.motion_information import (
    Course,
    JointGuess,
    MotionInformation,
    passes_of,
)
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.regressor import changed

W = 2.0 * np.pi / 8.0 * np.arange(1, 5)


@pytest.fixture(scope="module")
def arm():
    mechanism = load_mechanism("lab6")
    levels = (6.5, 6.5, 4.0, 1.4, 1.4, 1.4)
    return MotionInformation(
        mechanism,
        tuple(JointGuess(c, 1.4 * c, 0.05, 1.3 * c, 0.08, 1.5, 0.02 * c, 0.01 * c) for c in levels),
    )


def series(seed: int, rate: float = 25.0, seconds: float = 8.0):
    a, b = 0.3 * np.random.default_rng(seed).standard_normal((2, 6, len(W)))
    t = np.arange(0.5 / rate, seconds, 1.0 / rate)
    return (a, b), t


def course(amplitudes, t) -> Course:
    (a, b), s, c = amplitudes, np.sin(np.outer(t, W)), np.cos(np.outer(t, W))
    return Course(
        s @ (a / W).T + c @ (b / W).T,
        c @ a.T - s @ b.T,
        -(s * W) @ a.T - (c * W) @ b.T,
        float(t[1] - t[0]),
    )


@pytest.mark.slow
def test_gradient_equals_finite_differences(arm):
    amplitudes, t = series(0)
    here = course(amplitudes, t)
    passes = passes_of(here)

    def weighed(tau):
        return 1e-4 * float((tau**2).sum()), 2e-4 * tau

    gain, cost, slopes = arm.gain_and_slope(here, arm.prior, weighed, passes)
    assert gain > 50.0
    assert cost == pytest.approx(
        1e-4 * np.sum(inverse_dynamics(arm.mechanism, here.q, here.dq, here.ddq) ** 2)
    )
    for trial in range(3):
        way, _ = series(10 + trial)
        ends = [
            course((amplitudes[0] + h * way[0], amplitudes[1] + h * way[1]), t)
            for h in (1e-5, -1e-5)
        ]
        values = [
            np.subtract(*arm.gain_and_slope(end, arm.prior, weighed, passes)[:2]) for end in ends
        ]
        along = sum(
            float(np.sum(slope * (getattr(ends[0], key) - getattr(ends[1], key))))
            for key, slope in zip(("q", "dq", "ddq"), slopes, strict=True)
        )
        assert values[0] - values[1] == pytest.approx(along, rel=5e-3, abs=1e-5)


def test_information_adds_up_and_decreases_with_noise(arm):
    amplitudes, t = series(1)
    once = arm.told(course(amplitudes, t))
    np.testing.assert_allclose(arm.told(replace(course(amplitudes, t), times=3)), 3.0 * once)
    noisy = replace(
        arm,
        guesses=tuple(
            replace(one, within=2.0 * one.within, level=2.0 * one.level) for one in arm.guesses
        ),
    )
    np.testing.assert_allclose(noisy.told(course(amplitudes, t)), once / 4.0)
    np.testing.assert_array_less(0.0, np.linalg.eigvalsh(once + arm.prior))
    assert arm.gain(arm.prior + once) > 0.0
    assert arm.gain(arm.prior) == 0.0


def test_joints_at_rest_carry_no_information_about_friction(arm):
    (a, b), t = series(2)
    a[3:], b[3:] = 0.0, 0.0
    *_, friction = arm.deviations(arm.prior + arm.told(course((a, b), t)))
    before = arm.deviations(arm.prior)[2]
    np.testing.assert_allclose(friction[3:], before[3:])
    assert (friction[:3, :4] < 0.5 * before[:3, :4]).all()


@pytest.mark.slow
def test_standard_errors_equal_those_of_least_squares(arm):
    """The judge is least squares with finite differences of inverse dynamics of changed
    links, and of the table's law.
    """
    amplitudes, t = series(3, rate=40.0)
    here = course(amplitudes, t)
    prior, scatter, law = LinkPrior(arm.mechanism), Scatter(0.3, 0.3), law_named("stribeck")
    unit = prior.directions @ scatter.root(arm.mechanism.n)
    names = ("coulomb", "static", "stribeck_velocity", "viscous", "coulomb_coefficient")
    information = np.eye(unit.shape[1] + 14 * arm.mechanism.n)
    rigid = inverse_dynamics(arm.mechanism, here.q, here.dq, here.ddq)
    for j, guess in enumerate(arm.guesses):

        def friction(k: int, step: float, j: int = j, guess: JointGuess = guess) -> np.ndarray:
            values = {name: getattr(guess, name) for name in names[:4]}
            growth = guess.coulomb_coefficient
            if k == 2:
                values["stribeck_velocity"] *= np.exp(step)
            elif k == 4:
                growth += step
            else:
                values[names[k]] += step
            load = np.hypot(rigid[:, j], 0.1 * guess.coulomb)
            return np.sign(here.dq[:, j]) * (
                law.torque(np.abs(here.dq[:, j]), values, None) + growth * load
            )

        step, q, dq = 1e-4, here.q[:, j], here.dq[:, j]
        links = [
            (
                inverse_dynamics(changed(arm.mechanism, step * column), here.q, here.dq, here.ddq)[
                    :, j
                ]
                - rigid[:, j]
            )
            / step
            for column in unit.T
        ]
        own = [
            (friction(k, step) - friction(k, -step)) / (2.0 * step) * size
            for k, size in enumerate(guess.deviations)
        ]
        scale, sign = guess.coulomb, np.sign(dq)
        beside = [
            np.full(len(q), scale),
            scale / guess.velocity * here.ddq[:, j],
            guess.viscous * np.abs(dq),
            sign * (guess.static - scale) * np.exp(-np.abs(dq) / guess.stribeck_velocity),
            guess.viscous * dq * np.abs(dq) / guess.velocity,
            *(
                0.3 * scale * sign * wave(turns * q)
                for turns in (1, 2)
                for wave in (np.sin, np.cos)
            ),
        ]
        counts = dq**2 / (dq**2 + (0.02 * guess.velocity) ** 2)
        X = (counts * np.array([*links, *own, *beside])).T
        passes = np.cumsum(np.diff(sign, prepend=sign[:1]) != 0.0)
        V = guess.within**2 / (40.0 * here.dt) * np.eye(len(q)) + guess.level**2 * (
            passes[:, None] == passes
        )
        at = np.concatenate((np.arange(60), 60 + 14 * j + np.arange(14)))
        information[np.ix_(at, at)] += X.T @ np.linalg.solve(V, X)
    covariance = np.linalg.inv(information)
    base = arm.base.combination @ unit
    expected = np.sqrt(np.diag(base @ covariance[:60, :60] @ base.T))
    found, parts, of_friction = arm.deviations(arm.prior + arm.told(here))
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    np.testing.assert_allclose(parts, expected / np.linalg.norm(base, axis=1), rtol=1e-3)
    for j, guess in enumerate(arm.guesses):
        own = np.sqrt(np.diag(covariance)[60 + 14 * j : 65 + 14 * j]) * guess.deviations
        np.testing.assert_allclose(of_friction[j], own, rtol=1e-3)


def test_condition_is_infinite_if_the_motion_hides_a_parameter(arm):
    """Only the last joint moves: the first joints' inertia has no effect."""
    amplitudes, t = series(2)
    only = np.arange(6) == 5
    assert np.isfinite(arm.condition(course(amplitudes, t)))
    assert (
        arm.condition(course((amplitudes[0] * only[:, None], amplitudes[1] * only[:, None]), t))
        == np.inf
    )
