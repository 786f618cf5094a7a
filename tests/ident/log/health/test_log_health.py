"""Faulty logs of the crane, whose findings must name joint and time, and
healthy logs without findings.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stribeck.experiments.plans.motion_profile import with_robot_time
from stribeck.experiments.plans.plan import Plan, Segment
from stribeck.experiments.recording.drive_plan import drive_plan
from stribeck.ident.arm.arm_file import ArmFile
from stribeck.ident.arm.load_mechanism import load_mechanism
from stribeck.ident.errors import FitError
from stribeck.ident.identify import identify
from stribeck.ident.log.finding import Finding
from stribeck.ident.log.health.findings_by_run import name_runs
from stribeck.ident.log.health.log_health import check_log
from stribeck.ident.log.health.motion_health import check_motion
from stribeck.ident.log.health.points_health import check_reading, check_scale, friction_change
from stribeck.ident.log.reduction.round_trips import reduce_run
from stribeck.ident.log.run import REPLIES, Run, arm_sha256, load_run
from tests.ident.log.test_strokes import NAMES, RATE, Log, crane, sweep
from tests.places import ROOT

LIFT = NAMES.index("lift")


def everything(run: Run) -> tuple[Finding, ...]:
    return (*check_log(run), *check_motion(run, reduce_run(run, crane()), crane().prismatic))


def findings(run: Run) -> list[Finding]:
    """All findings except rate, missing end of the log, and strokes without a partner."""
    return [
        finding
        for finding in everything(run)
        if finding.kind not in ("rate", "gaps", "torn", "left out")
    ]


def only(run: Run) -> Finding:
    """The only finding of a log."""
    (finding,) = findings(run)
    return finding


def changed(run: Run, signal: str, values: np.ndarray) -> Run:
    return replace(run, signals={**run.signals, signal: values})


def drive(log: Log, name: str, dq: np.ndarray) -> Log:
    """Continue the log with one joint at the given speeds, sample by sample."""
    speeds = np.zeros((len(dq), 3))
    speeds[:, NAMES.index(name)] = dq
    return log._add(speeds, np.zeros_like(speeds), log._next(None))


def there_and_back(name: str = "lift", speeds: tuple[float, ...] = (0.1, 0.2, 0.4)) -> Log:
    log = Log().rest(0.5)
    for speed in speeds:
        log.trip(name, 0.0, 0.9, speed)
    return log


@pytest.mark.parametrize(
    ("how", "segments"),
    [
        ({}, False),
        ({"encoder": 1e-6}, True),
        ({"encoder": 2.0 * np.pi / 4096.0}, True),
        ({"encoder": 0.0}, True),
        ({"noise": 0.0}, True),
        ({"encoder": 0.0, "jitter": 5e-5}, False),
        ({"encoder": 1e-4, "jitter": 1e-4}, True),
        ({"temperature": 31.0}, True),
    ],
)
def test_a_healthy_log_gives_no_finding(how: dict[str, float], segments: bool) -> None:
    log = sweep()
    run = log.run(segments=segments, **how)
    assert findings(changed(run, "dq_cmd", log.velocity)) == []


def test_position_noise_of_a_resting_joint_without_torque_is_accepted() -> None:
    """A resting joint without gravity and with a coarse torque reads zero; a moving joint with zero
    torque has a dead signal.
    """
    run = there_and_back().run()
    q, tau = run.signals["q"].copy(), run.signals["tau"].copy()
    other = NAMES.index("slide")
    q[:, other] = 1e-5 * (np.arange(len(q)) // 7 % 2)
    tau[:, other] = 0.0
    assert "dead torque" not in {
        finding.kind for finding in check_log(changed(changed(run, "q", q), "tau", tau))
    }
    tau[:, LIFT] = 0.0
    dead = changed(run, "tau", tau)
    (found,) = (finding for finding in check_log(dead) if finding.kind == "dead torque")
    assert (found.joint, "torque of lift is constant although the joint moves" in found.text) == (
        "lift",
        True,
    )
    assert "lift" not in set(reduce_run(dead, crane()).points["joint"])


def test_drift_is_computed_within_each_run() -> None:
    """Reference round trips of other runs may have other positions and loads."""
    table = pd.DataFrame(
        [
            {"joint": "j", "run": run, "segment": k, "reference": True, "odd": odd}
            for run, levels in (("one", (5.0, 5.1)), ("two", (6.0, 6.0)), ("three", (7.0,)))
            for k, odd in enumerate(levels)
        ]
    )
    assert friction_change(table) == {"j": pytest.approx(0.02)}


# time


def test_the_true_rate_is_compared_with_the_claimed_rate() -> None:
    run = there_and_back().run(plan=[])
    assert findings(replace(run, record={**run.record, "driver": {"rate": 252.0}})) == []
    assert findings(replace(run, record={"plan": None, "driver": {"rate": 500.0}})) == [], (
        "an imported log has no claimed rate"
    )
    finding = only(replace(run, record={**run.record, "driver": {"rate": 500.0}}))
    assert finding.kind == "true rate"
    assert "claims 500 Hz, but the log has 250 Hz" in finding.text


@pytest.mark.parametrize(
    ("changes", "joint", "words"),
    [
        (
            {"missed": [9, 11]},
            "lift",
            r"11 of 10000 replies of lift were late or missing \(0.11 %\); these samples repeat",
        ),
        (
            {"late": 101},
            None,
            "101 of 10000 cycles began more than a period late, because the computer was busy",
        ),
        ({"corrupt": 11}, None, "11 damaged replies in 10000 cycles; they were not used"),
        (
            {"error_frames": 1},
            None,
            r"1 error frame\(s\) on the bus: wiring, termination or bit rate",
        ),
    ],
)
def test_lost_replies_and_bus_errors(
    changes: dict[str, Any], joint: str | None, words: str
) -> None:
    run = there_and_back().run()
    events = (
        *run.events,
        {
            "event": REPLIES,
            "cycles": 10_000,
            "late": 3,
            "missed": [2, 10],
            "error_frames": 0,
            **changes,
        },
    )
    finding = only(replace(run, events=events))
    assert (finding.kind, finding.joint) == ("bus", joint)
    assert re.match(words, finding.text)


@pytest.mark.parametrize(
    "told",
    [
        {"cycles": 10_000, "late": 100, "missed": [0, 10], "error_frames": 0, "corrupt": 10},
        {"cycles": 0, "late": 0, "missed": [0, 0], "error_frames": 0},
        {"cycles": 10_000, "late": None, "missed": [99, 99], "error_frames": 1},
        {"missed": 7},
        {},
    ],
)
def test_a_few_lost_replies_and_damaged_counts_are_not_reported(told: dict[str, Any]) -> None:
    run = there_and_back().run()
    assert findings(replace(run, events=(*run.events, {"event": REPLIES, **told}))) == []


def test_jitter_of_the_clock() -> None:
    run, rng = there_and_back().run(), np.random.default_rng(0)
    wobble = rng.uniform(-0.2, 0.2, len(run.t)) / RATE
    assert findings(replace(run, t=run.t + 0.1 * wobble)) == [], "2 % of a period either way"
    wobble[1000] = 0.45 / RATE
    finding = only(replace(run, t=run.t + wobble))
    assert finding.kind == "jitter"
    assert finding.joint is None
    assert finding.t == pytest.approx(1000.0 / RATE, abs=2.0 / RATE)
    share = float(re.match(r"(\d+) %", finding.text)[1])
    assert share == pytest.approx(100.0 * 0.875**2, abs=3.0), (
        "difference of two uniform distributions of ±0.2"
    )


def test_gaps_are_counted_and_are_not_jitter() -> None:
    """A gap of 100 ms, and every fortieth sample missing from 12 s on."""
    run = there_and_back().run()
    keep = np.ones(len(run.t), dtype=bool)
    keep[500:525] = keep[3000::40] = False
    signals = {key: values[keep] for key, values in run.signals.items()}
    lossy = replace(run, t=run.t[keep], segment=run.segment[keep], signals=signals)
    assert findings(lossy) == []
    lost = 1 + len(range(3000, len(run.t), 40))
    (gaps,) = (finding.text for finding in check_log(lossy) if finding.kind == "gaps")
    assert gaps == f"{lost} gap(s) between samples, the longest 0.104 s at t = 2.00 s"


# samples


def test_a_sensor_slower_than_the_log() -> None:
    run = there_and_back().run()
    old = np.arange(len(run.t)) // 2 * 2
    signals = {key: value.copy() for key, value in run.signals.items()}
    for values in signals.values():
        values[:, LIFT] = values[old, LIFT]
    finding = only(replace(run, signals=signals))
    assert (finding.joint, finding.kind) == ("lift", "repeated samples")
    assert float(re.search(r"in ([\d.]+) %", finding.text)[1]) == pytest.approx(50.0, abs=3.0)


def test_a_log_ten_times_as_fast_as_its_sensor() -> None:
    """The median speed is zero, because most positions repeat; the new
    positions still give the strokes.
    """
    run = there_and_back(speeds=(0.2, 0.3, 0.4)).run()
    old = np.arange(len(run.t)) // 10 * 10
    slow = replace(run, signals={key: value[old] for key, value in run.signals.items()})
    assert "repeated samples" in {finding.kind for finding in findings(slow)}
    points, true = (reduce_run(one, crane()).points for one in (slow, run))
    assert points["segment"].nunique() == true["segment"].nunique() > 0
    np.testing.assert_allclose(
        points.groupby("segment")["speed"].mean(),
        true.groupby("segment")["speed"].mean(),
        rtol=0.05,
    )


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_sensor_that_freezes_temporarily(noise: float) -> None:
    run = there_and_back().run(noise=noise)
    signals = {key: value.copy() for key, value in run.signals.items()}
    for values in signals.values():
        values[1000:1021, LIFT] = values[1000, LIFT]
    (finding,) = (
        found
        for found in findings(replace(run, signals=signals))
        if found.kind == "repeated samples"
    )
    assert finding.joint == "lift"
    assert finding.t == pytest.approx(1000 / RATE, abs=2.0 / RATE)
    assert "for up to 80 ms" in finding.text


def test_samples_are_old_only_if_position_and_torque_repeat() -> None:
    """A coarse encoder repeats positions; a coarse torque repeats torques."""
    run = there_and_back().run(encoder=1e-3)
    assert findings(changed(run, "tau", np.round(run.signals["tau"] / 0.5) * 0.5)) == []


# motion


def late(log: Log, run: Run, lag: np.ndarray) -> Run:
    """Add a command that the lift follows `lag` samples later."""
    command = log.velocity.copy()
    command[:, LIFT] = command[np.minimum(np.arange(len(command)) + lag, len(command) - 1), LIFT]
    return changed(run, "dq_cmd", command)


def test_a_constant_latency() -> None:
    log = there_and_back(speeds=(0.2, 0.3, 0.4))
    assert findings(late(log, log.run(), np.full(len(log.velocity), 2))) == []
    finding = only(late(log, log.run(), np.full(len(log.velocity), 43)))
    assert (finding.joint, finding.kind) == ("lift", "latency")
    assert float(re.search(r"lift moves (\d+) ms", finding.text)[1]) == pytest.approx(
        172.0, abs=4.0
    )


@pytest.mark.parametrize("scale", [1e-9, 1e-310, 5e-324])
def test_too_small_commands_give_no_latency(scale: float) -> None:
    log = there_and_back(speeds=(0.2, 0.3, 0.4))
    assert findings(changed(log.run(), "dq_cmd", scale * log.velocity)) == []


def test_a_varying_latency() -> None:
    log = there_and_back(speeds=(0.2, 0.3, 0.4))
    lag = np.where(log.run().segment >= 4, 15, 0)
    lag[log.run().t > log.run().t[log.run().segment == 4][0] - 0.1] = 15
    finding = only(late(log, log.run(), lag))
    assert (finding.joint, finding.kind) == ("lift", "latency")
    assert float(re.search(r"to (\d+) ms", finding.text)[1]) == pytest.approx(60.0, abs=4.0)
    assert finding.t > log.run().t[log.run().segment == 4][0] - 0.3


def planned(log: Log, targets: list[tuple[float, float, float]]) -> dict[str, object]:
    return {
        "plan": {
            "start": [0.0, 0.0, 0.0],
            "segments": [
                {"id": k, "kind": "move", "target": list(target)}
                for k, target in enumerate(targets)
            ],
        }
    }


def test_a_joint_that_does_not_follow_its_plan() -> None:
    """The plan moves mast and boom; the boom's brake stays closed in the third segment."""
    log = (
        Log()
        .rest(1.0)
        .move(turn=(0.4, 0.3), lift=(0.3, 0.3))
        .rest(0.2)
        .move(lift=(0.0, 0.3))
        .rest(0.2)
        .move(turn=(0.0, 0.3))
    )
    targets = [(0.4, 0.3, 0.0), (0.4, 0.0, 0.0), (0.0, 0.0, 0.0)]
    assert [
        found.kind for found in findings(replace(log.run(), record=planned(log, targets)))
    ] == []
    targets[2] = (0.0, 0.5, 0.0)
    ended = ({"event": "closed", "reason": "done", "rows": len(log.velocity)},)
    finding = only(replace(log.run(), record=planned(log, targets), events=ended))
    assert (finding.joint, finding.kind) == ("lift", "never moved")
    assert finding.t == pytest.approx(log.run().t[log.run().segment == 2][0])
    assert "of 0.5 rad" in finding.text


