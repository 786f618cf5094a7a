"""`stribeck simulate` and `stribeck loads --motion`: tables in, tables out, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import closed_driving_torque, drive, driving_torque
from stribeck.ident.model.loads import joint_loads
from tests.places import DATA

URDF = """<robot name="swing"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2.0"/>
<inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""


@pytest.fixture
def write(tmp_path):
    def table(name, **columns):
        path = tmp_path / name
        pd.DataFrame({key.replace("__", "."): value for key, value in columns.items()}).to_csv(
            path, index=False
        )
        return path

    return table


def sliding(t):
    """Displacements of three sliders that keep moving."""
    return np.outer(0.05 * t + 0.01 * np.sin(3.0 * t), [1.0, 0.8, 0.5])


class TestTorques:
    def test_of_a_closed_chain_from_positions_alone(self, cli, write):
        t = np.linspace(0.0, 1.0, 101)
        file = write("m.csv", t=t, **{f"q__slider{k + 1}": sliding(t)[:, k] for k in range(3)})
        done = cli("simulate", "planar-3-prr", "--motion", file, "-o", "tau.csv", "--json")
        assert done.code == 0, done.err
        rates = [
            np.outer(0.05 + 0.03 * np.cos(3.0 * t), [1.0, 0.8, 0.5]),
            np.outer(-0.09 * np.sin(3.0 * t), [1.0, 0.8, 0.5]),
        ]
        m = load_mechanism("planar-3-prr")
        exact = closed_driving_torque(m, close_loops(m, sliding(t), *rates)).tau
        found = pd.read_csv("tau.csv")
        for j in m.active:
            np.testing.assert_allclose(found[f"tau.{m.names[j]}"], exact[:, j], rtol=0, atol=1e-5)
            assert json.loads(done.out)["largest"][m.names[j]] == pytest.approx(
                np.abs(exact[:, j]).max(), rel=1e-5
            )
        assert "q.link1" in found
        assert "tau.link1" not in found

    @pytest.mark.slow
    def test_of_a_tree_with_swinging_passive_joints(self, cli, write):
        """Drives at rest hold the arm in equilibrium; moving drives make it swing; its whole
        motion needs the same torques.
        """
        m, t = load_mechanism("flexible-arm"), np.linspace(0.0, 0.4, 41)
        way = {"q__shoulder": 0.3 * t**3, "q__elbow": -0.2 * t**3, "q__wrist": 0.0 * t}
        done = cli(
            "simulate", "flexible-arm", "--motion", write("m.csv", t=t, **way), "-o", "one.csv"
        )
        assert done.code == 0, done.err
        assert (
            "swinging  4 joints without a drive swing about their rest positions; widest shoulder "
            "spring" in done.out
        )
        one = pd.read_csv("one.csv")
        rest = equilibrium(m, np.zeros(m.n))
        hold = driving_torque(m, [rest], [0.0 * rest], [0.0 * rest]).tau[0]
        for j in m.active:
            assert one[f"tau.{m.names[j]}"][0] == pytest.approx(hold[j], abs=1e-6)
        assert cli("simulate", "flexible-arm", "--motion", "one.csv", "-o", "two.csv").code == 0
        np.testing.assert_allclose(pd.read_csv("two.csv")[one.columns], one, rtol=0, atol=1e-9)

    @pytest.mark.slow
    def test_of_an_elastic_closed_chain(self, cli, write):
        """P3's robot: torques and loads along a motion agree, and the whole
        motion needs the same torques.
        """
        m, t = load_mechanism("flexible-parallel"), np.linspace(0.0, 0.1, 11)
        way = {f"q__drive{k}": size * t**3 for k, size in ((1, 5.0), (2, -2.0), (3, 1.0))}
        file = write("m.csv", t=t, **way)
        done = cli("simulate", "flexible-parallel", "--motion", file, "-o", "one.csv", "--json")
        assert done.code == 0, done.err
        told = json.loads(done.out)
        assert len(told["swinging"]) == 21
        assert told["energy_error"] < 1e-7
        one, rest = pd.read_csv("one.csv"), equilibrium(m, np.zeros(3))
        np.testing.assert_allclose(
            one.loc[0, [f"q.{name}" for name in m.names]], rest, rtol=0, atol=1e-12
        )
        assert cli("loads", "flexible-parallel", "--motion", "one.csv", "-o", "loads.csv").code == 0
        loads = pd.read_csv("loads.csv")
        np.testing.assert_allclose(loads[one.columns], one, rtol=0, atol=1e-8)
        np.testing.assert_allclose(
            loads["torque.drive1"], one["tau.drive1"].abs(), rtol=0, atol=1e-8
        )

    @pytest.mark.slow
    def test_friction_of_a_calibration(self, cli, write):
        calibration = Calibration.load(DATA / "golden" / "calibration.toml")
        t = np.linspace(0.0, 1.0, 51)
        file = write(
            "m.csv", t=t, q__hinge=0.5 * t, dq__hinge=np.full(51, 0.5), ddq__hinge=np.zeros(51)
        )
        model, found = DATA / "golden" / "pendulum.urdf", []
        for more in ((), ("--calibration", DATA / "golden" / "calibration.toml")):
            done = cli("simulate", model, "--motion", file, "-o", f"{len(found)}.csv", *more)
            assert done.code == 0, done.err
            assert ("the model states no friction; --calibration" in done.out) == (not more)
            found.append(pd.read_csv(f"{len(found)}.csv")["tau.hinge"].to_numpy())
        expected = calibration.friction(0.5 * t[:, None], np.full((51, 1), 0.5))[:, 0]
        np.testing.assert_allclose(found[1] - found[0], expected, atol=1e-9)

    def test_friction_of_the_model_file_is_used_without_a_calibration(self, cli, write, tmp_path):
        """Friction of a URDF is used and named; friction of a calibration replaces it."""
        model, stated = DATA / "golden" / "pendulum.urdf", tmp_path / "pendulum.urdf"
        stated.write_text(
            model.read_text(encoding="utf-8").replace(
                "<axis", '<dynamics friction="2" damping="3"/><axis', 1
            ),
            encoding="utf-8",
        )
        t, found = np.linspace(0.0, 1.0, 11), []
        file = write(
            "m.csv", t=t, q__hinge=0.5 * t, dq__hinge=np.full(11, 0.5), ddq__hinge=np.zeros(11)
        )
        for path, *more in (
            (model,),
            (stated,),
            (model, "--calibration", DATA / "golden"),
            (stated, "--calibration", DATA / "golden"),
        ):
            done = cli(
                "simulate", path, "--motion", file, "-o", f"{len(found)}.csv", *more, "--json"
            )
            assert done.code == 0, done.err
            found.append(
                (
                    pd.read_csv(f"{len(found)}.csv")["tau.hinge"].to_numpy(),
                    json.loads(done.out)["friction"],
                )
            )
        np.testing.assert_allclose(found[1][0] - found[0][0], 2.0 + 3.0 * 0.5, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[3][0], found[2][0], rtol=0, atol=1e-12)
        assert found[0][1] == {}
        assert found[1][1] == {
            "hinge": {
                "law": "coulomb-viscous",
                "load": "none",
                "source": "model",
                "parameters": {"coulomb": 2.0, "viscous": 3.0},
            }
        }
        assert found[3][1]["hinge"]["source"] == "calibration"
        done = cli("simulate", stated, "--motion", file, "-o", "said.csv")
        assert (
            "friction  hinge: coulomb-viscous: coulomb 2 N·m, viscous 3 N·m·s/rad (model)"
            in done.out
        )

    def test_arm_with_loops_has_the_friction_of_its_mechanism(self, cli, write):
        t = np.linspace(0.0, 1.0, 101)
        file = write("m.csv", t=t, **{f"q__slider{k + 1}": sliding(t)[:, k] for k in range(3)})
        folder = DATA / "arms" / "planar-3-prr"
        for model, out in (("planar-3-prr", "a.csv"), (folder / "planar-3-prr.toml", "b.csv")):
            assert cli("simulate", model, "--motion", file, "-o", out).code == 0
        pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))

    @pytest.mark.slow
    def test_simulation_under_the_torques_returns_the_motion(self, cli, write):
        t = np.linspace(0.0, 0.2, 41)
        file = write("m.csv", t=t, **{f"q__slider{k + 1}": sliding(t)[:, k] for k in range(3)})
        assert cli("simulate", "planar-3-prr", "--motion", file, "-o", "tau.csv").code == 0
        done = cli("simulate", "planar-3-prr", "--torque", "tau.csv", "-o", "back.csv", "--json")
        assert done.code == 0, done.err
        there, back = pd.read_csv("tau.csv"), pd.read_csv("back.csv")
        assert list(there.columns) == list(back.columns)
        positions = [name for name in there if name.startswith("q.")]
        np.testing.assert_allclose(back[positions], there[positions], rtol=0, atol=2e-6)
        said = json.loads(done.out)
        assert said["energy_error"] < 1e-8
        assert said["work_J"]["drives"] > said["work_J"]["friction"] > 0.0


