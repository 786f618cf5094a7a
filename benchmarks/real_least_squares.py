"""The TX40 by plain weighted least squares: Pinocchio's regressor, all joints
together, without slow rows.

Independent of stribeck, except for the model file and the points at which torques are compared.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.signal import butter, cheby1, sosfiltfilt

from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.arrays import Array
from stribeck.ident.log.motion.filtered_motion import filtered
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.log.run import Run

# Hz, cut-off of the position filter; decimation factor of the rows
_CUTOFF, _EVERY = 100.0, 50
_BORDER = 2  # rows left out at each end
_ROUNDS = 4  # iterations of weighting joints by their residuals
# least speed of rows, as a fraction of the joint's greatest speed
LEAST = 0.01


@dataclass(frozen=True)
class Regressor:
    """Torques of the TX40 along a motion, linear in its parameters.

    Attributes
    ----------
    links, joints : ndarray, shape (N, 6, 60), (N, 6, p)
        Regression columns of the links' inertial parameters; columns of rotor inertia, viscous
        friction, Coulomb friction and offset of six joints, of inertia, viscous and Coulomb
        friction of the motor of joint 6, and of delays if requested.
    nominal : ndarray, shape (60,)
        The links' parameters as the URDF states them.
    dq, tau : ndarray, shape (N, 6)
        Velocity [rad/s] and measured torque [N·m].
    """

    links: Array
    joints: Array
    nominal: Array
    dq: Array
    tau: Array

    @classmethod
    def of(cls, log: Run, delays: bool = False) -> "Regressor":
        """Make the columns of a log; positions are filtered forward and
        backward and differentiated.
        """
        import pinocchio as pin

        dt = float(log.t[1] - log.t[0])
        q = sosfiltfilt(butter(4, _CUTOFF, fs=1.0 / dt, output="sos"), log.signals["q"], axis=0)
        dq = np.gradient(q, dt, axis=0)
        ddq = np.gradient(dq, dt, axis=0)
        model = pin.buildModelFromUrdf(str(log.arm.model))
        data = model.createData()
        links = np.array(
            [
                pin.computeJointTorqueRegressor(model, data, *row)
                for row in zip(q, dq, ddq, strict=True)
            ]
        )
        nominal = np.concatenate([one.toDynamicParameters() for one in model.inertias[1:]])
        own = [np.eye(6) * values[:, None] for values in (ddq, dq, np.sign(dq), np.ones_like(dq))]
        # columns of joints 5 and 6 already include its inertia and viscous friction
        motor = np.zeros((len(q), 6, 3))
        motor[:, 4, :2], motor[:, 5, :2] = (
            np.column_stack((ddq[:, 5], dq[:, 5])),
            np.column_stack((ddq[:, 4], dq[:, 4])),
        )
        motor[:, 4:, 2] = np.sign(dq[:, 4] + dq[:, 5])[:, None]
        late = [-np.eye(6) * np.gradient(links @ nominal, dt, axis=0)[:, None]] if delays else []
        return cls(
            links, np.concatenate((*own, motor, *late), axis=2), nominal, dq, log.signals["tau"]
        )

    def fitted(self, least: float = LEAST, trusted: bool = False) -> Array:
        """Parameters of links and joints by weighted least squares over rows faster than a
        part of the greatest speed.

        If `trusted`, the parameters of the links are those of the URDF.
        """
        filter_ = cheby1(8, 0.05, 0.8 / _EVERY, output="sos")
        columns, tau = (
            sosfiltfilt(filter_, values.reshape(len(values), -1), axis=0).reshape(values.shape)[
                ::_EVERY
            ]
            for values in (np.concatenate((self.links, self.joints), axis=2), self.tau)
        )
        moves = np.abs(self.dq[::_EVERY]) > least * np.abs(self.dq).max(axis=0)
        moves[:_BORDER] = moves[-_BORDER:] = False
        joint = np.nonzero(moves)[1]
        A, y, held = columns[moves], tau[moves], len(self.nominal) if trusted else 0
        y, A, weight = y - A[:, :held] @ self.nominal[:held], A[:, held:], np.ones(len(joint))
        for _ in range(_ROUNDS):
            found = _solved(A * weight[:, None], y * weight)
            left = y - A @ found
            weight = 1.0 / np.array([left[joint == k].std() for k in range(6)])[joint]
        return np.append(self.nominal[:held], found)

    def torque(self, parameters: Array) -> Array:
        """Torque along the motion, shape (N, 6) [N·m]."""
        return np.asarray(np.concatenate((self.links, self.joints), axis=2) @ parameters)


def friction(parameters: Array) -> list[tuple[float, float]]:
    """Coulomb and viscous friction of six joints."""
    viscous, coulomb = parameters[66:72].tolist(), parameters[72:78].tolist()
    return list(zip(coulomb, viscous, strict=True))


def crossed(log: Run) -> list[tuple[Run, Run]]:
    """Return pairs of log halves: fitted half and held-out half."""
    middle = len(log.t) // 2
    first, second = (
        replace(
            log,
            path=Path(f"{log.path} {word} half"),
            t=log.t[rows],
            segment=log.segment[rows],
            signals={name: values[rows] for name, values in log.signals.items()},
        )
        for word, rows in (("first", slice(0, middle)), ("second", slice(middle, None)))
    )
    return [(first, second), (second, first)]


def errors_of_least_squares(fitted: Run, other: Run) -> Array:
    """Torque error of six joints on a held-out log, at the points of general motion [N·m]."""
    regressor = Regressor.of(other)
    off = regressor.tau - regressor.torque(Regressor.of(fitted).fitted())
    return np.array([_seen_error(other, name, off[:, k]) for k, name in enumerate(other.names)])


def _seen_error(log: Run, name: str, off: Array) -> float:
    """Root mean square error at the points of a joint."""
    motion = reduce_motion(filtered([log], [load_mechanism(log.arm)]), name)
    seen = motion.view(np.concatenate([off[rows] for _, rows in motion.cuts]))
    return float(np.sqrt(np.mean(seen**2)))


def _solved(A: Array, y: Array) -> Array:
    """Least-squares solution of least norm, for linearly dependent columns."""
    scale = np.linalg.norm(A, axis=0)
    scale[scale < 1e-9 * scale.max()] = 1.0
    return np.asarray(np.linalg.lstsq(A / scale, y, rcond=1e-7)[0] / scale)
