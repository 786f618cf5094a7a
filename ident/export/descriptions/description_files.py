"""What exports to URDF, MJCF and SDF share: the text of a file, its joints by name, and losses."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.errors import InputError, no_file, no_text, unknown_name
from stribeck.ident.export.approximation import approximate
from stribeck.ident.export.descriptions.xml_markup import Element, elements
from stribeck.ident.export.shared_motors import passive_friction

DRAKE = (
    "Drake keeps the damping of {} and ignores the friction; BatchedFriction and stopping_torque "
    "supply it there (manual, other simulators)"
)
_FRICTION = ("friction", "frictionloss", "damping")


def joint_friction(
    calibration: Calibration, there: Collection[str]
) -> dict[str, tuple[float, float]]:
    """Constant and viscous friction of the calibrated joints, and of those without a
    drive that a file has by name.
    """
    near = {name: approximate(joint) for name, joint in calibration.joints.items()}
    return {
        **{name: values for name, values in passive_friction(calibration).items() if name in there},
        **{name: (one.friction, one.damping) for name, one in near.items()},
    }


def model_path(calibration: Calibration) -> Path:
    """Return the model file of a calibration, after checking that it is there."""
    path = calibration.folder / Path(calibration.model.file).name
    if not path.is_file():
        raise InputError(
            f"{path}: the calibration's model is missing; keep it beside calibration.toml"
        )
    return path


def description_text(path: Path, roots: tuple[str, ...]) -> str:
    """Read a file unchanged, including line ends, and check that its root
    element has one of these tags.
    """
    if path.suffix.lower() == ".toml":
        raise InputError(
            f"{path}: the calibration's model is a mechanism file, which cannot become a "
            f"<{roots[0]}> file (a mechanism may have loops, which <{roots[0]}> cannot describe); "
            f"export to mjcf, or name a <{roots[0]}> file with --into"
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, IsADirectoryError):
        raise no_file(path) from None
    except UnicodeDecodeError:
        raise no_text(path) from None
    try:
        found = elements(text)[0].tag
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if found not in roots:
        raise InputError(
            f"{path}: the root element is <{found}>, but <{roots[0]}> is needed; export to another "
            f"format, or name a <{roots[0]}> file with --into"
        )
    return text


def joint_elements(
    text: str,
    calibration: Calibration,
    into: Path | None,
    wanted: Callable[[tuple[str, ...]], bool],
) -> Mapping[str, Element]:
    """Return the elements of all joints by name, after checking that every
    calibrated joint is among them.
    """
    found: dict[str, Element] = {}
    where = into or calibration.model.file
    for element in elements(text):
        name = element.attributes.get("name", "")
        if element.tag == "joint" and name and wanted(element.path):
            if name in found and name in calibration.joints:
                raise InputError(
                    f"{where}: two joints are called {name}, so the calibrated joint is ambiguous; "
                    "rename one of them"
                )
            found[name] = element
    for name in calibration.joints:
        if name not in found:
            raise InputError(
                f"{where}: {unknown_name('joint', name, found)}; the calibration names it (files "
                "that this one includes are not searched)"
            )
    return found


def uncalibrated_losses(
    target: str, calibration: Calibration, into: Path | None
) -> tuple[str, ...]:
    """Return the loss of joints of the calibration's model that were not calibrated; nothing where
    the model cannot be read.
    """
    missing: list[str] = []
    with suppress(InputError):
        missing = (
            [name for name in calibration.names if name not in calibration.joints]
            if into is None
            else []
        )
    return (
        (
            f"{', '.join(missing)}: not calibrated, so {target} has no friction of this "
            "calibration for them",
        )
        if missing
        else ()
    )


def kept_friction(
    target: str, written: Collection[str], stated: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """Return the friction that a file states for joints that were not calibrated."""
    kept = []
    for name, values in stated.items():
        own = [
            f"{key} {values[key]}"
            for key in _FRICTION
            if name not in written and _is_some(values.get(key, "0"))
        ]
        kept += [f"{name} ({', '.join(own)})"] * bool(own)
    return (
        (f"joints that were not calibrated keep the {target}'s own friction: {', '.join(kept)}",)
        if kept
        else ()
    )


def kept_masses(target: str, calibration: Calibration, written: bool) -> tuple[str, ...]:
    """Return the loss of a file that keeps its own masses instead of the identified masses."""
    if calibration.model.inertia is None or written:
        return ()
    kind = {".urdf": ", and in its URDF export", ".toml": ", and in its MJCF export"}.get(
        Path(calibration.model.file).suffix.lower(), ""
    )
    return (
        f"the {target} keeps its own masses; the masses that were fitted together with this "
        f"friction are in the calibration (model.inertia){kind}",
    )


def _is_some(text: str) -> bool:
    """Return whether a text holds a number other than zero."""
    try:
        return any(float(part) for part in text.split())
    except ValueError:
        return False
