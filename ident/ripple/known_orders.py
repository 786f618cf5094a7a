"""Orders of ripple that the arm file gives, and why an order cannot be told by the samples."""

from collections.abc import Sequence

from stribeck.ident.arm.arm_tables import JointTable
from stribeck.ident.ripple.passages import SAMPLED, Passage

# waves per turn of the joint; slower torque looks like an error of gravity, or like a load
LEAST_ORDER = 8.0
_MULTIPLES = (1, 2, 3, 4, 6)  # harmonics of a motor turn: unbalance, wave generator, poles
_ALIKE = 1e-3  # relative difference of orders that count as equal


def known_orders(table: JointTable, several: bool = False) -> tuple[float, ...]:
    """Return the orders that the arm file gives: harmonics of a motor turn, and `ripple_orders`.

    Parameters
    ----------
    table : JointTable
        The joint's table in the arm file.
    several : bool
        Whether motors that move several joints move this one: its position is
        then not that of a motor.
    """
    motor = (
        ()
        if table.gear_ratio is None or several
        else tuple(table.gear_ratio * k for k in _MULTIPLES)
    )
    out: list[float] = []
    for order in (*table.ripple_orders, *motor):
        if all(abs(order - other) > _ALIKE * other for other in out):
            out.append(order)
    return tuple(out)


def refusal(order: float, passages: Sequence[Passage], least: int) -> str:
    """Return why the samples do not measure an order; empty if at least `least` passages in
    each direction measure it.
    """
    if order < LEAST_ORDER:
        return (
            f"confounded: fewer than {LEAST_ORDER:g} waves a turn of the joint look like an error "
            "of gravity, or like friction that grows with the load"
        )
    slow = [one for one in passages if order <= one.most]
    if len(slow) < 2 * least:
        if sum(order >= one.aliased for one in passages) > len(passages) / 2:
            return (
                "aliased by the sample rate at the measured speeds; record slower strokes, or at "
                "a higher rate"
            )
        return (
            f"too fast: fewer than {SAMPLED:g} samples a wave, or above the bandwidth of the "
            "motion, at nearly all measured speeds; record slower strokes, or at a higher rate"
        )
    measured = [one for one in slow if one.resolves(order)]
    if len(measured) < 2 * least:
        return "too long for the strokes, which span too few of its waves; record longer strokes"
    if min(sum(one.direction == way for one in measured) for way in (1, -1)) < least:
        return (
            "measured in one direction only, so that cogging and friction ripple look alike; "
            "record strokes in both directions"
        )
    return ""
