"""Parsing of a URDF or MJCF by MuJoCo: text, ROS packages, included files,
meshes that cannot be read.
"""

import html
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from stribeck.ident.errors import InputError
from stribeck.ident.model.files.older_mujoco import correct_model

if TYPE_CHECKING:
    import mujoco

_log = logging.getLogger(__name__)
_ATTRIBUTE = re.compile(r"""\s*([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")
_PACKAGE = "package://"


def parsed_spec(path: Path, text: str) -> "mujoco.MjSpec":
    """Return MuJoCo's specification of a file; MuJoCo itself accepts only the endings ``.xml``
    and ``.urdf`` in lower case.
    """
    import mujoco

    if path.suffix in (".xml", ".urdf"):
        spec = mujoco.MjSpec.from_file(str(path))
    else:
        spec = mujoco.MjSpec.from_string(text)
        spec.modelfiledir = str(path.parent)
    correct_model(spec, text)
    for mesh in spec.meshes:
        if mesh.file.startswith(_PACKAGE):
            mesh.file = _in_package(mesh.file, path.resolve()) or mesh.file
    return spec


def _in_package(file: str, model: Path) -> str | None:
    """Path of a file in a ROS package; the package holds the model or lies beside one of
    the model's parent folders.
    """
    package, _, rest = file.removeprefix(_PACKAGE).partition("/")
    for folder in model.parents:
        for root in ([folder] if folder.name == package else []) + [folder / package]:
            found = (root / rest).resolve()
            if found.is_relative_to(root) and found.is_file():
                return str(found)
    return None


def refuse_foreign_includes(path: Path, text: str, seen: set[Path]) -> None:
    """Refuse a model that includes a file outside its folder, directly or
    through another included file.

    Meshes may lie outside the folder, for example in ROS packages: only
    the shape of a mesh is read.
    """
    for part in _included(text):
        included = (path.parent / part).resolve()
        if not included.is_relative_to(path.parent.resolve()):
            raise InputError(
                f"{path}: the included file {part!r} lies outside its folder; put the file beside "
                "the model"
            )
        if included.is_file() and included not in seen:
            seen.add(included)
            refuse_foreign_includes(
                path, included.read_text(encoding="utf-8", errors="replace"), seen
            )


def _included(text: str) -> Iterator[str]:
    """Yield the files that ``include`` and ``model`` elements name; attributes are read like MuJoCo
    reads them, with entities.
    """
    for element in re.finditer(r"<(?:include|model)\b", text):
        at = element.end()
        while attribute := _ATTRIBUTE.match(text, at):
            name, value = attribute.groups()
            at = attribute.end()
            if name == "file":
                yield html.unescape(value[1:-1])


def unreadable_meshes(spec: "mujoco.MjSpec") -> set[str]:
    """Names of the meshes that are missing or damaged."""
    import mujoco

    lost = set()
    for mesh in spec.meshes:
        alone = mujoco.MjSpec()
        alone.modelfiledir, alone.compiler.meshdir = spec.modelfiledir, spec.compiler.meshdir
        alone.strippath = spec.strippath
        alone.add_mesh(
            **{
                key: getattr(mesh, key)
                for key in (
                    "name",
                    "file",
                    "content_type",
                    "scale",
                    "inertia",
                    "uservert",
                    "userface",
                )
            }
        )
        try:
            alone.compile()
        except (ValueError, mujoco.FatalError):
            lost.add(mesh.name)
    return lost


@contextmanager
def warnings_logged(path: Path) -> Iterator[None]:
    """Send MuJoCo's warnings to the log, instead of to the console and MuJoCo's log file."""
    import mujoco

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: _log.warning("%s: %s", path, text))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def why_not_xml(text: str) -> str | None:
    """Return why a text is not well-formed XML; None if it is well formed."""
    try:
        expat.ParserCreate().Parse(text.encode(), True)
    except expat.ExpatError as error:
        return f"not well-formed XML: {error}; an arm is a .toml, .urdf or .xml file"
    return None


def one_line(error: Exception) -> str:
    """Return the message of an error on one line."""
    return " ".join(str(error).split())
