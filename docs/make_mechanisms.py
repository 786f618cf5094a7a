"""Write docs/mechanisms.md and its pictures: ``python -m docs.make_mechanisms``. What
each paper shows, computed.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from docs.elastic_mechanisms import flexible_arm, flexible_arm_trends, flexible_parallel
from docs.shown import shown
from stribeck.experiments.report.svg import COLOURS, drawing_style
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.driven.driving_torques import (
    Driving,
    closed_driving_torque,
    driving_torque,
)
from stribeck.ident.model.driven.forward_simulation import simulate
from stribeck.ident.model.joint_parts import JointFriction
from stribeck.ident.model.maximal.bodies import ConstraintSet
from stribeck.ident.model.maximal.constraint_forces import constraint_rank, maximal_dynamics
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.panels import SHADES

FOLDER = Path(__file__).parent
G = 9.80665

HEAD = """# The mechanisms of the papers

Each mechanism is a file in `data/mechanisms/`, or in `data/arms/` if it is the model of an arm (keys: [names.md](names.md)). Load
a mechanism by its name: `stribeck loads five-axis-tree`, `load_mechanism("three-loop-chain")`. `python -m
docs.make_mechanisms` writes this page and runs its code. Equations: [theory.md](theory.md). Papers:
[references](manual/references.md). Where a paper prints numbers, this page shows them beside ours. "Assumed" lists the data that
a paper does not state.
"""


def main() -> None:
    """Compute, print, draw."""
    parts = [HEAD]
    with drawing_style():
        for section in SECTIONS:
            text, figure = section()
            name = f"{section.__name__.replace('_', '-')}.png"
            figure.patch.set_facecolor("white")
            FigureCanvasAgg(figure).print_figure(
                FOLDER / "images" / name, dpi=120, metadata={"Software": None}
            )
            parts += [text, f"![{text.splitlines()[0].lstrip('# ')}](images/{name})\n"]
    (FOLDER / "mechanisms.md").write_text("\n".join(parts), encoding="utf-8")


def five_axis_tree() -> tuple[str, Figure]:
    """P0, section 5.1: driving torques with and without friction, and motion under them."""
    m = load_mechanism("five-axis-tree")
    viscous = {
        key: value
        for key, value in m.friction[0].parameters.items()
        if not key.startswith(("static", "stribeck"))
    }
    laws = {
        "no friction": replace(m, friction={}),
        "Coulomb-viscous": replace(
            m, friction={j: JointFriction("coulomb-viscous", "normal", viscous) for j in range(m.n)}
        ),
        "Stribeck": m,
    }
    t = np.linspace(0.0, 5.0, 501)[:, None]
    q, dq, ddq = 0.1 * t**2 * np.ones(m.n), 0.2 * t * np.ones(m.n), np.full((len(t), m.n), 0.2)
    found = {name: driving_torque(mechanism, q, dq, ddq) for name, mechanism in laws.items()}
    figure = Figure(figsize=(9.2, 4.6), layout="constrained")
    axes = figure.subplots(2, 3)
    joints = (0, 1, 3)
    for column, j in zip(axes.T, joints, strict=True):
        for (name, driving), colour in zip(
            found.items(), (COLOURS.faint, SHADES[1], COLOURS.accent), strict=True
        ):
            column[0].plot(t, driving.tau[:, j], color=colour, lw=1.2, label=name)
            if name != "no friction":
                column[1].plot(t, driving.friction[:, j], color=colour, lw=1.2)
        column[0].set_title(f"joint {m.names[j]}: driving torque, N·m")
        column[1].set_title("friction, N·m")
        column[1].set(xlabel="t, s")
    axes[0, 0].legend(frameon=False)
    rows = [
        f"| {time:g} | "
        + " | ".join(
            f"{found['no friction'].tau[k, j]:.4f}, {found['Stribeck'].friction[k, j]:.4f}"
            for j in joints
        )
        + " |"
        for time in (0.05, 0.1, 0.5, 1.0, 2.0, 5.0)
        for k in (int(np.argmin(np.abs(t[:, 0] - time))),)
    ]
    return (
        f"""## Five-axis tree (P0, section 5.1)

Five revolute joints with vertical axes, in two branches. All joints accelerate by 0.2 rad/s² from rest. Friction grows with the
normal load of Eq. 47. Assumed: the bearings (radii of 20, 15 and 50 mm) and the start at q = 0. P0 prints no torques. Each
cell has the driving torque without friction and the Stribeck friction, N·m:

