"""What to try after a refused fit: each proposal is first tried on the same runs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stribeck.ident.errors import FitError
    from stribeck.ident.fit.joint.options import Options
    from stribeck.ident.log.run import Run

_NEEDED = (
    "a log for a fit moves the joint forward and backward at four speeds or more; steady speeds "
    "and torques that you read off this log yourself can be fitted with stribeck fit --table FILE"
)


def refusal(
    error: "FitError", runs: "Sequence[Run]", paths: Sequence[Path], options: "Options"
) -> "FitError":
    """Return the refusal, extended by a command that works on these runs or, if none does,
    by what a recording needs.

    Parameters
    ----------
    error : FitError
        The reason why no joint can be calibrated.
    runs : sequence of Run
        The runs.
    paths : sequence of Path
        The runs as the command line names them.
    options : Options
        Options of the refused fit.
    """
    from stribeck.ident.errors import FitError, InputError, TorqueReversed, command
    from stribeck.ident.identify import identify

    if isinstance(error, TorqueReversed):  # no other fit corrects a wrong sign
        return error
    failed = []
    for other in ("model", "joint", "none"):
        if other == options.motion:
            continue
        words = "" if other == "none" else f"--motion {other}"
        try:
            identify(runs, replace(options, motion=other, torque_basis="drive"))
        except (FitError, InputError) as again:
            failed.append(
                f"{words or 'round trips'}: {str(again).rpartition(' is not calibrated: ')[2]}"
            )
        else:
            return FitError(
                f"{error}; {command('fit', *paths, *words.split())} works on "
                f"{'it' if len(runs) == 1 else 'them'}"
            )
    return FitError(f"{error}; tried as well: {'; '.join(failed)}; {_NEEDED}")
