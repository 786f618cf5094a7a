"""MuJoCo as judge of the holding torques of a machine with loops, with its own
constraints from the unchanged file.
"""

from pathlib import Path

import mujoco
import numpy as np


def judged(
    path: Path, drives: tuple[str, ...], q: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, float]:
    """Torques that hold the drives at each q, (N, n), by MuJoCo's bias forces and
    constraint Jacobian; and the greatest acceleration under the torques tau by its
    constraint solver, over that without any.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    )
    model.opt.jacobian, model.opt.tolerance, model.opt.iterations = (
        mujoco.mjtJacobian.mjJAC_DENSE,
        0.0,
        500,
    )
    model.eq_solimp[:] = [0.9999, 0.9999, 0.001, 0.5, 2.0]
    data = mujoco.MjData(model)
    place, dof = (
        np.array([getattr(model.joint(name), key)[0] for name in drives])
        for key in ("qposadr", "dofadr")
    )
    others, held, moves = np.setdiff1d(np.arange(model.nv), dof), [], []
    for wanted, torque in zip(q, tau, strict=True):
        begin = model.qpos0[place]
        data.qpos[:] = model.qpos0
        for part in np.linspace(0.0, 1.0, 2 + int(np.abs(wanted - begin).max() / 0.02)):
            data.qpos[place] = begin + part * (wanted - begin)
            for _ in range(10):
                mujoco.mj_fwdPosition(model, data)
                back = np.zeros(model.nv)
                J = data.efc_J.reshape(-1, model.nv)[: data.ne]
                back[others] = -np.linalg.lstsq(J[:, others], data.efc_pos[: data.ne], rcond=1e-9)[
                    0
                ]
                mujoco.mj_integratePos(model, data.qpos, back, 1.0)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max() < 1e-10
        ratio = -np.linalg.lstsq(J[:, others], J[:, dof], rcond=1e-9)[0]
        held.append(data.qfrc_bias[dof] + ratio.T @ data.qfrc_bias[others])
        for force in (0.0, torque):
            data.qfrc_applied[dof] = force
            mujoco.mj_forward(model, data)
            moves.append(np.abs(data.qacc).max())
    return np.array(held), max(moves[1::2]) / max(moves[::2])
