"""Which way the packages depend on each other, and what none of them may do; read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

FORBIDDEN = {"ident": {"drivers", "experiments", "tests", "benchmarks"},
             "drivers": {"experiments", "tests", "benchmarks"},
             "experiments": {"tests", "benchmarks"}}
UNSAFE_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "yaml", "ruamel"}
UNSAFE_CALLS = {"eval", "exec", "read_pickle", "to_pickle"}
FILES = sorted(path for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """First part of every imported module, with its line; imports inside functions and by name count too."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0] if not node.level else package_of(path), node.lineno
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__") and node.args:
            name = node.args[0]
            yield name.value.split(".")[0] if isinstance(name, ast.Constant) else "?", node.lineno


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def test_the_packages_are_found() -> None:
    assert {package_of(path) for path in FILES} == set(FORBIDDEN)
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=label)
def test_imports_point_one_way(path: Path) -> None:
    wrong = [f"line {line}: {name}" for name, line in imported(path) if name in FORBIDDEN[package_of(path)]]
    assert not wrong, f"{label(path)} imports {', '.join(wrong)}"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_nothing_unpickles_or_evaluates_text(path: Path) -> None:
    wrong = [f"line {line}: {name}" for name, line in imported(path) if name in UNSAFE_MODULES]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            risky = [key.arg for key in node.keywords if key.arg in ("allow_pickle", "shell")
                     and not (isinstance(key.value, ast.Constant) and key.value.value is False)]
            wrong += [f"line {node.lineno}: {name}" for name in [called(node), *risky]
                      if name in UNSAFE_CALLS or name in risky]
    assert not wrong, f"{label(path)}: {', '.join(wrong)}"


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=label)
def test_package_files_only_name_what_is_public(path: Path) -> None:
    """Docstring, imports and __all__; work happens in functions, never at import."""
    body = parsed(path).body
    assert ast.get_docstring(parsed(path)), f"{label(path)} has no docstring"
    for node in body[1:]:
        is_all = isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__all__"]
        assert is_all or isinstance(node, (ast.Import, ast.ImportFrom)), f"{label(path)}, line {node.lineno}"


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=label)
def test_all_lists_what_the_package_imports(path: Path) -> None:
    names = {alias.asname or alias.name for node in parsed(path).body if isinstance(node, ast.ImportFrom)
             for alias in node.names}
    (public,) = [ast.literal_eval(node.value) for node in parsed(path).body if isinstance(node, ast.Assign)] or [[]]
    assert set(public) == names
    assert len(public) == len(set(public))


@pytest.mark.parametrize("path", [path for path in FILES if package_of(path) == "ident"], ids=label)
def test_ident_neither_prints_nor_waits_nor_reads_a_clock(path: Path) -> None:
    """Arrays in, arrays out: otherwise a fit could not be repeated to the digit."""
    assert not {name for name, _ in imported(path)} & {"time", "serial", "can", "socket", "subprocess", "threading"}
    calls = {called(node) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
    assert not calls & {"print", "input", "sleep", "now", "utcnow", "today"}
