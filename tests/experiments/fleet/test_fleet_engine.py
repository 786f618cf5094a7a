"""Recordings through workers: killed ones, crashing runs, and object storage in memory."""

import os
import signal
import threading
import time
from dataclasses import replace
from uuid import uuid4

import fsspec
import pandas as pd
import pytest

from stribeck.experiments.fleet.calibration_rows import read_calibrations
from stribeck.experiments.fleet.dask_workers import local_workers
from stribeck.experiments.fleet.find_recordings import find_recordings
from stribeck.experiments.fleet.fit_recording import FitOrder
from stribeck.experiments.fleet.fleet_dataset import FITS, Dataset
from stribeck.experiments.fleet.outcomes import FAILED, KEPT, WRITTEN
from stribeck.experiments.fleet.storage import Place
from stribeck.experiments.fleet.work_through import tasks_of, work_through
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from tests.experiments.fleet.conftest import add_run
from tests.experiments.fleet.crashing_order import Crashing, Raising, Waiting

ORDER = FitOrder(Options(law="stribeck", load="torque"))  # no choice, which takes time


@pytest.fixture(scope="module")
def workers():
    """Client of a worker process, in place of which Dask starts another when it ends."""
    with local_workers(1, "1GB") as client:
        yield client


def worked(client, folder, out, order=None):
    order, dataset = order or ORDER, Dataset.create(Place.of(out), FITS)
    return work_through(client, tasks_of(find_recordings([str(folder)]), order, dataset), order)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_run_loses_nothing(workers, tmp_path):
    add_run(tmp_path / "arms" / "S1", "S1", 1)
    note = tmp_path / "pid"
    killed = []

    def kill():
        while not note.exists():
            time.sleep(0.05)
        killed.append(int(note.read_text(encoding="utf-8")))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    result = worked(workers, tmp_path / "arms", tmp_path / "out", Waiting(note=str(note)))
    thread.join()
    assert [one.state for one in result.outcomes] == [WRITTEN]
    assert killed[0] not in workers.run(os.getpid).values()


@pytest.mark.slow
def test_a_run_that_ends_every_worker_is_named_and_the_others_are_done(
    workers, tmp_path, monkeypatch
):
    # each worker that ends costs seconds; the test above has one that may end
    monkeypatch.setattr(workers.cluster.scheduler, "allowed_failures", 0)
    for name in ("crashing", "S1", "S2"):
        add_run(tmp_path / "arms" / name, name, 1)
    result = worked(workers, tmp_path / "arms", tmp_path / "out", Crashing())
    (failed,) = result.of_state(FAILED)
    assert failed.path.endswith("crashing")
    assert "every worker that took it was ended" in failed.reason
    assert len(result.of_state(WRITTEN)) == 2
    assert "every worker" in (tmp_path / "out" / "_failed.csv").read_text(encoding="utf-8")
    assert not (tmp_path / "out" / "_parts").exists()
    # its cause is gone
    again = worked(workers, tmp_path / "arms", tmp_path / "out", Crashing("nothing"))
    assert [len(again.of_state(state)) for state in (WRITTEN, KEPT, FAILED)] == [1, 2, 0]
    assert not (tmp_path / "out" / "_failed.csv").exists()


@pytest.mark.slow
def test_an_unexpected_error_is_named(workers, tmp_path):
    add_run(tmp_path / "arms" / "S1", "S1", 1)
    (failed,) = worked(workers, tmp_path / "arms", tmp_path / "out", Raising()).outcomes
    assert failed.state == FAILED
    assert failed.reason.endswith("S1: ZeroDivisionError: by a mistake")


