"""The age at which a joint's reply is stale, so that the supervisor and the
cycle of a bus stop the arm.
"""

# periods after which a joint's reply is stale, if this is longer than SHORTEST_AGE
PERIODS = 10
SHORTEST_AGE = 0.05  # s, least age of a stale reply


def stale_age(rate: float) -> float:
    """Return the age from which a joint's reply is stale [s], for an arm with
    `rate` cycles per second.
    """
    return max(PERIODS / rate, SHORTEST_AGE)
