"""A horizontal planar machine, whose joints share its weight as if all
joints were equally stiff.
"""

import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import Branch
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.dynamics import kinematics
from stribeck.ident.model.files.mechanism_toml import mechanism_from_table
from stribeck.ident.model.loads import joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.places import DATA

PATH = DATA / "arms" / "planar-3-prr" / "planar-3-prr.mechanism.toml"
Q = np.array([[0.002, -0.001, 0.001]])


def flat(**changes: Any) -> Mechanism:
    """Return the 3-PRR with gravity across its plane and without a support of the platform."""
    table = tomllib.loads(PATH.read_text(encoding="utf-8"))
    table["joints"][0]["type"] = "free"
    return mechanism_from_table({**table, "gravity": [0.0, 0.0, -9.81], **changes}, PATH)


def test_shared_wrenches_are_the_least_squares_solution() -> None:
    """Least squares over all joints of the balance of each body, set up without
    the closures of the model.
    """
    m = flat(sharing="equal")
    motion = close_loops(m, Q)
    pose, found = kinematics(replace(m, closures=()), motion.q), closed_loads(m, motion)
    length = Branch(m, m.active, m.passive).length
    links = {
        name: m.names.index(name)
        for name in (*(f"{kind}{k}" for kind in ("slider", "link") for k in (1, 2, 3)),)
    }
    platform = next(j for j in range(m.n) if m.names[j].startswith("platform") and m.mass[j] > 0.0)
    joints = [(None, f"slider{k}", pose.origin[0, links[f"slider{k}"]]) for k in (1, 2, 3)]
    joints += [(f"slider{k}", f"link{k}", pose.origin[0, links[f"link{k}"]]) for k in (1, 2, 3)]
    ends = [
        pose.origin[0, j] + pose.rotation[0, j] @ closure.points[0]
        for closure in m.closures
        for j in (closure.links[0],)
    ]
    joints += [("platform", f"link{k}", end) for k, end in zip((1, 2, 3), ends, strict=True)]
    bodies = [*links, "platform"]
    A, b = np.zeros((6 * len(bodies), 6 * len(joints))), np.zeros(6 * len(bodies))
    for k, name in enumerate(bodies):
        j = links.get(name, platform)
        com, weight = (
            pose.origin[0, j] + pose.rotation[0, j] @ m.com[j],
            np.array([0.0, 0.0, -9.81 * m.mass[j]]),
        )
        b[6 * k : 6 * k + 3] = -weight
        for i, (before, after, place) in enumerate(joints):
            sign = 1.0 if after == name else -1.0 if before == name else 0.0
            x, y, z = place - com
            A[6 * k : 6 * k + 3, 6 * i : 6 * i + 3] = sign * np.eye(3)
            A[6 * k + 3 : 6 * k + 6, 6 * i : 6 * i + 3] = sign * np.array(
                [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
            )
            A[6 * k + 3 : 6 * k + 6, 6 * i + 3 : 6 * i + 6] = sign * length * np.eye(3)
    free = [6 * i + 5 for i in range(3, 9)]  # pins take no moment about their axes
    kept = np.setdiff1d(np.arange(A.shape[1]), free)
    least = np.zeros(A.shape[1])
    least[kept] = np.linalg.lstsq(A[:, kept], b, rcond=1e-12)[0]
    np.testing.assert_allclose(A @ least, b, atol=1e-9)
    least = least.reshape(9, 6)
    for i, (_, name, _) in enumerate(joints[:6]):
        np.testing.assert_allclose(found.joints.force[0, links[name]], least[i, :3], atol=1e-7)
        np.testing.assert_allclose(
            found.joints.moment[0, links[name]], length * least[i, 3:], atol=1e-7
        )
    np.testing.assert_allclose(-found.force[0], least[6:, :3], atol=1e-7)
    carried = found.joints.force[0, [links[f"slider{k}"] for k in (1, 2, 3)], 2].sum()
    assert carried == pytest.approx(9.81 * m.mass.sum())


def test_undetermined_loads_are_shared_only_on_request() -> None:
    """By default loads are nan; with sharing = "equal" the sliders' normal load follows from
    their forces and moments.
    """
    loads = joint_loads(driven_joints(flat()), Q)
    assert np.isnan(loads.normal).all()
    shared = joint_loads(driven_joints(flat(sharing="equal")), Q)
    np.testing.assert_allclose(shared.tau, loads.tau, atol=1e-9)
    across, along = shared.moment[0].copy(), shared.moment[0, :, 0]
    across[:, 0] = 0.0
    expected = (
        np.linalg.norm(across, axis=1) / 0.05
        + np.linalg.norm(shared.force[0, :, 1:], axis=1)
        + np.abs(along) / 0.05
    )
    np.testing.assert_allclose(shared.normal[0], expected, rtol=1e-9)
    with pytest.raises(InputError, match="sharing"):
        flat(sharing="fair")
