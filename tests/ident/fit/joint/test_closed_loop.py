"""Bias by what goes round a control loop: found where it is, not where it is not, and taken out.

The joint, its controller and its noise are simulated in `benchmarks/loop_simulation.py`, which
uses nothing of the package.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.closed_loop import logs_of, model
from benchmarks.loop_simulation import Loop
from benchmarks.real_logs import LOGS, emps_run, z1_run
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.closed_loop import closed_loop
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.fit_joint_motion import identify_motion
from stribeck.ident.fit.joint.general_motion import fit_motion
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.laws.parameter import Parameter
from stribeck.ident.log.motion.commanded_motion import along, commanded
from stribeck.ident.log.motion.filtered_motion import Log, filtered
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.log.run import Run

_SOFT = Loop(stiffness=100.0, damping=5.0, inertia=0.2, push=0.2, seconds=20.0)
_OPTIONS = Options(law="coulomb-viscous", motion="joint")


@cache
def runs(loop: Loop) -> list[Run]:
    return logs_of(loop, range(2))


@cache
def logged(loop: Loop) -> Log:
    return filtered([runs(loop)[0]], [model(loop)])


def fitted(loop: Loop, reference: Log | None = None) -> JointFit:
    return identify_motion(logged(loop), model(loop), "joint", _OPTIONS, reference=reference)


@cache
def without_reference(loop: Loop) -> JointFit:
    return fitted(loop)


def holds(entry: Parameter, value: float) -> bool:
    assert entry.low is not None
    assert entry.high is not None
    return entry.low <= value <= entry.high


@pytest.mark.slow
def test_unmodelled_torque_biases_inertia_and_instruments_correct_it() -> None:
    plain, told = without_reference(_SOFT), fitted(_SOFT, commanded(logged(_SOFT)))
    assert not holds(plain.gravity["inertia"], _SOFT.inertia)
    assert told.loop is not None
    assert "inertia" in told.loop.named
    assert holds(told.gravity["inertia"], _SOFT.inertia)
    assert told.gravity["inertia"].value == pytest.approx(_SOFT.inertia, rel=0.15)
    for name in ("coulomb", "viscous"):
        assert holds(told.fit.parameters[name], getattr(_SOFT, name))
    (said,) = [finding.text for finding in told.findings if finding.kind == "closed loop"]
    assert "inertia by least squares" in said
    assert "by instrumental variables" in said


@pytest.mark.slow
def test_an_ordinary_loop_is_left_alone() -> None:
    loop = Loop(stiffness=200.0, damping=20.0, rate=250.0, seconds=12.0)
    plain, told = fitted(loop), fitted(loop, reference=commanded(logged(loop)))
    assert told.loop is not None
    assert told.loop.verdict == "clean"
    assert told.fit.parameters == plain.fit.parameters
    assert not [finding for finding in told.findings if finding.kind == "closed loop"]
    assert set(told.loop.record["parameters"]) >= {"coulomb", "viscous", "inertia"}


@pytest.mark.slow
def test_estimates_by_instruments_are_those_of_the_textbook() -> None:
    """(Z' W X)^-1 Z' W tau, where the columns are written out here and the
    weights are those of the fit.
    """
    log = logged(_SOFT)
    motion = reduce_motion(log, "joint")
    told = along(motion, commanded(log), ("joint",))
    fit = fit_motion(motion, "joint", "coulomb-viscous", "none")
    found = closed_loop(fit, told)

    def columns(one, q):
        dq = np.copysign(np.maximum(np.abs(one.dq), one.least), one.dq)
        return np.column_stack(
            [
                motion.view(values)
                for values in (np.sign(dq), dq, one.ddq, np.ones(len(dq)), np.sin(q), np.cos(q))
            ]
        )

    X, Z, tau = (
        fit.noise.whiten(values, fit.data.group)
        for values in (columns(motion, motion.q), columns(told, motion.q), motion.view(motion.tau))
    )
    names = ("coulomb", "viscous", "inertia")
    textbook = dict(zip(names, np.linalg.solve(Z.T @ X, Z.T @ tau), strict=False))
    least = dict(zip(names, np.linalg.lstsq(X, tau, rcond=None)[0], strict=False))
    for name in names:
        tolerance = 0.02 * abs(least[name] - textbook[name])
        assert found.contrasts[name].instruments == pytest.approx(textbook[name], abs=tolerance)
        assert found.contrasts[name].least_squares == pytest.approx(least[name], abs=tolerance)


@pytest.mark.slow
def test_references_that_the_joint_does_not_follow_are_no_instruments() -> None:
    run, other = runs(_SOFT)[0], runs(_SOFT)[1].signals["q_cmd"]
    log = filtered([replace(run, signals=run.signals | {"q_cmd": other})], [model(_SOFT)])
    told = identify_motion(log, model(_SOFT), "joint", _OPTIONS, reference=commanded(log))
    assert told.loop is not None
    assert (told.loop.verdict, told.loop.note) == (
        "not tested",
        "the joint follows its reference too loosely",
    )
    assert told.fit.parameters == without_reference(_SOFT).fit.parameters


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "verdict", "note"),
    [
        ("rest", "not tested", "the reference stands still while the joint moves"),
        ("measured", "clean", "the measured motion is the commanded one"),
        ("none", "not tested", "no position references (q_cmd) in the log, or a closed chain"),
    ],
)
def test_a_note_says_why_a_fit_was_not_tested(told: str, verdict: str, note: str) -> None:
    run = runs(_SOFT)[0]
    signals = dict(run.signals)
    references = {"rest": np.zeros_like(signals["q"]), "measured": signals["q"]}
    signals.pop("q_cmd")
    log = filtered(
        [
            replace(
                run, signals=signals | ({"q_cmd": references[told]} if told in references else {})
            )
        ],
        [model(_SOFT)],
    )
    found = identify_motion(log, model(_SOFT), "joint", _OPTIONS, reference=commanded(log)).loop
    assert found is not None
    assert (found.verdict, found.note) == (verdict, note)


@pytest.mark.skipif(
    not LOGS.is_dir(),
    reason="the measured logs are not part of the project; they are missing beside it",
)
class TestRealLogs:
    @pytest.mark.slow
    def test_emps_has_no_bias_as_its_authors_found(self) -> None:
        """Janot, Gautier and Brunot (2019): the regressor does not go
        with the error; M = 95.15 kg.
        """
        result = identify([emps_run()], replace(_OPTIONS))
        joint = result.joints["carriage"]
        assert joint.loop is not None
        assert joint.loop.verdict == "clean"
        assert joint.loop.contrasts["inertia"].instruments == pytest.approx(95.15, rel=0.002)
        assert result.calibration.fit["closed_loop"]["carriage"]["verdict"] == "clean"

    @pytest.mark.slow
    def test_z1_is_biased_and_instruments_agree_with_a_lower_bandwidth(self) -> None:
        """Noise of quick accelerations makes inertia small; below 5 Hz there is little of it, and
        least squares need no help.
        """
        run = z1_run()
        mechanism, options = (
            load_mechanism(run.arm),
            Options(law="coulomb-viscous", motion="model", load="none"),
        )
        log, slow = filtered([run], [mechanism]), filtered([run], [mechanism], 5.0)
        reference = commanded(log)
        plain, told, quiet = (
            identify_motion(of, mechanism, "joint1", options, reference=by)
            for of, by in ((log, None), (log, reference), (slow, None))
        )
        assert told.loop is not None
        assert "inertia" in told.loop.named
        quietly = quiet.gravity["inertia"].value
        assert quietly is not None
        assert not holds(plain.gravity["inertia"], quietly)
        assert holds(told.gravity["inertia"], quietly)
