"""Files with one wrong value: every key of every file in turn gets a value of a wrong type, an
impossible value, or none; which of them, by its place in the file.

A file may be accepted. If it is refused, the message must be of use: it names the file and the key,
and says what was found and what is allowed.
"""

import copy
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stribeck.drivers.connect import connect
from stribeck.experiments.methods.registry import METHODS
from stribeck.experiments.plans.plan import read_plan, write_plan
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import StribeckError
from stribeck.ident.log.run import RECORD, load_run
from tests.messages import faults
from tests.places import DATA
from tests.short_runs import shortened

pytestmark = pytest.mark.slow

DRIVES = ("driver", "drive")
# arm files, with the keys to spoil; default: all
ARMS = {
    "lab6/lab6": (),
    "lab6/lab6-canopen": DRIVES,
    "lab6/lab6-damiao": DRIVES,
    "lab6/lab6-odrive": DRIVES,
    "desk4/desk4-cubemars": DRIVES,
    "desk4/desk4-dynamixel": DRIVES,
    "elastic1/elastic1": ("simulation",),
}
MECHANISMS = (
    "mechanisms/five-axis-tree",
    "mechanisms/flexible-arm",
    "arms/planar-3-prr/planar-3-prr.mechanism",
)
Place = tuple[str | int, ...]


def places(table: Any, above: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every key of a table and of the tables in it, with its value; of the entries of a list,
    and of joints, the first.
    """
    entries = list(table.items()) if isinstance(table, dict) else list(enumerate(table))[:1]
    if above in (("joints",), ("motors",), ("simulation", "joints"), ("parameters",)):
        entries = entries[:1]
    for key, value in entries:
        yield (*above, key), value
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def wrong(value: Any) -> list[Any]:
    """Values of another type than the present value, and impossible ones."""
    if isinstance(value, bool):
        return ["text", 17.5]
    if isinstance(value, int | float):
        return ["text", -1e40, [], True]
    if isinstance(value, str):
        return [17.5, "no such value!", ""]
    if isinstance(value, dict):
        return [17.5, {"no_such_key": 17.5, **value}]
    return [17.5, [], ["text"]]


@dataclass(frozen=True)
class Case:
    """A good file, the function that reads it, and the least number of
    wrong values that it refuses.
    """

    table: dict[str, Any]
    path: Path
    read: Callable[[Path], Any]
    least: int
    only: tuple[str, ...] = ()  # keys to spoil, with all below them; default: all

    def refusals(self) -> Iterator[tuple[Place, Any, str]]:
        """Place, value (None: the key is removed) and message of every refused file."""
        for k, (place, present) in enumerate(places(self.table)):
            if self.only and not set(self.only) & set(place):
                continue
            # without this list it is no mechanism file
            if place == ("joints",) and isinstance(present, list):
                continue
            values = (*wrong(present), None)
            for value in (values[k % len(values)], values[(k + 2) % len(values)]):
                table = copy.deepcopy(self.table)
                inner: Any = table
                for key in place[:-1]:
                    inner = inner[key]
                if value is None:
                    del inner[place[-1]]
                else:
                    inner[place[-1]] = value
                text = json.dumps(table) if self.path.suffix == ".json" else as_toml(table)
                self.path.write_text(text, encoding="utf-8")
                try:
                    self.read(self.path)
                except StribeckError as error:
                    yield place, value, str(error)


def as_toml(table: dict[str, Any]) -> str:
    """A TOML file with a line for each key of the table; tomlkit would take longer to write it
    than stribeck to read it.
    """
    return "".join(f"{json.dumps(key)} = {in_line(value)}\n" for key, value in table.items())


def in_line(value: Any) -> str:
    """A value in TOML, in one line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(key)} = {in_line(v)}" for key, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(in_line, value))}]"
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def with_driver(path: Path) -> None:
    """Read an arm file, its model and the keys of its driver."""
    load_mechanism(path)
    connect(load_arm(path))


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def arm(name: str, tmp_path: Path) -> Case:
    path = copied((DATA / "arms" / name).parent, tmp_path) / f"{Path(name).name}.toml"
    return Case(tomllib.loads(path.read_text(encoding="utf-8")), path, with_driver, 4, ARMS[name])


def mechanism(name: str, tmp_path: Path) -> Case:
    path = copied((DATA / name).parent, tmp_path) / f"{Path(name).name}.toml"
    return Case(tomllib.loads(path.read_text(encoding="utf-8")), path, load_mechanism, 16)


def calibration(name: str, tmp_path: Path) -> Case:
    path = copied(DATA / "golden", tmp_path) / name
    return Case(tomllib.loads(path.read_text(encoding="utf-8")), path, Calibration.load, 40)


def record(name: str, tmp_path: Path) -> Case:
    path = shortened(DATA / "golden" / "runs" / "constant-speed", tmp_path / "run", 300) / name
    return Case(
        json.loads(path.read_text(encoding="utf-8")), path, lambda path: load_run(path.parent), 8
    )


def plan(name: str, tmp_path: Path) -> Case:
    make, options = METHODS["single"]
    path = tmp_path / name
    whole = make(load_arm(DATA / "golden" / "pendulum.toml"), options=options)
    write_plan(replace(whole, segments=whole.segments[:3]), path)
    return Case(tomllib.loads(path.read_text(encoding="utf-8")), path, read_plan, 12)


CASES = [
    *((arm, name) for name in ARMS),
    *((mechanism, name) for name in MECHANISMS),
    (calibration, "calibration.toml"),
    (record, RECORD),
    (plan, "plan.toml"),
]


@pytest.mark.parametrize(("make", "name"), CASES, ids=[name for _, name in CASES])
def test_a_refused_value_is_told_with_file_key_found_and_allowed(
    make: Callable[[str, Path], Case], name: str, tmp_path: Path
) -> None:
    case = make(name, tmp_path)
    refused = list(case.refusals())
    useless = [
        f"{'.'.join(map(str, place))} = {value!r}: {message} <- {', '.join(lacks)}"
        for place, value, message in refused
        if (lacks := lacking(case, place, value, message))
    ]
    assert not useless, "\n".join(useless)
    assert len(refused) >= case.least


def lacking(case: Case, place: Place, value: Any, message: str) -> list[str]:
    """What the message about a value does not say. After a removed or renamed entry, it may name
    the key that refers to it.
    """
    lacks = faults(message)
    if case.path.name not in message:
        lacks.append("file")
    keys = [key for key in place if isinstance(key, str)][-2:]
    if not isinstance(value, float) and not (isinstance(value, str) and place[-1] != "name"):
        keys += [key for other, _ in places(case.table) for key in other if isinstance(key, str)]
    if not any(re.search(rf"\b{re.escape(key)}\b", message) for key in keys):
        lacks.append("key")
    if (
        isinstance(value, int | float | str)
        and not isinstance(value, bool)
        and value != ""
        and not shown(value, message)
    ):
        lacks.append("value")
    return lacks


def shown(value: float | str, message: str) -> bool:
    """Whether a message states a value, a number in any of the usual forms."""
    forms = (value,) if isinstance(value, str) else (f"{value:g}", f"{value:.4g}", str(value))
    return any(form in message for form in forms)
