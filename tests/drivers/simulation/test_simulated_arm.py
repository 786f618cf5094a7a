"""The simulated arm against physics written in this file: friction, loads by Pinocchio
or by hand, and every knob.
"""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.drive_reading import DriveReading, Quantiser
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.simulation.truth import Knobs
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.loads import joint_loads

RATE, GRAVITY = 200.0, 9.81
FREE = {"coulomb": 0.0, "static": 0.0, "viscous": 0.0}
FREE_PAIR = {"joints": {"turn": FREE, "lift": FREE}}
# centre of mass of the boom from the lift axis, m
BOOM = np.array([0.25, 0.06, 0.02])
# of column and boom about the vertical axis, kg·m²
LINK_INERTIA = 0.01 + 3.0 * 0.05**2 + 0.02 + 2.0 * ((0.1 + BOOM[0]) ** 2 + (0.05 + BOOM[1]) ** 2)
# gear ratio squared times rotor inertia, kg·m²
ROTOR = 100.0**2 * 4.0e-5


def at(velocity, seconds, joint=0, n=2):
    """Commands that hold one joint at a velocity."""
    commands = np.zeros((round(seconds * RATE), n))
    commands[:, joint] = velocity
    return commands


def swing(cycles, amplitude=0.8, period=1.0):
    """Commands that swing both joints smoothly."""
    t = np.arange(cycles) / RATE
    return amplitude * np.sin(2.0 * np.pi * t / period)[:, None] * [1.0, 0.5]


def held(arm, torque, seconds, joint=0):
    """Apply a torque to one joint, with its velocity loop off, while the others are
    held; return q and dq, (N, n).
    """
    mode = tuple("torque" if j == joint else "velocity" for j in range(len(arm.names)))
    applied, rest = np.zeros(len(arm.names)), np.zeros(len(arm.names))
    applied[joint] = torque
    samples = [arm.step(Command(rest, applied, mode)) for _ in range(round(seconds * RATE))]
    return np.array([sample.q for sample in samples]), np.array([sample.dq for sample in samples])


def law(w, coulomb, static, stribeck_velocity, exponent, viscous):
    return (
        coulomb + (static - coulomb) * np.exp(-(abs(w / stribeck_velocity) ** exponent))
    ) * np.sign(w) + viscous * w


def gravity_torque(q_lift, mass=2.0, com=BOOM):
    """Torque that holds the boom about its y axis: minus the horizontal lever times its weight."""
    return -mass * GRAVITY * (com[0] * np.cos(q_lift) + com[2] * np.sin(q_lift))


class Pinocchio:
    """Wrenches of an arm's URDF by independent code, and the loads that follow from them."""

    def __init__(self, arm_file):
        self.model = pin.buildModelFromUrdf(str(arm_file.model))
        self.data = self.model.createData()

    def loads(self, q, joint, bearing=None):
        axes = {"JointModelRX": 0, "JointModelRY": 1, "JointModelRZ": 2}
        axis = np.eye(3)[axes[self.model.joints[joint + 1].shortname()]]
        pin.rnea(self.model, self.data, q, np.zeros(len(q)), np.zeros(len(q)))
        wrench = self.data.f[joint + 1]
        axial, radial = abs(axis @ wrench.linear), np.linalg.norm(np.cross(axis, wrench.linear))
        torque, bending = abs(axis @ wrench.angular), np.linalg.norm(np.cross(axis, wrench.angular))
        normal = np.nan
        if bearing:
            normal = (bending / bearing["bending_arm"] + radial) * bearing[
                "pin_radius"
            ] + axial * bearing["friction_arm"]
        return {"torque": torque, "bending": bending, "normal": normal}


@pytest.fixture(scope="module")
def perfect(make_arm):
    """The truth of the small arm."""
    return SimulatedArm(make_arm()).truth


