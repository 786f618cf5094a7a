"""Beginnings of recorded runs, for tests that need no whole one."""

import json
import shutil
from pathlib import Path

import pyarrow as pa


def shortened(run: Path, folder: Path, rows: int) -> Path:
    """Copy a run folder with its first samples only."""
    shutil.copytree(run, folder)
    with pa.ipc.open_stream(run / "samples.arrows") as reader:
        samples = reader.read_all().slice(0, rows)
    with (
        pa.OSFile(str(folder / "samples.arrows"), "wb") as file,
        pa.ipc.new_stream(file, samples.schema) as writer,
    ):
        writer.write_table(samples, max_chunksize=1000)
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["row"] <= rows]
    (folder / "events.jsonl").write_text("".join(kept), encoding="utf-8")
    return folder
