"""Commands that judge a calibration: validate."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stribeck.experiments.cli.command_options import GAINS, JsonOption, flag, out_option
from stribeck.experiments.cli.common import DIFFERS, console, print_json
from stribeck.experiments.cli.option_texts import read_gains

if TYPE_CHECKING:
    from rich.table import Table

    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.validation import JointValidation, Validation
    from stribeck.ident.fleet.fleet import Membership
    from stribeck.ident.model.mechanism import Mechanism


def validate(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run folder, or a campaign with a validation run.")
    ],
    calibrations: Annotated[
        list[Path], typer.Argument(metavar="CALIBRATION...", help="Calibration files or folders.")
    ],
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            min=0.0,
            help="Pass threshold: noise-corrected RMS error over RMS friction.",
        ),
    ] = 0.1,
    rolled: Annotated[
        bool,
        flag("--rollout", help="Simulate the run's motion in MuJoCo, too, and compare positions."),
    ] = False,
    gains: Annotated[list[str] | None, GAINS] = None,
    horizon: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="With --rollout by recorded torques: time after which the simulation starts "
            "again from the "
            "measured motion. Default: 0.3.",
        ),
    ] = None,
    external: Annotated[
        bool,
        flag(
            "--external",
            help="Observe external torque instead: false alarms in free motion, "
            "thresholds, and marked pushes.",
        ),
    ] = False,
    pushes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="With --external: marked pushes, with the columns start, end [s], joint and, if "
            "known, "
            "torque.",
        ),
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            metavar="1/S",
            help="With --external: gain of the observer; its time constant is 1/gain. Default: 25.",
        ),
    ] = None,
    false_alarms: Annotated[
        float | None,
        typer.Option(
            metavar="PER_HOUR",
            help="With --external: false alarms per hour and joint that noise may cause. Default: "
            "0.1.",
        ),
    ] = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Calibrations of other arms of this model, or a result of fleet fit (path or "
            "URL): says for "
            "each joint whether friction is normal among them.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        out_option("Page (.html), or plot of the first calibration's torques (.svg, .png, .pdf)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare predicted and measured torque on a run that was not fitted;
    exit code 1 if a joint fails.

    With --fleet, a joint fails, too, if its friction is outside the
    prediction interval of the fleet.
    """
    from stribeck.experiments.cli.commands.external import validate_external
    from stribeck.experiments.cli.screen.rollout_text import (
        rollout_lines,
        rollout_numbers,
        rollout_table,
    )
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.report.comparison import PAGE, PLOTS
    from stribeck.experiments.report.fleets.fleet_tables import membership_lines, membership_table
    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.validation import Validation
    from stribeck.ident.calibration.validation import validate as validate_calibration
    from stribeck.ident.errors import InputError
    from stribeck.ident.external.external_torque import FALSE_ALARMS, GAIN
    from stribeck.ident.log.campaign_folder import find_runs
    from stribeck.ident.log.run import VALIDATION, load_run
    from stribeck.ident.servo.servo_commands import of_servos

    if (gains or horizon is not None) and not rolled:
        raise InputError("--gains and --horizon belong to --rollout; add it, or leave them out")
    if out is not None and (out.exists() or out.suffix not in (PAGE, *PLOTS)):
        raise InputError(
            f"{out} exists; choose another --out"
            if out.exists()
            else f"{out} ends in {out.suffix!r}; --out needs one of {', '.join((PAGE, *PLOTS))}"
        )
    if out is not None and not out.parent.is_dir():  # before a minute of simulation
        raise InputError(f"{out}: the folder {out.parent} does not exist; create it first")
    told = read_gains(gains or ())
    for name, value in (("--pushes", pushes), ("--gain", gain), ("--false-alarms", false_alarms)):
        if value is not None and not external:
            raise InputError(f"{name} {value} needs --external")
        if isinstance(value, float) and not 0.0 < value < float("inf"):
            raise InputError(f"{name} = {value:g}; a positive finite number is needed")
    text, recorded = console(as_json), load_run(find_runs(run, (VALIDATION,))[-1])
    loaded = [Calibration.load(path) for path in calibrations]
    if external and fleet is not None:
        raise InputError("--external judges no friction; leave out --fleet, or --external")
    if external and rolled:
        raise InputError("--external and --rollout are two judgements; give one of them")
    if external:
        if of_servos(recorded):
            raise InputError(
                f"{recorded.path}: the run has set-points of servos and no torque; --external "
                "needs the torque of the motors"
            )
        if not validate_external(
            recorded,
            dict(zip(map(str, calibrations), loaded, strict=True)),
            pushes,
            gain or GAIN,
            false_alarms or FALSE_ALARMS,
            out,
            text,
            as_json,
        ):
            raise typer.Exit(DIFFERS)
        return
    servos = of_servos(recorded)
    if servos and not rolled:
        raise InputError(
            f"{recorded.path}: the run has set-points of servos and no torque; only its motion can "
            "be validated, add --rollout"
        )
    found = [
        Validation({}, dict.fromkeys(recorded.names, "no torque was recorded"))
        if servos
        else validate_calibration(recorded, calibration, tolerance)
        for calibration in loaded
    ]
    names, rollouts = [str(path) for path in calibrations], {}
    if rolled:
        from stribeck.ident.simulators.rollout import HORIZON, rollout

        rollouts = {
            path: rollout(recorded, calibration, told, HORIZON if horizon is None else horizon)
            for path, calibration in zip(names, loaded, strict=True)
        }
    members = {} if fleet is None else _members(fleet, dict(zip(names, loaded, strict=True)))
    notes = [
        f"{path}: it is of the arm with the serial number {calibration.serial}, and the run of "
        f"{recorded.arm.serial}"
        for path, calibration in zip(names, loaded, strict=True)
        if recorded.arm.serial and calibration.serial and recorded.arm.serial != calibration.serial
    ]
    text.print(f"run       {recorded.path}, {recorded.duration:.0f} s")
    for note in notes:
        text.print(f"note      {note}")
    if not servos:
        text.print(fitted(_table(names, found, loaded[0].mechanism), text.width))
        text.print(
            "passes    a joint passes with a noise-corrected RMS error within "
            f"{100.0 * tolerance:g} % of RMS friction"
        )
        for path, one in zip(names, found, strict=True):
            for reason in one.left_out.values():
                text.print(f"note      {path}: {reason}; it is not judged")
            for note in (own := list(_notes(path, one, recorded.arm, loaded[0].mechanism))):
                text.print(f"note      {note}")
            notes += own
            text.print(f"verdict   {path}: {_verdict(one)}")
    if rollouts:
        for line in rollout_lines(rollouts):
            text.print(line)
        text.print(fitted(rollout_table(rollouts), text.width))
    for path, joints in members.items():
        for line in membership_lines(path, joints):
            text.print(line)
    if out is not None and out.suffix == PAGE:
        from stribeck.experiments.report.pages.validation_page import Validated, write_validation

        write_validation(
            Validated(
                recorded,
                tolerance,
                dict(zip(names, found, strict=True)),
                rollouts,
                members,
                tuple(notes),
            ),
            out,
        )
        text.print(f"wrote     {out}")
    elif out is not None:
        from stribeck.experiments.report.plots.validation_plot import plot_validation

        plot_validation(found[0].joints, loaded[0].mechanism, out, rollouts.get(names[0]))
        text.print(f"wrote     {out}")
    passed = not any(one.failed for one in found) and all(
        one.inside for own in members.values() for one in own.values()
    )
    if as_json:
        print_json(
            {
                "run": str(recorded.path),
                "tolerance": tolerance,
                "passed": passed,
                "calibrations": [
                    {
                        "path": path,
                        "joints": {name: _numbers(joint) for name, joint in one.joints.items()},
                        "left_out": one.left_out,
                    }
                    for path, one in zip(names, found, strict=True)
                ],
                **({"rollout": rollout_numbers(rollouts)} if rollouts else {}),
                **(
                    {"fleet": {path: membership_table(own) for path, own in members.items()}}
                    if members
                    else {}
                ),
            },
            [] if out is None else [out],
        )
    if not passed:
        raise typer.Exit(DIFFERS)


