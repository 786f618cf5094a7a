"""Checked tables from TOML files; the message of an error names the first faulty key."""

import json
import re
import tomllib
from ast import literal_eval
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from stribeck.ident.errors import InputError, no_file, no_text, unknown_name

SCHEMA = 1
NAME = r"^\.*[\w+-][\w.+-]*$"  # a name that can also be a file name
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_LONGEST = 60  # characters of a value in a message
_KINDS = {
    "object": "a table",
    "dictionary": "a table",
    "array": "a list",
    "list": "a list",
    "tuple": "a list",
    "number": "a number",
    "integer": "an integer",
    "string": "text in quotes",
    "boolean": "true or false",
}
_WORDS: dict[str, Any] = {  # what pydantic says: what we say
    rf"^Input should be an? (?:valid )?({'|'.join(_KINDS)})$": lambda found: (
        f"{_KINDS[found[1]]} is needed"
    ),
    r"^(Input|String|List|Tuple) should ": "it must ",
    r" after validation, not (\d+)$": r", found \1",
}
_Table = TypeVar("_Table", bound=BaseModel)


def as_name(text: str) -> str:
    """Turn any text into a name that files can have."""
    return re.sub(r"[^\w.+-]", "_", text)


def key_of(name: str) -> str:
    """Return a name as a TOML key, in quotes if necessary."""
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def read_toml(path: Path) -> dict[str, Any]:
    """Read and parse a TOML file.

    Raises
    ------
    InputError
        If it is missing, not text or not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise no_file(path) from None
    except UnicodeDecodeError:
        raise no_text(path) from None
    except tomllib.TOMLDecodeError as error:
        twice = re.search(r"Cannot declare (\(.+\)) twice", str(error))
        table = ".".join(map(key_of, literal_eval(twice[1]))) if twice else ""
        again = f"; the file already has a table [{table}]: write these keys there" if table else ""
        raise InputError(f"{path}: not a TOML file: {error}{again}") from error


def upgrade(table: dict[str, Any], path: Path, schema: int = SCHEMA) -> dict[str, Any]:
    """Convert a table of an older schema to the present schema, and refuse newer schemas."""
    found = table.get("schema")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        states = "no schema is stated" if found is None else f"schema = {found!r}"
        raise InputError(
            f"{path}: {states}, but an integer from 1 to {schema} is needed; check that this is "
            "the right kind of file"
        )
    if found > schema:
        raise InputError(
            f"{path}: schema {found} is newer than the newest that this stribeck reads "
            f"({schema}); update stribeck"
        )
    return table


def parse_table(table_type: type[_Table], table: dict[str, Any], path: Path) -> _Table:
    """Check a table from TOML; the error is one sentence that names the first faulty key."""
    try:
        # true is not a number
        return table_type.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        raise InputError(f"{path}: {_first_fault(table_type, table, error)}") from error


def _first_fault(table_type: type[BaseModel], table: dict[str, Any], error: ValidationError) -> str:
    faults = error.errors()
    # misspelt keys first
    fault = next((fault for fault in faults if fault["type"] in _UNKNOWN), faults[0])
    where, found = fault["loc"], fault["input"]
    key = ".".join(str(part) for part in where)
    if fault["type"] in _UNKNOWN:
        return f"{key}: {unknown_name('key', str(where[-1]), _valid_keys(table_type, where[:-1]))}"
    if fault["type"] in ("missing", "missing_argument"):
        if where and isinstance(where[-1], int) and isinstance(found, list):
            return (
                f"{'.'.join(map(str, where[:-1]))} = {_shown(found)} has {len(found)} value(s); "
                "more are needed"
            )
        return f"{key} is missing; this key is required"
    message = _plain(fault)
    if not key:
        return message
    if fault["type"] == "value_error" and isinstance(found, dict | list):
        return f"{key}: {message}"  # the message of our own check states the value
    return f"{key} = {_shown(found)}: {message}"


def _plain(fault: Any) -> str:
    """Return the message of a fault in plain words, as the end of a sentence about a value."""
    message = fault["msg"].removeprefix("Value error, ")
    if fault.get("ctx", {}).get("pattern") == NAME:
        return (
            "a name may hold letters, digits and . _ + -, and no blanks, because files are named "
            "after it"
        )
    for of_pydantic, words in _WORDS.items():
        message = re.sub(of_pydantic, words, message)
    return f"{message[0].lower()}{message[1:]}"


def _shown(value: Any) -> str:
    """Return a value as TOML states it, cut where it is long."""
    text = (
        repr(value)
        if isinstance(value, str | float)
        else json.dumps(value, default=str, ensure_ascii=False)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _valid_keys(table_type: Any, where: tuple[int | str, ...]) -> list[str]:
    """Return the valid keys of the table at this place."""
    here: Any = table_type
    for part in where:
        fields = _fields(here)
        here = fields[part] if part in fields else (_inner(here) or here)
    return list(_fields(here) or _fields(_inner(here)))


def _fields(here: Any) -> dict[Any, Any]:
    fields = getattr(here, "model_fields", None) or getattr(here, "__pydantic_fields__", None)
    if fields is None and is_dataclass(here):
        return {item.name: item.type for item in dataclass_fields(here)}
    return {item.alias or name: item.annotation for name, item in (fields or {}).items()}


def _inner(annotation: Any) -> Any:
    """Return the table type T inside dict[str, T], tuple[T, ...] or T | None."""
    for argument in getattr(annotation, "__args__", ()):
        if _fields(argument):
            return argument
    return None
