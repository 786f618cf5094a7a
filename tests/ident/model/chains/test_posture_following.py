"""Assembly branches of closed chains against plane geometry."""

import numpy as np
import pytest
import tomlkit

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.closed_chain import branch_of, close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.driven.driving_torques import closed_driving_torque
from stribeck.ident.model.mechanism import Mechanism

Z = [0.0, 0.0, 1.0]


def link(
    name: str,
    parent: str,
    origin: np.ndarray,
    tip: np.ndarray,
    driven: bool = False,
    **more: object,
) -> dict:
    """Return a planar bar from its pin to `tip`."""
    return {
        "name": name,
        "parent": parent,
        "type": "revolute",
        "axis": Z,
        "origin": [*map(float, origin), 0.0],
        "mass": 1.0,
        "com": [*map(float, 0.5 * tip), 0.0],
        "inertia": [1e-4, 1e-3, 1e-3, 0.0, 0.0, 0.0],
        "passive": not driven,
        **more,
    }


def pin(a: str, b: str, on_a: np.ndarray, on_b: np.ndarray, kind: str = "pin") -> dict:
    """Return a pin closure between two tips."""
    axis = {"axis": Z} if kind == "pin" else {}
    return {
        "name": f"{a}-{b}",
        "type": kind,
        **axis,
        "a": {"link": a, "point": [*map(float, on_a), 0.0]},
        "b": {"link": b, "point": [*map(float, on_b), 0.0]},
    }


def mechanism(folder, joints: list, loops: list, gravity=(0.0, -9.81, 0.0)) -> Mechanism:
    """Write a mechanism file and load it, as a user does."""
    (folder / "m.toml").write_text(
        tomlkit.dumps(
            {"schema": 1, "name": "m", "gravity": list(gravity), "joints": joints, "loops": loops}
        ),
        encoding="utf-8",
    )
    return load_mechanism(folder / "m.toml")


def at(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def meeting(a: np.ndarray, b: np.ndarray, from_a: float, from_b: float, side: float) -> np.ndarray:
    """Return the intersection of circles about a and b on one side of the line from a to b."""
    d = b - a
    length = np.hypot(*d)
    along = (length**2 + from_a**2 - from_b**2) / (2.0 * length)
    return (
        a
        + along * d / length
        + side * np.sqrt(from_a**2 - along**2) * np.array([-d[1], d[0]]) / length
    )


def slider_crank(
    folder, crank: float, rod: float, start: float = np.pi / 3, scale: float = 1.0
) -> tuple[Mechanism, float]:
    """Return a slider-crank driven by its slider; the crank angle is `start` at zero positions."""
    tip = scale * crank * at(start)
    x = tip[0] + np.sqrt((scale * rod) ** 2 - tip[1] ** 2)
    end = np.array([x, 0.0]) - tip
    slider = {
        **link("slider", "ground", np.array([x, 0.0]), np.zeros(2), True),
        "type": "prismatic",
        "axis": [1.0, 0.0, 0.0],
    }
    return mechanism(
        folder,
        [link("crank", "ground", np.zeros(2), tip), link("rod", "crank", tip, end), slider],
        [pin("rod", "slider", end, np.zeros(2))],
    ), float(x)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 100.0])
def test_a_slider_drives_its_crank_up_to_the_dead_centres_only(scale, tmp_path):
    """Crank of 10 and rod of 30, in units of mm and hundreds of m."""
    r, rod = 10.0, 30.0
    m, start = slider_crank(tmp_path, r, rod, scale=scale)
    x = scale * np.array([20.0001, 20.01, 21.0, 25.0, 30.0, 35.0, 39.0, 39.99, 39.9999])
    motion = close_loops(m, (x - start)[:, None])
    u = x / scale
    np.testing.assert_allclose(
        motion.q[:, 0],
        np.arccos((r**2 + u**2 - rod**2) / (2.0 * r * u)) - np.pi / 3,
        rtol=0,
        atol=1e-9,
    )
    for beyond in (19.9999, 40.0001):
        with pytest.raises(PostureError, match="not reached") as caught:
            close_loops(m, [[scale * beyond - start]])
        np.testing.assert_allclose(
            caught.value.reachable[0] + start, [20.0 * scale, 40.0 * scale], rtol=1e-6
        )


def five_bar(folder) -> tuple[Mechanism, float]:
    """Return a five-bar: two cranks of 1 m, 1.2 m apart, and two couplers of
    1.3 m, in the open assembly.
    """
    base = np.array([1.2, 0.0])
    left, right = at(2.0), base + at(1.1)
    top = meeting(left, right, 1.3, 1.3, 1.0)
    return mechanism(
        folder,
        [
            link("a", "ground", np.zeros(2), left, True),
            link("b", "a", left, top - left),
            link("c", "ground", base, right - base, True),
            link("d", "c", right - base, top - right),
        ],
        [pin("b", "d", top - left, top - right)],
    ), 1.0


