"""Write docs/mechanisms.md and its pictures: ``python docs/make_mechanisms.py``. What each paper shows, computed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stribeck.experiments.report.svg import COLOURS, SHADES, drawing_style
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops, closed_loads
from stribeck.ident.model.chains.posture_following import PostureError
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.driven.driving_torques import Driving, closed_driving_torque, driving_torque
from stribeck.ident.model.driven.forward_simulation import simulate
from stribeck.ident.model.dynamics import joint_origins
from stribeck.ident.model.elastic_joints import flexible_link
from stribeck.ident.model.maximal.bodies import ConstraintSet
from stribeck.ident.model.maximal.constraint_forces import constraint_rank, maximal_dynamics
from stribeck.ident.model.mechanism import JointFriction, Mechanism

FOLDER = Path(__file__).parent
G = 9.80665

HEAD = """# The mechanisms of the papers

Each is a file in `data/mechanisms/`, or `data/arms/` where it is the model of an arm (keys: [names.md](names.md)), loaded by
name, and the same engine answers for all:
`stribeck loads five-axis-tree`, `load_mechanism("three-loop-chain")`. `python docs/make_mechanisms.py` wrote this page. Its
numbers are held to independent engines in `tests/ident/`; equations: [theory.md](theory.md).
"""


def main() -> None:
    """Compute, print, draw."""
    parts = [HEAD]
    with drawing_style():
        for section in SECTIONS:
            text, figure = section()
            name = f"{section.__name__.replace('_', '-')}.png"
            figure.patch.set_facecolor("white")
            FigureCanvasAgg(figure).print_figure(FOLDER / "images" / name, dpi=120, metadata={"Software": None})
            parts += [text, f"![{text.splitlines()[0].lstrip('# ')}](images/{name})\n"]
    (FOLDER / "mechanisms.md").write_text("\n".join(parts), encoding="utf-8")


def five_axis_tree() -> tuple[str, Figure]:
    """P0, section 5.1: driving torques with and without friction, and motion under them."""
    m = load_mechanism("five-axis-tree")
    viscous = {key: value for key, value in m.friction[0].parameters.items() if not key.startswith(("static", "stribeck"))}
    laws = {"no friction": replace(m, friction={}), "Coulomb-viscous": replace(m, friction={
        j: JointFriction("coulomb-viscous", "normal", viscous) for j in range(m.n)}), "Stribeck": m}
    t = np.linspace(0.0, 5.0, 501)[:, None]
    q, dq, ddq = 0.1 * t**2 * np.ones(m.n), 0.2 * t * np.ones(m.n), np.full((len(t), m.n), 0.2)
    found = {name: driving_torque(mechanism, q, dq, ddq) for name, mechanism in laws.items()}
    figure = Figure(figsize=(9.2, 4.6), layout="constrained")
    axes = figure.subplots(2, 3)
    shown = (0, 1, 3)
    for column, j in zip(axes.T, shown, strict=True):
        for (name, driving), colour in zip(found.items(), (COLOURS.faint, SHADES[1], COLOURS.accent), strict=True):
            column[0].plot(t, driving.tau[:, j], color=colour, lw=1.2, label=name)
            if name != "no friction":
                column[1].plot(t, driving.friction[:, j], color=colour, lw=1.2)
        column[0].set_title(f"joint {m.names[j]}: driving torque, N·m")
        column[1].set_title("friction, N·m")
        column[1].set(xlabel="t, s")
    axes[0, 0].legend(frameon=False)
    rows = [f"| {time:g} | " + " | ".join(f"{found['no friction'].tau[k, j]:.4f}, {found['Stribeck'].friction[k, j]:.4f}"
                                          for j in shown) + " |" for time in (0.05, 0.1, 0.5, 1.0, 2.0, 5.0)
            for k in (int(np.argmin(np.abs(t[:, 0] - time))),)]
    return f"""## Five-axis tree (P0, section 5.1)

