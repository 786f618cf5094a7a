"""Numeric arrays in nested dictionaries and lists, named by their path."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


def leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and arrays: ``structure.field``, ``name.0.field`` for lists of structures or
    cells, and ``name.LABEL`` for signals of a Simulink scope with different labels.
    """
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield from leaves(_by_label(value), f"{prefix}{name}.")
        elif isinstance(value, np.ndarray) and value.dtype == object:
            yield from leaves(_by_label(value.ravel().tolist()), f"{prefix}{name}.")
        elif not name.startswith("__") and hasattr(value, "dtype") and hasattr(value, "shape"):
            yield prefix + name, value


def _by_label(parts: Sequence[Any]) -> dict[str, Any]:
    labels = [part.get("label") if isinstance(part, Mapping) else None for part in parts]
    if not all(isinstance(label, str) and label for label in labels) or len(set(labels)) < len(
        labels
    ):
        labels = [str(k) for k in range(len(parts))]
    signals = [
        part["values"] if isinstance(part, Mapping) and {"values", "label"} <= set(part) else part
        for part in parts
    ]
    return {str(label): signal for label, signal in zip(labels, signals, strict=True)}
