"""Campaign: a folder of runs that can be resumed.

The folder is the only state. The remaining part of each plan follows from the segments
that the runs have finished.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.drivers.connect import connect
from stribeck.experiments.plans.check_plan import check_plan
from stribeck.experiments.plans.clear.clearance import ways_are_clear
from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment, plan_from_table, read_plan, write_plan
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.experiments.recording.follow import Enough, Watch
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.fit.arm.between_runs import runs_by_pass
from stribeck.ident.log.campaign_folder import campaign_runs
from stribeck.ident.log.run import ARM, DONE, FIT, RUNS, Run, arm_sha256, load_run
from stribeck.ident.model.mechanism import Mechanism

PLAN = "plan.toml"
_PLANS = "plan-{}.toml"  # for later passes with a different plan


@dataclass(frozen=True)
class Part:
    """A run still to be recorded: its plan, and the label of the
    interrupted run that it continues.
    """

    plan: Plan
    continues: str | None = None


class Campaign:
    """Folder into which runs of an arm are recorded one after the other; the arm
    may start at any position.

    Parameters
    ----------
    arm : ArmFile
        The arm.
    folder : Path
        A new or empty folder, or a campaign of the same arm.
    seed : int
        Seed of simulated noise; every run adds its number.
    display : callable, optional
        Takes a plan and returns a context manager, which is entered while the arm moves and
        yields the `watch` of `follow`.
    options : mapping, optional
        Options of the campaign as plain data, stored with every run.
    note : str
        The operator's note, stored with every run.

    Raises
    ------
    InputError
        If the folder contains other files, or a campaign of another arm.
    """

    def __init__(
        self,
        arm: ArmFile,
        folder: Path,
        seed: int,
        display: Callable[[Plan], AbstractContextManager[Watch | None]] | None = None,
        options: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> None:
        self.arm, self.folder = arm, folder
        self._seed, self._display, self._options, self._note = seed, display, options, note
        self.mechanism = load_mechanism(arm)
        self._refuse_strange()
        # a driver error is raised before files are written
        self.device = connect(arm, seed + self._begun)
        self._cold = True

    @property
    def measuring(self) -> bool:
        """Whether the campaign has recorded runs to be fitted."""
        return bool(self._passes(()))

    def recorded(self, plan: Plan) -> Run | None:
        """Last complete run of exactly this plan; None if there is none."""
        for path in reversed(campaign_runs(self.folder)):
            run = load_run(path, ())
            if (
                run.purpose == plan.purpose
                and run.closed is not None
                and run.closed.get("reason") == DONE
                and plan_from_table(run.record["plan"], path) == plan
            ):
                return load_run(path)
        return None

    def runs_of_passes(self, count: int) -> list[Run]:
        """Runs of the first `count` passes, including the runs that continue interrupted ones."""
        return [run for one in self._passes(None)[:count] for run in one]

    def spent(self, count: int | None = None) -> float:
        """Robot time of all runs up to the end of the first `count` passes, or
        of all runs by default [s].
        """
        runs = [load_run(path, ()) for path in campaign_runs(self.folder)]
        if count is not None:
            ends = [one[-1].path for one in self._passes(())[:count]]
            runs = [run for run in runs if ends and run.path <= ends[-1]]
        return sum(run.duration for run in runs)

    def left_of(self, plan: Plan, number: int) -> Part | None:
        """Remaining part of pass `number`; None if the pass is complete.

        Raises
        ------
        InputError
            If the pass was begun with another plan.
        """
        recorded = self._passes(())
        if number >= len(recorded):
            return Part(plan)
        self._refuse_other(plan, self._plan(number))
        return self._left(plan, recorded[number])

    def left_of_ramps(self, plan: Plan) -> Part | None:
        """Remaining part of a plan of torque ramps; None if the plan is complete."""
        runs = self._of(plan.purpose, ())
        begun = [
            one
            for one in ([runs[k] for k in one] for one in runs_by_pass(runs))
            if plan_from_table(one[0].record["plan"], one[0].path) == plan
        ]
        return self._left(plan, begun[-1]) if begun else Part(plan)

    def _left(self, plan: Plan, runs: Sequence[Run]) -> Part | None:
        rest = rest_of(plan, runs, self.arm, self.mechanism)
        return Part(rest, runs[-1].label) if rest else None

    def keep(self, plan: Plan, number: int) -> None:
        """Write the plan of a pass into the folder before the pass begins; a plan file is never
        overwritten by another plan.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / PLAN
        if number and read_plan(path) == plan:
            return
        write_plan(plan, self.folder / _PLANS.format(number + 1) if number else path)

    def drive(self, plan: Plan, continues: str | None = None, enough: Enough | None = None) -> Path:
        """Record a run and return its folder.

        A simulated arm stays warm from a warm-up to the fitted run; the run after
        a fitted run starts cold.
        """
        if not self._cold:
            self.device, self._cold = connect(self.arm, self._seed + self._begun), True
        with self._display(plan) if self._display else nullcontext() as watch:
            path = drive_plan(
                self.arm,
                plan,
                self.folder,
                self._seed + self._begun,
                self._note,
                watch,
                continues,
                self.device,
                enough,
                self._options,
            )
        self._cold = plan.purpose != FIT
        return path

    @property
    def _begun(self) -> int:
        """Number of runs begun, including failed ones."""
        return sum(path.is_dir() for path in self.folder.glob(f"{RUNS}/*"))

    def _passes(self, signals: tuple[str, ...] | None) -> list[list[Run]]:
        runs = self._of(FIT, signals)
        return [[runs[k] for k in one] for one in runs_by_pass(runs)]

    def _of(self, purpose: str, signals: tuple[str, ...] | None) -> list[Run]:
        every = (
            load_run(path) if signals is None else load_run(path, signals)
            for path in campaign_runs(self.folder)
        )
        return [run for run in every if run.purpose == purpose]

    def _plan(self, number: int) -> Path:
        own = self.folder / _PLANS.format(number + 1)
        return own if own.exists() else self.folder / PLAN

    def _refuse_strange(self) -> None:
        """Refuse a folder with other files, or with a campaign of another arm."""
        folder, name = self.folder, self.arm.name
        entries = (
            {entry.name for entry in folder.iterdir()}
            if folder.is_dir()
            else {"a file"}
            if folder.is_file()
            else set()
        )
        strange = sorted(entries - {PLAN, RUNS, ARM})
        if not self._begun and strange:
            raise InputError(
                f"{folder} contains {strange[0]}, but no campaign to resume; choose another --out"
            )
        runs = [load_run(path, ()) for path in campaign_runs(folder)]
        if other := next(
            (run.arm.serial for run in runs if run.arm.serial != self.arm.serial), None
        ):
            raise InputError(
                f"{folder} holds a campaign of the arm with the serial number {other}, and this "
                f"arm has {self.arm.serial or 'none'}; state --serial {other}, or start a new "
                "campaign with another --out"
            )
        if any(run.record["arm_sha256"] != arm_sha256(self.arm) for run in runs):
            raise InputError(
                f"{folder}: arm file or model of {name} changed since the campaign began; restore "
                "both, or start a new campaign with another --out"
            )

    def _refuse_other(self, plan: Plan, path: Path) -> None:
        """Refuse to resume a pass with another plan than the stored one."""
        made = read_plan(path)
        if made != plan:
            pairs = (("method", made.method, plan.method), ("seed", made.seed, plan.seed))
            differs = next(
                (f"{key} {old} instead of {new}" for key, old, new in pairs if old != new),
                "other joints, strokes or speeds",
            )
            raise InputError(
                f"{path} differs from the plan that these options make: the file has {differs}; "
                "leave the options out to resume with the stored ones"
            )


