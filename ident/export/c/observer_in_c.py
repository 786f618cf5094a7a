"""The momentum observer of external torque in C, with the bounds and
margins of `ExternalTorque`.
"""

import re
from collections.abc import Callable

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError, ModelError
from stribeck.ident.export.result import exact
from stribeck.ident.external.external_torque import FALSE_ALARMS, ExternalTorque
from stribeck.ident.external.joint_bound import JointBound

_SPARE = 4  # steps kept beyond twice the longest delay
_NEVER = 1e30  # rad/s; slowest speed of a joint that is not calibrated, which never slides

_CODE = """
#include <string.h>
/* Generalised momentum of links and rotors, and its rate without joint torques: centrifugal, Coriolis and gravity. */
static inline void @_momentum(const double q[@N], const double dq[@N], double p[@N], double drift[@N])
{
    double R[@M][3][3], r[@M][3], n[@M][3], w[@M][3], v[@M][3], l[@M][3], k[@M][3], f[@M][3], m[@M][3];
    int j, i, a, b;

    for (j = 0; j < @M; ++j) {
        const int parent = @_link[j].parent, of = @_link[j].leader;
        const double dx = @_link[j].ratio * dq[of];
        double c[3], spin[3];
        @_place(j, @_link[j].ratio * q[of] + @_link[j].shift, R, n[j], r[j]);
        for (i = 0; i < 3; ++i) {
            w[j][i] = parent < 0 ? 0.0 : w[parent][i];
            v[j][i] = parent < 0 ? 0.0 : v[parent][i];
            c[i] = @_dot(R[j][i], @_link[j].com);
        }
        @_add_cross(v[j], 1.0, w[j], r[j]);
        for (i = 0; i < 3; ++i) {
            v[j][i] += @_link[j].slides ? dx * n[j][i] : 0.0;
            w[j][i] += @_link[j].slides ? 0.0 : dx * n[j][i];
        }
        for (i = 0; i < 3; ++i) {
            l[j][i] = v[j][i];
            k[j][i] = m[j][i] = spin[i] = 0.0;
            f[j][i] = @_link[j].mass * @_gravity[i];
            for (a = 0; a < 3; ++a) spin[i] += R[j][a][i] * w[j][a];
        }
        @_add_cross(l[j], 1.0, w[j], c);
        for (i = 0; i < 3; ++i) {
            l[j][i] *= @_link[j].mass;
            for (a = 0; a < 3; ++a)
                for (b = 0; b < 3; ++b) k[j][i] += R[j][i][a] * @_link[j].inertia[a][b] * spin[b];
        }
        @_add_cross(k[j], 1.0, c, l[j]);
        @_add_cross(m[j], 1.0, c, f[j]);
    }
    for (j = 0; j < @N; ++j) p[j] = drift[j] = 0.0;
    for (j = @M - 1; j >= 0; --j) {
        const int parent = @_link[j].parent, of = @_link[j].leader;
        double turned[3] = {0.0, 0.0, 0.0}, moved[3] = {0.0, 0.0, 0.0};
        @_add_cross(turned, 1.0, w[j], n[j]);
        @_add_cross(moved, 1.0, v[j], n[j]);
        p[of] += @_link[j].ratio * @_dot(n[j], @_link[j].slides ? l[j] : k[j]);
        drift[of] += @_link[j].ratio * (@_link[j].slides ? @_dot(l[j], turned) + @_dot(n[j], f[j])
                                        : @_dot(k[j], turned) + @_dot(l[j], moved) + @_dot(n[j], m[j]));
        if (parent < 0) continue;
        @_add_cross(k[parent], 1.0, r[j], l[j]);
        @_add_cross(m[parent], 1.0, r[j], f[j]);
        for (i = 0; i < 3; ++i) {
            l[parent][i] += l[j][i];
            k[parent][i] += k[j][i];
            f[parent][i] += f[j][i];
            m[parent][i] += m[j][i];
        }
    }
@ROTORS
}

/* Momentum observer of external torque. Call @_start once, and again when a motion begins anew; then @_observe at every sample,
   with the time since the last sample, measured positions, velocities and motor torques, and temperatures (0: reference
   temperatures). After each call:
   external     torque that motors, model and friction do not explain, in the torque basis of the calibration; NAN where a joint
                was not calibrated
   threshold    magnitude that noise and friction explain
   resting      1 while friction may have any value up to its static level: at rest, in a reversal, and when motion has just
                begun; pushes below the threshold are then undetectable
   detected     1 if the external torque exceeds the threshold
   @_start sets the gain (1/s) and the margin of the threshold for noise: @ALARMS false alarms per hour and joint, at samples of
   @PERIOD s. For others, write gain and margin of ExternalTorque after @_start. A time step is at least half this period. */
typedef struct {
    double gain[@N], margin[@N], external[@N], threshold[@N];
    int resting[@N], detected[@N];
    double time, step[@S], impulse[@S][@N], width[@S][@N], bound[@N], p[@N], drift[@N], friction[@N], sliding[@N], still[@N];
    double tau[@N], dq[@N], ddq[@N], since[@N], turned[@N];
    int begun, newest, slides[@N], direction[@N];
} @_observer;

static inline void @_start(@_observer *o)
{
    static const double gain[@N] = {@GAIN}, margin[@N] = {@MARGIN};
    int j;
    memset(o, 0, sizeof *o);
    for (j = 0; j < @N; ++j) {
        o->gain[j] = gain[j];
        o->margin[j] = margin[j];
    }
}

/* Bounds of the error of friction while each joint slides, and at rest. */
static inline void @_bounds(const double dq[@N], const double load[@K], const double rigid[@N], const double drift[@N],
                            const double *temperature, double sliding[@N], double still[@N])
{
    static const double speed[@N][@T] = {
@SPEEDS
    };
    static const double bound[@N][@T] = {
@BOUNDS
    };
    static const double share[@N] = {@SHARE};
    double factor[2] = {1.0, 1.0};
    int j, i;
    (void)load; (void)rigid; (void)temperature; (void)factor;
@LEVELS
    for (j = 0; j < @N; ++j) {
        const double w = fabs(dq[j]), model = share[j] * fabs(drift[j]);
        for (i = 1; i < @T - 1 && w > speed[j][i]; ++i) {}
        sliding[j] = model + (w <= speed[j][0] ? bound[j][0] : w >= speed[j][@T - 1] ? bound[j][@T - 1]
                     : bound[j][i - 1] + (bound[j][i] - bound[j][i - 1]) * (w - speed[j][i - 1])
                     / (speed[j][i] - speed[j][i - 1]));
        still[j] += model;
    }
}

static inline void @_observe(@_observer *o, double dt, const double q[@N], const double dq[@N], const double tau[@N],
                             const double *temperature)
{
    static const double scale[@N] = {@SCALE}, offset[@N] = {@OFFSET}, divisor[@N] = {@DIVISOR}, inertia[@N] = {@INERTIA};
    static const double delay[@N] = {@DELAY}, slowest[@N] = {@SLOWEST}, settling[@N] = {@SETTLING}, distance[@N] = {@DISTANCE};
    double p[@N], drift[@N], load[@K], rigid[@N], friction[@N], sliding[@N], still[@N];
    int j, i;

    for (j = 0; j < @N; ++j) {
        const double keep = exp(-o->gain[j] * dt);
        o->ddq[j] = o->begun ? keep * o->ddq[j] + (1.0 - keep) * (dq[j] - o->dq[j]) / dt : 0.0;
    }
    @_momentum(q, dq, p, drift);
    @_loads(q, dq, o->ddq, load, rigid);
    @_friction(dq, load, rigid, friction);@INCLUDED@RIPPLE@TEMPERATURE
    @_bounds(dq, load, rigid, drift, temperature, sliding, still);
    o->newest = (o->newest + 1) % @S;
    o->step[o->newest] = dt;
    for (j = 0; j < @N; ++j) {
        const int direction = fabs(dq[j]) < slowest[j] ? 0 : dq[j] > 0.0 ? 1 : -1;
        const double torque = tau[j] / divisor[j], keep = exp(-o->gain[j] * dt);
        const int turns = direction == 0 || direction != o->direction[j];
        double age = 0.0, impulse = 0.0, width = 0.0;
        int slides;
        o->since[j] = turns ? 0.0 : o->since[j] + dt;
        o->turned[j] = turns ? q[j] : o->turned[j];
        o->direction[j] = direction;
        slides = direction != 0 && o->since[j] >= settling[j] && fabs(q[j] - o->turned[j]) >= distance[j];
        p[j] += inertia[j] * dq[j];
        if (!o->begun) {
            o->external[j] = 0.0 * still[j];
            o->bound[j] = still[j];
            o->resting[j] = !slides;
        } else {
            const int both = slides && o->slides[j];
            o->impulse[o->newest][j] = scale[j] * (p[j] - o->p[j] - 0.5 * dt * (drift[j] + o->drift[j]))
                                     + dt * ((both ? 0.5 * (friction[j] + o->friction[j]) : 0.0) + offset[j]);
            o->width[o->newest][j] = dt * (both ? 0.5 * (sliding[j] + o->sliding[j]) : fmax(still[j], o->still[j]));
            if (o->time - delay[j] >= -1e-9) {          /* increments between the ages delay and delay + dt */
                for (i = 0; i < @S && age < delay[j] + dt; ++i) {
                    const int at = (o->newest + @S - i) % @S;
                    const double overlap = fmin(age + o->step[at], delay[j] + dt) - fmax(age, delay[j]);
                    if (overlap > 0.0) {
                        impulse += o->impulse[at][j] * overlap / o->step[at];
                        width += o->width[at][j] * overlap / o->step[at];
                    }
                    age += o->step[at];
                }
                impulse -= 0.5 * dt * (torque + o->tau[j]);
            } else
                width = dt * still[j];
            o->external[j] = keep * o->external[j] + (1.0 - keep) * impulse / dt;
            o->bound[j] = keep * o->bound[j] + (1.0 - keep) * width / dt;
            o->resting[j] = !both;
        }
        o->threshold[j] = o->bound[j] + o->margin[j];
        o->detected[j] = fabs(o->external[j]) > o->threshold[j];
        o->p[j] = p[j]; o->drift[j] = drift[j]; o->friction[j] = friction[j]; o->sliding[j] = sliding[j];
        o->still[j] = still[j]; o->tau[j] = torque; o->dq[j] = dq[j]; o->slides[j] = slides;
    }
    o->time += o->begun ? dt : 0.0;
    o->begun = 1;
}
"""


