"""The live picture: its curves are those of the fit, and drawing never delays the
control loop and ends with it.
"""

import io
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from stribeck.drivers.arm import JointSample
from stribeck.experiments.cli.screen.curve_plot import curve, plot
from stribeck.experiments.cli.screen.forming_law import formed
from stribeck.experiments.cli.screen.live import Curves, Joints, live, measured
from stribeck.experiments.cli.screen.progress import motion, progress
from stribeck.experiments.plans.plan import Segment, write_plan

HEAD = {
    "total": 10.0,
    "word": "run",
    "measured": [0, 1],
    "names": ["turn", "slide"],
    "units": ["N·m", "N"],
    "position_units": ["rad", "m"],
}


def friction(w):
    return (4.0 + 2.0 * np.exp(-((w / 0.05) ** 2)) + 6.0 * abs(w)) * np.sign(w)


def rows_of(number, speed, mirror_of=None, kind="stroke", samples=20):
    """Samples of a stroke of the first joint under gravity that depends on
    position; the second joint rests.
    """
    places = np.linspace(0.0, 1.0, samples) if speed > 0.0 else np.linspace(1.0, 0.0, samples)
    return [
        {
            "id": number,
            "kind": kind,
            "mirror_of": mirror_of,
            "done": 1.0,
            "q": [q, 0.0],
            "dq": [speed, 0.0],
            "tau": [20.0 * np.cos(q) + friction(speed), 3.0],
        }
        for q in places
    ]


def test_curves_are_half_differences_without_gravity():
    curves, speeds = Curves(), (0.01, 0.1, 1.0)
    for k, speed in enumerate(speeds):
        for row in (*rows_of(2 * k, -speed), *rows_of(2 * k + 1, speed, 2 * k)):
            curves.add(row)
    curves.add(rows_of(99, 0.0, kind="move")[0])  # what comes next ends the last stroke
    assert set(curves.points) == {0}  # the joint at rest has none
    np.testing.assert_allclose(
        curves.points[0], [(speed, friction(speed)) for speed in speeds], rtol=1e-9
    )


def test_moves_and_strokes_without_return_give_no_point():
    curves = Curves()
    for row in (
        *rows_of(0, 0.1),
        *rows_of(1, -0.1, 0, kind="move"),
        *rows_of(2, -0.1, 7),
        *rows_of(3, 0.1),
    ):
        curves.add(row)
    assert curves.points == {}


def test_plot_has_a_dot_for_every_distinct_point():
    drawn = plot([(0.01, 6.0), (0.1, 3.0), (1.0, 9.0)], width=10, height=3)
    assert [len(line) for line in drawn] == [10] * 3
    assert sum((ord(cell) - 0x2800).bit_count() for line in drawn for cell in line) == 3
    # the fastest, with the most friction: upper right
    assert drawn[0][9] != chr(0x2800)
    assert plot([], 4, 2) == [chr(0x2800) * 4] * 2


def test_picture_shows_all_values(capsys):
    picture = Joints(HEAD)
    picture.add({"id": 0, "done": 2.5, "q": [0.1, 0.2], "dq": [0.3, 0.4], "tau": [5.0, 6.0]})
    picture.curves.points[0] = [(0.1, 4.2)]
    Console(width=90).print(picture.draw())
    shown = capsys.readouterr().out
    for words in (
        "25 %",
        "8 s left",
        "turn  5.00 N·m",
        "slide  6.00 N",
        "0.300 rad/s",
        "0.400 m/s",
        "1 point, up to 4.2",
        "no point yet",
    ):
        assert words in shown


