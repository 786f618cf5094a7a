"""Live picture of every joint that a plan measures: position, speed, torque, and the points of its friction curve."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log10
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from stribeck.experiments.cli.screen.drawer import drawer

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.panel import Panel
    from rich.text import Text

    from stribeck.drivers.arm import JointSample
    from stribeck.experiments.plans.plan import Plan, Segment
    from stribeck.experiments.recording.follow import Watch
    from stribeck.ident.model.mechanism import Mechanism

VIEW = "view"           # instead of a file name: open the Rerun viewer
_END = 0.2              # share of a stroke's samples that is left out at each end
_WIDTH, _HEIGHT = 30, 4         # size of a curve in characters of 2 x 4 dots
_PANEL = _WIDTH + 6     # width of the panel around a curve
_LINE, _NAMED = 64, 8   # characters of a joint's line without its name, and least characters of the name
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@contextmanager
def live(plan: "Plan", word: str, mechanism: "Mechanism", to: IO[Any] | None = None,
         rerun: str | None = None) -> Iterator["Watch"]:
    """Draw the joints while the arm moves; yields the function that the tracker calls.

    Parameters
    ----------
    plan : Plan
        The plan that is driven.
    word : str
        Label of the motion, such as "run".
    mechanism : Mechanism
        The arm with its joints.
    to : file, optional
        Output; default is standard error.
    rerun : str, optional
        File for a recording in the format of the Rerun viewer, or "view" to open the viewer.
    """
    joints = range(mechanism.n)
    head = {"total": plan.robot_time, "word": word, "measured": measured(plan), "names": mechanism.names,
            "units": [mechanism.unit(j) for j in joints],
            "position_units": [mechanism.position_unit(j) for j in joints]}
    if rerun is not None:
        head |= {"to": rerun, "recording": str(uuid4())}
    with drawer("joints" if rerun is None else "viewer", head, to) as send:

        def watch(segment: "Segment", sample: "JointSample", done: float) -> None:
            send({"id": segment.id, "kind": segment.kind, "mirror_of": segment.mirror_of, "done": round(done, 2),
                  **{key: [round(value, 5) for value in getattr(sample, key).tolist()] for key in ("q", "dq", "tau")}})

        yield watch


def measured(plan: "Plan") -> list[int]:
    """Return the indices of the joints that a plan measures: those that move in segments other than moves to a posture."""
    moved = {k for start, segment in plan.legs() if segment.kind != "move"
             for k, moves in enumerate(segment.moving(start)) if moves or plan.names[k] == segment.joint}
    return sorted(moved)


@dataclass
class Curves:
    """Friction points from samples: half the difference of torque between a stroke and the stroke back.

    Attributes
    ----------
    points : dict of int to list
        For each joint index its points: speed [rad/s or m/s], friction [N·m or N].
    """

    points: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    _means: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    _rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """Add a sample; the first sample of another segment completes the segment before it."""
        if self._rows and self._rows[-1]["id"] != row["id"]:
            self._close(self._rows)
            self._rows = []
        self._rows.append(row)

    def _close(self, rows: list[dict[str, Any]]) -> None:
        first, cut = rows[0], int(_END * len(rows))
        steady = rows[cut:len(rows) - cut]
        if first["kind"] not in ("stroke", "sweep"):
            return
        joints = range(len(first["q"]))
        mean = [(fmean(row["dq"][j] for row in steady), fmean(row["tau"][j] for row in steady)) for j in joints]
        self._means[first["id"]] = mean
        if (there := self._means.pop(first["mirror_of"], None)) is None:
            return
        for j in joints:
            (forth, push), (back, pull) = there[j], mean[j]
            if forth * back < 0.0 and abs(forth + back) < 0.2 * abs(forth):         # same speed in both directions
                self.points.setdefault(j, []).append((abs(forth - back) / 2.0, (push - pull) / 2.0 * (1 if forth > 0.0 else -1)))


def spread(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Scale points: the logarithm of speed to 0 ... 1, and friction to a part of its maximum."""
    if not points:
        return []
    speeds = [log10(speed) for speed, _ in points]
    low, span = min(speeds), max(max(speeds) - min(speeds), 1e-9)
    top = max(max(friction for _, friction in points), 1e-9)
    return [((speed - low) / span, friction / top) for speed, (_, friction) in zip(speeds, points, strict=True)]


