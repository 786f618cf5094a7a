"""Files are whole or not there, whatever fails while they are written."""

import errno
from pathlib import Path

import pytest

from stribeck.ident.whole_files import whole, write_whole


@pytest.mark.parametrize("before", [None, "what was there"])
def test_a_file_that_cannot_be_written_is_named_and_leaves_what_was_there(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "report.html"
    if before is not None:
        path.write_text(before, encoding="utf-8")

    def write() -> None:
        with whole(path) as part:
            part.write_text("half", encoding="utf-8")
            raise OSError(errno.ENOSPC, "No space left on device")       # as a full disk says it, without a name

    with pytest.raises(OSError, match="No space left on device") as caught:
        write()
    assert caught.value.filename == str(path)
    assert {entry.name: entry.read_text(encoding="utf-8") for entry in tmp_path.iterdir()} == (
        {} if before is None else {"report.html": before})


def test_a_folder_that_is_not_there_is_named_by_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "nowhere" / "plan.toml", "x")
    assert caught.value.filename == str(tmp_path / "nowhere" / "plan.toml")


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "model.urdf", "a\r\nb\n")
    assert (tmp_path / "model.urdf").read_bytes() == b"a\r\nb\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.urdf"]