@pytest.mark.slow
def test_a_five_bar_stays_on_its_branch_or_is_refused(tmp_path):
    """A batch of many postures: each stays on its branch with a regular
    path to it, or is refused.
    """
    m, side = five_bar(tmp_path)
    base = np.array([1.2, 0.0])
    wanted = np.random.default_rng(3).uniform(-2.2, 2.2, (150, 2))
    ways = np.linspace(0.0, 1.0, 2001)[:, None, None] * wanted
    left = np.stack((np.cos(2.0 + ways[..., 0]), np.sin(2.0 + ways[..., 0])), -1)
    right = base + np.stack((np.cos(1.1 + ways[..., 1]), np.sin(1.1 + ways[..., 1])), -1)
    # couplers are stretched at 2.6 m and folded at 0
    apart = np.linalg.norm(right - left, axis=2)
    clear = (apart.max(axis=0) < 2.59) & (apart.min(axis=0) > 0.02)
    shut = apart.max(axis=0) > 2.601
    assert 25 < clear.sum() < 125
    assert shut.sum() > 25
    motion = close_loops(m, wanted[clear])
    tops = np.array(
        [
            meeting(a, b, 1.3, 1.3, side)
            for a, b in zip(left[-1][clear], right[-1][clear], strict=True)
        ]
    )
    start = meeting(at(2.0), base + at(1.1), 1.3, 1.3, side) - at(2.0)
    angle = np.arctan2(start[1], start[0]) + motion.q[:, 0] + motion.q[:, 1]
    found = left[-1][clear] + 1.3 * np.stack((np.cos(angle), np.sin(angle)), -1)
    np.testing.assert_allclose(found, tops, rtol=0, atol=1e-9)
    for row in wanted[shut][:2]:
        with pytest.raises(PostureError, match="not reached"):
            close_loops(m, row[None])


def test_a_posture_does_not_depend_on_its_batch(tmp_path):
    m, _ = five_bar(tmp_path)
    wanted = np.array([[0.3, -0.2], [-0.6, 0.4], [0.0, 0.0], [0.1, 0.5]])
    together = close_loops(m, wanted).q
    np.testing.assert_allclose(
        np.vstack([close_loops(m, row[None]).q for row in wanted]), together, rtol=0, atol=1e-14
    )


def test_postures_of_a_motion_are_those_followed_from_home(tmp_path):
    """A motion with a leap, and with rows out of reach amid others."""
    m, _ = five_bar(tmp_path)
    t = np.linspace(0.0, 1.0, 150)
    wanted = np.column_stack((-0.5 * np.sin(3.0 * t), 0.4 * np.sin(2.0 * t)))
    wanted[70:] += 0.3, 0.4
    wanted[[20, 21, 100, 128]] = 1.1, -1.1
    branch = branch_of(m, m.active)
    q, reached = branch.follow_motion(wanted, 1e4, 1e-3)
    of_each, reached_each = branch.follow(wanted, 1e4, 1e-3)
    np.testing.assert_array_equal(np.flatnonzero(reached < 1.0), [20, 21, 100, 128])
    np.testing.assert_allclose(reached, reached_each, rtol=0, atol=1e-9)
    np.testing.assert_allclose(q, of_each, rtol=0, atol=1e-9)


def four_bar(
    folder, rocker: float, gravity=(0.0, -9.81, 0.0), cut: str = "top", kind: str = "pin", **more
) -> Mechanism:
    """Return a four-bar: crank of 1 m at 60 degrees, coupler of 2 m, base of 2 m; cut at
    either end of the coupler.
    """
    base, tip = np.array([2.0, 0.0]), at(np.pi / 3)
    top = meeting(tip, base, 2.0, rocker, 1.0)
    crank = link("crank", "ground", np.zeros(2), tip, True, **more)
    if cut == "top":
        return mechanism(
            folder,
            [
                crank,
                link("coupler", "crank", tip, top - tip),
                link("rocker", "ground", base, top - base),
            ],
            [pin("coupler", "rocker", top - tip, top - base, kind)],
            gravity,
        )
    rocker_bar, coupler = (
        link("rocker", "ground", base, top - base),
        link("coupler", "rocker", top - base, tip - top),
    )
    return mechanism(
        folder,
        [crank, rocker_bar, coupler],
        [pin("crank", "coupler", tip, tip - top, kind)],
        gravity,
    )


