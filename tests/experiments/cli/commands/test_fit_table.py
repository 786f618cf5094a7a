"""`stribeck fit --table`: a published table to a calibration; a refusal names a command that
works on the refused table.
"""

import json
import re
import shlex

import numpy as np
import pytest

from stribeck.ident.calibration.calibration import Calibration

pytestmark = pytest.mark.slow

W = np.geomspace(0.01, 2.0, 24)
COULOMB, VISCOUS = 2.0, 0.7


def rows(sign=1.0, speeds=W, scale=1.0, seed=4):
    """Rows of both directions with 1 % of noise."""
    rng = np.random.default_rng(seed)
    tau = (COULOMB + VISCOUS * speeds) * (1.0 + 0.01 * rng.standard_normal((2, len(speeds))))
    return [
        f"{way * w:.6f},{sign * scale * way * f + 0.1:.6f}"
        for k, way in enumerate((1, -1))
        for w, f in zip(speeds, tau[k], strict=True)
    ]


@pytest.fixture
def table(tmp_path):
    def write(header, lines, name="friction.csv"):
        path = tmp_path / name
        path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
        return path

    return write


def named(text):
    """Return the options that a message names."""
    return [
        word
        for match in re.findall(r'(--(?:column|ignore) (?:"[^"]*"|[^\s;,)]+))', text)
        for word in shlex.split(match)
    ]


class TestFit:
    @pytest.mark.usefixtures("figures")
    def test_a_calibration_without_a_model(self, cli, table):
        done = cli("fit", "--table", table("speed [rad/s],torque [Nm]", rows()), "--json")
        assert done.code == 0, done.err
        told = json.loads(done.out)["calibration"]
        assert told["method"] == "speed-torque table"
        calibration = Calibration.load("calibration-friction")
        joint = calibration.joints["joint"]
        assert joint.parameters["coulomb"].value == pytest.approx(COULOMB, rel=0.03)
        assert joint.parameters["viscous"].value == pytest.approx(VISCOUS, rel=0.05)
        assert joint.parameters["coulomb"].verdict == "identified"
        assert joint.gravity["offset"].value == pytest.approx(0.1, abs=0.02)
        friction = calibration.friction([[0.3]], [[1.0]])
        assert friction[0, 0] == pytest.approx(COULOMB + VISCOUS, rel=0.02)
        assert cli("export", "calibration-friction/calibration.toml", "--to", "mjcf").code == 0
        assert "<svg" in (
            Calibration.load("calibration-friction").folder / "report.html"
        ).read_text(encoding="utf-8")

    def test_table_prints_no_line_about_a_log(self, cli, table):
        done = cli("fit", "--table", table("speed [rad/s],torque [Nm]", rows()))
        assert "Hz" not in done.out  # but that both directions differ is
        assert "identified" in done.out

    def test_printed_guesses_are_valid_options(self, cli, table):
        path = table(
            "n [U/min],M hin [Nm],M zurück [Nm]",
            [
                f"{9.5493 * w:.5f},{f:.5f},{-f:.5f}"
                for w, f in zip(W, COULOMB + VISCOUS * W, strict=True)
            ],
        )
        shown = cli("fit", "--table", path, "-o", "first")
        options = named(shown.out)
        assert len(options) == 6
        again = cli("fit", "--table", path, "-o", "second", *options)
        assert again.code == 0, again.err
        assert "guess" not in again.out
        first, second = (
            Calibration.load(name).joints["joint"].values for name in ("first", "second")
        )
        assert first == second

    def test_one_direction_gives_no_offset(self, cli, table):
        done = cli("fit", "--table", table("speed [rad/s],torque [Nm]", rows()[: len(W)]))
        assert done.code == 0, done.err
        assert "one direction only" in done.out
        assert (
            Calibration.load("calibration-friction").joints["joint"].gravity["offset"].value is None
        )

    def test_joints_of_an_arm(self, cli, table, make_arm):
        arm = make_arm().path
        lines = [f"{name},{line}" for name in ("turn", "lift") for line in rows()]
        done = cli("fit", "--table", table("joint,speed [rad/s],torque [Nm]", lines), "--arm", arm)
        assert done.code == 0, done.err
        assert Calibration.load("calibration-friction").names == ("turn", "lift")

    def test_friction_that_grows_with_a_stated_load(self, cli, table):
        lines = [
            f"{w:.5f},{np.sign(w) * (1.0 + 0.1 * load + 0.7 * abs(w)) * (1 + 0.002 * np.sin(9 * w + load)):.5f},{load}"
            for load in (5, 20, 40)
            for w in np.r_[W, -W]
        ]
        done = cli(
            "fit",
            "--table",
            table("speed [rad/s],torque [Nm],load [Nm]", lines),
            "--law",
            "coulomb-viscous",
        )
        assert done.code == 0, done.err
        joint = Calibration.load("calibration-friction").joints["joint"]
        assert joint.load == "torque"
        assert joint.parameters["coulomb_coefficient"].value == pytest.approx(0.1, rel=0.03)

    @pytest.mark.parametrize("law", ["auto", "coulomb-viscous"])
    def test_the_order_of_rows_changes_nothing(self, cli, table, law):
        """Friction drops by 40 %. The law without a drop gives neighbouring speeds
        residuals of the same sign.
        """
        tau = (
            14.2 * (1.0 + 0.4 * np.exp(-((W / 0.08) ** 2)))
            + 42.0 * W
            + 0.05 * np.random.default_rng(1).standard_normal(len(W))
        )
        lines = [f"{w:.6f},{f:.6f}" for w, f in zip(W, tau, strict=True)]
        said = []
        for name, order in (
            ("up", range(len(W))),
            ("mixed", np.random.default_rng(0).permutation(len(W))),
        ):
            path = table("speed [rad/s],torque [Nm]", [lines[k] for k in order], f"{name}.csv")
            said.append(cli("fit", "--table", path, "--law", law, "-v", "-o", name).out)
        up, mixed = (Calibration.load(name).joints["joint"].parameters for name in ("up", "mixed"))
        assert up == mixed
        assert all("drifted slowly" not in text for text in said)
        assert all(("neighbouring speeds" in text) == (law != "auto") for text in said)

    def test_outliers_are_named_and_weighted_less(self, cli, table):
        tau = (COULOMB + VISCOUS * W) * (
            1.0 + 0.01 * np.random.default_rng(2).standard_normal(len(W))
        )
        tau[[6, 15]] *= 1.5, 0.6
        path = table(
            "speed [rad/s],torque [Nm]", [f"{w:.6f},{f:.6f}" for w, f in zip(W, tau, strict=True)]
        )
        done = cli("fit", "--table", path)
        assert (
            f"2 of {len(W)} round trips are outliers, at speeds {W[6]:.3g}, {W[15]:.3g}; they "
            "count less" in done.out
        )
        assert "--loss squares" in done.out
        assert (
            "far off"
            not in cli("fit", "--table", path, "--loss", "squares", "-v", "-o", "plain").out
        )
        robust, plain = (
            Calibration.load(name).joints["joint"].parameters["coulomb"]
            for name in ("calibration-friction", "plain")
        )
        assert robust.low <= COULOMB <= robust.high
        assert robust.half_width < 0.3 * plain.half_width
        assert Calibration.load("plain").fit["loss"] == "squares"


