"""Dynamics against Pinocchio and MuJoCo on random trees, and against laws of mechanics."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from stribeck.ident.errors import InputError
from stribeck.ident.model.canonical_form import bias_forces, canonical_blocks
from stribeck.ident.model.dynamics import (
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    joint_origins,
    joint_wrenches,
    kinematics,
    mass_matrix,
)
from stribeck.ident.model.mechanism import Mechanism
from tests.judges import Pinocchio, rotation, states, tree

SEEDS = range(6)
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    return pytest.importorskip(
        "pinocchio", reason="Pinocchio (the package pin) judges the dynamics"
    )


@pytest.fixture(scope="module")
def mujoco() -> ModuleType:
    return pytest.importorskip("mujoco", reason="MuJoCo is the second judge of the dynamics")


def mjcf(m: Mechanism) -> str:
    """Return the tree as MJCF, without damping, armature and contacts."""

    def numbers(values: np.ndarray) -> str:
        return " ".join(f"{value:.17g}" for value in np.ravel(values))

    def body(j: int) -> str:
        i = m.inertia[j]
        full = np.array([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])
        kind = "slide" if m.prismatic[j] else "hinge"
        children = "".join(body(k) for k in range(m.n) if m.parent[k] == j)
        return (
            f'<body name="{m.names[j]}" pos="{numbers(m.origin[j])}">'
            f'<joint name="{m.names[j]}" type="{kind}" axis="{numbers(m.axis[j])}"/>'
            f'<inertial pos="{numbers(m.com[j])}" mass="{m.mass[j]:.17g}" '
            f'fullinertia="{numbers(full)}"/>'
            f"{children}</body>"
        )

    roots = "".join(body(j) for j in range(m.n) if m.parent[j] < 0)
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{numbers(m.gravity)}"/>'
        f"<worldbody>{roots}</worldbody></mujoco>"
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees_agree_with_pinocchio(seed: int, pin: ModuleType) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    judge = Pinocchio(pin, mechanism)
    ours, tau = joint_wrenches(mechanism, q, dq, ddq), inverse_dynamics(mechanism, q, dq, ddq)
    origins = joint_origins(mechanism, q)
    for k in range(len(q)):
        tau_ref, force, moment, origin = judge(q[k], dq[k], ddq[k])
        np.testing.assert_allclose(tau[k], tau_ref, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(ours.force[k], force, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(ours.moment[k], moment, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(origins[k, :-1], origin, rtol=0, atol=TOLERANCE)


def test_random_trees_slide_turn_and_branch() -> None:
    """The random trees contain all features of a user's mechanism; otherwise
    their agreement proves little.
    """
    trees = [tree(seed) for seed in SEEDS]
    assert any(m.prismatic.any() for m in trees)
    assert any((~m.prismatic).any() for m in trees)
    assert any(len(set(m.parent)) < m.n for m in trees)
    assert any(
        m.prismatic[k] and m.parent[k] >= 0 and not m.prismatic[m.parent[k]]
        for m in trees
        for k in range(m.n)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees_agree_with_mujoco(seed: int, mujoco: ModuleType) -> None:
    mechanism = tree(seed)
    model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    data = mujoco.MjData(model)
    # MuJoCo numbers joints depth first
    order = [model.joint(name).qposadr[0] for name in mechanism.names]
    bodies = [model.body(name).id for name in mechanism.names]
    q, dq, ddq = states(seed, mechanism.n)
    ours, tau = joint_wrenches(mechanism, q, dq, ddq), inverse_dynamics(mechanism, q, dq, ddq)
    for k in range(len(q)):
        data.qpos[order], data.qvel[order], data.qacc[order] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau[k], data.qfrc_inverse[order], rtol=0, atol=TOLERANCE)
        mujoco.mj_rnePostConstraint(model, data)
        for j, b in enumerate(bodies):
            moment, force = data.cfrc_int[b, :3], data.cfrc_int[b, 3:]
            arm = (
                data.subtree_com[model.body_rootid[b]]
                - data.xanchor[model.joint(mechanism.names[j]).id]
            )
            if mechanism.prismatic[j]:
                # the origin slides with the link
                arm = data.subtree_com[model.body_rootid[b]] - data.xpos[b]
            np.testing.assert_allclose(ours.force[k, j], force, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(
                ours.moment[k, j], moment + np.cross(arm, force), rtol=0, atol=TOLERANCE
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_missing_velocity_and_acceleration_mean_zero(seed: int) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    rest = np.zeros_like(q)
    cases = (((q,), (q, rest, rest)), ((q, dq), (q, dq, rest)), ((q, None, ddq), (q, rest, ddq)))
    for short, full in cases:
        np.testing.assert_allclose(
            inverse_dynamics(mechanism, *short), inverse_dynamics(mechanism, *full), atol=1e-12
        )


def test_a_long_batch_equals_its_samples_one_by_one() -> None:
    mechanism = tree(3)
    rng = np.random.default_rng(7)
    q, dq, ddq = rng.normal(size=(3, 9001, mechanism.n))
    together = joint_wrenches(mechanism, q, dq, ddq)
    for k in (0, 1, 4095, 4096, 4097, 8191, 8192, 9000):
        alone = joint_wrenches(mechanism, q[k : k + 1], dq[k : k + 1], ddq[k : k + 1])
        for field in ("force", "moment", "axis"):
            np.testing.assert_allclose(
                getattr(together, field)[k], getattr(alone, field)[0], rtol=0, atol=1e-12
            )


def test_no_samples_give_no_torques() -> None:
    mechanism = tree(0)
    assert inverse_dynamics(mechanism, np.zeros((0, mechanism.n))).shape == (0, mechanism.n)


@pytest.mark.parametrize("seed", SEEDS)
def test_time_reversal_changes_no_wrench(seed: int) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    there, back = joint_wrenches(mechanism, q, dq, ddq), joint_wrenches(mechanism, q, -dq, ddq)
    np.testing.assert_allclose(there.force, back.force, rtol=0, atol=1e-10)
    np.testing.assert_allclose(there.moment, back.moment, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_turning_base_and_gravity_together_turns_the_wrenches(seed: int) -> None:
    mechanism = tree(seed)
    R = rotation(np.random.default_rng(50 + seed))
    turned = replace(
        mechanism,
        axis=mechanism.axis @ R.T,
        origin=mechanism.origin @ R.T,
        com=mechanism.com @ R.T,
        inertia=R @ mechanism.inertia @ R.T,
        gravity=R @ mechanism.gravity,
    )
    motion = states(seed, mechanism.n)
    upright, tilted = joint_wrenches(mechanism, *motion), joint_wrenches(turned, *motion)
    np.testing.assert_allclose(tilted.force, upright.force @ R.T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(tilted.moment, upright.moment @ R.T, rtol=0, atol=1e-9)
    tau = inverse_dynamics(mechanism, *motion)
    np.testing.assert_allclose(inverse_dynamics(turned, *motion), tau, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_drives_do_no_net_work_over_a_closed_motion(seed: int) -> None:
    """Kinetic and potential energy return to their initial values; the
    trapezoidal sum is spectrally exact.
    """
    mechanism = tree(seed, n=5)
    rng = np.random.default_rng(200 + seed)
    period = 2.0
    t = np.linspace(0.0, period, 4000, endpoint=False)[:, None]
    start, size, angle = rng.uniform(
        [[-2.0], [0.2], [0.0]], [[2.0], [0.8], [6.0]], (3, mechanism.n)
    )
    w = 2.0 * np.pi / period * rng.integers(1, 3, mechanism.n)
    swing, rate = size * np.sin(w * t + angle), size * np.cos(w * t + angle)
    q, dq, ddq = start + swing, w * rate, -(w**2) * swing
    power = np.sum(inverse_dynamics(mechanism, q, dq, ddq) * dq, axis=1)
    assert np.abs(power).max() > 1.0
    assert abs(power.mean()) < 1e-9 * np.abs(power).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_inertia_is_symmetric_and_positive(seed: int) -> None:
    """M(q) from unit accelerations without gravity; an asymmetric matrix
    would have no kinetic energy.
    """
    mechanism = replace(tree(seed), gravity=np.zeros(3))
    q = np.repeat(states(seed, mechanism.n)[0][:1], mechanism.n, axis=0)
    inertia = inverse_dynamics(mechanism, q, None, np.eye(mechanism.n))
    np.testing.assert_allclose(inertia, inertia.T, rtol=0, atol=1e-11)
    assert np.linalg.eigvalsh(inertia).min() > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_static_torque_is_the_slope_of_potential_energy(seed: int) -> None:
    """At rest the drives balance gravity: tau = dV/dq, by central differences."""
    chain = replace(tree(seed, n=4), parent=(-1, 0, 1, 2))
    q = states(seed, chain.n, samples=1)[0]

    def energy(posture: np.ndarray) -> float:
        """Return the energy as a sum over links; each link is the last of a
        chain that ends at this link.
        """
        total = 0.0
        for last in range(chain.n):
            cut = replace(
                chain,
                names=chain.names[: last + 1],
                parent=chain.parent[: last + 1],
                **{
                    key: getattr(chain, key)[: last + 1]
                    for key in (
                        "prismatic",
                        "axis",
                        "origin",
                        "mass",
                        "com",
                        "inertia",
                        "position",
                        "bearings",
                    )
                },
            )
            total -= (
                chain.mass[last]
                * chain.gravity
                @ joint_origins(cut, posture[None, : last + 1])[0, -1]
            )
        return total

    slope = [(energy(q[0] + step) - energy(q[0] - step)) / 2e-5 for step in 1e-5 * np.eye(chain.n)]
    np.testing.assert_allclose(inverse_dynamics(chain, q)[0], slope, rtol=0, atol=1e-7)


def one_joint(
    prismatic: bool, axis: tuple[float, ...], com: tuple[float, ...], mass: float = 2.0
) -> Mechanism:
    return Mechanism(
        "one",
        ("a",),
        (-1,),
        np.array([prismatic]),
        np.array([axis]),
        np.zeros((1, 3)),
        np.array([mass]),
        np.array([com]),
        np.diag([0.1, 0.2, 0.3])[None],
        np.array([0.0, 0.0, -10.0]),
        np.array([[-np.inf, np.inf]]),
        (None,),
    )


def test_a_pendulum_by_hand() -> None:
    """2 kg at 0.5 m on a horizontal y axis, turned by 90 degrees: the
    pendulum hangs straight down.
    """
    hanging = joint_wrenches(
        one_joint(False, (0, 1, 0), (0.5, 0, 0)), [[np.pi / 2]], [[3.0]], [[4.0]]
    )
    np.testing.assert_allclose(
        hanging.force[0, 0], [-2 * 0.5 * 4.0, 0.0, 2 * 10 + 2 * 0.5 * 3.0**2], atol=1e-12
    )
    np.testing.assert_allclose(
        hanging.moment[0, 0], [0.0, (0.2 + 2 * 0.5**2) * 4.0, 0.0], atol=1e-12
    )


def test_a_falling_slider_weighs_nothing() -> None:
    falling = joint_wrenches(
        one_joint(True, (0, 0, 1), (0.3, 0.1, 0)), [[0.7]], [[-2.0]], [[-10.0]]
    )
    np.testing.assert_allclose(falling.force, 0.0, atol=1e-12)
    np.testing.assert_allclose(falling.moment, 0.0, atol=1e-12)


def test_the_last_origin_is_the_centre_of_mass_of_the_last_link() -> None:
    points = joint_origins(one_joint(False, (0, 0, 1), (0.5, 0, 0.2)), [[0.0], [np.pi / 2]])
    np.testing.assert_allclose(points[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(points[:, 1], [[0.5, 0, 0.2], [0, 0.5, 0.2]], atol=1e-12)


def test_the_message_about_a_wrong_shape_states_the_needed_shape() -> None:
    mechanism = tree(0, n=3)
    for q in (np.zeros(3), np.zeros((2, 4)), np.zeros((2, 3, 1))):
        with pytest.raises(InputError, match=r"q has shape .*joint0, joint1, joint2"):
            inverse_dynamics(mechanism, q)
    with pytest.raises(InputError, match=r"dq has shape \(3, 3\).*\(2, 3\)"):
        inverse_dynamics(mechanism, np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"ddq has shape"):
        inverse_dynamics(mechanism, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((1, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_message_about_a_value_that_is_not_finite_names_joint_and_row(bad: float) -> None:
    mechanism = tree(0, n=3)
    q = np.zeros((5, 3))
    dq = q.copy()
    dq[4, 1] = bad
    with pytest.raises(InputError, match=r"dq of joint joint1 .* row 4"):
        inverse_dynamics(mechanism, q, dq)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_bias_and_accelerations_agree_with_pinocchio(
    seed: int, pin: ModuleType
) -> None:
    mechanism = tree(seed)
    q, dq, tau = states(seed, mechanism.n)
    judge = Pinocchio(pin, mechanism)
    M, h, ddq = (
        mass_matrix(mechanism, q),
        bias_force(mechanism, q, dq),
        forward_dynamics(mechanism, q, dq, tau),
    )
    for k in range(len(q)):
        rest = pin.rnea(judge.model, judge.data, q[k], 0.0 * q[k], 0.0 * q[k]).copy()
        wanted = [
            pin.rnea(judge.model, judge.data, q[k], 0.0 * q[k], unit) - rest
            for unit in np.eye(mechanism.n)
        ]
        np.testing.assert_allclose(M[k], np.array(wanted).T, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(
            h[k], pin.nonLinearEffects(judge.model, judge.data, q[k], dq[k]), rtol=0, atol=TOLERANCE
        )
        wanted = pin.aba(judge.model, judge.data, q[k], dq[k], tau[k])
        np.testing.assert_allclose(ddq[k], wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_motion_of_every_link_agrees_with_pinocchio(seed: int, pin: ModuleType) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    judge, ours, world = (
        Pinocchio(pin, mechanism),
        kinematics(mechanism, q, dq, ddq),
        pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )
    for k in range(len(q)):
        pin.forwardKinematics(judge.model, judge.data, q[k], dq[k], ddq[k])
        for j in range(mechanism.n):
            velocity = pin.getVelocity(judge.model, judge.data, j + 1, world)
            acceleration = pin.getClassicalAcceleration(judge.model, judge.data, j + 1, world)
            found = (ours.rotation, ours.origin, ours.w, ours.v, ours.dw, ours.a)
            wanted = (
                judge.data.oMi[j + 1].rotation,
                judge.data.oMi[j + 1].translation,
                velocity.angular,
                velocity.linear,
                acceleration.angular,
                acceleration.linear,
            )
            for value, reference in zip(found, wanted, strict=True):
                np.testing.assert_allclose(value[k, j], reference, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_external_wrenches_agree_with_pinocchio(seed: int, pin: ModuleType) -> None:
    mechanism = tree(seed)
    q, dq, ddq = states(seed, mechanism.n)
    external = np.random.default_rng(300 + seed).normal(scale=20.0, size=(len(q), mechanism.n, 6))
    judge, tau = Pinocchio(pin, mechanism), inverse_dynamics(mechanism, q, dq, ddq, external)
    for k in range(len(q)):
        pin.forwardKinematics(judge.model, judge.data, q[k])
        acting = pin.StdVec_Force()
        acting.append(pin.Force.Zero())
        for j in range(mechanism.n):
            R = judge.data.oMi[j + 1].rotation
            acting.append(pin.Force(R.T @ external[k, j, :3], R.T @ external[k, j, 3:]))
        np.testing.assert_allclose(
            tau[k],
            pin.rnea(judge.model, judge.data, q[k], dq[k], ddq[k], acting),
            rtol=0,
            atol=TOLERANCE,
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_explicit_sums_of_the_paper_agree(seed: int) -> None:
    """Guo, Ju and Wang, Eqs. 19-22: moment and force at every joint as sums over
    subtrees, in the printed form.
    """
    m = tree(seed)
    q, dq, ddq = states(seed, m.n, samples=2)
    wrenches, motion = joint_wrenches(m, q, dq, ddq), kinematics(m, q, dq)
    blocks = canonical_blocks(m, q, dq)

    def cross(v: np.ndarray) -> np.ndarray:
        return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])

    def chain(j: int) -> list[int]:
        return [] if j < 0 else [*chain(m.parent[j]), j]

    subtree = {u: [k for k in range(m.n) if u in chain(k)] for u in range(m.n)}
    for s in range(len(q)):
        R, o, n, w = motion.rotation[s], motion.origin[s], motion.axis[s], motion.w[s]
        c = np.array([o[j] + R[j] @ m.com[j] for j in range(m.n)])
        J = np.array([R[j] @ m.inertia[j] @ R[j].T for j in range(m.n)])
        before = [np.zeros(3) if p < 0 else w[p] for p in m.parent]
        r = [o[j] - (o[m.parent[j]] if m.parent[j] >= 0 else 0.0) for j in range(m.n)]
        for u in range(m.n):
            moment, force = np.zeros(3), np.zeros(3)
            for col in [*chain(u), *(k for k in subtree[u] if k != u)]:
                S = subtree[u] if col in chain(u) else subtree[col]
                if m.prismatic[col]:
                    M_R, M_P = (
                        sum(m.mass[j] * cross(c[j] - o[u]) for j in S),
                        sum(m.mass[j] * np.eye(3) for j in S),
                    )
                    rate = n[col] * ddq[s, col]
                else:
                    M_R = sum(
                        J[j] - m.mass[j] * cross(c[j] - o[u]) @ cross(c[j] - o[col]) for j in S
                    )
                    M_P = -sum(m.mass[j] * cross(c[j] - o[col]) for j in S)
                    rate = n[col] * ddq[s, col] + np.cross(before[col], n[col] * dq[s, col])
                moment, force = moment + M_R @ rate, force + M_P @ rate
                np.testing.assert_allclose(
                    blocks.M_R[s, u, col], M_R @ n[col], rtol=0, atol=TOLERANCE
                )
                np.testing.assert_allclose(
                    blocks.M_P[s, u, col], M_P @ n[col], rtol=0, atol=TOLERANCE
                )
            for k in subtree[u]:
                a = sum(
                    np.cross(before[x], np.cross(before[x], r[x]))
                    + (2.0 * np.cross(before[x], n[x] * dq[s, x]) if m.prismatic[x] else 0.0)
                    for x in chain(k)
                )
                a = a + np.cross(w[k], np.cross(w[k], c[k] - o[k])) - m.gravity
                moment += m.mass[k] * np.cross(c[k] - o[u], a) + np.cross(w[k], J[k] @ w[k])
                force += m.mass[k] * a
            np.testing.assert_allclose(wrenches.moment[s, u], moment, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(wrenches.force[s, u], force, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(
                blocks.M_R[s, u].T @ ddq[s] + blocks.h_R[s, u], moment, rtol=0, atol=TOLERANCE
            )
            np.testing.assert_allclose(
                blocks.M_P[s, u].T @ ddq[s] + blocks.h_P[s, u], force, rtol=0, atol=TOLERANCE
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_the_bias_force_agree_with_pinocchio(seed: int, pin: ModuleType) -> None:
    m = tree(seed)
    q, dq, _ = states(seed, m.n)
    judge, parts = Pinocchio(pin, m), bias_forces(m, q, dq)
    for s in range(len(q)):
        gravity = pin.computeGeneralizedGravity(judge.model, judge.data, q[s]).copy()
        both, *each = (
            pin.nonLinearEffects(judge.model, judge.data, q[s], one) - gravity
            for one in (dq[s], *np.diag(dq[s]))
        )
        alone = np.sum(each, axis=0)
        np.testing.assert_allclose(parts.gravity[s], gravity, atol=TOLERANCE)
        np.testing.assert_allclose(parts.centrifugal[s], alone, atol=TOLERANCE)
        np.testing.assert_allclose(parts.coriolis[s], both - alone, atol=TOLERANCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mirrored_arm_carries_mirrored_wrenches(seed: int) -> None:
    """Under the mirror y -> -y forces change as vectors and moments as axial vectors; revolute
    joints turn the other way.
    """
    mechanism = tree(seed)
    mirror = np.diag([1.0, -1.0, 1.0])
    flip = np.where(mechanism.prismatic[:, None], 1.0, -1.0)
    image = replace(
        mechanism,
        axis=flip * (mechanism.axis @ mirror),
        origin=mechanism.origin @ mirror,
        com=mechanism.com @ mirror,
        inertia=mirror @ mechanism.inertia @ mirror,
        gravity=mechanism.gravity @ mirror,
    )
    motion = states(seed, mechanism.n)
    here, there = joint_wrenches(mechanism, *motion), joint_wrenches(image, *motion)
    np.testing.assert_allclose(there.force, here.force @ mirror, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.moment, -here.moment @ mirror, rtol=0, atol=1e-9)


def test_external_wrenches_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"external has shape \(2, 3\), tree 0 needs \(2, 3, 6\): .* joint0, joint1",
    ):
        inverse_dynamics(tree(0, n=3), np.zeros((2, 3)), external=np.zeros((2, 3)))


def test_a_copied_mechanism_does_not_keep_cached_constants() -> None:
    m, (q, dq, ddq) = tree(2), states(2, 8)
    M, before = mass_matrix(m, q), kinematics(m, q, dq, ddq)
    np.testing.assert_allclose(
        mass_matrix(replace(m, mass=2.0 * m.mass, inertia=2.0 * m.inertia), q), 2.0 * M, rtol=1e-9
    )
    np.testing.assert_allclose(
        kinematics(replace(m, origin=2.0 * m.origin, prismatic=np.zeros(8, dtype=bool)), q).origin,
        2.0 * kinematics(replace(m, prismatic=np.zeros(8, dtype=bool)), q).origin,
        atol=1e-9,
    )
    np.testing.assert_array_equal(kinematics(m, q, dq, ddq).a, before.a)
