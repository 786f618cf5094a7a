"""Models and estimators of joint friction: arrays in, arrays out."""

from ident.calibration import Calibration
from ident.description import load_mechanism
from ident.feedforward import Feedforward
from ident.fit import FitResult, fit_friction
from ident.friction import coulomb_viscous, stribeck
from ident.identify import identify
from ident.loads import joint_loads
from ident.mechanism import Mechanism
from ident.run import load_run

__all__ = ["Calibration", "Feedforward", "FitResult", "Mechanism", "coulomb_viscous", "fit_friction", "identify",
           "joint_loads", "load_mechanism", "load_run", "stribeck"]
