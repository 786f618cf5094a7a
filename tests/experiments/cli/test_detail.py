"""Detail of commands: result and attention lines by default, all notes with -v,
only paths of files with -q.
"""

import pytest

from tests.places import DATA

GOLDEN = DATA / "golden"
FIT = ("--law", "stribeck", "--load", "torque")


@pytest.mark.slow
def test_notes_appear_only_with_verbose(cli, tmp_path):
    usual = cli("fit", GOLDEN, *FIT, "-o", tmp_path / "usual").out
    more = cli("fit", GOLDEN, *FIT, "-v", "-o", tmp_path / "more").out
    quiet = cli("fit", GOLDEN, *FIT, "-q", "-o", tmp_path / "quiet").out
    for label in ("health  ", "gravity  ", "export  "):
        assert label in more
        assert label not in usual
    assert "identified" in usual
    assert (
        quiet.splitlines()
        == [line for line in quiet.splitlines() if line.startswith("wrote")]
        != []
    )


def test_verbose_and_quiet_together_are_refused(cli, tmp_path):
    outcome = cli("fit", GOLDEN, "-q", "-v", "-o", tmp_path / "out")
    assert (outcome.code, "--verbose and --quiet exclude each other" in outcome.err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_check_shows_a_line_a_joint(cli):
    outcome = cli("check", "lab6")
    assert outcome.code == 0
    assert len([line for line in outcome.out.splitlines() if line.strip()]) <= 12
    assert all(f"\n {name}  " in outcome.out for name in ("j1", "j2", "j3", "j4", "j5", "j6"))
    assert len(cli("check", "lab6", "-v").out.splitlines()) > 20


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", [(), ("calibrate",), ("fit",)])
def test_help_is_not_cut_and_has_a_short_option(cli, command, option):
    outcome = cli(*command, option)
    assert outcome.code == 0
    assert "…" not in outcome.out
    assert "<str>" not in outcome.out.partition(" Options ")[2]


def test_commands_are_in_groups(cli):
    said = cli("--help").out
    places = [said.index(f" {group} ") for group in ("Measure", "Analyse", "Use", "Develop")]
    assert places == sorted(places)
