"""What is exported is what a cluster accepts, and says the same as the gate."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import crds
from tests.crds import spec_schema
from tests.policies.test_cases import files, read, target
from tests.shared import ROOT
from webhook import catalog
from webhook.admission.decision import Request
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind
from webhook.cel import CompileFailure
from webhook.cel.types import DYN, Type
from webhook.cli import main
from webhook.cli.cases import CaseResult
from webhook.cli.cases import run as run_case
from webhook.manifests.documents import Document
from webhook.policy import Profile
from webhook.policy.export import left_out
from webhook.policy.releases import OLDEST, Release
from webhook.schema import load_crd
from webhook.schema.node import build, distinct
from webhook.schema.rules.compile import rule_environment
from webhook.vap import MemoryContext, NativePolicies
from webhook.vap.environments import admission_environment, with_variables

CODE = re.compile(r"\b[A-Z]{2}[0-5]\d\d\b")
BETA = "--feature-gates=MutatingAdmissionPolicy=true --runtime-config=admissionregistration.k8s.io/v1beta1=true"
PACKS = [f"--policies={folder}" for folder in sorted((ROOT / "packs").iterdir())]
STATIC = "--feature-gates=ManifestBasedAdmissionControlConfig=true"


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert main(["export", *arguments]) == 0
    return list(yaml.load_all(capsys.readouterr().out, Loader=yaml.CSafeLoader))


def test_every_policy_has_a_binding_and_its_rules_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(capsys, "policies", "model", "--profile", "strict")
    kinds = [item["kind"] for item in found]
    assert kinds == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    deny, binding = found[2:4]
    assert binding["spec"] == {"policyName": deny["metadata"]["name"], "validationActions": ["Deny"]}
    assert all("LK2" in rule["message"] or "LK349" in rule["message"] for rule in deny["spec"]["validations"])


def test_static_names_end_as_the_api_server_wants_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(capsys, "static", "model")
    assert all(item["metadata"]["name"].endswith(".static.k8s.io") for item in found)


@pytest.mark.parametrize(
    ("release", "version"), [("1.34", "v1beta1"), ("1.35", "v1beta1"), ("1.36", "v1"), ("1.37", "v1")]
)
def test_mutating_policies_have_the_version_that_the_release_serves(
    capsys: pytest.CaptureFixture[str], release: str, version: str
) -> None:
    for item in exported(capsys, "policies", "model", f"--kubernetes={release}"):
        expected = version if item["kind"].startswith("Mutating") else "v1"
        assert item["apiVersion"] == f"admissionregistration.k8s.io/{expected}"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["policies"], "# For Kubernetes 1.36 or newer."),
        (["policies", "--kubernetes=1.37"], "# For Kubernetes 1.36 or newer."),
        (["policies", "--only=validating"], "# For Kubernetes 1.34 or newer."),
        (["policies", "--kubernetes=1.35", "--only=validating"], "# For Kubernetes 1.34 or newer."),
        (["policies", "--kubernetes=1.35"], f"# For Kubernetes 1.34 or 1.35 with {BETA}."),
        (["static"], f"# For Kubernetes 1.36 or newer; with {STATIC} before 1.37."),
        (["static", "--kubernetes=1.37"], "# For Kubernetes 1.37 or newer."),
        (["crd"], "# For Kubernetes 1.34 or newer."),
    ],
)
def test_the_first_line_names_the_releases_that_install_it(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert main(["export", arguments[0], "model", *arguments[1:]]) == 0
    assert capsys.readouterr().out.partition("\n")[0] == line


def test_static_manifests_are_not_exported_for_a_release_that_reads_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "static", "model", "--kubernetes=1.35"]) == 64
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Kubernetes 1.35 reads no policies from manifest directories" in printed.err


@pytest.mark.parametrize("profile", ["standard", "strict"])
def test_every_exported_policy_compiles_in_the_oldest_release(capsys: pytest.CaptureFixture[str], profile: str) -> None:
    """A new expression may use what the minor before the cluster's has; ``stored=False`` refuses all else."""
    before = (OLDEST[0], OLDEST[1] - 1)
    faults, count = [], 0
    flags = [f"--profile={profile}", f"--kubernetes={Release(OLDEST)}", *PACKS]
    for item in exported(capsys, "policies", *flags):
        types: dict[str, Type] = {}
        for source in expressions(item["spec"]):
            patches = "JSONPatch{" in source
            environment = with_variables(admission_environment(before, stored=False, patches=patches), types)
            try:
                environment.compile(source)
            except CompileFailure as failure:
                faults.append(f"{item['metadata']['name']}: {failure}: say it without that function: {source}")
            count += 1
            types.update({each["name"]: DYN for each in item["spec"].get("variables", ())})
    assert faults == []
    assert count > 400


