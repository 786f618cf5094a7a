"""A motor on a bench, without a model: `init --joint`, import, fit; commands that a refused
fit names work on its log.
"""

import re
import shlex

import numpy as np
import pytest

from stribeck.ident.calibration.calibration import Calibration

COULOMB, VISCOUS, STEP = 0.5, 0.2, 0.01


def log(path, speeds):
    """A log of a motor that runs at several speeds, 2 s each."""
    v, last = [np.zeros(50)], 0.0
    for speed in (*speeds, 0.0):
        v += [np.linspace(last, speed, 30), np.full(200 if speed else 50, speed)]
        last = speed
    w = np.concatenate(v)
    noise = 0.004 * np.random.default_rng(1).standard_normal(len(w))
    tau = COULOMB * np.sign(w) + VISCOUS * w + 1e-3 * np.gradient(w, STEP) + noise
    np.savetxt(
        path,
        np.column_stack((STEP * np.arange(len(w)), STEP * np.cumsum(w), w, tau)),
        delimiter=",",
        comments="",
        header="t,q,dq,tau",
        fmt="%.6f",
    )
    return path


@pytest.fixture
def imported(cli, tmp_path):
    """Return a function that imports a log to `bench`."""

    def bring(speeds):
        assert cli("init", "--joint", "motor", "-o", "bench.toml").code == 0
        done = cli(
            "import",
            log(tmp_path / "spin.csv", speeds),
            "--arm",
            "bench.toml",
            "--yes",
            "-o",
            "bench",
        )
        assert done.code == 0, done.err
        return done

    return bring


@pytest.mark.slow
def test_from_a_log_to_friction(cli, imported):
    up = np.geomspace(0.5, 10.0, 10)
    imported([*up, *(-up[::-1])])
    done = cli("fit", "bench")
    assert done.code == 0, done.err
    joint = Calibration.load("calibration-bench").joints["motor"]
    assert joint.values["coulomb"] == pytest.approx(COULOMB, rel=0.02)
    assert joint.values["viscous"] == pytest.approx(VISCOUS, rel=0.02)


def test_a_mass_on_a_lever(cli):
    assert cli("init", "--joint", "elbow", "--mass", "0.49", "--lever", "0.1").code == 0
    done = cli("loads", "elbow.toml", "--q", "1.5707963")
    assert done.code == 0, done.err
    assert "0.481" in done.out  # 0.49 kg · 0.1 m · 9.81 m/s²


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--joint NAME"),
        (("--joint", "a", "--mass", "1"), "--lever"),
        (("arm.urdf", "--joint", "a"), "leave out these options, or the model"),
        (("--joint", "a", "-o", "a.txt"), ".toml"),
    ],
)
def test_invalid_arguments_of_init_are_refused(cli, arguments, words):
    refused = cli("init", *arguments)
    assert refused.code == 2
    assert words in refused.err


@pytest.mark.slow
def test_too_few_speeds_name_a_working_fit(cli, imported):
    """Round trips at two speeds are too few; the test runs the command that the message names."""
    named = (
        imported([1.0, -1.0, 3.0, -3.0] * 3).out.partition("next      stribeck ")[2].splitlines()[0]
    )
    assert cli(*shlex.split(named), "-o", "as-import-says").code == 0
    refused = cli("fit", "bench")
    assert refused.code == 2
    (named,) = re.findall(r"stribeck (fit .*?) works on it", refused.err)
    done = cli(*shlex.split(named))
    assert done.code == 0, done.err


@pytest.mark.slow
def test_one_direction_names_needed_data(cli, imported, tmp_path):
    """No fit works on this log; the named fit of a table of its steady speeds works."""
    up = np.geomspace(0.5, 10.0, 10)
    assert (
        "next      this log cannot be fitted: motor: fewer than 3 movements between reversals"
        in imported(up).out
    )
    refused = cli("fit", "bench")
    assert refused.code == 2
    assert "tried as well: --motion model: 1 pass(es)" in refused.err
    assert "forward and backward at four speeds or more" in refused.err
    assert "stribeck fit --table FILE" in refused.err
    (tmp_path / "read.csv").write_text(
        "speed [rad/s],torque [Nm]\n" + "\n".join(f"{w},{COULOMB + VISCOUS * w}" for w in up)
    )
    assert cli("fit", "--table", tmp_path / "read.csv").code == 0
