"""Cases: tables of objects with the expected result. They are the unit tests of the rules, and their examples.

A case gives ``object`` (or only its ``spec``), for an update also ``oldObject`` (or ``oldSpec``), further objects under
``others``, a ``profile`` and ``settings``. ``expect`` holds the expected result:

    spec      the whole specification after defaulting
    set       nodes of the normalised object: dotted path → value, null for absent; a node names the leaves below it
    defaults  the codes of the policy's defaults that set a value
    deny      codes of the causes, or the field of a cause of the schema
    hints     codes of the rules that explain a cause of the schema
    warn      codes of the warnings, or the field of a warning without a code
              (in these three, a code may have its field, as "LK301 spec.files[0]"; KP001 and KP002 must)
    causes    texts that the printed causes must contain, one cause each; says: the same of the warnings

A case may name a ``release`` of the operator, or several, or ``unknown``; without it, the documented one counts.

A case may give ``repairs``: by code, what to change so that the rule does not fire. `modelgate rule` prints both.

``deny``, ``hints`` and ``warn`` are exact: any other finding is a failure. ``spec``, ``set`` and ``defaults`` are
complete if the object is accepted, or if the case gives one of them: each leaf that the gate fills in must be named, by
the code of its default or by its path. The leaves that the CRD's schema fills in must all be named if one of them is.

The old object of an update is normalised first, unless ``oldObject`` is given or ``unstamped`` is true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from webhook.admission import Cause, Decision, Default, GroupVersionKind, Request, Warn, labels, patch
from webhook.admission.errors import DocumentError
from webhook.catalog import Catalog, KnownKind, check_settings, chosen
from webhook.cluster import MemoryView
from webhook.engine import KUBERNETES_CODES, Options
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.ground.fieldpath import field_path
from webhook.library.apiserver import stored_object
from webhook.library.explained import leaves
from webhook.library.review import decide
from webhook.manifests.documents import Document
from webhook.policy import MISSING, DefaultRule, Path, Profile, ValidationRule
from webhook.policy.problems import problems

__all__ = ["Case", "CaseResult", "catalogs", "fired_in", "is_about", "parse_cases", "run", "written"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_INDEX: Final = re.compile(r"\[(\d{1,6})\]")


def _path(text: str) -> Path:
    """A path that may have indexes: ``spec.ports[0].name``."""
    return Path.parse(_INDEX.sub(r"['\1']", text))


def _checked_path(text: str) -> str:
    _path(text)
    return text


class Expectation(_Model):
    spec: dict[str, Any] | None = None
    set: dict[Annotated[str, AfterValidator(_checked_path)], Any] = {}
    defaults: list[str] | None = None
    deny: list[str] = []
    hints: list[str] = []
    warn: list[str] = []
    causes: list[str] = []
    says: list[str] = []


class Case(_Model):
    name: str
    object: dict[str, Any] | None = None
    spec: Any = MISSING
    oldObject: dict[str, Any] | None = None  # noqa: N815 - the spelling of Kubernetes documents
    oldSpec: Any = MISSING  # noqa: N815
    unstamped: bool = False
    others: list[dict[str, Any]] = []
    profile: Literal["standard", "strict", "audit"] = "standard"
    settings: Settings = DEFAULT_SETTINGS
    release: str | Annotated[list[str], Field(min_length=1)] | None = None
    expect: Expectation
    repairs: dict[str, dict[str, Any]] = {}

    @property
    def releases(self) -> list[str]:
        """The releases under which to run the case; none stands for the documented one."""
        return [self.release] if isinstance(self.release, str) else self.release or []

    @property
    def codes(self) -> frozenset[str]:
        """The codes that the case is about: those that it expects or repairs."""
        expect = self.expect
        found = (each.partition(" ")[0] for each in (*expect.deny, *expect.warn))
        return frozenset((*(expect.defaults or ()), *found, *expect.hints, *self.repairs))


class Target(_Model):
    group: str
    version: str
    kind: str

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)


class CasesDocument(_Model):
    """``cases/<kind>.yaml``: a kind and its cases."""

    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815
    kind: Literal["Cases"]
    target: Target
    cases: list[Case]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case; ``failures`` is empty if it passes."""

    case: Case
    request: Request
    mutation: Decision
    validation: Decision
    failures: tuple[str, ...]