def _members(
    folder: str, calibrations: "dict[str, Calibration]"
) -> "dict[str, dict[str, Membership]]":
    """Return for each calibration whether its joints are in the family of the fleet in a folder."""
    from stribeck.experiments.fleet.load_fleet import load_fleet
    from stribeck.ident.errors import about_file

    with about_file(folder):
        fleet = load_fleet([folder])
        return {path: fleet.membership(calibration) for path, calibration in calibrations.items()}


def _notes(path: str, found: "Validation", arm: "ArmFile", mechanism: "Mechanism") -> Iterator[str]:
    """Notes about the judged joints of one calibration."""
    from stribeck.ident.fit.joint.misfit_words import size_and_place

    for name, joint in found.joints.items():
        prismatic = bool(mechanism.prismatic[mechanism.names.index(name)])
        for misfit in joint.lack_of_fit:
            yield (
                f"{path}: {name}: {size_and_place(misfit, joint.friction, prismatic)}, more than "
                "the tolerance"
            )
        if joint.inertia:
            yield f"{path}: {_unstated(name, joint.inertia, arm, mechanism)}"


def _verdict(found: "Validation") -> str:
    """Verdict on one calibration."""
    missing = f"; {', '.join(found.left_out)} not judged" if found.left_out else ""
    return f"{'fails for ' + ', '.join(found.failed) if found.failed else 'passes'}{missing}"


