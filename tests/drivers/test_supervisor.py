"""The supervisor: every limit trips, the arm is stopped before an error is raised, and no
limit trips without a cause.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stribeck.drivers.arm import Command, JointSample, Resolution
from stribeck.drivers.errors import DriverError, LimitExceeded
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.supervisor import Supervisor
from stribeck.ident.arm.arm_file import Limits
from stribeck.ident.errors import InputError

RATE = 100.0
LIMITS = Limits(
    position=np.array([[-2.0, 2.0], [-1.0, 1.5]]),
    velocity=np.array([2.0, 1.0]),
    acceleration=np.array([8.0, 4.0]),
    torque=np.array([60.0, 40.0]),
    temperature=np.array([70.0, np.nan]),
    following_error=np.array([0.05, 0.1]),
)
REST = np.zeros(2)


class FakeArm:
    """Two joints at rest, whose samples a test alters; records its calls in order."""

    names, rate = ("turn", "lift"), RATE
    modes = frozenset({"velocity", "torque"})
    resolution = Resolution(REST, REST, REST)

    def __init__(self, limits=LIMITS):
        self.limits, self.calls, self.altered, self.t, self.q = limits, [], {}, 0.0, REST

    def __enter__(self):
        self.calls.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.calls.append("exit")

    def enable(self):
        self.calls.append("enable")

    def stop(self, reason):
        self.calls.append(("stop", reason))

    def step(self, command):
        self.calls.append("step")
        self.t += 1.0 / RATE
        # integrates its velocity
        self.q = self.q + np.asarray(self.altered.get("dq", REST)) / RATE
        plain = JointSample(
            self.t,
            self.q,
            REST,
            REST,
            np.full(2, self.t),
            np.array([25.0, np.nan]),
            np.zeros(2, dtype=np.int64),
        )
        late = self.altered.get("age")
        changes = {key: value for key, value in self.altered.items() if key != "age"}
        return replace(plain, **changes, **({} if late is None else {"t_joint": self.t - late}))


@pytest.fixture
def fake():
    return FakeArm()


def supervised(fake, **altered):
    guard = Supervisor(fake)
    guard.enable()
    fake.altered = {key: np.array(value) for key, value in altered.items()}
    fake.calls.clear()
    return guard


def follow(guard, commands):
    for velocity in commands:
        guard.step(Command(np.array(velocity)))


def stops(fake):
    return [reason for call, reason in (call for call in fake.calls if isinstance(call, tuple))]


def trips(fake, commands=(REST,), **altered):
    """Return the breach that these samples cause; the arm must have been
    stopped once, after the step.
    """
    guard = supervised(fake, **altered)
    with pytest.raises(LimitExceeded) as caught:
        follow(guard, commands)
    assert len(stops(fake)) == 1
    assert fake.calls[-1] == ("stop", caught.value.fault)
    assert fake.calls[-2] == "step"
    return caught.value


# quantity, alterations just beyond and just within the limit, then joint, value, limit and
# unit of the reported breach
BREACHES = {
    "position, upper": (
        "position",
        {"q": [2.001, 0.0]},
        {"q": [1.999, 0.0]},
        "turn",
        2.001,
        2.0,
        "rad",
    ),
    "position, lower": (
        "position",
        {"q": [0.0, -1.001]},
        {"q": [0.0, -0.999]},
        "lift",
        -1.001,
        -1.0,
        "rad",
    ),
    "velocity": ("velocity", {"dq": [0.0, 1.01]}, {"dq": [0.0, 0.99]}, "lift", 1.01, 1.0, "rad/s"),
    "velocity, backwards": (
        "velocity",
        {"dq": [-2.01, 0.0]},
        {"dq": [-1.99, 0.0]},
        "turn",
        2.01,
        2.0,
        "rad/s",
    ),
    "torque": ("torque", {"tau": [60.1, 0.0]}, {"tau": [59.9, 0.0]}, "turn", 60.1, 60.0, "N·m"),
    "torque, negative": (
        "torque",
        {"tau": [0.0, -40.1]},
        {"tau": [0.0, -39.9]},
        "lift",
        40.1,
        40.0,
        "N·m",
    ),
    "temperature": (
        "temperature",
        {"temperature": [70.1, np.nan]},
        {"temperature": [69.9, 500.0]},
        "turn",
        70.1,
        70.0,
        "°C",
    ),
    "stale sample": ("age", {"age": [0.0, 0.101]}, {"age": [0.0, 0.099]}, "lift", 0.101, 0.1, "s"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_stops_the_arm_and_names_quantity_joint_and_limit(fake, breach):
    quantity, beyond, _, joint, value, limit, unit = BREACHES[breach]
    error = trips(fake, **beyond)
    assert error.joint == joint
    assert quantity in error.quantity
    assert error.value == pytest.approx(value)
    assert error.limit == pytest.approx(limit)
    assert error.unit == unit
    for said in (joint, quantity, f"{value:.4g} {unit}", f"{limit:.4g} {unit}", "t = 0.010 s"):
        assert said in str(error)
    # the error can be sent to another process
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("breach", BREACHES)
def test_values_just_within_a_limit_are_accepted(fake, breach):
    within = BREACHES[breach][2]
    guard = supervised(fake, **within)
    sample = guard.step(Command(np.array(within.get("dq", REST))))
    for key, values in within.items():
        if key != "age":
            # the sample is returned as measured
            np.testing.assert_array_equal(getattr(sample, key), values)
    assert stops(fake) == []


def test_the_first_breach_is_named_and_the_arm_is_stopped_once(fake):
    trips(fake, q=[3.0, 3.0], tau=[100.0, 100.0])


@pytest.mark.parametrize(
    ("q", "dq"), [([1.9, 0.0], [1.5, 0.0]), ([-1.9, 0.0], [-1.5, 0.0]), ([0.0, 1.4], [0.0, 0.95])]
)
def test_a_joint_that_cannot_stop_before_its_limit_trips_while_still_inside(fake, q, dq):
    error = trips(fake, [dq], q=q, dq=dq)
    assert "stopping distance" in error.quantity
    assert abs(error.value) > abs(error.limit)


@pytest.mark.parametrize(
    ("q", "dq"), [([1.9, 0.0], [-1.5, 0.0]), ([-1.9, 0.0], [1.5, 0.0]), ([0.0, 1.4], [0.0, -0.95])]
)
def test_the_same_position_is_accepted_when_the_joint_moves_away_from_its_limit(fake, q, dq):
    supervised(fake, q=q, dq=dq).step(Command(np.array(dq)))


@pytest.mark.parametrize("speed", [0.2, 1.0, 1.9])
def test_the_clearance_is_little_more_than_the_stopping_distance(fake, speed):
    """A joint that brakes in time, at its acceleration limit, is not
    stopped: no range is wasted.
    """
    room = speed**2 / (2.0 * 8.0) + 0.05 * speed
    supervised(fake, q=[2.0 - room, 0.0], dq=[speed, 0.0]).step(Command(np.array([speed, 0.0])))


def test_a_joint_that_accelerates_towards_its_limit_trips_earlier(fake):
    """The drive continues to accelerate until the stop reaches it."""
    room = 0.5**2 / (2.0 * 8.0) + 0.05 * 0.5
    trips(fake, [[1.9, 0.0]], q=[2.0 - room, 0.0], dq=[0.5, 0.0])


def test_a_breach_is_not_hidden_by_fast_motion_back(fake):
    trips(fake, [[-1.9, 0.0]], q=[2.1, 0.0], dq=[-1.9, 0.0])


def test_a_drive_that_reports_no_temperature_does_not_trip(fake):
    supervised(fake, temperature=[np.nan, np.nan]).step(Command(REST))
    guard = supervised(fake)
    fake.altered = {"temperature": None}
    guard.step(Command(REST))
    assert stops(fake) == []


@pytest.mark.parametrize(
    ("key", "word"), [("q", "position"), ("dq", "velocity"), ("tau", "torque"), ("t_joint", "time")]
)
def test_a_joint_that_reports_nan_is_stopped(fake, key, word):
    guard = supervised(fake, **{key: [0.0, np.nan]})
    with pytest.raises(DriverError, match=f"lift reported no {word}") as caught:
        guard.step(Command(REST))
    assert not isinstance(caught.value, LimitExceeded)
    assert len(stops(fake)) == 1
    assert "lift" in stops(fake)[0]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            Command(np.array([0.0, -1.01])),
            "commanded velocity of lift is -1.01 rad/s, limit 1 rad/s",
        ),
        (
            Command(REST, np.array([61.0, 0.0]), ("torque", "velocity")),
            "commanded torque of turn is 61 N·m, limit 60 N·m",
        ),
    ],
)
def test_a_command_beyond_a_limit_is_not_sent(fake, command, words):
    guard = supervised(fake)
    with pytest.raises(LimitExceeded, match=words) as caught:
        guard.step(command)
    assert fake.calls == [("stop", caught.value.fault)]


@pytest.mark.parametrize(
    "command",
    [
        Command(LIMITS.velocity),
        Command(REST, np.array([np.nan, 99.0])),
        Command(np.array([9.0, 0.0]), np.array([60.0, 99.0]), ("torque", "velocity")),
    ],
)
def test_only_the_set_point_of_a_joints_mode_is_checked(fake, command):
    supervised(fake).step(command)
    assert stops(fake) == []


class TestFollowing:
    def test_a_joint_that_does_not_follow_is_stopped_soon(self, fake):
        error = trips(fake, [[0.5, 0.0]] * 30)
        assert error.quantity == "following error"
        assert (error.joint, error.limit, error.unit) == ("turn", 0.05, "rad")
        assert fake.t < 0.05 / 0.5 + 0.1

    def test_a_held_joint_that_is_pushed_away_is_stopped(self, fake):
        error = trips(fake, [REST] * 60, dq=[0.3, 0.0])
        assert error.quantity == "following error"

    def test_a_joint_that_follows_its_commands_does_not_trip(self, fake):
        guard = supervised(fake, dq=[0.5, -0.3])
        for _ in range(300):
            guard.step(Command(np.array([0.5, -0.3])))

    def test_noise_about_the_command_does_not_trip(self, fake):
        guard = supervised(fake)
        for noise in 0.3 * np.random.default_rng(1).standard_normal((2000, 2)):
            fake.altered = {"dq": noise}
            guard.step(Command(REST))

    def test_a_joint_in_torque_mode_has_no_following_error(self, fake):
        guard = supervised(fake, dq=[0.5, 0.0])
        for _ in range(100):
            guard.step(Command(REST, np.array([3.0, 0.0]), ("torque", "velocity")))

    def test_enabling_clears_the_following_error(self, fake):
        trips(fake, [[0.5, 0.0]] * 30)
        guard = supervised(fake)
        guard.step(Command(np.array([0.5, 0.0])))


class TestPositionAgainstVelocity:
    """The test moves the joint; the reported values have a wrong scale, a lag or noise."""

    def swing(self, fake, report, seconds=6.0):
        guard = supervised(fake)
        t = np.arange(1.0 / RATE, seconds + 3.0, 1.0 / RATE)
        q, dq = (
            np.stack((1.2 * np.sin(t), 0.0 * t), axis=1),
            np.stack((1.2 * np.cos(t), 0.0 * t), axis=1),
        )
        for row in range(round(seconds * RATE)):
            fake.altered = dict(zip(("q", "dq"), report(row, q, dq), strict=True))
            guard.step(Command(fake.altered["dq"]))

    @pytest.mark.parametrize(
        ("scale", "most"), [(-1.0, 0.05), (1.0 / 60.0, 0.08), (0.5, 0.15), (2.0, 0.19), (0.0, 0.08)]
    )
    def test_a_wrong_sign_or_scale_is_stopped_soon(self, fake, scale, most):
        with pytest.raises(
            LimitExceeded,
            match=r"position against integrated velocity of turn.* wrong sign or scale",
        ) as caught:
            self.swing(fake, lambda row, q, dq: (q[row], np.clip(scale * dq[row], -2.0, 2.0)))
        assert caught.value.quantity == "position against integrated velocity"
        assert 1.2 * np.sin(fake.t) < most
        assert stops(fake) == [caught.value.fault]

    @pytest.mark.parametrize(
        "name", ["true", "ten per cent", "a lag", "noise", "coarse", "a pause"]
    )
    def test_realistic_velocities_do_not_trip(self, fake, name):
        rng = np.random.default_rng(0)

        def report(row, q, dq):
            if name == "a pause" and row == 200:
                fake.t += 2.0  # a pause in which the joint moved on
            shift = 200 if name == "a pause" and row >= 200 else 0
            now = row + shift
            return q[now], {
                "ten per cent": 1.1 * dq[now],
                "a lag": dq[max(now - 5, 0)],
                "noise": dq[now] + 0.1 * rng.standard_normal(2) * [1.0, 0.0],
                "coarse": np.round(dq[now] / 0.1) * 0.1,
            }.get(name, dq[now])

        self.swing(fake, report, 3.9)
        assert stops(fake) == []


@pytest.mark.parametrize("key", ["position", "velocity", "acceleration", "torque"])
def test_without_a_limit_nothing_moves(key):
    values = getattr(LIMITS, key).copy()
    values[1] = np.nan
    with pytest.raises(InputError, match=f"joints.lift.{key} is missing"):
        Supervisor(FakeArm(replace(LIMITS, **{key: values})))


def test_an_infinite_limit_is_not_a_position_limit():
    with pytest.raises(InputError, match=r"joints\.turn\.position is missing"):
        Supervisor(FakeArm(replace(LIMITS, position=np.array([[-2.0, np.inf], [-1.0, 1.0]]))))


def test_the_supervisor_passes_calls_and_attributes_on(fake):
    guard = Supervisor(fake)
    with guard as entered:
        assert entered is guard
        guard.enable()
        guard.stop("a test")
    assert fake.calls == ["enter", "enable", ("stop", "a test"), "exit"]
    assert (guard.names, guard.rate, guard.limits, guard.modes) == (
        fake.names,
        fake.rate,
        fake.limits,
        fake.modes,
    )


def test_an_error_of_the_arm_is_passed_on(fake):
    class Refusing(FakeArm):
        def step(self, command):
            raise DriverError("no reply")

    with pytest.raises(DriverError, match="no reply"):
        Supervisor(Refusing()).step(Command(REST))


def test_a_sliding_joint_is_judged_in_metres_and_newtons(make_arm):
    arm = SimulatedArm(make_arm({"joints": {"carriage": {"velocity": 0.05}}}, "slide"))
    guard = Supervisor(arm, prismatic=np.array([True]))
    guard.enable()
    with pytest.raises(LimitExceeded) as caught:
        follow(guard, [[0.2]] * 200)
    assert caught.value.unit == "m/s"


class TestSwinging:
    """An unstable velocity loop is named as the cause, for any limit that is breached first."""

    def ride(self, fake, velocity, cycles=60):
        guard = Supervisor(fake)
        guard.enable()

        def move():
            for k in range(cycles):
                fake.altered["dq"] = np.array(velocity(k))
                guard.step(Command(REST))

        with pytest.raises(LimitExceeded) as caught:
            move()
        return str(caught.value)

    def test_an_unstable_loop_is_named_with_its_frequency(self, fake):
        said = self.ride(
            fake, lambda k: [0.02 * 1.1**k * np.sin(2.0 * np.pi * 20.0 * k / RATE), 0.0]
        )
        assert "turn swings about its set-points at 20 Hz: its velocity loop is unstable" in said
        assert "wrong sign" not in said

    def test_the_loop_that_shakes_another_joint_is_named_instead(self, fake):
        said = self.ride(fake, lambda k: [0.9 * np.sin(2.0 * np.pi * 20.0 * k / RATE), 0.04 * k])
        assert said.startswith(("velocity of lift", "following error of lift"))
        assert "turn swings" in said

    @pytest.mark.parametrize(
        "velocity",
        [
            lambda k: [0.05 * k, 0.0],
            lambda k: [0.02 * k * (1.0 + 0.02 * (-1.0) ** k), 0.0],
            lambda k: [0.05 * k + 0.05 * np.sin(k), 0.0],
            lambda k: [np.exp(-0.15 * k) * np.cos(k) + 0.03 * max(0, k - 30), 0.0],
        ],
    )
    def test_runaway_noise_and_settling_are_not_called_unstable(self, fake, velocity):
        assert "swings" not in self.ride(fake, velocity, 200)

    def test_a_torque_beyond_its_limit_is_not_called_unstable(self, fake):
        fake.altered["tau"] = np.array([61.0, 0.0])
        assert "swings" not in self.ride(fake, lambda k: [0.0, 0.0])


# physics, drive and supervisor together


@st.composite
def rides(draw):
    """Start position of an arm, and velocity commands as (turn, lift, cycles)."""
    start = draw(st.tuples(st.floats(-2.45, 2.45), st.floats(-1.45, 1.45)))
    leg = st.tuples(st.floats(-1.9, 1.9), st.floats(-1.4, 1.4), st.integers(20, 200))
    return start, draw(st.lists(leg, min_size=2, max_size=8))


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(ride=rides(), rate=st.sampled_from([100.0, 200.0]), heavy=st.booleans())
def test_no_commands_move_the_arm_out_of_its_limits(make_arm, ride, rate, heavy):
    """For any commands, every joint stays inside its limits, or is stopped in
    time to come to rest inside.
    """
    start, commands = ride
    arm_file = make_arm(
        {
            "driver": {"rate": rate},
            "workspace": {"home": list(start)},
            "joints": {name: {"following_error": 10.0} for name in ("turn", "lift")},
            "simulation": {"payload": {"mass": 1.0 if heavy else 0.0, "com": [0.3, 0.0, 0.0]}},
        }
    )
    arm = SimulatedArm(arm_file)
    guard = Supervisor(arm)
    guard.enable()
    seen = []
    try:
        for turn, lift, cycles in commands:
            for _ in range(cycles):
                seen.append(guard.step(Command(np.array([turn, lift]))).q)
    except LimitExceeded:
        arm.enable()
        seen.append(arm.step(Command(REST)).q)  # position at rest
    low, high = arm.limits.position.T
    # motion of a joint at its limit before its first sample
    slack = arm.limits.acceleration / rate**2
    assert (np.array(seen) >= low - slack).all()
    assert (np.array(seen) <= high + slack).all()
