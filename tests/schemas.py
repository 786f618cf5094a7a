"""Judges the JSON of a command by the schema in data/schemas/, with an independent
implementation of JSON Schema.
"""

import json
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

from tests.places import DATA

SCHEMAS: dict[str, dict[str, Any]] = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((DATA / "schemas").glob("*.schema.json"))
}
_REGISTRY: Registry[Any] = Registry().with_resources(
    [(schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()]
)


def judge(name: str, table: dict[str, Any]) -> None:
    """Raise `jsonschema.ValidationError` where the JSON is not as the schema
    of this name describes it.
    """
    found = best_match(
        Draft202012Validator({"$ref": f"{name}.schema.json"}, registry=_REGISTRY).iter_errors(table)
    )
    if found is not None:
        raise found