def test_an_unfinished_last_segment_is_not_reported() -> None:
    log = Log().move(turn=(0.4, 0.3)).rest(0.2).move(turn=(0.05, 0.3))
    assert (
        findings(replace(log.run(), record=planned(log, [(0.4, 0.0, 0.0), (-0.9, 0.0, 0.0)]))) == []
    )


def test_stick_slip_names_its_highest_speed() -> None:
    log = Log().rest(1.0)
    for speed in (0.02, 0.05):
        wave = np.where(np.arange(2000) % 50 < 25, 0.0, 2.0 * speed)
        drive(log, "lift", wave).rest(0.2)
        drive(log, "lift", -wave).rest(0.2)
    log.trip("lift", 0.0, 0.9, 0.2)
    finding = only(log.run())
    assert (finding.joint, finding.kind) == ("lift", "stick-slip")
    assert "in 4 motion(s)" in finding.text
    assert "friction of lift up to 0.05 rad/s is not sliding friction" in finding.text
    assert finding.t == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("step", "speed", "pause"), [(0.15, 0.05, 1.0), (0.15, 0.15, 0.2)])
def test_pauses_are_not_stick_slip(step: float, speed: float, pause: float) -> None:
    """Several positions in one segment with a rest at each: with long pauses, and with pauses
    as short as in stick-slip.
    """
    log = Log()
    for k in range(6):
        log.move(segment=0, lift=(step * (k + 1), speed)).rest(pause, 0)
    assert findings(log.run()) == []


