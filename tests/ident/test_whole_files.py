"""Files are whole or not there, whatever fails while they are written."""

import errno
from pathlib import Path

import pytest

from stribeck.ident.errors import InputError
from stribeck.ident.whole_files import whole, write_whole, write_whole_folder


@pytest.mark.parametrize("before", [None, "what was there"])
def test_a_file_that_cannot_be_written_is_named_and_leaves_what_was_there(
    tmp_path: Path, before: str | None
) -> None:
    path = tmp_path / "report.html"
    if before is not None:
        path.write_text(before, encoding="utf-8")

    def write() -> None:
        with whole(path) as part:
            part.write_text("half", encoding="utf-8")
            # as a full disk says it, without a name
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as caught:
        write()
    assert caught.value.filename == str(path)
    assert {entry.name: entry.read_text(encoding="utf-8") for entry in tmp_path.iterdir()} == (
        {} if before is None else {"report.html": before}
    )


def test_a_folder_that_is_not_there_is_named_by_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "nowhere" / "plan.toml", "x")
    assert caught.value.filename == str(tmp_path / "nowhere" / "plan.toml")


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "model.urdf", "a\r\nb\n")
    assert (tmp_path / "model.urdf").read_bytes() == b"a\r\nb\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.urdf"]


TEXTS = {"package.xml": "<a/>\n", "src/main.cpp": "int main() {}\r\n"}


@pytest.mark.parametrize("before", ["nothing", "an empty folder"])
def test_a_folder_is_written_with_its_folders(tmp_path: Path, before: str) -> None:
    folder = tmp_path / "new" / "package"
    if before != "nothing":
        folder.mkdir(parents=True)
    write_whole_folder(folder, TEXTS)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {
        path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files
    } == TEXTS
    assert [entry.name for entry in folder.parent.iterdir()] == ["package"]


@pytest.mark.parametrize("there", ["file", "full"])
def test_a_folder_in_use_is_refused_and_stays(tmp_path: Path, there: str) -> None:
    path = tmp_path / there
    if there == "file":
        path.write_text("mine", encoding="utf-8")
    else:
        path.mkdir()
        (path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=f"{there} exists and is not empty; choose another --out"):
        write_whole_folder(path, TEXTS)
    assert [one.read_text(encoding="utf-8") for one in tmp_path.rglob("*") if one.is_file()] == [
        "mine"
    ]


def test_a_folder_that_cannot_be_written_is_named_and_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        if path.name == "main.cpp":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole_folder(tmp_path / "package", TEXTS)
    assert caught.value.filename == str(tmp_path / "package")
    assert not list(tmp_path.iterdir())
