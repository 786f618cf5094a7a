"""Entry point: commands, and how every error becomes one sentence and an exit code."""

import _thread
import logging
import math
import signal
import sys
import time
from collections.abc import Callable

import typer

from stribeck.experiments.cli.commands import compare, drives, fit, init, motions, move, show, validate
from stribeck.experiments.cli.common import BAD_INPUT, DONE, STOPPED
from stribeck.experiments.cli.endings import ENDINGS, STOPPED_BY_OPERATOR, leave

_AGAIN = 0.001          # s
_ONE = 1.0              # s; further stop signals within this time belong to the first

COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {       # in the order in which the help shows them
    "Measure": (init.init, drives.check, move.plan, move.run, move.calibrate),
    "Analyse": (fit.import_, fit.fit, validate.validate, compare.compare, show.report),
    "Use": (show.export, motions.loads, motions.simulate),
    "Develop": (drives.emulate, fit.replay)}

app = typer.Typer(name="stribeck", no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False,
                  context_settings={"help_option_names": ["-h", "--help"]},
                  help="Identify and calibrate the joint friction of a robot arm.",
                  epilog="Exit codes: 0 done, 1 a comparison or validation found a difference, 2 bad input, "
                         "3 stopped by a limit, a fault or the operator.")


class _Once(logging.Filter):
    """Filter that passes each warning only once, although later steps repeat it."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this warning was not printed before."""
        text = record.getMessage()
        new = text not in self._told
        self._told.add(text)
        return new


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from importlib.metadata import version as version_of

        print(f"stribeck {version_of('stribeck')}")
        raise typer.Exit


for group, commands in COMMANDS.items():
    for command in commands:
        app.command(command.__name__.strip("_"), rich_help_panel=group)(command)


class _Ending:
    """Signal handler that treats every stop signal as Ctrl-C, which stops the arm and closes the run.

    Some programs forward a signal, so it arrives twice. A second signal that arrives while the first is handled would interrupt
    the stop, so it is ignored.
    """

    def __init__(self) -> None:
        self._last, self.asked = -math.inf, False

    def __call__(self, number: int, frame: object) -> None:
        now, self.asked = time.monotonic(), True
        if now - self._last > _ONE:
            self._last = now
            raise KeyboardInterrupt

    def forget(self) -> None:
        """Forget the last signal, which was lost."""
        self._last = -math.inf


_ending = _Ending()


def _not_lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that arrived where Python cannot raise an exception, for example while it deletes an object.

    Python cannot raise an exception in this function either, so the function also handles a Ctrl-C that arrives while it runs.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    while True:
        try:
            _ending.forget()
            _thread.start_new_thread(_interrupt_again, ())      # not threading.Timer: its start waits for the new thread
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
        except KeyboardInterrupt:               # a second signal during the message, or a signal before the command began
            if not began:
                began = True
                print(STOPPED_BY_OPERATOR, file=sys.stderr)
    leave(code)


def _prepare() -> None:
    """Install the handlers of stop signals and of log messages."""
    for ending in ENDINGS:
        signal.signal(ending, _ending)
    sys.unraisablehook = _not_lost
    if not logging.getLogger().handlers:            # a program that calls `main` may have log handlers
        logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
        for handler in logging.getLogger().handlers:
            handler.addFilter(_Once())


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:                                      # not command.main(): it gives Ctrl-C another exit code
        command = typer.main.get_command(app)
        with command.make_context("stribeck", sys.argv[1:] if arguments is None else list(arguments)) as context:
            code = command.invoke(context)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        return STOPPED
    except Exception as error:
        return _explain(error)
    return int(code or DONE)


def _explain(error: Exception) -> int:
    """Print an expected error as one sentence and return the exit code; raise any other error again."""
    if hasattr(error, "show") and hasattr(error, "exit_code"):      # an error of the parser; `show` prints the usage
        error.show()
        return BAD_INPUT
    from stribeck.drivers.errors import DriverError
    from stribeck.experiments.errors import RecordingFailed
    from stribeck.ident.errors import StribeckError

    if isinstance(error, StribeckError):
        print(f"stribeck: {error}", file=sys.stderr)
        if isinstance(error, RecordingFailed) and isinstance(error.__context__, DriverError):     # why the arm had stopped
            print(f"stribeck: before that, {error.__context__}", file=sys.stderr)
        return STOPPED if isinstance(error, (DriverError, RecordingFailed)) else BAD_INPUT
    if isinstance(error, OSError):
        print(f"stribeck: {error.filename or ''}: {error.strerror or error}".replace(": :", ":"), file=sys.stderr)
        return BAD_INPUT
    if _ending.asked:               # an interrupted import of a C extension may raise any error
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        return STOPPED
    raise error
