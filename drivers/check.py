"""The findings of `stribeck check`: drives, limits and joints of an
arm, measured without motion.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from stribeck.drivers.arm import Array, JointSample
from stribeck.drivers.connect import connect, holds_in_silence
from stribeck.drivers.wire.transport import bus_errors
from stribeck.drivers.wire.wired_arm import WiredArm
from stribeck.ident.arm.arm_file import ArmFile, Limits
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.files.drive_ratings import rated_torques, rated_velocities
from stribeck.ident.model.mechanism import Mechanism

_CYCLES = 1.0  # s for which cycles run and their replies are timed
_TURNED = 0.01  # rad or m of motion from which a joint counts as turned by hand

Page = dict[str, dict[str, str]]  # joint: column: text of the cell


@dataclass(frozen=True)
class Findings:
    """Result of `check_arm`.

    Attributes
    ----------
    summary : str
        One line about arm and bus.
    pages : dict
        Tables by their titles; each has one row of texts per joint.
    notes : tuple of str
        Facts to know before the arm moves.
    """

    summary: str
    pages: dict[str, Page]
    notes: tuple[str, ...]

    def overview(self) -> Page:
        """One row per joint: device, firmware and present readings; limits,
        if the arm has no drives.
        """
        if "now" not in self.pages:
            return self.pages["limits in force"]
        drives = self.pages["drives"]
        return {
            name: {
                "device": drives[name].get("device", "-"),
                "firmware": drives[name].get("firmware", "-"),
                **{key: row[key] for key in ("state", "position", "torque", "replies", "latency")},
            }
            for name, row in self.pages["now"].items()
        }

    def table(self) -> dict[str, object]:
        """Return the findings as plain data."""
        return asdict(self)


def check_arm(arm: ArmFile, reset: bool = False) -> Findings:
    """Return findings about the drives and joints of an arm; nothing is powered and nothing moves.

    The drives are connected, configured and verified, and their replies are read for a second.

    Parameters
    ----------
    arm : ArmFile
        The arm to check.
    reset : bool
        Whether to clear faults first.

    Raises
    ------
    DriverError
        If a drive is missing, has a fault, or did not accept a setting.
    """
    made = connect(arm)
    mechanism = load_mechanism(arm)
    place = [mechanism.position_unit(j) for j in range(mechanism.n)]
    pages = {
        "signs and scales": {
            name: {
                "gear_ratio": f"{table.ratio:g}",
                "direction": f"{table.direction:+d}",
                "zero_offset": f"{table.zero_offset:g} {place[j]}",
            }
            for j, name in enumerate(made.names)
            for table in (arm.joint(name),)
        },
        "limits in force": limits_page(arm, mechanism, made.limits),
        "resolution": {
            name: {
                "velocity": f"{made.resolution.velocity_step[j]:.2g} {place[j]}/s",
                "position": f"{made.resolution.position_step[j]:.2g} {place[j]}",
                "torque": f"{made.resolution.torque_step[j]:.2g} {mechanism.unit(j)}",
            }
            for j, name in enumerate(made.names)
        },
    }
    summary = f"{arm.name}: {len(made.names)} joints, {arm.driver.kind}, {arm.driver.rate:g} Hz"
    if not isinstance(made, WiredArm):
        return Findings(
            summary, pages, ("this arm has no drives on a bus; only the arm file was checked",)
        )
    if reset:
        made.reset()
    with made, bus_errors():
        identity = {axis.joint.name: axis.identity() for axis in made.axes}
        samples = made.look(max(10, round(_CYCLES * made.rate)))
        state = {axis.joint.name: axis.trouble or axis.power for axis in made.axes}
    last, replied = samples[-1], made.tally.cycles - made.tally.missed
    t = np.array([sample.t for sample in samples])
    latency = 1e3 * (np.array([sample.t_joint for sample in samples]) - t[:, None])
    pages = {
        "drives": identity,
        "now": {
            name: {
                "state": state[name],
                "position": f"{_way(np.array([sample.q[j] for sample in samples]))} {place[j]}",
                "velocity": f"{last.dq[j]:z.4f} {place[j]}/s",
                "torque": f"{last.tau[j]:z.2f} {mechanism.unit(j)}",
                "replies": f"{replied[j]} of {made.tally.cycles}",
                "latency": f"{np.nanmedian(latency[:, j]):.2f} ms, at most "
                f"{np.nanmax(latency[:, j]):.2f} ms",
            }
            for j, name in enumerate(made.names)
        },
    } | pages
    watchdog = (
        f"{1e3 * made.watchdog:.0f} ms" if any(axis.watched for axis in made.axes) else "none"
    )
    summary += (
        f" (measured {(len(t) - 1) / (t[-1] - t[0]):.1f} Hz), {100 * made.link.load():.0f} % of "
        f"the bus, watchdog {watchdog}"
    )
    notes = (
        *made.outside(),
        *_coupled(mechanism),
        *_beyond(arm, mechanism, made.limits),
        *_unseen(made, samples),
        *_notes(made),
    )
    return Findings(summary, pages, notes)


def _coupled(mechanism: Mechanism) -> list[str]:
    """Return notes about the motors that move several joints."""
    pairs = {} if mechanism.transmission is None else mechanism.transmission.pairs
    return [
        f"the motor of {name} travels by "
        f"{' + '.join(f'{ratio:g} {joint}' for joint, ratio in row.items())} ([transmission]); the "
        "limits in its drive are as wide as the limits of these joints require"
        for name, row in pairs.items()
    ]


def limits_page(arm: ArmFile, mechanism: Mechanism, limits: Limits) -> Page:
    """Return the table of limits and stop actions of all joints."""

    def cell(value: float, unit: str) -> str:
        return f"{value:.3g} {unit}" if np.isfinite(value) else "not stated"

    page = {}
    for j, name in enumerate(mechanism.names):
        place = mechanism.position_unit(j)
        page[name] = {
            "position": f"{limits.position[j, 0]:.3f} ... {limits.position[j, 1]:.3f} {place}",
            "velocity": cell(limits.velocity[j], f"{place}/s"),
            "acceleration": cell(limits.acceleration[j], f"{place}/s²"),
            "torque": cell(limits.torque[j], mechanism.unit(j)),
            "when stopped": "brake" if arm.joint(name).stop == "brake" else "held by its drive",
        }
    return page


def _way(q: Array) -> str:
    """Return the position of a joint as text, or start and end if somebody turned the joint."""
    known = q[np.isfinite(q)] if np.isfinite(q).any() else q[-1:]
    turned = np.ptp(known) > _TURNED
    return f"{known[0]:z.4f} → {known[-1]:z.4f}" if turned else f"{known[-1]:z.4f}"


def _beyond(arm: ArmFile, mechanism: Mechanism, limits: Limits) -> list[str]:
    """Return notes about limits that are wider than the model's limits of its drives."""
    torque, velocity = rated_torques(arm.model, mechanism.names), rated_velocities(arm.model)
    stated = (
        ("velocity", limits.velocity, velocity, lambda j: mechanism.position_unit(j) + "/s"),
        ("torque", limits.torque, torque, mechanism.unit),
    )
    return [
        f"joints.{name}.{key} = {limit[j]:g} {unit(j)} exceeds the model's limit of "
        f"{rated[name]:g} {unit(j)}"
        for key, limit, rated, unit in stated
        for j, name in enumerate(mechanism.names)
        if name in rated and limit[j] > rated[name] * (1.0 + 1e-6)
    ]


