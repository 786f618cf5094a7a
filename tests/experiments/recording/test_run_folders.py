"""Folders of runs and results: names sort by time, and no file is overwritten."""

import pytest

from stribeck.experiments.recording.run_folders import empty_folder, new_run_folder
from stribeck.ident.errors import InputError
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import EVENTS, RECORD


class TestFolders:
    def test_runs_of_the_same_second_have_distinct_names_in_order(self, tmp_path):
        made = []
        for _ in range(4):
            made.append(new_run_folder(tmp_path, "constant speed / j1"))
            made[-1].mkdir(parents=True)
            (made[-1] / RECORD).touch()
            (made[-1] / EVENTS).write_text('{"event": "closed"}\n', encoding="utf-8")
        assert len(set(made)) == 4
        assert all(folder.parent == tmp_path / "runs" for folder in made)
        assert find_runs(tmp_path) == made

    @pytest.mark.parametrize("content", ["file", "folder"])
    def test_results_go_to_an_empty_folder_only(self, tmp_path, content):
        assert empty_folder(tmp_path / "new" / "one").is_dir()
        full = tmp_path / "full"
        full.mkdir()
        (full / "a").mkdir() if content == "folder" else (full / "a").write_text("precious")
        with pytest.raises(InputError, match=r"full exists and is not empty"):
            empty_folder(full)
        assert (full / "a").exists()

    def test_a_file_in_place_of_the_folder_is_refused(self, tmp_path):
        (tmp_path / "file").write_text("precious")
        with pytest.raises(InputError, match="file"):
            empty_folder(tmp_path / "file")
        assert (tmp_path / "file").read_text() == "precious"
