"""Paths of files that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
DOCS = ROOT / "docs"
TEST_ARMS = ROOT / "tests" / "arms"
# real logs with published results, where there are any
SHARED = ROOT.parent / "shared" / "data"
