"""What `modelgate export` prints, evaluated by the API server itself, against what the gate does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import models
from tests.e2e.client import Client, Reply, connected
from tests.e2e.crds import install_crds
from tests.e2e.gate import PROFILE, STAMP
from tests.e2e.kubectl import Kubectl, Object
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from tests.e2e.recipes import KUBERNETES
from tests.policies.test_cases import files, read, target
from tests.shared import ROOT, SHARED
from webhook.admission.stamp import UNSTAMPED
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import run as run_case
from webhook.engine import KUBERNETES_CODES
from webhook.engine.filling.defaulting import QUANTITY
from webhook.library.apiserver import read_definitions
from webhook.manifests import documents
from webhook.policy.export import left_out
from webhook.schema import CRD, load_crd

CODE = re.compile(r"\b[A-Z]{2}[0-5]\d\d\b")
NEEDS_1_36 = pytest.mark.skipif(
    int(KUBERNETES.split(".")[1]) < 36, reason=f"MutatingAdmissionPolicy v1 is not in Kubernetes {KUBERNETES}"
)
SENTINEL = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sentinel"}}


@dataclass(frozen=True, slots=True)
class Question:
    """An object that is sent: a new one, or in place of ``old``."""

    name: str
    known: KnownKind
    obj: Object
    old: Object | None = None


@pytest.fixture(scope="module")
def asked(loaded) -> list[Question]:
    return list(questions(loaded))


@pytest.fixture
def client(plane) -> Iterator[Client]:
    with connected(plane.kubeconfig) as client:
        yield client


def questions(loaded: Catalog) -> Iterator[Question]:
    """Every object of a case, and every sample of LLMKube; stored ones under names that no other has.

    Objects with a fraction for a quantity are left out: exported policies leave them as they are.
    """
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                result = run_case(case, known, loaded)
                request = result.request
                if any(each.because == QUANTITY for each in result.mutation.defaults):
                    continue  # no default: only the gate does it
                if request.old_object is None:
                    yield Question(case.name, known, placed(request.object, known))
                else:
                    name = re.sub(r"[^a-z0-9]+", "-", case.name.lower())[:50].strip("-")
                    obj, old = (placed(each, known, name) for each in (request.object, request.old_object))
                    yield Question(case.name, known, obj, old)
    model = next(known for known in loaded.kinds.values() if known.gvk.kind == "Model")
    head = {"apiVersion": f"{model.gvk.group}/{model.gvk.version}", "kind": "Model", "metadata": {"name": "sample"}}
    for file in sorted(SHARED.joinpath("samples", "llmkube").rglob("*.yaml")):
        for each in documents.read(file):
            yield Question(f"{file.name}:{each.line}", model, placed({**head, "spec": each.value.get("spec")}, model))


def placed(obj: Object, known: KnownKind, name: str = "") -> Object:
    """The object in a namespace that there is, without what only the gate writes."""
    metadata = dict(obj.get("metadata") or {"name": "case"})
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and STAMP in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != STAMP}
    metadata |= {"namespace": "default"} if known.namespaced else {}
    metadata |= {"name": name} if name else {}
    return {**obj, "metadata": metadata}


@NEEDS_1_36
def test_native_policies_decide_and_store_as_the_gate_does(plane, gate, client, asked):
    """Every case of every kind, new and updated: the same verdict, the same object stored, the same warnings."""
    exported = run_export("policies", f"--profile={PROFILE}")
    with gate.absent():
        versions = store(client, asked)
    ours = answers(client, asked, versions)
    with gate.absent(), installed(plane.kubectl, exported):
        native = answers(client, asked, versions)
        assert type_warnings(plane.kubectl, exported) == {}
    for each in asked:
        if each.old:
            client.delete(each.known, each.old)
    different = {}
    compared = dict.fromkeys(("stored", "refused", "updated"), 0)
    for each, our, their in zip(asked, ours, native, strict=True):
        if our is None or their is None:
            continue
        outcome = compare(each, our, their)
        if isinstance(outcome, str):
            compared[outcome] += 1
            compared["updated"] += each.old is not None
        elif outcome is not None:
            different[f"{each.known.gvk.kind}: {each.name}"] = outcome
    assert different == {}
    assert compared["stored"] > 450
    assert compared["refused"] > 300
    assert compared["updated"] > 30


def store(client: Client, asked: list[Question]) -> dict[str, str]:
    """Store the old objects, but those that the API server itself refuses: name → resourceVersion."""
    stored = {}
    for each in asked:
        if each.old and (reply := client.create(each.known, each.old, dry=False)).accepted:
            stored[each.old["metadata"]["name"]] = reply.body["metadata"]["resourceVersion"]
    return stored


def answers(client: Client, asked: list[Question], versions: dict[str, str]) -> list[Reply | None]:
    """The answers to dry runs; None where there is nothing stored to be updated."""
    found: list[Reply | None] = []
    for each in asked:
        if each.old is None:
            found.append(client.create(each.known, each.obj))
        elif version := versions.get(each.obj["metadata"]["name"]):
            metadata = {**each.obj["metadata"], "resourceVersion": version}
            found.append(client.update(each.known, {**each.obj, "metadata": metadata}))
        else:
            found.append(None)
    return found


def compare(asked: Question, ours: Reply, native: Reply) -> Any:
    """What is the same in both answers; or both of them; or nothing, where the gate's own rules had a say."""
    if asked.old and ours.accepted and not native.accepted and is_tolerated(ours.body):
        return None  # only the stamp tells what was filled in just now from what the user changed
    replaced = {rule.code for rule in asked.known.policy.defaults}  # the gate tells what it has replaced
    gates = {*left_out(asked.known.policy), *KUBERNETES_CODES}
    refused_for = codes(ours.body.get("message", ""))
    if refused_for and refused_for <= gates:
        return None
    if not ours.accepted or not native.accepted:
        same = ours.accepted == native.accepted and codes(native.body["message"]) <= refused_for
        return "refused" if same else (ours.body, native.body)
    paths = {str(rule.path) for rule in asked.known.policy.defaults if rule.code in gates}
    if paths & json.loads(ours.body["metadata"]["annotations"][STAMP])["defaulted"].keys():
        return None
    # Native policies say nothing of what they tolerate.
    warnings = [text for text in ours.warnings if "not refused, because this update" not in text]
    ours_warned = codes(" ".join(text for text in warnings if not text.startswith(UNSTAMPED)))
    native_warned = codes(" ".join(native.warnings))
    same = content(ours.body) == content(native.body) and ours_warned - gates - replaced == native_warned
    return "stored" if same else (content(ours.body), ours.warnings, content(native.body), native.warnings)


