"""CubeMars AK motors by MIT frames: a ramped position with stiffness, damping and the model's gravity, and a state in reply.

They have no registers, no watchdog, and do not say whether they are powered. A hung program leaves them at the last position of
the ramp, which does not go on by itself.
"""

import time
from collections.abc import Iterator
from typing import Annotated, Any

import can
import numpy as np
from pydantic import Field
from scipy.optimize import minimize

from stribeck.drivers.interrupts import uninterrupted
from stribeck.drivers.mit import mit_frames as mit
from stribeck.drivers.mit.mit_motor import MotorKeys, Shaft
from stribeck.drivers.wire.axis import Reading, Steps
from stribeck.drivers.wire.drive_keys import refuse_shared
from stribeck.drivers.wire.driven_joint import DrivenJoint
from stribeck.drivers.wire.polled.polled_axis import Condition, Frame, PolledAxis, PolledKeys
from stribeck.drivers.wire.polled.polled_link import PolledLink
from stribeck.drivers.wire.transport import can_bits
from stribeck.drivers.wire.velocity_from_positions import Slope
from stribeck.ident.errors import InputError
from stribeck.ident.model.dynamics import inverse_dynamics

_WEAK = 0.1             # part of the damping torque at the slowest speed that gravity may reach where nothing else holds a joint
_POSTURES, _BEST = 500, 5           # in which gravity is looked for, and from how many of which its most is sought
_LISTEN = 0.1           # s for which nobody else may speak to the motors before they are connected
_CONFIRMED = 3          # answers after which a motor is in the mode that it was told each time: one may be to what came before
_STEP = 0.25            # part of the torque limit that a step of the ramp may pull: a frame that is lost makes it two


class DriveKeys(MotorKeys):
    """Keys of ``drive = {...}`` of a joint."""

    motors = mit.CUBEMARS
    id: Annotated[int, Field(ge=1, le=255)]
    kp: Annotated[float, Field(ge=0.0, le=500.0)]       # N·m/rad at the motor's output shaft
    kd: Annotated[float, Field(gt=0.0, le=5.0)]         # N·m·s/rad