@pytest.mark.slow
def test_runs_and_results_in_object_storage(thread, tmp_path):
    """The file system in memory is that of this process only."""
    local, root = add_run(tmp_path / "S1", "S1", 1), f"/{uuid4().hex}"
    memory = fsspec.filesystem("memory")
    memory.put(f"{local}/", f"{root}/arms/S1/", recursive=True)
    result = worked(thread, f"memory:/{root}/arms", f"memory:/{root}/fits")
    assert [one.state for one in result.outcomes] == [WRITTEN]
    assert result.outcomes[0].file.startswith("arm=S1/")
    ((source, calibration),) = read_calibrations(Place.of(f"memory:/{root}/fits")).items()
    assert source == f"memory://{root}/arms/S1"
    assert calibration.runs[0]["path"] == "S1"
    again = worked(thread, f"memory:/{root}/arms", f"memory:/{root}/fits")
    assert [one.state for one in again.outcomes] == [KEPT]
    memory.pipe_file(f"{root}/arms/S1/samples.arrows", b"text")
    (failed,) = worked(thread, f"memory:/{root}/arms", f"memory:/{root}/fits").outcomes
    # not the temporary copy
    assert failed.reason.startswith(f"memory:/{root}/arms/S1/samples.arrows: cannot be read")
    assert len(read_calibrations(Place.of(f"memory:/{root}/fits"))) == 1


@pytest.mark.slow
def test_a_worker_of_another_version_is_named(tmp_path):
    add_run(tmp_path / "arms" / "S1", "S1", 1)
    dataset = Dataset.create(Place.of(tmp_path / "out"), FITS)
    (task,) = tasks_of(find_recordings([str(tmp_path / "arms")]), ORDER, dataset)
    outcome = ORDER(replace(task, version="0.0.9"))
    assert outcome.state == FAILED
    assert "but the command is of 0.0.9; install the same version for all workers" in outcome.reason
    assert ORDER(task).state == WRITTEN


@pytest.mark.slow
def test_a_torn_file_is_no_result(tmp_path):
    """What a killed writer leaves is not read, and removed once it is old."""
    add_run(tmp_path / "arms" / "S1", "S1", 1)
    out = Place.of(tmp_path / "out")
    dataset = Dataset.create(out, FITS)
    torn = tmp_path / "out" / "_parts" / "torn"
    torn.parent.mkdir(exist_ok=True)
    torn.write_bytes(b"PAR1")
    os.utime(torn, (0.0, 0.0))
    (task,) = tasks_of(find_recordings([str(tmp_path / "arms")]), ORDER, dataset)
    ORDER(task)
    assert len(pd.read_parquet(tmp_path / "out")) == 1
    out.tidy()
    assert not torn.parent.exists()


@pytest.mark.slow
def test_a_run_below_a_folder_of_runs_belongs_to_its_campaign(arms):
    shown = {one.shown for one in find_recordings([str(arms)])}
    assert shown == {f"{arms}/{name}" for name in ("S1/monday", "S1/friday", "S2", "S3")}
    assert [one.shown for one in find_recordings([str(arms / "S2" / "runs")])] == [
        f"{arms}/S2/runs/first"
    ]
    assert len(find_recordings([str(arms), str(arms / "S1")])) == 4


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing://here", "this file system cannot be opened: Protocol not known"),
        ("empty", "no run in this folder or below it"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=words):
        find_recordings([path])


def test_a_folder_with_something_else_is_not_written_to(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"exists and is no result of stribeck fleet; give a result of stribeck fleet fit",
    ):
        Dataset.create(Place.of(tmp_path), FITS)
    with pytest.raises(
        InputError, match=r"notes.txt: a file, but the results of stribeck fleet fit are a folder"
    ):
        Dataset.create(Place.of(tmp_path / "notes.txt"), FITS)


@pytest.mark.parametrize(
    "head", ["[]", '{"kind": "fleet fit"}', '{"schema": "1", "kind": "fleet fit"}', "{"]
)
def test_a_damaged_head_is_no_dataset(tmp_path, head):
    (tmp_path / "_fleet.json").write_text(head, encoding="utf-8")
    with pytest.raises(InputError, match="exists and is no result of stribeck fleet"):
        Dataset.create(Place.of(tmp_path), FITS)


def test_a_damaged_file_is_named(tmp_path):
    dataset = Dataset.create(Place.of(tmp_path), FITS)
    (tmp_path / "arm=S1").mkdir()
    (tmp_path / "arm=S1" / "0a-0b-0c.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        InputError,
        match=r"arm=S1/0a-0b-0c.parquet: not a readable Parquet file of this dataset: .*; delete "
        r"it",
    ):
        dataset.read(("joint",))
