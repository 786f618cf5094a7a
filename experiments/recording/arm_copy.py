"""The arm's copy in a run: arm file and model verbatim, so that the run needs nothing outside itself."""

import shutil
from pathlib import Path

from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import InputError, StribeckError
from stribeck.ident.log.run import ARM
from stribeck.ident.model.dynamics import same_dynamics
from stribeck.ident.model.mechanism import Mechanism


def refuse_parts(model: Path) -> None:
    """Refuse a model in several files.

    Raises
    ------
    InputError
        Says how to make one of them.
    """
    if b"<include" in model.read_bytes():
        raise InputError(f"{model}: the model includes other files, but a run keeps the model in one file; "
                         "let MuJoCo save it as one (mj_saveLastXML) and name that in the arm file")


def copy_arm(arm: ArmFile, folder: Path) -> None:
    """Verbatim copies of arm file and model, so that the run needs nothing outside itself."""
    refuse_parts(arm.model)
    (folder / ARM).mkdir(parents=True)
    for source in {arm.path, arm.model}:
        shutil.copyfile(source, folder / ARM / source.name)


def check_copy(arm: ArmFile, folder: Path, mechanism: Mechanism) -> None:
    """Refuse a model that is another without the files beside it, before anything moves: a run is fitted from its own copy."""
    try:
        copy = load_mechanism(load_arm(folder / ARM / arm.path.name, model_dir=folder / ARM))
        why = "" if same_dynamics(copy, mechanism) else "its masses or inertias are others without them"
    except StribeckError as error:
        why = str(error)
    if why:
        shutil.rmtree(folder)
        raise InputError(f"{arm.model}: the model needs other files, such as meshes that give masses, and a run keeps the model "
                         f"alone ({why}); state an <inertial> for every body, or let MuJoCo save the compiled model in one file")
