"""HDF5 files, and MATLAB 7.3 files (HDF5 behind a header of 512 bytes)."""

from itertools import product

import h5py
import numpy as np
import pytest

from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import TAU, Q, T, assert_is_the_log


def matlab(path):
    """Create a file like MATLAB with -v7.3: with a user block and transposed arrays."""
    return h5py.File(path, "w", userblock_size=512)


def closed(file, path):
    file.close()
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def label(file, name, text):
    file[name] = np.array([list(map(ord, text))], dtype=np.uint16).T
    file[name].attrs["MATLAB_class"] = np.bytes_("char")
    return file[name].ref


@pytest.mark.slow
def test_groups_and_tables(bring, tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["arm/q"] = Q
        file["arm/note"] = "a text is not a column"
        file["records"] = np.rec.fromarrays(
            [T, *TAU.T, [b"x"] * len(T)], names="t,tau_1,tau_2,mode"
        )
    assert set(open_log(tmp_path / "log.h5").names) == {
        "arm.q.0",
        "arm.q.1",
        "records.t",
        "records.tau_1",
        "records.tau_2",
    }
    assert_is_the_log(bring(tmp_path / "log.h5"))


@pytest.mark.slow
def test_matlab_structures(bring, tmp_path):
    file = matlab(path := tmp_path / "log.mat")
    file["log/t"], file["log/q"], file["log/arm/tau"] = T[None], Q.T, TAU.T
    file["log/none"] = np.array([0, 0], dtype=np.uint64)
    file["log/none"].attrs["MATLAB_empty"] = np.uint8(1)
    assert_is_the_log(bring(closed(file, path)))
    assert not [name for name in open_log(path).names if "none" in name]


@pytest.mark.parametrize("labels", [("pos_1", "pos_2", "tau_1", "tau_2"), ("",) * 4])
@pytest.mark.slow
def test_simulink_scope(bring, tmp_path, labels):
    """ "Structure with time": the fields of the signal list are references."""
    file = matlab(path := tmp_path / "log.mat")
    file["out/time"] = T[None]
    for k, (values, text) in enumerate(zip((*Q.T, *TAU.T), labels, strict=True)):
        file[f"#refs#/v{k}"] = values[None]
        label(file, f"#refs#/l{k}", text or " ")
    for field, mark in (("values", "v"), ("label", "l")):
        refs = np.array([[file[f"#refs#/{mark}{k}"].ref] for k in range(4)], dtype=h5py.ref_dtype)
        file.create_dataset(f"out/signals/{field}", data=refs, dtype=h5py.ref_dtype)
    names = [text or str(k) for k, text in enumerate(labels)]
    closed(file, path)
    assert set(open_log(path).names) == {"out.time", *(f"out.signals.{name}" for name in names)}
    given = [
        f"{signal}=out.signals.{name}"
        for signal, name in zip(("q.turn", "q.lift", "tau.turn", "tau.lift"), names, strict=True)
    ]
    assert_is_the_log(bring(path, () if labels[0] else given))


@pytest.mark.slow
def test_links_to_other_files_and_cycles_are_not_followed(tmp_path):
    """External links, virtual and external datasets, broken links, and
    groups that contain each other.
    """
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["key"] = np.arange(9.0)
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["t"] = T
        file["other"] = h5py.ExternalLink("secret.h5", "key")
        layout = h5py.VirtualLayout((9,), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "key", (9,))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (9,), "f8", external=[(str(tmp_path / "secret.h5"), 0, 72)])
        file["nothing"] = h5py.SoftLink("/nowhere")
        groups = [file.create_group(name) for name in "abcde"]
        for one, other in product(groups, (*groups, file)):
            one[f"to {other.name[1:]}"] = other
    assert open_log(tmp_path / "log.h5").names == ("t",)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n" + bytes(500)])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "log.h5").write_bytes(content)
    with pytest.raises(InputError, match=r"log\.h5: cannot be read as an HDF5 file"):
        open_log(tmp_path / "log.h5")


def test_a_too_large_dataset_is_refused_before_it_is_read(tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.create_dataset("t", (10**11,), "f8", chunks=(10**6,))
    with pytest.raises(InputError, match="rows of 1 columns exceed the"):
        open_log(tmp_path / "log.h5").read(["t"])
