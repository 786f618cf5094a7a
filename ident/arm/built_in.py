"""Where the built-in arms and mechanisms lie."""

from pathlib import Path

from stribeck.ident.errors import InputError, no_file, unknown_name

_DATA = Path(__file__).parents[2] / "data"     # beside `ident` in an installed package as in a checkout


def data_dir() -> Path:
    """Folder that holds ``arms`` and ``mechanisms``."""
    if (_DATA / "arms").is_dir():
        return _DATA
    raise InputError("the built-in arms are missing from this installation; reinstall stribeck")


def built_in() -> dict[str, Path]:
    """Name and file of every built-in arm and mechanism."""
    root = data_dir()
    arms = {path.stem: path for path in sorted(root.glob("arms/*/*.toml"))}
    mechanisms = {path.stem: path for path in sorted(root.glob("mechanisms/*.toml"))}
    return {**arms, **mechanisms}


def find(name_or_path: str | Path) -> Path:
    """File behind an ARM or MODEL argument: a path, or the name of something built in.

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
    raise unknown_name("arm", str(name_or_path), names)
