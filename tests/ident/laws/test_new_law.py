"""A law that is defined here works in fits, files, tables, reports and exports without
any other change of code.
"""

import signal
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, fit_friction
from stribeck.__main__ import main
from stribeck.experiments.cli.endings import ENDINGS
from stribeck.ident.errors import InputError
from stribeck.ident.fit.choice.selection import select
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.law_table import (
    LAWS,
    law_named,
    laws_on_offer,
    quantities,
    quantity_named,
    register,
    unit,
)
from stribeck.ident.laws.quantity import (
    COULOMB,
    COULOMB_PER_LOAD,
    STATIC,
    STRIBECK_VELOCITY,
    VISCOUS,
    Quantity,
)
from stribeck.ident.laws.stribeck import STRIBECK
from stribeck.ident.log.run import load_run
from tests.ident.export.conftest import plainly
from tests.places import DATA

GOLDEN = DATA / "golden" / "runs" / "constant-speed"
RAISED = Quantity("raised", "{tau}", "raised friction", ("r", "0"), "raised")
BEND = Quantity(
    "bend_velocity",
    "{q}/s",
    "velocity of the bend",
    ("ω", "b"),
    "w_b",
    search=lambda slowest, fastest: (0.5 * slowest, 2.0 * fastest),
    tried=24,
)


def levelling(w, coulomb, raised, bend_velocity, coulomb_coefficient=0.0, load=None):
    """A part of friction saturates with speed; there is no viscous part that grows without end."""
    w, load = np.asarray(w, dtype=float), 0.0 if load is None else np.asarray(load, dtype=float)
    return (
        coulomb + coulomb_coefficient * load + raised * (1.0 - np.exp(-np.abs(w) / bend_velocity))
    ) * np.sign(w)


def law(**changes) -> Law:
    return Law(
        **{
            "name": "levelling",
            "function": levelling,
            "quantities": (COULOMB, RAISED, BEND, COULOMB_PER_LOAD),
            "equation": "{lhs} = (<i>C</i> + {raised} (1 − exp(−|{w}|/{bend_velocity}))) sgn {w}",
            "c": """
static inline double @_levelling(double w, double coulomb, double raised, double bend, double per_load, double load)
{
    return (coulomb + per_load * load + raised * (1.0 - exp(-fabs(w) / bend))) * @_sign(w);
}
""",
            "competes": True,
            **changes,
        }
    )


@pytest.fixture(autouse=True)
def registered() -> Iterator[Law]:
    with patch.dict(LAWS):
        yield register(law())


