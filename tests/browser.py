"""A headless Chromium, controlled by the DevTools protocol over two pipes: measures and prints
pages, and collects errors.
"""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from select import select
from typing import Any

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
)
_PATIENCE = 60.0  # s


class Browser:
    """One page of a browser; a context manager.

    Attributes
    ----------
    complaints : list of str
        What it logged: errors, warnings, exceptions.
    requests : list of str
        Addresses that it asked for.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM
        (commands, self._write), (self._read, answers) = os.pipe(), os.pipe()

        def wire() -> None:
            os.dup2(os.dup(commands), 3)
            os.dup2(answers if answers != 3 else os.dup(answers), 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=wire,
            close_fds=False,
        )
        os.close(commands)
        os.close(answers)
        self._rest, self._count = b"", 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._seen: list[str] = []

    def __enter__(self) -> "Browser":
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def window(self, width: int, height: int = 900, mobile: bool = False) -> None:
        """Give the window a size [CSS px]; a mobile one widens its view to what is too wide."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def open(
        self, page: Path, width: int, height: int = 900, mobile: bool = False, query: str = ""
    ) -> None:
        """Show a page, called with a query such as ``?q=word``, in a window of this size."""
        self.window(width, height, mobile)
        self._seen.clear()
        self._call("Page.navigate", url=page.as_uri() + query)
        while "Page.loadEventFired" not in self._seen:
            self._take()

    def media(self, kind: str, dark: bool = False) -> None:
        """Lay the page out for "screen" or "print"; the system may ask for dark pages."""
        self._call(
            "Emulation.setEmulatedMedia",
            media=kind,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def scripts(self, allowed: bool) -> None:
        """Let pages that are opened from now on run scripts, or not."""
        self._call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def press(self, key: str) -> None:
        """Press a key: "Tab", "Enter" or " "."""
        code, number, text = {
            "Tab": ("Tab", 9, ""),
            "Enter": ("Enter", 13, "\r"),
            " ": ("Space", 32, " "),
        }[key]
        named = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self._call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self._call("Input.dispatchKeyEvent", type="keyUp", **named)

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        until = time.monotonic() + _PATIENCE
        while not self.ask(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.05)

    def ask(self, expression: str) -> Any:
        """Value of a JavaScript expression; a promise is awaited."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def pdf(self) -> bytes:
        """The page as PDF, in its own page size."""
        return base64.b64decode(
            self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
        )

    def picture(self) -> bytes:
        """The whole page as PNG."""
        return base64.b64decode(
            self._call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        )

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._take()).get("id") != self._count:
            pass
        assert "error" not in answer, (method, answer)
        return dict(answer["result"])

    def _take(self) -> dict[str, Any]:
        """Return the next message; errors and requests of the page are stored."""
        while b"\0" not in self._rest:
            assert select([self._read], [], [], _PATIENCE)[0], "the browser does not answer"
            got = os.read(self._read, 1 << 20)
            assert got, "the browser has ended"
            self._rest += got
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        method, given = message.get("method", ""), message.get("params", {})
        self._seen.append(method)
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.complaints.append(json.dumps(given))
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        return message
