"""Friction feed-forward: one sample at a time, in MuJoCo's preallocated buffers.

For a single sample, the batch code spends most of its time on NumPy's overhead. Here
MuJoCo computes the dynamics of the tree, and joints with the same law are evaluated in
one call (`laws_at_once`).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.laws_at_once import LawsAtOnce, Waves
from stribeck.ident.calibration.reactions import Reactions
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.quantity import COMPONENTS
from stribeck.ident.memory.joint_memory import MemoryState
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.files.to_mujoco import compile_mechanism
from stribeck.ident.model.loads import LOAD_PARTS, joint_loads
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.temperature.joint_temperature import each_temperature


class Feedforward:
    """Friction torque of every joint at one sample, as a controller needs it.

    ``feedforward(q, dq, ddq, temperature)`` equals ``calibration.friction`` of the same sample.
    Joints that friction heats are cold at first; ``warm`` follows their states, which ``warmth``
    holds, for `temperature`. A calibration from ``calibration.with_offset()`` includes torque
    offsets. Not thread-safe: calls share buffers. A closed chain uses the batch code, which takes
    some milliseconds per sample.

    Parameters
    ----------
    mechanism : Mechanism
        Model for the loads: ``calibration.mechanism``, or the arm with its present tool.
    calibration : Calibration
        Laws, loads, parameters and bearings by joint name.

    Raises
    ------
    InputError
        If the calibration has a joint that the mechanism lacks.
    ModelError
        If the mechanism is a closed chain with all its joints, instead of its driven joints.

    Examples
    --------
    >>> from stribeck import Calibration, Feedforward
    >>> calibration = Calibration.load("data/golden")
    >>> feedforward = Feedforward(calibration.mechanism, calibration)
    >>> (feedforward([0.3], [0.1]) + feedforward.rigid([0.3], [0.1])).round(2)       # friction and gravity
    array([-1.41])
    """

    def __init__(self, mechanism: Mechanism, calibration: Calibration) -> None:
        import mujoco

        if calibration.motors.motors and mechanism.transmission is None:
            raise InputError(
                f"{mechanism.name}: the calibration has friction of motors that move several "
                "joints, but this mechanism has no transmission; use calibration.mechanism, or "
                "state the transmission in the arm file"
            )
        for name in calibration.joints:
            if name not in mechanism.names:
                raise InputError(
                    f"{mechanism.name}: {unknown_name('joint', name, mechanism.names)}; the "
                    "calibration names this joint"
                )
        self.names = mechanism.names
        self._name, self._shape = mechanism.name, (mechanism.n,)
        self._state = np.zeros((3, mechanism.n))
        self._joints = calibration.joints
        self._warming = [
            (column, joint, joint.temperature)
            for column, name in enumerate(self.names)
            if (joint := self._joints.get(name)) is not None and joint.temperature is not None
        ]
        self._bodies = {
            column: np.zeros(len(own.heating.times))
            for column, _, own in self._warming
            if own.heating is not None
        }
        self.forget()
        self._chain = None if mechanism.chain is None else (mechanism, calibration)
        if self._chain is not None:
            return

        # from here on joints are counted as MuJoCo counts them, depth first
        tree, followers = mechanism.tree, mechanism.followers
        model = compile_mechanism(mechanism)
        data = mujoco.MjData(model)
        place = np.array([model.joint(name).id for name in tree.names])
        self._places = place[: mechanism.n]
        self._followers = tuple(
            (int(k), one.leader, one.ratio, one.shift)
            for k, one in zip(place[mechanism.n :], followers, strict=True)
        )
        self._motion = data.qpos, data.qvel, data.qacc
        self._mujoco_steps = tuple(
            partial(step, model, data)
            for step in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel)
        )
        self._reactions, self._parts = (
            Reactions(model, data, np.arange(tree.n)),
            np.zeros((len(LOAD_PARTS), mechanism.n)),
        )
        joints = [calibration.joints.get(name) for name in self.names]
        self._laws, self._waves = LawsAtOnce(joints, mechanism.prismatic), Waves.of(joints)
        self._of_motors = np.array(
            [calibration.motors.moves(mechanism.transmission, name) for name in self.names]
        )
        self._coupled, self._motors = mechanism.transmission, calibration.motors

    def __call__(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction of every joint at one sample, or sample by sample along a motion.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (n,) or (N, n)
            Joint positions, velocities and accelerations [rad or m, and per s, s²];
            accelerations default to zero.
        temperature : array_like, shape (), (n,) or, along a motion, (N, n), optional
            Temperatures as for `Calibration.friction`, such as `warmth`.

        Returns
        -------
        ndarray, shape (n,) or (N, n)
            Friction [N·m or N]; nan where a joint was not calibrated or its load is unknown.

        Raises
        ------
        InputError
            If a shape does not fit the mechanism or a value is not finite.
        """
        if np.ndim(q) == 2:
            return self._along(self, q, dq, ddq, temperature)
        self._take(q, dq, ddq)
        if self._chain is not None:
            mechanism, calibration = self._chain
            state, rate, acceleration = self._state[:, None]
            return calibration.friction_on(mechanism, state, rate, acceleration, temperature)[0]
        friction = self._at_reference()
        if temperature is not None:
            warm = each_temperature(temperature, self._shape)
            for column, joint, _ in self._warming:
                if not np.isnan(warm[column]):
                    load = joint.load_of(partial(self._load_at, column))
                    w = self._state[1, [column]]
                    friction[column] += float(
                        (joint.torque(w, load, warm[column]) - joint.torque(w, load))[0]
                    )
        return friction

    def _at_reference(self) -> Array:
        """Return friction of every joint at the present state and its
        reference temperature, shape (n,).
        """
        self._move()
        rigid, w = self._drive(), self._state[1]
        friction = self._laws.torque(w, self._parts, rigid)
        friction[self._of_motors & np.isnan(friction)] = 0.0
        if self._coupled is not None:
            friction += self._motors.torque(self._coupled, w)
        if self._waves is not None:
            friction += self._waves(self._state[0], w)
        return np.asarray(friction + self._laws.offset)

    @property
    def warmth(self) -> Array:
        """State of self-heating of every joint, shape (n,); nan for joints without it."""
        out = np.full(self._shape, np.nan)
        for column, _, own in self._warming:
            if own.heating is not None:
                out[column] = own.heating.state(self._bodies[column])
        return out

    def warm(self, dt: float) -> None:
        """Let friction at the sample of the last call heat the joints for a time [s]."""
        for column, joint, own in self._warming:
            if own.heating is not None:
                load, w = joint.load_of(partial(self._load_at, column)), self._state[1, [column]]
                torque = joint.torque(
                    w, load, min(own.heating.state(self._bodies[column]), own.range[1])
                )
                self._bodies[column] = own.heating.advanced(
                    self._bodies[column], float((torque * w)[0]), dt
                )

    def follow(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Friction of every joint at the next sample of a motion, with the
        memory of joints that have one.

        Call it once per sample, in order, or with the next samples together; `forget` begins a new
        motion. Without memory it equals ``feedforward(q, dq, ddq)``.

        Parameters
        ----------
        q, dq, ddq, temperature : array_like, shape (n,) or (N, n)
            As for the friction.

        Returns
        -------
        ndarray, shape (n,) or (N, n)
            Friction [N·m or N].
        """
        if np.ndim(q) == 2:
            return self._along(self.follow, q, dq, ddq, temperature)
        friction = self(q, dq, ddq, temperature)
        warm = None if temperature is None else each_temperature(temperature, self._shape)
        for column, joint, memory in self._memories:
            position, w = (float(row[column]) for row in self._state[:2])
            level = float(
                joint.dry_level(
                    [w],
                    joint.load_of(partial(self._load_at, column)),
                    None if warm is None else warm[column],
                )[0]
            )
            friction[column] += memory.follow(position, w, level) - level * np.sign(w)
        return friction

    def forget(self) -> None:
        """Begin a new motion: all memories are those of a joint that rests without friction."""
        self._memories = [
            (column, joint, MemoryState(joint.memory))
            for column, name in enumerate(self.names)
            if (joint := self._joints.get(name)) is not None and joint.memory is not None
        ]

    def _load_at(self, column: int, kind: str) -> Array:
        """Return the load of a joint at the present state, shape (1,)."""
        if self._chain is not None:
            return joint_loads(self._chain[0], *self._state[:, None]).get(kind)[:, column]
        if kind in COMPONENTS and self._joints[self.names[column]].components:
            return self._parts[LOAD_PARTS.index(kind), [column]]
        return self._laws.load(self._parts)[[column]]

    def rigid(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike | None = None) -> Array:
        """Return the rigid-body torque of the drives, without rotors and friction, shape
        (n,) or (N, n) [N·m or N].

        Parameters and errors as for the friction.
        """
        if np.ndim(q) == 2:
            return self._along(self.rigid, q, dq, ddq)
        self._take(q, dq, ddq)
        if self._chain is not None:
            return inverse_dynamics(self._chain[0], *self._state[:, None])[0]
        self._move()
        return self._drive()

    def _along(
        self,
        at: Callable[..., Array],
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike | None,
        temperature: ArrayLike | None = None,
    ) -> Array:
        """Call a method at each sample of a motion, shape (N, n)."""
        motion = (q, dq) if ddq is None else (q, dq, ddq)
        if len({np.shape(one) for one in motion}) > 1:
            raise InputError(
                f"q, dq and ddq have shapes {', '.join(str(np.shape(one)) for one in motion)}; all "
                "must have the same shape"
            )
        if temperature is None:
            return np.array(
                [at(*state) for state in zip(*map(np.asarray, motion), strict=True)]
            ).reshape(-1, *self._shape)
        rows = (
            q,
            dq,
            np.zeros(np.shape(q)) if ddq is None else ddq,
            each_temperature(temperature, np.shape(q)),
        )
        return np.array([at(*state) for state in zip(*map(np.asarray, rows), strict=True)]).reshape(
            -1, *self._shape
        )

    def _drive(self) -> Array:
        """Return the torques of the drives at the present state, shape (n,), and
        keep the parts of the loads.
        """
        parts, tau = self._reactions.update()
        for follower, leader, ratio, _ in self._followers:
            tau[self._places[leader]] += ratio * tau[follower]
        tau = tau[self._places]
        self._parts[:] = parts[:, self._places]
        # what gears transmit
        self._parts[0] = np.abs(
            tau if self._coupled is None else self._coupled.torque_of_motors(tau)
        )
        return np.asarray(tau)

    def _take(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike | None) -> None:
        """Check a state and copy it into the buffers."""
        state = self._state
        for row, value in enumerate((q, dq, ddq)):
            if value is None and row == 2:
                state[2] = 0.0
                continue
            value = np.asarray(value, dtype=float)
            if value.shape != self._shape:
                raise InputError(
                    f"{('q', 'dq', 'ddq')[row]} has shape {value.shape}, {self._name} needs "
                    f"{self._shape}: one value for each of {', '.join(self.names)}"
                )
            state[row] = value
        if not np.isfinite(state).all():
            row, column = np.argwhere(~np.isfinite(state))[0]
            raise InputError(
                f"{('q', 'dq', 'ddq')[row]} of joint {self.names[column]} is not a finite number: "
                f"{state[row, column]}; finite numbers are needed"
            )

    def _move(self) -> None:
        """Set MuJoCo's tree to the state and compute the reaction of every link."""
        for values, own in zip(self._motion, self._state, strict=True):
            values[self._places] = own
            for follower, leader, ratio, _ in self._followers:
                values[follower] = ratio * own[leader]
        for follower, _, _, shift in self._followers:
            self._motion[0][follower] += shift
        for step in self._mujoco_steps:
            step()
