"""Notebook interface of a calibration: data frames, plots, drawn parameter
sets, one sample or many.
"""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from stribeck.experiments.commands import fit
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.changes import compare
from stribeck.ident.calibration.feedforward import Feedforward
from stribeck.ident.calibration.validation import JointValidation, Validation
from stribeck.ident.errors import InputError
from stribeck.ident.fit.fit_friction import fit_friction
from stribeck.ident.laws.stribeck import stribeck
from stribeck.ident.model.loads import joint_loads
from tests.places import DATA


@pytest.fixture(scope="module")
def golden():
    return Calibration.load(DATA / "golden")


@pytest.fixture(autouse=True)
def _no_screen():
    mpl.use("Agg")
    yield
    pyplot.close("all")


class TestSample:
    @pytest.mark.slow
    def test_draws_have_the_covariance_of_the_estimates(self, golden):
        joint = golden.joints["hinge"]
        drawn = np.array(
            [
                [one.joints["hinge"].values[name] for name in joint.names]
                for one in golden.sample(4000, rng=1)
            ]
        )
        error = np.array([joint.parameters[name].std_error for name in joint.names])
        mean = [joint.values[name] for name in joint.names]
        assert (np.abs(drawn.mean(axis=0) - mean) < 4.0 * error / np.sqrt(len(drawn))).all()
        np.testing.assert_allclose(drawn.std(axis=0), error, rtol=0.06)
        np.testing.assert_allclose(np.corrcoef(drawn.T), joint.correlation, atol=0.06)

    def test_the_band_holds_curves_of_draws(self, golden):
        """The band holds the whole curve in 95 % of the draws, or more
        where other laws widen it.
        """
        joint, w = golden.joints["hinge"], np.geomspace(*golden.joints["hinge"].velocity_range, 30)
        load = np.full(30, joint.load_ends[1])
        middle, band = joint.torque(w, load), joint.band(w, load)
        inside = [
            np.all(np.abs(one.joints["hinge"].torque(w, load) - middle) <= band)
            for one in golden.sample(1000, rng=2)
        ]
        assert np.mean(inside) > 0.94

    def test_a_seed_repeats_them_and_no_sign_changes(self, golden):
        joint = golden.joints["hinge"]
        wide = {
            name: replace(entry, std_error=2.0 * (entry.value or 0.0))
            for name, entry in joint.parameters.items()
        }
        loose = replace(
            golden,
            joints={"hinge": replace(joint, parameters=wide, correlation=np.eye(len(joint.names)))},
        )
        first, second = (loose.sample(50, rng=3) for _ in range(2))
        assert all(
            a.joints["hinge"].values == b.joints["hinge"].values
            for a, b in zip(first, second, strict=True)
        )
        assert min(min(one.joints["hinge"].values.values()) for one in first) >= 0.0

    def test_a_draw_is_a_calibration(self, golden):
        (one,) = golden.sample(1, rng=4)
        friction = Feedforward(golden.mechanism, one)([0.2], [0.5])
        assert friction == pytest.approx(one.friction([0.2], [0.5]))
        assert not np.array_equal(friction, golden.friction([0.2], [0.5]))


class TestShapes:
    def test_one_sample_is_a_row_of_many(self, golden):
        q, dq, ddq = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5, 1))
        feedforward = Feedforward(golden.mechanism, golden)
        for function in (golden.friction, feedforward, feedforward.rigid):
            many = function(q, dq, ddq)
            assert many.shape == (5, 1)
            for k in range(5):
                np.testing.assert_allclose(function(q[k], dq[k], ddq[k]), many[k], rtol=1e-12)
            np.testing.assert_allclose(
                function(q[0], dq[0]), function(q[:1], dq[:1])[0], rtol=1e-12
            )
        loads = joint_loads(golden.mechanism, q, dq, ddq)
        for name in ("torque", "bending", "force"):
            one = joint_loads(golden.mechanism, q[2], dq[2], ddq[2])
            np.testing.assert_array_equal(getattr(one, name), getattr(loads, name)[2])

    @pytest.mark.parametrize("q", [[0.0, 0.0], [[0.0, 0.0]], [[[0.0]]]])
    def test_a_wrong_shape_is_refused(self, golden, q):
        with pytest.raises(InputError, match="shape"):
            golden.friction(q, q)


