"""Notes on a fleet: causes of differences other than the arms."""

from collections.abc import Iterator, Mapping

from stribeck.ident.calibration.calibration import Calibration

# K between the middles of drive temperatures, from which temperature is named as a cause
_WARMER = 10.0


def fleet_notes(calibrations: Mapping[str, Calibration]) -> Iterator[str]:
    """Yield what may explain differences of friction: models, tools, shared motors,
    temperature, missing serial numbers.
    """
    of = list(calibrations.values())
    if unnamed := sum(not one.serial for one in of):
        yield f"{unnamed} calibrations state no serial number; each counts as an arm of its own"
    for what, several in (
        ("the models", len({one.model.sha256 for one in of})),
        ("the stated tools", len({(one.model.tool.mass, tuple(one.model.tool.com)) for one in of})),
    ):
        if several > 1:
            yield f"{what} of the calibrations differ, so loads may differ, too"
    if len({frozenset(one.motors.motors) for one in of}) > 1:
        yield (
            "some calibrations separate the friction of shared motors and others do not (motors): "
            "friction of these joints cannot be compared"
        )
    for joint in dict.fromkeys(name for one in of for name in one.joints):
        curves = [one.joints[joint] for one in of if joint in one.joints]
        middles = [
            sum(curve.temperature_range) / 2.0
            for curve in curves
            if curve.temperature_range is not None and curve.temperature is None
        ]
        if middles and max(middles) - min(middles) > _WARMER:
            yield (
                f"{joint}: measured at {min(middles):.0f} to {max(middles):.0f} °C without a "
                "temperature law; temperature may explain differences"
            )
