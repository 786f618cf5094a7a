"""Small arms and plans for tests of experiments, and the command line in this process."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stribeck.experiments.cli.app import run
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import arm_sha256
from tests.messages import refusal_faults
from tests.recorded import SMALL, Few
from tests.schemas import judge
from tests.without_figures import without_figures


@pytest.fixture(scope="session")
def make_plan() -> Callable[..., Plan]:
    """Make a plan of round trips of one joint: a move to a posture, then a pair
    of strokes for every speed.
    """

    def make(
        arm: ArmFile,
        joint: int = 0,
        speeds: tuple[float, ...] = (0.4,),
        way: float = 0.3,
        posture: tuple[float, ...] = (0.2, 0.3),
        names: tuple[str, ...] = ("turn", "lift"),
    ) -> Plan:
        there = np.array(posture)
        there[joint] += way
        segments = [Segment(0, "move", posture, 1)]
        for speed in speeds:
            k = len(segments)
            segments.append(Segment(k, "stroke", tuple(there.tolist()), 1, names[joint], speed))
            segments.append(Segment(k + 1, "stroke", posture, 1, names[joint], speed, k))
        plan = Plan(
            arm.name, arm_sha256(arm), "a test", 0, names, (0.0,) * len(names), tuple(segments)
        )
        return with_robot_time(plan, arm.limits(load_mechanism(arm)))

    return make


@pytest.fixture
def short() -> Iterator[None]:
    """Campaigns with few postures, for tests of other things than the plan."""
    with Few().used():
        yield


@pytest.fixture
def small_plans() -> Iterator[None]:
    """Few postures and speeds."""
    with SMALL.used():
        yield


@dataclass(frozen=True)
class Outcome:
    """Result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def no_figures() -> Iterator[None]:
    """Leave the figures of reports out."""
    with without_figures():
        yield


@pytest.fixture
def figures() -> None:
    """Let commands draw the figures of reports."""


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Callable[..., Outcome]:
    """Run the command line in this process, in a new empty folder; JSON output is
    validated against its schema. Reports have no figures, unless the test takes `figures`.
    """
    drawn = nullcontext if "figures" in request.fixturenames else without_figures
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def command(*arguments: Any) -> Outcome:
        capsys.readouterr()
        words = [str(argument) for argument in arguments]
        with drawn():
            code = run(words)
        outcome = Outcome(code, *capsys.readouterr())
        if "--json" in words and outcome.out:
            judge("_".join(words[:2]) if words[0] == "fleet" else words[0], json.loads(outcome.out))
        for line in outcome.err.splitlines() if outcome.code == 2 else ():
            if line.startswith("stribeck: "):
                lacks = refusal_faults(line.removeprefix("stribeck: "), words)
                assert not lacks, f"the message does not say {', '.join(lacks)}: {line}"
        return outcome

    return command
