"""Reading a foreign log and writing it as a run folder, unchanged but for units."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers import JointSample
from experiments.importers.columns import ColumnMap
from experiments.recorder import Recorder, new_run_folder
from ident.armfile import ArmFile, check_against_model
from ident.description import load_mechanism
from ident.errors import InputError, no_file, unknown_name
from ident.health import check_numbers, check_time, check_velocity
from ident.mechanism import Mechanism

Array = NDArray[np.float64]
_LARGEST_GAP = 10.0     # periods; a log with a longer hole is cut there by its owner, not patched by us
_IMPLAUSIBLE = 2.0      # times a limit: a wrong unit, not a fast or strong arm


def read_csv(path: Path) -> dict[str, Array]:
    """Columns of a CSV file with a header: separated by tab, semicolon, comma or blanks; ``#`` starts a comment."""
    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = (line for line in file if line.strip() and not line.startswith("#"))
            header, first = next(lines, ""), next(lines, "")
        separator = next((mark for mark in "\t;," if mark in header), r"\s+")
        decimal = "," if separator in "\t;" and "," in first and "." not in first else "."
        frame = pd.read_csv(path, sep=separator, decimal=decimal, comment="#", skipinitialspace=True, encoding="utf-8-sig",
                            index_col=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV table: {' '.join(str(error).split())}") from error
    return {str(name).strip(): pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float) for name in frame.columns}


def read_mat(path: Path) -> dict[str, Array]:
    """Numeric vectors of a MATLAB file (up to version 7.2)."""
    from scipy.io import loadmat

    try:
        content = loadmat(path)
    except Exception as error:           # SciPy raises whatever a damaged file makes it run into
        raise InputError(f"{path}: not a MAT file that can be read (version 7.3 files are HDF5; save with -v7): "
                         f"{' '.join(str(error).split())}") from error
    return {name: np.asarray(value, dtype=float).ravel() for name, value in content.items()
            if not name.startswith("__") and isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
            and 1 < value.size == max(value.shape)}


READERS: dict[str, Callable[[Path], dict[str, Array]]] = {".csv": read_csv, ".txt": read_csv, ".mat": read_mat}


def read_table(path: Path) -> dict[str, Array]:
    """Columns of a log by its suffix.

    Raises
    ------
    InputError
        If the file is missing, of an unknown kind, or holds no table.
    """
    if not path.is_file():
        raise no_file(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: {unknown_name('kind of log', path.suffix, READERS)}")
    columns = reader(path)
    if not columns:
        raise InputError(f"{path}: no numeric column found")
    return columns


def import_log(path: Path, arm: ArmFile, columns: tuple[ColumnMap, ...], campaign: Path, note: str = "") -> Path:
    """Write a foreign log as a run folder.

    Values are multiplied to SI, brought to the model's sign and zero by the arm file's ``direction`` and
    ``zero_offset``, and otherwise left as they are. A log with values that are no numbers, with time
    that does not increase, or with a hole is refused before anything is written.

    Parameters
    ----------
    path : Path
        CSV or MAT file.
    arm : ArmFile
        The arm it was recorded on.
    columns : tuple of ColumnMap
        Which column is what.
    campaign : Path
        Folder whose ``runs/`` takes the run.
    note : str
        The operator's note.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    InputError
        One sentence: file, column, row.
    """
    mechanism = load_mechanism(arm)
    check_against_model(arm, mechanism)
    table = read_table(path)
    values: dict[tuple[str, str | None], Array] = {}
    for entry in columns:
        column = entry.find(table)
        if column is None:
            raise InputError(f"{path}: {unknown_name('column', entry.column, table)}")
        values[entry.signal, entry.joint] = table[column] * entry.factor
    lengths = {len(value) for value in values.values()}
    if len(lengths) > 1:
        raise InputError(f"{path}: columns of different lengths ({', '.join(map(str, sorted(lengths)))} rows)")
    t = values["t", None]
    if not np.isfinite(t).all():
        raise InputError(f"{path}: time is not a finite number in row {int(np.argmin(np.isfinite(t)))}")
    rate, gaps = check_time(t, str(path))
    steps = np.diff(t)
    if len(gaps) and steps[gaps].max() > _LARGEST_GAP / rate:
        row = int(gaps[np.argmax(steps[gaps])])
        raise InputError(f"{path}: a gap of {steps[row]:.3f} s after row {row} (t = {t[row]:.3f} s) in a log of {rate:.1f} Hz; "
                         "cut the log there and import the pieces")

    def signal(name: str) -> Array | None:
        if not any(entry.signal == name for entry in columns):
            return None
        unknown = np.full(len(t), np.nan)
        return np.column_stack([values.get((name, joint), unknown) for joint in mechanism.names])

    tables = [arm.joint(name) for name in mechanism.names]
    sign, zero = np.array([table.direction for table in tables]), np.array([table.zero_offset for table in tables])
    q, tau = signal("q"), signal("tau")
    assert q is not None
    assert tau is not None
    q, tau = sign * q + zero, sign * tau
    check_numbers(q, "q", mechanism.names, t, str(path))
    check_numbers(tau, "tau", mechanism.names, t, str(path))
    unknown = np.full((len(t), mechanism.n), np.nan)
    recorded = signal("dq")
    dq, temperature = unknown if recorded is None else sign * recorded, signal("temperature")
    check_velocity(q, dq, t, mechanism.names, str(path))
    _check_units(q, tau, arm, mechanism, path)
    folder = new_run_folder(campaign, f"import-{path.stem}")
    status = np.zeros(mechanism.n, dtype=np.int64)
    with Recorder(folder, arm, mechanism, f"imported log {path.name}", rate, note=note) as recorder:
        for row in range(len(t)):
            sample = JointSample(float(t[row]), q[row], dq[row], tau[row], np.full(mechanism.n, t[row]),
                                 None if temperature is None else temperature[row], status)
            recorder.sample(sample, unknown[row], unknown[row], 0)
    return folder


def _check_units(q: Array, tau: Array, arm: ArmFile, mechanism: Mechanism, path: Path) -> None:
    """Refuse values so far beyond what the arm can do that their unit must be another."""
    limits = arm.limits(mechanism)
    for word, found, allowed in (("position", np.ptp(q, axis=0), np.ptp(limits.position, axis=1)),
                                 ("torque", np.abs(tau).max(axis=0), limits.torque)):
        beyond = found > _IMPLAUSIBLE * allowed             # an unknown limit is nan or infinite
        if beyond.any():
            joint = int(np.argmax(beyond))
            unit = mechanism.unit(joint) if word == "torque" else "m" if mechanism.prismatic[joint] else "rad"
            verb = "spans" if word == "position" else "reaches"
            raise InputError(f"{path}: the {word} of {mechanism.names[joint]} {verb} {found[joint]:.4g} {unit}, "
                             f"the arm file allows {allowed[joint]:.4g} {unit}; check the unit in its column")
