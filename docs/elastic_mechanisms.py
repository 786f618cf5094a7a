"""Sections of docs/mechanisms.md about elastic joints and links (P3)."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from docs.shown import shown
from stribeck.experiments.report.svg import COLOURS
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.model.chains.rest import equilibrium
from stribeck.ident.model.dynamics import joint_origins
from stribeck.ident.model.elastic_joints import flexible_link
from stribeck.ident.model.mechanism import Mechanism
from stribeck.ident.views.panels import SHADES

FOLDER = Path(__file__).parent


def flexible_arm() -> tuple[str, Figure]:
    """P3: how an elastic arm hangs, and what compliance does to friction
    identified by a rigid model.
    """
    m = load_mechanism("flexible-arm")
    beam = flexible_link(m, "flexure 2", (0.8, 0.0, 0.0), 2.07e11 * np.pi * 0.01475**4 / 4.0)
    figure = Figure(figsize=(9.2, 2.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for turn in (0.0, 0.6, 1.2):
        for soft, colour, label in (
            (replace(m, gravity=np.zeros(3)), COLOURS.faint, "rigid"),
            (beam, COLOURS.accent, "elastic"),
        ):
            x, _, z = _hanging(soft, turn).T
            left.plot(
                x, z, color=colour, lw=1.2, marker="o", ms=2, label=label if turn == 0.0 else None
            )
    left.set_title("at rest under its weight, m")
    left.set(xlabel="x, m", aspect="equal")
    left.legend(frameon=False)
    figures = json.loads(
        (FOLDER.parent / "benchmarks" / "results" / "elastic.json").read_text(encoding="utf-8")
    )["figures"]
    stiffness = figures["stiffness"][1:]  # the first is rigid
    for ax, key, title in (
        (middle, "mu_r", "error of Coulomb friction, %"),
        (right, "fv", "error of viscous friction, %"),
    ):
        for what, colour in (("joint", COLOURS.accent), ("link", SHADES[1])):
            error = np.array(
                [
                    [100.0 * (entry[key] / figures["truth"][key] - 1.0) for entry in row]
                    for row in figures["found"][what][1:]
                ]
            )
            ax.fill_between(
                stiffness, error.min(axis=1), error.max(axis=1), color=colour, alpha=0.18, lw=0
            )
            ax.plot(
                stiffness,
                np.median(error, axis=1),
                color=colour,
                marker="o",
                ms=4,
                lw=1.2,
                label=f"soft {what}",
            )
        ax.set(xscale="log", xlabel="stiffness, N·m/rad")
        ax.set_title(title)
    middle.legend(frameon=False)
    sag = [
        1000.0
        * (_hanging(replace(soft, gravity=np.zeros(3)), 0.0)[-1, 2] - _hanging(soft, 0.0)[-1, 2])
        for soft in (m, beam)
    ]
    return (
        f"""## Flexible arm (P3)

`data/mechanisms/flexible-arm.toml` has drives, springs of 600 N·m/rad behind the drives, and rods with the lengths and masses
of P3. Assumed: the serial chain, its axes, the springs and their damping, and rotors of 0.02 and 0.01 kg·m². Stretched out, the
arm sags by {sag[0]:.1f} mm at the wrist. With the long rod as a beam of 207 GPa (`flexible_link`), the arm sags by {sag[1]:.1f}
mm.

The picture shows the error of a rigid model that identifies a joint with a spring, or with a link that bends, from the motion of
the drive ([benchmark](benchmarks/elastic.md)): median and range over 16 motions at each stiffness.

