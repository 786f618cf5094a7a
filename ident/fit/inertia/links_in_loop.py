r"""Test of the unknowns that joints share for bias by the closed control loop, with the
commanded motion as instruments.

`durbin_wu_hausman` has the test for one joint. Joints share y. With information A_j and
moments m_j of joint j by least squares, :math:`\hat A_j, \hat m_j` by instruments
(`two_stage`), and the prior's precision P,

.. math:: y = C \sum_j m_j, \quad C = (P + \sum_j A_j)^{-1}, \qquad \hat y = \hat C \sum_j \hat m_j, \quad d = y - \hat y

Every pass g of a joint contributes a score s to both moments. If least squares is unbiased,
the covariance of d consists of the scatter of these scores and of the different pull of the
prior on the two estimates:

.. math:: \mathrm{cov}\, d = \sum_{j, g} (\hat C \hat s_{jg} - C s_{jg}) (\hat C \hat s_{jg} - C s_{jg})^T
          + (\hat C - C)\, P\, (\hat C - C)

An estimate b^T y is tested only if its instruments are strong. The measure is the F statistic of
:math:`\hat X w` over :math:`V w`, with the weights :math:`w = \hat C b / b^T \hat C b` of the
unknowns and errors that are shared within a pass. If one estimate is biased, all of y is taken from
the instruments, because the parameters of a link must form one possible body.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.joint.closed_loop import (
    BIASED,
    CLEAN,
    LEVEL,
    MATTERS,
    NAMED,
    UNTESTED,
    WEAK,
    ClosedLoop,
)
from stribeck.ident.fit.residuals.durbin_wu_hausman import Contrast
from stribeck.ident.fit.residuals.two_stage import Instrumented

_NORMAL = 1.96


def links_in_loop(plain: InertialFit, through: InertialFit) -> ClosedLoop:
    """Compare least squares and instruments for every parameter that joints share.

    Parameters
    ----------
    plain : InertialFit
        Fit by least squares; its information includes instruments.
    through : InertialFit
        Fit by instruments.
    """
    names, stated, rows = plain.shared.asked
    C, by = plain.covariance_of_y, through.covariance_of_y
    d, std_error, freedom = rows @ (plain.y - through.y), *_scatter(plain, rows @ C, rows @ by)
    # Bonferroni
    p = np.minimum(1.0, 2.0 * len(names) * stdtr(freedom, -np.abs(d) / std_error))
    errors, wider = (np.sqrt(np.einsum("ik,kl,il->i", rows, cov, rows)) for cov in (C, by))
    strength = _first_stages(plain, rows @ by, wider**2)
    columns = (
        stated + rows @ plain.y,
        stated + rows @ through.y,
        std_error,
        p,
        wider / np.maximum(errors, 1e-300),
    )
    contrasts = {
        name: Contrast(*map(float, own))
        for name, own in zip(names, zip(*columns, strict=True), strict=True)
    }
    strong = strength >= WEAK
    if not strong.any():
        return ClosedLoop(
            UNTESTED,
            "the joints do not follow their references closely enough",
            float(strength.max()),
            contrasts,
        )
    sure, half = strong & (p < LEVEL), _NORMAL * errors
    asked, biased, named = (
        tuple(np.array(names)[so].tolist())
        for so in (strong, sure & (np.abs(d) > MATTERS * half), sure & (np.abs(d) > NAMED * half))
    )
    return ClosedLoop(
        BIASED if biased else CLEAN,
        "",
        float(strength[strong].min()),
        contrasts,
        asked,
        biased,
        named,
    )


def by_instruments(plain: InertialFit) -> InertialFit:
    """Return the fit with the same prior and the information by instruments."""
    return replace(
        plain, information={name: one.by_instruments for name, one in plain.information.items()}
    )


def _told(fit: InertialFit) -> Mapping[str, tuple[Instrumented, Array]]:
    """Instruments of each joint, and the matrix (k, k + 1) that eliminates its torque constant."""
    found = {}
    for name, one in fit.information.items():
        assert one.instruments is not None
        found[name] = one.instruments, one.left_by_constant(fit.scatter.constants)
    return found


def _scatter(fit: InertialFit, plain: Array, by: Array) -> tuple[Array, Array]:
    """Standard errors of the differences d and their degrees of freedom, shape (m,).

    `plain` and `by` are the rows b of the parameters times C and times the C of the
    instruments, shape (m, k).
    """
    root = fit.shared.root(fit.scatter)
    held = np.linalg.lstsq(root, (by - plain).T, rcond=None)[0]
    variance, fourth, passes = np.zeros(len(plain)), np.zeros(len(plain)), 0
    for told, left in _told(fit).values():
        each = told.scores @ (by @ left).T - told.plain @ (plain @ left).T
        each = (each - each.mean(axis=0)) * np.sqrt(len(each) / max(1, len(each) - 1))
        variance, fourth = variance + np.sum(each**2, axis=0), fourth + np.sum(each**4, axis=0)
        passes += len(each)
    # Satterthwaite: 3 is the kurtosis of normal scores
    freedom = 3.0 * variance**2 / np.maximum(fourth, 1e-300)
    # degrees of freedom that the fit has used
    variance = variance * passes / max(1, passes - len(plain))
    return np.sqrt(np.maximum(variance + np.sum(held**2, axis=0), 1e-300)), np.maximum(1.0, freedom)


def _first_stages(fit: InertialFit, rows: Array, variance: Array) -> Array:
    """First-stage F statistic of each parameter's instruments, shape (m,)."""
    weights, told, shared = (
        rows / np.maximum(variance, 1e-300)[:, None],
        np.zeros(len(rows)),
        np.zeros(len(rows)),
    )
    for one, left in _told(fit).values():
        own = weights @ left
        told += np.einsum("ik,kl,il->i", own, one.matrix, own)
        shared += np.sum(np.einsum("ik,gkl,il->gi", own, one.left, own, optimize=True) ** 2, axis=0)
    return np.asarray(told**2 / np.maximum(shared, 1e-300))
