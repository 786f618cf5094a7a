"""Display while an arm moves: progress bar, live picture or viewer; and a message about the
samples if motion ends early.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING

from stribeck.experiments.cli.screen.live import VIEW
from stribeck.experiments.cli.screen.progress import progress

if TYPE_CHECKING:
    from rich.console import Console

    from stribeck.experiments.plans.plan import Plan
    from stribeck.experiments.recording.follow import Watch
    from stribeck.ident.model.mechanism import Mechanism


def check_view(text: "Console", live: bool, rerun: str | None) -> None:
    """Refuse a picture that cannot be drawn: without a terminal, viewer, display, or
    writable folder for its file.
    """
    from importlib.util import find_spec

    from stribeck.ident.errors import InputError

    if live and _screen(text) is None:
        raise InputError("--live draws in a terminal and there is none; leave it out")
    if rerun is not None and find_spec("rerun") is None:
        raise InputError("--rerun needs the package rerun-sdk; pip install 'stribeck[rerun]'")
    if (
        rerun == VIEW
        and sys.platform == "linux"
        and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    ):
        raise InputError(
            f"--rerun {VIEW} opens a window and there is no display; --rerun FILE.rrd keeps the "
            "same for later"
        )
    if rerun is not None and rerun != VIEW and Path(rerun).suffix != ".rrd":
        raise InputError(
            f"--rerun {rerun}: a recording for the Rerun viewer ends in .rrd; {VIEW} opens the "
            "viewer"
        )
    if (
        rerun is not None
        and rerun != VIEW
        and not os.access(Path(rerun).absolute().parent, os.W_OK)
    ):
        raise InputError(
            f"--rerun {rerun}: no folder {Path(rerun).absolute().parent} to write into"
        )


@contextmanager
def motion_view(
    text: "Console",
    plan: "Plan",
    folder: Path,
    mechanism: "Mechanism",
    live: bool,
    rerun: str | None,
    also: str = "",
) -> Iterator["Watch | None"]:
    """Show progress or a live picture while the arm moves; if the motion ends early, print the
    path of the recorded samples.
    """
    from stribeck.drivers.errors import ArmStopped
    from stribeck.drivers.interrupts import uninterrupted
    from stribeck.experiments.cli.screen.live import live as live_picture
    from stribeck.ident.errors import command
    from stribeck.ident.log.campaign_folder import campaign_runs, holds_samples
    from stribeck.ident.log.run import FIT, FITTED

    word, before = "run" if plan.purpose == FIT else plan.purpose, set(campaign_runs(folder))
    try:
        with ExitStack() as shown:
            if live or rerun is not None:
                to = _screen(text) or shown.enter_context(open(os.devnull, "w", encoding="utf-8"))
                yield shown.enter_context(live_picture(plan, word, mechanism, to, _free(rerun)))
            else:
                yield shown.enter_context(progress(text, plan.robot_time, word, mechanism))
    except BaseException as error:
        with uninterrupted(ending=True):
            runs = [
                run for run in campaign_runs(folder) if run not in before and holds_samples(run)
            ]
            uses = f", {command('fit', folder)} uses it{also}" if plan.purpose in FITTED else also
            if runs:
                print(
                    f"stribeck: the run ended early; what was recorded is kept in {runs[-1]}{uses}",
                    file=sys.stderr,
                )
        if isinstance(error, KeyboardInterrupt):
            raise ArmStopped("stopped by the operator") from None
        raise


def _screen(text: "Console") -> "IO[str] | None":
    """Return a terminal to draw in, even if printed text goes to a
    pipe; None without a terminal.
    """
    return text.file if text.is_terminal else sys.stderr if sys.stderr.isatty() else None


def _free(rerun: str | None) -> str | None:
    """Return the Rerun file of this run. Runs of a campaign have numbered
    files; no file is overwritten.
    """
    if rerun is None or rerun == VIEW:
        return rerun
    path = Path(rerun)
    names = chain([path], (path.with_stem(f"{path.stem}-{number}") for number in count(2)))
    return str(next(name for name in names if not name.exists()))
