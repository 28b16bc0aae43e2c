"""A definition of another release: objects are judged by it, and the rules whose fields are not there step aside."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.definitions import GROUPS, definitions
from tests.kinds import known_kind
from tests.shared import ROOT, shared
from webhook import catalog, engine
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.catalog import Catalog, with_installed
from webhook.cli.cases import Case, CasesDocument
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import in_cluster, review
from webhook.manifests.folders import read_all
from webhook.policy import Profile

Json = dict[str, Any]
TEXT = {"type": "string"}


def changed(kind: str, change: Callable[[Json], object]) -> Json:
    """Our definition of a kind with a change of its specification; of two kinds of a name, OME's is the last."""
    api, _, name = kind.rpartition("/")
    named = [each["spec"] for each in definitions()]
    group = GROUPS[api] if api else [each["group"] for each in named if each["names"]["kind"] == name][-1]
    found = (each for each in definitions() if (each["spec"]["group"], each["spec"]["names"]["kind"]) == (group, name))
    document = deepcopy(next(found))
    change(document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"])
    return document


def a_later_aim(spec: Json) -> None:
    """The AIMService after the release of the document: the model is named otherwise, and so is the path."""
    properties = spec["properties"]
    del properties["aimImageName"]
    properties["model"] = {"type": "object", "properties": {"ref": TEXT, "image": TEXT}}
    properties["kvCache"] = {"type": "object", "properties": {"type": TEXT}}
    routing = properties["routing"]["properties"]
    routing["pathTemplate"] = routing.pop("routeTemplate")
    spec["required"] = ["model"]


def with_prefetch(spec: Json) -> None:
    """The Model of a later LLMKube, which reads from S3."""
    spec["properties"]["prefetch"] = {"type": "boolean"}
    spec["properties"]["source"]["pattern"] = "^.*$"


def decided(catalog: Catalog, kind: str, spec: Json, *others: Json, profile: Profile = Profile.STRICT) -> Decision:
    """The decision about a new object, as the API server gets it: the last object, with every finding."""
    known = known_kind(kind, catalog)
    head = {"apiVersion": f"{known.gvk.group}/{known.gvk.version}", "kind": known.gvk.kind}
    obj = {**head, "metadata": {"name": "a", "namespace": "n"}, "spec": spec}
    request = Request(known.gvk, known.plural, "CREATE", obj, name="a", namespace="n")
    options, view = Options(profile, strict_fields=True), MemoryView(others)
    filled = engine.mutate(request, catalog, view, options).object
    return engine.validate(Request(known.gvk, known.plural, "CREATE", filled, name="a"), catalog, view, options)


def test_the_catalogs_own_definitions_change_nothing(loaded: Catalog) -> None:
    same, deviations = with_installed(loaded, definitions())
    assert same is loaded
    assert not deviations


def test_what_is_valid_by_the_installed_definition_is_accepted(loaded: Catalog) -> None:
    later, deviations = with_installed(loaded, [changed("AIMService", a_later_aim)])
    spec = {"model": {"ref": "llama"}, "routing": {"pathTemplate": "/{.metadata.name"}}
    assert not decided(loaded, "AIMService", spec).allowed
    decision = decided(later, "AIMService", spec)
    assert decision.allowed
    assert [str(each) for each in decision.warnings] == []
    (deviation,) = deviations
    assert deviation.lost == ("spec.aimImageName", "spec.routing.routeTemplate")
    assert deviation.new == ("spec.kvCache", "spec.model", "spec.routing.pathTemplate")
    assert {"AI202", "AI209", "AI307", "AI402"} <= set(deviation.aside)
    assert not {"AI204", "AI208"} & set(deviation.aside)
    assert str(deviation).startswith(
        "the installed definition of AIMService.v1alpha1.aim.silogen.ai differs from Modelgate's: without "
        "spec.aimImageName, spec.routing.routeTemplate; also with spec.kvCache, spec.model, spec.routing.pathTemplate; "
        "rules not applied: "
    )


def test_what_the_installed_definition_refuses_is_refused(loaded: Catalog) -> None:
    later, _ = with_installed(loaded, [changed("AIMService", a_later_aim)])
    causes = {str(cause) for cause in decided(later, "AIMService", {"aimImageName": "llama"}).causes}
    remark = "the definition of AIM 0.2.0-rc1 has it, the installed one does not"
    assert causes == {"spec.model: Required value", f"spec.aimImageName: unknown field; {remark}"}


def test_rules_about_fields_that_are_the_same_stay(loaded: Catalog) -> None:
    later, _ = with_installed(loaded, [changed("AIMService", a_later_aim)])
    decision = decided(later, "AIMService", {"model": {}, "replicas": -1, "runtimeConfigName": "A B"})
    assert {cause.code for cause in decision.causes} == {"AI208", "AI204"}


def test_an_update_under_another_definition_is_spared_what_it_leaves_and_the_rules_aside_are_logged(
    loaded: Catalog,
) -> None:
    later, _ = with_installed(loaded, [changed("Model", with_prefetch)])
    known = known_kind("Model", later)
    head = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "a", "namespace": "n"},
    }
    old = {**head, "spec": {"source": "s3://bucket/model.gguf", "hardware": {"memoryFraction": 1.5}}}
    new = {**head, "spec": {**old["spec"], "prefetch": True}}
    asked = Request(known.gvk, known.plural, "UPDATE", new, old, name="a", namespace="n")
    decision = engine.validate(asked, later, MemoryView(), Options(Profile.STRICT))
    assert decision.causes == ()
    assert "LK223" in {warning.code for warning in decision.warnings}
    assert "LK201" in decision.audit["aside"].split(",")