def expressions(spec: dict[str, Any]) -> Iterator[str]:
    for part in ("matchConditions", "variables", "validations"):
        for each in spec.get(part, ()):
            yield each["expression"]
            if "messageExpression" in each:
                yield each["messageExpression"]
    for each in spec.get("mutations", ()):
        yield each["jsonPatch"]["expression"]


@pytest.mark.parametrize("profile", ["standard", "strict"])
def test_every_exported_policy_fits_the_types_of_its_kind(
    capsys: pytest.CaptureFixture[str], loaded: Catalog, profile: str
) -> None:
    """As the API server's type checking has it, whose warnings stand in the status of a policy."""
    before, faults, count = (OLDEST[0], OLDEST[1] - 1), [], 0
    names = {(known.gvk.group, known.plural): known for known in loaded.kinds.values()}
    for item in exported(capsys, "policies", f"--profile={profile}", f"--kubernetes={Release(OLDEST)}"):
        if "matchConstraints" not in item["spec"]:
            continue
        (rule,) = item["spec"]["matchConstraints"]["resourceRules"]
        schema = with_object_meta(names[rule["apiGroups"][0], rule["resources"][0]].schema.raw)
        types: dict[str, Type] = {}
        variables = [(each["expression"], each["name"]) for each in item["spec"].get("variables", ())]
        for source in expressions(item["spec"]):
            environment = admission_environment(before, stored=False, patches="JSONPatch{" in source)
            for name in ("object", "oldObject"):
                environment = environment.with_schema(name, schema, type_name="object")
            try:
                result = with_variables(environment, types).compile(source).result
            except CompileFailure as failure:
                faults.append(f"{item['metadata']['name']}: {failure}")
                result = DYN
            types |= {name: result for expression, name in variables if expression == source}
            count += 1
    assert faults == []
    assert count > 250


def with_object_meta(schema: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "string"}
    texts = {"type": "object", "additionalProperties": text}
    entry = {"type": "object", "properties": {"time": text}}
    fields = dict.fromkeys(("name", "generateName", "namespace", "creationTimestamp", "deletionTimestamp"), text)
    fields |= {"labels": texts, "annotations": texts, "managedFields": {"type": "array", "items": entry}}
    head = {"apiVersion": text, "kind": text, "metadata": {"type": "object", "properties": fields}}
    return {**schema, "properties": {**schema["properties"], **head}}


def test_every_exported_rule_of_a_definition_compiles_in_the_oldest_release(capsys: pytest.CaptureFixture[str]) -> None:
    before = (OLDEST[0], OLDEST[1] - 1)
    count = 0
    for crd in exported(capsys, "crd", "--profile=strict"):
        for version in crd["spec"]["versions"]:
            root = build(version["schema"]["openAPIV3Schema"])
            for node in distinct(root):
                for rule in node.rules:
                    optional = bool(rule.get("optionalOldSelf"))
                    environment = rule_environment(
                        node, is_root=node is root or node.embedded, optional=optional, version=before, stored=False
                    )
                    environment.compile(rule["rule"])
                    if "messageExpression" in rule:
                        environment.compile(rule["messageExpression"])
                    count += 1
    assert count > 40


