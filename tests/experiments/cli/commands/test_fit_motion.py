"""`stribeck fit --motion`: a slide with known friction, imported from CSV; round trips and general
motion if the log has both.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stribeck.experiments.cli.app import run
from stribeck.ident.calibration.calibration import Calibration

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

RATE, MASS, COULOMB, VISCOUS, OFFSET = 250.0, 95.0, 20.0, 200.0, 1.5


def multi_sine() -> np.ndarray:
    """Return the position from the middle of the rail."""
    t = np.arange(round(30.0 * RATE)) / RATE
    w = 2.0 * np.pi * np.array([0.13, 0.29, 0.47])
    return 0.12 + np.sin(w * t[:, None] + np.array([0.0, 1.0, 2.0])) @ np.array([0.05, 0.03, 0.02])


def strokes() -> np.ndarray:
    """Forward and backward strokes at five speeds, twice, with ramps between them."""
    return along(
        [
            way
            for speed in (0.02, 0.04, 0.06, 0.09, 0.13) * 2
            for way in (stroke(speed), -stroke(speed))
        ]
    )


def one_sided() -> np.ndarray:
    """Fast forward and slow backward: no stroke has a reverse stroke at its speed."""
    return along(
        [way for speed in (0.06, 0.09, 0.13) * 2 for way in (stroke(speed), -stroke(speed / 3.0))]
    )


def stroke(speed: float) -> np.ndarray:
    """Velocities of a ramp up, 0.2 m at constant speed, and a ramp down."""
    ramp = np.linspace(0.0, speed, round(speed / 0.5 * RATE) + 1)
    return np.concatenate((ramp, np.full(round(0.2 / speed * RATE), speed), ramp[::-1]))


def along(velocities: list[np.ndarray]) -> np.ndarray:
    return 0.02 + np.cumsum(np.concatenate(([0.0] * 200, *velocities, [0.0] * 200))) / RATE


MOTIONS = {"multi-sine": multi_sine, "strokes": strokes, "one-sided": one_sided}


def bring(folder: Path, motion: str, sign: float) -> None:
    """Write the log of a motion and import it."""
    q, rng = MOTIONS[motion](), np.random.default_rng(5)
    dq = np.gradient(q, 1.0 / RATE)
    moving = np.where(np.abs(dq) > 1e-9, np.sign(dq), 0.0)
    number = np.cumsum(np.append(0, np.abs(np.diff(moving)) > 0))
    level = 1.0 + 0.01 * rng.standard_normal(number[-1] + 1)[number]
    force = (
        MASS * np.gradient(dq, 1.0 / RATE)
        + (COULOMB * moving + VISCOUS * dq) * level
        + OFFSET
        + 0.3 * rng.standard_normal(len(q))
    )
    log = folder / "log.csv"
    pd.DataFrame(
        {"t": np.arange(len(q)) / RATE, "q": np.round(q / 1e-6) * 1e-6, "f": sign * force}
    ).to_csv(log, index=False)
    columns = [
        word
        for column in ("t=t", "q.carriage=q", "tau.carriage=f")
        for word in ("--column", column)
    ]
    campaign = str(folder / "campaign")
    assert run(["import", str(log), "--arm", "emps", *columns, "-o", campaign]) == 0


@pytest.fixture
def imported(recorded):
    """Return a function from a motion to the campaign of its log."""
    return lambda motion, sign=1.0: recorded.folder(bring, motion, sign) / "campaign"


@pytest.mark.parametrize("rigid", ["joint", "model"])
def test_any_motion_gives_a_calibration_points_and_a_report(imported, tmp_path, capsys, rigid):
    campaign = imported("multi-sine")
    assert run(["fit", str(campaign), "--motion", rigid, "-v", "-o", str(tmp_path / "fit")]) == 0
    assert "carriage moves for 30 of 30 s" in capsys.readouterr().out
    calibration = Calibration.load(tmp_path / "fit")
    assert calibration.method == "general motion"
    assert calibration.fit["motion"] == rigid
    joint = calibration.joints["carriage"]
    assert joint.law == "coulomb-viscous"
    assert joint.verdict() == "identified"
    for name, value in (("coulomb", COULOMB), ("viscous", VISCOUS)):
        assert joint.values[name] == pytest.approx(value, rel=0.02)
    assert joint.gravity["offset"].value == pytest.approx(OFFSET, abs=0.2)
    if rigid == "joint":
        assert joint.gravity["inertia"].low <= MASS <= joint.gravity["inertia"].high
        assert joint.gravity["inertia"].unit == "N·s²/m"
    points = pd.read_csv(tmp_path / "fit" / "points.csv")
    off = points["odd"] - joint.torque(points["speed"])
    assert abs(off.mean()) < 0.2
    assert off.std() < 1.0
    assert (tmp_path / "fit" / "report.html").stat().st_size > 10_000


def test_a_stated_bandwidth_is_used_and_kept(imported, tmp_path):
    campaign, found = imported("multi-sine"), {}
    for width in ("5", "40"):
        assert (
            run(
                [
                    "fit",
                    str(campaign),
                    "--motion",
                    "joint",
                    "--law",
                    "coulomb-viscous",
                    "--bandwidth",
                    width,
                    "-o",
                    str(tmp_path / width),
                ]
            )
            == 0
        )
        found[width] = Calibration.load(tmp_path / width)
        assert found[width].fit["bandwidth"] == float(width)
        assert found[width].joints["carriage"].values["coulomb"] == pytest.approx(COULOMB, rel=0.02)
    counts = {width: len(pd.read_csv(tmp_path / width / "points.csv")) for width in found}
    assert counts["40"] > 5 * counts["5"]


def test_log_without_round_trips_refers_to_general_motion(imported, tmp_path, capsys):
    campaign = imported("one-sided")
    assert run(["fit", str(campaign), "-o", str(tmp_path / "fit")]) == 2
    refused = capsys.readouterr().err
    assert f"stribeck fit {campaign} --motion model works on it" in refused
    assert "(--motion)" not in refused
    assert run(["fit", str(campaign), "--motion", "joint", "-v", "-o", str(tmp_path / "fit")]) == 0
    # nothing to compare with
    assert "general motion gives" not in capsys.readouterr().out
    assert Calibration.load(tmp_path / "fit").joints["carriage"].values["coulomb"] == pytest.approx(
        COULOMB, rel=0.03
    )


def test_round_trips_and_general_motion_agree(imported, tmp_path, capsys):
    campaign = imported("strokes")
    assert run(["fit", str(campaign), "-o", str(tmp_path / "constant")]) == 0
    capsys.readouterr()
    assert (
        run(["fit", str(campaign), "--motion", "joint", "-v", "-o", str(tmp_path / "general")]) == 0
    )
    out = " ".join(capsys.readouterr().out.split())
    one, other = (
        Calibration.load(tmp_path / name).joints["carriage"].parameters["coulomb"]
        for name in ("general", "constant")
    )
    assert f"general motion gives coulomb {one.value:.4g} ± " in out
    assert f"constant speed {other.value:.4g} ± " in out
    assert "they agree within their intervals" in out
    for parameter in (one, other):
        assert parameter.value == pytest.approx(COULOMB, rel=0.03)


def test_torque_with_wrong_sign_is_refused(imported, tmp_path, capsys):
    assert (
        run(
            [
                "fit",
                str(imported("multi-sine", -1.0)),
                "--motion",
                "joint",
                "-o",
                str(tmp_path / "fit"),
            ]
        )
        == 2
    )
    assert "the sign of the torque signal is wrong" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--motion", "rigid"], "valid: none, model, joint"),
        (["--motion", "joint", "--load", "torque"], "needs the model"),
        (["--motion", "joint", "--bandwidth", "-3"], "bandwidth = -3 Hz is not a positive number"),
        (["--motion", "joint", "--bandwidth", "60"], "it must be at most 50 Hz"),
        (["--motion", "joint", "--constant", "none"], 'motion = "joint" has no load'),
        (["--load", "none", "--constant", "none"], 'load = "none" has no load'),
        (["--constant", "zero"], "valid: fit, none"),
    ],
)
def test_incompatible_options_are_refused(imported, tmp_path, capsys, options, words):
    campaign = str(imported("multi-sine"))
    capsys.readouterr()
    assert run(["fit", campaign, *options, "-o", str(tmp_path / "fit")]) == 2
    assert words in capsys.readouterr().err
