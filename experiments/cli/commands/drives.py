"""Commands about drives on a bus: check, emulate."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.common import ArmArgument, JsonOption, SeedOption, console, print_json, time_of

if TYPE_CHECKING:
    from stribeck.drivers.check import Findings
    from stribeck.drivers.emulators.emulator import Emulator


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(check)
    app.command()(emulate)


def check(arm: ArmArgument,
          reset: Annotated[bool, typer.Option("--reset", help="First clear the drives' faults; powers nothing.")] = False,
          as_json: JsonOption = False) -> None:
    """Connect, configure, verify and show what is there; moves nothing."""
    from stribeck.drivers.check import check_arm
    from stribeck.ident.arm.arm_file import load_arm

    found = check_arm(load_arm(arm), reset)
    if as_json:
        print_json(found.table())
        return
    _show(found)


def emulate(arm: ArmArgument, seed: SeedOption = 0,
            fault: Annotated[list[str] | None, typer.Option(
                "--fault", metavar="JOINT:WHAT@TIME",
                help="A drive is silent, reset or has a fault (WHAT), as in j2:silent@20s; may be repeated.")] = None) -> None:
    """The simulated arm behind its protocol, on the bus of the arm file; runs until interrupted."""
    from stribeck.drivers.connect import connect
    from stribeck.drivers.emulators.emulator import EMULATORS
    from stribeck.drivers.emulators.emulator import emulate as emulate_drives
    from stribeck.drivers.realtime import real_time
    from stribeck.drivers.wire.transport import opening
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism

    arm_file = load_arm(arm)
    if arm_file.driver.kind in EMULATORS:
        connect(arm_file)               # reads and checks the driver's keys, and talks to nobody
    faults = [_fault(text, load_mechanism(arm_file).names) for text in fault or ()]
    with opening(f"{arm_file.path}: the bus of the emulated drives"):
        emulator = emulate_drives(arm_file, seed)
    print(f"{arm_file.name}: emulated {arm_file.driver.kind} drives listen on {emulator.address}; Ctrl-C ends", flush=True)
    try:
        with real_time():
            emulator.serve(_befalling(emulator, faults))
    except KeyboardInterrupt:
        pass
    finally:
        emulator.close()


def _fault(text: str, names: tuple[str, ...]) -> tuple[float, str, str]:
    """When, to which joint, what."""
    from stribeck.ident.errors import InputError, unknown_name

    found = re.fullmatch(r"(.+):(silent|reset|fault)@(.+)", text)
    if found is None:
        raise InputError(f"--fault {text!r}: JOINT:silent@TIME, JOINT:reset@TIME or JOINT:fault@TIME is needed, as in "
                         "j2:silent@20s")
    if found[1] not in names:
        raise unknown_name("joint", found[1], names)
    return time_of(found[3], "--fault"), found[1], found[2]


def _befalling(emulator: "Emulator", faults: list[tuple[float, str, str]]) -> Callable[[], bool]:
    """What an emulator asks while it serves: lets drives suffer when their time has come, and goes on."""
    names, began, waiting = emulator.body.names, time.monotonic(), sorted(faults)

    def going() -> bool:
        while waiting and time.monotonic() - began >= waiting[0][0]:
            after, joint, what = waiting.pop(0)
            emulator.suffer(names.index(joint), what)
            print(f"{after:g} s: the drive of {joint}: {what}", flush=True)
        return True

    return going


def _show(found: "Findings") -> None:
    """A page to read before daring to move."""
    from stribeck.experiments.cli.screen.tables import fitted
    from stribeck.experiments.cli.screen.text import joint_page

    text = console()
    text.print(found.summary)
    for title, page in found.pages.items():
        text.print(f"\n{title}", fitted(joint_page(page), text.width), sep="\n")
    text.print()
    for line in found.notes:
        text.print(f"note      {line}")