class TestAdvice:
    @pytest.mark.parametrize("rows", [(), ("10-1.1", "20-1.2"), ("a,b",)])
    def test_a_table_without_numbers(self, cli, table, rows):
        refused = cli("fit", "--table", table("speed [rpm],torque [Nm]", rows))
        assert refused.code == 2
        assert "no line of numbers below the header" in refused.err

    """The command that a refusal names is run on the very table that was refused."""

    @pytest.mark.parametrize(
        ("header", "lines"),
        [
            ("speed [rad/s],torque [Nm]", rows(sign=-1.0)),
            ("speed [rad/s],current [A]", rows(scale=1.0 / 0.089)),
            ("speed [rad/s],torque [Nm],moment [Nm]", [f"{line},1.0" for line in rows()]),
            ("direction,speed [rad/s],torque [Nm]", [f"forward,{line}" for line in rows()]),
            (
                "direction,speed [rad/s],torque [Nm]",
                [f"{'hot' if k else 'cold'},{line}" for k, line in enumerate(rows())],
            ),
            ("speed [furlong],torque [Nm]", rows()),
            ("speed [rad/s],tau+ [Nm],tau- [Nm]", [f"{w:.5f},{-2 - w:.5f},{2 + w:.5f}" for w in W]),
        ],
    )
    def test_named_command_works(self, cli, table, tmp_path, header, lines):
        path = table(header, lines)
        refused = cli("fit", "--table", path)
        assert refused.code == 2, refused
        assert len(refused.err.strip().splitlines()) == 1
        assert not (tmp_path / "here" / "calibration-friction").exists()
        options = named(refused.err)
        assert options, refused.err
        if "may each" in refused.err:
            options = options[:2]  # one of two that it offers
        done = cli("fit", "--table", path, *options)
        assert done.code == 0, (options, done.err)

    def test_too_few_speeds_name_the_needed_number(self, cli, table):
        refused = cli("fit", "--table", table("speed [rad/s],torque [Nm]", rows(speeds=W[:2])))
        assert refused.code == 2
        assert "at least 4 are needed" in refused.err

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("--arm", "lab6"),
            ("run", "--table", "t.csv"),
            ("--table", "t.csv", "--motion", "model"),
        ],
    )
    def test_incompatible_options(self, cli, arguments):
        refused = cli("fit", *arguments)
        assert refused.code == 2
        assert "--table" in refused.err
