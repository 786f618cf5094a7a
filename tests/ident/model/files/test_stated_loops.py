"""A URDF whose loops its arm file states, against Pinocchio; and what is refused of such tables."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stribeck import joint_loads, load_mechanism
from stribeck.ident.errors import StribeckError
from stribeck.ident.model.dynamics import inverse_dynamics
from tests.looped_urdf import JOINT, LINK, LOOPS, THERE, TIP, machine
from tests.model_texts import written


def by_pinocchio(pin: ModuleType, path: Path, kind: str, q: np.ndarray) -> np.ndarray:
    """Torques that hold the drive at each q, shape (N, 1), by virtual work."""
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array([3.0, 6.0, -8.0])
    data = model.createData()
    ends = [
        model.getFrameId(name)
        for name in (("coupler", "end") if kind == "rigid" else ("coupler", "rocker"))
    ]
    places = [np.array(numbers(text)) for text in (TIP, "0, 0, 0" if kind == "rigid" else THERE)]

    def state(posture: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        pin.computeJointJacobians(model, data, posture)
        pin.updateFramePlacements(model, data)
        gaps, rows, turns = [], [], []
        for sign, frame, place in zip((1.0, -1.0), ends, places, strict=True):
            R, J = (
                data.oMf[frame].rotation,
                pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED),
            )
            arm = R @ place
            gaps.append(sign * (data.oMf[frame].translation + arm))
            rows.append(sign * np.vstack((J[:3] - pin.skew(arm) @ J[3:], J[3:])))
            turns.append(R.copy())
        return sum(gaps), sum(rows), turns

    _, _, zero = state(np.zeros(model.nq))
    found = []
    for wanted in q[:, 0]:
        posture = np.zeros(model.nq)
        for posture[0] in np.linspace(0.0, wanted, 30):
            for _ in range(10):
                gap, J, turns = state(posture)
                if kind == "rigid":
                    between = turns[1] @ zero[1].T @ zero[0]
                    gap, J = np.concatenate((gap, turns[0] @ pin.log3(between.T @ turns[0]))), J
                else:
                    J = J[:3]
                posture[1:] -= np.linalg.lstsq(J[:, 1:], gap, rcond=1e-9)[0]
        assert np.abs(gap).max() < 1e-12
        weight = pin.computeGeneralizedGravity(model, data, posture)
        found.append(weight[0] - np.linalg.lstsq(J[:, 1:], J[:, 0], rcond=1e-9)[0] @ weight[1:])
    return np.array(found)[:, None]


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


@pytest.mark.parametrize("kind", LOOPS)
def test_torques_agree_with_pinocchio(kind: str, tmp_path: Path, pin: ModuleType) -> None:
    """Points in axes of the links, to four digits: the loops are closed first."""
    mechanism = load_mechanism(machine(tmp_path, LOOPS[kind], kind))
    assert mechanism.names == ("drive",)
    (closure,) = mechanism.chain.whole.closures
    assert (closure.kind, closure.name) == (
        kind,
        {"spherical": "tip", "pin": "coupler-rocker", "rigid": "coupler-end"}[kind],
    )
    q = np.linspace(-0.4, 0.4, 5)[:, None]
    tau = inverse_dynamics(mechanism, q)
    assert np.abs(tau).max() > 0.5
    np.testing.assert_allclose(
        tau, by_pinocchio(pin, tmp_path / "machine.urdf", kind, q), rtol=0, atol=1e-9
    )
    assert np.isfinite(joint_loads(mechanism, q).torque).all()


@pytest.mark.parametrize("ground", ["base", "ground", "world"])
def test_the_ground_has_the_name_of_its_link_or_ground_or_world(
    ground: str, tmp_path: Path
) -> None:
    """A four-bar as a chain of three, whose last link is tied to the ground."""
    links = "".join(LINK.format(name) for name in ("one", "two", "three"))
    joints = "".join(
        JOINT.format(name, "revolute", below, link, place, "0 0 0")
        for name, below, link, place in (
            ("drive", "base", "one", "0 0 0"),
            ("c", "one", "two", "0.3 0 0"),
            ("e", "two", "three", "0.3 0.1 0"),
        )
    )
    written(tmp_path, f"<robot name='r'><link name='base'/>{links}{joints}</robot>", "machine.urdf")
    mechanism = load_mechanism(
        written(
            tmp_path,
            (
                'schema = 1\nname = "machine"\nmodel = '
                '"machine.urdf"\n[joints.drive]\n[[loops]]\ntype = "pin"\naxis = [0, 0, 1]\n'
                f'a = {{ link = "{ground}", point = [0.7, -0.3, 0.0] }}\nb = {{ link = "three", '
                f"point = [0.1, -0.4, 0.0] }}\n"
            ),
            "machine.toml",
        )
    )
    whole = mechanism.chain.whole
    assert whole.closures[0].links == (-1, 2)
    np.testing.assert_allclose(whole.closures[0].points, [[0.7, -0.3, 0.0], [0.1, -0.4, 0.0]])
    posture = mechanism.chain.posture(mechanism, np.array([[0.3]]))[0]
    tip = sum(
        turn(posture[: k + 1].sum()) @ place
        for k, place in enumerate(([0.3, 0.0], [0.3, 0.1], [0.1, -0.4]))
    )
    np.testing.assert_allclose(tip, [0.7, -0.3], atol=1e-12)


def turn(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize(
    ("loops", "tables", "words"),
    [
        (
            LOOPS["pin"].replace('"rocker"', '"rokcer"'),
            None,
            "loops[0]: unknown link 'rokcer'; did you mean 'rocker'? (valid: base, plate, crank, "
            "coupler, rocker, end)",
        ),
        (
            LOOPS["pin"].replace("axis", "axes"),
            None,
            "loops.0.axes: unknown key 'axes'; did you mean 'axis'?",
        ),
        (
            LOOPS["pin"].replace("point", "at", 1),
            None,
            "loops.0.a.at: unknown key 'at' (valid: link, point)",
        ),
        (
            LOOPS["pin"].replace("axis = [0, 0, 2], ", ""),
            None,
            "loops[0].axis is missing; a pin needs an axis",
        ),
        (LOOPS["pin"].replace("[0, 0, 2]", "[0, 0, 0]"), None, "loops[0].axis has length 0"),
        (
            LOOPS["pin"].replace('"pin"', '"hinge"'),
            None,
            "loops.0.type = 'hinge': it must be 'pin', ",
        ),
        (
            LOOPS["pin"].replace('"pin"', '"rigid"'),
            None,
            "loops[0].axis: only a pin has an axis; found a rigid closure",
        ),
        (
            LOOPS["pin"].replace('"rocker"', '"coupler"'),
            None,
            "loops[0] ties 'coupler' to itself; a loop needs two links",
        ),
        (
            LOOPS["pin"].replace('"coupler"', '"end"'),
            None,
            "loops[0] ties 'end' to 'rocker', but no joint moves one against the other",
        ),
        (LOOPS["pin"], "", "nothing says which of its joints have drives (drive, c, r)"),
        (
            LOOPS["pin"],
            "[joints.drive]\n[joints.r]\n",
            "the known joints drive, r cannot move independently",
        ),
        (LOOPS["pin"].replace("0.1542", "2.1542"), None, "the loops do not close at q = 0"),
    ],
)
def test_loop_tables_that_do_not_fit_are_refused_by_name(
    loops: str, tables: str | None, words: str, tmp_path: Path
) -> None:
    path = machine(tmp_path, loops) if tables is None else machine(tmp_path, loops, tables=tables)
    with pytest.raises(StribeckError) as caught:
        load_mechanism(path)
    assert words in str(caught.value)
    assert tables is not None or str(path) in str(caught.value) or words.startswith("the loops")


def test_loops_in_the_arm_file_of_a_mechanism_file_are_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path, 'schema = 1\nname = "m"\nmodel = "m.mechanism.toml"\n' + LOOPS["pin"], "m.toml"
    )
    written(tmp_path, "", "m.mechanism.toml")
    with pytest.raises(
        StribeckError,
        match=r"m.toml: loops: the model is a mechanism file, which states its own loops; "
        r"write the loops into m.mechanism.toml",
    ):
        load_mechanism(path)
