"""Values that the texts of options state: joints, gains, fractions and times."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    pass


def split(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a comma-separated option; None where the option is not given."""
    if text is None:
        return None
    from stribeck.ident.errors import InputError

    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise InputError(f"--joints {text!r} names no joint")
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise InputError(f"--joints {text!r} names {twice[0]} twice; name each joint once")
    return names


def read_gains(texts: Sequence[str]) -> dict[str, tuple[float, ...]] | None:
    """Return the numbers of options ``--gains joint=kp,kd`` by joint; None without options."""
    return by_joint(
        texts, "--gains", "JOINT=KP,KD or JOINT=KP,KD,KR with numbers, for example j1=80,2.5"
    )


def by_joint(texts: Sequence[str], option: str, needed: str) -> dict[str, tuple[float, ...]] | None:
    """Return the numbers of options ``JOINT=NUMBER,...`` by joint; None without options.
    `needed` says what is right.
    """
    found: dict[str, tuple[float, ...]] = {}
    for text in texts:
        joint, equals, values = text.partition("=")
        name = joint.strip()
        if equals and name in found:
            raise typer.BadParameter(
                f"{name} is stated more than once; state each joint once", param_hint=option
            )
        try:
            found[name] = tuple(float(value) for value in values.split(","))
        except ValueError:
            equals = ""
        if not equals:
            raise typer.BadParameter(f"{text!r}: needed is {needed}", param_hint=option)
    return found or None


def fraction(text: str | None) -> float | None:
    """Return a fraction from "5%" or "0.05"."""
    allowed = "5% or 0.05, above 0 and below 100%"
    return None if text is None else _quantity(text, {"%": 0.01, "": 1.0}, "--target", allowed, 1.0)


def seconds(text: str | None) -> float | None:
    """Return a time [s] from "10min", "90s" or "1h"; None where the option is not given."""
    return None if text is None else time_of(text, "--budget")


def time_of(text: str, option: str) -> float:
    """Return a time [s] from "10min", "90s" or "1h"."""
    return _quantity(text, {"min": 60.0, "s": 1.0, "h": 3600.0}, option, "10min, 90s or 1h")


def _quantity(
    text: str, units: dict[str, float], option: str, allowed: str, limit: float = float("inf")
) -> float:
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z%]*)\s*", text)
    try:
        value = float(found[1]) * units[found[2]] if found else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if not 0.0 < value < limit:
        from stribeck.ident.errors import InputError

        raise InputError(f"invalid {option} {text!r}: expected {allowed}")
    return value