class TestMotion:
    def test_of_a_urdf_from_a_stated_posture(self, cli, write, tmp_path):
        """A released rod swings like a pendulum and leaves its range, and a message says so."""
        (tmp_path / "swing.urdf").write_text(URDF, encoding="utf-8")
        file = write("tau.csv", t=np.linspace(0.0, 0.5, 11), tau__hinge=np.zeros(11))
        done = cli(
            "simulate",
            tmp_path / "swing.urdf",
            "--torque",
            file,
            "--q",
            "0.9",
            "--dq",
            "2.5",
            "-o",
            "out.csv",
        )
        assert done.code == 0, done.err
        assert "hinge leaves its range, -1.0000 to 1.0000 rad" in done.out
        found = pd.read_csv("out.csv")
        energy = 0.5 * 0.51 * found["dq.hinge"] ** 2 - 2.0 * 9.81 * 0.5 * np.cos(found["q.hinge"])
        np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
        assert found["q.hinge"][0] == 0.9

    @pytest.mark.slow
    def test_of_elastic_joints_from_equilibrium(self, cli, write):
        """Under the torques of equilibrium the joints stay at rest; passive
        joints start with their sag.
        """
        for name in ("flexible-arm", "flexible-parallel"):
            m = load_mechanism(name)
            rest, driving = drive(m, *np.zeros((3, 3)))
            file = write(
                f"{name}.csv",
                t=[0.0, 0.5],
                **{f"tau__{m.names[j]}": [driving.tau[0, j]] * 2 for j in m.active},
            )
            assert cli("simulate", name, "--torque", file).code == 0
            found = pd.read_csv(f"{name}.simulated.csv")
            np.testing.assert_allclose(
                found[[f"q.{joint}" for joint in m.names]], [rest] * 2, rtol=0, atol=1e-9
            )

    def test_an_arm_s_loads_along_a_motion(self, cli, write):
        m, t = load_mechanism("lab6"), np.linspace(0.0, 1.0, 21)
        q = 0.3 * np.sin(2.0 * np.outer(t, np.arange(1.0, 7.0)))
        file = write(
            "m.csv",
            t=t,
            **{f"q__{name}": q[:, j] for j, name in enumerate(m.names)},
            **{f"dq__{name}": 0.0 * t for name in m.names},
            **{f"ddq__{name}": 0.0 * t for name in m.names},
        )
        done = cli("loads", "lab6", "--motion", file, "-o", "loads.csv", "--json")
        assert done.code == 0, done.err
        found, exact = pd.read_csv("loads.csv"), joint_loads(m, q)
        for j, name in enumerate(m.names):
            np.testing.assert_allclose(
                found[f"bending.{name}"], exact.bending[:, j], rtol=0, atol=1e-9
            )
        bending = exact.bending[:, 0]
        assert json.loads(done.out)["ranges"]["bending.j1"] == pytest.approx(
            [bending.min(), bending.max()]
        )


