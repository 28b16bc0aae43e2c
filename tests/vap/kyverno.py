"""Kyverno CLI tests of native policies: read, run and compare (``kyverno test``).

A ``kyverno-test.yaml`` names policies, resources and the expected result of each pair: ``pass``, ``fail`` or ``skip``
(the policy does not match the resource). In some points Kyverno differs from the API server, and so does this module: a
rule without operations matches all of them, a policy without a binding applies everywhere, params found by a selector
form one list, and parameterNotFoundAction and reinvocationPolicy are optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from webhook.admission import GroupVersionKind, Request, group_version, patch
from webhook.admission.errors import DocumentError, Problem
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.policy.problems import problems
from webhook.vap import (
    CLUSTER_KINDS,
    MemoryContext,
    NativePolicies,
    ParamKind,
    PolicyResponse,
    Selector,
    is_native,
    resource_of_kind,
)

__all__ = ["KyvernoResult", "run"]

# The names below are the fields of Kyverno's documents, spelled as there.
# ruff: noqa: N815


class _Expected(BaseModel):
    """The expected result of a policy on some resources: those named, or all of the kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    policy: str
    kind: str
    resources: list[str] = []
    result: Literal["pass", "fail", "skip", "error"]
    patchedResources: str = ""
    isValidatingAdmissionPolicy: bool = False
    isMutatingAdmissionPolicy: bool = False


