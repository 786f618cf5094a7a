"""Identification: from runs to a calibration.

Stages: choose the runs, reduce them to points, take ripple out, fit every joint, fit
temperature, judge the fits, fit memories, find backlash, make the calibration, observe
the runs for what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pandas as pd

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.external.shown_by_runs import with_free_motion
from stribeck.ident.fit.joint.fit_joint import JointFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification.choose_runs import choose_runs, options_for
from stribeck.ident.identification.find_backlash import find_backlash
from stribeck.ident.identification.fit_joints import fit_joints
from stribeck.ident.identification.fit_memories import fit_memories
from stribeck.ident.identification.fit_temperatures import fit_temperatures
from stribeck.ident.identification.identify_inertia import identify_inertia
from stribeck.ident.identification.judge_joints import judge_joints
from stribeck.ident.identification.make_calibration import make_calibration
from stribeck.ident.identification.reduce_runs import reduce_runs
from stribeck.ident.identification.take_out_ripple import take_out_ripple
from stribeck.ident.log.finding import Finding, without_moot
from stribeck.ident.log.run import Run
from stribeck.ident.model.mechanism import Mechanism


@dataclass(frozen=True)
class Identification:
    """Result of identifying runs.

    Attributes
    ----------
    calibration : Calibration
        Friction of the arm, to save and use.
    points : DataFrame
        Points of the round trips of all runs; for general motion, the fitted points.
    joints : dict of str to JointFit
        Fits of the calibrated joints.
    findings : tuple of Finding
        Health of the logs, strokes left out, joints that could not be calibrated.
    mechanism : Mechanism
        The rigid-body model of the fits, including the unknown tool if one was identified.
    breakaway : DataFrame
        Pairs of torque ramps, if breakaway was measured.
    """

    calibration: Calibration
    points: pd.DataFrame
    joints: dict[str, JointFit]
    findings: tuple[Finding, ...]
    mechanism: Mechanism
    breakaway: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __repr__(self) -> str:
        return (
            f"<Identification: {len(self.points)} points, {len(self.findings)} findings, "
            f"{self.calibration!r}>"
        )

    def _repr_html_(self) -> str:
        return self.calibration._repr_html_()

    @property
    def asked_for(self) -> tuple[str, ...]:
        """Joints that the runs concern: the calibrated joints, and all
        other joints with a finding.
        """
        told = {*self.calibration.joints, *(finding.joint for finding in self.findings)}
        return tuple(name for name in self.mechanism.names if name in told)


def identify(
    runs: Sequence[Run], options: Options | None = None, created: datetime | None = None
) -> Identification:
    """Calibrate an arm from its runs.

    Parameters
    ----------
    runs : sequence of Run
        Runs of the same arm. Their arm files may differ only in ``[simulation]`` and
        ``tool``. Each run is reduced with the tool of its own arm file; the calibration
        states the tool of the first run.
    options : Options, optional
        Options of the fits; by default all laws and loads compete.
    created : datetime, optional
        Date of the calibration; default is the start of the last run.

    Raises
    ------
    InputError
        If the logs cannot be used or belong to different arms.
    FitError
        If no joint has enough round trips.

    Returns
    -------
    Identification

    Examples
    --------
    >>> from stribeck import identify, load_run
    >>> found = identify([load_run("data/golden/runs/constant-speed")])
    >>> found.calibration.joints["hinge"].law, len(found.points)
    ('stribeck', 88)
    """
    chosen = choose_runs(runs)
    reduced = reduce_runs(chosen, options_for(chosen, options or Options()))
    measured = chosen.runs
    chosen, reduced, ripple = take_out_ripple(chosen, reduced)
    reduced, inertia = identify_inertia(chosen, reduced)
    fitted = fit_joints(chosen, reduced, inertia)
    temperatures = fit_temperatures(chosen, reduced, fitted, inertia)
    fitted = temperatures.applied(fitted)
    judged = judge_joints(chosen, reduced, fitted)
    memories = fit_memories(chosen, reduced, judged.joints)
    judged = memories.applied(judged)
    backlash = find_backlash(chosen, reduced, judged.joints)
    calibration = make_calibration(
        chosen, reduced, judged, created, inertia, memories, ripple, temperatures, backlash
    )
    calibration = with_free_motion(calibration, measured)
    found = (
        *chosen.findings,
        *reduced.findings,
        *ripple.findings,
        *inertia.findings,
        *fitted.findings,
        *judged.findings,
        *memories.findings,
        *temperatures.findings,
        *backlash.findings,
    )
    findings = without_moot(memories.without_explained(temperatures.without_explained(found)))
    return Identification(
        calibration, fitted.points, judged.joints, findings, reduced.mechanism, chosen.breakaway
    )
