"""What is left of a campaign: its state is its folder, read from the segments that its runs finished."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.clearance import ways_are_clear
from experiments.plan import Plan, Segment, read_plan, with_robot_time
from ident.armfile import ArmFile
from ident.errors import InputError
from ident.mechanism import Mechanism
from ident.repeats import passes
from ident.run import DONE, FIT, RUNS, Run, campaign_runs, load_run

PLAN = "plan.toml"


@dataclass(frozen=True)
class Part:
    """One run that is still to be recorded: what it drives, and the run whose rest that is."""

    plan: Plan
    continues: str | None = None


def whats_left(plan: Plan, folder: Path, repeats: int, arm: ArmFile, mechanism: Mechanism) -> list[Part]:
    """Runs that a campaign still needs, in order: the rest of a pass that was broken off, then whole passes.

    Parameters
    ----------
    plan : Plan
        The campaign's.
    folder : Path
        The campaign; new, empty, or begun with the same plan.
    repeats : int
        How often the plan is to be driven.
    arm, mechanism
        For the ways.

    Raises
    ------
    InputError
        If the folder holds something else, or a campaign with another plan or arm.
    """
    runs = [run for path in campaign_runs(folder) if (run := load_run(path, ())).purpose == FIT]
    _refuse_other(plan, folder, bool(runs))
    recorded = [[runs[k] for k in one] for one in passes(runs)]
    rests = [Part(rest, one[-1].label) for one in recorded if (rest := rest_of(plan, one, arm, mechanism))]
    return rests + [Part(plan)] * (repeats - len(recorded))


def recorded_for(folder: Path, purpose: str) -> Run | None:
    """The last run of a campaign for a purpose that came to its end."""
    return next((run for path in reversed(campaign_runs(folder)) if (run := load_run(path)).purpose == purpose
                 and run.closed is not None and run.closed.get("reason") == DONE), None)


def begun(folder: Path) -> int:
    """How many runs a campaign has begun, whatever became of them."""
    return sum(path.is_dir() for path in folder.glob(f"{RUNS}/*"))


def rest_of(plan: Plan, runs: Sequence[Run], arm: ArmFile, mechanism: Mechanism) -> Plan | None:
    """The plan from the first round trip on that no run holds whole; None if none is left.

    Segments keep their numbers. The way to the first one is straight where that is clear, else along the plan's moves.
    """
    done = set().union(*(_driven(plan, run) for run in runs))
    first = next((k for k, segment in enumerate(plan.segments) if segment.kind != "move" and segment.id not in done), None)
    if first is None:
        return None
    begin, segment = list(plan.legs())[first]
    way: tuple[Segment, ...] = tuple(segment for segment in plan.segments[:first] if segment.kind == "move")
    if ways_are_clear(arm, mechanism, np.array(plan.start)[None], begin[None])[0]:
        unused = max(segment.id for segment in plan.segments) + 1
        way = (Segment(unused, "move", tuple(begin.tolist()), segment.posture),)
    return with_robot_time(replace(plan, segments=(*way, *plan.segments[first:])), arm)


def _driven(plan: Plan, run: Run) -> set[int]:
    """Segments that a run finished, with every sample on disk; a stroke only with the one that retraces it."""
    finished = {event["segment"] for event in run.events if event["event"] == "finished" and event["row"] <= len(run.t)}
    half = {id_ for segment in plan.segments if segment.mirror_of is not None
            for id_ in (segment.id, segment.mirror_of) if not {segment.id, segment.mirror_of} <= finished}
    return finished - half


def _refuse_other(plan: Plan, folder: Path, driven: bool) -> None:
    """Refuse a folder in which something else lies, or whose campaign is another; one of which nothing is driven may change."""
    path = folder / PLAN
    if not begun(folder):
        strange = sorted(entry.name for entry in folder.iterdir() if entry.name not in (PLAN, RUNS)) if folder.is_dir() else []
        if strange or folder.is_file():
            raise InputError(f"{folder} holds {strange[0] if strange else 'a file'}, but no campaign that could be resumed; "
                             "choose another --out")
        return
    made = read_plan(path)
    if made.arm_sha256 != plan.arm_sha256:
        raise InputError(f"{folder} was begun with another arm file or model than {plan.arm} is now; restore it, or begin anew "
                         "with another --out")
    if driven and made != plan:
        differs = next((f"{key} {old} instead of {new}" for key, old, new in (
            ("method", made.method, plan.method), ("seed", made.seed, plan.seed)) if old != new), "other joints, ways or speeds")
        raise InputError(f"{path} is not the plan that these options make: it has {differs}; resume with the options that it was "
                         "begun with")