| t, s | joint 1 | joint 2 | joint 4 |
|---|---|---|---|
{chr(10).join(rows)}

Under the driving torques with Stribeck friction, `simulate` follows the wanted motion {_tracked(m)}. Without friction in the
simulated tree, the same torques cause a deviation of {_astray(m):.2f} rad within a second.

{shown(FIVE_AXES)}
""",
        figure,
    )


FIVE_AXES = """
import numpy as np
from stribeck import load_mechanism
from stribeck.ident.model.driven.driving_torques import driving_torque

tree, t = load_mechanism("five-axis-tree"), 1.0
one = np.ones((1, tree.n))
driving = driving_torque(tree, 0.1 * t**2 * one, 0.2 * t * one, 0.2 * one)
print((driving.tau - driving.friction).round(4))
print(driving.friction.round(4))
"""


def _tracked(m: Mechanism) -> str:
    """How closely the simulated motion is the wanted one; the digits below are roundoff."""
    return "to 1e-9 rad" if _deviation(m, m) < 1e-9 else f"to {_deviation(m, m):.0e} rad"


def _astray(m: Mechanism) -> float:
    """The same without friction in the simulated tree."""
    return _deviation(m, replace(m, friction={}))


def _deviation(m: Mechanism, simulated: Mechanism) -> float:
    """Largest deviation from the wanted motion of a tree under the driving torques of m."""
    t = np.linspace(0.5, 1.5, 21)
    start = 0.1 * t[0] ** 2 * np.ones(m.n), 0.2 * t[0] * np.ones(m.n)
    q, _ = simulate(simulated, lambda t, q, dq: _wanted(m, t).tau[0], *start, t)
    return float(np.abs(q - 0.1 * t[:, None] ** 2).max())


def _wanted(m: Mechanism, t: float) -> Driving:
    one = np.ones((1, m.n))
    return driving_torque(m, 0.1 * t**2 * one, 0.2 * t * one, 0.2 * one)


def three_loop_chain() -> tuple[str, Figure]:
    """P0, section 5.2: the crank's driving torque and load over its range."""
    m = load_mechanism("three-loop-chain")
    try:
        close_loops(m, [[3.0]])
    except PostureError as error:
        refusal, reachable = str(error), error.reachable
    assert reachable is not None
    low, high = reachable[0]
    crank = np.linspace(low + 0.02, high - 0.02, 400)[:, None]
    motion = close_loops(m, crank, np.full_like(crank, 0.1))
    ideal, driving = closed_loads(m, motion), closed_driving_torque(m, motion)
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(crank, ideal.tau[:, 0], color=COLOURS.faint, lw=1.2, label="no friction")
    left.plot(crank, driving.tau[:, 0], color=COLOURS.accent, lw=1.2, label="Stribeck friction")
    left.set_title("driving torque of the crank, N·m")
    left.legend(frameon=False)
    middle.plot(crank, driving.friction[:, 0], color=COLOURS.accent, lw=1.2)
    middle.set_title("its friction, N·m")
    for k, (closure, colour) in enumerate(
        zip(m.closures, (SHADES[0], SHADES[2], SHADES[4]), strict=True)
    ):
        right.plot(
            crank,
            np.linalg.norm(ideal.force[:, k], axis=1),
            color=colour,
            lw=1.2,
            label=closure.name,
        )
    right.set_title("force in the cut joints, N")
    right.legend(frameon=False)
    for ax in (left, middle, right):
        ax.set(xlabel="crank, rad")
    chosen = close_loops(m, [[0.0], [0.5], [1.0], [1.5]], np.full((4, 1), 0.1))
    exact, rubbing = closed_loads(m, chosen), closed_driving_torque(m, chosen)
    rows = [
        f"| {chosen.q[k, 0]:.1f} | {exact.joints.radial[k, 0]:.3f} | {exact.tau[k, 0]:.5f} | "
        f"{rubbing.friction[k, 0]:.5f} "
        f"| {rubbing.tau[k, 0]:.5f} |"
        for k in range(4)
    ]
    return (
        f"""## Three-loop chain (P0, section 5.2)

A crank drives six links through three loops in a vertical plane, at 0.1 rad/s. Assumed: the pin radius of 20 mm and the base
points, which Table 3 of P0 leaves out. The lengths of P0 close the loops at q = 0 if the base point of the crank is at
(-0.05, 0.0001) m and the base point of 1 is at (0.05, 0) m, both from the base point of 1'.
P0 prints no forces. At the pin of the crank:

| crank, rad | radial load, N | torque, N·m | friction, N·m | driving torque, N·m |
|---|---|---|---|---|
{chr(10).join(rows)}

The crank cannot make a full turn. A request for 3 rad is refused:

    {refusal}

{shown(THREE_LOOPS)}
""",
        figure,
    )


