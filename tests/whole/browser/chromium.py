"""A headless Chromium on a pipe, spoken to in its DevTools protocol: open a file, listen to complaints, take pictures."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120.0  # seconds for one answer, on a busy machine


def find() -> str | None:
    """Where a Chromium is, if there is one."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


class Chromium:
    """One browser with one page; use it in a `with` block."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_there, write_here = _pipe()
        read_here, write_there = _pipe()
        arguments = [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        script = 'exec "$@" 3<&"$IN" 4>&"$OUT"'  # the protocol is spoken on files 3 and 4
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *arguments],
            pass_fds=(read_there, write_there),
            env={**os.environ, "IN": str(read_there), "OUT": str(write_there)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._to, self._from = write_here, read_here
        self._rest, self._number = b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank", session=None)["targetId"]
        self.session: str | None = self.call("Target.attachToTarget", targetId=target, flatten=True, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close", session=None)
        except (OSError, TimeoutError):
            self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method: str, *, session: str | None = "", **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that arrive meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session or self.session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise OSError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer within {PATIENCE:.0f} s")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise OSError("the browser has gone")
            self._rest += part
        line, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(line))

    def open(self, path: Path, *, width: int, dark: bool = False) -> None:
        """Show a file in a window of that width, as a phone or a desktop would."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive(end))

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it is resolved to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ValueError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings in the console, exceptions, and requests that failed."""
        self.ask("1")
        names = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Network.loadingFailed")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in names]

    def requests(self) -> list[str]:
        """Addresses the page asked for; what is inside the file itself is left out."""
        sent = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    def picture(self, path: Path, *, height: int | None = None, of: str = "html") -> None:
        """An element (the whole page) from its top as PNG, all of it or so many pixels."""
        box = self.ask(f"""(element => {{
            const {{x, y, width}} = element.getBoundingClientRect()
            return [x, y + scrollY, width, element.scrollHeight]}})(document.querySelector('{of}'))""")
        clip = {"x": box[0], "y": box[1], "width": box[2], "height": min(box[3], height or box[3]), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])


def _pipe() -> tuple[int, int]:
    """(read end, write end), both above 9 so that they do not meet files 3 and 4."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
