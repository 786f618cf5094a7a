"""Calibrated friction in a MuJoCo simulation: the whole law at every step, with load,
direction, temperature and memory.

MuJoCo limits the friction of a joint by one number, `dof_frictionloss`, and solves for the friction
that stops it within this limit. That is stable with steps of milliseconds, because it cannot push a
joint past rest. So the limit is set anew before each step, to the friction of the law at the
present speed and load. Three additions make it exact:

- Growth with speed goes into `dof_damping`, which MuJoCo integrates implicitly.
- A soft constraint rubs too little before a joint stops, and lets a joint at rest creep. The
  constraint is made as hard and as fast as MuJoCo allows, and what it held in the last step becomes
  a torque, so that it has nothing left to hold.
- Friction with a memory is a spring for small motion. Its torque is applied, and its slope over the
  step is added to the damping (implicit Euler), which is stable for any stiffness.

Torques are applied by the joint's spring, whose rest position is set so that it pulls as wanted:
programs write into `qfrc_applied` themselves.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.laws_at_once import LawsAtOnce, Waves
from stribeck.ident.calibration.reactions import Reactions
from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.export.descriptions.mujoco_joint import HARD, holds_friction
from stribeck.ident.memory.joint_memory import MemoryState
from stribeck.ident.model.loads import LOAD_PARTS
from stribeck.ident.ripple.wave import COGGING, FRICTION
from stribeck.ident.simulators.batched_friction import STILL, damping_of
from stribeck.ident.temperature.joint_temperature import each_temperature

if TYPE_CHECKING:
    import mujoco

# fields of the model that are set;
# MuJoCo has polynomials since 3.7
_OF_DOF = (
    "dof_frictionloss",
    "dof_damping",
    "dof_solimp",
    "dof_solref",
    "dof_dampingpoly",
)
# must not be disabled
_NEEDED = {
    "mjDSBL_SPRING": "spring",
    "mjDSBL_DAMPER": "damper",
    "mjDSBL_FRICTIONLOSS": "frictionloss",
    "mjDSBL_CONSTRAINT": "constraint",
}
# N·m/rad or N/m; spring of a joint without a spring of its own, by which torques are applied
_SOFT = 1e-3
_HELD = 1e-4  # rad/s or m/s; slower joints whose friction is below its limit are held
_BELOW = 1.0 - 1e-6  # of the limit: friction above this part is at the limit


def attach(
    model: "mujoco.MjModel", data: "mujoco.MjData", calibration: Calibration, prefix: str = ""
) -> "MujocoFriction":
    """Let the joints of a MuJoCo simulation rub as calibrated.

    Parameters
    ----------
    model : mujoco.MjModel
        Model with the calibrated joints. Their `frictionloss`, `damping`, `solimpfriction` and
        `solreffriction` are replaced, `springref` is moved, and their bristles, offsets and cogging
        from ``export --to mjcf`` are switched off.
    data : mujoco.MjData
        Its state.
    calibration : Calibration
        Friction by joint name. ``calibration.with_offset()`` includes torque offsets.
    prefix : str
        Text before each joint name in the model, such as "robot/".

    Returns
    -------
    MujocoFriction
        Call its `step` in place of `mujoco.mj_step`, or its `update` before each `mujoco.mj_step`.

    Raises
    ------
    InputError
        If the data belong to another model, the model lacks a calibrated joint, a joint is neither
        hinge nor slide, has a spring that is not linear, or a load that is unknown, motors share
        their friction among joints, memory meets the integrator RK4, or the model disables
        friction, damping or springs.

    Examples
    --------
    >>> import mujoco
    >>> from stribeck import Calibration
    >>> from stribeck.mujoco import attach
    >>> model = mujoco.MjModel.from_xml_string(
    ...     '<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/>'
    ...     '<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/></body></worldbody></mujoco>')
    >>> data = mujoco.MjData(model)
    >>> with attach(model, data, Calibration.load("data/golden")) as friction:
    ...     data.qvel[0] = 0.5
    ...     friction.step(1000)
    >>> bool(abs(data.qvel[0]) < 1e-6)
    True
    """
    return MujocoFriction(model, data, calibration, prefix)


class MujocoFriction:
    """Friction of the calibrated joints of one simulation; see `attach`.

    As a context, it gives the model its own friction back at the end.

    Attributes
    ----------
    names : tuple of str
        Calibrated joints, in the order of all arrays.
    """

    def __init__(
        self,
        model: "mujoco.MjModel",
        data: "mujoco.MjData",
        calibration: Calibration,
        prefix: str = "",
    ) -> None:
        import mujoco

        if (data.qpos.shape, data.qvel.shape) != ((model.nq,), (model.nv,)):
            raise InputError(
                f"data holds {len(data.qpos)} positions and {len(data.qvel)} velocities, the "
                f"model {model.nq} and "
                f"{model.nv}: it belongs to another model; make it by mujoco.MjData(model)"
            )
        self.names = tuple(calibration.joints)
        self._attached = True
        self._model, self._data, self._mujoco = model, data, mujoco
        self._stated = [calibration.joints[name] for name in self.names]
        joints = np.array([_joint(model, calibration, name, prefix) for name in self.names])
        if calibration.motors.motors:
            raise InputError(
                f"{calibration.arm}: its motors move several joints each and share their friction "
                "among them, which "
                "MuJoCo's joint friction cannot express; use Feedforward and apply its torques"
            )
        if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4 and any(
            joint.memory is not None for joint in self._stated
        ):
            raise InputError(
                "friction with memory needs an implicit integrator, but the model has RK4; set "
                "integrator = "
                '"implicitfast"'
            )
        if off := [
            word
            for flag, word in _NEEDED.items()
            if model.opt.disableflags & int(getattr(mujoco.mjtDisableBit, flag, 0))
        ]:
            raise InputError(
                f"model.opt.disableflags is {model.opt.disableflags}, which disables "
                f"{', '.join(off)}; friction needs it, so clear the flag"
            )
        self._slides = model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_SLIDE
        self._dof, self._place = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
        self._reactions = Reactions(model, data, joints)
        self._unloaded = np.zeros((len(LOAD_PARTS), len(joints))), np.zeros(len(joints))
        self._fields = {
            **{name: self._dof for name in _OF_DOF if hasattr(model, name)},
            "jnt_stiffness": joints,
            "qpos_spring": self._place,
        }
        self._before = {
            name: getattr(model, name)[rows].copy() for name, rows in self._fields.items()
        }
        if "dof_dampingpoly" in self._fields:
            model.dof_dampingpoly[self._dof] = 0.0
        self._sprung = self._before["jnt_stiffness"] != 0.0
        self._spring = np.where(self._sprung, self._before["jnt_stiffness"], _SOFT)
        model.jnt_stiffness[joints] = self._spring
        named = [prefix + name for name in self.names]
        self._exported = [
            k
            for k in range(len(model.actuator_trnid))
            if holds_friction(model.actuator(k).name, named)
        ]
        self._gear = model.actuator_gear[self._exported].copy()
        model.actuator_gear[self._exported] = 0.0
        model.dof_solimp[self._dof] = HARD
        # stops a joint in one step, not gradually
        model.dof_solref[self._dof] = 2.0 * model.opt.timestep, 1.0
        self._no_memory = np.array([joint.memory is None for joint in self._stated])
        self.reset()
        self.temperature = None

    @property
    def temperature(self) -> Array | None:
        """Temperature of each joint [°C], or None for those at which the joints were calibrated."""
        return self._temperature

    @temperature.setter
    def temperature(self, values: Any) -> None:
        own = self._stated
        self._temperature = None if values is None else each_temperature(values, (len(own),))
        if self._temperature is not None:
            own = [
                joint.at_temperature(float(value))
                for joint, value in zip(own, self._temperature, strict=True)
            ]
        self._laws = LawsAtOnce(own, self._slides)
        self._cogging, self._ripple = Waves.of(own, (COGGING,)), Waves.of(own, (FRICTION,))
        self._damping = np.array([damping_of(joint) for joint in own])

    def __enter__(self) -> "MujocoFriction":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    def detach(self) -> None:
        """Give the joints the friction and damping back that the model had before; a
        second call has no effect.
        """
        if not self._attached:
            return
        self._attached = False
        for name, values in self._before.items():
            getattr(self._model, name)[self._fields[name]] = values
        self._model.actuator_gear[self._exported] = self._gear

    def reset(self) -> None:
        """Forget what joints hold and remember, as after `mujoco.mj_resetData`; `update`
        does so where time goes back.
        """
        self._memories = {
            k: MemoryState(joint.memory)
            for k, joint in enumerate(self._stated)
            if joint.memory is not None
        }
        self._way, self._hold, self._applied = (
            np.ones(len(self.names)),
            np.zeros(len(self.names)),
            np.zeros(len(self.names)),
        )
        self._time = self._data.time

    def step(self, count: int = 1) -> None:
        """Simulate a number of steps with friction."""
        for _ in range(count):
            self.update()
            self._mujoco.mj_step(self._model, self._data)

    @property
    def torque(self) -> Array:
        """Friction that the joints felt in the last step, against the motion positive as for
        `Calibration.friction`, (n,).
        """
        data = self._data
        return np.asarray(
            self._model.dof_damping[self._dof] * data.qvel[self._dof] - self._held() - self._applied
        )

    def update(self) -> None:
        """Set the friction of the next step from the present motion and the loads of the last step.

        Raises
        ------
        InputError
            After `detach`, as at the end of a ``with`` block.
        """
        if not self._attached:
            raise InputError(
                f"joint {self.names[0]}: its friction is detached from the MuJoCo model, but a "
                "step needs it; attach it anew, or step with mujoco.mj_step"
            )
        model, data = self._model, self._data
        if data.time < self._time:
            self.reset()
        # MuJoCo has made a step, in which its friction held this in addition
        if data.time > self._time:
            self._hold = self._hold + self._held()
        self._time = data.time
        parts, drive = self._reactions.update() if self._laws.loaded else self._unloaded
        q, w = data.qpos[self._place], data.qvel[self._dof]
        self._way = np.where(np.abs(w) > STILL, np.sign(w), self._way)
        speed = np.maximum(np.abs(w), STILL)
        friction = self._laws.torque(self._way * speed, parts, drive)
        if self._ripple is not None:
            friction += self._ripple(q, self._way)
        limit = np.maximum(self._way * friction - self._damping * speed, 0.0)
        stuck = (np.abs(w) < _HELD) & (np.abs(self._hold) < _BELOW * limit) & self._no_memory
        self._hold = np.where(stuck, self._hold, 0.0)
        applied, damping = self._hold - self._laws.offset, self._damping.copy()
        if self._cogging is not None:
            applied -= self._cogging(q, w)
        limit -= np.abs(self._hold)
        for k, memory in self._memories.items():
            torque, slope = memory.ahead(
                float(q[k]), float(w[k]), float(limit[k]), model.opt.timestep
            )
            applied[k] -= torque
            damping[k] += slope
            limit[k] = 0.0
        model.dof_frictionloss[self._dof], model.dof_damping[self._dof] = limit, damping
        model.qpos_spring[self._place] = (
            np.where(self._sprung, self._before["qpos_spring"], q) + applied / self._spring
        )
        self._applied = applied

    def _held(self) -> Array:
        """Return the torque with which MuJoCo's friction constraint acted on each joint in
        the last step, shape (n,).
        """
        data, out = self._data, np.zeros(self._model.nv)
        rows = slice(data.ne, data.ne + data.nf)
        of_joints = data.efc_type[rows] == self._mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
        out[data.efc_id[rows][of_joints]] = data.efc_force[rows][of_joints]
        return np.asarray(out[self._dof])


def _joint(model: "mujoco.MjModel", calibration: Calibration, name: str, prefix: str) -> int:
    """Return the number of a calibrated joint in the model."""
    import mujoco

    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, prefix + name)
    if number < 0:
        known = [str(model.joint(k).name) for k in range(model.njnt)]
        raise InputError(
            f"the MuJoCo model: {unknown_name('joint', prefix + name, known)}; the calibration of "
            f"{calibration.arm} names this joint"
        )
    if model.jnt_type[number] not in tuple(
        map(int, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
    ):
        raise InputError(
            f"the MuJoCo model: the joint {prefix + name} is a ball or free joint; a calibrated "
            "joint is a hinge or a slide"
        )
    if np.any(getattr(model, "jnt_stiffnesspoly", np.zeros(number + 1))[number]):
        raise InputError(
            f"the MuJoCo model: the spring of joint {prefix + name} is a polynomial; friction "
            "needs a linear spring, or none"
        )
    own = calibration.joints[name]
    if own.load == "normal" and own.bearing is None:
        raise InputError(
            f"{name}: its friction grows with the normal load, but the calibration states no "
            "bearing"
        )
    return number
