"""Rules for packages, checked in the source: direction of imports, size,
and forbidden operations.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.places import ROOT

# each package imports only itself and earlier packages
PACKAGES = ("ident", "drivers", "experiments")
# forbidden as top-level names: the package is stribeck
FORBIDDEN = {"tests", "benchmarks", "docs", *PACKAGES}
UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "joblib",
    "shelve",
    "marshal",
    "yaml",
    "ruamel",
}
UNSAFE_CALLS = {"eval", "exec", "read_pickle", "to_pickle"}
MOST_LINES = 500  # of a file
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULES = {
    ".".join(("stribeck", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}
ROOMS = sorted(path.parent for path in FILES if path.name == "__init__.py")


@dataclass(frozen=True)
class Source:
    """What the rules ask of a file; its syntax tree is large, and is not kept.

    Attributes
    ----------
    docstring : str
    statements : int
        Number of statements of the module, with the docstring.
    imported : tuple of str and int
        Full name and line of every imported module, with imports inside functions, for types, and
        by name.
    private : tuple of str and int
        Private names of other modules that are imported, and lines.
    called : frozenset of str
        Names of called functions and methods.
    risky : tuple of str and int
        Calls and arguments that evaluate text or unpickle, and lines.
    """

    docstring: str
    statements: int
    imported: tuple[tuple[str, int], ...]
    private: tuple[tuple[str, int], ...]
    called: frozenset[str]
    risky: tuple[tuple[str, int], ...]


@cache
def source(path: Path) -> Source:
    """Read a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    nodes = tuple(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return Source(
        ast.get_docstring(tree) or "",
        len(tree.body),
        tuple(_imported(path, nodes)),
        tuple(
            (alias.name, node.lineno)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("stribeck")
            for alias in node.names
            if alias.name.startswith("_")
        ),
        frozenset(map(called, calls)),
        tuple((name, node.lineno) for node in calls for name in _risks(node)),
    )


def _risks(node: ast.Call) -> Iterator[str]:
    if called(node) in UNSAFE_CALLS:
        yield called(node)
    for key in node.keywords:
        harmless = isinstance(key.value, ast.Constant) and key.value.value is False
        if key.arg in ("allow_pickle", "shell") and not harmless:
            yield key.arg


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room_name(path: Path) -> str:
    """Name of a package in docstrings: `ident.fit.joint`."""
    return ".".join(path.relative_to(ROOT).parts)


def _imported(path: Path, nodes: tuple[ast.AST, ...]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, (
                f"{label(path)}, line {node.lineno}: write the whole name of the module"
            )
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module), node.lineno
        elif (
            isinstance(node, ast.Call)
            and called(node) in ("import_module", "__import__")
            and node.args
        ):
            name = node.args[0]
            yield str(name.value) if isinstance(name, ast.Constant) else "?", node.lineno


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


@cache
def arrows() -> dict[str, set[str]]:
    """Modules of the package that each of its modules imports."""
    return {
        module: {name for name, _ in source(path).imported if name in MODULES} - {module}
        for module, path in MODULES.items()
    }


def circle(graph: Mapping[str, Set[str]]) -> str:
    """Describe a cycle of a graph; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


def test_the_packages_are_found() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(PACKAGES)
    assert len(FILES) > 200
    assert len(ROOMS) > 30


def test_no_two_modules_import_each_other() -> None:
    assert circle(arrows()) == ""


def test_imports_inside_a_package_have_no_cycle() -> None:
    """Files and subpackages of a package, each subpackage as one node, have no import cycle, so
    data flow in one direction.
    """
    cycles = {room_name(room) or "stribeck": cycle_inside(room) for room in (ROOT, *ROOMS)}
    assert {room: cycle for room, cycle in cycles.items() if cycle} == {}


def cycle_inside(room: Path) -> str:
    """Describe a cycle between files and subpackages of a package; empty if there is none."""
    inside = ".".join(("stribeck", *room.relative_to(ROOT).parts)) + "."
    graph: dict[str, set[str]] = defaultdict(set)
    for module, others in arrows().items():
        entry = module.removeprefix(inside).partition(".")[0]
        if module.startswith(inside):
            below = {
                other.removeprefix(inside).partition(".")[0]
                for other in others
                if other.startswith(inside)
            }
            graph[entry] |= below - {entry}
    return circle(graph)


def test_a_package_states_its_imports() -> None:
    """The docstring lists exactly the imported packages, so a new dependency shows in a review."""
    wrong = {}
    for room in ROOMS:
        docstring = source(room / "__init__.py").docstring
        stated = set(re.findall(r"`([\w.]+)`", docstring.partition("Imports from:")[2]))
        modules = {
            ".".join(("stribeck", *path.relative_to(ROOT).with_suffix("").parts))
            for path in room.glob("*.py")
        }
        needed = {
            room_name(MODULES[other].parent)
            for module in modules
            for other in arrows().get(module, ())
        } - {room_name(room)}
        if stated != needed:
            wrong[room_name(room)] = {"missing": needed - stated, "unused": stated - needed}
    assert wrong == {}


def test_a_package_file_is_one_docstring() -> None:
    """Nothing is imported through a package."""
    counts = {room_name(room): source(room / "__init__.py").statements for room in ROOMS}
    assert {room: count for room, count in counts.items() if count != 1} == {}


def test_imports_between_packages_go_one_way() -> None:
    wrong = [
        f"{module} imports {other}"
        for k, package in enumerate(PACKAGES)
        for module, others in arrows().items()
        for other in others
        if module.startswith(f"stribeck.{package}")
        and other.startswith(tuple(f"stribeck.{name}" for name in PACKAGES[k + 1 :]))
    ]
    assert wrong == []


def test_no_file_is_too_long() -> None:
    lines = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_file_names_are_unique() -> None:
    """Equal file names are hard to tell apart in an editor."""
    names = [path.name for path in FILES if path.name != "__init__.py"]
    allowed = {
        "errors.py",  # of each package
        # a kind of drive, and its emulator
        "canopen.py",
        "dynamixel.py",
        "odrive.py",
        "cubemars.py",
        "damiao.py",
    }
    assert {name for name in names if names.count(name) > 1} - allowed == set()


def test_imports_use_stribeck_and_no_private_names_of_other_modules() -> None:
    wrong = [
        f"{label(path)}, line {line}: {name}"
        for path in FILES
        for name, line in source(path).imported
        if name.partition(".")[0] in FORBIDDEN
    ]
    wrong += [
        f"{label(path)}, line {line}: {name}"
        for path in FILES
        for name, line in source(path).private
    ]
    assert wrong == []


def test_no_module_unpickles_or_evaluates_text() -> None:
    wrong = [
        f"{label(path)}, line {line}: {name}"
        for path in FILES
        for name, line in source(path).imported
        if name.partition(".")[0] in UNSAFE_MODULES
    ]
    wrong += [
        f"{label(path)}, line {line}: {name}" for path in FILES for name, line in source(path).risky
    ]
    assert wrong == []


def test_ident_neither_prints_nor_waits_nor_reads_a_clock() -> None:
    """`ident` depends on its arguments only, so a fit can be repeated to the digit."""
    modules = {"time", "serial", "can", "socket", "subprocess", "threading"}
    words = {"print", "input", "sleep", "now", "utcnow", "today"}
    wrong = {}
    for path in FILES:
        if path.is_relative_to(ROOT / "ident"):
            top = {name.partition(".")[0] for name, _ in source(path).imported}
            if found := top & modules | source(path).called & words:
                wrong[label(path)] = found
    assert wrong == {}


def test_tests_mirror_the_tree() -> None:
    """Folders below tests/ident, tests/drivers and tests/experiments have the
    names of the tested packages; tests over real buses stand in one folder for all protocols.
    """
    real_time = ROOT / "tests" / "drivers" / "real_time"
    folders = {
        path.parent
        for package in PACKAGES
        for path in (ROOT / "tests" / package).rglob("test_*.py")
    }
    assert {
        label(folder)
        for folder in folders - {real_time}
        if not (ROOT / folder.relative_to(ROOT / "tests")).is_dir()
    } == set()


def test_an_import_cycle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == ""
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}).split(" -> ")) == {"a", "b", "c"}
