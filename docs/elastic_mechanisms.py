"""Sections of docs/mechanisms.md about elastic joints and links (P3)."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from docs.shown import shown
from stribeck.experiments.report.svg import COLOURS, SHADES
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.dynamics import joint_origins
from stribeck.ident.model.elastic_joints import flexible_link
from stribeck.ident.model.mechanism import Mechanism

FOLDER = Path(__file__).parent


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

`data/mechanisms/flexible-arm.toml`: drives, springs of 600 N·m/rad behind them, rods with the lengths and masses of P3. Ours:
that the chain is serial, its axes, springs and their damping, and rotors of 0.02 and 0.01 kg·m².
Stretched out it sags by {sag[0]:.1f} mm at the wrist; with the long rod a beam of 207 GPa (`flexible_link`) by {sag[1]:.1f} mm.

A spring between drive and link, or a link that bends, recorded at the drive and identified by a rigid model
([benchmark](benchmarks/elastic.md)), along 16 motions at each stiffness: median and range. Coulomb friction goes wrong first; how
far, and for some motions which way, depends on the motion.

{shown(HANGING)}
""", figure


HANGING = """
import numpy as np
from stribeck import load_mechanism
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.dynamics import joint_origins
from stribeck.ident.model.elastic_joints import flexible_link

arm = load_mechanism("flexible-arm")
beam = flexible_link(arm, "flexure 2", (0.8, 0.0, 0.0), 207e9 * np.pi * 0.01475**4 / 4.0)
for m in (arm, beam):
    rest = equilibrium(m, np.zeros(m.n))
    print((1e3 * (joint_origins(m, [rest])[0, m.names.index("wrist")] - [1.34, 0.0, 0.7])).round(1) + 0.0, "mm")
"""


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


def flexible_parallel() -> tuple[str, Figure]:
    """P3's parallel robot: torque and deviation of the end effector against speed and stiffness."""
    path = FOLDER.parent / "benchmarks" / "results" / "flexible_parallel.json"
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    speeds, stiffness, elastic = (figures[key] for key in ("speeds", "stiffness", "elastic"))
    rigid = [max(torques) for torques in figures["rigid"]]
    most, off, beyond = (np.array([[found(one) for one in row] for row in elastic]) for found in (
        lambda one: max(one["torque"]), lambda one: 1e3 * one["off"], lambda one: 1e3 * one["beyond"]))
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(speeds, rigid, color=COLOURS.faint, lw=1.2, marker="o", ms=3, label="rigid")
    for k, (K, shade) in enumerate(zip(stiffness, np.linspace(1.0, 0.35, len(stiffness)), strict=True)):
        for ax, values in ((left, most[k]), (middle, beyond[k])):
            ax.plot(speeds, values, color=COLOURS.accent, alpha=shade, lw=1.2, marker="o", ms=3, label=f"{K:g} N·m/rad")
    for speed, one, colour in zip(speeds, figures["curves"], SHADES, strict=True):
        turns, away = np.array(one["phase"]) / (2.0 * np.pi), 1e3 * np.array(one["away"])
        right.plot(turns, away, color=colour, lw=1.2, label=f"{speed:g} rad/s")
    left.set_title("greatest driving torque, N·m")
    middle.set_title("deviation by motion, mm")
    middle.set_yscale("log")
    right.set_title(f"deviation at {figures['drawn']:g} N·m/rad, mm")
    for ax in (left, middle):
        ax.set_xlabel("speed on the circle, rad/s")
    right.set_xlabel("turns")
    left.legend(frameon=False, fontsize=7)
    right.legend(frameon=False, fontsize=7)
    fast, slow = speeds.index(2.0), speeds.index(1.8)
    unequal = f"{100.0 * max(max(one['torque']) / min(one['torque']) - 1.0 for row in elastic for one in row):.1f}"
    more = f"{100.0 * (rigid[fast] / rigid[slow] - 1.0):.1f}"
    printed = {float(speed): values for speed, values in figures["printed"].items()}
    rises = ", ".join(f"{100.0 * (two / one - 1.0):.1f}" for one, two in zip(printed[1.8], printed[2.0], strict=True))
    rows = [f"| {K:g} | " + " | ".join(f"{t:.2f}, {d:.2f}, {b:.2f}" for t, d, b in zip(*row, strict=True)) + " |"
            for K, row in zip(stiffness, zip(most, off, beyond, strict=True), strict=True)]
    theirs = " | ".join(", ".join(f"{value:g}" for value in printed.get(speed, ())) or "–" for speed in speeds)
    sags = [f"{1e6 * figures['sag'][part]:.{digits}f}" for part, digits in
            (("all", 1), ("drives", 1), ("flexible joints", 2), ("flexible links", 2))]
    judged = [f"{error:.0e}" for error in figures["mujoco"]]
    return f"""## Flexible parallel robot (P3)

`data/mechanisms/flexible-parallel.toml`: three chains at 120° carry an end effector of 2.6 kg, each a driving link (0.4 m, 2 kg),
an intermediate link (0.1 m), a flexible joint (0.04 m) and a flexible link (0.8 m, 1.5 kg), with the lengths and masses of P3's
Table 1. Ours, since P3 does not tell them: the joints of a chain (revolute drive, elbow and knee, and a universal joint at the
end effector, whose axes let it move without turning), radii of 0.3 m (base) and 0.1 m (end effector), that the robot stands,
springs of 600 N·m/rad behind the drives and in the flexible joints, damped by 1 ms, rotors of 0.02 kg·m², the end effector's
inertia. The flexible link is three rigid pieces on two pairs of hinges, with E I by P3's 207 GPa. 39 joints and three closures
leave 24 degrees of freedom: three drives and 21 elastic joints.

- `stribeck loads flexible-parallel --q 0.1,0,0`: at rest. Drives are held, springs and weights in balance, loops closed
  (`equilibrium`), with the torques and loads of this posture.
- `stribeck simulate flexible-parallel --motion FILE.csv`: the inverse problem. The drives move as told, elastic joints swing,
  from balance on, and the driving torques are found with their motion (`prescribed_motion`); `loads --motion` gives the loads.
- `stribeck simulate flexible-parallel --torque FILE.csv`: the forward problem, from balance on (`forward_motion`).

{shown(AT_REST)}

P3's circle, p = (0.1 cos wt, 0.1 sin wt, 0.7) m: drives move as those of the rigid robot would, after a second to reach full
speed. By stiffness of drives and flexible joints, damped by 1 ms: greatest driving torque, N·m, greatest deviation of the end
effector from the circle, mm, and from where it would rest at each place, mm ([benchmark](benchmarks/flexible_parallel.md)):

| stiffness, N·m/rad | {' | '.join(f'{speed:g} rad/s' for speed in speeds)} |
|---|{'---|' * len(speeds)}
{chr(10).join(rows)}
| rigid | {' | '.join(f'{torque:.2f}, 0, 0' for torque in rigid)} |
| P3's three drives: torque | {theirs} |

As in P3, torques and deviation grow with speed, and deviation falls with stiffness, here as one over it; what motion adds to the
sag grows with the square of the speed. P3's deviations of 3 to 5 mm would be those of springs of about 1200 N·m/rad here. Its
torques cannot be met: it prints neither radii, axes and joint stiffness nor the start. Three equal chains on a centred circle
feel the same within a turn (here within {unequal} %), while P3's maxima differ threefold, so that a start or a tilt is in them.
From 1.8 to 2 rad/s they rise by {rises} %, those of our rigid robot by {more} %, since it mostly carries weight.

Where the deviation comes from: drives at zero, 600 N·m/rad, the end effector sags by {sags[0]} µm; by {sags[1]} µm if only the
springs behind the drives give way, by {sags[2]} µm if only the flexible joints do, by {sags[3]} µm if only the links bend.
Between knee and universal joint nothing bends a link but its own weight and inertia: the millimetres are the drives'.

MuJoCo, its loops closed softly, moves the robot likewise for a second under torques: to {', '.join(judged)} rad or m,
the stiffer its constraints are (20, 5 and 1 ms); damped, it comes to rest at the same place.
""", figure


