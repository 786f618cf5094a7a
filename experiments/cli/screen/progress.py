"""Progress bar over robot time, with the present motion."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stribeck.experiments.cli.screen.drawer import drawer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from stribeck.drivers.arm import JointSample
    from stribeck.experiments.plans.plan import Segment
    from stribeck.experiments.recording.follow import Watch
    from stribeck.ident.model.mechanism import Mechanism


@contextmanager
def progress(
    out: "Console", total: float, word: str, mechanism: "Mechanism"
) -> Iterator["Watch | None"]:
    """Draw the bar in a terminal; yields the function that the tracker calls,
    or None without a terminal.
    """
    if not out.is_terminal:
        yield None
        return
    with drawer("bar", {"total": max(total, 1e-9), "word": word}, out.file) as send:

        def watch(segment: "Segment", sample: "JointSample", done: float) -> None:
            send({"done": min(done, total), "said": motion(segment, sample, mechanism)})

        yield watch
        send({"done": total, "said": ""})


class Bar:
    """The picture of `progress`."""

    lasting = True

    def __init__(self, head: dict[str, Any]) -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn(f"{head['word']:<9}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
        )
        self._task = self._bar.add_task("", total=head["total"])

    def add(self, row: dict[str, Any]) -> None:
        """Add a row with the progress and the present motion."""
        self._bar.update(self._task, completed=row["done"], description=row["said"])

    def draw(self) -> "RenderableType":
        """Return the present bar."""
        return self._bar.get_renderable()


def motion(segment: "Segment", sample: "JointSample", mechanism: "Mechanism") -> str:
    """Return a line of constant width about the present motion."""
    if segment.wave is not None:
        return f"{'all joints, periodic motion':<46}"
    if segment.joint is None:
        return f"{'to posture ' + str(segment.posture):<46}"
    joint = mechanism.names.index(segment.joint)
    tau = f"tau {sample.tau[joint]:z7.1f} {mechanism.unit(joint):<3}"
    if segment.kind == "ramp":
        return (
            f"{segment.joint:<8} torque {'grows' if (segment.rate or 0.0) > 0.0 else 'falls':<20} "
            f"{tau}"
        )
    way = (
        "to and fro"
        if segment.kind == "swing"
        else "forward"
        if segment.mirror_of is None
        else "back"
    )
    who = segment.joint if segment.kind == "stroke" else f"all, {segment.joint}"
    return (
        f"{who:<8} {segment.speed:7.3f} {mechanism.position_unit(joint) + '/s':<5} {way:<10} {tau}"
    )
