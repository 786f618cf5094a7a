"""Interactive pages in a browser: report, comparison, fleet, validation."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.fleet_truth import Truth, simulated
from stribeck import Calibration, Fleet
from stribeck.experiments.report.frame.interactive import packed
from stribeck.experiments.report.frame.page_frame import resource
from stribeck.experiments.report.page import write_report
from stribeck.experiments.report.pages.comparison_page import write_comparison
from stribeck.experiments.report.pages.external_page import write_external
from stribeck.experiments.report.pages.fleet_page import write_fleet_result
from stribeck.experiments.report.pages.validation_page import Validated, write_validation
from stribeck.ident.calibration.changes import compare
from stribeck.ident.calibration.validation import validate
from stribeck.ident.external.judged_run import judge_external
from stribeck.ident.external.pushes import Push
from stribeck.ident.fleet.fleet import Membership
from stribeck.ident.identify import Identification
from stribeck.ident.log.run import load_run
from tests.browser import CHROMIUM, Browser
from tests.experiments.report import page_checks
from tests.experiments.report.test_page import ODD, points_of, result_of
from tests.places import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
    ),
]
MARKS = (
    "document.querySelector('.live').data.filter(one => one.mode === 'markers').map(one => "
    "one.x.length)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@cache
def reported() -> Identification:
    """Two runs, three loads and three postures of a joint; and one without load."""
    first = points_of("shoulder", loaded=True)
    both = pd.concat(
        [first, first.assign(run="runs/two", odd=1.001 * first["odd"])], ignore_index=True
    )
    return result_of({"shoulder": both, ODD: points_of(ODD)}, (False, False))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(reported(), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """Twelve arms on three days; j1 of A003 has 40 % more friction since the second day."""
    made = {}
    for name, one in simulated(
        Truth(arms=12, days=3, joints=2), np.random.default_rng(5)
    ).calibrations.items():
        made[name] = rubbing(one, "j1", 1.4) if name in ("A003-01", "A003-02") else one
    return Fleet.of(made)


@pytest.fixture(scope="module")
def pages(report: Path, fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("pages")
    first = golden()
    compared = {"golden": first, "<serviced>": rubbing(first, "hinge", 0.8)}
    write_comparison(
        compared, {"<serviced>": compare(*compared.values())}, place / "comparison.html"
    )
    write_fleet_result(fleet, place / "fleet.html")
    run = load_run(DATA / "golden" / "runs" / "constant-speed")
    found = {name: validate(run, one) for name, one in compared.items()}
    members = {
        "golden": {
            "hinge": Membership(5.0, (4.0, 6.0), 0.5, "N·m"),
            "slide": Membership(9.0, (4.0, 6.0), 1e-4, "N"),
        }
    }
    write_validation(
        Validated(run, 0.1, found, {}, members, ("a note",)), place / "validation.html"
    )
    seen = judge_external(run, first, [Push(130.0, 131.0, "hinge")])
    write_external(run, {"golden": seen}, ["a note"], place / "external.html")
    return {
        "report": report,
        **{
            name: place / f"{name}.html"
            for name in ("comparison", "fleet", "validation", "external")
        },
    }


def golden() -> Calibration:
    """The golden calibration, as if another run had been fitted."""
    return replace(Calibration.load(DATA / "golden"), runs=({"path": "other", "sha256": 64 * "0"},))


def rubbing(calibration: Calibration, joint: str, factor: float) -> Calibration:
    """The calibration with all friction of a joint multiplied by a factor."""
    own = calibration.joints[joint]
    return replace(
        calibration,
        joints={
            **calibration.joints,
            joint: replace(
                own,
                parameters={
                    name: one
                    if one.value is None
                    or one.low is None
                    or one.high is None
                    or name == "stribeck_velocity"
                    else replace(
                        one, value=factor * one.value, low=factor * one.low, high=factor * one.high
                    )
                    for name, one in own.parameters.items()
                },
            ),
        },
    )


@pytest.mark.parametrize("name", ["report", "comparison", "fleet", "validation", "external"])
class TestEveryPage:
    """What holds for each of the pages."""

    def test_it_fits_every_window_and_is_reached_by_keys_accessible_and_dark(
        self, browser, pages, name
    ):
        page_checks.check_fits(browser, pages[name])
        page_checks.check_keys(browser)
        page_checks.check_accessible(browser)
        page_checks.check_dark_button(browser)

    def test_it_reads_without_scripts_and_on_paper(self, browser, pages, name):
        page_checks.check_without_scripts(browser, pages[name])


def test_the_checks_find_a_faulty_page(browser, tmp_path):
    page = tmp_path / "faulty.html"
    page.write_text(
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head><body '
        'style="background:#fff"><button></button><p style="color:#aaa">pale</p><p '
        'style="width:2000px">wide</p><script>console.error("no")</script>',
        encoding="utf-8",
    )
    with pytest.raises(AssertionError):
        page_checks.check_fits(browser, page)
    browser.complaints.clear()
    browser.ask(page_checks.AXE)
    found = {one[0] for one in browser.ask(page_checks.WRONG)}
    assert {"color-contrast", "button-name", "html-has-lang"} <= found


def test_the_navigation_has_every_joint(browser, report):
    page_checks.opened(browser, report)
    names = page_checks.check_keys(browser)
    assert f"A {ODD}"[:22] in [name[:22] for name in names]
    assert "BUTTON points.csv" in names
    browser.ask(
        "[...document.querySelectorAll('nav a')].find(link => link.textContent === "
        "'shoulder').focus()"
    )
    browser.press("Enter")
    assert browser.ask("location.hash") == "#joint-1"
    browser.wait("Math.abs(document.getElementById('joint-1').getBoundingClientRect().top) < 120")
    # it stays in view
    assert browser.ask("document.querySelector('nav').getBoundingClientRect().top") == 0.0
    browser.wait("document.querySelector('nav a[aria-current]').textContent === 'shoulder'")


def test_a_toggle_by_key_hides_its_points(browser, report):
    page_checks.opened(browser, report)
    points = reported().points
    own = points[points["joint"] == "shoulder"]
    assert browser.ask(MARKS) == [len(own)] * 2
    titles = browser.ask(
        "[...document.querySelectorAll('#joint-1 legend')].map(one => one.textContent)"
    )
    assert titles == ["Transmitted torque", "Posture", "Run"]
    left = own
    for title, kept in (
        ("Posture", own["posture"] != 0),
        ("Run", own["run"] != "runs/one"),
        ("Transmitted", own["torque"] > 6),
    ):
        browser.ask(
            "[...document.querySelectorAll('#joint-1 fieldset')].find(one => "
            f"one.textContent.startsWith('{title}')).querySelector('input').focus()"
        )
        browser.press(" ")
        left = left[kept.reindex(left.index)]
        browser.wait(f"{MARKS}[0] === {len(left)}")
    shown = browser.ask(
        "[...document.querySelector('.live').data.find(one => one.mode === 'markers').x]"
    )
    assert shown == pytest.approx(left["speed"].to_list(), rel=1e-5)
    browser.ask(
        "[...document.querySelectorAll('#joint-1 fieldset')].at(-1).querySelector('input').focus()"
    )
    browser.press(" ")
    browser.wait(f"{MARKS}[0] === {2 * len(left)}")


def test_a_point_tells_speed_load_run_and_residual(browser, report):
    page_checks.opened(browser, report)
    told = browser.ask("""(() => { const live = document.querySelector('.live');
                          const k = live.data.findIndex(one => one.mode === 'markers');
                          Plotly.Fx.hover(live, [{curveNumber: k, pointNumber: 5}]);
                          return new Promise(done => setTimeout(() =>
                              done([...live.querySelectorAll('.hoverlayer tspan')].map(one => one.textContent)), 300)); })()""")
    result = reported()
    row = result.joints["shoulder"].points.iloc[5]
    residual = result.joints["shoulder"].fit.residual[5]
    assert f"speed {row['speed']:.3g} rad/s" in told
    assert f"load {row['torque']:.1f} N·m" in told
    assert any(
        line.startswith("residual ")
        and float(line.split()[1].replace("−", "-")) == pytest.approx(residual, rel=1e-2)
        for line in told
    )
    assert "runs/one" in told


def test_zoom_and_svg_by_buttons(browser, report):
    page_checks.opened(browser, report)
    width = (
        "(() => { const [low, high] = document.querySelector('.live').layout.xaxis.range; return "
        "high - low; })()"
    )
    before = browser.ask(width)
    browser.ask("document.querySelector('.modebar-btn[aria-label^=\"Zoom in\"]').focus()")
    browser.press("Enter")
    browser.wait(f"{width} < {0.9 * before}")
    assert (
        "share"
        not in browser.ask(
            "[...document.querySelectorAll('.modebar-btn')].map(one => one.ariaLabel).join()"
        ).lower()
    )
    saved = browser.ask(
        "Plotly.toImage(document.querySelector('.live'), {format: 'svg'}).then(decodeURIComponent)"
    )
    assert saved.startswith("data:image/svg+xml")
    assert "friction, N·m" in saved


def test_points_and_parameters_are_saved(browser, report, tmp_path):
    page_checks.opened(browser, report)
    browser.ask(
        "(() => { const made = URL.createObjectURL; window.kept = []; URL.createObjectURL = blob "
        "=> {window.kept.push(blob.text()); return made(blob); }; "
        "HTMLAnchorElement.prototype.click = () => {}; })()"
    )
    browser.ask("document.querySelectorAll('[data-save]').forEach(one => one.click())")
    points, parameters = browser.ask("Promise.all(window.kept)")
    (tmp_path / "points.csv").write_text(points, encoding="utf-8")
    (tmp_path / "parameters.csv").write_text(parameters, encoding="utf-8")
    found, result = pd.read_csv(tmp_path / "points.csv"), reported()
    assert len(found) == len(result.points)
    for name in ("speed", "odd", "even", "position", "torque", "t"):
        np.testing.assert_allclose(found[name], result.points[name], rtol=1e-5, atol=1e-9)
    assert list(found["joint"]) == list(result.points["joint"])
    np.testing.assert_allclose(
        found[found["joint"] == "shoulder"]["residual"],
        result.joints["shoulder"].fit.residual,
        rtol=1e-4,
    )
    kept = pd.read_csv(tmp_path / "parameters.csv").set_index(["joint", "parameter"])["value"]
    assert kept["shoulder", "coulomb"] == pytest.approx(
        result.calibration.joints["shoulder"].values["coulomb"], rel=1e-6
    )


def test_an_old_browser_keeps_the_still_figures(browser, report, tmp_path):
    page = tmp_path / "old.html"
    text = report.read_text(encoding="utf-8")
    page.write_text(
        text.replace('"use strict";', '"use strict"; delete window.DecompressionStream;'),
        encoding="utf-8",
    )
    browser.media("screen")
    browser.open(page, 1280)
    assert browser.ask("document.querySelectorAll('.live').length") == 0
    assert (
        browser.ask("document.querySelector('.still > svg').getBoundingClientRect().height") > 100
    )
    assert browser.ask("getComputedStyle(document.querySelector('.downloads')).display") == "none"


def test_correlations_are_a_table(report):
    result = replace(reported())
    joint = result.calibration.joints["shoulder"]
    text = report.read_text(encoding="utf-8")
    table = text.split('<table class="correlations">')[1].split("</table>")[0]
    assert table.count("<tr>") == 1 + len(joint.names)
    for j in range(len(joint.names)):
        for k in range(j):
            assert f"{joint.correlation[j, k]:.2f}".replace("-", "−").removeprefix("−0.00") in table


def test_a_comparison_hides_a_calibration_and_says_what_changed(browser, pages):
    page_checks.opened(browser, pages["comparison"])
    lines = (
        "document.querySelector('#joint-1 .live').data.filter(one => one.visible !== false).length"
    )
    assert browser.ask(lines) == 4  # two bands, two curves
    browser.ask("document.querySelector('#joint-1 fieldset input').focus()")
    browser.press(" ")
    browser.wait(f"{lines} === 2")
    row = browser.ask("document.querySelector('#overview tbody tr').innerText")
    assert "20.0 %" in row
    assert "changed" in row
    assert "<serviced>" in browser.ask("document.querySelector('.lights').innerText")


def test_a_fleet_page_ranks_and_marks_what_differs(browser, pages, fleet):
    page_checks.opened(browser, pages["fleet"])
    found = [one for one in fleet.findings if one.found]
    ranked = browser.ask(
        "[...document.querySelectorAll('#differs tbody tr')].map(one => "
        "[...one.children].map(cell => cell.innerText))"
    )
    assert [(row[1], row[2]) for row in ranked] == [(one.arm, one.joint) for one in found]
    assert {(row[1], row[2]) for row in ranked} == {("A003", "j1")}
    shown = browser.ask(
        "(() => { const [map, marks] = document.querySelector('[data-figure=matrix] .live').data;"
        "return {z: map.z, x: map.x, y: map.y, marks: [marks.x, marks.y]}; })()"
    )
    rows = (
        fleet.to_dataframe()
        .sort_values("created")
        .groupby(["joint", "arm"])
        .tail(1)
        .set_index(["joint", "arm"])["ratio"]
    )
    for joint, line in zip(shown["y"], shown["z"], strict=True):
        np.testing.assert_allclose(
            line, [100.0 * (rows[joint, arm] - 1.0) for arm in shown["x"]], rtol=1e-4, atol=1e-4
        )
    assert set(zip(*shown["marks"], strict=True)) == {("A003", "j1")}


def test_a_fleet_page_rings_a_picked_arm(browser, pages):
    page_checks.opened(browser, pages["fleet"])
    ringed = (
        "(() => { const ring = document.querySelector('[data-figure=joint-1-time] "
        ".live').data.find(one => one.marker?.symbol === 'circle-open'); return ring.x.length; })()"
    )
    assert browser.ask(ringed) == 0
    browser.ask(
        "(() => { const list = document.getElementById('pick'); list.value = 'A005';"
        "list.dispatchEvent(new Event('change')); })()"
    )
    browser.wait(f"{ringed} === 3")


def test_names_that_look_like_formulas_or_have_no_glyph_are_drawn_as_they_are(
    browser, tmp_path, recwarn
):
    made = {}
    for name, one in simulated(
        Truth(arms=12, days=3, joints=2), np.random.default_rng(5)
    ).calibrations.items():
        odd = replace(one, serial="$\\frac$" if name.startswith("A003") else "\u6f22" + one.serial)
        made[name] = rubbing(odd, "j1", 1.4) if name in ("A003-01", "A003-02") else odd
    write_fleet_result(Fleet.of(made), tmp_path / "fleet.html")
    text = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<text[^>]*>\$\\frac\$</text>", text)) >= 2
    assert not [one for one in recwarn if "Glyph" in str(one.message)]
    page_checks.check_fits(browser, tmp_path / "fleet.html")
    first = golden()
    compared = {
        "$\\frac$": replace(first, serial=100 * "x"),
        "$\\sqrt$": rubbing(replace(first, serial="y"), "hinge", 0.8),
    }
    write_comparison(
        compared, {"$\\sqrt$": compare(*compared.values())}, tmp_path / "comparison.html"
    )
    assert "mathdefault" not in (tmp_path / "comparison.html").read_text(encoding="utf-8")
    page_checks.check_fits(browser, tmp_path / "comparison.html")


def test_five_hundred_arms_stay_small(tmp_path):
    made = simulated(Truth(arms=500, days=4, joints=1), np.random.default_rng(1)).calibrations
    write_fleet_result(Fleet.of(made), tmp_path / "fleet.html")
    library = len(packed(resource("frame/plotly/plotly-cartesian.min.js")))
    # with six joints
    assert library + 6 * ((tmp_path / "fleet.html").stat().st_size - library) < page_checks.LIGHTEST


def test_a_validation_draws_the_measured_torque(browser, pages):
    page_checks.opened(browser, pages["validation"])
    run = load_run(DATA / "golden" / "runs" / "constant-speed")
    own = validate(run, golden()).joints["hinge"]
    drawn = browser.ask(
        "document.querySelector('#joint-1 .live').data[0].y.filter(one => one !== null)"
    )
    # also where samples are left out
    assert max(drawn) == pytest.approx(own.measured.max(), rel=1e-4)
    assert min(drawn) == pytest.approx(own.measured.min(), rel=1e-4)
    text = browser.ask("document.body.innerText")
    assert "out of family" in text
    assert "a note" in text
