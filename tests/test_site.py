"""The documentation site: built without a warning, with every page, every public name, every command, and a search that finds."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import stribeck
from stribeck.experiments.cli.app import app
from tests.places import ROOT

QUESTIONS = {
    "torque constant": "logs", "armature": "manual/faq", "RTDE": "which-arms-work", "gripper": "logs",
    "backlash": "manual/backlash", "payload": "theory", "resume campaign": "manual/hardware",
    "temperature": "manual/temperature", "Isaac": "manual/other-simulators",
    "MCAP": "logs", "Drake": "manual/other-simulators", "feedforward": "manual/judging"}
_WORD = re.compile(r"[^\W_]+")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; Sphinx ends with an error at the first warning, such as a link without a target or a page without a place."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site", "docs", str(out)],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_every_page_is_there(site: Path) -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        page = site / path.relative_to(ROOT / "docs").with_suffix(".html")
        assert page.is_file(), path
        assert len(page.read_text(encoding="utf-8")) > 2000


def test_every_public_name_and_command_has_its_entry(site: Path) -> None:
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in (*stribeck.__all__, "mujoco.attach"):
        assert f'id="stribeck.{name}"' in python, name
    commands = re.sub("<[^>]*>", "", (site / "reference" / "command-line.html").read_text(encoding="utf-8"))
    found = get_command(app).commands
    fleet = {f"fleet {name}": command for name, command in found["fleet"].commands.items()}
    assert len(fleet) == 3
    for name, command in (found | fleet).items():
        assert f"$ stribeck {name} " in commands, name
        for option in command.params:
            assert not option.opts[0].startswith("--") or option.opts[0] in commands, (name, option.opts)


def test_every_key_of_the_schemas_is_explained(site: Path) -> None:
    files = (site / "reference" / "files.html").read_text(encoding="utf-8")
    for path in (ROOT / "data" / "schemas").glob("*.json"):
        for key in json.loads(path.read_text(encoding="utf-8")).get("properties", {}):
            assert f">{key}</span>" in files, (path.name, key)


@pytest.mark.parametrize("asked", QUESTIONS)
def test_the_search_index_leads_to_the_page(site: Path, asked: str) -> None:
    """Sphinx' search takes the pages that hold all words; it stems them."""
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").rstrip(");\n"))
    page = index["docnames"].index(QUESTIONS[asked])
    for word in _WORD.findall(asked.lower()):
        stems = [stem for stem in (*index["terms"], *index["titleterms"]) if word.startswith(stem) and len(stem) >= len(word) - 3]
        pages = {one for stem in stems for of in (index["terms"].get(stem, []), index["titleterms"].get(stem, []))
                 for one in (of if isinstance(of, list) else [of])}
        assert page in pages, (word, stems)