class CubemarsAxis(PolledAxis):
    """One AK motor."""

    def __init__(self, joint: DrivenJoint, keys: PolledKeys, drive: DriveKeys) -> None:
        super().__init__(joint, keys)
        self.drive, self.shaft = drive, Shaft(joint, drive)
        step = drive.kp * drive.gear**2 / keys.rate         # N·m·s/rad: torque of a step of the ramp, by velocity
        if (pull := step * joint.velocity) > _STEP * joint.torque:
            raise InputError(f"joints.{joint.name}.drive.kp = {drive.kp:g}: at {joint.velocity:g} {joint.position_unit}/s "
                             f"each step of the position ramp would add {pull:.3g} {joint.torque_unit}, and a lost frame twice "
                             f"as much; at most {_STEP * joint.torque:.3g} {joint.torque_unit}, {_STEP:g} of the torque limit, "
                             "are allowed. Lower kp or velocity, or raise driver.rate")
        if drive.kp and drive.kd > drive.kp * keys.watchdog:
            raise InputError(f"joints.{joint.name}.drive.kd = {drive.kd:g}: if the computer falls silent, the joint runs on for "
                             f"up to kd / kp = {drive.kd / drive.kp:.2g} s at its speed, but plans leave room for "
                             f"driver.watchdog = {keys.watchdog:g} s only. Lower kd, or raise kp or watchdog")
        slow = 0.0 if drive.kp else mit.step(drive.spans.velocity, 12) / drive.gear        # a ramp goes at any velocity
        self.steps = Steps(slow, self.shaft.steps.position, self.shaft.steps.torque, step / 2.0)
        self.gravity = 0.0                  # of the joint, where it is now
        self.released = True                # there is nothing to release
        self._slope = Slope(self.steps.position)
        if drive.kp:
            self.unwatched = "stays powered at its last position"
        self._powered = False
        self._fault = 0                     # error code under power: rest mode, which comes then, forgets it
        self._rested = self._entered = 0    # answers to rest mode since power was to go, to motor mode since it was to come
        self._ramp: tuple[float, float] | None = None       # time and position that it has reached
        self._told: Frame | None = None     # the last set-point
        self._resumed: float | None = None  # when cycles went on after a pause, until the motor has said where the joint is

    @property
    def condition(self) -> Condition:
        """Errors are in its replies; it may have power from when it was told until it has confirmed that it has none."""
        if self.reading is None:
            return "unknown"
        return "fault" if self.reading.status else "powered" if self._powered else "off"

    @property
    def trouble(self) -> str | None:
        """Its error in words."""
        return "silent" if self.reading is None else mit.cubemars_words(self.reading.status)

    def identity(self) -> dict[str, str]:
        """What the arm file says: an AK motor does not."""
        spans = self.drive.spans
        return {"id": str(self.drive.id), "device": self.drive.motor or "MIT", "firmware": "-", "modes": "position ramp",
                "ranges": f"{spans.position:g}, {spans.velocity:g}, {spans.torque:g} (rad, rad/s, N·m; from the arm file)",
                "holds": "no limits"}

    def configure(self) -> None:
        """There is nothing to write; it must reply, without fault. Then rest mode, which a killed program may have left."""
        self.reading = self._goal = self._ramp = self._told = self._resumed = None
        error = self._state() or self._fault
        if error:
            raise self.error(f"has a fault: {mit.cubemars_words(error)}; remove its cause, then clear the fault with stribeck "
                             "check --reset")
        self._powered = False

    def _state(self) -> int:
        """Its error code, asked for outside the cycles with gains of zero, which leave a motor that has power limp.

        So rest mode, in which its brake closes, comes next, whatever becomes of the question; but for a motor with a fault, which
        has no power and would forget it.
        """
        with uninterrupted():
            try:
                error = int(self.ask(self._idle(), "error"))
            except BaseException:
                self.link.send(self._rest())
                raise
            if not error:
                self.ask(self._rest(), "error")
            return error

    def _idle(self) -> Frame:
        return Frame(self.drive.id, mit.pack_command(self.drive.spans, 0.0, 0.0, 0.0, 0.0, 0.0))

    def _rest(self) -> Frame:
        return Frame(self.drive.id, mit.DISABLE)

    def watch(self, on: bool) -> None:
        """It has none."""

    def release(self) -> Iterator[Frame]:
        """Nothing."""
        yield from ()

    def setpoint(self, velocity: float) -> Frame:
        """A frame at the ramp's present end, which goes on from where the joint is powered; rest mode where power is to go."""
        if self._goal == "off":
            return self._rest()
        if self._resumed is not None and self._told is not None:
            return self._told
        shaft, spans = self.shaft, self.drive.spans
        q = self._ramp[1] if self._ramp else self.reading.q if self.reading else self.joint.table.zero_offset
        return Frame(self.drive.id, mit.pack_command(spans, shaft.position(q), shaft.velocity(velocity), self.drive.kp,
                                                     self.drive.kd, shaft.torque(self.gravity)))

    def frames(self) -> Iterator[Frame]:
        """The ramp goes on by the time since the last cycle.

        In a pause of this computer the joint has run on by kd / kp, to where nobody knows. Its motor is told the same once more,
        which changes nothing, and from where it then says that the joint is the ramp begins again.
        """
        now = time.monotonic()
        if self._ramp is not None and self._resumed is None and now - self._ramp[0] > self.keys.watchdog:
            self._resumed = now
        if self._resumed is not None and self.reading is not None and self.reading.t > self._resumed:
            self._ramp = self._resumed = None
        if self._goal in ("follow", "held", "off") and self._powered and self.reading is not None:
            before, q = self._ramp or (now, self.reading.q)
            self._ramp = now, q + self._velocity * min(now - before, 2.0 / self.keys.rate)
        else:
            self._ramp = self._resumed = None
        for frame in super().frames():
            if frame.data not in (mit.ENABLE, mit.DISABLE):
                self._told = frame
            yield frame

    def power_on(self) -> Iterator[Frame]:
        """Motor mode, and once more the set-point: one that came in rest mode may not count."""
        if not self._powered:
            self._powered, self._entered = True, 0
        yield Frame(self.drive.id, mit.ENABLE)
        yield self.setpoint(self._velocity)

    @property
    def doubtful(self) -> bool:
        """Whether motor mode is not confirmed yet: it is told again each cycle until then."""
        return self._entered < _CONFIRMED

    def confirm(self, powered: bool) -> Iterator[Frame]:
        """There are no settings; motor mode again."""
        if powered:
            yield from self.power_on()

    def power_off(self) -> Iterator[Frame]:
        """Rest mode is in place of the set-point, cycle by cycle, until that is answered."""
        yield from ()

    def quick_stop(self) -> None:
        """The ramp's end; rest mode for a motor with a fault, whose brake closes by nothing else."""
        super().quick_stop()
        self._rested = 0

    def disable(self) -> None:
        """Rest mode, which has to be answered."""
        super().disable()
        self._rested = 0

    def questions(self, told: bool) -> Iterator[Frame]:
        """It replies to what it is told; else to gains of zero, or to rest mode where a fault may have left it limp."""
        if not told:
            yield self._rest() if self._powered and self._goal in ("held", "off") else self._idle()

    def reset(self) -> None:
        """Rest mode, in which faults that are over are forgotten."""
        self._state()
        self.ask(self._rest(), "error")
        time.sleep(0.02)
        error = self._fault = self._state()
        if error:
            raise self.error(f"still has its fault after the reset: {mit.cubemars_words(error)}")

    def forget(self) -> None:
        """Positions from before a pause tell no velocity."""
        super().forget()
        self._slope.clear()

    def take(self, frame: Frame) -> None:
        """A state, under the identifier of the motor or of the host."""
        if frame.identifier not in (0, self.drive.id) or not frame.data or frame.data[0] != self.drive.id:
            return
        state = mit.unpack_cubemars(frame.data)
        if state is None:
            self.corrupt += 1
            return
        self.answers["error"] = state.status
        if self.due:
            self._entered += self._goal == "on" and self._powered
            if self._powered and state.status:
                self._fault = state.status
            if self._powered and (self._goal == "off" or (self._goal == "held" and state.status)):
                self._rested += 1
                self._powered = self._rested < _CONFIRMED
            q, _, tau = self.shaft.measured(state)
            self.measured(Reading(time.monotonic(), q, self._slope.add(self._asked, q), tau, state.status, float(state.torque),
                                  state.temperature))


