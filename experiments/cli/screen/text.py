"""Console text about arms and loads, for commands that need neither plans nor fits."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from stribeck.ident.arm.arm_file import ArmFile
    from stribeck.ident.arrays import Array
    from stribeck.ident.model.mechanism import Mechanism


def clock(seconds: float) -> str:
    """Return a time as text, to the second."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if seconds >= 60.0 else f"{seconds:.1f} s"


def position_units(mechanism: "Mechanism", per: str = "") -> str:
    """Return the position units of all joints."""
    return " or ".join(
        sorted({mechanism.position_unit(j) + per for j in range(mechanism.n)}, reverse=True)
    )


def loads_table(
    mechanism: "Mechanism",
    posture: "Array",
    values: dict[str, dict[str, float]],
    tau: dict[str, float],
    friction: dict[str, float],
) -> Table:
    """Return a table of the loads of each joint, with driving torques and
    friction if there are any.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint")
    drive = " or ".join(sorted({mechanism.unit(j) for j in range(mechanism.n)}))
    place = position_units(mechanism)
    headings = [
        f"q\n{place}",
        f"tau\n{drive}",
        *([f"friction\n{drive}"] if friction else []),
        f"torque\n{drive}",
        "bending\nN·m",
        "radial\nN",
        "axial\nN",
        f"normal\n{drive}",
    ]
    for heading in headings:
        table.add_column(heading, justify="right")
    for j, (name, row) in enumerate(values.items()):
        cells = [
            f"{posture[j]:.4f}",
            _cell(tau, name),
            *([_cell(friction, name)] if friction else []),
            *(_cell(row, load) for load in ("torque", "bending", "radial", "axial", "normal")),
        ]
        table.add_row(name, *cells)
    return table


def _cell(row: dict[str, float], key: str) -> str:
    return f"{row[key]:z.3f}" if key in row else "-"


def cut_joints_table(cut: "dict[str, dict[str, list[float | None]]]") -> Table:
    """Return a table of forces and moments in the joints at which loops are cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cut joint")
    for quantity, unit in (("force", "N"), ("moment", "N·m")):
        for axis in "xyz":
            table.add_column(f"{quantity} {axis}\n{unit}", justify="right")
    for name, row in cut.items():
        table.add_row(
            name,
            *(
                "-" if value is None else f"{value:z.3f}"
                for value in (*row["force"], *row["moment"])
            ),
        )
    return table


def arm_line(arm: "ArmFile", mechanism: "Mechanism") -> str:
    """Return name, joints, driver and rate of the arm."""
    joints = f"{mechanism.n} joint{'s' if mechanism.n > 1 else ''}"
    return (
        f"arm {' '.join(filter(None, (arm.name, arm.serial)))} ({joints}, {arm.driver.kind}, "
        f"{arm.driver.rate:g} Hz)"
    )


def joint_page(page: "dict[str, dict[str, str]]") -> Table:
    """Return a table of texts with a row for each joint."""
    columns = list(dict.fromkeys(column for row in page.values() for column in row))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("joint", *columns):
        table.add_column(column)
    for joint, row in page.items():
        table.add_row(joint, *(row.get(column, "-") for column in columns))
    return table
