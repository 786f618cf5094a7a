"""Arms: anything with joints that can be stepped."""

from drivers.arm import Arm, Command, JointSample, Resolution
from drivers.connect import connect
from drivers.errors import ArmStopped, DriverError, LimitExceeded, ReplayMismatch
from drivers.supervisor import Supervisor

__all__ = ["Arm", "ArmStopped", "Command", "DriverError", "JointSample", "LimitExceeded", "ReplayMismatch",
           "Resolution", "Supervisor", "connect"]
