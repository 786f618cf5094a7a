"""Dry friction with a memory of the simulated arm, against closed forms and
an independent integration.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation.friction_memory import Bristles, SlipElements
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.errors import InputError

RATE, G = 1000.0, 3.0  # Hz: every step of the physics is seen; dry level, N·m
CONSTANT = {"coulomb": G, "static": G, "viscous": 2.0}
DAHL = {"memory": "lugre", "bristle_stiffness": 1500.0, "bristle_damping": 0.0}
LUGRE = {**DAHL, "bristle_damping": 40.0}
ELEMENTS = {"stiffnesses": [1200.0, 500.0, 150.0], "shares": [0.3, 0.4, 0.3]}
SLIP = {"memory": "maxwell-slip", **ELEMENTS}
BOTH = pytest.mark.parametrize("memory", [LUGRE, SLIP], ids=["lugre", "slip"])


@pytest.fixture
def simulate(make_arm):
    """Make an enabled arm with this truth of its vertical joint and these knobs."""

    def make(truth, joint="turn", **knobs):
        arm = SimulatedArm(
            make_arm({"driver": {"rate": RATE}, "simulation": {**knobs, "joints": {joint: truth}}})
        )
        arm.enable()
        return arm

    return make


@pytest.fixture
def moved(simulate):
    """Drive the vertical joint through velocities (N,) with this friction; return q, dq, tau
    and torque of the memory.
    """

    def move(velocity, truth, **knobs):
        arm = simulate(truth, **knobs)
        rows = []
        for w in velocity:
            sample = arm.step(Command(np.array([w, 0.0])))
            rows.append((sample.q[0], sample.dq[0], sample.tau[0], arm.memory_torque()[0]))
        return np.array(rows).T

    return move


def virgin(x):
    """Torque of the elements after a travel x from rest: each a spring that slips at its share."""
    return sum(np.minimum(k * x, share * G) for k, share in zip(*ELEMENTS.values(), strict=True))


def there_and_back(speed, seconds):
    return speed * np.repeat([1.0, -1.0], round(seconds * RATE))


def branch(run, start):
    """Travel and torque of the memory after the reversal at or after a sample."""
    q, _, _, torque = run
    turn = start + int(np.argmax(q[start:]))
    return q[turn] - q[turn:], torque[turn:]


class TestHysteresis:
    def test_bristles_follow_the_exponential_of_travel_in_steps_of_any_length(self):
        bristles, dt = Bristles(1500.0, 0.0, 1e-3), 1e-3
        rng = np.random.default_rng(0)
        for sign, start in ((1.0, 0.0), (-1.0, G)):
            travel, steps = 0.0, rng.uniform(0.0, 2.0, 400)
            for speed in steps:
                bristles.push(G, sign * speed)
                bristles.settle(sign * speed)
                travel += speed * dt
                expected = G * sign + (start - G * sign) * np.exp(-1500.0 * travel / G)
                assert bristles.torque == pytest.approx(expected, abs=1e-9 * G)

    @pytest.mark.slow
    def test_the_joint_follows_the_curve_after_a_reversal(self, moved):
        """z = z_ss (1 - 2 exp(-x sigma_0 / g)) from the position of the
        reversal on, where z = z_ss.
        """
        run = moved(there_and_back(0.02, 1.5), {**CONSTANT, **DAHL})
        travel, torque = branch(run, 1250)
        np.testing.assert_allclose(
            torque, -G * (1.0 - 2.0 * np.exp(-travel * 1500.0 / G)), atol=1e-6 * G
        )
        # many samples within the presliding distance
        assert np.sum(travel < G / 1500.0) > 100

    @BOTH
    @pytest.mark.slow
    def test_the_drive_feels_the_memory_and_the_viscous_part(self, moved, memory):
        """At slow steady motion of the joint, torque of the drive is friction: also in
        the middle of presliding.
        """
        q, dq, tau, torque = moved(there_and_back(0.002, 1.5), {**CONSTANT, **memory})
        slow = np.abs(np.gradient(dq) * RATE) < 1e-3
        assert slow.sum() > 2000
        np.testing.assert_allclose(tau[slow], (torque + 2.0 * dq)[slow], atol=2e-3 * G)
        assert np.ptp(q) > 1e-3

    @pytest.mark.slow
    def test_a_loop_of_slip_elements_obeys_masings_rule(self, moved):
        """A branch after a reversal is the virgin curve, twice as large."""
        run = moved(there_and_back(0.01, 1.5), {**CONSTANT, **SLIP})
        q, _, _, torque = run
        first = np.arange(len(q)) < 1.5 * RATE
        np.testing.assert_allclose(torque[first], virgin(q[first]), atol=1e-9 * G)
        travel, back = branch(run, 1200)
        np.testing.assert_allclose(back, back[0] - 2.0 * virgin(travel / 2.0), atol=1e-9 * G)

    @pytest.mark.parametrize(
        ("memory", "half"),
        [(DAHL, 1e-2), (LUGRE, 2e-3), (SLIP, 2e-3)],
        ids=["dahl", "lugre", "slip"],
    )
    @pytest.mark.slow
    def test_closed_loops_dissipate_energy(self, moved, memory, half):
        t = np.arange(round(2.3 * RATE)) / RATE
        turn = 2.0 * np.pi
        q, _, _, torque = moved(half * turn * np.cos(turn * t), {**CONSTANT, **memory})
        work = np.concatenate(([0.0], np.cumsum((torque[1:] + torque[:-1]) / 2.0 * np.diff(q))))
        loops = np.diff(work[[round((0.25 + k) * RATE) for k in range(3)]])
        amplitude = np.ptp(q[len(q) // 2 :]) / 2.0
        assert (loops > 0.0).all()
        assert (loops < 4.0 * G * amplitude).all()  # the loop of a rigid slider

    @pytest.mark.slow
    def test_a_small_loop_inside_a_large_one_closes(self, moved):
        """Slip elements return to the large loop at the point of departure: memory is not local."""
        w = 0.01 * np.repeat([1.0, -1.0, 1.0, -1.0], np.array([2000, 400, 200, 600]))
        q, _, _, torque = moved(w, {**CONSTANT, **SLIP})
        leaves = 2000 + int(np.argmin(q[2000:2600]))
        q_back, torque_back = q[leaves:], torque[leaves:]
        peak = int(np.argmax(q_back))
        at_return = np.interp(-q[leaves], -q_back[peak:], torque_back[peak:])
        assert q_back[peak] - q[leaves] > 2e-4
        # the branch has a kink there
        assert at_return == pytest.approx(torque[leaves], abs=0.005 * G)


class TestSteadySliding:
    @pytest.mark.parametrize(
        ("memory", "speed"),
        [(DAHL, 0.05), (LUGRE, 0.4), (SLIP, 0.05)],
        ids=["dahl", "lugre", "slip"],
    )
    @pytest.mark.slow
    def test_the_torque_is_the_static_law(self, moved, memory, speed):
        """In both directions, after travels that are long against the presliding distance."""
        truth = {"coulomb": 3.0, "static": 4.5, "stribeck_velocity": 0.08, "viscous": 2.0, **memory}
        level = 3.0 + 1.5 * np.exp(-((speed / 0.08) ** 2))
        run = moved(there_and_back(speed, 1.2), truth)
        for sign, half in ((1.0, run[:, : run.shape[1] // 2]), (-1.0, run)):
            _, dq, tau, torque = half[:, -20:]
            np.testing.assert_allclose(dq, sign * speed, rtol=1e-4)
            np.testing.assert_allclose(torque, sign * level, rtol=1e-3)
            np.testing.assert_allclose(tau, sign * (level + 2.0 * speed), rtol=1e-3)

    @BOTH
    @pytest.mark.slow
    def test_the_level_grows_with_the_load(self, simulate, drive, memory):
        """The boom's weight turns about the y axis; its torque is the load."""
        truth = {
            "load": "torque",
            "coulomb": 1.0,
            "coulomb_coefficient": 0.2,
            "viscous": 1.5,
            **memory,
        }
        arm = simulate(truth, "lift")
        run = drive(arm, np.tile([0.0, 0.3], (1000, 1)))
        load = arm.loads(run["q"][-1])[0, 1]
        assert load > 3.0
        assert arm.memory_torque()[1] == pytest.approx(1.0 + 0.2 * load, rel=2e-3)
        assert np.isnan(arm.memory_torque()[0])
        assert arm.friction(run["q"][-1], [0.0, 0.3])[0, 1] == pytest.approx(
            arm.memory_torque()[1] + 1.5 * 0.3, rel=2e-3
        )


