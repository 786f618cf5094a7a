"""Calibrated friction of batches of states, in the array library of the velocities:
NumPy, JAX, torch and others.

A simulation that adds friction as a torque is stable with very small steps only, because the torque
changes its sign with the velocity. Simulators therefore solve for the friction that stops a joint,
within a limit. `BatchedFriction.limits` gives this limit, the damping that the simulator integrates
implicitly, and the torque that is no friction.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stribeck.ident.arrays import Numbers, library_of, like
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.model.loads import LOAD_PARTS, LOADS, JointLoads, load_weights
from stribeck.ident.ripple.wave import COGGING, ripple_torque

STILL = 1e-9  # rad/s or m/s; friction at rest is that at this speed
_ZERO = 1e-30  # N² or (N·m)²; least square of a length
# of the greatest calibrated speed, where the split of friction is computed
_SPEEDS = np.geomspace(1e-3, 1.0, 40)


class FrictionLimits(NamedTuple):
    """Friction as simulators take it, in arrays of the library of the
    velocities, shape (..., n) as these.

    Attributes
    ----------
    frictionloss : array
        Limit of the dry friction: MuJoCo's `dof_frictionloss` [N·m or N].
    damping : array
        Viscous part for the implicit integration: `dof_damping` [N·m·s/rad or N·s/m].
    offset : array
        Torque of the drive against torque offset and cogging, which act at rest, too. Subtract it
        from the applied torques [N·m or N].
    """

    frictionloss: Numbers
    damping: Numbers
    offset: Numbers


class BatchedFriction:
    """Friction of the calibrated joints for any number of states at once.

    The library, type and device of the velocities are those of the result. Functions can
    be traced, mapped and differentiated (`jax.jit`, `jax.vmap`, `jax.grad`, torch
    autograd and `torch.compile`).

    Parameters
    ----------
    calibration : Calibration
        Friction by joint name. ``calibration.with_offset()`` includes torque offsets. Friction is
        that of steady sliding, without memory.

    Attributes
    ----------
    names : tuple of str
        Calibrated joints, the last axis of all arrays.
    needs : tuple of str
        Keys that `loads` must have: the loads with which friction grows, and "tau" if driving
        differs from back-driving.

    Raises
    ------
    InputError
        If motors move several joints each and share their friction among them.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import BatchedFriction, Calibration
    >>> friction = BatchedFriction(Calibration.load("data/golden"))
    >>> friction.needs
    ('torque',)
    >>> dq, loads = np.array([[0.1], [-0.1], [0.0]]), {"torque": np.array([[2.0], [2.0], [2.0]])}
    >>> friction(dq, loads).round(2)                            # arrays of jax.numpy and tensors of torch likewise
    array([[ 2.46],
           [-2.46],
           [ 0.  ]])
    >>> limit, damping, _ = friction.limits(dq, loads)          # dry friction at these speeds, and viscous friction
    >>> (limit + damping * abs(dq)).round(2)
    array([[2.46],
           [2.46],
           [3.2 ]])
    """

    def __init__(self, calibration: Calibration) -> None:
        if calibration.motors.motors:
            raise InputError(
                f"{calibration.arm}: its motors move several joints each and share their friction "
                "among them, which "
                "is no friction of a joint; use Feedforward and apply its torques"
            )
        self.names = tuple(calibration.joints)
        self._joints = tuple(calibration.joints.values())
        kinds = {kind for joint in self._joints for kind in _loads_of(joint)}
        self._growths = tuple(_growth(joint) for joint in self._joints)
        self.needs = tuple(kind for kind in (*LOADS, "tau") if kind in kinds)

    def __call__(
        self,
        dq: Numbers,
        loads: Mapping[str, Numbers] | JointLoads | None = None,
        q: Numbers | None = None,
        temperature: Numbers | None = None,
    ) -> Numbers:
        """Friction torque of every joint, zero at rest.

        Parameters
        ----------
        dq : array, shape (..., n)
            Velocities [rad/s or m/s].
        loads : mapping of str to array, or JointLoads
            Loads by name, shape (..., n) each; those of `needs`. `tau` is the signed
            rigid-body torque of the drives.
        q : array, shape (..., n), optional
            Positions, needed for joints whose friction ripples [rad or m].
        temperature : array_like, shape (), (n,) or (..., n), optional
            Temperatures of the drives [°C]; None and nan stand for the temperature at which
            a joint's parameters hold.

        Returns
        -------
        array, shape (..., n)
            Torque that the drive adds to the rigid-body torque [N·m or N].

        Raises
        ------
        InputError
            If the last axis does not have a value for each joint, a load or the positions are
            missing, or a law of a plug-in computes with NumPy only.
        """
        given = self._given(dq, loads, q, temperature)
        return _joined(dq, [self._column(k, given) for k in range(len(self.names))])

    def limits(
        self,
        dq: Numbers,
        loads: Mapping[str, Numbers] | JointLoads | None = None,
        q: Numbers | None = None,
        temperature: Numbers | None = None,
        way: Numbers | None = None,
    ) -> FrictionLimits:
        """Friction as simulators take it: limit of dry friction, damping and offset.

        Set both before each step. Friction that falls with speed is in the limit.

        Parameters
        ----------
        dq, loads, q, temperature
            As for the friction.
        way : array, shape (..., n), optional
            Direction in which joints at rest are going to move, 1 or -1; default forward. It
            matters if directions differ.
        """
        xp = library_of(dq := like(dq, dq))
        still = xp.abs(dq) <= STILL
        if way is not None:
            _check_states({"dq": dq, "way": like(dq, way)})
        way = xp.where(still, 1.0 + 0.0 * dq if way is None else like(dq, way), xp.sign(dq))
        speed = xp.clip(xp.abs(dq), STILL, None)
        given = self._given(way * speed, loads, q, temperature)
        friction, damping, offset = [], [], []
        for k, joint in enumerate(self._joints):
            alone = joint.offset + 0.0 * speed[..., k]
            if waves := [wave for wave in joint.ripple if wave.kind == COGGING]:
                alone = alone + ripple_torque(waves, given["q"][..., k], given["dq"][..., k])
            offset.append(alone)
            friction.append(self._column(k, given) - alone)
            damping.append(
                _damping(
                    joint,
                    self._growths[k],
                    given["temperature"][..., k] if "temperature" in given else None,
                )
                + 0.0 * speed[..., k]
            )
        damped = _joined(dq, damping)
        return FrictionLimits(
            xp.clip(way * _joined(dq, friction) - damped * speed, 0.0, None),
            damped,
            _joined(dq, offset),
        )

    def loads(self, force: Numbers, moment: Numbers, axis: Numbers) -> dict[str, Numbers]:
        """Loads of the joints from the reactions that a simulator computes, for
        `loads` of the other methods.

        Parameters
        ----------
        force, moment : array, shape (..., n, 3)
            Force on the links beyond each joint, and moment about the joint's origin [N, N·m].
        axis : array, shape (..., n, 3)
            Unit vectors of the joint axes, in the same axes.

        Returns
        -------
        dict of str to array, shape (..., n)
            The loads of `needs`, by name.
        """
        xp = library_of(force)
        along, about = (xp.sum(vector * axis, axis=-1) for vector in (force, moment))
        across, bent = (
            _length(vector - part[..., None] * axis)
            for vector, part in ((force, along), (moment, about))
        )
        slides = [joint.parameters["coulomb"].unit == "N" for joint in self._joints]
        tau = xp.stack(
            [(along if slide else about)[..., k] for k, slide in enumerate(slides)], axis=-1
        )
        parts = dict(
            zip(LOAD_PARTS, (xp.abs(tau), bent, across, xp.abs(along), xp.abs(about)), strict=True)
        )
        if "normal" in self.needs:
            weights = np.transpose(
                [
                    load_weights(
                        "none" if joint.bearing is None else "normal", joint.bearing, slide
                    )
                    for joint, slide in zip(self._joints, slides, strict=True)
                ]
            )
            parts["normal"] = sum(
                like(tau, weight) * part
                for weight, part in zip(weights, parts.values(), strict=True)
            )
        return {kind: {**parts, "tau": tau}[kind] for kind in self.needs}

    def _given(
        self,
        dq: Numbers,
        loads: Mapping[str, Numbers] | JointLoads | None,
        q: Numbers | None,
        temperature: Numbers | None,
    ) -> dict[str, Numbers]:
        """Return the arguments by name, in arrays of the library of the velocities."""
        if not isinstance(loads, JointLoads | Mapping | None):
            raise InputError(
                f"loads is {type(loads).__name__}; a dictionary of arrays by the name of the load, "
                "or the result of joint_loads, is needed"
            )
        known = vars(loads) if isinstance(loads, JointLoads) else dict(loads or {})
        if missing := [kind for kind in self.needs if kind not in known]:
            raise InputError(
                f"loads has {', '.join(known) or 'nothing'}, but friction of the joints depends on "
                f"{', '.join(missing)}; pass each with one value per joint"
            )
        if q is None and (
            rippling := [
                name for name, joint in zip(self.names, self._joints, strict=True) if joint.ripple
            ]
        ):
            raise InputError(
                f"q is None, but friction of {', '.join(rippling)} ripples with the position; "
                "pass the positions"
            )
        given = {
            name: like(dq, value)
            for name, value in {
                "dq": dq,
                "q": q,
                **{kind: known[kind] for kind in self.needs},
            }.items()
            if value is not None
        }
        for name, value in given.items():
            if tuple(value.shape[-1:]) != (len(self.names),):
                raise InputError(
                    f"{name} has shape {tuple(value.shape)}; its last axis needs {len(self.names)} "
                    f"values, one for each of {', '.join(self.names)}"
                )
        if temperature is not None:
            given["temperature"] = like(dq, temperature)
        _check_states(given)
        if temperature is not None:
            given["temperature"] = given["temperature"] + 0.0 * given["dq"]
        return given

    def _column(self, k: int, given: Mapping[str, Numbers]) -> Numbers:
        """Return the friction of one joint, shape (...)."""
        joint, one = self._joints[k], {name: value[..., k] for name, value in given.items()}
        return joint.friction(
            one.get("q"),
            one["dq"],
            joint.load_of(one.__getitem__),
            one.get("tau"),
            one.get("temperature"),
        )


def _check_states(given: Mapping[str, Numbers]) -> None:
    """Raise InputError unless all arrays broadcast to one shape with the
    joints of the velocities.
    """
    shapes = {name: tuple(value.shape) for name, value in given.items()}
    try:
        fits = np.broadcast_shapes(*shapes.values())[-1] == shapes["dq"][-1]
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"{', '.join(f'{name} has shape {shape}' for name, shape in shapes.items())}; all need "
            "the shape of dq, or one that NumPy spreads to it"
        )


def damping_of(joint: JointCalibration) -> float:
    """Return the damping that leaves at least the dry part of friction at all calibrated
    speeds and at the least load.
    """
    return float(_damping(joint, _growth(joint), None))


def _growth(joint: JointCalibration) -> float:
    """Return the least growth of friction with speed, over all calibrated
    speeds and at the least load.
    """
    speed = joint.velocity_range[1] * _SPEEDS
    load = None
    if joint.load != "none":
        least = np.zeros(len(joint.components)) if joint.components else np.zeros(())
        load = np.broadcast_to(least, (len(speed), *least.shape))
    return float(np.min((joint.torque(speed, load) - joint.dry_level(speed, load)) / speed))


def _damping(joint: JointCalibration, growth: float, temperature: Numbers | None) -> Numbers:
    """Return the part of the growth with speed that both directions have, at temperatures [°C]."""
    warm = (
        1.0
        if temperature is None or joint.temperature is None
        else joint.temperature.factors(temperature)[1]
    )
    left = growth * warm - (abs(joint.difference) if joint.directional == "viscous" else 0.0)
    return max(left, 0.0) if isinstance(left, float) else library_of(left).clip(left, 0.0, None)


def _loads_of(joint: JointCalibration) -> tuple[str, ...]:
    """Names of the loads with which the friction of a joint grows, and "tau" if driving
    differs from back-driving.
    """
    own = joint.components or (() if joint.load == "none" else (joint.load,))
    return (*own, "tau") if joint.directional == "driving" else own


def _length(vector: Numbers) -> Numbers:
    """Return lengths along the last axis, with a finite derivative at zero."""
    xp = library_of(vector)
    return xp.sqrt(xp.clip(xp.sum(vector**2, axis=-1), _ZERO, None))


def _joined(dq: Numbers, columns: list[Numbers]) -> Numbers:
    return library_of(dq).stack(columns, axis=-1)
