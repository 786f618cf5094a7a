"""Readers of binary formats: the same motion in every format gives the same run."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import ROWS, STAMPS, TAU, Q, T, assert_is_the_log


class TestTables:
    def test_npz_with_vectors_and_matrices(self, bring, tmp_path):
        np.savez(
            tmp_path / "log.npz",
            t=T,
            q=Q,
            tau=TAU.T,
            text=np.array(["rig"]),
            thing=np.array([None]),
            scalar=3.0,
        )
        assert_is_the_log(bring(tmp_path / "log.npz"))

    @pytest.mark.slow
    def test_mat_structure(self, bring, tmp_path):
        savemat(
            tmp_path / "log.mat",
            {"log": {"t": T, "q": Q, "arm": {"tau": TAU}}},
            do_compression=True,
        )
        assert_is_the_log(bring(tmp_path / "log.mat"))

    @pytest.mark.parametrize(
        ("labels", "named"),
        [
            (("pos_1", "pos_2", "tau_1", "tau_2"), ("pos_1", "tau_2")),
            (("x",) * 4, ("0", "3")),
            (("",) * 4, ("0", "3")),
            (("pos1 [deg]", "pos2 [deg]", "tau1 [Nm]", "tau2 [Nm]"), ("pos1 [deg]",)),
        ],
    )
    @pytest.mark.slow
    def test_simulink_scope(self, bring, tmp_path, labels, named):
        """ "Structure with time": the time and a list of signals."""
        signals = np.zeros(4, dtype=[("values", object), ("dimensions", object), ("label", object)])
        q = np.degrees(Q) if "deg" in labels[0] else Q
        for k, (values, label) in enumerate(zip((*q.T, *TAU.T), labels, strict=True)):
            signals[k] = (values[:, None], 1.0, label)
        savemat(
            tmp_path / "log.mat",
            {"out": {"time": T[:, None], "signals": signals, "blockName": "arm/Scope"}},
        )
        names = open_log(tmp_path / "log.mat").names
        assert {"out.time", *(f"out.signals.{name}" for name in named)} <= set(names)
        given = [
            f"{signal}=out.signals.{k}"
            for k, signal in enumerate(("q.turn", "q.lift", "tau.turn", "tau.lift"))
        ]
        assert_is_the_log(bring(tmp_path / "log.mat", given if labels[0] in ("x", "") else ()))

    def test_parquet_with_lists_times_and_missing_values(self, bring, tmp_path):
        stamps = pa.array(STAMPS, pa.timestamp("ns"))
        temperature = pa.array([None] + [40.0] * (ROWS - 1))
        pq.write_table(
            pa.table(
                {
                    "time": stamps,
                    "q": list(Q),
                    "effort": list(TAU),
                    "mode": ["x"] * ROWS,
                    "temperature_1": temperature,
                    "temperature_2": temperature,
                }
            ),
            tmp_path / "log.parquet",
        )
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-6)
        np.testing.assert_array_equal(run.signals["q"], Q)
        assert np.isnan(run.signals["temperature"][0]).all()
        assert (run.signals["temperature"][1:] == 40.0).all()

    @pytest.mark.parametrize("named", ["timestamp_ns", "time"])
    @pytest.mark.parametrize(
        "as_text",
        [
            lambda: pa.array(STAMPS, pa.timestamp("ns")),
            lambda: [f"{date}Z" for date in STAMPS.astype("M8[ns]")],
            lambda: [str(date).replace("T", " ") for date in STAMPS.astype("M8[ns]")],
        ],
        ids=["stamps", "dates", "dates with a blank"],
    )
    def test_parquet_time_columns_with_any_name(self, bring, tmp_path, as_text, named):
        pq.write_table(
            pa.table({named: as_text(), "q": list(Q), "effort": list(TAU), "mode": ["x"] * ROWS}),
            tmp_path / "log.parquet",
        )
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.t - run.t[0], T, atol=1e-6)
        assert "mode" not in open_log(tmp_path / "log.parquet").names

    def test_dates_after_missing_values(self, tmp_path):
        texts = [None, None, *(f"{date}Z" for date in STAMPS.astype("M8[ns]")[2:])]
        pq.write_table(pa.table({"time": texts, "q": list(Q)}), tmp_path / "log.parquet")
        found = open_log(tmp_path / "log.parquet").read(["time"])["time"]
        assert np.isnan(found[:2]).all()
        np.testing.assert_allclose(found[2:], 1e-9 * STAMPS[2:], atol=1e-6)

    def test_parquet_with_numbers_as_texts_and_decimals(self, bring, tmp_path):
        texts = {f"q_{k + 1}": [f"{value:.9f}" for value in column] for k, column in enumerate(Q.T)}
        decimals = {
            f"tau_{k + 1}": pa.array(column, pa.float64()).cast(pa.decimal128(20, 9), safe=False)
            for k, column in enumerate(TAU.T)
        }
        pq.write_table(
            pa.table({"t": [f"{value:.6f}" for value in T], **texts, **decimals}),
            tmp_path / "log.parquet",
        )
        run = bring(tmp_path / "log.parquet")
        np.testing.assert_allclose(run.signals["q"], Q, atol=1e-8)
        np.testing.assert_allclose(run.signals["tau"], TAU, atol=1e-8)

    @pytest.mark.slow
    def test_unused_columns_may_have_any_content(self, bring, tmp_path):
        """Texts in an NPZ, missing lists in a Parquet file."""
        np.savez(
            tmp_path / "log.npz", t=T, q=Q, tau=TAU, mode=np.array(["auto"] * ROWS, dtype=object)
        )
        assert_is_the_log(bring(tmp_path / "log.npz"))
        pq.write_table(
            pa.table(
                {
                    "t": T,
                    "q": list(Q),
                    "tau": list(TAU),
                    "camera": [None, *([[1.0, 2.0]] * (ROWS - 1))],
                }
            ),
            tmp_path / "log.parquet",
        )
        assert_is_the_log(bring(tmp_path / "log.parquet"))

    def test_lists_of_different_lengths_are_refused(self, bring, tmp_path):
        pq.write_table(
            pa.table(
                {
                    "t": T,
                    "q": [row[: 1 + k % 2] for k, row in enumerate(Q)],
                    "p": T,
                    "tau": list(TAU),
                }
            ),
            tmp_path / "log.parquet",
        )
        with pytest.raises(InputError, match="lists of 1 to 2 values"):
            bring(tmp_path / "log.parquet", ["q.turn=q.0", "q.lift=p"])

    @pytest.mark.parametrize(
        "names", [["turn.pos", "lift.pos"], {"motors": ["turn", "lift"]}, None]
    )
    def test_lerobot_episodes_follow_each_other(self, bring, tmp_path, names):
        """The time restarts in each episode; each episode becomes a segment of one run."""
        folder = tmp_path / "dataset"
        for part in ("meta", "data/chunk-000"):
            (folder / part).mkdir(parents=True)
        (folder / "meta/info.json").write_text(
            json.dumps(
                {
                    "features": {
                        "observation.state": {"names": names},
                        "observation.effort": {"names": names},
                        "timestamp": {"names": None},
                    }
                }
            )
        )
        for k, rows in enumerate((slice(0, 150), slice(150, ROWS))):
            pq.write_table(
                pa.table(
                    {
                        "timestamp": T[rows] - T[rows][0],
                        "observation.state": list(Q[rows]),
                        "action": list(Q[rows]),
                        "observation.effort": list(TAU[rows]),
                        "episode_index": np.full(len(T[rows]), k),
                    }
                ),
                folder / f"data/chunk-000/episode_{k}.parquet",
            )
        run = bring(folder)
        np.testing.assert_array_equal(run.signals["q"], Q)
        np.testing.assert_array_equal(run.signals["tau"], TAU)
        np.testing.assert_array_equal(run.segment, np.repeat([0, 1], [150, ROWS - 150]))
        assert run.t[150] - run.t[149] == pytest.approx(1.0)
        assert (np.diff(run.t) > 0.0).all()

    @pytest.mark.parametrize(
        "elsewhere", ["../somewhere/list.parquet", "/{}/somewhere/list.parquet"]
    )
    def test_a_dataset_cannot_refer_to_files_outside_its_folder(self, bring, tmp_path, elsewhere):
        """Only files in ``data/`` are read, whatever path the description states."""
        folder = tmp_path / "dataset"
        (folder / "meta").mkdir(parents=True)
        (tmp_path / "somewhere").mkdir()
        path = elsewhere.format(str(tmp_path).lstrip("/"))
        (folder / "meta/info.json").write_text(
            json.dumps(
                {
                    "codebase_version": "v3.0",
                    "data_path": path,
                    "video_path": path,
                    "features": {"q": {"names": None}},
                }
            )
        )
        columns = {"timestamp": T, "q": list(Q), "tau": list(TAU)}
        pq.write_table(
            pa.table(columns | {"secret": T, "q": list(2.0 * Q)}),
            tmp_path / "somewhere/list.parquet",
        )
        with pytest.raises(InputError, match=r"the LeRobot dataset has no file data/"):
            open_log(folder)
        (folder / "data").mkdir()
        pq.write_table(pa.table(columns), folder / "data/file-000.parquet")
        assert "secret" not in open_log(folder).names
        assert_is_the_log(bring(folder))

    def test_a_single_file_of_a_dataset_is_split_into_episodes(self, bring, tmp_path):
        """The time restarts in each episode."""
        pq.write_table(
            pa.table(
                {
                    "timestamp": np.concatenate((T[:150], T[150:] - T[150])),
                    "observation.state": list(Q),
                    "observation.effort": list(TAU),
                    "episode_index": np.repeat([0, 1], [150, ROWS - 150]),
                }
            ),
            tmp_path / "file-000.parquet",
        )
        run = bring(tmp_path / "file-000.parquet")
        np.testing.assert_array_equal(run.segment, np.repeat([0, 1], [150, ROWS - 150]))

    @pytest.mark.parametrize("names", [("turn", "lift"), ("joint_1", "joint_2")])
    def test_two_arms_in_one_log_are_not_guessed(self, cli, arm, tmp_path, names):
        """With any joint names, the left and the right arm fit equally well."""
        sides = {
            f"{side}_{name}.{what}": values[:, k]
            for side in ("left", "right")
            for k, name in enumerate(names)
            for what, values in (("pos", Q), ("torque", TAU))
        }
        pq.write_table(pa.table({"timestamp": T, **sides}), tmp_path / "log.parquet")
        outcome = cli(
            "import",
            tmp_path / "log.parquet",
            "--arm",
            arm.path,
            "--yes",
            "--out",
            tmp_path / "runs",
        )
        assert outcome.code == 2
        assert (
            f"left_{names[0]}.pos and right_{names[0]}.pos fit turn equally well, and so do other "
            "columns: give the columns of one arm" in outcome.err.replace("\n", " ")
        )

    @pytest.mark.slow
    def test_the_default_torque_signal_is_printed(self, cli, make_arm, tmp_path):
        pq.write_table(pa.table({"t": T, "q": list(Q), "tau": list(TAU)}), tmp_path / "log.parquet")
        for k, (changes, words) in enumerate(
            (
                ({}, "motor current (default, as the arm file has no torque_signal;"),
                ({"torque_signal": "motor current"}, "motor current (from the arm file;"),
            )
        ):
            arm = make_arm(changes)
            outcome = cli(
                "import",
                tmp_path / "log.parquet",
                "--arm",
                arm.path,
                "--yes",
                "--out",
                tmp_path / str(k),
            )
            assert words in outcome.out.replace("\n          ", " "), outcome.err

    @pytest.mark.slow
    def test_a_dataset_without_torque_is_refused(self, cli, arm, tmp_path):
        folder = tmp_path / "dataset"
        (folder / "meta").mkdir(parents=True)
        (folder / "data").mkdir()
        (folder / "meta/info.json").write_text('{"features": {}}')
        pq.write_table(
            pa.table({"timestamp": T, "observation.state": list(Q), "action": list(Q)}),
            folder / "data/a.parquet",
        )
        outcome = cli("import", folder, "--arm", arm.path)
        assert outcome.code == 2
        assert "positions alone do not show it" in outcome.err
        assert "observation.state.0" in outcome.err
