"""The manual: every command, snippet and link works and prints the shown output."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import chdir, nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest
from distributed import Client

from stribeck.experiments.fleet import dask_workers
from stribeck.experiments.importers.readers import READERS
from stribeck.ident.export.formats import NUMBERS
from stribeck.ident.laws.law_table import LAWS
from tests.drivers.wires import play, processes
from tests.manual import MANUAL, blocks, copy_of, paste, renewed, run_page
from tests.places import DATA, DOCS, SHARED, TEST_ARMS
from tests.printed import STORED, assert_printed, plain
from tests.recorded import Recorded

WITHOUT_BLOCKS = {"README", "faq", "glossary", "references", "stability"}
PAGES = {path.stem for path in MANUAL.glob("*.md")} - WITHOUT_BLOCKS
EMPS = SHARED / "emps" / "DATA_EMPS.mat"
ARMS = DATA / "arms"
README = DOCS.parent / "README.md"


@pytest.fixture
def folder(recorded: Recorded, tmp_path: Path) -> Path:
    """Folder with the campaign and the validation run of the page "five minutes"."""
    for line in (
        "calibrate lab6 --joints j5,j6 --budget 90s --seed 1 --out first",
        "run lab6 --experiment validation --seed 2 --out unseen",
    ):
        with chdir(tmp_path):
            copy_of(recorded, line.split())
    return tmp_path


@pytest.fixture
def drives(request: pytest.FixtureRequest) -> Iterator[None]:
    """The emulated drives of an arm, in another process."""
    listens = processes.Event()
    process = processes.Process(target=play, args=(ARMS / request.param, 0, listens), daemon=True)
    process.start()
    assert listens.wait(60.0)
    yield
    process.kill()
    process.join()


@pytest.mark.slow
def test_five_minutes(recorded: Recorded, tmp_path: Path) -> None:
    run_page("five-minutes", tmp_path, recorded)
    assert {path.name for path in tmp_path.iterdir()} == {
        "first",
        "unseen",
        "unseen.png",
        "lab6.xml",
        "friction.h",
        "my_arm",
    }


@pytest.mark.slow
@pytest.mark.parametrize("drives", ["lab6/lab6-canopen.toml"], indirect=True)
def test_hardware(drives: None, tmp_path: Path) -> None:
    run_page("hardware", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("drives", ["desk4/desk4-dynamixel.toml"], indirect=True)
def test_dynamixel(drives: None, tmp_path: Path) -> None:
    run_page("dynamixel", tmp_path)


@pytest.mark.slow
def test_other_software(folder: Path) -> None:
    run_page("other-software", folder)


def test_commands(tmp_path: Path) -> None:
    run_page("commands", tmp_path)


def test_excitation(tmp_path: Path) -> None:
    run_page("excitation", tmp_path)


@pytest.mark.slow
def test_one_joint(tmp_path: Path) -> None:
    run_page("one-joint", tmp_path)


@pytest.mark.slow
def test_presliding(recorded: Recorded, tmp_path: Path) -> None:
    run_page("presliding", tmp_path, recorded)


def test_backlash(tmp_path: Path) -> None:
    run_page("backlash", tmp_path)


@pytest.mark.slow
def test_temperature(tmp_path: Path) -> None:
    run_page("temperature", tmp_path)


@pytest.mark.slow
def test_servos(tmp_path: Path) -> None:
    run_page("servos", tmp_path)


@pytest.mark.slow
def test_mujoco(folder: Path) -> None:
    run_page("mujoco", folder)


@pytest.mark.slow
def test_external_torque(folder: Path) -> None:
    run_page("external-torque", folder)


@pytest.mark.slow
def test_other_simulators(folder: Path) -> None:
    if missing := run_page("other-simulators", folder):
        pytest.skip(
            f"all blocks passed but those that need {', '.join(missing)}, which are not installed"
        )


@pytest.mark.slow
def test_controllers(folder: Path) -> None:
    run_page("controllers", folder)


@pytest.mark.slow
def test_judging(folder: Path) -> None:
    run_page("judging", folder)


@pytest.mark.slow
def test_report(folder: Path) -> None:
    run_page("report", folder)
    assert (folder / "unseen.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_fleet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is a thread of this process: another process would import everything."""
    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        monkeypatch.setattr(dask_workers, "local_workers", lambda *_: nullcontext(client))
        run_page("fleet", folder)


