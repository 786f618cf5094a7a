"""Serial number and note, from the arm file or the command line to run, calibration and exports."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import stribeck
from stribeck.experiments.campaign_options import CampaignOptions, begun_with
from stribeck.experiments.recording.campaign import Campaign
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export, export_formats
from stribeck.ident.identification.choose_runs import check_one_arm
from stribeck.ident.log.campaign_folder import campaign_runs
from stribeck.ident.log.run import Run, load_run
from tests.places import ROOT

GOLDEN = ROOT / "data" / "golden"
NOTE = 'line one\nline "two" -- */ # \'\'\' """ \\N{x}'


@pytest.fixture(scope="module")
def golden() -> Run:
    return load_run(GOLDEN / "runs" / "constant-speed")


@pytest.fixture(scope="module")
def fitted(golden, tmp_path_factory) -> Calibration:
    return stribeck.fit(
        golden,
        tmp_path_factory.mktemp("about") / "out",
        law="stribeck",
        load="torque",
        serial="A-7",
        note=NOTE,
    )


@pytest.mark.slow
def test_the_calibration_file_holds_both(fitted):
    assert (fitted.serial, fitted.note) == ("A-7", NOTE)
    assert "serial number A-7" in fitted.origin
    assert "drives at 25 to 27.3 °C" in fitted.origin
    assert "\n" not in fitted.origin
    page = (fitted.folder / "report.html").read_text(encoding="utf-8")
    assert "A-7" in page
    assert "line one" in page


@pytest.mark.parametrize("target", export_formats())
def test_every_export_names_arm_and_date(fitted, target):
    if target in ("motionsolve", "adams"):  # friction of bearings only
        joint = fitted.joints["hinge"]
        fitted = replace(
            fitted, joints={"hinge": replace(joint, load="none", load_range=None, load_part=None)}
        )
    text = export(fitted, target).text
    assert "A-7" in text
    assert fitted.created.isoformat() in text
    if target in ("isaac-lab", "trossen"):
        exec(compile(text, "isaac", "exec"), {})
    if target == "json":
        assert '"note": "line one' in text


def test_runs_of_two_arms_are_refused(golden):
    with pytest.raises(InputError, match=r"A-7.*A-8|A-8.*A-7"):
        check_one_arm([golden.about("A-7"), golden.about("A-8")])
    check_one_arm([golden.about("A-7"), golden])
    with pytest.raises(InputError, match="A-7"):
        golden.about("A-7").about("A-8")


def test_a_calibration_without_them_reads_as_before():
    assert (Calibration.load(GOLDEN).serial, Calibration.load(GOLDEN).note) == ("", "")


@pytest.mark.parametrize("serial", ["two\nlines", "x" * 101])
def test_a_serial_number_is_one_short_line(make_arm, serial):
    with pytest.raises(InputError, match="serial"):
        make_arm().numbered(serial)
    with pytest.raises(InputError, match="serial"):
        make_arm({"serial": serial})


@pytest.mark.slow
def test_a_campaign_stores_both_and_goes_on_with_the_same_arm_only(make_arm, make_plan, tmp_path):
    arm, options = make_arm(), CampaignOptions(serial="B-1", note="new grease")
    campaign = Campaign(
        arm.numbered("B-1"), tmp_path / "out", 0, options=options.table(), note=options.note
    )
    recorded = load_run(campaign.drive(make_plan(arm)), ())
    assert (recorded.arm.serial, recorded.note) == ("B-1", "new grease")
    begun = begun_with(tmp_path / "out")
    assert (begun["serial"], begun["note"]) == ("B-1", "new grease")
    for other in ("B-2", ""):
        with pytest.raises(InputError, match="B-1"):
            Campaign(arm.numbered(other), tmp_path / "out", 0)
    copied = tmp_path / "copied"
    shutil.copytree(campaign_runs(tmp_path / "out")[0], copied)
    assert load_run(Path(copied), ()).arm.serial == "B-1"


def test_the_arm_file_states_it(make_arm):
    arm = make_arm({"serial": "C-3"})
    assert (arm.serial, arm.numbered("").serial, load_arm(arm.path).serial) == ("C-3",) * 3
    with pytest.raises(InputError, match="C-3"):
        arm.numbered("C-4")
    assert replace(arm, serial="").numbered("C-4").serial == "C-4"
