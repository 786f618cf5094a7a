"""Play in C: the code, compiled, against `JointBacklash.lag`."""

import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from stribeck.ident.backlash.joint_backlash import JointBacklash
from stribeck.ident.export.c.backlash_in_c import backlash_in_c
from stribeck.ident.laws.parameter import Parameter


def _parameter(value: float, unit: str) -> Parameter:
    return Parameter(value, 0.01 * value, 0.98 * value, 1.02 * value, unit, "identified")


def gear() -> JointBacklash:
    return JointBacklash(
        _parameter(2e-3, "rad"),
        _parameter(5000.0, "N·m/rad"),
        _parameter(0.5, "N·m"),
        "torque",
        9,
        12.0,
        0.1,
        0.2,
    )


def test_no_play_no_code():
    assert backlash_in_c([None, SimpleNamespace(backlash=None)]) == ""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_last_flank_holds_while_no_torque_is_sure(tmp_path):
    code = (
        backlash_in_c([None, SimpleNamespace(backlash=gear())])
        .replace("@_", "x_")
        .replace("@N", "2")
    )
    torques = [3.0, 0.05, -0.05, -2.0, 0.05]
    lines = "".join(
        f'tau[1] = {torque}; x_lag(tau, 0.1, &state, lag); printf("%.17g %.17g\\n", lag[0], '
        "lag[1]);\n"
        for torque in torques
    )
    (tmp_path / "lag.c").write_text(
        "#include <math.h>\n#include <stdio.h>\n"
        "static double x_sign(double x) { return (x > 0.0) - (x < 0.0); }\n"
        + code
        + "int main(void) { double tau[2] = {0}, lag[2]; x_backlash state = {0};\n"
        + lines
        + "return 0; }\n"
    )
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Werror", "lag.c", "-lm", "-o", "lag"],
        cwd=tmp_path,
        check=True,
    )
    found = np.array(
        [
            line.split()
            for line in subprocess.run(
                [tmp_path / "lag"], capture_output=True, text=True, check=True
            ).stdout.splitlines()
        ],
        dtype=float,
    )
    assert not found[:, 0].any()
    flanks = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    assert found[:, 1] == pytest.approx(1e-3 * flanks + np.array(torques) / 5000.0)
    assert found[[0, 3], 1] == pytest.approx(gear().lag([3.0, -2.0]))