def observer_in_c(
    calibration: Calibration, law: Callable[[int, str, bool], str]
) -> tuple[str, tuple[str, ...]]:
    """Return the C code of the observer, or "" and the reason why there is none.

    Parameters
    ----------
    calibration : Calibration
        The calibration.
    law : callable
        ``law(j, velocity, viscous)``: C expression of the law of joint j at a velocity, with or
        without its viscous part.
    """
    mechanism = calibration.mechanism
    try:
        observer = ExternalTorque(mechanism, calibration)
    except (InputError, ModelError) as error:
        return "", (f"the C header has no observer of external torque: {error}",)
    names, bounds = mechanism.names, observer.bounds
    joints = {j: calibration.joints[names[j]] for j in bounds}
    periods = {
        joint.free_motion.period for joint in joints.values() if joint.free_motion is not None
    }
    period = max(periods)
    slots = 2 * int(np.ceil(max(bound.delay for bound in bounds.values()) / period)) + _SPARE
    size = len(next(iter(bounds.values())).speed)
    row = np.arange(size, dtype=float)
    tables = {
        "@SPEEDS": [bounds[j].speed if j in bounds else row for j in range(mechanism.n)],
        "@BOUNDS": [bounds[j].sliding if j in bounds else row * np.nan for j in range(mechanism.n)],
    }
    code = _CODE
    for mark, values in tables.items():
        code = code.replace(
            mark, "\n".join(f"        {{{_listed(values_of)}}}," for values_of in values)
        )
    for mark, key, default in (
        ("@SCALE", "scale", 1.0),
        ("@OFFSET", "offset", 0.0),
        ("@DIVISOR", "divisor", 1.0),
        ("@INERTIA", "inertia", 0.0),
        ("@DELAY", "delay", 0.0),
        ("@SLOWEST", "slowest", _NEVER),
        ("@SETTLING", "settling", 0.0),
        ("@DISTANCE", "distance", 0.0),
        ("@SHARE", "share", 0.0),
    ):
        column = [getattr(bounds[j], key) if j in bounds else default for j in range(mechanism.n)]
        code = code.replace(mark, _listed(np.array(column)))
    levels = [
        _level(j, joints[j], bounds[j], law) if j in bounds else f"    still[{j}] = NAN;"
        for j in range(mechanism.n)
    ]
    depend = any(joint.temperature is not None for joint in joints.values())
    rotors = (
        np.zeros((mechanism.n,) * 2)
        if observer.mechanism.rotors is None
        else observer.mechanism.rotors
    )
    texts = {
        "@LEVELS": "\n".join(levels),
        "@ROTORS": _rotors(rotors),
        "@GAIN": _listed(observer.gain),
        "@MARGIN": _listed(observer.margin),
        "@ALARMS": f"{FALSE_ALARMS:g}",
        "@PERIOD": f"{period:g}",
        "@RIPPLE": "\n    @_ripple(q, dq, friction);"
        if any(joint.ripple for joint in joints.values())
        else "",
        "@INCLUDED": "".join(
            f"\n    friction[{j}] -= {exact(bound.included)};"
            for j, bound in bounds.items()
            if bound.included
        ),
        "@TEMPERATURE": "\n    if (temperature) @_temperature(dq, load, temperature, friction);"
        if depend
        else "",
    }
    for mark, text in texts.items():
        code = code.replace(mark, text)
    return re.sub(r"@S\b", str(slots), re.sub(r"@T\b", str(size), code)), ()


