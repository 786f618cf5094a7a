"""From runs of servos without torque to results: calibration, models and a
picture of the simulated motion.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stribeck.experiments.fit_runs import save_model
from stribeck.experiments.report.plots.motion_plot import plot_motion
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.identify_servos import AUTO, ServoIdentification, identify_servos
from stribeck.ident.log.campaign_folder import CALIBRATION
from stribeck.ident.log.run import Run
from stribeck.ident.whole_files import whole

PICTURE = "motion.png"
TORQUE, COMMANDS = SIGNALS = ("torque", "commands")
_TAKEN = ("law", "load")  # options of a fit without torque


@dataclass(frozen=True)
class ServoDelivery:
    """Results, the files in their folder, and what the exported model cannot store."""

    result: ServoIdentification
    files: tuple[Path, ...]
    losses: tuple[str, ...]


def check_signal(signal: str, options: Options) -> None:
    """Refuse an unknown signal, and options that only a fit of torques has.

    Raises
    ------
    InputError
        Names the option.
    """
    if signal not in SIGNALS:
        raise unknown_name("signal", signal, SIGNALS)
    if signal == COMMANDS and (
        other := {name: value for name, value in options.differing.items() if name not in _TAKEN}
    ):
        name = next(iter(other))
        raise InputError(
            f"--{name.replace('_', '-')} {other[name]}: --signal commands takes --law and --load "
            "only; leave it out"
        )


def fit_servo_runs(
    runs: Sequence[Run], out: Path, law: str = AUTO, load: str = AUTO
) -> ServoDelivery:
    """Fit runs of servos and write calibration, model, exported model and a picture of
    measured and simulated motion.
    """
    found = identify_servos(runs, law, load, datetime.now(UTC))
    out.mkdir(parents=True, exist_ok=True)
    calibration = save_servos(found, out)
    model, losses = save_model(calibration, out)
    plot_motion(found, out / PICTURE)
    return ServoDelivery(found, (out / CALIBRATION, out / PICTURE, model), losses)


def save_servos(found: ServoIdentification, out: Path) -> Calibration:
    """Write calibration and model; return the calibration."""
    source = found.calibration.folder / found.calibration.model.file
    with whole(out / source.name) as part:
        shutil.copyfile(source, part)
    found.calibration.save(out / CALIBRATION)
    return found.calibration