def is_tolerated(obj: Object) -> bool:
    """Whether the gate filled something in, and let be what was wrong before."""
    stamp = json.loads(obj["metadata"]["annotations"][STAMP])
    return bool(stamp["defaulted"]) and not stamp["spec"]


def codes(text: str) -> set[str]:
    return set(CODE.findall(text))


def content(obj: Object) -> Any:
    """What is stored of an object, but for the stamp, and a time that is the request's own."""
    metadata = obj["metadata"]
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != STAMP}
    spec = dict(obj.get("spec", {}))
    if spec.get("createdAt") in {each["time"] for each in metadata.get("managedFields", ())}:
        spec["createdAt"] = "now"
    return spec, metadata.get("labels", {}), annotations


@contextmanager
def installed(kubectl: Kubectl, exported: list[Object]) -> Iterator[None]:
    """The policies in effect, which those are that were made last: so all are."""
    everything = [*exported, *sentinels()]
    policies = [each for each in everything if not each["kind"].endswith("Binding")]
    bindings = [each for each in everything if each["kind"].endswith("Binding")]
    kubectl.send_all("create", policies)
    try:
        kubectl.send_all("create", bindings)
        wait_until(lambda: in_effect(kubectl), "the policies to be in effect")
        yield
    finally:
        for each in (*bindings, *policies):
            kubectl("delete", each["kind"], each["metadata"]["name"], "--ignore-not-found", "--wait=false")


