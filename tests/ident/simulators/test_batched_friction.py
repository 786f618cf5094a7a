"""Friction of batches in JAX, torch and the array API's strict library against
NumPy, and its derivatives.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest

from stribeck import BatchedFriction, Calibration, joint_loads, load_mechanism
from stribeck.ident.arrays import floats, library_of
from stribeck.ident.calibration.calibration import Calibration as Calibrated
from stribeck.ident.errors import InputError
from stribeck.ident.laws.coulomb_viscous import COULOMB_VISCOUS
from stribeck.ident.laws.law_table import LAWS
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.model.loads import JointLoads
from stribeck.ident.ripple.wave import COGGING, FRICTION
from stribeck.ident.temperature.joint_temperature import JointTemperature
from stribeck.mujoco import attach
from tests.ident.calibration.test_feedforward import calibration, everything, joint, motion
from tests.ident.simulators.test_mujoco_friction import one, swing, wave

NAMES = load_mechanism("lab6").names
SEEDS = range(15)  # all laws with all loads
LIBRARIES = "array_api_strict", "jax.numpy", "torch"


@pytest.fixture
def jax() -> Iterator[ModuleType]:
    """JAX with double precision."""
    found = pytest.importorskip("jax")
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", False)


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> ModuleType:
    """An array library."""
    if request.param == "jax.numpy":
        return request.getfixturevalue("jax").numpy
    return pytest.importorskip(request.param)


def made(seed: int) -> tuple[Calibrated, np.ndarray, JointLoads]:
    """An arm with six combinations of law and load, velocities with rests among them, and loads."""
    found = calibration(everything(NAMES, seed))
    q, dq, ddq = motion(seed, len(NAMES))
    dq[0] = 0.0
    return found, dq, joint_loads(found.mechanism, q, dq, ddq)


def of_library(
    xp: ModuleType, loads: JointLoads, needs: tuple[str, ...], dtype: Any
) -> dict[str, Any]:
    return {kind: xp.asarray(getattr(loads, kind), dtype=dtype) for kind in needs}


@pytest.mark.parametrize("seed", SEEDS)
def test_friction_is_that_of_the_calibration(seed: int) -> None:
    found = calibration(everything(NAMES, seed))
    q, dq, ddq = motion(seed, len(NAMES))
    loads = joint_loads(found.mechanism, q, dq, ddq)
    np.testing.assert_allclose(
        BatchedFriction(found)(dq, loads), found.friction(q, dq, ddq), rtol=1e-14
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_all_libraries_agree_with_numpy(seed: int, xp: ModuleType) -> None:
    found, dq, loads = made(seed)
    friction = BatchedFriction(found)
    expected = friction(dq, loads)
    for dtype, error in ((xp.float64, 1e-12), (xp.float32, 1e-5)):
        got = friction(xp.asarray(dq, dtype=dtype), of_library(xp, loads, friction.needs, dtype))
        assert got.dtype == dtype
        assert np.abs(np.asarray(got) - expected).max() < error * np.abs(expected).max()
        for ours, theirs in zip(
            friction.limits(
                xp.asarray(dq, dtype=dtype), of_library(xp, loads, friction.needs, dtype)
            ),
            friction.limits(dq, loads),
            strict=True,
        ):
            assert ours.dtype == dtype
            assert np.abs(np.asarray(ours) - theirs).max() <= error * np.abs(expected).max()


def test_directions_ripple_and_temperature_in_all_libraries(xp: ModuleType) -> None:
    found, q, dq, loads = with_everything()
    friction = BatchedFriction(found)
    assert friction.needs == ("torque", "bending", "axial", "tau")
    at = np.array([20.0, 30.0, np.nan, 35.0, 40.0, 10.0])
    expected = friction(dq, loads, q, at)
    np.testing.assert_allclose(
        expected, found.friction_under(loads, found.mechanism, q, dq, at), rtol=1e-13
    )
    own = of_library(xp, loads, friction.needs, xp.float64)
    got = friction(xp.asarray(dq), own, xp.asarray(q), at)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12, atol=1e-12)
    limits = friction.limits(xp.asarray(dq), own, xp.asarray(q), at)
    for ours, theirs in zip(limits, friction.limits(dq, loads, q, at), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12)


def with_everything() -> tuple[Calibrated, np.ndarray, np.ndarray, JointLoads]:
    """An arm with load components, both kinds of differences between directions, ripple,
    offsets and temperature laws.
    """
    slope, floor = (Parameter(value, None, None, None, "", "identified") for value in (-0.01, 0.3))
    warm = JointTemperature(
        25.0,
        "linear",
        "exponential",
        {
            "coulomb_temperature_slope": slope,
            "viscous_temperature_decay": replace(floor, value=12.0),
            "viscous_temperature_floor": floor,
        },
        (20.0, 40.0),
        0.0,
        0.0,
    )
    parts = joint("stribeck", "none", 1)
    coefficients = {
        f"{name}_coefficient_{part}": floor
        for name in ("coulomb", "static")
        for part in ("bending", "axial")
    }
    joints = {
        "j1": replace(parts, load="components", parameters={**parts.parameters, **coefficients}),
        "j2": replace(
            joint("stribeck", "torque", 2),
            directional="driving",
            gravity={"driving_difference": floor},
        ),
        "j3": replace(
            joint("power", "none", 3),
            ripple=(wave(COGGING, 12.0, 0.2, 0.3), wave(FRICTION, 30.0, 0.1, 0.0)),
        ),
        "j4": replace(joint("stribeck-loaded-viscous", "torque", 4), temperature=warm),
        "j5": replace(
            joint("saturating", "none", 5),
            directional="viscous",
            gravity={"viscous_difference": slope},
        ),
        "j6": replace(joint("coulomb-viscous", "none", 6), temperature=warm, offset=0.4),
    }
    found = calibration(joints)
    q, dq, ddq = motion(0, len(NAMES))
    return found, q, dq, joint_loads(found.mechanism, q, dq, ddq)


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_are_those_of_the_law(seed: int, jax: ModuleType) -> None:
    """By JAX and torch, inside compiled and mapped functions, against
    central differences in NumPy.
    """
    found, dq, loads = made(seed)
    friction, dq = BatchedFriction(found), dq[1:]
    known = {kind: getattr(loads, kind)[1:] for kind in friction.needs}
    h = 1e-6
    expected = (friction(dq + h, known) - friction(dq - h, known)) / (2.0 * h)
    torch = pytest.importorskip("torch")
    slopes = jax.jit(jax.vmap(jax.grad(lambda w, own: friction(w, own).sum())))(dq, known)
    np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    w = torch.tensor(dq, requires_grad=True)
    friction(w, known).sum().backward()
    np.testing.assert_allclose(w.grad, slopes, rtol=1e-10)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_derivatives_by_parameters(name: str, jax: ModuleType) -> None:
    """Laws are linear in most parameters: JAX's derivative is then the column of the fit."""
    law, w, load = LAWS[name], np.linspace(-1.0, 1.0, 8), np.full(8, 2.0)
    values = joint(name, "torque", 3).values
    slopes = jax.jacobian(lambda own: law.torque(jax.numpy.asarray(w), own, load))(values)
    columns = law.columns(w, load, {key: values[key] for key in law.nonlinear})
    for key, column in zip((*law.linear, *law.with_load), columns.T, strict=True):
        np.testing.assert_allclose(slopes[key], column, rtol=1e-12, atol=1e-12)