@pytest.mark.slow
@pytest.mark.parametrize("rocker", [1.01, 1.0001])
def test_a_nearly_parallel_four_bar_turns_all_round(rocker, tmp_path):
    """With nearly equal bars the two branches come close; the coupler stays on its side."""
    m = four_bar(tmp_path, rocker)
    crank = np.linspace(-2.0 * np.pi, 2.0 * np.pi, 33)
    motion = close_loops(m, crank[:, None])
    base = np.array([2.0, 0.0])
    start = meeting(at(np.pi / 3), base, 2.0, rocker, 1.0) - base
    for q, found in zip(crank, motion.q, strict=True):
        top = meeting(at(np.pi / 3 + q), base, 2.0, rocker, 1.0)
        np.testing.assert_allclose(
            base + rocker * at(np.arctan2(start[1], start[0]) + found[2]), top, rtol=0, atol=1e-8
        )


def test_a_path_ends_where_branches_meet(tmp_path):
    """An exact parallelogram can change its branch when it is flat: 120 degrees forward and 60
    degrees back from its start.
    """
    m = four_bar(tmp_path, 1.0)
    with pytest.raises(PostureError, match="they close in several ways") as caught:
        close_loops(m, [[0.5], [3.0]])
    np.testing.assert_allclose(caught.value.reachable, [[-np.pi / 3, 2.0 * np.pi / 3]], atol=1e-5)


def six_bar(folder, first: str, second: str) -> Mechanism:
    """Return a four-bar whose rocker drives a second rocker by a second coupler; each loop is
    cut at either coupler end.
    """
    ground, crank, rocker, far = (
        np.zeros(2),
        at(np.pi / 3),
        np.array([2.0, 0.0]),
        np.array([4.0, 0.0]),
    )
    top = meeting(crank, rocker, 2.0, 1.5, 1.0)
    end = meeting(top, far, 1.7, 1.4, 1.0)
    joints, loops = [link("crank", "ground", ground, crank, True)], []
    if first == "top":
        joints += [
            link("coupler", "crank", crank, top - crank),
            link("rocker", "ground", rocker, top - rocker),
        ]
        loops.append(pin("coupler", "rocker", top - crank, top - rocker))
    else:
        joints += [
            link("rocker", "ground", rocker, top - rocker),
            link("coupler", "rocker", top - rocker, crank - top),
        ]
        loops.append(pin("crank", "coupler", crank, crank - top))
    if second == "top":
        joints += [
            link("coupler2", "rocker", top - rocker, end - top),
            link("rocker2", "ground", far, end - far),
        ]
        loops.append(pin("coupler2", "rocker2", end - top, end - far))
    else:
        joints += [
            link("rocker2", "ground", far, end - far),
            link("coupler2", "rocker2", end - far, top - end),
        ]
        loops.append(pin("rocker", "coupler2", top - rocker, top - end))
    return mechanism(folder, joints, loops)