AT_REST = """
import numpy as np
from scipy.interpolate import make_interp_spline
from stribeck import load_mechanism
from stribeck.ident.model.chains.closed_chain import close_loops
from stribeck.ident.model.driven.driving_torques import drive
from stribeck.ident.model.driven.forward_simulation import prescribed_motion

robot, still = load_mechanism("flexible-parallel"), [0.0, 0.0, 0.0]
drives, place = list(robot.active), [robot.names.index(f"platform.{axis}") for axis in "xyz"]
posture, driving = drive(robot, still, still, still)
print("at rest: torques", driving.tau[0, drives].round(3), "N·m, end effector", (1e3 * posture[place]).round(3) + 0.0, "mm")

t = np.linspace(0.0, 1.0, 201)
phase = 2.0 * t**4 * (2.5 - 3.0 * t + t**2)                 # to 2 rad/s within a second
pose = np.zeros((len(t), 3 + len(robot.springs)))           # of the rigid robot: place on the circle, springs at zero
pose[:, 0], pose[:, 1] = 0.1 * np.cos(phase), 0.1 * np.sin(phase)
rigid = close_loops(robot, pose, known=[*place, *robot.springs])
way = make_interp_spline(t, rigid.q[:, drives], 7)
motion = prescribed_motion(robot, lambda t: np.stack((way(t), way(t, 1), way(t, 2))), t[::10], tolerance=1e-6)
off = np.linalg.norm((motion.q - rigid.q[::10])[:, place], axis=1)
print("into the circle: torques up to", np.abs(motion.tau[:, drives]).max(axis=0).round(2), "N·m, deviation up to",
      (1e3 * off.max()).round(2), "mm")
"""


def _hanging(m: Mechanism, turn: float) -> np.ndarray:
    """Origins of the joints of the arm with its shoulder turned, at rest, from the base to the wrist, (n, 3) [m]."""
    drives = np.zeros(m.n)
    drives[0] = turn
    return joint_origins(m, [equilibrium(m, drives)])[0, :m.n]
