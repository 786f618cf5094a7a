"""Files in the format of torch.save: an archive of numbers with a pickle that describes them."""

import struct
import zipfile

import numpy as np
import pytest

from stribeck.experiments.importers.readers import open_log
from stribeck.ident.errors import InputError
from tests.experiments.importers.logged_motion import TAU, Q, T, assert_is_the_log

KINDS = {
    "f8": "DoubleStorage",
    "f4": "FloatStorage",
    "i8": "LongStorage",
    "u2": "BFloat16Storage",
    "c16": "ComplexDoubleStorage",
}


def word(text):
    return b"X" + struct.pack("<I", len(text.encode())) + text.encode()


def number(value):
    return b"J" + struct.pack("<i", value)


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(key, values, first=0, apart=None, count=None):
    """Pickle instructions that build a tensor from a storage."""
    apart = [part // values.itemsize for part in values.strides] if apart is None else apart
    storage = (
        b"("
        + word("storage")
        + b"ctorch\n"
        + KINDS[values.dtype.str[1:]].encode()
        + b"\n"
        + word(key)
        + word("cpu")
        + number(values.size if count is None else count)
        + b"tQ"
    )
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + number(first)
        + numbers(values.shape)
        + numbers(apart)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )


def archive(path, members, described, order="little"):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("log/data.pkl", b"\x80\x02" + described + b".")
        file.writestr("log/byteorder", order)
        for key, values in members.items():
            file.writestr(f"log/data/{key}", values.tobytes("A"))
    return path


def dictionary(entries):
    return b"}(" + b"".join(word(name) + value for name, value in entries.items()) + b"u"


def test_tensors_by_name(bring, tmp_path):
    """With a transposed view and a nested dictionary; complex tensors and texts are skipped."""
    members = {"0": T, "1": np.asfortranarray(Q), "2": TAU, "3": T.astype("c16")}
    described = dictionary(
        {
            "t": tensor("0", T),
            "q": tensor("1", np.asfortranarray(Q)),
            "robot": word("arm"),
            "wave": tensor("3", T.astype("c16")),
            "arm": dictionary({"tau": tensor("2", TAU)}),
        }
    )
    path = archive(tmp_path / "log.pt", members, described)
    assert set(open_log(path).names) == {"t", "q.0", "q.1", "arm.tau.0", "arm.tau.1"}
    assert_is_the_log(bring(path))


@pytest.mark.parametrize("order", ["<", ">"])
def test_small_types_and_byte_orders(tmp_path, order):
    short = (np.arange(5.0, dtype=np.float32).view(np.uint32) >> 16).astype("u2")
    path = archive(
        tmp_path / "log.pth",
        {"0": short.astype(f"{order}u2"), "1": np.arange(5, dtype=f"{order}i8")},
        dictionary({"a": tensor("0", short), "b": tensor("1", np.arange(5, dtype="i8"))}),
        "big" if order == ">" else "little",
    )
    found = open_log(path).read(["a", "b"])
    np.testing.assert_array_equal(found["a"], np.arange(5.0))
    np.testing.assert_array_equal(found["b"], np.arange(5.0))


def test_the_pickle_is_never_executed(tmp_path):
    """A call of a program becomes a placeholder."""
    mark = tmp_path / "executed"
    call = b"cos\nsystem\n(" + word(f"touch {mark}") + b"tR"
    path = archive(tmp_path / "log.pt", {"0": T}, dictionary({"t": tensor("0", T), "x": call}))
    assert open_log(path).names == ("t",)
    assert not mark.exists()


@pytest.mark.parametrize(
    "described",
    [
        dictionary({"t": tensor("0", T, first=1)}),
        dictionary({"t": tensor("0", T, apart=[2])}),
        dictionary({"t": tensor("0", T, apart=[-1], first=399)}),
        dictionary({"t": tensor("0", T, count=401, first=1)}),
        dictionary({"t": tensor("7", T)}),
        b"]",
        b"(",
        b"u",
        b"cos\nsystem\n",
        b"}q\x00h\x01",
        b"]" * 3 + b"\x93",
        dictionary({"t": b"]q\x00h\x00a"}),
    ],
)
def test_inconsistent_pickles_are_refused(tmp_path, described):
    path = archive(tmp_path / "log.pt", {"0": T}, described)
    with pytest.raises(InputError, match=r"log\.pt"):
        open_log(path).read(open_log(path).names)


def test_nested_repeated_lists_are_read_in_finite_time(tmp_path):
    """A list of twice the same list, 100 levels deep, has 2^100 leaves."""
    rounds = b"".join(
        b"]q" + bytes([k + 1]) + b"(h" + bytes([k]) + b"h" + bytes([k]) + b"e" for k in range(100)
    )
    with pytest.raises(InputError, match="no numeric column"):
        open_log(archive(tmp_path / "log.pt", {}, b"]q\x00" + rounds))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "of version 1.6 or later"),
        (b"\x80\x02}.", "of version 1.6 or later"),
        (b"PK\x05\x06" + bytes(18), "the archive has no data.pkl"),
    ],
)
def test_other_files_are_refused(tmp_path, content, words):
    (tmp_path / "log.pt").write_bytes(content)
    with pytest.raises(InputError, match=words):
        open_log(tmp_path / "log.pt")
