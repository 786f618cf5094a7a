"""When a joint's reply is stale: the rule by which the supervisor and the cycle of a bus stop an arm."""

PERIODS = 10            # periods after which a joint's reply is stale,
SHORTEST_AGE = 0.05     # s, whichever is longer


def stale_age(rate: float) -> float:
    """Age from which a joint's reply is no sign of life any more [s], for an arm with so many cycles a second."""
    return max(PERIODS / rate, SHORTEST_AGE)
