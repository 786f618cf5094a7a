"""What `fit --table` prints: the meaning of each column, and the points of each joint."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.console import Console
    from stribeck.experiments.fit_runs import Delivery
    from stribeck.ident.fit.joint.options import Options


def refuse_of_table(
    runs: Sequence[Path], arm: str | None, column: Sequence[str], ignore: Sequence[str]
) -> None:
    """Refuse a fit without runs, or a fit of runs with options for tables.

    Raises
    ------
    InputError
    """
    from stribeck.ident.errors import InputError

    if alone := [
        option
        for option, given in (("--arm", arm), ("--column", column), ("--ignore", ignore))
        if given
    ]:
        raise InputError(
            f"{' and '.join(alone)}: only for tables (stribeck fit --table FILE). A run folder "
            "contains its arm file; to name the columns of a log, use stribeck import"
        )
    if not runs:
        raise InputError(
            "nothing to fit: give run folders, a campaign, or a table of speed and torque with "
            "--table FILE"
        )


def fit_table_file(
    text: "Console",
    file: Path,
    runs: Sequence[Path],
    arm: str | None,
    column: Sequence[str],
    ignore: Sequence[str],
    options: "Options",
    out: Path | None,
) -> tuple["Delivery", Path]:
    """Fit a table; return the results and their folder.

    Raises
    ------
    InputError
        If the table or an option cannot be used.
    FitError
        If no joint can be fitted.
    """
    from stribeck.experiments.fit_table import fit_table
    from stribeck.experiments.importers.speed_torque.cells import open_cells
    from stribeck.experiments.importers.speed_torque.half_differences import points_of
    from stribeck.experiments.importers.speed_torque.series import layout_of
    from stribeck.experiments.recording.run_folders import refuse_used
    from stribeck.ident.arm.arm_file import load_arm
    from stribeck.ident.errors import InputError
    from stribeck.ident.toml_tables import as_name

    if runs:
        raise InputError(
            f"{runs[0]} and --table {file}: a fit takes runs or a table; leave out one of them"
        )
    if options.motion != "none" or options.torque_basis != "drive":
        raise InputError(
            f"--table {file}: --motion and --torque-basis need a recorded motion; leave them out"
        )
    folder = out or Path(f"calibration-{as_name(file.stem) or 'table'}")
    refuse_used(folder)
    cells = open_cells(file).without(ignore)
    layout = layout_of(cells, column)
    for option in layout.said:
        text.print(f"guess     {option}")
    table = points_of(cells, layout)
    for name, rows in table.points.groupby("joint", sort=False):
        text.print(
            f"table     {name}: {len(rows)} points, {rows['speed'].min():.4g} ... "
            f"{rows['speed'].max():.4g} rad/s, "
            f"{'one direction' if name in table.one_way else 'both directions'}"
        )
    return fit_table(file, table, folder, options, None if arm is None else load_arm(arm)), folder
