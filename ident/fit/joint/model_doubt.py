"""What the model's torque of one joint may be beside what it is: the inertia of links as the other joints leave it open."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.points import DOUBT


@dataclass(frozen=True)
class ModelDoubt:
    """Torque of a joint beside the model's: shift + columns @ x with independent x of deviation 1 about zero.

    Attributes
    ----------
    shift : ndarray, shape (N,)
        At the points [N·m or N].
    columns : ndarray, shape (N, r)
        The same.
    """

    shift: Array
    columns: Array

    @property
    def named(self) -> Mapping[str, Array]:
        """The columns by the names that they have in a fit."""
        return {f"{DOUBT}{k}": column for k, column in enumerate(self.columns.T)}


Doubts = Callable[[FitResult | None], ModelDoubt]       # of a joint whose friction is not known yet, or known to grow with a load
