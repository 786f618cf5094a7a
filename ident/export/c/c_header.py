"""Export to a C header: friction laws and the rigid-body loads that they need,
with the arm's constants.
"""

import json
import re

import numpy as np

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import other_losses
from stribeck.ident.export.c.backlash_in_c import backlash_in_c
from stribeck.ident.export.c.law_in_c import checked_law, law_in_c, loads_at, weights
from stribeck.ident.export.c.memory_in_c import memory_in_c
from stribeck.ident.export.c.observer_in_c import observer_in_c
from stribeck.ident.export.c.temperature_in_c import temperature_in_c
from stribeck.ident.export.result import Export, exact
from stribeck.ident.export.shared_motors import gears_in_c, in_c, passive_losses
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.memory.memory_data import STILL
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.ripple.wave import FRICTION

_SIGN = """
static inline double @_sign(double x) { return (double)((x > 0.0) - (x < 0.0)); }
"""

_REAL = """
/* Floating-point type. For single precision, `#define @REAL float` before including the header, and let the compiler treat
   constants as float, too (gcc, clang: -fsingle-precision-constant). */
#ifndef @REAL
#define @REAL double
#endif
typedef @REAL @_real;

/* functions of math.h for both types */
#ifdef __cplusplus
#include <math.h>
#else
#include <tgmath.h>
#endif
"""

_VECTORS = """
static inline double @_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* out += factor a x b */
static inline void @_add_cross(double out[3], double factor, const double a[3], const double b[3])
{
    out[0] += factor * (a[1] * b[2] - a[2] * b[1]);
    out[1] += factor * (a[2] * b[0] - a[0] * b[2]);
    out[2] += factor * (a[0] * b[1] - a[1] * b[0]);
}

/* out += dw x r + w x (w x r) */
static inline void @_add_turning(double out[3], const double w[3], const double dw[3], const double r[3])
{
    double v[3] = {0.0, 0.0, 0.0};
    @_add_cross(v, 1.0, w, r);
    @_add_cross(out, 1.0, w, v);
    @_add_cross(out, 1.0, dw, r);
}

/* length of the component of a perpendicular to the unit vector n */
static inline double @_across(const double a[3], const double n[3])
{
    const double along = @_dot(a, n), x = a[0] - along * n[0], y = a[1] - along * n[1], z = a[2] - along * n[2];
    return sqrt(x * x + y * y + z * z);
}
"""

_LINKS = """
/* parent, slides, leader, ratio, shift; axis, origin, centre of mass, inertia about it at q = 0, all in base axes; mass */
static const struct { int parent, slides, leader; double ratio, shift, axis[3], origin[3], com[3], inertia[3][3], mass; }
@_link[@M] = {
@LINKS
};

/* Axis n of a joint at position x, its origin r from that of its parent, and the rotation R of its link, in base axes. */
static inline void @_place(int j, double x, double R[@M][3][3], double n[3], double r[3])
{
    const int p = @_link[j].parent;
    const double cosine = @_link[j].slides ? 1.0 : cos(x), sine = @_link[j].slides ? 0.0 : sin(x);
    int i, k;
    for (i = 0; i < 3; ++i) {
        n[i] = r[i] = 0.0;
        for (k = 0; k < 3; ++k) {
            const double e = p < 0 ? (double)(i == k) : R[p][i][k];
            n[i] += e * @_link[j].axis[k];
            r[i] += e * @_link[j].origin[k];
        }
    }
    if (@_link[j].slides)
        for (i = 0; i < 3; ++i) r[i] += x * n[i];
    for (k = 0; k < 3; ++k) {               /* columns of R: axes of the parent, turned about n (Rodrigues) */
        double e[3], turned[3] = {0.0, 0.0, 0.0};
        for (i = 0; i < 3; ++i) e[i] = p < 0 ? (double)(i == k) : R[p][i][k];
        @_add_cross(turned, sine, n, e);
        for (i = 0; i < 3; ++i) R[j][i][k] = cosine * e[i] + turned[i] + (1.0 - cosine) * @_dot(n, e) * n[i];
    }
}
"""