def rest_of(plan: Plan, runs: Sequence[Run], arm: ArmFile, mechanism: Mechanism) -> Plan | None:
    """Return the plan from the first round trip that no run has finished; None if all are finished.

    Segments keep their numbers. The arm drives straight to the first segment if that path is clear,
    else along the plan's moves.
    """
    done = set().union(*(_driven(plan, run) for run in runs))
    first = next(
        (
            k
            for k, segment in enumerate(plan.segments)
            if segment.kind != "move" and segment.id not in done
        ),
        None,
    )
    if first is None:
        return None
    begin, segment = list(plan.legs())[first]
    way: tuple[Segment, ...] = tuple(
        segment for segment in plan.segments[:first] if segment.kind == "move"
    )
    if ways_are_clear(arm, mechanism, np.array(plan.start)[None], begin[None])[0]:
        unused = max(segment.id for segment in plan.segments) + 1
        way = (Segment(unused, "move", tuple(begin.tolist()), segment.posture),)
    rest = replace(plan, segments=(*way, *plan.segments[first:]))
    check_plan(rest, arm, mechanism)
    return with_robot_time(rest, arm.limits(mechanism))


def _driven(plan: Plan, run: Run) -> set[int]:
    """Segments that a run finished with every sample on disk; strokes and ramps count only if
    both halves of the pair did.
    """
    finished = {
        event["segment"]
        for event in run.events
        if event["event"] == "finished" and event["row"] <= run.rows
    }
    pairs = [
        (segment.mirror_of, segment.id)
        for segment in plan.segments
        if segment.mirror_of is not None
    ]
    pairs += [
        (up.id, down.id)
        for up, down in pairwise(plan.segments)
        if up.kind == down.kind == "ramp" and (up.joint, up.posture) == (down.joint, down.posture)
    ]
    return finished - {id_ for pair in pairs if not finished.issuperset(pair) for id_ in pair}