def sentinels() -> Iterator[Object]:
    """Policies that show themselves on one ConfigMap."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    constraints = {"resourceRules": [{**rule, "resourceNames": ["sentinel"]}]}
    never = [{"expression": "false", "message": "validated"}]
    labelled = 'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}'
    mutation = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labelled}}]
    validating: Object = {"validations": never}
    mutating: Object = {"mutations": mutation, "reinvocationPolicy": "Never"}
    for sort, spec, more in (("Validating", validating, {"validationActions": ["Warn"]}), ("Mutating", mutating, {})):
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "sentinel"}}
        yield {**head, "kind": f"{sort}AdmissionPolicy", "spec": {"matchConstraints": constraints, **spec}}
        yield {**head, "kind": f"{sort}AdmissionPolicyBinding", "spec": {"policyName": "sentinel", **more}}


def in_effect(kubectl: Kubectl) -> bool:
    done = kubectl.run("create", "-f", "-", "--dry-run=server", "-o=json", stdin=json.dumps(SENTINEL))
    return "validated" in done.err and '"mutated"' in done.out


def type_warnings(kubectl: Kubectl, exported: list[Object]) -> dict[str, Any]:
    """What the controller of the policies' status says of each, once it has looked at all."""
    names = {each["metadata"]["name"] for each in exported if each["kind"] == "ValidatingAdmissionPolicy"}

    def statuses() -> dict[str, Any]:
        items = kubectl.json("get", "validatingadmissionpolicies")["items"]
        found = {each["metadata"]["name"]: each.get("status", {}) for each in items}
        return found if all(found[name].get("observedGeneration") for name in names) else {}

    checked = wait_until(statuses, "the policies to be type-checked")
    return {name: found for name in names if (found := checked[name].get("typeChecking"))}


def run_export(*arguments: str) -> list[Object]:
    done = subprocess.run(modelgate("export", *arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader))


@NEEDS_1_36
def test_the_policies_of_packs_are_taken_too(plane, gate):
    """Each name once: with ``create``, a second document of a name is refused."""
    packs = sorted((ROOT / "packs").iterdir())
    exported = run_export("policies", f"--profile={PROFILE}", *[f"--policies={folder}" for folder in packs])
    definitions_of_packs = [each for folder in packs for each in read_definitions([folder / "crds"])]
    with gate.absent():
        plane.kubectl.send_all("create", [each.value for each in definitions_of_packs])
        try:
            with installed(plane.kubectl, exported):
                assert type_warnings(plane.kubectl, exported) == {}
        finally:
            for each in definitions_of_packs:
                plane.kubectl("delete", "crd", each.value["metadata"]["name"])


def test_exported_crds_are_accepted_and_enforced(plane, gate, client, loaded, asked):
    """All kinds at once; then, of each that has rules a CRD can hold, an object of a case that breaks one."""
    plain = definitions("--profile=audit")  # under which nothing denies
    strict = definitions("--profile=strict")
    rules = {kind: load_crd(crd, trusted=True) for kind, crd in strict.items()}
    broken = {named(each.known): (each, code) for each in asked if (code := broken_rule(each, rules))}
    with_rules = {kind for kind, crd in strict.items() if crd != plain[kind]}
    for known in loaded.kinds.values():
        kind, twin = named(known), named(known).removeprefix("Cluster")
        if kind in with_rules - broken.keys():
            other, code = broken[twin]
            broken[kind] = replace(other, known=known, obj={**other.obj, "kind": known.gvk.kind}), code
    assert len(plain) == len(loaded.kinds)
    assert broken.keys() == with_rules

    def refusals() -> list[str]:
        """The texts of those that are refused for the rule."""
        found = ((code, client.create(each.known, each.obj).body.get("message", "")) for each, code in broken.values())
        return [text for code, text in found if code in text]

    with gate.absent():
        plane.kubectl.send_all("replace", list(strict.values()))
        try:
            wait_until(lambda: len(refusals()) == len(broken), "all rules to be in effect")
        finally:
            plane.kubectl.send_all("replace", list(plain.values()))
        wait_until(lambda: not refusals(), "the rules to be gone")


def definitions(*flags: str) -> dict[str, Object]:
    return {f"{crd['spec']['names']['kind']}.{crd['spec']['group']}": crd for crd in run_export("crd", *flags)}


def named(known: KnownKind) -> str:
    return f"{known.gvk.kind}.{known.gvk.group}"


