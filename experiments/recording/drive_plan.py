"""Driving a plan: connect an arm, check the plan, move along it and record a run."""

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

# rad or m that a joint may move before power-up; less than the clearance of a path from obstacles
_STOOD = 0.02
# part of velocity and acceleration limits used for the first motion of real hardware
_FIRST_WAY = 0.1


def drive_plan(
    arm: ArmFile,
    plan: Plan,
    campaign: Path,
    seed: int | None = None,
    note: str = "",
    watch: Watch | None = None,
    continues: str | None = None,
    device: Arm | None = None,
    enough: Enough | None = None,
    options: Mapping[str, Any] | None = None,
) -> Path:
    """Move an arm along a plan and record it.

    An exceeded limit, a fault or Ctrl-C stops the arm, closes the run with the reason and is raised
    again. Recorded samples are kept.

    Parameters
    ----------
    arm : ArmFile
        The arm.
    plan : Plan
        The plan; it is checked against the arm before motion.
    campaign : Path
        Campaign folder; the run goes into its ``runs/``.
    seed : int, optional
        Seed of simulated noise.
    note : str
        The operator's note.
    watch, enough : callable, optional
        See `follow`.
    continues, options : optional
        See `RunWriter`.
    device : Arm, optional
        An arm that is connected already; a simulated arm keeps its temperature.

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
    folder = new_run_folder(
        campaign,
        plan.purpose if plan.purpose != FIT else "whole-arm" if together else "constant-speed",
    )
    with (
        RunWriter(
            folder,
            arm,
            mechanism,
            plan.method,
            arm.driver.rate,
            connected.resolution,
            plan_table(plan),
            seed,
            note,
            continues=continues,
            options=options,
            waits=arm.driver.kind == "simulated",
        ) as writer,
        _counted(device, writer),
        connected,
    ):
        check = checked_way(device, plan, arm, mechanism)
        connected.enable()
        follow(connected, plan, writer, watch, check, approach(arm), enough)
    return folder


def checked_way(
    device: Arm, plan: Plan, arm: ArmFile, mechanism: Mechanism
) -> Callable[[np.ndarray], None]:
    """Return the check of the path from the arm's position to the start of the plan, to be
    called when the arm is powered.

    The search for collisions takes a while, and drives on a bus would miss their heartbeat.
    Therefore the path is checked before the drives are powered; once powered, the joints must
    still be at the same position.
    """
    if not isinstance(device, WiredArm):
        return lambda stands: check_way(stands, plan, arm, mechanism, approach(arm))
    stood = device.stands()
    check_way(stood, plan, arm, mechanism, approach(arm))

    def stands_still(stands: np.ndarray) -> None:
        j = int(np.argmax(np.abs(stands - stood)))
        if abs(stands[j] - stood[j]) > _STOOD:
            raise DriverError(
                f"{mechanism.names[j]} stood at {stood[j]:.4g} {mechanism.position_unit(j)} when "
                f"the path to the start was checked, and at {stands[j]:.4g} after power-up; start "
                "again when the arm is at rest"
            )

    return stands_still


@contextmanager
def _counted(device: Arm, writer: RunWriter) -> Iterator[None]:
    """Write an event with the bus statistics of a run: start, cycles, late cycles, missed and
    damaged replies, error frames.

    The event is written after the arm has stopped, because the disk may be slow. It is left out
    if no drive was connected.
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
            writer.event(
                REPLIES,
                epoch=round(device.epoch, 6),
                cycles=tally.cycles - before.cycles,
                late=tally.late - before.late,
                missed=(tally.missed - before.missed).tolist(),
                corrupt=link.corrupt - corrupt,
                error_frames=link.error_frames - errors,
            )


def approach(arm: ArmFile) -> float:
    """Part of the velocity and acceleration limits for a joint's first motion, see `follow`."""
    return 1.0 if arm.driver.kind == "simulated" else _FIRST_WAY


def check_modes(plan: Plan, device: Arm, arm: ArmFile) -> None:
    """Refuse a plan with torque ramps if the driver has no torque mode."""
    if "torque" not in device.modes and any(segment.kind == "ramp" for segment in plan.segments):
        raise PlanError(
            f"{arm.path}: the plan has ramps of torque, but the driver {arm.driver.kind} has no "
            f"torque mode, only {', '.join(sorted(device.modes)) or 'none'}; breakaway cannot be "
            "measured with this driver"
        )
