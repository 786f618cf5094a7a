"""Errors of experiments."""

from ident.errors import InputError


class PlanError(InputError):
    """A plan that would leave a limit, or that cannot be made for this arm."""
