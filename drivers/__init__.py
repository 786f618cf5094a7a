"""Arms: anything with joints that can be stepped."""

from drivers.arm import Arm, Command, JointSample, Resolution
from drivers.connect import connect
from drivers.errors import ArmStopped, DriverError, LimitExceeded, ReplayEnded, ReplayMismatch
from drivers.supervisor import Supervisor

__all__ = ["Arm", "ArmStopped", "Command", "DriverError", "JointSample", "LimitExceeded", "ReplayEnded",
           "ReplayMismatch", "Resolution", "Supervisor", "connect"]