def test_a_rule_about_a_value_that_is_accepted_there_alone_is_not_applied(loaded: Catalog) -> None:
    later, deviations = with_installed(loaded, [changed("Model", with_prefetch)])
    unsure, deviation = (each for each in deviations if each.kind.kind == "Model")
    assert unsure.release == "the release of LLMKube is not known (set releases.llmkube)"
    spec = {"source": "s3://bucket/model.gguf", "prefetch": True}
    assert not decided(loaded, "Model", spec, profile=Profile.STANDARD).allowed
    assert decided(later, "Model", spec).allowed
    assert deviation.widened == ("spec.source",)


def test_a_later_release_accepts_all_eight_precisions(loaded: Catalog) -> None:
    spec = {"model": {}, "overrides": {"precision": "auto"}}
    later, _ = with_installed(loaded, [changed("AIMService", a_later_aim)])
    assert decided(later, "AIMService", spec).allowed
    causes = decided(loaded, "AIMService", {"aimImageName": "a", "overrides": {"precision": "auto"}}).causes
    assert "AI302" in {cause.code for cause in causes}


def test_a_rule_with_many_places_is_named_once(loaded: Catalog) -> None:
    def without_components(spec: Json) -> None:
        for component in ("engineConfig", "decoderConfig", "routerConfig"):
            del spec["properties"][component]

    _, deviations = with_installed(loaded, [changed("ServingRuntime", without_components)])
    (runtime,) = (each for each in deviations if each.kind.kind == "ServingRuntime")
    assert runtime.aside.count("OM375") == 1


def test_rules_that_read_another_kind_step_aside_where_that_kind_differs(loaded: Catalog) -> None:
    later, deviations = with_installed(
        loaded, [changed("AIMServiceTemplate", lambda spec: spec["properties"].pop("aimImageName"))]
    )
    service = next(each for each in deviations if each.kind.kind == "AIMService")
    assert not service.changed
    assert "AI404" in service.aside
    assert "rules not applied, because the kinds that they read differ: AI" in str(service)
    template = {"model": "x"}
    view = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMServiceTemplate", "spec": template}
    named = {**view, "metadata": {"name": "t", "namespace": "n"}}
    assert decided(later, "AIMService", {"aimImageName": "llama", "templateRef": "t"}, named).allowed


def test_defaults_set_only_fields_of_the_installed_definition(loaded: Catalog) -> None:
    def without_resource_name(spec: Json) -> None:
        gpu = spec["properties"]["hardware"]["properties"]["gpu"]
        del gpu["properties"]["resourceName"], gpu["x-kubernetes-validations"]

    older, deviations = with_installed(loaded, [changed("Model", without_resource_name)])
    spec = {"source": "pvc://claim/m.gguf", "hardware": {"gpu": {"count": 1}}}
    assert "resourceName" in gpu_of(decided(loaded, "Model", spec))
    decision = decided(older, "Model", spec, profile=Profile.STANDARD)
    assert decision.allowed
    assert "resourceName" not in gpu_of(decision)
    assert {"LK102", "LK103"} <= {code for each in deviations for code in each.aside}


def test_a_default_that_the_installed_definition_refuses_is_not_set(loaded: Catalog) -> None:
    def ours_only(spec: Json) -> None:
        spec["properties"]["hardware"]["properties"]["gpu"]["properties"]["resourceName"]["pattern"] = "^example.com/"

    narrower, _ = with_installed(loaded, [changed("Model", ours_only)])
    decision = decided(
        narrower, "Model", {"source": "pvc://claim/m.gguf", "hardware": {"gpu": {"count": 1}}}, profile=Profile.STANDARD
    )
    assert decision.allowed
    assert "resourceName" not in gpu_of(decision)


