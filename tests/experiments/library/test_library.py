"""The open library: entries that load, agree with their digests, and are
made again by their commands.
"""

import json
import shutil
from pathlib import Path

import pytest

import stribeck
from benchmarks.library import TOLERANCE, compared, missing, refit
from stribeck.experiments.library.library_entry import LibraryEntry
from stribeck.experiments.library.library_folders import BUILT_IN, VARIABLE
from stribeck.experiments.library.provenance import PROVENANCE
from stribeck.ident.arm.built_in import built_in_arms
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from tests.places import DATA

ENTRIES = sorted(path.parent.name for path in BUILT_IN.glob(f"*/{PROVENANCE}"))
SMALLEST = "elastic1"
QUICK = ("emps",)  # made again in seconds; the benchmark `library` makes all
MOST_BYTES = 1_200_000  # of all entries; the wheel is zipped
TITLE = 'schema = 1\ntitle = "mine"\nkind = "measured"\nlicence = "CC-BY-4.0"\n'


@pytest.fixture
def own(tmp_path) -> Path:
    """A library with one entry: the golden calibration."""
    entry = tmp_path / "shelf" / "pendulum"
    entry.mkdir(parents=True)
    for name in ("calibration.toml", "pendulum.urdf"):
        shutil.copy(DATA / "golden" / name, entry)
    (entry / PROVENANCE).write_text(TITLE, encoding="utf-8")
    return entry.parent


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_whole(name):
    entry = LibraryEntry.of(BUILT_IN / name)
    stated = entry.provenance
    assert {path.name for path in entry.paths} == {PROVENANCE, *stated.files}
    calibration = entry.calibration  # compares the digests
    assert calibration.joints
    assert stated.commands
    assert stated.versions.keys() == {"stribeck", "numpy", "scipy", "mujoco"}
    assert (stated.kind == "measured") == (stated.recordings is not None) == bool(stated.citation)
    if stated.kind == "simulated":
        assert "in simulation" in stated.about
        assert set(entry.points["joint"]) == set(calibration.joints)
    else:
        # recordings are not copied, and points of general motion are samples
        assert entry.points is None
        assert not set(stated.recordings.files) & set(stated.files)
    if (folder := built_in_arms().get(name)) is not None:
        model = folder.with_name(calibration.model.file)
        assert model.read_bytes() == (entry.folder / model.name).read_bytes()


@pytest.mark.slow
def test_a_malformed_entry_is_named_and_stops_no_other(own, cli):
    (own / "broken").mkdir()
    (own / "broken" / PROVENANCE).write_text(
        TITLE.replace("schema = 1", "schema = 9"), encoding="utf-8"
    )
    assert cli("library", "pendulum", "--library", own).code == 0
    listed = cli("library", "--library", own)
    assert listed.code == 0
    assert "pendulum" in listed.out
    assert "broken" in next(line for line in listed.out.splitlines() if line.startswith("bad "))
    assert len(json.loads(cli("library", "--library", own, "--json").out)["bad"]) == 1
    assert cli("library", "broken", "--library", own).code == 2


def test_the_library_is_small():
    assert sum(path.stat().st_size for path in BUILT_IN.rglob("*")) < MOST_BYTES


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.slow
def test_an_entry_is_made_again_by_its_commands(name, tmp_path):
    entry = LibraryEntry.of(BUILT_IN / name)
    if lacks := missing(entry):
        pytest.skip(lacks)
    found = compared(entry, refit(entry, tmp_path), 0.0)
    assert found.numbers > 100
    assert found.words == ()
    assert found.worst <= TOLERANCE, found.where


def test_the_comparison_finds_another_digit_and_another_word(tmp_path):
    entry = LibraryEntry.of(BUILT_IN / SMALLEST)
    other = tmp_path / SMALLEST
    entry.copy_to(str(other))
    path = other / "calibration.toml"
    before = path.read_text(encoding="utf-8")
    value = entry.calibration.joints["shoulder"].parameters["coulomb"].value
    path.write_text(
        before.replace(f"value = {value:g}", f"value = {value * 1.0001:g}"), encoding="utf-8"
    )
    found = compared(entry, other, 0.0)
    assert not found.same
    assert found.worst == pytest.approx(1e-4, rel=0.1)
    assert found.where == "joints.shoulder.parameters.coulomb.value"
    path.write_text(
        before.replace('verdict = "identified"', 'verdict = "weak"', 1), encoding="utf-8"
    )
    found = compared(entry, other, 0.0)
    assert not found.same
    assert found.words


