"""``python -m tests.fuzz.kinds -n N``: configurations of Kubernetes' own kinds, against the API server's code.

Objects and configurations are made by the types of ``builtin.json``: fields at any depth, elements that meet and
elements that do not; now and then a value of another type, or a field that there is not. The API server's code knows
some kinds less, and others as they were in an older version: those, and what it has no field for, are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from typing import Any

from tests.fuzz.oracle import Oracle, lists_for_nulls
from tools.crds.files import BUILTIN
from webhook.admission.decision import GroupVersionKind
from webhook.cel.syntax import RESERVED
from webhook.vap import Attributes, Equivalent, MemoryContext, resource_of_kind
from webhook.vap.compiled import Compilation, Invocation
from webhook.vap.models import MutatingPolicy
from webhook.vap.mutating.evaluation import MutationError
from webhook.vap.mutating.mergetypes import MergeType, builtin_type
from webhook.vap.mutating.mutator import compile_mutator

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
SCALARS = {"string": ("a", "b", ""), "numeric": (1, 2, 80), "boolean": (True, False), "untyped": ("a", 1, "2Gi")}
NOWHERE = "thereIsNoSuchField"
OTHERWISE = re.compile(
    "field not declared|omits all key fields"
)  # which the older version may say for want of a default
ODDS = 0.03
"""How often something is written that does not fit."""


class Writer:
    """Random values of a type, as JSON; a configuration's objects are :class:`Struct`."""

    def __init__(self, dice: random.Random, *, applied: bool) -> None:
        self._dice = dice
        self._odds = ODDS if applied else 0

    def value(self, of: MergeType, depth: int) -> Any:
        if self._dice.random() < self._odds:
            return self._dice.choice(("odd", 7, True))
        if of.list is not None and of.map is None:
            return self._list(of, depth)
        if of.map is not None and not of.scalar:
            return self._map(of, depth)
        return self._dice.choice(SCALARS[of.scalar])

    def _map(self, of: MergeType, depth: int) -> Any:
        assert of.map is not None
        names = [name for name in of.map.schemas if IDENTIFIER.fullmatch(name) and name not in RESERVED]
        if not names:
            element = of.map.element
            keys = self._dice.sample("abc", self._dice.randint(1, 2)) if element is not None and depth else []
            return {key: self.value(element, depth - 1) for key in keys} if element is not None else {}
        made = Struct()
        for name in self._dice.sample(names, min(len(names), self._dice.randint(1, 4))) if depth else ():
            child = of.map.declared(name)
            assert child is not None
            if not self._odds or not atomic(child) or self._dice.random() < ODDS:  # which nothing may be applied to
                made[name] = self.value(child, depth - 1)
        if self._dice.random() < self._odds:
            made[NOWHERE] = 1
        return made

    def _list(self, of: MergeType, depth: int) -> list[Any]:
        assert of.list is not None
        items = [self.value(of.list.items, depth - 1) for _ in range(self._dice.randint(1, 3) if depth else 0)]
        for item in items:
            for key in of.list.keys:  # few values, so that elements meet
                if isinstance(item, dict) and self._dice.random() < 0.9:
                    declared = of.list.items.map.declared(key) if of.list.items.map else None
                    item[key] = self._dice.choice(SCALARS[declared.scalar] if declared else ("a", "b"))
        return items


def atomic(of: MergeType) -> bool:
    return bool((of.map and of.map.atomic) or (of.list and not of.map and of.list.relation == "atomic"))


class Struct(dict[str, Any]):
    """An object with declared fields."""


def expression(value: Any, path: str) -> str:
    """A value as CEL."""
    if isinstance(value, Struct):
        fields = (f"{key}: {expression(item, f'{path}.{key}')}" for key, item in value.items())
        return f"{path}{{{', '.join(fields)}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {expression(item, path)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(expression(item, path) for item in value)}]"
    return f"dyn({json.dumps(value)})"


def policy(made: Any) -> dict[str, Any]:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression(made, "Object")}}
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "mutations": [mutation], "reinvocationPolicy": "Never"}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
    return {**head, "metadata": {"name": "p"}, "spec": spec}


