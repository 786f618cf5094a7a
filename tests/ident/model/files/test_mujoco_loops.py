"""MJCFs that close loops in all ways that MuJoCo knows, against MuJoCo's own constraints;
and what is refused of them.
"""

import logging
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from stribeck import load_mechanism
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.errors import StribeckError
from stribeck.ident.model.driven.driven_joints import driven_joints
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.files.closed_mujoco import closed_spec
from stribeck.ident.model.files.from_mujoco import natural_coordinates
from stribeck.ident.model.loads import LOADS, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from tests.held_in_mujoco import judged
from tests.model_texts import written
from tests.places import TEST_ARMS

# and how far their drives go here
MACHINES = {"planar-3-prr": 0.03, "three-loop-chain": 1.0, "gough-stewart": 0.08}
MASS = '<inertial pos="0.08 0.01 0.02" mass="0.7" diaginertia="2e-3 3e-3 4e-3"/>'
# four-bar in a plane that is tilted, drawn where it is closed; the crank is the drive
CRANK = (
    '<body name="crank" euler="20 -35 10"><joint name="drive" axis="0 0 1"{drive}/>{mass}'
    '<body name="coupler" pos="0.2 0.05 0"><joint name="c" axis="0 0 '
    '1"{c}/>{mass}{on_coupler}</body></body>'
)
ROCKER = (
    '<body name="frame" euler="20 -35 10"><body name="rocker" pos="0.4 -0.1 0"><joint name="r" '
    'axis="0 0 1"{r}/>{mass}'
    "{on_rocker}</body></body>"
)
TIP, THERE = "0.2 0.15 0", "0 0.3 0"  # of the coupler and of the rocker: the same place
MOTOR = '<actuator><motor joint="drive"/></actuator>'


def four_bar(closed: str, more: str = MOTOR, **inside: str) -> str:
    parts = {
        "mass": MASS,
        **dict.fromkeys(("drive", "c", "r", "on_coupler", "on_rocker"), ""),
        **inside,
    }
    return (
        '<mujoco><compiler angle="degree"/><option gravity="3 6 '
        f'-8"/><worldbody>{CRANK.format(**parts)}'
        f"{ROCKER.format(**parts)}</worldbody><equality>{closed}</equality>{more}</mujoco>"
    )


def sites(coupler: str = TIP, rocker: str = THERE, turned: str = "") -> dict[str, str]:
    return {
        "on_coupler": f'<site name="s" pos="{coupler}"/>',
        "on_rocker": f'<site name="t" pos="{rocker}"{turned}/>',
    }


