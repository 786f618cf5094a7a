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
    "main_job": "accuracy, coverage and verdicts of `stribeck calibrate` over seeds and arms, and its wall time",
    "robot_time": "robot time until friction is known within 5 %: the paper's sweep, one joint at a time, the whole arm",
    "agreement": "friction by the whole arm at once against that by one joint at a time, whatever spoils the torques",
    "live": "how late a loop in real time is that shows nothing, a progress bar, or every joint (`--live`)",
    "loop": "the simulated loop (physics, supervisor, recorder) against real time",
    "fit": "run folder to calibration for 600,000 rows of six joints: time and memory",
    "dynamics": "joint wrenches of a batch of motion against Pinocchio and MuJoCo in a loop",
    "simulate": "forward dynamics of arms, elastic arms and closed chains with friction: speed, energy balance, MuJoCo as judge",
    "flexible_parallel": "P3's parallel robot with elastic joints and links: torques and deviation by speed and stiffness",
    "plans": "plans of random arms: whether any leaves limits or workspace box, and how many are refused",
    "machines": "parallel machines: friction after `stribeck calibrate`, and how near random plans come to singular postures",
    "parallel": "the planar 3-PRR with wrong masses and rubbing pins: friction of sliders and pins, base parameters",
    "elastic": "what a rigid model identifies where joint or link are softer and softer, beside the reference experiment",
    "feedforward": "one sample of friction feed-forward for six joints, with every kind of load",
    "compensation": "tracking error of slow motion under a torque controller, by what it is told of friction",
    "choice": "which law is chosen among rivals: errors against those of the best candidate, claims, intervals against an oracle",
    "accuracy": "the estimator against random truths: efficiency, coverage, claims, verdicts, speed",
    "foreign": "an arm that a simulator of other hands drives along our plan, with friction of many kinds: errors, bands, claims",
    "inertia": "arms whose models are up to 30 % wrong: friction, load parts and base parameters from general motion",
    "closed_loop": "one joint in a closed loop: false alarms of bias by its noise, power, and intervals before and after",
    "arm_closed_loop": "arms in closed loops: bias of the links' base parameters, false alarms, and intervals before and after",
    "transmissions": "wrists whose motors move several joints: the motors' friction told from that of the joints",
    "excitation": "periodic excitation against other motion of the same time, and beside figaroh's: intervals reached, foretold",
    "real": "real logs side by side: what stribeck finds, what was published, and how well others do on them",
    "lack_of_fit": "how often a right law is called wrong, a wrong one is found out, and the widened band holds the truth",
    "mutations": "damaged arm files, models, runs, calibrations and logs: tracebacks, hangs, memory, changed files",
    "reliability": "what the joints truly do when bus, drives or computer fail at random instants",
    "wires": "the main job over the wire against the same in process, and the punctuality of its cycles",
    "arms": "`stribeck init` and `stribeck calibrate` on public arms: which run through in simulation, and how near the truth",
    "startup": "`stribeck --help` and `import stribeck`, which both must take less than 0.3 s",
}
PAGES = {"accuracy": "accuracy.md", "robot_time": "robot-time.md",         # in docs/, where they are not benchmarks/NAME.md
         "reliability": "reliability.md"}


def main() -> None:
    """Parse, run, print, write ``benchmarks/results/NAME.json`` and the table ``docs/benchmarks/NAME.md`` (see `PAGES`)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Figures that docs and README quote.")
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
    record = {"benchmark": options.name, "commit": commit(), "date": datetime.now(UTC).isoformat(timespec="seconds"),
              "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
              "versions": versions_of("stribeck", "numpy", "scipy", "mujoco"),
              "options": {key: value for key, value in vars(options).items() if key != "name"}, "figures": figures}
    _write(root / "benchmarks" / "results" / f"{options.name}.json", json.dumps(record, indent=1, default=str) + "\n")
    _write(root / "docs" / PAGES.get(options.name, f"benchmarks/{options.name}.md"),
           f"# {options.name}\n\n{BENCHMARKS[options.name][0].upper()}{BENCHMARKS[options.name][1:]}. "
           f"`python -m benchmarks {options.name}` made this page at commit {commit()}, {record['date'][:10]}, "
           f"on {os.cpu_count()} cores.\n\n{table}\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
