"""Fit of a servo-driven joint: least squares of the equation of motion as a start,
then of simulated motion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.special import stdtrit

from stribeck.ident.arrays import Array
from stribeck.ident.errors import FitError
from stribeck.ident.servo.servo_simulation import simulate
from stribeck.ident.servo.servo_windows import LATEST, ServoWindows

LAWS = ("coulomb-viscous", "stribeck")
DRY = {"coulomb-viscous": ("coulomb",), "stribeck": ("coulomb", "static", "stribeck_velocity")}
OF_LOAD = {
    "coulomb-viscous": ("coulomb_coefficient",),
    "stribeck": ("coulomb_coefficient", "static_coefficient"),
}
GROWTH = "coulomb_coefficient"
SERVO = ("torque_per_gain", "inertia", "delay", "offset")
# by linear least squares
_START = ("torque_per_gain", "coulomb", "viscous", "inertia", "offset")
_SLOW = 0.05  # of the greatest speed; slower samples are not in the start
_DELAYS = np.arange(0.0, 0.031, 0.005)  # s, tried for the start
_TRIED = 80  # parameter sets around the start that are simulated
_SPREAD = 0.4  # and the deviation of the logarithms of their parameters
_BEST = 2  # of them that are refined, for friction without a Stribeck effect
_SHARE = 1e-3  # step of a derivative, of a parameter's size
_TURNS = 25
_FINE, _FURTHER = 6e-4, 2  # s; step of the last turns, and their number
_UNSEEN = 1e-12  # change of the motion, and part of its square, that is none
_MODEL = 0.005  # standard error of the simulation and of the model, as a part of `_wholes`
_BETTER = 0.98  # held-out error of a larger candidate over that of the smaller one, at most


@dataclass(frozen=True)
class ServoFit:
    """Result for one joint.

    Attributes
    ----------
    law, load : str
    names : tuple of str
        Fitted parameters.
    values, std_error : ndarray, shape (P,)
    correlation : ndarray, shape (P, P)
    worth : float
        Number of independent samples.
    error : float
        Root mean square of simulated minus measured position [rad or m].
    held_out : float
        The same for runs that were left out, one half at a time; nan for a single window.
    q : ndarray, shape (R, N)
        Simulated positions.
    """

    law: str
    load: str
    names: tuple[str, ...]
    values: Array
    std_error: Array
    correlation: Array
    worth: float
    error: float
    held_out: float
    q: Array

    @property
    def factor(self) -> float:
        """Half width of a 95 % interval in standard errors."""
        return float(stdtrit(max(self.worth - len(self.names), 1.0), 0.975))

    def error_of(self, name: str) -> float:
        """Standard error of a parameter."""
        return float(self.std_error[self.names.index(name)])

    def of(self, name: str) -> float:
        """Value of a parameter; 0 if it is not fitted."""
        return float(self.values[self.names.index(name)]) if name in self.names else 0.0


def fit_servo(
    windows: ServoWindows, laws: Sequence[str] = LAWS, loads: Sequence[str] = ("none",)
) -> ServoFit:
    """Fit all candidates, choose by motion that was left out, and return the
    chosen one with its errors.

    Raises
    ------
    FitError
        If the joint hardly moves.
    """
    candidates = {
        (load, law): values
        for load in loads
        for law, values in _all_fitted(windows, laws, load).items()
    }
    return _chosen(windows, candidates, _held_out(windows, candidates))


def _chosen(
    windows: ServoWindows,
    candidates: Mapping[tuple[str, str], dict[str, float]],
    errors: Mapping[tuple[str, str], float],
) -> ServoFit:
    """Return the smallest candidate that none beats, with its errors."""
    best = next(iter(candidates))
    for candidate in candidates:  # from the smallest candidate to the largest
        if errors and errors[candidate] < _BETTER * errors[best]:
            best = candidate
    load, law = best
    fit = _with_errors(windows, law, load, candidates[best], errors.get(best, np.nan))
    unloaded = {of: values for of, values in candidates.items() if of[0] == "none"}
    if load != "none" and unloaded and fit.of(GROWTH) <= fit.factor * fit.error_of(GROWTH):
        # friction without visible growth is not said to grow
        return _chosen(windows, unloaded, errors)
    level = {of: values for of, values in candidates.items() if of[1] == LAWS[0]}
    if law == LAWS[1] and level:
        drop = fit.of("static") - fit.of("coulomb")
        if drop <= fit.factor * fit.error_of("static"):
            # nor static friction to be greater
            return _chosen(windows, level, errors)
    return fit


def parameters_of(law: str, load: str, powerless: bool) -> tuple[str, ...]:
    """Return the names of the fitted parameters; `powerless`: the log has motion without power."""
    return (
        *SERVO,
        *(("back_emf",) if powerless else ()),
        *DRY[law],
        "viscous",
        *(OF_LOAD[law] if load != "none" else ()),
    )


def _start(windows: ServoWindows) -> dict[str, float]:
    """Least squares of the equation of motion, with the delay that explains most."""
    v, a = (
        np.gradient(values, windows.dt, axis=1)
        for values in (windows.q, np.gradient(windows.q, windows.dt, axis=1))
    )
    moves = windows.known & (np.abs(v) > _SLOW * np.abs(v).max()) & (windows.gain > 0.0)
    if moves.sum() < 20:
        raise FitError("the joint hardly moves while its servo is on; record larger motion")
    rigid = (
        windows.inertia * a
        + windows.rest
        + windows.cosine * np.cos(windows.q)
        + windows.sine * np.sin(windows.q)
    )[moves]
    best, found = np.inf, {}
    for delay in _DELAYS:
        shift, N = delay / windows.dt, windows.q.shape[1]
        first = windows.before - int(np.floor(shift))
        early = shift - np.floor(shift)
        goal = (1.0 - early) * windows.goal[:, first : first + N] + early * windows.goal[
            :, first - 1 : first - 1 + N
        ]
        command = (windows.gain * (goal - windows.q))[moves]
        columns = np.column_stack(
            [command, -np.sign(v[moves]), -v[moves], -a[moves], -np.ones(len(rigid))]
        )
        size = np.linalg.norm(columns, axis=0)
        told = np.linalg.lstsq(columns / size, rigid, rcond=None)[0] / size
        off = float(np.sum((rigid - columns @ told) ** 2))
        if off < best:
            best, found = (
                off,
                {**dict(zip(_START, told.tolist(), strict=True)), "delay": float(delay)},
            )
    torque = float(np.abs(rigid).mean())
    speed = float(np.abs(v).max())
    least = {
        "torque_per_gain": torque / max(float(np.abs(command).max()), 1e-12),
        "coulomb": 0.05 * torque,
        "viscous": 0.01 * torque / speed,
        "inertia": 0.05 * float(windows.inertia.mean()),
    }
    found |= {name: max(found[name], low) for name, low in least.items()}
    return found | {
        "static": 1.3 * found["coulomb"],
        "stribeck_velocity": 0.1 * speed,
        "back_emf": 0.5 * found["viscous"],
        "coulomb_coefficient": 0.05,
        "static_coefficient": 0.07,
    }


def _halves(windows: ServoWindows) -> list[np.ndarray]:
    """Two halves of the windows, by runs if there are several; empty for a single window."""
    if len(windows.q) < 2:
        return []
    runs = np.unique(windows.run)
    order = np.searchsorted(runs, windows.run) if len(runs) > 1 else np.arange(len(windows.q))
    # 0 1 1 0 1 0 0 1: in step with no regular order of runs
    odd = np.array([int(k).bit_count() % 2 == 1 for k in order])
    return [odd, ~odd]


def _held_out(
    windows: ServoWindows, candidates: Mapping[tuple[str, str], dict[str, float]]
) -> dict[tuple[str, str], float]:
    """Root mean square error of the half that was left out, by load and law; empty for a
    single window.

    Fits without a half begin at the fit to all windows.
    """
    squares: dict[tuple[str, str], list[Array]] = {of: [] for of in candidates}
    for left_out in _halves(windows):
        kept, other = windows.of(~left_out), windows.of(left_out)
        start = _start(kept)
        for (load, law), begin in candidates.items():
            values = _fitted(kept, start, law, load, begin=begin)
            sets = {name: np.array([value]) for name, value in values.items()}
            squares[load, law].append((simulate(other, sets, load)[0] - other.q)[other.known] ** 2)
    return {
        of: float(np.sqrt(np.mean(np.concatenate(parts)))) for of, parts in squares.items() if parts
    }


def _all_fitted(
    windows: ServoWindows, laws: Sequence[str], load: str
) -> dict[str, dict[str, float]]:
    """Parameters by law. Friction without a Stribeck effect comes first,
    because the other begins there.
    """
    start = _start(windows)
    found = {LAWS[0]: _fitted(windows, start, LAWS[0], load, _TRIED, _BEST)}
    if LAWS[1] in laws:
        begin = {**found[LAWS[0]], "stribeck_velocity": start["stribeck_velocity"]}
        begin |= {
            name: max(begin[name], 0.1 * start[name]) for name in ("coulomb", "viscous", "inertia")
        }
        begin |= {
            "static": 1.2 * begin["coulomb"],
            "static_coefficient": 1.2 * begin["coulomb_coefficient"],
        }
        found[LAWS[1]] = _fitted(windows, begin, LAWS[1], load, _TRIED // 2, 1)
    return {law: found[law] for law in laws}


def _sets(start: dict[str, float], names: Sequence[str], x: Array) -> dict[str, Array]:
    """Parameter sets of simulation for K vectors of fitted parameters, shape (K, P)."""
    fixed = {**start, "back_emf": 0.0, "coulomb_coefficient": 0.0, "static_coefficient": 0.0}
    sets = {name: np.full(len(x), value) for name, value in fixed.items()} | dict(
        zip(names, x.T, strict=True)
    )
    if "static" not in names:
        sets["static"] = sets["coulomb"]
        sets["static_coefficient"] = sets["coulomb_coefficient"]
    return sets


def _fitted(
    windows: ServoWindows,
    start: dict[str, float],
    law: str,
    load: str,
    tries: int = 1,
    best: int = 1,
    begin: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Parameters of a candidate by least squares of positions, from the `best` of many starts;
    or from `begin`, with the scales of the start.
    """
    names = parameters_of(law, load, _powerless(windows))
    x0, rng = np.array([start[name] for name in names]), np.random.default_rng(0)
    signed = np.array([name == "offset" for name in names])
    size = np.where(signed, 0.3 * start["coulomb"], np.maximum(np.abs(x0), 1e-12))
    size[names.index("delay")] = 0.01
    scatter = rng.standard_normal((tries, len(names)))
    tried = np.where(
        signed | (np.array(names) == "delay"),
        x0 + 0.3 * size * scatter,
        x0 * np.exp(_SPREAD * scatter),
    )
    tried[0] = x0 if begin is None else [begin[name] for name in names]
    low = np.where(signed, -np.inf, 0.0)
    low[
        [names.index(name) for name in ("torque_per_gain", "stribeck_velocity") if name in names]
    ] = 1e-9
    high = np.full(len(names), np.inf)
    high[names.index("delay")] = LATEST
    tried = np.clip(tried, low, high)
    known = windows.known

    def off(x: Array) -> Array:
        """Residuals of K vectors, shape (K, M)."""
        return (simulate(windows, _sets(start, names, np.atleast_2d(x)), load) - windows.q)[
            :, known
        ]

    misses = np.abs(off(tried)).mean(axis=1)
    scale = 1.5 * float(np.median(np.abs(off(tried[np.argmin(misses)])))) + 1e-6

    at: dict[bytes, tuple[Array, Array]] = {}

    def both(x: Array) -> tuple[Array, Array]:
        """Residuals and their slopes; further sets cost hardly more time than one."""
        if (key := x.tobytes()) not in at:
            steps = _SHARE * np.maximum(size, np.abs(x))
            steps = np.where(x + steps > high, -steps, steps)
            found = off(np.vstack([x, x + np.diag(steps)]))
            at.clear()
            at[key] = found[0], np.asarray((found[1:] - found[0]).T / steps)
        return at[key]

    def residuals(x: Array) -> Array:
        return both(x)[0]

    def slopes(x: Array) -> Array:
        return both(x)[1]

    found = min(
        (
            least_squares(
                residuals,
                tried[k],
                slopes,
                (low - 1e-12, high),
                x_scale=size,
                loss="soft_l1",
                f_scale=scale,
                max_nfev=_TURNS,
            )
            for k in np.argsort(misses)[:best]
        ),
        key=lambda one: float(one.cost),
    )
    return {name: float(values[0]) for name, values in _sets(start, names, found.x[None]).items()}


