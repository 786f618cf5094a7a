"""Long series for interactive figures: the least and the greatest value of every few
samples, where there are many.
"""

import numpy as np

from stribeck.ident.arrays import Array

MOST = 90_000  # values that a page draws of all series together, so that it stays small


def extremes(t: Array, values: Array, share: int) -> tuple[Array, Array]:
    """Return the least and the greatest value of every few samples, in
    their order; gaps (nan) stay.

    Parameters
    ----------
    t, values : ndarray, shape (N,)
    share : int
        Values that may remain.
    """
    size = _of_two(int(np.isfinite(values).sum()), share)
    if size == 1:
        return t, values
    kept: list[int] = []
    for part in np.split(np.arange(len(t)), np.flatnonzero(~np.isfinite(values))):
        for start in range(0, len(part), size):
            rows = part[start : start + size]
            rows, gap = rows[np.isfinite(values[rows])], rows[~np.isfinite(values[rows])]
            kept += gap.tolist()
            if len(rows):
                kept += sorted(
                    {int(rows[np.argmin(values[rows])]), int(rows[np.argmax(values[rows])])}
                )
    return t[kept], values[kept]


def thinning(count: int, share: int) -> str:
    """Sentence about how a series of so many samples is drawn."""
    size = _of_two(count, share)
    return (
        f"All {count} samples are drawn."
        if size == 1
        else f"{count} samples; of every {size}, the least and the greatest value are drawn."
    )


def _of_two(count: int, share: int) -> int:
    """Samples of which two are drawn; 1 if all are."""
    return 1 if count <= share else -(-2 * count // share)
