"""Export to a MATLAB function for Simulink: friction laws translated from their C code, and
the loads that they need.
"""

import re
from collections.abc import Sequence

import numpy as np

from stribeck.ident.arrays import Array
from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration
from stribeck.ident.errors import InputError
from stribeck.ident.export.approximation import other_losses
from stribeck.ident.export.c.c_header import about, identifier, link_rows
from stribeck.ident.export.c.law_in_c import checked_law, law_in_c, loads_at, weights
from stribeck.ident.export.result import Export, exact
from stribeck.ident.export.shared_motors import motor_laws, passive_losses
from stribeck.ident.laws.law_table import law_named
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.ripple.wave import FRICTION

_MAIN = """\
function [tau, load, rigid] = @_friction(q, dq, ddq)
%@UP_FRICTION Friction of every joint, which the drives add to the rigid-body torques.
%   tau = @UP_FRICTION(q, dq, ddq) takes positions, velocities and accelerations of all joints, and
%   returns torques [N m; N for sliding joints] as a column of @N; NaN where a joint was not
%   calibrated, zero dry friction at rest. load: loads with which friction grows. rigid: torques of the
%   drives without friction and rotors.
%
@ABOUT
%#codegen
q = q(:);
dq = dq(:);
ddq = ddq(:);
[load, rigid] = @_loads(q, dq, ddq);
tau = zeros(@N, 1);
@LINES
end

function [load, rigid] = @_loads(q, dq, ddq)
% Newton-Euler recursion, outwards and inwards, in base axes, without joint friction and rotors.
parent = @PARENT;      % 0: the base
slides = @SLIDES;
leader = @LEADER;      % position = ratio * position of the leader + shift
ratio = @RATIO;
shift = @SHIFT;
mass = @MASS;
% axis, origin from that of the parent, centre of mass, inertia about it at position zero; a column per joint
axis_ = @AXIS;
origin = @ORIGIN;
com = @COM;
inertia = reshape(@INERTIA, 3, 3, @M);
gravity = @GRAVITY;
R = zeros(3, 3, @M);
n = zeros(3, @M);
r = zeros(3, @M);
w = zeros(3, @M);
dw = zeros(3, @M);
a = zeros(3, @M);
f = zeros(3, @M);
m = zeros(3, @M);
rigid = zeros(@N, 1);
load = zeros(@K, 1);
for j = 1:@M
    p = parent(j);
    x = ratio(j) * q(leader(j)) + shift(j);
    dx = ratio(j) * dq(leader(j));
    ddx = ratio(j) * ddq(leader(j));
    P = eye(3);
    wj = zeros(3, 1);
    dwj = zeros(3, 1);
    aj = -gravity;
    if p > 0
        P = R(:, :, p);
        wj = w(:, p);
        dwj = dw(:, p);
        aj = a(:, p);
    end
    nj = P * axis_(:, j);
    rj = P * origin(:, j);
    if slides(j) > 0
        rj = rj + x * nj;
        Rj = P;
        aj = aj + cross(dwj, rj) + cross(wj, cross(wj, rj)) + ddx * nj + 2 * dx * cross(wj, nj);
    else
        S = [0, -nj(3), nj(2); nj(3), 0, -nj(1); -nj(2), nj(1), 0];
        Rj = (eye(3) + sin(x) * S + (1 - cos(x)) * S * S) * P;
        aj = aj + cross(dwj, rj) + cross(wj, cross(wj, rj));
        dwj = dwj + dx * cross(wj, nj) + ddx * nj;
        wj = wj + dx * nj;
    end
    cj = Rj * com(:, j);
    I = Rj * inertia(:, :, j) * Rj.';
    fj = mass(j) * (aj + cross(dwj, cj) + cross(wj, cross(wj, cj)));
    f(:, j) = fj;
    m(:, j) = I * dwj + cross(wj, I * wj) + cross(cj, fj);
    R(:, :, j) = Rj;
    n(:, j) = nj;
    r(:, j) = rj;
    w(:, j) = wj;
    dw(:, j) = dwj;
    a(:, j) = aj;
end
for j = @M:-1:1
    p = parent(j);
    if p > 0
        f(:, p) = f(:, p) + f(:, j);
        m(:, p) = m(:, p) + m(:, j) + cross(r(:, j), f(:, j));
    end
    along = m(:, j);
    if slides(j) > 0
        along = f(:, j);
    end
    rigid(leader(j)) = rigid(leader(j)) + ratio(j) * dot(n(:, j), along);
end
gear = @SHARE * rigid;
at = @AT;
weight = @WEIGHT;      % of torque, bending, radial, axial, twist of joint `at` in each load
for k = 1:@K
    j = at(k);
    nj = n(:, j);
    mn = dot(m(:, j), nj);
    fn = dot(f(:, j), nj);
    parts = [abs(gear(j)); norm(m(:, j) - mn * nj); norm(f(:, j) - fn * nj); abs(fn); abs(mn)];
    load(k) = weight(k, :) * parts;
end
end
"""

