r"""Friction of a joint as far as an MJCF can hold it, by MuJoCo's own elements.

.. math:: \tau_f = \big[C + (S - C)\, e^{-(\omega/\omega_s)^2}\big] \operatorname{sgn}\omega
          + (d_0 + d_1 |\omega| + d_2 \omega^2)\, \omega + o + \sum A \sin(n q + \varphi)

- Dry friction is a `dcmotor` without input, whose state is a LuGre bristle. Its stiffness is that
  of an identified LuGre memory, or such that friction reverses within 0.4 mrad (or 0.4 mm). The
  joint's `frictionloss`, even as hard as MuJoCo allows, lets a joint at rest creep.
- Growth with speed is the joint's `damping`, a polynomial that is nowhere negative.
- Cogging is a `dcmotor` for each wave, and a torque offset o is a wave of order 0.

Growth with load, differences between the directions and friction ripple have no element. MuJoCo
reads all this since version 4.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.approximation import Range, calibrated_range
from stribeck.ident.export.result import number
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.ripple.wave import COGGING

# solimpfriction with which MuJoCo's dry friction does not creep
HARD = (0.9999, 0.9999, 0.001, 0.5, 2.0)
FIRST_VERSION = 4  # of MuJoCo that reads these elements
_WITHIN = 4e-4  # rad or m; distance of a bristle without an identified memory
# of the critical damping: that of a bristle without an identified damping, but at least
_DAMPED = 0.3
# of the stiffness times the time step; with less than 2, a joint at rest creeps
_STEPS = 2.2
STEP = 0.002  # s; time step of MuJoCo if a file states none
_SOFT = 1e-6  # N·m/rad or N/m; spring that is an offset
# of the law's own velocity: velocities of the fall that are tried
_FALLS = np.append(np.geomspace(0.1, 8.0, 32), 1.0)
# of the fastest speed: speeds of least damping that are tried
_TURNS = (0.0, 0.3, 0.6, 1.0, 1.5, 3.0)
# of the excess of static friction: least Coulomb friction beside it; without
# any, bristles are unstable
_LEFT = 0.25
_EXACT = 1e-12  # of the squared friction: straight viscous friction is exact
# of the error of straight viscous friction: a polynomial must come below it
_BETTER = 0.9


@dataclass(frozen=True)
class MujocoJoint:
    """Elements of one joint.

    Attributes
    ----------
    attributes : dict of str to str
        Attributes of its `joint`.
    actuators : tuple of str
        `dcmotor` elements.
    rms, worst : float
        Root mean square and largest difference from the calibration over the
        calibrated range [N·m or N].
    holds : float
        Time step up to which its bristle holds the joint without creep [s].
    heavier : float
        Part of the inertia by which a sliding joint is too heavy: MuJoCo integrates the damping of
        a bristle implicitly, also while the bent bristle has none.
    """

    attributes: Mapping[str, str]
    actuators: tuple[str, ...]
    rms: float
    worst: float
    holds: float
    heavier: float


def mujoco_joint(
    name: str, joint: JointCalibration, inertia: float, step: float = STEP
) -> MujocoJoint:
    """Return the elements for the friction of a joint.

    Parameters
    ----------
    name : str
    joint : JointCalibration
    inertia : float
        Inertia that the joint moves, for the damping of its bristle [kg·m² or kg].
    step : float
        Time step of the simulation, for this damping [s].
    """
    range_ = calibrated_range(joint)
    shape = _closest(joint, range_)
    rms, worst = range_.errors(shape.torque(range_.speed))
    actuators, holds, heavier = [], np.inf, 0.0
    if shape.static > 0.0 or _bristle(joint) is not None:
        stiffness, damping = _bristle(joint) or (shape.static / _WITHIN, None)
        if damping is None:  # the bristle must not swing under the joint
            damping = max(
                _DAMPED * 2.0 * float(np.sqrt(stiffness * inertia)), _STEPS * stiffness * step
            )
        holds, heavier = damping / (2.0 * stiffness), damping * step / inertia
        actuators.append(_bristles(name, shape, stiffness, damping))
    if (constant := offset(joint)) != 0.0:
        actuators.append(_wave(name, "offset", constant, 0.0, 0.5 * np.pi))
    actuators += [
        _wave(name, f"cogging{k + 1}", wave.amplitude, wave.order, wave.phase)
        for k, wave in enumerate(one for one in joint.ripple if one.kind == COGGING)
    ]
    return MujocoJoint(
        {"frictionloss": "0", "damping": shape.damping_text},
        tuple(actuators),
        rms,
        worst,
        holds,
        heavier,
    )


def holds_friction(actuator: str, joints: Iterable[str]) -> bool:
    """Return whether an actuator of this name is one of the elements of these joints."""
    return (
        re.fullmatch(
            f"({'|'.join(map(re.escape, joints))})_(friction|offset|cogging[0-9]+)", actuator
        )
        is not None
    )


def offset(joint: JointCalibration) -> float:
    """Return the torque offset of a joint, unless it is unidentifiable [N·m or N]."""
    entry = joint.gravity.get("offset")
    return (
        0.0
        if entry is None or entry.value is None or entry.verdict == "unidentifiable"
        else entry.value
    )


def keeps_memory(joint: JointCalibration) -> bool:
    """Whether the elements have the memory of a joint, exactly or nearly."""
    return joint.memory is None or _bristle(joint) is not None


def _bristle(joint: JointCalibration) -> tuple[float, float | None] | None:
    """Stiffness and damping of the bristle of an identified memory, with None for an unknown
    damping; None without memory.
    """
    if joint.memory is None:
        return None
    values = joint.memory.values
    if joint.memory.name == "lugre":
        return values["bristle_stiffness"], values.get("bristle_damping", 0.0)
    if joint.memory.name == "relaxing":  # of the same form: z' = (w - |w| z) / h
        level = float(
            joint.dry_level(
                [joint.velocity_range[0]], joint.middle_load[None] if joint.load != "none" else None
            )[0]
        )
        return level / values["presliding_distance"], None
    return None


def _bristles(name: str, shape: "_Shape", stiffness: float, damping: float) -> str:
    """Return the `dcmotor` whose state is a bristle."""
    values = " ".join(
        number(value) for value in (stiffness, damping, shape.dry, shape.static, shape.fall)
    )
    return (
        f'<dcmotor name={quoteattr(f"{name}_friction")} joint={quoteattr(name)} input="none" '
        f'motorconst="0 0" resistance="1" lugre="{values}"/>'
    )


def _wave(name: str, what: str, amplitude: float, order: float, phase: float) -> str:
    """Return the `dcmotor` with one wave of a torque that the drive supplies, so that the
    joint feels the opposite.
    """
    return (
        f'<dcmotor name={quoteattr(f"{name}_{what}")} joint={quoteattr(name)} input="none" '
        'motorconst="0 0" '
        f'resistance="1" cogging="{number(amplitude)} {number(order)} {number(phase + np.pi)}"/>'
    )


@dataclass(frozen=True)
class _Shape:
    """C, S, w_s, and the polynomial d of the damping; `misfit` is the sum of
    squared errors over the speeds.
    """

    dry: float
    static: float
    fall: float
    damping: tuple[float, float, float]
    misfit: float

    def torque(self, w: Array) -> Array:
        """Return friction at positive speeds, shape (N,)."""
        d0, d1, d2 = self.damping
        fading = np.exp(-((w / self.fall) ** 2))
        return np.asarray(
            self.dry + (self.static - self.dry) * fading + (d0 + d1 * w + d2 * w**2) * w
        )

    @property
    def damping_text(self) -> str:
        """The polynomial without zeros at its end; MuJoCo before 3.7 reads one number."""
        last = max((k for k, value in enumerate(self.damping) if value != 0.0), default=0)
        return " ".join(number(value) for value in self.damping[: last + 1])

    @classmethod
    def of(cls, w: Array, friction: Array, fall: float | None, turn: float | None) -> "_Shape":
        """Fit friction for a velocity of the fall (None: no fall) and a speed of least damping
        (None: straight viscous friction).

        All coefficients are nonnegative, so damping is nowhere negative: d =
        a + b w + c (w - turn)^2.
        """
        from scipy.optimize import nnls

        columns = [np.ones_like(w), w]
        if turn is not None:
            columns += [w**2, (w - turn) ** 2 * w]
        if fall is not None:
            columns.append(_LEFT + np.exp(-((w / fall) ** 2)))
        found, misfit = nnls(np.column_stack(columns), friction)
        _, b, c = found[1:4] if turn is not None else (0.0, 0.0, 0.0)
        turn = turn or 0.0
        excess = float(found[-1]) if fall is not None else 0.0
        dry = float(found[0]) + _LEFT * excess
        return cls(
            dry,
            dry + excess,
            fall or 1.0,
            (float(found[1] + c * turn**2), float(b - 2.0 * c * turn), float(c)),
            float(misfit) ** 2,
        )


def _closest(joint: JointCalibration, over: Range) -> _Shape:
    """Return the shape with the smallest error over the calibrated range; a bent one
    only if it is clearly closer.
    """
    speed, node = np.unique(over.speed, return_inverse=True)
    mean = np.bincount(node, over.friction) / np.bincount(node)
    knee = law_named(joint.law).knee
    falls = [None] if not knee else (joint.values[knee] * _FALLS).tolist()
    straight, bent = (
        min(
            (_Shape.of(speed, mean, fall, turn) for fall in falls for turn in turns),
            key=lambda one: one.misfit,
        )
        for turns in ([None], (speed[-1] * np.array(_TURNS)).tolist())
    )
    return (
        bent
        if bent.misfit < _BETTER**2 * straight.misfit
        and straight.misfit > _EXACT * float(mean @ mean)
        else straight
    )
