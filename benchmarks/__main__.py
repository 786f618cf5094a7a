"""Run a benchmark by name: ``python -m benchmarks NAME [options]``."""

import argparse
import importlib
from typing import Any

from benchmarks.page import Table, page_file, page_text, plain, store, stored, stored_file

BENCHMARKS = {
    "main_job": "`stribeck calibrate` over seeds and arms",
    "robot_time": "robot time until friction is known within 5 %: the paper's sweep, one joint at "
    "a time, the whole arm",
    "agreement": "friction measured with the whole arm against friction measured joint by joint",
    "live": "lateness of a real-time loop without display, with a progress bar, and with `--live`",
    "loop": "speed of the simulated loop (physics, supervisor, recorder) relative to real time",
    "fit": "time and memory from run folder to calibration for long runs of six joints",
    "dynamics": "speed of joint wrenches for a batch of motion, compared with Pinocchio and "
    "MuJoCo in a loop",
    "simulate": "forward dynamics of arms, elastic arms and closed chains with friction",
    "flexible_parallel": "P3's parallel robot with elastic joints and links",
    "plans": "plans of random arms, judged against limits, workspace box and shapes",
    "machines": "parallel machines: friction error of `stribeck calibrate`, and distance of "
    "plans to singular postures",
    "parallel": "parallel machines with wrong masses: friction of drives and pins, and base "
    "parameters",
    "elastic": "errors of a rigid model that identifies an elastic joint or a flexible link",
    "feedforward": "computing time of one sample of friction feed-forward for six joints, with "
    "every kind of load",
    "simulators": "calibrated friction in simulators: errors while sliding, creep at rest, and "
    "time of a step",
    "compensation": "tracking error of slow motion under a torque controller, for three kinds of "
    "friction feed-forward",
    "external": "pushes on the simulated arm: thresholds at equal false alarms, and detected "
    "pushes",
    "one_joint": "logs of single joints without an arm file: half fitted, half predicted",
    "presliding": "friction with memory: errors, claims, tracking after reversals, and speed",
    "servos": "friction of servos without a torque signal, and motion at a gain that was left out",
    "backlash": "play between motor and link, from link positions and from torque alone",
    "ripple": "torque that ripples with position: random joints, and compensation",
    "temperature": "friction over temperature and over self-heating",
    "choice": "choice among rival laws: claims, errors against the best candidate, and intervals",
    "accuracy": "the estimator against random truths: efficiency, coverage, claims, verdicts, "
    "speed",
    "foreign": "an independent simulator drives an arm along our plan, with many kinds of friction",
    "inertia": "arms with models up to 30 % wrong, from general motion",
    "closed_loop": "one joint in a closed loop: the bias test, and intervals before and after "
    "correction",
    "arm_closed_loop": "arms in closed loops: the bias test, and base parameters before and after "
    "correction",
    "transmissions": "wrists whose motors move several joints: separation of motor friction and joint "
    "friction",
    "excitation": "periodic excitation against other motions of the same time, figaroh's included",
    "library": "entries of the library, each made again by its commands",
    "real": "real logs: results of stribeck and published results",
    "lack_of_fit": "detection of wrong laws: false alarms and detected misfits",
    "fleet": "simulated fleets: changed joints that are found, false discoveries, and coverage",
    "fleet_engine": "thousands of runs through `stribeck fleet fit`",
    "mutations": "damaged arm files, models, runs, calibrations and logs",
    "faults": "deliberate faults in single places of the package, each tried on the tests that "
    "should catch it",
    "reliability": "motion of the joints after bus, drives or computer fail at random times",
    "wires": "the main job over the wire against the same job in process, and the punctuality "
    "of its cycles",
    "arms": "`stribeck init` and `stribeck calibrate` on public arms: success in simulation, "
    "and friction error",
    "startup": "time of `stribeck --help` and `import stribeck`, which must each take less than "
    "0.3 s",
}
PAGES = "pages"


def table_of(name: str, figures: dict[str, Any]) -> Table:
    """Return the table of a benchmark's figures, as stored."""
    table: Table = importlib.import_module(f"benchmarks.{name}").table(figures)
    return table


def with_figures() -> list[str]:
    """Return the benchmarks whose figures are stored."""
    return [name for name in BENCHMARKS if stored_file(name).is_file()]


def page_of(name: str) -> str:
    """Return the page of a benchmark, made from its stored figures."""
    record = stored(name)
    return page_text(name, BENCHMARKS[name], table_of(name, record["figures"]), record)


def main() -> None:
    """Run a benchmark, print its table, store its figures, and write its page; or write all
    pages again from the stored figures.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Figures that docs and README quote."
    )
    names = parser.add_subparsers(dest="name", required=True)
    for name, text in BENCHMARKS.items():
        module = importlib.import_module(f"benchmarks.{name}")
        module.arguments(names.add_parser(name, help=text.replace("%", "%%")))
    names.add_parser(PAGES, help="all pages again, from the stored figures")
    options = parser.parse_args()
    if options.name == PAGES:
        for name in with_figures():
            page_file(name).write_text(page_of(name), encoding="utf-8")
        return
    module = importlib.import_module(f"benchmarks.{options.name}")
    figures = plain(module.run(options))
    print(table_of(options.name, figures).markdown())
    if getattr(options, "parts", None):
        return
    chosen = {
        key: value for key, value in vars(options).items() if key not in ("name", "kept", "folder")
    }
    store(options.name, figures, chosen)
    page_file(options.name).write_text(page_of(options.name), encoding="utf-8")


if __name__ == "__main__":
    main()
