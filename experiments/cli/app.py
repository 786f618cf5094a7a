"""The command line: its commands, exit codes, and one sentence for every error."""

import _thread
import logging
import math
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer

from stribeck.experiments.cli.commands import (
    calibrate_command,
    compare,
    drives,
    fit,
    init,
    motions,
    open_library,
    plan_and_run,
    show,
    validate,
)
from stribeck.experiments.cli.common import BAD_INPUT, DONE, STOPPED
from stribeck.experiments.cli.endings import ENDINGS, STOPPED_BY_OPERATOR, leave
from stribeck.experiments.cli.fleet import fleet_commands
from stribeck.experiments.cli.refusal import of_parser, with_option

_AGAIN = 0.001  # s; delay before a lost Ctrl-C is raised again
_ONE = 1.0  # s; signals within this time count as one request to end

# in the order in which the help shows them
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Measure": (
        init.init,
        drives.check,
        plan_and_run.plan,
        plan_and_run.run,
        calibrate_command.calibrate,
    ),
    "Analyse": (fit.import_, fit.fit, validate.validate, compare.compare, show.report, show.show),
    "Use": (show.export, open_library.library, motions.loads, motions.simulate),
    "Develop": (drives.emulate, fit.replay),
}
# stribeck fleet fit, ...
FLEET = fleet_commands.fleet_fit, fleet_commands.fleet_validate, fleet_commands.fleet_compare

app = typer.Typer(
    name="stribeck",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Identify and calibrate the joint friction of a robot arm.",
    epilog="Exit codes: 0 done, 1 a comparison or validation found a difference, or a recording "
    "of a fleet has no "
    "result, 2 bad input, 3 stopped by a limit, a fault or the operator.",
)


class _Once(logging.Filter):
    """Log filter that shows each warning once, even if later steps repeat it."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the message is new."""
        text = record.getMessage()
        new = text not in self._told
        self._told.add(text)
        return new


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True
    ),
) -> None:
    if version:
        from importlib.metadata import version as version_of

        print(f"stribeck {version_of('stribeck')}")
        raise typer.Exit


for group, commands in COMMANDS.items():
    for command in commands:
        app.command(command.__name__.strip("_"), rich_help_panel=group)(command)
_fleet = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fit, validate or compare thousands of recordings, on this computer or a cluster.",
)
for command in FLEET:
    _fleet.command(command.__name__.removeprefix("fleet_"))(command)
app.add_typer(_fleet, name="fleet", rich_help_panel="Analyse")


class _Ending:
    """Handler that turns every signal to end the program into Ctrl-C, which stops
    the arm and closes the run.

    Programs that forward signals may send one twice. A second signal shortly after the first is
    ignored, because it would interrupt the stop of the arm.
    """

    def __init__(self) -> None:
        self._last, self.asked = -math.inf, False

    def __call__(self, number: int, frame: object) -> None:
        now, self.asked = time.monotonic(), True
        if now - self._last > _ONE:
            self._last = now
            raise KeyboardInterrupt

    def forget(self) -> None:
        """Accept the next signal at any time, because the last one was lost."""
        self._last = -math.inf


_ending = _Ending()


def _not_lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Raise Ctrl-C again if it arrived where Python cannot raise exceptions, for example
    in an object's finaliser.

    Ctrl-C may also arrive during this hook, which is such a place itself;
    the hook then tries again.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    while True:
        try:
            _ending.forget()
            # not threading.Timer: its start waits for the thread
            _thread.start_new_thread(_interrupt_again, ())
            return
        except KeyboardInterrupt:
            continue


def _interrupt_again() -> None:
    time.sleep(_AGAIN)
    _thread.interrupt_main()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    code, began = STOPPED, False
    while True:
        try:
            if not began:
                _prepare()
                began = True
                code = run(arguments)
            for ending in ENDINGS:
                signal.signal(ending, signal.SIG_IGN)
            break
        except KeyboardInterrupt:
            # a second Ctrl-C during the message, or one before the command
            if not began:
                began = True
                print(STOPPED_BY_OPERATOR, file=sys.stderr)
    leave(code)


def _prepare() -> None:
    """Install the handlers of signals and the format of log warnings."""
    for ending in ENDINGS:
        signal.signal(ending, _ending)
    sys.unraisablehook = _not_lost
    # a program that embeds this one has its own handlers
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
        for handler in logging.getLogger().handlers:
            handler.addFilter(_Once())


@cache
def parser() -> Any:
    """Return the parser of all commands; it is made once, since that takes as long as its use."""
    return typer.main.get_command(app)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    # not command.main(): it turns Ctrl-C into its own exit code
    try:
        command = parser()
        with command.make_context("stribeck", list(words)) as context:
            code = command.invoke(context)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        return STOPPED
    except Exception as error:
        return _explain(error, words)
    return int(code or DONE)


def _explain(error: Exception, arguments: Sequence[str] = ()) -> int:
    """Print one sentence on standard error and return the exit code;
    unexpected errors are raised again.
    """
    # an error of the parser of options
    if hasattr(error, "show") and hasattr(error, "format_message"):
        if error.format_message():
            print(f"stribeck: {of_parser(error, arguments)}", file=sys.stderr)
        else:  # no command: the help
            error.show()
        return BAD_INPUT
    from stribeck.drivers.errors import DriverError
    from stribeck.experiments.errors import RecordingFailed
    from stribeck.ident.errors import StribeckError

    if isinstance(error, StribeckError):
        print(f"stribeck: {with_option(str(error), arguments)}", file=sys.stderr)
        # why the arm stopped
        if isinstance(error, RecordingFailed) and isinstance(error.__context__, DriverError):
            print(f"stribeck: before that, {error.__context__}", file=sys.stderr)
        return STOPPED if isinstance(error, (DriverError, RecordingFailed)) else BAD_INPUT
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if (
            isinstance(error, FileNotFoundError)
            and error.filename
            and not (folder := Path(error.filename).parent).is_dir()
        ):
            reason = f"the folder {folder} does not exist; create it first"
        if isinstance(error, NotADirectoryError):
            reason = "a part of this path is a file, but folders are needed; choose another path"
        print(f"stribeck: {error.filename or ''}: {reason}".replace(": :", ":"), file=sys.stderr)
        return BAD_INPUT
    if _ending.asked:  # an interrupted import of a C extension raises other errors
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        return STOPPED
    raise error
