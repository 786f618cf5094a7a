"""The judge of messages rejects poor messages; otherwise it could not find any."""

import pytest

from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError
from tests.messages import faults, refusal_faults


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ("invalid input", ["place", "found", "allowed"]),
        ("something went wrong", ["place", "found", "allowed"]),
        ("arm.toml: bad value", ["found", "allowed"]),
        ("arm.toml: joints.j1.velocity = -1", ["allowed"]),
        ("too large: 5, at most 3", ["place"]),
        ("arm.toml: joints.j1.velocity = -1: it must be greater than 0", []),
        ("unknown joint 'j7' (valid: j1, j2)", []),
        ("q of joint j2 is not finite in row 3: nan; finite numbers are needed", []),
    ],
)
def test_what_a_message_lacks(message: str, lacks: list[str]) -> None:
    assert faults(message) == lacks


def test_a_refusal_names_a_file_an_option_or_an_argument() -> None:
    words = ["run", "lab7", "--law", "strbeck"]
    assert refusal_faults("unknown law 'x' (valid: stribeck)", words) == [
        "file, option or argument"
    ]
    assert not refusal_faults("--law x: unknown law 'x' (valid: stribeck)", words)
    assert not refusal_faults("unknown arm 'lab7' (valid: lab6)", words)


def test_every_expected_error_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the package whose message says nothing fails the test that provokes it."""

    def useless(path: object) -> None:
        raise InputError("no")

    monkeypatch.setattr("stribeck.ident.arm.arm_file.find", useless)
    with pytest.raises(InputError, match="no"):  # raised in a test: not judged
        load_arm("lab6")
    monkeypatch.setattr("tests.messages.raised_in_tests", lambda error: False)
    with (
        pytest.raises(AssertionError, match="does not say place, allowed"),
        pytest.raises(InputError),
    ):
        load_arm("lab6")