def _powerless(windows: ServoWindows) -> bool:
    """Return whether the joint moves while its servo is off."""
    v = np.abs(np.gradient(windows.q, windows.dt, axis=1))
    off = windows.known & (windows.gain == 0.0)
    return bool(off.any() and v[off].max() > _SLOW * v.max())


def _with_errors(
    windows: ServoWindows, law: str, load: str, found: dict[str, float], held_out: float
) -> ServoFit:
    """Last turns with finer steps of the simulation, and errors from the slopes of its motion.

    Residuals are correlated over time, which widens the intervals.
    """
    names, start, known = (
        parameters_of(law, load, _powerless(windows)),
        _start(windows),
        windows.known,
    )
    x = np.array([found[name] for name in names])
    steps = _SHARE * np.maximum(
        np.abs(x), [0.01 if name == "delay" else 0.1 * abs(start[name]) for name in names]
    )
    ways = np.diag(steps)
    ways[0] = _SHARE * _scale(windows, names, x)
    moved = simulate(windows, _sets(found, names, np.vstack([x, x + ways])), load)
    along = (moved[1:] - moved[0])[:, known].T
    J = along @ np.linalg.inv(ways).T
    size = np.maximum(np.linalg.norm(along, axis=0), _UNSEEN)
    inverse = np.linalg.inv((along / size).T @ (along / size) + _UNSEEN * np.eye(len(x)))
    inverse = ways.T @ (inverse / np.outer(size, size)) @ ways

    signed = np.array(names) == "offset"
    free = (x > steps) | signed  # the others are at their bound
    q = _finely(windows, found, names, x, load)
    for _ in range(_FURTHER):
        nearer = x - free * (inverse @ (J.T @ (q - windows.q)[known]))
        if (nearer < 0.0)[~signed].any():  # such a joint would gain energy and run away
            break
        then = _finely(windows, found, names, nearer, load)
        if _square(then, windows) >= _square(q, windows):
            break
        x, q = nearer, then
    rest = q - windows.q
    worth = known.sum() / _correlated(rest, known)
    # alike samples count as one
    covariance = inverse * float(np.sum(rest[known] ** 2)) / max(worth - len(names), 1.0)
    covariance += np.diag((_MODEL * _wholes(windows, names, x, load)) ** 2)
    # a step of the simulation does not resolve it
    covariance[names.index("delay"), names.index("delay")] += _FINE**2 / 12.0
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    correlation = covariance / np.maximum(np.outer(error, error), 1e-300)
    return ServoFit(
        law,
        load,
        names,
        x,
        error,
        correlation,
        float(worth),
        float(np.sqrt(np.mean(rest[known] ** 2))),
        held_out,
        q,
    )


