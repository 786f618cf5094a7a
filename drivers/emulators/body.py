"""The simulated arm in the time of a clock, with a drive for each motor: powered,
held by a brake, or falling.

All emulators share this module. It contains no protocol and shares no code with the drivers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar, Literal

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.drivers.wire.clock import REAL_TIME, Clock
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.arm_tables import JointTable

# Hz, step rate of the physics; between steps, positions are extrapolated by velocities
_RATE = 500.0
# Hz, step rate of the physics for drives that close a control loop in each step
_LOOP_RATE = 2000.0
# peak torque of a motor over the arm file's torque limit; a drive limits its
# motor by its own settings
_PEAK = 3.0
_CLOSES = 0.05  # s that a brake takes to close after its current is gone
# s to wait for a frame before drives look at their clocks; the second if nothing can move
_POLL, _IDLE = 0.001, 0.01
# s at rest without power after which no joint moves until a drive gets an order
_RESTED = 0.5
# s that the physics catches up after a pause; during the rest of a pause the arm stands still
_MOST_BEHIND = 0.1


SILENT, RESET = 0x100, 0x101  # arguments of `Electronics.suffer` beside the codes of faults


class Electronics(ABC):
    """The communicating part of a drive, for any protocol, and the faults that it may suffer."""

    usual_fault: ClassVar[int]  # code of a typical fault of such a drive
    silent = False  # whether the drive neither sends nor receives

    def befall(self, what: str) -> None:
        """Cause a fault: "silent" (the drive neither sends nor receives), "reset" or
        "fault" (its usual fault).
        """
        self.suffer({"silent": SILENT, "reset": RESET, "fault": self.usual_fault}[what])

    def suffer(self, what: int) -> None:
        """Cause the fault of the emulator's own command: `SILENT`,
        `RESET`, or the code of a fault.
        """
        if what == SILENT:
            self.silent = True
        elif what == RESET:
            self.boot()
        else:
            self.fault(what)

    @abstractmethod
    def boot(self) -> None:
        """Start the drive after power-on or a reset."""

    @abstractmethod
    def fault(self, code: int) -> None:
        """Enter the fault with this code."""


@dataclass
class Drive:
    """The action of a drive on its joint, or on its motor if motors move several joints.

    SI, joint side, with the model's sign and zero.

    Attributes
    ----------
    table : JointTable
        Direction, zero, gear and drive keys, from which an emulator computes the drive's counts.
    power : str
        "off": the brake holds the joint, or gravity moves it if it has no brake; "velocity" and
        "torque": it follows `target`.
    opened : float
        Time that the brake still needs to close [s]; until then a joint without power falls.
    target : float
        Velocity or torque set-point.
    loop : callable, optional
        Function of position and velocity that returns the target at each
        step while power is "torque".
    ramp : float
        Acceleration towards a velocity target.
    most : float
        Largest torque that the drive's settings allow.
    q, dq, tau : float
        Measured position, velocity and torque.
    clock : Clock
        Clock of the drive's electronics.
    """

    table: JointTable
    power: Literal["off", "velocity", "torque"] = "off"
    opened: float = 0.0
    target: float = 0.0
    loop: Callable[[float, float], float] | None = None
    ramp: float = np.inf
    most: float = np.inf
    q: float = 0.0
    dq: float = 0.0
    tau: float = 0.0
    setpoint: float = 0.0
    clock: Clock = REAL_TIME

    def let_go(self, braked: bool = False) -> None:
        """Switch power off; with `braked`, the brake has closed before, if the joint has one."""
        self.power, self.target = "off", 0.0
        self.opened = 0.0 if braked else self.opened

    def pass_time(self, period: float) -> None:
        """Let time pass: power keeps the brake open, and without power the brake closes."""
        self.opened = _CLOSES if self.power != "off" else max(0.0, self.opened - period)

    @property
    def held_by(self) -> Literal["drive", "brake", "nothing"]:
        """The part that acts on the joint beside friction and gravity."""
        if self.power != "off":
            return "drive"
        return "brake" if self.table.stop == "brake" and self.opened <= 0.0 else "nothing"


_ANY = 1e12  # N·m, more than any motor can give
POWERS = ("off", "velocity", "torque")


class Body:
    """The physics of the arm, which `advance` runs forward to the present time.

    Parameters
    ----------
    arm : ArmFile
        The arm, with its simulation.
    seed : int, optional
        Seed of the noise.
    loops : bool
        Whether the drives have loops of their own.
    clock : Clock, optional
        Clock of the arm and its drives.

    Attributes
    ----------
    drives : tuple of Drive
        The drives in the order of the joints.
    trace : binary file, optional
        Record of the true motion, with a row of float64 per step: time by the clock, then
        for each joint the number of its power state in `POWERS`, position and velocity.
    """

    def __init__(
        self,
        arm: ArmFile,
        seed: int | None = None,
        loops: bool = False,
        clock: Clock = REAL_TIME,
    ) -> None:
        self._clock = clock
        self._period = 1.0 / (_LOOP_RATE if loops else _RATE)
        plain = arm.with_joints_changed(
            lambda table: replace(
                table,
                direction=1,
                zero_offset=0.0,
                acceleration=None,
                torque=None if table.torque is None else _PEAK * table.torque,
            )
        )
        driver = arm.driver.model_copy(update={"rate": 1.0 / self._period})
        self._arm = SimulatedArm(replace(plain, driver=driver), seed)
        self._arm.enable()
        self.names = self._arm.names
        self.drives = tuple(Drive(arm.joint(name), clock=clock) for name in self.names)
        self._coupled = arm.transmission_of(self.names)
        self.trace: BinaryIO | None = None
        self._now: float | None = None
        self._quiet = 0
        self._sample: JointSample
        self._step()

    def advance(self) -> None:
        """Run the physics up to the present time."""
        now, still = self._clock.now(), self.resting and not self.trace
        if self._now is None or (now - self._now > _MOST_BEHIND and not still):
            self._now = now
        if still:
            cycles = int((now - self._now) / self._period)
            self._arm.wait(cycles)
            self._now += cycles * self._period
        while self._now + self._period <= now:
            self._now += self._period
            self._step()
        self.look()

    @property
    def resting(self) -> bool:
        """Whether all joints are at rest and stay so until a drive gets power; the
        physics then needs no steps.
        """
        return self._quiet * self._period >= _RESTED and all(
            drive.power == "off" for drive in self.drives
        )

    @property
    def patience(self) -> float:
        """Time that an emulator may wait for a frame before it lets time pass [s]."""
        return _IDLE if self.resting else _POLL

    @property
    def interval(self) -> float:
        """Time after which an emulator in virtual time lets time pass if no frame comes [s]."""
        return max(self.patience, self._period)

    def look(self, late: float = 0.0) -> None:
        """Set the positions to their values `late` seconds ago: a drive latches them when a frame
        arrives, before it is read.
        """
        since = self._clock.now() - (self._now or 0.0) - min(max(late, 0.0), _MOST_BEHIND)
        for drive, q in zip(self.drives, self._travel(self._sample.q), strict=True):
            drive.q = float(q) + drive.dq * since

    def _step(self) -> None:
        for j, drive in enumerate(self.drives):
            drive.pass_time(self._period)
            if drive.power == "velocity":
                change = drive.ramp * self._period
                drive.setpoint += min(max(drive.target - drive.setpoint, -change), change)
            else:
                drive.setpoint = 0.0 if drive.held_by == "brake" else drive.dq
            if drive.power == "torque" and drive.loop:
                drive.target = drive.loop(float(self._travel(self._sample.q)[j]), drive.dq)
            if drive.held_by == "brake":
                self._arm.hand_over(j)
        sample = self._sample = self._arm.step(self._command())
        still = self._arm.standing and all(
            drive.power == "off" and drive.opened <= 0.0 for drive in self.drives
        )
        self._quiet = self._quiet + 1 if still else 0
        given = sample.tau if self._coupled is None else self._coupled.torque_of_motors(sample.tau)
        for drive, dq, tau in zip(self.drives, self._travel(sample.dq), given, strict=True):
            drive.dq, drive.tau = float(dq), float(tau) if drive.power != "off" else 0.0
        if self.trace:
            rows = [
                (POWERS.index(drive.power), q, drive.dq)
                for drive, q in zip(self.drives, sample.q, strict=True)
            ]
            self.trace.write(np.array([self._now or 0.0, *np.ravel(rows)]).tobytes())

    def _travel(self, values: Array) -> Array:
        """Return positions or velocities of the motors from those of the joints."""
        return values if self._coupled is None else self._coupled.of_motors(values)

    def _command(self) -> Command:
        """Return the command of the drives to the joints, and set their torque limits."""
        falling = [drive.held_by == "nothing" for drive in self.drives]
        mode = [
            "torque" if fall or drive.power == "torque" else "velocity"
            for fall, drive in zip(falling, self.drives, strict=True)
        ]
        torque = np.array(
            [
                0.0 if fall else drive.target
                for fall, drive in zip(falling, self.drives, strict=True)
            ]
        )
        velocity = np.array([drive.setpoint for drive in self.drives])
        most = np.array([drive.most if drive.power != "off" else np.inf for drive in self.drives])
        if (coupled := self._coupled) is not None:
            velocity, torque = coupled.of_joints(velocity), coupled.torque_of_joints(torque)
            # if their modes differ, all move on in velocity mode
            for motor in coupled.shared:
                moved = np.flatnonzero(coupled.ratios[motor])
                if len({mode[j] for j in moved}) > 1:
                    for j in moved:
                        mode[j] = "velocity"
            most = np.minimum(most, _ANY) @ np.abs(coupled.ratios)
        self._arm.allow(most.tolist())
        return Command(velocity, torque, tuple(mode))
