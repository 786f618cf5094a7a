"""Which law and load: candidates compete on round trips that were left out; the simpler wins ties."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ident.errors import FitError
from ident.fit import LEAST_ROUND_TRIPS, FitResult, fit_law, supports
from ident.friction import AUTO, Law, law_named
from ident.mechanism import Array
from ident.projection import Data, Design, linear_names, prior_rows
from ident.regression import Noise, group_sum

CLAIM = 2.0             # standard errors by which a richer candidate must predict better
ORDER = ("none", "normal", "torque", "bending", "load")     # which load wins an exact tie
_MATTERS = 0.02         # least part of friction that a load must explain over its range
_RIDGE = 1e-12


@dataclass(frozen=True)
class Candidate:
    """One contender: law, load, its held-out error [N·m], and why it was dismissed, if it was; how directions differ in it."""

    law: str
    load: str
    held_out_rmse: float
    parameters: int
    dismissed: str = ""
    directional: str = "none"


@dataclass(frozen=True)
class Selection:
    """The chosen fit and the table of all candidates."""

    chosen: FitResult
    candidates: tuple[Candidate, ...]


def select(data: Data, loads: Mapping[str, Array | None], laws: tuple[str, ...] = AUTO,
           directional: Mapping[str, Mapping[str, Array]] | None = None) -> Selection:
    """Let laws, loads and differences between the directions compete for the points of one joint.

    Parameters
    ----------
    data : Data
        Points; its own `load` is ignored.
    loads : mapping of str to ndarray or None
        Loads on offer by name; "none" is None.
    laws : tuple of str
        Laws on offer.
    directional : mapping of str to mapping of str to ndarray, optional
        Differences between the directions on offer: name -> their columns, as in `Data.nuisance`. Default: "none".

    Returns
    -------
    Selection

    Raises
    ------
    FitError
        If no candidate has enough round trips and speeds.
    """
    if data.groups < LEAST_ROUND_TRIPS:
        raise FitError(f"{data.groups} round trip(s) found, at least {LEAST_ROUND_TRIPS} are needed")
    ways = directional or {"none": {}}
    offered = [(law_named(law), load, way) for law in laws for load in loads for way in ways if supports(data, law_named(law))]
    if not offered:
        speeds = len(np.unique(np.round(np.log(np.abs(data.w)), 1)))
        raise FitError(f"{speeds} different speed(s) are too few for the law(s) {', '.join(laws)}")
    count = [len(law.parameters(load != "none")) + len(ways[way]) for law, load, way in offered]
    order = sorted(range(len(offered)), key=lambda k: (count[k], ORDER.index(offered[k][1])))
    offered = [offered[k] for k in order]
    datas = [replace(data, load=loads[load], nuisance={**data.nuisance, **ways[way]}) for _, load, way in offered]
    fits = [fit_law(own, law, load, polish=False) for own, (law, load, _) in zip(datas, offered, strict=True)]
    noise = min(fits, key=lambda fit: fit.rmse).noise           # one noise model, so that errors compare
    errors = [_held_out(own, law, noise, fit.values) for own, (law, _, _), fit in zip(datas, offered, fits, strict=True)]
    dismissed = [_unphysical(fit, own) for fit, own in zip(fits, datas, strict=True)]
    k = _simplest_of_the_best([error[0] for error in errors], dismissed)
    law, load, way = offered[k]
    chosen = replace(fit_law(datas[k], law, load), held_out_rmse=_rmse(errors[k][1], data), directional=way)
    table = tuple(Candidate(law.name, load, _rmse(error[1], data), count[index], reason, way)
                  for index, (law, load, way), error, reason in zip(order, offered, errors, dismissed, strict=True))
    return Selection(chosen, table)


def _simplest_of_the_best(errors: list[Array], dismissed: list[str]) -> int:
    """First candidate, in order of complexity, that the best one does not beat by `CLAIM` standard errors."""
    alive = [k for k in range(len(errors)) if not dismissed[k]] or [0]
    best = min(alive, key=lambda k: (round(float(errors[k].mean()), 9), k))
    for k in alive:
        worse = errors[k] - errors[best]
        if worse.mean() <= CLAIM * worse.std(ddof=1) / np.sqrt(len(worse)) and (k == best or _as_good(errors, k, alive)):
            return k
    return best


def _as_good(errors: list[Array], k: int, alive: list[int]) -> bool:
    """Whether no other living candidate beats k by `CLAIM` standard errors."""
    for other in alive:
        worse = errors[k] - errors[other]
        if worse.mean() > CLAIM * worse.std(ddof=1) / np.sqrt(len(worse)) > 0.0:
            return False
    return True


def _unphysical(fit: FitResult, data: Data) -> str:
    """Why a fit cannot be what its law means, or an empty text."""
    values = fit.values
    if "stribeck_velocity" in values:
        found = fit.parameters["stribeck_velocity"].verdict
        if found == "at bound":
            return "its Stribeck velocity lies at the edge of the measured speeds: curvature, not a Stribeck effect"
        if found == "unidentifiable":
            return "the data do not tell its Stribeck velocity"
        if _fall(fit, data) <= CLAIM * fit.rmse / np.sqrt(data.groups):
            return "friction does not fall with speed: curvature of the viscous part would look the same"
    if fit.load != "none" and values["coulomb_coefficient"] <= 0.0:
        return "friction does not grow with the load"
    if data.load is not None and values["coulomb_coefficient"] * np.ptp(data.load) < _MATTERS * np.median(np.abs(data.tau)):
        return "the load's part of friction is negligible"
    return ""


def _fall(fit: FitResult, data: Data) -> float:
    """How far the fitted friction falls from the slowest speed to its least, at the greatest load."""
    speed = np.geomspace(np.abs(data.w).min(), np.abs(data.w).max(), 64)
    load = None if data.load is None else np.full_like(speed, data.load.max())
    friction = fit.predict(speed, load)
    return float(friction[0] - friction.min())


def _held_out(data: Data, law: Law, noise: Noise, whole: Mapping[str, float]) -> tuple[Array, Array]:
    """Prediction errors of every round trip by a fit without it; `whole` are the parameters of the fit with all.

    Returns
    -------
    whitened : ndarray, shape (G,)
        Sum of squared whitened errors of each round trip, as log(1 + sum): one trip left out at the end of the
        range, which a wrong law misses by far, must not drown all others.
    plain : ndarray, shape (N,)
        Errors of the points [N·m].
    """
    design = Design.of(data, law, whole)
    raw, A = design.columns, design.whitened(noise)
    scale = np.sqrt(np.sum(A**2, axis=1, keepdims=True))
    scale[scale == 0.0] = 1.0
    A, raw = A / scale, raw / scale
    b = noise.whiten(data.tau, data.group)
    gram = group_sum((A[:, :, :, None] * A[:, :, None, :]).swapaxes(0, 1), data.group).swapaxes(0, 1)    # (K, G, p, p)
    right = group_sum((A * b[:, None]).swapaxes(0, 1), data.group).swapaxes(0, 1)                        # (K, G, p)
    power = group_sum(b**2, data.group)
    known = prior_rows(data, linear_names(data, law)) / scale                                            # (K, P, p)
    prior = (known[:, :, :, None] * known[:, :, None, :]).sum(axis=1, keepdims=True)
    rest_gram = gram.sum(axis=1, keepdims=True) - gram + prior + _RIDGE * np.eye(A.shape[2])
    rest_right = right.sum(axis=1, keepdims=True) - right
    beta = np.linalg.solve(rest_gram, rest_right[..., None])[..., 0]                          # (K, G, p)
    misfit = power.sum() - power - np.einsum("kgp,kgp->kg", beta, rest_right)
    best = beta[np.argmin(misfit, axis=0), np.arange(data.groups)]                            # (G, p)
    choice = np.argmin(misfit, axis=0)[data.group]
    rows = np.arange(len(b))
    plain = data.tau - np.einsum("np,np->n", raw[choice, rows], best[data.group])
    white = b - np.einsum("np,np->n", A[choice, rows], best[data.group])
    return np.log1p(group_sum(white**2, data.group)), plain


def _rmse(errors: Array, data: Data) -> float:
    return float(np.sqrt(np.mean(errors**2)))