def test_loads_follow_from_reactions(xp: ModuleType) -> None:
    found = calibration(
        {
            name: joint("stribeck", kind, k)
            for k, (name, kind) in enumerate(
                zip(
                    NAMES, ("torque", "bending", "radial", "axial", "normal", "normal"), strict=True
                )
            )
        }
    )
    q, dq, ddq = motion(3, len(NAMES))
    loads, friction = joint_loads(found.mechanism, q, dq, ddq), BatchedFriction(found)
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_path("data/arms/lab6/lab6.urdf"))
    axes = np.empty((len(q), len(NAMES), 3))
    for row, place in zip(axes, q, strict=True):
        data.qpos[:] = place
        mujoco.mj_kinematics(model, data)
        row[:] = data.xaxis
    given = friction.loads(xp.asarray(loads.force), xp.asarray(loads.moment), xp.asarray(axes))
    assert set(given) == {"torque", "bending", "radial", "axial", "normal"}
    for kind, values in given.items():
        np.testing.assert_allclose(np.asarray(values), loads.get(kind), rtol=1e-9, atol=1e-9)


def test_a_load_of_zero_has_a_finite_derivative(jax: ModuleType) -> None:
    friction = BatchedFriction(calibration({"j1": joint("stribeck", "radial", 0)}))
    axis = jax.numpy.array([[0.0, 0.0, 1.0]])
    slope = jax.grad(lambda force: friction.loads(force, force, axis)["radial"].sum())(4.0 * axis)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("law", sorted(LAWS))
