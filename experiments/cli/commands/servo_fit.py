"""What `fit --signal commands` does: a calibration without any torque signal."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from stribeck.experiments.cli.common import files_in, print_json

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.run import Run


def servos_fitted(
    text: "Console", runs: "list[Run]", folder: Path, signal: str, options: "Options", as_json: bool
) -> None:
    """Fit runs of servos, write the results and print them.

    Raises
    ------
    InputError
        If the signal is unknown, or an option is given that only measured torques can serve.
    """
    import numpy as np

    from stribeck.experiments.fit_servo_runs import check_signal, fit_servo_runs
    from stribeck.ident.errors import command
    from stribeck.ident.export.numbers import calibration_table

    check_signal(signal, options)
    delivery = fit_servo_runs(runs, folder, options.law, options.load)
    calibration, fits = delivery.result.calibration, delivery.result.fits
    for name, joint in calibration.joints.items():
        fit = fits[name]
        milli = "mm" if next(iter(joint.parameters.values())).unit == "N" else "mrad"
        held = "" if np.isnan(fit.held_out) else f", {1e3 * fit.held_out:.1f} on left-out motion"
        text.print(
            f"{name:<9} {joint.law}, load {joint.load}: simulated motion is {1e3 * fit.error:.1f} "
            f"{milli} off{held}"
        )
        for key, entry in (
            *joint.parameters.items(),
            *(joint.servo.parameters.items() if joint.servo else ()),
            *((key, joint.gravity[key]) for key in ("inertia", "offset")),
        ):
            note = f"; {entry.note}" if entry.note else ""
            told = (
                f"{entry.value:10.4g} ± {entry.half_width or 0.0:<9.2g} {entry.unit:<12} "
                f"{entry.verdict}{note}"
            )
            text.print(f"          {key:<20} {told}")
        if all(
            entry.verdict in ("unidentifiable", "at bound") for entry in joint.parameters.values()
        ):
            text.print(
                f"attention {name}: no parameter of friction is identified; record faster and "
                "slower motion, some at a smaller gain, so that the joint sticks and slips"
            )
    for finding in delivery.result.findings:
        text.print(f"attention {finding.text}")
    text.files(f"wrote     in {folder}/: {'  '.join(path.name for path in delivery.files)}")
    text.print(
        f"next      {command('validate', 'RUN', folder, '--rollout')}; "
        f"{command('export', folder, '--to', 'mjcf')}; open "
        f"{shlex.quote(str(folder / 'motion.png'))}"
    )
    if as_json:
        print_json(
            {
                "robot_time_s": round(sum(run.duration for run in runs), 3),
                "calibration": calibration_table(calibration),
                "losses": list(delivery.losses),
            },
            files_in(folder),
        )
