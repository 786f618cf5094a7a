"""Fit of one joint to general motion: parameters, candidates and findings."""

from dataclasses import replace

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.joint.advice import advised
from stribeck.ident.fit.joint.closed_loop import NO_COMMANDS, closed_loop, loop_findings
from stribeck.ident.fit.joint.directions import directions, offset_finding
from stribeck.ident.fit.joint.fit_joint import JointFit, check_options, law_undecided
from stribeck.ident.fit.joint.general_motion import (
    beside_friction,
    fit_motion,
    law_torque,
    motion_points,
)
from stribeck.ident.fit.joint.misfit_words import misfit_findings
from stribeck.ident.fit.joint.model_doubt import Doubts, of_its_load
from stribeck.ident.fit.joint.offered_loads import excited_loads, unidentifiable_coefficients
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.joint.places import place_finding
from stribeck.ident.fit.misfit import GROWTH
from stribeck.ident.fit.residuals.holding import with_lack_of_fit
from stribeck.ident.laws.law_table import WITH_LOADED_VISCOUS
from stribeck.ident.laws.load_components import load_at
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.motion.commanded_motion import along
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.log.motion.motion_points import reduce_motion
from stribeck.ident.model.mechanism import Mechanism


def identify_motion(
    log: Log,
    mechanism: Mechanism,
    name: str,
    options: Options,
    doubts: Doubts | None = None,
    whole: bool = True,
    reference: Log | None = None,
) -> JointFit:
    """Fit one joint's general motion: laws, loads and differences between the directions compete.

    With `doubts`, the uncertainty of the model's torque is fitted as nuisance parameters. `whole`:
    see `fit_motion`. With a `reference`, the log along the commanded motion, bias from the closed
    loop is detected and removed.

    Raises
    ------
    FitError
        If the joint moves too little, too slowly or in one direction, or torque opposes motion.
    """
    check_options(options, mechanism, (name,))
    motion = reduce_motion(log, name)
    offered: dict[str, Array | None] = {"none": None}
    still: dict[str, tuple[float, float]] = {}
    if options.motion == "model":
        offered, still = excited_loads(
            motion_points(motion, motion.view(motion.tau - motion.rigid))[0], options.growth
        )

    def tested(further: tuple[str, ...] = ()) -> tuple[FitResult, FitResult]:
        doubt = None if doubts is None else doubts(None)
        found = fit_motion(
            motion,
            options.motion,
            options.law,
            options.directional,
            tuple(offered),
            further,
            doubt,
            whole,
            options.growth.constant,
        )
        if doubts is not None:
            found = of_its_load(found, doubts)
        return found, with_lack_of_fit(
            found,
            motion.q[motion.points],
            motion.view(motion.loads["torque"]),
            time=motion.t[motion.points],
        )

    selected, fit = tested()
    if (
        options.law == "auto"
        and len(offered) > 1
        and any(misfit.over in (GROWTH, "load") for misfit in fit.lack_of_fit)
    ):
        selected, fit = tested(WITH_LOADED_VISCOUS)
    loop = (
        NO_COMMANDS
        if reference is None
        else closed_loop(fit, along(motion, reference, mechanism.names))
    )
    fit = loop.corrected(fit)
    points, rows = motion_points(motion, law_torque(motion, fit) + fit.residual)
    sign = np.sign(motion.view(np.sign(motion.dq)))
    fit = replace(fit, residual=(sign * fit.residual)[rows])
    if fit.load == "none" and still:
        fit = replace(
            fit,
            parameters={
                **fit.parameters,
                **unidentifiable_coefficients(fit, still, mechanism, mechanism.names.index(name)),
            },
        )
    load = load_at(points, fit.load, fit.values)
    fit = advised(
        fit,
        points["speed"].to_numpy(dtype=float),
        load,
        points["segment"].nunique(),
        motion.prismatic,
        options.law == "auto",
        "passes",
    )
    return JointFit(
        points,
        fit,
        beside_friction(fit, float(points["odd"].median())),
        None,
        (
            *loop_findings(name, loop, fit),
            *misfit_findings(name, fit, float(points["odd"].median()), motion.prismatic),
            *place_finding(name, selected, float(points["odd"].median()), motion.q[motion.points]),
            Finding(name, "motion", motion.left_out),
            *law_undecided(name, fit),
            *directions(name, fit.directional, fit, fit.nuisance),
            *offset_finding(name, fit.nuisance, points["odd"].to_numpy(dtype=float)),
        ),
        directional=fit.directional,
        loop=loop,
    )