class TestRest:
    @pytest.mark.parametrize(
        ("memory", "inertia"),
        [(DAHL, 4.0e-5), (SLIP, 4.0e-5), (LUGRE, 0.0), (SLIP, 0.0)],
        ids=["dahl", "slip", "lugre-light", "slip-light"],
    )
    @pytest.mark.slow
    def test_a_held_joint_does_not_creep(self, make_arm, memory, inertia):
        """Bristles and drive hold the weight of the boom together, wherever motion ended."""
        arm = SimulatedArm(
            make_arm(
                {
                    "driver": {"rate": RATE},
                    "joints": {"lift": {"rotor_inertia": inertia}},
                    "simulation": {"joints": {"lift": {**CONSTANT, **memory}}},
                }
            )
        )
        arm.enable()
        for w in (0.2, -0.03):
            for _ in range(500):
                arm.step(Command(np.array([0.0, w])))
            q = np.array([arm.step(Command(np.zeros(2))).q[1] for _ in range(round(1.5 * RATE))])
            assert np.ptp(q[round(RATE) :]) < 1e-7  # creep below 2e-7 rad/s

    @BOTH
    @pytest.mark.slow
    def test_bristles_alone_hold_a_weight_below_the_dry_level(self, simulate, memory):
        """Without torque of the drive the boom sags once and stays."""
        arm = simulate({"coulomb": 8.0, "viscous": 10.0, **memory}, "lift")
        off = Command(np.zeros(2), np.zeros(2), ("velocity", "torque"))
        q = np.array([arm.step(off).q[1] for _ in range(round(2.0 * RATE))])
        assert 5e-4 < q[-1] < 0.05
        assert np.ptp(q[round(RATE) :]) < 2e-7
        assert arm.memory_torque()[1] == pytest.approx(2.0 * 9.81 * 0.25, rel=0.02)

    @pytest.mark.slow
    def test_a_joint_with_a_stiff_loop(self, make_arm, drive):
        """A light finger whose loop is implicit: steady law, and rest without creep."""
        truth = {"coulomb": 3.0, "static": 3.0, "viscous": 1.0, **DAHL, "bristle_damping": 5.0}
        arm = SimulatedArm(
            make_arm(
                {
                    "joints": {name: {"rotor_inertia": 0.0} for name in ("turn", "lift")},
                    "simulation": {"bandwidth": 400.0, "joints": {"lift": truth}},
                }
            )
        )
        arm.enable()
        assert arm._loop._stiff_loops
        drive(arm, np.tile([0.0, 0.1], (200, 1)))
        assert arm.memory_torque()[1] == pytest.approx(3.0, rel=1e-3)
        q = drive(arm, np.zeros((500, 2)))["q"][200:, 1]
        assert np.ptp(q) < 3e-7