class TestFriction:
    @pytest.mark.parametrize("exponent", [1.0, 2.0])
    @pytest.mark.parametrize("speed", [0.02, 0.08, 0.3, 1.5])
    @pytest.mark.slow
    def test_steady_torque_is_the_stribeck_law(self, simulate, drive, speed, exponent):
        """Gravity has no torque about the vertical axis: the drive torque is friction."""
        arm = simulate({"joints": {"turn": {"stribeck_exponent": exponent}}})
        expected = law(speed, 3.0, 4.5, 0.08, exponent, 2.0)
        for way in (1.0, -1.0):
            run = drive(arm, at(way * speed, 1.0))
            np.testing.assert_allclose(run["dq"][-40:, 0], way * speed, rtol=1e-4)
            np.testing.assert_allclose(run["tau"][-40:, 0], way * expected, rtol=1e-3)

    @pytest.mark.parametrize("speed", [0.05, 0.5, 1.5])
    @pytest.mark.slow
    def test_steady_torque_under_gravity_is_coulomb_viscous(self, simulate, drive, speed):
        arm = simulate()
        for way in (1.0, -1.0):
            run = drive(arm, at(way * speed, 1.0, joint=1))
            friction = (run["tau"][:, 1] - gravity_torque(run["q"][:, 1]))[-40:]
            np.testing.assert_allclose(friction, way * (2.0 + 1.5 * speed), rtol=0.01)

    @pytest.mark.parametrize("efficiency", [0.9, 0.6])
    @pytest.mark.slow
    def test_a_gear_loses_torque_in_both_directions(self, simulate, drive, efficiency):
        """The drive gives 1 / efficiency of the weight when it lifts, and efficiency of
        the weight when it lowers.
        """
        arm = simulate({"joints": {"lift": FREE | {"efficiency": efficiency}}})
        for way in (1.0, -1.0):
            run = drive(arm, at(way * 0.3, 1.0, joint=1))
            weight = gravity_torque(run["q"][-40:, 1])
            expected = np.where(way * weight > 0.0, weight / efficiency, weight * efficiency)
            np.testing.assert_allclose(run["tau"][-40:, 1], expected, rtol=0.01)
            np.testing.assert_allclose(
                arm.friction(run["q"][-40:], np.array([[0.0, way * 0.3]] * 40))[:, 1],
                expected - weight,
                rtol=1e-6,
            )

    @pytest.mark.parametrize("joint", [0, 1])
    @pytest.mark.parametrize("load", ["torque", "bending", "normal"])
    @pytest.mark.slow
    def test_friction_grows_with_the_load(self, make_arm, drive, load, joint):
        """At one position, half the difference of forward and backward torque is
        the law at Pinocchio's load.
        """
        bearing = {"pin_radius": 0.04, "friction_arm": 0.03, "bending_arm": 0.08}
        truth = {
            "load": load,
            "coulomb": 2.0,
            "coulomb_coefficient": 0.2,
            "static": 3.0,
            "static_coefficient": 0.6,
            "stribeck_velocity": 0.4,
            "viscous": 1.0,
            **({"bearing": bearing} if load == "normal" else {}),
        }
        name, speed = ("turn", "lift")[joint], 0.3
        arm_file = make_arm(
            {"simulation": {"joints": {name: truth}}, "workspace": {"home": [0.4, 0.6]}}
        )
        arm = SimulatedArm(arm_file)
        arm.enable()
        there, back = drive(arm, at(speed, 1.0, joint)), drive(arm, at(-speed, 1.0, joint))
        place = there["q"][150, joint]
        q = there["q"][150]
        tau = [
            np.interp(way * place, way * run["q"][60:, joint], run["tau"][60:, joint])
            for run, way in ((there, 1.0), (back, -1.0))
        ]
        L = Pinocchio(arm_file).loads(q, joint, bearing)[load]
        expected = law(speed, 2.0 + 0.2 * L, 3.0 + 0.6 * L, 0.4, 2.0, 1.0)
        assert (tau[0] - tau[1]) / 2.0 == pytest.approx(expected, rel=0.005)
        # the vertical axis carries no torque
        if not (joint == 0 and load == "torque"):
            assert expected > 1.1 * law(speed, 2.0, 3.0, 0.4, 2.0, 1.0)

    @pytest.mark.parametrize("load", ["torque", "bending", "normal"])
    def test_loads_equal_those_of_pinocchio_in_every_posture(self, make_arm, load):
        bearing = {"pin_radius": 0.05, "friction_arm": 0.02, "bending_arm": 0.1}
        truth = {"load": load, **({"bearing": bearing} if load == "normal" else {})}
        arm_file = make_arm({"simulation": {"joints": {"turn": truth, "lift": truth}}})
        q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, 2))
        judge = Pinocchio(arm_file)
        expected = [[judge.loads(row, joint, bearing)[load] for joint in (0, 1)] for row in q]
        np.testing.assert_allclose(SimulatedArm(arm_file).loads(q), expected, atol=1e-6)

    @pytest.mark.parametrize(
        ("load", "expected"),
        [
            # weight 4 g hangs at (0.1, 0.2, 0.3) on a rail along n = (0.6, 0, 0.8): along it 0.8,
            # across it 0.6 of the weight; its moment (-0.2, 0.1, 0) 4 g has -0.12 along the rail
            ("torque", 0.8 * 4.0 * GRAVITY),
            ("bending", np.sqrt(0.05 - 0.12**2) * 4.0 * GRAVITY),
            ("normal", (np.sqrt(0.05 - 0.12**2) / 0.08 + 0.6 + 0.12 / 0.03) * 4.0 * GRAVITY),
        ],
    )
    def test_loads_of_a_sliding_joint(self, make_arm, drive, load, expected):
        bearing = {"pin_radius": 0.04, "friction_arm": 0.03, "bending_arm": 0.08}
        truth = {
            "load": load,
            "coulomb_coefficient": 0.1,
            **({"bearing": bearing} if load == "normal" else {}),
        }
        arm = SimulatedArm(
            make_arm(
                {
                    "joints": {"carriage": {"torque": 500.0}},
                    "simulation": {"joints": {"carriage": truth}},
                },
                "slide",
            )
        )
        arm.enable()
        friction = 12.0 + 0.1 * expected + 20.0 * 0.1
        up, down = (drive(arm, at(way * 0.1, 0.6, n=1))["tau"][-1, 0] for way in (1.0, -1.0))
        np.testing.assert_allclose(arm.loads([[-0.3], [0.0], [0.3]])[:, 0], expected)
        assert (up - down) / 2.0 == pytest.approx(friction, rel=1e-3)
        assert (up + down) / 2.0 == pytest.approx(0.8 * 4.0 * GRAVITY, rel=1e-3)

    def test_the_true_friction_that_judges_estimates_is_the_friction_that_acts(
        self, make_arm, drive
    ):
        truth = {"load": "torque", "coulomb_coefficient": 0.1, "torque_scale": 0.9}
        arm = SimulatedArm(make_arm({"simulation": {"joints": {"lift": truth}}}))
        arm.enable()
        run = drive(arm, at(0.3, 0.6, joint=1))
        friction = run["tau"][-20:, 1] - 0.9 * gravity_torque(run["q"][-20:, 1])
        np.testing.assert_allclose(
            arm.friction(run["q"][-20:], run["dq"][-20:])[:, 1], friction, rtol=0.01
        )

    @pytest.mark.slow
    def test_a_joint_sticks_below_its_static_friction_and_breaks_loose_above(self, simulate):
        arm = simulate()
        q, dq = held(arm, 0.95 * 4.5, 3.0)
        assert np.abs(q[:, 0] - q[0, 0]).max() < 1e-5
        assert np.abs(dq[:, 0]).max() < 1e-5
        q, _ = held(arm, 1.05 * 4.5, 1.0)
        assert q[-1, 0] > 0.05

    @pytest.mark.slow
    def test_a_loaded_joint_at_rest_does_not_creep(self, simulate):
        """Gravity pulls with 4.9 N·m, friction holds up to 8 N·m, and the drive gives
        no torque for ten seconds.
        """
        arm = simulate({"joints": {"lift": {"coulomb": 6.0, "static": 8.0}}})
        q, _ = held(arm, 0.0, 10.0, joint=1)
        assert abs(gravity_torque(0.0)) > 4.0
        assert np.abs(q[:, 1]).max() < 1e-5

    def test_without_friction_the_same_joint_falls(self, simulate):
        q, _ = held(simulate(FREE_PAIR), 0.0, 0.3, joint=1)
        # about +y the boom falls from horizontal
        assert q[-1, 1] > 0.1

    @pytest.mark.slow
    def test_held_joints_do_not_creep(self, simulate, drive):
        run = drive(simulate(), np.zeros((2000, 2)))
        assert np.abs(run["q"]).max() < 1e-5

    def test_friction_brings_a_coasting_joint_to_rest_and_never_speeds_it_up(self, simulate, drive):
        arm = simulate()
        drive(arm, at(1.5, 0.5))
        _, dq = held(arm, 0.0, 1.0)
        speed = dq[:, 0]
        assert speed[0] > 1.2
        assert (np.diff(speed) <= 1e-9).all()
        assert (speed >= -1e-9).all()
        assert abs(speed[-1]) < 1e-6

    def test_without_friction_a_joint_coasts_on(self, simulate, drive):
        arm = simulate({"joints": {"turn": FREE}})
        drive(arm, at(1.5, 0.5))
        _, dq = held(arm, 0.0, 1.0)
        np.testing.assert_allclose(dq[:, 0], dq[0, 0], rtol=1e-6)

    @settings(
        max_examples=50,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        coulomb=st.floats(0.0, 10.0),
        static=st.floats(0.0, 10.0),
        coefficient=st.floats(0.0, 1.0),
        w=st.floats(-3.0, 3.0),
        load=st.floats(0.0, 100.0),
        viscous=st.floats(0.0, 5.0),
    )
    @pytest.mark.slow
    def test_friction_only_dissipates_energy_and_is_odd(
        self, perfect, coulomb, static, coefficient, w, load, viscous
    ):
        turn = perfect.joints[0].model_copy(
            update={
                "coulomb": coulomb,
                "static": static,
                "coulomb_coefficient": coefficient,
                "viscous": viscous,
            }
        )
        truth = replace(perfect, joints=(turn, perfect.joints[1]), _columns={})
        there, back = (
            truth.friction(np.array([v, 0.0]), np.array([load, 0.0]), np.zeros(2))[0]
            for v in (w, -w)
        )
        assert there * w >= 0.0
        assert there == -back


