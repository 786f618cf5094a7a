"""The commands as functions, for scripts and notebooks: same names, same
options, files or loaded objects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from stribeck.drivers.errors import ArmStopped
from stribeck.experiments.calibrate import Operator
from stribeck.experiments.calibrate import calibrate as calibrate_arm
from stribeck.experiments.campaign_options import CampaignOptions
from stribeck.experiments.exporters.calibration_export import export_calibration
from stribeck.experiments.fit_runs import fit_runs
from stribeck.experiments.fit_servo_runs import COMMANDS, TORQUE, check_signal, fit_servo_runs
from stribeck.experiments.plans.plan import Plan
from stribeck.experiments.recording.run_folders import refuse_used
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.changes import Comparison
from stribeck.ident.calibration.changes import compare as compare_calibrations
from stribeck.ident.calibration.validation import TOLERANCE, Validation
from stribeck.ident.calibration.validation import validate as validate_calibration
from stribeck.ident.errors import unknown_name
from stribeck.ident.external.external_torque import FALSE_ALARMS, GAIN
from stribeck.ident.external.judged_run import ExternalValidation, judge_external
from stribeck.ident.external.pushes import Push, read_pushes
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.identify_servos import identify_servos
from stribeck.ident.identify import identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import FITTED, VALIDATION, Run, load_run
from stribeck.ident.simulators.rollout import HORIZON, Rollout
from stribeck.ident.simulators.rollout import rollout as rollout_of

Place = str | PathLike[str]


@dataclass(frozen=True)
class ExportedFile:
    """A calibration in another format.

    Attributes
    ----------
    path : Path
        The written file.
    losses : tuple of str
        What the format cannot express, a sentence for each loss.
    """

    path: Path
    losses: tuple[str, ...]


def calibrate(
    arm: Place = "lab6",
    out: Place | None = None,
    *,
    yes: bool = False,
    resume: bool = False,
    **options: Any,
) -> Calibration:
    """Plan, move, record and fit: the command ``stribeck calibrate``.

    Parameters
    ----------
    arm : str or path
        Arm file, or the name of a built-in arm.
    out : str or path, optional
        New folder for runs, calibration and report; default ``calibration-ARM``.
    yes : bool
        Whether real hardware may move; a simulated arm moves without it.
    resume : bool
        Continue the campaign in `out`.
    **options
        Fields of `CampaignOptions` and of `Options`, such as ``joints=("j1", "j2")``, ``seed=1``,
        ``target=0.05``, ``law="stribeck"``.

    Returns
    -------
    Calibration
        As written to ``calibration.toml``.

    Raises
    ------
    InputError
        On an unknown option, a missing limit, or a folder that is in use.
    ArmStopped
        If the arm is real and `yes` is not given.

    Examples
    --------
    >>> import stribeck
    >>> calibration = stribeck.calibrate("lab6", "demo", joints=("j6",), seed=1)  # doctest: +SKIP
    """
    arm_file = load_arm(str(arm))

    def agree(plans: list[Plan]) -> None:
        if arm_file.driver.kind != "simulated" and not yes:
            raise ArmStopped(
                f"{arm_file.name} is real hardware and moves only with yes=True; the command line "
                "shows limits and motion first, and asks"
            )

    of_fit = _options(
        {
            name: options.pop(name)
            for name in [field.name for field in fields(Options)]
            if name in options
        }
    )
    known = [field.name for field in fields(CampaignOptions) if field.name != "fit"]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, (*known, *(field.name for field in fields(Options))))
    folder = Path(out) if out is not None else Path(f"calibration-{arm_file.name}")
    return calibrate_arm(
        arm_file, folder, CampaignOptions(fit=of_fit, **options), Operator(agree), resume
    ).calibration


def fit(
    runs: "Place | Run | Sequence[Place | Run]", out: Place | None = None, **options: Any
) -> Calibration:
    """Fit recorded runs: the command ``stribeck fit``.

    Parameters
    ----------
    runs : path, Run, or sequence of them
        Run folders, campaign folders, or loaded runs.
    out : str or path, optional
        New folder for calibration, points, model and report; by default nothing is written.
    **options
        Fields of `Options`, such as ``law="stribeck"``, ``load="torque"``, ``motion="model"``; and
        ``signal="commands"`` for runs of servos without torque, with ``law`` and ``load`` only.
        ``serial`` and ``note`` are stored in the calibration.

    Returns
    -------
    Calibration
        `identify` also returns points and findings.

    Raises
    ------
    InputError
        On an unknown option, a run that cannot be read, or a folder that is in use.
    FitError
        If no joint can be calibrated.

    Examples
    --------
    >>> import stribeck
    >>> stribeck.fit("data/golden")  # doctest: +ELLIPSIS
    <Calibration of pendulum, ...: hinge identified>
    """
    several = [runs] if isinstance(runs, (str, PathLike, Run)) else list(runs)
    loaded = [
        run
        for one in several
        for run in ([one] if isinstance(one, Run) else map(load_run, find_runs(Path(one), FITTED)))
    ]
    signal, about = (
        options.pop("signal", TORQUE),
        {name: options.pop(name, "") for name in ("serial", "note")},
    )
    loaded = [run.about(**about) for run in loaded]
    chosen = _options(options)
    check_signal(signal, chosen)
    if out is not None:
        refuse_used(Path(out))
    if signal == COMMANDS:
        if out is None:
            return identify_servos(loaded, chosen.law, chosen.load, datetime.now(UTC)).calibration
        fit_servo_runs(loaded, Path(out), chosen.law, chosen.load)
        return Calibration.load(Path(out))
    if out is None:
        return identify(loaded, chosen, datetime.now(UTC)).calibration
    return fit_runs(loaded, Path(out), chosen).calibration


def validate(
    run: Place | Run, calibration: Place | Calibration, tolerance: float = TOLERANCE
) -> Validation:
    """Compare predicted and measured torque on a run that was not fitted: the
    command ``stribeck validate``.

    Parameters
    ----------
    run : path or Run
        Run folder, campaign with a validation run, or a loaded run.
    calibration : path or Calibration
        File, folder, or a loaded calibration.
    tolerance : float
        Pass threshold: noise-corrected RMS error over RMS friction.

    Returns
    -------
    Validation

    Examples
    --------
    >>> import stribeck
    >>> stribeck.validate("campaign", "calibration-lab6")  # doctest: +SKIP
    <Validation of 6 joints: passes; largest error 1.7 % of friction (j3)>
    """
    return validate_calibration(_recorded(run), _loaded(calibration), tolerance)


def rollout(
    run: Place | Run,
    calibration: Place | Calibration,
    gains: Mapping[str, tuple[float, ...]] | None = None,
    horizon: float = HORIZON,
) -> Rollout:
    """Simulate a recorded run in MuJoCo with the friction of a calibration, and compare
    positions: ``validate --rollout``.

    Parameters
    ----------
    run : path or Run
        Run folder, campaign with a validation run, or a loaded run.
    calibration : path or Calibration
        File, folder, or a loaded calibration.
    gains : mapping of str to tuple of float, optional
        By joint, or "default" for all joints: torque per position error and per velocity, and
        per velocity of the reference if that differs [N·m/rad, N·m·s/rad]. Default:
        identified, if the log shows them.
    horizon : float
        Time after which a simulation by recorded torques starts again from the measured motion [s].

    Returns
    -------
    Rollout
        Position errors without friction, with the friction of the model's file,
        and with the calibration.

    Examples
    --------
    >>> import stribeck
    >>> stribeck.rollout("campaign", "calibration-lab6")  # doctest: +SKIP
    <Rollout of 6 joints by torques: mean position error in mrad (mm where sliding) 199 without
    friction, 7.53 calibration>
    """
    return rollout_of(_recorded(run), _loaded(calibration), gains, horizon)


def validate_external(
    run: Place | Run,
    calibration: Place | Calibration,
    pushes: Place | Sequence[Push] = (),
    *,
    gain: float = GAIN,
    false_alarms: float = FALSE_ALARMS,
) -> ExternalValidation:
    """Observe external torque on a run that was not fitted: the command
    ``stribeck validate --external``.

    Parameters
    ----------
    run : path or Run
        Run folder, campaign with a validation run, or a loaded run. What is not a marked
        push must be free motion.
    calibration : path or Calibration
        File, folder, or a loaded calibration.
    pushes : path or sequence of Push
        Marked pushes, or their CSV with the columns start, end, joint and, if known, torque.
    gain : float
        Gain of the observer [1/s].
    false_alarms : float
        Alarms per hour and joint that noise may cause.

    Returns
    -------
    ExternalValidation

    Examples
    --------
    >>> import stribeck
    >>> stribeck.validate_external("campaign", "calibration-lab6")  # doctest: +SKIP
    <ExternalValidation of 6 joints: 0 false alarms; 0 of 0 pushes found>
    """
    recorded = _recorded(run)
    marked = (
        read_pushes(Path(pushes), recorded.names, float(recorded.t[-1]))
        if isinstance(pushes, (str, PathLike))
        else pushes
    )
    return judge_external(recorded, _loaded(calibration), marked, gain, false_alarms)


def compare(before: Place | Calibration, after: Place | Calibration) -> Comparison:
    """Show which friction changed beyond the intervals: the command ``stribeck compare``.

    Parameters
    ----------
    before, after : path or Calibration
        Files, folders, or loaded calibrations.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import stribeck
    >>> stribeck.compare("data/golden", stribeck.fit("data/golden"))
    <Comparison of 1 joint of pendulum: no change>
    """
    return compare_calibrations(_loaded(before), _loaded(after))


def export(
    calibration: Place | Calibration,
    to: str,
    out: Place | None = None,
    into: Place | None = None,
    plain: bool = False,
) -> ExportedFile:
    """Write a calibration for other software: the command ``stribeck export``.

    Parameters
    ----------
    calibration : path or Calibration
        File, folder, or a loaded calibration.
    to : str
        Format: urdf, mjcf, sdf, usd, isaac-lab, json, csv, ros2, c, ros2-controller, matlab,
        motionsolve, adams, trossen, vendor, or the format of a plug-in.
    out : str or path, optional
        New file, or folder for ros2-controller; default beside the
        calibration, named after the arm.
    into : str or path, optional
        Robot description that is copied with the friction added; default the calibration's model.
    plain : bool
        For mjcf: constant and viscous friction only, which all versions of MuJoCo read.

    Returns
    -------
    ExportedFile
        Path of the file or folder, and what the format cannot express.

    Examples
    --------
    >>> import stribeck, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = stribeck.export("data/golden", "csv", f"{folder}/friction.csv")
    >>> exported.path.name, exported.losses
    ('friction.csv', ('CSV has no ranges, bearings and correlations of the estimates',))
    """
    target, model = (None if one is None else Path(one) for one in (out, into))
    return ExportedFile(*export_calibration(_loaded(calibration), to, target, model, plain=plain))


def _loaded(calibration: Place | Calibration) -> Calibration:
    return (
        calibration if isinstance(calibration, Calibration) else Calibration.load(Path(calibration))
    )


def _recorded(run: Place | Run) -> Run:
    """Return a run that judges a calibration: loaded, from its folder, or the last
    validation run of a campaign.
    """
    return run if isinstance(run, Run) else load_run(find_runs(Path(run), (VALIDATION,))[-1])


def _options(given: dict[str, Any]) -> Options:
    """Options of a fit; refuses unknown ones by name."""
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            raise unknown_name("option", name, known)
    return Options(**given)
