"""Bodies of a MuJoCo specification: their names in messages, and a model
compiled with all of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mujoco


def body_name(body: "mujoco.MjsBody") -> str:
    """Name of a body in messages; a nameless body is described by its joint or its parent."""
    if body.name:
        return f"body {body.name}"
    return (
        f"the body of joint {body.joints[0].name}"
        if body.joints
        else f"a nameless body on {body_name(body.parent)}"
    )


def unfused(spec: "mujoco.MjSpec") -> "mujoco.MjModel":
    """Compile a specification and keep every body, also bodies on fixed joints."""
    whole = spec.copy()
    whole.compiler.fusestatic = False
    return whole.compile()
