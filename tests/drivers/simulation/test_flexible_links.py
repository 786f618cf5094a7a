"""Flexible links of the simulated arm against Euler-Bernoulli beams and against
`elastic_joints.flexible_link`.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from stribeck.drivers.arm import Command
from stribeck.drivers.simulation import flexible_links
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.dynamics import kinematics, mass_matrix
from stribeck.ident.model.elastic_joints import elastic_joint, flexible_link
from stribeck.ident.model.joint_parts import Spring

GRAVITY = 9.81
MASS, LENGTH = 2.0, 0.4  # of the rod of elastic1
STUCK = {"coulomb": 60.0}  # a drive with so much friction that it never moves

# a rod that carries a second rod with another direction of axis; both begin at
# origins that are not zero
CRANE = """<robot name="crane"><link name="base"/>
  <joint name="lift" type="revolute"><parent link="base"/><child link="boom"/>
    <origin xyz="0.1 0.2 0.5" rpy="0 0 0.4"/><axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="100" velocity="3"/></joint>
  <link name="boom"><inertial><origin xyz="0.3 0 0" rpy="0.3 0 0"/><mass value="3"/>
    <inertia ixx="0.0012" iyy="0.0906" izz="0.0906" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="reach" type="revolute"><parent link="boom"/><child link="arm"/>
    <origin xyz="0.6 0.05 0" rpy="0.2 0.3 0"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="100" velocity="3"/></joint>
  <link name="arm"><inertial><origin xyz="0 0.2 0"/><mass value="1"/>
    <inertia ixx="0.0138333" iyy="0.001" izz="0.0138333" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
CRANE_ARM = """schema = 1
name = "crane"
model = "crane.urdf"
[joints]
lift = { acceleration = 10.0, rotor_inertia = 0.2 }
reach = { acceleration = 10.0, rotor_inertia = 0.1 }
"""


def first_stiffness(frequency):
    """E I with which elastic1's rod, as a clamped beam, has this first natural frequency [N·m²]."""
    return MASS * LENGTH**3 * (2.0 * np.pi * frequency / 1.8751041**2) ** 2


@pytest.fixture
def rod():
    """Make the enabled one-link arm with these knobs of its joint and of the whole arm."""

    def make(knobs, home=0.0, rotor_inertia=0.02, **table):
        arm = load_arm("elastic1")
        joint = replace(arm.joint("shoulder"), rotor_inertia=rotor_inertia)
        arm = SimulatedArm(
            replace(
                arm,
                joints={"shoulder": joint},
                simulation={**table, "joints": {"shoulder": knobs}},
                workspace=replace(arm.workspace, home=(home,)),
            )
        )
        arm.enable()
        return arm

    return make


@pytest.fixture
def crane(tmp_path):
    """Make the arm file of the two rods with these truths of its joints."""

    def make(**joints):
        (tmp_path / "crane.urdf").write_text(CRANE)
        (tmp_path / "crane.toml").write_text(CRANE_ARM)
        arm = load_arm(tmp_path / "crane.toml")
        return replace(arm, simulation={"joints": joints})

    return make


def frequencies(m):
    """Natural frequencies of a mechanism's springs with all drives locked [Hz]."""
    passive = list(m.passive)
    stiffness = np.diag([m.springs[joint].stiffness for joint in passive])
    M = mass_matrix(m, np.zeros((1, m.n)))[0][np.ix_(passive, passive)]
    return np.sqrt(eigh(stiffness, M, eigvals_only=True)) / (2.0 * np.pi)


def swing(arm, seconds):
    """Tip of the one-link arm after its drive was stopped by its friction, shape
    (N,), about its mean [m].
    """
    for velocity in [3.0] * 30 + [0.0] * 100:
        arm.step(Command(np.array([velocity])))
    tip, drive = [], []
    for _ in range(round(seconds * arm.rate)):
        drive.append(arm.step(Command(np.zeros(1), np.zeros(1), ("torque",))).q[0])
        tip.append(arm.bending()[0, 2])
    assert np.ptp(drive) < 1e-6
    return np.array(tip) - np.mean(tip)


def frequency(x, rate):
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = up + x[up] / (x[up] - x[up + 1])
    assert len(up) > 5
    return rate * (len(up) - 1) / (crossing[-1] - crossing[0])


