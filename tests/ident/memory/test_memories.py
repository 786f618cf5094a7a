"""Laws of presliding: known curves after a reversal, derivatives, and agreement of whole
motions with single steps.
"""

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stribeck.ident.memory.joint_memory import JointMemory, MemoryState
from stribeck.ident.memory.states.memories import (
    DAHL,
    LUGRE,
    MEMORIES,
    RELAXING,
    TWO_STATES,
    Drive,
    Memory,
    maxwell_slip,
)
from stribeck.ident.memory.states.path import Path

SLIP = maxwell_slip((0.5e-3, 2e-3, 6e-3))
VALUES = {
    "relaxing": {"presliding_distance": 2e-3},
    "dahl": {"presliding_distance": 2e-3, "dahl_exponent": 1.6},
    "two-states": {"presliding_distance": 1e-3, "second_distance": 4e-3, "first_share": 0.3},
    "lugre": {"bristle_stiffness": 3000.0, "bristle_damping": 8.0},
    "maxwell-slip": {"share_1": 0.5, "share_2": 0.3},
}
LAWS = [RELAXING, DAHL, TWO_STATES, LUGRE, SLIP]
T = np.arange(0.0, 8.0, 1e-3)
W = 0.05 * np.cos(1.3 * T) + 0.03 * np.cos(4.1 * T + 1.0)
Q = 0.05 / 1.3 * np.sin(1.3 * T) + 0.03 / 4.1 * np.sin(4.1 * T + 1.0)


def level(w):
    return 6.0 + 2.0 * np.exp(-((w / 0.03) ** 2))


def answered(law: Memory, values: dict[str, float]) -> tuple[np.ndarray, ...]:
    return law.answer(Drive(Path.of(Q), W, level(W), np.zeros((0, len(T)))), values)


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("relaxing", lambda far: np.exp(-far / 2e-3)),
        ("dahl", lambda far: (2.0**-0.6 + 0.6 * far / 2e-3) ** (-1.0 / 0.6) / 2.0),
    ],
)
def test_after_a_reversal_friction_approaches_the_other_direction_along_the_known_curve(name, left):
    position = np.concatenate((np.linspace(-0.2, 0.0, 2001), np.linspace(0.0, -0.02, 1001)[1:]))
    one = np.ones(len(position))
    force = MEMORIES[name].answer(
        Drive(Path.of(position), one, 5.0 * one, np.zeros((0, len(one)))), VALUES[name]
    )[0]
    far = -position[2001:]
    # Dahl's law with an exponent above 1 never quite saturates
    begin = force[2000] / 5.0
    np.testing.assert_allclose(
        force[2001:], 5.0 * (-1.0 + (1.0 + begin) * left(far)), rtol=2e-3, atol=2e-3
    )


@pytest.mark.slow
def test_bristles_follow_the_differential_equation():
    stiffness, damping = 3000.0, 8.0

    def speed(t):
        return 0.05 * np.cos(1.3 * t) + 0.03 * np.cos(4.1 * t + 1.0)

    def rate(t, z):
        return speed(t) - stiffness * np.abs(speed(t)) / level(speed(t)) * z

    bent = solve_ivp(
        rate, (0.0, T[-1]), [0.0], method="Radau", t_eval=T, rtol=1e-9, atol=1e-12, max_step=0.01
    ).y[0]
    expected = stiffness * bent + damping * rate(T, bent)
    force = answered(LUGRE, VALUES["lugre"])[0]
    assert np.sqrt(np.mean((force - expected) ** 2)) < 2e-3 * np.sqrt(np.mean(expected**2))


