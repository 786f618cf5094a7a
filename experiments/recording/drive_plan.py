"""Driving a plan: an arm is connected, checked and moved along a plan, and what it measures goes into a run folder."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.drivers.arm import Arm
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.drivers.supervisor import Supervisor
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.experiments.errors import PlanError
from stribeck.experiments.plans.check_plan import check_plan, check_way
from stribeck.experiments.plans.plan import Plan, plan_table
from stribeck.experiments.recording.follow import Enough, Watch, follow
from stribeck.experiments.recording.run_folders import new_run_folder
from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.log.run import FIT, REPLIES
from stribeck.ident.model.mechanism import Mechanism

_STOOD = 0.02           # rad or m from where they stood, when they may then be: less than the room that ways leave
_FIRST_WAY = 0.1        # of velocity and acceleration limits: real hardware shows first whether it goes where it should


def drive_plan(arm: ArmFile, plan: Plan, campaign: Path, seed: int | None = None, note: str = "",
               watch: Watch | None = None, continues: str | None = None, device: Arm | None = None,
               enough: Enough | None = None, options: Mapping[str, Any] | None = None) -> Path:
    """Move an arm along a plan and record it.

    A breach of a limit, a fault or Ctrl-C stops the arm, closes the run with its reason and is raised again;
    everything recorded stays.

    Parameters
    ----------
    arm : ArmFile
        Which arm.
    plan : Plan
        Checked against the arm once more before anything moves.
    campaign : Path
        Folder whose ``runs/`` takes the run.
    seed : int, optional
        Seed of simulated noise.
    note : str
        The operator's note.
    watch, enough : callable, optional
        See `follow`.
    continues, options : optional
        See `RunWriter`.
    device : Arm, optional
        The arm, where it was connected before and stays the same: warm, if it is simulated.

    Returns
    -------
    Path
        The run folder.
    """
    mechanism = load_mechanism(arm)
    check_plan(plan, arm, mechanism)
    device = device or connect(arm, seed)
    check_modes(plan, device, arm)
    connected = Supervisor(device, mechanism.prismatic)
    together = any(segment.kind == "sweep" for segment in plan.segments)
    folder = new_run_folder(campaign, plan.purpose if plan.purpose != FIT else "whole-arm" if together else "constant-speed")
    with RunWriter(folder, arm, mechanism, plan.method, arm.driver.rate, connected.resolution, plan_table(plan), seed, note,
                   continues=continues, options=options, waits=arm.driver.kind == "simulated") as writer, \
            _counted(device, writer), connected:
        check = checked_way(device, plan, arm, mechanism)
        connected.enable()
        follow(connected, plan, writer, watch, check, approach(arm), enough)
    return folder


def checked_way(device: Arm, plan: Plan, arm: ArmFile, mechanism: Mechanism) -> Callable[[np.ndarray], None]:
    """Check of the way from where the arm stands to the plan's start, for when it is powered.

    To look for shapes in the way takes a while, in which drives on a bus hear nothing: they are asked where they stand before
    they are powered, and then must stand there still.
    """
    if not isinstance(device, WiredArm):
        return lambda stands: check_way(stands, plan, arm, mechanism, approach(arm))
    stood = device.stands()
    check_way(stood, plan, arm, mechanism, approach(arm))

    def stands_still(stands: np.ndarray) -> None:
        j = int(np.argmax(np.abs(stands - stood)))
        if abs(stands[j] - stood[j]) > _STOOD:
            raise DriverError(f"{mechanism.names[j]} stood at {stood[j]:.4g} {mechanism.position_unit(j)} and stands at "
                              f"{stands[j]:.4g} now that it is powered; the way to the start was not checked from there. Start "
                              "again once the arm is at rest")

    return stands_still


@contextmanager
def _counted(device: Arm, writer: RunWriter) -> Iterator[None]:
    """However motion on a bus ends, note when it began, its cycles, how many of them late, replies missed or damaged, and error
    frames.

    Noted once the arm was stopped: a disk may take its time. An arm that could not be connected has nothing to note.
    """
    if not isinstance(device, WiredArm):
        yield
        return
    before, link = replace(device.tally, missed=device.tally.missed.copy()), device.link
    errors, corrupt = link.error_frames, link.corrupt
    epoch = device.epoch
    try:
        yield
    finally:
        tally = device.tally
        if device.epoch != epoch:
            writer.event(REPLIES, epoch=round(device.epoch, 6), cycles=tally.cycles - before.cycles,
                         late=tally.late - before.late, missed=(tally.missed - before.missed).tolist(),
                         corrupt=link.corrupt - corrupt, error_frames=link.error_frames - errors)


def approach(arm: ArmFile) -> float:
    """Part of its limits within which each joint of an arm moves first: see `follow`."""
    return 1.0 if arm.driver.kind == "simulated" else _FIRST_WAY


def check_modes(plan: Plan, device: Arm, arm: ArmFile) -> None:
    """Refuse ramps of torque for an arm whose driver takes none."""
    if "torque" not in device.modes and any(segment.kind == "ramp" for segment in plan.segments):
        raise PlanError(f"{arm.path}: the plan has ramps of torque, but the driver {arm.driver.kind} has no torque mode, only "
                        f"{', '.join(sorted(device.modes)) or 'none'}; breakaway cannot be measured with it")