class TestStatics:
    @pytest.mark.parametrize("segments", [1, 2, 4, 8])
    def test_a_link_bends_by_its_weight_and_its_payload_like_a_beam(self, rod, segments):
        """q l^4 / (8 E I) + F l^3 / (3 E I); the error is that of the midpoint
        rule, which has second order.
        """
        EI, payload = 200.0, 1.0
        arm = rod(
            {"flexible_link": {"bending_stiffness": EI, "segments": segments}},
            payload={"mass": payload, "com": [LENGTH, 0.0, 0.0]},
        )
        beam = GRAVITY * LENGTH**3 * (MASS / 8.0 + payload / 3.0) / EI
        error = arm.bending()[0] @ [0.0, 0.0, -1.0] / beam - 1.0
        assert -0.55 / segments**2 < error < -0.2 / segments**2
        arm.step(Command(np.zeros(1)))
        assert arm.bending()[0] @ [0.0, 0.0, -1.0] == pytest.approx((1.0 + error) * beam, rel=1e-3)

    def test_a_link_upright_does_not_bend(self, rod):
        arm = rod({"flexible_link": {"bending_stiffness": 50.0}}, home=np.pi / 2.0)
        np.testing.assert_allclose(arm.bending(), 0.0, atol=1e-12)

    def test_a_link_bends_like_the_flexible_link_of_the_mechanism(self, rod):
        """At deflections far beyond the linear beam, two independent engines must still agree."""
        EI, home = 8.0, -0.4
        arm = rod({"flexible_link": {"bending_stiffness": EI, "segments": 3}}, home=home)
        m = flexible_link(
            load_mechanism(load_arm("elastic1")), "shoulder", [LENGTH, 0.0, 0.0], EI, 3
        )
        straight = np.array([home] + [0.0] * (m.n - 1))
        expected = tip(m, equilibrium(m, straight), "shoulder 3b", LENGTH / 6.0) - tip(
            m, straight, "shoulder 3b", LENGTH / 6.0
        )
        np.testing.assert_allclose(arm.bending()[0], expected, atol=1e-9)
        assert np.linalg.norm(expected) > 0.03 * LENGTH

    def test_two_flexible_links_and_an_elastic_joint_in_space(self, crane):
        """A body attached to a link moves with its tip. The order of hinges in a pair
        differs, a second-order effect.
        """
        arm_file = crane(
            lift={
                "flexible_link": {"bending_stiffness": 240.0, "segments": 3},
                "stiffness": 3600.0,
            },
            reach={"flexible_link": {"bending_stiffness": 36.0, "segments": 2}},
        )
        arm, rigid = SimulatedArm(arm_file), load_mechanism(arm_file)
        m = flexible_link(rigid, "reach", 2.0 * rigid.com[1], 36.0, 2)
        m = elastic_joint(
            flexible_link(m, "lift", 2.0 * rigid.com[0], 240.0, 3), "lift", Spring(3600.0)
        )
        q = equilibrium(m, np.zeros(m.n))
        assert arm.links()[0][0] == pytest.approx(q[m.names.index("lift spring")], rel=1e-4)
        for j, (joint, last, half) in enumerate(
            (("lift", "lift 3b", 0.1), ("reach", "reach 2b", 0.1))
        ):
            own = [name.startswith(f"{joint} ") and name != "lift spring" for name in m.names]
            unbent = np.where(own, 0.0, q)
            expected = tip(m, q, last, half) - tip(m, unbent, last, half)
            np.testing.assert_allclose(
                arm.bending()[j], expected, atol=3e-3 * np.linalg.norm(expected)
            )
            assert np.linalg.norm(expected) > 0.0015

    def test_a_tool_is_carried_by_the_tip(self, crane):
        """0.5 kg outside the end of the last link, against a beam with a
        force and a moment at its end.
        """
        EI = 300.0
        arm_file = crane(reach={"flexible_link": {"bending_stiffness": EI, "segments": 8}})
        bent = {}
        for mass in (0.0, 0.5):
            arm = SimulatedArm(
                replace(arm_file, tool=replace(arm_file.tool, mass=mass, com=(0.0, 0.5, 0.0)))
            )
            bent[mass] = arm.bending()[1]
        e = load_mechanism(arm_file).com[1] / 0.2
        across = np.array([0.0, 0.0, -GRAVITY * 0.5]) - e * (e @ [0.0, 0.0, -GRAVITY * 0.5])
        np.testing.assert_allclose(
            bent[0.5] - bent[0.0],
            across * (0.4**3 / 3.0 + 0.1 * 0.4**2 / 2.0) / EI,
            atol=0.01 * np.linalg.norm(bent[0.5] - bent[0.0]),
        )

    def test_a_stiff_beam_has_the_loads_of_the_rigid_arm(self, crane):
        bearing = {"pin_radius": 0.04, "friction_arm": 0.03, "bending_arm": 0.08}
        truth = {"load": "normal", "bearing": bearing}
        beam = {"flexible_link": {"bending_stiffness": 3e4, "segments": 1}}
        q = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
        rigid = SimulatedArm(crane(lift=truth, reach=truth)).loads(q)
        stiff = SimulatedArm(crane(lift={**truth, **beam}, reach=truth)).loads(q)
        soft = SimulatedArm(
            crane(lift={**truth, "flexible_link": {"bending_stiffness": 30.0}}, reach=truth)
        ).loads(q)
        np.testing.assert_allclose(stiff, rigid, rtol=1e-3)
        assert np.abs(soft / rigid - 1.0).max() > 0.01

    def test_an_mjcf_with_frames_defaults_and_bodies_without_names(self, tmp_path):
        """A link in a frame of its own, with joints that have a spring and a damper by default."""
        (tmp_path / "arm.xml").write_text("""<mujoco><compiler angle="radian"/>
            <default><joint armature="9" frictionloss="9" damping="9" ref="0.3"/></default>
            <worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0" pos="0.1 0 0"/>
              <inertial pos="0.35 0 0" mass="2" diaginertia="0.0001 0.0417167 0.0417167"/>
              <frame pos="0.6 0 0" euler="0.3 0 0.5"><body pos="0 0.1 0"><joint name="b" axis="1 0 0"/>
                <inertial pos="0.1 0.2 0" mass="1" diaginertia="0.01 0.01 0.01"/><site name="flange"/></body></frame>
            </body></worldbody>
            <actuator><position joint="a" kp="500"/><position joint="b" kp="500"/></actuator></mujoco>""")
        (tmp_path / "arm.toml").write_text("""schema = 1
            name = "arm"
            model = "arm.xml"
            [joints]
            a = { rotor_inertia = 0.1 }
            b = { rotor_inertia = 0.1 }
            [simulation]
            joints = { a = { load = "bending" }, b = { load = "bending" } }""")
        arm = load_arm(tmp_path / "arm.toml")
        joints = {
            "a": {"load": "bending", "flexible_link": {"bending_stiffness": 2e3, "segments": 2}},
            "b": {"load": "bending"},
        }
        q = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
        rigid, stiff = (
            SimulatedArm(one).loads(q) for one in (arm, replace(arm, simulation={"joints": joints}))
        )
        np.testing.assert_allclose(stiff, rigid, rtol=0.02)
        assert np.ptp(rigid, axis=0).min() > 0.5


