"""Friction with memory: batch, feed-forward and compiled C agree along a motion; files and
exports say what they keep.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, Feedforward
from stribeck.ident.calibration.changes import compare
from stribeck.ident.errors import InputError
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.memory.joint_memory import JointMemory
from tests.ident.export.compiled import CXX, accept, compiled, needs_c, printed
from tests.ident.export.conftest import plainly
from tests.ident.temperature.test_joint_temperature import WARM
from tests.places import ROOT

MAIN = """
#include <stdio.h>
#include "arm.h"
int main(void)
{
    pendulum_memory memory = {{0}, {0}, {{0}}, 0};
    pendulum_real q[1], dq[1], ddq[1], load[pendulum_load_count], rigid[1], tau[1];
    while (scanf("%lf %lf %lf", q, dq, ddq) == 3) {
        pendulum_loads(q, dq, ddq, load, rigid);
        pendulum_friction(dq, load, rigid, tau);
        pendulum_remember(q, dq, load, &memory, tau);
        printf("%.17g\\n", (double)tau[0]);
    }
    return 0;
}
"""
KINDS = {
    "relaxing": ({"presliding_distance": 2e-3}, ()),
    "dahl": ({"presliding_distance": 2e-3, "dahl_exponent": 1.4}, ()),
    "two-states": ({"presliding_distance": 1e-3, "second_distance": 4e-3, "first_share": 0.3}, ()),
    "lugre": ({"bristle_stiffness": 3000.0, "bristle_damping": 5.0}, ()),
    "maxwell-slip": ({"share_1": 0.3, "share_2": 0.2}, (1e-3, 5e-3, 2e-3)),
}
T = np.arange(400) * 0.004
Q = (0.3 * np.sin(2.0 * T) + 0.01 * np.sin(9.0 * T))[:, None]
DQ = np.gradient(Q, 0.004, axis=0)
DDQ = np.gradient(DQ, 0.004, axis=0)


def remembering(kind: str, factor: float = 1.0) -> Calibration:
    """The golden pendulum, whose friction grows with the load, with a memory."""
    golden = Calibration.load(ROOT / "data" / "golden")
    values, distances = KINDS[kind]
    parameters = {
        name: Parameter(
            factor * value,
            0.02 * value,
            0.96 * factor * value,
            1.04 * factor * value,
            "1",
            "identified",
        )
        for name, value in values.items()
    }
    memory = JointMemory(kind, parameters, 2e-3, 0.1, 0.5, distances)
    return replace(golden, joints={"hinge": replace(golden.joints["hinge"], memory=memory)})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_feed_forward_follows_the_friction_along_a_motion(kind):
    made = remembering(kind)
    along, feedforward = made.friction_along(Q, DQ, DDQ), Feedforward(made.mechanism, made)
    np.testing.assert_allclose(
        [feedforward.follow(*state) for state in zip(Q, DQ, DDQ, strict=True)], along, atol=1e-9
    )
    feedforward.forget()
    np.testing.assert_allclose(feedforward.follow(Q[0], DQ[0], DDQ[0]), along[0], atol=1e-9)
    feedforward.forget()
    np.testing.assert_allclose(feedforward.follow(Q, DQ, DDQ), along, atol=1e-9)
    assert np.abs(along - made.friction(Q, DQ, DDQ)).max() > 1.0  # just after reversals
    settled = (np.abs(DQ[:, 0]) > 0.3) & (T > 0.2)
    np.testing.assert_allclose(along[settled], made.friction(Q, DQ, DDQ)[settled], rtol=0.03)


def test_friction_along_a_motion_needs_samples_in_order():
    made = remembering("lugre")
    assert made.friction_along(Q[:0], DQ[:0], DDQ[:0]).shape == (0, Q.shape[1])
    with pytest.raises(InputError, match=r"q has shape \(1,\); a motion needs \(N, 1\)"):
        made.friction_along(Q[0], DQ[0], DDQ[0])


def written(made: Calibration, folder: Path, source: str) -> Path:
    """A C source beside the header that it includes."""
    (folder / "arm.h").write_text(plainly(made, "c").text, encoding="utf-8")
    (folder / "main.c").write_text(source, encoding="utf-8")
    return folder / "main.c"


@needs_c
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_c_follows_the_friction_along_a_motion(kind, tmp_path):
    made = remembering(kind)
    program = compiled(written(made, tmp_path, MAIN), "-std=c99")
    np.testing.assert_allclose(
        printed(program, np.hstack((Q, DQ, DDQ))), made.friction_along(Q, DQ, DDQ)[:, 0], atol=1e-8
    )
    if CXX is not None:
        (tmp_path / "main.cc").write_text(
            MAIN.replace("{{0}, {0}, {{0}}, 0}", "{}"), encoding="utf-8"
        )
        accept(tmp_path / "main.cc", "-std=c++17")


WARMED = """pendulum_remember(q, dq, load, &memory, tau);
        pendulum_friction(dq, load, rigid, warm);
        pendulum_temperature(dq, load, hot, warm);
        pendulum_remember_at(q, dq, load, hot, &other, warm);
        printf("%.17g\\n", (double)warm[0]);"""


@needs_c
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["relaxing", "lugre", "maxwell-slip"])
def test_memory_at_a_temperature(kind, tmp_path):
    """The dry friction that memory follows is that of the temperature, not of the reference."""
    made = remembering(kind)
    made = replace(made, joints={"hinge": replace(made.joints["hinge"], temperature=WARM)})
    source = MAIN.replace("pendulum_remember(q, dq, load, &memory, tau);", WARMED).replace(
        "tau[1];", "tau[1], warm[1], hot[1] = {42.0};\n    pendulum_memory other = memory;"
    )
    program = compiled(written(made, tmp_path, source), "-std=c99")
    q, dq, ddq = Q[100:300], DQ[100:300], DDQ[100:300]  # slides, and turns back
    found = printed(program, np.hstack((q, dq, ddq))).reshape(-1, 2).T
    for torque, temperature in zip(found, (42.0, WARM.reference), strict=True):
        feedforward = Feedforward(made.mechanism, made)
        states = zip(q, dq, ddq, strict=True)
        expected = [feedforward.follow(*state, temperature)[0] for state in states]
        np.testing.assert_allclose(torque, expected, atol=1e-8)


def test_a_header_without_memory_has_no_memory():
    assert "memory" not in plainly(Calibration.load(ROOT / "data" / "golden"), "c").text


@pytest.mark.parametrize("kind", KINDS)
def test_a_calibration_file_keeps_the_memory(kind, tmp_path):
    made = remembering(kind)
    made.save(tmp_path / "calibration.toml")
    again = Calibration.load(tmp_path).joints["hinge"].memory
    assert again is not None
    assert (again.name, again.distances, again.values) == (
        kind,
        made.joints["hinge"].memory.distances,
        pytest.approx(made.joints["hinge"].memory.values),
    )
    table = json.loads(plainly(made, "json").text)["joints"]["hinge"]["memory"]
    assert table["kind"] == kind
    assert table["parameters"].keys() == KINDS[kind][0].keys()


@pytest.mark.parametrize(
    ("found", "changed", "told"),
    [
        (
            'kind = "lugre"',
            'kind = "bristles"',
            "joints.hinge.memory.kind: unknown memory 'bristles'",
        ),
        (
            'kind = "lugre"',
            'kind = "relaxing"',
            "joints.hinge.memory.parameters.presliding_distance",
        ),
        ('kind = "lugre"', 'kind = "maxwell-slip"', "joints.hinge.memory.distances has 0 numbers"),
        ("bristle_damping = {value = 5", "bristle_damping = {value = -5", "bristle_damping"),
    ],
)
def test_a_file_with_an_impossible_memory_is_refused(tmp_path, found, changed, told):
    remembering("lugre").save(tmp_path / "calibration.toml")
    text = (tmp_path / "calibration.toml").read_text(encoding="utf-8")
    assert found in text
    (tmp_path / "calibration.toml").write_text(text.replace(found, changed), encoding="utf-8")
    with pytest.raises(InputError, match=told):
        Calibration.load(tmp_path)


@pytest.mark.parametrize("target", ["urdf", "mjcf", "ros2", "vendor"])
def test_exports_without_state_say_that_memory_is_left_out(target):
    assert any(
        "without memory of reversals: hinge lugre" in loss
        for loss in plainly(remembering("lugre"), target).losses
    )


def test_csv_has_a_row_for_each_parameter_of_the_memory():
    text = plainly(remembering("lugre"), "csv").text
    assert "memory of hinge,lugre,none,none,bristle_stiffness,3000," in text


def test_a_changed_memory_is_a_change():
    same, other = (
        compare(remembering("lugre"), remembering("lugre")),
        compare(remembering("lugre"), remembering("lugre", 1.5)),
    )
    assert not same.changed
    assert other.changed
    assert {change.joint for change in other.parameters if change.changed} == {"memory of hinge"}
    told = compare(remembering("lugre"), remembering("dahl")).notes
    assert any("hinge: memory of reversals: lugre and dahl" in note for note in told)
