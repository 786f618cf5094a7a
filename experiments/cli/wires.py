"""Commands about drives on a bus: check, emulate."""

from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.common import ArmArgument, JsonOption, SeedOption, console, print_json

if TYPE_CHECKING:
    from drivers.check import Findings


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(check)
    app.command()(emulate)


def check(arm: ArmArgument,
          reset: Annotated[bool, typer.Option("--reset", help="First clear the drives' faults; powers nothing.")] = False,
          as_json: JsonOption = False) -> None:
    """Connect, configure, verify and show what is there; moves nothing."""
    from drivers.check import check_arm
    from ident.armfile import load_arm

    found = check_arm(load_arm(arm), reset)
    if as_json:
        print_json(found.table())
        return
    _show(found)


def emulate(arm: ArmArgument, seed: SeedOption = 0) -> None:
    """The simulated arm behind its protocol, on the bus of the arm file; runs until interrupted."""
    from drivers import connect
    from drivers.emulators import EMULATORS
    from drivers.emulators import emulate as drives
    from drivers.realtime import real_time
    from drivers.transport import opening
    from ident.armfile import load_arm

    arm_file = load_arm(arm)
    if arm_file.driver.kind in EMULATORS:
        connect(arm_file)               # reads and checks the driver's keys, and talks to nobody
    with opening(f"{arm_file.path}: the bus of the emulated drives"):
        emulator = drives(arm_file, seed)
    print(f"{arm_file.name}: emulated {arm_file.driver.kind} drives listen on {emulator.address}; Ctrl-C ends", flush=True)
    try:
        with real_time():
            emulator.serve()
    except KeyboardInterrupt:
        pass
    finally:
        emulator.close()


def _show(found: "Findings") -> None:
    """A page to read before daring to move."""
    from experiments.cli.text import joint_page

    text = console()
    text.print(found.summary)
    for title, page in found.pages.items():
        text.print(f"\n{title}", joint_page(page), sep="\n")
    text.print()
    for line in found.notes:
        text.print(f"note      {line}")
