"""Calibrations as rows of a dataset: a row for each joint, and back."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.experiments.fleet.fleet_dataset import FITS, MODELS, Dataset
from stribeck.experiments.fleet.storage import Place
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.log.campaign_folder import CALIBRATION

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS = (
    "source",
    "model",
    "serial",
    "note",
    "method",
    "torque_basis",
    "software",
    "content",
    "joint",
    "law",
    "load",
    "directional",
    "verdict",
    "unit",
    "model_file",
    "model_sha256",
    "calibration",
)
NUMBERS = ("held_out_rmse", "speed_low", "speed_high", "temperature_low", "temperature_high")
CURVES = ("speeds", "friction", "friction_half_width")
DATES = ("created",)
PARAMETERS = tuple(
    dict.fromkeys(name for law in LAWS.values() for name in law.parameters(load=True))
)
OF_PARAMETER = ("std_error", "low", "high")
_SPEEDS = 5  # speeds of the curve of a joint


def fit_schema() -> "pa.Schema":
    """Columns of a dataset of calibrations, the same for all laws."""
    import pyarrow as pa

    numbers = (
        *NUMBERS,
        *(
            column
            for name in PARAMETERS
            for column in (name, *(f"{name}_{part}" for part in OF_PARAMETER))
        ),
    )
    return pa.schema(
        [
            *(
                (name, pa.string())
                for name in (*TEXTS, *(f"{name}_verdict" for name in PARAMETERS))
            ),
            *((name, pa.timestamp("us", tz="UTC")) for name in DATES),
            *((name, pa.float64()) for name in numbers),
            *((name, pa.list_(pa.float64())) for name in CURVES),
        ]
    )


def calibration_rows(calibration: Calibration, source: str, content: str) -> "pa.Table":
    """Return a row for each joint of a calibration as read from its file."""
    import pyarrow as pa

    about = {
        "source": source,
        "content": content,
        "model": calibration.arm,
        "serial": calibration.serial,
        "note": calibration.note,
        "created": calibration.created,
        "method": calibration.method,
        "torque_basis": calibration.torque_basis,
        "software": str(calibration.fit.get("versions", {}).get("stribeck", "")),
        "model_file": calibration.model.file,
        "model_sha256": calibration.model.sha256,
        "calibration": (calibration.folder / CALIBRATION).read_text(encoding="utf-8"),
    }
    rows = [
        {**about, "joint": name, **_joint_row(joint)} for name, joint in calibration.joints.items()
    ]
    return pa.Table.from_pylist(rows, schema=fit_schema())


def _joint_row(joint: JointCalibration) -> dict[str, Any]:
    low, high = joint.velocity_range
    coolest, warmest = joint.temperature_range or (None, None)
    speeds = np.geomspace(max(low, 1e-3 * high), high, _SPEEDS)
    load = np.repeat(joint.middle_load[None], _SPEEDS, axis=0)
    row = {
        "law": joint.law,
        "load": joint.load,
        "directional": joint.directional,
        "verdict": joint.verdict(),
        "unit": joint.parameters["coulomb"].unit,
        "held_out_rmse": joint.held_out_rmse,
        "speed_low": low,
        "speed_high": high,
        "temperature_low": coolest,
        "temperature_high": warmest,
        "speeds": speeds.tolist(),
        "friction": joint.torque(speeds, load).tolist(),
        "friction_half_width": joint.band(speeds, load).tolist(),
    }
    for name in PARAMETERS:
        if (one := joint.parameters.get(name)) is not None:
            row |= {
                name: one.value,
                f"{name}_verdict": one.verdict,
                **{f"{name}_{part}": getattr(one, part) for part in OF_PARAMETER},
            }
    return row


def store_model(fits: Dataset, calibration: Calibration) -> None:
    """Keep the model of a calibration beside the dataset."""
    fits.place.write(
        _model(calibration.model.file, calibration.model.sha256),
        (calibration.folder / calibration.model.file).read_bytes(),
    )


def read_calibrations(place: Place) -> dict[str, Calibration]:
    """Read all calibrations of a dataset by the path of their recording; their
    models stay in the dataset.
    """
    frame = Dataset.existing(place, FITS).read(("source", "calibration")).drop_duplicates("source")
    found = {}
    with TemporaryDirectory() as folder:
        for source, text in zip(frame["source"], frame["calibration"], strict=True):
            (file := Path(folder) / CALIBRATION).write_text(text, encoding="utf-8")
            found[str(Place(source))] = Calibration.load(file)
    return found


def restored(fits: Dataset, row: Mapping[str, Any], folder: Path) -> Calibration:
    """Write the calibration of a row with its model to a folder, and load it."""
    (folder / CALIBRATION).write_text(row["calibration"], encoding="utf-8")
    (folder / row["model_file"]).write_bytes(
        fits.place.read(_model(row["model_file"], row["model_sha256"]))
    )
    return Calibration.load(folder)


def _model(file: str, sha256: str) -> str:
    return f"{MODELS}/{sha256}{Path(file).suffix}"