@pytest.mark.slow
def test_invalid_input_is_refused_with_the_reason(cli, write, tmp_path):
    t, still = np.linspace(0.0, 1.0, 11), np.zeros(11)
    whole = {f"q__slider{k}": still for k in (1, 2, 3)}
    good = write("good.csv", t=t, **whole)
    cases = [
        (["simulate", "planar-3-prr"], "give either --torque FILE or --motion FILE"),
        (["simulate", "planar-3-prr", "--motion", tmp_path / "none.csv"], "none.csv: no such file"),
        (
            ["simulate", "planar-3-prr", "--torque", good],
            "no column tau.slider1, tau.slider2, tau.slider3",
        ),
        (
            ["simulate", "planar-3-prr", "--motion", good, "--q", "0,0,0"],
            "--q and --dq state the start of a motion under",
        ),
        (
            ["simulate", "planar-3-prr", "--motion", good, "-o", good],
            "good.csv exists; choose another --out",
        ),
        (
            ["simulate", "flexible-arm", "--motion", write("arm.csv", t=t, q__shoulder=still)],
            "no column q.elbow, q.wrist",
        ),
        (
            [
                "simulate",
                "flexible-arm",
                "--motion",
                write("some.csv", t=t, **{"q__flexure 1": still}),
            ],
            "columns q.shoulder spring, q.elbow spring, q.flexure 2 are missing, but other "
            "passive joints have a column",
        ),
        (
            [
                "simulate",
                "flexible-parallel",
                "--motion",
                write(
                    "one.csv",
                    t=still[:1],
                    **dict.fromkeys(
                        [f"{signal}__drive{k}" for signal in ("q", "dq", "ddq") for k in (1, 2, 3)],
                        0.0,
                    ),
                ),
            ],
            "one.csv: one row, but",
        ),
        (
            ["loads", "flexible-parallel", "--dq", "1,0,0"],
            "(for example spring1) that swing when the mechanism moves",
        ),
        (["loads", "planar-3-prr", "-o", "x.csv"], "--out needs loads along a motion"),
        (
            ["loads", "planar-3-prr", "--motion", good, "--q", "0,0,0"],
            "--motion states the postures",
        ),
        (
            ["loads", "planar-3-prr", "--motion", write("a.csv", t=t, q__slider1=still)],
            "no column q.slider2, q.slider3",
        ),
        (
            ["loads", "planar-3-prr", "--motion", write("b.csv", t=t[::-1], **whole)],
            "line 3: t = 0.9 s after 1 s; times must",
        ),
        (
            ["loads", "planar-3-prr", "--motion", write("c.csv", t=t, q__slider9=still)],
            "unknown joint 'slider9'",
        ),
        (
            ["loads", "planar-3-prr", "--motion", write("d.csv", t=t, x__slider1=still)],
            "unknown column 'x.slider1'; valid are t, q.NAME",
        ),
        (
            ["loads", "planar-3-prr", "--motion", write("e.csv", q__slider1=still)],
            "no column t (s)",
        ),
        (
            [
                "loads",
                "planar-3-prr",
                "--motion",
                write("f.csv", t=t[:5], **dict.fromkeys(whole, still[:5])),
            ],
            "5 rows, but",
        ),
        (
            [
                "loads",
                "planar-3-prr",
                "--motion",
                write("g.csv", t=t, **{**whole, "q__slider1": np.where(t > 0.5, np.nan, 0.0)}),
            ],
            "line 8: q.slider1 = empty; a finite number is needed",
        ),
        (
            [
                "loads",
                "planar-3-prr",
                "--motion",
                write("h.csv", t=t, **{**whole, "q__slider1": 2.0 * t}),
            ],
            "is not reached",
        ),
    ]
    for arguments, said in cases:
        done = cli(*arguments)
        assert done.code == 2, arguments
        assert said in done.err
        assert done.out == ""
    assert not (tmp_path / "here" / "planar-3-prr.simulated.csv").exists()
