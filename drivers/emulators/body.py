"""The simulated arm in real time, each motor behind a drive of its own: powered, held by a brake, or falling.

What all emulators share. Nothing here knows a protocol, and nothing is shared with the drivers.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar, Literal

import numpy as np

from stribeck.drivers.arm import Array, Command, JointSample
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.ident.arm.arm_file import ArmFile, JointTable

_RATE = 500.0           # Hz of the physics' steps; positions between them follow the velocity.
_LOOP_RATE = 2000.0     # Where drives close a loop of their own around it, a step is as long as one of theirs
_PEAK = 3.0             # times the torque limit of the arm file that a motor can give: what it may give its drive has to be told
_CLOSES = 0.05          # s that a brake takes to close once its current is gone
_POLL, _IDLE = 0.001, 0.01      # s without a frame after which drives look at their clocks, and where nothing can move
_RESTED = 0.5           # s at rest without power after which nothing will move before a drive is told to
_MOST_BEHIND = 0.1      # s that the physics makes up after a pause; beyond it the arm stood still


SILENT, RESET = 0x100, 0x101        # what `Electronics.suffer` is told beside the codes of faults


class Electronics(ABC):
    """What speaks for a drive, whatever its protocol, and what may befall it."""

    usual_fault: ClassVar[int]      # code of a fault that such a drive may have
    silent = False                  # and deaf

    def befall(self, what: str) -> None:
        """Fall "silent" and deaf, be "reset", or have a "fault"."""
        self.suffer({"silent": SILENT, "reset": RESET, "fault": self.usual_fault}[what])

    def suffer(self, what: int) -> None:
        """What the emulator's own command is told: `SILENT`, `RESET`, or the code of a fault."""
        if what == SILENT:
            self.silent = True
        elif what == RESET:
            self.boot()
        else:
            self.fault(what)

    @abstractmethod
    def boot(self) -> None:
        """Supply comes, or a reset."""

    @abstractmethod
    def fault(self, code: int) -> None:
        """A fault of the drive's own."""


@dataclass
class Drive:
    """What a drive does to its joint, or to its motor where motors move several joints.

    SI, joint side, the model's sign and zero.

    Attributes
    ----------
    table : JointTable
        Direction, zero, gear and drive keys, from which an emulator makes the drive's own counts.
    power : str
        "off" leaves the joint to its brake, or to gravity where it has none; "velocity" and "torque" follow `target`.
    opened : float
        How long its brake would take to close, or still takes [s]; until then a joint without power falls.
    target : float
        Velocity or torque.
    loop : callable, optional
        From position and velocity to the torque that becomes the target at each step while power is "torque".
    ramp : float
        Acceleration with which a velocity is approached.
    most : float
        Torque that its settings let it give.
    q, dq, tau : float
        Measured.
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

    def let_go(self, braked: bool = False) -> None:
        """Power goes: at once, or after the drive has seen to it that a brake, if there is one, holds the joint."""
        self.power, self.target = "off", 0.0
        self.opened = 0.0 if braked else self.opened

    def pass_time(self, period: float) -> None:
        """Power holds a brake open."""
        self.opened = _CLOSES if self.power != "off" else max(0.0, self.opened - period)

    @property
    def held_by(self) -> Literal["drive", "brake", "nothing"]:
        """What acts on the joint beside friction and gravity."""
        if self.power != "off":
            return "drive"
        return "brake" if self.table.stop == "brake" and self.opened <= 0.0 else "nothing"


_ANY = 1e12             # N·m, more than any motor gives
POWERS = ("off", "velocity", "torque")


class Body:
    """The physics, run forward to the present whenever somebody asks.

    Parameters
    ----------
    arm : ArmFile
        Its simulation.
    seed : int, optional
        Of noise.
    loops : bool
        Whether drives have loops of their own.

    Attributes
    ----------
    drives : tuple of Drive
        In the order of the joints.
    trace : binary file, optional
        Takes what the joints truly did, a row of float64 a step: time by `time.monotonic`, then of each joint the number of its
        power in `POWERS`, position and velocity.
    """

    def __init__(self, arm: ArmFile, seed: int | None = None, loops: bool = False) -> None:
        self._period = 1.0 / (_LOOP_RATE if loops else _RATE)
        plain = arm.with_joints_changed(lambda table: replace(
            table, direction=1, zero_offset=0.0, acceleration=None,
            torque=None if table.torque is None else _PEAK * table.torque))
        driver = arm.driver.model_copy(update={"rate": 1.0 / self._period})
        self._arm = SimulatedArm(replace(plain, driver=driver), seed)
        self._arm.enable()
        self.names = self._arm.names
        self.drives = tuple(Drive(arm.joint(name)) for name in self.names)
        self._coupled = arm.transmission_of(self.names)
        self.trace: BinaryIO | None = None
        self._now: float | None = None
        self._quiet = 0
        self._sample: JointSample
        self._step()

    def advance(self) -> None:
        """Run the physics up to now."""
        now, still = time.monotonic(), self.resting and not self.trace
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
        """Whether nothing moves, and nothing will before a drive gets power: then the physics needs no steps."""
        return self._quiet * self._period >= _RESTED and all(drive.power == "off" for drive in self.drives)

    @property
    def patience(self) -> float:
        """How long an emulator may wait for a frame before it lets time pass [s]."""
        return _IDLE if self.resting else _POLL

    def look(self, late: float = 0.0) -> None:
        """Positions of a moment ago: a drive latches them at the frame that asks, however late this program reads it."""
        since = time.monotonic() - (self._now or 0.0) - min(max(late, 0.0), _MOST_BEHIND)
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
        still = self._arm.standing and all(drive.power == "off" and drive.opened <= 0.0 for drive in self.drives)
        self._quiet = self._quiet + 1 if still else 0
        given = sample.tau if self._coupled is None else self._coupled.torque_of_motors(sample.tau)
        for drive, dq, tau in zip(self.drives, self._travel(sample.dq), given, strict=True):
            drive.dq, drive.tau = float(dq), float(tau) if drive.power != "off" else 0.0
        if self.trace:
            rows = [(POWERS.index(drive.power), q, drive.dq) for drive, q in zip(self.drives, sample.q, strict=True)]
            self.trace.write(np.array([self._now or 0.0, *np.ravel(rows)]).tobytes())

    def _travel(self, values: Array) -> Array:
        """Positions or velocities of the motors by those of the joints."""
        return values if self._coupled is None else self._coupled.of_motors(values)

    def _command(self) -> Command:
        """What the drives make the joints do, and what they may give."""
        falling = [drive.held_by == "nothing" for drive in self.drives]
        mode = ["torque" if fall or drive.power == "torque" else "velocity"
                for fall, drive in zip(falling, self.drives, strict=True)]
        torque = np.array([0.0 if fall else drive.target for fall, drive in zip(falling, self.drives, strict=True)])
        velocity = np.array([drive.setpoint for drive in self.drives])
        most = np.array([drive.most if drive.power != "off" else np.inf for drive in self.drives])
        if (coupled := self._coupled) is not None:
            velocity, torque = coupled.of_joints(velocity), coupled.torque_of_joints(torque)
            for motor in coupled.shared:            # of drives that differ, one without power goes on as it went
                moved = np.flatnonzero(coupled.ratios[motor])
                if len({mode[j] for j in moved}) > 1:
                    for j in moved:
                        mode[j] = "velocity"
            most = np.minimum(most, _ANY) @ np.abs(coupled.ratios)
        self._arm.allow(most.tolist())
        return Command(velocity, torque, tuple(mode))