class TestFrames:
    def test_a_row_a_parameter(self, golden):
        frame = golden.to_dataframe().set_index(["joint", "parameter"])
        entry = golden.joints["hinge"].parameters["coulomb"]
        assert frame.loc[("hinge", "coulomb"), "value"] == entry.value
        assert frame.loc[("hinge", "coulomb"), "verdict"] == entry.verdict
        assert len(frame) == len(golden.joints["hinge"].parameters)

    def test_a_comparison(self, golden):
        joint = golden.joints["hinge"]
        entry = joint.parameters["coulomb"]
        more = replace(entry, value=1.5 * entry.value, low=1.5 * entry.low, high=1.5 * entry.high)
        other = replace(
            golden,
            joints={"hinge": replace(joint, parameters={**joint.parameters, "coulomb": more})},
        )
        frame = compare(golden, other).to_dataframe().set_index("parameter")
        assert frame.loc["coulomb", "difference"] == pytest.approx(0.5 * entry.value)
        assert frame.loc["coulomb", "changed"]
        assert frame.loc["friction", "changed"]


class TestPictures:
    def test_of_a_calibration_the_law_at_three_loads(self, golden):
        joint = golden.joints["hinge"]
        (ax,) = golden.plot().values()
        for line, load in zip(
            ax.get_lines(), (joint.load_ends[0], joint.middle_load, joint.load_ends[1]), strict=True
        ):
            w = line.get_xdata()
            np.testing.assert_allclose(line.get_ydata(), joint.torque(w, np.full(len(w), load)))
        assert ax.get_ylabel() == "friction, N·m"
        assert ax.get_title(loc="left") == "hinge: stribeck, load torque"
        assert (
            ax.get_legend_handles_labels()[1][-1] == f"greatest load, {joint.load_ends[1]:.3g} N·m"
        )
        assert not [one for one in ax.collections if len(one.get_offsets()) > 1], (
            "no points beside this calibration"
        )

    @pytest.mark.slow
    def test_of_a_calibration_with_its_points(self, golden, tmp_path):
        points = fit(DATA / "golden", tmp_path / "out").plot()["hinge"].collections[0]
        table = pd.read_csv(tmp_path / "out" / "points.csv")
        np.testing.assert_allclose(points.get_offsets(), table[["speed", "odd"]], rtol=1e-6)

    def test_of_a_joint_that_is_not_there(self, golden):
        with pytest.raises(InputError, match="unknown joint 'elbow'"):
            golden.plot(["elbow"])

    def test_of_a_comparison(self, golden):
        (ax,) = compare(golden, golden).plot().values()
        assert len(ax.get_lines()) == 2
        assert (
            ax.get_title(loc="left") == f"hinge, load {golden.joints['hinge'].middle_load:.3g} N·m"
        )

    def test_of_a_validation(self):
        t = np.arange(50) / 10.0
        joint = JointValidation(
            0.1, 2.0, 2.0, 0.01, 0.0, 0.0, True, t, np.sin(t), np.sin(t) + 0.1, 0.0 * t
        )
        found = Validation(
            {"j1": joint, "j2": replace(joint, error=0.5, passed=False, unit="N")}, {}
        )
        axes = found.plot()
        assert [axes["j1"].get_ylabel(), axes["j2"].get_ylabel()] == ["torque, N·m", "torque, N"]
        assert axes["j2"].get_title() == "j2: fails"
        assert "residual" in axes["j1"].get_legend_handles_labels()[1]
        assert (
            repr(found)
            == "<Validation of 2 joints: fails for j2; largest error 25 % of friction (j2)>"
        )

    @pytest.mark.slow
    def test_of_a_fit_with_load(self):
        rng, w = np.random.default_rng(0), np.tile(np.geomspace(0.01, 1.0, 20), 3)
        load = np.repeat([1.0, 10.0, 20.0], 20)
        fit = fit_friction(
            w,
            stribeck(w, 1.0, 1.5, 0.05, 2.0, 0.1, 0.1, load=load) + 0.005 * rng.standard_normal(60),
            load,
        )
        ax = fit.plot()
        assert len(ax.get_lines()) == 2, "at the least and the greatest load"
        points, *_ = (one for one in ax.collections if len(one.get_offsets()) == 60)
        assert len(np.unique(points.get_facecolor(), axis=0)) == 3