def shown(picture, width, height):
    screen = Console(
        width=width, height=height, record=True, file=io.StringIO(), force_terminal=True
    )
    screen.print(picture.draw())
    return screen.export_text(styles=True)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_curve_has_axes_units_and_the_law_in_its_colour():
    points = [(0.01, 6.0), (0.1, 3.0), (1.0, 9.0)]
    drawn = curve(points, 40, 5, ("rad/s", "N·m"), lambda speeds: [4.5] * len(speeds), "red")
    lines = drawn.plain.split("\n")
    assert [cell_len(line) for line in lines] == [40] * 6
    assert lines[0].startswith("9 N·m┤")
    assert lines[-1].startswith("    0└0.01─")
    assert lines[-1].endswith("─1 rad/s")
    cells = [(line, k) for line in range(5) for k in range(6, 40) if lines[line][k] != chr(0x2800)]
    # the law is half of the greatest friction
    assert {line for line, _ in cells if line not in (0, 1, 3)} == {2}
    assert len([k for line, k in cells if line == 2]) == 34
    assert "red" in {str(span.style) for span in drawn.spans}
    assert curve([], 40, 5, ("rad/s", "N·m")).plain.count("\n") == 5


@pytest.mark.parametrize(("width", "height"), [(160, 45), (100, 50), (80, 24)])
def test_panels_take_the_whole_terminal(width, height):
    picture = Joints(HEAD | {"measured": [0] * 6})
    picture.add({"id": 0, "done": 2.5, "q": [0.1, 0.2], "dq": [0.3, 0.4], "tau": [5.0, 6.0]})
    lines = plain(shown(picture, width, height)).rstrip("\n").split("\n")
    assert height - 4 <= len(lines) < height
    assert max(map(cell_len, lines)) in (width - 1, width)


@pytest.mark.slow
def test_law_and_verdict_form_beside_the_picture():
    """The truth is found from points with little noise; the picture is drawn
    before the fit has ended.
    """
    rng, picture = np.random.default_rng(0), Joints(HEAD)
    picture.add({"id": 0, "done": 2.5, "q": [0.1, 0.2], "dq": [0.3, 0.4], "tau": [5.0, 6.0]})
    speeds = np.geomspace(0.01, 1.0, 20)
    picture.curves.points[0] = [
        (w, friction(w) * (1.0 + 0.005 * rng.standard_normal())) for w in speeds.tolist()
    ]
    picture.curves.points[1] = [(0.1, 1.0)] * 3  # too few
    began, first = time.monotonic(), plain(shown(picture, 100, 40))
    assert "20 points, up to" in first
    while "so far" not in (text := shown(picture, 100, 40)):
        assert time.monotonic() - began < 60.0
        time.sleep(0.05)
    assert "20 points so far: stribeck, identified" in plain(text)
    assert float(re.search(r"Coulomb ([\d.]+) ± [\d.]+, viscous", plain(text))[1]) == pytest.approx(
        4.0, rel=0.02
    )
    assert "\x1b[32m" in text  # green
    assert "3 points, up to 1 N" in plain(text)
    np.testing.assert_allclose(
        picture.laws.of({})[0].friction([0.03, 0.3]), [friction(0.03), friction(0.3)], rtol=0.02
    )


def test_a_narrow_panel_keeps_the_verdict():
    picture = Joints(HEAD)
    picture._formed[0] = SimpleNamespace(law="coulomb-viscous", verdict="unidentifiable")
    told = [picture._told([(0.1, 1.0)] * 35, 0, width) for width in (60, 45, 34, 20)]
    assert told == [
        "35 points so far: coulomb-viscous, unidentifiable",
        "35 points: coulomb-viscous, unidentifiable",
        "coulomb-viscous, unidentifiable",
        "coulomb-viscous, un…",
    ]


def test_points_without_a_law_give_none():
    assert formed([(0.1, 1.0)] * 6) is None


@pytest.fixture
def gantry():
    """The part of a mechanism that pictures use: a revolute and a prismatic joint."""
    return SimpleNamespace(
        n=2,
        names=("turn", "slide"),
        unit=("N·m", "N").__getitem__,
        position_unit=("rad", "m").__getitem__,
    )


@pytest.fixture
def plan(make_arm, make_plan):
    """A plan that moves both joints to a posture and then measures the first."""
    return make_plan(make_arm())


