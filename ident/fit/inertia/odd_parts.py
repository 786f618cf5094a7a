r"""Friction that joints share, identified from the odd parts of round trips of
all these joints together.

The odd part, half the difference of forward and backward torque, is friction. It is the sum of the
joint's own friction, of friction of shared motors by their transmission ratio, and of friction of a
closed chain's passive joints by virtual work:

.. math:: (\tau_+ - \tau_-) / 2 = f_j(\dot q_j) + \sum_k R_{kj} f_k(\dot\varphi_k) + \sum_p D_{pj} f_p(\dot q_p, N_p)

Inertia does not contribute to the odd part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd

from stribeck.ident.arrays import Array
from stribeck.ident.fit.fit_result import FitResult
from stribeck.ident.fit.inertia.coupled_motors import LAWS as MOTOR_LAWS
from stribeck.ident.fit.inertia.coupled_motors import CoupledMotors
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.inertia.joint_equation import LAWS, Explained, laws_meanwhile, told
from stribeck.ident.fit.inertia.joint_information import Friction, Information
from stribeck.ident.fit.inertia.link_prior import LinkPrior, Scatter
from stribeck.ident.fit.inertia.shared import Shared
from stribeck.ident.fit.inertia.unknown_passive import UnknownPassive
from stribeck.ident.fit.joint.model_doubt import Doubts, ModelDoubt
from stribeck.ident.fit.noise import Noise
from stribeck.ident.fit.points import ANY, FitPoints, Growth, worth
from stribeck.ident.laws.stribeck import TUSTIN
from stribeck.ident.log.reduction.round_trips import round_trips
from stribeck.ident.model.dynamics import inverse_dynamics
from stribeck.ident.model.loads import LOADS
from stribeck.ident.model.mechanism import Mechanism

_FEW = 200  # points that set the unit of an unknown
_UNKNOWN: Mapping[str, Friction] = {}
_ROUNDS = 4  # iterations of least squares, each linearised about the last estimate


@dataclass(frozen=True)
class OddParts:
    """Odd parts of the joints that share a motor, or of the drives of a closed chain.

    Attributes
    ----------
    points : dict of str to DataFrame
        Points of each joint, see `round_trips`.
    q, dq : dict of str to ndarray, shape (N, n)
        Positions and velocities of all joints at the points of each joint.
    mechanism : Mechanism
        The model.
    """

    points: Mapping[str, pd.DataFrame]
    q: Mapping[str, Array]
    dq: Mapping[str, Array]
    mechanism: Mechanism
    _of_passive: dict[tuple[str, tuple[tuple[str, str], ...]], Array] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of(cls, points: pd.DataFrame, q: Array, dq: Array, mechanism: Mechanism) -> "OddParts":
        """Select the odd parts from all joints' points; `q` and `dq` are the joints' motion at
        the points, shape (N, n).
        """
        coupled = mechanism.transmission
        found = {
            str(name): rows
            for name, rows in points.groupby("joint", sort=False)
            if mechanism.chain is not None
            or (coupled is not None and coupled.motors_of(mechanism.names.index(str(name))))
        }
        at = {name: points.index.get_indexer(rows.index) for name, rows in found.items()}
        return cls(
            found,
            {name: q[rows] for name, rows in at.items()},
            {name: dq[rows] for name, rows in at.items()},
            mechanism,
        )

    @property
    def motors(self) -> CoupledMotors | None:
        """Motors whose friction the odd parts separate from the friction of their joints;
        None without such a motor.
        """
        if not self.points:
            return None
        dq = np.concatenate(list(self.dq.values()))
        odd = np.zeros_like(dq)
        for j, name in enumerate(self.mechanism.names):
            odd[:, j] = (
                np.sqrt(np.mean(self.points[name]["odd"] ** 2)) if name in self.points else 0.0
            )
        return CoupledMotors.told_by(
            self.mechanism.transmission, list(self.points), dq, np.zeros_like(dq), odd
        )

    @property
    def passive(self) -> UnknownPassive | None:
        """Passive joints whose friction is unknown; None without such joints."""
        if not self.points:
            return None
        q, dq, odd = (
            np.concatenate(list(values.values()))
            for values in (
                self.q,
                self.dq,
                {
                    name: np.tile(rows["odd"].to_numpy(dtype=float)[:, None], self.mechanism.n)
                    for name, rows in self.points.items()
                },
            )
        )
        every = max(1, len(q) // _FEW)
        return UnknownPassive.of_chain(self.mechanism, q[::every], dq[::every], odd[::every])

    def slopes(self, name: str, shared: Shared, friction: Friction | None = None) -> Array:
        """Derivative of a joint's odd part by the unknowns, shape (N, p).

        With the `friction` of the joint, the derivative includes this friction's growth with the
        load, which passive joints change.
        """
        q, dq, j = self.q[name], self.dq[name], self.mechanism.names.index(name)
        if shared.passive is None:
            assert shared.motors is not None
            return shared.motors.slopes(dq, np.zeros_like(dq))[:, j]
        # the same for any friction of the joint
        if (key := (name, shared.passive.names)) not in self._of_passive:
            self._of_passive[key] = shared.passive.slopes(
                lambda one: _odd_torque(one, q, dq)[:, j], self.mechanism
            )
        slopes = self._of_passive[key]
        if friction is None or friction.load == "none":
            return slopes
        speed, load = (
            self.points[name][key].to_numpy(dtype=float) for key in ("speed", friction.load)
        )
        of_load = (
            sum(
                shared.load_slopes(self.mechanism, q, sign * dq)[friction.load][:, j]
                for sign in (1.0, -1.0)
            )
            / 2.0
        )
        return np.asarray(slopes + friction.growth(speed, load)[:, None] * of_load)

    def information(
        self,
        shared: Shared,
        noises: Mapping[str, Noise],
        laws: Sequence[str] = LAWS,
        growth: Growth = ANY,
        frictions: Mapping[str, Friction] = _UNKNOWN,
    ) -> dict[str, Information]:
        """Return each joint's information about the unknowns, without errors of torque constants.

        `noises` weight the misfits of the joints for which they are given; `frictions` is the
        known friction of joints.
        """
        found = {}
        for name, rows in self.points.items():
            loads = {key: rows[key].to_numpy(dtype=float) for key in LOADS}
            slopes = np.column_stack(
                (self.slopes(name, shared, frictions.get(name)), np.zeros(len(rows)))
            )
            found[name] = told(
                Explained(replace(self._data(name), constant=growth.constant), loads, slopes),
                laws,
                noises.get(name),
                load=growth.load,
            )
        return found

    def shared(self, motors: CoupledMotors) -> Shared:
        """Return the unknowns of a fit of motors alone."""
        return Shared(LinkPrior(self.mechanism), False, motors)

    def doubts(self, fit: InertialFit) -> dict[str, Doubts]:
        """Return functions from a joint's friction to the remaining uncertainty of its odd part."""
        return {name: partial(self._doubt, fit, name) for name in self.points}

    def _doubt(self, fit: InertialFit, name: str, friction: FitResult | None) -> ModelDoubt:
        own = None
        if friction is not None and friction.load != "components":
            own = Friction(friction.law, friction.load, friction.values)
        noise = float(np.std(np.diff(self.points[name]["odd"]))) / np.sqrt(2.0)
        return fit.doubt(name, self.slopes(name, fit.shared, own), noise)

    def _data(self, name: str) -> FitPoints:
        rows = self.points[name]
        group = round_trips(rows)
        time = rows.groupby(group)["t"].mean().to_numpy()
        run = pd.Series(pd.factorize(rows["run"])[0]).groupby(group).first().to_numpy()
        return FitPoints(
            rows["speed"].to_numpy(dtype=float),
            rows["odd"].to_numpy(dtype=float),
            None,
            group,
            {},
            {},
            bool(self.mechanism.prismatic[self.mechanism.names.index(name)]),
            time=time,
            run=run,
            count=worth(rows["std"].to_numpy(dtype=float), group),
        )


