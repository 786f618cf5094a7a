"""Whether MuJoCo survives an installation of the wheel: in fresh environments with the
oldest and the newest release.

Each gets that MuJoCo first, then the wheel. No file of MuJoCo may change, no file may come to
belong to two distributions, `pip check` must agree, MuJoCo must step, the simulated arm must be
calibrated, and the golden run must give the golden calibration. Its digits and the loads of a URDF
that older releases misread are the same in both. A user's type checker must find types.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from itertools import chain
from math import isclose
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "data" / "golden" / "runs" / "constant-speed"
URDF = ROOT / "tests" / "arms" / "gripper.urdf"
GOLDEN = ROOT / "data" / "golden" / "calibration.toml"
STEP = """import mujoco
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_step(model, data)
print(mujoco.__version__, data.time)"""
SCRIPT = """from pathlib import Path

import numpy as np

import stribeck
from stribeck import Calibration, fit_friction

fit = fit_friction(np.geomspace(0.01, 1.0, 20), np.linspace(1.0, 2.0, 20))
reveal_type(fit.rmse)
reveal_type(Calibration.load(Path("calibration")).joints)
stribeck.load_mechanism("lab6").wings
"""


@dataclass(frozen=True)
class Computed:
    """Joints of the golden run's calibration, and loads of the URDF, as one
    environment computes them.
    """

    joints: dict[str, Any]
    loads: dict[str, dict[str, Any]]


def main() -> None:
    """Build the wheel, try both environments at once, compare what they computed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
        (wheel,) = out.glob("*.whl")
        with ThreadPoolExecutor() as pool:
            oldest, newest = pool.map(
                lambda item: tried(out / item[0], item[1], wheel), requirements().items()
            )
        require_types(out / "newest")
    require(
        oldest.joints == newest.joints,
        "the oldest and the newest MuJoCo give calibrations of different digits",
    )
    pairs = zip(numbers(oldest.loads), numbers(newest.loads), strict=True)
    require(
        all(isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) for one, other in pairs),
        f"{URDF}: the oldest MuJoCo gives {oldest.loads}, the newest {newest.loads}",
    )
    require_golden(newest.joints)
    print("environments: the golden run gives the golden calibration, the same digits in both")


def requirements() -> dict[str, str]:
    """What is installed before the wheel, by the name of the environment; the project
    states the oldest release.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (oldest,) = [
        match[1]
        for one in project["dependencies"]
        if (match := re.fullmatch(r"mujoco>=([\d.]+)", one))
    ]
    return {"oldest": f"mujoco=={oldest}", "newest": "mujoco"}


def tried(folder: Path, requirement: str, wheel: Path) -> Computed:
    """Install into a fresh environment, see that everything is whole, and compute there."""
    began = time.monotonic()
    ran(sys.executable, "-m", "venv", str(folder))
    python, (site,) = str(folder / "bin" / "python"), folder.glob("lib/python*/site-packages")
    pip = [python, "-m", "pip", "install", "-q", "--no-compile"]
    ran(*pip, requirement)
    before, shared = mujoco_files(site), owned_twice(site)
    require(bool(before), f"{requirement} brought no file")
    ran(*pip, str(wheel))
    after = mujoco_files(site)
    changed = sorted(
        str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    require(not changed, f"{requirement}: the installation of the wheel changed {changed}")
    twice = sorted(map(str, owned_twice(site) - shared))
    require(not twice, f"{requirement}: files belong to two distributions: {twice}")
    ran(python, "-m", "pip", "check")
    mujoco, _ = ran(python, "-c", STEP).split()
    stribeck = str(folder / "bin" / "stribeck")
    version = ran(stribeck, "--version").strip()
    ran(
        stribeck,
        "calibrate",
        "lab6",
        "--joints",
        "j6",
        "--budget",
        "90s",
        "--out",
        str(folder / "j6"),
    )
    ran(stribeck, "fit", str(RUN), "--out", str(folder / "fit"))
    loads = json.loads(
        ran(
            stribeck,
            "loads",
            str(URDF),
            "--q",
            "0.4,0.05",
            "--dq",
            "1,0.2",
            "--ddq",
            "2,3",
            "--json",
        )
    )["loads"]
    calibration = read(folder / "fit" / "calibration.toml")
    require(
        calibration["fit"]["versions"]["mujoco"] == mujoco,
        "a calibration does not say the version of MuJoCo",
    )
    print(
        f"environments: {requirement}: {version} beside MuJoCo {mujoco}, {len(before)} of its "
        "files unchanged, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    return Computed(calibration["joints"], loads)


def installed(site: Path) -> Iterable[Distribution]:
    """Distributions of one environment, none of this one."""
    return distributions(path=[str(site)])


def files(distribution: Distribution) -> set[Path]:
    """Files that a distribution brought; compiled ones follow from them."""
    return {
        Path(str(file.locate())).resolve()
        for file in distribution.files or ()
        if file.suffix != ".pyc"
    }


def mujoco_files(site: Path) -> dict[Path, str]:
    """Digest of every file of MuJoCo's distributions."""
    mine = {
        file
        for one in installed(site)
        if one.name.lower().startswith("mujoco")
        for file in files(one)
    }
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in mine}


def owned_twice(site: Path) -> set[Path]:
    """Files that several distributions brought; MuJoCo 4 itself comes as several, two of which
    bring ``mujoco/__init__.py``.
    """
    seen: set[Path] = set()
    twice: set[Path] = set()
    for one in installed(site):
        twice |= files(one) & seen
        seen |= files(one)
    return twice


def read(path: Path) -> dict[str, Any]:
    """A TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def numbers(loads: dict[str, dict[str, Any]]) -> list[float]:
    """All numbers of loads, in order."""
    return list(chain.from_iterable(entry.values() for entry in loads.values()))


def require_golden(joints: dict[str, Any]) -> None:
    """Stop where a fit is not the golden one; as close as the test of it demands."""
    for name, golden in read(GOLDEN)["joints"].items():
        for parameter, stated in golden["parameters"].items():
            value = joints[name]["parameters"][parameter]["value"]
            require(
                isclose(value, stated["value"], rel_tol=1e-4),
                f"{name}: {parameter} is {value}, not {stated['value']}",
            )


def require_types(environment: Path) -> None:
    """Stop where a user's type checker does not find the types of the installed package."""
    script = environment / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    python = str(environment / "bin" / "python")
    words = ["-m", "mypy", "--python-executable", python, "--ignore-missing-imports", script.name]
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=environment, capture_output=True, text=True, check=False)
    for expected in (
        r'Revealed type is "(builtins\.)?float"',
        r'Revealed type is "typing\.Mapping\[.*str, stribeck\..*JointCalibration\]"',
        r'"Mechanism" has no attribute "wings"',
    ):
        require(bool(re.search(expected, done.stdout)), f"mypy does not say {expected}: {done}")


def ran(*command: str, cwd: Path | None = None) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(fulfilled: bool, otherwise: str) -> None:
    """Stop with a message where something is not so."""
    if not fulfilled:
        raise SystemExit(f"environments: {otherwise}")


if __name__ == "__main__":
    main()
