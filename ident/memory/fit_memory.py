"""Fit of friction with memory to the recorded motion of one joint."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.law_table import quantities
from stribeck.ident.laws.quantity import BESIDE
from stribeck.ident.memory.choose_memory import choose_memory
from stribeck.ident.memory.compose import Offers
from stribeck.ident.memory.composition import as_waves
from stribeck.ident.memory.joint_log import JointLog, check_shapes, joined
from stribeck.ident.memory.joint_samples import joint_samples, smoothing_of
from stribeck.ident.memory.memory_data import DIFFERENCE, MemoryData
from stribeck.ident.memory.memory_result import MemoryResult, with_intervals
from stribeck.ident.memory.torque_signal import DELAY, LAG

# correlation of torque and direction from which the torque has the wrong sign
_OPPOSED = 0.5
# columns that the fit adds itself
_OF_THE_FIT = ("offset", "inertia", "gravity_sin", "gravity_cos", DIFFERENCE, DELAY, LAG)


def fit_memory(
    time: ArrayLike,
    position: ArrayLike,
    torque: ArrayLike,
    velocity: ArrayLike | None = None,
    load: ArrayLike | None = None,
    law: str = "auto",
    memory: str = "auto",
    rigid: bool = True,
    gravity: bool | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    ripple: str | Sequence[float] = "auto",
    signal: str = "auto",
    prismatic: bool = False,
) -> MemoryResult:
    """Fit friction with memory to the motion of one joint, reversals included.

    Laws of sliding and of presliding, differences between the directions, ripple, load, and a late
    or filtered torque signal compete by their errors on parts of the motion that were left out.

    Parameters
    ----------
    time, position, torque : array_like, shape (N,)
        Samples of one joint [s, rad or m, N·m or N]. Several recordings may follow each other:
        where time goes back, or after a gap, another recording begins. Or each is a list of arrays,
        one for each recording; so are all other arrays then.
    velocity : array_like, shape (N,), optional
        Measured velocity; by default, or if it lags, the position is differentiated [rad/s or m/s].
    load : array_like, shape (N,), optional
        Load with which friction grows [N·m].
    law : str
        Law of sliding: a name in `LAWS`, or "auto".
    memory : str
        "none", "relaxing", "dahl", "lugre", "two-states", "maxwell-slip", or "auto".
    rigid : bool
        Whether inertia and gravity of the joint are in the torque and are fitted; False if
        the torque is without them.
    gravity : bool, optional
        Whether gravity is fitted, with sine and cosine of the position; by default if the joint
        moves by more than 0.2 rad. Prismatic joints have none.
    columns : mapping of str to array_like, shape (N,)
        Further columns to which the torque is proportional.
    ripple : str or sequence of float
        Torque that waves with the position: "auto" seeks it, "none" does not; or known orders, in
        waves per turn (for a prismatic joint in waves per 2 pi m).
    signal : str
        "auto" if the torque signal may be late or filtered, "none" if it is not.
    prismatic : bool
        Whether the joint slides: positions in m, forces in N.

    Returns
    -------
    MemoryResult

    Raises
    ------
    InputError
        If arrays differ in length or hold values that are not finite, a name is unknown, a column
        has the name of a parameter, or the torque opposes the motion.
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
    t, q, tau = map(joined, (time, position, torque))
    w, pressed = (None if values is None else joined(values) for values in (velocity, load))
    further = {name: joined(column) for name, column in (columns or {}).items()}
    check_shapes(time=t, position=q, torque=tau, velocity=w, load=pressed, **further)
    check_names(further)
    log = JointLog.of(t, q, w, prismatic)
    smoothing = smoothing_of(log, False if prismatic else gravity)
    data = replace(joint_samples(log, tau, pressed, further, smoothing, rigid), prismatic=prismatic)
    check_sign(data)
    offers = _offers(ripple, signal, prismatic)
    chosen = choose_memory(data, law, memory, smoothing.resolution, offers)
    fit, composition = chosen.fit, chosen.composition
    found = with_intervals(fit)
    waves = as_waves(
        composition.waves,
        offers.orders,
        fit.values,
        fit.free,
        fit.intervals.covariance,
        "N" if prismatic else "N·m",
    )
    beside = {
        name: found.pop(name)
        for name in (*fit.data.beside, *fit.data.signal)
        if name not in composition.columns
    }
    parameters = {name: entry for name, entry in found.items() if name not in composition.columns}
    return MemoryResult(
        fit.law.name,
        fit.memory.name,
        parameters,
        beside,
        fit.rmse,
        fit.held_out_rmse,
        chosen.candidates,
        fit,
        smoothing,
        rigid,
        waves,
        composition,
    )


def _offers(ripple: str | Sequence[float], signal: str, prismatic: bool) -> Offers:
    """Return the parts that compete beside law and memory."""
    for name, value in (("ripple", ripple), ("signal", signal)):
        if isinstance(value, str) and value not in ("auto", "none"):
            raise unknown_name(name, value, ("auto", "none"))
    orders = () if isinstance(ripple, str) else tuple(map(float, ripple))
    return Offers(
        places=ripple != "none" and not prismatic,
        load=not prismatic,
        signal=signal == "auto",
        search=ripple == "auto",
        orders=orders,
    )


def check_sign(data: MemoryData) -> None:
    """Refuse a torque that opposes the motion.

    Raises
    ------
    InputError
        If friction in the direction of the velocity is negative, beside
        offset, inertia and gravity.
    """
    used = data.used
    beside = np.column_stack([column[used] for column in data.beside.values()])
    both = np.column_stack((data.torque[used], np.sign(data.velocity[used])))
    torque, way = (both - beside @ np.linalg.lstsq(beside, both, rcond=None)[0]).T
    size = float(way @ way) * float(torque @ torque)
    if size > 0.0 and float(torque @ way) < -_OPPOSED * np.sqrt(size):
        mean = float(torque @ way) / float(way @ way)
        raise InputError(
            f"torque opposes the motion: in its direction the mean is {mean:.3g}, but for offset "
            "and gravity; it must be the torque that drives the joint, which friction makes "
            "positive. Change its sign"
        )


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
            raise InputError(
                f"the column {name} has the name of a parameter of the fit; choose another name"
            )