class CubemarsLink(PolledLink):
    """AK motors on one CAN bus."""

    keys, joint_keys = PolledKeys, DriveKeys
    knows_coupling = False          # they are told the gravity of their own joint

    def __init__(self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, drives: tuple[DriveKeys, ...]) -> None:
        if not keys.allow_no_watchdog:
            raise InputError("AK motors have no watchdog: if this computer hangs, they stay powered at the last position of the "
                             "ramp. To move them nevertheless, state driver.allow_no_watchdog = true")
        refuse_shared(joints, "id", [drive.id for drive in drives])
        for joint in joints:
            if joint.falls:
                raise InputError(f"joints.{joint.name}.stop = \"hold\": an AK motor does not report whether it holds its joint, "
                                 "and connecting switches its power off; only joints with a brake (stop = \"brake\") can be "
                                 "driven")
        self._motors = tuple(CubemarsAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True))
        super().__init__(joints, keys, self._motors)

    def open(self, transport: can.BusABC | None = None) -> None:
        """Refuse joints that would sag, then take the bus, if nobody else speaks to the motors."""
        for j, axis in enumerate(self._motors):
            if axis.drive.kp == 0.0:
                self._refuse_to_sag(j, axis)
        super().open(transport)
        self._refuse_company()

    def _refuse_company(self) -> None:
        """What is sent while another program moves the arm would disturb it, and connecting takes the motors' power."""
        assert self._bus is not None
        end = time.monotonic() + _LISTEN
        while (left := end - time.monotonic()) > 0.0:
            message = self._bus.recv(left)
            if message is None:
                return
            spoken = message.arbitration_id or (message.data[0] if message.data else 0)         # to it, or by it
            for axis in self._motors:
                if axis.drive.id == spoken:
                    raise axis.error("follows another program; end that program first")

    def _refuse_to_sag(self, j: int, axis: CubemarsAxis) -> None:
        """Without stiffness a velocity is only as good as damping is strong against gravity."""
        slowest, name = axis.joint.table.slowest, axis.joint.name
        if slowest is None:
            raise InputError(f"joints.{name}.drive.kp = 0: state joints.{name}.slowest, which decides whether kd alone can hold "
                             "the joint's speed against gravity")
        low, high = np.array([other.joint.position for other in self._motors]).T
        found = self._most_gravity(j, low, high)
        allowed = _WEAK * axis.drive.kd * axis.drive.gear**2 * slowest
        if found > allowed:
            raise InputError(f"joints.{name}.drive.kp = 0: a gravity torque of {found:.3g} N·m would pull the joint off its "
                             f"slowest speed, {slowest:g} rad/s; without kp at most {allowed:.3g} N·m are allowed (0.1 kd "
                             "slowest). State kp")

    def _most_gravity(self, j: int, low: np.ndarray, high: np.ndarray) -> float:
        """The greatest torque of gravity at a joint within these limits."""
        if self.mechanism.chain is not None:
            raise InputError(f"{self.mechanism.name} is a closed chain, for which the largest gravity torque within the limits "
                             "is not computed; state joints.NAME.drive.kp above 0")
        def spared(q: np.ndarray) -> float:
            return -abs(float(inverse_dynamics(self.mechanism, q[None])[0, j]))

        postures = np.random.default_rng(0).uniform(low, high, (_POSTURES, len(low)))
        at_random = np.abs(inverse_dynamics(self.mechanism, postures)[:, j])
        best = postures[np.argsort(at_random)[-_BEST:]]
        sought = [minimize(spared, q, bounds=list(zip(low, high, strict=True))).fun for q in best]
        return max(float(at_random.max()), -min(map(float, sought)))

    def exchange(self, deadline: float) -> float:
        """With the model's gravity where the arm is."""
        q: Any = [np.nan if axis.reading is None else axis.reading.q for axis in self._motors]
        if np.isfinite(q).all():
            for axis, gravity in zip(self._motors, inverse_dynamics(self.mechanism, np.array([q]))[0], strict=True):
                axis.gravity = float(np.clip(gravity, -axis.joint.torque, axis.joint.torque))
        return super().exchange(deadline)

    def load(self) -> float:
        """A frame out and one back of each motor each cycle, with the most stuff bits."""
        return 2 * can_bits(8) * len(self.axes) * self._keys.rate / self._keys.bit_rate
