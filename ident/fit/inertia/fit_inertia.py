r"""Inertia and friction in one fit.

All joints share the inertial parameters of the links, some the friction of a motor that moves several, and the drives of a closed
chain that of its other joints (`Shared`); nothing else. What one joint's torque tells of these, whatever its own friction is, has
the form of a normal distribution; the joints' distributions add up. A joint's friction is fitted with what the others leave open:

1. Each joint's information about y (`link_prior`) is that of its equation of motion after least squares over its friction.
2. How far the model is off is what has the greatest marginal likelihood; the most plausible y follows.
3. The model with this y gives torques and loads of the next pass, in which friction grows with the new loads.
4. Joint by joint, friction is fitted as ever, with columns for the directions in which the prior and the other joints leave the
   model's torque open.

With the laws given this is least squares over everything at once: the other joints enter by their Schur complement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stribeck.ident.errors import FitError
from stribeck.ident.fit.inertia.coupled_motors import LAWS as MOTOR_LAWS
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.equations import Equations
from stribeck.ident.fit.inertia.inertial_fit import CONSTANTS, SURE, InertialFit, likelihood, most_likely
from stribeck.ident.fit.inertia.joint_equation import Friction, Information, laws_meanwhile
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.links_in_loop import by_instruments, links_in_loop
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.inertia.unknown_passive import UnknownPassive
from stribeck.ident.fit.joint.closed_loop import BIASED
from stribeck.ident.log.motion.commanded_motion import commanded
from stribeck.ident.log.motion.filtered_motion import Log
from stribeck.ident.model.mechanism import Mechanism

_WEIGHTY = 0.03         # of a joint's friction, root mean square, that a change of inertia has to move its torque by
_FEW = 200              # samples by which the unit of an unknown is chosen


def contradicted(log: Log, mechanism: Mechanism, joints: Sequence[str], law: str = "auto", load: str = "auto") -> bool:
    """Whether the torques of some joints say that the model's links are off, torque constants being as they may.

    Links that are off have to be more likely than constants alone, and to change the torque of a joint by a part of its friction
    that matters.
    """
    shared = Shared(LinkPrior(mechanism), True, coupled_motors(log, mechanism, joints), unknown_passive(log, mechanism))
    equations = Equations.of(log, mechanism, shared, joints, load)
    information = equations.information(np.zeros(shared.count), {}, laws_meanwhile(law)[:1])
    if not information:
        return False
    scatter, evidence = most_likely(information.values(), shared)
    of_constants = [likelihood(information.values(), shared, Scatter(0.0, 0.0, one)) for one in (0.0, *CONSTANTS)]
    if evidence - (max(of_constants[1:]) - of_constants[0]) < SURE:
        return False
    y = InertialFit(shared, information, scatter, evidence).y[:shared.links]
    change = {name: float(np.std(equations.torque_slopes[name][:, :shared.links] @ y)) for name in information}
    return any(change[name] > _WEIGHTY * one.friction_level(equations.motions[name]) for name, one in information.items())


def coupled_motors(log: Log, mechanism: Mechanism, joints: Sequence[str]) -> CoupledMotors | None:
    """Motors that move several joints and whose friction a log tells from that of its joints."""
    return CoupledMotors.told_by(mechanism.transmission, joints, *(np.concatenate([getattr(part, key) for part in log.stretches])
                                                                   for key in ("dq", "ddq", "tau")))


def unknown_passive(log: Log, mechanism: Mechanism) -> UnknownPassive | None:
    """Joints of a closed chain without a drive whose friction is unknown."""
    if mechanism.chain is None:
        return None
    every = max(1, sum(len(part.t) for part in log.stretches) // _FEW)
    return UnknownPassive.of_chain(mechanism, *(np.concatenate([getattr(part, key)[::every] for part in log.stretches])
                                                for key in ("q", "dq", "tau")))


def fit_inertia(log: Log, mechanism: Mechanism, joints: Sequence[str], of_links: bool = True,
                law: str = "auto", load: str = "auto") -> tuple[InertialFit, Equations]:
    """Links' inertia, and friction that is not that of one drive, from the torques of some joints; equations about them.

    Parameters
    ----------
    log : Log
        Whose stretches have torques and loads of `mechanism`, or of one with another tool.
    mechanism : Mechanism
        The model.
    joints : sequence of str
        Whose torques count.
    of_links : bool
        Whether links are sought, too; else they are the model's.
    law : str
        Of friction, that was asked for; the motors have it, too, where they can.
    load : str
        With which friction grows, where that was asked for.

    Raises
    ------
    FitError
        If none of them moves.
    """
    motors = coupled_motors(log, mechanism, joints)
    shared = Shared(LinkPrior(mechanism), of_links, motors, unknown_passive(log, mechanism))
    laws = laws_meanwhile(law)
    if motors is not None and not of_links:
        joints = [name for name in joints if motors.moves(mechanism.names.index(name))]
    found, equations = _converged(log, mechanism, joints, shared, laws, load, (0.0,))
    if motors is not None:
        frictions = {name: one.friction for name, one in found.information.items() if one.friction is not None}
        likely = motors.likeliest(MOTOR_LAWS if law not in MOTOR_LAWS else (law,), *equations.misfits(frictions, laws))
        for _ in range(2):                  # once more where a motor's friction shows nothing of its law
            if likely.laws == motors.laws:
                break
            shared = replace(shared, motors=likely)
            found, equations = _converged(log, mechanism, joints, shared, laws, load, (0.0,))
            motors, likely = likely, found.plain_motors
    if constants := most_likely(found.information.values(), shared)[0].constants if of_links else 0.0:
        found, equations = _converged(log, mechanism, joints, shared, laws, load, (constants,))
    reference = commanded(equations.log)
    if reference is None:
        return found, equations
    through = _through_loop(found, equations, reference)
    return through, _about(through, log, mechanism, joints, load) if through.loop.verdict == BIASED else equations


def _converged(log: Log, mechanism: Mechanism, joints: Sequence[str], shared: Shared, offered: Sequence[str],
               load: str, constants: Sequence[float]) -> tuple[InertialFit, Equations]:
    """What joints share, loads and friction in turn, with torque constants off by one of these parts."""
    equations, y = Equations.of(log, mechanism, shared, joints, load), np.zeros(shared.count)
    frictions = _frictions(equations.information(y, {}, offered[:1]))           # by it loads count from the beginning
    for laws in (offered[:1], offered[:1], offered):    # friction's law is chosen last, beside inertia that is nearly right
        information = equations.information(y, frictions, laws)
        frictions = _frictions(information)
        found = InertialFit(equations.shared, information, *most_likely(information.values(), shared, constants))
        y, equations = found.y, _about(found, log, mechanism, joints, load)
    return found, equations


def _about(found: InertialFit, log: Log, mechanism: Mechanism, joints: Sequence[str], load: str) -> Equations:
    """Equations about the model that was found."""
    moved = replace(log, stretches=tuple(part.with_model(found.model(part.mechanism)) for part in log.stretches))
    return Equations.of(moved, found.model(mechanism), found.shared.at(found.y), joints, load)


def _through_loop(found: InertialFit, equations: Equations, reference: Log) -> InertialFit:
    """What was found, held against instruments along the motion that was commanded, and replaced by theirs where it is biased."""
    information = equations.information(found.y, _frictions(found.information), reference=equations.along(reference))
    plain = replace(found, shared=equations.shared, information=information)
    through = by_instruments(plain)
    loop = links_in_loop(plain, through)
    return replace(through if loop.verdict == BIASED else found, loop=loop)


def _frictions(information: Mapping[str, Information]) -> dict[str, Friction]:
    """Of the joints, as far as they are known."""
    if not information:
        raise FitError("the inertia of the links cannot be identified: no joint has usable motion")
    return {name: one.friction for name, one in information.items() if one.friction is not None}
