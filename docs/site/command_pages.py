"""Directive ``commands``: every command and option of the program, as Typer documents them."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.cli import get_docs_for_click
from typer.main import get_command

from stribeck.experiments.cli.app import app


class Commands(SphinxDirective):
    """All commands, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        command = get_command(app)
        context = command.make_context("stribeck", ["--version"], resilient_parsing=True)
        text = get_docs_for_click(obj=command, ctx=context, name="stribeck")
        return self.parse_text_to_nodes(re.sub(r"^# .*\n", "", text), allow_section_headings=True)


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    sphinx.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
