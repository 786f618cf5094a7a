"""Health checks of the points of one joint: unit, direction and reading of the torque, and
change of friction over a run.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run

# factor between torque and the model's gravity beyond which the unit is in doubt
UNIT = 3.0
# part of the even torque's variance that gravity must explain for this finding
_EXPLAINED = 0.8
_MISREAD = 0.02  # part of friction at the highest speeds; a larger reading error is reported
_FAST = 0.8  # part of the highest speed; faster points count as highest speeds


def check_scale(points: pd.DataFrame) -> list[Finding]:
    """Finding about a wrong unit or direction of one joint's torque, from its
    ratio to the model's gravity.
    """
    name, even = str(points["joint"].iloc[0]), points["even"].to_numpy(dtype=float)
    gravity = points["gravity"].to_numpy(dtype=float)
    even, gravity = even - even.mean(), gravity - gravity.mean()
    square = float(gravity @ gravity)
    # gravity explains too little of the torque
    if float(even @ gravity) ** 2 <= _EXPLAINED * square * float(even @ even):
        return []
    scale = float(even @ gravity) / square
    if scale < 0.0:
        return [
            Finding(
                name,
                "direction",
                f"torque of {name} is {scale:.2g} times the model's gravity torque: positions and "
                "torques have the opposite sign of the model, so loads belong to another posture. "
                f"Check direction and zero_offset of joints.{name}, and gravity of the arm",
            )
        ]
    if 1.0 / UNIT < scale < UNIT:
        return []
    return [
        Finding(
            name,
            "torque unit",
            f"torque of {name} is {scale:.2g} times the model's gravity torque: the torque may be "
            "in amperes, in per cent or at the motor's side of the gear, or the model may lack a "
            f"tool. Unless a tool is the cause, friction of {name} is wrong by the same factor. "
            "State torque constant and gear ratio, or the tool",
        )
    ]


def check_reading(runs: Sequence[Run], points: pd.DataFrame) -> list[Finding]:
    """Finding about the error of viscous friction if the torque is read at one
    instant of each position step.
    """
    name = str(points["joint"].iloc[0])
    stated = [
        dict(
            zip(
                run.names, (run.record.get("driver") or {}).get("viscous_error") or (), strict=False
            )
        )
        for run in runs
    ]
    error = max(errors.get(name, 0.0) for errors in stated)
    speed, odd = points["speed"].to_numpy(dtype=float), points["odd"].to_numpy(dtype=float)
    top = speed >= _FAST * speed.max()
    share = error * speed.max() / float(np.median(odd[top]))
    if not share > _MISREAD:
        return []
    return [
        Finding(
            name,
            "reading",
            f"torque of {name} is read at one instant of each position step, and falls between the "
            f"steps: viscous friction may be wrong by {error:.2g} N·m·s/rad, friction at "
            f"{speed.max():.2g} rad/s by {100.0 * share:.0f} %. No interval includes this error. "
            "Use a higher driver.rate or a smaller kp",
        )
    ]


def opposing(points: pd.DataFrame) -> str:
    """Message if the torque of one joint opposes its motion in most
    round trips; otherwise empty.
    """
    odd = points["odd"].to_numpy(dtype=float)
    return (
        ""
        if np.median(odd) > 0.0
        else (
            f"torque opposes motion in {np.mean(odd < 0.0):.0%} of the points; the sign of the "
            "torque signal is wrong (in an import, give the torque a negative factor, or set "
            "direction = -1 if the position is reversed, too)"
        )
    )


def friction_change(points: pd.DataFrame) -> dict[str, float]:
    """Relative change of friction from the first to the last reference round trip; for each joint,
    the run with the largest.

    Reference round trips of different runs are not compared, because loads or speeds may differ.
    """
    out: dict[str, float] = {}
    for (joint, _), rows in points[points["reference"].astype(bool)].groupby(
        ["joint", "run"], sort=False
    ):
        level = rows.groupby("segment", sort=False)["odd"].mean()
        change = float(level.iloc[-1] / level.iloc[0] - 1.0)
        if len(level) >= 2 and abs(change) >= abs(out.get(str(joint), 0.0)):
            out[str(joint)] = change
    return out
