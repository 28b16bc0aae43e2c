"""The ways of a call give the same bytes: ``python -m tests.fuzz.calls -n 20000 --seed 1``.

Each call is a body, changed as a text and as a document, with admission policies, a live view, a size and an end of
time. It is answered the short way, the ordinary way (at once or in a child) and exactly: by the interpreter, in this
process, without an end. The short way may decline, and the ordinary one may say that there was no time. Every other
answer must have the bytes of the exact one.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch as patched

from tests.engine.test_screen import mutant
from tests.fuzz.bodies import Body, body_of
from tests.fuzz.policies import policy_sets
from tests.fuzz.ways import bases, exact
from webhook import catalog
from webhook.admission import review
from webhook.admission.errors import DeadlineExceeded, ModelgateError
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.policy import Profile
from webhook.serve import forked
from webhook.serve.gate import Gate
from webhook.serve.gate.judgement import judge
from webhook.serve.gate.review import ROUNDS
from webhook.serve.liveview import ViewRunner

PATIENCE: Final = 60.0
"""Seconds of a call whose time does not end: no machine is as slow."""

PROGRESS: Final = 250
"""Objects, each for two calls, after which the result so far is printed."""

WAYS: Final = ("short", "at once", "child", "no time", "error")
DIMENSIONS: Final = ("policies", "live view", "large", "ending", "allowed", "denied")


class Clock:
    """The time, until a call of it after which a caller's patience is over."""

    def __init__(self) -> None:
        self.left = sys.maxsize
        self._skew = 0.0

    def __call__(self) -> float:
        self.left -= 1
        if self.left == 0:
            self._skew += PATIENCE + 1
        return time.monotonic() + self._skew


class Cluster(MemoryView):
    """A view that has some objects in memory, and reads the others from all that there are."""

    def __init__(self, objects: MemoryView, dice: random.Random) -> None:
        super().__init__()
        self._all, self._seed = objects, dice.random()

    def cached(self, question: Any) -> tuple[bool, Any]:
        sure = random.Random(f"{self._seed} {question}").random() < 0.5
        return sure, self.read(question, 1) if sure else None

    def read(self, question: Any, _timeout: float) -> Any:
        if not hasattr(question, "kind") or not hasattr(question, "name"):
            return None
        return self._all.get(question.kind, question.namespace, question.name)

    def list(self, kind: Any, namespace: str | None = None) -> Any:
        return self._all.list(kind, namespace)

    def listed(self, _kind: Any) -> bool:
        return True

    def follows(self, _kind: Any) -> bool:
        return True


class Connected(ViewRunner):
    """A runner that has its view."""

    def __init__(self, view: Any) -> None:
        super().__init__(lambda: view)
        self._view = view


