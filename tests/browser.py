"""A real browser without a window, driven over its debugging pipe; and axe-core, which finds what some cannot use."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
AXE: Final = "axe-core@4.11.0"
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modelgate"


def required(what: str) -> None:
    """Skip, or fail where tests of real parts are required."""
    if os.environ.get("MODELGATE_E2E") == "require":
        pytest.fail(f"there is no {what}")
    pytest.skip(f"there is no {what}")


class Page:
    """One page of a browser."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, of: int) -> None:
        self._process, self._to, self._of = process, to, of
        self._rest, self._number, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command of the DevTools protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda each: each.get("id") == self._number)
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            while b"\0" not in self._rest:
                part = os.read(self._of, 2**16)
                assert part, "the browser has ended"
                self._rest += part
            raw, _, self._rest = self._rest.partition(b"\0")
            message: dict[str, Any] = json.loads(raw)
            if wanted(message):
                return message

    def open(self, file: Path, *, width: int = 1280, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=file.resolve().as_uri())
        self._until(lambda each: each.get("method") == "Page.loadEventFired")

    def evaluate(self, script: str) -> Any:
        """The value of a script, or of what it promises."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    def picture(self, file: Path) -> None:
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=False)
        file.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a new browser, whose profile is in a folder."""
    if CHROMIUM is None:
        required("chromium")
    to_browser, to = os.pipe()
    of, of_browser = os.pipe()
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]
    command = ["bash", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{of_browser}', str(CHROMIUM), *flags]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={folder}"], pass_fds=(to_browser, of_browser), stderr=subprocess.DEVNULL
    )
    os.close(to_browser)
    os.close(of_browser)
    try:
        yield Page(process, to, of)
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(of)


def axe() -> str:
    """The script of axe-core, from npm, which is kept in the cache."""
    kept = CACHE / f"{AXE}.js"
    if not kept.exists():
        if shutil.which("npm") is None:
            required("npm")
        folder = CACHE / "npm"
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", AXE, "--pack-destination", str(folder)]
        packed = folder / subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
        script = subprocess.run(["tar", "-xzOf", packed, "package/axe.min.js"], check=True, capture_output=True).stdout
        kept.write_bytes(script)
    return kept.read_text()
