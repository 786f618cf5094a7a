"""Inertia that was identified, in exported files: other programs move the same arm
as the calibration's model.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stribeck.ident.arm.arm_tables import Tool
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.export.descriptions.robot_descriptions import to_mjcf, to_urdf
from stribeck.ident.export.descriptions.sdf import to_sdf
from stribeck.ident.fit.inertia.identified_inertia import IdentifiedInertia, LinkBody
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.mechanism import Mechanism
from tests.ident.export.conftest import ARMS

TOOL = Tool(0.8, (0.02, -0.03, 0.1))


def bodies(mechanism: Mechanism, seed: int = 0) -> IdentifiedInertia:
    """Links that are a fifth heavier or lighter than the model's,
    elsewhere, and of another shape.
    """
    rng, links = np.random.default_rng(seed), {}
    tree = mechanism.tree
    for j, name in enumerate(tree.names):
        spread = np.cov(rng.normal(size=(3, 8)))
        inertia = tree.inertia[j] + 1e-3 * (tree.mass[j] + 0.1) * (
            np.trace(spread) * np.eye(3) - spread
        )
        xx, yy, zz, xy, xz, yz = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
        links[name] = LinkBody(
            float(tree.mass[j] + 0.1) * 1.2,
            tuple((tree.com[j] + 0.02).tolist()),
            (xx, yy, zz, xy, xz, yz),
        )
    return IdentifiedInertia(0.2, 0.0, links, {})


def corrected(calibration: Calibration) -> Calibration:
    model = replace(calibration.model, inertia=bodies(calibration.stated_mechanism))
    return replace(calibration, model=model)


def moved(mechanism: Mechanism) -> np.ndarray:
    rng = np.random.default_rng(3)
    return inverse_dynamics(mechanism, *rng.normal(size=(3, 20, mechanism.n)))


@pytest.mark.parametrize("tool", [None, TOOL])
@pytest.mark.parametrize("arm", ARMS)
def test_an_exported_urdf_moves_like_the_calibration(
    arm: str, tool: Tool | None, tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    """The file has the arm, the calibration its tool, too."""
    calibration = corrected(make_calibration(arm, tool=tool))
    export = to_urdf(calibration)
    (tmp_path / "out.urdf").write_text(export.text)
    again = load_mechanism(tmp_path / "out.urdf", calibration.model.gravity, tool)
    np.testing.assert_allclose(moved(again), moved(calibration.mechanism), rtol=1e-6, atol=1e-6)
    assert not [loss for loss in export.losses if "masses" in loss]


@pytest.mark.parametrize(("to", "suffix"), [(to_mjcf, ".xml")])
def test_a_converted_mjcf_moves_like_the_calibration(
    to: Callable, suffix: str, tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    calibration = corrected(make_calibration("lab6"))
    (tmp_path / f"out{suffix}").write_text(to(calibration).text)
    again = load_mechanism(tmp_path / f"out{suffix}", calibration.model.gravity)
    np.testing.assert_allclose(moved(again), moved(calibration.mechanism), rtol=1e-5, atol=1e-5)


def test_a_converted_sdf_has_the_masses(make_calibration: Callable[..., Calibration]) -> None:
    calibration = corrected(make_calibration("lab6"))
    text = to_sdf(calibration).text
    for mass in calibration.mechanism.mass:
        assert f"<mass>{mass:.10g}</mass>" in text


def test_a_file_given_with_into_keeps_its_masses_and_a_loss_says_so(
    make_calibration: Callable[..., Calibration],
) -> None:
    calibration = corrected(make_calibration("lab6"))
    export = to_urdf(calibration, calibration.folder / calibration.model.file)
    assert [loss for loss in export.losses if "keeps its own masses" in loss]
