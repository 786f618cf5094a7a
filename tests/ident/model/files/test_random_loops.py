"""Random machines of hinges, slides and balls in space, closed by random
constraints, against MuJoCo.
"""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.errors import ModelError
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.held_in_mujoco import judged
from tests.model_texts import written

# singular value of what passive joints do to the constraint, in m and rad: well away from singular
_LEAST = 0.02


def numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def machine(rng: np.random.Generator) -> str:
    """An MJCF with a random tree, one pair of whose bodies, or a body and the
    world, a constraint ties.
    """
    n = int(rng.integers(5, 10))
    parent = [-1, *(int(rng.integers(max(-1, j - 3), j)) for j in range(1, n))]

    def body(j: int) -> str:
        kind = rng.choice(["hinge", "hinge", "hinge", "slide", "ball"])
        moves = (
            ""
            if kind == "ball"
            else (
                f'axis="{numbers(rng.normal(size=3))}" '
                f'pos="{numbers(rng.normal(scale=0.1, size=3))}" '
                f'ref="{rng.choice([0.0, rng.uniform(-10.0, 10.0) * (kind == "hinge")]):.3f}"'
            )
        )
        return (
            f'<body name="b{j}" pos="{numbers(rng.normal(scale=0.4, size=3))}" '
            f'euler="{numbers(rng.normal(size=3) * 40.0)}"><joint name="j{j}" type="{kind}" '
            f'{moves}/><inertial pos="{numbers(rng.normal(scale=0.1, size=3))}" '
            f'mass="{rng.uniform(0.3, 2.0):.3f}" diaginertia="0.01 0.012 0.014"/>'
            + "".join(body(k) for k in range(n) if parent[k] == j)
            + "</body>"
        )

    tree = "".join(body(j) for j in range(n) if parent[j] < 0)
    one, other = rng.choice(n, 2, replace=False)
    there, anchor = (
        rng.choice([f"b{other}", "world"], p=[0.7, 0.3]),
        numbers(rng.normal(scale=0.2, size=3)),
    )
    closed = rng.choice(
        [
            f'<connect body1="b{one}" body2="{there}" anchor="{anchor}"/>',
            f'<weld body1="b{one}" body2="{there}" anchor="{anchor}"/>',
            f'<weld body1="{there}" body2="b{one}"/>',
        ]
    )
    return (
        '<mujoco><option gravity="3 -2 '
        f'-9"/><worldbody>{tree}</worldbody><equality>{closed}</equality></mujoco>'
    )


def drives_of(text: str, rng: np.random.Generator) -> list[str]:
    """Hinges and slides that say where all other joints are; none where there are no such ones."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    mujoco.mj_fwdPosition(model, data)
    J = data.efc_J.reshape(-1, model.nv)[: data.ne]
    passive = [
        dof
        for dof in range(model.nv)
        if model.jnt_type[model.dof_jntid[dof]] == mujoco.mjtJoint.mjJNT_BALL
    ]
    rank = np.linalg.matrix_rank(J, tol=1e-6)
    for dof in rng.permutation([dof for dof in range(model.nv) if dof not in passive]).tolist():
        if (
            len(passive) < rank
            and np.linalg.svd(J[:, [*passive, dof]], compute_uv=False)[-1] > 2.0 * _LEAST
        ):
            passive.append(dof)
    if len(passive) != rank or np.linalg.svd(J[:, passive], compute_uv=False)[-1] < _LEAST:
        return []
    return [
        model.joint(int(model.dof_jntid[dof])).name for dof in range(model.nv) if dof not in passive
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_holding_torques_of_a_random_machine_agree_with_mujoco(seed: int, tmp_path: Path) -> None:
    rng, tried, refused = np.random.default_rng(seed), 0, 0
    for _ in range(20):
        text = machine(rng)
        if drives := drives_of(text, rng):
            path = written(tmp_path, text, "machine.xml")
            tables = "".join(f"[joints.{name}]\n" for name in drives)
            head = 'schema = 1\nname = "m"\nmodel = "machine.xml"\ngravity = [3.0, -2.0, -9.0]\n'
            q = rng.uniform(-0.02, 0.02, (2, len(drives)))
            try:
                driven = load_mechanism(written(tmp_path, head + tables, "m.toml"))
                tau = inverse_dynamics(driven, q)
            except (ModelError, PostureError):
                # zero, or a place beside it, may be out of reach of such a machine
                refused += 1
                continue
            held, _ = judged(path, driven.names, q, tau)
            np.testing.assert_allclose(tau, held, rtol=0, atol=1e-9 * np.abs(held).max())
            tried += 1
    assert tried > 2 * refused
