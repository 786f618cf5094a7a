"""The formats: URDF, MJCF and JSON."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ident.calibration import Calibration
from ident.errors import InputError, unknown_name
from ident.export.approximation import approximate, losses
from ident.export.markup import elements, spliced, with_attributes
from ident.model_file import model_spec

_DIGITS = 6


@dataclass(frozen=True)
class Export:
    """Text of an exported file, its suffix, and what the format cannot express (one sentence each)."""

    text: str
    suffix: str
    losses: tuple[str, ...]


def to_urdf(calibration: Calibration) -> Export:
    """The model's URDF with ``<dynamics friction damping>`` of every calibrated joint; all else is untouched.

    Raises
    ------
    InputError
        If the model is no URDF.
    """
    text = _model_text(calibration, ".urdf")
    joints = {attributes.get("name"): (begin, end) for attributes, depth, begin, end in elements(text, "joint") if depth == 2}
    dynamics = [(begin, end) for _, _, begin, end in elements(text, "dynamics")]
    closing = text.encode()
    changes = []
    for name, joint in calibration.joints.items():
        near = approximate(joint)
        values = {"damping": _number(near.damping), "friction": _number(near.friction)}
        _, end = joints[name]
        stop = closing.index(b"</joint", end)
        inside = [(a, b) for a, b in dynamics if end <= a < stop]
        if inside:
            a, b = inside[0]
            changes.append((a, b, with_attributes(closing[a:b].decode(), values)))
        else:
            indent = "\n    "
            changes.append((end, end, f"{indent}{with_attributes('<dynamics/>', values)}"))
    return Export(spliced(text, changes), ".urdf", losses(calibration, "URDF"))


def to_mjcf(calibration: Calibration) -> Export:
    """MJCF with ``frictionloss`` and ``damping`` of every calibrated joint; a URDF model is converted by MuJoCo."""
    path = calibration.folder / calibration.model.file
    if path.suffix.lower() == ".urdf":
        spec = model_spec(path)
        for name, joint in calibration.joints.items():
            near = approximate(joint)
            spec.joint(name).frictionloss = float(_number(near.friction))
            spec.joint(name).damping = _first(float(_number(near.damping)), spec.joint(name).damping)
        spec.compile()
        text = spec.to_xml()
    else:
        text = _model_text(calibration, path.suffix.lower())
        tags = {attributes.get("name"): (begin, end) for attributes, _, begin, end in elements(text, "joint")}
        changes = []
        for name, joint in calibration.joints.items():
            near, (begin, end) = approximate(joint), tags[name]
            tag = text.encode()[begin:end].decode()
            changes.append((begin, end, with_attributes(tag, {"frictionloss": _number(near.friction),
                                                              "damping": _number(near.damping)})))
        text = spliced(text, changes)
    return Export(text, ".xml", losses(calibration, "MJCF"))


def to_json(calibration: Calibration) -> Export:
    """Everything that the calibration holds, as JSON."""
    return Export(json.dumps(calibration_table(calibration), indent=1, ensure_ascii=False) + "\n", ".json", ())


def calibration_table(calibration: Calibration) -> dict[str, Any]:
    """The calibration as plain data."""
    joints = {}
    for name, joint in calibration.joints.items():
        table = {key: value for key, value in vars(joint).items() if key not in ("names", "correlation", "parameters", "gravity")}
        table["bearing"] = asdict(joint.bearing) if joint.bearing else None
        table["breakaway"] = asdict(joint.breakaway) if joint.breakaway else None
        for group in ("parameters", "gravity"):
            table[group] = {parameter: {key: value for key, value in vars(entry).items() if value not in (None, "")}
                            for parameter, entry in getattr(joint, group).items()}
        table["correlation"] = {"names": list(joint.names), "matrix": joint.correlation.tolist()}
        joints[name] = table
    return {"schema": 1, "arm": calibration.arm, "created": calibration.created.isoformat(), "method": calibration.method,
            "torque_basis": calibration.torque_basis, "runs": list(calibration.runs), "model": asdict(calibration.model),
            "fit": calibration.fit, "joints": joints}


EXPORTS: dict[str, Callable[[Calibration], Export]] = {"urdf": to_urdf, "mjcf": to_mjcf, "json": to_json}


def export(calibration: Calibration, target: str) -> Export:
    """Calibration in another format.

    Parameters
    ----------
    calibration : Calibration
        Loaded from its file.
    target : str
        A name in `EXPORTS`.

    Raises
    ------
    InputError
        On an unknown format, or a model that the format cannot be written from.
    """
    if target not in EXPORTS:
        raise unknown_name("export format", target, EXPORTS)
    return EXPORTS[target](calibration)


def _model_text(calibration: Calibration, suffix: str) -> str:
    path = calibration.folder / calibration.model.file
    if path.suffix.lower() != suffix:
        raise InputError(f"{path}: the calibration's model is not a {suffix[1:]} file; export to another format")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: the calibration's model is missing; keep it beside calibration.toml") from None


def _number(value: float) -> str:
    return f"{value:.{_DIGITS}g}"


def _first(value: float, old: Any) -> Any:
    """A value where the attribute is a number, or the first entry where it is a polynomial."""
    try:
        entries = [float(entry) for entry in old]
    except TypeError:
        return value
    return [value, *entries[1:]]
