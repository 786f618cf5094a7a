"""Stage of identification after the fits of joints: play between motor and link, from reversals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.backlash.find_play import find_play
from stribeck.ident.backlash.joint_backlash import JointBacklash
from stribeck.ident.backlash.play_data import PlayData, Section, busiest, most_samples
from stribeck.ident.backlash.two_bodies import Drive
from stribeck.ident.errors import FitError
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.identification.choose_runs import ChosenRuns
from stribeck.ident.identification.reduce_runs import ReducedRuns
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.filtered_motion import Stretch
from stribeck.ident.log.run import Run, read_signal
from stribeck.ident.memory.states.path import Path
from stribeck.ident.model.dynamics import inverse_dynamics, mass_matrix

_LEAST = 1.0  # s; shortest section
_REVERSALS = 8  # least number of reversals
_SPARSE = 20  # samples between those at which inertia and slope of the load are computed
_STEP = 1e-4  # rad or m; difference for the slope of the load


@dataclass(frozen=True)
class FoundBacklash:
    """Play of the joints that show it.

    Attributes
    ----------
    joints : dict of str to JointBacklash
        Play of each joint that has it.
    findings : tuple of Finding
        Joints without play, and why.
    """

    joints: Mapping[str, JointBacklash] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


NO_BACKLASH = FoundBacklash()


def find_backlash(
    chosen: ChosenRuns, reduced: ReducedRuns, joints: Mapping[str, JointFit]
) -> FoundBacklash:
    """Find the play of fitted joints.

    With the option "auto", it is sought in logs with the position of the link; with "any", also
    from the torque of the motor.
    """
    option = reduced.options.backlash
    if option == "none" or reduced.mechanism.chain is not None:
        return NO_BACKLASH
    runs = chosen.small or chosen.runs
    links = [read_signal(run, "q_link", run.rows) for run in runs]
    measured = {
        name
        for j, name in enumerate(runs[0].names)
        if all(link is not None and np.isfinite(link[:, j]).all() for link in links)
    }
    asked = [name for name in joints if option == "any" or name in measured]
    if not asked:
        return NO_BACKLASH
    log = reduced.log(runs, reduced.models_of(runs))
    found, findings = dict[str, JointBacklash](), list[Finding]()
    for name in asked:
        try:
            data = play_samples(log.stretches, name, runs if name in measured else ())
            found[name] = find_play(data, None, runs[0].arm.joint(name).stiffness).joint
        except FitError as error:
            findings.append(Finding(name, "backlash", f"{name}: no backlash claimed: {error}"))
    return FoundBacklash(found, tuple(findings))


def play_samples(stretches: Sequence[Stretch], name: str, measured: Sequence[Run]) -> PlayData:
    """Return the samples of a joint where it reverses most; with the link's
    position in runs that measure it.

    Raises
    ------
    FitError
        If the joint reverses too rarely.
    """
    column = stretches[0].run.names.index(name)
    turns, sections, room = (
        0,
        list[Section](),
        most_samples(float(stretches[0].t[1] - stretches[0].t[0]), bool(measured)),
    )
    for part in stretches:
        dt = float(part.t[1] - part.t[0])
        q = np.interp(part.t, part.run.t, part.run.signals["q"][:, column])
        path = Path.of(part.q[:, column], 1e-5 + 2.0 * float(np.std(q - part.q[:, column])))
        rows = busiest(path.reversals, min(room, len(q)), len(q))
        turns += int(np.sum((path.reversals >= rows.start) & (path.reversals < rows.stop)))
        if (rows.stop - rows.start) * dt > _LEAST:
            room -= rows.stop - rows.start
            sections.append(_section(part, rows, column, q, dt, bool(measured)))
    if turns < _REVERSALS or not sections:
        raise FitError(
            f"it reverses {turns} times in these runs; at least {_REVERSALS} reversals are needed"
        )
    return PlayData(tuple(sections), bool(stretches[0].prismatic[column]))


def _section(
    part: Stretch, rows: slice, column: int, q: Array, dt: float, measured: bool
) -> Section:
    """Return one section: load and inertia by the model along the filtered motion."""
    at = np.unique(np.append(np.arange(rows.start, rows.stop, _SPARSE), rows.stop - 1))
    here, motion = np.arange(rows.start, rows.stop), tuple(values[at] for values in part.links)
    inertia = np.interp(here, at, mass_matrix(part.mechanism, motion[0])[:, column, column])
    aside = motion[0].copy()
    aside[:, column] += _STEP
    slope = np.interp(
        here,
        at,
        (
            inverse_dynamics(part.mechanism, aside, *motion[1:])
            - inverse_dynamics(part.mechanism, *motion)
        )[:, column]
        / _STEP,
    )
    load = part.rigid[rows, column] - inertia * part.links[2][rows, column]
    drive = Drive(q[rows], dt, inertia, load, slope)
    torque = part.tau[rows, column]
    link = None
    if measured:
        told = read_signal(part.run, "q_link", len(part.run.t))
        assert told is not None
        link = np.interp(part.t[rows], part.run.t, told[:, column])
    return Section(drive, torque, link)
