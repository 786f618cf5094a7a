r"""Equations of the planar 3-PRR of P2, independent of stribeck's model layer.

Coordinates are positions x of the sliders, angles of the links, and the platform's pose.
The constraints of the links

.. math:: x_i + L_i \cos a_i = x + (R(\theta)\, b_i)_x, \qquad L_i \sin a_i = y + (R(\theta)\, b_i)_y

give the forces :math:`\lambda` of the platform's pins from the motion. Newton's law for each link
then gives the forces of the lower pins, which give the normal forces of the sliders. Friction of
the pins changes all these forces, so they are iterated (fixed point).

References
----------
Rosyid and El-Khasawneh, Applied Sciences 10 (2020) 4820.
"""

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
_GRAVITY, _TURNS = 9.81, 60
_CROSS = np.array([[0.0, -1.0], [1.0, 0.0]])
_PLATFORM = np.array([[-0.10, 0.0], [-0.10, 0.06], [0.10, 0.0]])
_LENGTH, _SIDE = np.array([0.40, 0.42, 0.40]), np.array([-1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Slider:
    """Friction of the sliders (by normal force, with Stribeck exponent 1) and of the
    lower pins (by pin force, and viscous).
    """

    coulomb: float = 0.08
    static: float = 0.12
    velocity: float = 0.02
    viscous: float = 15.0
    pin: float = 0.0  # friction coefficient times radius [m]
    pin_viscous: float = 0.0  # N·m·s/rad
    bending_arm: float = 0.05


@dataclass(frozen=True)
class ThreePRR:
    """Masses, centres of mass on the links, and moments of inertia about these centres."""

    sliders: Array = field(default_factory=lambda: np.array([2.0, 2.2, 1.8]))
    links: Array = field(default_factory=lambda: np.array([0.8, 0.9, 0.7]))
    middles: Array = field(default_factory=lambda: np.array([0.5, 0.5, 0.45]))
    platform: float = 1.5
    platform_inertia: float = 0.012
    platform_com: Array = field(default_factory=lambda: np.array([0.01, 0.02]))

    def forces(self, pose: Array, rate: Array, gain: Array, friction: Slider) -> tuple[Array, ...]:
        """Forces of the drives, and positions, velocities and accelerations of the
        sliders, shape (N, 3) each.

        Parameters
        ----------
        pose, rate, gain : ndarray, shape (N, 3)
            x, y, theta of the platform and their derivatives.
        friction : Slider
        """
        turn = _turned(pose[:, 2])
        arm = turn @ _PLATFORM.T  # (N, 2, 3)
        point = pose[:, :2, None] + arm
        speed = rate[:, :2, None] + rate[:, 2, None, None] * (_CROSS @ arm)
        pull = (
            gain[:, :2, None]
            + gain[:, 2, None, None] * (_CROSS @ arm)
            - rate[:, 2, None, None] ** 2 * arm
        )
        height = point[:, 1]
        # distance of a slider from the platform's pin
        across = _SIDE * np.sqrt(_LENGTH**2 - height**2)
        x = point[:, 0] + across
        sine, cosine = height / _LENGTH, -across / _LENGTH
        spin = speed[:, 1] / (_LENGTH * cosine)
        dx = speed[:, 0] + _LENGTH * sine * spin
        more = (pull[:, 1] + _LENGTH * sine * spin**2) / (_LENGTH * cosine)
        ddx = pull[:, 0] + _LENGTH * (sine * more + cosine * spin**2)

        # (N, 2, 3), from slider to platform
        along = np.stack((cosine, sine), axis=1)
        normal = np.stack((-sine, cosine), axis=1)
        reach = self.middles * _LENGTH
        of_slider = np.stack((ddx, np.zeros_like(ddx)), axis=1)
        of_com = of_slider + reach * (more[:, None] * normal - spin[:, None] ** 2 * along)
        weight = np.array([0.0, _GRAVITY])[:, None]
        inertia = self.links * _LENGTH**2 / 12.0
        com = np.einsum("nab,b->na", turn, self.platform_com)
        of_platform = gain[:, :2] + gain[:, 2:] * (com @ _CROSS.T) - rate[:, 2:] ** 2 * com
        needed = np.column_stack(
            (
                self.platform * (of_platform + np.array([0.0, _GRAVITY])),
                self.platform_inertia * gain[:, 2],
            )
        )

        # moment of a lower pin on its link
        resists = np.zeros_like(dx)
        for _ in range(_TURNS):
            # each link: moments about its slider give the pin's force across it; the
            # platform's balance that along it
            moment = (
                inertia * more
                + self.links * reach * np.sum(normal * (of_com + weight), axis=1)
                - resists
            )
            # force on the platform along `normal`
            across_link = -moment / _LENGTH
            columns = np.concatenate((along, _moments(arm, along, com)[:, None]), axis=1)
            rest = needed - np.column_stack(
                (
                    np.einsum("nai,ni->na", normal, across_link),
                    np.einsum("ni,ni->n", _moments(arm, normal, com), across_link),
                )
            )
            pushes = np.linalg.solve(columns, rest[..., None])[..., 0]
            on_platform = along * pushes[:, None] + normal * across_link[:, None]
            on_link = self.links * (of_com + weight) + on_platform  # by the lower pin
            before, resists = (
                resists,
                -friction.pin * np.hypot(on_link[:, 0], on_link[:, 1]) * np.sign(spin)
                - friction.pin_viscous * spin,
            )
            if np.abs(resists - before).max() < 1e-14:
                break
        load = (
            np.abs(self.sliders * _GRAVITY + on_link[:, 1]) + np.abs(resists) / friction.bending_arm
        )
        level = friction.coulomb + (friction.static - friction.coulomb) * np.exp(
            -np.abs(dx) / friction.velocity
        )
        drives = (
            self.sliders * ddx + on_link[:, 0] + level * load * np.sign(dx) + friction.viscous * dx
        )
        return drives, x, dx, ddx


def _turned(angle: Array) -> Array:
    return np.moveaxis(
        np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), -1, 0
    )


def _moments(arm: Array, force: Array, com: Array) -> Array:
    """Moment about the centre of mass of forces at the platform's pins, shape (N, 3)."""
    lever = arm - com[:, :, None]
    return np.asarray(lever[:, 0] * force[:, 1] - lever[:, 1] * force[:, 0])
