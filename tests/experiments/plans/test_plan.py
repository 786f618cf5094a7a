"""The plan file: writing and reading, one line per segment, refusals that name the key."""

import tomllib

import pytest
import tomlkit

from stribeck.experiments.methods.one_joint_at_a_time import plan_constant_speed
from stribeck.experiments.plans.constant_speed_options import ConstantSpeed
from stribeck.experiments.plans.plan import read_plan, write_plan
from stribeck.ident.errors import InputError
from tests.experiments.plans.damage import checked

SMALL = ConstantSpeed(postures=2, speeds=2)


class TestFile:
    @pytest.mark.slow
    def test_a_plan_survives_writing_and_reading(self, arm, tmp_path):
        made = plan_constant_speed(arm, seed=4, options=SMALL)
        write_plan(made, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == made
        assert checked(read_plan(tmp_path / "plan.toml"), arm) > 0.0

    def test_the_file_has_one_line_per_segment(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        lines = [
            line
            for line in (tmp_path / "plan.toml").read_text(encoding="utf-8").splitlines()
            if "target" in line
        ]
        assert len(lines) == len(plan.segments) == 5

    def test_the_file_states_schema_arm_method_seed_and_robot_time(self, plan, tmp_path):
        write_plan(plan, tmp_path / "plan.toml")
        table = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
        assert {key: table[key] for key in ("schema", "arm", "method", "seed", "names")} == {
            "schema": 1,
            "arm": "pair",
            "method": "a test",
            "seed": 0,
            "names": ["turn", "lift"],
        }
        assert table["robot_time"] == pytest.approx(plan.robot_time)
        assert table["segments"][2] == {
            "id": 2,
            "kind": "stroke",
            "target": [0.2, 0.3],
            "posture": 1,
            "joint": "turn",
            "speed": 0.4,
            "mirror_of": 1,
        }

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda table: table.pop("names"), ["names is missing"]),
            (lambda table: table.update(sped=1), ["unknown key 'sped'", "did you mean 'seed'"]),
            (
                lambda table: table.update(purpose="warmup"),
                ["purpose", "'warmup'", "did you mean 'warm-up'", "lowest-speed"],
            ),
            (
                lambda table: table["segments"][1].update(sped=1),
                ["segments.1.sped", "did you mean 'speed'"],
            ),
            (
                lambda table: table["segments"][1].update(kind="strok"),
                ["segments.1.kind", "'strok'"],
            ),
            (
                lambda table: table["segments"][1].update(speed=float("nan")),
                ["segments.1.speed", "nan"],
            ),
            (
                lambda table: table["segments"][1].update(target=[0.0]),
                ["segment 1: target has 1 value(s), but names lists 2 joint"],
            ),
            (
                lambda table: table.update(start=[0.0, 0.0, 0.0]),
                ["start has 3 value(s), but names lists 2 joint(s)"],
            ),
            (lambda table: table.update(schema=2), ["schema 2 is newer"]),
            (lambda table: table.pop("schema"), ["schema"]),
        ],
    )
    def test_an_invalid_plan_is_refused_with_the_key(self, plan, tmp_path, change, words):
        path = tmp_path / "plan.toml"
        write_plan(plan, path)
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        change(table)
        path.write_text(tomlkit.dumps(table), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_plan(path)
        for word in [str(path), *words]:
            assert word in str(caught.value)

    @pytest.mark.parametrize("content", [b"schema = ", b"\xff\xfe\x00", b""])
    def test_garbage_is_refused(self, tmp_path, content):
        (tmp_path / "plan.toml").write_bytes(content)
        with pytest.raises(InputError, match=r"plan\.toml"):
            read_plan(tmp_path / "plan.toml")
