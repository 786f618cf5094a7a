"""The documentation site: built without a warning, with every page, every public name, every
command, and a search that finds.
"""

import io
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.main import get_command

import stribeck
from stribeck.experiments.cli.app import app
from tests.browser import CHROMIUM, Browser
from tests.places import ROOT
from tests.recorded import Recorded

QUESTIONS = {  # what a new user asks, and the page with the answer
    "unknown torque constant": "manual/faq",
    "armature": "manual/faq",
    "gripper": "manual/faq",
    "wrong sign": "manual/faq",
    "stick-slip": "manual/faq",
    "units": "manual/faq",
    "worn joint": "manual/faq",
    "rosbag": "manual/faq",
    "domain randomization": "manual/faq",
    "reinforcement learning": "manual/faq",
    "linear axis": "manual/faq",
    "confidence interval": "manual/faq",
    "install": "manual/faq",
    "payload": "manual/faq",
    "feedforward": "manual/faq",
    "universal robots": "manual/universal-robots",
    "RTDE": "manual/universal-robots",
    "dynamixel": "manual/dynamixel",
    "import csv": "logs",
    "MCAP": "logs",
    "backlash": "manual/backlash",
    "temperature": "manual/temperature",
    "warm up": "manual/temperature",
    "resume campaign": "manual/hardware",
    "emergency stop": "safety",
    "ROS 2 controller": "manual/controllers",
    "simulink": "manual/controllers",
    "Isaac": "manual/other-simulators",
    "Drake": "manual/other-simulators",
    "compare arms": "manual/fleet",
    "contact": "manual/external-torque",
    "validation": "manual/judging",
    "add law": "manual/extending",
    "driver": "drivers",
    "closed chain": "manual/parallel-machines",
    "json": "manual/commands",
    "library": "manual/library",
    "lugre": "manual/presliding",
    "how long": "manual/faq",
}
# without what no test reads: copies of the sources, indices, curved quotation marks
PLAIN = (
    "html_theme=basic",
    "html_copy_source=0",
    "html_use_index=0",
    "html_domain_indices=0",
    "smartquotes=0",
)
PATIENCE = 30.0  # s
AMONG = 3  # pages on top of the results, among which the answer is
_WORD = re.compile(r"[^\W_]+")


pytestmark = pytest.mark.slow


def build(folder: Path) -> None:
    """Build the site with a plain theme, whose pages have no tree of all others beside them; Sphinx
    ends with an error at the first warning, such as a link without a target or a page without a
    place. `.ci/run` builds it as it is shown.
    """
    from sphinx.cmd.build import main as sphinx

    said = io.StringIO()
    plain = [word for setting in PLAIN for word in ("-D", setting)]
    words = ["-q", "-W", "--keep-going", *plain, "-c", ROOT / "docs" / "site"]
    with redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Sphinx and its extensions will change
        code = sphinx([*map(str, words), str(ROOT / "docs"), str(folder)])
    assert code == 0, said.getvalue()[-3000:]


@pytest.fixture(scope="module")
def site(recorded: Recorded) -> Path:
    """The site."""
    return recorded.folder(build)


def test_every_page_is_there(site: Path) -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        page = site / path.relative_to(ROOT / "docs").with_suffix(".html")
        assert page.is_file(), path
        assert len(page.read_text(encoding="utf-8")) > 2000


def test_every_public_name_and_command_has_its_entry(site: Path) -> None:
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in (*stribeck.__all__, "mujoco.attach"):
        assert f'id="stribeck.{name}"' in python, name
    commands = re.sub(
        "<[^>]*>", "", (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    )
    found = get_command(app).commands
    fleet = {f"fleet {name}": command for name, command in found["fleet"].commands.items()}
    assert len(fleet) == 3
    for name, command in (found | fleet).items():
        assert f"$ stribeck {name} " in commands, name
        for option in command.params:
            assert not option.opts[0].startswith("--") or option.opts[0] in commands, (
                name,
                option.opts,
            )


def test_every_key_of_the_schemas_is_explained(site: Path) -> None:
    files = (site / "reference" / "files.html").read_text(encoding="utf-8")
    for path in (ROOT / "data" / "schemas").glob("*.json"):
        for key in json.loads(path.read_text(encoding="utf-8")).get("properties", {}):
            assert f">{key}</span>" in files, (path.name, key)


@pytest.fixture(scope="module")
def results(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], list[str]]]:
    """Pages that the site's search shows in a browser, the best first."""
    if not CHROMIUM:
        pytest.skip("no Chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        browser.open(site / "search.html", 1280, query="?q=friction")

        def found(asked: str) -> list[str]:
            # on the same page, since to load the index takes longer than to search
            browser.ask(
                "document.getElementById('search-results').replaceChildren(), "
                f"Search.performSearch({json.dumps(asked)})"
            )
            until = time.monotonic() + PATIENCE
            while not (
                browser.ask(
                    "document.querySelector('#search-results .search-summary')?.innerText ?? ''"
                )
            ):
                assert time.monotonic() < until, f"the search for {asked!r} does not end"
                time.sleep(0.05)
            shown = browser.ask(
                "[...document.querySelectorAll('#search-results ul.search > li > a')].map(a => "
                "a.pathname)"
            )
            pages = [
                Path(unquote(path)).relative_to(site).with_suffix("").as_posix() for path in shown
            ]
            return list(dict.fromkeys(pages))

        yield found


@pytest.mark.parametrize("asked", QUESTIONS)
def test_the_search_shows_the_page_among_the_first(
    results: Callable[[str], list[str]], asked: str
) -> None:
    assert QUESTIONS[asked] in results(asked)[:AMONG]


def test_the_search_finds_nothing_for_nonsense(results: Callable[[str], list[str]]) -> None:
    assert results("qwrtzx") == []


def test_the_search_index_leads_to_the_pages(site: Path) -> None:
    """Sphinx' search takes the pages that hold all words; it stems them.
    This test needs no browser.
    """
    from sphinx.search.en import SearchEnglish

    english = SearchEnglish({})
    index = json.loads(
        (site / "searchindex.js")
        .read_text(encoding="utf-8")
        .removeprefix("Search.setIndex(")
        .rstrip(");\n")
    )
    lost = []
    for asked, page in QUESTIONS.items():
        for word in _WORD.findall(asked.lower()):
            if word in english.stopwords or word.isdigit():  # as the search does
                continue
            pages = {
                index["docnames"][one]
                for terms in (index["terms"], index["titleterms"])
                for of in [terms.get(english.stem(word), [])]
                for one in (of if isinstance(of, list) else [of])
            }
            if page not in pages:
                lost.append(f"{word!r} of {asked!r} does not lead to {page}")
    assert lost == []