class TestDynamics:
    @pytest.mark.parametrize(("wanted", "segments"), [(6.0, 4), (15.0, 4), (6.0, 8)])
    @pytest.mark.slow
    def test_behind_a_stuck_drive_a_link_swings_at_its_first_natural_frequency(
        self, rod, wanted, segments
    ):
        """1.875^2 / (2 pi) sqrt(E I / (m l^3)), and the frequency of the
        mechanism with as many segments.
        """
        EI = first_stiffness(wanted)
        arm = rod(
            {**STUCK, "flexible_link": {"bending_stiffness": EI, "segments": segments}},
            home=np.pi / 2.0,
        )
        m = replace(load_mechanism(load_arm("elastic1")), gravity=np.zeros(3))
        same = frequencies(flexible_link(m, "shoulder", [LENGTH, 0.0, 0.0], EI, segments))[0]
        found = frequency(swing(arm, 10.0 / wanted), arm.rate)
        assert found == pytest.approx(same, rel=0.02)
        assert found == pytest.approx(wanted, rel=0.03)

    @pytest.mark.slow
    def test_material_damping_reduces_the_swing_as_stated(self, rod):
        """The first mode's amplitude falls with exp(-w^2 t_r t / 2)."""
        relaxation = 2e-3
        arm = rod(
            {
                **STUCK,
                "flexible_link": {
                    "bending_stiffness": first_stiffness(8.0),
                    "relaxation_time": relaxation,
                },
            },
            home=np.pi / 2.0,
        )
        x = swing(arm, 1.5)
        w = 2.0 * np.pi * frequency(x, arm.rate)
        early, late = (np.abs(x[k : k + 250]).max() for k in (0, 1000))
        assert np.log(early / late) == pytest.approx(w**2 * relaxation / 2.0, rel=0.05)

    @pytest.mark.slow
    def test_energy_never_grows(self, rod):
        """A beam falls from the horizontal and swings on its free drive for four seconds: it
        never rises above its start.
        """
        arm = rod({"flexible_link": {"bending_stiffness": first_stiffness(8.0)}}, home=0.4)
        q = np.array(
            [arm.step(Command(np.zeros(1), np.zeros(1), ("torque",))).q[0] for _ in range(4_000)]
        )
        assert np.ptp(q) > 3.0
        assert np.ptp(q[-1500:]) < 1.02 * np.ptp(q[:1500])
        assert q.max() < 0.42

    @pytest.mark.slow
    def test_a_stiff_beam_is_nearly_a_rigid_link(self, crane):
        """A swing of both joints of the crane."""
        drives = {}
        for EI in (None, 2e4, 60.0):
            link = {} if EI is None else {"flexible_link": {"bending_stiffness": EI, "segments": 2}}
            arm = SimulatedArm(crane(lift=link))
            arm.enable()
            torque = []
            for k in range(250):
                sample = arm.step(
                    Command(0.8 * np.sin(2.0 * np.pi * k / 250.0) * np.array([1.0, 0.5]))
                )
                torque.append(sample.tau[0])
            drives[EI] = np.array(torque)
        scale = np.ptp(drives[None])
        np.testing.assert_allclose(drives[2e4], drives[None], atol=0.05 * scale)
        assert np.abs(drives[60.0] - drives[None]).max() > 0.1 * scale


