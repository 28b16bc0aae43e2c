"""kubectl and helm as a test uses them: objects in, objects or the printed words out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Object = dict[str, Any]
WITH_OPENAPI = "--openapi-patch=true"
"""For ``apply`` where it is to be as users call it."""


class Refused(AssertionError):
    """A command ended with another code than 0; the text is the command and what it printed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Program:
    """A client of one cluster: ``program("get", "pods")`` is what it prints. Raises Refused where it fails."""

    path: Path
    kubeconfig: Path
    enter: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def run(self, *arguments: str | Path, stdin: str | None = None) -> Answer:
        """The answer, whatever it is."""
        done = subprocess.run(
            [*self.enter, str(self.path), *self.flags, *map(str, arguments)],
            env=self._environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,  # above every --timeout that a test gives, so that the program's own words are seen
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str | Path, stdin: str | None = None) -> str:
        answer = self.run(*arguments, stdin=stdin)
        if answer.code:
            raise Refused(f"{self.path.name} {' '.join(map(str, arguments))}\n{answer.err}{answer.out}")
        return answer.out

    def _environment(self) -> Mapping[str, str]:
        # A home of its own: the discovery cache is by host and port, and a port may come back with another cluster.
        return os.environ | {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent)}


class Kubectl(Program):
    """``kubectl.json("get", "models")`` is a parsed answer; objects go in as dictionaries."""

    def run(self, *arguments: str | Path, stdin: str | None = None) -> Answer:
        """The answer, whatever it is.

        ``apply`` reads no OpenAPI document, 10 MB with the definitions of all kinds: it would look there for the merge
        keys of lists, which definitions cannot give. The patch that it sends is the same.
        """
        if arguments[:1] == ("apply",):
            arguments = ("apply", "--openapi-patch=false", *arguments[1:])
        return Program.run(self, *arguments, stdin=stdin)

    def within(self, namespace: str) -> Kubectl:
        """The same, in one namespace."""
        return replace(self, flags=(*self.flags, "--namespace", namespace))

    def json(self, *arguments: str | Path, stdin: str | None = None) -> Object:
        return json.loads(self(*arguments, "-o", "json", stdin=stdin))

    def send(self, verb: str, obj: Object, *flags: str) -> Object:
        """``create``, ``apply`` or ``replace`` an object; returns what the API server answered."""
        return self.json(verb, "-f", "-", *flags, stdin=json.dumps(obj))

    def send_all(self, verb: str, objects: Sequence[Object], *flags: str) -> None:
        """The same for several at once."""
        self(verb, "-f", "-", *flags, stdin="\n---\n".join(map(json.dumps, objects)))

    def refusal(self, verb: str, obj: Object, *flags: str) -> str:
        """What kubectl prints when the API server refuses an object. Raises Refused if it does not."""
        answer = self.run(verb, "-f", "-", *flags, stdin=json.dumps(obj))
        if answer.code == 0:
            raise Refused(f"kubectl {verb} was expected to be refused, and printed: {answer.out}")
        return answer.err

    def find(self, resource: str, name: str) -> Object | None:
        """An object, or None if it does not exist."""
        found = self("get", resource, name, "--ignore-not-found", "-o", "json")
        return json.loads(found) if found else None

    def patch(self, resource: str, name: str, patch: Object, *flags: str) -> Object:
        """Merge-patch an object."""
        return self.json("patch", resource, name, "--type=merge", "-p", json.dumps(patch), *flags)