def _unseen(arm: WiredArm, samples: Sequence[JointSample]) -> list[str]:
    """Return a note about joints with a temperature limit whose drives report no temperature."""
    shown = np.asarray(
        np.isfinite(
            [
                np.full(len(arm.names), np.nan)
                if sample.temperature is None
                else sample.temperature
                for sample in samples
            ]
        ).any(axis=0)
    )
    blind = [
        name
        for name, limit, seen in zip(arm.names, arm.limits.temperature, shown, strict=True)
        if np.isfinite(limit) and not seen
    ]
    said = (
        f"{', '.join(blind)}: the drives report no temperature, so the arm file's temperature "
        "limit is not monitored; only the drives' own limits act"
    )
    return [said] if blind else []


def falling(arm: ArmFile, names: tuple[str, ...]) -> str:
    """Return a note that names joints without a brake; empty if brakes hold all joints."""
    loose = [name for name in names if arm.joint(name).stop == "hold"]
    silence = ", as happens if this computer hangs" if not holds_in_silence(arm) else ""
    return (
        f'{", ".join(loose)}: no brake; may fall when power is lost{silence} (stop = "hold")'
        if loose
        else ""
    )


def unguarded(arm: ArmFile) -> str:
    """Return a warning if the arm file allows motion of drives without a
    watchdog; otherwise an empty text.
    """
    allowed = (arm.driver.model_extra or {}).get("allow_no_watchdog")
    return (
        "driver.allow_no_watchdog = true: if this computer hangs, nothing stops a joint whose "
        "drive has no watchdog"
        if allowed
        else ""
    )


def _notes(arm: WiredArm) -> list[str]:
    notes = [falling(arm.file, arm.names)]
    for fate in sorted({axis.unwatched for axis in arm.axes}):
        names = ", ".join(
            axis.joint.name for axis in arm.axes if not axis.watched and axis.unwatched == fate
        )
        notes.append(
            f"{names}: no watchdog; if this computer hangs, the joint {fate}" if names else ""
        )
    if not arm.prompt:
        notes.append(
            "this computer grants the program no real-time priority; cycles may be late when the "
            "computer is busy (set rtprio in limits.conf)"
        )
    missed = int(arm.tally.missed.sum())
    if missed:
        notes.append(
            f"{missed} replies came late or were lost, {arm.tally.late} cycles began late: lower "
            "driver.rate, or check the bus"
        )
    if arm.link.corrupt:
        notes.append(
            f"{arm.link.corrupt} damaged replies: check the wiring and the other devices on the bus"
        )
    if arm.link.error_frames:
        notes.append(
            f"{arm.link.error_frames} error frames on the bus: check wiring, termination and "
            "bit_rate"
        )
    return [note for note in notes if note] + [
        "software is not a safety function: keep a hand on the emergency stop"
    ]
