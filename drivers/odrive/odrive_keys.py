"""Keys of ODrives in the arm file, and the endpoints whose numbers the arm file states."""

import re
from typing import Annotated

from pydantic import Field, field_validator

from stribeck.drivers.wire.drive_keys import Counts, Keys
from stribeck.drivers.wire.polled.polled_axis import PolledKeys

# type (struct) of each endpoint that the driver needs, by its name in flat_endpoints.json
FORMS = {
    "axis0.config.enable_watchdog": "?",
    "axis0.config.watchdog_timeout": "f",
    "axis0.config.torque_soft_max": "f",
    "axis0.config.torque_soft_min": "f",
    "axis0.controller.config.vel_limit": "f",
    "axis0.controller.config.control_mode": "B",
    "axis0.controller.config.input_mode": "B",
    "axis0.controller.input_vel": "f",
    "axis0.controller.config.absolute_setpoints": "?",
}
(
    WATCHDOG,
    TIMEOUT,
    MOST_TORQUE,
    LEAST_TORQUE,
    SPEED_LIMIT,
    CONTROL_MODE,
    INPUT_MODE,
    INPUT_VELOCITY,
    ABSOLUTE,
) = FORMS


class OdriveKeys(PolledKeys):
    """Keys of ``[driver]``."""

    # version of the endpoints; an axis with another version is refused
    firmware: str
    # allow axes that count positions from their place at power-up
    relative_positions: bool = False
    endpoints: dict[str, Annotated[int, Field(ge=0, le=0xFFFF)]]

    @field_validator("firmware")
    @classmethod
    def _spoken(cls, firmware: str) -> str:
        found = re.match(r"(\d+)\.(\d+)\.", firmware)
        if not found or (int(found[1]), int(found[2])) < (0, 6):
            raise ValueError(
                "version 0.6.0 or later is needed: older firmware accepts no settings by endpoint "
                "over CAN"
            )
        return firmware

    @field_validator("endpoints")
    @classmethod
    def _all(cls, endpoints: dict[str, int]) -> dict[str, int]:
        missing, unknown = sorted(set(FORMS) - set(endpoints)), sorted(set(endpoints) - set(FORMS))
        if missing or unknown:
            raise ValueError(
                f"{', '.join(missing or unknown)}: {'missing' if missing else 'not needed'}; the "
                "numbers are the ids in flat_endpoints.json of this firmware"
            )
        if twice := [
            name for name, number in endpoints.items() if list(endpoints.values()).count(number) > 1
        ]:
            raise ValueError(
                f"{' and '.join(twice)} have the same number; each endpoint has its own id in "
                "flat_endpoints.json"
            )
        return endpoints


class DriveKeys(Keys):
    """Keys of ``drive = {...}`` of a joint."""

    node: Annotated[int, Field(ge=0, le=62)]
    encoder_counts: Counts  # counts per motor revolution
