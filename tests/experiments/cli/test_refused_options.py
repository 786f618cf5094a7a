"""Every option of every command, misspelt, without its value or with a wrong number: one sentence,
exit code 2, nothing run.
"""

from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest
import typer

from stribeck.experiments.cli.app import app

GROUPS = {"": app, **{f"{group.name} ": group.typer_instance for group in app.registered_groups}}
COMMANDS = {
    f"{group}{name}": command
    for group, one in GROUPS.items()
    for name, command in typer.main.get_command(one).commands.items()
    if not hasattr(command, "commands")
}
TYPES = {
    name: get_type_hints(info.callback)
    for name, info in zip(
        COMMANDS, (info for one in GROUPS.values() for info in one.registered_commands), strict=True
    )
}


def valued(command: str) -> Iterator[Any]:
    """Options of a command that take a value."""
    return (
        one
        for one in COMMANDS[command].params
        if one.param_type_name == "option" and not (one.is_flag or one.count)
    )


OPTIONS = [(command, option.opts[0]) for command in COMMANDS for option in valued(command)]
NUMBERS = [
    (command, option.opts[0])
    for command in COMMANDS
    for option in valued(command)
    if TYPES[command][option.name] in (int, float, int | None, float | None)
]


def sentence(outcome: Any) -> str:
    """The one sentence of a refusal."""
    assert (outcome.code, outcome.out) == (2, ""), outcome
    (line,) = outcome.err.splitlines()
    assert line.startswith("stribeck: ")
    return line


def test_there_are_options() -> None:
    assert len(OPTIONS) > 80
    assert len(NUMBERS) > 8


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option(cli: Any, command: str) -> None:
    said = sentence(cli(*command.split(), "--no-such-option"))
    assert "--no-such-option" in said
    assert f"stribeck {command} --help" in said


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_without_its_value(cli: Any, command: str, option: str) -> None:
    said = sentence(cli(*command.split(), option))
    assert option in said
    assert "requires an argument" in said


@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_a_word_for_a_number(cli: Any, command: str, option: str) -> None:
    said = sentence(cli(*command.split(), option, "many"))
    assert f"{option} 'many': " in said
    assert "must be" in said or "not a valid" in said  # in the words of either parser
    assert f"stribeck {command} --help" in said


@pytest.mark.parametrize(
    "command",
    [name for name, one in COMMANDS.items() if any(param.required for param in one.params)],
)
def test_a_missing_argument(cli: Any, command: str) -> None:
    assert "missing " in sentence(cli(*command.split()))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("calibrate", "--target", "banana"), "--target 'banana'"),
        (("calibrate", "--joints", "j9"), "--joints j9"),
        (("run", "--experiment", "dance"), "--experiment dance"),
    ],
)
def test_a_wrong_value_is_told_before_a_used_folder_and_the_heading(
    cli: Any, tmp_path: Any, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "notes.txt").write_text("used")
    assert told in sentence(cli(*arguments, "--out", str(tmp_path)))
