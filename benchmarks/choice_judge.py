"""One joint of the benchmark `choice`: measurement, fit with default options, and
comparison with the truth.
"""

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from benchmarks.choice_oracle import bounds, posterior
from benchmarks.choice_truths import (
    FASTEST,
    MIXES,
    Condition,
    Measured,
    Truth,
    drop_of,
    kink_at,
    measure,
)
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.fit_joint import identify_joint
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.fit.law_fit import best_of, searched, supports
from stribeck.ident.fit.points import FitPoints
from stribeck.ident.laws.law_table import law_named, laws_on_offer
from stribeck.ident.model.mechanism import Mechanism

JOINT = "j4"  # a joint of lab6; only its name and type matter
REFERENCES = 5  # number of speeds at which the band of friction is judged
TRUTHS = {  # truths of the rows about claims
    **{
        f"drop 20 %, ratio 0.8, exponent {exponent:g}": drop_of(0.2, 0.8, exponent)
        for exponent in (2.0, 1.0, 0.6)
    },
    **{f"kink at {knee:g}": kink_at(knee) for knee in (0.2, 0.4, 0.6, 0.8)},
}


@dataclass(frozen=True)
class Case:
    """One joint to judge: its truth (number of a family in a mix, or one of `TRUTHS`) and
    its measurement condition.
    """

    mix: str
    family: int
    truth: str
    how: Condition
    seed: int
    oracle: bool

    def drawn(self, rng: np.random.Generator) -> Truth:
        """The truth."""
        return (
            TRUTHS[self.truth]
            if self.truth in TRUTHS
            else MIXES[self.mix].families[self.family].draw(rng)
        )


@cache
def _mechanism() -> Mechanism:
    return load_mechanism("lab6")


def judge(case: Case) -> dict[str, Any]:
    """Result of the estimator for the joint, compared with the truth."""
    mix, how = MIXES[case.mix], case.how
    rng = np.random.default_rng(
        [
            case.seed,
            case.family,
            *(case.mix + case.truth).encode(),
            how.speeds,
            round(1e4 * how.noise),
            *(how.kind + how.order).encode(),
        ]
    )
    truth = case.drawn(rng)
    measured = measure(truth, mix, how, rng)
    found = identify_joint(table_of(measured), _mechanism(), JOINT, Options(load="none"))
    fit, tested = found.fit, _tested(mix.slowest, 50)
    assert fit.data is not None
    clean = truth.friction(tested)
    errors = {
        law: _relative(friction, clean) for law, friction in _candidates(fit.data, tested).items()
    }
    least, error = min(errors.values()), _relative(fit.predict(tested), clean)
    said: dict[str, Any] = {
        "mix": case.mix,
        "truth": case.truth,
        **asdict(how),
        "seed": case.seed,
        "law": fit.law,
        "falls": fit.falls,
        "undecided": fit.undecided,
        "share": fit.stribeck_share,
        "error": error,
        "best": min(errors, key=lambda law: errors[law]),
        "ratio": error / least,
    }
    if not case.oracle:
        return said
    at = _tested(mix.slowest, REFERENCES)
    known = posterior(mix, how, measured, np.concatenate((at, tested)), rng)
    ends = np.array([known.interval(known.friction[:, k]) for k in range(REFERENCES)])
    off, band, bound = (
        fit.predict(at) - truth.friction(at),
        fit.interval(at),
        1.96 * bounds(truth, how, measured, at),
    )
    scale = truth.coulomb
    said |= {
        "off": (off / scale).tolist(),
        "band": (band / scale).tolist(),
        "bound": (bound / scale).tolist(),
        "oracle_held": (
            (ends[:, 0] <= truth.friction(at)) & (truth.friction(at) <= ends[:, 1])
        ).tolist(),
        "oracle_band": (np.ptp(ends, axis=1) / 2.0 / scale).tolist(),
        "oracle_falls": float(known.weight @ known.falls),
        "oracle_ratio": _relative(known.weight @ known.friction[:, REFERENCES:], clean) / least,
        "draws": known.draws,
    }
    for name, true, values in (
        ("coulomb", truth.coulomb, known.coulomb),
        ("static", truth.static, known.static),
    ):
        entry = fit.parameters.get(name)
        if entry is not None and entry.low is not None and entry.high is not None:
            said[name] = {
                "ours": [entry.low / scale, entry.high / scale],
                "truth": true / scale,
                "oracle": [end / scale for end in known.interval(values)],
            }
    return said


def _tested(slowest: float, count: int) -> np.ndarray:
    """Speeds spaced evenly in the logarithm over the tested range [rad/s]."""
    return np.asarray(FASTEST * np.geomspace(slowest, 1.0, count))


def _relative(predicted: np.ndarray, true: np.ndarray) -> float:
    """Root mean square of predicted minus true friction, divided by the
    root mean square of friction.
    """
    return float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))


def _candidates(data: FitPoints, speed: np.ndarray) -> dict[str, np.ndarray]:
    """Predictions of each competing law."""
    predicted = {}
    for name in laws_on_offer():
        law = law_named(name)
        if supports(data, law):
            values = best_of(searched(data.condensed(), law)).values
            predicted[name] = law.torque(speed, {key: values[key] for key in law.parameters(False)})
    return predicted


def table_of(measured: Measured) -> pd.DataFrame:
    """Points of one joint, one for each round trip, in the form that the
    reduction of a run gives.
    """
    count = len(measured.w)
    alike = {
        "joint": JOINT,
        "posture": 0,
        "position": 0.0,
        "even": 0.0,
        "gravity": 0.0,
        "gravity_rate": 0.0,
        "torque": 10.0,
        "bending": 10.0,
        "radial": 10.0,
        "axial": 10.0,
        "normal": np.nan,
        "n": 100,
        "std": 0.1,
        "temperature": np.nan,
        "reference": False,
        "run": "one",
    }
    return pd.DataFrame(
        {
            **alike,
            "segment": np.arange(count),
            "speed": measured.w,
            "odd": measured.tau,
            "t": 20.0 * (count - 1) * (measured.t + 0.5),
        }
    )


def interval_score(
    low: ArrayLike, high: ArrayLike, true: ArrayLike, level: float = 0.95
) -> np.ndarray:
    """Interval score (Gneiting and Raftery, JASA 102 (2007) 359): width + 2 / (1 - level) x
    distance of the truth outside.
    """
    below, above, value = (np.asarray(one, dtype=float) for one in (low, high, true))
    missed = np.maximum(0.0, below - value) + np.maximum(0.0, value - above)
    return np.asarray(above - below + 2.0 / (1.0 - level) * missed)
