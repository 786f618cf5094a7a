"""What else to try where a fit is refused: each is tried on the very runs before it is named."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stribeck.ident.errors import FitError
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.run import Run

_NEEDED = ("a log that can be fitted moves the joint to and fro, each speed there and back, at four speeds or more; steady "
           "speeds and torques that were read from this one are fitted by stribeck fit --table FILE")


def refusal(error: "FitError", runs: "Sequence[Run]", paths: Sequence[Path], options: "Options") -> "FitError":
    """The refusal with a command that works on these runs, or with what a recording needs where none does.

    Parameters
    ----------
    error : FitError
        Why no joint can be calibrated.
    runs : sequence of Run
        What was to be fitted.
    paths : sequence of Path
        As they were named on the command line.
    options : Options
        As they were given.
    """
    from stribeck.ident.errors import FitError, InputError, TorqueReversed, command
    from stribeck.ident.identify import identify

    if isinstance(error, TorqueReversed):           # a wrong sign stays wrong whatever is fitted
        return error
    failed = []
    for other in ("model", "joint", "none"):
        if other == options.motion:
            continue
        words = "" if other == "none" else f"--motion {other}"
        try:
            identify(runs, replace(options, motion=other, torque_basis="drive"))
        except (FitError, InputError) as again:
            failed.append(f"{words or 'round trips'}: {str(again).rpartition(' is not calibrated: ')[2]}")
        else:
            return FitError(f"{error}; {command('fit', *paths, *words.split())} works on {'it' if len(runs) == 1 else 'them'}")
    return FitError(f"{error}; tried as well: {'; '.join(failed)}; {_NEEDED}")
