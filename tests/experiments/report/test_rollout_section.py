"""Motion in simulation, in the report and by its command."""

import numpy as np
import pytest

from stribeck.experiments.report.page import write_report
from stribeck.experiments.report.pages.validation_page import Validated, write_validation
from stribeck.ident.calibration.validation import Validation
from stribeck.ident.log.run import load_run
from stribeck.ident.simulators.rollout import (
    CALIBRATED,
    OWN,
    REFERENCES,
    TORQUES,
    WITHOUT,
    Rollout,
    SimulatedMotion,
)
from tests.experiments.report.test_page import points_of, result_of
from tests.places import DATA

pytestmark = pytest.mark.slow

NAMES = ("j1", 'a<b>"')
T = np.linspace(0.0, 8.0, 900)


def rollout(by_torques: bool) -> Rollout:
    measured = np.column_stack([np.sin(T), np.cos(T)])
    errors = {WITHOUT: (0.2, 0.05), OWN: (0.04, 0.03), CALIBRATED: (0.00251, 0.0013)}
    moved = {
        name: SimulatedMotion(
            measured + np.array(off) * np.sqrt(2.0) * np.sin(40.0 * T)[:, None], np.array(off), 0.0
        )
        for name, off in errors.items()
    }
    return Rollout(
        NAMES,
        np.array([False, True]),
        TORQUES if by_torques else REFERENCES,
        {},
        "no references" if by_torques else "",
        0.3 if by_torques else np.inf,
        T,
        measured,
        moved,
    )


@pytest.mark.parametrize("by_torques", [True, False])
def test_the_page_has_errors_of_every_joint_and_friction(tmp_path, by_torques):
    result = result_of({name: points_of(name) for name in NAMES}, (False, True))
    text = write_report(result, tmp_path, None, (rollout(by_torques), "runs/<unseen>")).read_text(
        encoding="utf-8"
    )
    section = text[text.index('<section id="motion">') :]
    section = section[: section.index("</section>")]
    for cell in (
        "200",
        "40",
        "2.51",
        "50",
        "30",
        "1.3",
        "mrad",
        "mm",
        "runs/&lt;unseen&gt;",
        "<svg",
        "own friction",
    ):
        assert cell in section, cell
    assert ("every 0.3 s" in section) == by_torques
    assert '<b>"' not in section


def test_the_page_of_a_validation_without_torques_has_the_motion(tmp_path):
    run = load_run(DATA / "golden" / "runs" / "constant-speed")
    found = Validation({}, dict.fromkeys(run.names, "no torque was recorded"))
    write_validation(
        Validated(run, 0.1, {"mine": found}, {"mine": rollout(True)}, {}, ()),
        tmp_path / "page.html",
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = page[page.index('id="motion"') :]
    for cell in (
        "200",
        "2.51",
        "mrad",
        "Error of simulated position over time",
        "no torque was recorded",
    ):
        assert cell in section, cell
    assert "No torque was judged" in page


def test_without_a_rollout_there_is_no_section(tmp_path):
    result = result_of({"j1": points_of("j1")}, (False,))
    assert 'id="motion"' not in write_report(result, tmp_path).read_text(encoding="utf-8")


def test_gains_need_a_rollout(cli):
    outcome = cli("report", DATA / "golden", "--gains", "hinge=3,1")
    assert outcome.code == 2
    assert "--rollout" in outcome.err
