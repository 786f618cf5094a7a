"""Vendored files are what their README says, unchanged, with their licence."""

import hashlib
import re

import pytest

from stribeck.experiments.report.frame.page_frame import resource
from tests.places import ROOT

PLOTLY, AXE = ROOT / "experiments" / "report" / "frame" / "plotly", ROOT / "tests" / "axe"


@pytest.mark.parametrize("folder", [PLOTLY, AXE], ids=["plotly", "axe"])
def test_the_file_has_the_stated_version_licence_and_digest(folder):
    (script,) = folder.glob("*.js")
    stated = (folder / "README.md").read_text(encoding="utf-8")
    (digest,) = re.findall(r"^    ([0-9a-f]{64})$", stated, flags=re.MULTILINE)
    assert hashlib.sha256(script.read_bytes()).hexdigest() == digest
    (version,) = re.findall(r"is \S+ (\d+\.\d+\.\d+)", stated)
    assert f"v{version}" in script.read_text(encoding="utf-8")[:400]
    assert len((folder / "LICENSE").read_text(encoding="utf-8")) > 500


def test_the_library_is_part_of_the_package():
    assert (
        "plotly.js (cartesian - minified)" in resource("frame/plotly/plotly-cartesian.min.js")[:200]
    )