@dataclass
class Result:
    """What was compared. ``counts`` are the calls by the way that answered them, and by what was in play."""

    counts: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs, and all ways and dimensions were in play."""
        return not self.different and all(self.counts[each] for each in (*WAYS, *DIMENSIONS))

    def __str__(self) -> str:
        told = ", ".join(f"{self.counts[each]} {each}" for each in ("calls", *WAYS, *DIMENSIONS))
        return "\n  ".join([f"{told}; {len(self.different)} different", *self.different[:5]])


class Ways:
    """A gate with everything generated, and one that judges exactly."""

    def __init__(self, seed: int) -> None:
        self.dice, self.result = random.Random(seed), Result()
        self.clock = Clock()
        self.fast, self.slow = Gate(catalog.load().compiled(), clock=self.clock), Gate(exact(catalog.load()))
        self._kinds = sorted({each.kind for each in _catalog(self.fast).kinds})
        self._cases = {kind: bases(kind, _catalog(self.fast))[1] for kind in self._kinds}
        self._sets = list(zip(policy_sets(), policy_sets(exactly=True), strict=True))
        self.loop = asyncio.new_event_loop()

    def run(self, count: int) -> Result:
        for number in range(1, count + 1):
            self._call()
            if number % PROGRESS == 0:
                print(self.result, flush=True)
        self.loop.close()
        return self.result

    def _call(self) -> None:
        dice, counts = self.dice, self.result.counts
        request, view, options = dice.choice(self._cases[dice.choice(self._kinds)])
        changed = request.object
        for _ in range(dice.choice((0, 0, 1, 1, 2))):
            assert changed is not None
            changed = mutant(changed, dice)
        is_update = dice.random() < 0.4
        old = (request.old_object or request.object) if is_update else None
        changed_request = replace(
            request, object=changed, operation="UPDATE" if is_update else "CREATE", old_object=old
        )
        body = body_of(changed_request, dice)
        live = Connected(Cluster(view, dice)) if dice.random() < 0.3 else None
        fast, slow = dice.choice(self._sets) if dice.random() < 0.5 else (None, None)
        options = replace(options, profile=dice.choice(list(Profile)))
        for gate, policies in ((self.fast, fast), (self.slow, slow)):
            gate.replace(view=view, live_view=live, options=options, policies=policies)
        counts.update({"policies": fast is not None, "live view": live is not None, "large": body.is_large})
        for call in ("mutate", "validate"):
            self._compare(call, body)

    def _compare(self, call: Any, body: Body) -> None:
        counts = self.result.counts
        wanted = exactly(self.slow, call, body.data)
        counts.update({"calls": 1, "allowed": b'"allowed":true' in wanted, "denied": b'"allowed":false' in wanted})
        ending = self.dice.randrange(1, 12) if self.dice.random() < 0.2 else sys.maxsize
        counts["ending"] += ending != sys.maxsize
        self.clock.left = ending
        short = self.fast.reply_now(call, body.data, PATIENCE)
        if short is not None:
            counts["short"] += 1
            self._note("short", call, body, short[0], wanted)
            self.clock.left = sys.maxsize
            short[1]()  # the stamp is remembered, so that the next call finds it
        self.clock.left = ending
        forks = counts["forks"]
        with self._counted():
            found = self._ordinary(call, body.data)
        self.clock.left = sys.maxsize
        is_late = found.startswith(DeadlineExceeded.__name__.encode())
        counts["no time"] += is_late
        counts["child" if counts["forks"] > forks else "at once"] += 1
        counts["error"] += not found.startswith(b"{") and not is_late
        if not (is_late and ending != sys.maxsize):
            self._note("ordinary", call, body, found, wanted)

    def _ordinary(self, call: Any, body: bytes) -> bytes:
        try:
            return self.loop.run_until_complete(self.fast.reply(call, body, PATIENCE))
        except ModelgateError as error:
            return _shown(error)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        run = self.fast._children.run

        async def counted(*arguments: Any) -> Any:
            self.result.counts["forks"] += 1
            return await run(*arguments)

        with patched.object(self.fast._children, "run", counted):
            yield

    def _note(self, way: str, call: str, body: Body, found: bytes, wanted: bytes) -> None:
        if found != wanted:
            text = f"{way} {call} {self.fast.state.options.profile} {body}: {found[:600]!r}, exactly {wanted[:600]!r}"
            self.result.different.append(text)
            print(text, flush=True)


def exactly(gate: Gate, call: Any, body: bytes) -> bytes:
    """The reply without generated functions, without an end, in this process, each part of a review read by itself."""
    known: dict[Any, Any] = {}
    by = gate.state
    by.recent.clear()
    with patched.object(review, "_usual_request", lambda *_: None):
        for _ in range(ROUNDS):
            found = judge(by, call, body, known, _endless)
            if not found.unread:
                break
            assert by.live_view is not None
            known |= {each: by.live_view.view().read(each, 1) for each in found.unread}
    return found.reply if found.error is None else _shown(found.error)


def _endless(_step: str) -> None:
    """A checkpoint of a review without an end."""


def _shown(error: Exception) -> bytes:
    return f"{type(error).__name__}: {error}".encode()


def _catalog(gate: Gate) -> Catalog:
    assert gate.state.catalog is not None
    return gate.state.catalog


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.calls", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many calls")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    forked.LONGEST = PATIENCE  # type: ignore[misc]  # other programs may run
    result = Ways(options.seed).run(options.n // 2)
    print(result, flush=True)
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
