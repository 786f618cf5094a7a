"""docs/names.md names every key, column and parameter of the code, and
nothing else in its tables.
"""

import dataclasses
import re

from stribeck.drivers.dynamixel import dynamixel_keys as dynamixel
from stribeck.drivers.simulation.friction_heat import HeatTruth
from stribeck.drivers.simulation.truth import FlexibleLink, JointTruth, Knobs, _ArmTruth
from stribeck.experiments.fleet import calibration_rows, validate_recording
from stribeck.experiments.library.provenance import Provenance, Recordings
from stribeck.experiments.plans.lowered_speed import LoweredSpeed
from stribeck.experiments.plans.plan import Harmonics, Plan, Segment
from stribeck.ident.arm.arm_tables import ArmTable, JointTable
from stribeck.ident.calibration.calibration_tables import CalibrationTable, JointCalibrationTable
from stribeck.ident.calibration.parameter_table import ParameterTable
from stribeck.ident.fit.information import ExpectedPrecision
from stribeck.ident.fleet.fleet import COLUMNS as FLEET_COLUMNS
from stribeck.ident.laws.law_table import LAWS, quantities
from stribeck.ident.log.reduction.round_trips import COLUMNS
from stribeck.ident.log.run import SIGNALS
from stribeck.ident.model.files.mechanism_toml import _FrictionTable, _LoopTable, _MechanismTable
from stribeck.ident.model.files.mechanism_toml import _JointTable as _MechanismJointTable
from stribeck.ident.model.files.stated_loops import EndTable
from stribeck.ident.model.joint_parts import Bearing, Spring
from tests.places import DOCS

PAGE = (DOCS / "names.md").read_text(encoding="utf-8")


def keys(model) -> set[str]:
    if dataclasses.is_dataclass(model):
        return {field.name for field in dataclasses.fields(model)}
    return {field.alias or name for name, field in model.model_fields.items()}


CODE = {
    "Signals and sample columns": {"t", "segment", *SIGNALS},
    "Friction parameters": set(quantities()),
    "Arm file": (
        keys(ArmTable)
        | keys(JointTable)
        | keys(Knobs)
        | keys(_ArmTruth) - {"joints"}
        | keys(Bearing)
        | keys(JointTruth) - set(quantities())
        | keys(FlexibleLink)
        | keys(HeatTruth) - {"time_constant"}
    ),
    "Dynamixel keys": keys(dynamixel.DynamixelKeys) | keys(dynamixel.DriveKeys),
    "Points (`points.csv`)": set(COLUMNS),
    "Fleet table (`compare --out fleet.csv`)": set(FLEET_COLUMNS),
    "Fleet dataset (`fleet fit`)": {
        "arm",
        *calibration_rows.TEXTS,
        *calibration_rows.DATES,
        *calibration_rows.NUMBERS,
        *calibration_rows.CURVES,
    },
    "Fleet dataset (`fleet validate`)": {
        "passed",
        "recorded",
        "tolerance",
        *validate_recording.TEXTS,
        *validate_recording.NUMBERS,
    },
    "Calibration file": keys(CalibrationTable) | keys(JointCalibrationTable) | keys(ParameterTable),
    "Mechanism file": set().union(
        *map(
            keys,
            (_MechanismTable, _MechanismJointTable, _LoopTable, EndTable, _FrictionTable, Spring),
        )
    ),
    "Library entry (`provenance.toml`)": keys(Provenance) | keys(Recordings),
    "Plan file": keys(Plan)
    | keys(Segment)
    | keys(Harmonics)
    | keys(ExpectedPrecision)
    | keys(LoweredSpeed)
    | {"schema"},
}


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_name_of_the_code_is_on_the_page():
    missing = {
        title: names - set(re.findall(r"`([a-z_0-9]+)`", section(title)))
        for title, names in CODE.items()
    }
    assert {title: names for title, names in missing.items() if names} == {}


def test_every_name_in_a_table_is_in_the_code():
    unknown = {}
    for title, names in CODE.items():
        cells = re.findall(r"^\| ((?:`[a-z_0-9]+` ?)+)\|", section(title), flags=re.MULTILINE)
        written = {name for cell in cells for name in re.findall(r"`([a-z_0-9]+)`", cell)}
        if written - names:
            unknown[title] = written - names
    assert unknown == {}


def test_parameters_of_laws_and_truth_share_names():
    for law in LAWS.values():
        assert set(law.parameters(load=True)) <= set(quantities())
    for name in ("coulomb-viscous", "stribeck"):  # the simulated arm's truth is of these
        assert set(LAWS[name].parameters(load=True)) <= keys(JointTruth)