class TestIntegration:
    """The carriage of `slide`, 4 kg on a rail, under a force, against an independent
    integration of the same equations.
    """

    MASS, WEIGHT, VISCOUS = 4.0, 0.8 * 4.0 * 9.81, 20.0

    def simulated(self, make_arm, memory, rate):
        arm = SimulatedArm(
            make_arm(
                {
                    "driver": {"rate": rate},
                    "simulation": {
                        "joints": {
                            "carriage": {
                                "coulomb": 12.0,
                                "static": 15.0,
                                "stribeck_velocity": 0.01,
                                "viscous": self.VISCOUS,
                                **memory,
                            }
                        }
                    },
                },
                "slide",
            )
        )
        arm.enable()
        forces = self.force((np.arange(round(rate)) + 0.5) / rate)
        samples = [
            arm.step(Command(np.zeros(1), np.array([force]), ("torque",))) for force in forces
        ]
        return np.array([(sample.t, sample.q[0], sample.dq[0]) for sample in samples]).T

    def force(self, t):
        return self.WEIGHT + (16.0 - 5.0 * np.exp(-t)) * np.sin(2.0 * np.pi * 1.5 * t)

    @staticmethod
    def level(w):
        return 12.0 + 3.0 * np.exp(-((w / 0.01) ** 2))

    def lugre(self, t, state):
        _, w, z = state
        rate = w - 20e3 * abs(w) / self.level(w) * z
        return (
            w,
            (self.force(t) - self.WEIGHT - self.VISCOUS * w - 20e3 * z - 150.0 * rate) / self.MASS,
            rate,
        )

    def slip(self, t, state):
        _, w, *forces = state
        rates = [
            0.0 if abs(force) >= share * 12.0 and force * w > 0.0 else k * w
            for k, share, force in zip((8e3, 3e3, 1e3), (0.3, 0.4, 0.3), forces, strict=True)
        ]
        return w, (self.force(t) - self.WEIGHT - self.VISCOUS * w - sum(forces)) / self.MASS, *rates

    @pytest.mark.parametrize("kind", ["lugre", "slip"])
    @pytest.mark.slow
    def test_radau_finds_the_same_motion(self, make_arm, kind):
        memory = (
            {"memory": "lugre", "bristle_stiffness": 20e3, "bristle_damping": 150.0}
            if kind == "lugre"
            else {
                "memory": "maxwell-slip",
                "stiffnesses": [8e3, 3e3, 1e3],
                "shares": [0.3, 0.4, 0.3],
                "static": 12.0,
            }
        )
        judge = solve_ivp(
            getattr(self, kind),
            (0.0, 1.0),
            [0.0] * (3 if kind == "lugre" else 5),
            "Radau",
            rtol=1e-7,
            atol=1e-10,
            max_step=5e-3,
            dense_output=True,
        )
        errors = []
        for rate in (500.0, 4000.0):
            t, q, dq = self.simulated(make_arm, memory, rate)
            expected = judge.sol(t)
            errors.append(
                np.array(
                    [
                        np.sqrt(np.mean((ours - theirs) ** 2) / np.mean(theirs**2))
                        for ours, theirs in ((q, expected[0]), (dq, expected[1]))
                    ]
                )
            )
        assert np.ptp(judge.y[0]) > 2e-3
        assert (errors[0] < 0.05).all()
        # the remaining difference is the length of the step
        assert (errors[1] < 0.3 * errors[0]).all()


