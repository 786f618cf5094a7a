"""Live picture of every joint that a plan measures: position, speed, torque, its friction
curve, and the law as it forms.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from stribeck.experiments.cli.screen.curve_plot import Points, curve, plot
from stribeck.experiments.cli.screen.drawer import drawer
from stribeck.experiments.cli.screen.forming_law import FormingLaw, FormingLaws
from stribeck.experiments.cli.screen.tables import COLOURS

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.panel import Panel
    from rich.text import Text

    from stribeck.drivers.arm import JointSample
    from stribeck.experiments.plans.plan import Plan, Segment
    from stribeck.experiments.recording.follow import Watch
    from stribeck.ident.model.mechanism import Mechanism

VIEW = "view"  # instead of a file name: open the Rerun viewer
_END = 0.2  # share of a stroke's samples that is left out at each end
_WIDTH, _HEIGHT = 30, 3  # least size of a curve in characters of 2 x 4 dots
_PANEL = _WIDTH + 6  # least width of the panel around a curve
_FRAME = 4  # lines of a panel beside its curve: border, position and speed, axis
_LONGEST = 80  # characters of what is told of a joint
_ROOMY = 10  # lines of a panel that also shows parameters
# characters of a joint's line without its name, and least characters of the name
_LINE, _NAMED = 64, 8


@contextmanager
def live(
    plan: "Plan",
    word: str,
    mechanism: "Mechanism",
    to: IO[Any] | None = None,
    rerun: str | None = None,
) -> Iterator["Watch"]:
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
    head = {
        "total": plan.robot_time,
        "word": word,
        "measured": measured(plan),
        "names": mechanism.names,
        "units": [mechanism.unit(j) for j in joints],
        "position_units": [mechanism.position_unit(j) for j in joints],
    }
    if rerun is not None:
        head |= {"to": rerun, "recording": str(uuid4())}
    with drawer("joints" if rerun is None else "viewer", head, to) as send:

        def watch(segment: "Segment", sample: "JointSample", done: float) -> None:
            send(
                {
                    "id": segment.id,
                    "kind": segment.kind,
                    "mirror_of": segment.mirror_of,
                    "done": round(done, 2),
                    **{
                        key: [round(value, 5) for value in getattr(sample, key).tolist()]
                        for key in ("q", "dq", "tau")
                    },
                }
            )

        yield watch


def measured(plan: "Plan") -> list[int]:
    """Return the indices of the joints that a plan measures: those that move in segments
    other than moves to a posture.
    """
    moved = {
        k
        for start, segment in plan.legs()
        if segment.kind != "move"
        for k, moves in enumerate(segment.moving(start))
        if moves or plan.names[k] == segment.joint
    }
    return sorted(moved)


@dataclass
class Curves:
    """Friction points from samples: half the difference of torque between a
    stroke and the stroke back.

    Attributes
    ----------
    points : dict of int to list
        For each joint index its points: speed [rad/s or m/s], friction [N·m or N].
    """

    points: dict[int, Points] = field(default_factory=dict)
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
        steady = rows[cut : len(rows) - cut]
        if first["kind"] not in ("stroke", "sweep"):
            return
        joints = range(len(first["q"]))
        mean = [
            (fmean(row["dq"][j] for row in steady), fmean(row["tau"][j] for row in steady))
            for j in joints
        ]
        self._means[first["id"]] = mean
        if (there := self._means.pop(first["mirror_of"], None)) is None:
            return
        for j in joints:
            (forth, push), (back, pull) = there[j], mean[j]
            # same speed in both directions
            if forth * back < 0.0 and abs(forth + back) < 0.2 * abs(forth):
                self.points.setdefault(j, []).append(
                    (abs(forth - back) / 2.0, (push - pull) / 2.0 * (1 if forth > 0.0 else -1))
                )


class Joints:
    """The picture of `live`."""

    lasting = False

    def __init__(self, head: dict[str, Any]) -> None:
        self._head, self.curves, self.laws = head, Curves(), FormingLaws()
        self._row: dict[str, Any] = {}
        self._formed: dict[int, FormingLaw] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add a sample."""
        self._row = row
        self.curves.add(row)

    def draw(self) -> "RenderableType":
        """Return the present picture of the joints."""
        self._formed = self.laws.of(self.curves.points)
        return self

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield a panel for each joint, over the full height; if the terminal is too
        small for panels, a line.
        """
        from rich.table import Table
        from rich.text import Text

        head, room, width, shown = (
            self._head,
            console.size.height - 2,
            options.max_width,
            self._head["measured"],
        )
        yield self._progress(width)
        if grid := _grid(len(shown), width, room):
            beside, height = grid
            table = Table.grid()
            for first in range(0, len(shown), beside):
                table.add_row(
                    *(
                        self._panel(j, width // beside, height)
                        for j in shown[first : first + beside]
                    )
                )
            yield table
            return
        named = min(max(len(head["names"][j]) for j in shown), max(_NAMED, width - _LINE))
        for j in shown if len(shown) <= room else shown[: max(room - 1, 0)]:
            yield self._line(j, named, width)
        if len(shown) > room:
            yield Text(
                f"and {len(shown) - max(room - 1, 0)} more, for which this terminal is too small",
                no_wrap=True,
            )

    def _progress(self, width: int) -> "RenderableType":
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        total, done = max(self._head["total"], 1e-9), self._row["done"]
        words = (
            f"{self._head['word']:<9} {100.0 * min(1.0, done / total):3.0f} %",
            f"{max(0.0, total - done):.0f} s left",
        )
        line = Table.grid(padding=(0, 1))
        line.add_row(
            words[0], ProgressBar(total, done, max(width - len("".join(words)) - 4, 1)), words[1]
        )
        return line

    def _panel(self, j: int, width: int, height: int) -> "Panel":
        from rich.panel import Panel
        from rich.text import Text

        points, (q, dq, tau), law = (
            self.curves.points.get(j, []),
            self._said(j),
            self._formed.get(j),
        )
        lines = [f"q {q}  {dq}", *([law.words if law else ""] if height >= _ROOMY else [])]
        colour, name = (
            COLOURS[law.verdict] if law else "",
            _cut(self._head["names"][j], width - 7 - len(tau)),
        )
        units = f"{self._head['position_units'][j]}/s", self._head["units"][j]
        drawn = curve(
            points, width - 4, height - 3 - len(lines), units, law.friction if law else None, colour
        )
        text = Text("\n").join(
            [*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines), drawn]
        )
        title, told = (
            Text.assemble((name, "bold"), f"  {tau}"),
            Text(self._told(points, j, width - 6), colour),
        )
        return Panel(
            text, title=title, subtitle=told, width=width, height=height, border_style="dim"
        )

    def _line(self, j: int, named: int, width: int) -> "Text":
        from rich.text import Text

        points = self.curves.points.get(j, [])
        said = "  ".join(
            [
                _cut(self._head["names"][j], named).ljust(named),
                *self._said(j),
                self._told(points, j),
            ]
        )
        left = width - len(said) - 2
        return Text(
            f"{said}  {plot(points, min(left, _WIDTH), 1)[0]}" if left > 0 else said,
            no_wrap=True,
            overflow="ellipsis",
            style=COLOURS[self._formed[j].verdict] if j in self._formed else "",
        )

    def _said(self, j: int) -> tuple[str, str, str]:
        """Position, speed and torque of a joint as text."""
        row, unit, place = self._row, self._head["units"][j], self._head["position_units"][j]
        return (
            f"{row['q'][j]:z7.3f} {place}",
            f"{row['dq'][j]:z7.3f} {place}/s",
            f"{row['tau'][j]:z.2f} {unit}",
        )

    def _told(self, points: Points, j: int, width: int = _LONGEST) -> str:
        """What the points say, in the longest words that fit."""
        if not points:
            return "no point yet"
        count, law = f"{len(points)} point{'s' * (len(points) > 1)}", self._formed.get(j)
        if law is None:
            most = max(friction for _, friction in points)
            return _cut(f"{count}, up to {most:.3g} {self._head['units'][j]}", width)
        said = f"{law.law}, {law.verdict}"
        fits = (
            words
            for words in (f"{count} so far: {said}", f"{count}: {said}", said)
            if len(words) <= width
        )
        return next(fits, _cut(said, width))


def _grid(count: int, width: int, room: int) -> tuple[int, int] | None:
    """Return how many panels stand beside each other, and their height; the plots
    are as large as they can be.

    None if panels of the least size do not fit.
    """
    sizes = [
        (beside, room // -(-count // beside))
        for beside in range(1, min(count, width // _PANEL) + 1)
    ]
    fits = [
        (min((width // beside) / _PANEL, (height - _FRAME) / _HEIGHT), beside, height)
        for beside, height in sizes
        if height >= _HEIGHT + _FRAME
    ]
    return max(fits)[1:] if fits else None


def _cut(name: str, length: int) -> str:
    """Shorten a name to a length."""
    return name if len(name) <= length else f"{name[: max(length - 1, 0)]}…"
