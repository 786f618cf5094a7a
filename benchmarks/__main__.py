"""Run a benchmark by name: ``python -m benchmarks NAME [options]``."""

import argparse
import importlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.provenance import commit
from stribeck.ident.versions import versions_of

BENCHMARKS = {
    "main_job": "accuracy, coverage and verdicts of `stribeck calibrate` over seeds and arms, and "
    "its wall time",
    "robot_time": "robot time until friction is known within 5 %: the paper's sweep, one joint at "
    "a time, the whole arm",
    "agreement": "friction measured with the whole arm against friction measured joint by joint, "
    "under disturbed torques",
    "live": "lateness of a real-time loop without display, with a progress bar, and with `--live`",
    "loop": "speed of the simulated loop (physics, supervisor, recorder) relative to real time",
    "fit": "time and memory from run folder to calibration for long runs of six joints",
    "dynamics": "speed of joint wrenches for a batch of motion, compared with Pinocchio and "
    "MuJoCo in a loop",
    "simulate": "forward dynamics of arms, elastic arms and closed chains with friction: speed, "
    "energy balance, MuJoCo as judge",
    "flexible_parallel": "P3's parallel robot with elastic joints and links: torques and "
    "deviation by speed and stiffness",
    "plans": "plans of random arms: violations of limits or of the workspace box, and refused "
    "plans",
    "machines": "parallel machines: friction error of `stribeck calibrate`, and distance of "
    "random plans to singular postures",
    "parallel": "parallel machines with wrong masses: errors of friction of drives and pins, and "
    "of base parameters, from "
    "general motion",
    "elastic": "errors of a rigid model that identifies an elastic joint or a flexible link, "
    "compared with the reference "
    "experiment",
    "feedforward": "computing time of one sample of friction feed-forward for six joints, with "
    "every kind of load",
    "simulators": "calibrated friction in simulators: errors while sliding, creep at rest, and "
    "time of a step",
    "compensation": "tracking error of slow motion under a torque controller, for three kinds of "
    "friction feed-forward",
    "external": "pushes on the simulated arm: thresholds at equal false alarms, detected pushes "
    "and delays, against "
    "Coulomb-viscous friction",
    "one_joint": "logs of single joints without an arm file: half fitted, half predicted",
    "presliding": "friction with memory: errors against Cramer-Rao bounds, claims, tracking "
    "errors after reversals, and speed",
    "servos": "friction of servos without a torque signal: errors and intervals, and motion at a "
    "gain that was left out",
    "backlash": "play between motor and link, from link positions and from torque alone: errors, "
    "intervals, and false claims",
    "ripple": "torque that ripples with position: claims, errors and intervals over random "
    "joints, and its compensation",
    "temperature": "friction over temperature and over self-heating: errors inside and outside "
    "the range, bands, and false "
    "claims",
    "choice": "choice among rival laws: errors against the best candidate, claims, and intervals "
    "against an oracle",
    "accuracy": "the estimator against random truths: efficiency, coverage, claims, verdicts, "
    "speed",
    "foreign": "an independent simulator drives an arm along our plan, with many kinds of "
    "friction: errors, bands, claims",
    "inertia": "arms with models up to 30 % wrong: friction, load parts and base parameters from "
    "general motion",
    "closed_loop": "one joint in a closed loop: false alarms and power of the bias test, and "
    "intervals before and after "
    "correction",
    "arm_closed_loop": "arms in closed loops: bias of base parameters, false alarms, and "
    "intervals before and after correction",
    "transmissions": "wrists whose motors move several joints: separation of motor friction and "
    "joint friction",
    "excitation": "periodic excitation against other motions of the same time, figaroh's "
    "included: reached and expected "
    "intervals",
    "library": "entries of the library, each made again by its commands and compared digit by "
    "digit",
    "real": "real logs: results of stribeck, published results, and results of other methods",
    "lack_of_fit": "detection of wrong laws: false alarms, detected misfits, and coverage of the "
    "widened band",
    "fleet": "simulated fleets: changed joints that are found, false discoveries, and coverage of "
    "scatter and of prediction "
    "intervals",
    "fleet_engine": "thousands of runs through `stribeck fleet fit`: runs a minute, efficiency of "
    "two workers, memory, killed "
    "workers and corrupt runs",
    "mutations": "damaged arm files, models, runs, calibrations and logs: tracebacks, hangs, "
    "memory, changed files",
    "faults": "deliberate faults in single places of the package, each tried on the tests that "
    "should catch it",
    "reliability": "motion of the joints after bus, drives or computer fail at random times",
    "wires": "the main job over the wire against the same job in process, and the punctuality of "
    "its cycles",
    "arms": "`stribeck init` and `stribeck calibrate` on public arms: success in simulation, and "
    "friction error",
    "startup": "time of `stribeck --help` and `import stribeck`, which must each take less than "
    "0.3 s",
}
# pages in docs/ instead of docs/benchmarks/NAME.md
PAGES = {"accuracy": "accuracy.md", "robot_time": "robot-time.md", "reliability": "reliability.md"}


def main() -> None:
    """Run a benchmark, print its table, write ``benchmarks/results/NAME.json`` and
    ``docs/benchmarks/NAME.md`` (see `PAGES`).
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Figures that docs and README quote."
    )
    names = parser.add_subparsers(dest="name", required=True)
    for name, text in BENCHMARKS.items():
        module = importlib.import_module(f"benchmarks.{name}")
        module.arguments(names.add_parser(name, help=text.replace("%", "%%")))
    options = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{options.name}")
    figures, table = module.run(options)
    print(table)
    if getattr(options, "parts", None):
        return
    root = Path(__file__).parent.parent
    record = {
        "benchmark": options.name,
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": versions_of("stribeck", "numpy", "scipy", "mujoco"),
        "options": {
            key: value
            for key, value in vars(options).items()
            if key not in ("name", "kept", "folder")
        },
        "figures": figures,
    }
    _write(
        root / "benchmarks" / "results" / f"{options.name}.json",
        json.dumps(record, indent=1, default=str) + "\n",
    )
    _write(
        root / "docs" / PAGES.get(options.name, f"benchmarks/{options.name}.md"),
        f"# {options.name}\n\n{BENCHMARKS[options.name][0].upper()}{BENCHMARKS[options.name][1:]}. "
        f"`python -m benchmarks {options.name}` made this page at commit {commit()}, "
        f"{record['date'][:10]}, "
        f"on {os.cpu_count()} cores.\n\n{table}\n",
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
