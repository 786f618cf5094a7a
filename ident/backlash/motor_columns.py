r"""What the torque of the motor shows of the gear between motor and link.

The torque T that the link takes behind a gear is a column of the motor's torque,

.. math:: \tau = s T(b, K, f) - t_d \dot \tau + \tau_f + B \ddot q + k_v \dot q + o

with rotor B, the delay t_d of the signal, and the motor's dry friction: sign of the
velocity and two relaxing states (`ident.memory`), so that presliding and wind-up (b = 0)
compete with play on equal terms.
"""

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.play_data import PlayData
from stribeck.ident.memory.states.memories import relaxed

# second relaxing states that compete, each of twice the distance of the last
KINDS = 8
MOTOR = 6  # columns of the motor before these states: delay, ddq, dq, 1, sign, z_1
# least distance of the first state: part of the range of positions, up to this range [rad or m]
_FIRST = 1e-4, 0.1


def motor_columns(data: PlayData) -> Array:
    """Return the columns of the motor's torque that do not depend on the gear,
    shape (M, MOTOR + KINDS).
    """
    velocity, gain = data.motion
    first = max(2.0 * data.resolution, _FIRST[0] * min(data.span, _FIRST[1]))
    states = [data.filtered(relaxed(data.path, first * 2.0**k)[0]) for k in range(KINDS + 1)]
    late = np.gradient(data.torque, data.dt)
    return np.column_stack(
        [late, gain, velocity, np.ones(len(gain)), data.filtered(np.sign(velocity)), *states]
    )[data.used]


def of_kind(kind: int, first: int) -> list[int]:
    """Return the indices of the motor's columns with one second state, where `first` is
    that of the first of them.
    """
    return [*range(first, first + MOTOR), first + MOTOR + kind]
