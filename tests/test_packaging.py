"""Wheel and sdist: their contents, and their installation in a user's environment."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.slow

LINKS = ROOT / "src" / "stribeck"
FACE = ("__init__.py", "__main__.py", "library.py", "mujoco.py", "py.typed")
SOURCES = (
    "src",
    "ident",
    "drivers",
    "experiments",
    "data",
    "README.md",
    "LICENSE",
    "pyproject.toml",
)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Installation:
    """An environment with the dependencies but without the source tree; a
    wheel can be installed in it.
    """

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        (site,) = self.folder.glob("lib/python*/site-packages")
        return site

    def install(self, wheel: Path) -> None:
        """Install a wheel and its command."""
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "--python",
                str(self.python),
                "install",
                "--no-deps",
                "--no-compile",
                "-q",
                str(wheel),
            ],
            check=True,
        )

    def install_editable(self, tree: Path, out: Path) -> None:
        """Install a source tree as the build makes it editable: its
        wheel has no more than a path.
        """
        with zipfile.ZipFile(built(tree, out, "wheel:editable")["wheel:editable"]) as archive:
            archive.extractall(self.site)

    def run(self, *arguments: object, cwd: Path, **variables: str) -> str:
        """Standard output of Python in the environment with these arguments; further
        environment variables by name.
        """
        done = subprocess.run(
            [str(self.python), *map(str, arguments)],
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def make_installation(tmp_path_factory):
    def make() -> Installation:
        folder = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        parts = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        installation = Installation(folder)
        # no editable hooks
        (installation.site / "dependencies.pth").write_text(
            "\n".join(parts) + "\n", encoding="utf-8"
        )
        return installation

    return make


def built(source: Path, out: Path, *targets: str) -> dict[str, Path]:
    """Distributions of a source tree, by target."""
    for target in targets:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "hatchling",
                "build",
                "-t",
                target,
                "-d",
                str(out / target.replace(":", "-")),
            ],
            cwd=source,
            check=True,
            capture_output=True,
        )
    return {target: next((out / target.replace(":", "-")).iterdir()) for target in targets}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory) -> dict[str, Path]:
    return built(ROOT, tmp_path_factory.mktemp("dist"), "wheel", "sdist")


@pytest.fixture(scope="module")
def wheel(distributions) -> Path:
    return distributions["wheel"]


@pytest.fixture(scope="module")
def unpacked(distributions, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(distributions["sdist"]) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def installed(wheel, make_installation) -> Installation:
    installation = make_installation()
    installation.install(wheel)
    return installation


@pytest.fixture(scope="module")
def without_links(tmp_path_factory) -> Path:
    """A checkout in which links are text files, as git writes them on Windows."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(source, copy)
    for folder in packaged_folders():
        link = copy / "src" / "stribeck" / folder
        link.unlink(missing_ok=True)
        link.write_text(f"../../{folder}", encoding="utf-8")
    return copy


def packaged_folders() -> set[str]:
    """Top folders of the wheel besides the public package."""
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    return {path.split("/")[0] for path in included} - {"src"}


