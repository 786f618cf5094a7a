"""Options of `plan` and `run` that belong to the presliding experiment."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.methods.small_round_trips import SmallTrips
    from stribeck.experiments.plans.plan import Plan
    from stribeck.ident.model.mechanism import Mechanism

AmplitudesOption = Annotated[
    str | None,
    typer.Option(
        "--amplitudes",
        metavar="LIST",
        help="Half amplitudes of the round trips of presliding in rad (prismatic: m), separated by "
        "commas. Default: 6 from 0.0003 to 0.03 rad, or from 0.00003 to 0.003 m.",
    ),
]
PlacesOption = Annotated[
    int | None,
    typer.Option(
        "--places", metavar="N", min=1, help="Number of postures for presliding. Default: 3."
    ),
]


def small_trips(amplitudes: str | None, places: int | None, experiment: str) -> "SmallTrips | None":
    """Return the options of the presliding experiment that the command line
    states; None if it states none.

    Raises
    ------
    InputError
        If another experiment is asked for, or an amplitude is no positive number.
    """
    from stribeck.experiments.methods.small_round_trips import PLACES, SmallTrips
    from stribeck.ident.errors import InputError
    from stribeck.ident.log.run import PRESLIDING

    if amplitudes is None and places is None:
        return None
    if experiment != PRESLIDING:
        raise InputError(
            "--amplitudes and --places work only with --experiment presliding; leave them out with "
            f"{experiment}"
        )
    return SmallTrips(
        None if amplitudes is None else _numbers(amplitudes), PLACES if places is None else places
    )


def show_left_out(
    text: "Console", plan: "Plan", mechanism: "Mechanism", options: "SmallTrips | None"
) -> None:
    """Print a note for each joint whose drive or strokes leave out some of the half amplitudes."""
    from stribeck.experiments.methods.small_round_trips import left_out

    for sentence in left_out(plan, mechanism, options):
        text.print(f"note      {sentence}")


def _numbers(text: str) -> tuple[float, ...]:
    from stribeck.ident.errors import InputError

    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if (
        not values
        or not all(0.0 < value < float("inf") for value in values)
        or len(set(values)) < len(values)
    ):
        raise InputError(
            f"--amplitudes {text}: different positive numbers separated by commas are needed, for "
            "example 0.0005,0.002,0.008,0.03"
        )
    return values
