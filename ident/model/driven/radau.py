r"""Radau IIA collocation for implicit second-order equations of motion, given by their residual.

Accelerations are a polynomial of degree s - 1 that obeys the equations of
motion at s points of a step,

.. math:: a_i = \ddot y(t_0 + c_i h), \quad \dot y_i = \dot y_0 + h \sum_j A_{ij} a_j, \quad
          y_i = y_0 + c_i h \dot y_0 + h^2 \sum_j (A^2)_{ij} a_j.

The method has order 2 s - 1 and is L-stable: it damps motion that is much faster than a step. The
last point is the end of the step. All points are evaluated together, as a batch.

References
----------
Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.5 and IV.8.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import legint, legvander

from stribeck.ident.arrays import Array


@dataclass(frozen=True)
class Radau:
    """Coefficients of the method with s points; s is odd."""

    s: int

    @cached_property
    def c(self) -> Array:
        """Points as fractions of a step, shape (s,)."""
        roots = np.sort(np.real((Legendre.basis(self.s) - Legendre.basis(self.s - 1)).roots()))
        roots[-1] = 1.0
        return np.asarray((roots + 1.0) / 2.0)

    def through(self, theta: Array, integrals: int = 0) -> Array:
        """Return the weights of point values in the interpolation polynomial, or its integrals
        from 0, at theta; (N, s).
        """
        coefficients = self._series[integrals]
        return np.asarray(
            legvander(2.0 * np.asarray(theta) - 1.0, len(coefficients) - 1) @ coefficients
        )

    @cached_property
    def _series(self) -> tuple[Array, ...]:
        """Legendre coefficients of the Lagrange polynomials of the points and of their i-th
        integrals, shapes (s + i, s).
        """
        once: Array = np.asarray(
            np.linalg.inv(legvander(2.0 * self.c - 1.0, self.s - 1)), dtype=np.float64
        )
        twice: Array = np.asarray(legint(once, lbnd=-1, scl=0.5))
        return once, twice, np.asarray(legint(twice, lbnd=-1, scl=0.5))

    @cached_property
    def A(self) -> Array:
        """Weights of point values in the integral from 0 to each point, shape (s, s)."""
        return self.through(self.c, 1)

    @cached_property
    def A2(self) -> Array:
        """Weights of point values in the double integral from 0 to each point, shape (s, s)."""
        return np.asarray(self.A @ self.A)

    @cached_property
    def at_start(self) -> Array:
        """Weights of point values in the interpolation polynomial at the
        start of the step, shape (s,).
        """
        return np.asarray(self.through(np.zeros(1))[0])

    @cached_property
    def gamma(self) -> float:
        """Real eigenvalue of `A`."""
        values = np.linalg.eigvals(self.A)
        return float(np.real(values[np.argmin(np.abs(np.imag(values)))]))
