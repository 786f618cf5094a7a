"""Optimal trajectory of figaroh (PyPI) for an arm and its limits, if figaroh and its
dependencies are installed.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from stribeck.experiments.excitation.allowance import Allowance
from tests.judges import Pinocchio

# defaults of figaroh: waypoints of a segment, and seconds between two waypoints
_WAYPOINTS, _SECONDS = 5, 2.0
_ATTEMPTS = 3  # attempts for a segment whose optimisation fails
_CONFIG = """
robot: {{name: arm}}
tasks:
  identification:
    enabled: true
    mechanics: {{}}
    joints: {{active_joints: {names}}}
    problem: {{}}
    signal_processing: {{sampling_frequency: {rate}, cutoff_frequency: 4.0}}
  optimal_trajectory:
    enabled: true
    problem: {{soft_lim: 0.0, max_attempts: 1000, max_iterations: {turns}, segment_attempts: {attempts}}}
    trajectory: {{waypoints: {waypoints}, frequency: {rate}, segment_duration: {seconds}}}
"""


def trajectory(
    allowance: Allowance, seconds: float, rate: float, samples: float = 20.0, turns: int = 30
) -> tuple[tuple[np.ndarray, ...] | None, float]:
    """Return time, positions, velocities and accelerations at a rate [Hz], and the design time
    [s]; None without figaroh.

    `samples` (per second) and `turns` (iterations of IPOPT) are options of figaroh's optimisation.
    """
    try:
        import cyipopt  # noqa: F401
        import pinocchio as pin
        from figaroh.optimal.base_optimal_trajectory import (
            BaseOptimalTrajectory,
            BaseTrajectoryIPOPTProblem,
        )
    except ImportError:
        return None, 0.0

    class Trajectory(BaseOptimalTrajectory):
        def create_ipopt_problem(self, *given: Any) -> Any:
            return BaseTrajectoryIPOPTProblem(self, *given)

    mechanism = allowance.design.mechanism
    model = Pinocchio(pin, mechanism).model
    model.lowerPositionLimit, model.upperPositionLimit = allowance.design.room
    model.velocityLimit, model.effortLimit = allowance.velocity, allowance.torque
    robot = pin.RobotWrapper(model, pin.GeometryModel(), pin.GeometryModel())
    robot.geom_model = robot.collision_model
    config = Path(tempfile.mkdtemp()) / "figaroh.yaml"
    config.write_text(
        _CONFIG.format(
            names=list(mechanism.names),
            rate=samples,
            turns=turns,
            attempts=_ATTEMPTS,
            waypoints=_WAYPOINTS,
            seconds=_SECONDS,
        ),
        encoding="utf-8",
    )
    np.random.seed(0)  # noqa: NPY002 - figaroh's random generator
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        made = Trajectory(robot, list(mechanism.names), str(config))
        made.identif_config |= {key: list(range(mechanism.n)) for key in ("act_idxq", "act_idxv")}
        made.initialize()
        found = made.solve(int(np.ceil(seconds / (_WAYPOINTS - 1) / _SECONDS)))
    took = time.perf_counter() - began
    return _sampled(made, found, mechanism.n, rate), took


def _sampled(made: Any, found: dict[str, Any], n: int, rate: float) -> tuple[np.ndarray, ...]:
    """Sample figaroh's splines at a rate: segments in sequence, at rest at every waypoint."""
    still = np.zeros((n, _WAYPOINTS))
    parts: list[list[np.ndarray]] = []
    for t, q in zip(found["T_F"], found["P_F"], strict=True):
        t = np.asarray(t).ravel()
        times = t[0] + _SECONDS * np.arange(_WAYPOINTS)
        at = [int(np.argmin(np.abs(t - one))) for one in times]
        _, *motion = made.CB.get_full_config(
            rate, np.matrix(times).T, np.asarray(q)[at].T, still, still
        )
        parts.append([np.asarray(one)[:-1] for one in motion])
    q, dq, ddq = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return np.arange(len(q)) / rate, q, dq, ddq
