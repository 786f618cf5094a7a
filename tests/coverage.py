"""How often intervals must hold the truth, by the number of draws."""

from math import comb


def fewest(draws: int, level: float = 0.95, once_in: int = 1000) -> int:
    """Fewest of so many intervals that hold the truth, but for once in so many trials.

    Parameters
    ----------
    draws : int
        Number of independent intervals.
    level : float
        Chance that an interval holds the truth.
    once_in : int
        In one of so many trials fewer hold it.
    """
    fewer = 0.0
    for held in range(draws + 1):
        fewer += comb(draws, held) * level**held * (1.0 - level) ** (draws - held)
        if fewer > 1.0 / once_in:
            return held
    return draws


def most(draws: int, level: float = 0.95, once_in: int = 1000) -> int:
    """Most of so many intervals that hold the truth; parameters as in `fewest`."""
    return draws - fewest(draws, 1.0 - level, once_in)
