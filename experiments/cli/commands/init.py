"""The command that writes an arm file for a model."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stribeck.experiments.cli.command_options import JsonOption, out_option
from stribeck.experiments.cli.common import console, print_json
from stribeck.experiments.cli.option_texts import split

if TYPE_CHECKING:
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.model.mechanism import Mechanism


def init(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="URDF or MJCF of the arm.")
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Without a model: name of a single rotary joint, such as a motor on a test "
            "bench. Its model is "
            "written, too.",
        ),
    ] = None,
    mass: Annotated[
        float,
        typer.Option(
            metavar="KG", help="With --joint: mass on the lever [kg]. It hangs down at position 0."
        ),
    ] = 0.0,
    lever: Annotated[
        float,
        typer.Option(metavar="M", help="With --joint: distance of the mass from the axis [m]."),
    ] = 0.0,
    out: Annotated[Path | None, out_option("Arm file to write. Default: beside the model.")] = None,
    joints: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Driven joints, separated by commas. The copy of the model fixes all other "
            "joints, such as a "
            "gripper's; in closed loops they stay movable. Default: all joints; in closed loops "
            "those with an actuator.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the arm, used in the names of result folders. Default: name of the arm "
            "file in --out, "
            "else of the model.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write an arm file for a URDF or MJCF, with the values marked that you must supply."""
    import re

    from stribeck.experiments.arm_files.fixed_joints import with_fixed_joints
    from stribeck.experiments.arm_files.init_arm import arm_text, passive_joints
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError, StribeckError, command, no_file
    from stribeck.ident.model.files.collision_model import collision_model
    from stribeck.ident.toml_tables import NAME, as_name
    from stribeck.ident.whole_files import whole, write_whole

    if model is None and joint is None:
        raise InputError(
            "init needs the URDF or MJCF of an arm; for a single motor without one, name its joint "
            "with --joint NAME"
        )
    if model is not None and (joint is not None or mass or lever):
        raise InputError(
            f"{model}: --joint, --mass and --lever make a new model; leave out these options, or "
            "the model"
        )
    if model is None:
        _bench(str(joint), mass, lever, out, name, as_json)
        return
    if model.is_dir():
        raise no_file(model)
    if name is not None and not re.fullmatch(NAME, name):
        raise InputError(
            f"--name {name!r}: the name is also the name of files; it may hold letters, digits and "
            f". _ + - only. Use --name {shlex.quote(as_name(name) or 'arm')}"
        )
    target = out or (
        model.with_suffix(".toml") if name is None else model.with_name(f"{name}.toml")
    )
    if target.suffix.lower() != ".toml":
        raise InputError(f"--out {target}: an arm file is TOML and ends in .toml")
    moving = split(joints)
    copy = target.parent / model.name if moving is None else target.with_suffix(model.suffix)
    away = copy.resolve() != model.resolve()  # an arm file and its model stay together
    for path in (target, *([copy] if away else [])):
        if path.exists():
            raise InputError(f"{path} exists; choose another --out")
    text = arm_text(model, copy.name, moving, name or as_name(target.stem))
    content, fixed = (
        (model.read_bytes(), ()) if moving is None else with_fixed_joints(model, moving)
    )
    if fixed and not away:
        raise InputError(
            f"--joints fixes joints in a copy of the model, and the copy for {target} would "
            f"replace {model}; choose "
            f"another name, for example --out {shlex.quote(f'{model.stem}-arm.toml')}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole(target, text)
        if away:
            with whole(copy) as part:
                part.write_bytes(content)
        arm = load_arm(target)
        mechanism, unread = load_mechanism(arm), collision_model(arm.model)[1]
    except (StribeckError, OSError):
        for path in (target, *([copy] if away else [])):
            path.unlink(missing_ok=True)
        raise
    lacking = arm.limits(mechanism).lacking(mechanism.names)
    said = console(as_json)
    count = f"{mechanism.n} joint{'s' * (mechanism.n != 1)}"
    said.print(
        f"wrote     {target}{f' and {copy}' if away else ''}: {count}, {', '.join(mechanism.names)}"
    )
    if passive := passive_joints(mechanism):
        said.print(
            f"passive   {', '.join(passive)}: loops move them; "
            + (
                "the joints that --joints names have drives"
                if moving
                else "joints with an actuator have drives, unless --joints names other joints"
            )
        )
    if fixed:
        said.print(f"fixed     {', '.join(fixed)}: in {copy}, at position zero")
    if unread:
        said.print(
            f"meshes    of {', '.join(unread)} cannot be read from {copy.parent}/: put the files "
            f"where the model looks for them{', or omit --out' if away else ''}; without meshes, "
            "collisions of these links are not checked"
        )
    if lacking:
        joints_of: dict[tuple[str, ...], list[str]] = {}
        for key, names in lacking.items():
            joints_of.setdefault(tuple(names), []).append(key)
        needed = [
            f"{', '.join(keys)} of "
            f"{'every joint' if names == mechanism.names else ', '.join(names)}"
            for names, keys in joints_of.items()
        ]
        said.print(f"needed    {'; '.join(needed)}: the file says where to find them")
        said.print(
            f"before    {command('calibrate', target)} tries it in simulation and says what it "
            "assumes"
        )
        said.print(f"next      fill in what is needed in {target}; {command('plan', target)}")
    else:
        said.print(f"next      check the limits in {target}; {command('plan', target)}")
    if as_json:
        _print_made(arm, mechanism, [target, copy] if away else [target], fixed, unread)


def _print_made(
    arm: "ArmFile",
    mechanism: "Mechanism",
    files: Sequence[Path],
    fixed: Sequence[str] = (),
    unread: Sequence[str] = (),
) -> None:
    """Print what was written as JSON."""
    from stribeck.experiments.arm_files.init_arm import passive_joints

    print_json(
        {
            "arm": arm.name,
            "joints": mechanism.names,
            "passive": passive_joints(mechanism),
            "fixed": fixed,
            "unread_meshes": unread,
            "needed": arm.limits(mechanism).lacking(mechanism.names),
        },
        files,
    )


def _bench(
    joint: str, mass: float, lever: float, out: Path | None, name: str | None, as_json: bool
) -> None:
    """Arm file and model of a single joint."""
    from stribeck.experiments.arm_files.bare_joints import bare_joints
    from stribeck.experiments.arm_files.init_arm import arm_text
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.arm.load_mechanism import load_mechanism
    from stribeck.ident.errors import InputError, StribeckError, command
    from stribeck.ident.toml_tables import as_name
    from stribeck.ident.whole_files import write_whole

    if bool(mass) != bool(lever):
        raise InputError(
            f"--mass {mass:g} --lever {lever:g}: a weight needs both its mass and its distance "
            "from the axis; for a joint without a weight, leave out both"
        )
    target = out or Path(f"{name or as_name(joint) or 'joint'}.toml")
    if target.suffix.lower() != ".toml":
        raise InputError(f"--out {target}: an arm file is TOML and ends in .toml")
    model, content = target.with_suffix(".urdf"), bare_joints([joint], mass, lever)
    for path in (target, model):
        if path.exists():
            raise InputError(f"{path} exists; choose another --out")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole(model, content)
        write_whole(target, arm_text(model, model.name, None, name or as_name(target.stem)))
        arm = load_arm(target)
        mechanism = load_mechanism(arm)
    except (StribeckError, OSError):
        for path in (target, model):
            path.unlink(missing_ok=True)
        raise
    said = console(as_json)
    weight = f"{mass:g} kg at {lever:g} m, which hang down at position 0" if mass else "no weight"
    said.print(f"wrote     {target} and {model}: 1 joint, {joint}, with {weight}")
    said.print(
        f"next      {command('import', 'LOG', '--arm', target)} imports a log; "
        f"{command('calibrate', model)} tries the joint in simulation; before a plan or motion, "
        f"fill in the missing keys of {target}"
    )
    if as_json:
        _print_made(arm, mechanism, [target, model])