def test_joints_that_only_move_to_a_posture_have_no_panel(plan, capsys):
    assert measured(plan) == [0]
    assert measured(replace(plan, segments=plan.segments[:1])) == []
    picture = Joints(HEAD | {"measured": [0]})
    picture.add({"id": 0, "done": 2.5, "q": [0.1, 0.2], "dq": [0.3, 0.4], "tau": [5.0, 6.0]})
    Console(width=90).print(picture.draw())
    shown = capsys.readouterr().out
    assert "turn" in shown
    assert "slide" not in shown


def sample(t):
    zeros = np.zeros(2)
    return JointSample(t, zeros, zeros, zeros, zeros, None, np.zeros(2, dtype=np.int64))


@pytest.mark.slow
def test_drawing_runs_beside_the_control_loop_and_ends_with_it(plan, gantry, tmp_path):
    drawn, began = "", time.monotonic()
    with (tmp_path / "screen").open("w") as screen, live(plan, "run", gantry, screen) as watch:
        while "no point yet" not in drawn and time.monotonic() - began < 60.0:
            watch(Segment(0, "stroke", (0.0, 0.0), 1, "turn", 0.1), sample(0.0), 0.0)
            time.sleep(0.1)
            drawn = re.sub(
                r"\x1b\[[0-9;?]*\w", "", (tmp_path / "screen").read_text(encoding="utf-8")
            )
    assert "turn  0.00 N·m" in drawn
    assert "no point yet" in drawn


@pytest.mark.parametrize("hangs", [True, False])
def test_hanging_or_dead_drawer_does_not_delay_the_loop(plan, gantry, monkeypatch, tmp_path, hangs):
    """A loop that waited for a hanging drawer would end after it."""
    drawers, code = [], "import time; time.sleep(60)" if hangs else "raise SystemExit"
    monkeypatch.setattr(
        "stribeck.experiments.cli.screen.drawer.subprocess.Popen", popen(code, drawers)
    )
    with live(plan, "run", gantry, (tmp_path / "screen").open("w")) as watch:
        if not hangs:
            drawers[-1].wait()
        for k in range(3000):  # more than a pipe holds
            watch(Segment(k, "stroke", (0.0, 0.0), 1, "turn", 0.1), sample(0.0), 0.0)
        assert (drawers[-1].poll() is None) == hangs


@pytest.mark.parametrize(
    ("width", "height", "panels"),
    [(80, 24, True), (60, 20, False), (36, 12, False), (30, 8, False), (200, 9, False)],
)
def test_picture_fits_the_terminal(width, height, panels):
    """The picture shows every joint, or the number of further joints; no line is broken, and
    long names keep the torque.
    """
    names = ["j1", "shoulder_lift_joint_of_the_left_arm", "j3", "j4", "j5", "j6"]
    picture = Joints(
        {
            "total": 10.0,
            "word": "run",
            "measured": list(range(6)),
            "names": names,
            "units": ["N·m"] * 6,
            "position_units": ["rad"] * 6,
        }
    )
    picture.add(
        {
            "id": 0,
            "kind": "stroke",
            "mirror_of": None,
            "done": 4.0,
            "q": [0.1] * 6,
            "dq": [0.2] * 6,
            "tau": [-12.34] * 6,
        }
    )
    screen = Console(
        width=width, height=height, record=True, file=io.StringIO(), force_terminal=True
    )
    screen.print(picture.draw())
    lines = screen.export_text().rstrip("\n").split("\n")
    assert len(lines) < height
    assert max(map(cell_len, lines)) <= width
    assert ("╭" in "".join(lines)) == panels
    if width >= 60:
        assert sum("-12.34 N·m" in line for line in lines) >= 3
        assert (
            "".join(lines).count("-12.34 N·m")
            + sum(map(int, re.findall(r"and (\d+) more", lines[-1])))
            == 6
        )


@pytest.mark.slow
def test_progress_bar_is_drawn_only_in_a_terminal(gantry, tmp_path):
    stroke = Segment(0, "stroke", (0.0, 0.0), 1, "slide", 0.1)
    for terminal in (True, False):
        with (tmp_path / "screen").open("w") as screen:
            out = Console(file=screen, force_terminal=terminal, width=120)
            with progress(out, 10.0, "run", gantry) as watch:
                assert (watch is not None) == terminal
                if watch:
                    watch(stroke, sample(0.0), 4.0)
                    time.sleep(2.0)
        assert ("100%" in (tmp_path / "screen").read_text(encoding="utf-8")) == terminal