{shown(HANGING)}
""",
        figure,
    )


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
    figures = json.loads(
        (FOLDER.parent / "benchmarks" / "results" / "simulate.json").read_text(encoding="utf-8")
    )["figures"]
    speeds, stiffness, elastic = (
        figures["speeds"],
        figures["stiffness"],
        np.array(figures["elastic"]),
    )
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(
        speeds, figures["rigid"], color=COLOURS.faint, lw=1.2, marker="o", ms=3, label="rigid"
    )
    shades = np.linspace(1.0, 0.35, len(stiffness))
    for K, row, shade in zip(stiffness, elastic, shades, strict=True):
        for ax, values in ((left, row[:, 0]), (middle, 1e3 * row[:, 1]), (right, 1e3 * row[:, 2])):
            ax.plot(
                speeds,
                values,
                color=COLOURS.accent,
                alpha=shade,
                lw=1.2,
                marker="o",
                ms=3,
                label=f"{K:g} N·m/rad",
            )
    left.set_title("greatest torque of the shoulder, N·m")
    middle.set_title("deviation of the wrist, mm")
    right.set_title("of which by motion, mm")
    for ax in (left, middle, right):
        ax.set_xlabel("speed on the circle, rad/s")
    middle.set_yscale("log")
    right.set_yscale("log")
    left.legend(frameon=False, fontsize=7)
    at = [speeds.index(speed) for speed in (1.8, 2.0)]
    more = [
        100.0 * (torques[at[1]] / torques[at[0]] - 1.0)
        for torques in (figures["rigid"], *elastic[:, :, 0])
    ]
    cells = [
        [f"{torque:.2f}, {1e3 * off:.1f}, {1e3 * beyond:.2f}" for torque, off, beyond in row]
        for row in elastic
    ]
    rows = [f"| {K:g} | {' | '.join(row)} |" for K, row in zip(stiffness, cells, strict=True)]
    return (
        f"""## Torque and deviation against speed and stiffness (P3)

The flexible arm above follows the circle of P3 (radius 0.1 m, vertical plane). The drives are in stiff position loops and get
the torques of the rigid arm. All four springs have the stiffness of the row and the damping K / 1000 s. Each cell has the
greatest torque of the shoulder at full speed, N·m, the greatest deviation of the wrist from the circle, mm, and the greatest
deviation from the sag at rest, mm (`python -m benchmarks simulate`; data of drives and springs are assumed):

| stiffness, N·m/rad | {" | ".join(f"{speed:g} rad/s" for speed in speeds)} |
|---|{"---|" * len(speeds)}
{chr(10).join(rows)}
| rigid | {" | ".join(f"{torque:.2f}, 0, 0" for torque in figures["rigid"])} |

