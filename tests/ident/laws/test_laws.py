"""Friction laws against published numbers, limits worked by hand, and laws of nature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stribeck import coulomb_viscous, stribeck
from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import LAWS, law_named, unit

# Guo, Ju and Wang, Aerospace 11 (2024) 368: joints 1, 2 and 4 of the five-axis tree at q = 0.1 t^2,
# recomputed independently, with k_c = 0.005, k_s = 0.05, k_v = 0.01, w_s = 0.03 rad/s. Columns: t
# [s], tau_n [N·m], friction by Eq. 42 and by Eq. 52 [N·m].
PAPER = np.array(
    [
        (0.05, 12.636098, 0.063280, 0.572108),
        (0.05, 19.581431, 0.098007, 0.886508),
        (0.05, 13.054519, 0.065373, 0.591049),
        (0.10, 12.642905, 0.063415, 0.428202),
        (0.10, 19.586690, 0.098133, 0.663271),
        (0.10, 13.051018, 0.065455, 0.442018),
        (0.15, 12.654294, 0.063571, 0.273058),
        (0.15, 19.595458, 0.098277, 0.422672),
        (0.15, 13.045187, 0.065526, 0.281483),
        (0.25, 12.691108, 0.063956, 0.099465),
        (0.25, 19.623535, 0.098618, 0.153523),
        (0.25, 13.026539, 0.065633, 0.102080),
        (0.50, 12.871068, 0.065355, 0.065364),
        (0.50, 19.755558, 0.099778, 0.099791),
        (0.50, 12.939433, 0.065697, 0.065706),
    ]
)

repeatable = settings(derandomize=True, deadline=None, max_examples=25)
positive = st.floats(1e-3, 1e3)
speeds = st.lists(st.floats(1e-4, 10.0), min_size=1, max_size=8).map(np.array)
stribeck_values = st.fixed_dictionaries(
    {
        "coulomb": positive,
        "static": positive,
        "stribeck_velocity": st.floats(1e-3, 10.0),
        "viscous": positive,
        "coulomb_coefficient": st.floats(0.0, 1.0),
        "static_coefficient": st.floats(0.0, 1.0),
        "stribeck_exponent": st.floats(0.5, 3.0),
    }
)
loads = st.one_of(st.none(), st.floats(0.0, 1e3))


def test_laws_give_the_published_friction() -> None:
    t, load, by_42, by_52 = PAPER.T
    np.testing.assert_allclose(
        coulomb_viscous(0.2 * t, 0.0, 0.01, 0.005, load), by_42, rtol=0, atol=1.01e-6
    )
    ours = stribeck(0.2 * t, 0.0, 0.0, 0.03, 0.01, 0.005, 0.05, load=load)
    np.testing.assert_allclose(ours, by_52, rtol=0, atol=1.01e-6)


@repeatable
@given(w=speeds, values=stribeck_values, load=loads)
def test_stribeck_friction_is_odd_dissipates_and_lies_between_its_levels(
    w: np.ndarray, values: dict[str, float], load: float | None
) -> None:
    tau = stribeck(w, **values, load=load)
    np.testing.assert_array_equal(stribeck(-w, **values, load=load), -tau)
    assert (tau * w > 0.0).all()
    level = load or 0.0
    sliding = values["coulomb"] + values["coulomb_coefficient"] * level
    low_speed = values["static"] + values["static_coefficient"] * level
    dry = tau - values["viscous"] * w
    room = 1e-9 * (1.0 + np.abs(tau))
    assert (dry >= min(sliding, low_speed) - room).all()
    assert (dry <= max(sliding, low_speed) + room).all()


@repeatable
@given(w=speeds, coulomb=positive, viscous=positive, slope=st.floats(0.0, 1.0), load=loads)
def test_coulomb_viscous_friction_is_odd_and_dissipates(
    w: np.ndarray, coulomb: float, viscous: float, slope: float, load: float | None
) -> None:
    tau = coulomb_viscous(w, coulomb, viscous, slope, load)
    np.testing.assert_array_equal(coulomb_viscous(-w, coulomb, viscous, slope, load), -tau)
    assert (tau * w > 0.0).all()


def test_stribeck_by_hand() -> None:
    """At w_s the excess over Coulomb has faded to 1/e, whatever the exponent: 5 + 3/e + 2 * 0.1."""
    for exponent in (0.5, 1.0, 2.0):
        tau = stribeck(np.array([0.1, -0.1]), 5.0, 8.0, 0.1, 2.0, stribeck_exponent=exponent)
        np.testing.assert_allclose(tau, [6.3036383235, -6.3036383235], rtol=1e-10)
    np.testing.assert_allclose(
        stribeck([0.2], 5.0, 8.0, 0.1, 2.0), 5.0 + 3.0 * np.exp(-4.0) + 0.4, rtol=1e-12
    )
    np.testing.assert_allclose(
        stribeck([0.2], 5.0, 8.0, 0.1, 2.0, stribeck_exponent=1.0),
        5.0 + 3.0 * np.exp(-2.0) + 0.4,
        rtol=1e-12,
    )


def test_load_adds_its_share_to_both_levels_by_hand() -> None:
    """C = 1 + 0.1 * 20 = 3 far above w_s, S = 2 + 0.25 * 20 = 7 far below."""
    slow, fast = stribeck([1e-9, 10.0], 1.0, 2.0, 0.05, 0.0, 0.1, 0.25, load=[20.0, 20.0])
    assert slow == pytest.approx(7.0, rel=1e-9)
    assert fast == pytest.approx(3.0, rel=1e-9)
    assert coulomb_viscous([0.5], 1.0, 4.0, 0.1, [20.0])[0] == pytest.approx(5.0, rel=1e-12)


@repeatable
@given(w=speeds, coulomb=positive, viscous=positive, slope=st.floats(0.0, 1.0), load=loads)
def test_stribeck_without_drop_is_coulomb_viscous(
    w: np.ndarray, coulomb: float, viscous: float, slope: float, load: float | None
) -> None:
    flat = stribeck(w, coulomb, coulomb, 0.1, viscous, slope, slope, load=load)
    np.testing.assert_allclose(flat, coulomb_viscous(w, coulomb, viscous, slope, load), rtol=1e-12)


def test_friction_at_rest_is_zero() -> None:
    assert stribeck(np.zeros(2), 5.0, 8.0, 0.1, 2.0).tolist() == [0.0, 0.0]
    assert coulomb_viscous(np.zeros(2), 5.0, 2.0).tolist() == [0.0, 0.0]


def test_loads_are_taken_point_by_point() -> None:
    w, load = np.array([0.1, 0.1, -0.1]), np.array([0.0, 10.0, 10.0])
    np.testing.assert_allclose(
        coulomb_viscous(w, 1.0, 0.0, 0.5, load), [1.0, 6.0, -6.0], rtol=1e-12
    )


@pytest.mark.parametrize("name", LAWS)
@repeatable
@given(w=speeds, seed=st.integers(0, 2**32 - 1), loaded=st.booleans())
def test_columns_times_parameters_are_the_law(
    name: str, w: np.ndarray, seed: int, loaded: bool
) -> None:
    """What the table calls linear is linear; else fits of a new law
    would come out wrong silently.
    """
    law, rng = LAWS[name], np.random.default_rng(seed)
    load = rng.uniform(0.0, 50.0, len(w)) if loaded else None
    names = law.parameters(loaded)
    values = dict(zip(names, rng.uniform(0.1, 5.0, len(names)), strict=True))
    nonlinear = {name: values[name] for name in law.nonlinear}
    linear = [values[name] for name in names if name not in law.nonlinear]
    columns = law.columns(w, load, nonlinear)
    assert columns.shape == (len(w), len(linear))
    np.testing.assert_allclose(
        columns @ linear, law.function(w, **values, load=load), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", LAWS)
def test_every_law_is_odd_and_every_parameter_has_units(name: str) -> None:
    law = LAWS[name]
    values = dict.fromkeys(law.parameters(True), 0.7)
    w, load = np.geomspace(1e-3, 3.0, 9), np.linspace(1.0, 9.0, 9)
    np.testing.assert_allclose(
        law.function(-w, **values, load=load), -law.function(w, **values, load=load), rtol=1e-12
    )
    assert all(unit(parameter) for parameter in values)


def test_laws_work_as_lmfit_models() -> None:
    lmfit = pytest.importorskip("lmfit", reason="lmfit builds models from the laws")
    w = np.concatenate([np.geomspace(0.004, 1.2, 30), -np.geomspace(0.004, 1.2, 30)])
    load = np.linspace(5.0, 20.0, 60)
    tau = ((5.0 + 0.1 * load) + (3.0 + 0.05 * load) * np.exp(-((w / 0.05) ** 2))) * np.sign(
        w
    ) + 2.0 * w
    model = lmfit.Model(stribeck, independent_vars=["w", "load"])
    start = model.make_params(
        coulomb=4.0,
        static=6.0,
        viscous=1.0,
        coulomb_coefficient=0.0,
        static_coefficient=0.0,
        stribeck_velocity={"value": 0.1, "min": 1e-3},
        stribeck_exponent={"value": 2.0, "vary": False},
    )
    best = model.fit(tau, start, w=w, load=load).best_values
    truth = {
        "coulomb": 5.0,
        "static": 8.0,
        "stribeck_velocity": 0.05,
        "viscous": 2.0,
        "coulomb_coefficient": 0.1,
        "static_coefficient": 0.15,
    }
    assert {name: best[name] for name in truth} == pytest.approx(truth, rel=1e-4)


def test_units_follow_the_kind_of_joint() -> None:
    assert [unit(name) for name in ("coulomb", "viscous", "stribeck_velocity")] == [
        "N·m",
        "N·m·s/rad",
        "rad/s",
    ]
    assert [unit(name, prismatic=True) for name in ("coulomb", "viscous", "stribeck_velocity")] == [
        "N",
        "N·s/m",
        "m/s",
    ]
    loads = "torque", "normal", "bending"
    assert [unit("coulomb_coefficient", load=load) for load in loads] == ["1", "1", "1"]
    # N per N·m
    assert [unit("coulomb_coefficient", prismatic=True, load=load) for load in loads] == [
        "1",
        "1",
        "1/m",
    ]
    assert unit("coulomb", prismatic=True, load="bending") == "N"


def test_an_unknown_law_lists_the_laws() -> None:
    with pytest.raises(
        InputError, match=r"'stribek'; did you mean 'stribeck'\?.*coulomb-viscous, stribeck"
    ):
        law_named("stribek")


def test_tustin_is_stribeck_with_exponent_one() -> None:
    w = np.linspace(-1.0, 1.0, 21)
    values = {"coulomb": 3.0, "static": 5.0, "stribeck_velocity": 0.1, "viscous": 2.0}
    by_hand = np.sign(w) * (3.0 + 2.0 * np.exp(-np.abs(w) / 0.1)) + 2.0 * w
    np.testing.assert_allclose(
        LAWS["tustin"].function(w, **values), by_hand, rtol=1e-14, atol=1e-14
    )


def test_brown_mcphee_peaks_at_static_and_falls_to_coulomb() -> None:
    """Brown and McPhee (2016), Fig. 3: at the transition velocity friction is the static
    level, far beyond it Coulomb's.
    """
    law = LAWS["brown-mcphee"].function
    values = {"coulomb": 3.0, "static": 5.0, "stribeck_velocity": 0.1, "viscous": 0.0}
    w = np.linspace(0.0, 0.5, 5001)
    friction = law(w, **values)
    assert w[np.argmax(friction)] == pytest.approx(0.1, rel=0.03)
    assert friction.max() == pytest.approx(5.0, rel=1e-3)
    assert law([100.0], **values)[0] == pytest.approx(3.0, rel=1e-6)
    assert law([0.0], **values)[0] == 0.0


def test_andersson_is_stribeck_where_its_jump_is_over() -> None:
    values = {"coulomb": 3.0, "static": 5.0, "stribeck_velocity": 0.1, "viscous": 2.0}
    w = np.array([-0.5, -0.01, 0.01, 0.3])
    smooth = LAWS["andersson"].function(w, tanh_velocity=1e-4, **values)
    np.testing.assert_allclose(smooth, LAWS["stribeck"].function(w, **values), rtol=1e-12)
    slope = LAWS["andersson"].function([1e-6], tanh_velocity=0.01, **values)[0] / 1e-6
    assert slope == pytest.approx(5.0 / 0.01 + 2.0, rel=1e-4)


def test_quadratic_viscous_by_hand() -> None:
    found = LAWS["quadratic"].function(
        [-2.0, 0.5],
        coulomb=3.0,
        viscous=1.0,
        viscous_quadratic=0.4,
        coulomb_coefficient=0.1,
        load=[10.0, 20.0],
    )
    np.testing.assert_allclose(found, [-4.0 - 2.0 - 1.6, 5.0 + 0.5 + 0.1], rtol=1e-14)