def _unstated(name: str, inertia: float, arm: "ArmFile", mechanism: "Mechanism") -> str:
    """Return a sentence about the inertia that an error proportional to acceleration suggests."""
    table, unit = (
        arm.joint(name),
        "kg" if mechanism.prismatic[mechanism.names.index(name)] else "kg·m²",
    )
    has = f"rotor_inertia = {table.rotor_inertia:g}" if table.rotor_inertia else "no rotor_inertia"
    counts = (
        f", and that of the motor counts gear_ratio² = {table.ratio**2:g} times"
        if table.gear_ratio is not None
        else ", and no gear_ratio, with whose square that of the motor counts"
    )
    return (
        f"most of {name}'s error follows its acceleration, as if {inertia:.2g} {unit} were missing "
        f"at the joint: the arm file has {has}{counts}"
    )


def _numbers(joint: "JointValidation") -> dict[str, Any]:
    keys = ("error", "without_friction", "friction", "noise", "outside", "inertia", "passed")
    return {
        **{key: getattr(joint, key) for key in keys},
        "lack_of_fit": [asdict(misfit) for misfit in joint.lack_of_fit],
    }


def _table(names: list[str], validations: "list[Validation]", mechanism: "Mechanism") -> "Table":
    """Table with one row per joint: rms error of the torque without friction and with each
    calibration, and the noise.
    """
    from rich import box
    from rich.table import Table

    found = [one.joints for one in validations]
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title="RMS of measured minus predicted torque",
        title_justify="left",
        title_style="",
    )
    for heading in ("joint", "without friction", *names, "noise", "friction", "outside"):
        table.add_column(
            heading,
            justify="left" if heading == "joint" else "right",
            overflow="fold" if heading in names else "ellipsis",
        )
    for name in dict.fromkeys(name for joints in found for name in joints):
        one = next(joints[name] for joints in found if name in joints)
        cells = [
            f"{joints[name].error:.3f} ({100.0 * joints[name].error / joints[name].friction:.1f} %"
            f"{'' if joints[name].passed else ', fails'})"
            if name in joints
            else "-"
            for joints in found
        ]
        unit = mechanism.unit(mechanism.names.index(name))
        table.add_row(
            name,
            f"{one.without_friction:.3f} {unit}",
            *cells,
            f"{one.noise:.3f}",
            f"{one.friction:.3f}",
            f"{100.0 * one.outside:.0f} %",
        )
    return table
