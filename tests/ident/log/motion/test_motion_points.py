"""Rests, gaps and twitches in general motion: only sliding friction reaches the points.

The true friction is Coulomb 1 N·m and viscous 0.5 N·m·s/rad, on a wheel without gravity; this file
computes torque and motion.
"""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.errors import FitError
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.fit_joint_motion import identify_motion
from stribeck.ident.fit.joint.general_motion import fit_motion, motion_points
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.motion.filtered_motion import Log, filtered
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism

INERTIA, COULOMB, VISCOUS = 0.05, 1.0, 0.5


def wheel() -> Mechanism:
    return Mechanism(
        "wheel",
        ("turn",),
        (-1,),
        prismatic=np.array([False]),
        axis=np.array([[0.0, 0.0, 1.0]]),
        origin=np.zeros((1, 3)),
        mass=np.ones(1),
        com=np.zeros((1, 3)),
        inertia=np.array([INERTIA * np.eye(3)]),
        gravity=np.array([0.0, 0.0, -9.81]),
        position=np.array([[-9.0, 9.0]]),
        bearings=(None,),
    )


def recorded(t: np.ndarray, q: np.ndarray, tau: np.ndarray, encoder: float = 1e-5) -> Log:
    arm = ArmFile(
        Path("wheel.toml"),
        "wheel",
        Path("wheel.urdf"),
        (0.0, 0.0, -9.81),
        "motor current",
        Tool(),
        Workspace(),
        DriverTable(),
        {"turn": JointTable()},
        {},
    )
    signals = {"q": np.round(q / encoder)[:, None] * encoder, "tau": tau[:, None]}
    run = Run(Path("wheel"), {}, arm, (), ("turn",), t, np.zeros(len(t), dtype=int), signals)
    return filtered([run], [wheel()])


def reduced(t: np.ndarray, q: np.ndarray, tau: np.ndarray, encoder: float = 1e-5) -> Motion:
    return reduce_motion(recorded(t, q, tau, encoder), "turn")


