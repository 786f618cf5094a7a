"""What each export format carries of a calibration, as a table."""

from collections.abc import Mapping

from stribeck.ident.export.formats import DESCRIPTIONS, NUMBERS, export_formats

EFFECTS = (
    "law",
    "load",
    "directions",
    "offset",
    "memory",
    "ripple",
    "temperature",
    "play",
    "intervals",
)
_YES, _NO = "yes", "-"
CARRIED: Mapping[str, Mapping[str, str]] = {  # effects that are not listed are lost
    "urdf": {"law": "Coulomb, viscous"},
    "sdf": {"law": "Coulomb, viscous"},
    "mjcf": {
        "law": "Stribeck, bent viscous",
        "offset": _YES,
        "memory": "lugre, relaxing",
        "ripple": "cogging",
    },
    "mjcf --plain": {"law": "Coulomb, viscous"},
    "usd": {"law": "static, Coulomb, viscous"},
    "isaac-lab": {"law": "static, Coulomb, viscous"},
    "json": dict.fromkeys(EFFECTS, _YES),
    "csv": dict.fromkeys(EFFECTS, _YES),
    "ros2": {**dict.fromkeys(("law", "load", "directions"), "values"), "offset": _YES},
    "c": {**dict.fromkeys(EFFECTS[:-1], _YES), "offset": "--offset"},
    "vendor": {"law": "Coulomb, viscous", "load": "torque"},
    "trossen": {"law": "Coulomb, viscous", "load": "torque"},
    "ros2-controller": {**dict.fromkeys(EFFECTS[:-2], _YES), "offset": "--offset"},
    "matlab": {
        **dict.fromkeys(("law", "load", "directions", "ripple"), _YES),
        "offset": "--offset",
    },
    "motionsolve": {"law": "static, dynamic", "load": "normal"},
    "adams": {"law": "static, dynamic", "load": "normal"},
}
MEANINGS = {
    "law": "friction of one load over speed",
    "load": "growth with load",
    "directions": "difference between the directions",
    "offset": "torque offset",
    "memory": "presliding after reversals",
    "ripple": "torque that ripples with position",
    "temperature": "dependence on temperature",
    "play": "play between motor and link",
    "intervals": "intervals of the parameters",
}


def carried_rows() -> list[tuple[str, ...]]:
    """Return a row for each format: its name, and what it carries of each of `EFFECTS`;
    formats of plug-ins say nothing.
    """
    told = [
        (name, *(entry.get(effect, _NO) for effect in EFFECTS)) for name, entry in CARRIED.items()
    ]
    further = [
        name for name in export_formats() if name not in DESCRIPTIONS and name not in NUMBERS
    ]
    return [*told, *((name, *["?"] * len(EFFECTS)) for name in further)]
