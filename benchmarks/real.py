"""Real logs: results of stribeck, published results, and results of other tools.

The logs lie beside the project (see `real_logs`); the figures name missing logs.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.page import Table
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


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit all available logs."""
    found: dict[str, Any] = {"friction": [], "closed_loop": [], "missing": []}
    for name, judge in LOGS_JUDGED.items():
        if not (LOGS / name).is_dir():
            found["missing"].append(name)
            continue
        for key, figures in judge().items():
            found[key] = [*found[key], *figures] if key in found else figures
    return found


def table(figures: dict[str, Any]) -> Table:
    """Return a row for each joint."""
    rows = []
    for joint in figures["friction"]:
        coulomb, viscous = (
            f"{joint[name][0]:.4g} ± {joint[name][1]:.2g}" for name in ("coulomb", "viscous")
        )
        published = ", ".join(f"{value:.4g}" for value in joint["published"])
        error = joint["published_error"]
        rows.append(
            [
                f"{joint['log']} {joint['joint']}",
                published,
                f"{coulomb}, {viscous}",
                joint["verdict"],
                f"{joint['error']:.3g}",
                joint["law"],
                f"{joint['law_error']:.3g}",
                "-" if error is None else f"{error:.3g}",
            ]
        )
    missing = f" Missing here: {', '.join(figures['missing'])}." if figures["missing"] else ""
    return Table(
        "EMPS: a carriage (Janot, Gautier, Brunot 2019), forces from the motor voltage. TX40: nine "
        "seconds of an industrial arm (figaroh-examples), one published fit of all joints; its "
        "friction of joints 5 and 6 includes that of motor 6, which stribeck separates. Z1: "
        "torques are commands; joint 2's published damping is the bound of the search "
        "(simple-robot-identification-isaaclab). Errors in N or N·m: stribeck's below 20 Hz on "
        f"held-out passes, published ones over the whole log.{missing}",
        [
            "log, joint",
            "published Coulomb, viscous",
            "stribeck, same law",
            "verdict",
            "held-out error",
            "automatic law",
            "its held-out error",
            "published error",
        ],
        rows,
    )


def _emps() -> dict[str, Any]:
    halves = [
        _interval(_plain(emps_run(*ends), "joint").joints["carriage"].parameters["coulomb"])
        for ends in ((0.0, 12.4), (12.4, np.inf))
    ]
    return {
        "friction": _compared("EMPS", emps_run(), EMPS, "joint"),
        "closed_loop": _loop("EMPS", emps_run(), "joint"),
        "emps_coulomb_of_halves": halves,
    }


def _tx40() -> dict[str, Any]:
    log = tx40_run()
    wide = {
        f"{width:g} Hz": identify(
            [log],
            Options(
                motion="model", law="coulomb-viscous", load="none", inertia="fit", bandwidth=width
            ),
        ).calibration
        for width in _BANDWIDTHS
    }
    plain = _plain(log, "model")
    return {
        "friction": _compared("TX40", log, TX40, "model"),
        "tx40_motor_6": {
            "published": TX40_MOTOR,
            "20 Hz": _motor(plain),
            **{width: _motor(made) for width, made in wide.items()},
        },
        "tx40_joint_1_coulomb": {
            width: _interval(made.joints["joint_1"].parameters["coulomb"])
            for width, made in wide.items()
        },
        "tx40_coulomb_viscous": {
            **_by_least_squares_of_rows(log),
            "stribeck, Coulomb-viscous": _straight(plain),
            **{
                f"stribeck, Coulomb-viscous, links fitted, {width}": _straight(made)
                for width, made in wide.items()
            },
        },
        "tx40_held_out_error": _tx40_halves(),
    }


def _motor(made: Calibration) -> dict[str, list[float]]:
    """Value and half width of each parameter of motor 6."""
    parameters = made.motors.motors["joint_6"].parameters
    return {name: _interval(parameters[name]) for name in TX40_MOTOR}


def _by_least_squares_of_rows(log: Run) -> dict[str, list[tuple[float, float]]]:
    """Coulomb and viscous friction of six joints, by rows and regression columns of the fit."""
    alone, delayed = Regressor.of(log), Regressor.of(log, delays=True)
    return {
        "published": [(joint.coulomb, joint.viscous) for joint in TX40.values()],
        "least squares, rows faster than 1 % of the greatest speed": friction(alone.fitted()),
        **{
            f"rows faster than {100.0 * least:g} %": friction(alone.fitted(least))
            for least in (0.0, 0.02, 0.05, 0.1)
        },
        "1 %, links of the URDF": friction(alone.fitted(trusted=True)),
        "1 %, links of the URDF, a delay of each joint": friction(delayed.fitted(trusted=True)),
    }


