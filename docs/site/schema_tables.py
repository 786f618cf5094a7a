"""Directive ``schema``: the keys of a JSON schema as a table, with kinds, and
meanings in words and units.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_NAMED = {"array": "list", "object": "table", "string": "text"}


class SchemaTable(SphinxDirective):
    """The keys of ``data/schemas/NAME.schema.json``, nested keys included."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        path = (
            Path(self.env.srcdir).parent / "data" / "schemas" / f"{self.arguments[0]}.schema.json"
        )
        self.env.note_dependency(str(path))
        schema = json.loads(path.read_text(encoding="utf-8"))
        lines = [schema.get("description", ""), "", "| key | kind | meaning |", "|---|---|---|"]
        lines += [
            f"| `{key}` | {_kind(of)} | {of.get('description', '').replace('|', '&#124;')} |"
            for key, of in _keys(schema)
        ]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("schema", SchemaTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _keys(schema: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key with its schema, of all shapes; keys of tables within tables have a dot,
    elements of lists brackets.
    """
    for key, of in schema.get("properties", {}).items():
        yield before + key, of
        yield from _keys(of, f"{before}{key}.")
    for shape in schema.get("oneOf", ()):
        yield from _keys(shape, before)
    for entry, word in ((schema.get("additionalProperties"), "NAME"), (schema.get("items"), "[]")):
        if isinstance(entry, dict):
            inside = f"{before}NAME" if word == "NAME" else f"{before.removesuffix('.')}[]"
            if word == "NAME" and ("description" in entry or "properties" in entry):
                yield inside, entry
            yield from _keys(entry, f"{inside}.")


def _kind(schema: dict[str, Any]) -> str:
    """Return the kind of a value in a word or two."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "")
    several = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(_NAMED.get(kind, kind) for kind in several if kind)
