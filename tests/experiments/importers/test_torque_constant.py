"""Torque in a log: the kind of torque signal, and currents with the torque
constant of the arm file.
"""

import numpy as np
import pytest

from stribeck.experiments.importers.guess import guess_columns
from stribeck.experiments.importers.import_log import import_log
from stribeck.experiments.importers.readers import open_log
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.identification.choose_runs import choose_runs
from stribeck.ident.log.run import SIGNALS, load_run
from tests.experiments.importers.logged_motion import TAU, Q, T, assert_is_the_log


class TestTorque:
    @pytest.mark.parametrize("signal", ["joint sensor", "compensated", "telepathy"])
    def test_signals_without_gear_friction_are_refused(self, cli, arm, tmp_path, signal):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        outcome = cli(
            "import",
            tmp_path / "log.npz",
            "--arm",
            arm.path,
            "--torque-signal",
            signal,
            "-o",
            tmp_path / "out",
        )
        assert outcome.code == 2
        assert signal in outcome.err
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_the_torque_signal_of_the_arm_file_is_the_default(self, make_arm, cli, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
        arm = make_arm({"torque_signal": "joint sensor"})
        assert (
            "does not measure gear friction"
            in cli("import", tmp_path / "log.npz", "--arm", arm.path).err
        )
        outcome = cli(
            "import",
            tmp_path / "log.npz",
            "--arm",
            arm.path,
            "--torque-signal",
            "commanded",
            "--yes",
            "-o",
            tmp_path / "out",
        )
        assert outcome.code == 0
        run = load_run(next((tmp_path / "out" / "runs").iterdir()))
        assert run.record["import"]["torque_signal"] == "commanded"
        # the fit uses the signal of the run, not of the arm file
        assert choose_runs([run]).arm is run.arm

    def test_amperes_with_the_constant_of_the_arm_file(self, make_arm, bring, tmp_path):
        table = make_arm(
            {
                "joints": {
                    "turn": {"torque_constant": 0.05},
                    "lift": {"torque_constant": 0.08, "direction": -1},
                }
            }
        )
        np.savez(tmp_path / "log.npz", t=T, q=Q * [1, -1], current=TAU / [5.0, -8.0])
        columns = guess_columns(open_log(tmp_path / "log.npz"), (), table, load_mechanism(table))
        run = load_run(
            import_log(open_log(tmp_path / "log.npz"), table, columns, tmp_path / "x"), SIGNALS
        )
        assert_is_the_log(run)
        # the current in the sign of the drive
        np.testing.assert_allclose(run.signals["raw"], TAU / [5.0, -8.0])
        assert run.record["import"]["torque_constants"]["lift"] == {
            "value": 8.0,
            "source": "arm file",
        }

    @pytest.mark.slow
    def test_amperes_without_a_constant_are_refused(self, bring, tmp_path):
        np.savez(tmp_path / "log.npz", t=T, q=Q, current=TAU)
        with pytest.raises(
            InputError,
            match=r"the torque of turn is in A, and pair.toml has no joints.turn.torque_constant",
        ):
            bring(tmp_path / "log.npz")
        with pytest.raises(InputError, match=r"a fit to gravity is not possible \("):
            bring(tmp_path / "log.npz", torque_constant="gravity")