def _straight(made: Calibration) -> list[tuple[float, float]]:
    """Coulomb and viscous friction of six joints."""
    joints = [made.joints[name].values for name in TX40]
    return [(values["coulomb"], values["viscous"]) for values in joints]


def _tx40_halves() -> dict[str, list[list[float]]]:
    """Torque error below 20 Hz of each joint in the second half and in the first, N·m; the fit
    is that of the other half.
    """
    pairs = crossed(tx40_run())

    def judged(fit: Callable[[Run], Calibration]) -> list[list[float]]:
        return [
            [validate(other, replace(fit(half), runs=())).joints[name].error for name in TX40]
            for half, other in pairs
        ]

    def chosen(half: Run) -> Calibration:
        return identify([half], Options(motion="model", inertia="trust")).calibration

    return {
        "plain least squares": [errors_of_least_squares(*pair).tolist() for pair in pairs],
        "stribeck, Coulomb-viscous": judged(lambda half: _plain(half, "model")),
        "stribeck, automatic laws": judged(chosen),
    }


def _z1() -> dict[str, Any]:
    second = z1_run(slice(2350, None))
    made = _plain(z1_run(), "model"), _plain(second, "model")
    errors = [
        *z1_position_errors(*made),
        *exported_position_errors(*(_plain(log, "model", "none") for log in (z1_run(), second))),
    ]
    *_, (_, whole, half) = z1_position_errors(
        *(_plain(_by_least_squares(log), "model") for log in (z1_run(), second))
    )
    errors.append(("the same, by least squares", whole, half))
    return {
        "friction": _compared("Z1", z1_run(), Z1, "model"),
        "closed_loop": _loop("Z1", z1_run(), "model"),
        # position error of MuJoCo over the whole log, and over the first half with the
        # friction of the second
        "z1_motion_mrad": {model: [whole, half] for model, whole, half in errors},
    }


LOGS_JUDGED: dict[str, Callable[[], dict[str, Any]]] = {"emps": _emps, "tx40": _tx40, "z1": _z1}


def _compared(
    log_name: str, log: Run, published: Mapping[str, Published], motion: str
) -> list[dict[str, Any]]:
    """Friction of each joint by the law of the publication, and by stribeck's automatic law."""
    plain, auto = (
        _plain(log, motion),
        identify([log], Options(motion=motion, inertia="trust")).calibration,
    )
    return [
        {
            "log": log_name,
            "joint": name,
            "published": [theirs.coulomb, theirs.viscous],
            "coulomb": _interval(plain.joints[name].parameters["coulomb"]),
            "viscous": _interval(plain.joints[name].parameters["viscous"]),
            "verdict": _verdict(plain, name),
            "error": plain.joints[name].held_out_rmse,
            "law": _law(auto.joints[name]) + _misfit(auto, name),
            "law_error": auto.joints[name].held_out_rmse,
            "published_error": theirs.error,
        }
        for name, theirs in published.items()
    ]


def _loop(log_name: str, log: Run, motion: str) -> list[dict[str, Any]]:
    """Test of least squares by instruments for each joint, with the law of the publication."""
    return [
        {
            "log": log_name,
            "joint": name,
            "verdict": test["verdict"],
            "biased": test.get("biased", []),
            **{
                key: [test["parameters"][key][fit] for fit in ("least_squares", "instruments")]
                for key in ("coulomb", "viscous", "inertia")
            },
        }
        for name, test in _plain(log, motion).fit["closed_loop"].items()
    ]


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


def _interval(parameter: Parameter) -> list[float]:
    """Value and half width."""
    return [parameter.value or 0.0, parameter.half_width or 0.0]


def _law(joint: JointCalibration) -> str:
    return joint.law if joint.load == "none" else f"{joint.law} with {joint.load}"


def _verdict(made: Calibration, name: str) -> str:
    return made.joints[name].verdict() + _misfit(made, name)


def _misfit(made: Calibration, name: str) -> str:
    """Misfits of the law that the calibration reports."""
    found = made.fit.get("lack_of_fit", {}).get(name, ())
    return f"; misfit over {', '.join(one['over'] for one in found)}" if found else ""
