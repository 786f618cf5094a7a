"""Malicious files: huge or executable content, and paths that lead out of their folder."""

import json
import shutil
import sqlite3
import struct
import tracemalloc
import zipfile
import zlib
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from stribeck.experiments.importers.readers import open_log
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import load_run
from tests.experiments.importers.logged_motion import TAU, Q, T
from tests.experiments.importers.ros.written_bags import states, write_bag
from tests.places import DATA

GOLDEN = DATA / "golden"


def read_all(path):
    table = open_log(path)
    return table.read(table.names)


class TestMalice:
    """Files with huge or executable content; the limits are reduced for these tests."""

    @pytest.fixture(autouse=True)
    def _memory(self, monkeypatch):
        for module in ("table", "formats.matlab"):
            monkeypatch.setattr(f"stribeck.experiments.importers.{module}.MOST_NUMBERS", 5_000_000)
        monkeypatch.setattr("stribeck.experiments.importers.ros.bags._LARGEST_CHUNK", 10_000_000)
        tracemalloc.start()
        yield
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50e6

    def npz(self, path, header, content=b"", packed=True):
        with zipfile.ZipFile(
            path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        ) as archive:
            text = header.encode().ljust(118) + b"\n"
            with archive.open("t.npy", "w") as file:
                file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
                for _ in range(content if isinstance(content, int) else 0):
                    file.write(bytes(1 << 20))
        return path

    @pytest.mark.parametrize(
        ("header", "mega"),
        [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", 0),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (13107200,), }", 100),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (-5,), }", 1),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (5,), }", 1),
            ("{'descr': '<f8', 'shape': __import__('os').system('false'), }", 0),
        ],
    )
    @pytest.mark.slow
    def test_npz(self, bring, tmp_path, header, mega):
        path = self.npz(tmp_path / "log.npz", header, mega)
        assert path.stat().st_size < 2_000_000
        with pytest.raises(InputError):
            bring(path, ["t=t", "q=1:2"])
        with pytest.raises(InputError):
            read_all(path)

    @pytest.mark.slow
    def test_mat(self, tmp_path):
        pack = zlib.compressobj(9)
        parts = [struct.pack("<II", 14, 100_000_000), *[bytes(1 << 20)] * 100]
        data = b"".join([*(pack.compress(part) for part in parts), pack.flush()])
        head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
        (tmp_path / "log.mat").write_bytes(head + struct.pack("<II", 15, len(data)) + data)
        with pytest.raises(InputError, match="the content exceeds the"):
            open_log(tmp_path / "log.mat")

    def test_mat_that_crashes_its_reader(self, tmp_path):
        """An array with an invalid number type."""
        savemat(tmp_path / "log.mat", {"t": np.arange(9.0)})
        whole = (tmp_path / "log.mat").read_bytes()
        (tmp_path / "log.mat").write_bytes(
            whole.replace(struct.pack("<II", 9, 72), struct.pack("<II", 0, 72))
        )
        with pytest.raises(InputError, match="the file is damaged and would crash the reader"):
            open_log(tmp_path / "log.mat")

    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            (
                struct.pack("<2i", 9, 1),
                struct.pack("<2i", 9, 1 << 28),
                "a matrix claims 9 x 268435456 elements in",
            ),
            (
                struct.pack("<II", 9, 72),
                struct.pack("<II", 9, 1 << 30),
                "a part is longer than its data element",
            ),
        ],
    )
    def test_mat_that_claims_more_than_it_has(self, tmp_path, packed, old, new, words):
        """SciPy would allocate the claimed memory first."""
        savemat(tmp_path / "log.mat", {"t": np.arange(9.0)[:, None]})
        whole = (tmp_path / "log.mat").read_bytes()
        assert whole.count(old) == 1
        spoilt = whole.replace(old, new)
        if packed:
            body = zlib.compress(spoilt[128:])
            spoilt = spoilt[:128] + struct.pack("<II", 15, len(body)) + body
        (tmp_path / "log.mat").write_bytes(spoilt)
        with pytest.raises(InputError, match=words):
            open_log(tmp_path / "log.mat")

    @pytest.mark.parametrize("mode", ["WAL", "PERSIST"])
    @pytest.mark.slow
    def test_a_bag_that_its_recorder_did_not_close(self, bring, tmp_path, mode):
        """The journal file contains the last messages (WAL), or the changes to revert (PERSIST)."""
        folder = write_bag(tmp_path / "bag", "SQLITE3", states())
        (file,) = folder.glob("*.db3")
        with closing(sqlite3.connect(file)) as whole:
            rows = whole.execute("SELECT * FROM messages ORDER BY timestamp").fetchall()
            whole.execute("DELETE FROM messages WHERE timestamp > ?", (rows[249][2],))
            whole.commit()
        writer = sqlite3.connect(file)
        writer.execute(f"PRAGMA journal_mode = {mode}")
        writer.execute("PRAGMA cache_size = 1")  # write immediately
        writer.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows[250:])
        if mode == "WAL":
            writer.commit()
        left = tmp_path / "left"
        shutil.copytree(folder, left)  # state after the recorder was killed
        writer.close()
        before = {path.name: path.read_bytes() for path in left.iterdir()}
        run = bring(left)
        np.testing.assert_array_equal(run.signals["q"], Q if mode == "WAL" else Q[:250])
        assert {path.name: path.read_bytes() for path in left.iterdir()} == before
        beside = f"{file.name}-{'wal' if mode == 'WAL' else 'journal'}"
        assert (
            f"{file.name} was not closed by its recorder; messages in {beside} were read, too"
            in run.record["import"]["notes"]
        )

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (
                "bag/log_0.db3.zstd",
                r"log_0.db3.zstd: the file is compressed; unpack it with zstd -d and import "
                r"log_0.db3",
            ),
            ("log.csv.gz", "unpack it with gunzip -k and import log.csv"),
            ("notes.zip", "unknown kind of log '.zip'"),
        ],
    )
    def test_compressed_files_are_refused_with_the_command_to_decompress_them(
        self, tmp_path, name, words
    ):
        (tmp_path / "bag").mkdir()
        (tmp_path / name).write_bytes(b"\x28\xb5\x2f\xfd")
        with pytest.raises(InputError, match=words):
            open_log((tmp_path / name).parent if name.startswith("bag") else tmp_path / name)

    def test_sqlite_with_an_invalid_schema(self, tmp_path):
        with sqlite3.connect(tmp_path / "log.db3") as bag:
            bag.execute(
                "CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)"
            )
        bag.close()
        whole = (tmp_path / "log.db3").read_bytes()
        (tmp_path / "log.db3").write_bytes(
            whole.replace(b"CREATE TABLE topics(id", b"CREATE \xff\xfe\xff TABLE(id")
        )
        with pytest.raises(InputError, match="cannot be read as a ROS 2 bag"):
            open_log(tmp_path / "log.db3")

    @pytest.mark.slow
    def test_mcap(self, tmp_path):
        import zstandard
        from mcap.data_stream import RecordBuilder
        from mcap.records import Chunk, Header

        pack = zstandard.ZstdCompressor().compressobj()
        data = b"".join([*(pack.compress(bytes(1 << 20)) for _ in range(100)), pack.flush()])
        builder = RecordBuilder()
        Header("ros2", "").write(builder)
        Chunk("zstd", data, 0, 0, 0, 100 << 20).write(builder)
        (tmp_path / "log.mcap").write_bytes(b"\x89MCAP0\r\n" + builder.end())
        with pytest.raises(InputError, match="a chunk exceeds"):
            open_log(tmp_path / "log.mcap")

    @pytest.mark.parametrize(
        "view",
        [
            "CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM "
            "n) SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data FROM n",
            None,
        ],
    )
    def test_sqlite_with_an_endless_view(self, tmp_path, view):
        with sqlite3.connect(tmp_path / "log.db3") as bag:
            bag.execute(
                "CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)"
            )
            bag.execute(
                "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', "
                "'cdr')"
            )
            if view:
                bag.execute(view)
        bag.close()
        with pytest.raises(InputError, match="no tables topics and messages"):
            open_log(tmp_path / "log.db3")

    @pytest.mark.slow
    def test_parquet_that_claims_many_rows(self, tmp_path):
        """Compression stores millions of equal values in a tiny file."""
        pq.write_table(
            pa.table({"t": np.zeros(3_000_000), "q": np.zeros(3_000_000)}), tmp_path / "log.parquet"
        )
        assert (tmp_path / "log.parquet").stat().st_size < 100_000
        with pytest.raises(InputError, match="3000000 rows of 2 columns exceed"):
            open_log(tmp_path / "log.parquet").read(["t", "q"])

    def test_a_line_without_end(self, tmp_path):
        (tmp_path / "log.csv").write_bytes(b"1," * 5_000_000)
        with pytest.raises(InputError, match="longer than"):
            open_log(tmp_path / "log.csv")


