"""Peculiarities of recorded logs: clocks, wrapped positions, poor velocities, narrow, slow and
faster motion, few reversals.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.one_joint_truth import WristLog
from benchmarks.presliding_truth import Case
from stribeck.ident.errors import InputError
from stribeck.ident.identification.fit_memories import _with_delay
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.laws.quantity import DAMPING, STIFFNESS
from stribeck.ident.memory.fit_memory import fit_memory
from stribeck.ident.memory.memory_fit import concluded, predicted

SIMPLE = {"law": "coulomb-viscous", "memory": "relaxing", "ripple": "none", "signal": "none"}


def log(seed=2, kind="lugre", speed="middle", rate=250.0, **changes):
    """Signals of a simulated wrist with some of them changed, or left out."""
    made = WristLog(seed, kind, speed, rate=rate).made()
    return {**made, **{name: change(made) for name, change in changes.items()}}


def half(made, of=0, names=("time", "position", "torque", "velocity")):
    count = len(made["time"]) // 2
    return [made[name][of * count : (of + 1) * count] for name in names]


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def error(found, made):
    """Return the error of the predicted second half."""
    t, q, torque, w = half(made, 1)
    return torque - found.predict(t, q, w)


@pytest.fixture(scope="module")
def plain():
    """Error of the second half without any peculiarity."""
    made = log()
    return rms(error(fit_memory(*half(made), **SIMPLE), made))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        # a clock with ticks of 10 ms
        {"time": lambda made: np.round(made["time"], 2)},
        # a stamp now and then repeats
        {"time": lambda made: made["time"] - 0.004 * (np.arange(len(made["time"])) % 900 == 700)},
        {
            "time": lambda made: made["time"] + 1.7e9,
            "position": lambda made: (made["position"] + 3.2 + np.pi) % (2.0 * np.pi) - np.pi,
        },
        {
            "velocity": lambda made: (
                0.05 * np.round(np.gradient(made["position"], made["time"]) / 0.05)
            )
        },
        {"torque": lambda made: made["torque"] + 20.0 * np.sin(made["position"] + 0.3)},
    ],
    ids=[
        "ticks",
        "repeated stamps",
        "calendar time and wrapped",
        "coarse velocity",
        "gravity",
    ],
)
def test_peculiar_logs_predict_like_plain_ones(plain, changes):
    made = log(**changes)
    assert rms(error(fit_memory(*half(made), **SIMPLE), made)) < 1.05 * plain


def test_a_torque_that_opposes_the_motion_is_refused():
    with pytest.raises(
        InputError, match="torque opposes the motion: in its direction the mean is -0"
    ):
        fit_memory(*half(log(torque=lambda made: -made["torque"])))


@pytest.mark.slow
def test_offset_and_gravity_do_not_cancel_each_other_over_a_narrow_range():
    made = log(1, speed="slow")  # the second half leaves the positions of the first one
    found = fit_memory(*half(made), **SIMPLE)
    assert abs(found.beside["gravity_cos"].value) < 0.6  # truth: 0.18 N·m
    assert rms(error(found, made)) < 0.06


@pytest.mark.slow
def test_noise_of_positions_does_not_shrink_the_inertia():
    found = fit_memory(
        *half(log(0, speed="high", rate=1000.0)), law="power", memory="lugre", ripple="none"
    )
    assert found.beside["inertia"].value == pytest.approx(0.0655, rel=0.1)
    assert not found.composition.signal  # a lag stood for the noise


@pytest.mark.slow
def test_inertia_is_not_negative():
    found = fit_memory(*half(log(0, "maxwell-slip", "slow")), **SIMPLE)
    assert found.beside["inertia"].value >= 0.0


@pytest.mark.slow
def test_a_motion_that_follows_the_fitted_one_begins_with_its_state():
    made = log(1, speed="high")  # the second half begins between two reversals
    found = fit_memory(*half(made), law="stribeck", memory="lugre", ripple="none", signal="none")
    t, q, torque, _ = half(made, 1)
    followed, alone = (torque - found.predict(start, q) for start in (t, t - t[0]))
    assert rms(followed[:25]) < 0.1 < rms(alone[:25])
    np.testing.assert_allclose(followed[500:], alone[500:], atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "viscous", "beyond"), [("saturating", 0.0, 0.5), ("stribeck", 0.5, 0.0)]
)
def test_friction_rises_beyond_the_fitted_speeds(law, viscous, beyond):
    t = np.arange(0.0, 24.0, 0.004)
    # thrice as fast later
    q = (1.0 + 2.0 * (t > 12.0)) * (
        0.2 * np.sin(1.3 * (t - 12.0)) + 0.05 * np.sin(3.1 * (t - 12.0))
    )
    speed, level = np.abs(np.gradient(q, t)), {"saturating": 0.0, "stribeck": 0.2}[law]
    friction = (
        level
        + 0.5 * (1.0 - np.exp(-((speed / 0.05) ** (1.0 + 1.0 * (law == "stribeck")))))
        + viscous * speed
    )
    torque = np.sign(np.gradient(q, t)) * (friction + beyond * np.maximum(0.0, speed - 0.42))
    torque += 0.02 * np.random.default_rng(0).standard_normal(len(t))
    options = {"law": law, "memory": "none", "rigid": False, "ripple": "none", "signal": "none"}
    found = fit_memory(t[:3000], q[:3000], torque[:3000], **options)
    all_of = fit_memory(t, q, torque, **options).fit.data
    law_alone = predicted(all_of, found.fit.law, found.fit.memory, found.fit.values)[0]
    told, alone = (
        rms((torque - prediction)[3000:]) for prediction in (found.predict(t, q), law_alone)
    )
    assert told < 0.05 if viscous else told < 0.8 * alone


@pytest.mark.slow
def test_ripple_is_found_with_few_reversals():
    found = fit_memory(*half(log(0, "lugre with all")), law="coulomb-viscous", memory="relaxing")
    assert any(wave.kind == "cogging" and abs(wave.order - 80.0) < 0.5 for wave in found.waves)


@pytest.mark.slow
def test_a_slow_log_with_few_reversals_has_memory_and_no_lag_at_its_limit():
    found = fit_memory(
        *half(log(0, "lugre with all", "slow")), law="coulomb-viscous", ripple="none"
    )
    assert found.memory != "none"
    assert "lag" not in found.composition.signal


@pytest.fixture(scope="module")
def two_minima():
    """A log, and its fit with two minima: friction that rises over 0.3 rad/s fits it, too."""
    case = Case(26, "lugre")
    found = fit_memory(
        *case.log(), law="stribeck", memory="lugre", gravity=False, signal="none", ripple="none"
    )
    return case, found


@pytest.mark.slow
def test_minima_that_a_log_does_not_tell_apart_are_all_in_the_intervals(two_minima):
    case, found = two_minima
    (other,) = found.fit.rivals
    assert other.values["static"] < other.values["coulomb"]
    assert (
        found.values["static"]
        > found.values["coulomb"]
        == pytest.approx(case.truth.coulomb, rel=0.01)
    )
    for name in ("coulomb", "viscous"):
        entry = found.parameters[name]
        assert entry.low < min(other.values[name], getattr(case.truth, name))
        assert entry.high > max(other.values[name], getattr(case.truth, name))
    assert found.parameters["coulomb"].verdict != "identified"
    assert (
        found.parameters["coulomb"].note
        == f"the log fits as well with {other.values['coulomb']:.3g}"
    )
    assert found.parameters["bristle_stiffness"].verdict == "identified"


@pytest.mark.slow
def test_levels_are_not_called_identified_if_the_speed_between_them_is_at_the_end_of_its_search():
    # slow motion: the bound of Coulomb friction is 2.3 times its value
    case = Case(72, "lugre")
    found = fit_memory(
        *case.log(), law="stribeck", memory="lugre", gravity=False, signal="none", ripple="none"
    )
    assert found.parameters["stribeck_velocity"].verdict == "at bound"
    assert found.parameters["coulomb"].verdict == "unidentifiable"
    assert found.parameters["static"].verdict == "identified"
    for name in ("coulomb", "static", "viscous"):
        assert found.parameters[name].low < getattr(case.truth, name) < found.parameters[name].high


@pytest.mark.parametrize("late", [0.0, 0.002])
def test_a_delay_leaves_the_other_minimum_in_the_interval_of_the_damping(late):
    told = {
        STIFFNESS.name: Parameter(1000.0, 1.0, 998.0, 1002.0, "N·m/rad", "identified"),
        DAMPING.name: Parameter(
            5.0, 0.25, 4.5, 15.0, "N·m·s/rad", "unidentifiable", "the log fits as well with 14"
        ),
    }
    found = _with_delay(told, Parameter(late, 1e-4, 0.0, 0.01, "s", "identified"))[DAMPING.name]
    assert found.value == pytest.approx(5.0 + 1000.0 * late)
    assert found.low < found.value - 0.5
    assert found.high > found.value + 10.0
    assert found.note == "the log fits as well with 14"


@pytest.mark.slow
def test_minima_are_told_apart_by_more_than_a_few_blocks(two_minima):
    found = two_minima[1].fit
    assert len(concluded(found.data, found).rivals) == 1
    # with so few blocks any difference looks like chance
    used = np.flatnonzero(found.data.used)[found.data.groups < 3]
    mask = np.isin(np.arange(len(found.data.used)), used)
    assert not concluded(replace(found.data, used=mask), found).rivals
