"""Paths of the built-in arms and mechanisms."""

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from stribeck.ident.errors import InputError, no_file, unknown_name

MECHANISM = ".mechanism.toml"  # ending of a mechanism file that is the model of a built-in arm
# beside `ident`, both in an installed package and in a checkout
_DATA = Path(__file__).parents[2] / "data"


def data_dir() -> Path:
    """Return the folder that holds ``arms`` and ``mechanisms``."""
    if (_DATA / "arms").is_dir():
        return _DATA
    raise InputError("the built-in arms are missing from this installation; reinstall stribeck")


def built_in_arms() -> dict[str, Path]:
    """Return name and file of every built-in arm."""
    return {
        path.stem: path
        for path in sorted(data_dir().glob("arms/*/*.toml"))
        if not path.name.endswith(MECHANISM)
    }


def built_in_mechanisms() -> dict[str, Path]:
    """Return name and file of every built-in mechanism; a mechanism that is the model of an arm
    lies beside the arm file.
    """
    root = data_dir()
    files = (*sorted(root.glob("mechanisms/*.toml")), *sorted(root.glob(f"arms/*/*{MECHANISM}")))
    return {path.name.removesuffix(MECHANISM).removesuffix(".toml"): path for path in files}


def built_in() -> dict[str, Path]:
    """Return name and file of every built-in arm and mechanism; a name shared by an arm and
    its mechanism means the arm.
    """
    return {**built_in_mechanisms(), **built_in_arms()}


def find_model(name_or_path: str | Path) -> Path:
    """Return the file of a MODEL argument, like `find`; a name shared by an arm and its
    mechanism means the mechanism.
    """
    path = Path(name_or_path)
    return (
        path
        if path.is_file()
        else built_in_mechanisms().get(str(name_or_path)) or find(name_or_path)
    )


def find(name_or_path: str | Path) -> Path:
    """Return the file of an ARM argument: a path, or the name of a built-in arm or mechanism.

    Raises
    ------
    InputError
        If neither a file nor a built-in name matches; lists the built-in names.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    names = built_in()
    if str(name_or_path) in names:
        return names[str(name_or_path)]
    if path.suffix or len(path.parts) > 1 or path.is_dir():
        raise no_file(path)
    raise _unknown(str(name_or_path), names)


def _unknown(name: str, names: Collection[str]) -> InputError:
    """Return the error for an unknown name: it lists arms, and apart from them
    mechanisms, which are no arms.
    """
    arms = built_in_arms()
    mechanisms = [one for one in names if one not in arms]
    if set(get_close_matches(name, names, n=1)) & set(mechanisms):
        return unknown_name("mechanism", name, mechanisms)
    return InputError(
        f"{unknown_name('arm', name, arms)}; or give the path of a file. Only stribeck loads and "
        f"stribeck simulate accept these mechanisms: {', '.join(mechanisms)}"
    )
