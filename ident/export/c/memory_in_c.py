"""Friction with memory in C: the state of each joint, which the caller
keeps, and one update function.
"""

from collections.abc import Callable, Sequence

from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.export.result import exact
from stribeck.ident.memory.joint_memory import JointMemory
from stribeck.ident.memory.states.memories import (
    DAHL,
    DAMPING,
    DISTANCE,
    EXPONENT,
    LUGRE,
    MAXWELL_SLIP,
    SECOND_DISTANCE,
    SHARE,
    STIFFNESS,
)
from stribeck.ident.memory.states.stepping import state_count

_CODE = """
/* Memory of the friction of each joint: positions and levels at the last call, and states. The caller keeps it; {0} at first. */
typedef struct { double q[@N], level[@N], z[@N][@STATES]; int known; } @_memory;

/* Replace the dry friction in tau (from @_friction, at the same q, dq and load@SAME) by friction with memory, and advance the
   memory to the positions q. Call it once per sample, in order. */
static inline void @_remember@AT(const double q[@N], const double dq[@N], const double load[@K], @TAKEN@_memory *memory,
                                 double tau[@N])
{
    int j;
    (void)load;
@JOINTS
    for (j = 0; j < @N; ++j) memory->q[j] = q[j];
    memory->known = 1;
}
"""

_COLD = """
/* The same at the reference temperatures. */
static inline void @_remember(const double q[@N], const double dq[@N], const double load[@K], @_memory *memory, double tau[@N])
{
    @_remember_at(q, dq, load, 0, memory, tau);
}
"""

_JOINT = """    {{
        double *z = memory->z[{j}];
{warm}        const double level = fmax({level}, 1e-12), step = memory->known ? q[{j}] - memory->q[{j}] : 0.0;
        const double along = memory->known ? 0.5 * (level + memory->level[{j}]) : level;
        const double s = @_sign(step), far = fabs(step);
        if (step != 0.0) {{
{advance}
        }}
        (void)s; (void)far; (void)along;
        memory->level[{j}] = level;
        tau[{j}] += {dry} - level * @_sign(dq[{j}]);
    }}"""

_FACTOR = """\
        double factor[2] = {{1.0, 1.0}};
        if (temperature) @_factors({j}, temperature[{j}], factor);
"""


def memory_in_c(joints: Sequence[JointCalibration | None], level: Callable[[int], str]) -> str:
    """Return the C code of the memories; "" if no joint has one.

    Parameters
    ----------
    joints : sequence of JointCalibration or None
        Joints in the order of the arrays.
    level : callable
        Function that returns the C expression of the dry level of the joint with this index.
    """
    found = {
        j: joint.memory
        for j, joint in enumerate(joints)
        if joint is not None and joint.memory is not None
    }
    if not found:
        return ""
    warm = warm_memories(joints)
    lines = [
        _JOINT.format(
            j=j,
            level=f"({level(j)}) * factor[0]" if j in warm else level(j),
            warm=_FACTOR.format(j=j) if j in warm else "",
            advance="\n".join(f"            {line}" for line in _advance(memory)),
            dry=_dry(memory).replace("dq[]", f"dq[{j}]"),
        )
        for j, memory in found.items()
    ]
    code = _CODE.replace(
        "@STATES", str(max(state_count(memory.memory) for memory in found.values()))
    )
    for mark, text in (
        ("@SAME", ", and @_temperature" if warm else ""),
        ("@AT", "_at" if warm else ""),
        ("@TAKEN", "const double *temperature, " if warm else ""),
        ("@JOINTS", "\n".join(lines)),
    ):
        code = code.replace(mark, text)
    return code + (_COLD if warm else "")


def warm_memories(joints: Sequence[JointCalibration | None]) -> list[int]:
    """Return the joints whose friction has a memory and depends on temperature; then
    there is ``ARM_remember_at``.
    """
    return [
        j
        for j, joint in enumerate(joints)
        if joint is not None and joint.memory is not None and joint.temperature is not None
    ]


def _advance(memory: JointMemory) -> list[str]:
    """Return the statements that advance the states by a step, see `stepping.advanced`."""
    values = memory.values
    if memory.name == MAXWELL_SLIP:
        return [
            f"z[{k}] = fmin(1.0, fmax(-1.0, z[{k}] + step / {exact(far)}));"
            for k, far in enumerate(memory.distances)
        ]
    if memory.name == LUGRE.name:
        return [
            f"z[0] = s * along + (z[0] - s * along) * exp(-{exact(values[STIFFNESS.name])} * far "
            "/ along);"
        ]
    if memory.name == DAHL.name and abs(power := 1.0 - values[EXPONENT.name]) > 1e-6:
        return [
            f"const double base = pow(fmax(1.0 - s * z[0], 1e-12), {exact(power)}) "
            f"- {exact(power)} * far / {exact(values[DISTANCE.name])};",
            f"z[0] = s * (1.0 - (base > 0.0 ? pow(base, {exact(1.0 / power)}) : 0.0));",
        ]
    distances = [values[key.name] for key in (DISTANCE, SECOND_DISTANCE) if key.name in values]
    return [
        f"z[{k}] = s + (z[{k}] - s) * exp(-far / {exact(far)});" for k, far in enumerate(distances)
    ]


def _dry(memory: JointMemory) -> str:
    """Return the expression of the dry friction, see `stepping.dry_friction`."""
    values = memory.values
    if memory.name == MAXWELL_SLIP:
        shares = [values[name] for name in memory.memory.parameters]
        parts = [f"{exact(share)} * z[{k}]" for k, share in enumerate((*shares, 1.0 - sum(shares)))]
        return f"level * ({' + '.join(parts)})"
    if memory.name == LUGRE.name:
        return f"z[0] + {exact(values[DAMPING.name])} * (dq[] - fabs(dq[]) * z[0] / level)"
    if SHARE.name in values:
        return (
            f"level * ({exact(values[SHARE.name])} * z[0] + {exact(1.0 - values[SHARE.name])} * "
            "z[1])"
        )
    return "level * z[0]"