BEAM = {"bending_stiffness": 20.0}


@pytest.mark.parametrize(
    ("link", "inertia", "words"),
    [
        ({}, 0.02, ["flexible_link.bending_stiffness is missing"]),
        ({"bending_stiffness": 0.0}, 0.02, ["flexible_link.bending_stiffness", "0"]),
        ({**BEAM, "segments": 0}, 0.02, ["flexible_link.segments", "0"]),
        ({**BEAM, "relaxation_time": -1.0}, 0.02, ["flexible_link.relaxation_time", "-1"]),
        ({**BEAM, "tip": [0.4, 0.0, 0.0]}, 0.02, ["flexible_link", "tip"]),
        (BEAM, 0.0, ["joints.shoulder.rotor_inertia", "more than zero"]),
        (BEAM, 1e-5, ["joints.shoulder", "rotor_inertia", "times as large"]),
        (
            {"bending_stiffness": 1e6},
            0.02,
            ["shoulder.flexible_link.bending_stiffness = 1e+06", "vibrate at", "Fewer segments"],
        ),
        (
            {"bending_stiffness": 0.3},
            0.02,
            ["the link of shoulder is too soft", "flexible_link.bending_stiffness = 0.3"],
        ),
    ],
    ids=str,
)
def test_a_beam_that_cannot_be_simulated_is_refused(rod, link, inertia, words):
    with pytest.raises(InputError) as caught:
        rod({"flexible_link": link}, rotor_inertia=inertia)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_largest_bending_stiffness_in_the_message_is_accepted(rod):
    with pytest.raises(InputError) as caught:
        rod({"flexible_link": {"bending_stiffness": 1e6}})
    largest = float(str(caught.value).split("up to about ")[1].split(". ")[0])
    assert largest > 500.0
    assert abs(rod({"flexible_link": {"bending_stiffness": 0.95 * largest}}).bending()[0, 2]) > 0.0


@pytest.mark.parametrize(
    ("old", "new"), [('xyz="0.3 0 0" rpy="0.3 0 0"', 'xyz="0.2 0 0"'), ('0.0906" izz', '0.05" izz')]
)
def test_a_link_that_is_not_a_uniform_rod_is_refused(crane, old, new):
    arm_file = crane(lift={"flexible_link": BEAM})
    arm_file.model.write_text(CRANE.replace(old, new))
    with pytest.raises(
        InputError,
        match=r"joints\.lift\.flexible_link: the link is not a uniform rod.*kg·m² across",
    ):
        SimulatedArm(arm_file)


def test_older_releases_of_mujoco_are_refused(rod, monkeypatch):
    monkeypatch.setattr(flexible_links, "mujoco_release", lambda: (3, 15))
    with pytest.raises(
        InputError, match=r"joints\.shoulder\.flexible_link: needs MuJoCo 3\.16 or newer"
    ):
        rod({"flexible_link": BEAM})


def tip(m, q, link, half):
    """Position of the outer end of a beam's last piece, half a segment [m] from its hinges."""
    at = kinematics(m, [q])
    j = m.names.index(link)
    e = m.com[j] / np.linalg.norm(m.com[j])
    return at.origin[0, j] + at.rotation[0, j] @ e * half
