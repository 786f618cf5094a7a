"""Links of pages: internal targets and their headings exist; external links have one
well-formed spelling each.

Whether external hosts answer is not tested here: `sphinx-build -b linkcheck` asks them where there
is a network (CONTRIBUTING.md).
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tests.places import DATA, DOCS, ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
TEXTS = [
    *PAGES,
    *sorted(DOCS.rglob("*.ipynb")),
    *sorted((DATA / "library").glob("*/provenance.toml")),
]
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)]*)\)")
_ADDRESS = re.compile(r"https?://[^\s\"'`<>)\\]*[^\s\"'`<>)\\.,;:]")
_HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)
_HOST = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,}")


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def links(text: str) -> list[str]:
    """Targets of the links of a page, without those in code."""
    return _LINK.findall(_CODE.sub("", text))


def anchors(text: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub and the site make them: words in
    lower case, joined by hyphens.
    """
    found: dict[str, int] = defaultdict(int)
    names = set()
    for heading in _HEADING.findall(
        re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    ):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        names.add(name if not found[name] else f"{name}-{found[name]}")
        found[name] += 1
    return names


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors(page.read_text(encoding="utf-8"))


def internal_fault(page: Path, target: str) -> str:
    """Return what is wrong with a link to a file or heading; empty if nothing is."""
    path, _, anchor = target.partition("#")
    there = page.parent / path if path else page
    if not there.exists():
        return "no such file"
    if anchor and anchor not in anchors_of(there):
        return "no such heading"
    return ""


def external_fault(address: str) -> str:
    """Return what is wrong with the form of an external link; empty if nothing is."""
    parts = urlsplit(address)
    if parts.scheme != "https":
        return "not https"
    if not _HOST.fullmatch(parts.netloc):
        return "no host in lower case, without user and port"
    if "//" in parts.path or "|" in address or "%20" in address:
        return "doubled slash, bar or blank"
    return ""


def same_place(address: str) -> str:
    """One spelling for all addresses of a page: without www, slash at the
    end, .git, and index.html.
    """
    parts = urlsplit(address)
    path = re.sub(r"(/index\.html?|\.git)?/*$", "", parts.path)
    return (
        f"{parts.netloc.lower().removeprefix('www.')}{path.lower()}?{parts.query}#{parts.fragment}"
    )


def test_internal_links_have_their_file_and_heading() -> None:
    faults = {
        f"{label(page)}: {target}": fault
        for page in PAGES
        for target in links(page.read_text(encoding="utf-8"))
        if "://" not in target and (fault := internal_fault(page, target))
    }
    assert faults == {}


def addresses(page: Path) -> set[str]:
    """External links of a page, and addresses in its text."""
    text = page.read_text(encoding="utf-8")
    targets = links(text) if page.suffix == ".md" else []
    return {*_ADDRESS.findall(text), *(target for target in targets if "://" in target)}


def test_external_links_are_well_formed() -> None:
    faults = {
        f"{label(page)}: {address}": fault
        for page in TEXTS
        for address in addresses(page)
        if (fault := external_fault(address))
    }
    assert faults == {}


def test_an_external_page_has_one_spelling() -> None:
    spellings: dict[str, set[str]] = defaultdict(set)
    for page in TEXTS:
        for address in _ADDRESS.findall(page.read_text(encoding="utf-8")):
            spellings[same_place(address)].add(address)
    assert len(spellings) > 10
    assert {place: several for place, several in spellings.items() if len(several) > 1} == {}


def test_the_checks_can_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One page\n\n## Kinds: `a` and b\n\n## Again\n\n## Again\n\n```sh\n# no "
        "heading\n```\n[x](y.md)`[z](w.md)`"
        "\n",
        encoding="utf-8",
    )
    assert anchors(page.read_text(encoding="utf-8")) == {
        "one-page",
        "kinds-a-and-b",
        "again",
        "again-1",
    }
    assert links(page.read_text(encoding="utf-8")) == ["y.md"]
    assert internal_fault(page, "y.md") == "no such file"
    assert (
        internal_fault(page, "#no-heading")
        == internal_fault(page, "page.md#two")
        == "no such heading"
    )
    assert internal_fault(page, "page.md#again-1") == ""
    for wrong in (
        "http://example.org",
        "https://Example.org/a",
        "https://example/a",
        "https://example.org/a//b",
        "https://example.org/a%20b",
        "https://me@example.org",
    ):
        assert external_fault(wrong), wrong
    assert external_fault("https://example.org/a#b") == ""
    assert same_place("https://www.example.org/A/") == same_place(
        "https://example.org/a/index.html"
    )
    assert same_place("https://example.org/a") != same_place("https://example.org/b")
