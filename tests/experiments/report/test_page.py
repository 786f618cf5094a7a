"""The report: self-contained, complete, safe with unusual names, and reproducible."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from stribeck.experiments.report import words
from stribeck.experiments.report.page import write_report
from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.calibration_content import Model
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.approximation import approximate
from stribeck.ident.fit.joint.fit_joint import JointFit, identify_joint
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.finding import Finding
from stribeck.ident.model.joint_parts import Bearing
from stribeck.ident.model.mechanism import Mechanism
from tests.browser import CHROMIUM, Browser
from tests.experiments.report.page_checks import OUT

SPEEDS = np.geomspace(0.01, 1.2, 12)
# a joint name with characters that are special in HTML and in mathematics
ODD = 'a<b>&"$1$'
WHY = "torque opposes motion in 97% of the points"
VOID = {"meta", "br", "path", "circle", "use", "image", "rect", "line"}


def points_of(
    name: str,
    trips: int = 24,
    bins: int = 3,
    loaded: bool = False,
    warm: bool = True,
    gravity: float = 20.0,
) -> pd.DataFrame:
    """Points of a joint with known friction: Stribeck, 10 % of a load of 5 to 40,
    gravity 3 % below the model's.
    """
    random = np.random.default_rng(3)
    rows = []
    for trip in range(trips):
        w, load = SPEEDS[trip % len(SPEEDS)], (5.0, 20.0, 40.0)[trip % 3] if loaded else 5.0
        level = 1.0 + 0.005 * random.standard_normal()
        friction = (
            4.0 + 2.0 * np.exp(-((w / 0.05) ** 2)) + 6.0 * w + (0.1 * load if loaded else 0.0)
        )
        for place in np.linspace(-1.0, 1.0, bins):
            pull = gravity * np.sin(place + trip)
            rows.append(
                {
                    "joint": name,
                    "segment": 2 * trip,
                    "posture": trip % 3,
                    "speed": w,
                    "position": place,
                    "odd": level * friction + 0.01 * random.standard_normal(),
                    "even": 0.97 * pull + 0.05 * random.standard_normal(),
                    "gravity": pull,
                    "gravity_rate": 0.0,
                    "torque": load,
                    "bending": 3.0,
                    "radial": 10.0,
                    "axial": 0.0,
                    "normal": np.nan,
                    "n": 100,
                    "std": 0.1,
                    "t": 20.0 * trip + place,
                    "reference": warm and trip % 8 == 0,
                    "temperature": 25.0 + trip / 3.0 if warm else np.nan,
                    "run": "runs/one",
                }
            )
    return pd.DataFrame(rows)


def mechanism_of(names: tuple[str, ...], prismatic: tuple[bool, ...]) -> Mechanism:
    n = len(names)
    return Mechanism(
        "bench",
        names,
        tuple(range(-1, n - 1)),
        np.array(prismatic),
        np.tile([0.0, 0.0, 1.0], (n, 1)),
        np.zeros((n, 3)),
        np.ones(n),
        np.zeros((n, 3)),
        np.zeros((n, 3, 3)),
        np.array([0.0, 0.0, -9.81]),
        np.tile([-1.0, 1.0], (n, 1)),
        (None,) * n,
    )


def calibrated(joint: JointFit, bearing: Bearing | None = None) -> JointCalibration:
    fit, points = joint.fit, joint.points
    load_range = load_part = None
    if fit.load not in ("none", "components"):
        load = points[fit.load].to_numpy(dtype=float)
        slope = fit.values["coulomb_coefficient"]
        load_range = (float(load.min()), float(load.max()))
        load_part = (slope * load_range[0], slope * float(np.median(load)), slope * load_range[1])
    temperature = points["temperature"].to_numpy(dtype=float)
    error = np.sqrt(np.diag(fit.covariance))
    return JointCalibration(
        fit.law,
        fit.load,
        fit.parameters,
        joint.gravity,
        bearing,
        fit.held_out_rmse,
        (float(points["speed"].min()), float(points["speed"].max())),
        load_range,
        load_part,
        (float(temperature.min()), float(temperature.max()))
        if np.isfinite(temperature).all()
        else None,
        fit.names,
        fit.covariance / np.outer(error, error),
        fit.half_factor,
    )


def result_of(
    tables: dict[str, pd.DataFrame],
    prismatic: tuple[bool, ...],
    findings: tuple[Finding, ...] = (),
    options: Options | None = None,
) -> Identification:
    mechanism = mechanism_of(tuple(tables), prismatic)
    joints = {
        name: identify_joint(rows, mechanism, name, options)
        for name, rows in tables.items()
        if len(rows)
    }
    calibration = Calibration(
        "bench",
        datetime(2026, 11, 21, 10, 22, 31, tzinfo=UTC),
        "constant-speed",
        "drive",
        ({"path": "runs/one", "sha256": "ab" * 32},),
        Model("bench.urdf", "cd" * 32, (0.0, 0.0, -9.81), Tool()),
        {"law": "auto", "load": "auto", "seed": 0, "versions": {"stribeck": "0.1.0"}},
        {name: calibrated(joint) for name, joint in joints.items()},
    )
    return Identification(
        calibration, pd.concat(tables.values(), ignore_index=True), joints, findings, mechanism
    )


@pytest.fixture(scope="module")
def result() -> Identification:
    tables = {
        "shoulder": points_of("shoulder", loaded=True),
        "slide": points_of("slide", gravity=0.01),
        ODD: points_of(ODD),
        "wrist": pd.DataFrame(columns=points_of("wrist").columns),
    }
    findings = (
        Finding(None, "rate", "250.0 Hz, no gaps"),
        Finding("wrist", "not calibrated", f"wrist is not calibrated: {WHY}"),
        Finding(ODD, "drift", f"friction of {ODD} changed by +1.0 %"),
    )
    return result_of(tables, (False, True, False, False), findings)


@pytest.fixture(scope="module")
def page(result: Identification, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(result, tmp_path_factory.mktemp("report")).read_text(encoding="utf-8")


def written(result: Identification, folder: Path) -> str:
    return write_report(result, folder).read_text(encoding="utf-8")


def text_of(page: str) -> str:
    """The visible text of the page."""
    return " ".join(
        re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page)).split()
    )


def sections(page: str) -> Iterator[str]:
    """The text of each joint's section, in order."""
    for part in page.split('<section class="joint')[1:]:
        yield text_of("<" + part.split("</section>")[0])