class TestOverconstrained:
    """A planar chain of pins has two load paths for forces across its plane; their
    shares are not determined.
    """

    def loads(self, m: Mechanism):
        motion = close_loops(m, [[0.2], [0.9]], [[1.0], [-2.0]], [[3.0], [1.0]])
        return motion, closed_loads(m, motion)

    def test_loads_in_the_plane_are_determined_and_do_not_depend_on_the_cut(self, tmp_path):
        (_, one), (_, other) = (
            self.loads(four_bar(tmp_path, 1.5, cut=cut)) for cut in ("top", "tip")
        )
        np.testing.assert_allclose(one.tau[:, 0], other.tau[:, 0], rtol=1e-10)
        for key in ("radial", "axial", "bending", "torque"):
            np.testing.assert_allclose(
                one.joints.get(key)[:, 0], other.joints.get(key)[:, 0], rtol=1e-9, atol=1e-9
            )
        # radial load of the rocker
        np.testing.assert_allclose(one.joints.radial[:, 2], other.joints.radial[:, 1], rtol=1e-9)

    def test_undetermined_loads_across_the_plane_are_nan(self, tmp_path):
        for cut in ("top", "tip"):
            _, found = self.loads(four_bar(tmp_path, 1.5, (0.0, -5.0, -9.81), cut))
            assert np.isfinite(found.tau).all()
            assert np.isfinite(found.joints.radial).all()
            assert np.isnan(found.joints.axial).all()
            assert np.isnan(found.joints.bending).all()
            assert np.isnan(found.force).all()
            assert np.isnan(found.moment).all()
            flat = self.loads(four_bar(tmp_path, 1.5, (0.0, -5.0, 0.0), cut))[1]
            np.testing.assert_allclose(found.tau, flat.tau, rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.joints.radial, flat.joints.radial, rtol=1e-9)

    def test_a_coupler_between_a_universal_and_a_ball_joint_shares_its_weight(self, tmp_path):
        """No constraint is redundant: each end carries half the weight of the coupler, and
        the weight of its own link.
        """
        base, tip = np.array([2.0, 0.0]), at(np.pi / 3)
        top = meeting(tip, base, 2.0, 1.5, 1.0)
        along = (top - tip) / 2.0
        coupler = link("coupler", "crank", tip, top - tip) | {
            "type": "universal",
            "axes": [Z, [-along[1], along[0], 0.0]],
        }
        del coupler["axis"]
        m = mechanism(
            tmp_path,
            [
                link("crank", "ground", np.zeros(2), tip, True),
                coupler,
                link("rocker", "ground", base, top - base),
            ],
            [pin("coupler", "rocker", top - tip, top - base, "spherical")],
            (0.0, 0.0, -10.0),
        )
        found = closed_loads(m, close_loops(m, [[0.0], [0.5]]))
        ends = [m.names.index("crank"), m.names.index("rocker")]
        np.testing.assert_allclose(found.joints.axial[:, ends], 15.0, rtol=1e-9)
        np.testing.assert_allclose(found.force[:, 0, 2], 5.0, rtol=1e-9)

    @pytest.mark.parametrize(
        "cuts", [("top", "top"), ("top", "tip"), ("tip", "top"), ("tip", "tip")], ids="-".join
    )
    def test_a_load_on_one_loop_makes_loads_of_the_next_loop_nan_for_every_cut(
        self, tmp_path, cuts
    ):
        """Two loops on one rocker: the share of a transverse force that reaches the crank
        depends on every stiffness.
        """
        m = six_bar(tmp_path, *cuts)
        motion = close_loops(m, [[0.2]], [[1.0]])
        across = np.zeros((1, m.n, 6))
        across[0, m.names.index("rocker2"), 2] = 100.0
        free, pressed = closed_loads(m, motion), closed_loads(m, motion, None, across)
        assert np.isfinite(free.joints.axial).all()
        np.testing.assert_allclose(pressed.tau, free.tau, rtol=0, atol=1e-9)
        np.testing.assert_allclose(pressed.joints.radial, free.joints.radial, rtol=1e-9)
        assert np.isnan(pressed.joints.axial).all()
        assert np.isnan(pressed.joints.bending).all()

    def test_friction_of_loads_that_are_nan_is_refused(self, tmp_path):
        rubbing = {
            "bearing": {"pin_radius": 0.02, "friction_arm": 0.01, "bending_arm": 0.05},
            "friction": {
                "law": "coulomb-viscous",
                "load": "normal",
                "coulomb_coefficient": 0.1,
                "viscous": 0.0,
            },
        }
        tilted = four_bar(tmp_path, 1.5, (0.0, -5.0, -9.81), **rubbing)
        motion, _ = self.loads(tilted)
        with pytest.raises(
            InputError,
            match=r"friction of crank depends on loads that rigid-body mechanics does not "
            r"determine.*overconstrained",
        ):
            closed_driving_torque(tilted, motion)
        upright = four_bar(tmp_path, 1.5, **rubbing)
        assert np.isfinite(closed_driving_torque(upright, self.loads(upright)[0]).tau).all()


def test_more_known_joints_than_degrees_of_freedom_are_refused(tmp_path):
    m = four_bar(tmp_path, 1.5)
    with pytest.raises(
        InputError,
        match=r"crank, rocker cannot move independently: .* leave 1 degree\(s\) of freedom, 2.*"
        "as many joints as degrees of freedom must have drives",
    ):
        close_loops(m, [[0.1, 0.1]], known=[0, 2])
    for known in ([0, 0], [7], [-1]):
        with pytest.raises(InputError, match="each at most once"):
            close_loops(m, np.zeros((1, len(known))), known=known)


def test_a_posture_beyond_the_range_of_a_search_is_refused(tmp_path):
    with pytest.raises(
        InputError,
        match=r"crank = 1e\+200 rad is beyond the range in which a chain is followed, 1e\+03",
    ):
        close_loops(four_bar(tmp_path, 1.5), [[1e200]])


def test_a_tree_has_no_loops_to_close():
    with pytest.raises(InputError, match="joint_loads"):
        close_loops(load_mechanism("five-axis-tree"), np.zeros((1, 5)))


def test_a_closure_at_the_axis_of_a_joint_does_not_hold_the_joint(tmp_path):
    (tmp_path / "idle.xml").write_text("""<mujoco><default><geom size="0.1"/></default><worldbody>
        <body name="a"><joint name="drive" axis="0 1 0"/><geom/>
        <body name="b" pos="0 0 0.2"><joint name="pin" axis="0 1 0"/><geom/></body></body></worldbody>
        <equality><connect body1="a" body2="b" anchor="0 0 0.2"/></equality>
        <actuator><motor joint="drive"/></actuator></mujoco>""")
    with pytest.raises(
        PostureError, match=r"determine only 0 of 1 joints \(condition number inf\)"
    ):
        close_loops(load_mechanism(tmp_path / "idle.xml"), [[0.1]], known=[0])
