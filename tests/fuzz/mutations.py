"""``python -m tests.fuzz.mutations -n N``: random mutations of a Deployment, ours against the API server's own code.

Apply configurations over keyed lists (whose order is the hard part), and JSON patches of all
operations over paths that exist, nearly exist, or do not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from typing import Any

from tests.conformance.deployment import DEPLOYMENT
from tests.fuzz.oracle import Oracle, lists_for_nulls
from webhook.admission.decision import GroupVersionKind
from webhook.vap import Attributes, Equivalent, GroupVersionResource, MemoryContext
from webhook.vap.compiled import Compilation, Invocation
from webhook.vap.models import MutatingPolicy
from webhook.vap.mutating.evaluation import MutationError
from webhook.vap.mutating.mutator import compile_mutator

KIND = GroupVersionKind("apps", "v1", "Deployment")
RESOURCE = GroupVersionResource("apps", "v1", "deployments")
CONTAINERS = "Object.spec.template.spec.containers"
POINTERS = (
    *("/spec/replicas", "/spec/nope", "/spec/nope/x", "/metadata/labels/a", "/metadata/labels/a~1b", "/x", "", "x"),
    *(f"/spec/template/spec/containers/{key}" for key in ("0", "1", "-", "-1", "-3", "5", "a", "01", "0/name", "0/x")),
)
VALUES = ("1", "1.0", "2.5", "'s'", "true", "null", "{'a': 1}", "['x']", "object.spec", "Object.spec{a: 1}", "7u")


class _Schema:
    raw = DEPLOYMENT

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        return obj


def deployment(names: list[str], dice: random.Random) -> dict[str, Any]:
    containers = []
    for place, name in enumerate(names):
        env = [{"name": item, "value": str(place)} for item in dice.choices("xyz", k=dice.randint(0, 3))]
        containers.append({"name": name, "image": f"image{place}"} | ({"env": env} if env else {}))
    template = {"metadata": {}, "spec": {"containers": containers}}
    metadata = {"name": "d", "labels": {"a": "b"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2, "template": template},
    }


def configuration(dice: random.Random) -> str:
    items = []
    for name in dice.sample("abcdef", dice.randint(0, 5)):
        env = ", ".join(
            f'{CONTAINERS}.env{{name: "{key}", value: "n"}}' for key in dice.sample("xyz", dice.randint(0, 2))
        )
        items.append(f'{CONTAINERS}{{name: "{name}"' + (f", env: [{env}]}}" if env else "}"))
    inner = f"Object.spec.template.spec{{containers: [{', '.join(items)}]}}"
    return f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: {inner}}}}}}}"


def json_patch(dice: random.Random) -> str:
    operations = []
    for _ in range(dice.randint(1, 3)):
        kind = dice.choice(("add", "remove", "replace", "move", "copy", "test"))
        fields = f"op: '{kind}', path: '{dice.choice(POINTERS)}'"
        if kind in {"move", "copy"}:
            fields += f", from: '{dice.choice(POINTERS[:6] + POINTERS[8:])}'"
        elif kind != "remove":
            fields += f", value: {dice.choice(VALUES)}"
        if fields.startswith("op: 'replace', path: ''") and fields.endswith("null"):
            continue  # the API server's object would become null
        operations.append(f"JSONPatch{{{fields}}}")
    return f"[{', '.join(operations)}]"


def policy(dice: random.Random) -> dict[str, Any]:
    if dice.random() < 0.5:
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": configuration(dice)}}
    else:
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": json_patch(dice)}}
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation], "reinvocationPolicy": "Never"}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
    return {**head, "metadata": {"name": "p"}, "spec": spec}


def ours(document: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    written = MutatingPolicy.model_validate(document)
    mutator = compile_mutator(written, Compilation(written, (1, 37)))
    attributes = Attributes(KIND, RESOURCE, "CREATE", obj, name="n", namespace="ns")
    context = MemoryContext((), {KIND: _Schema()})
    invocation = Invocation(attributes, Equivalent(RESOURCE, KIND), context)
    ((mutate, expression),) = mutator.mutations
    try:
        return {"obj": mutate(expression, mutator.compiled.variables, invocation)}
    except MutationError as error:
        return {"error": str(error)}


def theirs(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: answer[key] for key in ("obj", "error", "panic", "decodeError") if answer.get(key) is not None}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.mutations", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many mutations")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dice = random.Random(options.seed)
    cases = [(policy(dice), deployment(dice.choices("abcdef", k=dice.randint(0, 5)), dice)) for _ in range(options.n)]
    names = {"group": KIND.group, "version": KIND.version}
    where: dict[str, Any] = {"kind": {**names, "kind": KIND.kind}, "resource": {**names, "resource": RESOURCE.name}}
    where |= {"namespace": "ns", "name": "n", "operation": "CREATE"}
    requests = [
        {"mode": "map", "policy": document, "attributes": {**where, "object": obj}, "authorizerAllows": True}
        for document, obj in cases
    ]
    wrong = 0
    with Oracle() as oracle:
        for (document, obj), answer in zip(cases, oracle.ask(requests), strict=True):
            applied = "applyConfiguration" in document["spec"]["mutations"][0]
            found = lists_for_nulls(theirs(answer)) if applied else theirs(answer)
            wanted, got = (json.dumps(one, sort_keys=True) for one in (found, ours(document, obj)))
            if wanted != got and "panic" not in answer:  # after a null was added, it writes into a nil map
                wrong += 1
                print(f"{json.dumps(document['spec']['mutations'])}\n  of     {json.dumps(obj)}")
                print(f"  wanted {wanted}\n  got    {got}")
    print(f"{options.n} mutations, {wrong} not as the API server's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
