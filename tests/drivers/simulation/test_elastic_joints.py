"""Springs between drives and links of the simulated arm, against equations written in this file."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError

GRAVITY = 9.81
FREE = {"coulomb": 0.0, "static": 0.0, "viscous": 0.0}
# of elastic1: a rod of 0.4 m, and its drive
MASS, COM, LINK, ROTOR = 2.0, 0.2, 2.0 * 0.4**2 / 3.0, 0.02


@pytest.fixture
def one_link():
    """Make the enabled one-link arm with these knobs and friction of its joint, and these
    changes to the joint's table.
    """

    def make(knobs, home=0.0, **table):
        arm = load_arm("elastic1")
        arm = SimulatedArm(
            replace(
                arm,
                joints={"shoulder": replace(arm.joint("shoulder"), **table)},
                simulation={"joints": {"shoulder": knobs}},
                workspace=replace(arm.workspace, home=(home,)),
            )
        )
        arm.enable()
        return arm

    return make


def torques(arm, torque):
    """Apply these torques to a one-joint arm, one per cycle; return th, dth of the drive and q,
    dq of the link, each (N,).
    """
    states = []
    for value in torque:
        sample = arm.step(Command(np.zeros(1), np.array([value]), ("torque",)))
        states.append((sample.q[0], sample.dq[0], *np.ravel(arm.links())))
    return np.array(states).T


def rest(arm, cycles=1):
    """The last sample while all joints are held."""
    for _ in range(cycles):
        sample = arm.step(Command(np.zeros(len(arm.names))))
    return sample


def boom_torque(q, mass=2.0, com=(0.25, 0.06, 0.02)):
    """Torque that holds the boom of `pair` about its y axis."""
    return -mass * GRAVITY * (com[0] * np.cos(q) + com[2] * np.sin(q))


class TestStatics:
    @pytest.mark.parametrize("home", [-0.9, 0.0, 0.7])
    @pytest.mark.parametrize("stiffness", [40.0, 400.0])
    def test_the_spring_deflects_by_gravity_over_stiffness_from_the_first_cycle_on(
        self, make_arm, stiffness, home
    ):
        arm = SimulatedArm(
            make_arm(
                {
                    "workspace": {"home": [0.0, home]},
                    "simulation": {"joints": {"lift": {**FREE, "stiffness": stiffness}}},
                }
            )
        )
        arm.enable()
        for cycles in (1, 400):
            sample = rest(arm, cycles)
            q, dq = arm.links()
            assert q[1] - sample.q[1] == pytest.approx(-boom_torque(q[1]) / stiffness, rel=1e-3)
            assert abs(dq[1]) < 1e-5
            assert sample.q[1] == pytest.approx(home, abs=1e-5)
            assert sample.tau[1] == pytest.approx(boom_torque(q[1]), rel=1e-3)
        assert abs(q[1] - home) > 0.8 * abs(boom_torque(home)) / stiffness > 0.005

    def test_a_sliding_joint_sags_in_metres(self, make_arm):
        """4 kg on a rail whose direction has the vertical part 0.8; the lever of the
        load moves with the carriage.
        """
        joint = {**FREE, "stiffness": 2000.0, "load": "bending"}
        arm_file = make_arm(
            {
                "joints": {"carriage": {"torque": 500.0, "rotor_inertia": 1.0}},
                "simulation": {"joints": {"carriage": joint}},
            },
            "slide",
        )
        arm = SimulatedArm(arm_file)
        arm.enable()
        sample = rest(arm, 100)
        assert arm.links()[0] - sample.q == pytest.approx(-0.8 * 4.0 * GRAVITY / 2000.0, rel=1e-3)
        np.testing.assert_allclose(
            arm.loads([[-0.3], [0.2]])[:, 0], np.sqrt(0.05 - 0.12**2) * 4.0 * GRAVITY
        )

    def test_loads_are_those_of_the_sagging_link(self, make_arm):
        joints = {"turn": {"load": "bending"}, "lift": {"load": "torque", "stiffness": 30.0}}
        arm_file = make_arm({"simulation": {"joints": joints}})
        arm = SimulatedArm(arm_file)
        model = pin.buildModelFromUrdf(str(arm_file.model))
        data = model.createData()
        for q in np.random.default_rng(0).uniform(-1.2, 1.2, (10, 2)):
            sag = 0.0
            for _ in range(60):
                sag = -boom_torque(q[1] + sag) / 30.0
            pin.rnea(model, data, np.array([q[0], q[1] + sag]), np.zeros(2), np.zeros(2))
            expected = [np.linalg.norm(data.f[1].angular[:2]), abs(data.f[2].angular[1])]
            np.testing.assert_allclose(arm.loads([q])[0], expected, rtol=1e-6)
            assert abs(sag) > 0.01

    def test_a_spring_ignores_the_joint_defaults_of_the_model(self, tmp_path):
        """An MJCF with default zero, rotor and friction of joints, in a rotated
        frame: the axis is base -y.
        """
        (tmp_path / "arm.xml").write_text("""<mujoco><compiler angle="radian"/>
            <default><joint armature="9" frictionloss="9" damping="9" ref="0.3" springref="0.2"/></default>
            <worldbody><body><frame euler="0.5 0 0"><joint name="a" axis="0 -0.8775825618903728 0.479425538604203"/></frame>
            <inertial pos="0.2 0 0" mass="2" diaginertia="0.01 0.03 0.03"/></body></worldbody></mujoco>""")
        (tmp_path / "arm.toml").write_text("""schema = 1
            name = "arm"
            model = "arm.xml"
            [joints.a]
            rotor_inertia = 0.01
            [simulation]
            stiffness = 100.0""")
        arm = SimulatedArm(load_arm(tmp_path / "arm.toml"))
        arm.enable()
        start = arm.links()[0][0]
        assert start == pytest.approx(-2.0 * GRAVITY * 0.2 * np.cos(start - 0.3) / 100.0, rel=1e-6)
        _, dth, _, _ = torques(arm, [20.0])
        # the rotor alone, and no friction
        assert dth[0] == pytest.approx((20.0 + 100.0 * start) / 0.01 / arm.rate, rel=0.3)


class TestDynamics:
    @pytest.mark.slow
    def test_spongs_equations(self, one_link):
        """B ddth + tau_f + K (th - q) + D (dth - dq) = u; the spring drives the link; friction
        depends on the link's reaction.
        """
        K, D, radius, mu, f_v = 150.0, 0.4, 0.02, 0.6, 0.35
        bearing = {"pin_radius": radius, "friction_arm": 1.0, "bending_arm": 1.0}
        arm = one_link(
            {
                "stiffness": K,
                "stiffness_damping": D,
                "load": "normal",
                "bearing": bearing,
                "coulomb_coefficient": mu,
                "viscous": f_v,
            }
        )
        t = (np.arange(600) + 0.5) * 1e-3

        def u(t):
            return 7.0 - 4.0 * t + 0.5 * np.sin(40.0 * t)

        def spong(t, state, K=K):
            th, dth, q, dq = state
            spring = K * (th - q) + D * (dth - dq)
            ddq = (spring - MASS * GRAVITY * COM * np.cos(q)) / LINK
            # reaction along the rod and across it
            along = MASS * (-COM * dq**2 + GRAVITY * np.sin(q))
            across = MASS * (COM * ddq + GRAVITY * np.cos(q))
            # the drive turns forward all the time
            friction = mu * radius * np.hypot(along, across) + f_v * dth
            return dth, (u(t) - friction - spring) / ROTOR, dq, ddq

        def solved(K):
            sag = -MASS * GRAVITY * COM / K
            for _ in range(20):
                sag = -MASS * GRAVITY * COM * np.cos(sag) / K
            return solve_ivp(
                spong,
                (0.0, 0.6),
                (0.0, 0.0, sag, 0.0),
                t_eval=t + 0.5e-3,
                args=(K,),
                rtol=1e-9,
                atol=1e-10,
            ).y

        th, dth, q, dq = solved(K)
        simulated = torques(arm, u(t))
        assert dth[1:].min() > 0.0
        assert np.ptp(q - th) > 0.02  # the spring swings
        for name, ours, theirs, other in zip(
            ("th", "dth", "q", "dq"), simulated, (th, dth, q, dq), solved(1.5 * K), strict=True
        ):
            error = np.abs(ours - theirs).max()
            assert error < 0.01 * np.ptp(theirs), name
            # a wrong stiffness would be seen
            assert error < 0.1 * np.abs(other - theirs).max(), name

    @pytest.mark.parametrize("stiffness", [100.0, 1000.0, 10000.0])
    @pytest.mark.slow
    def test_behind_a_stuck_drive_the_link_swings_at_its_natural_frequency(
        self, one_link, stiffness
    ):
        arm = one_link({"stiffness": stiffness, "coulomb": 40.0}, home=-np.pi / 2.0)  # hanging
        for velocity in [0.5] * 100 + [0.0] * 300:
            arm.step(Command(np.array([velocity])))
        seconds = 60.0 / np.sqrt(stiffness / LINK)
        drive, dth, link, _ = torques(arm, np.full(round(seconds * 1000.0), 0.0))
        assert np.ptp(drive) < 1e-7
        assert np.abs(dth).max() < 1e-4
        swing = link - drive - np.mean(link - drive)
        up = np.flatnonzero((swing[:-1] < 0.0) & (swing[1:] >= 0.0))
        crossing = up + swing[up] / (swing[up] - swing[up + 1])
        frequency = 1000.0 * (len(up) - 1) / (crossing[-1] - crossing[0])
        # pulls a hanging link back as well
        gravity = MASS * GRAVITY * COM * np.cos(drive[0] + np.pi / 2.0)
        assert len(up) > 7
        assert frequency == pytest.approx(
            np.sqrt((stiffness + gravity) / LINK) / (2.0 * np.pi), rel=0.01
        )

    @pytest.mark.parametrize(
        ("knobs", "left"),
        [
            ({}, 1.0),
            ({"stiffness_damping": 8.0}, 0.98),
            ({"viscous": 0.15}, 0.2),
            ({"coulomb": 0.8, "static": 1.2}, 0.2),
        ],
    )
    @pytest.mark.slow
    def test_energy_never_grows(self, one_link, knobs, left):
        """A link that falls from the horizontal and swings on its free drive, for four seconds."""
        K = 60.0
        arm = one_link({"stiffness": K, **knobs}, home=0.4)
        q = arm.links()[0][0]
        start = K * (q - 0.4) ** 2 / 2.0 + MASS * GRAVITY * COM * (np.sin(q) + 1.0)
        th, dth, q, dq = torques(arm, np.zeros(4_000))
        energy = (
            ROTOR * dth**2 + LINK * dq**2 + K * (q - th) ** 2
        ) / 2.0 + MASS * GRAVITY * COM * (np.sin(q) + 1.0)
        assert np.ptp(q) > 1.5
        assert energy.max() < 1.01 * start
        mean = energy.reshape(8, 500).mean(axis=1)
        assert (np.diff(mean) < 1e-3 * start).all()
        assert mean[-1] <= (left + 0.002) * start
        if not knobs:
            assert mean[-1] == pytest.approx(start, rel=2e-3)

    @pytest.mark.slow
    def test_a_stiff_spring_is_nearly_a_rigid_joint(self, make_arm):
        links = {}
        for stiffness in (None, 1e5, 100.0):
            arm = SimulatedArm(
                make_arm({"simulation": {} if stiffness is None else {"stiffness": stiffness}})
            )
            arm.enable()
            links[stiffness] = []
            for k in range(300):
                arm.step(Command(0.8 * np.sin(2.0 * np.pi * k / 200.0) * np.array([1.0, 0.5])))
                links[stiffness].append(np.ravel(arm.links()))
        np.testing.assert_allclose(links[1e5], links[None], atol=0.01)
        assert np.abs(np.subtract(links[100.0], links[None])).max(axis=0).min() > 0.03


class TestDriveSide:
    def test_the_arm_reports_the_position_of_the_drive(self, one_link):
        """The encoder shows that the drive is stuck, while the link behind it swings."""
        arm = one_link({"stiffness": 200.0, "coulomb": 40.0}, home=0.2)
        for velocity in [0.5] * 100 + [0.0] * 100:
            held = arm.step(Command(np.array([velocity])))
        drives, links = [], []
        for _ in range(300):
            sample = rest(arm)
            drives.append((sample.q[0], sample.dq[0]))
            links.append(np.ravel(arm.links()))
        np.testing.assert_allclose(drives, np.tile([held.q[0], 0.0], (300, 1)), atol=2e-5)
        assert np.ptp(links, axis=0).min() > 1e-3

    @pytest.mark.parametrize("elastic", [("turn",), ("lift",), ("turn", "lift")])
    def test_friction_noise_and_resolution_stay_with_their_joints(self, make_arm, drive, elastic):
        """For any choice of elastic joints, each drive has its own friction."""
        joints = {name: {"stiffness": 3000.0, "stiffness_damping": 5.0} for name in elastic}
        arm = SimulatedArm(make_arm({"simulation": {"joints": joints}}))
        arm.enable()
        speed = np.array([0.3, 0.2])
        run = drive(arm, np.tile(speed, (250, 1)))
        sag = arm.links()[0][1] - run["q"][-1, 1]
        tau = run["tau"][-20:] - np.column_stack(
            (np.zeros(20), boom_torque(run["q"][-20:, 1] + sag))
        )
        turn = 3.0 + 1.5 * np.exp(-((0.3 / 0.08) ** 2)) + 2.0 * 0.3
        np.testing.assert_allclose(run["dq"][-20:], np.tile(speed, (20, 1)), rtol=0.01)
        np.testing.assert_allclose(tau, np.tile([turn, 2.0 + 1.5 * 0.2], (20, 1)), rtol=0.03)

    def test_without_stiffness_link_and_drive_are_one(self, simulate, drive):
        arm = simulate()
        t = np.arange(100) / 200.0
        run = drive(arm, np.sin(2.0 * np.pi * t)[:, None] * [0.8, 0.4])
        q, dq = arm.links()
        np.testing.assert_array_equal(q, run["q"][-1])
        np.testing.assert_array_equal(dq, run["dq"][-1])

    def test_a_stop_waits_for_the_link(self, one_link):
        arm = one_link({"stiffness": 300.0, "stiffness_damping": 1.0})
        for _ in range(300):
            moving = arm.step(Command(np.array([1.0])))
        arm.stop("a test")
        arm.enable()
        sample = rest(arm)
        q, dq = arm.links()
        assert sample.q[0] > moving.q[0]
        assert abs(dq[0]) < 1e-3
        assert q[0] - sample.q[0] == pytest.approx(
            -MASS * GRAVITY * COM * np.cos(q[0]) / 300.0, rel=0.02
        )


@pytest.mark.parametrize(
    ("knobs", "table", "words"),
    [
        ({"stiffness": 0.0}, {}, ["joints.shoulder.stiffness", "0.0"]),
        (
            {"stiffness": 100.0, "stiffness_damping": -1.0},
            {},
            ["joints.shoulder.stiffness_damping", "-1.0"],
        ),
        (
            {"stiffness_damping": 1.0},
            {},
            ["joints.shoulder", "stiffness_damping", "state stiffness too"],
        ),
        (
            {"stiffness": 100.0},
            {"rotor_inertia": 0.0},
            ["joints.shoulder.rotor_inertia", "more than zero"],
        ),
        (
            {"stiffness": 100.0},
            {"rotor_inertia": 1e-5},
            ["joints.shoulder", "rotor_inertia", "times as large", "25 Hz"],
        ),
        (
            {"stiffness": 1e8},
            {},
            ["joints.shoulder.stiffness = 1e+08", "12264 Hz", "20000 steps per second", "2.7e+05"],
        ),
        ({"stiffness": 2.0}, {}, ["joints.shoulder.stiffness", "too soft"]),
    ],
    ids=str,
)
def test_a_spring_that_cannot_be_simulated_is_refused(one_link, knobs, table, words):
    with pytest.raises(InputError) as caught:
        one_link(knobs, home=-0.5, **table)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_largest_stiffness_in_the_message_is_accepted(one_link):
    arm = one_link({"stiffness": 2.6e5})
    assert rest(arm, 5).q[0] == pytest.approx(0.0, abs=1e-6)
