"""The order of tests, and which test process gets which file.

Tests of drives meet emulated drives in real time, and a virtual machine whose cores are all busy stands still for a tenth of a
second now and then. So these tests go first, with nothing beside them; all other files wait until they are done.
"""

from pathlib import PurePath
from typing import Any

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

REAL_TIME = ("tests/drivers/", "tests/test_reliability", "tests/experiments/cli/commands/test_emulate")
SIMULATED = ("tests/drivers/simulation/", "tests/drivers/test_supervisor")
HEAVY = ("test_reliability", "test_resumed", "test_minute")      # one after the other: each takes a core or more
LONGEST = ("test_company", "test_arm_contract", "test_broken_off",
           "test_main_job", "test_campaign", "test_excitation_motion", "test_general_motion", "test_selection", "test_clearance",
           "test_forecast", "test_gravity", "test_fit_friction", "test_manual", "test_assumed_arm", "test_spoiled_runs",
           "test_packaging", "test_claims", "test_agreement", "test_unknown_tool", "test_mutations", "test_closed_chain",
           "test_foreign", "test_lowest_speed_search")


def in_real_time(nodeid: str) -> bool:
    """Whether a test meets drives over a wire."""
    return nodeid.startswith(REAL_TIME) and not nodeid.startswith(SIMULATED)


def place(nodeid: str) -> tuple[bool, int]:
    """By which tests are sorted: drives first, and the files that take longest, so that none is left over at the end."""
    stem = PurePath(nodeid.split("::", 1)[0]).stem
    order = (*HEAVY, *LONGEST)
    return not in_real_time(nodeid), order.index(stem) if stem in order else len(order)


class DrivesFirst(LoadFileScheduling):
    """Files one by one to whichever process is free: first those with drives, of which heavy ones stay together, then others."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "drives, one after the other" if in_real_time(nodeid) and PurePath(file).stem in HEAVY else file

    def _reschedule(self, node: WorkerController) -> None:
        """More work for a process that has little left, unless that has to wait for drives.

        A process keeps its last test until it knows what comes after it, so one test each is as good as none.
        """
        if not self._next_waits():
            for one in self.nodes:          # of whom some may have waited
                super()._reschedule(one)

    def _next_waits(self) -> bool:
        following: Any = next(iter(self.workqueue.values()), None)
        return bool(following) and not any(map(in_real_time, following)) and any(
            list(unit.values()).count(False) > 1 and any(map(in_real_time, unit))
            for units in self.assigned_work.values() for unit in units.values())
