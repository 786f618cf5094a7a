"""The command that begins: an arm file for a model."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.common import console


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(init)


def init(model: Annotated[Path, typer.Argument(metavar="MODEL", help="URDF or MJCF of the arm.")],
         out: Annotated[Path | None, typer.Option("--out", "-o", help="Arm file to write; default beside the model.")] = None,
         ) -> None:
    """An arm file for a URDF or MJCF, with the unknowns marked."""
    import shutil

    from experiments.init_arm import arm_text
    from ident.armfile import load_arm
    from ident.description import load_mechanism
    from ident.errors import InputError

    target = out or model.with_suffix(".toml")
    if target.suffix.lower() != ".toml":
        raise InputError(f"--out {target}: an arm file is TOML and ends in .toml")
    copy = target.parent / model.name
    away = copy.resolve() != model.resolve()            # an arm file and its model stay together
    for path in (target, *([copy] if away else [])):
        if path.exists():
            raise InputError(f"{path} exists; choose another --out")
    text = arm_text(model)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")
    if away:
        shutil.copyfile(model, copy)
    arm = load_arm(target)
    mechanism = load_mechanism(arm)
    lacking = arm.limits(mechanism).lacking(mechanism.names)
    said = console()
    said.print(f"wrote     {target}{f' and {copy}' if away else ''}: {mechanism.n} joints, {', '.join(mechanism.names)}")
    if lacking:
        said.print(f"needed    {', '.join(lacking)}; the file says where to find them")
        said.print(f"next      fill in what is needed in {target}; stribeck plan {target}")
    else:
        said.print(f"next      check the limits in {target}; stribeck plan {target}")
