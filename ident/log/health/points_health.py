"""Health of the points of one joint: unit, direction and reading of the torque, and how friction changed over a run."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stribeck.ident.log.finding import Finding
from stribeck.ident.log.run import Run

UNIT = 3.0              # factor between torque and the model's gravity beyond which the unit is in doubt
_EXPLAINED = 0.8        # part of the even torque's variance that gravity must explain for that
_MISREAD = 0.02         # part of friction at the highest speeds that a moment's reading may be off by without a word
_FAST = 0.8             # part of the highest speed from which on speeds are that


def check_scale(points: pd.DataFrame) -> list[Finding]:
    """Torque of one joint over the model's gravity so far from 1 that its unit or direction must be wrong."""
    name, even = str(points["joint"].iloc[0]), points["even"].to_numpy(dtype=float)
    gravity = points["gravity"].to_numpy(dtype=float)
    even, gravity = even - even.mean(), gravity - gravity.mean()
    square = float(gravity @ gravity)
    if float(even @ gravity) ** 2 <= _EXPLAINED * square * float(even @ even):      # gravity is not what varies in the torque
        return []
    scale = float(even @ gravity) / square
    if scale < 0.0:
        return [Finding(name, "direction", f"torque of {name} is {scale:.2g} times the model's gravity: positions and torques "
                        "run against the model, so its loads are those of another posture. Check direction and zero_offset of "
                        f"joints.{name}, and the arm's gravity")]
    if 1.0 / UNIT < scale < UNIT:
        return []
    return [Finding(name, "torque unit", f"torque of {name} is {scale:.2g} times the model's gravity: is it in amperes, in per "
                    "cent, or at the motor's side of the gear, or is there a tool that the model lacks? In the first cases "
                    f"friction of {name} is wrong by the same factor. State torque constant and gear, or the tool")]


def check_reading(runs: Sequence[Run], points: pd.DataFrame) -> list[Finding]:
    """Torque of one joint that is read at one moment of each step of a ramp, by which viscous friction is off."""
    name = str(points["joint"].iloc[0])
    stated = [dict(zip(run.names, (run.record.get("driver") or {}).get("viscous_error") or (), strict=False)) for run in runs]
    error = max(errors.get(name, 0.0) for errors in stated)
    speed, odd = points["speed"].to_numpy(dtype=float), points["odd"].to_numpy(dtype=float)
    top = speed >= _FAST * speed.max()
    share = error * speed.max() / float(np.median(odd[top]))
    if not share > _MISREAD:
        return []
    return [Finding(name, "reading", f"torque of {name} is read at one moment of each position step, between which it falls: "
                    f"viscous friction may be off by {error:.2g} N·m·s/rad, friction at {speed.max():.2g} rad/s by "
                    f"{100.0 * share:.0f} %, which no interval holds. A higher driver.rate or a smaller kp makes it less")]


def opposing(points: pd.DataFrame) -> str:
    """That the torque of one joint opposes its motion, in most round trips; empty where it does not."""
    odd = points["odd"].to_numpy(dtype=float)
    return "" if np.median(odd) > 0.0 else (
        f"torque opposes motion in {np.mean(odd < 0.0):.0%} of the points; the sign of the torque signal is wrong (in an import, "
        "give it a negative factor, or set direction = -1 if the position is reversed too)")


def friction_change(points: pd.DataFrame) -> dict[str, float]:
    """Change of friction from the first to the last reference round trip of a run, as a fraction; of each joint the greatest.

    Those of other runs may have other loads or speeds.
    """
    out: dict[str, float] = {}
    for (joint, _), rows in points[points["reference"].astype(bool)].groupby(["joint", "run"], sort=False):
        level = rows.groupby("segment", sort=False)["odd"].mean()
        change = float(level.iloc[-1] / level.iloc[0] - 1.0)
        if len(level) >= 2 and abs(change) >= abs(out.get(str(joint), 0.0)):
            out[str(joint)] = change
    return out
