"""The observer: torques by Pinocchio, pushes of known size, friction within its bound."""

from dataclasses import replace

import numpy as np
import pytest

from stribeck import Calibration, ExternalTorque, load_mechanism
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.external.observed_arm import refuse_unobservable
from stribeck.ident.log.free_motion import FreeMotion
from stribeck.ident.model.joint_parts import Spring
from tests.ident.export.conftest import known, made_joint, make_calibration  # noqa: F401  # the fixture
from tests.judges import Pinocchio

pin = pytest.importorskip("pinocchio")
DT = 0.001
QUIET = FreeMotion(DT, 0.0, 0.0, (0.0,) * 6, np.zeros((1, 2)))


def quiet(made: Calibration, **free: object) -> Calibration:
    """A calibration of lab6 without noise, unless stated; the rotors are those of the arm file."""
    return replace(
        made,
        joints={
            name: replace(joint, free_motion=replace(QUIET, **free))
            for name, joint in made.joints.items()
        },
    )


@pytest.fixture
def made(make_calibration):  # noqa: F811
    loads = ("none", "none", "none", "none", "none", "none")
    return quiet(
        make_calibration(
            joints={f"j{k + 1}": made_joint("stribeck", load, k) for k, load in enumerate(loads)}
        )
    )


def swings(samples: int = 3000):
    """Smooth motion in which no joint rests at the end."""
    t = DT * np.arange(samples)
    rate, phase = np.linspace(0.9, 1.6, 6), np.linspace(0.0, 0.6, 6)
    q = 0.8 * np.sin(rate * t[:, None] + phase)
    return (
        t,
        q,
        0.8 * rate * np.cos(rate * t[:, None] + phase),
        -0.8 * rate**2 * np.sin(rate * t[:, None] + phase),
    )


def passes(samples: int = 3000):
    """Smooth motion in which no joint rests or turns back."""
    t = DT * np.arange(samples)
    rate, phase = np.linspace(2.0, 4.0, 6), np.linspace(0.0, 2.0, 6)
    angle = rate * t[:, None] + phase
    return (
        t,
        0.3 * t[:, None] - 0.2 / rate * np.cos(angle),
        0.3 + 0.2 * np.sin(angle),
        0.2 * rate * np.cos(angle),
    )


def driven(made: Calibration, t, q, dq, ddq, external):
    """Torques by Pinocchio, with rotors and the calibration's friction,
    against external torques.
    """
    arm = load_mechanism("lab6")
    judge = Pinocchio(pin, arm)
    rigid = np.array([judge(*state)[0] for state in zip(q, dq, ddq, strict=True)])
    return rigid + ddq @ arm.rotors + made.friction(q, dq) - external


@pytest.mark.slow
def test_a_push_appears_as_the_filter_of_first_order_says(made):
    t, q, dq, ddq = passes()
    external = np.zeros_like(q)
    external[1000:] = [5.0, -4.0, 3.0, 1.0, -1.0, 0.5]
    arm, gain = load_mechanism("lab6"), 20.0
    found = ExternalTorque(arm, made, gain).along(t, q, dq, driven(made, t, q, dq, ddq, external))
    rise = (
        np.where(t > t[999], 1.0 - np.exp(-gain * (t - t[999] - 0.5 * DT)), 0.0)[:, None]
        * external[-1]
    )
    assert not found.resting[10:].any()
    np.testing.assert_allclose(found.torque[600:], rise[600:], atol=0.01)
    assert not found.detected[600:999].any()
    assert found.detected[1300].all()


@pytest.mark.parametrize("gain", [1.0, 1e3, 1e6])
def test_no_gain_makes_it_unstable(made, gain):
    """Samples that are far apart for the gain: the estimate becomes the mean of the last step."""
    t, q, dq, ddq = (values[::20] for values in passes(6000))
    external = np.full_like(q, 2.0)
    found = ExternalTorque(load_mechanism("lab6"), made, gain).along(
        t, q, dq, driven(made, t, q, dq, ddq, external)
    )
    assert np.abs(found.torque[10:]).max() < 3.0
    if gain > 1e2:
        np.testing.assert_allclose(found.torque[100:], 2.0, atol=0.05)


@pytest.mark.slow
def test_sample_by_sample_gives_the_numbers_of_the_batch(made):
    t, q, dq, _ddq = swings(400)
    made = replace(
        made,
        joints={
            name: replace(
                joint, gravity={"delay": known(0.0013 * k, "s", 1e-4), "scale": known(0.9)}
            )
            for k, (name, joint) in enumerate(made.joints.items())
        },
    )
    tau = np.random.default_rng(0).normal(scale=20.0, size=q.shape)
    observer = ExternalTorque(load_mechanism("lab6"), made, np.linspace(10.0, 60.0, 6))
    batch = observer.along(t, q, dq, tau)
    observer.forget()
    single = [observer.step(DT, *state) for state in zip(q, dq, tau, strict=True)]
    for key in ("torque", "threshold", "resting", "detected"):
        np.testing.assert_allclose(
            [getattr(one, key) for one in single], getattr(batch, key), rtol=1e-9, atol=1e-9
        )


