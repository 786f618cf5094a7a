"""The order of tests, and which test process gets which file.

Tests of drives meet emulated drives in real time, and a virtual machine whose cores are all busy
stands still for a tenth of a second now and then. So these tests go first, with nothing beside
them; all other files wait until they are done.
"""

import os
from pathlib import Path, PurePath
from typing import Any

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# environment variable with the path of a file that is made once tests of drives are over
OVER = "STRIBECK_DRIVES_OVER"
REAL_TIME = (
    "tests/drivers/",
    "tests/test_reliability",
    "tests/experiments/cli/commands/test_emulate",
)
SIMULATED = ("tests/drivers/simulation/", "tests/drivers/test_supervisor")
HEAVY = ("test_reliability", "test_minute")  # one after the other: each takes a core or more
# long, and independent of each other: each kind of drive by itself
BY_DRIVE = ("test_company", "test_arm_contract")
KINDS = ("canopen", "dynamixel", "damiao", "cubemars", "odrive")
LONGEST = (
    "test_broken_off",
    "test_resumed",
    "test_emulate",
    "test_company",
    "test_arm_contract",
    "test_damiao",
    "test_dynamixel_axis",
    "test_odrive",
    "test_dynamixel_link",
    "test_cia402_axis",
    "test_check",
    "test_closed_chains",
    "test_campaign",
    "test_main_job",
    "test_passive_joints",
    "test_other_causes",
    "test_excitation_motion",
    "test_general_motion",
    "test_manual",
    "test_identified_memory",
    "test_forecast",
    "test_inertial_fit",
    "test_selection",
    "test_places",
    "test_fit_friction",
    "test_packaging",
    "test_gravity",
    "test_assumed_arm",
    "test_refused_values",
    "test_friction_memory",
    "test_spoiled_runs",
    "test_json",
    "test_fit_memory",
    "test_links_in_loop",
    "test_clearance",
    "test_agreement",
    "test_public_arms",
    "test_foreign",
    "test_cli",
    "test_mutations",
    "test_claims",
    "test_load_components",
    "test_unknown_tool",
    "test_lowest_speed_search",
    "test_tx40",
    "test_warm_up",
    "test_breakaway_ramps",
    "test_payloads",
    "test_plausibility",
    "test_plugins",
    "test_choice_benchmark",
    "test_fit_motion",
    "test_shared_motors",
    "test_whole_arm",
)


def in_real_time(nodeid: str) -> bool:
    """Whether a test meets drives over a wire."""
    return nodeid.startswith(REAL_TIME) and not nodeid.startswith(SIMULATED)


def place(nodeid: str) -> tuple[bool, int]:
    """By which tests are sorted: drives first, and the files that take longest, so that
    none is left over at the end.
    """
    stem = PurePath(nodeid.split("::", 1)[0]).stem
    order = (*HEAVY, *LONGEST)
    return not in_real_time(nodeid), order.index(stem) if stem in order else len(order)


def drive_of(nodeid: str) -> str:
    """Return the kind of drive among the parameters of a test; empty if there is none."""
    parameters = nodeid.partition("[")[2].rstrip("]").split("-")
    return next((kind for kind in KINDS if kind in parameters), "")


class DrivesFirst(LoadFileScheduling):
    """Files one by one to whichever process is free: first those with drives, of which heavy ones
    stay together, then others.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        if not in_real_time(nodeid):
            return file
        if PurePath(file).stem in HEAVY:
            return "drives, one after the other"
        return f"{file} {drive_of(nodeid)}" if PurePath(file).stem in BY_DRIVE else file

    def _reschedule(self, node: WorkerController) -> None:
        """More work for a process that has little left, unless that has to wait for drives.

        A process keeps its last test until it knows what comes after it, so one
        test each is as good as none.
        """
        if not self._next_waits():
            if OVER in os.environ and not any(
                map(in_real_time, next(iter(self.workqueue.values()), ()))
            ):
                Path(os.environ[OVER]).touch()
            for one in self.nodes:  # of whom some may have waited
                super()._reschedule(one)

    def _next_waits(self) -> bool:
        following: Any = next(iter(self.workqueue.values()), None)
        return (
            bool(following)
            and not any(map(in_real_time, following))
            and any(
                list(unit.values()).count(False) > 1 and any(map(in_real_time, unit))
                for units in self.assigned_work.values()
                for unit in units.values()
            )
        )