THREE_LOOPS = """
from stribeck import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.driven.driving_torques import closed_driving_torque

chain = load_mechanism("three-loop-chain")
motion = close_loops(chain, [[0.5]], [[0.1]])
driving = closed_driving_torque(chain, motion)
print(motion.q.round(6))
print(driving.tau[0, 0].round(5), driving.friction[0, 0].round(5), driving.loads.radial[0, 0].round(3))
"""


def six_cylinders() -> tuple[str, Figure]:
    """P1: multipliers of maximal coordinates, and how well constraint
    sets keep horizontal hinges.
    """
    m = load_mechanism("six-cylinders")
    start = np.array([0.0, 0.0, np.pi / 2.0, 0.0, 0.0, 0.0])
    found = maximal_dynamics(m, start[None], ddq=np.zeros((1, m.n))).multipliers[0, :, 2]
    printed = (1.1366e5, 5.0867e4, 2.3938e4, 1.2305e4, 9.2770e3, 6.4891e3)
    outboard = np.cumsum(m.mass[::-1])[::-1] * G
    rows = [
        f"| {name} | {weight:.4f} | {multiplier:.4f} | {paper:.5g} |"
        for name, weight, multiplier, paper in zip(m.names, outboard, found, printed, strict=True)
    ]

    t, both = np.linspace(0.0, 2.0, 201)[:, None], np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    rate = np.radians(15.0) * both
    multipliers = maximal_dynamics(
        m, start + rate * t**2 / 2.0, rate * t, ddq=rate * np.ones_like(t)
    ).multipliers
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for j, colour in zip(range(m.n), (*SHADES, COLOURS.accent), strict=True):
        left.plot(t, multipliers[:, j, 2] / outboard[j], color=colour, lw=1.2, label=m.names[j])
        middle.plot(
            t, np.hypot(multipliers[:, j, 3], multipliers[:, j, 4]) / 1e3, color=colour, lw=1.2
        )
    left.set_title("vertical force over weight at rest")
    middle.set_title("couple across the hinge, kN·m")
    middle.legend(*left.get_legend_handles_labels(), frameon=False, ncols=2)
    sets: tuple[tuple[ConstraintSet, str, str], ...] = (
        ("dot", "products (here)", COLOURS.accent),
        ("projected", "projected (P1)", COLOURS.faint),
    )
    for kind, label, colour in sets:
        values = constraint_rank(m, start + np.radians(15.0) * both, kind).singular_values
        number = np.arange(1, len(values) + 1)
        right.semilogy(
            number, np.maximum(values, 1e-17), color=colour, lw=0.8, marker="o", ms=2.5, label=label
        )
    right.set_title("singular values of the constraints")
    right.set(xlabel="number")
    right.legend(frameon=False)
    for ax in (left, middle):
        ax.set(xlabel="t, s")
    return (
        f"""## Six steel cylinders (P1)

In maximal coordinates joint forces are multipliers. The vertical multipliers that P1 prints are the weights that the hinges carry
at rest. Assumed, because P1 does not state it: the posture, with cylinders 1 and 2 upright and cylinders 3 to 6 horizontal.

| hinge | outboard weight, N | multiplier, N | P1 |
|---|---|---|---|
{chr(10).join(rows)}

The picture shows the motion of joints 1 and 2 at 15°/s² from rest, and why constraints are products here: projected on x and y of
the base as in P1, the two rows of a horizontal hinge are linearly dependent (`constraint_rank`).

{shown(CYLINDERS)}
""",
        figure,
    )


