"""Console text about results: the table of joints, and notes."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from stribeck.experiments.cli.screen.tables import COLOURS, fitted
from stribeck.experiments.cli.screen.text import position_units
from stribeck.experiments.report.words import glance, parameter_word, plus_minus

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stribeck.ident.calibration.calibration import Calibration
    from stribeck.ident.calibration.joint_calibration import JointCalibration
    from stribeck.ident.identify import Identification


def result_table(result: "Identification", width: int) -> "RenderableType":
    """Return the result: a line for each joint. In narrow terminals,
    further columns follow below.
    """
    tau = " or ".join(
        sorted({result.mechanism.unit(j) for j in range(result.mechanism.n)}, reverse=True)
    )
    w, x = position_units(result.mechanism, "/s"), position_units(result.mechanism)
    viscous = f"{tau}·s/{x}" if " " not in tau else "SI"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("joint", "law", "load"):
        table.add_column(heading, no_wrap=True)
    shown = glance(result.calibration.joints.values())
    units = {"{tau}": tau, "{q}/s": w, "{tau}·s/{q}": viscous}
    columns = [
        (quantity.heading, units.get(quantity.unit, quantity.unit.format(tau=tau, q=x)))
        for quantity in shown
    ]
    for heading, unit in (*columns, ("load part", tau), ("held-out", tau)):
        table.add_column(f"{heading}\n{unit}", justify="right", no_wrap=True)
    table.add_column("verdict", min_width=14)
    for name in result.asked_for:
        joint = result.calibration.joints.get(name)
        if joint is None:
            table.add_row(
                name, *["-"] * (len(table.columns) - 2), Text("not calibrated", style="dim")
            )
            continue
        part = (
            "-"
            if joint.load_part is None
            else f"{joint.load_part[0]:.1f} ... {joint.load_part[2]:.1f}"
        )
        word = joint.verdict()
        table.add_row(
            name,
            joint.law.replace("coulomb-viscous", "coulomb-v."),
            joint.load,
            *(plus_minus(joint.parameters.get(quantity.name)) for quantity in shown),
            part,
            f"{joint.held_out_rmse:.2g}",
            Text.assemble(
                (word, COLOURS[word]),
                _weakest(joint, word),
                (", misfit" if name in result.calibration.fit.get("lack_of_fit", ()) else ""),
            ),
        )
    return fitted(table, width)


def _weakest(joint: "JointCalibration", word: str) -> str:
    """Return the parameters that cause the joint's verdict (unless it is "identified"), and effects
    that the data cannot show.
    """
    names = [
        name for name, p in joint.parameters.items() if p.value is not None and p.verdict == word
    ]
    said = "" if word == "identified" else f" ({', '.join(parameter_word(name) for name in names)})"
    hidden = [name for name, p in joint.parameters.items() if p.value is None]
    return (
        said
        + ("; load untested" if any("_coefficient" in name for name in hidden) else "")
        + ("; Stribeck effect untested" if "static" in hidden else "")
    )


def notes(calibration: "Calibration") -> list[str]:
    """Return the notes of all parameters, a line for each note of a joint."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, joint in calibration.joints.items():
        for parameter, entry in joint.parameters.items():
            if entry.note:
                found.setdefault((name, entry.note), []).append(parameter)
    return [
        f"{name}: {' and '.join(parameters)}: {note}" for (name, note), parameters in found.items()
    ]
