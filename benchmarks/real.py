"""Real logs: results of stribeck, published results, and results of other tools.

The logs lie beside the project (see `real_logs`); the page names missing logs.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.real_least_squares import Regressor, crossed, errors_of_least_squares, friction
from benchmarks.real_logs import LOGS, emps_run, tx40_run, z1_run
from benchmarks.real_motion import exported_position_errors, z1_position_errors
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.calibration.validation import validate
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.run import Run


@dataclass(frozen=True)
class Published:
    """Published results for a joint: Coulomb and viscous friction, and the torque error of the
    authors' model over the log.
    """

    coulomb: float
    viscous: float
    error: float | None = None


# published by Janot, Gautier, Brunot 2019 (symmetric friction)
EMPS = {"carriage": Published(20.3935, 203.5034)}
# figaroh-examples at c0b5c7f: friction, and root mean square error of its model
TX40 = {
    f"joint_{k}": Published(*figures)
    for k, figures in enumerate(
        (
            (7.14, 8.05, 3.87),
            (8.26, 5.53, 4.63),
            (6.34, 1.97, 2.64),
            (2.48, 1.11, 1.09),
            (3.03, 1.86, 4.41),
            (0.282, 0.65, 1.87),
        ),
        1,
    )
}
# of motor 6, on both joints that it moves
TX40_MOTOR = {"coulomb": 1.95, "viscous": 0.616, "inertia": 0.00964}
# simple-robot-identification-isaaclab at 5b3aa99; joint 2's damping is the upper
# bound of its authors' search
Z1 = {
    f"joint{k}": Published(*figures)
    for k, figures in enumerate(
        (
            (2.158, 4.684),
            (4.487, 7.000),
            (2.699, 3.493),
            (2.735, 5.005),
            (2.673, 4.458),
            (2.107, 4.292),
        ),
        1,
    )
}
_BANDWIDTHS = 40.0, 100.0, 150.0  # Hz, beside the default of 20 Hz


def arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark has no options: it fits all available logs."""