def _wholes(windows: ServoWindows, names: tuple[str, ...], x: Array, load: str) -> Array:
    """What the model's error is a part of: the whole damping, inertia or dry friction to
    which each parameter belongs.
    """
    own = dict(zip(names, np.abs(x).tolist(), strict=True))
    pressed = float(windows.loads[load][windows.known].mean()) if load != "none" else 0.0
    damping, dry = (
        own["viscous"] + own.get("back_emf", 0.0),
        own["coulomb"] + own.get(GROWTH, 0.0) * pressed,
    )
    whole = {
        "viscous": damping,
        "back_emf": damping,
        "inertia": own["inertia"] + float(windows.inertia[windows.known].mean()),
        **dict.fromkeys(("coulomb", "static", "offset"), dry),
        **dict.fromkeys((GROWTH, "static_coefficient"), dry / pressed if pressed else 0.0),
    }
    return np.array([whole.get(name, own[name]) for name in names])


def _scale(windows: ServoWindows, names: tuple[str, ...], x: Array) -> Array:
    """Return the change of the parameters with which all unknown forces grow alike, shape (P,).

    Where the known forces of the links are a constant inertia and a constant weight, a rotor and an
    offset make up for them: the motion stays the same, and the log does not show the unit of
    torque. Differences along single parameters do not cancel so exactly, because joints stick at
    other samples.
    """
    a = np.gradient(np.gradient(windows.q, windows.dt, axis=1), windows.dt, axis=1)[windows.known]
    weight = (windows.rest + windows.cosine * np.cos(windows.q) + windows.sine * np.sin(windows.q))[
        windows.known
    ]
    rotor, offset = np.linalg.lstsq(
        np.column_stack([a, np.ones_like(a)]),
        windows.inertia[windows.known] * a + weight,
        rcond=None,
    )[0]
    beside = {"inertia": rotor, "offset": offset}
    return np.array(
        [
            0.0 if name in ("delay", "stribeck_velocity") else value + beside.get(name, 0.0)
            for name, value in zip(names, x, strict=True)
        ]
    )


def _finely(
    windows: ServoWindows, found: dict[str, float], names: tuple[str, ...], x: Array, load: str
) -> Array:
    return np.asarray(simulate(windows, _sets(found, names, x[None]), load, _FINE)[0])


def _square(q: Array, windows: ServoWindows) -> float:
    return float(np.sum((q - windows.q)[windows.known] ** 2))


def _correlated(rest: Array, known: np.ndarray) -> float:
    """Number of samples over which the residuals are alike: twice the sum of their
    autocorrelation, up to its first zero.
    """
    times = []
    for own, mask in zip(rest, known, strict=True):
        values = own[mask] - own[mask].mean()
        spectrum = np.abs(np.fft.rfft(values, 2 * len(values))) ** 2
        alike = np.fft.irfft(spectrum)[: len(values)] / max(float(values @ values), 1e-300)
        ends = int(np.argmax(alike <= 0.0)) or len(values)
        times.append(2.0 * float(alike[:ends].sum()) - 1.0)
    return max(1.0, float(np.mean(times)))
