"""The live picture for the Rerun viewer, or a recording for it: motion and
friction points of each joint.
"""

from typing import Any

from stribeck.experiments.cli.screen.curve_plot import spread
from stribeck.experiments.cli.screen.live import VIEW, Joints


class Viewer(Joints):
    """The picture of `live`, which is also sent to Rerun.

    The head contains ``to`` in addition to the data of `live`: a file name or `VIEW`.
    """

    def __init__(self, head: dict[str, Any]) -> None:
        import rerun
        import rerun.blueprint as layout

        super().__init__(head)
        self._drawn: dict[int, int] = {}
        self._stream = rerun.RecordingStream("stribeck", recording_id=head["recording"])
        tabs = []
        for name, place, force in (
            (head["names"][j], head["position_units"][j], head["units"][j])
            for j in head["measured"]
        ):
            lines = (("position", place), ("velocity", f"{place}/s"), ("torque", force))
            tabs.append(
                layout.Vertical(
                    *(
                        layout.TimeSeriesView(origin=f"{name}/{what}", name=f"{what} {unit}")
                        for what, unit in lines
                    ),
                    layout.Spatial2DView(
                        origin=f"{name}/friction", name=f"friction {force} over the speed"
                    ),
                    name=name,
                )
            )
        blueprint = layout.Blueprint(layout.Tabs(*tabs))
        if head["to"] == VIEW:
            self._stream.spawn(default_blueprint=blueprint)
        else:
            self._stream.save(head["to"], default_blueprint=blueprint)

    def add(self, row: dict[str, Any]) -> None:
        """Add a sample."""
        import rerun

        super().add(row)
        self._stream.set_time("robot time", duration=row["done"])
        for j in self._head["measured"]:
            name = self._head["names"][j]
            for what, key in (("position", "q"), ("velocity", "dq"), ("torque", "tau")):
                self._stream.log(f"{name}/{what}", rerun.Scalars(row[key][j]))
            points = self.curves.points.get(j, [])
            if len(points) != self._drawn.get(j, 0):
                self._drawn[j] = len(points)
                self._stream.log(
                    f"{name}/friction",
                    self._curve(points, self._head["position_units"][j], self._head["units"][j]),
                )

    @staticmethod
    def _curve(points: list[tuple[float, float]], place: str, force: str) -> Any:
        """Return the friction points with negative ordinate, because the second axis
        of a 2D view points down.
        """
        import rerun

        labels = [f"{speed:.3g} {place}/s: {friction:.3g} {force}" for speed, friction in points]
        return rerun.Points2D(
            [(right, -up) for right, up in spread(points)], radii=0.01, labels=labels
        )