def gpu_of(decision: Decision) -> Json:
    assert decision.object is not None
    gpu: Json = decision.object["spec"]["hardware"]["gpu"]
    return gpu


def test_a_structure_from_another_object_is_filled_in_without_the_fields_that_are_not_there(loaded: Catalog) -> None:
    def older(spec: Json) -> None:
        del spec["properties"]["engine"]["properties"]["maxReplicas"]

    judged, _ = with_installed(loaded, [changed("InferenceService", older)])
    spec = {"predictor": {"model": {"baseModel": "m"}, "minReplicas": 1, "maxReplicas": 2}}
    model = {"apiVersion": "ome.io/v1beta1", "kind": "ClusterBaseModel", "metadata": {"name": "m"}, "spec": {}}
    ours = decided(loaded, "InferenceService", spec, model).object
    theirs = decided(judged, "InferenceService", spec, model).object
    assert ours is not None
    assert theirs is not None
    assert ours["spec"]["engine"]["maxReplicas"] == 2
    assert "maxReplicas" not in theirs["spec"].get("engine", {})


def test_a_rule_that_takes_a_field_for_granted_does_not_fail_where_it_is_optional(loaded: Catalog) -> None:
    def optional(spec: Json) -> None:
        del spec["properties"]["routing"]["properties"]["gatewayRef"]["required"]
        del spec["properties"]["env"]["items"]["required"]
        spec["properties"]["env"].pop("x-kubernetes-list-type")
        spec["properties"]["env"].pop("x-kubernetes-list-map-keys")

    looser, _ = with_installed(loaded, [changed("AIMService", optional)])
    assert decided(looser, "AIMService", {"aimImageName": "a", "env": [{}]}, profile=Profile.STANDARD).allowed


def test_a_version_that_is_not_served_is_no_longer_known(loaded: Catalog) -> None:
    document = changed("Model", lambda _: None)
    document["spec"]["versions"][0]["name"] = "v1beta1"
    later, deviations = with_installed(loaded, [document])
    (deviation,) = (each for each in deviations if each.kind.kind == "Model")
    assert later.find(GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")) is None
    assert "does not serve this version: its objects are not checked" in str(deviation)


@pytest.mark.parametrize("spec", [None, [], "x", {"names": None}, {"names": []}, {"group": 1, "names": {"kind": 2}}])
def test_other_documents_are_ignored(loaded: Catalog, spec: Any) -> None:
    assert with_installed(loaded, [{"spec": spec}, {}]) == (loaded, ())


@pytest.mark.parametrize("versions", [None, [], 3, [None], [{"name": "v1alpha1", "schema": {"openAPIV3Schema": 3}}]])
@pytest.mark.parametrize("trusted", [True, False])
def test_a_definition_that_cannot_be_read_leaves_the_catalogs(loaded: Catalog, versions: Any, trusted: bool) -> None:
    document = changed("Model", lambda _: None)
    document["spec"]["versions"] = versions
    kept, deviations = with_installed(loaded, [document], trusted=trusted)
    known = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
    assert kept.find(known) is loaded.find(known) or versions == []
    (deviation,) = (each for each in deviations if each.kind.kind == "Model")
    assert deviation.error or deviation.unserved


def test_the_digest_names_the_definitions(loaded: Catalog) -> None:
    one, _ = with_installed(loaded, [changed("Model", with_prefetch)])
    again, _ = with_installed(loaded, [changed("Model", with_prefetch)])
    other, _ = with_installed(loaded, [changed("AIMService", a_later_aim)])
    assert one.digest == again.digest
    assert len({loaded.digest, one.digest, other.digest}) == 3


REFUSED = {
    "aim/a5ef626b": {57},  # without resources, which that release does not ask for and its definition does
    "aim/doc-revision": set(),
    "llmkube/0.9.19": set(),
    "llmaz/main": {25},  # a field that the definition does not have
}


@pytest.mark.parametrize("folder", REFUSED)
def test_upstreams_samples_are_accepted_with_upstreams_definitions(loaded: Catalog, folder: str) -> None:
    found = shared("upstream-crds", folder.partition("/")[0])
    definitions = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in sorted(found.glob("*.yaml"))]
    catalog, _ = with_installed(loaded, definitions)
    given = read_all([shared("samples", *folder.split("/"))])
    view = MemoryView(list(in_cluster(given, catalog)))
    options = Options(strict_fields=True)
    reviews = [review(each, catalog, view, options) for each in given]
    assert {each.document.line for each in reviews if not each.validation.allowed} == REFUSED[folder]


