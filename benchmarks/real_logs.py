"""Real logs with published results, as runs; the logs have their own READMEs and lie
beside the project, not in it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.arm_tables import DriverTable, JointTable, Tool, Workspace
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.log.run import Run

LOGS = Path(__file__).parent.parent.parent / "shared" / "data"
_START = {"start": "2000-01-01T00:00:00+00:00"}  # placeholder: no log states its start
EMPS_FORCE = 35.1507  # N/V; force per motor voltage
TX40_RATIO = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
TX40_COUPLING = 32.0  # motor 6 moves with axis 5


def emps_run(since: float = 0.0, until: float = np.inf) -> Run:
    """Log of the Electro-Mechanical Positioning System; the force is
    computed from the motor voltage.
    """
    log = loadmat(LOGS / "emps" / "DATA_EMPS.mat")
    t, q, told, volts = (log[name].ravel() for name in ("t", "qm", "qg", "vir"))
    rows = (t >= since) & (t < until)
    return Run(
        Path("emps"),
        _START,
        load_arm("emps"),
        (),
        ("carriage",),
        t[rows],
        np.zeros(rows.sum(), dtype=int),
        {"q": q[rows, None], "tau": EMPS_FORCE * volts[rows, None], "q_cmd": told[rows, None]},
    )


def tx40_run() -> Run:
    """Log of the Stäubli TX40, converted from motors to joints; one of
    the motors moves two joints.
    """
    folder = LOGS / "tx40"
    at_motors, torques = (
        np.loadtxt(folder / f"{name}_data.csv", delimiter=",", skiprows=1)
        for name in ("pos_read", "curr")
    )
    to_motors = np.diag(TX40_RATIO)
    to_joints = to_motors.copy()
    to_motors[5, 4] = to_joints[4, 5] = TX40_COUPLING
    q = np.linalg.solve(to_motors, at_motors.T).T + np.array(
        [0.0, -np.pi / 2.0, np.pi / 2.0, 0.0, 0.0, 0.0]
    )
    run = as_run(
        folder / "tx40_mdh_modified.urdf", np.arange(len(q)) / 5000.0, q, torques @ to_joints.T
    )
    return replace(
        run,
        arm=replace(run.arm, transmission={"joint_6": {"joint_5": TX40_COUPLING / TX40_RATIO[5]}}),
    )


def z1_log() -> Mapping[str, Array]:
    """Log of the Unitree Z1: positions, set-points, commanded torques, gains."""
    with np.load(LOGS / "z1" / "z1.npz") as log:
        return {name: log[name] for name in log.files}


def z1_run(rows: slice = slice(None)) -> Run:
    """Run of the Unitree Z1 with the commanded torques."""
    log = z1_log()
    return as_run(
        LOGS / "z1" / "z1.xml",
        log["time"][rows],
        log["dof_pos"][rows],
        log["des_dof_torque"][rows],
        log["des_dof_pos"][rows],
    )


def as_run(model: Path, t: Array, q: Array, tau: Array, told: Array | None = None) -> Run:
    """Make a run of a log with the arm's model only, and with position
    references if the log has them.
    """
    names = load_mechanism(model).names
    arm = ArmFile(
        Path(f"{model.stem}.toml"),
        model.stem,
        model,
        (0.0, 0.0, -9.81),
        "as logged",
        Tool(),
        Workspace(),
        DriverTable(),
        {name: JointTable() for name in names},
        {},
    )
    return Run(
        Path(model.stem),
        _START,
        arm,
        (),
        names,
        t - t[0],
        np.zeros(len(t), dtype=int),
        {"q": q, "tau": tau, **({} if told is None else {"q_cmd": told})},
    )
