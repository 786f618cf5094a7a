"""The law of a joint as it forms: fits of the points so far, beside the picture,
which does not wait for them.
"""

import os
import sys
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stribeck.experiments.cli.screen.curve_plot import Points
    from stribeck.ident.fit.fit_result import FitResult

LEAST = 5  # points of a first fit
_NICE = 10


@dataclass(frozen=True)
class FormingLaw:
    """What the points of a joint say so far; the load of the joint is not known to the picture.

    Attributes
    ----------
    law, verdict : str
        Best law, and the weakest verdict of its parameters.
    words : str
        Coulomb and viscous friction with their intervals, where the law has them.
    """

    law: str
    verdict: str
    words: str
    _fit: "FitResult"

    def friction(self, speeds: list[float]) -> Sequence[float]:
        """Friction at speeds."""
        return [float(value) for value in self._fit.predict(speeds)]


@dataclass
class FormingLaws:
    """Laws by joint; one fit at a time runs in a thread."""

    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, initializer=_step_back)
    )
    _found: dict[int, FormingLaw] = field(default_factory=dict)
    # joint -> number of points of its last fit
    _of: dict[int, int] = field(default_factory=dict)
    _running: "tuple[int, Future[FormingLaw | None]] | None" = None

    def of(self, joints: "dict[int, Points]") -> dict[int, FormingLaw]:
        """Return the laws that are known, and start the fit of the joint whose
        last fit lacks most points.
        """
        if self._running is not None and self._running[1].done():
            j, done = self._running
            self._running = None
            if (law := done.result()) is not None:
                self._found[j] = law
        news = {
            j: len(points) - self._of.get(j, 0)
            for j, points in joints.items()
            if len(points) >= LEAST
        }
        if self._running is None and any(news.values()):
            j = max(news, key=lambda j: news[j])
            self._of[j] = len(joints[j])
            self._running = j, self._thread.submit(formed, list(joints[j]))
        return self._found


def _step_back() -> None:
    """Give this thread a lower priority than the control loop and the picture, where the system
    knows priorities of threads.
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def formed(points: "Points") -> FormingLaw | None:
    """Fit points; None if they determine no law yet."""
    from stribeck.experiments.report.words import plus_minus
    from stribeck.ident.errors import StribeckError
    from stribeck.ident.fit.fit_friction import fit_friction

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = fit_friction([speed for speed, _ in points], [friction for _, friction in points])
        except StribeckError:
            return None
    own = {name: one for name, one in fit.parameters.items() if one.value is not None}
    rank = ("identified", "weak", "at bound", "unidentifiable")
    words = ", ".join(
        f"{word} {plus_minus(own[name])}"
        for name, word in (("coulomb", "Coulomb"), ("viscous", "viscous"))
        if name in own
    )
    return FormingLaw(
        fit.law, max((one.verdict for one in own.values()), key=rank.index), words, fit
    )