@pytest.mark.slow
def test_a_late_torque_is_compared_with_the_motion_it_belongs_to(made):
    t, q, dq, ddq = passes()
    late = 20
    tau = driven(made, t, q, dq, ddq, np.zeros_like(q))
    tau = np.concatenate((np.repeat(tau[:1], late, axis=0), tau[:-late]))
    told = replace(
        made,
        joints={
            name: replace(joint, gravity={"delay": known(late * DT, "s", 1e-4)})
            for name, joint in made.joints.items()
        },
    )
    errors = []
    for one in (made, told):
        found = ExternalTorque(load_mechanism("lab6"), one, 50.0).along(t, q, dq, tau)
        errors.append(np.abs(found.torque[600:]).max())
    assert errors[1] < 0.02 < 0.2 < errors[0]


def test_at_rest_no_torque_within_static_friction_is_a_push(made):
    n, arm = 2000, load_mechanism("lab6")
    q = np.tile([0.0, 0.5, 0.9, 0.0, 0.6, 0.0], (n, 1))
    dq, t = np.zeros_like(q), DT * np.arange(n)
    holds = driven(made, t[:1], q[:1], dq[:1], dq[:1], dq[:1])
    static = np.array([joint.values["static"] for joint in made.joints.values()])
    observer = ExternalTorque(arm, made)
    within = observer.along(
        t, q, dq, holds + static * np.where(t % 1.0 > 0.5, 0.99, -0.99)[:, None]
    )
    assert within.resting.all()
    assert not within.detected.any()
    beyond = observer.along(t, q, dq, holds + 1.3 * static + 0.0 * q)
    assert beyond.detected[-1].all()
    np.testing.assert_allclose(beyond.torque[-1], -1.3 * static, rtol=1e-3)
    assert (beyond.threshold[-1] < 1.2 * static).all()


@pytest.mark.slow
def test_friction_within_its_bound_is_never_a_push(made):
    """The error of friction is the worst that the bound allows, and changes its sign at
    random; joints rest and reverse.
    """
    arm = load_mechanism("lab6")
    t, q, dq, ddq = swings()
    observer = ExternalTorque(arm, made)
    worst = np.random.default_rng(1).choice((-1.0, 1.0), size=q.shape)
    bound = np.column_stack([observer.bounds[j].while_sliding(np.abs(dq[:, j])) for j in range(6)])
    tau = driven(made, t, q, dq, ddq, np.zeros_like(q)) + worst * bound
    found = observer.along(t, q, dq, tau)
    assert not found.detected[10:].any()
    assert np.max(np.abs(found.torque[10:]) / found.threshold[10:]) > 0.2
    assert observer.along(t, q, dq, tau + 3.0 * bound).detected[10:].any()


@pytest.mark.slow
def test_noise_alone_raises_as_many_alarms_as_allowed(made):
    """600 alarms per hour allowed; velocities and torques with noise, far from rest."""
    made = quiet(
        replace(
            made,
            joints={
                name: replace(joint, correlation=0.0 * joint.correlation)
                for name, joint in made.joints.items()
            },
        ),
        torque_noise=0.5,
        velocity_noise=1e-3,
    )
    n, rng = 60_000, np.random.default_rng(0)
    t = DT * np.arange(n)
    q = np.tile([0.0, 0.5, 0.9, 0.0, 0.6, 0.0], (n, 1))
    dq = np.zeros_like(q)
    observer = ExternalTorque(load_mechanism("lab6"), made, 25.0, 600.0)
    tau = driven(made, t[:1], q[:1], dq[:1], dq[:1], dq[:1])
    found = observer.along(
        t, q, dq + 1e-3 * rng.standard_normal(q.shape), tau + 0.5 * rng.standard_normal(q.shape)
    )
    beyond = np.abs(found.torque) > observer.margin
    alarms = np.sum(beyond[1:] & ~beyond[:-1], axis=0)
    # velocity noise counts as in the worst posture
    assert (alarms <= 10.0 + 4.0 * np.sqrt(10.0)).all()
    assert alarms.max() >= 2
    assert np.all(
        observer.margin > ExternalTorque(load_mechanism("lab6"), made, 25.0, 6000.0).margin
    )


