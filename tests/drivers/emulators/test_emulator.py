"""Emulators share no code with drivers."""

import ast

import pytest

from tests.places import ROOT


def test_the_emulator_shares_no_code_with_the_driver():
    for path in (ROOT / "drivers" / "emulators").glob("*.py"):
        imported = imported_by(path.read_text(encoding="utf-8"))
        ours = {
            name.removeprefix("stribeck.drivers.")
            for name in imported
            if name.startswith("stribeck.drivers.")
        }
        modules = {name.rsplit(".", 1)[0] for name in ours if not name.startswith("emulators")}
        assert modules <= {"arm", "simulation.simulated_arm", "wire.clock"}, path
        assert not {name.partition(".")[0] for name in imported} & {
            "canopen",
            "dynamixel_sdk",
            "odrive_can",
        }, path


def imported_by(text):
    """Names that a module imports, in full."""
    nodes = list(ast.walk(ast.parse(text)))
    return {
        f"{node.module}.{name.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    } | {f"{name.name}." for node in nodes if isinstance(node, ast.Import) for name in node.names}


@pytest.mark.parametrize(
    "line",
    [
        "from stribeck.drivers.canopen import cia402",
        "from stribeck.drivers.canopen.cia402 import Scale",
        "import stribeck.drivers.canopen.cia402",
    ],
)
def test_every_form_of_import_is_found(line):
    (name,) = imported_by(line)
    assert name.startswith("stribeck.drivers.canopen.cia402")
