"""Versions of the packages on which figures depend, as files keep them."""

from functools import cache
from importlib.metadata import version


def versions_of(*packages: str) -> dict[str, str]:
    """Version of each package.

    MuJoCo's is that of the module that computes: several distributions bring it.
    """
    return {name: _version(name) for name in packages}


@cache
def _version(name: str) -> str:
    if name != "mujoco":
        return version(name)
    import mujoco

    return str(mujoco.__version__)
