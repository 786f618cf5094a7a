"""The control table of Dynamixel X servos, from the e-Manual: addresses, types,
factory values, and models.
"""

from typing import Any

# the emulator's own item: a value written here causes this fault of the servo
TEST = 1000

# number, A per count, stall torque over stall current [N·m/A], speed without load [rad/s]
MODELS = {
    "XM430-W210": (1030, 0.00269, 3.0 / 2.3, 8.0),
    "XM430-W350": (1020, 0.00269, 4.1 / 2.3, 4.8),
    "XM540-W150": (1130, 0.00269, 7.3 / 4.4, 5.6),
    "XM540-W270": (1120, 0.00269, 10.6 / 4.4, 3.1),
    "XH430-W210": (1010, 0.00269, 2.5 / 1.3, 5.2),
    "XH430-W350": (1000, 0.00269, 3.4 / 1.3, 3.1),
    "XH430-V210": (1050, 0.00134, 2.6 / 0.7, 5.4),
    "XH430-V350": (1040, 0.00134, 3.3 / 0.7, 3.2),
    "XH540-W150": (1110, 0.00269, 7.1 / 4.9, 7.3),
    "XH540-W270": (1100, 0.00269, 9.9 / 4.9, 4.1),
    "XW540-T140": (1180, 0.00269, 6.9 / 4.9, 7.5),
    "XW540-T260": (1170, 0.00269, 9.5 / 4.9, 4.2),
}

MODEL, FIRMWARE, ID, DELAY, DRIVE_MODE, MODE, SHUTDOWN, TORQUE, LEVEL, ERROR = (
    0,
    6,
    7,
    9,
    10,
    11,
    63,
    64,
    68,
    70,
)
WATCHDOG, GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, PROFILE_TIME, GOAL = 98, 100, 102, 104, 112, 116
CURRENT, VELOCITY, POSITION, VOLTAGE, TEMPERATURE = 126, 128, 132, 144, 146
GOALS = (GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, GOAL)
# address: type (struct), factory value, writable, smallest and largest value
ITEMS: dict[int, tuple[Any, ...]] = {
    0: ("H", 0, False),
    2: ("I", 0, False),
    6: ("B", 45, False),
    7: ("B", 1, True, 0, 252),
    8: ("B", 3, True, 0, 7),
    9: ("B", 250, True, 0, 254),
    10: ("B", 0, True, 0, 13),
    11: ("B", 3, True, 0, 16),
    12: ("B", 255, True),
    13: ("B", 2, True),
    20: ("i", 0, True),
    24: ("I", 10, True),
    31: ("B", 80, True),
    32: ("H", 160, True),
    34: ("H", 95, True),
    36: ("H", 885, True, 0, 885),
    38: ("H", 1193, True, 0, 2047),
    44: ("I", 350, True, 0, 1023),
    48: ("I", 4095, True),
    52: ("I", 0, True),
    63: ("B", 52, True),
    64: ("B", 0, True, 0, 1),
    65: ("B", 0, True),
    68: ("B", 2, True, 0, 2),
    69: ("B", 0, False),
    70: ("B", 0, False),
    76: ("H", 1920, True),
    78: ("H", 100, True),
    80: ("H", 0, True),
    82: ("H", 0, True),
    84: ("H", 800, True),
    88: ("H", 0, True),
    90: ("H", 0, True),
    98: ("b", 0, True, 0, 127),
    100: ("h", 885, True),
    102: ("h", 1193, True),
    104: ("i", 0, True),
    108: ("I", 0, True, 0, 32767),
    112: ("I", 0, True, 0, 32767),
    116: ("i", 0, True, -1048575, 1048575),
    120: ("H", 0, False),
    122: ("B", 0, False),
    123: ("B", 0, False),
    124: ("h", 0, False),
    126: ("h", 0, False),
    128: ("i", 0, False),
    132: ("i", 0, False),
    136: ("i", 0, False),
    140: ("i", 0, False),
    144: ("H", 120, False),
    146: ("B", 30, False),
    **{168 + 2 * k: ("H", 224 + k, True) for k in range(28)},
    TEST: ("H", 0, True),
}
# items below this address are kept without supply and locked under power
EEPROM = 64
INDIRECT, DATA, MANY = 168, 224, 28
