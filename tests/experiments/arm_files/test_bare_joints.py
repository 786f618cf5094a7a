"""Models of bare joints, without load or with a mass on a lever."""

import numpy as np
import pytest

from stribeck.experiments.arm_files.bare_joints import bare_joints
from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import inverse_dynamics


def torque(tmp_path, q, *model, **mass):
    path = tmp_path / "bench.urdf"
    path.write_text(bare_joints(*model, **mass), encoding="utf-8")
    mechanism = mechanism_of(path, "bench", (0.0, 0.0, -9.81))
    rest = np.zeros((1, mechanism.n))
    return mechanism, inverse_dynamics(mechanism, np.full((1, mechanism.n), q), rest, rest)[0]


def test_joints_without_load_have_no_gravity_torque(tmp_path):
    mechanism, tau = torque(tmp_path, 0.7, ["a b", "c<d"])
    assert mechanism.names == ("a b", "c<d")
    np.testing.assert_allclose(tau, 0.0, atol=1e-12)


@pytest.mark.parametrize("q", [0.0, 0.5, np.pi / 2, 2.0])
def test_a_mass_on_a_lever_hangs_down_at_zero(tmp_path, q):
    _, tau = torque(tmp_path, q, ["motor"], mass=0.49, lever=0.1)
    np.testing.assert_allclose(tau, 0.49 * 0.1 * 9.81 * np.sin(q), atol=1e-9)


@pytest.mark.parametrize(
    ("names", "mass", "lever"),
    [([], 0, 0), (["a", "a"], 0, 0), ([" "], 0, 0), (["a"], -1, 1), (["a"], 1, -1)],
)
def test_invalid_names_masses_and_levers_are_refused(names, mass, lever):
    with pytest.raises(InputError):
        bare_joints(names, mass, lever)
