"""Excitation of parallel machines: margin computed by MuJoCo, and friction and base
parameters with a wrong model.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inertia import covers
from benchmarks.machines import Judge, friction_errors
from stribeck.drivers.simulation.simulated_arm import SimulatedArm
from stribeck.experiments.methods.excitation_motion import foretold, plan_excitation
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile, load_arm
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identify import identify
from stribeck.ident.log.run import Run, load_run
from stribeck.ident.model.base_parameters import base_parameters
from stribeck.ident.model.regressor import inertial_parameters

_RATE = 250.0  # Hz; rate of the thinned logs


def excited(name: str, seeds: range, seconds: float, part: float) -> dict[str, Any]:
    """Figures of one machine; masses, centres of mass and inertias of its model are
    wrong by up to a fraction.
    """
    arm = load_arm(name)
    mechanism, truth, began = load_mechanism(arm), SimulatedArm(arm).truth, time.process_time()
    plan = plan_excitation(arm, time=seconds)
    took = time.process_time() - began
    ahead, _ = foretold(plan, arm)
    base = base_parameters(mechanism)
    true = (base.combination @ inertial_parameters(mechanism)).tolist()
    errors, covered, told = list[float](), list[bool](), list[int]()
    with tempfile.TemporaryDirectory() as folder:
        run = thinned(load_run(drive_plan(arm, plan, Path(folder), seed=seeds.start)))
        for seed in seeds:
            found = identify(
                [replace(run, arm=off_by(arm, part, seed, Path(folder)))], Options(inertia="fit")
            )
            errors += friction_errors(
                truth, mechanism.names, found.calibration, found.points
            ).values()
            inertia = found.calibration.model.inertia
            assert inertia is not None
            covered += [
                covers(entry, value)
                for entry, value in zip(inertia.parameters.values(), true, strict=True)
            ]
            told.append(inertia.told)
    return {
        "machine": name,
        "seconds": seconds,
        "design_s": took,
        "asked": arm.workspace.singular_margin,
        "margin": Judge(arm).margin(plan),
        "stated": plan.singular_margin,
        "gain": ahead.gain,
        "foretold": ahead.count,
        "base": len(base.names),
        "told": float(np.mean(told)),
        "error": 100.0 * float(np.median(errors)),
        "worst": 100.0 * float(np.max(errors)),
        "covered": 100.0 * float(np.mean(covered)),
        "entries": len(covered),
    }


def thinned(run: Run) -> Run:
    """Return the log with fewer samples: the full rate makes the fit slow
    and adds little information.
    """
    every = max(1, round(run.arm.driver.rate / _RATE))
    return replace(
        run,
        t=run.t[::every],
        segment=run.segment[::every],
        signals={key: values[::every] for key, values in run.signals.items()},
    )


def off_by(arm: ArmFile, part: float, seed: int, folder: Path) -> ArmFile:
    """Return the arm with a mechanism file in which bodies are wrong by up to a fraction."""
    rng, lines, heavier = np.random.default_rng(seed), list[str](), 1.0
    for line in arm.model.read_text(encoding="utf-8").splitlines():
        key, _, stated = line.partition(" = ")
        if key == "mass":
            heavier = 1.0 + part * float(rng.uniform(-1.0, 1.0))
        by = {"mass": heavier, "inertia": heavier}.get(
            key, 1.0 + part * float(rng.uniform(-1.0, 1.0)) if key == "com" else 0.0
        )
        values = [by * float(value) for value in stated.strip("[] ").split(",")] if by else []
        lines.append(line if not by else f"{key} = {values[0] if key == 'mass' else values}")
    path = folder / f"{arm.name}-{seed}.mechanism.toml"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return replace(arm, model=path)
