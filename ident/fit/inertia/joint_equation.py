"""The equation of motion of one joint in the unknowns that joints share, with
its own friction eliminated.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.fit.inertia.echoes import compensated
from stribeck.ident.fit.inertia.joint_information import Friction, Information
from stribeck.ident.fit.intervals import following, spread
from stribeck.ident.fit.joint.general_motion import check_sign, motion_data
from stribeck.ident.fit.joint.model_doubt import ModelDoubt
from stribeck.ident.fit.law_fit import Best, best_of, searched, supports
from stribeck.ident.fit.law_on_points import held_at_zero, jacobian, parameter_names
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import ANY, FitPoints, Growth
from stribeck.ident.fit.residuals.two_stage import Instrumented, instrumented, without
from stribeck.ident.fit.variable_projection import Moments, residual_sums, rows_in_passes
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.log.motion.motion_points import Motion

# candidate friction laws while inertia is fitted
LAWS = ("coulomb-viscous", "power", "stribeck", "stribeck-power")
_LOADS = ("torque", "bending", "normal")  # candidate loads that friction may grow with
# of the greatest column or of the torque: smaller directions and loads count as zero
_UNSEEN = 1e-9
_FEW = 12  # unknowns y up to which law and y are searched together
ACCELERATION = "inertia"  # parameter whose column is the joint's own acceleration
# of the torque: prior standard deviation of a friction parameter that stays zero
_NOTHING = 1e-4
# wide prior standard deviation of y while a joint's friction is fitted: the model is nearly right
_OPEN = 0.3


@dataclass(frozen=True)
class Explained:
    """Regression columns of a joint's torque along a motion.

    Attributes
    ----------
    base : FitPoints
        Points of the joint, with nuisance columns.
    loads : mapping of str to ndarray
        Candidate loads of its friction; loads that are not finite or zero are ignored.
    slopes : ndarray, shape (N, k)
        Derivative of the torque by y.
    """

    base: FitPoints
    loads: Mapping[str, Array]
    slopes: Array

    def columns(self, seen: Iterable[int]) -> dict[str, Array]:
        """Columns of the unknowns `seen`, by name."""
        return {f"y_{k}": self.slopes[:, k] for k in seen}

    def without(self, form: tuple[str, str, frozenset[str]]) -> "Explained":
        """Return the columns for friction of a given form: its zero parameters stay zero."""
        law, load, zero = form
        zero -= set(held_at_zero(replace(self.base, load=self.loads.get(load)), law_named(law)))
        size, most = (
            float(np.abs(self.base.tau).max()),
            float(np.abs(self.loads[load]).max()) if load in self.loads else 1.0,
        )
        least = {
            name: _NOTHING * size / (most if name.endswith("_coefficient") else 1.0)
            for name in zero
        }
        return replace(self, base=replace(self.base, prior={**self.base.prior, **least}))

    def along_with(self, load: str, seen: Iterable[int]) -> FitPoints:
        """Points with one load, and with the columns of the unknowns `seen` as nuisance columns."""
        columns = self.columns(seen)
        return replace(
            self.base,
            load=self.loads.get(load),
            nuisance={**self.base.nuisance, **columns},
            prior={**self.base.prior, **dict.fromkeys(columns, _OPEN)},
        ).condensed()


def explained(motion: Motion, slopes: Array, constant: bool = True) -> Explained:
    """Return the regression columns of a joint's torque along a motion, the column of
    its torque constant last.

    `constant`: whether levels of friction that grow with a load have a constant part, too.
    Nuisance columns for friction that differs between directions or varies with position keep
    these effects out of inertia.
    """
    base = motion_data(motion, "model", ModelDoubt.none(len(slopes)))
    beside = [np.abs(motion.dq)]
    if not motion.prismatic:
        beside += [
            np.sign(motion.dq) * wave(turns * motion.q)
            for wave, turns in product((np.sin, np.cos), (1, 2))
        ]
    base = replace(
        base,
        constant=constant,
        nuisance={
            **base.nuisance,
            **{f"beside_{k}": motion.view(values) for k, values in enumerate(beside)},
        },
    )
    return Explained(base, motion.loads, np.column_stack((slopes, motion.view(motion.rigid))))


def informed(
    motion: Motion,
    slopes: Array,
    laws: Sequence[str],
    noise: Noise | None = None,
    echoes: Array | None = None,
    growth: Growth = ANY,
    reference: Explained | None = None,
    kept: Friction | None = None,
) -> Information:
    """Return the information about y from a joint's general motion, about the model of that motion.

    Parameters
    ----------
    motion : Motion
        Motion of the joint.
    slopes : ndarray, shape (N, k)
        Derivative of the torque by y at its points.
    laws : sequence of str
        Candidate friction laws, the simplest first.
    noise : Noise, optional
        Noise model that weights the misfit; default: the estimated one.
    echoes : ndarray, shape (R, N, k + 2), optional
        Changes of slopes, model torque and the joint's acceleration by position
        noise, for each of R draws.
    growth : Growth
        How friction grows with a load.
    reference : Explained, optional
        The same columns along the commanded motion, used as instruments.
    kept : Friction, optional
        Friction whose law, load and zero parameters are kept.

    Raises
    ------
    FitError
        If the torque opposes the motion.
    """
    own = explained(motion, slopes, growth.constant)
    check_sign(motion_data(motion, "model", ModelDoubt.none(len(slopes))))
    return told(own, laws, noise, echoes, growth.load, reference, kept)


def friction_about(motion: Motion, like: Friction, constant: bool = True) -> Friction:
    """Fit the friction of a joint alone, with the model of its motion as it is, by the law
    and the load of another fit.
    """
    own = explained(motion, np.zeros((len(motion.points), 0)), constant)
    load, best = _best(own, (like.load,), (), (like.law,), None)
    return Friction(
        like.law,
        load,
        {name: best.values[name] for name in best.whole.law.parameters(load != "none")},
    )


def laws_meanwhile(law: str) -> tuple[str, ...]:
    """Return the candidate friction laws while the shared unknowns are fitted, the simplest first.

    `law` is the requested law or "auto".
    """
    return LAWS if law == "auto" or len(law_named(law).nonlinear) > 1 else (law,)


def told(
    own: Explained,
    laws: Sequence[str],
    noise: Noise | None = None,
    echoes: Array | None = None,
    load: str = "auto",
    reference: Explained | None = None,
    kept: Friction | None = None,
) -> Information:
    """Return the information about y from the points of a joint, with its friction eliminated.

    Parameters
    ----------
    own : Explained
        Regression columns of the torque.
    laws : sequence of str
        Candidate friction laws, the simplest first.
    noise : Noise, optional
        Noise model that weights the misfit; default: the estimated one.
    echoes : ndarray, shape (R, N, k + 1), optional
        Noise part of the slopes and of the acceleration column; see `informed`.
    load : str
        Load that friction grows with; with "auto" it is sought.
    reference : Explained, optional
        Columns of the same points along the commanded motion, used as instruments.
    kept : Friction, optional
        Friction whose law, load and zero parameters are kept.
    """
    if kept is not None:
        own, laws, load = own.without(kept.form), (kept.law,), kept.load
    base, slopes = own.base, own.slopes
    seen = np.flatnonzero(
        np.abs(slopes).max(axis=0) > _UNSEEN * max(float(np.abs(slopes).max()), 1e-300)
    )
    columns = own.columns(seen)
    offered = [
        name
        for name, values in own.loads.items()
        if name in _LOADS
        and np.isfinite(values).all()
        and np.abs(values).max() > _UNSEEN * np.abs(base.tau).max()
    ]
    load, best = _best(
        own, [load] if load in (*offered, "none") else offered or ["none"], seen, laws, noise
    )
    points, law, names = best.whole.data, best.whole.law, tuple(best.values)
    at = [names.index(name) for name in columns]
    beside = [
        k
        for k, name in enumerate(names)
        if name not in columns
        and (name in law.nonlinear or name in points.nuisance or best.values[name] > 0.0)
    ]
    sums = residual_sums(points, law, best.noise, best.values)
    known = sums[points.groups :][np.array([name not in columns for name in points.prior])].sum(
        axis=0
    )
    total = sums[: points.groups].sum(axis=0) + known
    plain = without(total[:-1, :-1], at, beside)
    matrix, moment = _seen_by(plain, total)
    linear = [k for k in beside if names[k] in law.parameters(True)]
    wider = (
        float(np.median(spread(best.whole, best.noise, best.values, linear).wider)) ** 2
        if linear
        else 1.0
    )
    next_ = following(
        [rows[:, -1] for rows in rows_in_passes(points, law, best.noise, best.values)]
    )
    # inertial torque is slow: residuals' autocorrelation counts
    wider = max(wider, (1.0 + next_) / (1.0 - next_))
    found = np.array([best.values[name] for name in columns])
    friction = Friction(
        law.name, load, {name: best.values[name] for name in law.parameters(load != "none")}
    )
    grid = {name: np.array([best.values[name]]) for name in law.nonlinear}
    misfit = float(Moments.of(points, law, grid).solve(noise or best.noise).misfit[0])
    moment = moment + matrix @ found
    if echoes is not None:
        noisy, white = [*at, names.index(ACCELERATION)], best.noise.of_points(base.group)
        known_by = np.array([*found, best.values[ACCELERATION]])
        for echo in echoes:
            part = echo[:, [*seen, -1]]
            rows = white.whiten(np.column_stack((part, -echo[:, -2] - part @ known_by)), base.group)
            rows *= 1.0 if base.count is None else np.sqrt(base.count)[:, None]
            total[np.ix_([*noisy, -1], [*noisy, -1])] -= rows.T @ rows / len(echoes)
        left, of_left = _seen_by(without(total[:-1, :-1], at, beside), total)
        matrix, moment = compensated(matrix, matrix - left, of_left + left @ found)
    every, size = np.zeros((len(seen), slopes.shape[1])), wider
    every[np.arange(len(seen)), seen] = 1.0
    out = Information(
        every.T @ matrix @ every / size, moment @ every / size, friction, best.noise, misfit
    )
    if reference is None:
        return out
    Z = jacobian(reference.along_with(load, seen), law, best.values)
    one = instrumented(points, law, best.noise, best.values, Z, known, at, beside)
    return replace(
        out,
        instruments=Instrumented(
            every.T @ one.matrix @ every / size,
            one.moment @ every / size,
            one.scores @ every / size,
            sums[: points.groups, :-1, -1] @ plain @ every / size,
            every.T @ one.left @ every / size,
        ),
    )


def _best(
    own: Explained,
    loads: Sequence[str],
    seen: Collection[int],
    laws: Sequence[str],
    noise: Noise | None,
) -> tuple[str, Best]:
    """Fit friction and y together, and choose load and law."""
    wholes, columns = {load: own.along_with(load, seen) for load in loads}, own.columns(seen)
    if len(columns) <= _FEW:
        return _likeliest(wholes, laws, noise)
    load, first = _likeliest(wholes, laws[:1], noise)
    if len(laws) == 1:
        return load, first
    left = own.base.tau - sum(
        (first.values[name] * column for name, column in columns.items()),
        np.zeros(len(own.base.tau)),
    )
    whole, friction_alone = (
        wholes[load],
        replace(own.base, load=own.loads.get(load), tau=left).condensed(),
    )
    _, chosen = _likeliest({load: friction_alone}, laws, noise)
    if not chosen.whole.law.nonlinear:
        return load, first
    at = {name: chosen.values[name] for name in chosen.whole.law.nonlinear}
    found = Moments.of(
        whole, chosen.whole.law, {name: np.array([value]) for name, value in at.items()}
    )
    values = (*found.solve(chosen.noise).beta[0].tolist(), *at.values())
    return load, Best(
        found,
        chosen.noise,
        dict(zip(parameter_names(whole, chosen.whole.law), values, strict=True)),
    )


def _likeliest(
    points: Mapping[str, FitPoints], laws: Sequence[str], noise: Noise | None
) -> tuple[str, Best]:
    """Return the best load and law by the Bayesian information criterion
    (Schwarz); `points` by load.

    With one law, the load with the smallest residuals is the best.
    """
    fits = [
        (load, best_of(searched(own, law_named(law))))
        for load, own in points.items()
        for law in laws
        if law == laws[0] or supports(own, law_named(law))
    ]
    # misfits of a wrong law are no noise
    weights = noise or min((fit for _, fit in fits), key=lambda fit: fit.rmse).noise

    def criterion(fit: Best) -> float:
        own, at = (
            fit.whole.data,
            {name: np.array([fit.values[name]]) for name in fit.whole.law.nonlinear},
        )
        misfit = float(Moments.of(own, fit.whole.law, at).solve(weights).misfit[0])
        return misfit + len(fit.values) * float(np.log(len(own.tau)))

    return min(fits, key=lambda pair: criterion(pair[1]) if len(laws) > 1 else pair[1].rmse)


def _seen_by(left: Array, total: Array) -> tuple[Array, Array]:
    """Sums of products of combinations `left` of the columns, among themselves and with the
    residual (last in `total`).
    """
    return left.T @ total[:-1, :-1] @ left, left.T @ total[:-1, -1]