def broken_rule(asked: Question, crds: dict[str, CRD]) -> str:
    """The code of a rule, in the CRD of a kind, that a new object breaks, and nothing else."""
    known = asked.known
    if asked.old is not None or known.schema.check(known.schema.decode(asked.obj).object).errors:
        return ""
    ruled = crds[named(known)].versions[known.gvk.version].schema
    errors = ruled.check(ruled.decode(asked.obj).object).errors
    return next(iter(CODE.findall(errors[0].detail)), "") if errors else ""


@pytest.fixture(scope="module")
def static(plane_assets, tmp_path_factory, loaded) -> Iterator[Plane]:
    """A control plane that reads the exported manifests at its start, from a folder for each sort of policy."""
    folder = tmp_path_factory.mktemp("static")
    plugins = [admission_plugin(folder / sort, sort) for sort in ("Validating", "Mutating")]
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    (folder / "admission.yaml").write_text(yaml.safe_dump({**head, "plugins": plugins}))
    flags = [
        "--feature-gates=ManifestBasedAdmissionControlConfig=true",
        f"--admission-control-config-file={folder / 'admission.yaml'}",
    ]
    with Plane(plane_assets, flags=flags) as plane:
        install_crds(plane.kubectl, "llmkube")
        # Until mutating policies have read the schema of a new kind, the API server answers 503, whatever it is asked.
        unavailable = HTTPStatus.SERVICE_UNAVAILABLE
        wait_until(lambda: asked_about_models(plane, loaded)[0].code != unavailable, "the schema to be read")
        yield plane


def admission_plugin(folder: Path, sort: str) -> Object:
    """The configuration of a sort of policies, whose manifests are in a folder."""
    folder.mkdir()
    exported = run_export("static", f"--only={sort.lower()}", f"--profile={PROFILE}")
    (folder / "modelgate.yaml").write_text(yaml.safe_dump_all(exported))
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": f"{sort}AdmissionPolicyConfiguration"}
    return {"name": f"{sort}AdmissionPolicy", "configuration": {**head, "staticManifestsDir": str(folder)}}


POLICIES = (
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
)


@NEEDS_1_36
def test_static_manifests_are_read_by_the_api_server_at_its_start(static, loaded):
    """Manifest-based admission: in effect before a user can delete it."""
    accepted, refused = asked_about_models(static, loaded)
    assert accepted.body["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"
    assert codes(refused.body["message"])
    assert static.kubectl.json("get", ",".join(POLICIES))["items"] == []


@NEEDS_1_36
def test_what_an_administrator_deletes_through_the_api_does_not_reach_static_manifests(static, loaded):
    """The webhook configurations and all policies go; the API has no object with the name of a manifest."""
    static.kubectl("delete", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--all")
    for resource, exported in by_resource(run_export("static", f"--profile={PROFILE}")).items():
        static.kubectl("delete", resource, "--all")
        refusal = static.kubectl.run("delete", resource, exported[0])
        assert refusal.code, exported
        assert "not found" in refusal.err.lower(), refusal.err
    accepted, refused = asked_about_models(static, loaded)
    assert accepted.body["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"
    assert codes(refused.body["message"])


@NEEDS_1_36
def test_an_object_of_the_api_takes_no_name_of_a_static_manifest(static):
    """A weaker policy, or a binding that only warns, cannot take the place of a manifest."""
    weaker = {each["kind"]: each for each in run_export("static", "--profile=audit")}
    for each in weaker.values():
        assert "static.k8s.io" in static.kubectl.refusal("create", each)


def by_resource(exported: list[Object]) -> dict[str, list[str]]:
    """The names of exported objects, by the resource that they would be."""
    found: dict[str, list[str]] = {resource: [] for resource in POLICIES}
    for each in exported:
        kind = each["kind"].lower()
        found[f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"].append(each["metadata"]["name"])
    return found


def asked_about_models(plane: Plane, loaded: Catalog) -> tuple[Reply, Reply]:
    """The answers to dry runs about a good Model and about a bad one."""
    known = next(known for known in loaded.kinds.values() if known.gvk.kind == "Model")
    with connected(plane.kubeconfig) as client:
        good, bad = placed(models.model("good"), known), placed(models.bad_model("bad"), known)
        return client.create(known, good), client.create(known, bad)