@pytest.mark.parametrize(
    ("segment", "said"),
    [
        (Segment(0, "move", (0.0, 0.0), 3), "to posture 3"),
        (
            Segment(0, "stroke", (0.0, 0.0), 1, "turn", 0.1),
            "turn       0.100 rad/s forward    tau     0.0 N·m",
        ),
        (
            Segment(1, "sweep", (0.0, 0.0), 1, "slide", 0.1, 0),
            "all, slide   0.100 m/s   back       tau     0.0 N",
        ),
        (
            Segment(1, "ramp", (0.0, 0.0), 1, "slide", rate=-1.0, dwell=0.1),
            "slide    torque falls                tau     0.0 N",
        ),
    ],
)
def test_progress_line_names_the_motion_in_units_of_the_joint(gantry, segment, said):
    assert motion(segment, sample(0.0), gantry).rstrip() == said


def popen(code, started):
    """A `Popen` that starts other code and appends the process to a list."""
    real = subprocess.Popen

    def start(command, **options):
        started.append(real([sys.executable, "-c", code], **options))
        return started[-1]

    return start


@pytest.mark.parametrize("command", ["calibrate", "run"])
def test_live_without_a_terminal_is_refused(cli, command):
    outcome = cli(command, "lab6", "--live")
    assert outcome.code == 2
    assert "--live draws in a terminal" in outcome.err


def test_rows_fit_one_atomic_write_to_the_pipe():
    longest = {"q": [-1.23456] * 12, "dq": [-1.23456] * 12, "tau": [-123.45678] * 12}
    assert len(json.dumps(rows_of(0, -0.1)[0] | longest)) < 4096


@pytest.mark.slow
def test_rerun_recording_contains_the_live_picture(cli, make_arm, make_plan, tmp_path, monkeypatch):
    """Rerun's own command reads the recording; an existing file is not overwritten."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.rrd").write_text("of another run", encoding="utf-8")
    arm = make_arm()
    write_plan(make_plan(arm, speeds=(0.4, 0.2)), tmp_path / "plan.toml")
    options = ("--plan", "plan.toml", "--out", "runs", "--rerun", "seen.rrd")
    outcome = cli("run", arm.path, *options)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "seen.rrd").read_text(encoding="utf-8") == "of another run"
    printed = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", "seen-2.rrd"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    ).stdout
    assert set(re.findall(r"/turn/(\w+)", printed)) == {
        "position",
        "velocity",
        "torque",
        "friction",
    }
    assert "/lift/" not in printed  # only moves to the posture


@pytest.mark.slow
def test_rerun_recording_needs_an_existing_folder(cli):
    pytest.importorskip("rerun", reason="the package rerun-sdk records it")
    outcome = cli("run", "lab6", "--joints", "j6", "--out", "runs", "--rerun", "missing/seen.rrd")
    assert outcome.code == 2
    assert "missing to write into" in outcome.err
    assert not Path("runs").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a screen")
@pytest.mark.slow
def test_rerun_viewer_needs_a_display(cli, monkeypatch):
    pytest.importorskip("rerun", reason="the package rerun-sdk has the viewer")
    for key in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(key, raising=False)
    outcome = cli("run", "lab6", "--joints", "j6", "--out", "runs", "--rerun", "view")
    assert (outcome.code, "there is no display; --rerun FILE.rrd" in outcome.err) == (2, True), (
        outcome.err
    )


@pytest.mark.parametrize(
    ("given", "words"), [("seen.mcap", "ends in .rrd"), ("seen.rrd", "needs the package rerun-sdk")]
)
def test_invalid_rerun_options_are_refused_before_motion(cli, tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    if given == "seen.rrd":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = cli("run", "lab6", "--joints", "j6", "--out", "runs", "--rerun", given)
    assert (outcome.code, words in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "runs").exists()
