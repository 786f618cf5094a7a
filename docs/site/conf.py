"""Settings of Sphinx for the documentation site: `sphinx-build -W -c docs/site docs build/site`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "stribeck"
copyright = "the stribeck authors, Apache-2.0"  # Sphinx' name
version = release = version_of("stribeck")

root_doc = "index"
exclude_patterns = ["site", "images", "notebooks/*/**", "**/.ipynb_checkpoints"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "command_pages",
    "schema_tables",
    "outside_links",
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # tests run the notebooks
autodoc_typehints = "none"  # the docstrings state types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"stribeck {version}"
html_static_path: list[str] = []
html_search_scorer = str(Path(__file__).parent / "scorer.js")
