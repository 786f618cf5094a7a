"""The list of deliberate faults fits the present tree."""

from collections import Counter

from benchmarks.faults import ROOT, Fault, listed_faults


def fault_in_list(fault: Fault) -> str:
    """What is wrong with a fault of the list; empty if nothing is."""
    source = ROOT / fault.file
    if not source.is_file():
        return f"{fault.file} is missing"
    try:
        faulty = fault.faulty(source.read_text(encoding="utf-8"))
    except ValueError as error:
        return str(error)
    try:
        compile(faulty, fault.file, "exec")
    except SyntaxError as error:
        return f"no Python: {error}"
    if not any((ROOT / path).exists() for path in fault.tests):
        return f"none of its tests exists: {', '.join(fault.tests)}"
    return ""


def test_each_fault_changes_one_place_of_the_present_tree() -> None:
    wrong = {fault.number: text for fault in listed_faults() if (text := fault_in_list(fault))}
    assert wrong == {}


def test_there_are_40_faults_in_different_files() -> None:
    faults = listed_faults()
    assert len(faults) == 40
    assert Counter(fault.file for fault in faults).most_common(1)[0][1] == 1
