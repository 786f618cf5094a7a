r"""Dry friction of a simulated joint with a memory: bristles (LuGre) or parallel
elastic-slip elements (Maxwell slip).

Memory replaces MuJoCo's dry friction of its joint. Its torque acts implicitly: each step dt uses
the tangent of the torque F that a speed w at the end of the step leads to,

.. math:: F(\omega) \approx F(\omega_0) + B (\omega - \omega_0), \qquad B = F'(\omega_0),

at the speed :math:`\omega_0` at the begin of the step: a torque F(w_0) at an inertia that is larger
by dt B. So bristles of any stiffness are stable, and joints at rest neither creep nor vibrate. The
state then advances by the travel of the step, without this approximation.
"""

from collections.abc import Sequence
from math import copysign, exp, isnan, nan
from typing import Protocol

from stribeck.drivers.simulation.truth import JointTruth


class Memory(Protocol):
    """Dry friction of one joint with a memory.

    Attributes
    ----------
    torque : float
        Torque at the end of the last step [N·m].
    """

    torque: float

    def push(self, level: float, dq: float) -> tuple[float, float]:
        """Return the torque of the next step that keeps the speed dq, and its slope over
        that speed [N·m, N·m·s/rad].

        `level` is the dry level g of the joint's law at the present speed and load [N·m].
        """

    def settle(self, dq: float) -> None:
        """Advance the state by the step that ended with the speed dq [rad/s]."""


class Bristles:
    r"""Bristles of the LuGre model; without damping, the Dahl model.

    .. math:: \dot z = \omega - \frac{\sigma_0 |\omega|}{g} z, \qquad F = \sigma_0 z + \sigma_1 \dot z

    At constant g, the deflection approaches g / sigma_0 exponentially with the travel, which
    is computed without error.

    Parameters
    ----------
    stiffness, damping : float
        sigma_0 and sigma_1 [N·m/rad, N·m·s/rad].
    dt : float
        Duration of a physics step [s].

    References
    ----------
    Canudas de Wit, Olsson, Åström and Lischinsky, IEEE Trans. Autom. Control 40 (1995) 419.
    """

    __slots__ = ("_damping", "_dt", "_level", "_stiffness", "_z", "torque")

    def __init__(self, stiffness: float, damping: float, dt: float) -> None:
        self._stiffness, self._damping, self._dt = stiffness, damping, dt
        self._z = self._level = self.torque = 0.0

    def push(self, level: float, dq: float) -> tuple[float, float]:
        """Return torque and slope of the next step; see `Memory`."""
        self._level, dt = level, self._dt
        z, resting = self._after(dq)
        fading = max(0.0, 1.0 - abs(dq) * dt * self._stiffness / level) if level > 0.0 else 0.0
        return (
            self._stiffness * z + self._damping * resting * dq,
            resting * (self._stiffness * dt + self._damping * fading),
        )

    def settle(self, dq: float) -> None:
        """Advance the deflection by the step that ended with the speed dq [rad/s]."""
        self._z, resting = self._after(dq)
        self.torque = self._stiffness * self._z + self._damping * resting * dq

    def _after(self, dq: float) -> tuple[float, float]:
        """Return deflection and its rate over dq after a step with the speed dq."""
        if not self._level > 0.0:
            return (nan if isnan(self._level) else 0.0), 0.0
        if dq == 0.0:
            return self._z, 1.0
        end = copysign(self._level / self._stiffness, dq)
        z = end + (self._z - end) * exp(-dq * self._dt / end)
        return z, 1.0 - z / end


class SlipElements:
    r"""Parallel elements, each a spring in series with a slider (Maxwell slip).

    .. math:: F = \sum_i F_i, \qquad F_i \leftarrow \mathrm{clip}(F_i + k_i \Delta q, \pm \alpha_i g)

    Parameters
    ----------
    stiffnesses : sequence of float
        Stiffness k_i of each spring [N·m/rad].
    shares : sequence of float
        Share alpha_i of each slider in the dry level.
    dt : float
        Duration of a physics step [s].

    References
    ----------
    Lampaert, Al-Bender and Swevers, ICRA 2003; Iwan, J. Appl. Mech. 33 (1966) 893.
    """

    __slots__ = ("_dt", "_elements", "_forces", "_level", "torque")

    def __init__(self, stiffnesses: Sequence[float], shares: Sequence[float], dt: float) -> None:
        self._elements, self._dt = tuple(zip(stiffnesses, shares, strict=True)), dt
        self._forces = [0.0] * len(self._elements)
        self._level = self.torque = 0.0

    def push(self, level: float, dq: float) -> tuple[float, float]:
        """Return torque and slope of the next step; see `Memory`."""
        self._level = level
        forces, sticking = self._after(dq)
        return sum(forces), sticking * self._dt

    def settle(self, dq: float) -> None:
        """Advance the elements by the step that ended with the speed dq [rad/s]."""
        self._forces, _ = self._after(dq)
        self.torque = sum(self._forces)

    def _after(self, dq: float) -> tuple[list[float], float]:
        """Return the torque of each element after a step with the speed dq, and the
        stiffness of those that stick.
        """
        level, travel, forces, sticking = self._level, dq * self._dt, [], 0.0
        for (k, share), before in zip(self._elements, self._forces):  # noqa: B905  # equal lengths, and a hot loop
            most, force = share * level, before + k * travel
            if force > most:
                force = most
            elif force < -most:
                force = -most
            else:
                sticking += k
            forces.append(force)
        return forces, sticking


class Memories:
    """Memories of an arm's joints: takes dry friction of these joints over from MuJoCo.

    Parameters
    ----------
    joints : sequence of JointTruth
        Truth of all joints.
    dt : float
        Duration of a physics step [s].
    """

    def __init__(self, joints: Sequence[JointTruth], dt: float) -> None:
        self._n, self._dt = len(joints), dt
        self._of = {
            j: _memory(joint, dt) for j, joint in enumerate(joints) if joint.memory is not None
        }

    def __bool__(self) -> bool:
        return bool(self._of)

    def push(self, levels: list[float], speeds: list[float]) -> tuple[list[float], list[float]]:
        """Return torque and additional inertia of each joint in the next step [N·m,
        kg·m²]; zero without memory.

        Levels of joints with a memory become zero in place.
        """
        torque, inertia = [0.0] * self._n, [0.0] * self._n
        for j, memory in self._of.items():
            torque[j], slope = memory.push(levels[j], speeds[j])
            inertia[j], levels[j] = slope * self._dt, 0.0
        return torque, inertia

    def settle(self, speeds: list[float]) -> None:
        """Advance the states by the step that ended with these speeds [rad/s]."""
        for j, memory in self._of.items():
            memory.settle(speeds[j])

    def torque(self) -> list[float]:
        """Return the present torque of each joint's memory [N·m]; nan for joints without memory."""
        return [self._of[j].torque if j in self._of else nan for j in range(self._n)]


def _memory(truth: JointTruth, dt: float) -> Memory:
    """Return the memory of one joint."""
    if truth.memory == "lugre":
        return Bristles(truth.presliding_stiffness, truth.bristle_damping, dt)
    return SlipElements(truth.stiffnesses or (), truth.shares or (), dt)