@pytest.fixture
def points() -> FitPoints:
    rng = np.random.default_rng(3)
    w = np.tile(np.geomspace(0.01, 1.5, 16), 3).repeat(2) * np.tile([1.0, -1.0], 48)
    load = np.tile([2.0, 5.0, 9.0], 16).repeat(2)
    tau = levelling(w, 3.0, 2.0, 0.2, 0.1, load) * (1.0 + 0.002 * rng.standard_normal(48).repeat(2))
    return FitPoints(w, tau, load, np.arange(48).repeat(2))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The golden run fitted by it on the command line: folder, and what was printed."""
    out = tmp_path_factory.mktemp("new-law") / "out"
    printed, handlers = StringIO(), {ending: signal.getsignal(ending) for ending in ENDINGS}
    with patch.dict(LAWS), redirect_stdout(printed):
        register(law())
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "fit",
                    str(GOLDEN),
                    "--law",
                    "levelling",
                    "--directional",
                    "viscous",
                    "--out",
                    str(out),
                ]
            )
    # a program that ends takes no more signals; this one goes on
    for ending, handler in handlers.items():
        signal.signal(ending, handler)
    assert not ended.value.code
    return out, printed.getvalue()


def test_it_is_fitted_within_its_own_range(points: FitPoints) -> None:
    fit = fit_friction(points.w, points.tau, points.load, points.group, law="levelling")
    assert fit.load == "load"
    for name, truth in {
        "coulomb": 3.0,
        "raised": 2.0,
        "bend_velocity": 0.2,
        "coulomb_coefficient": 0.1,
    }.items():
        parameter = fit.parameters[name]
        assert parameter.low is not None
        assert parameter.high is not None
        assert parameter.low <= truth <= parameter.high
        assert (parameter.verdict, parameter.unit) == ("identified", unit(name))
    assert unit("bend_velocity", prismatic=True) == "m/s"
    grid = quantity_named("bend_velocity").grid(points.w)
    np.testing.assert_allclose(grid[[0, -1]], (0.005, 3.0))
    assert len(grid) == 24


@pytest.mark.slow
def test_it_competes_and_wins_where_it_is_true(points: FitPoints) -> None:
    assert "levelling" in laws_on_offer()
    del LAWS["saturating"]  # which is the same
    chosen = select(points, {"none": None, "normal": points.load})
    assert (chosen.law, chosen.load) == ("levelling", "normal")
    assert fit_friction(points.w, points.tau, points.load, points.group).law == "levelling"


def test_a_law_without_load_is_offered_without(points: FitPoints) -> None:
    with patch.dict(LAWS):
        register(law(name="plain", quantities=(COULOMB, RAISED, BEND)))
        found = select(points, {"none": None, "normal": points.load}, ("plain",))
    assert [candidate.load for candidate in found.candidates] == ["none"]


@pytest.mark.slow
def test_table_and_report_show_its_parameters(fitted: tuple[Path, str]) -> None:
    out, printed = fitted
    assert "levelling" in printed
    assert {"raised", "w_b"} <= set(printed.split())
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "velocity of the bend" in page
    assert "(1 − exp(−|<i>ω</i>|/" in page


def test_directions_are_told_without_a_viscous_parameter(fitted: tuple[Path, str]) -> None:
    out, _ = fitted
    joint = Calibration.load(out).joints["hinge"]
    assert (joint.law, joint.directional) == ("levelling", "viscous")
    assert "viscous_difference" in joint.gravity


def test_exports_say_what_is_lost(fitted: tuple[Path, str]) -> None:
    calibration = Calibration.load(fitted[0])
    for target in ("urdf", "mjcf"):
        said = " ".join(plainly(calibration, target).losses)
        assert (
            "the other parameters of the law levelling (raised friction, velocity of the bend) "
            "(hinge)" in said
        )
    assert "_levelling(" in plainly(calibration, "c").text
    LAWS["levelling"] = law(c="", no_c="its author knows no C")
    with pytest.raises(
        InputError, match="the law levelling has no C code: its author knows no C; export to json"
    ):
        plainly(calibration, "c")


def test_feed_forward_is_the_law(fitted: tuple[Path, str]) -> None:
    calibration = Calibration.load(fitted[0])
    feedforward = Feedforward(calibration.mechanism, calibration)
    run = load_run(GOLDEN)
    q, dq = run.signals["q"][100], np.array([0.3])
    np.testing.assert_allclose(
        feedforward(q, dq), calibration.friction(q[None], dq[None])[0], rtol=1e-9
    )


def test_its_names_are_those_of_the_page() -> None:
    """docs/names.md is held to `quantities`, which a law enters when it is registered."""
    assert {"raised", "bend_velocity"} <= set(quantities())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"quantities": (RAISED, BEND, COULOMB_PER_LOAD)}, "has no parameter coulomb"),
        (
            {"quantities": (COULOMB, RAISED, BEND, VISCOUS)},
            r"does not take the parameter\(s\) viscous",
        ),
        (
            {"function": lambda velocity, coulomb, load: velocity, "quantities": (COULOMB,)},
            "its first argument must be w, its last load",
        ),
        (
            {"quantities": (COULOMB, RAISED, COULOMB_PER_LOAD)},
            "needs bend_velocity, which the law does not list",
        ),
        (
            {
                "quantities": (
                    COULOMB,
                    RAISED,
                    BEND,
                    Quantity("mu", "1", "friction per load", raises="coulomb"),
                ),
                "function": lambda w, coulomb, raised, bend_velocity, mu=0.0, load=None: w,
            },
            "the coefficient must be called coulomb_coefficient",
        ),
        ({"name": "stribeck"}, "a law named stribeck is registered already"),
        (
            {
                "name": "other",
                "quantities": (
                    COULOMB,
                    RAISED,
                    Quantity("bend_velocity", "{q}/s", "another word", search=max),
                ),
            },
            "the quantity bend_velocity differently from the registered quantity of this name",
        ),
    ],
)
def test_a_law_that_contradicts_itself_is_refused(changes: dict, said: str) -> None:
    with patch.dict(LAWS), pytest.raises(InputError, match=said):
        register(law(**changes))


def test_a_nonlinear_parameter_needs_a_search_range() -> None:
    """Without a range it is linear; then the columns of the fit would be wrong in
    silence, so the law is refused.
    """
    plain = Quantity("bend_velocity", "{q}/s", "velocity of the bend")
    with pytest.raises(
        InputError, match="levelling is not linear in bend_velocity; state its search range"
    ):
        law(quantities=(COULOMB, RAISED, plain, COULOMB_PER_LOAD))


def test_all_laws_of_the_table_are_linear_where_they_say_so() -> None:
    for name in LAWS:
        assert law_named(name).linear
    assert STRIBECK.nonlinear == (STRIBECK_VELOCITY.name,)
    assert STATIC.name in STRIBECK.linear


def test_a_law_is_found_by_its_name(registered: Law) -> None:
    assert law_named("levelling") is registered
    with pytest.raises(InputError, match="levelling"):
        law_named("saturatng")
