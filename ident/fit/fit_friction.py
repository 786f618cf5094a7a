r"""Fit of a friction law to the points of one joint.

For given nonlinear parameters (such as the Stribeck velocity), a law is linear in the other
parameters. Variable projection searches the nonlinear parameters, first on a grid, then closely
(`variable_projection`); the misfit around the optimum gives the intervals (`intervals`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array, group_index
from stribeck.ident.errors import FitError, InputError, unknown_name
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.outliers import LOSSES, fit_robustly
from stribeck.ident.fit.points import CONSTANT, FitPoints, worth
from stribeck.ident.laws.law_table import laws_on_offer

# part of points with torque against the motion, from which the sign of the torque is wrong
_REVERSED = 0.8


def fit_friction(
    velocity: ArrayLike,
    torque: ArrayLike,
    load: ArrayLike | None = None,
    group: ArrayLike | None = None,
    law: str = "auto",
    loss: str = "auto",
    std: ArrayLike | None = None,
    constant: str = "fit",
) -> FitResult:
    """Fit friction to points of one joint.

    Parameters
    ----------
    velocity, torque : array_like, shape (N,)
        Signed joint velocity [rad/s] and friction torque [N·m], without gravity and offset. With
        data of one direction only, an offset cannot be told from Coulomb friction.
    load : array_like, shape (N,), optional
        Load of each point [N·m]; competes with "no load part".
    group : array_like, shape (N,), optional
        Round trip of each point; points of a round trip share an error. Default: one round trip for
        each point, which is wrong for samples of a stroke and makes intervals far too narrow. Round
        trips are taken as measured in the order in which they first appear; if their levels
        correlate in this order, intervals are widened.
    law : str
        A name in `LAWS`, or "auto" to let all laws compete.
    loss : str
        "squares"; "huber": round trips with residuals beyond `HUBER` standard deviations count
        less, for logs with outliers; "auto": "huber" if there are outliers.
    std : array_like, shape (N,), optional
        Scatter of the samples of each point [N·m]. If it differs much within round trips,
        points are weighted by its inverse square; the weight of a whole round trip follows
        from the noise of its level.
    constant : str
        "fit": friction may have a part that does not grow with the load; "none": Coulomb and static
        friction are proportional to the load.

    Returns
    -------
    FitResult

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not numbers.
    FitError
        If the torque is zero or opposes the motion, or there are too few round trips or speeds;
        says how many are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import fit_friction, stribeck
    >>> w = np.repeat(np.geomspace(0.01, 1.5, 20), 2) * np.tile([1.0, -1.0], 20)     # 20 round trips, there and back
    >>> torque = stribeck(w, 6.0, 8.0, 0.05, 11.0) + 0.02 * np.random.default_rng(0).standard_normal(40)
    >>> fit = fit_friction(w, torque, group=np.repeat(np.arange(20), 2))
    >>> fit.law, round(fit.values["coulomb"], 1), fit.parameters["coulomb"].verdict
    ('stribeck', 6.0, 'identified')
    """
    from stribeck.ident.fit.choice.selection import select
    from stribeck.ident.fit.residuals.holding import with_lack_of_fit

    data = _checked(velocity, torque, load, group, std)
    loads = {"none": None} if data.load is None else {"none": None, "load": data.load}
    if constant not in CONSTANT:
        raise unknown_name("constant part", constant, CONSTANT)
    if constant == "none":
        if data.load is None:
            raise InputError(
                'constant = "none" makes friction proportional to a load, but load is missing; '
                "give the load of "
                "each point"
            )
        data, loads = replace(data, constant=False), {"load": data.load}
    laws = laws_on_offer(law)
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    selected, _ = fit_robustly(data, lambda points: select(points, loads, laws), loss)
    chosen = with_lack_of_fit(selected, load=data.load)
    residual = np.full(np.shape(velocity), np.nan)
    residual[np.asarray(velocity, dtype=float) != 0.0] = chosen.residual
    return replace(chosen, residual=residual)


def _checked(
    velocity: ArrayLike,
    torque: ArrayLike,
    load: ArrayLike | None,
    group: ArrayLike | None,
    std: ArrayLike | None,
) -> FitPoints:
    w, tau = _numbers("velocity", velocity), _numbers("torque", torque)
    if w.ndim != 1 or tau.ndim != 1:
        raise InputError(
            f"velocity has shape {w.shape}, torque has {tau.shape}; both need (N,), the points of "
            "one joint"
        )
    labels = np.arange(len(w)) if group is None else np.asarray(group)
    pressed = None if load is None else _numbers("load", load)
    numbered = labels if labels.dtype.kind == "f" else None
    scatter = None if std is None else _numbers("std", std)
    for name, values in (
        ("velocity", w),
        ("torque", tau),
        ("load", pressed),
        ("group", numbered),
        ("std", scatter),
    ):
        if values is None:
            continue
        if values.shape != w.shape:
            raise InputError(
                f"{name} has shape {values.shape}, velocity has {w.shape}; all need (N,)"
            )
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(
                f"{name} is not a finite number in row {row}: {values[row]}; remove this row"
            )
    if labels.shape != w.shape:
        raise InputError(f"group has shape {labels.shape}, velocity has {w.shape}; all need (N,)")
    moving = w != 0.0
    if not moving.any():
        raise FitError("the velocity is zero in every point; friction shows only in motion")
    if not tau[moving].any():
        raise FitError(
            "the torque is zero in every point; the torque signal is dead or not recorded"
        )
    against = float(np.mean(w[moving] * tau[moving] < 0.0))
    if against > 0.5:
        raise FitError(
            f"the torque opposes the motion in {against:.0%} of the points: "
            + (
                "the sign of the torque or of the velocity is wrong"
                if against > _REVERSED
                else "noise or another torque hides the friction, or the torque changes its sign "
                "against the velocity"
            )
        )
    if scatter is not None and (scatter < 0.0).any():
        raise InputError(
            f"std is negative in row {int(np.argmax(scatter < 0.0))}; a standard deviation is "
            "zero or positive"
        )
    trips = group_index(labels[moving])
    return FitPoints(
        w[moving],
        tau[moving],
        None if pressed is None else pressed[moving],
        trips,
        count=None if scatter is None else worth(scatter[moving], trips),
    )


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds values that are not numbers; numbers of shape (N,) are needed"
        ) from None
