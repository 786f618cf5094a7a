"""Commands that are printed can be pasted: they work in folders whose names hold spaces and
letters that are not ASCII.
"""

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stribeck.experiments.plans.plan import Plan, write_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.log.run import load_run

pytestmark = pytest.mark.slow

GOLDEN = data_dir() / "golden"
MAKE_ARM = Callable[..., ArmFile]
MAKE_PLAN = Callable[..., Plan]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose name a shell splits in two if it is not quoted."""
    (tmp_path / "Jürgens arm").mkdir()
    return tmp_path / "Jürgens arm"


def pasted(text: str) -> list[str]:
    """Arguments of the last command in a text, as a shell takes them, and
    what follows in its line.
    """
    return shlex.split(text[text.rindex("stribeck ") + len("stribeck ") :].splitlines()[0])


def test_next_command_of_fit_exports(cli: Callable[..., Any], place: Path) -> None:
    outcome = cli("fit", GOLDEN / "runs" / "constant-speed", "-o", place / "fit")
    assert outcome.code == 0, outcome.err
    opened = re.search(r"^next +open (.*?); stribeck", outcome.out, flags=re.MULTILINE)
    assert opened is not None
    (page,) = shlex.split(opened[1])
    assert Path(page).is_file()
    exported = cli(*pasted(outcome.out))
    assert exported.code == 0, exported.err


@pytest.mark.parametrize(
    ("purpose", "arguments"),
    [
        ("fit", ["fit", "{out}"]),
        ("warm-up", ["run", "{arm}"]),
        ("lowest-speed", ["calibrate", "{arm}"]),
    ],
)
def test_next_command_of_run_works(
    cli: Callable[..., Any],
    make_arm: MAKE_ARM,
    make_plan: MAKE_PLAN,
    place: Path,
    purpose: str,
    arguments: list[str],
) -> None:
    made, out = make_arm(), place / "out"
    shutil.copytree(made.path.parent, place, dirs_exist_ok=True)
    arm = load_arm(place / made.path.name)
    write_plan(replace(make_plan(arm), purpose=purpose), place / "plan.toml")
    outcome = cli("run", arm.path, "--plan", place / "plan.toml", "-o", out)
    assert outcome.code == 0, outcome.err
    assert pasted(outcome.out) == [word.format(out=out, arm=arm.path) for word in arguments]


def test_message_of_an_interrupted_run_names_the_fit(
    cli: Callable[..., Any], make_arm: MAKE_ARM, make_plan: MAKE_PLAN, place: Path
) -> None:
    arm = make_arm(
        {"joints": {"lift": {"temperature": 28.0}}, "simulation": {"warm_up_time": 25.0}}
    )
    write_plan(make_plan(arm, speeds=(0.4,) * 6), place / "plan.toml")
    outcome = cli("run", arm.path, "--plan", place / "plan.toml", "-o", place / "out")
    assert outcome.code == 3
    assert f", stribeck fit {shlex.quote(str(place / 'out'))} uses it" in outcome.err


def test_next_command_of_import_fits(cli: Callable[..., Any], place: Path) -> None:
    golden = next((GOLDEN / "runs").iterdir())
    shutil.copytree(golden, place / "campaign" / "runs" / golden.name)
    # runs, but no calibration
    error = cli("export", place / "campaign", "--to", "urdf").err
    assert pasted(error)[:2] == ["fit", str(place / "campaign")]
    run = load_run(golden)
    np.savez(place / "log.npz", t=run.t, q=run.signals["q"], tau=run.signals["tau"])
    outcome = cli(
        "import",
        place / "log.npz",
        "--arm",
        GOLDEN / "pendulum.toml",
        "--yes",
        "-o",
        place / "imported",
    )
    assert outcome.code == 0, outcome.err
    assert pasted(outcome.out) == ["fit", str(place / "imported")]


def test_next_command_of_init_plans(
    cli: Callable[..., Any], make_arm: MAKE_ARM, place: Path
) -> None:
    model = Path(shutil.copy(make_arm().model, place))
    refused = cli("plan", model)
    assert refused.code == 2
    assert f"stribeck init {shlex.quote(str(model))} writes" in refused.err
    outcome = cli("init", model)
    assert outcome.code == 0, outcome.err
    assert pasted(outcome.out) == ["plan", str(model.with_suffix(".toml"))]