_LAW = """
function torque = @_{name}({taken})
{lines}
end
"""

_C_FUNCTION = re.compile(r"static inline double @_(\w+)\((.*?)\)\s*\{(.*?)\n\}", flags=re.DOTALL)
_WORDS = {"fabs": "abs", "fmax": "max", "fmin": "min", "@_sign": "sign"}
_KNOWN = {"abs", "max", "min", "sign", "exp", "log", "log1p", "sqrt", "sin", "cos", "tanh"}


def to_matlab(calibration: Calibration) -> Export:
    """Return ``[tau, load, rigid] = ARM_friction(q, dq, ddq)``, a MATLAB function without
    toolboxes, for code generation, too.

    Raises
    ------
    InputError
        If the arm is a closed chain, or a law has no C code or C code that cannot be translated.
    """
    mechanism, prefix = calibration.mechanism, identifier(calibration.arm)
    if mechanism.chain is not None:
        raise InputError(
            f"{calibration.arm} is a closed chain, whose loads the MATLAB function does not "
            "compute; export to c, json or csv"
        )
    joints = [calibration.joints.get(name) for name in mechanism.names]
    laws = dict.fromkeys(
        (
            *(checked_law(joint).c for joint in joints if joint is not None),
            *(law_named(motor.law).c for motor in calibration.motors.motors.values()),
        )
    )
    text = _MAIN.replace("@LINES", "\n".join(_lines(calibration, joints)))
    constants = _constants(mechanism, joints)
    text = re.sub(r"@[A-Z]+\b", lambda mark: constants.get(mark[0], mark[0]), text)
    text = (
        (text + "".join(law_in_matlab(c) for c in laws))
        .replace("@UP", f"{prefix.upper()}")
        .replace("@_", f"{prefix}_")
    )
    told = "\n".join(f"%   {line}" for line in about(calibration, mechanism, first=1))
    text = text.replace("@ABOUT", told)  # last: names and notes may look like marks
    return Export(
        text,
        ".m",
        (
            "the MATLAB function has no intervals; it computes loads with the calibration's "
            "model, gravity and tools",
            *passive_losses(calibration, "the MATLAB function"),
            *(
                loss
                for loss in other_losses(
                    calibration,
                    "the MATLAB function",
                    offset=not any(joint.offset for joint in calibration.joints.values()),
                    ripple=False,
                )
                if "unknown tool" not in loss
            ),
        ),
        f"{prefix}_friction.m",
    )


def law_in_matlab(c: str) -> str:
    """Return MATLAB functions for the C code of a law: declarations and one
    result, as `Law.c` has them.

    Raises
    ------
    InputError
        If the code has anything else.
    """
    functions = _C_FUNCTION.findall(c)
    names = {name for name, _, _ in functions}
    out = []
    for name, taken, body in functions:
        lines = []
        for statement in filter(None, map(str.strip, body.split(";"))):
            if statement.startswith("return "):
                lines.append(f"torque = {_expression(statement[7:], names)};")
            elif statement.startswith("const double "):
                lines += [
                    f"{part.strip().replace('=', '= ', 1).replace('=  ', '= ')};"
                    for part in _split(_expression(statement[13:], names))
                ]
            else:
                raise _untranslated(statement)
        out.append(
            _LAW.format(
                name=name,
                taken=", ".join(one.split()[-1] for one in taken.split(",")),
                lines="\n".join(lines),
            )
        )
    return "".join(out)


def _expression(text: str, names: set[str]) -> str:
    """Return an expression of C as MATLAB has it: scalars, brackets, +
    - * / and known functions.
    """
    text = _powers(
        re.sub(r"@?\w+", lambda word: _WORDS.get(word[0], word[0]), " ".join(text.split()))
    )
    called = {one.removeprefix("@_") for one in re.findall(r"(@?\w+)\(", text)}
    if re.search(r"[^\w\s().,+*/^=@-]", text) or called - _KNOWN - names:
        raise _untranslated(text)
    return text


