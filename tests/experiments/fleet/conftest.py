"""A small fleet of one-joint runs, and workers for it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client

from stribeck.experiments.fleet import dask_workers
from tests.places import DATA
from tests.recorded import Recorded

RUN = DATA / "golden" / "runs" / "constant-speed"


def add_run(folder: Path, serial: str, seed: int, record: dict[str, Any] | None = None) -> Path:
    """Copy the golden run with a serial number and noise of its own."""
    shutil.copytree(RUN, folder)
    table = (
        json.loads((RUN / "run.json").read_text(encoding="utf-8"))
        | {"serial": serial}
        | (record or {})
    )
    (folder / "run.json").write_text(json.dumps(table), encoding="utf-8")
    with pa.ipc.open_stream(RUN / "samples.arrows") as reader:
        samples = reader.read_all()
    place = samples.column_names.index("tau.hinge")
    tau = samples["tau.hinge"].to_numpy() + np.random.default_rng(seed).normal(
        0.0, 0.02, len(samples)
    )
    samples = samples.set_column(place, samples.schema.field(place), pa.array(tau))
    with (
        pa.OSFile(str(folder / "samples.arrows"), "wb") as file,
        pa.ipc.new_stream(file, samples.schema) as writer,
    ):
        writer.write_table(samples, max_chunksize=1000)
    return folder


def add_arms(folder: Path) -> None:
    """Add two arms: one with two runs, one with a campaign; and a corrupt run."""
    add_run(folder / "S1" / "monday", "S1", 1)
    add_run(folder / "S1" / "friday", "S1", 2)
    add_run(folder / "S2" / "runs" / "first", "S2", 3)
    bad = add_run(folder / "S3", "S3", 4)
    (bad / "samples.arrows").write_bytes((bad / "samples.arrows").read_bytes()[:5000])


@pytest.fixture
def arms(recorded: Recorded) -> Path:
    """Arms that nothing may change."""
    return recorded.folder(add_arms)


@pytest.fixture(scope="module")
def thread() -> Iterator[Any]:
    """Client of a worker that is a thread of this process: a process would import everything."""
    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


@pytest.fixture
def with_thread(thread: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands give their work to this thread."""
    monkeypatch.setattr(dask_workers, "local_workers", lambda *_: nullcontext(thread))