_LOADS = """
/* Load with which the friction of each joint grows, and rigid-body torque of each drive (N m; N and m/s for sliding joints):
   Newton-Euler recursion, outwards and inwards, in base axes, without joint friction and rotors.@EXTRA */
static inline void @_loads(const double q[@N], const double dq[@N], const double ddq[@N], double load[@K], double rigid[@N])
{
    static const int at[@K] = {@AT};
    static const double weight[@K][5] = {    /* of torque, bending, radial, axial, twist of joint `at` in each load */
@WEIGHTS
    };
    double gear[@N], R[@M][3][3], r[@M][3], n[@M][3], w[@M][3], dw[@M][3], a[@M][3], f[@M][3], m[@M][3];
    int j, i, k, l;

    for (j = 0; j < @M; ++j) {
        const int p = @_link[j].parent, of = @_link[j].leader;
        const double x = @_link[j].ratio * q[of] + @_link[j].shift;
        const double dx = @_link[j].ratio * dq[of], ddx = @_link[j].ratio * ddq[of];
        double c[3], h[3] = {0.0, 0.0, 0.0}, force[3], spin[3], dspin[3];
        @_place(j, x, R, n[j], r[j]);
        for (i = 0; i < 3; ++i) {
            w[j][i] = p < 0 ? 0.0 : w[p][i];
            dw[j][i] = p < 0 ? 0.0 : dw[p][i];
            a[j][i] = p < 0 ? -@_gravity[i] : a[p][i];
        }
        @_add_turning(a[j], w[j], dw[j], r[j]);
        if (@_link[j].slides) {
            for (i = 0; i < 3; ++i) a[j][i] += ddx * n[j][i];
            @_add_cross(a[j], 2.0 * dx, w[j], n[j]);
        } else {
            @_add_cross(dw[j], dx, w[j], n[j]);
            for (i = 0; i < 3; ++i) {
                w[j][i] += dx * n[j][i];
                dw[j][i] += ddx * n[j][i];
            }
        }
        for (i = 0; i < 3; ++i) c[i] = @_dot(R[j][i], @_link[j].com);
        for (i = 0; i < 3; ++i) force[i] = a[j][i];
        @_add_turning(force, w[j], dw[j], c);
        for (i = 0; i < 3; ++i) f[j][i] = force[i] * @_link[j].mass;
        for (i = 0; i < 3; ++i) {
            spin[i] = dspin[i] = 0.0;
            for (k = 0; k < 3; ++k) {
                spin[i] += R[j][k][i] * w[j][k];            /* in axes of the link */
                dspin[i] += R[j][k][i] * dw[j][k];
            }
        }
        for (i = 0; i < 3; ++i) m[j][i] = 0.0;
        for (i = 0; i < 3; ++i)
            for (k = 0; k < 3; ++k)
                for (l = 0; l < 3; ++l) {
                    m[j][i] += R[j][i][k] * @_link[j].inertia[k][l] * dspin[l];
                    h[i] += R[j][i][k] * @_link[j].inertia[k][l] * spin[l];
                }
        @_add_cross(m[j], 1.0, w[j], h);
        @_add_cross(m[j], 1.0, c, f[j]);
    }
    for (j = @M - 1; j >= 0; --j) {
        const int p = @_link[j].parent;
        if (p < 0) continue;
        for (i = 0; i < 3; ++i) {
            f[p][i] += f[j][i];
            m[p][i] += m[j][i];
        }
        @_add_cross(m[p], 1.0, r[j], f[j]);
    }
    for (j = 0; j < @N; ++j) rigid[j] = 0.0;
    for (j = 0; j < @M; ++j) rigid[@_link[j].leader] += @_link[j].ratio * @_dot(n[j], @_link[j].slides ? f[j] : m[j]);
@GEARS
    for (k = 0; k < @K; ++k) {
        j = at[k];
        load[k] = weight[k][0] * fabs(gear[j]) + weight[k][1] * @_across(m[j], n[j]) + weight[k][2] * @_across(f[j], n[j])
                + weight[k][3] * fabs(@_dot(f[j], n[j])) + weight[k][4] * fabs(@_dot(m[j], n[j]));
    }
}
"""

_AS_GIVEN = "`rigid`, from @_loads, tells driving"
_BY_CALLER = (
    "`load` holds the loads that the comment\n   above names, computed by the caller; `rigid`, "
    "the drive's torque "
    "without friction, tells driving"
)
_FRICTION = """
/* Friction of each joint: torque that the drive adds to the rigid-body torque. `rigid`, from @_loads, tells driving
   from back-driving; NULL uses the mean of both. NAN where a joint was not calibrated. */
static inline void @_friction(const double dq[@N], const double load[@K], const double *rigid, double tau[@N])
{
    (void)dq; (void)load; (void)rigid;
@LINES
}
"""


_RIPPLE = """
/* Torque that ripples with position (cogging, and friction ripple, which changes its sign with the direction): adds it to tau,
   after @_friction. */
static inline void @_ripple(const double q[@N], const double dq[@N], double tau[@N])
{
@WAVES
}
"""


