r"""Stiffness of a joint whose link oscillates, from motion and torque of the motor.

Behind the gear, a spring K with damping D carries the link, whose angle is not measured.
With the motor's angle :math:`\theta`, the torque s in the spring, rotor B and the link's
inertia M about the joint,

.. math:: s = \tau - B \ddot\theta - \tau_f, \qquad
          s + \tfrac{D}{K}\dot s + \tfrac{M}{K}\ddot s = \tau_{rigid}(\theta) + \tfrac{D}{K}\dot\tau_{rigid}

which is linear in 1/K and D/K (P3's joint flexibility; Spong, J. Dyn. Syst. Meas. Control 109
(1987) 310). The stiffness is identifiable if the motion excites the oscillation of the link with
the motor at rest, :math:`\omega_a = \sqrt{K/M}`, and this frequency is well below the sampling
rate. A constant delay of the torque signal has the same column as D.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from stribeck.ident.arrays import Array, group_index
from stribeck.ident.laws.parameter import Parameter, verdict
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import Log, filtered
from stribeck.ident.log.motion.motion_points import Motion, reduce_motion
from stribeck.ident.log.run import Run
from stribeck.ident.model.dynamics import mass_matrix
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.toml_tables import key_of

_BAND = 2.5  # bandwidth of the fit over the frequency of the oscillation,
_HIGHEST = 0.08  # and its upper limit over the sampling rate
_OF_RATE = 15.0  # least sampling rate over the frequency of the oscillation
_SPARSE = 20  # samples between those at which the link's inertia is computed
# largest part of torque noise in the column of 1/K, which biases 1/K by as much
_NOISE = 0.1


def joint_stiffness(
    runs: Sequence[Run], mechanisms: Sequence[Mechanism], name: str, hertz: float
) -> Parameter:
    """Estimate the stiffness of a joint.

    Parameters
    ----------
    runs, mechanisms : sequence
        Runs of the log, and the model of each run.
    name : str
        The joint.
    hertz : float
        Approximate frequency at which its torque oscillates [Hz].

    Returns
    -------
    Parameter
        [N·m/rad or N/m]; without a value, but with the reason in its note, if the log does
        not identify the stiffness.

    Raises
    ------
    FitError
        If the joint hardly moves.
    """
    unit = "N/m" if mechanisms[0].prismatic[mechanisms[0].names.index(name)] else "N·m/rad"
    rate = 1.0 / float(np.median(np.diff(runs[0].t)))
    if hertz * _OF_RATE > rate:
        return _untold(
            unit,
            f"the log's sampling rate of {rate:.4g} Hz is too low for an oscillation at "
            f"{hertz:.3g} Hz: log at {_OF_RATE * hertz:.0f} Hz or more",
        )
    log = filtered(runs, mechanisms, min(_BAND * hertz, _HIGHEST * rate))
    motion = reduce_motion(log, name)
    joint = mechanisms[0].names.index(name)
    inertia = _link_inertia(log, motion, joint)
    columns, target = _equation(motion, inertia, float(runs[0].rotor_inertia()[joint, joint]))
    noise = _noise_part(motion, columns, float(np.sqrt(np.mean(inertia**2))))
    if noise > _NOISE:
        return _untold(
            unit,
            f"torque noise makes up {noise:.0%} of the torque's second derivative at the "
            "oscillation; log a torque signal with less noise",
        )
    value, error, dof = _compliance(columns, target, motion.between_reversals[motion.points])
    value, error = value / (1.0 - noise), np.hypot(error, noise * value)
    reach = float(student.ppf(0.975, max(1, dof))) * error
    if value - reach <= 0.0:
        return _untold(
            unit, "the interval of its compliance includes zero: the joint may as well be rigid"
        )
    low, high = 1.0 / (value + reach), 1.0 / (value - reach)
    return Parameter(
        1.0 / value, error / value**2, low, high, unit, verdict(1.0 / value, low, high)
    )


def stiffness_finding(name: str, stiffness: Parameter) -> list[Finding]:
    """Return the finding about the stiffness."""
    if stiffness.value is None:
        return [Finding(name, "stiffness", f"{name}: stiffness not identified: {stiffness.note}")]
    half = stiffness.half_width or 0.0
    return [
        Finding(
            name,
            "stiffness",
            f"{name}: stiffness {stiffness.value:.4g} ± {half:.2g} {stiffness.unit} between motor "
            "and link, computed with the model's inertia of the moved links. To correct the "
            "link's position in fits of "
            f"general motion, state this value as joints.{key_of(name)}.stiffness",
        )
    ]


def _untold(unit: str, why: str) -> Parameter:
    return Parameter(None, None, None, None, unit, "unidentifiable", why)


def _equation(motion: Motion, inertia: Array, rotor: float) -> tuple[Array, Array]:
    """Return the filtered columns of the equation, 1/K first, shape (N, p), and the
    torque minus the model's, (N,).
    """

    def rate(values: Array) -> Array:
        return np.asarray(np.gradient(values, motion.dt))

    jerk = rate(motion.ddq)
    swing = -inertia * (rate(rate(motion.tau)) - rotor * rate(jerk))
    columns = (
        swing,
        rate(motion.rigid - motion.tau),
        inertia * rate(jerk),
        jerk,
        motion.ddq,
        motion.dq,
        np.sign(motion.dq),
        np.ones(len(motion.q)),
    )
    return np.column_stack([motion.view(column) for column in columns]), motion.view(
        motion.tau - motion.rigid
    )


def _link_inertia(log: Log, motion: Motion, joint: int) -> Array:
    """Return the inertia about the joint of the links it carries, with other joints fixed,
    along a motion, shape (M,).
    """
    parts = []
    for k, rows in motion.cuts:
        part = log.stretches[k]
        at = np.unique(np.append(np.arange(rows.start, rows.stop, _SPARSE), rows.stop - 1))
        known = mass_matrix(part.mechanism, part.q[at])[:, joint, joint]
        parts.append(np.interp(np.arange(rows.start, rows.stop), at, known))
    return np.concatenate(parts)


def _compliance(columns: Array, target: Array, passes: Array) -> tuple[float, float, int]:
    """Return 1/K by least squares, its standard error with passes as clusters,
    and the degrees of freedom.
    """
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
    A, group = columns / scale, group_index(passes)
    inverse = np.linalg.pinv(A.T @ A)
    beta = inverse @ (A.T @ target)
    scores = np.zeros((int(group.max()) + 1, A.shape[1]))
    np.add.at(scores, group, A * (target - A @ beta)[:, None])
    clusters = len(scores)
    covariance = inverse @ (scores.T @ scores) @ inverse * clusters / max(1, clusters - 1)
    return (
        float(beta[0] / scale[0]),
        float(np.sqrt(covariance[0, 0]) / scale[0]),
        clusters - A.shape[1],
    )


def _noise_part(motion: Motion, columns: Array, inertia: float) -> float:
    """Return the part of torque noise, differentiated twice, in the first column after
    regression on the other columns.
    """
    # motion leaves no third difference
    white = float(np.median(np.abs(np.diff(motion.tau, 3)))) / 0.6745 / np.sqrt(20.0)
    noise = np.random.default_rng(0).standard_normal(len(motion.tau))
    differentiated = motion.view(np.gradient(np.gradient(noise, motion.dt), motion.dt))
    others = columns[:, 1:] / np.maximum(np.abs(columns[:, 1:]).max(axis=0), 1e-300)
    own = columns[:, 0] - others @ np.linalg.lstsq(others, columns[:, 0], rcond=None)[0]
    return float(
        (white * inertia) ** 2 * np.mean(differentiated**2) / max(float(np.mean(own**2)), 1e-300)
    )