@pytest.mark.slow
def test_universal_robots(recorded: Recorded, tmp_path: Path) -> None:
    run_page("universal-robots", tmp_path, recorded)


def test_library(tmp_path: Path) -> None:
    run_page("library", tmp_path)


def test_parallel_machines(tmp_path: Path) -> None:
    shutil.copy(TEST_ARMS / "five-bar.xml", tmp_path)
    run_page("parallel-machines", tmp_path)


@pytest.mark.slow
def test_extending(folder: Path) -> None:
    with patch.dict(LAWS), patch.dict(NUMBERS), patch.dict(READERS):
        run_page("extending", folder)


@pytest.mark.slow
@pytest.mark.skipif(
    not EMPS.is_file(),
    reason="the measured EMPS log is not part of the project; it is missing beside it",
)
def test_example_emps(tmp_path: Path) -> None:
    (tmp_path / EMPS.name).symlink_to(EMPS)
    run_page("example-emps", tmp_path, part=STORED)


@pytest.mark.slow
def test_example_lab6(recorded: Recorded, tmp_path: Path) -> None:
    run_page("example-lab6", tmp_path, recorded)


@pytest.mark.slow
def test_readme(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first command prints what the README shows; the snippet runs on what it made."""
    text = README.read_text(encoding="utf-8")
    (arguments,) = re.findall(r"\.venv/bin/stribeck (calibrate .*)", text)
    (shown,) = re.findall(
        r"<!-- output -->\n```\n(.*?)```\n<!-- end of output -->", text, flags=re.DOTALL
    )
    (snippet,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    with chdir(tmp_path):
        printed = copy_of(recorded, arguments.split())
        assert_printed(plain(shown), plain(printed))  # the README's lines are wrapped
        exec(compile(snippet, README.name, "exec"), {})
    friction, fed_forward, *rest = capsys.readouterr().out.splitlines()
    assert friction == fed_forward
    assert len(friction.split()) >= 6
    assert any(line.split()[1:3] == ["j1", "coulomb"] for line in rest)


def test_every_page_is_run_and_listed() -> None:
    run_here = {
        name.removeprefix("test_").replace("_", "-")
        for name in globals()
        if name.startswith("test_")
    }
    assert run_here >= PAGES
    index = (MANUAL / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in MANUAL.glob("*.md")} - {"README.md"} <= set(
        re.findall(r"\]\(([\w-]+\.md)\)", index)
    )
    assert [page for page in sorted(WITHOUT_BLOCKS) if blocks(MANUAL / f"{page}.md")] == []


def test_the_citation_names_the_version_of_the_package() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)[1] == project["version"]


@pytest.mark.parametrize("page", [*sorted(MANUAL.glob("*.md")), README], ids=lambda path: path.stem)
def test_toml_blocks_can_be_pasted(page: Path) -> None:
    """Each block of TOML is whole, names its file, and says where it goes; README has none."""
    for block in (block for block in blocks(page) if block.kind == "toml"):
        assert re.match(r"# \S+\.toml\n", block.body), block.body
        tomllib.loads(block.body)
        assert block.mark in ("", "<!-- replaces the table of this name -->\n")


def test_a_block_that_cannot_be_pasted_fails(tmp_path: Path) -> None:
    arm = tmp_path / "arm.toml"
    arm.write_text(
        "schema = 1\n\n[joints.default]\n# acceleration =    # needed\n\n[joints.j1]\nvelocity = "
        "1.0\n",
        encoding="utf-8",
    )
    block = "# arm.toml\n[joints.default]\nacceleration = 4.0\n"
    with pytest.raises(tomllib.TOMLDecodeError, match="twice"):
        paste(block, arm, replaces=False)
    paste(block, arm, replaces=True)
    assert tomllib.loads(arm.read_text(encoding="utf-8"))["joints"] == {
        "default": {"acceleration": 4.0},
        "j1": {"velocity": 1.0},
    }
    with pytest.raises(AssertionError, match="no single table"):
        paste(block.replace("default", "j7"), arm, replaces=True)


def test_a_block_of_output_is_renewed_by_lines_of_the_same_words() -> None:
    printed = "head 1.0\n j1   6.02 ± 0.08   identified\n j2   9.15   weak\n"
    shown = " j1 6.01 ± 0.12 identified\n"
    assert renewed(shown, printed) == " j1   6.02 ± 0.08   identified\n"
    with pytest.raises(AssertionError, match="no line of these words"):
        renewed(" j1 6.01 ± 0.12 weak\n", printed)
