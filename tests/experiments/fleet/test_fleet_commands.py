"""``stribeck fleet fit``, ``validate`` and ``compare``: what is done again, what is named, and the
same digits as one by one.
"""

import builtins
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from psutil import Process

from benchmarks.fleet_truth import Truth, simulated
from stribeck import Calibration
from stribeck.experiments.cli.common import STOPPED
from stribeck.experiments.fleet.calibration_rows import calibration_rows, read_calibrations
from stribeck.experiments.fleet.fleet_dataset import FITS, Dataset
from stribeck.experiments.fleet.storage import Place
from tests.experiments.fleet.conftest import add_run

pytestmark = pytest.mark.slow

HEAVY = {"dask", "distributed", "fsspec"}
LAW = ("--law", "stribeck", "--load", "torque")  # no choice, which takes most of the time


def states(outcome):
    table = json.loads(outcome.out)
    return table["written"], table["kept"], len(table["failed"])


def digits(text):
    """A calibration without its date."""
    return re.sub(r"^created = .*$", "", text, flags=re.MULTILINE)


def test_a_fleet_from_fit_to_validation(cli, arms, with_thread, tmp_path):
    arms = Path(shutil.copytree(arms, tmp_path / "arms"))
    first = cli("fleet", "fit", arms, *LAW, "--out", "fits")
    assert first.code == 1
    assert (
        first.out.splitlines()[0] == "found     4 recordings, 0 of them done before and unchanged"
    )
    assert "done      3 fitted, 0 kept, 1 without a result; " in first.out
    assert f"failed    {arms}/S3/samples.arrows: " in first.out
    assert first.out.splitlines()[-1] == "wrote     fits"

    frame = pd.read_parquet("fits")
    assert sorted(frame["arm"]) == ["S1", "S1", "S2"]
    (row,) = (row for _, row in frame.iterrows() if row["source"].endswith("S2"))
    assert cli("fit", arms / "S2", *LAW, "-o", "alone").code == 0
    alone = Calibration.load("alone")
    assert digits(row["calibration"]) == digits(
        Path("alone/calibration.toml").read_text(encoding="utf-8")
    )
    assert row["coulomb"] == alone.joints["hinge"].values["coulomb"]
    assert row["friction"][0] == alone.joints["hinge"].torque(
        row["speeds"][0], alone.joints["hinge"].middle_load
    )

    assert states(cli("fleet", "fit", arms, *LAW, "--out", "fits", "--json")) == (0, 3, 1)
    assert states(
        cli("fleet", "fit", arms / "S1", "--out", "fits", "--law", "coulomb-viscous", "--json")
    ) == (2, 0, 0)
    assert sorted(pd.read_parquet("fits")["law"]) == [
        "coulomb-viscous",
        "coulomb-viscous",
        "stribeck",
    ]

    (arms / "S2" / "runs" / "first" / "run.json").touch()  # another date, the same content
    events = arms / "S1" / "friday" / "events.jsonl"
    events.write_text(events.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert states(
        cli("fleet", "fit", arms / "S1", arms / "S2", *LAW, "--out", "fits", "--json")
    ) == (
        2,
        1,
        0,
    )
    assert len(list(tmp_path.glob("here/fits/arm=*/*.parquet"))) == 3

    unseen = add_run(tmp_path / "unseen" / "S1", "S1", 7)
    add_run(tmp_path / "unseen" / "S9", "S9", 8)
    judged = cli("fleet", "validate", unseen.parent, "--calibration", "fits", "--out", "judged")
    assert judged.code == 1
    assert "S9: " in judged.out
    assert "has no calibration of arm S9 that was fitted to other runs" in judged.out
    assert "verdict   1 of 1 judged runs pass; 1 without a result" in judged.out
    fine = cli("fleet", "validate", unseen, "--calibration", "fits", "--out", "judged", "--json")
    assert fine.code == 0
    assert states(fine) == (0, 1, 0)
    assert pd.read_parquet("judged")["calibration"][0].endswith(("S1/friday", "S1/monday"))
    strict = cli(
        "fleet",
        "validate",
        unseen,
        "--calibration",
        "fits",
        "--out",
        "judged",
        "--tolerance",
        "0.0001",
        "--json",
    )
    assert strict.code == 1
    assert json.loads(strict.out)["failing"] == {str(unseen): ["hinge"]}
    assert (
        cli("fleet", "validate", unseen, "--calibration", "alone", "--out", "judged-by-one").code
        == 0
    )
    assert (
        f"{pd.read_parquet('judged-by-one')['error'][0]:.3f} ("
        in cli("validate", unseen, "alone").out
    )
    add_run(arms / "S4", "S4", 9)  # three arms are judges of the fourth
    assert cli("fleet", "fit", arms / "S4", *LAW, "--out", "fits").code == 0
    assert re.search(
        r"fleet +alone: hinge [\d.]+ N·m, normal ",
        cli("validate", unseen, "alone", "--fleet", "fits").out,
    )


def test_runs_without_a_serial_number_have_a_judge_if_there_is_only_one(cli, with_thread, tmp_path):
    for name in ("monday", "friday"):
        add_run(tmp_path / "arms" / name, "", len(name))
        assert cli("fleet", "fit", tmp_path / "arms", *LAW, "--out", "fits").code == 0
        add_run(tmp_path / "unseen" / name, "", 20 + len(name))
        judged = cli(
            "fleet",
            "validate",
            tmp_path / "unseen" / name,
            "--calibration",
            "fits",
            "--out",
            f"judged-{name}",
        )
        assert judged.code == int(name == "friday")
    assert "friday: the run names no serial number, and neither do 2 calibrations of" in judged.out


def test_json_lists_what_was_written(cli, arms, with_thread, tmp_path):
    table = json.loads(
        cli("fleet", "fit", arms / "S2", *LAW, "--out", tmp_path / "fits", "--json").out
    )
    assert {str(path) for path in (tmp_path / "fits").rglob("*") if path.is_file()} == set(
        table["files"]
    )
    assert table["cpu_seconds"] > 0.0
    now = Process().memory_info().rss / 1e6
    assert table["memory"] is None or 0.5 * now < table["memory"] < 10.0 * now


def test_a_running_scheduler_and_urls(cli, arms, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        outcome = cli(
            "fleet",
            "fit",
            f"file://{arms}/S2",
            "--out",
            f"file://{tmp_path}/fits",
            "--scheduler",
            cluster.scheduler_address,
            "--json",
        )
    assert outcome.code == 0
    assert states(outcome) == (1, 0, 0)
    assert (tmp_path / "fits" / "arm=S2").is_dir()


def test_compare_reads_folders_and_datasets(cli, tmp_path):
    made = simulated(Truth(arms=6, days=2, joints=1), np.random.default_rng(5)).calibrations
    dataset = Dataset.create(Place.of(tmp_path / "fits"), FITS)
    for k, (name, one) in enumerate(made.items()):
        (tmp_path / "arms" / name).mkdir(parents=True)
        one.save(tmp_path / "arms" / name / "calibration.toml")
        stored = Calibration.load(tmp_path / "arms" / name)
        dataset.write(
            calibration_rows(stored, f"file:///{name}", "0"), one.serial, (f"{k:x}", "0", "0"), ()
        )
    by_folder, by_dataset, plain = (
        cli(*words)
        for words in (
            ("fleet", "compare", tmp_path / "arms"),
            ("fleet", "compare", tmp_path / "fits"),
            ("compare", tmp_path / "arms"),
        )
    )
    assert by_folder.out == plain.out
    rows = [
        next(line for line in one.out.splitlines() if "j1" in line) for one in (by_dataset, plain)
    ]
    assert rows[0] == rows[1]
    assert by_dataset.code == by_folder.code == plain.code
    page = cli("fleet", "compare", tmp_path / "fits", "--out", tmp_path / "fleet.html", "--json")
    assert json.loads(page.out)["arms"] == 6
    assert "A003" in (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert len(read_calibrations(Place.of(tmp_path / "fits"))) == 12


def test_without_the_extra_one_sentence_says_what_to_install(cli, arms, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    outcome = cli("fleet", "fit", arms)
    assert outcome.code == 2
    assert (
        outcome.err
        == "stribeck: stribeck fleet needs the package dask; run pip install 'stribeck[fleet]'\n"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--workers", "2", "--scheduler", "tcp://host:1"),
            "--workers 2 are processes of this computer",
        ),
        (("--worker-memory", "much"), "--worker-memory 'much' is no size of at least 300 MB"),
        (
            ("--worker-memory", "2GB", "--scheduler", "tcp://host:1"),
            "--worker-memory '2GB' is for processes of this computer",
        ),
        (("--scheduler", "nowhere"), "--scheduler 'nowhere': no Dask scheduler answers there"),
        (("--law", "strbeck"), "unknown law 'strbeck'; did you mean 'stribeck'?"),
    ],
)
def test_wrong_options(cli, arms, words, says):
    outcome = cli("fleet", "fit", arms, *words)
    assert outcome.code == 2
    assert says in outcome.err
    assert not Path("fleet-fit").exists()  # nothing was made


def test_ctrl_c_says_how_to_go_on(cli, arms, with_thread, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("stribeck.experiments.fleet.work_through._done", stopped)
    outcome = cli("fleet", "fit", f"{arms}/S2", "--workers", "1")
    assert outcome.code == STOPPED
    assert "stopped   what is done is kept; repeat the command to go on" in outcome.out


def test_the_judge_must_be_a_calibration(cli, arms):
    outcome = cli("fleet", "validate", arms, "--calibration", arms)
    assert outcome.code == 2
    assert (
        "neither a result of stribeck fleet fit nor a folder with calibration.toml" in outcome.err
    )


def test_the_program_starts_without_dask():
    code = (
        f"import sys\nfrom stribeck.experiments.cli.app import run\nrun(['fleet', '--help'])\n"
        f"print(sorted({HEAVY!r} & sys.modules.keys()), file=sys.stderr)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stderr.strip()
        == "[]"
    )
