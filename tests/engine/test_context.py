"""What policies know without a cluster: scopes, versions of one kind, where an object belongs that does not say so."""

from dataclasses import replace
from typing import Any

import pytest

from tests.vap.documents import binding, load, policy
from webhook import catalog
from webhook.admission.decision import GroupVersionKind, Request
from webhook.catalog import Catalog, Kinds
from webhook.engine.context import Offline
from webhook.vap import GroupVersionResource, LabelSelector, ParamKind, Selector

LOADED = catalog.load()
ALL = Selector.of(LabelSelector())


def an_object(api_version: str, kind: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **metadata}}


def definition(scope: str) -> dict[str, Any]:
    spec = {"group": "limits.example", "scope": scope, "names": {"kind": "Limit"}}
    return {**an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "spec": spec}


LIMIT = an_object("limits.example/v1", "Limit")


@pytest.mark.parametrize(
    ("kind", "objects", "namespaced"),
    [
        (("v1", "ConfigMap"), [], True),
        (("v1", "Namespace"), [], False),
        (("apps/v1", "Deployment"), [], True),
        (("networking.k8s.io/v1", "IngressClass"), [], False),
        (("ome.io/v1beta1", "BaseModel"), [], True),
        (("ome.io/v1beta1", "ClusterBaseModel"), [], False),
        (("limits.example/v1", "Limit"), [], True),
        (("limits.example/v1", "Limit"), [LIMIT], False),
        (("limits.example/v1", "Limit"), [an_object("limits.example/v1", "Limit", namespace="ns")], True),
        (("limits.example/v1", "Limit"), [LIMIT, definition("Namespaced")], True),
        (("limits.example/v1", "Limit"), [definition("Cluster")], False),
    ],
)
def test_scopes_are_those_of_the_catalog_of_kubernetes_of_definitions_and_of_objects(
    kind: tuple[str, str], objects: list[dict[str, Any]], namespaced: bool
) -> None:
    param_kind = ParamKind(apiVersion=kind[0], kind=kind[1])
    assert Offline(LOADED, objects).is_namespaced(param_kind) is namespaced


def test_definitions_beside_the_policies_say_what_their_kinds_are_like() -> None:
    limits = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    schema = {"type": "object", "properties": {"limits": limits, "most": {"type": "integer", "default": 3}}}
    crd = definition("Namespaced")
    crd["metadata"]["name"] = "limits.limits.example"
    crd["spec"]["names"] |= {"plural": "limits", "singular": "limit"}
    crd["spec"]["versions"] = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    mutation = {"expression": "Object{limits: ['b']}"}
    policies = load(
        policy("p", mutating=True, mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": mutation}]),
        binding("p", mutating=True),
    )
    obj = {**LIMIT, "limits": ["a"]}
    request = Request(GroupVersionKind("limits.example", "v1", "Limit"), "limits", "CREATE", obj, namespace="ns")
    found = policies.mutate(request, Offline(LOADED, [crd]))
    assert (found.denials, found.object) == ((), {**LIMIT, "limits": ["a", "b"], "most": 3})
    crd["spec"]["versions"][0]["storage"] = False  # no definition any more
    assert not policies.mutate(request, Offline(LOADED, [crd])).allowed


@pytest.mark.parametrize(
    ("obj", "where"),
    [
        (an_object("v1", "ConfigMap"), "default"),
        (an_object("v1", "ConfigMap", namespace="ns"), "ns"),
        (an_object("ome.io/v1beta1", "ClusterBaseModel"), ""),
        (LIMIT, ""),
    ],
)
def test_an_object_that_names_no_namespace_is_where_kubectl_would_put_it(obj: dict[str, Any], where: str) -> None:
    context = Offline(LOADED, [obj])
    kind = ParamKind(apiVersion=obj["apiVersion"], kind=obj["kind"])
    found = context.param(kind, where, "a")
    assert found is not None
    assert found["metadata"].get("namespace", "") == where
    assert context.params(kind, where, ALL) == [found]
    assert context.params(kind, "elsewhere", ALL) == []


def test_a_namespace_is_what_its_object_says_or_what_is_assumed() -> None:
    named = {"kubernetes.io/metadata.name": "a"}
    given = [an_object("v1", "Namespace", labels={"tier": "gold"})]
    for assume in (False, True):
        found = Offline(LOADED, given, assume=assume).namespace("a")
        assert found is not None
        assert found["metadata"]["labels"] == {"tier": "gold", **named}
    assert Offline(LOADED, given).namespace("b") is None
    assumed = Offline(LOADED, assume=True).namespace("a")
    assert assumed is not None
    assert assumed["metadata"]["labels"] == named


def with_version(version: str) -> Catalog:
    """The catalog with another version of Models."""
    gvk = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
    other = gvk._replace(version=version)
    return Catalog(Kinds({**LOADED.kinds, other: replace(LOADED.kinds[gvk], gvk=other)}), "digest")


@pytest.mark.parametrize(("match_policy", "allowed"), [("Equivalent", False), ("Exact", True)])
def test_a_rule_of_one_version_is_about_all_unless_it_says_otherwise(match_policy: str, allowed: bool) -> None:
    rule = {
        "apiGroups": ["inference.llmkube.dev"],
        "apiVersions": ["v1alpha1"],
        "operations": ["*"],
        "resources": ["models"],
    }
    constraints = {"resourceRules": [rule], "matchPolicy": match_policy}
    said = [{"expression": "object.apiVersion != 'inference.llmkube.dev/v1alpha1'"}]
    policies = load(policy("p", validations=said, matchConstraints=constraints), binding("p"))
    kind = GroupVersionKind("inference.llmkube.dev", "v1", "Model")
    request = Request(kind, "models", "CREATE", an_object("inference.llmkube.dev/v1", "Model"), name="a")
    context = Offline(with_version("v1"))
    assert policies.validate(request, context).allowed is allowed
    names = [each.resource for each in context.equivalents(GroupVersionResource(kind.group, "v1", "models"), "status")]
    assert {each.version for each in names} == {"v1", "v1alpha1"}
    assert context.equivalents(GroupVersionResource(kind.group, "v1", "models"), "scale") == ()
