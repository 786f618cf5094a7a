"""Text fits the terminal with any names of joints; nothing is cut or lost."""

import re
from dataclasses import replace

import pytest
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from stribeck.experiments.cli.screen.console import hanging
from stribeck.experiments.cli.screen.result_text import result_table
from stribeck.experiments.cli.screen.tables import fitted
from stribeck.experiments.report.words import plus_minus
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.run import load_run

WIDTHS = (60, 80, 100, 120, 130, 200)
NAMES = {
    "short": tuple(f"j{k}" for k in range(1, 7)),
    "long": (
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_flex_joint",
        "forearm_roll_joint",
        "wrist_flex_joint",
        "wrist_roll_joint_20c",
    ),
    "with spaces": (
        "base turn",
        "shoulder lift of it",
        "elbow",
        "roll",
        "wrist flex",
        "wrist roll",
    ),
}
SHOWN = ("coulomb", "static", "stribeck_velocity", "viscous")


def printed(table: RenderableType, width: int) -> str:
    """Return the text that the command line prints."""
    console = Console(width=width, highlight=False, soft_wrap=True, markup=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def rows_of(name: str, text: str) -> str:
    """Return the cells of the rows that begin with a name."""
    return "\n".join(line for line in text.splitlines() if re.match(rf" {name}(  |$)", line))


@pytest.fixture(scope="module")
def golden() -> Identification:
    """The golden run, identified."""
    return identify([load_run(data_dir() / "golden" / "runs" / "constant-speed")])


@pytest.fixture(params=NAMES)
def result(request: pytest.FixtureRequest, golden: Identification) -> Identification:
    """Six joints with friction of all sizes and with every verdict."""
    mechanism = replace(load_mechanism("lab6"), names=NAMES[request.param])
    (hinge,) = golden.calibration.joints.values()
    joints = {}
    verdicts = ("identified", "weak", "unidentifiable", "at bound", "identified", "identified")
    for size, name, verdict in zip(
        (100.0, 10.0, 1.0, 1.0, 0.1, 1e-3), mechanism.names, verdicts, strict=True
    ):
        parameters = {
            key: replace(
                one,
                **{
                    part: size * getattr(one, part)
                    for part in ("value", "std_error", "low", "high")
                },
                verdict=verdict,
            )
            for key, one in hinge.parameters.items()
        }
        joints[name] = replace(hinge, parameters=parameters)
    return replace(
        golden,
        calibration=replace(golden.calibration, joints=joints),
        mechanism=mechanism,
        findings=(),
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_no_result_is_cut(result: Identification, width: int) -> None:
    text = printed(result_table(result, width), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert {
        "law",
        "load",
        "N·m",
        "rad/s",
        "N·m·s/rad",
        "Coulomb",
        "static",
        "w_s",
        "viscous",
        "load part",
        "held-out",
        "verdict",
    } <= {*text.split(), *re.split(r"\s{2,}", text)}
    for name, joint in result.calibration.joints.items():
        said = rows_of(name, text)
        assert joint.verdict() in said
        for key in SHOWN:
            assert plus_minus(joint.parameters[key]) in said
    assert "velocity)" in text.split()  # the end of a verdict of several lines


@pytest.fixture
def table() -> Table:
    """A name, words, a number and a heading that is a path."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="what it is")
    made.add_column("joint")
    made.add_column("words")
    made.add_column("measured torque", justify="right")
    made.add_column("/a/long/way/to/a/calibration", justify="right", overflow="fold")
    made.add_row(
        "shoulder_lift_joint",
        "held by its drive",
        "0.1 ... 4.3 N·m",
        "1.234 (5.6 %)",
        end_section=True,
    )
    made.add_row("elbow_flex_joint", "free", "-", "-")
    return made


@pytest.mark.parametrize("width", range(40, 100))
def test_wide_table_continues_below(table: Table, width: int) -> None:
    text = printed(fitted(table, width), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    said = rows_of("shoulder_lift_joint", text)
    assert "0.1 ... 4.3 N·m" in said
    assert "1.234 (5.6 %)" in said
    assert {"held", "by", "its", "drive", "measured", "torque"} <= set(text.split())
    assert text.count("what it is") == 1


def test_table_that_fits_is_unchanged(table: Table) -> None:
    assert fitted(table, 100) is table


def test_too_narrow_terminal_breaks_the_lines(table: Table) -> None:
    assert "0.1 ... 4.3 N·m" in rows_of("shoulder_lift_joint", printed(fitted(table, 20), 20))


@pytest.mark.parametrize("keys", [1, 2])
def test_every_part_of_a_table_repeats_the_key_columns(table: Table, keys: int) -> None:
    rows = rows_of("shoulder_lift_joint", printed(fitted(table, 60, keys), 60)).splitlines()
    assert len(rows) > 1
    assert sum(" held" in row for row in rows) == (1 if keys == 1 else len(rows))


@pytest.mark.parametrize("width", [30, 60, 80])
def test_sentences_wrap_between_words_with_indentation(width: int) -> None:
    said = (
        "note      j1: the bending load fits as well, with 6.599 for coulomb; within the loads "
        "that were met both agree"
    )
    first, *others = hanging(said, width).split("\n")
    assert first.startswith("note      j1: ")
    assert all(line.startswith(" " * 10) and line[10] != " " for line in others)
    assert max(map(len, (first, *others))) <= width
    assert " ".join("\n".join((first, *others)).split()) == " ".join(said.split())


@pytest.mark.parametrize(
    "line",
    [
        "next      stribeck fit 'a folder with spaces in its name and more of them' --out somewhere",
        "wrote     in a folder with spaces in its name/: calibration.toml  points.csv",
    ],
)
def test_commands_and_paths_are_not_wrapped(line: str) -> None:
    assert hanging(line, 40) == line
