"""Copies of arm file and model: verbatim, sufficient for a fit, refused if
the model needs other files.
"""

import numpy as np
import pytest

from stribeck.experiments.recording.run_writer import RunWriter
from stribeck.ident.arm.arm_file import load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError
from stribeck.ident.log.run import ARM, SIGNALS, load_run
from tests.experiments.recording.written_runs import RATE, assert_rows, fill


class TestCopy:
    def test_arm_file_and_model_are_copied_byte_for_byte(self, arm, closed):
        for source in (arm.path, arm.model):
            assert (closed / ARM / source.name).read_bytes() == source.read_bytes()

    def test_a_run_can_be_fitted_without_other_files(self, arm, closed, tmp_path):
        elsewhere = tmp_path / "elsewhere" / "copy"
        elsewhere.parent.mkdir()
        closed.rename(elsewhere)
        for path in (arm.path, arm.model):
            path.unlink()
        run = load_run(elsewhere, SIGNALS)
        assert_rows(run, 330)
        assert load_mechanism(run.arm).names == ("turn", "lift")

    def test_a_model_file_can_replace_the_arm_file(self, arm, tmp_path):
        from stribeck.ident.arm.arm_file import load_arm

        bare = load_arm(arm.model)
        with RunWriter(tmp_path / "bare", bare, load_mechanism(bare), "a test", RATE) as writer:
            fill(writer, 3)
        assert_rows(load_run(tmp_path / "bare", SIGNALS), 3)

    def test_a_model_with_includes_is_refused_before_motion(self, make_arm, tmp_path):
        """Only the model file is copied; a run that cannot be read later would be useless."""
        arm = split_model(make_arm())
        with pytest.raises(InputError, match="one file"):
            RunWriter(tmp_path / "run", arm, load_mechanism(arm), "a test", RATE)


def split_model(arm):
    """The arm with a model that includes a second file."""
    body = """<mujoco><worldbody><body name="column"><inertial pos="0.05 0 0.1" mass="3" diaginertia="0.02 0.02 0.01"/>
    <joint name="turn" type="hinge" axis="0 0 1" range="-149 149"/></body></worldbody></mujoco>"""
    (arm.path.parent / "body.xml").write_text(body, encoding="utf-8")
    (arm.path.parent / "whole.xml").write_text(
        '<mujoco><include file="body.xml"/></mujoco>', encoding="utf-8"
    )
    text = arm.path.read_text(encoding="utf-8").replace("pair.urdf", "whole.xml")
    arm.path.write_text(text[: text.index("[joints.lift]")], encoding="utf-8")
    return load_arm(arm.path)


def test_a_model_with_masses_from_meshes_is_refused_before_motion(tmp_path):
    """The run contains the model file only and would be fitted without the meshes."""
    corners = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.2]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    record = b"".join(
        np.concatenate((np.zeros(3), *corners[list(face)])).astype("<f4").tobytes() + b"\0\0"
        for face in faces
    )
    (tmp_path / "part.stl").write_bytes(bytes(80) + np.uint32(len(faces)).tobytes() + record)
    (tmp_path / "meshed.xml").write_text(
        """<mujoco><asset><mesh name="part" file="part.stl"/></asset><worldbody>
    <body name="link"><joint name="hinge" type="hinge" axis="0 1 0" range="-90 90"/><geom type="mesh" mesh="part"/></body>
    </worldbody></mujoco>""",
        encoding="utf-8",
    )
    (tmp_path / "meshed.toml").write_text(
        """schema = 1
    name = "meshed"
    model = "meshed.xml"
    driver = { kind = "simulated", rate = 100.0 }
    [joints.hinge]
    position = [-1.5, 1.5]
    velocity = 1.0
    acceleration = 2.0
    torque = 50.0
    """,
        encoding="utf-8",
    )
    arm = load_arm(tmp_path / "meshed.toml")
    with pytest.raises(
        InputError, match=r"needs other files, .* but a run stores the model file only"
    ):
        RunWriter(tmp_path / "run", arm, load_mechanism(arm), "test", 100.0)
    assert not (tmp_path / "run").exists()