def run(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Fit all available logs."""
    parts = [
        text
        for name, section in SECTIONS.items()
        for text in (
            section()
            if (LOGS / name).is_dir()
            else [
                f"## {name}\n\nThe log is missing: it belongs into `shared/data/{name}`, "
                "beside the project."
            ]
        )
    ]
    return {}, "\n\n".join(parts)


def _emps() -> Iterator[str]:
    yield (
        "## EMPS\n\nA prismatic drive in general motion at staged speeds (Janot, Gautier, Brunot "
        "2019); the force is "
        "computed from the motor voltage. Its viscous friction differs between the directions: "
        "published are 166.7 and "
        "240.4 N·s/m."
    )
    yield _compared(emps_run(), EMPS, "joint")
    halves = [
        _plain(emps_run(*ends), "joint").joints["carriage"].parameters["coulomb"]
        for ends in ((0.0, 12.4), (12.4, np.inf))
    ]
    yield _loop(emps_run(), "joint")
    yield (
        "Coulomb friction of each half of the log, with four passes each: "
        + " and ".join(map(_figure, halves))
        + " N."
    )


def _tx40() -> Iterator[str]:
    yield (
        "## TX40\n\nAn industrial arm, nine seconds of general motion (figaroh-examples); "
        "published friction and error "
        "come from one fit of all joints with inertia. Motor 6 moves with axis 5 "
        "(`[transmission]` joint_6 = "
        "{ joint_5 = 1.0 }). stribeck separates the friction of this motor from the friction of "
        "the joints; the published "
        "viscous friction of joints 5 and 6 includes the friction of the motor."
    )
    yield _compared(tx40_run(), TX40, "model")
    motor = _plain(tx40_run(), "model").motors.motors["joint_6"].parameters
    yield (
        "Motor 6: "
        + ", ".join(
            f"{name} {_figure(motor[name])} {motor[name].unit} (published {value:g})"
            for name, value in TX40_MOTOR.items()
        )
        + "."
    )
    yield (
        "Compare only the order of magnitude of the errors: errors of stribeck are those of "
        "held-out passes and of torque "
        "below 20 Hz; published errors are those of the whole log."
    )
    yield from _tx40_by_least_squares()
    yield from _tx40_halves()


def _tx40_by_least_squares() -> Iterator[str]:
    """Influence of rows and regression columns on a straight line of friction over speed."""
    log = tx40_run()
    alone, delayed = Regressor.of(log), Regressor.of(log, delays=True)
    made = _plain(log, "model").joints
    wide = {
        width: identify(
            [log],
            Options(
                motion="model", law="coulomb-viscous", load="none", inertia="fit", bandwidth=width
            ),
        ).calibration
        for width in _BANDWIDTHS
    }
    rows = {
        "published": [(one.coulomb, one.viscous) for one in TX40.values()],
        "least squares, rows faster than 1 % of the greatest speed": friction(alone.fitted()),
        **{
            f"rows faster than {100.0 * least:g} %": friction(alone.fitted(least))
            for least in (0.0, 0.02, 0.05, 0.1)
        },
        "1 %, links of the URDF": friction(alone.fitted(trusted=True)),
        "1 %, links of the URDF, a delay of each joint": friction(delayed.fitted(trusted=True)),
        "stribeck, Coulomb-viscous": _straight(made),
        **{
            f"stribeck, Coulomb-viscous, links fitted, {width:g} Hz": _straight(fit.joints)
            for width, fit in wide.items()
        },
    }
    yield (
        "Plain least squares over rows faster than a hundredth of a joint's greatest speed nearly "
        "reproduces the "
        "published values (weights by joint, free base parameters of the links, Pinocchio's "
        "regressor). Friction grows "
        "less than in proportion to speed, so the Coulomb friction of a straight line depends on "
        "the rows in the fit "
        "(N·m, N·m·s/rad):"
    )
    yield _by_joint(
        {
            name: [f"{coulomb:.3g}, {viscous:.3g}" for coulomb, viscous in row]
            for name, row in rows.items()
        }
    )
    yield (
        "With a higher bandwidth, the fit sees the speeds beside reversals better (`--bandwidth`, "
        "links fitted): "
        + "; ".join(
            f"{width:g} Hz: Coulomb friction of joint_1 "
            f"{_figure(fit.joints['joint_1'].parameters['coulomb'])} N·m, "
            "motor 6 "
            + ", ".join(
                f"{name} {_figure(fit.motors.motors['joint_6'].parameters[name])}"
                for name in TX40_MOTOR
            )
            for width, fit in wide.items()
        )
        + "."
    )


def _straight(joints: Mapping[str, JointCalibration]) -> list[tuple[float, float]]:
    """Coulomb and viscous friction of six joints."""
    return [(joints[name].values["coulomb"], joints[name].values["viscous"]) for name in TX40]


def _tx40_halves() -> Iterator[str]:
    """Torque errors in the held-out half."""
    pairs = crossed(tx40_run())

    def judged(fit: Callable[[Run], Calibration]) -> list[list[float]]:
        return [
            [validate(other, replace(fit(half), runs=())).joints[name].error for name in TX40]
            for half, other in pairs
        ]

    def chosen(half: Run) -> Calibration:
        return identify([half], Options(motion="model", inertia="trust")).calibration

    errors = {
        "plain least squares": [errors_of_least_squares(*pair).tolist() for pair in pairs],
        "stribeck, Coulomb-viscous": judged(lambda half: _plain(half, "model")),
        "stribeck, automatic laws": judged(chosen),
    }
    yield (
        "Error of the torque below 20 Hz over the moving rows of the held-out half, N·m: second "
        "half, first half. Joint 4 "
        "has three passes in each half."
    )
    yield _by_joint(
        {
            name: [f"{second:.2f}, {first:.2f}" for second, first in zip(*both, strict=True)]
            for name, both in errors.items()
        }
    )


def _by_joint(rows: Mapping[str, list[str]]) -> str:
    """Return a table of six joints."""
    return "\n".join(
        [
            "| fit | " + " | ".join(f"J{k}" for k in range(1, 7)) + " |",
            "|---|" + 6 * "---|",
            *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()),
        ]
    )


def _z1() -> Iterator[str]:
    yield (
        "## Z1\n\nAn arm follows a chirp of 23.5 s (simple-robot-identification-isaaclab). "
        "Torques are the commands of "
        "its controller. The published parameters make MuJoCo's motion most similar to the "
        "measured motion. The fit uses "
        "the link inertia of the authors (`--inertia trust`)."
    )
    yield _compared(z1_run(), Z1, "model")
    yield _loop(z1_run(), "model")
    second = z1_run(slice(2350, None))
    made = _plain(z1_run(), "model"), _plain(second, "model")
    found = [
        *z1_position_errors(*made),
        *exported_position_errors(*(_plain(log, "model", "none") for log in (z1_run(), second))),
    ]
    *_, (_, *alone) = z1_position_errors(
        *(_plain(_by_least_squares(log), "model") for log in (z1_run(), second))
    )
    rows = [
        f"| {who} | {whole:.1f} | {half:.1f} |"
        for who, whole, half in (*found, ("the same, by least squares", *alone))
    ]
    yield "Joint 2's published damping is the upper bound of its authors' search."
    yield (
        "Simulated motion: MuJoCo at 1 ms with the recorded set-points and gains; root mean "
        "square error of the position, "
        "mean of six joints. In the last column friction and offset of stribeck were fitted to "
        "the other half of the log. "
        "All rows have the masses and rotors of the authors."
    )
    yield "\n".join(["| model | whole log, mrad | first half, mrad |", "|---|---|---|", *rows])


def _xl330() -> Iterator[str]:
    yield (
        "## XL330\n\nA hobby servo with a pendulum (Rhoban/bam). Its logs have no torque, only "
        "the duty cycle of the "
        "supply voltage; stribeck does not fit friction from a duty cycle."
    )


SECTIONS = {"emps": _emps, "tx40": _tx40, "z1": _z1, "xl330": _xl330}


def _compared(log: Run, published: Mapping[str, Published], motion: str) -> str:
    """Return a row for each joint: with the law of the publication, and with
    stribeck's automatic law.
    """
    plain, auto = (
        _plain(log, motion),
        identify([log], Options(motion=motion, inertia="trust")).calibration,
    )
    unit = plain.joints[next(iter(published))].parameters["coulomb"].unit
    rows = [
        "| joint | published Coulomb, viscous | stribeck, same law | verdict | held-out error | "
        "stribeck, automatic law "
        f"| held-out error | published error, {unit} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, theirs in published.items():
        one, chosen = plain.joints[name], auto.joints[name]
        rows.append(
            f"| {name} | {theirs.coulomb:.4g}, {theirs.viscous:.4g} | "
            f"{_figure(one.parameters['coulomb'])}, "
            f"{_figure(one.parameters['viscous'])} | {_verdict(plain, name)} | "
            f"{one.held_out_rmse:.3g} | "
            f"{_law(chosen)}{_misfit(auto, name)} | {chosen.held_out_rmse:.3g} | "
            f"{'-' if theirs.error is None else f'{theirs.error:.3g}'} |"
        )
    return "\n".join(rows)


def _loop(log: Run, motion: str) -> str:
    """Return a row for each joint: test of least squares by instruments, with
    the law of the publication.
    """
    tests = _plain(log, motion).fit["closed_loop"]
    rows = [
        "Least squares against instrumental variables, which are computed from the recorded "
        "references (`closed loop`):",
        "",
        "| joint | verdict | significant differences above half an interval | Coulomb: least "
        "squares, instruments | "
        "viscous | inertia |",
        "|---|---|---|---|---|---|",
    ]
    for name, test in tests.items():
        cells = [
            f"{one['least_squares']:.4g}, {one['instruments']:.4g}"
            for key in ("coulomb", "viscous", "inertia")
            for one in (test["parameters"][key],)
        ]
        rows.append(
            f"| {name} | {test['verdict']} | {', '.join(test.get('biased', ())) or '-'} | "
            f"{' | '.join(cells)} |"
        )
    return "\n".join(rows)


def _by_least_squares(log: Run) -> Run:
    """Return the run without position references, which the bias test needs."""
    return replace(
        log, signals={name: values for name, values in log.signals.items() if name != "q_cmd"}
    )


def _plain(log: Run, motion: str, directional: str = "auto") -> Calibration:
    return identify(
        [log],
        Options(
            motion=motion,
            law="coulomb-viscous",
            load="none",
            inertia="trust",
            directional=directional,
        ),
    ).calibration


def _figure(parameter: Parameter) -> str:
    return f"{parameter.value:.4g} ± {parameter.half_width or 0.0:.2g}"


def _law(joint: JointCalibration) -> str:
    return joint.law if joint.load == "none" else f"{joint.law} with {joint.load}"


def _verdict(made: Calibration, name: str) -> str:
    return made.joints[name].verdict() + _misfit(made, name)


def _misfit(made: Calibration, name: str) -> str:
    """Misfits of the law that the calibration reports."""
    found = made.fit.get("lack_of_fit", {}).get(name, ())
    return f"; misfit over {', '.join(one['over'] for one in found)}" if found else ""
