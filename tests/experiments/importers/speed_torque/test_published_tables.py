"""Tables of speeds and torques in the forms of papers and spreadsheets; each
form gives the same points.
"""

import numpy as np
import pytest

from stribeck.experiments.importers.speed_torque.cells import open_cells
from stribeck.experiments.importers.speed_torque.half_differences import points_of
from stribeck.experiments.importers.speed_torque.series import layout_of
from stribeck.ident.errors import InputError

W = np.geomspace(0.02, 2.0, 9)  # rad/s
FRICTION = 2.0 + 0.7 * W  # N·m
OFFSET = 0.3
RPM = W * 60.0 / (2.0 * np.pi)


def read(path, *given):
    cells = open_cells(path)
    return points_of(cells, layout_of(cells, given))


@pytest.fixture
def table(tmp_path):
    """Write a table, one text for each row."""

    def write(header, rows, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_text("\n".join((*([header] if header else []), *rows)) + "\n", encoding=encoding)
        return path

    return write


def assert_friction(found, joint="joint", digits=1e-4):
    own = found.points[found.points["joint"] == joint]
    np.testing.assert_allclose(own["speed"], W, rtol=1e-3)
    np.testing.assert_allclose(own["odd"], FRICTION, atol=digits)
    assert own["segment"].nunique() == len(W)
    return own


def both_ways(form):
    """Rows of signed speed and torque, forward then backward."""
    rows = [
        (w, sign * f + OFFSET)
        for sign in (1.0, -1.0)
        for w, f in zip(sign * W, FRICTION, strict=True)
    ]
    return [form(w, tau) for w, tau in rows]


class TestOneJoint:
    def test_signed_speeds_and_torques(self, table):
        found = read(
            table("velocity [rad/s],friction [Nm]", both_ways(lambda w, tau: f"{w:.6f},{tau:.6f}"))
        )
        assert_friction(found)
        np.testing.assert_allclose(found.points["even"], OFFSET, atol=1e-5)
        assert found.one_way == ()

    @pytest.mark.parametrize(
        ("header", "scale"),
        [
            ("speed (deg/s);torque (N·m)", 180.0 / np.pi),
            ("n [U/min];M [Nm]", 30.0 / np.pi),
            ("Drehzahl [1/min];Reibmoment [Nm]", 30.0 / np.pi),
            ("speed_rpm;torque", 30.0 / np.pi),
            ("ω [rad/s];τ [Nm]", 1.0),
            ("v;tau_f", 1.0),
        ],
    )
    def test_decimal_commas_and_units(self, table, header, scale):
        rows = both_ways(lambda w, tau: f"{scale * w:.6f};{tau:.6f}".replace(".", ","))
        assert_friction(read(table(header, rows)))

    @pytest.mark.parametrize(
        "words",
        [("forward", "backward"), ("+", "-"), ("1", "-1"), ("ccw", "CW"), ("vor", "zurück")],
    )
    @pytest.mark.parametrize("magnitudes", [True, False])
    def test_a_direction_column(self, table, words, magnitudes):
        rows = [
            f"{words[way]},{w:.6f},{(1 if magnitudes or not way else -1) * f:.6f}"
            for way in (0, 1)
            for w, f in zip(W, FRICTION, strict=True)
        ]
        assert_friction(read(table("direction,speed [rad/s],torque [Nm]", rows)))

    @pytest.mark.parametrize(
        "header",
        [
            "speed [rad/s],torque forward [Nm],torque backward [Nm]",
            "v,tau+,tau-",
            "omega [rad/s],Torque_pos (Nm),Torque_neg (Nm)",
            "speed,forward friction,reverse friction",
        ],
    )
    @pytest.mark.parametrize("signed", [True, False])
    def test_two_torque_columns(self, table, header, signed):
        rows = [
            f"{w:.6f},{f:.6f},{-f if signed else f:.6f}" for w, f in zip(W, FRICTION, strict=True)
        ]
        found = read(table(header, rows))
        assert_friction(found)
        assert any("magnitudes" in note for note in found.notes) is not signed

    def test_a_single_direction_is_noted(self, table):
        found = read(
            table(
                "speed [rad/s],torque [Nm]",
                [f"{-w:.6f},{-f:.6f}" for w, f in zip(W, FRICTION, strict=True)],
            )
        )
        assert_friction(found)
        assert found.one_way == ("joint",)
        assert "one direction only" in found.notes[0]

    def test_typographic_minus_signs_and_uncertainties(self, table):
        rows = both_ways(lambda w, tau: f"{w:.6f}\t{tau:.6f} ± 0.02".replace("-", "−"))
        assert_friction(read(table("speed [rad/s]\ttorque [Nm]", rows)))

    def test_columns_without_a_header(self, table):
        assert_friction(read(table("", both_ways(lambda w, tau: f"{w:.6f} {tau:.6f}"))))

    def test_each_repeat_is_a_round_trip(self, table):
        rows = [
            f"{k},{s * w:.6f},{s * f * (1 + 0.1 * k):.6f}"
            for k in (1, 2)
            for s in (1, -1)
            for w, f in zip(W, FRICTION, strict=True)
        ]
        found = read(table("run,speed [rad/s],torque [Nm]", rows)).points
        assert found["segment"].nunique() == 2 * len(W)
        np.testing.assert_allclose(found["odd"][: len(W)], 1.1 * FRICTION, atol=1e-4)

    def test_speeds_that_differ_between_directions_are_interpolated(self, table):
        back = np.linspace(0.01, 2.5, 12)
        rows = [
            *(f"{w:.6f},{f + OFFSET:.6f}" for w, f in zip(W, FRICTION, strict=True)),
            *(f"{-w:.6f},{-2.0 - 0.7 * w + OFFSET:.6f}" for w in back),
        ]
        found = read(table("speed [rad/s],torque [Nm]", rows))
        assert_friction(found)
        assert any("interpolated" in note for note in found.notes)

    def test_load_and_temperature_columns(self, table):
        rows = [
            f"{s * w:.6f},{s * (f + 0.1 * load):.6f},{load},40"
            for load in (5, 20)
            for s in (1, -1)
            for w, f in zip(W, FRICTION, strict=True)
        ]
        points = read(table("speed [rad/s],torque [Nm],load [Nm],temperature [°C]", rows)).points
        assert sorted(points["torque"].unique()) == [5.0, 20.0]
        np.testing.assert_allclose(
            points["odd"] - 0.1 * points["torque"], np.tile(FRICTION, 2), atol=1e-4
        )
        assert (points["temperature"] == 40.0).all()


@pytest.mark.slow
def test_rows_of_one_speed_reveal_a_lack_of_fit_without_a_repeat_column(table, cli):
    """No friction law has a hump; the order of the rows is not time, so a
    drift cannot explain the hump.
    """
    rng = np.random.default_rng(0)
    w = np.repeat(np.geomspace(0.02, 2.0, 12), 3)
    torque = (2.0 + 0.7 * w + 0.6 * np.exp(-((np.log(w / 0.8) / 0.4) ** 2))) * (
        1.0 + 0.01 * rng.standard_normal(len(w))
    )
    path = table(
        "speed [rad/s],torque [Nm]",
        [f"{one:.6f},{tau:.6f}" for one, tau in zip(w, torque, strict=True)],
    )
    outcome = cli("fit", "--table", path, "-o", "out")
    assert outcome.code == 0
    assert "does not fit" in outcome.out


class TestSeveralJoints:
    def test_a_joint_column(self, table):
        rows = [
            f"{name},{s},{w:.6f},{factor * f:.6f}"
            for name, factor in (("elbow", 1.0), ("wrist", 2.0))
            for s in ("fwd", "bwd")
            for w, f in zip(W, FRICTION, strict=True)
        ]
        found = read(table("joint,direction,speed [rad/s],torque [Nm]", rows))
        assert found.joints == ("elbow", "wrist")
        assert_friction(found, "elbow")

    @pytest.mark.parametrize(
        "header",
        [
            "speed [rad/s],torque_1 [Nm],torque_2 [Nm]",
            "v,tau1,tau2",
            "speed,friction joint 1 [Nm],friction joint 2 [Nm]",
        ],
    )
    def test_one_torque_column_for_each_joint(self, table, header):
        rows = [
            f"{s * w:.6f},{s * f:.6f},{s * 2 * f:.6f}"
            for s in (1, -1)
            for w, f in zip(W, FRICTION, strict=True)
        ]
        found = read(table(header, rows))
        assert found.joints == ("j1", "j2")
        assert_friction(found, "j1")

    def test_one_speed_and_torque_column_for_each_joint(self, table):
        rows = [
            f"{s * w:.6f},{s * f:.6f},{2 * s * w:.6f},{3 * s * f:.6f}"
            for s in (1, -1)
            for w, f in zip(W, FRICTION, strict=True)
        ]
        found = read(table("v_j1,tau_j1,v_j2,tau_j2", rows)).points
        own = found[found["joint"] == "j2"]
        np.testing.assert_allclose(own["speed"], 2.0 * W, rtol=1e-3)
        np.testing.assert_allclose(own["odd"], 3.0 * FRICTION, atol=1e-4)


class TestOtherReaders:
    def test_npz(self, tmp_path):
        np.savez(tmp_path / "table.npz", speed=np.r_[W, -W], torque=np.r_[FRICTION, -FRICTION])
        assert_friction(read(tmp_path / "table.npz"))


class TestRefusals:
    @pytest.mark.parametrize(
        ("header", "row", "words"),
        [
            ("speed [rad/s],x", "1,2", "no torque column found"),
            ("x,torque [Nm]", "1,2", "no speed column found"),
            ("speed [rad/s],current [A]", "1,2", "torque=current[0.089 N·m/A]"),
            ("speed [furlong],torque", "1,2", "unknown unit"),
            ("speed,torque,moment", "1,2,3", "may each be the torque"),
            ("speed,torque", "0,2", "no row has a number"),
            ("direction,speed,torque", "sideways,1,2", "'sideways'"),
        ],
    )
    def test_unreadable_columns_are_named(self, table, header, row, words):
        with pytest.raises(InputError, match=words.replace("[", r"\[")):
            read(table(header, [row] * 3))

    @pytest.mark.parametrize("size", [1e200, 1e-200])
    def test_implausibly_large_or_small_torques_are_refused(self, table, size):
        with pytest.raises(InputError, match="which no machine has"):
            read(
                table(
                    "speed [rad/s],torque [Nm]",
                    both_ways(lambda w, tau: f"{w:.6f},{size * tau:.6g}"),
                )
            )

    @pytest.mark.slow
    def test_a_log_of_samples_is_refused_with_the_import_command(self, table):
        with pytest.raises(InputError, match="stribeck import"):
            read(table("speed,torque", ["0.1,0.2"] * 20_001))
