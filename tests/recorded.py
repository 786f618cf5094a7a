"""Campaigns and fits that tests share: each is made once a test run, by the process that needs it
first; other processes wait for it.

A test takes the fixture `recorded`. Nothing may change a shared folder; `Made.copy` gives a test
its own one.
"""

import hashlib
import io
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.without_figures import without_figures

try:
    import fcntl
except ImportError:  # Windows: each process makes its own
    fcntl = None  # type: ignore[assignment]

SHARED = fcntl is not None  # whether processes can wait for each other


@dataclass(frozen=True)
class Few:
    """Numbers of a small plan: enough for words, options and files, too few for good figures.

    Attributes
    ----------
    postures : int
        Postures of a campaign.
    speeds : int, optional
        Speeds in each posture; default as shipped.
    swings : int, optional
        Swings of a validation; default as shipped.
    """

    postures: int = 2
    speeds: int | None = None
    swings: int | None = None

    @contextmanager
    def used(self) -> Iterator[None]:
        """Plan campaigns and validations with these numbers; reports have no figures."""
        from stribeck.experiments.methods import validation_motion
        from stribeck.experiments.methods.registry import METHODS

        numbers = {"postures": self.postures}
        if self.speeds:
            numbers["speeds"] = self.speeds
        with pytest.MonkeyPatch.context() as patch, without_figures():
            for method, (plan, options) in METHODS.items():
                patch.setitem(METHODS, method, (plan, replace(options, **numbers)))
            if self.swings:
                patch.setattr(validation_motion, "SWINGS", self.swings)
            yield


SMALL = Few(postures=3, speeds=4, swings=2)


@dataclass(frozen=True)
class Made:
    """What a command made.

    Attributes
    ----------
    folder : Path
        The folder given by ``--out``; read only by agreement.
    printed, said : str
        Standard output, and standard error.
    """

    folder: Path
    printed: str
    said: str

    def copy(self, to: Path) -> Path:
        """Copy the folder, for a test that changes it."""
        return Path(shutil.copytree(self.folder, to))


class Recorded:
    """Things made once a test run.

    Parameters
    ----------
    root : Path
        Folder that all processes of the test run share.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._values: dict[str, Any] = {}
        self._used: set[Path] = set()

    def command(self, command: str, arm: Any, *options: Any, few: Few | None = None) -> Made:
        """Result of ``stribeck COMMAND ARM OPTIONS --out FOLDER``, which must exit with code 0.

        Parameters
        ----------
        command : str
            Name of the command, such as ``calibrate``.
        arm : ArmFile, Path or str
            Arm file, name of a built-in arm, or recorded folder.
        *options
            Further words of the command line.
        few : Few, optional
            Numbers of a small plan; default as shipped.
        """

        def make(folder: Path) -> None:
            self._run([command, place, *words, "--out", str(folder / "out")], few, folder)

        place = str(getattr(arm, "path", arm))
        words = [str(word) for word in options]
        folder = self._once(_key(command, _digest(place), *words, few), make)
        printed, said = (
            (folder / name).read_text(encoding="utf-8") for name in ("printed.txt", "said.txt")
        )
        return Made(folder / "out", printed, said)

    def main_job(self) -> Made:
        """The main job, as README and manual show it."""
        return self.command("calibrate", "lab6", "--seed", "1")

    def folder(self, make: Callable[..., Any], *arguments: Any) -> Path:
        """Folder filled by ``make(folder, *arguments)``; arguments are told apart by their text."""

        def fill(folder: Path) -> None:
            (folder / "out").mkdir()
            make(folder / "out", *arguments)

        return self._once(_key(make.__module__, make.__qualname__, *arguments), fill) / "out"

    def value(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Value of ``make(*arguments)``, such as a fit; it must be picklable.

        Every caller in a process gets the same object.
        """

        def store(folder: Path) -> None:
            (folder / "value.pickle").write_bytes(pickle.dumps(make(*arguments)))

        key = _key("value", make.__module__, make.__qualname__, *arguments)
        if key not in self._values:
            self._values[key] = pickle.loads((self._once(key, store) / "value.pickle").read_bytes())
        return self._values[key]

    def changed(self) -> list[str]:
        """Name shared files that this process used and that are no longer as they were made."""
        return [
            f"{folder}: {name}"
            for folder in sorted(self._used)
            for name in sorted(
                set(_listing(folder))
                ^ set((folder.parent / "made").read_text(encoding="utf-8").splitlines())
            )
        ]

    def _run(self, words: list[str], few: Few | None, folder: Path) -> None:
        from stribeck.experiments.cli.app import run

        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            if few is None:
                code = run(words)
            else:
                with few.used():
                    code = run(words)
        assert code == 0, f"stribeck {' '.join(words)} exits with {code}: {err.getvalue()}"
        (folder / "printed.txt").write_text(out.getvalue(), encoding="utf-8")
        (folder / "said.txt").write_text(err.getvalue(), encoding="utf-8")

    def _once(self, key: str, make: Callable[[Path], None]) -> Path:
        place = self._root / key
        folder, made = place / "made-by-tests", place / "made"
        if not made.exists():
            place.mkdir(parents=True, exist_ok=True)
            with _alone(place / "lock"):
                if not made.exists():
                    shutil.rmtree(folder, ignore_errors=True)  # of a maker that failed
                    folder.mkdir()
                    make(folder)
                    made.write_text("\n".join(_listing(folder)), encoding="utf-8")
        self._used.add(folder)
        return folder


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock file; a process that ends lets it go."""
    with path.open("w") as file:
        if SHARED:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _listing(folder: Path) -> list[str]:
    """Files with size and time of last change."""
    return [
        f"{path.relative_to(folder).as_posix()} {path.stat().st_size} {path.stat().st_mtime_ns}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def _key(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _digest(place: str) -> str:
    """Digest of arm file and model, with the truth of the simulation; of a folder, its path."""
    from stribeck.ident.arm.arm_file import load_arm

    if Path(place).is_dir():
        return place
    arm = load_arm(place)
    files = (arm.path.read_bytes(), arm.model.read_bytes())
    return hashlib.sha256(b"".join(files)).hexdigest()


def shared_root(tmp_path_factory: pytest.TempPathFactory, worker: str | None) -> Path:
    """Folder of this test run for things that processes share.

    Parameters
    ----------
    tmp_path_factory : TempPathFactory
        Folders of this process.
    worker : str, optional
        Name of this process among several, as xdist gives it.
    """
    base = tmp_path_factory.getbasetemp()
    return (base.parent if worker and SHARED else base) / "recorded"