def fired_in(result: CaseResult) -> set[str]:
    """The codes of the findings, of what they hint at, and of the defaults that set something."""
    filled = {each.code for each in result.mutation.defaults if not each.removed}
    return {*labels(result.validation.causes, result.validation.warnings), *filled}


def parse_cases(document: Document) -> CasesDocument:
    """Check a document of cases.

    Raises:
        DocumentError: with every error, each with its line.
    """
    try:
        return CasesDocument.model_validate(document.value)
    except ValidationError as error:
        raise DocumentError(problems(document, error)) from None


def run(case: Case, known: KnownKind, catalog: Catalog, *, complete: bool = True) -> CaseResult:
    """Run one case as the API server would: decode the object, mutate it, then validate it with its metadata.
    ``complete``: other objects than those of the case do not exist.

    A case of several releases is run under each; the result is that of the last, with the failures of all.

    Raises:
        SettingsError: the case names a release that does not exist, or a setting that the operator does not have.
    """
    check_settings(catalog.packs, case.settings)
    results = [_run(case, found.kinds[known.gvk], found, complete) for found in catalogs(case, known.api, catalog)]
    if not results:
        return _run(case, known, catalog, complete)
    named = zip(case.releases, results, strict=True)
    failures = tuple(f"under {release}: {each}" for release, result in named for each in result.failures)
    return replace(results[-1], failures=failures)


def catalogs(case: Case, api: str, catalog: Catalog) -> Iterator[Catalog]:
    """The catalogs of the releases that a case names.

    Raises:
        SettingsError: a release does not exist.
    """
    return (catalog.under(chosen(catalog.packs, [(api, release)])) for release in case.releases)


def is_about(case: Case, known: KnownKind, rule: DefaultRule | ValidationRule, catalog: Catalog) -> bool:
    """Whether a rule is in force, in this form, in the release of which the result of a case is true: the last that it
    names, or the documented one.

    Raises:
        SettingsError: a release does not exist.
    """
    found = [*catalogs(case, known.api, catalog)] or [catalog]
    in_force = found[-1].kinds[known.gvk].policy.rules
    return any((each.code, each.operator) == (rule.code, rule.operator) for each in in_force)


def _run(case: Case, known: KnownKind, catalog: Catalog, complete: bool) -> CaseResult:
    view = MemoryView(case.others)
    options = Options(
        Profile(case.profile), strict_fields=True, faults_told=True, complete=complete, settings=case.settings
    )
    old = _object(case.oldObject, case.oldSpec, known)
    sent = obj = written(case, known)
    if old and case.oldObject is None and not case.unstamped:
        old = decide(old, None, known, catalog, view, options, assigned=True).mutation.object
        assert old is not None
        obj = _with_annotations_of(old, sent)
    if old is not None:
        old = stored_object(old, known)
    request, mutation, validation = decide(obj, old, known, catalog, view, options, assigned=True)
    by_schema = _filled_by_schema(sent, request.object or {}, {item.path for item in mutation.defaults})
    failures = (*_failures(case, mutation, validation), *_unnamed(case.expect, mutation, validation, list(by_schema)))
    return CaseResult(case, request, mutation, validation, failures)


def written(case: Case, known: KnownKind) -> dict[str, Any]:
    """The whole object of a case, as its user writes it."""
    obj = _object(case.object, case.spec, known)
    assert obj is not None, f"{case.name}: give object or spec"
    return obj


def _object(whole: dict[str, Any] | None, spec: Any, known: KnownKind) -> dict[str, Any] | None:
    if whole is None and spec is MISSING:
        return None
    gvk = known.gvk
    metadata = {"name": "case", **({"namespace": "default"} if known.namespaced else {})}
    head: dict[str, Any] = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
    obj = {**head, **(whole if whole is not None else {"spec": spec})}
    if isinstance(obj["metadata"], dict) and obj["metadata"].keys().isdisjoint({"name", "generateName"}):
        obj["metadata"] = {**metadata, **obj["metadata"]}
    return obj