def test_short_motions_with_long_pauses_are_not_stick_slip() -> None:
    log = Log()
    for k in range(6):
        log.move(segment=0, lift=(0.05 * (k + 1), 1.0)).rest(2.5, 0)
    assert findings(log.run()) == []


@pytest.mark.parametrize("frequency", [8.0, 40.0])
def test_speed_ripple(frequency: float) -> None:
    """The slow ripple leaves no part at constant speed; the fast ripple is shorter
    than the steps of position.
    """
    log = there_and_back()
    at, first = len(log.velocity) / RATE, log.count
    wave = 0.2 * (1.0 + 0.3 * np.sin(2.0 * np.pi * frequency * np.arange(1000) / RATE))
    drive(log, "lift", wave).rest(0.2)
    drive(log, "lift", -wave).rest(0.2)
    finding = only(
        log.run(plan=[{"id": k, "kind": "stroke", "joint": "lift"} for k in range(first + 2)])
    )
    assert (finding.joint, finding.kind) == ("lift", "speed not constant")
    assert "in 2 stroke(s) at 0.2 to 0.2 rad/s" in finding.text
    assert float(re.search(r"up to (\d+) %", finding.text)[1]) == pytest.approx(
        30.0 / np.sqrt(2.0), abs=4.0
    )
    assert at - 0.1 < finding.t < at + 9.0