def plot(points: list[tuple[float, float]], width: int = _WIDTH, height: int = _HEIGHT) -> list[str]:
    """Return a plot of friction (from zero) over the logarithm of speed, as rows of braille characters."""
    cells = [[0] * width for _ in range(height)]
    for right, up in spread(points):
        column, row = round(right * (2 * width - 1)), round((1.0 - max(up, 0.0)) * (4 * height - 1))
        cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
    return ["".join(chr(0x2800 + cell) for cell in row) for row in cells]


class Joints:
    """The picture of `live`."""

    lasting = False

    def __init__(self, head: dict[str, Any]) -> None:
        self._head, self.curves = head, Curves()
        self._row: dict[str, Any] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add a sample."""
        self._row = row
        self.curves.add(row)

    def draw(self) -> "RenderableType":
        """Return the present picture of the joints."""
        return self

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield a panel for each joint; if the terminal is too small for panels, a line."""
        from rich.columns import Columns
        from rich.text import Text

        head, row, room = self._head, self._row, console.size.height - 2
        done = min(1.0, row["done"] / max(head["total"], 1e-9))
        yield Text(f"{head['word']:<9} {100.0 * done:3.0f} %  {max(0.0, head['total'] - row['done']):.0f} s left")
        beside, shown = options.max_width // (_PANEL + 1), head["measured"]
        if beside and -(-len(shown) // beside) * (_HEIGHT + 3) <= room:
            yield Columns([self._panel(j) for j in shown])
            return
        named = min(max(len(head["names"][j]) for j in shown), max(_NAMED, options.max_width - _LINE))
        for j in shown if len(shown) <= room else shown[:max(room - 1, 0)]:
            yield self._line(j, named, options.max_width)
        if len(shown) > room:
            yield Text(f"and {len(shown) - max(room - 1, 0)} more, for which this terminal is too small", no_wrap=True)

    def _panel(self, j: int) -> "Panel":
        from rich.panel import Panel
        from rich.text import Text

        points, (q, dq, tau) = self.curves.points.get(j, []), self._said(j)
        title = f"{_cut(self._head['names'][j], _WIDTH - 1 - len(tau))}  {tau}"
        return Panel(Text("\n".join([f"q {q}  {dq}", *plot(points)])), title=title, subtitle=self._told(points, j), width=_PANEL)

    def _line(self, j: int, named: int, width: int) -> "Text":
        from rich.text import Text

        points = self.curves.points.get(j, [])
        said = "  ".join([_cut(self._head["names"][j], named).ljust(named), *self._said(j), self._told(points, j)])
        left = width - len(said) - 2
        return Text(f"{said}  {plot(points, min(left, _WIDTH), 1)[0]}" if left > 0 else said, no_wrap=True, overflow="ellipsis")

    def _said(self, j: int) -> tuple[str, str, str]:
        """Position, speed and torque of a joint as text."""
        row, unit, place = self._row, self._head["units"][j], self._head["position_units"][j]
        return f"{row['q'][j]:z7.3f} {place}", f"{row['dq'][j]:z7.3f} {place}/s", f"{row['tau'][j]:z.2f} {unit}"

    def _told(self, points: list[tuple[float, float]], j: int) -> str:
        if not points:
            return "no point yet"
        most = max(friction for _, friction in points)
        return f"{len(points)} point{'s' * (len(points) > 1)}, up to {most:.3g} {self._head['units'][j]}"


def _cut(name: str, length: int) -> str:
    """Shorten a name to a length."""
    return name if len(name) <= length else f"{name[:max(length - 1, 0)]}…"