def test_limits_are_those_of_attach(law: str) -> None:
    """With them, a joint of a simulation has the friction of the law."""
    found = one(law)
    model, data = swing(0.001)
    for speed in (-0.6, -0.01, 0.05, 1.0):
        limit = BatchedFriction(found).limits(np.array([speed]))
        with attach(model, data, found) as friction:
            data.qvel[0] = speed
            friction.update()
            assert limit.frictionloss[0] == pytest.approx(
                model.dof_frictionloss[0], rel=1e-12, abs=1e-12
            )
            assert limit.damping[0] == pytest.approx(model.dof_damping[0], rel=1e-12)
        felt = np.sign(speed) * limit.frictionloss + limit.damping * speed
        assert felt == pytest.approx(found.joints["swing"].torque([speed]), rel=1e-12)


def test_at_rest_the_limit_is_static_friction_in_the_direction_of_motion() -> None:
    found = one(
        directional="viscous",
        gravity={"viscous_difference": Parameter(0.1, None, None, None, "", "identified")},
    )
    limits = BatchedFriction(found).limits
    assert limits(np.zeros(1)).frictionloss == pytest.approx(1.5)
    # 0.4 forward would be more than backward
    assert limits(np.zeros(1)).damping == pytest.approx(0.3)
    assert limits(np.zeros((3, 1)), way=-np.ones((3, 1))).frictionloss.shape == (3, 1)


def test_an_offset_and_cogging_are_no_friction() -> None:
    found = one(ripple=(wave(COGGING, 12.0, 0.2, 0.3), wave(FRICTION, 30.0, 0.1, 0.0)), offset=0.4)
    q = np.array([0.3])
    limit = BatchedFriction(found).limits(np.array([-0.2]), q=q)
    assert limit.offset == pytest.approx(0.4 + 0.2 * np.sin(12.0 * q + 0.3))
    sliding = found.joints["swing"].torque([0.2]) + 0.1 * np.sin(30.0 * q)
    assert limit.frictionloss + 0.2 * limit.damping == pytest.approx(sliding)


def test_missing_loads_positions_and_columns_are_named() -> None:
    friction = BatchedFriction(calibration({"j2": joint("stribeck", "torque", 0)}))
    with pytest.raises(
        InputError, match="loads has bending, but friction of the joints depends on torque"
    ):
        friction(np.zeros(1), {"bending": np.zeros(1)})
    with pytest.raises(InputError, match=r"dq has shape \(2,\); its last axis needs 1 values"):
        friction(np.zeros(2), {"torque": np.zeros(1)})
    with pytest.raises(InputError, match="q is None, but friction of swing ripples"):
        BatchedFriction(one(ripple=(wave(FRICTION, 30.0, 0.1, 0.0),)))(np.zeros(1))
    with pytest.raises(InputError, match="loads is list; a dictionary"):
        friction(np.zeros(1), [1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"loads": {"torque": np.zeros((2, 1))}},
        {"temperature": [20.0, 25.0]},
        {"way": np.ones((2, 1))},
    ],
)
def test_states_of_different_numbers_are_named(wrong: dict) -> None:
    friction = BatchedFriction(calibration({"j2": joint("stribeck", "torque", 0)}))
    with pytest.raises(
        InputError, match=r"dq has shape \(3, 1\).* has shape \(2,.*all need the shape of dq"
    ):
        friction.limits(np.zeros((3, 1)), **({"loads": {"torque": np.zeros((3, 1))}} | wrong))


def test_shared_motors_are_refused() -> None:
    found = Calibration.load("data/golden")
    shared = replace(found, motors=replace(found.motors, motors={"m1": object()}))
    with pytest.raises(InputError, match="its motors move several joints"):
        BatchedFriction(shared)


def test_a_law_that_computes_with_numpy_is_named(
    xp: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stubborn(
        w: Any, coulomb: float, viscous: float, coulomb_coefficient: float = 0.0, load: Any = None
    ) -> Any:
        return coulomb * np.sign(np.asarray(w)) + viscous * np.asarray(w)

    monkeypatch.setitem(
        LAWS, "stubborn", replace(COULOMB_VISCOUS, name="stubborn", function=stubborn)
    )
    own = replace(joint("coulomb-viscous", "none", 0), law="stubborn")
    friction = BatchedFriction(calibration({"j1": own}))
    with pytest.raises(InputError, match="the law stubborn computes with numpy"):
        friction(xp.asarray([0.1]))


@pytest.mark.parametrize("value", [0.5, [0.5], np.float32(0.5), np.ones(2, dtype=np.float32)])
def test_what_is_no_array_of_another_library_is_numpys_in_double_precision(value: Any) -> None:
    assert library_of(value) is np
    assert floats(value).dtype == np.float64