CYLINDERS = """
import numpy as np
from stribeck import load_mechanism
from stribeck.ident.model.maximal.constraint_forces import maximal_dynamics

cylinders = load_mechanism("six-cylinders")
posture = [[0.0, 0.0, np.pi / 2.0, 0.0, 0.0, 0.0]]
print(maximal_dynamics(cylinders, posture, ddq=np.zeros((1, 6))).multipliers[0, :, 2].round(1))
"""


def planar_3_prr() -> tuple[str, Figure]:
    """P2: normal forces vary with posture, and friction with them."""
    m = load_mechanism("planar-3-prr")
    t = np.linspace(0.0, 2.0, 401)[:, None]
    w, size = np.array([np.pi, 2.0 * np.pi, np.pi]), np.array([0.05, 0.02, 0.10])
    motion = close_loops(
        m,
        size * np.sin(w * t),
        size * w * np.cos(w * t),
        -size * w**2 * np.sin(w * t),
        known=[0, 1, 2],
    )
    ideal, driving = closed_loads(m, motion), closed_driving_torque(m, motion)
    sliders = [m.names.index(f"slider{k}") for k in (1, 2, 3)]
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for j, colour in zip(sliders, (SHADES[0], SHADES[2], SHADES[4]), strict=True):
        left.plot(t, driving.loads.normal[:, j], color=colour, lw=1.2, label=m.names[j])
        middle.plot(t, driving.friction[:, j], color=colour, lw=1.2)
        right.plot(t, ideal.tau[:, j], color=colour, lw=0.9, alpha=0.5)
        right.plot(t, driving.tau[:, j], color=colour, lw=1.2)
    left.legend(frameon=False, loc="upper left", ncols=2)
    left.set_ylim(top=52.0)
    for ax, title in (
        (left, "normal force"),
        (middle, "friction"),
        (right, "driving force without (pale) and with friction"),
    ):
        ax.set_title(f"{title}, N")
        ax.set(xlabel="t, s")
    ratio = driving.loads.normal[:, sliders].max(axis=0) / driving.loads.normal[:, sliders].min(
        axis=0
    )
    return (
        f"""## Planar 3-PRR (P2)

Three sliders on a rail carry a platform, which moves by x = 0.05 sin(pi t) m, y = 0.28 + 0.02 sin(2 pi t) m and angle = 0.1
sin(pi t) rad. The normal force on the three sliders varies by factors of {", ".join(f"{value:.2f}" for value in ratio)} over
the cycle, so a constant Coulomb level is wrong for the first two. The Stribeck exponent is 1, as in P2. Assumed: all lengths,
masses, friction coefficients and the motion.

{shown(THREE_SLIDERS)}
""",
        figure,
    )


THREE_SLIDERS = """
import numpy as np
from stribeck import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.driven.driving_torques import closed_driving_torque

machine, t = load_mechanism("planar-3-prr"), 0.25
w, size = np.pi * np.array([1.0, 2.0, 1.0]), np.array([0.05, 0.02, 0.1])
pose, speed, gain = size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)
driving = closed_driving_torque(machine, close_loops(machine, [pose], [speed], [gain], known=[0, 1, 2]))
for name in ("slider1", "slider2", "slider3"):
    j = machine.names.index(name)
    print(name, driving.loads.normal[0, j].round(4), driving.friction[0, j].round(4), driving.tau[0, j].round(4))
"""