@pytest.mark.slow
def test_an_offset_in_the_friction_changes_nothing(made):
    """The offset acts at rest, too, where friction has no predicted value."""
    t, q, dq, ddq = swings()
    told = replace(
        made,
        joints={
            name: replace(joint, gravity={"offset": known(0.2 * k)})
            for k, (name, joint) in enumerate(made.joints.items())
        },
    )
    tau = driven(told, t, q, dq, ddq, np.zeros_like(q)) + 0.2 * np.arange(6)
    both = [
        ExternalTorque(load_mechanism("lab6"), one).along(t, q, dq, tau)
        for one in (told, told.with_offset())
    ]
    np.testing.assert_allclose(both[0].torque, both[1].torque, atol=1e-12)
    np.testing.assert_allclose(both[0].threshold, both[1].threshold, atol=1e-12)
    assert not both[0].detected[10:].any()


@pytest.mark.slow
def test_memory_of_friction_and_a_stated_distance_count_as_rest(made):
    t, q, dq, ddq = swings()
    tau = driven(made, t, q, dq, ddq, np.zeros_like(q))
    arm = load_mechanism("lab6")
    shares = [
        ExternalTorque(arm, made, distance=distance).along(t, q, dq, tau).resting.mean()
        for distance in (0.0, 0.3, 10.0)
    ]
    assert shares[0] < 0.1 < shares[1] < shares[2] == 1.0


class TestRefused:
    def test_a_closed_chain(self, made):
        chain = load_mechanism(load_arm("three-loop-chain"))
        with pytest.raises(
            ModelError, match="is a closed chain; external torque is observed on open chains only"
        ):
            refuse_unobservable(chain, made)

    def test_a_joint_with_a_spring(self, made):
        """The fit of such an arm finds no free motion; another fit would not help."""
        arm = replace(load_mechanism("lab6"), springs={2: Spring(100.0)})
        bare = replace(
            made,
            joints={name: replace(joint, free_motion=None) for name, joint in made.joints.items()},
        )
        for calibration in (made, bare):
            with pytest.raises(ModelError, match="joint j3 is passive or has a spring"):
                ExternalTorque(arm, calibration)

    def test_a_calibration_without_free_motion(self, made):
        old = replace(
            made,
            joints={name: replace(joint, free_motion=None) for name, joint in made.joints.items()},
        )
        with pytest.raises(
            InputError,
            match=r"joints\.j1 of the calibration of lab6 has no free_motion.*fit its runs again",
        ):
            ExternalTorque(load_mechanism("lab6"), old)

    def test_rotors_of_another_arm(self, made):
        wrong = quiet(made, rotors=(0.1, 0.2))
        with pytest.raises(
            InputError,
            match=r"joints\.j1\.free_motion\.rotors has 2 numbers; lab6 needs one for each of j1",
        ):
            ExternalTorque(replace(load_mechanism("lab6"), rotors=None), wrong)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"gain": 0.0}, "gain = 0.0; a positive finite number"),
            ({"gain": [1.0, 2.0]}, "one for each of j1, j2"),
            ({"false_alarms": 0.0}, "false_alarms = 0 per hour"),
            ({"distance": -1.0}, "distance = -1; zero or more"),
        ],
    )
    def test_options(self, made, options, message):
        with pytest.raises(InputError, match=message):
            ExternalTorque(load_mechanism("lab6"), made, **options)

    def test_samples(self, made):
        observer, zero = ExternalTorque(load_mechanism("lab6"), made), np.zeros(6)
        with pytest.raises(InputError, match="tau of joint j1 is not a finite number"):
            observer.step(DT, zero, zero, zero + np.nan)
        observer.step(DT, zero, zero, zero)
        with pytest.raises(InputError, match="t: a step of 0 s is given, but times must ascend"):
            observer.step(0.0, zero, zero, zero)
        with pytest.raises(
            InputError,
            match=r"tau has shape \(1, 5\); lab6 needs \(1, 6\): a column for each of j1",
        ):
            observer.step(DT, zero, zero, zero[:5])
        with pytest.raises(InputError, match="q"):
            observer.step(DT, zero[:5], zero, zero)


def test_joints_that_are_not_calibrated_are_nan(made):
    some = made.only(["j2", "j6"])
    t, q, dq, _ddq = swings(50)
    found = ExternalTorque(load_mechanism("lab6"), some).along(
        t, q, dq, np.where(np.arange(6) == 0, np.nan, 1.0) + 0.0 * q
    )
    assert np.isnan(found.torque).all(axis=0).tolist() == [True, False, True, True, True, False]
    assert not found.detected[:, [0, 2, 3, 4]].any()