Deviation is inversely proportional to stiffness; the part by motion grows with the square of the speed, and faster near the
lowest frequency of the arm. Torque mostly carries weight and grows little: from 1.8 to 2 rad/s by
{more[0]:.1f} % for the rigid arm and by at most {max(more[1:]):.1f} % for the elastic arms. P3 prints 6.6 to 12.8 %
for its three-legged robot, and deviations of 3 to 5 mm.
""",
        figure,
    )


def flexible_parallel() -> tuple[str, Figure]:
    """P3's parallel robot: torque and deviation of the end effector against speed and stiffness."""
    path = FOLDER.parent / "benchmarks" / "results" / "flexible_parallel.json"
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    speeds, stiffness, elastic = (figures[key] for key in ("speeds", "stiffness", "elastic"))
    rigid = [max(torques) for torques in figures["rigid"]]
    most, off, beyond = (
        np.array([[found(one) for one in row] for row in elastic])
        for found in (
            lambda one: max(one["torque"]),
            lambda one: 1e3 * one["off"],
            lambda one: 1e3 * one["beyond"],
        )
    )
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(speeds, rigid, color=COLOURS.faint, lw=1.2, marker="o", ms=3, label="rigid")
    for k, (K, shade) in enumerate(
        zip(stiffness, np.linspace(1.0, 0.35, len(stiffness)), strict=True)
    ):
        for ax, values in ((left, most[k]), (middle, beyond[k])):
            ax.plot(
                speeds,
                values,
                color=COLOURS.accent,
                alpha=shade,
                lw=1.2,
                marker="o",
                ms=3,
                label=f"{K:g} N·m/rad",
            )
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
    rises = ", ".join(
        f"{100.0 * (two / one - 1.0):.1f}"
        for one, two in zip(printed[1.8], printed[2.0], strict=True)
    )
    rows = [
        f"| {K:g} | "
        + " | ".join(f"{t:.2f}, {d:.2f}, {b:.2f}" for t, d, b in zip(*row, strict=True))
        + " |"
        for K, row in zip(stiffness, zip(most, off, beyond, strict=True), strict=True)
    ]
    theirs = " | ".join(
        ", ".join(f"{value:g}" for value in printed.get(speed, ())) or "–" for speed in speeds
    )
    sags = [
        f"{1e6 * figures['sag'][part]:.{digits}f}"
        for part, digits in (
            ("all", 1),
            ("drives", 1),
            ("flexible joints", 2),
            ("flexible links", 2),
        )
    ]
    judged = [f"{error:.0e}" for error in figures["mujoco"]]
    return (
        f"""## Flexible parallel robot (P3)

In `data/mechanisms/flexible-parallel.toml` three chains at 120° carry an end effector of 2.6 kg. Each chain has a driving link
(0.4 m, 2 kg), an intermediate link (0.1 m), a flexible joint (0.04 m) and a flexible link (0.8 m, 1.5 kg). Lengths and masses
are from Table 1 of P3. Assumed, because P3 does not state them: the joints of a chain (revolute drive, elbow and knee, and a
universal joint at the end effector, whose axes allow motion without turning); radii of 0.3 m (base) and 0.1 m (end effector); a
robot that stands; springs of 600 N·m/rad behind the drives and in the flexible joints, with a damping time of 1 ms; rotors of
0.02 kg·m²; the inertia of the end effector. The flexible link is three rigid pieces on two pairs of hinges, with E I from 207
GPa (P3). Three drives and 21 elastic joints are free.

- `stribeck loads flexible-parallel --q 0.1,0,0`: equilibrium at rest (`equilibrium`), torques and loads.
- `stribeck simulate flexible-parallel --motion FILE.csv`: the drives follow the file, the elastic joints swing, and the driving
  torques are computed (`prescribed_motion`). `loads --motion` computes the loads.
- `stribeck simulate flexible-parallel --torque FILE.csv`: motion under torques (`forward_motion`). Both start in equilibrium.

{shown(AT_REST)}

The circle of P3 is p = (0.1 cos wt, 0.1 sin wt, 0.7) m. The drives move like the drives of the rigid robot, after one second of
acceleration. Each row has one stiffness of drives and flexible joints, with a damping time of 1 ms. Each cell has the greatest
driving torque, N·m, the greatest deviation of the end effector from the circle, mm, and the greatest deviation from its
equilibrium at each place, mm ([benchmark](benchmarks/flexible_parallel.md)):

| stiffness, N·m/rad | {" | ".join(f"{speed:g} rad/s" for speed in speeds)} |
|---|{"---|" * len(speeds)}
{chr(10).join(rows)}
| rigid | {" | ".join(f"{torque:.2f}, 0, 0" for torque in rigid)} |
| P3's three drives: torque | {theirs} |

As in P3, torques and deviation grow with speed, and deviation falls with stiffness; deviations of 3 to 5 mm as in P3 would need
springs of about 1200 N·m/rad. The torques of P3 cannot be reproduced: P3 prints neither radii, axes and joint stiffness nor the
start. Three equal chains on a centred circle have equal torques within a turn (here within {unequal} %). The maxima of P3
differ threefold, so its motion has a start or its robot a tilt. From 1.8 to 2 rad/s the torques of P3 rise by {rises} %,
those of our rigid robot by {more} %.

With the drives at zero and 600 N·m/rad, the end effector sags by {sags[0]} µm. The springs behind the
drives alone cause {sags[1]} µm, the flexible joints alone {sags[2]} µm, the bending links alone {sags[3]} µm.

MuJoCo closes the loops softly. With constraint time constants of 20, 5 and 1 ms, its motion under the same torques for one second
agrees to {", ".join(judged)} rad or m.
""",
        figure,
    )


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
    """Origins of the joints of the arm with its shoulder turned, at rest, from the base
    to the wrist, (n, 3) [m].
    """
    drives = np.zeros(m.n)
    drives[0] = turn
    return joint_origins(m, [equilibrium(m, drives)])[0, : m.n]