def _with_annotations_of(stored: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """The object as kubectl sends it: annotations that the user did not write stay, such as the stamp."""
    annotations = {**stored["metadata"].get("annotations", {}), **obj["metadata"].get("annotations", {})}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _value_at(path: Path, node: Any) -> Any:
    """The value at a path, which may have indexes; or MISSING."""
    for key in path.keys:
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            node = node.get(key, MISSING) if isinstance(node, dict) else MISSING
    return node


def _failures(case: Case, mutation: Decision, validation: Decision) -> Iterator[str]:
    expect, obj = case.expect, mutation.object or {}
    if expect.spec is not None and patch.diff(expect.spec, obj.get("spec")):
        yield f"spec: expected {expect.spec}, got {obj.get('spec')}"
    for path, value in expect.set.items():
        got = _value_at(_path(path), obj)
        if patch.diff(value, None if got is MISSING else got):
            yield f"{path}: expected {value!r}, got {got!r}"
    filled = _codes(mutation.defaults)
    if not set(expect.defaults or ()) <= set(filled):
        yield f"defaults: expected {sorted(expect.defaults or ())}, got {filled}"
    yield from _compare("deny", expect.deny, validation.causes)
    hints = sorted(hint.code for cause in validation.causes for hint in cause.hints)
    if hints != sorted(expect.hints):
        yield f"hints: expected {sorted(expect.hints)}, got {hints}"
    yield from _compare("warn", expect.warn, validation.warnings)
    for part, texts, said in (
        ("causes", expect.causes, validation.causes),
        ("says", expect.says, validation.warnings),
    ):
        for text in texts:
            if not any(text in str(each) for each in said):
                yield f"{part}: none contains {text!r} in {[str(each) for each in said]}"


def _compare(part: str, expected: list[str], found: tuple[Cause | Warn, ...]) -> Iterator[str]:
    names = sorted(_name(item, expected) for item in found)
    if names != sorted(expected):
        yield f"{part}: expected {sorted(expected)}, got {names}: {[str(item) for item in found]}"


def _name(item: Cause | Warn, expected: Collection[str]) -> str:
    """What a case calls a finding: its code, or, for Kubernetes' rules and where the case says so, with the field."""
    whole = f"{item.code} {item.field}"
    return whole if item.code in KUBERNETES_CODES or whole in expected else item.code or item.field


def _codes(defaults: Iterable[Default]) -> list[str]:
    """The codes of the policy's defaults that set a value."""
    return sorted({item.code for item in defaults if item.code and not item.removed})


def _unnamed(
    expect: Expectation, mutation: Decision, validation: Decision, by_schema: Collection[Default]
) -> Iterator[str]:
    """The leaves that are filled in and that the expectation does not name, with what to add to it."""
    codes, filled = expect.defaults, _codes(mutation.defaults)
    named = [*(_path(path).text for path in expect.set), *(["spec"] if expect.spec is not None else [])]
    if validation.allowed or named or codes is not None:
        for item in (each for each in mutation.defaults if not each.removed):
            if not (_is_within(item.path, named) if codes is None or not item.code else item.code in codes):
                yield _unnamed_leaf(item, f"`defaults: [{', '.join(filled)}]`" if item.code else "")
    if any(_is_within(item.path, named) for item in by_schema):
        yield from (_unnamed_leaf(item) for item in by_schema if not _is_within(item.path, named))


def _unnamed_leaf(item: Default, wanted: str = "") -> str:
    wanted = wanted or f"`{item.path}: {item.value!r}` to `set`"
    return f"{item.path}: set to {item.value!r} ({item.code or item.because}), but not in `expect`: add {wanted}"


def _is_within(path: str, named: Iterable[str]) -> bool:
    """Whether a path is one of those named, or below one."""
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in named)


def _filled_by_schema(sent: dict[str, Any], received: dict[str, Any], changed: Collection[str]) -> Iterator[Default]:
    """The leaves that the schema's defaults fill in, except those that the policy changes afterwards."""
    for operation, keys, value in patch.steps(sent, received):
        for leaf, inner in leaves(keys, value) if operation == "add" else ():
            if leaf[0] != "metadata" and field_path(leaf) not in changed:
                yield Default(field_path(leaf), inner, "a default of the schema")
