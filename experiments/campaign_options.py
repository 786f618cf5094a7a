"""What a campaign is asked for; kept with its runs, so that it can go on with the options that it was begun with."""

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from stribeck.experiments.methods.registry import DEFAULT
from stribeck.ident.errors import InputError
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.log.campaign_folder import records
from stribeck.ident.log.run_record import read_json
from stribeck.ident.toml_tables import parse_table


@dataclass(frozen=True)
class CampaignOptions:
    """What is measured, how long, and how it is fitted.

    Attributes
    ----------
    joints : tuple of str, optional
        A subset of the joints.
    seed : int
        Of plan and simulated noise.
    fit : Options
        Of the fit.
    method : str
        A name in `METHODS`.
    repeats : int
        How often the plan is run; several runs show the deviation between them. The k-th run has seed + k of simulated noise.
    warm_up : float
        How long the arm may move before each run until its friction settles [s].
    search : bool
        Find the lowest speed that each velocity loop holds first, and plan no stroke below it.
    breakaway : bool
        Measure last what holds each joint at rest; needs a torque mode.
    target, budget : float, optional
        Precision at which to stop, see `Refinement`, and robot time for everything that moves [s]; default: one plan, run
        `repeats` times.
    """

    joints: tuple[str, ...] | None = None
    seed: int = 0
    fit: Options = field(default_factory=Options)
    method: str = DEFAULT
    repeats: int = 1
    warm_up: float = 0.0
    search: bool = False
    breakaway: bool = False
    target: float | None = None
    budget: float | None = None

    @property
    def refining(self) -> bool:
        """Whether each plan follows from the runs before it."""
        return bool(self.target or self.budget)

    def table(self) -> dict[str, Any]:
        """Plain data, as records of runs keep it."""
        return {"options" if name == "fit" else name: value for name, value in asdict(self).items()}


def begun_with(folder: Path) -> dict[str, Any]:
    """Options with which a campaign was begun, those of the fit among them, by the names and in the units of `CampaignOptions`.

    Empty where no record tells.
    """
    for path in records(folder):
        with suppress(InputError):          # cut off while it was written
            record = read_json(path)
            if isinstance(record, dict) and "options" in record:
                break
    else:
        return {}
    begun = dict(parse_table(_Begun, record["options"], path))
    of_fit: Options = begun.pop("options")
    return begun | vars(of_fit)


class _Begun(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    joints: tuple[str, ...] | None
    seed: NonNegativeInt
    options: Options
    method: str
    repeats: PositiveInt
    warm_up: NonNegativeFloat
    search: bool
    breakaway: bool
    target: PositiveFloat | None
    budget: PositiveFloat | None
