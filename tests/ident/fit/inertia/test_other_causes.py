"""Other causes with the effect of wrong masses: torque constants, missing
torques, waves, an unstated tool.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.inertia_logs import WrongModel
from stribeck.ident.fit.inertia.fit_inertia import contradicted, fit_inertia
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.identify_inertia import _said
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.run import Run

pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) moves the arm")
pytestmark = pytest.mark.slow  # whole fits

RIGHT, WRONG = WrongModel("lab6", 3, part=0.0), WrongModel("lab6", 1)
SECONDS = 10.0


@pytest.fixture(scope="module")
def logs() -> dict[WrongModel, Run]:
    return {case: case.recorded(SECONDS) for case in (RIGHT, WRONG)}


def altered(run: Run, factor: np.ndarray | float = 1.0, more: np.ndarray | float = 0.0) -> Run:
    return replace(run, signals={**run.signals, "tau": factor * run.signals["tau"] + more})


def fit(run: Run, inertia: str = "auto") -> Identification:
    return identify(
        [run], Options(motion="model", law="coulomb-viscous", load="torque", inertia=inertia)
    )


def test_friction_is_right_despite_wrong_masses_and_torque_constants(logs) -> None:
    constants = 1.0 + 0.1 * np.random.default_rng(1).uniform(-1.0, 1.0, 6)
    result = fit(altered(logs[WRONG], constants))
    assert result.calibration.model.inertia is not None
    assert result.calibration.model.inertia.constants > 0.0
    assert "Torque constants are assumed to be wrong" in "".join(
        finding.text for finding in result.findings
    )
    for joint, coulomb in zip(
        result.calibration.joints.values(), constants * WRONG.coulomb, strict=True
    ):
        assert joint.parameters["coulomb"].value == pytest.approx(coulomb, rel=0.02)


@pytest.mark.parametrize(
    "effect",
    ["friction waves twice a turn", "directions differ", "torque ripple", "torque constants"],
)
def test_effects_of_friction_and_drives_are_not_taken_for_wrong_masses(logs, effect: str) -> None:
    run, model = logs[RIGHT], RIGHT.model
    constants = np.array((0.95, 0.95, 1.05, 1.05, 0.95, 0.95))
    q, dq = run.signals["q"], np.gradient(run.signals["q"], run.t, axis=0)
    more = {
        "friction waves twice a turn": 0.05 * RIGHT.coulomb * np.sign(dq) * np.sin(2.0 * q),
        "directions differ": 0.2 * 0.6 * RIGHT.coulomb * np.abs(dq),
        "torque ripple": 0.03 * RIGHT.coulomb * np.sin(7.0 * q),
        "torque constants": (constants - 1.0) * run.signals["tau"],
    }
    assert not contradicted(
        filtered([altered(run, more=more[effect])], [model]), model, model.names
    )


def test_joints_without_torque_or_of_wrong_sign_are_left_out() -> None:
    """Of j1 there is no torque, that of j6 is zero, and that of j5 has the wrong sign."""
    run = altered(WRONG.recorded(8.0), np.array([np.nan, 1.0, 1.0, 1.0, -1.0, 0.0]))
    result = fit(run, "fit")
    assert list(result.calibration.joints) == ["j2", "j3", "j4"]
    for name, coulomb in zip(("j2", "j3", "j4"), WRONG.coulomb[1:4], strict=True):
        assert result.calibration.joints[name].parameters["coulomb"].value == pytest.approx(
            coulomb, rel=0.02
        )


def test_no_tool_is_reported_if_all_links_are_heavier(logs) -> None:
    from stribeck.ident.model.dynamics import inverse_dynamics

    model = RIGHT.model
    _, q, dq, ddq = RIGHT.motion(RIGHT.seed, SECONDS)
    heavier = altered(logs[RIGHT], more=0.3 * inverse_dynamics(model, q, dq, ddq))
    inertia, _ = fit_inertia(
        filtered([heavier], [model]), model, model.names, law="coulomb-viscous"
    )
    assert inertia.scatter.of_masses > 0.1
    assert inertia.tool_mass == 0.0


def test_unstated_tool_is_reported(logs) -> None:
    """The arm carries 2 kg at its last link; the rest of the model is right."""
    from stribeck.ident.model.dynamics import inverse_dynamics

    model = RIGHT.model
    mass = model.mass + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    com = model.com.copy()
    com[-1] = (model.mass[-1] * model.com[-1] + 2.0 * np.array([0.02, 0.0, 0.12])) / mass[-1]
    _, q, dq, ddq = RIGHT.motion(RIGHT.seed, SECONDS)
    more = inverse_dynamics(replace(model, mass=mass, com=com), q, dq, ddq) - inverse_dynamics(
        model, q, dq, ddq
    )
    run = altered(logs[RIGHT], more=more)
    inertia, _ = fit_inertia(filtered([run], [model]), model, model.names, law="coulomb-viscous")
    said = _said(inertia, "").text
    assert "An unstated tool of about 2" in said or "An unstated tool of about 1.9" in said