def _powers(text: str) -> str:
    """Return an expression with ``((a) ^ (b))`` for each ``pow(a, b)``."""
    while found := re.search(r"\bpow\(", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        base, exponent = _split(text[found.end() : end - 1])
        text = f"{text[: found.start()]}(({base.strip()}) ^ ({exponent.strip()})){text[end:]}"
    return text


def _untranslated(text: str) -> InputError:
    return InputError(
        f"a law has the C code `{' '.join(text.split())}`, which is not translated to MATLAB: "
        "declarations of const double, arithmetic and functions of math.h are; export to c"
    )


def _split(text: str) -> list[str]:
    """Split declarations at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _lines(calibration: Calibration, joints: Sequence[JointCalibration | None]) -> list[str]:
    """Return the statements that compute tau."""
    mechanism, at = calibration.mechanism, loads_at(joints)
    lines = []
    for j, joint in enumerate(joints):
        if joint is None:
            moved = calibration.motors.moves(mechanism.transmission, mechanism.names[j])
            lines.append(f"tau({j + 1}) = {'0' if moved else 'NaN'};")
            continue
        terms = [exact(joint.offset)] * (joint.offset != 0.0) + [
            _counted(law_in_c(joint, j, at, f"dq[{j}]"))
        ]
        if joint.directional == "viscous":
            terms.append(f"{exact(joint.difference)} * abs(dq({j + 1}))")
        elif joint.directional == "driving":
            terms.append(
                f"{exact(joint.difference)} * load({j + 1}) * sign(rigid({j + 1})) * (dq({j + 1}) "
                "~= 0)"
            )
        lines.append(f"tau({j + 1}) = {' + '.join(terms)};")
    for row, function, values in motor_laws(calibration, mechanism.transmission):
        lines += [
            f"ratios = {_row(row)};",
            f"tau = tau + ratios.' * @_{function}(ratios * dq, {', '.join(map(exact, values))}, 0);",
        ]
    return lines + [
        f"tau({j + 1}) = tau({j + 1}) + {exact(wave.amplitude)} * sin({exact(wave.order)} * "
        f"q({j + 1}) + {exact(wave.phase)})"
        f"{f' * sign(dq({j + 1}))' if wave.kind == FRICTION else ''};"
        for j, joint in enumerate(joints)
        if joint is not None
        for wave in joint.ripple
    ]


def _counted(text: str) -> str:
    """Return an expression whose indices count from one."""
    return re.sub(r"\[(\d+)\]", lambda index: f"({int(index[1]) + 1})", text)


def _constants(mechanism: Mechanism, joints: Sequence[JointCalibration | None]) -> dict[str, str]:
    """Return the constants of the arm by their marks."""
    tree, links, share = mechanism.tree, link_rows(mechanism), np.eye(mechanism.n)
    if mechanism.transmission is not None:
        share = mechanism.transmission.torque_of_motors(share)
    at = loads_at(joints)
    return {
        "@PARENT": _counts([parent + 1 for parent, *_ in links]),
        "@SLIDES": _counts([slides for _, slides, *_ in links]),
        "@LEADER": _counts([leader + 1 for _, _, leader, *_ in links]),
        "@RATIO": _row([ratio for *_, ratio, _ in links]),
        "@SHIFT": _row([shift for *_, shift in links]),
        "@MASS": _row(tree.mass),
        "@AXIS": _matrix(tree.axis.T),
        "@ORIGIN": _matrix(tree.origin.T),
        "@COM": _matrix(tree.com.T),
        "@INERTIA": _row(tree.inertia.transpose(0, 2, 1).ravel()),
        "@GRAVITY": _matrix(mechanism.gravity[:, None]),
        "@SHARE": _matrix(share.T),
        "@AT": _counts([j + 1 for j in at]),
        "@WEIGHT": _matrix(weights(mechanism, joints)),
        "@M": str(tree.n),
        "@N": str(mechanism.n),
        "@K": str(len(at)),
    }


def _counts(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _row(values: Sequence[float] | Array) -> str:
    return f"[{', '.join(map(exact, values))}]"


def _matrix(values: Array) -> str:
    """Return a matrix, one row a line."""
    return "[" + "; ...\n    ".join(", ".join(map(exact, row)) for row in values) + "]"