def fit_motor_friction(odd: OddParts, law: str = "auto") -> InertialFit | None:
    """Identify the friction of motors that move several joints; None if round trips do not
    separate it from joint friction.

    Parameters
    ----------
    odd : OddParts
        Odd parts of the joints.
    law : str
        Requested friction law or "auto"; motors use the requested law if it
        is one of their candidates.
    """
    motors = odd.motors
    if motors is None:
        return None
    noises = {name: one.noise for name, one in odd.information(odd.shared(motors), {}).items()}

    def misfit(tried: CoupledMotors) -> float:
        return sum(one.misfit for one in odd.information(odd.shared(tried), noises).values())

    motors = motors.likeliest(
        MOTOR_LAWS if law not in MOTOR_LAWS else (law,), misfit, sum(map(len, odd.points.values()))
    )
    found = _settled(odd, motors)
    plain = found.plain_motors
    return found if plain.laws == motors.laws else _settled(odd, plain)


def _settled(odd: OddParts, motors: CoupledMotors) -> InertialFit:
    """Iterate least squares, each linearised about the last estimate."""
    for _ in range(_ROUNDS):
        shared = odd.shared(motors)
        found = InertialFit(shared, odd.information(shared, {}), Scatter(0.0, 0.0), 0.0)
        motors = motors.at(found.y)
    return found


def fit_passive_friction(
    odd: OddParts, law: str = "auto", growth: Growth = ANY
) -> InertialFit | None:
    """Identify the unknown friction of a closed chain's passive joints; None without such joints.

    Parameters
    ----------
    odd : OddParts
        Odd parts of the drives, reduced by the friction of passive joints
        that the model already holds.
    law : str
        Requested law of the drives' friction, or "auto".
    growth : Growth
        How the drives' friction grows with a load.
    """
    passive = odd.passive
    if passive is None:
        return None
    shared = Shared(LinkPrior(odd.mechanism), False, None, passive)
    laws = (*LAWS, TUSTIN.name) if law == "auto" else laws_meanwhile(law)
    y, found = passive.of(odd.mechanism), odd.information(shared, {}, laws, growth)
    frictions = {name: one.friction for name, one in found.items() if one.friction is not None}
    found = odd.information(shared, {}, laws, growth, frictions)
    about = {
        name: replace(one, moment=one.moment + one.matrix[:, : len(y)] @ y)
        for name, one in found.items()
    }
    return InertialFit(shared, about, Scatter(0.0, 0.0), 0.0)


def _odd_torque(mechanism: Mechanism, q: Array, dq: Array) -> Array:
    """Half the difference of the torques of forward and backward motion, shape (N, n)."""
    return (inverse_dynamics(mechanism, q, dq) - inverse_dynamics(mechanism, q, -dq)) / 2.0