def test_a_missing_recording_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.library.LOGS", tmp_path)
    assert "DATA_EMPS.mat is missing" in missing(LibraryEntry.of(BUILT_IN / "emps"))
    (tmp_path / "emps").mkdir()
    (tmp_path / "emps" / "DATA_EMPS.mat").write_bytes(b"another")
    assert "not the recording" in missing(LibraryEntry.of(BUILT_IN / "emps"))
    assert missing(LibraryEntry.of(BUILT_IN / SMALLEST)) == ""


def test_load_gives_a_calibration_that_works(tmp_path):
    calibration = stribeck.library.load("lab6")
    friction = calibration.friction([0.0] * 6, [0.5] * 6)
    assert (friction > 0.0).all()
    assert "frictionloss" in export(calibration, "mjcf").text


def test_a_model_that_is_not_copied_is_named():
    calibration = stribeck.library.load("z1")
    assert calibration.joints["joint1"].torque(0.5) > 1.0
    with pytest.raises(InputError, match=r"z1\.xml: the calibration's model is missing"):
        calibration.friction([0.0] * 7, [0.5] * 7)


def test_own_libraries(own, monkeypatch):
    assert "pendulum" not in stribeck.library.entries()
    assert stribeck.library.entries([own])["pendulum"].provenance.licence == "CC-BY-4.0"
    assert stribeck.library.load("pendulum", [own]).joints.keys() == {"hinge"}
    monkeypatch.setenv(VARIABLE, str(own))
    assert list(stribeck.library.entries()) == sorted([*ENTRIES, "pendulum"])
    (own / "pendulum").rename(own / "lab6")  # hides the one of the package
    assert stribeck.library.load("lab6").arm == "pendulum"


def test_what_is_wrong_is_refused(own, monkeypatch, tmp_path):
    with pytest.raises(InputError, match="unknown library entry 'lab7'; did you mean 'lab6'"):
        stribeck.library.load("lab7")
    with pytest.raises(InputError, match="has no library entry"):
        stribeck.library.entries([tmp_path])
    path = own / "pendulum" / PROVENANCE
    for text, message in (
        (f"{TITLE}speed = 1\n", "speed: unknown key"),
        (TITLE.replace("measured", "guessed"), "kind = 'guessed'"),
        (f'{TITLE}[files]\n"calibration.toml" = "{"0" * 64}"\n', "the file was changed"),
        (f'{TITLE}[files]\n"points.csv" = "{"0" * 64}"\n', "is missing"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            stribeck.library.load("pendulum", [own])
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(InputError, match=f"{VARIABLE}: .*none: this folder has no library entry"):
        stribeck.library.entries()


def test_a_changed_entry_is_not_copied(own, tmp_path):
    path = own / "pendulum" / PROVENANCE
    path.write_text(f'{TITLE}[files]\n"calibration.toml" = "{"0" * 64}"\n', encoding="utf-8")
    with pytest.raises(InputError, match="the file was changed"):
        LibraryEntry.of(own / "pendulum").copy_to(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


class TestCommand:
    @pytest.mark.slow
    def test_it_lists_shows_and_copies(self, cli, own, tmp_path):
        listed = cli("library", "--library", own).out
        assert [name for name in (*ENTRIES, "pendulum") if f" {name} " not in listed] == []
        shown = cli("library", "emps").out
        assert "licence" in shown
        assert "DATA_EMPS.mat" in shown
        assert "carriage" in shown
        assert cli("library", "emps", "--out", tmp_path / "copy").code == 0
        assert stribeck.Calibration.load(tmp_path / "copy").joints.keys() == {"carriage"}
        assert "exists and is not empty" in cli("library", "emps", "--out", tmp_path / "copy").err
        assert "name the entry to copy" in cli("library", "--out", tmp_path / "other").err

    @pytest.mark.slow
    def test_as_json(self, cli, tmp_path):
        assert json.loads(cli("library", "--json").out)["entries"]["tx40"]["kind"] == "measured"
        table = json.loads(cli("library", SMALLEST, "--out", tmp_path / "copy", "--json").out)
        assert len(table["points"]["odd"]) == len(table["points"]["joint"]) > 50
        assert table["provenance"]["commands"]
        assert len(table["files"]) == 4