def to_c(calibration: Calibration) -> Export:
    """Return ``ARM_loads(q, dq, ddq, load, rigid)`` and ``ARM_friction(dq, load, rigid, tau)``
    in C99, valid as C++, too.

    If torque ripples with position, ``ARM_ripple(q, dq, tau)`` adds it. If friction depends on
    temperature, ``ARM_temperature(dq, load, temperature, tau)`` adds its change from the reference
    temperature, and ``ARM_warm`` follows the state of joints that friction heats. ``ARM_observe``
    estimates external torque with the thresholds of `ExternalTorque`. For a closed chain, only the
    second function: the caller computes the loads.

    Raises
    ------
    InputError
        If a law has no C code.
    """
    mechanism, prefix = calibration.mechanism, identifier(calibration.arm)
    with_offset = any(joint.offset for joint in calibration.joints.values())
    joints = [calibration.joints.get(name) for name in mechanism.names]
    closed = mechanism.chain is not None
    at = loads_at(joints)
    laws = dict.fromkeys(
        (
            *(checked_law(joint).c for joint in joints if joint is not None),
            *(law_named(motor.law).c for motor in calibration.motors.motors.values()),
        )
    )
    constants = (
        f"\nenum {{ @_joint_count = {mechanism.n}, @_load_count = {len(at)} }};\n"
        f"static const double @_gravity[3] = {_row(mechanism.gravity)};    /* base axes */\n"
    )
    if closed:
        if any(joint is not None and joint.components for joint in joints):
            raise InputError(
                f"{calibration.arm} is a closed chain, for which the C header computes no loads, "
                "and so no friction "
                "with load components; fit with a single load, or export to json, csv or ros2"
            )
        body = "".join((constants, _SIGN, *laws, _FRICTION.replace(_AS_GIVEN, _BY_CALLER)))
    else:
        body = "".join((constants, _SIGN, *laws, _VECTORS, _LINKS, _LOADS, _FRICTION))
        body = body.replace("@LINKS", _links(mechanism)).replace(
            "@WEIGHTS", "\n".join(f"        {_row(row)}," for row in weights(mechanism, joints))
        )
        body = body.replace("@GEARS", gears_in_c(mechanism.transmission, mechanism.n))
    own = [
        f"    tau[{j}] = "
        f"{_call(joint, j, at, calibration.motors.moves(mechanism.transmission, mechanism.names[j]))};"
        for j, joint in enumerate(joints)
    ]
    body = body.replace(
        "@LINES", "\n".join([*own, *filter(None, [in_c(calibration, mechanism.transmission)])])
    )
    body += temperature_in_c(
        joints, lambda j, viscous: _whole(joints[j], j, at, viscous), mechanism.names
    )
    body += (
        memory_in_c(joints, lambda j: _level(joints[j], j, at))
        + _ripple(joints)
        + backlash_in_c(joints)
    )
    known = {j: joint for j, joint in enumerate(joints) if joint is not None}
    observer, refused = observer_in_c(
        calibration, lambda j, velocity, viscous: law_in_c(known[j], j, at, velocity, viscous)
    )
    body += observer
    extra = (
        "\n   Loads after those of the joints raise static friction only."
        if len(at) > mechanism.n
        else ""
    )
    body = body.replace("@EXTRA", extra)
    body = body.replace("@AT", ", ".join(map(str, at)))
    for mark, count in (("@K", len(at)), ("@N", mechanism.n), ("@M", mechanism.tree.n)):
        body = body.replace(mark, str(count))
    body = _REAL.replace("@REAL", f"{prefix.upper()}_REAL") + re.sub(r"\bdouble\b", "@_real", body)
    guard = f"{prefix.upper()}_FRICTION_H"
    text = (
        f"{_comment(calibration, mechanism)}\n#ifndef {guard}\n#define "
        f"{guard}\n{body.replace('@_', prefix + '_')}\n#endif\n"
    )
    its_loads = (
        "it computes no loads of a closed chain: the caller passes them, as joint_loads computes "
        "them"
        if closed
        else "it computes loads with the calibration's model, gravity and tools"
    )
    return Export(
        text,
        ".h",
        (
            f"the C header has no intervals; {its_loads}",
            *refused,
            *passive_losses(calibration, "the C header"),
            *(
                loss
                for loss in other_losses(
                    calibration,
                    "the C header",
                    offset=not with_offset,
                    memory=False,
                    ripple=False,
                    backlash=False,
                    temperature=False,
                )
                if "unknown tool" not in loss
            ),
        ),
    )


def _ripple(joints: list[JointCalibration | None]) -> str:
    """Return the function of torque that ripples with position; empty if no
    joint has a claimed wave.
    """
    lines = [
        f"    tau[{j}] += {exact(wave.amplitude)} * sin({exact(wave.order)} * q[{j}] + "
        f"{exact(wave.phase)}){f' * @_sign(dq[{j}])' if wave.kind == FRICTION else ''};"
        for j, joint in enumerate(joints)
        if joint is not None
        for wave in joint.ripple
    ]
    return _RIPPLE.replace("@WAVES", "\n".join(["    (void)dq;", *lines])) if lines else ""