def test_a_planned_stroke_without_constant_speed() -> None:
    plan = [{"id": k, "kind": "stroke", "joint": "turn"} for k in range(2)]
    finding = only(Log().trip("turn", 0.0, 0.02, 1.0).run(plan=plan))
    assert (finding.joint, finding.kind) == ("turn", "speed not constant")
    assert findings(Log().trip("turn", 0.0, 0.02, 1.0).run()) == [], (
        "without a plan it may be a move to the next position"
    )


def test_excluded_strokes_are_listed_with_their_time() -> None:
    log = (
        Log()
        .trip("lift", 0.0, 0.9, 0.1)
        .move(lift=(0.5, 0.2))
        .rest(0.5)
        .move(lift=(0.9, 0.3))
        .rest(0.5)
    )
    (finding,) = (found for found in everything(log.run()) if found.kind == "left out")
    assert finding.joint == "lift"
    assert (
        "2 stroke(s) are excluded from the fit (no return stroke at the same position and speed; "
        "segments 2, 3" in finding.text
    )
    assert finding.t == pytest.approx(log.run().t[log.run().segment == 2][0])
    whole = [found for found in everything(log.run(segments=False)) if found.kind == "left out"]
    assert whole
    assert not any("segments" in found.text for found in whole), (
        "a log without segments has no segments to name"
    )
    assert all(found.kind != "left out" for found in everything(there_and_back().run()))