def moves_and_rests(
    rate: float, held: str, seed: int = 0, seconds: float = 60.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trapezoidal moves with rests between them; `held` is the torque at rest:
    "random", "zero" or "kept".
    """
    rng, dt, acceleration = np.random.default_rng(seed), 1.0 / rate, 2.0
    q, dq, ddq, rest = [], [], [], []
    at = 0.0
    while len(q) < seconds * rate:
        sign = rng.choice([-1.0, 1.0]) if abs(at) < 0.5 else -np.sign(at)
        way = rng.uniform(0.05, 0.4)
        speed = min(rng.choice([0.1, 0.2, 0.3, 0.5]), np.sqrt(way * acceleration))
        ramp, whole = speed / acceleration, way / speed + speed / acceleration
        u = np.arange(int(whole / dt)) * dt
        v = np.minimum(speed, acceleration * np.minimum(u, whole - u))
        x = np.where(
            u < ramp,
            0.5 * acceleration * u**2,
            np.where(
                u < whole - ramp,
                speed * (u - 0.5 * ramp),
                way - 0.5 * acceleration * (whole - u) ** 2,
            ),
        )
        q += list(at + sign * x)
        dq += list(sign * v)
        ddq += list(
            sign * acceleration * np.where(u < ramp, 1.0, np.where(u < whole - ramp, 0.0, -1.0))
        )
        at += sign * way
        still = round(rng.uniform(0.2, 0.8) * rate)
        rest += [np.nan] * len(u)
        rest += [
            {
                "random": 0.9 * COULOMB * rng.uniform(-1.0, 1.0),
                "zero": 0.0,
                "kept": 0.8 * COULOMB * sign,
            }[held]
        ] * still
        q += [at] * still
        dq += [0.0] * still
        ddq += [0.0] * still
    q, dq, ddq, rest = (np.array(values) for values in (q, dq, ddq, rest))
    sliding = INERTIA * ddq + COULOMB * np.sign(dq) + VISCOUS * dq
    return np.arange(len(q)) * dt, q, np.where(np.isnan(rest), sliding, rest)


def off(fit: FitResult) -> tuple[float, float]:
    return abs(fit.values["coulomb"] / COULOMB - 1.0), abs(fit.values["viscous"] / VISCOUS - 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "encoder", "held"),
    [(100.0, 1e-5, "kept"), (100.0, 1e-5, "random"), (250.0, 2.0 * np.pi / 2**14, "zero")],
)
def test_friction_is_not_biased_by_rests(rate: float, encoder: float, held: str) -> None:
    """Without the mask, the bias was 4 % of Coulomb and 37 % of viscous friction at 100 Hz."""
    t, q, tau = moves_and_rests(rate, held)
    chosen = fit_motion(reduced(t, q, tau, encoder))
    coulomb, viscous = off(chosen)
    assert coulomb < 0.003
    assert viscous < 0.02
    assert abs(chosen.nuisance["offset"].value) < 0.003


def test_torque_at_rest_does_not_reach_the_points() -> None:
    """Logs that differ only in their rests give the same points."""
    seen = []
    for held in ("random", "kept", "zero"):
        t, q, tau = moves_and_rests(250.0, held)
        seen.append((motion := reduced(t, q, tau)).view(motion.tau))
    for other in seen[1:]:
        np.testing.assert_allclose(seen[0], other, atol=1e-12)


@pytest.mark.slow
def test_slow_motion_beside_a_smooth_rest_is_kept() -> None:
    """A joint that comes to rest smoothly is slow long before it stands; one that stops at once
    loses what its filter blurs.
    """
    t = np.arange(30000) / 1000.0
    since, nothing = t % 3.0, np.zeros(len(t))
    smooth = np.where(since < 2.0, since - np.sin(np.pi * since) / np.pi, 2.0)
    abrupt = np.minimum(since, 2.0)
    lost = []
    for way in (smooth, abrupt):
        motion = reduced(t, np.where(t % 6.0 < 3.0, way, 2.0 - way), nothing)
        moves = np.abs(motion.dq) > 1.001 * motion.least
        seen = np.asarray(np.abs(motion.seen).sum(axis=0)) > 0.0
        inner = slice(300, len(moves) - 300)
        lost.append(np.sum(moves[inner] & ~seen[inner]) / (2 * 9))
    assert lost[0] < 2
    assert lost[1] > 5


def swing(seconds: float = 60.0, rate: float = 50.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.arange(round(seconds * rate)) / rate
    w, a = 2.0 * np.pi * np.array([0.11, 0.43, 0.71]), np.array([0.9, 0.25, 0.12])
    turn = w * t[:, None] + np.array([0.3, 2.0, 4.0])
    dq, ddq = np.cos(turn) @ (a * w), -np.sin(turn) @ (a * w**2)
    return t, np.sin(turn) @ a, INERTIA * ddq + COULOMB * np.sign(dq) + VISCOUS * dq


@pytest.mark.slow
def test_samples_interpolated_in_a_gap_do_not_reach_the_points() -> None:
    """Gaps of four periods at 50 Hz: within the filter's bandwidth, but
    too short to split the log.
    """
    t, q, tau = swing()
    keep = (np.arange(len(t)) % 40 < 37) | (np.arange(len(t)) < 10)
    whole, motion = reduced(t, q, tau), reduced(t[keep], q[keep], tau[keep])
    weight = np.abs(motion.seen).sum(axis=0)
    holes = np.isin(np.round(motion.t / 0.02).astype(int) % 40, [38, 39])
    assert np.mean(holes) > 0.04
    assert weight[holes].max() == 0.0
    found, without = (
        fit_motion(one, law="coulomb-viscous", directional="none").values for one in (motion, whole)
    )
    assert found["coulomb"] == pytest.approx(without["coulomb"], rel=0.005)
    assert found["viscous"] == pytest.approx(without["viscous"], rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("lasts", [0.06, 0.08, 0.12, 0.2])
def test_a_joint_that_only_twitches_is_fitted_or_refused(lasts: float) -> None:
    """A short motion by 20 mrad and back, which may give no point."""
    t = np.arange(15000) / 250.0
    since = t % 6.0
    q = np.where(since < lasts, 0.02 * np.sin(np.pi * since / lasts) ** 2, 0.0)
    with suppress(FitError):
        log = recorded(t, q, 0.3 * np.sign(np.gradient(q)))
        assert len(identify_motion(log, wheel(), "turn", Options(motion="model")).points)


def test_points_without_a_clear_direction_are_refused() -> None:
    t, q, tau = moves_and_rests(250.0, "zero")
    motion = reduced(t, q, tau)
    shaking = replace(motion, dq=np.abs(motion.dq) * (-1.0) ** np.arange(len(motion.dq)))
    with pytest.raises(
        FitError, match="turn reverses too soon: it always reverses within the length of the filter"
    ):
        motion_points(shaking, motion.view(motion.tau))
