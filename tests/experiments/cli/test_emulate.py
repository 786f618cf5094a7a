"""``stribeck emulate``: what it cannot play is said in a sentence."""

import pytest

from tests.drivers.wires import PAIR, merged, with_port


@pytest.mark.parametrize(("changes", "code", "words"), [
    ({"driver": {"bus": None}}, 2, "driver.bus"),
    ({"joints": {"lift": {"drive": {"node": None}}}}, 2, "joints.lift.drive.node"),
    ({"driver": {"bus": {"interface": "no such"}}}, 3, "the bus of the emulated drives cannot be opened"),
    ({"driver": {"kind": "simulated"}}, 2, "unknown kind of emulator 'simulated'"),
])
def test_what_cannot_be_emulated_is_said(make_arm, cli, changes, code, words):
    arm = make_arm(without_none(merged(with_port(PAIR["canopen"], 1), changes)))
    outcome = cli("emulate", arm.path)
    assert (outcome.code, words in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err


def without_none(table):
    return {key: without_none(value) if isinstance(value, dict) else value for key, value in table.items() if value is not None}
