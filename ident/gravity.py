r"""The even part of round trips against the model's gravity: torque scale and offset of each joint.

.. math:: (\tau_+ + \tau_-) / 2 = s\, \tau_g(q) + o

The scale s is the product of torque constant, model masses and gear efficiency; the offset o also holds half
the difference between the directions.
"""

import numpy as np

from ident.advice import more
from ident.friction import unit
from ident.mechanism import Array
from ident.parameter import Parameter, verdict
from ident.regression import Groups, cluster_covariance, estimate_noise, white_noise

SHOWS = 3.0            # the spread of gravity must exceed the scatter of the even part by this factor


def fit_gravity(even: Array, gravity: Array, friction: Array, group: Groups, prismatic: bool = False) -> dict[str, Parameter]:
    """Scale and offset of one joint's torque against gravity.

    Parameters
    ----------
    even, gravity, friction : ndarray, shape (N,)
        Half sums, the model's gravity torque, and the friction that scales their scatter [N·m].
    group : ndarray of int, shape (N,)
        Round trips.
    prismatic : bool
        Whether the joint slides; decides the units.

    Returns
    -------
    dict of str to Parameter
        "scale" and "offset"; the scale is `unidentifiable` where gravity hardly varies.
    """
    scatter = max(float(np.std(even - gravity)), 1e-12)
    shows = float(np.ptp(gravity)) > SHOWS * scatter
    A = np.column_stack((gravity, np.ones_like(even))) if shows else np.ones((len(even), 1))
    target = even if shows else even - gravity
    noise = white_noise(len(even))
    for _ in range(3):
        W, b = noise.whiten(A, group), noise.whiten(target, group)
        beta, *_ = np.linalg.lstsq(W, b, rcond=None)
        noise = estimate_noise(target - A @ beta, friction, group, A.shape[1])
    W, b = noise.whiten(A, group), noise.whiten(target, group)
    beta, *_ = np.linalg.lstsq(W, b, rcond=None)
    intervals = cluster_covariance(W, b - W @ beta, group)
    half, error = intervals.half_width(), intervals.std_error
    found = {}
    for k, name in enumerate(("scale", "offset") if shows else ("offset",)):
        value, low, high = float(beta[k]), float(beta[k] - half[k]), float(beta[k] + half[k])
        # an offset may well be zero: what counts is its interval against friction
        word = verdict(value, low, high) if name == "scale" else verdict(float(np.median(friction)), -half[k], half[k])
        relative = float(half[k]) / (abs(value) if name == "scale" else float(np.median(friction)))
        note = "" if word == "identified" else more(relative, int(group.max()) + 1)
        found[name] = Parameter(value, float(error[k]), low, high, unit(name, prismatic), word, note)
    if not shows:
        spread = float(np.ptp(gravity))
        note = (f"gravity of this joint varies by {spread:.2g} {unit('offset', prismatic)} only" if spread > 1e-3
                else "gravity of this joint does not vary with its position")
        found = {"scale": Parameter(None, None, None, None, "1", "unidentifiable", note), **found}
    return found
