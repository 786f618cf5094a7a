r"""Inertial parameters of every link from sampled motion and joint wrenches, with
unobservable parameters named (P1).

The wrenches of a link's own joint and of its children's joints are known. Newton's and Euler's
equations are then linear in the parameters of the link:

.. math:: F = m (a - g) + \dot\omega \times h + \omega \times (\omega \times h), \qquad
          N = h \times (a - g) + J \dot\omega + \omega \times J \omega

about a point P of the link with acceleration a, in link axes, with h = m (c - P). P is the centre
of mass if it is known (then h = 0), else the joint origin. Exact wrenches return inertias to
rounding; wrenches of the paper's cylinders that are rounded to six digits return inertias with
errors of tenths of kg·m².
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stribeck.ident.arrays import Array
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.model.maximal.bodies import Bodies, body_motion
from stribeck.ident.model.mechanism import Mechanism

_NAMES = ("mass", "cx", "cy", "cz", "Jxx", "Jyy", "Jzz", "Jxy", "Jxz", "Jyz")
_GROUP = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # columns in kg, kg·m, kg·m²
_ROW, _COLUMN = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
_STILL = 1e-9  # rad/s or m/s²; smaller rates count as rest
UNKNOWNS = {"principal": [0, 4, 5, 6], "full": [0, 4, 5, 6, 7, 8, 9], "all": list(range(10))}


@dataclass(frozen=True)
class LinkInertia:
    """Inertial parameters of one link; nan for parameters that the motion does not show.

    Attributes
    ----------
    name : str
        Joint that carries the link.
    mass : float
        Mass [kg].
    com : ndarray, shape (3,)
        Centre of mass from the joint's origin, link axes [m].
    inertia : ndarray, shape (3, 3)
        Inertia about the centre of mass, link axes [kg·m²].
    condition : float
        Condition number of the scaled regressor, with the columns of identified parameters;
        nan without such columns.
    unobservable : tuple of str
        Parameters that are not identified: "mass", "cx" .. "cz", "Jxx" .. "Jyz".
    reason : str
        Why parameters are not identified; empty if all are.
    residual : ndarray, shape (2,)
        Root mean square residual of force [N] and moment [N·m].
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    condition: float
    unobservable: tuple[str, ...]
    reason: str
    residual: Array

    def __str__(self) -> str:
        if not self.unobservable:
            return (
                f"link {self.name}: all parameters identified, condition number "
                f"{self.condition:.3g}"
            )
        return f"link {self.name}: {', '.join(self.unobservable)} unobservable: {self.reason}"


def recover_inertia(
    mechanism: Mechanism,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike,
    unknown: str = "principal",
    resolution: float = 1e-8,
) -> tuple[LinkInertia, ...]:
    """Identify mass, inertia and, on request, centre of mass of every link by least
    squares over all samples.

    Parameters
    ----------
    mechanism : Mechanism
        Axes, origins, gravity and, unless they are unknown, centres of mass. Masses
        and inertias are not used.
    q, dq, ddq : array_like, shape (N, n)
        Joint positions, velocities and accelerations [rad or m, per s, per s²].
    force, moment : array_like, shape (N, n, 3)
        Wrench of each joint on its subtree, about the joint origin, base axes [N, N·m].
    unknown : {"principal", "full", "all"}
        "principal": mass and Jxx, Jyy, Jzz, as in the paper, without products of inertia; "full":
        mass and all six inertias; "all": also the centre of mass.
    resolution : float
        Smallest effect, relative to the fastest motion of the mechanism, that counts as observable.
        The default is for exact data. For measured motion, state the relative noise: smaller
        effects would be fits of noise.

    Returns
    -------
    tuple of LinkInertia
        One for each link, in the order of `mechanism.names`.

    Raises
    ------
    InputError
        If a shape does not fit, a value is not finite, there is no sample, `unknown` is none of the
        three choices, or `resolution` is not between 0 and 1.
    ModelError
        If the mechanism has closures or followers.

    References
    ----------
    Cheng et al., Machines 10 (2022) 499, Table 1; the paper identifies each link from one sample.
    """
    if unknown not in UNKNOWNS:
        raise unknown_name("choice of unknown parameters", unknown, UNKNOWNS)
    if not 0.0 < resolution < 1.0:
        raise InputError(
            f"resolution = {resolution:g} must lie between 0 and 1; state the relative noise of "
            "the data"
        )
    point = np.zeros((mechanism.n, 3)) if unknown == "all" else mechanism.com
    bodies = body_motion(replace(mechanism, com=point), q, dq, ddq)
    F, N = _net_wrenches(mechanism, bodies, point, force, moment)
    # in link axes, link first
    a, w, dw, F, N = (
        np.einsum("ijba,ijb->jia", bodies.rotation, vector)
        for vector in (
            bodies.acceleration - mechanism.gravity,
            bodies.angular_velocity,
            bodies.angular_acceleration,
            F,
            N,
        )
    )
    if w.shape[1] == 0:
        raise InputError(
            f"{mechanism.name}: inertial parameters need at least one sample; found none"
        )
    turns = ~mechanism.prismatic
    fall = max(np.abs(a).max(), _STILL)
    rate = max(
        np.abs(dq).max(where=turns, initial=_STILL),
        np.sqrt(np.abs(ddq).max(where=turns, initial=_STILL**2)),
    )
    # greatest effect of a unit of each parameter
    size = np.array([fall, fall, rate**2])[_GROUP]
    found = []
    for i, name in enumerate(mechanism.names):
        Y, b = _regressor(a[i], w[i], dw[i]), np.hstack((F[i], N[i])).ravel()
        theta, seen, condition = _solve(Y, b, np.array(UNKNOWNS[unknown]), size, resolution)
        residual = np.sqrt(np.mean(np.sum((b - Y @ theta).reshape(-1, 2, 3) ** 2, axis=2), axis=0))
        mass, com, inertia = _about_com(
            np.where(seen, theta, np.nan), None if unknown == "all" else point[i]
        )
        missing = tuple(
            n
            for n, value in zip(_NAMES, (mass, *com, *inertia[_ROW, _COLUMN]), strict=True)
            if np.isnan(value)
        )
        reason = _reason(missing, np.vstack((w[i] / rate, dw[i] / rate**2)), resolution)
        found.append(LinkInertia(name, mass, com, inertia, condition, missing, reason, residual))
    return tuple(found)


