"""Create an object at a steady rate, as a dry run, until standard input ends; a program, so that it can run in a node.

    python -m tests.e2e.load KUBECONFIG PATH RATE < OBJECT

The first line of standard input is the object. Each creation is two calls of the gate: mutate and validate. A call
that is late does not delay the next one: there are as many callers as the rate needs for calls of half a second. The
first line of output is the word "calling", once every caller has had an answer. The second is a list of [time of
sending, time of the answer, code, message], in seconds of the monotonic clock, which is the same for all processes of
the machine. The message is empty for code 201.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.e2e.client import Client, connected
from tests.e2e.kubectl import Object
from tests.e2e.processes import DIES_WITH_US

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 0.5


class Call(NamedTuple):
    """One creation."""

    sent: float
    answered: float
    code: int
    message: str

    @property
    def seconds(self) -> float:
        return self.answered - self.sent


@dataclass
class Load:
    """Calls under way; when the context of ``load`` has ended, ``calls`` are all that were made, in order."""

    calls: list[Call] = field(default_factory=list)

    def failed(self) -> list[Call]:
        return [each for each in self.calls if each.code != 201]

    def between(self, start: float, end: float) -> list[Call]:
        """The calls that were sent in a span of time."""
        return [each for each in self.calls if start <= each.sent < end]


@contextmanager
def load(enter: tuple[str, ...], kubeconfig: Path, path: str, obj: Object, rate: float) -> Iterator[Load]:
    """Run the program where ``enter`` leads to, until the context ends."""
    program = [*DIES_WITH_US, *enter, sys.executable, "-m", "tests.e2e.load", str(kubeconfig), path, str(rate)]
    made = Load()
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    ) as process:
        assert process.stdin is not None
        process.stdin.write(f"{json.dumps(obj)}\n")
        process.stdin.flush()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "calling\n"
            yield made
        finally:
            out, _ = process.communicate(timeout=60)
            made.calls += [Call(*each) for each in json.loads(out)]


def main(kubeconfig: str, path: str, rate: str) -> None:
    obj = json.loads(sys.stdin.readline())
    callers = max(1, round(float(rate) * PATIENCE))
    stop = threading.Event()
    made: list[Call] = []
    everyone = threading.Barrier(callers + 1)

    def call(number: int) -> None:
        with connected(Path(kubeconfig)) as client:
            made.append(_create(client, path, obj))
            everyone.wait()
            due = time.monotonic() + number / float(rate)
            while not stop.wait(max(due - time.monotonic(), 0)):
                made.append(_create(client, path, obj))
                due = max(due + callers / float(rate), time.monotonic())

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for each in threads:
        each.start()
    everyone.wait()
    print("calling", flush=True)
    sys.stdin.read()
    stop.set()
    for each in threads:
        each.join()
    print(json.dumps(sorted(made)))


def _create(client: Client, path: str, obj: Object) -> Call:
    sent = time.monotonic()
    reply = client.ask("POST", f"{path}?dryRun=All", obj)
    message = "" if reply.code == 201 else str(reply.body.get("message"))
    return Call(sent, time.monotonic(), reply.code, message)


if __name__ == "__main__":
    main(*sys.argv[1:])
