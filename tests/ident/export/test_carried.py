"""The table of what formats carry, against what their exports say they lose."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from stribeck import Calibration
from stribeck.experiments.cli.app import run
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.carried import CARRIED, EFFECTS, carried_rows
from stribeck.ident.export.formats import DESCRIPTIONS, NUMBERS, export
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.ripple.wave import COGGING, FRICTION, Wave
from tests.ident.export.conftest import known, made_joint
from tests.ident.export.test_backlash_in_c import gear
from tests.ident.temperature.test_joint_temperature import WARM
from tests.offenders import assert_each

PLAIN = made_joint("coulomb-viscous", "none", 0)


def wave(kind: str) -> Wave:
    return Wave(12.0, kind, "known", 0.2, 0.01, 0.18, 0.22, 0.3, 0.2, 0.4, "N·m", "identified")


# a joint with one effect, and a word by which its loss is known
WITH: dict[str, tuple[JointCalibration, str]] = {
    "load": (made_joint("coulomb-viscous", "torque", 0), "growth with load"),
    "directions": (
        replace(
            PLAIN,
            directional="viscous",
            gravity={"viscous_difference": known(0.2, "N·m·s/rad", 0.01)},
        ),
        "the difference between the directions",
    ),
    "offset": (
        replace(PLAIN, gravity={"offset": known(0.3, "N·m", 0.01)}),
        "leaves out the torque offset",
    ),
    "memory": (
        replace(
            PLAIN,
            memory=JointMemory(
                "dahl",
                {
                    "presliding_distance": known(0.002, "rad", 1e-4),
                    "dahl_exponent": known(1.0, "1", 0.1),
                },
                2e-3,
                0.0,
                0.0,
            ),
        ),
        "without memory of reversals",
    ),
    "ripple": (replace(PLAIN, ripple=(wave(FRICTION), wave(COGGING))), "ripples with position"),
    "temperature": (replace(PLAIN, temperature=WARM), "friction at one temperature"),
    "play": (replace(PLAIN, backlash=gear()), "without play"),
}


@pytest.mark.slow
@pytest.mark.parametrize("effect", WITH)
def test_an_export_says_what_the_table_says(
    make_calibration: Callable[..., Calibration], effect: str
) -> None:
    assert_each(CARRIED, partial(says_what_the_table_says, make_calibration, effect))


def says_what_the_table_says(
    make_calibration: Callable[..., Calibration], effect: str, target: str
) -> None:
    joint, word = WITH[effect]
    if CARRIED[target].get(effect) == "normal":
        joint = made_joint("coulomb-viscous", "normal", 0)
    found = export(
        make_calibration(joints={"j1": joint}), target.split()[0], plain=target.endswith("--plain")
    )
    without = export(
        make_calibration(joints={"j1": PLAIN}, seed=1),
        target.split()[0],
        plain=target.endswith("--plain"),
    )
    told = CARRIED[target].get(effect, "-")
    lost = any(word in one for one in found.losses)
    assert not any(word in one for one in without.losses)
    # in part, or with an option, is lost in this joint
    assert lost is (told not in ("yes", "values", "torque", "normal"))
    if not lost:
        assert (found.text, found.folder) != (without.text, without.folder)


def test_all_formats_are_in_the_table_and_the_command_prints_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert {name.split()[0] for name in CARRIED} == {*DESCRIPTIONS, *NUMBERS}
    assert all(len(row) == 1 + len(EFFECTS) for row in carried_rows())
    assert run(["export", "--list"]) == 0
    said = capsys.readouterr().out
    assert "mjcf             Stribeck, bent viscous" in said
    assert all(f"\n{name} " in said for name in CARRIED)