class TestComposition:
    @BOTH
    @pytest.mark.slow
    def test_a_late_torque_signal_and_a_coarse_encoder(self, moved, memory):
        velocity = there_and_back(0.05, 0.3)
        plain, late, coarse = (
            moved(velocity, {**CONSTANT, **memory}, **knobs)
            for knobs in ({}, {"torque_delay": 0.01}, {"encoder_step": 1e-3})
        )
        np.testing.assert_allclose(late[2][10:], plain[2][:-10], atol=1e-12)
        np.testing.assert_array_equal(coarse[2], plain[2])
        assert np.abs(coarse[0] - plain[0]).max() <= 0.5e-3 + 1e-9

    @BOTH
    @pytest.mark.slow
    def test_ripple_warm_up_and_scatter_change_the_level(self, moved, memory):
        velocity = np.full(round(1.2 * RATE), 0.1)
        for knobs, low, high in (
            ({"ripple": 0.1, "ripple_period": 0.05}, 0.9, 1.1),
            (
                {"warm_up": 0.4, "warm_up_time": 0.4},
                1.0 + 0.4 * np.exp(-3.0),
                1.0 + 0.4 * np.exp(-1.0),
            ),
        ):
            torque = moved(velocity, {**CONSTANT, **memory}, **knobs)[3][round(0.4 * RATE) :]
            assert (torque.min() / G, torque.max() / G) == pytest.approx((low, high), abs=0.02)
        level = moved(velocity, {**CONSTANT, **memory}, stroke_scatter=0.2)[3][-1] / G
        assert 0.01 < abs(level - 1.0) < 0.8

    @pytest.mark.slow
    def test_one_seed_gives_one_run(self, moved):
        knobs = {
            "torque_noise": 0.3,
            "stroke_scatter": 0.05,
            "ripple": 0.05,
            "encoder_step": 1e-5,
            "torque_delay": 0.01,
        }
        for memory in (DAHL, SLIP):
            one, two = (
                moved(there_and_back(0.1, 0.2), {**CONSTANT, **memory}, **knobs) for _ in range(2)
            )
            np.testing.assert_array_equal(one, two)


