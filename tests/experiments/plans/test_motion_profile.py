"""Motion of a segment: smooth, within limits, exact at both ends."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stribeck.experiments.plans.motion_profile import motion_profile
from stribeck.experiments.plans.plan import Segment
from stribeck.ident.arm.arm_file import Limits


class TestProfile:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        way=st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)),
        speed=st.floats(0.01, 2.0),
        data=st.data(),
    )
    @pytest.mark.slow
    def test_motion_is_smooth_within_limits_and_ends_exactly(self, way, speed, data):
        """Position integrates velocity, velocity integrates an acceleration within the
        limits; both ends are at rest.
        """
        velocity, acceleration = (
            np.array(data.draw(st.tuples(*[st.floats(0.5, 10.0)] * 2))) for _ in range(2)
        )
        stroke = data.draw(st.booleans())
        way = np.array([way[0], 0.0 if stroke else way[1]])
        assume(abs(way[0]) > 1e-3)
        start = np.array([0.3, -0.2])
        segment = Segment(
            0, "stroke" if stroke else "move", tuple(start + way), 0, "a", min(speed, velocity[0])
        )
        motion = motion_profile(start, segment, ("a", "b"), limits(velocity, acceleration))
        t = np.linspace(0.0, motion.duration, 4001)
        s, ds = motion(t)
        q, dq = start + s[:, None] * way, ds[:, None] * way
        np.testing.assert_allclose(q[[0, -1]], [start, start + way], atol=1e-12)
        np.testing.assert_allclose(dq[[0, -1]], 0.0, atol=1e-12)
        assert (np.diff(s) >= -1e-12).all()
        travelled = np.cumsum((dq[1:] + dq[:-1]) / 2.0, axis=0) * (t[1] - t[0])
        np.testing.assert_allclose(q[1:] - q[0], travelled, atol=np.abs(dq).max() * t[1])
        assert (np.abs(dq) <= velocity * (1.0 + 1e-9)).all()
        assert (np.abs(np.diff(dq, axis=0)) <= acceleration * (t[1] - t[0]) * (1.0 + 1e-6)).all()
        if stroke:
            assert np.abs(dq[:, 0]).max() <= segment.speed * (1.0 + 1e-9)

    def test_a_stroke_has_constant_speed_between_its_ramps(self):
        stroke = Segment(0, "stroke", (1.0, 0.0), 0, "a", 0.5)
        motion = motion_profile(np.zeros(2), stroke, ("a", "b"), limits([2.0, 2.0], [4.0, 4.0]))
        t = np.linspace(0.0, motion.duration, 2000)
        at_speed = np.isclose(motion(t)[1], 0.5)
        assert at_speed.mean() * motion.duration > 0.75 * 1.0 / 0.5

    def test_the_arm_rests_before_and_after_the_motion(self):
        motion = motion_profile(
            np.zeros(1), Segment(0, "move", (1.0,), 0), ("a",), limits([1.0], [1.0])
        )
        s, ds = motion(np.array([-1.0, motion.duration + 1.0]))
        np.testing.assert_allclose(s, [0.0, 1.0])
        np.testing.assert_allclose(ds, 0.0)

    def test_a_move_to_the_present_position_takes_no_time(self):
        assert (
            motion_profile(
                np.ones(1), Segment(0, "move", (1.0,), 0), ("a",), limits([1.0], [1.0])
            ).duration
            == 0.0
        )


def limits(velocity, acceleration):
    velocity, acceleration = np.array(velocity, dtype=float), np.array(acceleration, dtype=float)
    unknown = np.full(len(velocity), np.nan)
    return Limits(
        np.tile([-np.inf, np.inf], (len(velocity), 1)),
        velocity,
        acceleration,
        unknown,
        unknown,
        unknown,
    )
