r"""Identification of inertia and friction in one fit.

Joints share three kinds of unknowns y (`Shared`): the inertial parameters of the links, the
friction of motors that move several joints, and the friction of the passive joints of a closed
chain. All other parameters belong to one joint. After elimination of its own friction, each joint's
torque gives a normal distribution of y; the information of all joints adds up. The fit has four
steps:

1. Each joint's information about y (`link_prior`) follows from its equation of motion by least
   squares over its friction.
2. The error of the model (scatter) is chosen by the greatest marginal likelihood; the
   most plausible y follows.
3. The model at this y gives the torques and loads of the next pass, in which friction
   depends on the new loads.
4. The friction of each joint is fitted alone, with nuisance columns for the directions in which the
   prior and the other joints leave the model's torque uncertain.

For given laws these steps equal one least squares fit of all parameters: the other joints enter
by their Schur complement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.errors import FitError
from stribeck.ident.fit.inertia.coupled_motors import LAWS as MOTOR_LAWS
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.equations import Equations
from stribeck.ident.fit.inertia.inertial_fit import (
    CONSTANTS,
    SURE,
    InertialFit,
    likelihood,
    most_likely,
)
from stribeck.ident.fit.inertia.joint_equation import laws_meanwhile
from stribeck.ident.fit.inertia.joint_information import Friction, Information
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.links_in_loop import by_instruments, links_in_loop
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.inertia.unknown_passive import UnknownPassive
from stribeck.ident.fit.joint.closed_loop import BIASED
from stribeck.ident.fit.points import ANY, Growth
from stribeck.ident.log.motion.commanded_motion import commanded
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.model.regressor import changed

# of a joint's rms friction: a change of inertia matters if it changes the joint's torque by more
_WEIGHTY = 0.03
# iterations, and most further iterations with friction parameters that stay zero
_FIRST, _FURTHER = 3, 5
_SETTLED = 0.1  # of a squared standard error: a smaller change ends these iterations
_FEW = 200  # samples that set the unit of an unknown


def contradicted(
    log: Log, mechanism: Mechanism, joints: Sequence[str], law: str = "auto", growth: Growth = ANY
) -> bool:
    """Return True if the torques contradict the inertia of the model's links.

    Two conditions must hold. Wrong links are clearly more likely than wrong torque constants alone.
    The corrected inertia changes the torque of some joint by a relevant part of its friction.
    """
    shared = Shared(
        LinkPrior(mechanism),
        True,
        coupled_motors(log, mechanism, joints),
        unknown_passive(log, mechanism),
    )
    equations = Equations.of(*_at_prior(log, mechanism, shared), shared, joints, growth)
    information = equations.information(np.zeros(shared.count), {}, laws_meanwhile(law)[:1])
    if not information:
        return False
    scatter, evidence = most_likely(information.values(), shared)
    of_constants = [
        likelihood(information.values(), shared, Scatter(0.0, 0.0, one))
        for one in (0.0, *CONSTANTS)
    ]
    if evidence - (max(of_constants[1:]) - of_constants[0]) < SURE:
        return False
    y = InertialFit(shared, information, scatter, evidence).y[: shared.links]
    change = {
        name: float(np.std(equations.torque_slopes[name][:, : shared.links] @ y))
        for name in information
    }
    return any(
        change[name] > _WEIGHTY * one.friction_level(equations.motions[name])
        for name, one in information.items()
    )


def coupled_motors(log: Log, mechanism: Mechanism, joints: Sequence[str]) -> CoupledMotors | None:
    """Motors that move several joints and whose friction the log separates from the
    friction of these joints.
    """
    return CoupledMotors.told_by(
        mechanism.transmission,
        joints,
        *(
            np.concatenate([getattr(part, key) for part in log.stretches])
            for key in ("dq", "ddq", "tau")
        ),
    )


def unknown_passive(log: Log, mechanism: Mechanism) -> UnknownPassive | None:
    """Passive joints of a closed chain whose friction is unknown; None without such joints."""
    if mechanism.chain is None:
        return None
    every = max(1, sum(len(part.t) for part in log.stretches) // _FEW)
    return UnknownPassive.of_chain(
        mechanism,
        *(
            np.concatenate([getattr(part, key)[::every] for part in log.stretches])
            for key in ("q", "dq", "tau")
        ),
    )


def fit_inertia(
    log: Log,
    mechanism: Mechanism,
    joints: Sequence[str],
    of_links: bool = True,
    law: str = "auto",
    growth: Growth = ANY,
) -> tuple[InertialFit, Equations]:
    """Identify all unknowns that joints share, and return them with the equations
    about the identified model.

    Parameters
    ----------
    log : Log
        Filtered log; its stretches hold torques and loads of `mechanism`, or of
        `mechanism` with another tool.
    mechanism : Mechanism
        The model.
    joints : sequence of str
        Joints whose torques are used.
    of_links : bool
        True identifies the links' inertia; False keeps the model's.
    law : str
        Requested friction law or "auto"; motors use the requested law if it
        is one of their candidates.
    growth : Growth
        How friction grows with a load.

    Raises
    ------
    FitError
        If no joint has usable motion.
    """
    motors = coupled_motors(log, mechanism, joints)
    shared = Shared(LinkPrior(mechanism), of_links, motors, unknown_passive(log, mechanism))
    laws = laws_meanwhile(law)
    if motors is not None and not of_links:
        joints = [name for name in joints if motors.moves(mechanism.names.index(name))]
    found, equations = _converged(log, mechanism, joints, shared, laws, growth, (0.0,))
    if motors is not None:
        frictions = {
            name: one.friction
            for name, one in found.information.items()
            if one.friction is not None
        }
        likely = motors.likeliest(
            MOTOR_LAWS if law not in MOTOR_LAWS else (law,), *equations.misfits(frictions, laws)
        )
        # a second time if a motor's friction shows no effect of the nonlinear parameter
        for _ in range(2):
            if likely.laws == motors.laws:
                break
            shared = replace(shared, motors=likely)
            found, equations = _converged(log, mechanism, joints, shared, laws, growth, (0.0,))
            motors, likely = likely, found.plain_motors
    if (
        constants := most_likely(found.information.values(), shared)[0].constants
        if of_links
        else 0.0
    ):
        found, equations = _converged(log, mechanism, joints, shared, laws, growth, (constants,))
    reference = commanded(equations.log)
    if reference is None:
        return found, equations
    through = _through_loop(found, equations, reference)
    return through, _about(
        through, log, mechanism, joints, growth
    ) if through.loop.verdict == BIASED else equations


def _converged(
    log: Log,
    mechanism: Mechanism,
    joints: Sequence[str],
    shared: Shared,
    offered: Sequence[str],
    growth: Growth,
    constants: Sequence[float],
) -> tuple[InertialFit, Equations]:
    """Alternate between shared unknowns, loads and friction; `constants` are the candidate
    errors of torque constants.

    A constant friction parameter and the mean of an uncertain load can replace each other, but
    friction is not negative. A parameter that is zero about the identified model stays zero from
    then on, so that the load explains the torques.
    """
    equations, y = (
        Equations.of(*_at_prior(log, mechanism, shared), shared, joints, growth),
        np.zeros(shared.count),
    )
    # the first pass needs load-dependent friction
    frictions = _frictions(equations.information(y, {}, offered[:1]))
    kept: dict[str, Friction] = {}
    for turn in range(_FIRST + _FURTHER):
        # the law is chosen when the inertia is nearly right
        laws = offered if turn + 1 >= _FIRST else offered[:1]
        information = equations.information(y, frictions, laws, kept=kept)
        found = InertialFit(
            equations.shared, information, *most_likely(information.values(), shared, constants)
        )
        moved = float((found.y - y) @ np.linalg.solve(found.covariance_of_y, found.y - y))
        y, equations = found.y, _about(found, log, mechanism, joints, growth)
        frictions = equations.frictions(information)
        if turn + 1 >= _FIRST:
            zero = {
                name: one.with_zeros(kept.get(name))
                for name, one in frictions.items()
                if one.load != "none"
            }
            settled = all(
                name in kept and kept[name].form == one.form
                for name, one in zero.items()
                if one.form[2]
            )
            if settled and (not kept or moved < _SETTLED):
                break
            kept = {name: one for name, one in zero.items() if one.form[2]}
    return found, equations


def _at_prior(log: Log, mechanism: Mechanism, shared: Shared) -> tuple[Log, Mechanism]:
    """Log and model at y = 0, where links without mass have the least mass of the prior."""
    if not shared.of_links or not shared.prior.least.any():
        return log, mechanism
    least = shared.prior.least
    return (
        replace(
            log,
            stretches=tuple(
                part.with_model(changed(part.mechanism, least)) for part in log.stretches
            ),
        ),
        changed(mechanism, least),
    )


def _about(
    found: InertialFit, log: Log, mechanism: Mechanism, joints: Sequence[str], growth: Growth
) -> Equations:
    """Equations about the identified model."""
    moved = replace(
        log, stretches=tuple(part.with_model(found.model(part.mechanism)) for part in log.stretches)
    )
    return Equations.of(moved, found.model(mechanism), found.shared.at(found.y), joints, growth)


def _through_loop(found: InertialFit, equations: Equations, reference: Log) -> InertialFit:
    """Compare the fit with instrumental variables from the commanded motion; return their fit
    if least squares is biased.
    """
    information = equations.information(
        found.y, _frictions(found.information), reference=equations.along(reference)
    )
    plain = replace(found, shared=equations.shared, information=information)
    through = by_instruments(plain)
    loop = links_in_loop(plain, through)
    return replace(through if loop.verdict == BIASED else found, loop=loop)


def _frictions(information: Mapping[str, Information]) -> dict[str, Friction]:
    """Friction of the joints for which it is known."""
    if not information:
        raise FitError("the inertia of the links cannot be identified: no joint has usable motion")
    return {name: one.friction for name, one in information.items() if one.friction is not None}
