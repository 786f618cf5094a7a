"""A long run in parts that fit into memory: parts that end where the motion rests, and
excerpts with a choice of rows.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from stribeck.ident.log.run import Run
from stribeck.ident.log.strokes import Stroke

VALUES = 2**22  # numbers in a part (34 MB)
_END = 0.75  # a part ends in its rows after this fraction,
_STILL = 16  # where the joints move least over this many rows


def parts(run: Run) -> Iterator[Run]:
    """Yield a run in parts, in memory; a run whose samples are in memory is one part.

    A part ends between two segments of a plan where it can, and where the joints move least. A
    stroke is divided only if a joint moves through the whole last quarter of a part.
    """
    if run.file is None:
        yield run
        return
    most, first = rows_of_a_part(run), 0
    # reads the next part during the work on this one
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(run.between, 0, most)
        while first < run.rows:
            part = ahead.result()
            stop = _rest(part) if first + part.rows < run.rows else part.rows
            first += stop
            if first < run.rows:
                ahead = pool.submit(run.between, first, first + most)
            yield part.between(0, stop)


def parts_with_strokes(run: Run, strokes: Sequence[Stroke]) -> Iterator[tuple[Run, list[Stroke]]]:
    """Yield the parts of a run with the strokes in each, whose rows then count from
    the first row of the part.
    """
    for part in parts(run):
        before = part.first - run.first
        yield (
            part,
            [
                stroke.moved(-before)
                for stroke in strokes
                if before <= stroke.rows.start < before + part.rows
            ],
        )


def rows_of_a_part(run: Run) -> int:
    """Largest number of rows of a part."""
    return VALUES // (2 + len(run.signals) * len(run.names))


def _rest(part: Run) -> int:
    """Row after which the joints move least, near the end of a part; between two
    segments if there are several.
    """
    begin = int(_END * part.rows)
    q = part.signals["q"][begin:]
    ends = np.flatnonzero(np.diff(part.segment[begin:])) + 1
    ends = ends[(ends >= _STILL) & (ends < len(q) - _STILL)]
    if not len(ends):
        ends = np.arange(_STILL, len(q) - _STILL)
    way = np.abs(q[ends + _STILL] - q[ends - _STILL]) / np.maximum(np.ptp(q, axis=0), 1e-12)
    return begin + int(ends[np.argmin(way.max(axis=1))])


def excerpt(run: Run, rows: Sequence[slice]) -> tuple[Run, np.ndarray]:
    """Return some rows of a long run as a run in memory, and the shift of each slice's
    rows to their place in it.

    A run whose samples are in memory is returned as it is.
    """
    if run.file is None:
        return run, np.zeros(len(rows), dtype=int)
    order = sorted(range(len(rows)), key=lambda k: rows[k].start)
    spans, owner = list[list[int]](), np.empty(len(rows), dtype=int)
    for k in order:
        if spans and rows[k].start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], rows[k].stop)
        else:
            spans.append([rows[k].start, rows[k].stop])
        owner[k] = len(spans) - 1
    pieces = [run.between(first, stop) for first, stop in spans]
    place = np.concatenate(([0], np.cumsum([piece.rows for piece in pieces])[:-1])) - [
        first for first, _ in spans
    ]
    joined = replace(
        run,
        t=np.concatenate([piece.t for piece in pieces]),
        segment=np.concatenate([piece.segment for piece in pieces]),
        signals={
            signal: np.concatenate([piece.signals[signal] for piece in pieces])
            for signal in run.signals
        },
    )
    return joined, place[owner]
