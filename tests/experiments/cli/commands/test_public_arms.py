"""``init`` and ``calibrate`` on public arms whose models state no gear inertia; all of them:
``python -m benchmarks arms``.
"""

import pytest

from benchmarks.arms import ARMS, TRUTHS, init_and_calibrate


@pytest.mark.parametrize("name", ["asr-twodof", "reacher"])
def test_public_arm_passes_all_commands(name, tmp_path):
    path = ARMS[name].path
    if path is None or not path.is_file():
        pytest.skip(f"the package {ARMS[name].package} has the model")
    found = init_and_calibrate(name, TRUTHS[1], tmp_path, 1, "100s")
    assert found["ok"], found["said"]
    assert found["left_out"] == []
    assert max(found["error"].values()) < 0.05
