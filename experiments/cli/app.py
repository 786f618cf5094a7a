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
_ONE = 1.0              # s in which all that asks the program to end is one wish

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
    """A warning that the next step would give again is told once."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it was not told before."""
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
    """Handles what asks the program to end as Ctrl-C, which stops the arm and closes the run.

    Some is sent twice, as by programs that pass signals on: what comes while the first is on its way to those who stop would
    break that off.
    """

    def __init__(self) -> None:
        self._last, self.asked = -math.inf, False

    def __call__(self, number: int, frame: object) -> None:
        now, self.asked = time.monotonic(), True
        if now - self._last > _ONE:
            self._last = now
            raise KeyboardInterrupt

    def forget(self) -> None:
        """The last one was lost."""
        self._last = -math.inf


_ending = _Ending()


def _not_lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that met a place from which nothing is raised, as the end of an object, comes again.

    It may come before this has ended, which is such a place, too.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    while True:
        try:
            _ending.forget()
            _thread.start_new_thread(_interrupt_again, ())      # no Timer, whose start waits for its thread
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
        except KeyboardInterrupt:               # once more, while the first is told; or before there was anything to end
            if not began:
                began = True
                print(STOPPED_BY_OPERATOR, file=sys.stderr)
    leave(code)


def _prepare() -> None:
    """What asks the program to end, and what it says beside its output."""
    for ending in ENDINGS:
        signal.signal(ending, _ending)
    sys.unraisablehook = _not_lost
    if not logging.getLogger().handlers:            # who runs this inside a program of their own has handlers of their own
        logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
        for handler in logging.getLogger().handlers:
            handler.addFilter(_Once())


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:                                      # not command.main(): it turns Ctrl-C into an exit code of its own
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
    """One sentence on standard error and the exit code; what is no error of ours is raised again."""
    if hasattr(error, "show") and hasattr(error, "exit_code"):      # the parser's own, which shows its usage
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
    if _ending.asked:               # what is written in C fails in words of its own where its loading is broken off
        print(STOPPED_BY_OPERATOR, file=sys.stderr)
        return STOPPED
    raise error
