"""Fleets of calibrations: what is compared, what is found, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.fleet_truth import Truth, simulated
from stribeck import Fleet, compare
from stribeck.ident.errors import InputError
from stribeck.ident.fleet.findings import adjusted


@pytest.fixture(scope="module")
def made():
    return simulated(
        Truth(arms=24, days=3, joints=2, changed=0.06, size=0.3), np.random.default_rng(3)
    )


@pytest.fixture(scope="module")
def fleet(made):
    return Fleet.of(made.calibrations)


def test_what_was_changed_is_found(made, fleet):
    found = {(one.joint, one.arm) for one in fleet.findings if one.found}
    assert len(made.changed) >= 2
    assert found == made.changed
    for one in fleet.findings:
        if one.found and one.test == "history":
            assert one.effect == pytest.approx(0.3, abs=0.08)
    assert fleet.differs
    assert f"{len(made.changed)} joint" in repr(fleet)
    assert "<table" in fleet._repr_html_()


def test_friction_of_the_population_is_the_true_one(made, fleet):
    for joint, one in fleet.populations.items():
        true = np.exp(made.friction(int(joint[1:]) - 1, one.speeds, one.loads))
        assert one.friction == pytest.approx(true, rel=0.05)
        assert one.normal[0] < true < one.normal[1]
        assert one.between_days[0] == pytest.approx(0.015, rel=0.4)


def test_an_unchanged_fleet_does_not_differ():
    assert not Fleet.of(
        simulated(Truth(arms=20, days=2, joints=2), np.random.default_rng(1)).calibrations
    ).differs


def test_friction_is_compared_whatever_the_law():
    """Half of the arms are fitted by a law with other parameters; the
    scatter is that of the arms.
    """
    truth = Truth(arms=30, days=2, joints=1, laws=("coulomb-viscous", "stribeck"))
    one = Fleet.of(simulated(truth, np.random.default_rng(2)).calibrations)
    assert not one.differs
    assert one.populations["j1"].between_arms[0] == pytest.approx(0.05, rel=0.4)


def test_the_table_has_a_row_for_each_joint_of_each_calibration(made, fleet):
    frame = fleet.to_dataframe()
    assert len(frame) == 24 * 3 * 2
    newest = frame.dropna(subset="adjusted")
    assert len(newest) == 24 * 2
    odd = newest[newest["adjusted"] <= 0.05]
    assert {(row.joint, row.arm) for row in odd.itertuples()} == made.changed
    assert (odd["ratio"] > 1.1).all()


def test_calibrations_of_one_day_are_one_level(made):
    twice = {name: one for name, one in made.calibrations.items() if name.endswith("-00")}
    twice |= {
        f"{name} again": replace(one, runs=({"path": "x", "sha256": name},))
        for name, one in twice.items()
    }
    fleet = Fleet.of(twice)
    assert fleet.days == 24
    assert np.isnan(fleet.populations["j1"].between_days[0])
    assert {one.test for one in fleet.findings} == {"fleet"}


def test_calibrations_without_serial_numbers_are_arms_of_their_own(made):
    nameless = {name: replace(one, serial="") for name, one in made.calibrations.items()}
    fleet = Fleet.of(nameless)
    assert len(set(fleet.arms.values())) == 72
    assert "72 calibrations state no serial number" in fleet.notes[0]


def test_other_causes_of_differences_are_named(made):
    some = dict(list(made.calibrations.items())[:9])
    first = some["A000-00"]
    warm = {
        name: replace(joint, temperature_range=(40.0, 50.0)) for name, joint in first.joints.items()
    }
    cold = {
        name: replace(joint, temperature_range=(20.0, 22.0))
        for name, joint in some["A001-00"].joints.items()
    }
    some |= {
        "A000-00": replace(first, joints=warm, model=replace(first.model, sha256="other")),
        "A001-00": replace(some["A001-00"], joints=cold),
    }
    notes = Fleet.of(some).notes
    assert notes == (
        "the models of the calibrations differ, so loads may differ, too",
        *(
            f"{joint}: measured at 21 to 45 °C without a temperature law; temperature may explain "
            "differences"
            for joint in ("j1", "j2")
        ),
    )
    assert Fleet.of(dict(list(made.calibrations.items())[:9])).notes == ()


def test_friction_below_zero_is_left_out_and_named(made):
    some = dict(list(made.calibrations.items())[:9])
    joint = some["A000-00"].joints["j1"]
    wrong = replace(
        joint,
        parameters={
            **joint.parameters,
            "coulomb": replace(joint.parameters["coulomb"], value=-1.0),
        },
    )
    some["A000-00"] = replace(some["A000-00"], joints={**some["A000-00"].joints, "j1": wrong})
    fleet = Fleet.of(some)
    assert "j1: friction of A000-00 is not positive" in fleet.apart[0]
    assert len(fleet.to_dataframe()) == 17


def test_of_calibrations_that_share_runs_the_newest_stays(made):
    some = dict(list(made.calibrations.items())[:9])
    old = replace(some["A000-02"], created=some["A000-00"].created)
    fleet = Fleet.of({**some, "other fit": old})
    assert "other fit" not in fleet.calibrations
    assert "other fit" in fleet.notes[0]


def test_ranges_that_do_not_overlap_are_named(made):
    some = dict(list(made.calibrations.items())[:9])
    fast = replace(some["A000-00"].joints["j1"], velocity_range=(3.0, 5.0))
    some["A000-00"] = replace(some["A000-00"], joints={**some["A000-00"].joints, "j1": fast})
    fleet = Fleet.of(some)
    assert set(fleet.populations) == {"j2"}
    assert "A000-00 begins at 3" in fleet.apart[0]


def test_a_fleet_without_common_speeds_is_no_picture(made):
    some = {name: one.only(["j1"]) for name, one in list(made.calibrations.items())[:3]}
    some["A000-00"] = replace(
        some["A000-00"],
        joints={"j1": replace(some["A000-00"].joints["j1"], velocity_range=(3.0, 5.0))},
    )
    fleet = Fleet.of(some)
    assert fleet.populations == {}
    assert not fleet.differs
    assert fleet.to_dataframe().empty
    with pytest.raises(InputError, match="the speeds of all do not overlap"):
        fleet.plot()


@pytest.mark.parametrize(
    ("key", "value"), [("arm", "seven"), ("torque_basis", "gravity-corrected")]
)
def test_other_arm_models_and_bases_are_refused_by_name(made, key, value):
    some = dict(list(made.calibrations.items())[:4])
    some["A001-00"] = replace(some["A001-00"], **{key: value})
    with pytest.raises(InputError, match=f"A001-00: {key} is {value}"):
        Fleet.of(some)


def test_other_units_are_refused(made):
    some = dict(list(made.calibrations.items())[:4])
    joint = some["A001-00"].joints["j2"]
    parameters = {**joint.parameters, "coulomb": replace(joint.parameters["coulomb"], unit="N")}
    some["A001-00"] = replace(some["A001-00"], joints={"j2": replace(joint, parameters=parameters)})
    with pytest.raises(
        InputError, match=r"A001-00: joint j2 has friction in N, but in N·m in A000-00"
    ):
        Fleet.of(some)


def test_two_calibrations_are_no_fleet(made):
    some = dict(list(made.calibrations.items())[:2])
    with pytest.raises(
        InputError,
        match=r"at least 3 calibrations of different runs, but found only A000-00, A000-01; add",
    ):
        Fleet.of(some)
    with pytest.raises(
        InputError, match=r"left out since they share runs with a newer one: A000-01"
    ):
        Fleet.of({"copy": some["A000-01"], **some})


@pytest.mark.slow
def test_a_new_arm_is_in_family_or_not(made, fleet):
    far = (
        (fleet.to_dataframe().set_index("calibration")["ratio"] - 1.0)
        .abs()
        .groupby("calibration")
        .max()
    )
    name = far.idxmin()
    new = replace(made.calibrations[name], serial="new", runs=({"path": "x", "sha256": "new"},))
    assert all(one.inside for one in fleet.membership(new).values())
    joint = new.joints["j1"]
    worn = {key: replace(p, value=1.4 * p.value) for key, p in joint.parameters.items()}
    found = fleet.membership(
        replace(new, joints={**new.joints, "j1": replace(joint, parameters=worn)})
    )
    assert {key: one.inside for key, one in found.items()} == {"j1": False, "j2": True}
    assert found["j1"].friction / fleet.membership(new)["j1"].friction == pytest.approx(1.4)
    assert found["j1"].probability < 1e-3


@pytest.mark.slow
def test_an_arm_does_not_judge_itself(made, fleet):
    """Its own calibrations are left out: without them the interval is the same."""
    (joint, arm), *_ = made.changed
    own = made.calibrations[f"{arm}-02"]
    without = Fleet.of({name: one for name, one in made.calibrations.items() if one.serial != arm})
    assert fleet.membership(own)[joint].normal == pytest.approx(
        without.membership(own)[joint].normal
    )
    assert not fleet.membership(own)[joint].inside


def test_false_discovery_rate_counts_a_joint_once(fleet):
    """The joints that are found have the rates of Benjamini and Hochberg, written out here."""
    by_joint: dict = {}
    for one in fleet.findings:
        by_joint.setdefault((one.arm, one.joint), []).append(one)
    p = {
        key: min(1.0, len(own) * min(one.probability for one in own))
        for key, own in by_joint.items()
    }
    ranked = sorted(p, key=p.get)
    last = max((k for k, key in enumerate(ranked, 1) if p[key] <= 0.05 * k / len(p)), default=0)
    assert {(one.arm, one.joint) for one in fleet.findings if one.found} == set(ranked[:last])
    assert adjusted([]) == []


def test_two_calibrations_keep_their_comparison(made):
    """The pairwise comparison and the fleet see the same friction."""
    a, b = made.calibrations["A000-00"], made.calibrations["A001-00"]
    frame = (
        Fleet.of(made.calibrations).to_dataframe().set_index(["joint", "calibration"])["friction"]
    )
    ratio = frame["j1", "A001-00"] / frame["j1", "A000-00"]
    curve = compare(a, b).curves["j1"]
    assert np.sign(curve.difference) == np.sign(ratio - 1.0)
    assert abs(ratio - 1.0) == pytest.approx(curve.rms, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("arms", [3, 60])
def test_the_picture_has_a_panel_for_each_joint_and_names_what_differs(arms):
    made = simulated(
        Truth(arms=arms, days=3, joints=2, changed=0.04, size=0.5), np.random.default_rng(8)
    )
    fleet = Fleet.of(made.calibrations)
    figure = fleet.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == ["j1, %", "j2, %"]
    labels = {
        (joint, text.get_text())
        for joint, ax in zip(("j1", "j2"), figure.axes, strict=True)
        for text in ax.texts
    }
    assert labels == {(one.joint, one.arm) for one in fleet.findings if one.found}
    assert [tick.get_text() for tick in figure.axes[-1].get_xticklabels()][:3] == [
        "A000",
        "A001",
        "A002",
    ] or arms > 40


@pytest.mark.slow
def test_serial_numbers_that_look_like_formulas_are_drawn_as_they_are(made):
    some = {
        name: replace(one, serial=one.serial.replace("A00", "$\\frac$"))
        for name, one in made.calibrations.items()
        if name.startswith("A00")
    }
    figure = Fleet.of(some).plot()
    figure.draw_without_rendering()
    assert figure.axes[-1].get_xticklabels()[0].get_text() == "$\\frac$0"


def test_dates_without_a_time_zone_are_utc(made):
    some = dict(list(made.calibrations.items())[:9])
    some["A000-01"] = replace(some["A000-01"], created=some["A000-01"].created.replace(tzinfo=None))
    levels = [
        Fleet.of(one).populations["j1"].levels.levels
        for one in (some, dict(list(made.calibrations.items())[:9]))
    ]
    assert np.array_equal(levels[0].time, levels[1].time)
    assert np.array_equal(levels[0].y, levels[1].y)