# torque and temperature


def limited(run: Run, torque: float) -> Run:
    joints = {**run.arm.joints, "lift": replace(run.arm.joint("lift"), torque=torque)}
    return replace(run, arm=replace(run.arm, joints=joints))


def test_a_torque_at_its_stated_limit() -> None:
    run = there_and_back().run()
    tau = run.signals["tau"][:, LIFT]
    assert findings(limited(run, 1.1 * float(np.abs(tau).max()))) == []
    limit = float(np.quantile(np.abs(tau), 0.8))
    clipped = run.signals["tau"].copy()
    clipped[:, LIFT] = np.clip(tau, -limit, limit)
    finding = only(limited(changed(run, "tau", clipped), limit))
    assert (finding.joint, finding.kind) == ("lift", "saturation")
    assert finding.t == pytest.approx(float(run.t[np.argmax(np.abs(tau) > 0.98 * limit)]))


@pytest.mark.parametrize("sides", [(-1.0, 1.0), (-np.inf, 1.0), (-1.0, np.inf)])
def test_a_torque_at_an_unstated_limit(sides: tuple[float, float]) -> None:
    run = there_and_back("turn").run()
    clipped, turn = run.signals["tau"].copy(), NAMES.index("turn")
    limit = float(np.quantile(np.abs(clipped[:, turn]), 0.9))
    clipped[:, turn] = np.clip(clipped[:, turn], sides[0] * limit, sides[1] * limit)
    found = findings(changed(run, "tau", clipped))
    assert [(finding.joint, finding.kind) for finding in found] == int(np.isfinite(sides).sum()) * [
        ("turn", "saturation")
    ]
    assert all(f"{limit:.4g} and equals it" in finding.text for finding in found)


@pytest.mark.parametrize("step", [1e-6, 1e-3, 0.1, 2.0])
def test_a_coarse_torque_is_not_a_limit(step: float) -> None:
    run = there_and_back().run()
    assert findings(changed(run, "tau", step * np.round(run.signals["tau"] / step))) == []


def test_a_joint_that_warms_up() -> None:
    run = there_and_back().run(temperature=30.0)
    warm = run.signals["temperature"].copy()
    warm[:, LIFT] += np.linspace(0.0, 10.0, len(run.t))
    assert findings(changed(run, "temperature", warm)) == []
    warm[:, LIFT] += np.linspace(0.0, 12.0, len(run.t))
    warm[:, 0] = np.nan
    finding = only(changed(run, "temperature", warm))
    assert (finding.joint, finding.kind) == ("lift", "temperature")
    assert "between 30 and 52 °C" in finding.text
    assert finding.t == pytest.approx(run.t[-1])


@pytest.mark.parametrize(
    ("factor", "reversed_", "kind"),
    [
        (1.0, False, None),
        (0.8, False, None),
        (0.09, False, "torque unit"),
        (20.0, False, "torque unit"),
        (1.0, True, "direction"),
    ],
)
def test_a_wrong_torque_unit_or_direction_is_found_from_gravity(
    factor: float, reversed_: bool, kind: str | None
) -> None:
    run = there_and_back(speeds=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4)).run()
    sign = -1.0 if reversed_ else 1.0
    signals = {"q": sign * run.signals["q"], "tau": sign * factor * run.signals["tau"]}
    found = check_scale(reduce_run(replace(run, signals=signals), crane()).points)
    assert [(finding.joint, finding.kind) for finding in found] == (
        [] if kind is None else [("lift", kind)]
    )
    if kind == "torque unit":
        assert f"torque of lift is {factor:.2g} times the model's gravity" in found[0].text


@pytest.mark.parametrize("error", [0.0, 0.02, 0.5])
def test_a_large_reading_error_of_the_torque_is_reported(error: float) -> None:
    run = there_and_back(speeds=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4)).run()
    points = reduce_run(run, crane()).points
    points = points[points["joint"] == "lift"]
    # drives without position steps, or without a stated error
    assert check_reading([run], points) == []
    driver = {"viscous_error": [0.0 if name != "lift" else error for name in run.names]}
    found = check_reading([run, replace(run, record={**run.record, "driver": driver})], points)
    share = error * 0.4 / float(np.median(points["odd"][points["speed"] > 0.39]))
    assert [finding.kind for finding in found] == (["reading"] if share > 0.02 else [])
    if found:
        assert (
            f"wrong by 0.5 N·m·s/rad, friction at 0.4 rad/s by {100 * share:.0f} %" in found[0].text
        )