def test_what_is_left_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "policies", "model"])
    named = "KP001, KP002, LK211, LK301, LK304, LK311, LK313, LK315, LK321, LK322, LK326, LK327, LK329, LK361, LK362"
    assert f"only Modelgate can evaluate them: {named}, LK363, LK364, LK365, LK366, LK367\n" in capsys.readouterr().err
    main(["export", "policies", "openmodel"])
    assert "only Modelgate does it: writing fractions such as cpu: 0.5 as quantities\n" in capsys.readouterr().err


def test_an_exported_crd_is_one_the_api_server_takes(capsys: pytest.CaptureFixture[str]) -> None:
    (crd,) = exported(capsys, "crd", "model", "--profile", "strict")
    spec = load_crd(crd).versions["v1alpha1"].schema
    errors = spec.check({"spec": {"source": "pvc://x"}}).errors
    assert any("(LK205)" in error.detail for error in errors)
    (plain,) = exported(capsys, "crd", "model")
    assert load_crd(plain).versions["v1alpha1"].schema.check({"spec": {"source": "pvc://x"}}).errors == []


def test_no_two_documents_of_the_whole_catalog_have_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    names = Counter((item["kind"], item["metadata"]["name"]) for item in exported(capsys, "policies", *PACKS))
    assert [name for name, count in names.items() if count > 1] == []
    assert ("ValidatingAdmissionPolicy", "ome-clusterbasemodel-warn.modelgate.dev") in names


@pytest.mark.parametrize("form", ["policies", "static"])
def test_one_sort_of_policies_can_be_had_alone(capsys: pytest.CaptureFixture[str], form: str) -> None:
    both = exported(capsys, form, "openmodel")
    alone = [exported(capsys, form, "openmodel", f"--only={sort}") for sort in ("mutating", "validating")]
    assert alone[0] + alone[1] == both
    assert all(alone)