class Tags(HTMLParser):
    """Checks that elements are closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A self-closing element opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.mark.slow
def test_page_refers_to_no_other_file(page: str) -> None:
    assert not re.findall(r"https?://", page)
    assert not re.findall(r"<(?:link|iframe|img)\b|@import|\bsrc=", page)
    assert "default-src 'none'" in page  # nor could a script
    assert all(target.startswith(("#", "data:")) for target in re.findall(r'href="([^"]*)"', page))
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))


@pytest.mark.slow
def test_links_and_clip_paths_have_targets(page: str) -> None:
    there = set(re.findall(r'\bid="([^"]*)"', page))
    assert (
        set(re.findall(r'href="#([^"]*)"', page)) | set(re.findall(r"url\(#([^)]*)\)", page))
        <= there
    )


def test_elements_are_closed(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert tags.wrong == []
    assert tags.open == []


def test_every_joint_verdict_and_candidate_is_shown(result: Identification, page: str) -> None:
    parts = dict(zip(result.mechanism.names, sections(page), strict=True))
    for name, joint in result.calibration.joints.items():
        assert joint.verdict() in parts[name]
        for key, parameter in joint.parameters.items():
            assert key in parts[name]
            assert parameter.verdict in parts[name]
        assert words.plus_minus(joint.parameters["coulomb"]) in text_of(page)
        assert parts[name].count("chosen") == 1
        for candidate in result.joints[name].fit.candidates:
            assert words.number(candidate.held_out_rmse) in parts[name]


def test_chosen_law_is_written_as_an_equation(result: Identification, page: str) -> None:
    shoulder = next(sections(page))
    assert result.calibration.joints["shoulder"].load == "torque"
    assert "grows with the transmitted torque" in shoulder
    slope = result.calibration.joints["shoulder"].parameters["coulomb_coefficient"]
    assert words.fixed(slope.value or 0.0, words.decimals_of(slope)) + " L" in shoulder


def test_joint_without_calibration_gives_the_reason(page: str) -> None:
    wrist = list(sections(page))[3]
    assert "not calibrated" in wrist
    assert WHY in wrist


@pytest.mark.usefixtures("no_figures")
def test_joints_that_were_not_requested_are_listed(result: Identification, tmp_path: Path) -> None:
    findings = tuple(finding for finding in result.findings if finding.joint != "wrist")
    page = written(replace(result, findings=findings), tmp_path)
    assert "Not measured: wrist." in text_of(page)
    assert "not calibrated" not in text_of(page)
    assert len(list(sections(page))) == 3


def test_lights_show_problems(result: Identification, page: str) -> None:
    head = page.split('<dl class="lights">')[1].split("</dl>")[0]
    lights = {
        about: (colour, text)
        for colour, about, text in re.findall(
            r'(?s)<div class="(\w+)"><dt><i[^>]*></i>(\w+)<.*?<dd>(.*?)</dd>', head
        )
    }
    assert lights["Parameters"] == ("bad", "wrist not calibrated.")
    assert lights["Fit"][0] == "good"
    assert lights["Recording"] == ("bad", "See recording health: not calibrated.")
    assert lights["Gravity"][0] == "mind"
    assert lights["Gravity"][1].startswith("Torque and model disagree for shoulder")


@pytest.mark.usefixtures("no_figures")
def test_lights_turn_green_and_red(result: Identification, tmp_path: Path) -> None:
    slide = result.calibration.joints["slide"]
    slide = replace(
        slide,
        parameters={
            key: entry for key, entry in slide.parameters.items() if entry.value is not None
        },
    )
    one = replace(
        result,
        findings=(),
        mechanism=mechanism_of(("slide",), (True,)),
        calibration=replace(result.calibration, joints={"slide": slide}),
    )
    head = written(one, tmp_path).split('<dl class="lights">')[1].split("</dl>")[0]
    assert re.findall(r'<div class="(\w+)">', head) == ["good", "good", "good", "mind"]
    bad = replace(
        one,
        calibration=replace(one.calibration, joints={"slide": replace(slide, held_out_rmse=5.0)}),
    )
    head = written(bad, tmp_path).split('<dl class="lights">')[1].split("</dl>")[0]
    assert re.findall(r'<div class="(\w+)">', head)[1] == "bad"


def test_export_losses_are_stated(result: Identification, page: str) -> None:
    table = page.split('<section id="exports">')[1].split("</section>")[0]
    rows = {
        cells[0]: cells
        for cells in (
            re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]
        )
    }
    near = approximate(result.calibration.joints["shoulder"])
    shoulder = [text_of(cell) for cell in rows["shoulder"]]
    assert shoulder[1] == f"{words.number(near.friction)} N·m"
    assert shoulder[3:5] == [
        f"{words.number(near.rms, 2)} N·m",
        f"{words.number(near.worst, 2)} N·m",
    ]
    assert shoulder[5] == "growth with load, the Stribeck effect"
    assert "wrist" not in rows


@pytest.mark.slow
@pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
)
class TestInABrowser:
    """Layout of the page in a browser."""

    PAPER = 695  # px between the margins of A4
    HEIGHT = 1039

    @pytest.fixture(scope="class")
    @classmethod
    def browser(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
        with Browser(tmp_path_factory.mktemp("profile")) as browser:
            yield browser

    @pytest.fixture(scope="class")
    @classmethod
    def shown(cls, page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("shown") / "report.html"
        path.write_text(page, encoding="utf-8")
        return path

    @pytest.mark.parametrize(
        ("width", "mobile"),
        [(375, True), (1100, False), (1101, False), (1920, False)],
    )
    def test_page_fits_the_window_and_loads_without_errors(
        self, browser: Browser, shown: Path, width: int, mobile: bool
    ) -> None:
        browser.open(shown, width, mobile=mobile)
        # a phone would widen its view to an element that is too wide
        assert browser.ask("innerWidth") == width
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask(OUT) == []
        assert browser.complaints == []
        assert set(browser.requests) == {shown.as_uri()}

    @pytest.mark.parametrize(
        ("width", "media"),
        [(375, "screen"), (1101, "screen"), (PAPER, "print")],
    )
    def test_long_joint_names_fit(
        self, browser: Browser, page: str, tmp_path: Path, width: int, media: str
    ) -> None:
        path = tmp_path / "long.html"
        path.write_text(
            re.sub(
                r">([^<]*)<",
                lambda text: re.sub(
                    r"\b(shoulder|slide|wrist)\b", r"left_\1_lift_joint_of_the_arm", text[0]
                ),
                page,
            ),
            encoding="utf-8",
        )
        browser.media(media)
        try:
            browser.open(path, width, mobile=width < 400)
            assert "left_shoulder_lift_joint_of_the_arm" in browser.ask("document.body.innerText")
            assert browser.ask("document.documentElement.scrollWidth") == width
            assert browser.ask(OUT) == []
        finally:
            browser.media("screen")

    def test_checks_detect_a_faulty_page(self, browser: Browser, tmp_path: Path) -> None:
        wrong = tmp_path / "wrong.html"
        wrong.write_text(
            '<meta charset="utf-8"><table style="width:900px"><tr><td>x</td></tr></table><img '
            'src="missing.png">'
            "<script>console.error('no')</script>",
            encoding="utf-8",
        )
        with Browser(tmp_path / "other") as other:
            other.open(wrong, 375, mobile=True)
            assert other.ask("document.documentElement.scrollWidth") > 375
            assert "TABLE." in other.ask(OUT.replace("innerWidth", "375"))
            assert any("no" in text for text in other.complaints)
            assert any(address.endswith("missing.png") for address in other.requests)

    def test_each_joint_prints_on_one_page_and_no_table_is_cut(
        self, browser: Browser, shown: Path
    ) -> None:
        browser.media("print")
        try:
            browser.open(shown, self.PAPER)
            # else print is shrunk
            assert browser.ask("document.documentElement.scrollWidth") == self.PAPER
            tall = browser.ask(
                "[...document.querySelectorAll('.joint, table, figure')].map(part => "
                "part.getBoundingClientRect().height)"
            )
            assert len(tall) > 20
            assert max(tall) < self.HEIGHT
            pages = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
            # head; calibrated joints, the last with the absent one; glossary
            assert pages == 1 + 3 + 1
        finally:
            browser.media("screen")


def test_prismatic_joint_has_units_of_force(page: str) -> None:
    shoulder, slide, *_ = sections(page)
    assert "N·m·s/rad" in shoulder
    assert "N·s/m" in slide
    assert "N·m·s/rad" not in slide
    assert "m/s" in slide
    assert "transmitted force" in slide


def test_gravity_that_disagrees_or_cannot_be_checked_is_reported(page: str) -> None:
    text = text_of(page)
    assert re.search(
        r"Measured torque divided by the model&#39;s gravity torque is 0\.9[67]\d* ± 0\.00\d+ for "
        r"shoulder",
        text,
    )
    assert re.search(r"torque varies too little to check slide", text)


def test_special_characters_in_names_are_escaped_and_not_typeset(page: str) -> None:
    assert ODD not in page
    assert page.count("a&lt;b&gt;&amp;&#34;$1$") >= 4
    assert "<b>&" not in page


def test_provenance_is_complete(page: str) -> None:
    assert f'title="{"ab" * 32}"' in page
    assert f'title="{"cd" * 32}"' in page
    text = text_of(page)
    assert "runs/one sha256 abababababab" in text
    assert "21 November 2026, 10:22 UTC" in text
    assert "law = auto, load = auto, seed = 0" in text


@pytest.mark.usefixtures("no_figures")
def test_notes_of_the_run_are_shown_as_text(result: Identification, tmp_path: Path) -> None:
    page = write_report(result, tmp_path, {"operator": "<i>Ada</i>", "payload": 2.0}).read_text(
        encoding="utf-8"
    )
    assert "&lt;i&gt;Ada&lt;/i&gt;" in page
    assert re.search(r"payload</dt>\s*<dd>2\.0", page)


@pytest.mark.slow
def test_same_result_gives_the_same_page_whatever_the_users_settings(
    result: Identification, page: str, tmp_path: Path
) -> None:
    with matplotlib.rc_context({"font.size": 30.0, "svg.fonttype": "path", "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        assert written(result, tmp_path) == page
        assert dict(matplotlib.rcParams) == before


@pytest.mark.slow
def test_few_points_without_load_temperature_or_reference(tmp_path: Path) -> None:
    rows = points_of("j", trips=8, bins=1, warm=False, gravity=0.0)
    page = written(result_of({"j": rows}, (False,), options=Options(load="none")), tmp_path)
    assert "8 points from 8 round trips" in page
    assert "temperature not reported" in page
    assert "reference round trips" not in page
    # lines join points only if a round trip has several
    assert "one round trip" not in text_of(page)


@pytest.mark.slow
def test_single_speed_and_constant_values_can_be_drawn(
    result: Identification, tmp_path: Path
) -> None:
    joint, fit = result.calibration.joints["slide"], result.joints["slide"]
    flat = fit.points.assign(speed=0.1, odd=5.0, even=0.0, gravity=0.0, t=0.0)
    single = replace(joint, velocity_range=(0.1, 0.1))
    changed = replace(
        result,
        calibration=replace(result.calibration, joints={"slide": single}),
        joints={"slide": replace(fit, points=flat)},
    )
    assert "slide" in written(changed, tmp_path)


@pytest.mark.usefixtures("no_figures")
def test_unidentifiable_parameters_give_the_reason(result: Identification, tmp_path: Path) -> None:
    joint = result.calibration.joints["slide"]
    hidden = Parameter(None, None, None, None, "1", "unidentifiable", "the load <never> varied")
    edge = replace(
        joint.parameters["viscous"],
        value=0.0,
        std_error=None,
        low=None,
        high=None,
        verdict="at bound",
    )
    changed = replace(
        joint, parameters={**joint.parameters, "viscous": edge, "coulomb_coefficient": hidden}
    )
    page = written(
        replace(
            result,
            calibration=replace(
                result.calibration, joints={**result.calibration.joints, "slide": changed}
            ),
        ),
        tmp_path,
    )
    assert "the load &lt;never&gt; varied" in page
    assert re.search(r"viscous friction viscous 0\.000 \S+ – at bound", list(sections(page))[1])
    glance = text_of(page).split("Recording health")[0]
    assert "at bound viscous friction" in glance


@pytest.mark.slow
def test_page_with_many_points_stays_small(result: Identification, tmp_path: Path) -> None:
    copies = 70  # 5040 points
    joint, fit = result.calibration.joints["shoulder"], result.joints["shoulder"]
    random, points = np.random.default_rng(1), pd.concat([fit.points] * copies, ignore_index=True)
    # repeated digits would compress
    for column in ("position", "odd", "even", "gravity", "torque", "bending", "t"):
        points[column] *= 1.0 + 0.01 * random.standard_normal(len(points))
    residual = np.tile(fit.fit.residual, copies) + 0.01 * random.standard_normal(len(points))
    many = replace(fit, points=points, fit=replace(fit.fit, residual=residual))
    page = write_report(
        Identification(
            replace(result.calibration, joints={"j1": joint}),
            points,
            {"j1": many},
            (),
            mechanism_of(("j1",), (False,)),
        ),
        tmp_path,
    )
    assert page.stat().st_size < 1_170_000  # 0.8 MB are for all joints: with six less than 3 MB


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (6.0678, 5.9485, 6.1870, "6.07 ± 0.12"),
        (0.050166, 0.047471, 0.053013, "0.0502 ± 0.0028"),
        (-0.0104, -0.0188, -0.0020, "−0.0104 ± 0.0084"),
        (12345.0, 12100.0, 12590.0, "12345 ± 245"),
        (-0.00001, -0.1, 0.1, "0.00 ± 0.10"),
        (5.0, None, None, "5.00"),
        (0.0, None, None, "0.000"),
        (None, None, None, "–"),
    ],
)
def test_values_have_as_many_digits_as_their_interval_allows(
    value: float | None, low: float | None, high: float | None, expected: str
) -> None:
    assert words.plus_minus(Parameter(value, None, low, high, "N·m", "identified")) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_load_components_are_shown(tmp_path: Path) -> None:
    table = points_of("wrist")
    radial, bending = np.array([5.0, 60.0, 30.0]), np.array([12.0, 2.0, 14.0])
    table["radial"], table["bending"] = radial[table["posture"]], bending[table["posture"]]
    table["odd"] += 0.02 * table["radial"] + 0.15 * table["bending"]
    made = result_of({"wrist": table}, (False,), options=Options(load="components"))
    fit, parts = made.joints["wrist"].fit, (0.1, 2.0, 3.9)
    assert fit.components == ("radial", "bending")
    joint = replace(
        made.calibration.joints["wrist"],
        load_range={"radial": (5.0, 60.0), "bending": (2.0, 14.0)},
        load_part=parts,
    )
    said = text_of(
        written(
            replace(made, calibration=replace(made.calibration, joints={"wrist": joint})), tmp_path
        )
    )
    assert "Coulomb per radial load" in said
    assert "radial force" in said
    assert "5.0 … 60.0 N radial force, 2.0 … 14.0 N·m bending moment" in said