class TestDrive:
    def test_rotor_inertia_counts_with_the_gear_squared(self, simulate):
        """A torque on the free column: acceleration is torque over the total
        inertia about the vertical.
        """
        _, dq = held(simulate(FREE_PAIR), 2.0, 0.1)
        assert (dq[-1, 0] - dq[9, 0]) / (10 / RATE) == pytest.approx(
            2.0 / (LINK_INERTIA + ROTOR), rel=0.01
        )

    @pytest.mark.parametrize("way", [1.0, -1.0])
    @pytest.mark.slow
    def test_the_drive_gives_no_more_than_its_torque_limit(self, make_arm, way):
        arm = SimulatedArm(make_arm({"joints": {"turn": {"torque": 2.0}}, "simulation": FREE_PAIR}))
        arm.enable()
        q_limit, _ = held(arm, way * 50.0, 0.2)
        weak = SimulatedArm(make_arm({"simulation": FREE_PAIR}))
        weak.enable()
        q_two, _ = held(weak, way * 2.0, 0.2)
        np.testing.assert_allclose(q_limit[:, 0], q_two[:, 0], atol=1e-9)

    def test_set_points_are_reached_at_the_acceleration_limit(self, simulate, drive):
        run = drive(simulate(), at(1.6, 0.3))
        assert np.interp(0.8, run["dq"][:, 0], run["t"]) == pytest.approx(0.8 / 8.0, abs=0.02)
        # a step of 1.6 rad/s in a cycle would be 40 times this
        assert np.diff(run["dq"][:, 0]).max() * RATE < 1.5 * 8.0

    def test_a_stop_brakes_no_harder_than_the_acceleration_limit(self, simulate, drive):
        arm = simulate()
        run = drive(arm, at(1.6, 0.5))
        arm.stop("a test")
        arm.enable()
        way = arm.step(Command(np.zeros(2))).q[0] - run["q"][-1, 0]
        assert way == pytest.approx(1.6**2 / (2.0 * 8.0), rel=0.15)

    @pytest.mark.parametrize("bandwidth", [5.0, 20.0])
    @pytest.mark.slow
    def test_the_velocity_loop_has_the_stated_bandwidth(self, make_arm, drive, bandwidth):
        arm_file = make_arm(
            {
                "joints": {"turn": {"acceleration": 1e4}},
                "simulation": {"bandwidth": bandwidth, **FREE_PAIR},
            }
        )
        ratio = {}
        for frequency in (bandwidth / 5.0, bandwidth, 3.0 * bandwidth):
            arm = SimulatedArm(arm_file)
            arm.enable()
            t = np.arange(round(RATE * (4.0 / frequency + 0.5))) / RATE
            wave = 0.2 * np.sin(2.0 * np.pi * frequency * t)
            run = drive(arm, np.column_stack((wave, np.zeros(len(t)))))
            late = slice(-round(RATE * 2.0 / frequency), None)
            ratio[frequency] = np.ptp(run["dq"][late, 0]) / np.ptp(wave[late])
        low, at_bandwidth, high = ratio.values()
        assert low == pytest.approx(1.0, abs=0.15)
        assert 0.5 < at_bandwidth < 1.1
        assert high < 0.5

    def test_actuators_of_an_mjcf_do_not_drive_it(self, tmp_path):
        """A position servo of the model would pull the joint to zero, and the
        drive torque would show it.
        """
        (tmp_path / "arm.xml").write_text("""<mujoco><worldbody><body><joint name="a" axis="0 0 1"/>
            <inertial pos="0.2 0 0" mass="2" diaginertia="0.01 0.03 0.03"/></body></worldbody>
            <actuator><position joint="a" kp="500"/></actuator><keyframe><key qpos="1"/></keyframe></mujoco>""")
        (tmp_path / "arm.toml").write_text("""schema = 1
            name = "arm"
            model = "arm.xml"
            workspace = { home = [0.5] }
            joints = { a = {} }""")
        with SimulatedArm(load_arm(tmp_path / "arm.toml")) as arm:
            arm.enable()
            for _ in range(50):
                sample = arm.step(Command(np.zeros(1)))
        assert sample.q[0] == pytest.approx(0.5)
        assert sample.tau[0] == pytest.approx(0.0, abs=1e-9)

    def test_starts_at_home(self, make_arm):
        arm = SimulatedArm(make_arm({"workspace": {"home": [0.3, -0.7]}}))
        arm.enable()
        np.testing.assert_allclose(arm.step(Command(np.zeros(2))).q, [0.3, -0.7], atol=1e-4)


