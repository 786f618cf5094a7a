"""An installed plug-in package with a law, an exporter and an importer, used from the shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import DATA

pytestmark = pytest.mark.slow

RUN = str(DATA / "golden" / "runs" / "constant-speed")
MODULE = """
import json
import numpy as np
from stribeck.experiments.importers.table import in_memory
from stribeck.ident.export.result import Export
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.quantity import COULOMB, Quantity

def bent(w, coulomb, bend, load=None):
    return coulomb * np.sign(w) + bend * np.sign(w) * np.sqrt(np.abs(w))

BENT = Law("bent", bent, (COULOMB, Quantity("bend", "{tau}", "bent friction", heading="bend")))

def to_modelica(calibration):
    lines = [f"{name}.coulomb = {joint.values['coulomb']:.6g};" for name, joint in calibration.joints.items()]
    return Export("\\n".join(lines), ".mo", ())

def open_jsonl(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return in_memory(str(path), {name: np.array([row[name] for row in rows]) for name in rows[0]})
"""
METADATA = "Metadata-Version: 2.1\nName: somebodys-friction\nVersion: 1.0\n"
ENTRY_POINTS = """
[stribeck.laws]
bent = somebodys_friction:BENT
gone = somebodys_friction:GONE
[stribeck.exporters]
modelica = somebodys_friction:to_modelica
[stribeck.importers]
jsonl = somebodys_friction:open_jsonl
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the plug-in is installed."""
    site = tmp_path_factory.mktemp("plugin")
    (site / "somebodys_friction.py").write_text(MODULE, encoding="utf-8")
    facts = site / "somebodys_friction-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(METADATA, encoding="utf-8")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return site


@pytest.fixture
def shell(place: Path, tmp_path: Path):
    def run(*words: str, plugin: bool = True) -> subprocess.CompletedProcess[str]:
        paths = [*([str(place)] if plugin else []), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, "-m", "stribeck", *words],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    return run


def test_law_exporter_and_importer_of_another_package(shell, tmp_path):
    """Without the package, the law is not known; an entry that cannot be loaded is named."""
    done = shell("fit", RUN, "--law", "bent", "--out", "fitted")
    assert done.returncode == 0, done.stderr
    assert {"bent", "bend"} <= set(done.stdout.split())
    done = shell("export", "fitted", "--to", "json", plugin=False)
    assert done.returncode == 2
    assert "bent" in done.stderr
    assert "coulomb-viscous" in done.stderr
    done = shell("export", "fitted", "--to", "modelica", "--out", "friction.mo")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "friction.mo").read_text(encoding="utf-8").startswith("hinge.coulomb = ")
    rows = [
        f'{{"time": {0.01 * k}, "position": {0.1 * k % 3 - 1}, "force": 1.0}}' for k in range(300)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = shell("import", "log.jsonl", "--arm", "emps", "--yes", "--out", "campaign")
    assert "position" in done.stdout + done.stderr
    assert "kind of log" not in done.stderr
    done = shell("fit", RUN, "--law", "gone", "--out", "again")
    assert done.returncode == 2
    assert "somebodys_friction:GONE" in done.stderr
    assert "Traceback" not in done.stderr
