"""The complete driver in docs/drivers.md works, and plug-ins are found by their entry points."""

import re
import socket
import socketserver
import threading
import time
from importlib.metadata import EntryPoint
from types import ModuleType

import numpy as np
import pytest

from stribeck.drivers.arm import Command
from stribeck.drivers.connect import connect
from stribeck.drivers.errors import DriverError
from stribeck.ident.errors import InputError
from tests.drivers.wires import patiently
from tests.places import DOCS

PAGE = DOCS / "drivers.md"


class TextDrives(socketserver.StreamRequestHandler):
    """Ideal drives with a protocol of text lines: "ID NUMBER words"."""

    disable_nagle_algorithm = True
    late = threading.Event()  # set if the next answer comes late

    def handle(self):
        drives = {1: [30.0, 0.0, 0], 2: [-40.0, 0.0, 0]}
        before = time.monotonic()
        for line in self.rfile:
            now = time.monotonic()
            for drive in drives.values():
                drive[0] += drive[1] * (now - before)
            before = now
            name, number, word, *value = line.decode().split()
            drive = drives[int(name)]
            if word == "name":
                answer = "text drive 1.0"
            elif word == "watchdog":
                answer = value[0]
            else:
                if word in ("on", "stop", "off"):
                    drive[1:] = 0.0, {"on": 1, "stop": 2, "off": 0}[word]
                elif word == "velocity" and drive[2] == 1:
                    drive[1] = float(value[0])
                answer = f"{drive[0]:.6f} {drive[1]:.6f} 1.5 {drive[2]}"
            if self.late.is_set():
                self.late.clear()
                time.sleep(0.02)
            self.wfile.write(f"{name} {number} {answer}\n".encode())


@pytest.fixture(autouse=True)
def patient():
    with patiently():  # the drives are threads of the test's own process, in real time
        yield


@pytest.fixture
def port():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), TextDrives) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"socket://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def plugged_in(monkeypatch):
    """The page's driver as an installed plug-in named "text"."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    module = ModuleType("my_drives")
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "my_drives", module)
    entry = EntryPoint("text", "my_drives:connect", "stribeck.drivers")
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: [entry] if group == "stribeck.drivers" else [],
    )
    return code


def text_arm(make_arm, port, table=None, **drive):
    joints = {
        name: {"stop": "brake", **(table or {}), "drive": {"id": k, **drive}}
        for k, name in enumerate(("turn", "lift"), 1)
    }
    return make_arm({"driver": {"kind": "text", "port": port, "watchdog": 0.5}, "joints": joints})


def test_the_driver_of_the_page_moves_an_arm(make_arm, plugged_in, port):
    with connect(text_arm(make_arm, port)) as arm:
        assert [axis.identity() for axis in arm.axes] == [{"device": "text drive 1.0"}] * 2
        arm.enable()
        samples = [arm.step(Command(np.array([0.2, -0.1]))) for _ in range(40)]
        moved = samples[-1].q - samples[0].q
        assert moved[0] > 0.02
        assert moved[1] < -0.01
        np.testing.assert_allclose([sample.dq for sample in samples[1:]], [[0.2, -0.1]] * 39)
        arm.stop("enough")
        assert [axis.power for axis in arm.axes] == ["off", "off"]


def test_a_late_answer_is_not_taken_for_the_answer_to_the_next_question(make_arm, plugged_in, port):
    with connect(text_arm(make_arm, port)) as arm:
        arm.enable()
        TextDrives.late.set()
        samples = [arm.step(Command(np.zeros(2))) for _ in range(20)]
        assert sum(sample.t_joint[0] < sample.t for sample in samples) >= 1  # it came late
        np.testing.assert_allclose([sample.q for sample in samples], np.tile([0.3, -0.4], (20, 1)))


def test_signs_zeros_and_gears_are_those_of_the_model(make_arm, plugged_in, port):
    arm_file = text_arm(
        make_arm, port, table={"direction": -1, "zero_offset": 0.1, "gear_ratio": 50.0}
    )
    with connect(arm_file) as arm:
        arm.enable()
        first, last = (
            arm.step(Command(np.zeros(2))),
            [arm.step(Command(np.array([0.2, 0.0]))) for _ in range(20)][-1],
        )
        np.testing.assert_allclose(first.q, [0.1 - 30.0 / 50.0, 0.1 + 40.0 / 50.0])
        assert last.q[0] > first.q[0] + 0.01
        np.testing.assert_allclose(last.dq, [0.2, 0.0], atol=1e-6)
        np.testing.assert_allclose(last.tau, -1.5 * 50.0)


def test_a_missing_drive_is_reported(make_arm, plugged_in):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        nobody = text_arm(make_arm, f"socket://127.0.0.1:{mute.getsockname()[1]}")
        with (
            pytest.raises(
                DriverError, match="none of 2 drives answers: the drive of turn does not answer"
            ),
            connect(nobody),
        ):
            pass


def test_its_keys_are_checked_like_all_others(make_arm, plugged_in, port):
    with pytest.raises(
        InputError, match=r"joints\.turn\.drive\.idd: unknown key 'idd'; did you mean 'id'"
    ):
        connect(text_arm(make_arm, port, idd=3))


def test_a_port_that_cannot_be_opened_raises_driver_error(make_arm, plugged_in):
    with (
        pytest.raises(DriverError, match="the bus failed"),
        connect(text_arm(make_arm, "socket://127.0.0.1:9")),
    ):
        pass


def test_the_driver_of_the_page_has_at_most_forty_lines(plugged_in):
    logic = [
        line
        for line in plugged_in.splitlines()
        if line.strip() and not line.startswith(("import", "from", "class"))
    ]
    assert len(logic) <= 40


def test_a_plug_in_that_cannot_be_loaded_is_named(make_arm, monkeypatch):
    entry = EntryPoint("text", "no_such_drives:connect", "stribeck.drivers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    said = (
        r"the plug-in no_such_drives:connect, entry point text of the group stribeck.drivers, "
        r"cannot be loaded: .*no_such"
    )
    with pytest.raises(InputError, match=said):
        connect(make_arm({"driver": {"kind": "text"}}))


def test_an_unknown_driver_is_refused_with_a_list(make_arm, plugged_in):
    with pytest.raises(
        InputError,
        match=r"pair.toml: driver.kind: unknown driver kind .*simulated, canopen, .*text",
    ):
        connect(make_arm({"driver": {"kind": "telepathy"}}))
