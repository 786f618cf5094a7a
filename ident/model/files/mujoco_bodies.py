"""Bodies of a MuJoCo specification: what messages call them, and all of them compiled."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mujoco


def body_name(body: "mujoco.MjsBody") -> str:
    """What messages call a body, which may have no name."""
    if body.name:
        return f"body {body.name}"
    return f"the body of joint {body.joints[0].name}" if body.joints else f"a nameless body on {body_name(body.parent)}"


def unfused(spec: "mujoco.MjSpec") -> "mujoco.MjModel":
    """Specification compiled with every body, those on fixed joints too."""
    whole = spec.copy()
    whole.compiler.fusestatic = False
    return whole.compile()