class TestSeeds:
    NOISY = {"torque_noise": 0.3, "velocity_noise": 1e-3, "stroke_scatter": 0.05, "ripple": 0.05}  # noqa: RUF012

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_samples(self, simulate, drive):
        one, two = (drive(simulate(self.NOISY, seed=7), swing(300)) for _ in range(2))
        for key in one:
            np.testing.assert_array_equal(one[key], two[key])

    @pytest.mark.slow
    def test_another_seed_gives_other_noise_about_the_same_motion(self, simulate, drive):
        one, two = (drive(simulate(self.NOISY, seed=seed), swing(300)) for seed in (7, 8))
        assert np.mean(one["tau"] != two["tau"]) > 0.99
        np.testing.assert_allclose(one["q"], two["q"], atol=0.05)

    @pytest.mark.slow
    def test_the_seed_of_the_file_holds_unless_another_is_given(self, simulate, drive):
        filed = drive(simulate({**self.NOISY, "seed": 7}), swing(50))
        given_ = drive(simulate({**self.NOISY, "seed": 3}, seed=7), swing(50))
        other = drive(simulate({**self.NOISY, "seed": 3}), swing(50))
        np.testing.assert_array_equal(filed["tau"], given_["tau"])
        assert (filed["tau"] != other["tau"]).any()

    @pytest.mark.slow
    def test_a_perfect_arm_does_not_depend_on_the_seed(self, simulate, drive):
        one, two = (drive(simulate(seed=seed), swing(100)) for seed in (7, 8))
        np.testing.assert_array_equal(one["tau"], two["tau"])


