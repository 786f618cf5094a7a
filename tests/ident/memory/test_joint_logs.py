"""Logs of one joint as people have them: filtered velocities, jitter, several
recordings, ripple, late torque.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.one_joint_truth import WristLog
from benchmarks.presliding_truth import Case, Joint
from stribeck.ident.errors import InputError
from stribeck.ident.memory.fit_memory import fit_memory
from stribeck.ident.memory.joint_log import JointLog
from stribeck.ident.memory.joint_samples import smoothing_of

JOINT = Joint(
    coulomb=6.0, static=8.0, velocity=0.03, viscous=4.0, stiffness=3000.0, damping=20.0, inertia=0.5
)
SECONDS = 12.0
NAMED = {"law": "stribeck", "memory": "lugre", "gravity": False}


def log(seed=2, rate=250.0, **changes):
    return Case(seed, "lugre", seconds=SECONDS, rate=rate, joint=replace(JOINT, **changes)).log()


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.fixture(scope="module")
def wrist():
    """The first half of a hard log, fitted with a simple law and memory, and all signals."""
    made = WristLog(0, "maxwell-slip with all", "high", seconds=20.0, rate=250.0).made()
    half = len(made["time"]) // 2
    first = {key: values[:half] for key, values in made.items()}
    return (
        fit_memory(
            first["time"],
            first["position"],
            first["torque"],
            first["velocity"],
            law="coulomb-viscous",
            memory="relaxing",
        ),
        made,
        half,
    )


@pytest.mark.slow
def test_the_second_half_of_a_hard_log_is_predicted(wrist):
    found, made, half = wrist
    second = {key: values[half:] for key, values in made.items()}
    left = second["torque"] - found.predict(second["time"], second["position"], second["velocity"])
    plain = fit_memory(
        *(made[key][:half] for key in ("time", "position", "torque")),
        law="coulomb-viscous",
        memory="none",
        ripple="none",
        signal="none",
    )
    assert rms(left) < 0.6 * rms(
        second["torque"] - plain.predict(second["time"], second["position"])
    )
    # also at the beginning, where the joint slides already
    assert rms(left[:200]) < 3.0 * rms(left)


@pytest.mark.slow
@pytest.mark.parametrize("ripple", ["auto", [60.0]])
def test_ripple_is_told_with_its_amplitude_and_predicted(ripple):
    t, q, torque = log()
    waving = torque + 0.8 * np.sin(60.0 * q + 0.4)
    found = fit_memory(t, q, waving, ripple=ripple, signal="none", **NAMED)
    (wave,) = found.waves
    assert (wave.kind, wave.order) == ("cogging", pytest.approx(60.0, rel=0.01))
    assert wave.low < 0.8 < wave.high
    assert wave.amplitude == pytest.approx(0.8, rel=0.15)
    assert wave.label in found.to_dataframe()["parameter"].to_list()
    assert rms((waving - found.predict(t, q))[500:]) < 0.33  # the noise is 0.3


@pytest.mark.slow
def test_no_ripple_is_invented():
    assert not fit_memory(*log(), **NAMED).waves


@pytest.mark.slow
def test_a_velocity_is_used_unless_it_is_behind_a_slow_filter(wrist):
    found, _, _ = wrist
    assert not found.smoothing.recorded
    t, q, torque = log()
    good = fit_memory(t, q, torque, np.gradient(q, t), ripple="none", signal="none", **NAMED)
    assert good.smoothing.recorded
    assert good.values["bristle_stiffness"] == pytest.approx(3000.0, rel=0.05)


@pytest.mark.parametrize("factor", [-1.0, 0.0, 57.3])
def test_a_velocity_of_another_sign_or_unit_is_refused(factor):
    t, q, torque = log()
    with pytest.raises(
        InputError, match=r"velocity is .* times the derivative of the position; it must be"
    ):
        fit_memory(t, q, torque, factor * np.gradient(q, t), **NAMED)


@pytest.mark.slow
def test_a_late_torque_is_told_from_damping_by_the_inertia():
    late = 0.012
    t, q, _ = log()
    case = Case(2, "lugre", seconds=SECONDS, joint=replace(JOINT, inertia=4.0))
    fine = replace(case, rate=1000.0)
    torque = np.interp(t - late, fine.t, fine.clean(fine.joint)) + 0.1 * np.random.default_rng(
        1
    ).standard_normal(len(t))
    found = fit_memory(t, q, torque, ripple="none", **NAMED)
    assert found.beside["delay"].value == pytest.approx(late, abs=0.002)


@pytest.mark.slow
def test_jitter_of_time_stamps_does_not_shake_the_motion():
    t, q, torque = log()
    shaken = t + 4e-4 * np.random.default_rng(0).uniform(-1.0, 1.0, len(t))
    found = fit_memory(shaken, q, torque, **NAMED, ripple="none", signal="none")
    assert found.values["bristle_stiffness"] == pytest.approx(3000.0, rel=0.05)
    assert found.beside["inertia"].value == pytest.approx(0.5, rel=0.1)


@pytest.mark.slow
def test_recordings_of_different_rates_come_as_lists():
    logs = [log(2), log(5, rate=50.0)]
    found = fit_memory(
        *(list(signal) for signal in zip(*logs, strict=True)), **NAMED, ripple="none", signal="none"
    )
    assert len(found.fit.data.path.begins) == 2
    assert found.values["bristle_stiffness"] == pytest.approx(3000.0, rel=0.1)
    for t, q, torque in logs:
        assert rms((found.predict(t, q) - torque)[len(t) // 10 :]) < 0.6
    smoothing_of(
        JointLog(
            np.concatenate([one[0] for one in logs]),
            {"q": np.concatenate([one[1] for one in logs])[:, None]},
        )
    )


@pytest.mark.slow
def test_prismatic_joints_have_no_gravity_over_position():
    t, q, torque = log()
    found = fit_memory(
        t, 2.0 * q, torque, law="coulomb-viscous", memory="none", prismatic=True, ripple="none"
    )
    assert "gravity_sin" not in found.beside
    assert found.parameters["coulomb"].unit == "N"


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match="ripple"):
        fit_memory(*log(), ripple="yes")