def files_of(folder: str) -> set[str]:
    """Files below a folder of the tree, from its root."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


class TestContents:
    def test_the_wheel_contains_one_package_with_every_file(self, wheel):
        version = PYPROJECT["project"]["version"]
        names = {
            name
            for name in contents(wheel)
            if not name.startswith(f"stribeck-{version}.dist-info/")
        }
        folders = (
            "ident",
            "drivers",
            "experiments",
            "data/arms",
            "data/library",
            "data/mechanisms",
            "data/schemas",
        )
        expected = {f"stribeck/{name}" for folder in folders for name in files_of(folder)}
        assert names == expected | {f"stribeck/{name}" for name in FACE}
        assert len(expected) > 200

    def test_the_sdist_contains_every_file(self, unpacked):
        names = {
            path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
        }
        folders = ("ident", "drivers", "experiments", "data", "docs", "tests", "benchmarks")
        missing = {name for folder in folders for name in files_of(folder)} - names
        assert not missing
        assert {"README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "pyproject.toml"} <= names
        assert {name for name in names if name.startswith("src/")} == {
            f"src/stribeck/{name}" for name in FACE
        }

    def test_a_wheel_from_the_sdist_is_the_same(self, wheel, unpacked, tmp_path):
        assert contents(built(unpacked, tmp_path, "wheel")["wheel"]) == contents(wheel)

    def test_a_wheel_from_a_checkout_without_links_is_the_same(
        self, wheel, without_links, tmp_path
    ):
        assert contents(built(without_links, tmp_path, "wheel")["wheel"]) == contents(wheel)

    def test_package_lists_and_links_name_the_same_folders(self):
        sources = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"]
        folders = packaged_folders()
        assert sources == {"src": "", **{folder: f"stribeck/{folder}" for folder in folders}}
        if (ROOT / "PKG-INFO").exists():
            return  # an unpacked sdist, which has no links
        links = {
            path.name: path
            for path in LINKS.iterdir()
            if path.suffix not in (".py", ".typed", "") or path.name in folders
        }
        assert links.keys() - {"__pycache__"} == folders
        for folder in folders:
            target = (
                links[folder].readlink()
                if links[folder].is_symlink()
                else links[folder].read_text(encoding="utf-8")
            )
            assert Path(target).as_posix() == f"../../{folder}"


class TestEditable:
    @pytest.mark.parametrize("links", [True, False], ids=["links", "text-files"])
    def test_it_imports_the_tree(self, links, request, make_installation, tmp_path):
        tree = ROOT if links else request.getfixturevalue("without_links")
        installation = make_installation()
        installation.install_editable(tree, tmp_path)
        code = (
            "import pathlib, stribeck.ident.errors as module; "
            "from stribeck.ident.arm.built_in import find; "
            "print(pathlib.Path(module.__file__).resolve(), find('lab6').resolve())"
        )
        assert installation.run("-c", code, cwd=tmp_path).split() == [
            str(tree.resolve() / "ident" / "errors.py"),
            str(tree.resolve() / "data" / "arms" / "lab6" / "lab6.toml"),
        ]

    def test_an_unpacked_sdist_can_be_used_as_a_checkout(
        self, unpacked, make_installation, tmp_path
    ):
        installation = make_installation()
        installation.install_editable(unpacked, tmp_path)
        assert "calibrate" in installation.run("-m", "stribeck", "--help", cwd=tmp_path)


class TestInstalled:
    def test_it_works_beside_user_folders_of_the_same_names(self, installed, tmp_path):
        """Neither package hides the other, in the current directory or on PYTHONPATH; data files
        are there. `.ci/environments.py` also calibrates an arm, fits and checks types.
        """
        for name in ("experiments/ppo_run.py", "drivers/ur5.py", "ident/mine.py"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(f"NAME = {name!r}\n", encoding="utf-8")
        path = str(tmp_path)
        code = """
import stribeck
from drivers.ur5 import NAME as first
from experiments.ppo_run import NAME as second
from ident.mine import NAME as third
print(first, second, third, stribeck.__file__, len(stribeck.load_mechanism("lab6").names))
"""
        out = installed.run("-c", code, cwd=tmp_path, PYTHONPATH=path).split()
        assert out == [
            "drivers/ur5.py",
            "experiments/ppo_run.py",
            "ident/mine.py",
            str(installed.site / "stribeck/__init__.py"),
            "6",
        ]
        version = f"stribeck {PYPROJECT['project']['version']}"
        assert (
            installed.run("-m", "stribeck", "--version", cwd=tmp_path, PYTHONPATH=path).strip()
            == version
        )
        command = installed.folder / "bin" / "stribeck"
        assert "calibrate" in installed.run(command, "--help", cwd=tmp_path, PYTHONPATH=path)
