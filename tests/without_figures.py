"""Reports without the figures of joints, which take most of the time of a fit with few runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

FIGURES = ("curve_figure", "gravity_figure", "off_law_figure")


@contextmanager
def without_figures() -> Iterator[None]:
    """Leave these figures out, for tests of other things."""
    from stribeck.experiments.report import page

    with pytest.MonkeyPatch.context() as patch:
        for figure in FIGURES:
            patch.setattr(page, figure, lambda data: "")
        yield
