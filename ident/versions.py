"""Versions of the packages on which figures depend, as files keep them."""

from importlib.metadata import version


def versions_of(*packages: str) -> dict[str, str]:
    """Version of each package.

    MuJoCo's is that of the module that computes: several distributions bring it.
    """
    return {name: _mujoco() if name == "mujoco" else version(name) for name in packages}


def _mujoco() -> str:
    import mujoco

    return str(mujoco.__version__)