def gough_stewart() -> tuple[str, Figure]:
    """P4: leg forces with friction in balls and sliders."""
    m = load_mechanism("gough-stewart")
    legs = list(m.active)
    degrees = np.pi / 180.0
    poses = np.array(
        [
            [0, 0, 0, 0, 0, 0],
            [0.05, 0, 0.02, 2 * degrees, 0, 0],
            [0.10, 0.05, 0.05, 4 * degrees, 0, 2 * degrees],
            [0.10, 0.10, 0.08, 6 * degrees, -2 * degrees, 3 * degrees],
            [0.05, 0.15, 0.10, 8 * degrees, -4 * degrees, 3 * degrees],
            [0, 0.15, 0.12, 10 * degrees, -5 * degrees, 0],
        ]
    )
    wrench = np.zeros((len(poses), m.n, 6))
    wrench[:, 5] = (0.5, 0.25, -0.75, 0.5, 1.0, 1.25)
    lengths = close_loops(m, poses, known=range(6)).q[:, legs]
    increase = {}
    for arm, label in (
        (0.0006, "20 mm ball"),
        (0.003, "100 mm ball"),
        (0.03, "0.03 m, the paper's number as it stands"),
    ):
        rubbing = replace(
            m,
            balls=tuple(replace(ball, friction_arm=arm) for ball in m.balls),
            closures=tuple(replace(closure, friction_arm=arm) for closure in m.closures),
        )
        lifting = close_loops(rubbing, lengths, np.full_like(lengths, 0.02))
        ideal, driving = (
            closed_loads(rubbing, lifting, None, wrench),
            closed_driving_torque(rubbing, lifting, wrench),
        )
        forces, rubbed = np.abs(ideal.tau[:, legs]), np.abs(driving.tau[:, legs])
        increase[label] = 100.0 * (rubbed.sum(axis=1) / forces.sum(axis=1) - 1.0)
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    for j, colour in zip(range(6), (*SHADES, COLOURS.accent), strict=True):
        left.plot(np.arange(1, 7), ideal.tau[:, legs[j]], color=colour, lw=0.9, ls="--")
        left.plot(
            np.arange(1, 7),
            driving.tau[:, legs[j]],
            color=colour,
            lw=1.2,
            marker="o",
            ms=3,
            label=f"leg {j + 1}",
        )
    left.set_title("force of each leg without (dashed) and with friction arms of 0.03 m, N")
    left.legend(frameon=False, ncols=3)
    left.set_ylim(top=54.0)
    for (label, values), colour in zip(
        increase.items(), (SHADES[0], SHADES[2], COLOURS.accent), strict=True
    ):
        right.plot(np.arange(1, 7), values, color=colour, lw=1.2, marker="o", ms=3, label=label)
    right.set_title("more force by friction, sum of all legs, %")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.set(xlabel="pose")
    try:
        close_loops(load_mechanism("gough-stewart-paper"), np.zeros((1, 6)))
    except PostureError as error:
        refusal = str(error).split(": a closure")[0]
    rows = [
        f"| {label} | {', '.join(f'{value:.2f}' for value in values)} |"
        for label, values in increase.items()
    ]
    each = [
        f"| {k + 1} | "
        + " | ".join(
            f"{ideal.tau[pose, leg]:.2f}, {driving.tau[pose, leg]:.2f}" for pose in (0, 2, 5)
        )
        + " | "
        + ", ".join(f"{100.0 * more:.1f}" for more in (rubbed / forces - 1.0)[:, k])
        + " |"
        for k, leg in enumerate(legs)
    ]
    return (
        f"""## Gough-Stewart platform (P4)

Six legs lift a platform of 15 kg at 0.02 m/s each, against an external wrench. Hips, balls and sliders have friction; a ball
has the moment K |R| against its relative angular velocity. Assumed: joints in three pairs on the diameters of P4, because the
angles of P4 do not hold a level platform; six poses; massless legs; constant speed. P4 states that friction makes the leg
forces about ten per cent larger. Here friction
increases the sum of the leg forces by

| friction arm K | per cent, poses 1 to 6 |
|---|---|
{chr(10).join(rows)}

Each leg with K = 0.03 m: force without and with friction, N. Single legs reach ten per cent, the sum of the legs does not:

| leg | pose 1 | pose 3 | pose 6 | increase at poses 1 to 6, % |
|---|---|---|---|---|
{chr(10).join(each)}

{shown(SIX_LEGS)}

The joint angles of P4 make two hexagons with a centre of symmetry. Such hexagons do not hold a level platform:

    {refusal}
""",
        figure,
    )


SIX_LEGS = """
import numpy as np
from stribeck import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.driven.driving_torques import closed_driving_torque

stewart = load_mechanism("gough-stewart")
wrench = np.zeros((1, stewart.n, 6))
wrench[:, 5] = (0.5, 0.25, -0.75, 0.5, 1.0, 1.25)
lifting = close_loops(stewart, np.zeros((1, 6)), np.full((1, 6), 0.02))
driving = closed_driving_torque(stewart, lifting, wrench)
print(driving.tau[0, list(stewart.active)].round(4))
"""

SECTIONS: tuple[Callable[[], tuple[str, Figure]], ...] = (
    five_axis_tree,
    three_loop_chain,
    six_cylinders,
    planar_3_prr,
    gough_stewart,
    flexible_arm,
    flexible_arm_trends,
    flexible_parallel,
)

if __name__ == "__main__":
    main()