class TestArmFile:
    @pytest.mark.parametrize(
        ("truth", "message"),
        [
            (
                {"memory": "lugre"},
                'simulation.joints.turn: memory = "lugre" needs bristle_stiffness',
            ),
            (
                {"memory": "maxwell-slip", "stiffnesses": [1.0]},
                'memory = "maxwell-slip" needs shares',
            ),
            (
                {"bristle_stiffness": 5.0},
                'bristle_stiffness belongs to memory = "lugre"; no memory is stated',
            ),
            (
                {**DAHL, "shares": [1.0]},
                'shares belongs to memory = "maxwell-slip"; memory is "lugre"',
            ),
            ({**SLIP, "shares": [0.5, 0.5]}, "stiffnesses has 3 values, shares has 2"),
            ({**SLIP, "shares": [0.5, 0.3, 0.1]}, "sum to 0.9; the sum must be 1"),
            ({**SLIP, "stiffnesses": [1.0, -1.0, 2.0]}, "stiffnesses"),
            ({"memory": "dahl"}, "memory"),
            ({**DAHL, "coulomb": 0.0, "static": 0.0}, "needs dry friction"),
            (
                {**DAHL, "bristle_stiffness": 1e9},
                r"bristle_stiffness = 1e\+09: turn would vibrate at .* allow values up to about",
            ),
        ],
    )
    def test_impossible_memories_are_refused(self, make_arm, truth, message):
        arm = make_arm({"simulation": {"joints": {"turn": truth}}})
        with pytest.raises(InputError, match=message):
            SimulatedArm(arm)

    @pytest.mark.slow
    def test_the_allowed_stiffness_is_simulated_in_finer_steps(self, make_arm):
        with pytest.raises(InputError, match="allow") as refused:
            SimulatedArm(
                make_arm({"simulation": {"joints": {"turn": {**DAHL, "bristle_stiffness": 1e9}}}})
            )
        allowed = 0.95 * float(str(refused.value).split("up to about ")[1].split(". ")[0])
        arm = SimulatedArm(
            make_arm({"simulation": {"joints": {"turn": {**DAHL, "bristle_stiffness": allowed}}}})
        )
        arm.enable()
        for _ in range(20):
            arm.step(Command(np.array([0.1, 0.0])))
        assert arm.memory_torque()[0] == pytest.approx(
            3.0 + 1.5 * np.exp(-((0.1 / 0.08) ** 2)), rel=0.01
        )

    def test_the_tables_default_holds_for_every_joint(self, make_arm):
        arm = SimulatedArm(make_arm({"simulation": {"joints": {"default": SLIP}}}))
        assert np.isfinite(arm.memory_torque()).all()
        assert (
            SlipElements(arm.truth.joints[0].stiffnesses, arm.truth.joints[0].shares, 1e-3).torque
            == 0.0
        )


class TestOtherArms:
    @BOTH
    @pytest.mark.slow
    def test_a_rotor_behind_a_spring_keeps_its_dry_level(self, make_arm, drive, memory):
        arm = SimulatedArm(
            make_arm(
                {"simulation": {"joints": {"lift": {**CONSTANT, **memory, "stiffness": 2000.0}}}}
            )
        )
        arm.enable()
        drive(arm, np.tile([0.0, 0.1], (300, 1)))
        assert arm.memory_torque()[1] == pytest.approx(G, rel=1e-3)
        assert np.ptp(drive(arm, np.zeros((500, 2)))["q"][200:, 1]) < 3e-7

    @BOTH
    @pytest.mark.slow
    def test_the_drives_of_a_closed_chain_keep_their_dry_level(self, drive, memory):
        """Slides with stiff loops: the machine stands still, and its
        friction is that of its load.
        """
        given = load_arm("planar-3-prr")
        truth = {"coulomb": G, "static": G, "viscous": 15.0}
        arm = SimulatedArm(replace(given, simulation={"joints": {"default": {**truth, **memory}}}))
        arm.enable()
        n = len(arm.names)
        drive(arm, np.full((round(1.2 * arm.rate), n), 0.02))
        np.testing.assert_allclose(arm.memory_torque(), G, rtol=2e-3)
        still = drive(arm, np.zeros((round(1.5 * arm.rate), n)))["q"][round(0.5 * arm.rate) :]
        assert np.ptp(still, axis=0).max() < 2e-7

    def test_motors_of_several_joints_and_passive_joints_have_no_memory(self, make_arm):
        arm = make_arm(
            {
                "transmission": {"lift": {"turn": 0.5}},
                "simulation": {"motors": {"lift": {"coulomb": 1.0, **DAHL}}},
            }
        )
        with pytest.raises(InputError, match=r"simulation.motors.lift.memory"):
            SimulatedArm(arm)