def _net_wrenches(
    m: Mechanism, bodies: Bodies, point: Array, force: ArrayLike, moment: ArrayLike
) -> tuple[Array, Array]:
    """Net wrench of all joints on each link, about its point P; shape (N, n, 3) each."""
    samples = len(bodies.position)
    force, moment = _vectors("force", force, m, samples), _vectors("moment", moment, m, samples)
    arm = -np.einsum("ijab,jb->ija", bodies.rotation, point)  # P -> joint origin
    F, N = force.copy(), moment + np.cross(arm, force)
    for j, p in enumerate(m.parent):
        if p >= 0:
            F[:, p] -= force[:, j]
            N[:, p] -= moment[:, j] + np.cross(
                bodies.position[:, j] + arm[:, j] - bodies.position[:, p], force[:, j]
            )
    return F, N


def _regressor(a: Array, w: Array, dw: Array) -> Array:
    """Force and moment of one link per parameter, shape (6 N, 10); `a` is acceleration minus
    gravity, all in link axes.
    """
    Y = np.zeros((len(a), 6, 10))
    spin = _skew(dw) + _skew(w) @ _skew(w)
    Y[:, :3, 0], Y[:, :3, 1:4], Y[:, 3:, 1:4] = a, spin, -_skew(a)
    Y[:, 3:, 4:] = _inertia_times(dw) + _skew(w) @ _inertia_times(w)
    return Y.reshape(-1, 10)


def _solve(
    Y: Array, b: Array, unknown: NDArray[np.int_], size: Array, resolution: float
) -> tuple[Array, NDArray[np.bool_], float]:
    """Least squares over observable directions: parameters (10,), a mask of determined ones,
    and their condition number.
    """
    scaled = Y[:, unknown] / size[unknown] / np.sqrt(len(Y))
    U, s, Vt = np.linalg.svd(scaled, full_matrices=False)
    rank = int(np.sum(s > resolution))
    theta, seen = np.zeros(10), np.ones(10, dtype=bool)
    theta[unknown] = Vt[:rank].T @ (U[:, :rank].T @ b / s[:rank]) / size[unknown] / np.sqrt(len(Y))
    seen[unknown] = 1.0 - np.sum(Vt[:rank] ** 2, axis=0) < max(resolution**2, 1e-12)
    columns = Y[:, [k for k in unknown if seen[k]]]
    group = _GROUP[[k for k in unknown if seen[k]]]
    length = np.linalg.norm(columns, axis=0)
    s = np.linalg.svd(columns / [length[group == g].max() for g in group], compute_uv=False)
    return theta, seen, float(s[0] / s[-1]) if len(s) else np.nan


def _about_com(theta: Array, com: Array | None) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and inertia about the centre of mass, from parameters about P; P
    is `com` if that is known.
    """
    mass, six = float(theta[0]), theta[4:]
    if com is None:
        # a nan component must not spoil parameters independent of it
        com = x, y, z = theta[1:4] / mass
        six = six - mass * np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2, -x * y, -x * z, -y * z])
    J = np.empty((3, 3))
    J[_ROW, _COLUMN] = J[_COLUMN, _ROW] = six
    return mass, com, J


def _reason(missing: tuple[str, ...], turning: Array, resolution: float) -> str:
    """Return why parameters are unobservable, from angular velocities and accelerations in
    link axes, shape (2 N, 3).
    """
    reasons = ["the link fell freely"] if "mass" in missing else []
    if set(missing) - {"mass"}:
        _, s, axes = np.linalg.svd(turning, full_matrices=False)
        directions = int(np.sum(s > resolution * np.sqrt(len(turning))))
        axis = np.round(axes[0] * np.sign(axes[0][np.argmax(np.abs(axes[0]))]), 3) + 0.0
        reasons.append(
            (
                "the link did not turn",
                f"the link turned only about ({', '.join(f'{x:g}' for x in axis)})",
                "this motion cannot separate these parameters",
            )[min(directions, 2)]
        )
    return " and ".join(reasons)


def _inertia_times(v: Array) -> Array:
    """Matrix whose product with (Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) is J v, shape (N, 3, 6)."""
    x, y, z = v.T
    o = np.zeros_like(x)
    return np.array([[x, o, o, y, z, o], [o, y, o, x, o, z], [o, o, z, o, x, y]]).transpose(2, 0, 1)


def _skew(v: Array) -> Array:
    """Matrix of the cross product, shape (N, 3, 3)."""
    x, y, z = v.T
    o = np.zeros_like(x)
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]]).transpose(2, 0, 1)


def _vectors(name: str, values: ArrayLike, m: Mechanism, samples: int) -> Array:
    """Return the values as an array, checked for shape (N, n, 3) and finite entries."""
    array = np.asarray(values, dtype=float)
    if array.shape != (samples, m.n, 3):
        raise InputError(
            f"{name} has shape {array.shape}, {m.name} needs ({samples}, {m.n}, 3): samples, "
            "joints, components"
        )
    if not np.isfinite(array).all():
        row, joint, _ = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name} of joint {m.names[joint]} is not finite in row {row}; finite numbers are "
            "needed"
        )
    return array