class TestKnobs:
    """Each knob does what its description says, and nothing else."""

    @pytest.fixture
    def both(self, simulate, drive):
        """The same commands on a perfect arm and on one with a knob set."""

        def run(knobs, commands=None, base=None):
            commands = swing(200) if commands is None else commands
            return drive(simulate(base), commands), drive(
                simulate({**(base or {}), **knobs}), commands
            )

        return run

    def test_every_knob_has_a_description(self):
        for name, field in Knobs.model_fields.items():
            assert field.description, f"{name} has no description"

    @pytest.mark.slow
    def test_torque_scale(self, both):
        plain, scaled = both({"torque_scale": 0.9})
        np.testing.assert_allclose(scaled["tau"], 0.9 * plain["tau"])
        np.testing.assert_array_equal(scaled["q"], plain["q"])

    @pytest.mark.slow
    def test_offset(self, both):
        plain, shifted = both({"offset": -0.4})
        np.testing.assert_allclose(shifted["tau"], plain["tau"] - 0.4)
        np.testing.assert_array_equal(shifted["q"], plain["q"])

    @pytest.mark.slow
    def test_a_knob_of_one_joint_changes_that_joint_only(self, both):
        plain, shifted = both({"offset": 1.0, "joints": {"lift": {"offset": 2.0}}})
        np.testing.assert_allclose(shifted["tau"] - plain["tau"], np.tile([1.0, 2.0], (200, 1)))

    @pytest.mark.parametrize("samples", [1, 5])
    @pytest.mark.slow
    def test_torque_delay(self, both, samples):
        plain, late = both({"torque_delay": samples / RATE})
        np.testing.assert_allclose(late["tau"][samples:], plain["tau"][:-samples])
        np.testing.assert_array_equal(late["q"], plain["q"])
        assert np.abs(late["tau"] - plain["tau"]).max() > 0.5

    @pytest.mark.slow
    def test_torque_step(self, both):
        plain, stepped = both({"torque_step": 0.25})
        np.testing.assert_allclose(stepped["tau"] / 0.25, np.rint(stepped["tau"] / 0.25), atol=1e-9)
        assert np.abs(stepped["tau"] - plain["tau"]).max() <= 0.125 + 1e-9

    @pytest.mark.slow
    def test_encoder_step(self, both, simulate):
        plain, stepped = both({"encoder_step": 1e-3})
        np.testing.assert_allclose(stepped["q"] / 1e-3, np.rint(stepped["q"] / 1e-3), atol=1e-9)
        assert np.abs(stepped["q"] - plain["q"]).max() <= 0.5e-3 + 1e-9
        np.testing.assert_array_equal(stepped["tau"], plain["tau"])

    def test_steps_are_the_resolution_that_the_arm_states(self, simulate):
        resolution = simulate({"encoder_step": 1e-4, "torque_step": 0.25}).resolution
        assert resolution.position_step.tolist() == [1e-4, 1e-4]
        assert resolution.torque_step.tolist() == [0.25, 0.25]

    @pytest.mark.slow
    def test_velocity_noise(self, both):
        plain, noisy = both({"velocity_noise": 0.02}, np.zeros((800, 2)))
        noise = noisy["dq"] - plain["dq"]
        np.testing.assert_allclose(noise.std(axis=0), 0.02, rtol=0.1)
        np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.003)
        np.testing.assert_array_equal(noisy["q"], plain["q"])

    @pytest.mark.slow
    def test_torque_noise_is_white(self, simulate):
        noise = noise_of(simulate({"torque_noise": 0.5}), 3000)
        np.testing.assert_allclose(noise.std(axis=0), 0.5, rtol=0.1)
        np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.05)
        assert abs(correlation(noise, 1)) < 0.06

    @pytest.mark.slow
    def test_torque_noise_time(self, simulate):
        """Noise of the same size, whose autocorrelation falls to 1/e over this time."""
        noise = noise_of(simulate({"torque_noise": 0.5, "torque_noise_time": 0.05}), 6000)
        np.testing.assert_allclose(noise.std(axis=0), 0.5, rtol=0.2)
        assert correlation(noise, 10) == pytest.approx(np.exp(-1.0), abs=0.12)
        assert correlation(noise, 1) == pytest.approx(np.exp(-0.1), abs=0.05)

    def test_correlated_noise_is_there_from_the_first_sample(self, simulate):
        truth = simulate({"torque_noise": 0.5, "torque_noise_time": 5.0}).truth
        readings = [DriveReading(truth, RATE, np.random.default_rng(seed)) for seed in range(40)]
        rest = np.zeros(2)
        first = [reading.measure(rest, rest, rest, rest, rest).tau for reading in readings]
        assert np.std(first) == pytest.approx(0.5, rel=0.3)

    @pytest.mark.slow
    def test_ripple(self, simulate, drive):
        """Friction varies about its mean with the position, with this amplitude and period."""
        arm = simulate(
            {
                "ripple": 0.1,
                "ripple_period": 0.15,
                "joints": {"turn": {"static": 3.0, "viscous": 0.0}},
            }
        )
        run = drive(arm, at(0.15, 4.0))
        q, tau = run["q"][200:, 0], run["tau"][200:, 0]
        waves = np.column_stack(
            [np.ones(len(q)), np.sin(2.0 * np.pi * q / 0.15), np.cos(2.0 * np.pi * q / 0.15)]
        )
        mean, *wave = np.linalg.lstsq(waves, tau, rcond=None)[0]
        assert mean == pytest.approx(3.0, rel=0.01)
        assert np.hypot(*wave) == pytest.approx(0.1 * 3.0, rel=0.05)
        assert np.std(tau - waves @ [mean, *wave]) < 0.1 * np.hypot(*wave)

    @pytest.mark.parametrize("way", [1.0, -1.0])
    @pytest.mark.slow
    def test_cogging(self, simulate, drive, way):
        """Torque at a position is equal in both directions; friction is its mean."""
        arm = simulate(
            {
                "cogging": 0.4,
                "cogging_order": 40.0,
                "cogging_phase": 0.5,
                "joints": {"turn": {"static": 3.0, "viscous": 0.0}},
            }
        )
        run = drive(arm, at(0.15 * way, 4.0))
        q, tau = run["q"][200:, 0], run["tau"][200:, 0]
        waves = np.column_stack([np.ones(len(q)), np.sin(40.0 * q + 0.5), np.cos(40.0 * q + 0.5)])
        mean, along, across = np.linalg.lstsq(waves, tau, rcond=None)[0]
        assert mean == pytest.approx(3.0 * way, rel=0.01)
        assert along == pytest.approx(0.4, rel=0.05)
        assert abs(across) < 0.05

    @pytest.mark.slow
    def test_the_phase_of_the_ripple_can_be_stated(self, simulate, drive):
        arm = simulate(
            {
                "ripple": 0.1,
                "ripple_period": 0.15,
                "ripple_phase": 0.5,
                "joints": {"turn": {"static": 3.0, "viscous": 0.0}},
            }
        )
        run = drive(arm, at(0.15, 4.0))
        q, tau = run["q"][200:, 0], run["tau"][200:, 0]
        np.testing.assert_allclose(tau, 3.0 + 0.3 * np.sin(2.0 * np.pi * q / 0.15 + 0.5), atol=0.03)

    @pytest.mark.slow
    def test_stroke_scatter(self, simulate, drive):
        """Each stroke has its own friction level, constant along the stroke,
        with this standard deviation.
        """
        arm = simulate({"stroke_scatter": 0.1, "joints": {"turn": {"static": 3.0, "viscous": 0.0}}})
        levels, along = [], []
        for k in range(40):
            tau = np.abs(drive(arm, at(0.5 * (-1.0) ** k, 0.3))["tau"][-15:, 0])
            levels.append(tau.mean())
            along.append(np.ptp(tau))
        assert np.mean(levels) == pytest.approx(3.0, rel=0.05)
        assert np.std(levels) == pytest.approx(0.3, rel=0.3)
        assert max(along) < 0.02

    @pytest.mark.slow
    def test_warm_up(self, simulate, drive):
        """A cold joint has more friction, which decays with this time constant, as the
        drive's temperature shows.
        """
        arm = simulate({"warm_up": 0.5, "warm_up_time": 2.0, "joints": {"turn": {"static": 3.0}}})
        run = drive(arm, at(0.4, 6.0))
        t, tau = run["t"][60:], run["tau"][60:, 0]
        np.testing.assert_allclose(
            tau, (3.0 + 2.0 * 0.4) * (1.0 + 0.5 * np.exp(-t / 2.0)), rtol=0.005
        )
        cold, warm = simulate({"warm_up_time": 2.0}), arm
        rest = Command(np.zeros(2))
        assert warm.step(rest).temperature[0] > cold.step(rest).temperature[0] + 5.0

    def test_a_payload_acts_and_is_not_in_the_model(self, make_arm, drive):
        arm_file = make_arm(
            {"simulation": {"payload": {"mass": 1.0, "com": [0.3, 0.0, 0.1]}, **FREE_PAIR}}
        )
        arm = SimulatedArm(arm_file)
        arm.enable()
        known = gravity_torque(0.0)
        assert drive(arm, np.zeros((100, 2)))["tau"][-1, 1] == pytest.approx(
            known - 1.0 * GRAVITY * 0.3
        )
        assert joint_loads(load_mechanism(arm_file), [[0.0, 0.0]]).tau[0, 1] == pytest.approx(known)

    def test_a_tool_acts_and_is_in_the_model(self, make_arm, drive):
        arm_file = make_arm(
            {"tool": {"mass": 1.0, "com": [0.3, 0.0, 0.1]}, "simulation": FREE_PAIR}
        )
        arm = SimulatedArm(arm_file)
        arm.enable()
        together = gravity_torque(0.0) - 1.0 * GRAVITY * 0.3
        assert drive(arm, np.zeros((100, 2)))["tau"][-1, 1] == pytest.approx(together)
        assert joint_loads(load_mechanism(arm_file), [[0.0, 0.0]]).tau[0, 1] == pytest.approx(
            together
        )

    def test_mass_error(self, simulate, drive):
        """All links have more mass and inertia; the rotors, which are known, do not."""
        arm = simulate({"mass_error": 1.5, **FREE_PAIR})
        assert drive(arm, np.zeros((100, 2)))["tau"][-1, 1] == pytest.approx(
            2.5 * gravity_torque(0.0)
        )
        _, dq = held(arm, 2.0, 0.1)
        assert (dq[-1, 0] - dq[9, 0]) / (10 / RATE) == pytest.approx(
            2.0 / (2.5 * LINK_INERTIA + ROTOR), rel=0.01
        )