def test_what_only_the_gate_can_evaluate_is_not_exported(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = catalog.load()
    for kind in {gvk.kind for gvk in loaded.kinds}:
        assert main(["export", "policies", kind]) == 0
        printed = capsys.readouterr()
        kinds = [known for known in loaded.kinds.values() if known.gvk.kind == kind]
        gates = {code for known in kinds for code in left_out(known.policy)}
        assert [code for code in gates if code not in printed.err] == []
        assert ("KP001" in printed.err) == any(loaded.prepared(known).pods is not None for known in kinds)
        rules = {rule.code for known in kinds for rule in known.policy.validations}
        assert set(CODE.findall(printed.out)) == rules - gates


@pytest.mark.parametrize(("profile", "least"), [(Profile.STANDARD, 700), (Profile.STRICT, 20), (Profile.AUDIT, 3)])
def test_exported_policies_find_what_the_gate_finds(
    capsys: pytest.CaptureFixture[str], profile: Profile, least: int
) -> None:
    """In every case whose schema accepts the object, new or updated: the same codes deny and warn."""
    loaded = catalog.load()
    policies = load_native(exported(capsys, "policies", "--profile", profile.value))
    context = MemoryContext()
    count = 0
    for known, result in results(loaded, profile):
        ours = result.validation
        if any(not cause.code for cause in ours.causes):
            continue
        tolerated = any("not refused, because this update" in each.message for each in ours.warnings)
        if tolerated and result.mutation.defaults:
            continue  # only the gate tells what it has just filled in from a change of the user's
        request = replace(result.request, object=result.mutation.object)
        theirs = policies.validate(as_decoded(request, known), context)
        portable = set(known.policy.codes) - set(left_out(known.policy))
        denied = {code for denial in theirs.denials for code in CODE.findall(denial.text)}
        warned = {code for warning in theirs.warnings for code in CODE.findall(warning.message)}
        kept = {each.code for each in ours.warnings if "not refused, because this update" not in each.message}
        assert denied == portable & {cause.code for cause in ours.causes}, result.case.name
        replaced = {rule.code for rule in known.policy.defaults}  # a default tells when it has done so
        assert warned == portable & kept - replaced, result.case.name
        count += 1
    assert count > least


def test_exported_defaults_are_those_of_the_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """In every case of a new object in which no default is the gate's alone. Only the gate writes 0.5 as 500m."""
    loaded = catalog.load()
    policies = load_native(exported(capsys, "policies", "--only=mutating"))
    context = MemoryContext((), {known.gvk: known.schema for known in loaded.kinds.values()})
    filled = 0
    for known, result in results(loaded, Profile.STANDARD):
        codes = {item.code for item in result.mutation.defaults} - {""}
        request, ours = result.request, result.mutation.object
        assert ours is not None
        if request.operation != "CREATE" or codes & set(left_out(known.policy)) or known.schema.check(ours).of_schema:
            continue
        if known.policy.numeric_quantities:
            request = replace(request, object=known.schema.with_quantities(request.object or {}))
        request = as_decoded(request, known)
        theirs = policies.mutate(request, context).object
        assert theirs is not None
        if known.policy.numeric_quantities:  # no default, and only the gate does it
            theirs = known.schema.with_quantities(theirs)
        assert unstamped(theirs) == unstamped(decoded(ours, known) or {}), result.case.name
        filled += bool(codes)
    assert filled > 100


def load_native(found: list[Any]) -> NativePolicies:
    return NativePolicies.load([Document("exported", 1, item) for item in found])


def results(loaded: Catalog, profile: Profile) -> Iterator[tuple[KnownKind, CaseResult]]:
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                if case.profile == profile.value and not case.release:
                    yield known, run_case(case, known, loaded)


def as_decoded(request: Request, known: KnownKind) -> Request:
    """As the API server has it before it asks anybody: with the schema's defaults, without what is not known."""
    return replace(request, object=decoded(request.object, known), old_object=decoded(request.old_object, known))


def decoded(obj: dict[str, Any] | None, known: KnownKind) -> dict[str, Any] | None:
    if obj is None:
        return None
    found = known.schema.decode(obj)[0]
    return {**found, "metadata": {key: value for key, value in found["metadata"].items() if value is not None}}


def unstamped(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != ANNOTATION}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


NUMBER = {"type": "integer"}
SHARED_RULE = """\
  - {code: AC201, at: spec.size, rule: self < 9, message: is too big; use less than 9, docs: Widgets are small.}
"""
MIXED_RULE = """\
  - code: AC202
    at: spec.size
    when: has(object.spec.other)
    rule: self in [object.spec.other, 3]
    message: is neither other nor 3; write 3
    docs: Both are sizes.
"""
OWN_RULE = """\
  - {code: AC203, at: spec.extra, rule: self > 0, message: is too small; use 1, docs: x}
"""


def widgets(folder: Path, rules: str, *more: tuple[str, str], group: str = "acme.example") -> Path:
    """A pack of a kind with two versions, of which the second has one field more; ``more`` are policies of versions."""
    definition = crds.crd(group, "Widget", spec_schema(size=NUMBER, other=NUMBER))
    (version,) = definition["spec"]["versions"]
    later = {"openAPIV3Schema": spec_schema(size=NUMBER, other=NUMBER, extra=NUMBER)}
    definition["spec"]["versions"].append({**version, "name": "v2", "storage": False, "schema": later})
    (folder / "crds").mkdir(parents=True, exist_ok=True)
    (folder / "crds" / f"widgets.{group}.yaml").write_text(yaml.safe_dump(definition))
    head = "apiVersion: modelgate.dev/v1alpha1\nkind: Policy\nmetadata: {name: p}\nspec:\n"
    for index, (versions, text) in enumerate([("v1, v2", rules), *more]):
        target = f"  target: {{group: {group}, versions: [{versions}], kind: Widget}}\n  validations:\n"
        (folder / f"{group}-{index}.yaml").write_text(f"{head}{target}{text}")
    return folder


def policies_of(found: list[Any]) -> dict[str, tuple[list[str], str]]:
    """The versions of each exported policy, and how it matches others."""
    policies = [each for each in found if not each["kind"].endswith("Binding")]
    constraints = [(each["metadata"]["name"], each["spec"]["matchConstraints"]) for each in policies]
    return {
        name.removesuffix(".modelgate.dev"): (each["resourceRules"][0]["apiVersions"], each["matchPolicy"])
        for name, each in constraints
    }


def test_versions_with_the_same_rules_share_a_policy_and_others_have_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = widgets(tmp_path / "same", SHARED_RULE)
    assert policies_of(exported(capsys, "policies", "widget", f"--policies={same}")) == {
        "same-widget-deny": (["v1", "v2"], "Equivalent")
    }
    more = widgets(tmp_path / "more", SHARED_RULE, ("v2", OWN_RULE))
    assert policies_of(exported(capsys, "policies", "widget", f"--policies={more}")) == {
        "more-widget-v1-deny": (["v1"], "Exact"),
        "more-widget-v2-deny": (["v2"], "Exact"),
    }
    one = widgets(tmp_path / "one", SHARED_RULE)
    text = (one / "acme.example-0.yaml").read_text()
    (one / "acme.example-0.yaml").write_text(text.replace("v1, v2", "v2"))
    found = policies_of(exported(capsys, "policies", "widget", f"--policies={one}"))
    assert found == {"one-widget-deny": (["v2"], "Equivalent")}  # objects of v1 are converted for it


def test_kinds_of_one_name_in_two_groups_have_policies_of_two_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = widgets(tmp_path / "acme", SHARED_RULE)
    widgets(folder, SHARED_RULE.replace("AC201", "AC211"), group="acme.test")
    found = exported(capsys, "policies", "widget", f"--policies={folder}")
    assert list(policies_of(found)) == ["acme-widget-acme.example-deny", "acme-widget-acme.test-deny"]
    load_native(found)


def test_what_the_api_server_would_refuse_is_listed_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = widgets(tmp_path / "acme", SHARED_RULE + MIXED_RULE)
    assert main(["export", "policies", "widget", f"--policies={folder}"]) == 0
    printed = capsys.readouterr()
    assert CODE.findall(printed.out) == ["AC201"]
    reason = "expected type 'dyn' but found 'int'; it does not know the types of fields: write dyn(…) around each item"
    assert (
        f"Widget.v1.acme.example: not exported, because the API server would refuse it: AC202: {reason}" in printed.err
    )
    assert main(["pack", "check", str(folder)]) == 1
    assert f"AC202: cannot be exported, because the API server would refuse it: {reason}" in capsys.readouterr().out
    widgets(folder, SHARED_RULE + MIXED_RULE.replace("[object.spec.other, 3]", "[dyn(object.spec.other), dyn(3)]"))
    assert main(["export", "policies", "widget", f"--policies={folder}"]) == 0
    printed = capsys.readouterr()
    assert sorted({*CODE.findall(printed.out)}) == ["AC201", "AC202"]
    assert printed.err == ""


def test_a_definition_is_exported_once_with_the_rules_of_all_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = widgets(tmp_path / "acme", SHARED_RULE, ("v2", OWN_RULE))
    (definition,) = exported(capsys, "crd", "widget", f"--policies={folder}")
    texts = {each["name"]: sorted(CODE.findall(str(each))) for each in definition["spec"]["versions"]}
    assert texts == {"v1": ["AC201"], "v2": ["AC201", "AC203"]}