Five turning joints about the vertical, in two branches; all joint accelerations 0.2 rad/s² from rest. Friction goes with the
normal load of Eq. 47, whose bearings the paper does not give. Driving torque without friction and Stribeck friction, N·m:

| t, s | joint 1 | joint 2 | joint 4 |
|---|---|---|---|
{chr(10).join(rows)}

Under the driving torques of the Stribeck tree, `simulate` goes through the wanted motion {_tracked(m)};
without friction in the model, the same torques lead astray by {_astray(m):.2f} rad within a second.
""", figure


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
    for k, (closure, colour) in enumerate(zip(m.closures, (SHADES[0], SHADES[2], SHADES[4]), strict=True)):
        right.plot(crank, np.linalg.norm(ideal.force[:, k], axis=1), color=colour, lw=1.2, label=closure.name)
    right.set_title("force in the cut joints, N")
    right.legend(frameon=False)
    for ax in (left, middle, right):
        ax.set(xlabel="crank, rad")
    chosen = close_loops(m, [[0.0], [0.5], [1.0], [1.5]], np.full((4, 1), 0.1))
    exact, rubbing = closed_loads(m, chosen), closed_driving_torque(m, chosen)
    rows = [f"| {chosen.q[k, 0]:.1f} | {exact.joints.radial[k, 0]:.3f} | {exact.tau[k, 0]:.5f} | {rubbing.friction[k, 0]:.5f} "
            f"| {rubbing.tau[k, 0]:.5f} |" for k in range(4)]
    return f"""## Three-loop chain (P0, section 5.2)

A crank drives six links through three loops, in a vertical plane, at 0.1 rad/s. At its pin:

| crank, rad | radial load, N | torque, N·m | friction, N·m | driving torque, N·m |
|---|---|---|---|---|
{chr(10).join(rows)}

It cannot make a full turn. Asked for 3 rad:

    {refusal}
""", figure


def six_cylinders() -> tuple[str, Figure]:
    """P1: multipliers of maximal coordinates, and how well constraint sets keep horizontal hinges."""
    m = load_mechanism("six-cylinders")
    start = np.array([0.0, 0.0, np.pi / 2.0, 0.0, 0.0, 0.0])
    found = maximal_dynamics(m, start[None], ddq=np.zeros((1, m.n))).multipliers[0, :, 2]
    printed = (1.1366e5, 5.0867e4, 2.3938e4, 1.2305e4, 9.2770e3, 6.4891e3)
    outboard = np.cumsum(m.mass[::-1])[::-1] * G
    rows = [f"| {name} | {weight:.4f} | {multiplier:.4f} | {paper:.5g} |"
            for name, weight, multiplier, paper in zip(m.names, outboard, found, printed, strict=True)]

    t, both = np.linspace(0.0, 2.0, 201)[:, None], np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    rate = np.radians(15.0) * both
    multipliers = maximal_dynamics(m, start + rate * t**2 / 2.0, rate * t, ddq=rate * np.ones_like(t)).multipliers
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for j, colour in zip(range(m.n), (*SHADES, COLOURS.accent), strict=True):
        left.plot(t, multipliers[:, j, 2] / outboard[j], color=colour, lw=1.2, label=m.names[j])
        middle.plot(t, np.hypot(multipliers[:, j, 3], multipliers[:, j, 4]) / 1e3, color=colour, lw=1.2)
    left.set_title("vertical force over weight at rest")
    middle.set_title("couple across the hinge, kN·m")
    middle.legend(*left.get_legend_handles_labels(), frameon=False, ncols=2)
    sets: tuple[tuple[ConstraintSet, str, str], ...] = (("dot", "products (here)", COLOURS.accent),
                                                        ("projected", "projected (P1)", COLOURS.faint))
    for kind, label, colour in sets:
        values = constraint_rank(m, start + np.radians(15.0) * both, kind).singular_values
        number = np.arange(1, len(values) + 1)
        right.semilogy(number, np.maximum(values, 1e-17), color=colour, lw=0.8, marker="o", ms=2.5, label=label)
    right.set_title("singular values of the constraints")
    right.set(xlabel="number")
    right.legend(frameon=False)
    for ax in (left, middle):
        ax.set(xlabel="t, s")
    return f"""## Six steel cylinders (P1)

