"""CubeMars AK motors by MIT frames, which carry a position ramp, stiffness, damping and
the model's gravity torque.

AK motors have no registers and no watchdog, and do not report whether they are powered. If the
program hangs, the ramp stops and the motors stay at its last position.
"""

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

# largest gravity torque over damping torque at the slowest speed, for a joint without stiffness
_WEAK = 0.1
# random postures for the search of the largest gravity torque; starts of its refinement
_POSTURES, _BEST = 500, 5
# s without frames to or from the motors, after which no other program is assumed to drive them
_LISTEN = 0.1
# answers to repeated mode frames that confirm the mode; one answer may be to an earlier frame
_CONFIRMED = 3
# part of the torque limit that a step of the ramp may add; a lost frame doubles the step
_STEP = 0.25


class DriveKeys(MotorKeys):
    """Keys of ``drive = {...}`` of a joint."""

    motors = mit.CUBEMARS
    id: Annotated[int, Field(ge=1, le=255)]
    kp: Annotated[float, Field(ge=0.0, le=500.0)]  # N·m/rad at the motor's output shaft
    kd: Annotated[float, Field(gt=0.0, le=5.0)]  # N·m·s/rad


class CubemarsAxis(PolledAxis):
    """One AK motor."""

    def __init__(self, joint: DrivenJoint, keys: PolledKeys, drive: DriveKeys) -> None:
        super().__init__(joint, keys)
        self.drive, self.shaft = drive, Shaft(joint, drive)
        # N·m·s/rad: torque of a step of the ramp over velocity
        step = drive.kp * drive.gear**2 / keys.rate
        if (pull := step * joint.velocity) > _STEP * joint.torque:
            raise InputError(
                f"joints.{joint.name}.drive.kp = {drive.kp:g}: at {joint.velocity:g} "
                f"{joint.position_unit}/s each step of the position ramp would add {pull:.3g} "
                f"{joint.torque_unit}, and a lost frame twice as much; at most "
                f"{_STEP * joint.torque:.3g} {joint.torque_unit}, {_STEP:g} of the torque limit, "
                "are allowed. Lower kp or velocity, or raise driver.rate"
            )
        if drive.kp and drive.kd > drive.kp * keys.watchdog:
            raise InputError(
                f"joints.{joint.name}.drive.kd = {drive.kd:g}: if the computer stops sending, the "
                "joint keeps its "
                f"speed for up to kd / kp = {drive.kd / drive.kp:.2g} s, but plans allow for only "
                f"driver.watchdog = {keys.watchdog:g} s. Lower kd, or raise kp or watchdog"
            )
        # a ramp has no velocity steps
        slow = 0.0 if drive.kp else mit.step(drive.spans.velocity, 12) / drive.gear
        self.steps = Steps(slow, self.shaft.steps.position, self.shaft.steps.torque, step / 2.0)
        self.gravity = 0.0  # gravity torque of the joint at its present posture
        self.released = True  # there is no watchdog to release
        self._slope = Slope(self.steps.position)
        if drive.kp:
            self.unwatched = "stays powered at its last position"
        self._powered = False
        # error code under power, kept because the rest mode that follows clears it
        self._fault = 0
        # answers to rest mode since the last power-off, to motor mode since the last power-on
        self._rested = self._entered = 0
        # time and position that the ramp has reached
        self._ramp: tuple[float, float] | None = None
        self._told: Frame | None = None  # the last set-point
        # time of the first cycle after a pause, until the motor reports its position
        self._resumed: float | None = None

    @property
    def condition(self) -> Condition:
        """Power condition: a motor counts as powered from the first motor-mode frame until
        it has confirmed rest mode.
        """
        if self.reading is None:
            return "unknown"
        return "fault" if self.reading.status else "powered" if self._powered else "off"

    @property
    def trouble(self) -> str | None:
        """Error of the motor in words."""
        return "silent" if self.reading is None else mit.cubemars_words(self.reading.status)

    def identity(self) -> dict[str, str]:
        """Description of the motor from the arm file, since an AK motor reports none."""
        spans = self.drive.spans
        return {
            "id": str(self.drive.id),
            "device": self.drive.motor or "MIT",
            "firmware": "-",
            "modes": "position ramp",
            "ranges": f"{spans.position:g}, {spans.velocity:g}, {spans.torque:g} (rad, rad/s, "
            "N·m; from the arm file)",
            "holds": "no limits",
        }

    def configure(self) -> None:
        """Check that the motor replies without fault, and set rest mode: a killed program may
        have left it in motor mode.
        """
        self.reading = self._goal = self._ramp = self._told = self._resumed = None
        error = self._state() or self._fault
        if error:
            raise self.error(
                f"has a fault: {mit.cubemars_words(error)}; remove its cause, then clear the fault "
                "with stribeck check --reset"
            )
        self._powered = False

    def _state(self) -> int:
        """Ask for the error code outside the cycles and return it.

        The question is a frame with zero gains, which leaves a powered motor limp. Rest mode, in
        which the brake closes, follows it even if no answer comes. Only a motor with a fault gets
        no rest mode: it has no power, and rest mode would clear the fault.
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
        """Do nothing: AK motors have no watchdog."""

    def release(self) -> Iterator[Frame]:
        """No frames: AK motors have no watchdog."""
        yield from ()

    def setpoint(self, velocity: float) -> Frame:
        """Frame with the present end of the ramp, which begins at the joint's position; rest
        mode to switch power off.
        """
        if self._goal == "off":
            return self._rest()
        if self._resumed is not None and self._told is not None:
            return self._told
        shaft, spans = self.shaft, self.drive.spans
        q = (
            self._ramp[1]
            if self._ramp
            else self.reading.q
            if self.reading
            else self.joint.table.zero_offset
        )
        return Frame(
            self.drive.id,
            mit.pack_command(
                spans,
                shaft.position(q),
                shaft.velocity(velocity),
                self.drive.kp,
                self.drive.kd,
                shaft.torque(self.gravity),
            ),
        )

    def frames(self) -> Iterator[Frame]:
        """Frames of this cycle, with the ramp advanced by the time since the last cycle.

        During a pause of this computer the joint runs on for kd / kp to an unknown position. The
        last frame is then repeated, which changes nothing, and the ramp begins again at the
        position that the motor reports in its answer.
        """
        now = self.clock.now()
        if (
            self._ramp is not None
            and self._resumed is None
            and now - self._ramp[0] > self.keys.watchdog
        ):
            self._resumed = now
        if (
            self._resumed is not None
            and self.reading is not None
            and self.reading.t > self._resumed
        ):
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
        """Send motor mode and repeat the set-point: a motor may ignore a set-point that
        it received in rest mode.
        """
        if not self._powered:
            self._powered, self._entered = True, 0
        yield Frame(self.drive.id, mit.ENABLE)
        yield self.setpoint(self._velocity)

    @property
    def doubtful(self) -> bool:
        """Whether motor mode is not confirmed yet; until then each cycle sends motor mode again."""
        return self._entered < _CONFIRMED

    def confirm(self, powered: bool) -> Iterator[Frame]:
        """Send motor mode again; an AK motor has no settings."""
        if powered:
            yield from self.power_on()

    def power_off(self) -> Iterator[Frame]:
        """No frames: `setpoint` sends rest mode in each cycle until it is confirmed."""
        yield from ()

    def quick_stop(self) -> None:
        """Stop at the ramp's end; a motor with a fault gets rest mode, since its
        brake closes in no other way.
        """
        super().quick_stop()
        self._rested = 0

    def disable(self) -> None:
        """Switch power off by rest mode, which the motor must confirm."""
        super().disable()
        self._rested = 0

    def questions(self, told: bool) -> Iterator[Frame]:
        """Question for the state, if no set-point is sent: a frame with zero gains, or rest mode
        if the motor may be limp.
        """
        if not told:
            yield self._rest() if self._powered and self._goal in ("held", "off") else self._idle()

    def reset(self) -> None:
        """Clear a fault by rest mode, which works if the cause is gone."""
        self._state()
        self.ask(self._rest(), "error")
        self.clock.sleep(0.02)
        error = self._fault = self._state()
        if error:
            raise self.error(f"still has its fault after the reset: {mit.cubemars_words(error)}")

    def forget(self) -> None:
        """Forget the positions before a pause, from which no velocity can be computed."""
        super().forget()
        self._slope.clear()

    def take(self, frame: Frame) -> None:
        """Take a state, which has the identifier of the motor or of the host."""
        if (
            frame.identifier not in (0, self.drive.id)
            or not frame.data
            or frame.data[0] != self.drive.id
        ):
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
            self.measured(
                Reading(
                    self.clock.now(),
                    q,
                    self._slope.add(self._asked, q),
                    tau,
                    state.status,
                    float(state.torque),
                    state.temperature,
                )
            )


class CubemarsLink(PolledLink):
    """AK motors on one CAN bus."""

    keys, joint_keys = PolledKeys, DriveKeys
    knows_coupling = False  # each motor gets the gravity torque of one joint

    def __init__(
        self, joints: tuple[DrivenJoint, ...], keys: PolledKeys, drives: tuple[DriveKeys, ...]
    ) -> None:
        if not keys.allow_no_watchdog:
            raise InputError(
                "AK motors have no watchdog: if this computer hangs, they stay powered at the "
                "last position of the "
                "ramp. To move them nevertheless, state driver.allow_no_watchdog = true"
            )
        refuse_shared(joints, "id", [drive.id for drive in drives])
        for joint in joints:
            if joint.falls:
                raise InputError(
                    f'joints.{joint.name}.stop = "hold": an AK motor does not report whether it '
                    "holds its joint, "
                    "and connecting switches its power off; only joints with a brake (stop = "
                    '"brake") can be '
                    "driven"
                )
        self._motors = tuple(
            CubemarsAxis(joint, keys, drive) for joint, drive in zip(joints, drives, strict=True)
        )
        super().__init__(joints, keys, self._motors)

    def open(self, transport: can.BusABC | None = None) -> None:
        """Refuse joints that would sag, then take the bus if no other
        program talks to the motors.
        """
        for j, axis in enumerate(self._motors):
            if axis.drive.kp == 0.0:
                self._refuse_to_sag(j, axis)
        super().open(transport)
        self._refuse_company()

    def _refuse_company(self) -> None:
        """Refuse motors that another program drives: our frames would disturb it, and
        connecting switches power off.
        """
        assert self._bus is not None
        end = self.clock.now() + _LISTEN
        while (left := end - self.clock.now()) > 0.0:
            message = self._bus.recv(left)
            if message is None:
                return
            # frame to a motor, or from it
            spoken = message.arbitration_id or (message.data[0] if message.data else 0)
            for axis in self._motors:
                if axis.drive.id == spoken:
                    raise axis.error("follows another program; end that program first")

    def _refuse_to_sag(self, j: int, axis: CubemarsAxis) -> None:
        """Refuse a joint without stiffness if gravity is too strong for its damping torque."""
        slowest, name = axis.joint.table.slowest, axis.joint.name
        if slowest is None:
            raise InputError(
                f"joints.{name}.drive.kp = 0: state joints.{name}.slowest, which decides whether "
                "kd alone can hold the joint's speed against gravity"
            )
        low, high = np.array([other.joint.position for other in self._motors]).T
        found = self._most_gravity(j, low, high)
        allowed = _WEAK * axis.drive.kd * axis.drive.gear**2 * slowest
        if found > allowed:
            raise InputError(
                f"joints.{name}.drive.kp = 0: a gravity torque of {found:.3g} N·m would pull the "
                f"joint off its slowest speed, {slowest:g} rad/s; without kp at most {allowed:.3g} "
                "N·m are allowed (0.1 kd slowest). State kp"
            )

    def _most_gravity(self, j: int, low: np.ndarray, high: np.ndarray) -> float:
        """Return the largest gravity torque at a joint within these limits [N·m]."""
        if self.mechanism.chain is not None:
            raise InputError(
                f"{self.mechanism.name} is a closed chain, for which the largest gravity torque "
                "within the limits is not computed; state joints.NAME.drive.kp above 0"
            )

        def spared(q: np.ndarray) -> float:
            return -abs(float(inverse_dynamics(self.mechanism, q[None])[0, j]))

        postures = np.random.default_rng(0).uniform(low, high, (_POSTURES, len(low)))
        at_random = np.abs(inverse_dynamics(self.mechanism, postures)[:, j])
        best = postures[np.argsort(at_random)[-_BEST:]]
        sought = [minimize(spared, q, bounds=list(zip(low, high, strict=True))).fun for q in best]
        return max(float(at_random.max()), -min(map(float, sought)))

    def exchange(self, deadline: float) -> float:
        """Run one cycle with the model's gravity torque at the present posture."""
        q: Any = [np.nan if axis.reading is None else axis.reading.q for axis in self._motors]
        if np.isfinite(q).all():
            for axis, gravity in zip(
                self._motors, inverse_dynamics(self.mechanism, np.array([q]))[0], strict=True
            ):
                axis.gravity = float(np.clip(gravity, -axis.joint.torque, axis.joint.torque))
        return super().exchange(deadline)

    def load(self) -> float:
        """Bus load of one frame to and one frame from each motor per cycle,
        with the most stuff bits.
        """
        return 2 * can_bits(8) * len(self.axes) * self._keys.rate / self._keys.bit_rate
