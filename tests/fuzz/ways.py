"""The fast way of a decision and the exact one give the same bytes: ``python -m tests.fuzz.ways -n 10000 -j 2``.

Fast: one generated function for all rules, one for each default and other expression, reviews that are
decoded in one pass, and stamps that are known. Exact: the interpreter, for each expression, every default until nothing
changes, and each part of a review checked by itself. The objects are those of the policies' cases, changed at random,
as creations and updates under each profile. Compared are the replies of the gate, from bytes to bytes: of mutate, and
of validate for the object as it came and as mutate has left it.
"""

from __future__ import annotations

import argparse
import base64
import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import cycle
from typing import Any, Final
from unittest.mock import patch as patched

import orjson

from tests.engine.test_screen import mutant
from tests.kinds import known_kind
from tests.memories import nothing_remembered
from tests.policies.test_cases import files, read, target
from webhook import catalog
from webhook.admission import Request, patch, review
from webhook.admission.errors import ModelgateError
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import run
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile
from webhook.serve.gate import Gate

SHARE: Final = 0.95
"""The part of the valid objects that generated functions must decide: else this proves nothing."""


@dataclass
class Result:
    """What was compared of one kind. ``compared`` and ``valid`` are numbers of objects by operation.

    ``fast`` are the valid ones that generated functions have decided, the defaults of mutate and the rules of validate.
    ``alone`` are the codes of the rules that the function for all rules lacks.
    """

    kind: str
    compared: Counter[str] = field(default_factory=Counter)
    valid: Counter[str] = field(default_factory=Counter)
    fast: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    alone: Sequence[str] = ()

    def shares(self) -> dict[str, float]:
        """The part of the valid objects that generated functions have decided, by the operation."""
        return {key: number / (self.valid[key] or 1) for key, number in sorted(self.fast.items())}

    @property
    def passed(self) -> bool:
        return not self.different and bool(self.fast) and min(self.shares().values()) >= SHARE

    def __str__(self) -> str:
        numbers = (f"{self.compared[each]} {each}, {self.valid[each]} valid" for each in sorted(self.compared))
        ways = (f"{share:.1%} of {operation}" for operation, share in self.shares().items())
        fused = f"not in the function: {', '.join(self.alone)}" if self.alone else "all rules in the function"
        first = f"{self.kind}: {'; '.join(numbers)}; fast: {', '.join(ways)}; {fused}; {len(self.different)} different"
        return "\n  ".join([first, *self.different[:5]])


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
        loaded.prepared(known)._repeated = policy.defaults
    return loaded


def compare(kind: str, count: int, fast: Catalog, slow: Catalog) -> Result:
    """Judge random objects of a kind both ways."""
    result, dice = Result(kind), random.Random(kind)
    known, cases = bases(kind, fast)
    prepared = fast.prepared(known)
    functions = prepared.prepare()
    others = () if functions.rules is None else functions.rules.others
    result.alone = sorted({rule.code for index, rule in enumerate(known.policy.validations) if index in others})
    gates = Gate(clock=float), Gate(clock=float)  # no deadline: other programs may run
    for profile, (request, view, options) in zip(cycle(Profile), _requests(cases, dice, count), strict=False):
        for gate, each in zip(gates, (fast, slow), strict=True):
            gate.replace(loaded=each, view=view, options=replace(options, profile=profile))
        result.compared[request.operation] += 1
        before = prepared.undecided
        mutated = _same(result, gates, "mutate", request)
        judged = _same(result, gates, "validate", request)
        if profile.denies and b'"allowed":true' in judged and _is_valid(known, request):
            result.valid[request.operation] += 1
            result.fast[request.operation] += prepared.undecided == before
        if steps := _patch(mutated):
            _same(result, gates, "validate", replace(request, object=patch.apply(request.object, steps)))
    return result


