"""Replay: send a recording through driver interface, supervisor, tracker and run writer again."""

from pathlib import Path

import numpy as np

from stribeck.drivers.arm import Arm, Command
from stribeck.drivers.errors import ReplayEnded
from stribeck.drivers.replay import ReplayArm
from stribeck.drivers.supervisor import Supervisor
from stribeck.experiments.plans.plan import Segment, plan_from_table
from stribeck.experiments.recording.drive_plan import approach
from stribeck.experiments.recording.follow import ENOUGH, Enough, Watch, follow
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import DONE, RECORD, Run


def replay_run(run: Run, campaign: Path, paced: bool = False, watch: Watch | None = None) -> Path:
    """Send a recording through driver interface, supervisor, tracker and run writer again.

    Parameters
    ----------
    run : Run
        Loaded with all signals.
    campaign : Path
        Campaign folder; the copy goes into its ``runs/`` under the same name.
    paced : bool
        Whether to replay in real time; otherwise as fast as possible.
    watch : callable, optional
        See `follow`.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    ReplayMismatch
        If the commands differ from the recorded ones.
    """
    arm, mechanism, record = ReplayArm(run, paced), load_mechanism(run.arm), run.record
    with RunWriter(
        campaign / "runs" / run.path.resolve().name,
        run.arm,
        mechanism,
        record["experiment"],
        arm.rate,
        arm.resolution,
        record.get("plan"),
        record.get("seed"),
        run.note,
    ) as writer:
        try:
            if record.get("plan"):
                with Supervisor(arm, mechanism.prismatic) as guarded:
                    guarded.enable()
                    follow(
                        guarded,
                        plan_from_table(record["plan"], run.path / RECORD),
                        writer,
                        watch,
                        share=approach(run.arm),
                        enough=_ended(run),
                    )
            else:
                with arm:
                    arm.enable()
                    _follow_recording(arm, run, writer, watch)
        except ReplayEnded:
            if run.closed is not None and run.closed.get("reason") == DONE:
                raise
    return writer.folder


def _ended(run: Run) -> Enough | None:
    """End the replay at the segment after which the recorded run ended early; None if
    the run was not ended early.
    """
    reason = next(
        (str(event["reason"]) for event in run.events if event.get("event") == ENOUGH), ""
    )
    return (lambda segment, _: reason if segment.id == run.segment[-1] else "") if reason else None


def _follow_recording(arm: Arm, run: Run, writer: RunWriter, watch: Watch | None) -> None:
    """Step through an imported log, which has no plan."""
    segment = Segment(0, "move", (), 0)
    for row in range(run.rows):
        sample = arm.step(Command(run.signals["dq_cmd"][row]))
        writer.sample(
            sample, run.signals["q_cmd"][row], run.signals["dq_cmd"][row], int(run.segment[row])
        )
        if watch and row % max(1, round(arm.rate / 10.0)) == 0:
            watch(segment, sample, float(np.ptp(run.t[: row + 1])))