In maximal coordinates joint forces are multipliers. Those that P1 prints for the vertical are the weights that each hinge
carries at rest:

| hinge | outboard weight, N | multiplier, N | P1 |
|---|---|---|---|
{chr(10).join(rows)}

Drawn: joints 1 and 2 at 15°/s² from rest, and why constraints are written as products here: projected on x and y of the base,
the rows of a horizontal hinge depend on each other. Rank, and recovery of masses and inertias: [maximal.md](maximal.md).
""", figure


def planar_3_prr() -> tuple[str, Figure]:
    """P2: normal forces vary with posture, and friction with them."""
    m = load_mechanism("planar-3-prr")
    t = np.linspace(0.0, 2.0, 401)[:, None]
    w, size = np.array([np.pi, 2.0 * np.pi, np.pi]), np.array([0.05, 0.02, 0.10])
    motion = close_loops(m, size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t), known=[0, 1, 2])
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
    for ax, title in ((left, "normal force"), (middle, "friction"), (right, "driving force without (pale) and with friction")):
        ax.set_title(f"{title}, N")
        ax.set(xlabel="t, s")
    ratio = driving.loads.normal[:, sliders].max(axis=0) / driving.loads.normal[:, sliders].min(axis=0)
    return f"""## Planar 3-PRR (P2)

Three sliders on a rail carry a platform; x = 0.05 sin(pi t), y = 0.28 + 0.02 sin(2 pi t) m, angle 0.1 sin(pi t) rad. The
normal force on a slider varies by factors of {', '.join(f'{value:.2f}' for value in ratio)} over the cycle: a constant Coulomb
level is visibly wrong for the first two, a coefficient is right for all. Stribeck exponent 1, as P2 has it.
""", figure


def gough_stewart() -> tuple[str, Figure]:
    """P4: leg forces with friction in balls and sliders."""
    m = load_mechanism("gough-stewart")
    legs = list(m.active)
    degrees = np.pi / 180.0
    poses = np.array([[0, 0, 0, 0, 0, 0], [.05, 0, .02, 2 * degrees, 0, 0], [.10, .05, .05, 4 * degrees, 0, 2 * degrees],
                      [.10, .10, .08, 6 * degrees, -2 * degrees, 3 * degrees],
                      [.05, .15, .10, 8 * degrees, -4 * degrees, 3 * degrees], [0, .15, .12, 10 * degrees, -5 * degrees, 0]])
    wrench = np.zeros((len(poses), m.n, 6))
    wrench[:, 5] = (0.5, 0.25, -0.75, 0.5, 1.0, 1.25)
    lengths = close_loops(m, poses, known=range(6)).q[:, legs]
    increase = {}
    for arm, label in ((0.0006, "20 mm ball"), (0.003, "100 mm ball"), (0.03, "0.03 m, the paper's number as it stands")):
        rubbing = replace(m, balls=tuple(replace(ball, friction_arm=arm) for ball in m.balls),
                          closures=tuple(replace(closure, friction_arm=arm) for closure in m.closures))
        lifting = close_loops(rubbing, lengths, np.full_like(lengths, 0.02))
        ideal, driving = closed_loads(rubbing, lifting, None, wrench), closed_driving_torque(rubbing, lifting, wrench)
        increase[label] = 100.0 * (np.abs(driving.tau[:, legs]).sum(axis=1) / np.abs(ideal.tau[:, legs]).sum(axis=1) - 1.0)
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    for j, colour in zip(range(6), (*SHADES, COLOURS.accent), strict=True):
        left.plot(np.arange(1, 7), ideal.tau[:, legs[j]], color=colour, lw=0.9, ls="--")
        left.plot(np.arange(1, 7), driving.tau[:, legs[j]], color=colour, lw=1.2, marker="o", ms=3, label=f"leg {j + 1}")
    left.set_title("force of each leg without (dashed) and with friction arms of 0.03 m, N")
    left.legend(frameon=False, ncols=3)
    left.set_ylim(top=54.0)
    for (label, values), colour in zip(increase.items(), (SHADES[0], SHADES[2], COLOURS.accent), strict=True):
        right.plot(np.arange(1, 7), values, color=colour, lw=1.2, marker="o", ms=3, label=label)
    right.set_title("more force by friction, sum of all legs, %")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.set(xlabel="pose")
    try:
        close_loops(load_mechanism("gough-stewart-paper"), np.zeros((1, 6)))
    except PostureError as error:
        refusal = str(error).split(": a closure")[0]
    rows = [f"| {label} | {', '.join(f'{value:.2f}' for value in values)} |" for label, values in increase.items()]
    return f"""## Gough-Stewart platform (P4)