def test_with_the_definitions_of_ome_only_references_are_refused_in_its_samples(loaded: Catalog) -> None:
    found = shared("upstream-crds", "ome")
    definitions = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in sorted(found.glob("*.yaml"))]
    catalog, deviations = with_installed(loaded, definitions)
    given = read_all([shared("samples", "ome", "doc-era")])
    options = Options(strict_fields=True, references=False)
    refused = [
        each for each in (review(each, catalog, MemoryView(), options) for each in given) if each.validation.causes
    ]
    assert refused == []
    assert not any(each.aside for each in deviations)
    service = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
    ours, theirs = (
        {(rule.code, str(rule.at)) for rule in each.kinds[service].policy.validations} for each in (loaded, catalog)
    )
    assert ours == theirs


def removals() -> list[tuple[str, str]]:
    """Each field of the specification of each kind without pods in it."""
    found = (
        (f"{api}/{each['spec']['names']['kind']}", spec_of(each))
        for each in definitions()
        for api, group in GROUPS.items()
        if group == each["spec"]["group"] != "ome.io"
    )
    return [(kind, name) for kind, spec in found for name in spec["properties"]]


def spec_of(document: Json) -> Json:
    spec: Json = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


@cache
def cases_of(file: Path) -> list[Case]:
    return CasesDocument.model_validate(yaml.load(file.read_text(), Loader=yaml.CSafeLoader)).cases


@pytest.mark.parametrize(("kind", "name"), removals())
def test_a_field_that_is_not_there_is_neither_set_nor_named(loaded: Catalog, kind: str, name: str) -> None:
    def without(spec: Json) -> None:
        del spec["properties"][name]
        spec.pop("x-kubernetes-validations", None)
        spec["required"] = [each for each in spec.get("required", ()) if each != name]

    judged, _ = with_installed(loaded, [changed(kind, without)])
    api, _, named = kind.partition("/")
    file = ROOT / "policies" / api / "cases" / f"{named.lower()}.yaml"
    for case in [each for each in cases_of(file) if each.spec][:6]:
        if isinstance(case.spec, dict):
            spec = {key: value for key, value in case.spec.items() if key != name}
            decision = decided(judged, kind, spec, *case.others)
            assert decision.object is not None
            assert name not in decision.object["spec"]
            fields = [finding.field for finding in (*decision.causes, *decision.warnings)]
            assert not [each for each in fields if each == f"spec.{name}" or each.startswith(f"spec.{name}.")]


@pytest.mark.parametrize(
    ("change", "model", "expected"),
    [
        (lambda properties: properties.pop("modelName"), "other", {"AE401", "AE404"}),
        (lambda properties: properties["modelName"].update(minLength=0), "", {"AE401", "AE404"}),
        (lambda properties: properties["modelName"].update(minLength=0), "other", set()),
    ],
    ids=["the field is gone", "a value that was not valid", "a value that was valid"],
)
def test_a_reference_of_a_pack_is_a_fact_that_other_definitions_hide(
    change: Callable[[Json], object], model: str, expected: set[str]
) -> None:
    pack = ROOT / "packs" / "aim-engine"
    documents = [
        yaml.load((pack / "crds" / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader)
        for name in ("aimservices", "aimservicetemplates")
    ]
    spec = documents[1]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    change(spec["properties"])
    later, deviations = with_installed(catalog.load(packs=[pack]), documents)
    template = {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMServiceTemplate",
        "metadata": {"name": "t", "namespace": "n"},
        "spec": {"modelName": model},
    }
    kind = GroupVersionKind("aim.eai.amd.com", "v1alpha1", "AIMService")
    obj = {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": kind.kind,
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"model": {"name": "m"}, "template": {"name": "t"}},
    }
    decision = engine.validate(
        Request(kind, "aimservices", "CREATE", obj, name="a"), later, MemoryView([template]), Options(Profile.STRICT)
    )
    aside = {code for each in deviations if each.kind == kind for code in each.aside}
    aside |= {*decision.audit.get("aside", "").split(",")} - {""}
    assert aside == expected
    assert not any("not judged" in each.message for each in decision.warnings), "no object is out of sight"
    assert ("AE404" in {each.code for each in (*decision.causes, *decision.warnings)}) == (not expected)