Case = tuple[GroupVersionKind, dict[str, Any], dict[str, Any]]


def a_case(kind: GroupVersionKind, dice: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy, and an object of the kind."""
    of = builtin_type(kind)
    assert of is not None
    head = {"apiVersion": f"{kind.group}/{kind.version}".lstrip("/"), "kind": kind.kind}
    depth = dice.randint(2, 9)
    live, made = (Writer(dice, applied=applied).value(of, depth) for applied in (False, True))
    metadata = {"name": "n"} | (live.get("metadata") or {})
    made = made if isinstance(made, Struct) else Struct()
    return policy(Struct({key: item for key, item in made.items() if key not in head})), {
        **live,
        **head,
        "metadata": metadata,
    }


def ours(document: dict[str, Any], obj: dict[str, Any], kind: GroupVersionKind) -> dict[str, Any]:
    written = MutatingPolicy.model_validate(document)
    mutator = compile_mutator(written, Compilation(written, (1, 37)))
    resource = resource_of_kind(kind)
    attributes = Attributes(kind, resource, "CREATE", obj, name="n", namespace="ns")
    invocation = Invocation(attributes, Equivalent(resource, kind), MemoryContext())
    ((mutate, source),) = mutator.mutations
    try:
        return {"obj": mutate(source, mutator.compiled.variables, invocation)}
    except MutationError as error:
        return {"error": lines(str(error))}


def theirs(answer: dict[str, Any]) -> dict[str, Any]:
    found = {key: answer[key] for key in ("obj", "error", "panic", "decodeError") if answer.get(key) is not None}
    return {"error": lines(found["error"])} if "error" in found else lists_for_nulls(found)


def lines(error: str) -> list[str]:
    """In one order, also of the paths of a line: Go goes through maps at random."""
    return sorted(" ".join(sorted(re.split("[,:] ", line))) for line in error.split("\n"))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kinds", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many configurations")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    kinds = [GroupVersionKind(*f"/{name}".split("/")[-3:]) for name in json.loads(BUILTIN.read_text())["kinds"]]
    wrong, outcomes = 0, Counter[str]()
    with Oracle() as oracle:
        probes = [(kind, policy(Struct({NOWHERE: 1})), {"metadata": {"name": "n"}}) for kind in kinds]
        known = [
            kind for kind, answer in zip(kinds, oracle.ask(map(request, probes)), strict=True) if "error" in answer
        ]
        cases = [(kind, *a_case(kind, dice)) for kind in dice.choices(known, k=options.n)]
        for (kind, document, obj), answer in zip(cases, oracle.ask(map(request, cases)), strict=True):
            wanted, got = theirs(answer), ours(document, obj, kind)
            newer = any(OTHERWISE.search(line) and NOWHERE not in line for line in wanted.get("error", ()))
            outcomes["newer" if newer else next(iter(wanted))] += 1
            if newer:
                continue
            if NOWHERE in str(wanted) and NOWHERE in str(got):  # where it stops, in whatever order Go comes by
                wanted, got = dict.fromkeys(wanted), dict.fromkeys(got)
            if wanted != got:
                wrong += 1
                print(f"{kind}: {json.dumps(document['spec']['mutations'])}\n  of     {json.dumps(obj)}")
                print(f"  wanted {wanted}\n  got    {got}")
    print(f"{options.n} configurations ({dict(outcomes)}), {wrong} not as the API server's")
    return 1 if wrong else 0


def request(case: Case) -> dict[str, Any]:
    kind, document, obj = case
    names = {"group": kind.group, "version": kind.version}
    resource = {**names, "resource": resource_of_kind(kind).name}
    where = {"kind": {**names, "kind": kind.kind}, "resource": resource, "namespace": "ns", "name": "n"}
    attributes = {**where, "operation": "CREATE", "object": obj}
    return {"mode": "map", "policy": document, "attributes": attributes, "authorizerAllows": True}


if __name__ == "__main__":
    sys.exit(main())
