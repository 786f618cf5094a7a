"""Shared campaigns and fits: made once, told apart by arm and options, and guarded against change."""

import threading
import time
from pathlib import Path

import pytest

from stribeck.ident.arm.arm_file import load_arm
from tests import recorded
from tests.recorded import Recorded

MADE = []


def folder_of(folder: Path, word: str) -> None:
    MADE.append(word)
    time.sleep(0.02)
    (folder / "word.txt").write_text(word, encoding="utf-8")


def pair_of(word: str) -> tuple[str, str]:
    MADE.append(word)
    return word, word


@pytest.fixture
def shared(tmp_path):
    MADE.clear()
    return Recorded(tmp_path)


def test_several_processes_make_a_folder_once(shared, tmp_path):
    others = [Recorded(tmp_path) for _ in range(4)]  # a process each, but for the memory
    threads = [threading.Thread(target=other.folder, args=(folder_of, "a")) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (shared.folder(folder_of, "a") / "word.txt").read_text(encoding="utf-8") == "a"
    assert MADE == ["a"]
    shared.folder(folder_of, "b")
    assert MADE == ["a", "b"]


def test_a_value_is_stored_for_other_processes(shared, tmp_path):
    assert shared.value(pair_of, "a") is shared.value(pair_of, "a")
    assert Recorded(tmp_path).value(pair_of, "a") == ("a", "a")
    assert MADE == ["a"]


def test_a_maker_that_fails_leaves_nothing(shared):
    def fails(folder: Path) -> None:
        (folder / "half").touch()
        if len(MADE) < 1:
            MADE.append("failed")
            raise RuntimeError("at first")

    with pytest.raises(RuntimeError):
        shared.folder(fails)
    assert [path.name for path in shared.folder(fails).iterdir()] == ["half"]


def test_a_changed_folder_is_named(shared):
    folder = shared.folder(folder_of, "a")
    assert shared.changed() == []
    (folder / "new.txt").touch()
    assert [line.split(": ")[1].split()[0] for line in shared.changed()] == ["out/new.txt"]


def test_the_truth_of_a_simulated_arm_counts(make_arm):
    loud = make_arm({"simulation": {"torque_noise": 0.1}})
    quiet, again = make_arm(), make_arm()
    digests = [recorded._digest(str(arm.path)) for arm in (loud, quiet, again)]
    assert (
        digests[0] != digests[1] == digests[2] == recorded._digest(str(load_arm(quiet.path).path))
    )