def _same(result: Result, gates: tuple[Gate, Gate], call: Any, request: Request) -> bytes:
    """The reply of the fast way; a difference is noted."""
    document = _document(request)
    reply = _reply(gates[0], call, orjson.dumps(document))
    with _decoded_exactly():
        gates[1].state.recent.clear()
        wanted = _reply(gates[1], call, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    if reply != wanted:
        where = f"{call} {gates[0].state.options.profile} {request.operation} {request.object} old {request.old_object}"
        result.different.append(f"{where}: {reply!r}, exactly {wanted!r}")
    return reply


@contextmanager
def _decoded_exactly() -> Iterator[None]:
    """Without the short way for usual reviews, and without what is remembered of objects.

    A body with spaces has its keys and numbers checked one by one, too.
    """
    with patched.object(review, "_usual_request", lambda *_: None), nothing_remembered():
        yield


def _reply(gate: Gate, call: Any, body: bytes) -> bytes:
    """The reply, or the text of the error, without an event loop: small reviews never wait."""
    answering = gate.reply(call, body, None)
    try:
        answering.send(None)
    except StopIteration as found:
        return bytes(found.value)
    except ModelgateError as error:
        return f"{type(error).__name__}: {error}".encode()
    raise AssertionError("the reply waits for something")


def _document(request: Request) -> dict[str, Any]:
    """The AdmissionReview of a request."""
    kind = request.kind
    group, version = request.resource_api or (kind.group, kind.version)
    sent = {
        "uid": request.uid,
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "resource": {"group": group, "version": version, "resource": request.resource},
        "name": request.name,
        "namespace": request.namespace,
        "operation": request.operation,
        "userInfo": request.user,
        "object": request.object,
        "oldObject": request.old_object,
        "dryRun": request.dry_run,
        "options": request.options,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": sent}


def _patch(reply: bytes) -> Any:
    """The operations of a reply's patch; None without one."""
    response = orjson.loads(reply)["response"] if reply.startswith(b"{") else {}
    return orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else None


def _is_valid(known: KnownKind, request: Request) -> bool:
    """Whether the schema accepts an admitted object; an update is not refused for errors that are stored already."""
    assert request.object is not None
    return not known.schema.check(known.schema.decode(request.object).object).errors


@cache
def _documents() -> list[Any]:
    """The documents of all cases."""
    return [document for file in files() for document in read(file)]


def bases(kind: str, loaded: Catalog) -> tuple[KnownKind, list[tuple[Request, MemoryView, Options]]]:
    """The kind, and the requests of its cases, each with the objects beside it."""
    known, found = None, []
    for document in _documents():
        each = target(document, loaded)
        if each.gvk == known_kind(kind, loaded).gvk:
            known = each
            for case in document.cases:
                request = run(case, each, loaded).request
                found.append((request, MemoryView(case.others), Options(settings=case.settings)))
    assert known is not None
    return known, found


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
            yield replace(request, object=changed, operation="UPDATE", old_object=old, uid=str(index)), view, options
        else:
            yield replace(request, object=changed, operation="CREATE", old_object=None, uid=str(index)), view, options


def compare_all(kinds: Sequence[str], count: int, jobs: int, fast: Catalog, slow: Catalog) -> Iterator[Result]:
    """The results of the kinds as they come, each from a process of its own."""
    _documents()  # read once, before the processes are forked
    ways = fast, slow
    fork = multiprocessing.get_context("fork")  # catalogs cannot be pickled
    with fork.Pool(jobs, _CATALOGS.extend, (ways,), maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(partial(_compare, count), kinds, chunksize=1)


_CATALOGS: list[Catalog] = []
"""The fast and the exact catalog of a forked process."""


def _compare(count: int, kind: str) -> Result:
    return compare(kind, count, *_CATALOGS)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.ways", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many objects of each kind")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="how many processes")
    parser.add_argument("--kind", action="append", help="only this kind, api/Kind; repeatable")
    options = parser.parse_args(argv)
    fast, slow = catalog.load(), exact(catalog.load())
    kinds = options.kind or sorted(f"{fast.uncompiled(gvk).api}/{gvk.kind}" for gvk in fast.kinds)
    results = []
    for result in compare_all(kinds, options.n, options.j, fast, slow):
        print(result, flush=True)
        results.append(result)
    objects, valid = (
        sum(each.total() for each in counts)
        for counts in zip(*((each.compared, each.valid) for each in results), strict=True)
    )
    fused = sum(not result.alone for result in results)
    different = sum(len(result.different) for result in results)
    print(f"{len(results)} kinds, {fused} fuse entirely: {objects} objects, {valid} valid, {different} different")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