Six legs lift a platform of 15 kg at 0.02 m/s each, with an external wrench; friction in hips, balls (moment K |R| against the
relative turning) and sliders. P4 speaks of forces about ten per cent larger. Here, over six poses, the sum of the leg forces
grows by

| friction arm K | per cent, poses 1 to 6 |
|---|---|
{chr(10).join(rows)}

P4's joint angles make two hexagons with a centre of symmetry, which do not hold a level platform:

    {refusal}
""", figure


def flexible_arm() -> tuple[str, Figure]:
    """P3: how an elastic arm hangs, and what compliance does to friction identified by a rigid model."""
    m = load_mechanism("flexible-arm")
    beam = flexible_link(m, "flexure 2", (0.8, 0.0, 0.0), 2.07e11 * np.pi * 0.01475**4 / 4.0)
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for turn in (0.0, 0.6, 1.2):
        for soft, colour, label in ((replace(m, gravity=np.zeros(3)), COLOURS.faint, "rigid"), (beam, COLOURS.accent, "elastic")):
            x, _, z = _hanging(soft, turn).T
            left.plot(x, z, color=colour, lw=1.2, marker="o", ms=2, label=label if turn == 0.0 else None)
    left.set_title("at rest under its weight, m")
    left.set(xlabel="x, m", aspect="equal")
    left.legend(frameon=False)
    figures = json.loads((FOLDER.parent / "benchmarks" / "results" / "elastic.json").read_text(encoding="utf-8"))["figures"]
    stiffness = figures["stiffness"][1:]                    # the first is rigid
    for ax, key, title in ((middle, "mu_r", "error of Coulomb friction, %"), (right, "fv", "error of viscous friction, %")):
        for what, colour in (("joint", COLOURS.accent), ("link", SHADES[1])):
            error = np.array([[100.0 * (entry[key] / figures["truth"][key] - 1.0) for entry in row]
                              for row in figures["found"][what][1:]])
            ax.fill_between(stiffness, error.min(axis=1), error.max(axis=1), color=colour, alpha=0.18, lw=0)
            ax.plot(stiffness, np.median(error, axis=1), color=colour, marker="o", ms=4, lw=1.2, label=f"soft {what}")
        ax.set(xscale="log", xlabel="stiffness, N·m/rad")
        ax.set_title(title)
    middle.legend(frameon=False)
    sag = [1000.0 * (_hanging(replace(soft, gravity=np.zeros(3)), 0.0)[-1, 2] - _hanging(soft, 0.0)[-1, 2]) for soft in (m, beam)]
    return f"""## Flexible arm (P3)

`data/mechanisms/flexible-arm.toml`: drives, springs of 600 N·m/rad behind them, rods with the lengths and masses of P3.
Stretched out it sags by {sag[0]:.1f} mm at the wrist; with the long rod a beam of 207 GPa (`flexible_link`) by {sag[1]:.1f} mm.

