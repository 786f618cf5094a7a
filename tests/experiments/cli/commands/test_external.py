"""`stribeck validate --external`: what it prints, its exit codes, and refused options."""

import json
import shutil

import pyarrow as pa
import pytest

from stribeck.ident.log.run import SAMPLES
from tests.places import DATA

pytestmark = pytest.mark.slow

GOLDEN = DATA / "golden"


@pytest.fixture
def unseen(tmp_path):
    """The golden run with torques that differ in one sample, as if it were another run; and a
    function that adds a push to it.
    """
    shutil.copytree(GOLDEN / "runs" / "constant-speed", tmp_path / "unseen")

    def change(start, end, torque):
        path = tmp_path / "unseen" / SAMPLES
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            table = stream.read_all()
        t, tau = table["t"].to_numpy(), table["tau.hinge"].to_numpy().copy()
        tau[(t > start) & (t <= end)] -= torque
        tau[0] += 1e-3
        column = table.column_names.index("tau.hinge")
        table = table.set_column(
            column, table.schema.field(column), pa.array(tau, table.schema.field(column).type)
        )
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
        return path.parent

    change(0.0, 0.0, 0.0)
    return change


def test_free_motion_passes(cli, unseen):
    done = cli("validate", unseen(0.0, 0.0, 0.0), GOLDEN, "--external")
    assert done.code == 0
    assert "no false alarms in 197 s of free motion" in done.out
    assert "undetectable below hinge" in " ".join(done.out.split())


def test_an_unmarked_push_fails_and_a_marked_push_is_found(cli, unseen, tmp_path):
    run = unseen(130.0, 130.5, 7.0)
    assert cli("validate", run, GOLDEN, "--external").code == 1
    (tmp_path / "pushes.csv").write_text(
        "start,end,joint,torque\n130,130.5,hinge,7\n", encoding="utf-8"
    )
    options = (
        "--external",
        "--pushes",
        tmp_path / "pushes.csv",
        "--gain",
        "40",
        "--false-alarms",
        "1",
    )
    done = cli("validate", run, GOLDEN, *options)
    assert done.code == 0
    assert "1 of 1 pushes found" in done.out
    assert "gain 40 1/s (25 ms)" in done.out


def test_json_and_plot(cli, unseen, tmp_path):
    run = unseen(130.0, 130.5, 7.0)
    (tmp_path / "pushes.csv").write_text("start,end,joint\n130,130.5,hinge\n", encoding="utf-8")
    done = cli(
        "validate",
        run,
        GOLDEN,
        "--external",
        "--pushes",
        tmp_path / "pushes.csv",
        "--json",
        "-o",
        tmp_path / "plot.svg",
    )
    assert done.code == 0
    assert "marked push" in (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert (
        cli(
            "validate",
            run,
            GOLDEN,
            "--external",
            "--pushes",
            tmp_path / "pushes.csv",
            "-o",
            tmp_path / "page.html",
        ).code
        == 0
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in (
        "1 of 1 pushes found",
        "130.00 s",
        "External torque of hinge over time",
        "undetectable below hinge",
    ):
        assert words in page
    (push,) = json.loads(done.out)["calibrations"][0]["joints"]["hinge"]["pushes"]
    assert 0.0 <= push["delay"] <= 0.5
    assert push["torque"] is None


def test_a_calibration_of_an_earlier_version_is_refused(cli, unseen, tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "old", ignore=shutil.ignore_patterns("runs"))
    path = tmp_path / "old" / "calibration.toml"
    text = path.read_text(encoding="utf-8")
    before, after = (
        text.index("[joints.hinge.free_motion]"),
        text.index("[joints.hinge.correlation]"),
    )
    path.write_text(text[:before] + text[after:], encoding="utf-8")
    done = cli("validate", unseen(0.0, 0.0, 0.0), tmp_path / "old", "--external")
    assert (done.code, done.out) == (2, "")
    assert "joints.hinge of the calibration of pendulum has no free_motion" in " ".join(
        done.err.split()
    )
    assert cli("validate", unseen(0.0, 0.0, 0.0), tmp_path / "old").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gain", "20"), "--gain 20.0 needs --external"),
        (("--false-alarms", "2"), "--false-alarms 2.0 needs --external"),
        (("--pushes", "pushes.csv"), "--pushes pushes.csv needs --external"),
        (
            ("--external", "--rollout"),
            "--external and --rollout are two judgements; give one of them",
        ),
        (("--external", "--gain", "0"), "--gain = 0; a positive finite number is needed"),
        (
            ("--external", "--false-alarms", "-1"),
            "--false-alarms = -1; a positive finite number is needed",
        ),
        (("--external", "--pushes", "none.csv"), "none.csv: no such file"),
    ],
)
def test_refused_options(cli, unseen, options, words):
    done = cli("validate", unseen(0.0, 0.0, 0.0), GOLDEN, *options)
    assert (done.code, done.out) == (2, "")
    assert words in " ".join(done.err.split())
