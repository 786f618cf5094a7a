"""Results as data frames: a row a parameter."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import escape

import pandas as pd

from stribeck.ident.laws.parameter import Parameter

_COLUMNS = ["joint", "parameter", "value", "low", "high", "std_error", "unit", "verdict", "note"]


def parameter_frame(joints: Mapping[str, Mapping[str, Parameter]]) -> pd.DataFrame:
    """Return a row for each parameter of each joint, with the columns of `Parameter`.

    Parameters that the data do not show have no value.
    """
    rows: Iterable[dict[str, object]] = (
        {"joint": joint, "parameter": name, **asdict(entry)}
        for joint, parameters in joints.items()
        for name, entry in parameters.items()
    )
    return pd.DataFrame(rows).reindex(columns=_COLUMNS)


def frame_html(title: str, frame: pd.DataFrame) -> str:
    """Return a table for a notebook, with four significant digits and its title above it."""
    return f"<p>{escape(title)}</p>{frame.to_html(index=False, float_format=lambda value: f'{value:.4g}', na_rep='–')}"