class TestPaths:
    """Paths in files must stay within the folder of the file."""

    @pytest.mark.parametrize(
        "model", ["../secret.urdf", "/etc/passwd", "sub/../../secret.urdf", "link.urdf", "a\0b"]
    )
    def test_a_model_outside_the_folder_is_refused(self, make_arm, tmp_path, model):
        from stribeck.ident.arm.arm_file import load_arm

        arm = make_arm()
        (arm.path.parent.parent / "secret.urdf").write_bytes(arm.model.read_bytes())
        (arm.path.parent / "link.urdf").symlink_to(arm.path.parent.parent / "secret.urdf")
        (arm.path.parent / "sub").mkdir()
        arm.path.write_text(arm.path.read_text().replace('"pair.urdf"', json.dumps(model)))
        with pytest.raises(InputError, match=r"model = "):
            load_arm(arm.path)

    def test_a_model_in_a_subfolder_is_accepted(self, make_arm):
        from stribeck.ident.arm.arm_file import load_arm

        arm = make_arm()
        (arm.path.parent / "sub").mkdir()
        arm.model.rename(arm.path.parent / "sub" / "pair.urdf")
        arm.path.write_text(arm.path.read_text().replace('"pair.urdf"', '"sub/pair.urdf"'))
        assert load_arm(arm.path).model.is_file()

    def test_an_include_outside_the_folder_is_refused(self, tmp_path):
        body = '<body><joint name="a"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>'
        (tmp_path / "model").mkdir()
        (tmp_path / "secret.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        (tmp_path / "model" / "inner.xml").write_text(
            '<mujoco><include file="../secret.xml"/></mujoco>'
        )
        for file in ("../secret.xml", str(tmp_path / "secret.xml"), "inner.xml"):
            (tmp_path / "model" / "arm.xml").write_text(
                f"<mujoco><include file='{file}'/></mujoco>"
            )
            with pytest.raises(InputError, match="outside its folder"):
                load_mechanism(tmp_path / "model" / "arm.xml")

    @pytest.mark.parametrize("stated", ["../../secret.toml", "/etc/passwd", ".."])
    def test_an_arm_file_outside_the_run_is_refused(self, bring, tmp_path, stated):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        run = bring(tmp_path / "log.npz")
        (tmp_path / "secret.toml").write_bytes(run.arm.path.read_bytes())
        record = json.loads((run.path / "run.json").read_text())
        (run.path / "run.json").write_text(json.dumps(record | {"arm_file": stated}))
        with pytest.raises(InputError):
            load_run(run.path)

    def test_a_model_outside_the_calibration_is_refused(self, tmp_path):
        from stribeck.ident.calibration.calibration import Calibration

        (tmp_path / "in").mkdir()
        (tmp_path / "secret.urdf").write_bytes((GOLDEN / "pendulum.urdf").read_bytes())
        text = (GOLDEN / "calibration.toml").read_text()
        (tmp_path / "in" / "calibration.toml").write_text(
            text.replace('"pendulum.urdf"', '"../secret.urdf"')
        )
        with pytest.raises(InputError):
            _ = Calibration.load(tmp_path / "in" / "calibration.toml").mechanism
