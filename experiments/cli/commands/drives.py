"""Commands about drives on a bus: check, emulate."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.command_options import (
    ArmArgument,
    JsonOption,
    SeedOption,
    VerboseOption,
    flag,
)
from stribeck.experiments.cli.common import console, print_json
from stribeck.experiments.cli.option_texts import time_of

if TYPE_CHECKING:
    from stribeck.drivers.check import Findings
    from stribeck.drivers.emulators.emulator import Emulator
    from stribeck.experiments.cli.screen.console import Console


def check(
    arm: ArmArgument,
    reset: Annotated[
        bool, flag("--reset", help="First clear the faults of the drives. No drive is powered.")
    ] = False,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Connect to the drives, configure and verify them; moves nothing."""
    from stribeck.drivers.check import check_arm
    from stribeck.ident.arm.arm_file import load_arm

    found = check_arm(load_arm(arm), reset)
    _show(found, console(as_json, verbose))
    if as_json:
        print_json(found.table(), ())


def emulate(
    arm: ArmArgument,
    seed: SeedOption = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="JOINT:WHAT@TIME",
            help="A drive falls silent, resets or has a fault (WHAT: silent, reset, "
            "fault), for example j2:silent@20s; repeatable.",
        ),
    ] = None,
) -> None:
    """Emulate the drives of an arm file on its bus, with a simulated arm
    behind them, until interrupted.
    """
    from stribeck.drivers.connect import connect
    from stribeck.drivers.emulators.emulator import EMULATORS
    from stribeck.drivers.emulators.emulator import emulate as emulate_drives
    from stribeck.drivers.realtime import real_time
    from stribeck.drivers.wire.transport import opening
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism

    arm_file = load_arm(arm)
    if arm_file.driver.kind in EMULATORS:
        connect(arm_file)  # reads and checks the driver's keys, and talks to nobody
    faults = [_fault(text, load_mechanism(arm_file).names) for text in fault or ()]
    with opening(f"{arm_file.path}: the bus of the emulated drives"):
        emulator = emulate_drives(arm_file, seed)
    print(
        f"{arm_file.name}: emulated {arm_file.driver.kind} drives listen on {emulator.address}; "
        "Ctrl-C ends",
        flush=True,
    )
    try:
        with real_time():
            emulator.serve(_befalling(emulator, faults))
    except KeyboardInterrupt:
        pass
    finally:
        emulator.close()


def _fault(text: str, names: tuple[str, ...]) -> tuple[float, str, str]:
    """Return time [s], joint and kind of a fault from its text, JOINT:WHAT@TIME."""
    from stribeck.ident.errors import InputError, unknown_name

    found = re.fullmatch(r"(.+):(silent|reset|fault)@(.+)", text)
    if found is None:
        raise InputError(
            f"invalid --fault {text!r}: expected JOINT:silent@TIME, JOINT:reset@TIME or "
            "JOINT:fault@TIME, for example j2:silent@20s"
        )
    if found[1] not in names:
        raise unknown_name("joint", found[1], names)
    return time_of(found[3], "--fault"), found[1], found[2]


def _befalling(emulator: "Emulator", faults: list[tuple[float, str, str]]) -> Callable[[], bool]:
    """Return a function that causes each fault at its time; the emulator calls it in its
    loop, and it returns true.
    """
    names, began, waiting = emulator.body.names, time.monotonic(), sorted(faults)

    def going() -> bool:
        while waiting and time.monotonic() - began >= waiting[0][0]:
            after, joint, what = waiting.pop(0)
            emulator.suffer(names.index(joint), what)
            print(f"{after:g} s: the drive of {joint}: {what}", flush=True)
        return True

    return going


def _show(found: "Findings", text: "Console") -> None:
    """Print one line per joint, and warnings before a motion; with -v, print all tables instead."""
    from stribeck.experiments.cli.screen.console import Detail
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import joint_page

    text.print(found.summary)
    if text.detail == Detail.ALL:
        for title, page in found.pages.items():
            text.print(f"\n{title}", fitted(joint_page(page), text.width), sep="\n")
        text.print()
    else:
        text.print(fitted(joint_page(found.overview()), text.width))
    for line in found.notes:
        text.print(f"note      {line}")
