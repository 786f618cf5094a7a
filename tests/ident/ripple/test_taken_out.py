"""Ripple in `identify`: claimed in recorded runs, taken out of the samples, kept
in the file, compensated.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, identify, load_run
from stribeck.ident.calibration.changes import compare
from stribeck.ident.errors import InputError
from stribeck.ident.export.numbers import calibration_table
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.ripple.find_ripple import find_ripple
from stribeck.ident.ripple.passages import of_motion
from stribeck.ident.ripple.wave import Wave
from tests.ident.export.conftest import plainly
from tests.ident.fit.joint.test_general_motion import TRUTH, pendulum, swing
from tests.places import DATA
from tests.schemas import judge

GOLDEN = DATA / "golden" / "runs" / "constant-speed"
COGGING = Wave(40.0, "cogging", "found", 0.5, 0.01, 0.48, 0.52, 0.3, 0.2, 0.4, "N·m", "identified")
FRICTION = Wave(
    100.0, "friction", "known", 0.2, 0.01, 0.18, 0.22, -1.0, -1.1, -0.9, "N·m", "identified"
)


@pytest.fixture(scope="module")
def golden() -> Calibration:
    return Calibration.load(DATA / "golden")


def with_waves(calibration: Calibration, *waves: Wave) -> Calibration:
    return replace(
        calibration,
        fit={**calibration.fit, "ripple": "auto"},
        joints={name: replace(joint, ripple=waves) for name, joint in calibration.joints.items()},
    )


@pytest.mark.slow
def test_what_is_taken_out_no_longer_widens_the_intervals() -> None:
    """Friction ripple of 45 waves a turn is not averaged by strokes over motor turns. The golden
    arm has 3 % of dry friction, 2 to 3 N·m, with 100 waves a turn, too.
    """
    run = load_run(GOLDEN)
    dq = np.gradient(run.signals["q"][:, 0], run.t)
    wave = 0.4 * np.sin(45.0 * run.signals["q"][:, 0] + 0.7) * np.sign(dq) * (np.abs(dq) > 1e-3)
    rippled = replace(run, signals={**run.signals, "tau": run.signals["tau"] + wave[:, None]})
    plain, sought = (
        identify([rippled], Options(law="stribeck", load="torque", ripple=option))
        for option in ("none", "auto")
    )
    left, taken = (made.calibration.joints["hinge"] for made in (plain, sought))
    assert left.ripple == ()  # without the option nothing is taken out
    assert "ripple" not in plain.calibration.fit
    assert sought.calibration.fit["ripple"] == "auto"
    assert any(finding.kind == "ripple" and finding.note for finding in sought.findings)
    (known,) = (one for one in taken.ripple if one.origin == "known")
    assert (known.order, known.kind) == (100.0, "friction")
    assert 0.03 * 2.0 < known.amplitude < 0.03 * 3.5
    found = next(one for one in taken.ripple if abs(one.order - 45.0) < 0.5)
    assert (found.kind, found.origin) == ("friction", "found")
    assert found.amplitude == pytest.approx(0.4, rel=0.1)
    assert taken.held_out_rmse < 0.8 * left.held_out_rmse
    w = np.geomspace(0.02, 1.0, 20)
    load = np.full(20, float(np.mean(taken.load_ends)))
    assert np.mean(taken.band(w, load)) < np.mean(left.band(w, load))


@pytest.mark.slow
def test_ripple_of_general_motion_is_found() -> None:
    """The truth of the pendulum rubs 8 % more and less over a fifth of a motor turn... 2
    pi 100 / 20 waves a radian.
    """
    log = filtered([swing(ripple=0.08, noise=0.1)], [pendulum()])
    ripple = find_ripple("swing", of_motion(log, "swing"), (), "N·m")
    (wave,) = ripple.waves
    assert (wave.kind, wave.origin) == ("friction", "found")
    assert wave.order == pytest.approx(2.0 * np.pi * 100.0 / 20.0, rel=0.005)
    assert wave.amplitude == pytest.approx(
        0.08 * (TRUTH["coulomb"] + TRUTH["viscous"] * 0.4), rel=0.25
    )
    assert (
        find_ripple(
            "swing",
            of_motion(filtered([swing(ripple=0.0)], [pendulum()]), "swing"),
            (100.0,),
            "N·m",
        ).waves
        == ()
    )


def test_the_file_keeps_the_waves(golden: Calibration, tmp_path: Path) -> None:
    made = with_waves(golden, COGGING, FRICTION)
    (tmp_path / "pendulum.urdf").write_bytes((DATA / "golden" / "pendulum.urdf").read_bytes())
    made.save(tmp_path / "calibration.toml")
    assert Calibration.load(tmp_path).joints["hinge"].ripple == (COGGING, FRICTION)
    text = (tmp_path / "calibration.toml").read_text(encoding="utf-8")
    (tmp_path / "calibration.toml").write_text(
        text.replace('"cogging"', '"wobbling"'), encoding="utf-8"
    )
    with pytest.raises(InputError, match="kind"):
        Calibration.load(tmp_path)


def test_friction_and_feed_forward_compensate_the_waves(golden: Calibration) -> None:
    made = with_waves(golden, COGGING, FRICTION)
    q, dq = np.linspace(-1.0, 1.0, 41)[:, None], np.where(np.arange(41) % 3, 0.3, -0.2)[:, None]
    expected = 0.5 * np.sin(40.0 * q + 0.3) + 0.2 * np.sin(100.0 * q - 1.0) * np.sign(dq)
    np.testing.assert_allclose(made.friction(q, dq) - golden.friction(q, dq), expected, atol=1e-12)
    np.testing.assert_allclose(
        Feedforward(made.mechanism, made)(q, dq), made.friction(q, dq), atol=1e-9
    )
    at_rest = made.friction([0.3], [0.0])
    # cogging acts at rest, too
    np.testing.assert_allclose(at_rest, 0.5 * np.sin(40.0 * 0.3 + 0.3), atol=1e-12)


def test_exports_state_the_waves_or_their_loss(golden: Calibration) -> None:
    made = with_waves(golden, COGGING, FRICTION)
    table = json.loads(json.dumps(calibration_table(made)))
    judge("calibration", table)
    assert [wave["order"] for wave in table["joints"]["hinge"]["ripple"]] == [40.0, 100.0]
    assert "ripple" not in calibration_table(golden)["joints"]["hinge"]
    text = plainly(made, "c").text
    assert "pendulum_ripple" in text
    assert "0.2 * sin(100.0 * q[0] + -1.0) * pendulum_sign(dq[0])" in text
    assert "_ripple" not in plainly(golden, "c").text
    for target in ("ros2", "mjcf"):
        assert any("ripples" in loss for loss in plainly(made, target).losses)


def test_a_changed_amplitude_is_a_change(golden: Calibration) -> None:
    """A wave of one calibration counts only if the other fit sought ripple."""
    before, stronger = (
        with_waves(golden, COGGING),
        with_waves(golden, replace(COGGING, amplitude=0.8, low=0.78, high=0.82)),
    )
    for after, changed in ((stronger, True), (with_waves(golden), True), (before, False)):
        comparison = compare(before, after)
        assert {change.name: change.changed for change in comparison.parameters}[
            "cogging, 40 a turn"
        ] == changed
        assert comparison.changed == changed
    unsought = compare(before, golden)
    assert not unsought.changed
    assert any("ripple" in note for note in unsought.notes)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(InputError, match="ripple"):
        Options(ripple="perhaps")