def _level(
    j: int, joint: JointCalibration, bound: JointBound, law: Callable[[int, str, bool], str]
) -> str:
    """Return the lines that compute the bound of one joint at rest."""
    lines = (
        []
        if joint.temperature is None
        else [
            f"    if (temperature) @_factors({j}, temperature[{j}], factor);",
            "    else factor[0] = factor[1] = 1.0;",
        ]
    )
    levels = []
    for speed in map(exact, bound.slow):
        level, dry = law(j, speed, True), law(j, speed, False)
        levels.append(
            level
            if joint.temperature is None
            else f"{dry} * factor[0] + ({level} - {dry}) * factor[1]"
        )
    level = f"fmax({', '.join(levels)})"
    if joint.directional == "viscous":
        level += f" + {exact(abs(joint.difference) * bound.slowest)}"
    elif joint.directional == "driving":
        level += f" + fabs({exact(joint.difference)} * load[{j}] * @_sign(rigid[{j}]))"
    return "\n".join(
        [
            *lines,
            f"    still[{j}] = fmax({level}, {exact(bound.breakaway)}) + {exact(bound.resting)};",
        ]
    )


def _rotors(rotors: Array) -> str:
    """Return the lines that add the momentum of rotors."""
    return "\n".join(
        f"    p[{j}] += {' + '.join(f'{exact(row[k])} * dq[{k}]' for k in np.flatnonzero(row))};"
        for j, row in enumerate(rotors)
        if row.any()
    )


def _listed(values: Array) -> str:
    return ", ".join("NAN" if np.isnan(value) else exact(value) for value in values)
