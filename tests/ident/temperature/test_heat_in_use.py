"""Self-heating in a calibration: file, batch, feed-forward, compiled C
and comparison say the same.
"""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck import Calibration, Feedforward, compare
from stribeck.ident.errors import InputError
from stribeck.ident.export.formats import export
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.temperature.joint_temperature import JointTemperature
from stribeck.ident.temperature.self_heating import SelfHeating
from tests.places import ROOT

GOLDEN = ROOT / "data" / "golden"
CC = shutil.which("cc")
STRICT = ["-O2", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic"]
MAIN = """
#include <stdio.h>
#include "arm.h"
int main(void)
{
    pendulum_warmth warmth = {{0}, {{0}}};
    pendulum_real q[1], dq[1], ddq[1], load[pendulum_load_count], rigid[1], tau[1];
    while (scanf("%lf %lf %lf", q, dq, ddq) == 3) {
        pendulum_loads(q, dq, ddq, load, rigid);
        pendulum_friction(dq, load, rigid, tau);
        pendulum_temperature(dq, load, warmth.state, tau);
        printf("%.17g\\n", (double)tau[0]);
        pendulum_warm(dq, load, 0.05, &warmth);
    }
    return 0;
}
"""
T = np.arange(400) * 0.05
Q = 0.4 * np.sin(2.0 * T)[:, None]
DQ, DDQ = 0.8 * np.cos(2.0 * T)[:, None], -1.6 * np.sin(2.0 * T)[:, None]


def parameter(value: float, unit: str = "1") -> Parameter:
    error = round(0.02 * abs(value), 6)
    return Parameter(
        value,
        error,
        round(value - 2.0 * error, 6),
        round(value + 2.0 * error, 6),
        unit,
        "identified",
    )


LAWS = {
    "linear": {
        "coulomb_temperature_slope": parameter(-0.1),
        "viscous_temperature_slope": parameter(-0.4),
    },
    "quadratic": {
        f"{part}_temperature_{key}": parameter(value)
        for part in ("coulomb", "viscous")
        for key, value in (("slope", -0.3), ("curvature", 0.1))
    },
    "exponential": {
        "coulomb_temperature_slope": parameter(-0.1),
        "viscous_temperature_decay": parameter(0.7),
        "viscous_temperature_floor": parameter(0.3),
    },
}


def heated(law: str = "linear", second: bool = True, factor: float = 1.0) -> Calibration:
    """The golden pendulum, whose friction grows with the load, with self-heating that is quick
    enough for a short motion.
    """
    times = {
        "time_constant": parameter(2.0 * factor, "s"),
        "power": Parameter(2.0, None, None, None, "W", "identified"),
    }
    if second:
        times |= {"second_time_constant": parameter(9.0, "s"), "second_share": parameter(0.4)}
    own = JointTemperature(
        0.4,
        "linear" if law == "exponential" else law,
        law,
        LAWS[law],
        (0.0, 1.0),
        0.02,
        0.4,
        ((0.0, 0.05), (0.4, 0.0), (1.0, 0.08)),
        SelfHeating(times),
    )
    found = Calibration.load(GOLDEN)
    return replace(found, joints={"hinge": replace(found.joints["hinge"], temperature=own)})


def followed(made: Calibration) -> tuple[np.ndarray, np.ndarray]:
    """Friction and states along the motion by feed-forward, sample by sample."""
    feedforward, friction, states = Feedforward(made.mechanism, made), [], []
    for state in zip(Q, DQ, DDQ, strict=True):
        states.append(feedforward.warmth)
        friction.append(feedforward(*state, feedforward.warmth))
        feedforward.warm(0.05)
    return np.array(friction), np.array(states)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_batch_and_feed_forward_follow_the_same_states(law: str) -> None:
    made = heated(law)
    friction, states = followed(made)
    batch = made.self_heating(T, Q, DQ, DDQ)
    assert 0.3 < states.max() < 1.5
    assert batch == pytest.approx(states, abs=0.02 * states.max())
    assert friction == pytest.approx(made.friction(Q, DQ, DDQ, temperature=states))
    assert Feedforward(made.mechanism, made)(Q, DQ, DDQ, states) == pytest.approx(friction)
    assert (
        np.abs(friction[-100:]).sum()
        < 0.98 * np.abs(made.friction(Q, DQ, DDQ, temperature=0.0)[-100:]).sum()
    )


@pytest.mark.slow
@pytest.mark.skipif(CC is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("law", "second"), [("linear", True), ("quadratic", False), ("exponential", True)]
)
def test_compiled_c_follows_friction_and_states(law: str, second: bool, tmp_path: Path) -> None:
    made = heated(law, second)
    result = export(made, "c")
    assert not any("at one temperature" in loss for loss in result.losses)
    (tmp_path / "arm.h").write_text(result.text, encoding="utf-8")
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    subprocess.run(
        [str(CC), "-std=c99", *STRICT, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True
    )
    rows = "\n".join(
        f"{q:.17g} {dq:.17g} {ddq:.17g}"
        for q, dq, ddq in zip(Q[:, 0], DQ[:, 0], DDQ[:, 0], strict=True)
    )
    out = subprocess.run(
        [str(tmp_path / "main")], input=rows, capture_output=True, text=True, check=True
    ).stdout
    assert np.array(out.split(), dtype=float) == pytest.approx(followed(made)[0][:, 0], abs=1e-9)


def test_a_file_keeps_self_heating_and_json_has_it(tmp_path: Path) -> None:
    path, made = tmp_path / "calibration.toml", heated()
    made.save(path)
    (tmp_path / made.model.file).write_bytes((GOLDEN / made.model.file).read_bytes())
    assert Calibration.load(path).joints["hinge"].temperature == made.joints["hinge"].temperature
    table = json.loads(export(made, "json").text)["joints"]["hinge"]["temperature"]["heating"]
    assert table["time_constant"]["value"] == 2.0
    assert "second_share" in export(made, "csv").text
    assert any("hinge state 0.4" in loss for loss in export(made, "ros2").losses)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("power = {value = 2.0", "power = {value = -2.0", 1), encoding="utf-8"
    )
    with pytest.raises(
        InputError, match=r"hinge.temperature.heating.power = -2; it must be positive"
    ):
        Calibration.load(path)


def test_comparison_finds_a_changed_time_constant_and_different_bodies() -> None:
    found = compare(heated(), heated(factor=1.5))
    assert [
        one.name for one in found.parameters if one.joint == "temperature of hinge" and one.changed
    ] == ["time_constant"]
    assert any(
        "dependence on temperature" in note
        for note in compare(heated(), heated(second=False)).notes
    )


def test_times_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(InputError, match=r"ascending times of shape \(N,\)"):
        heated().self_heating(T[::-1], Q, DQ)
