"""First moments from round trips at constant speed: a recorded campaign, fitted
with a model that is wrong.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_logs import as_run
from stribeck.ident.arm.built_in import data_dir
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import FitError
from stribeck.ident.export.descriptions.urdf_inertia import with_inertia
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.campaign_folder import find_runs
from stribeck.ident.log.run import Run, load_run
from tests.recorded import Recorded
from tests.test_spoiled_runs import record

LAW = {"law": "stribeck", "load": "none"}  # the truth


@pytest.fixture(scope="module")
def run(recorded: Recorded) -> Run:
    """Campaign of a simulated arm with a turning and a lifting joint and right torque constants."""
    (folder,) = find_runs(recorded.folder(record) / "pair")
    return load_run(folder)


@pytest.fixture(scope="module")
def found(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identification]:
    """Fits with the right model, and with a model (masses 25 % too great, 10 % too near)
    that is trusted or fitted.
    """
    model = load_mechanism(run.arm)
    path = tmp_path_factory.mktemp("wrong") / Path(run.arm.model).name
    path.write_text(
        with_inertia(
            run.arm.model.read_text(), replace(model, mass=1.25 * model.mass, com=0.9 * model.com)
        )
    )
    wrong = replace(run, arm=replace(run.arm, model=path))
    return {
        "right": identify([run], Options(**LAW)),
        "trust": identify([wrong], Options(**LAW, inertia="trust")),
        "fit": identify([wrong], Options(**LAW, inertia="fit")),
    }


@pytest.mark.slow
def test_gravity_scale_is_one_with_identified_inertia(found: dict[str, Identification]) -> None:
    scale = {
        how: result.calibration.joints["lift"].gravity["scale"].value
        for how, result in found.items()
    }
    assert scale["right"] == pytest.approx(1.0, abs=0.01)
    assert scale["trust"] == pytest.approx(1.0 / (1.25 * 0.9), abs=0.01)
    assert scale["fit"] == pytest.approx(1.0, abs=0.002)


@pytest.mark.slow
def test_friction_without_load_part_does_not_change(found: dict[str, Identification]) -> None:
    for name, joint in found["right"].calibration.joints.items():
        for key, entry in joint.parameters.items():
            if entry.value is not None:
                assert found["fit"].calibration.joints[name].parameters[key].value == pytest.approx(
                    entry.value, rel=0.005
                )


@pytest.mark.slow
def test_round_trips_fit_inertia_only_on_request(
    run: Run, found: dict[str, Identification]
) -> None:
    """A wrong torque constant has the same effect, so round trips keep the model by default."""
    assert found["right"].calibration.model.inertia is None
    (said,) = [finding.text for finding in found["fit"].findings if finding.kind == "inertia"]
    assert "if torque constants are right" in said
    inertia = found["fit"].calibration.model.inertia
    assert inertia is not None
    assert inertia.told >= 2


def test_a_run_without_round_trips_is_refused_with_the_reason() -> None:
    run = as_run(
        data_dir() / "arms" / "lab6" / "lab6.urdf",
        np.arange(0.0, 4.0, 0.004),
        np.zeros((1000, 6)),
        np.zeros((1000, 6)),
    )
    with pytest.raises(FitError, match="no joint can be calibrated"):
        identify([run], Options(inertia="fit"))
