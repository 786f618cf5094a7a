"""What every page must do in a browser: load without errors or requests, fit the window, be
reached by keys, be readable.
"""

import json
from pathlib import Path

from tests.browser import Browser
from tests.places import ROOT

WIDTHS = (390, 768, 1280)  # px: a phone, a tablet, a desk
AXE = (ROOT / "tests" / "axe" / "axe.min.js").read_text(encoding="utf-8")
LIGHTEST = 3_000_000  # bytes, most of a page
OUT = """[...document.querySelectorAll("body *")]
         .filter(part => !part.closest(".visually-hidden, svg, .links, .scroller > *"))
         .filter(part => part.getBoundingClientRect().right > innerWidth + 0.5)
         .map(part => part.tagName + "." + part.className)"""
ALL_DRAWN = """(() => { const left = document.querySelectorAll("[data-figure]:not(.drawn)");
               if (left.length) left[0].scrollIntoView({behavior: "instant"}); return !left.length; })()"""
RESIZED = """[...document.querySelectorAll(".live")].every(one => Math.abs(one._fullLayout.width - one.clientWidth) <= 1)"""
FOCUSED = """(() => { const part = document.activeElement, style = getComputedStyle(part);
             return [part.tagName, part.id || part.textContent.slice(0, 20), style.outlineStyle]; })()"""
STANDARD = '"wcag2a", "wcag2aa", "wcag21a", "wcag21aa"'
WRONG = (
    f"axe.run(document, {{runOnly: [{STANDARD}]}})"
    """.then(found => found.violations.map(one =>
           [one.id, one.nodes.length, one.nodes[0].html.slice(0, 150), one.nodes[0].failureSummary.slice(0, 300)]))"""
)


def opened(browser: Browser, page: Path, width: int = 1280, dark: bool = False) -> None:
    """Show a page with all of its figures drawn."""
    browser.media("screen", dark)
    browser.open(page, width, mobile=width < 400)
    browser.wait(ALL_DRAWN)


def check_fits(browser: Browser, page: Path) -> None:
    """No width makes the page wider than its window; nothing is logged, nothing is
    loaded, and the file is small.
    """
    before = len(browser.complaints), len(browser.requests)
    opened(browser, page, WIDTHS[0])
    for width in WIDTHS:
        browser.window(width, mobile=width == WIDTHS[0])
        # a phone would widen its view to an element that is too wide
        assert browser.ask("innerWidth") == width
        browser.wait(RESIZED)
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask(OUT) == []
    assert browser.complaints[before[0] :] == []
    assert {
        address
        for address in browser.requests[before[1] :]
        if not address.startswith(("data:", "blob:"))
    } == {page.as_uri()}
    assert page.stat().st_size < LIGHTEST


def check_accessible(browser: Browser) -> None:
    """Axe finds nothing wrong by WCAG 2.1 AA on the shown page, light and dark: contrast,
    names of controls, order of headings.
    """
    browser.ask(AXE)
    found = browser.ask(WRONG)
    assert found == [], json.dumps(found, indent=1)
    browser.media("screen", dark=True)
    browser.wait("document.getElementById('theme').ariaPressed === 'true'")
    found = browser.ask(WRONG.replace(STANDARD, '"color-contrast"'))
    assert found == [], json.dumps(found, indent=1)


def check_keys(browser: Browser) -> list[str]:
    """Tab goes through the skip link, buttons and navigation of the shown page, each with a
    visible focus; return what has the focus in order.
    """
    browser.ask("scrollTo({top: 0, behavior: 'instant'})")
    browser.ask("document.activeElement.blur()")
    count, order = (
        browser.ask("document.querySelectorAll('header button, nav a, nav button').length + 1"),
        [],
    )
    for _ in range(count):
        browser.press("Tab")
        tag, name, outline = browser.ask(FOCUSED)
        assert outline != "none", f"{tag} {name} shows no focus"
        order.append(f"{tag} {name}")
    assert order[0] == "A Skip to the content"
    assert order[-1] == "BUTTON theme"
    return order


def check_dark_button(browser: Browser) -> None:
    """The button turns the shown page dark, with keys alone, and light again."""
    browser.media("screen")
    browser.wait("document.getElementById('theme').ariaPressed === 'false'")
    for dark in (True, False):
        browser.ask("document.getElementById('theme').focus()")
        browser.press(" ")
        assert (
            browser.ask("document.getElementById('theme').getAttribute('aria-pressed')")
            == str(dark).lower()
        )
        paper = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(part) for part in paper[4:-1].split(",")) < 200) == dark
        if browser.ask("!!document.querySelector('.live .main-svg')"):
            browser.wait(
                "document.querySelector('.live .main-svg').style.background.replaceAll(' ', '') "
                f"=== '{paper.replace(' ', '')}'"
            )


def check_without_scripts(browser: Browser, page: Path) -> None:
    """Without scripts, and on paper, the still figures and tables are there."""
    visible = (
        "[...document.querySelectorAll('.still > svg, main table')].map(part => "
        "part.getBoundingClientRect().height > 10)"
    )
    browser.scripts(False)
    try:
        browser.media("screen")
        browser.open(page, 390, mobile=True)
        assert browser.ask("document.documentElement.scrollWidth") == 390
        assert browser.ask("document.querySelectorAll('.live').length") == 0
        shown = browser.ask(visible)
        assert len(shown) > 0
        assert all(shown)
        assert not browser.ask(
            "[...document.querySelectorAll('button')].some(part => part.offsetParent)"
        )
    finally:
        browser.scripts(True)
    opened(browser, page)
    browser.media("print")
    try:
        assert all(browser.ask(visible))
        assert not browser.ask(
            "[...document.querySelectorAll('.live, nav, button, .toggles')].some(part => "
            "part.offsetParent)"
        )
    finally:
        browser.media("screen")
