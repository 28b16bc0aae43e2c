"""Processes that die with their test: watched while something waits for them, stopped in reverse order."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tests.e2e.machine import Unavailable

T = TypeVar("T")

# A child gets SIGKILL when this process dies, for any reason. setpriv execs it, so its pid stays the same.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()

# Linux hands out 32768 and up to outgoing connections: a port below cannot be lost to one between choosing and binding.
LISTENING_PORTS = range(20_000, 32_000)


class Failed(AssertionError):
    """Something that was started did not come up, or died; names the folder with its logs."""


def wait_until(condition: Callable[[], T], what: str, seconds: float = 30, watching: Sequence[Process] = ()) -> T:
    """Poll ``condition`` until it is true; returns it. Raises Failed at the deadline, or when one watched ended.

    The time between two polls grows: most conditions start a program, which takes time from what they wait for.
    """
    deadline = time.monotonic() + seconds
    pause = 0.05
    while not (value := condition()):
        for process in watching:
            process.check()
        if time.monotonic() > deadline:
            logs = f"; logs in {watching[0].log.parent}" if watching else ""
            raise Failed(f"waited {seconds:g} s in vain for {what}; last seen: {value!r}{logs}")
        time.sleep(pause)
        pause = min(1.3 * pause, 0.3)
    return value


def free_port() -> int:
    """A loopback port on which no process listens."""
    for port in random.sample(LISTENING_PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise Unavailable("no free loopback port between 20000 and 32000")


class Process:
    """One program in a process group of its own, its output in ``log``."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        self._command = [*DIES_WITH_US, *command]
        self._env = {**os.environ, **(env or {})}
        self.start()

    def start(self) -> None:
        """Start it, also again after it has ended."""
        with self.log.open("ab") as output:
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._env,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def running(self) -> bool:
        return self._popen.poll() is None

    def check(self) -> None:
        """Raises Failed, with the end of the log, if the program has ended."""
        if not self.running():
            raise Failed(f"{self.name} ended with {self._popen.returncode}; log: {self.log}\n{self.tail()}")

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, grace: float = 10) -> None:
        """Ask the whole group to end, then insist."""
        for sign, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
            if not self.running():
                return
            os.killpg(self.pid, sign)
            try:
                self._popen.wait(patience)
            except subprocess.TimeoutExpired:
                continue

    def kill(self) -> None:
        """The end without a word, as a power cut gives it."""
        self.stop(grace=0)


class Processes:
    """The programs of one cluster: one folder of logs, one way in (``enter`` goes before every command)."""

    def __init__(self, folder: Path, enter: Sequence[str] = (), env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.enter = tuple(enter)
        self._env = dict(env or {})
        self._started: list[Process] = []

    def start(self, name: str, *command: str | Path) -> Process:
        log = self.folder / f"{name}.log"
        process = Process(name, [*self.enter, *map(str, command)], log, self._env)
        self._started.append(process)
        return process

    def wait_until(self, condition: Callable[[], T], what: str, seconds: float = 60) -> T:
        """As the function of that name; a program that ends meanwhile ends the wait, too."""
        return wait_until(condition, what, seconds, watching=self._started)

    def restart(self, *names: str) -> None:
        """Kill these programs, and start them again as before."""
        found = [each for name in names for each in self._started if each.name == name]
        for each in found:
            each.kill()
        for each in found:
            each.start()

    def stop(self, grace: float = 10) -> None:
        while self._started:
            self._started.pop().stop(grace)
