"""The fast way of a decision and the exact one give the same bytes: ``python -m tests.fuzz.ways -n 10000``.

Fast: one generated function for all rules, a generated function for each other expression, and defaults that are
applied again only where they may change. Exact: the interpreter, for each expression, and every default until nothing
changes. The objects are those of the policies' cases, changed at random, as creations and updates under each profile.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, Final

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook import engine
from webhook.admission import Request, review
from webhook.admission.errors import Fault
from webhook.cli.cases import run
from webhook.cluster import MemoryView
from webhook.engine import Options, catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.policy import Policy, Profile

VERSION: Final = "admission.k8s.io/v1"
SHARE: Final = 0.95
"""The part of the valid objects that the function of all rules must decide: else this proves nothing."""


@dataclass
class Result:
    """What was compared of one kind; ``fast`` are the ``valid`` objects that the function of all rules has decided."""

    kind: str
    compared: int = 0
    valid: int = 0
    fast: int = 0
    different: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.fast / self.valid if self.valid else 1.0

    @property
    def passed(self) -> bool:
        return not self.different and self.share >= SHARE

    def __str__(self) -> str:
        part = f"{self.kind}: {self.compared} objects, {self.valid} valid, {self.share:.1%} of them on the fast way"
        return "\n  ".join([f"{part}, {len(self.different)} different", *self.different[:5]])


def exact(loaded: Catalog) -> Catalog:
    """A catalog whose every expression the interpreter evaluates."""
    for known in loaded.kinds.values():
        policy = known.policy
        parts: list[Any] = [*policy.variables.values()]
        for rule in policy.validations:
            parts += (*rule.conditions, rule.message_expression, rule.unseen)
        for default in policy.defaults:
            parts += (default.when, default.value)
        for expression in parts:
            if program := getattr(expression, "program", None):
                program.evaluate = program.evaluate_exactly
        policy._repeated[0] = policy.defaults
    return loaded


def compare(kind: str, count: int, fast: Catalog, slow: Catalog) -> Result:
    """Judge random objects of a kind both ways."""
    result, dice = Result(kind), random.Random(kind)
    known, bases = _bases(kind, fast)
    known.prepare()
    decided = _counted(known.policy)
    for profile, (request, view, options) in zip(cycle(Profile), _requests(bases, dice, count), strict=False):
        options = replace(options, profile=profile)  # noqa: PLW2901
        mutated = [_reply("mutate", request, each, view, options) for each in (fast, slow)]
        decided.clear()
        judged = [_reply("validate", request, each, view, options) for each in (fast, slow)]
        result.compared += 1
        if mutated[0] != mutated[1] or judged[0] != judged[1]:
            result.different.append(f"{profile} {request.operation} {request.object} old {request.old_object}")
        if profile.denies and b'"allowed":true' in judged[0] and _is_valid(known, request):
            result.valid += 1
            result.fast += bool(decided) and all(decided)
    return result


def _is_valid(known: KnownKind, request: Request) -> bool:
    """Whether the schema accepts an admitted object; an update is not refused for errors that are stored already."""
    assert request.object is not None
    return not known.schema.check(known.schema.decode(request.object)[0])[0]


def _bases(kind: str, loaded: Catalog) -> tuple[KnownKind, list[tuple[Request, MemoryView, Options]]]:
    """The kind, and the requests of its cases, each with the objects beside it."""
    known, found = None, []
    for document in (document for file in files() for document in read(file)):
        each = target(document, loaded)
        if each.gvk.kind == kind:
            known = each
            for case in document.cases:
                request = run(case, each, loaded).request
                found.append((request, MemoryView(case.others), Options(settings=case.settings)))
    assert known is not None
    return known, found


def _counted(policy: Policy) -> list[bool]:
    """A list that gets, for each object, whether the function of all rules has decided it."""
    decided: list[bool] = []
    screen = policy.prepare()
    decide = screen.run

    def counted(*arguments: Any) -> Any:
        found = decide(*arguments)
        decided.append(found is not None)
        return found

    screen.run = counted
    return decided


def _requests(
    bases: list[tuple[Request, MemoryView, Options]], dice: random.Random, count: int
) -> Iterator[tuple[Request, MemoryView, Options]]:
    for index in range(count):
        request, view, options = dice.choice(bases)
        assert request.object is not None
        changed = request.object
        for _ in range(dice.choice((0, 0, 1, 1, 2, 3))):
            changed = mutant(changed, dice)
        if index % 2:
            old = request.old_object or request.object
            yield replace(request, object=changed, operation="UPDATE", old_object=old, uid="1"), view, options
        else:
            yield replace(request, object=changed, operation="CREATE", old_object=None, uid="1"), view, options


def _reply(call: Any, request: Request, loaded: Catalog, view: MemoryView, options: Options) -> bytes:
    decide = engine.mutate if call == "mutate" else engine.validate
    try:
        return review.encode(call, VERSION, request, decide(request, loaded, view, options))
    except Fault as fault:
        return str(fault).encode()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.ways", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many objects of each kind")
    parser.add_argument("--kind", action="append", help="only this kind; repeatable")
    options = parser.parse_args(argv)
    fast, slow = catalog.load(), exact(catalog.load())
    results = []
    for kind in options.kind or sorted({gvk.kind for gvk in fast.kinds}):
        results.append(compare(kind, options.n, fast, slow))
        print(results[-1], flush=True)
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
