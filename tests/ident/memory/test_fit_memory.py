"""Fits of friction with memory to logs whose friction was integrated
independently of the estimator.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib import pyplot

from benchmarks.presliding_truth import Case, Joint
from stribeck.ident.errors import FitError, InputError
from stribeck.ident.memory.fit_memory import fit_memory
from stribeck.ident.memory.joint_log import JointLog
from stribeck.ident.memory.joint_samples import smoothing_of

SECONDS = 12.0
JOINT = Joint(
    coulomb=6.0, static=8.0, velocity=0.03, viscous=4.0, stiffness=3000.0, damping=20.0, inertia=0.5
)


@cache
def fitted(kind: str, seed: int = 2):
    case = Case(seed, kind, seconds=SECONDS, joint=replace(JOINT, kind=kind))
    return fit_memory(*case.log(), law="stribeck", gravity=False, ripple="none")


@pytest.mark.slow
def test_bristles_are_found_with_their_stiffness_and_damping():
    found = fitted("lugre")
    assert (found.law, found.memory) == ("stribeck", "lugre")
    stiffness, damping = (
        found.parameters[name] for name in ("bristle_stiffness", "bristle_damping")
    )
    assert stiffness.verdict == "identified"
    assert stiffness.value == pytest.approx(3000.0, rel=0.05)
    assert damping.value == pytest.approx(20.0, abs=1.5 * damping.half_width)
    assert found.values["coulomb"] == pytest.approx(6.0, rel=0.03)
    assert found.beside["offset"].value == pytest.approx(0.3, abs=0.05)
    assert found.held_out_rmse == pytest.approx(0.3, rel=0.05)  # the noise
    without = min(one.held_out_rmse for one in found.candidates if one.memory == "none")
    assert without > 1.5 * found.held_out_rmse


@pytest.mark.slow
def test_parallel_elements_are_told_from_bristles():
    found = fitted("maxwell-slip")
    assert found.memory == "maxwell-slip"
    assert found.distance == pytest.approx(2e-3, rel=0.15)
    assert sum(found.values[name] for name in found.fit.memory.parameters) <= 1.0 + 1e-9


@pytest.mark.slow
def test_no_memory_is_invented_for_friction_without_one():
    found = fitted("none", 1)
    assert found.memory == "none"
    assert found.distance == 0.0


@pytest.mark.slow
def test_a_law_with_memory_predicts_another_motion():
    found = fitted("lugre")
    other = Case(9, "lugre", seconds=SECONDS, joint=JOINT)
    t, q, torque = other.log()
    off = found.predict(t, q) - torque
    assert np.sqrt(np.mean(off[500:] ** 2)) < 1.1 * other.noise


@pytest.mark.slow
def test_encoder_steps_are_allowed_for():
    case = Case(5, "lugre", seconds=SECONDS, joint=JOINT)
    t, q, torque = case.log()
    found = fit_memory(
        t, 1e-4 * np.round(q / 1e-4), torque, law="stribeck", memory="lugre", gravity=False
    )
    assert found.smoothing.width >= 5e-5
    assert found.values["bristle_stiffness"] == pytest.approx(3000.0, rel=0.15)


def test_positions_that_are_too_coarse_are_refused():
    case = Case(5, "lugre", seconds=SECONDS, joint=JOINT)
    t, q, torque = case.log()
    with pytest.raises(FitError, match="the position signal resolves"):
        fit_memory(t, 0.2 * np.round(q / 0.2), torque, law="stribeck", gravity=False)


@pytest.mark.slow
def test_friction_that_grows_with_a_load_has_a_coefficient():
    case = Case(2, "none", seconds=SECONDS, joint=replace(JOINT, kind="none", static=6.0))
    t, q, torque = case.log()
    load = 10.0 + 5.0 * np.sin(0.3 * t)
    pressed = torque + 0.2 * load * np.sign(np.gradient(q, t))
    found = fit_memory(
        t, q, pressed, load=load, law="coulomb-viscous", memory="none", gravity=False
    )
    assert found.values["coulomb_coefficient"] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"memory": "bristle"}, "memory"),
        ({"law": "no-law"}, "law"),
        ({"law": "brown-mcphee"}, "no friction at the lowest speeds"),
    ],
)
def test_unknown_names_and_laws_without_dry_friction_are_refused(change, told):
    case = Case(2, "none", seconds=10.0)
    with pytest.raises((InputError, FitError), match=told):
        fit_memory(*case.log(), gravity=False, **change)


def test_arrays_of_different_length_and_gaps_are_refused_by_name():
    t, q, torque = Case(2, "none", seconds=10.0).log()
    with pytest.raises(InputError, match="torque has shape"):
        fit_memory(t, q, torque[:-1])
    with pytest.raises(InputError, match="load is not a finite number in row 3"):
        fit_memory(t, q, torque, load=np.where(np.arange(len(t)) == 3, np.nan, 1.0))
    with pytest.raises(FitError, match="too few"):
        fit_memory(t[:50], q[:50], torque[:50])


@pytest.mark.slow
def test_a_result_tells_itself_in_one_line_and_as_table_and_picture():
    found = fitted("lugre")
    assert "\n" not in repr(found)
    assert len(repr(found)) < 250
    table = found.to_dataframe().set_index("parameter")
    assert table.loc["bristle_stiffness", "unit"] == "N·m/rad"
    assert table.loc["offset", "value"] == pytest.approx(0.3, abs=0.05)
    axes = found.plot()
    assert "distance since the last reversal" in axes.get_xlabel()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["measured", "lugre"]
    pyplot.close(axes.figure)


@pytest.mark.slow
def test_recordings_that_follow_each_other_are_fitted_together():
    """Each recording begins at its own time zero and with an unknown state."""
    logs = [Case(seed, "lugre", seconds=8.0, joint=JOINT).log() for seed in (2, 5)]
    t, q, torque = (np.concatenate(arrays) for arrays in zip(*logs, strict=True))
    found = fit_memory(t, q, torque, law="stribeck", memory="lugre", gravity=False)
    assert len(found.fit.data.path.begins) == 2
    assert found.values["bristle_stiffness"] == pytest.approx(3000.0, rel=0.05)
    off = found.predict(t, q) - torque
    assert np.sqrt(np.mean(off[found.fit.data.used] ** 2)) < 0.33


def test_joined_recordings_are_smoothed_like_each_of_them():
    """The jump of the position from one recording to the next is no motion
    that the filter must keep.
    """
    t, q, _ = Case(2, "lugre", seconds=20.0, joint=JOINT).log()
    noise = 2e-5 * np.random.default_rng(0).standard_normal((2, len(t)))
    one, other = (JointLog(t, {"q": (q + own)[:, None]}) for own in noise)
    both = JointLog(
        np.tile(t, 2), {"q": np.concatenate((one.signals["q"], other.signals["q"] + 0.5))}
    )
    assert smoothing_of(one).cutoff < 50.0
    assert smoothing_of(both).cutoff == smoothing_of(one).cutoff
    assert smoothing_of(both).width == pytest.approx(smoothing_of(one).width, rel=0.1)


def test_time_stamps_in_disorder_are_refused():
    t, q, torque = Case(2, "none", seconds=10.0).log()
    with pytest.raises(
        InputError, match=r"time goes back, stands still or has a gap in \d+ rows, first in row 1;"
    ):
        fit_memory(np.random.default_rng(0).permutation(t), q, torque, gravity=False)


def test_columns_with_the_name_of_a_parameter_are_refused():
    t, q, torque = Case(2, "none", seconds=10.0).log()
    for name in ("coulomb", "offset", "share_1", "viscous_difference"):
        with pytest.raises(InputError, match=f"the column {name} has the name of a parameter"):
            fit_memory(t, q, torque, columns={name: torque})


def test_empty_arrays_are_too_few_samples():
    with pytest.raises(FitError, match="0 samples are too few"):
        fit_memory([], [], [])


@pytest.mark.slow
def test_a_torque_of_zeros_shows_no_friction():
    t, q, _ = Case(2, "none", seconds=10.0).log()
    assert (
        fit_memory(t, q, np.zeros(len(t)), law="coulomb-viscous", gravity=False).values["coulomb"]
        < 1e-6
    )


@pytest.mark.slow
def test_a_state_that_the_positions_cannot_resolve_is_not_claimed():
    """Position noise delays the path after reversals, which a second,
    immediate state would make up for.
    """
    case = Case(2, "lugre", seconds=SECONDS, joint=JOINT)
    t, q, torque = case.log()
    noisy = q + 3e-5 * np.random.default_rng(0).standard_normal(len(q))
    found = fit_memory(t, noisy, torque, law="stribeck", gravity=False)
    dismissed = [one.memory for one in found.candidates if one.dismissed]
    assert set(dismissed) <= {"two-states"}
    assert found.memory not in dismissed


@pytest.mark.slow
def test_no_distance_beyond_the_motion_is_claimed():
    """Four samples of each pass show nothing of a reversal within 2 mrad."""
    t = np.arange(0.0, 6.0, 0.004)
    q = 0.3 * np.sin(2.0 * np.pi * 15.0 * t)
    torque = 5.0 * np.sign(np.cos(2.0 * np.pi * 15.0 * t)) + 0.1 * np.random.default_rng(
        0
    ).standard_normal(len(t))
    assert fit_memory(t, q, torque, law="coulomb-viscous").distance < 0.3