class _Test(BaseModel):
    """The file. Native policies use only the labels of namespaces from ``variables``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    apiVersion: Literal["cli.kyverno.io/v1alpha1", "kyverno.io/v1"]
    kind: Literal["Test"]
    metadata: dict[str, Any] = {}
    policies: list[str]
    resources: list[str]
    results: list[_Expected]
    paramResources: list[str] = []
    variables: str = ""
    userinfo: str = ""


@dataclass(frozen=True, slots=True)
class KyvernoResult:
    """One result. ``got`` is pass, fail or skip; ``message`` is the reason for a failure."""

    policy: str
    resource: str
    expected: str
    got: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.expected == self.got


class _TestContext(MemoryContext):
    """Params found by a selector form one list, in the order of their files."""

    def __init__(self, objects: Iterable[dict[str, Any]], params: Sequence[dict[str, Any]]) -> None:
        super().__init__((*objects, *params))
        self._params = params

    def params(self, kind: ParamKind, namespace: str, selector: Selector) -> Sequence[dict[str, Any]]:
        chosen = super().params(kind, namespace, selector)
        return [{"metadata": {}, "items": [param for param in self._params if param in chosen]}] if chosen else []


def run(file: Path) -> list[KyvernoResult]:
    """Run one test.

    Raises:
        DocumentError: a file cannot be read, or is not a test.
        CatalogError: the policies do not load.
    """
    test = _read(file)
    folder = file.parent
    policies = NativePolicies.load(_bound(_policies(_all(folder, test.policies))))
    context = _TestContext(_namespaces(_values(folder, test.variables)), _values(folder, *test.paramResources))
    users = _values(folder, test.userinfo)
    user = users[0].get("userInfo", {}) if users else {}
    resources = [_named(document).value for document in _all(folder, test.resources)]
    outcomes: list[KyvernoResult] = []
    for result in test.results:
        patched = [_named(document).value for document in _all(folder, filter(None, [result.patchedResources]))]
        chosen = [obj for obj in resources if obj["kind"] == result.kind]
        names = result.resources or [obj["metadata"]["name"] for obj in chosen]
        for name in names:
            obj = next((obj for obj in chosen if obj["metadata"]["name"] == name), None)
            if obj is None:
                missing = KyvernoResult(
                    result.policy, f"{result.kind}/{name}", result.result, "error", "no such resource"
                )
                outcomes.append(missing)
            else:
                outcomes.append(_result(policies, _request(obj, user), context, result, patched))
    return outcomes


def _values(folder: Path, *names: str) -> list[dict[str, Any]]:
    return [document.value for document in _all(folder, filter(None, names))]


def _named(document: Document) -> Document:
    """The document, after a check of its kind and name."""
    value = document.value
    metadata = value.get("metadata")
    found = {
        "apiVersion": value.get("apiVersion"),
        "kind": value.get("kind"),
        "metadata.name": metadata.get("name") if isinstance(metadata, dict) else None,
    }
    where = f"{document.source}:{document.line}"
    if missing := [Problem(where, path, "expected text") for path, text in found.items() if not isinstance(text, str)]:
        raise DocumentError(missing)
    return document


def _read(file: Path) -> _Test:
    document, *more = documents.read(file) or [Document(str(file), 1, {})]
    if more:
        raise DocumentError([Problem(f"{file}:{more[0].line}", "", "expected one document, got more")])
    try:
        return _Test.model_validate(document.value)
    except ValidationError as error:
        raise DocumentError(problems(document, error)) from None


def _all(folder: Path, names: Iterable[str]) -> list[Document]:
    return [document for name in names for document in documents.read(folder / name)]


def _policies(found: Iterable[Document]) -> Iterator[Document]:
    """The native documents, completed with the fields that are optional for Kyverno."""
    for document in map(_named, found):
        if not is_native(document):
            title = f"{document.value.get('kind')} {document.value.get('apiVersion')}"
            raise DocumentError([Problem(f"{document.source}:{document.line}", "", f"{title} is not a native policy")])
        yield replace(document, value=_completed(document.value))


def _completed(value: Any) -> Any:
    if isinstance(value, list):
        return [_completed(item) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {key: _completed(item) for key, item in value.items()}
    if "apiVersions" in changed and "resources" in changed:
        changed.setdefault("operations", ["*"])
    if isinstance(changed.get("paramRef"), dict):
        changed["paramRef"].setdefault("parameterNotFoundAction", "Deny")
    if "mutations" in changed:
        changed.setdefault("reinvocationPolicy", "Never")
    return changed


def _bound(policies: Iterable[Document]) -> list[Document]:
    """The documents, and a binding for each policy that has none."""
    found = list(policies)
    bindings = [document.value for document in found if document.value["kind"].endswith("Binding")]
    bound = {
        (value["kind"], value["spec"].get("policyName")) for value in bindings if isinstance(value.get("spec"), dict)
    }
    for document in list(found):
        kind, name = document.value["kind"], document.value["metadata"]["name"]
        if not kind.endswith("Binding") and (f"{kind}Binding", name) not in bound:
            spec = {"policyName": name} | ({"validationActions": ["Deny"]} if kind.startswith("Validating") else {})
            binding = {"apiVersion": document.value["apiVersion"], "kind": f"{kind}Binding", "metadata": {"name": name}}
            found.append(Document(document.source, document.line, {**binding, "spec": spec}))
    return found


def _namespaces(values: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for value in values:
        for item in value.get("namespaceSelector") or ():
            metadata = {"name": item["name"], "labels": item.get("labels") or {}}
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _request(obj: dict[str, Any], user: dict[str, Any]) -> Request:
    group, version = group_version(obj["apiVersion"])
    kind = GroupVersionKind(group, version, obj["kind"])
    name = obj["metadata"]["name"]
    namespace = "" if (group, kind.kind) in CLUSTER_KINDS else obj["metadata"].get("namespace", "default")
    if (group, kind.kind) == ("", "Namespace"):
        namespace = name
    resource = resource_of_kind(kind).name
    return Request(kind, resource, "CREATE", obj, name=name, namespace=namespace, user=user)


def _result(
    policies: NativePolicies,
    request: Request,
    context: MemoryContext,
    result: _Expected,
    patched: Sequence[dict[str, Any]],
) -> KyvernoResult:
    only = policies.only(result.policy)
    if result.isMutatingAdmissionPolicy:
        response = only.mutate(request, context)
        wrong = _differs(response, request.name, patched)
    else:
        response = only.validate(request, context)
        wrong = ""
    message = "; ".join(denial.text for denial in response.denials) or wrong
    got = "fail" if message else "pass" if response.evaluated else "skip"
    return KyvernoResult(result.policy, f"{result.kind}/{request.name}", result.result, got, message)


def _differs(response: PolicyResponse, name: str, patched: Sequence[dict[str, Any]]) -> str:
    """How the mutated object differs from the expected one."""
    wanted = next((obj for obj in patched if obj["metadata"]["name"] == name), None)
    if wanted is None or not response.evaluated:
        return ""
    found = patch.diff(wanted, response.object)
    return f"patched resource differs: {found}" if found else ""