# what a weld holds is a rocker with a hinge more
BENT = '<body name="end" pos="0 0.3 0"><joint name="e" axis="0 0 1"{}/>' + MASS + "{}</body>"
FORMS: dict[str, tuple[str, str]] = {
    "connect with an anchor": (
        four_bar(f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/>'),
        "spherical",
    ),
    "the bodies the other way round": (
        four_bar(f'<connect body1="rocker" body2="coupler" anchor="{THERE}"/>'),
        "spherical",
    ),
    "connect of sites": (four_bar('<connect site1="s" site2="t"/>', **sites()), "spherical"),
    "sites that are drawn apart": (
        four_bar('<connect site1="s" site2="t"/>', **sites(rocker="0.02 0.28 0")),
        "spherical",
    ),
    "two connects are a pin": (
        four_bar(
            f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/><connect body1="rocker" '
            'body2="coupler" anchor="0 0.3 0.07"/>'
        ),
        "pin",
    ),
    "a ball in the tree, and a pin": (
        four_bar(
            f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/><connect body1="rocker" '
            'body2="coupler" anchor="0 0.3 0.07"/>',
            c=' type="ball"',
        ),
        "pin",
    ),
    "drawn elsewhere than at zero": (
        four_bar(
            f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/>',
            drive=' ref="25"',
            c=' ref="-40"',
            r=' ref="10"',
        ),
        "spherical",
    ),
    "weld as it is drawn": (
        four_bar('<weld body1="coupler" body2="end"/>', on_rocker=BENT.format("", "")),
        "rigid",
    ),
    "weld with an anchor": (
        four_bar(
            '<weld body1="end" body2="coupler" anchor="0.1 0 0"/>', on_rocker=BENT.format("", "")
        ),
        "rigid",
    ),
    "weld with a pose": (
        four_bar(
            '<weld body1="coupler" body2="end" relpose="0.21 0.14 0 1 0 0 0.2"/>',
            on_rocker=BENT.format("", ""),
        ),
        "rigid",
    ),
    "weld of sites": (
        four_bar(
            '<weld site1="s" site2="t"/>',
            on_rocker=BENT.format("", '<site name="t" euler="0 0 15"/>'),
            on_coupler=f'<site name="s" pos="{TIP}"/>',
        ),
        "rigid",
    ),
    "weld that holds no angle": (
        four_bar(f'<weld body1="rocker" body2="coupler" anchor="{TIP}" torquescale="0"/>'),
        "spherical",
    ),
    "three connects hold all": (
        four_bar(
            "".join(
                f'<connect body1="coupler" body2="end" anchor="{place}"/>'
                for place in (TIP, "0 0 0", "0 0 0.1")
            ),
            on_rocker=BENT.format("", ""),
        ),
        "rigid",
    ),
    "what is not active": (
        four_bar(
            f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/><weld body1="crank" '
            'body2="frame" active="false"/><joint joint1="c" joint2="r" active="false"/>'
        ),
        "spherical",
    ),
}


def stewart() -> str:
    """Six legs as people write them: a ball at the base, a slide, a connect at
    the platform, which floats.
    """
    legs, closed, drives = [], [], []
    for k, (below, above) in enumerate(
        zip(
            np.deg2rad([10, 110, 130, 230, 250, 350]),
            np.deg2rad([50, 70, 170, 190, 290, 310]),
            strict=True,
        )
    ):
        low, top = (
            np.array([np.cos(below), np.sin(below), 0.0]),
            np.array([0.6 * np.cos(above), 0.6 * np.sin(above), 1.1]),
        )
        along = " ".join(f"{x:.4f}" for x in top - low)
        # on the line about which it may spin
        mass = f'<inertial pos="{along}" mass="0.7" diaginertia="2e-3 3e-3 4e-3"/>'
        legs.append(
            f'<body pos="{low[0]:.4f} {low[1]:.4f} 0"><joint name="hip{k}" '
            f'type="ball"/>{mass}<body name="rod{k}">'
            f'<joint name="leg{k}" type="slide" axis="{along}"/>{mass}</body></body>'
        )
        closed.append(f'<connect body1="rod{k}" body2="platform" anchor="{along}"/>')
        drives.append(f'<position joint="leg{k}" kp="100"/>')
    return (
        f'<mujoco><worldbody>{"".join(legs)}<body name="platform" pos="0 0 1.1"><freejoint/>'
        f'<inertial pos="0.1 0 0.1" mass="8" diaginertia="0.3 0.3 0.5"/></body></worldbody>'
        f"<equality>{''.join(closed)}</equality><actuator>{''.join(drives)}</actuator></mujoco>"
    )


@pytest.mark.parametrize("form", FORMS)
def test_computed_holding_torques_keep_a_machine_at_rest_in_mujoco(
    form: str, tmp_path: Path, mujoco: ModuleType
) -> None:
    text, kind = FORMS[form]
    path = written(tmp_path, text, "machine.xml")
    whole = load_mechanism(path)
    driven = driven_joints(whole)
    assert driven.names == ("drive",)
    assert [closure.kind for closure in whole.closures] == [kind]
    q = np.linspace(-0.5, 0.5, 5)[:, None]
    tau = inverse_dynamics(driven, q)
    assert np.abs(tau).max() > 0.5
    held, moves = judged(path, ("drive",), q, tau)
    np.testing.assert_allclose(tau, held, rtol=0, atol=1e-9)
    assert moves < 1e-3


def test_idly_spinning_legs_and_a_floating_platform_are_replaced(
    tmp_path: Path, mujoco: ModuleType
) -> None:
    """The spin of a leg about its own axis is taken out."""
    path = written(tmp_path, stewart(), "machine.xml")
    whole = load_mechanism(path)
    assert [name for name in whole.names if name.startswith("hip0")] == ["hip0.1", "hip0.2"]
    assert [name for name in whole.names if "platform" in name] == [
        f"platform.{part}" for part in ("x", "y", "z", "yaw", "pitch", "roll")
    ]
    driven = driven_joints(whole)
    assert driven.names == tuple(f"leg{k}" for k in range(6))
    q = np.random.default_rng(0).uniform(-0.05, 0.05, (3, 6))
    tau = inverse_dynamics(driven, q)
    held, moves = judged(path, driven.names, q, tau)
    np.testing.assert_allclose(tau, held, rtol=0, atol=1e-9)
    assert moves < 1e-3


def test_a_planar_chain_with_rounded_axes_closes(
    tmp_path: Path, mujoco: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    """As CAD programs write it: quaternions and places to a few digits, which
    no planar motion can close.
    """
    exact = FORMS["two connects are a pin"][0]
    model = mujoco.MjModel.from_xml_string(exact)
    quat = model.body("frame").quat
    rough = exact
    for digits in (6, 5):
        rough = rough.replace(
            'euler="20 -35 10"', f'quat="{" ".join(f"{x:.{digits}f}" for x in quat)}"', 1
        )
    rough = rough.replace('anchor="0.2 0.15 0"', 'anchor="0.2 0.15 0.000002"')
    tau = []
    for text, name in ((exact, "exact"), (rough, "rough")):
        caplog.clear()
        driven = driven_joints(load_mechanism(written(tmp_path, text, f"{name}.xml")))
        tau.append(inverse_dynamics(driven, np.linspace(-0.5, 0.5, 5)[:, None]))
    assert np.abs(tau[1] - tau[0]).max() < 1e-4 * np.abs(tau[0]).max()
    (said,) = caplog.messages
    assert said.startswith(
        "rough: axes that are parallel or perpendicular within 0.0001 rad are made exactly so"
    )


@pytest.mark.parametrize(("name", "far"), MACHINES.items())
def test_a_written_closed_chain_is_read_back_unchanged(name: str, far: float) -> None:
    whole = load_mechanism(name)
    driven, spec = driven_joints(whole), closed_spec(whole)
    read = driven_joints(natural_coordinates(spec, name, spec.option.gravity, {}))
    assert read.names == driven.names  # its motors say so
    rng = np.random.default_rng(7)
    q, dq, ddq = (
        rng.uniform(-far, far, (30, driven.n)),
        0.1 * rng.normal(size=(30, driven.n)),
        rng.normal(size=(30, driven.n)),
    )
    near = driven.chain.condition(q, q) < 60.0
    assert near.sum() > 5
    here, there = (joint_loads(one, q[near], dq[near], ddq[near]) for one in (driven, read))
    size = np.abs(here.tau).max()
    assert np.abs(there.tau - here.tau).max() < 1e-9 * size
    for load in LOADS:
        # an MJCF knows no bearings
        if np.isfinite(here.get(load)).all() and load != "normal":
            np.testing.assert_allclose(there.get(load), here.get(load), rtol=1e-9, atol=1e-8 * size)


def test_joints_without_a_name_get_the_name_of_their_body(tmp_path: Path) -> None:
    text = (
        four_bar(f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/>')
        .replace('name="c" ', "")
        .replace('name="r" ', "")
    )
    assert load_mechanism(written(tmp_path, text, "machine.xml")).names == (
        "drive",
        "coupler",
        "rocker",
    )


def test_joint_ranges_are_written(tmp_path: Path) -> None:
    """Of the text as well, where hinges could be in degrees."""
    whole = load_mechanism("three-loop-chain")
    whole = replace(whole, position=np.array([[-2.5, 1.5], *[[-3.0, 3.0]] * (whole.n - 1)]))
    spec = closed_spec(whole)
    spec.compile()
    read = load_mechanism(written(tmp_path, spec.to_xml(), "machine.xml"))
    assert driven_joints(read).position[0] == pytest.approx([-2.5, 1.5])


def test_pins_written_as_two_constraints_are_read_as_pins() -> None:
    free = load_mechanism("gough-stewart")
    whole = _with_closure(free, kind="pin", axis=np.array([0.0, 0.6, 0.8]))
    spec = closed_spec(whole)
    read = natural_coordinates(spec, "pinned", spec.option.gravity, {})
    assert [closure.kind for closure in read.closures] == ["pin", *["spherical"] * 5]
    np.testing.assert_allclose(read.closures[0].axis, [0.0, 0.6, 0.8], atol=1e-12)
    np.testing.assert_allclose(read.closures[0].points, whole.closures[0].points, atol=1e-12)


def _with_closure(m: Mechanism, **changes: Any) -> Mechanism:
    return replace(m, closures=(replace(m.closures[0], **changes), *m.closures[1:]))


def test_tables_of_the_arm_file_name_the_drives(tmp_path: Path) -> None:
    """Where they name none, actuators do; beside a table for all, those count as well."""
    written(
        tmp_path,
        four_bar(f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/>'),
        "machine.xml",
    )
    five = written(tmp_path, (TEST_ARMS / "five-bar.xml").read_text(encoding="utf-8"), "five.xml")
    arm = written(
        tmp_path,
        f'schema = 1\nname = "five"\nmodel = "{five.name}"\n[joints.default]\nvelocity = '
        "1.0\n[joints.left]\n"
        "torque = 5.0\n",
        "five.toml",
    )
    assert load_mechanism(arm).names == ("left", "right")
    for tables, drives in (
        ("[joints.r]\n", ("r",)),
        ("[joints.default]\nvelocity = 1.0\n", ("drive",)),
        ("", ("drive",)),
    ):
        arm = written(
            tmp_path, f'schema = 1\nname = "machine"\nmodel = "machine.xml"\n{tables}', "arm.toml"
        )
        assert load_mechanism(arm).names == drives
    assert mechanism_of(tmp_path / "machine.xml", "machine", None).names == ("drive",)
    assert load_mechanism(load_arm(tmp_path / "machine.xml")).names == ("drive",)


def test_a_warning_names_ignored_springs_of_a_closed_chain(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = four_bar(f'<connect body1="coupler" body2="rocker" anchor="{TIP}"/>', r=' stiffness="3"')
    with caplog.at_level(logging.WARNING):
        mechanism = load_mechanism(written(tmp_path, text, "machine.xml"))
    assert not mechanism.springs
    assert caplog.messages == [
        "machine: the springs of joints r are left out: springs of closed chains are not supported"
    ]


JOINED = f'<connect name="joined" body1="coupler" body2="rocker" anchor="{TIP}"/>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            four_bar(JOINED.replace('"rocker"', '"rokcer"')),
            "the connect 'joined' of <equality>: unknown body 'rokcer'; did you mean 'rocker'?",
        ),
        (
            four_bar('<connect site1="s" site2="r"/>', **sites()),
            "the connect 0 of <equality>: unknown site 'r' (valid: s, t)",
        ),
        (four_bar(JOINED, more=""), "nothing says which of its joints have drives (drive, c, r)"),
        (
            four_bar(JOINED, more='<actuator><motor joint="drive"/><motor joint="r"/></actuator>'),
            "drive, r cannot move",
        ),
        (
            four_bar('<connect name="far" site1="s" site2="t"/>', **sites(rocker="0 2 0")),
            "the connect 'far' stays open by",
        ),
        (
            four_bar('<connect site1="s" site2="t"/>', **sites(rocker="0 0.3 0.01")),
            "the connect 's-t' stays open by 0.0",
        ),
        (
            four_bar(f'{JOINED}<joint joint1="c" joint2="r"/>'),
            "joint c follows r by a joint equality or mimic; models with loops",
        ),
        (
            four_bar(f'{JOINED}<joint joint1="c"/>'),
            "joint c is held by a joint equality or mimic; models with loops do not support this",
        ),
        (
            four_bar(
                '<connect name="own" body1="rocker" body2="frame" anchor="0 0.3 0"/>',
                on_rocker=BENT.format("", ""),
                more=MOTOR,
            ),
            "the closures determine only",
        ),
        (
            four_bar(
                '<connect name="own" site1="s" site2="u"/>',
                on_coupler='<site name="s"/><site name="u"/>',
            ),
            "the connect 'own' ties a link to itself",
        ),
        (
            four_bar(JOINED, on_coupler=f'<body><joint name="lamp" type="ball"/>{MASS}</body>'),
            "lamp.1, lamp.2, lamp.3",
        ),
        (four_bar(JOINED, drive=' type="ball"'), "ball joint drive has an actuator"),
        (
            four_bar(
                f'{JOINED}<tendon tendon1="cord"/>',
                more=f'{MOTOR}<tendon><fixed name="cord"><joint joint="c" coef="1"/></fixed>'
                "</tendon>",
            ),
            "an equality constraint of type tendon",
        ),
        (
            f'<mujoco><worldbody><body><freejoint name="base"/>{MASS}<body name="a"><joint '
            f'name="ja"/>{MASS}</body><body name="b"><joint '
            f'name="jb"/>{MASS}</body></body></worldbody><equality><connect body1="a" body2="b" '
            'anchor="0 0 0.1"/></equality><actuator><motor joint="ja"/></actuator></mujoco>',
            "joint base is a floating joint",
        ),
    ],
)
def test_unusable_constraints_and_joints_are_refused_by_name(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(StribeckError) as caught:
        mechanism_of(written(tmp_path, text, "machine.xml"), "machine", None)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tool_and_an_unknown_drive_are_refused(tmp_path: Path) -> None:
    written(tmp_path, four_bar(JOINED), "machine.xml")
    for line, words in (
        ("tool = { mass = 1.0 }", "a tool needs a last link, and a closed chain has none"),
        (
            "[joints.rr]",
            "arm.toml: [joints.rr]: unknown joint 'rr'; did you mean 'r'? (valid: drive, c, r)",
        ),
    ):
        arm = written(
            tmp_path, f'schema = 1\nname = "machine"\nmodel = "machine.xml"\n{line}\n', "arm.toml"
        )
        with pytest.raises(StribeckError) as caught:
            load_mechanism(arm)
        assert words in str(caught.value)