def noise_of(arm, cycles):
    """Torques that the drives of an arm read where none acts, shape (cycles, 2)."""
    reading, rest = DriveReading(arm.truth, RATE, np.random.default_rng(0)), np.zeros(2)
    return np.array([reading.measure(rest, rest, rest, rest, rest).tau for _ in range(cycles)])


def correlation(noise, lag):
    """Mean over joints of the autocorrelation at this lag in cycles."""
    centred = noise - noise.mean(axis=0)
    return float(np.mean((centred[lag:] * centred[:-lag]).mean(axis=0) / centred.var(axis=0)))


@pytest.mark.parametrize(
    ("simulation", "words"),
    [
        ({"torqe_noise": 0.1}, ["simulation.torqe_noise", "did you mean 'torque_noise'"]),
        ({"joints": {"lift": {"coulomp": 1.0}}}, ["joints.lift.coulomp", "did you mean 'coulomb'"]),
        (
            {"joints": {"elbow": {"coulomb": 1.0}}},
            ["simulation.joints.elbow", "unknown joint 'elbow'", "turn, lift"],
        ),
        ({"joints": {"lift": {"load": "normal"}}}, ["simulation.joints.lift", "bearing"]),
        ({"joints": {"lift": {"load": "weight"}}}, ["joints.lift.load", "'weight'"]),
        ({"joints": {"lift": {"coulomb": -1.0}}}, ["joints.lift.coulomb", "-1.0"]),
        ({"torque_noise": -0.1}, ["torque_noise", "-0.1"]),
        ({"ripple": 1.5}, ["ripple", "1.5"]),
        ({"torque_scale": 0.0}, ["torque_scale", "0.0"]),
        ({"mass_error": -1.0}, ["mass_error", "-1.0"]),
        ({"payload": {"mas": 1.0}}, ["simulation.payload.mas", "mass"]),
        ({"seed": -1}, ["simulation.seed", "-1"]),
        ({"offset": float("nan")}, ["offset", "nan"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_an_impossible_truth_is_refused_with_file_and_key(make_arm, simulation, words):
    arm_file = make_arm({"simulation": simulation})
    with pytest.raises(InputError) as caught:
        SimulatedArm(arm_file)
    for word in [str(arm_file.path), *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_reading_is_the_nearest_step():
    rounded = Quantiser(np.array([0.1, 0.1, 0.0]))(np.array([0.16, -0.16, 0.123]))
    np.testing.assert_allclose(rounded, [0.2, -0.2, 0.123])