# several runs


def test_findings_name_their_run() -> None:
    run = there_and_back().run()
    found, torn = check_log(run), Finding(None, "torn", "the recording was cut off")
    assert name_runs([run], [found])[0].text == "250.0 Hz, no gaps"
    assert [finding.text for finding in name_runs([run, run], [found[:1], [*found[:1], torn]])] == [
        "all 2 runs: 250.0 Hz, no gaps",
        "crane: the recording was cut off",
    ]


# the page


def test_every_kind_of_finding_is_documented() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "ident").rglob("*.py"))
    kinds = set(re.findall(r'Finding\([^"()]*(?:\([^"()]*\))?[^"()]*"([a-z -]+)"', source))
    assert {"rate", "stick-slip", "torque unit", "drift", "not calibrated"} <= kinds
    rows = re.findall(
        r"^\| ([a-z, -]+) \|",
        (ROOT / "docs" / "health.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert kinds == {kind for row in rows for kind in row.split(", ")} - {"finding"}


# the simulated arm


@pytest.fixture(scope="module")
def driven(
    make_arm: Callable[..., ArmFile], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Run]:
    """A run of the pair with round trips of the lift, whose drive has the given faults."""

    def drive(speeds: tuple[float, ...], **lift: float) -> Run:
        arm = make_arm(
            {"simulation": {"torque_noise": 0.05, "encoder_step": 1e-5, "joints": {"lift": lift}}}
        )
        segments = [Segment(0, "move", (0.2, 0.3), 1)]
        for speed in speeds:
            far = 0.3 + min(0.9, max(0.1, 3.0 * speed))
            segments += [
                Segment(len(segments), "stroke", (0.2, far), 1, "lift", speed),
                Segment(len(segments) + 1, "stroke", (0.2, 0.3), 1, "lift", speed, len(segments)),
            ]
        plan = Plan(
            arm.name, arm_sha256(arm), "a test", 0, ("turn", "lift"), (0.0, 0.0), tuple(segments)
        )
        plan = with_robot_time(plan, arm.limits(load_mechanism(arm)))
        return load_run(drive_plan(arm, plan, tmp_path_factory.mktemp("driven") / "campaign"))

    return drive


@pytest.fixture(scope="module")
def healthy(driven: Callable[..., Run]) -> Run:
    return driven((0.3, 0.1, 0.8, 0.5))


@pytest.mark.slow
def test_a_healthy_arm_gives_only_its_rate(healthy: Run) -> None:
    result = identify([healthy])
    assert [(finding.kind, finding.text) for finding in result.findings] == [
        ("rate", "200.0 Hz, no gaps")
    ]


@pytest.mark.slow
def test_a_torque_of_the_wrong_sign_is_refused(healthy: Run) -> None:
    with pytest.raises(
        FitError,
        match=r"lift is not calibrated: torque opposes motion.*sign of the torque signal is wrong",
    ):
        identify([changed(healthy, "tau", -healthy.signals["tau"])])


@pytest.mark.slow
def test_a_soft_drive_has_a_latency_and_shows_stick_slip(driven: Callable[..., Run]) -> None:
    """Static friction is twice sliding friction, and the velocity loop is too slow to
    compensate the difference. The command is read from disk, because the fit does not load it.
    """
    run = driven((0.02, 0.2, 0.3, 0.5, 0.8), static=6.0, stribeck_velocity=0.03, bandwidth=4.0)
    assert "dq_cmd" not in run.signals
    told = identify([run]).findings
    assert [finding.joint for finding in told if finding.kind == "latency"] == ["lift"]
    found = {finding.kind: finding for finding in told if finding.joint == "lift"}
    assert "in 2 motion(s), at up to 0.02 rad/s" in found["stick-slip"].text
    assert "friction of lift up to 0.02 rad/s is not sliding friction" in found["stick-slip"].text
    assert float(re.search(r"moves (\d+) ms", found["latency"].text)[1]) == pytest.approx(
        1e3 / (2.0 * np.pi * 4.0), rel=0.4
    )
