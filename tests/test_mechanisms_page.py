"""The sections of docs/mechanisms.md agree with the results of the code,
which are computed again.
"""

import importlib.util
import re

import pytest

from tests.places import DOCS
from tests.printed import assert_printed

SECTIONS = (
    "five_axis_tree",
    "three_loop_chain",
    "six_cylinders",
    "planar_3_prr",
    "gough_stewart",
    "flexible_arm",
    "flexible_arm_trends",
    "flexible_parallel",
)


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_mechanisms", DOCS / "make_mechanisms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_has_the_computed_results(maker, section):
    text, _ = getattr(maker, section)()
    page = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
    assert_printed(without_roundoff(text), without_roundoff(page))
    title = text.splitlines()[0]
    (on_page,) = (part for part in re.split("\n(?=## )", page) if part.startswith(f"{title}\n"))
    assert on_page.count("```") == text.count("```")  # no code but what was run here


def without_roundoff(text):
    """Mask the condition number of a singular matrix: it is roundoff and
    differs between computers.
    """
    return re.sub(r"condition number \d\.\de\+1\d", "condition number huge", text)


def test_every_mechanism_is_on_the_page(maker):
    page = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
    assert tuple(section.__name__ for section in maker.SECTIONS) == SECTIONS
    for section in maker.SECTIONS:
        assert (DOCS / "images" / f"{section.__name__.replace('_', '-')}.png").is_file()
        assert section.__doc__
    assert page.count("\n## ") == len(maker.SECTIONS)
