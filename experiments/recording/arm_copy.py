"""Verbatim copies of arm file and model in a run folder, so that a run can be
fitted without other files.
"""

import shutil
from pathlib import Path

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, StribeckError
from stribeck.ident.log.run import ARM
from stribeck.ident.model.dynamics import same_dynamics
from stribeck.ident.model.mechanism import Mechanism


def refuse_parts(model: Path) -> None:
    """Refuse a model that includes other files.

    Raises
    ------
    InputError
        If the model has an include; the message says how to merge the files.
    """
    if b"<include" in model.read_bytes():
        raise InputError(
            f"{model}: the model includes other files, but a run stores the model as one file. "
            "Merge the files with MuJoCo (mj_saveLastXML) and name the merged file in the arm file"
        )


def copy_arm(arm: ArmFile, folder: Path) -> None:
    """Copy arm file and model verbatim into a run folder."""
    refuse_parts(arm.model)
    (folder / ARM).mkdir(parents=True)
    for source in {arm.path, arm.model}:
        shutil.copyfile(source, folder / ARM / source.name)


def check_copy(arm: ArmFile, folder: Path, mechanism: Mechanism) -> None:
    """Refuse a model whose masses or inertias need files that are not copied, such as meshes.

    A run is fitted with its own copy of the model. The check runs before the arm moves; the run
    folder is deleted if it fails.
    """
    try:
        copy = load_mechanism(load_arm(folder / ARM / arm.path.name, model_dir=folder / ARM))
        why = (
            ""
            if same_dynamics(copy, mechanism)
            else "masses or inertias differ without those files"
        )
    except StribeckError as error:
        why = str(error)
    if why:
        shutil.rmtree(folder)
        raise InputError(
            f"{arm.model}: the model needs other files, such as meshes for its masses, but a run "
            f"stores the model file only ({why}). State an <inertial> for every body, or save the "
            "compiled model as one file with MuJoCo"
        )
