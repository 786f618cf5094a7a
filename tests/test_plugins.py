"""An installed plug-in package with a law, an exporter and an importer, used by commands."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from stribeck.experiments.cli.app import run
from stribeck.ident.laws.law_table import LAWS
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


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the plug-in is installed."""
    site = tmp_path_factory.mktemp("plugin")
    (site / "somebodys_friction.py").write_text(MODULE, encoding="utf-8")
    facts = site / "somebodys_friction-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(METADATA, encoding="utf-8")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return site


@pytest.fixture
def command(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command as a program that starts with the plug-in or without it."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, plugin: bool = True) -> tuple[int, str, str]:
        capsys.readouterr()
        with monkeypatch.context() as started, patch.dict(LAWS):
            if plugin:
                started.syspath_prepend(site)
            return run(list(words)), *capsys.readouterr()

    return call


def test_law_exporter_and_importer_of_another_package(command: Command, tmp_path: Path) -> None:
    """Without the package, the law is not known; an entry that cannot be loaded is named."""
    code, out, err = command("fit", RUN, "--law", "bent", "--out", "fitted")
    assert code == 0, err
    assert {"bent", "bend"} <= set(out.split())
    code, _, err = command("export", "fitted", "--to", "json", plugin=False)
    assert code == 2
    assert "bent" in err
    assert "coulomb-viscous" in err
    code, _, err = command("export", "fitted", "--to", "modelica", "--out", "friction.mo")
    assert code == 0, err
    assert (tmp_path / "friction.mo").read_text(encoding="utf-8").startswith("hinge.coulomb = ")
    rows = [
        f'{{"time": {0.01 * k}, "position": {0.1 * k % 3 - 1}, "force": 1.0}}' for k in range(300)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(rows), encoding="utf-8")
    _, out, err = command("import", "log.jsonl", "--arm", "emps", "--yes", "--out", "campaign")
    assert "position" in out + err
    assert "kind of log" not in err
    code, _, err = command("fit", RUN, "--law", "gone", "--out", "again")
    assert code == 2
    assert "somebodys_friction:GONE" in err
    assert "Traceback" not in err
