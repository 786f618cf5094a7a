"""Notes of a comparison: what was not compared, and what may explain a difference."""

from collections.abc import Container, Iterator, Mapping

from stribeck.ident.calibration.calibration import Calibration
from stribeck.ident.calibration.joint_calibration import JointCalibration, loads_agree
from stribeck.ident.errors import InputError


def comparison_notes(
    before: Calibration,
    after: Calibration,
    pairs: Mapping[str, tuple[JointCalibration, JointCalibration]],
    curves: Container[str],
) -> Iterator[str]:
    """Yield what a comparison leaves out and why, and causes of differences other
    than a change of the arm.

    Parameters
    ----------
    before, after : Calibration
    pairs : mapping of str to tuple of JointCalibration
        Joints of both calibrations.
    curves : container of str
        Joints whose friction was compared.

    Raises
    ------
    InputError
        If a joint has different units.
    """
    if before.arm != after.arm:
        yield f"the calibrations are of arms with different names, {before.arm} and {after.arm}"
    if before.serial and after.serial and before.serial != after.serial:
        yield (
            f"the calibrations are of two arms, with the serial numbers {before.serial} and "
            f"{after.serial}: a difference may be one between the arms"
        )
    if before.model.sha256 != after.model.sha256:
        yield "the models of the two calibrations differ, so loads and gravity may differ, too"
    if before.model.tool != after.model.tool:
        yield "the stated tools differ"
    if before.model.inertia != after.model.inertia:
        yield (
            "the calibrations use different link inertia (model.inertia), and so different loads: "
            "their load coefficients cannot be compared"
        )
    if _passive_friction(before) != _passive_friction(after):
        yield (
            "the calibrations treat the friction of passive joints differently (model.passive): "
            "where it is neither identified nor stated, the friction of the drives includes it"
        )
    if before.fit.get("ripple", "none") != after.fit.get("ripple", "none"):
        yield (
            "only one of the fits sought ripple (--ripple auto); waves of one calibration alone "
            "are not compared"
        )
    if before.motors.motors.keys() != after.motors.motors.keys():
        yield (
            "the calibrations separate the friction of shared motors differently (motors): in one "
            "of them the friction of the "
            "joints includes it, so the friction of these joints cannot be compared"
        )
    for name in before.motors.motors.keys() & after.motors.motors.keys():
        laws = [one.motors.motors[name].law for one in (before, after)]
        if laws[0] != laws[1]:
            yield (
                f"motor of {name}: the laws {laws[0]} and {laws[1]} have different parameters; "
                "its friction is not compared"
            )
    if shared := {
        run["sha256"]: run["path"]
        for run in before.runs
        if run["sha256"] in {run["sha256"] for run in after.runs}
    }:
        yield (
            f"both calibrations are fitted to {', '.join(map(str, shared.values()))}: differences "
            "come from the fits, not from the arm"
        )
    for name, (a, b) in pairs.items():
        units = [joint.parameters["coulomb"].unit for joint in (a, b)]
        if units[0] != units[1]:
            raise InputError(
                f"joint {name} has friction in {units[0]} in the first calibration and in "
                f"{units[1]} in the other; it is not the same joint"
            )
        if not same_law(a, b):
            kinds = [f"{joint.law} with load {joint.load}" for joint in (a, b)]
            why = " and ".join(kinds) if kinds[0] != kinds[1] else "different bearings"
            yield (
                f"{name}: {why}: the parameters cannot be compared; the friction curves are "
                "compared" + ("" if loads_agree(a, b) else ", at the middle of each load range")
            )
        if not same_memory(a, b):
            kinds = ["none" if joint.memory is None else joint.memory.name for joint in (a, b)]
            why = (
                " and ".join(kinds)
                if kinds[0] != kinds[1]
                else "elements with different slip distances"
            )
            yield f"{name}: memory of reversals: {why}: these parameters cannot be compared"
        if not same_temperature(a, b):
            kinds = [
                "no temperature"
                if (one := joint.temperature) is None
                else f"{one.coulomb} and {one.viscous} about {one.reference_words}"
                for joint in (a, b)
            ]
            yield (
                f"{name}: dependence on temperature: {kinds[0]}, and {kinds[1]}: parameters at "
                "different temperatures differ; "
                "the friction curves are compared at one temperature"
            )
        if (a.backlash is None) != (b.backlash is None):
            with_play = a.backlash or b.backlash
            assert with_play is not None
            yield (
                f"{name}: backlash: {with_play.play.value or 0.0:.3g} {with_play.play.unit} in "
                f"{'the first' if a.backlash else 'the other'} calibration only; it is not compared"
            )
        if name not in curves:
            yield f"{name}: calibrated speeds or loads do not overlap; its friction is not compared"
        warm = [joint.temperature_range for joint in (a, b)]
        if warm[0] and warm[1] and (warm[0][1] < warm[1][0] or warm[1][1] < warm[0][0]):
            yield (
                f"{name}: measured at {warm[0][0]:.0f} to {warm[0][1]:.0f} °C and at "
                f"{warm[1][0]:.0f} to {warm[1][1]:.0f} °C; temperature may explain a change"
            )
    for here, there, who in ((before, after, "the first"), (after, before, "the other")):
        if alone := [name for name in here.joints if name not in there.joints]:
            yield f"{', '.join(alone)}: only in {who} calibration"
    entries = (
        entry
        for joints in pairs.values()
        for joint in joints
        for entry in joint.parameters.values()
    )
    if not any(entry.repeat_deviation is not None for entry in entries):
        yield (
            "the deviation between runs is unknown, so a warm-up or a new mounting counts as a "
            "change; measure it with calibrate --repeats, or fit several runs"
        )


def same_law(a: JointCalibration, b: JointCalibration) -> bool:
    """Return whether both joints have the same law, load and bearing, so that equal
    names mean equal parameters.
    """
    return (a.law, a.load) == (b.law, b.load) and (a.load != "normal" or a.bearing == b.bearing)


def same_memory(a: JointCalibration, b: JointCalibration) -> bool:
    """Return whether both joints have the same kind of memory, or none."""
    kinds = [
        None if joint.memory is None else (joint.memory.name, joint.memory.distances)
        for joint in (a, b)
    ]
    return kinds[0] == kinds[1]


def same_temperature(a: JointCalibration, b: JointCalibration) -> bool:
    """Return whether both joints have the same temperature laws at the same
    reference temperature, or none.
    """
    kinds = [
        None
        if (one := joint.temperature) is None
        else (
            one.coulomb,
            one.viscous,
            one.reference,
            one.heating is None or len(one.heating.times),
        )
        for joint in (a, b)
    ]
    return kinds[0] == kinds[1]


def _passive_friction(
    calibration: Calibration,
) -> dict[str, tuple[tuple[str, ...], str, dict[str, float] | None]]:
    """Return the passive joints whose friction is identified or stated: joints,
    load, and stated friction.
    """
    return {
        name: (one.joints, one.load, None if one.parameters else dict(one.friction))
        for name, one in calibration.model.passive.classes.items()
    }