A spring between drive and link, or a link that bends, recorded at the drive and identified by a rigid model
([benchmark](benchmarks/elastic.md)), along 16 motions at each stiffness: median and range. Coulomb friction goes wrong first; how
far, and for some motions which way, depends on the motion.
""", figure


def flexible_arm_trends() -> tuple[str, Figure]:
    """P3: greatest driving torque and deviation of the tip against speed and stiffness."""
    figures = json.loads((FOLDER.parent / "benchmarks" / "results" / "simulate.json").read_text(encoding="utf-8"))["figures"]
    speeds, stiffness, elastic = figures["speeds"], figures["stiffness"], np.array(figures["elastic"])
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(speeds, figures["rigid"], color=COLOURS.faint, lw=1.2, marker="o", ms=3, label="rigid")
    shades = np.linspace(1.0, 0.35, len(stiffness))
    for K, row, shade in zip(stiffness, elastic, shades, strict=True):
        for ax, values in ((left, row[:, 0]), (middle, 1e3 * row[:, 1]), (right, 1e3 * row[:, 2])):
            ax.plot(speeds, values, color=COLOURS.accent, alpha=shade, lw=1.2, marker="o", ms=3, label=f"{K:g} N·m/rad")
    left.set_title("greatest torque of the shoulder, N·m")
    middle.set_title("deviation of the wrist, mm")
    right.set_title("of which by motion, mm")
    for ax in (left, middle, right):
        ax.set_xlabel("speed on the circle, rad/s")
    middle.set_yscale("log")
    right.set_yscale("log")
    left.legend(frameon=False, fontsize=7)
    at = [speeds.index(speed) for speed in (1.8, 2.0)]
    more = [100.0 * (torques[at[1]] / torques[at[0]] - 1.0) for torques in (figures["rigid"], *elastic[:, :, 0])]
    cells = [[f"{torque:.2f}, {1e3 * off:.1f}, {1e3 * beyond:.2f}" for torque, off, beyond in row] for row in elastic]
    rows = [f"| {K:g} | {' | '.join(row)} |" for K, row in zip(stiffness, cells, strict=True)]
    return f"""## Torque and deviation against speed and stiffness (P3)

P3's circle of 0.1 m radius, in the vertical plane, by the flexible arm above: drives in stiff position loops under the rigid
arm's torques, all four springs as stiff as the row says, damped by K / 1000 s. Greatest torque of the shoulder at full speed,
N·m, greatest deviation of the wrist from the circle, mm, and how far it is from where it would sag at rest, mm
(`python -m benchmarks simulate`; the drives' and springs' values are ours):

| stiffness, N·m/rad | {' | '.join(f'{speed:g} rad/s' for speed in speeds)} |
|---|{'---|' * len(speeds)}
{chr(10).join(rows)}
| rigid | {' | '.join(f'{torque:.2f}, 0, 0' for torque in figures['rigid'])} |

Deviation falls as one over stiffness and grows with speed; what the motion adds to the sag grows with the square of the speed,
and faster where the speed comes near the arm's lowest frequency. Torque grows little: from 1.8 to 2 rad/s by
{more[0]:.1f} % for the rigid arm, at most {max(more[1:]):.1f} % for the elastic ones, since most of it carries weight. P3
prints 6.6 to 12.8 % for its three-legged robot, and deviations of 3 to 5 mm.
""", figure


def _hanging(m: Mechanism, turn: float) -> np.ndarray:
    """Origins of the joints of the arm with its shoulder turned, at rest, from the base to the wrist, (n, 3) [m]."""
    drives = np.zeros(m.n)
    drives[0] = turn
    return joint_origins(m, [equilibrium(m, drives)])[0, :m.n]


SECTIONS: tuple[Callable[[], tuple[str, Figure]], ...] = (
    five_axis_tree, three_loop_chain, six_cylinders, planar_3_prr, gough_stewart, flexible_arm, flexible_arm_trends)

if __name__ == "__main__":
    main()