def identifier(name: str) -> str:
    """A name that C accepts."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() else f"arm_{plain}"


def _call(joint: JointCalibration | None, j: int, at: list[int], by_motor: bool) -> str:
    """Return the call of the law in C; load components, which `weights` sums up,
    raise the levels directly.

    A joint that was not calibrated has only the friction of the shared motors that
    move it, if any (`by_motor`).
    """
    if joint is None:
        return "0.0" if by_motor else "NAN"
    law = law_in_c(joint, j, at, f"dq[{j}]")
    if joint.offset != 0.0:
        law = f"{exact(joint.offset)} + {law}"
    if joint.directional == "viscous":
        return f"{law} + {exact(joint.difference)} * fabs(dq[{j}])"
    if joint.directional == "driving":
        return (
            f"{law}\n           + (rigid == 0 || dq[{j}] == 0.0 ? 0.0 "
            f": {exact(joint.difference)} * load[{j}] * @_sign(rigid[{j}]))"
        )
    return law


def _level(joint: JointCalibration | None, j: int, at: list[int]) -> str:
    """Return the dry level of a joint's law at its speed: the law without viscous
    friction, and not zero at rest.
    """
    assert joint is not None
    return law_in_c(joint, j, at, f"fmax(fabs(dq[{j}]), {exact(STILL)})", viscous=False)


def _whole(joint: JointCalibration | None, j: int, at: list[int], viscous: bool) -> str:
    """Return the call of a joint's law at its velocity, with or without its viscous part."""
    assert joint is not None
    return law_in_c(joint, j, at, f"dq[{j}]", viscous)


def link_rows(mechanism: Mechanism) -> list[tuple[int, int, int, float, float]]:
    """Return parent, whether it slides, leader, ratio and shift of every joint; who
    does not follow leads itself.
    """
    rows = []
    for j in range(mechanism.tree.n):
        one = mechanism.followers[j - mechanism.n] if j >= mechanism.n else None
        # of -1 nothing
        leader, ratio, shift = (
            (j, 1.0, 0.0) if one is None else (max(one.leader, 0), one.ratio, one.shift)
        )
        rows.append(
            (
                int(mechanism.tree.parent[j]),
                int(mechanism.tree.prismatic[j]),
                leader,
                float(ratio),
                float(shift),
            )
        )
    return rows


def _links(mechanism: Mechanism) -> str:
    tree, lines = mechanism.tree, []
    for j, (parent, slides, leader, ratio, shift) in enumerate(link_rows(mechanism)):
        inertia = "{" + ", ".join(map(_row, tree.inertia[j])) + "}"
        lines.append(
            f"        {{{parent}, {slides}, {leader}, {exact(ratio)}, {exact(shift)}, "
            f"{_row(tree.axis[j])}, {_row(tree.origin[j])},\n         {_row(tree.com[j])},\n      "
            f"   {inertia}, "
            f"{exact(tree.mass[j])}}},"
        )
    return "\n".join(lines)


def about(calibration: Calibration, mechanism: Mechanism, first: int = 0) -> list[str]:
    """Return lines that tell what was calibrated, for a comment; joints count from `first`."""
    lines = [
        f"Joint friction of {calibration.origin}.",
        f"Model {calibration.model.file}, sha256 {calibration.model.sha256[:16]}.",
        f"SI units, joint side; torque_basis {calibration.torque_basis}. Joints in the order of "
        "all arrays:",
    ]
    for j, name in enumerate(mechanism.names):
        joint, quoted = calibration.joints.get(name), json.dumps(name, ensure_ascii=False)
        if joint is None:
            lines.append(f"{first + j}  {quoted}: not calibrated")
            continue
        low, high = joint.velocity_range
        known = joint.load != "none" and joint.load_range is not None
        ends = joint.load_ends.T.reshape(-1, 2) if known else ()
        range_ = (
            ", load from " + " and ".join(f"{least:.4g} to {most:.4g}" for least, most in ends)
            if known
            else ""
        )
        offset = f", offset {joint.offset:.4g}" if joint.offset else ""
        lines.append(
            f"{first + j}  {quoted}: {joint.law}, load {joint.load}{offset}; calibrated from "
            f"{low:.4g} to {high:.4g} {mechanism.position_unit(j)}/s{range_}"
        )
    return lines


def _comment(calibration: Calibration, mechanism: Mechanism) -> str:
    lines = (
        line.replace("*/", "* /").replace("/*", "/ *") for line in about(calibration, mechanism)
    )
    return "/* " + "\n   ".join(lines) + " */"


def _row(values: np.ndarray) -> str:
    return "{" + ", ".join(map(exact, values)) + "}"
