"""Fit of friction with memory to the recorded motion of one joint."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.errors import InputError
from stribeck.ident.laws.law_table import quantities
from stribeck.ident.laws.quantity import BESIDE
from stribeck.ident.memory.choose_memory import choose_memory
from stribeck.ident.memory.joint_samples import JointLog, check_shapes, joint_samples, smoothing_of
from stribeck.ident.memory.memory_data import DIFFERENCE
from stribeck.ident.memory.memory_result import MemoryResult, with_intervals

_OF_THE_FIT = ("offset", "inertia", "gravity_sin", "gravity_cos", DIFFERENCE)      # columns that the fit adds itself


def fit_memory(time: ArrayLike, position: ArrayLike, torque: ArrayLike, velocity: ArrayLike | None = None,
               load: ArrayLike | None = None, law: str = "auto", memory: str = "auto", rigid: bool = True,
               gravity: bool | None = None, columns: Mapping[str, ArrayLike] | None = None) -> MemoryResult:
    """Fit friction with memory to the motion of one joint, reversals included.

    Laws of sliding and of presliding compete by their errors on blocks of the motion that were left out.

    Parameters
    ----------
    time, position, torque : array_like, shape (N,)
        Samples of one joint [s, rad or m, N·m or N]. Several recordings may follow each other: where time goes back, or after
        a gap, another recording begins.
    velocity : array_like, shape (N,), optional
        Measured velocity; by default the position is differentiated [rad/s or m/s].
    load : array_like, shape (N,), optional
        Load with which friction grows [N·m].
    law : str
        Law of sliding: a name in `LAWS`, or "auto".
    memory : str
        "none", "relaxing", "dahl", "lugre", "two-states", "maxwell-slip", or "auto".
    rigid : bool
        Whether inertia and gravity of the joint are in the torque and are fitted; False if the torque is without them.
    gravity : bool, optional
        Whether gravity is fitted, with sine and cosine of the position; by default if the joint moves by more than 0.2 rad.
        False for a joint that slides.
    columns : mapping of str to array_like, shape (N,)
        Further columns to which the torque is proportional.

    Returns
    -------
    MemoryResult

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not finite, a name is unknown, or a column has the name of a
        parameter.
    FitError
        If the motion is too short, or the position signal too coarse.

    Examples
    --------
    >>> import numpy as np
    >>> from stribeck import fit_memory
    >>> t = np.arange(0.0, 20.0, 0.004)
    >>> q = 0.02 * np.sin(2.0 * t) + 0.1 * np.sin(0.7 * t)
    >>> friction, z = np.empty(len(t)), 0.0
    >>> for k, step in enumerate(np.diff(q, prepend=q[0])):         # friction of 5 N·m, reversing within 2 mrad
    ...     z = np.sign(step) + (z - np.sign(step)) * np.exp(-abs(step) / 0.002)
    ...     friction[k] = 5.0 * z
    >>> torque = friction + 0.05 * np.random.default_rng(0).standard_normal(len(t))
    >>> fit = fit_memory(t, q, torque, law="coulomb-viscous")
    >>> fit.memory, round(fit.values["coulomb"], 1), round(fit.values["presliding_distance"], 4)
    ('relaxing', 5.0, 0.002)
    """
    t, q, tau = (np.asarray(values, dtype=float) for values in (time, position, torque))
    w, pressed = (None if values is None else np.asarray(values, dtype=float) for values in (velocity, load))
    further = {name: np.asarray(column, dtype=float) for name, column in (columns or {}).items()}
    check_shapes(time=t, position=q, torque=tau, velocity=w, load=pressed, **further)
    check_names(further)
    log = JointLog(t, {"q": q[:, None], **({} if w is None else {"dq": w[:, None]})})
    smoothing = smoothing_of(log, gravity)
    data = joint_samples(log, tau, pressed, further, smoothing, rigid)
    fit, candidates = choose_memory(data, law, memory, smoothing.resolution)
    found = with_intervals(fit)
    beside = {name: found.pop(name) for name in fit.data.beside}
    return MemoryResult(fit.law.name, fit.memory.name, found, beside, fit.rmse, fit.held_out_rmse, candidates, fit, smoothing,
                        rigid)


def check_names(columns: Mapping[str, object]) -> None:
    """Refuse columns with the name of a parameter of the fit.

    Raises
    ------
    InputError
        Names the column.
    """
    taken = {*_OF_THE_FIT, *(quantities().keys() - {quantity.name for quantity in BESIDE})}
    for name in columns:
        if name in taken:
            raise InputError(f"the column {name} has the name of a parameter of the fit; choose another name")
