"""Public interface: the names that user scripts rely on, and what their import loads."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest

import stribeck
from tests.places import ROOT

TREE = ast.parse((ROOT / "src" / "stribeck" / "__init__.py").read_text(encoding="utf-8"))


def imported_for_types() -> dict[str, str]:
    """Name and module of each import that type checkers see."""
    (block,) = (
        node
        for node in TREE.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_hints_modules_and_all_agree():
    homes = {name: f"stribeck.{home}" for name, home in stribeck._HOMES.items()}
    assert imported_for_types() == homes
    assert set(stribeck.__all__) == homes.keys()
    assert len(stribeck.__all__) == len(homes)


def test_every_name_is_defined_in_its_stated_module():
    homes, offenders = imported_for_types(), []
    for name in stribeck.__all__:
        value = getattr(stribeck, name)
        at_home = value is getattr(import_module(homes[name]), name)
        if value.__module__ != homes[name] or not at_home or not value.__doc__:
            offenders.append(name)
    assert offenders == []
    assert set(stribeck.__all__) <= set(dir(stribeck))


@pytest.mark.parametrize("name", stribeck.__all__)
@pytest.mark.slow
def test_every_docstring_is_numpydoc_and_its_examples_run(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    value = getattr(stribeck, name)
    sections = set(re.findall(r"^ *(\w+)\n *-{4,}$", value.__doc__, re.MULTILINE))
    needed = {"Examples"} if isinstance(value, type) else {"Parameters", "Returns", "Examples"}
    assert needed <= sections
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    (examples,) = (
        test for test in doctest.DocTestFinder(recurse=False).find(value, name) if test.examples
    )
    runner.run(examples)
    assert runner.failures == 0


@pytest.mark.parametrize("module", stribeck._MODULES)
def test_further_modules_have_examples_that_run(module, monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in (found := getattr(stribeck, module)).__all__:
        assert getattr(found, name).__doc__
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for test in doctest.DocTestFinder(recurse=False).find(getattr(found, name), name):
            runner.run(test)
        assert runner.failures == 0


def test_every_argument_is_described():
    offenders = []
    for name in stribeck.__all__:
        value = getattr(stribeck, name)
        for argument in () if isinstance(value, type) else inspect.signature(value).parameters:
            line = rf"^ +\**(\w+, )*{argument}(, \w+)*( : .*)?$"
            if not re.search(line, value.__doc__, re.MULTILINE):
                offenders.append(f"{name}: {argument}")
    assert offenders == []


@pytest.mark.slow
def test_reprs_of_results_are_short():
    calibration = stribeck.Calibration.load(ROOT / "data" / "golden")
    run = stribeck.load_run(ROOT / "data" / "golden" / "runs" / "constant-speed")
    found = stribeck.identify([run])
    (fit,) = (joint.fit for joint in found.joints.values())
    for result in (
        calibration,
        calibration.mechanism,
        *calibration.joints.values(),
        run,
        found,
        fit,
        stribeck.compare(calibration, found.calibration),
    ):
        assert len(repr(result)) < 400, type(result)
        assert "\n" not in repr(result)
    for result in (calibration, found, fit, stribeck.compare(calibration, found.calibration)):
        assert "<table" in result._repr_html_()


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'stribeck' has no attribute 'fit_frictions'"):
        stribeck.fit_frictions  # noqa: B018  # the attribute is what is tried


def test_the_import_loads_nothing_but_itself():
    """`python -m benchmarks startup` measures the seconds of an import."""
    code = (
        "import sys; before = set(sys.modules); import stribeck; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages - sys.stdlib_module_names == {"stribeck"}