def test_maxwell_slip_remembers_a_closed_inner_loop():
    """After a small closed loop the force is the same as before it (return-point memory),
    unlike that of a single state.
    """
    out = np.concatenate((np.linspace(-0.05, 0.0, 501), np.linspace(0.0, -1.5e-3, 101)[1:]))
    loop = np.concatenate(
        (
            np.linspace(out[-1], out[-1] + 4e-4, 101)[1:],
            np.linspace(out[-1] + 4e-4, out[-1], 101)[1:],
        )
    )
    position = np.concatenate((out, loop))
    one, none = np.ones(len(position)), np.zeros((0, len(position)))
    drive = Drive(Path.of(position), one, 5.0 * one, none)
    slip, relaxing = (law.answer(drive, VALUES[law.name])[0] for law in (SLIP, RELAXING))
    assert abs(slip[-1] - slip[len(out) - 1]) < 1e-9
    assert abs(relaxing[-1] - relaxing[len(out) - 1]) > 0.02


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_derivatives_are_those_of_small_changes(law):
    values, slope = VALUES[law.name], (1.0 + 0.3 * np.sin(T))[None]
    path = Path.of(Q)

    def force(changed, more=0.0):
        return law.answer(Drive(path, W, level(W) + more * slope[0], slope), changed)[0]

    _, by_parameter, by_level = law.answer(Drive(path, W, level(W), slope), values)
    for name, column in zip(law.parameters, by_parameter, strict=True):
        step = 1e-5 * values[name]
        numeric = (
            force({**values, name: values[name] + step})
            - force({**values, name: values[name] - step})
        ) / (2.0 * step)
        assert np.abs(column - numeric).max() < 1e-4 * np.abs(numeric).max()
    numeric = (force(values, 1e-5) - force(values, -1e-5)) / 2e-5
    assert np.abs(by_level[0] - numeric).max() < 1e-4 * np.abs(numeric).max()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_single_steps_give_the_same_force_as_the_whole_motion(law):
    from stribeck.ident.laws.parameter import Parameter

    parameters = {
        name: Parameter(value, None, None, None, "1", "identified")
        for name, value in VALUES[law.name].items()
    }
    memory = JointMemory(law.name, parameters, 2e-3, 0.1, 0.2, law.distances)
    state = MemoryState(memory)
    stepped = [
        state.follow(*sample)
        for sample in zip(Q.tolist(), W.tolist(), level(W).tolist(), strict=True)
    ]
    np.testing.assert_allclose(stepped, answered(law, VALUES[law.name])[0], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_laws_can_be_pickled(law):
    """Workers of other processes take calibrations."""
    copy = pickle.loads(pickle.dumps(law))
    assert (copy.name, copy.distances) == (law.name, law.distances)
    np.testing.assert_array_equal(
        answered(copy, VALUES[law.name])[0], answered(law, VALUES[law.name])[0]
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_motion_that_begins_after_a_reversal_continues_the_whole_motion(law):
    """The path before the first sample is told by velocity and acceleration there."""
    begin = int(np.flatnonzero(np.diff(np.sign(W)) != 0.0)[1]) + 150
    none = np.zeros((0, len(T)))
    force = law.answer(Drive(Path.of(Q, velocity=W), W, level(W), none), VALUES[law.name])[0]
    path = Path.of(Q[begin:], velocity=W[begin:])
    later = law.answer(Drive(path, W[begin:], level(W[begin:]), none[:, begin:]), VALUES[law.name])[
        0
    ]
    assert np.isfinite(path.since[0])
    assert np.abs(later - force[begin:]).max() < 0.15 * np.abs(force).max()
    assert np.abs(later - force[begin:])[0] < 0.15 * np.abs(force).max()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_derivatives_hold_from_the_first_sample_on(law):
    begin = int(np.flatnonzero(np.diff(np.sign(W)) != 0.0)[1]) + 150
    path, w = Path.of(Q[begin:], velocity=W[begin:]), W[begin:]
    slope = (1.0 + 0.3 * np.sin(T[begin:]))[None]

    def force(changed, more=0.0):
        return law.answer(Drive(path, w, level(w) + more * slope[0], slope), changed)[0]

    _, by_parameter, by_level = law.answer(Drive(path, w, level(w), slope), VALUES[law.name])
    for name, column in zip(law.parameters, by_parameter, strict=True):
        step = 1e-5 * VALUES[law.name][name]
        changed = [
            force({**VALUES[law.name], name: VALUES[law.name][name] + side})
            for side in (step, -step)
        ]
        numeric = (changed[0] - changed[1]) / (2.0 * step)
        assert np.abs(column - numeric)[:200].max() < 1e-4 * np.abs(numeric).max()
    assert (
        np.abs(
            by_level[0] - (force(VALUES[law.name], 1e-5) - force(VALUES[law.name], -1e-5)) / 2e-5
        )[:200].max()
        < 1e-3
    )
