"""Gatekeeper's templates with ``K8sNativeValidation``: each constraint becomes a policy, with its parameters in it.

The policies do not depend on Gatekeeper's definitions, so that it can be removed. Source: ``pkg/drivers/k8scel`` and
``pkg/mutation/match`` of Gatekeeper 3.22.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.admission import group_version
from webhook.cli.policies.converted import Converted, Untranslated, bound
from webhook.facts.nodes import at, mapping
from webhook.manifests.documents import Document
from webhook.policy import Release

TEMPLATES: Final = "templates.gatekeeper.sh"
CONSTRAINTS: Final = "constraints.gatekeeper.sh"
GROUPS: Final = (TEMPLATES, CONSTRAINTS)
_ENGINE: Final = "K8sNativeValidation"
_ACTIONS: Final = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}
_OPERATIONS: Final = ["CREATE", "UPDATE"]
"""Those of Gatekeeper's webhook by default."""
_OBJECT: Final = {"name": "anyObject", "expression": "object == null ? oldObject : object"}
_NAMESPACE: Final = 'request.?namespace.orValue("")'
_CODE: Final = ("failurePolicy", "validations", "variables", "matchCondition", "generateVAP")
_LISTS: Final = ("kinds", "namespaces", "excludedNamespaces")
_MATCH: Final = (*_LISTS, "scope", "labelSelector", "namespaceSelector", "name", "source")


def converted(documents: Iterable[Document], release: Release) -> Iterator[Converted]:
    """The constraints as native documents for a release, and the templates that have none or no CEL."""
    given = list(documents)
    templates = {_kind(document): document for document in given if _group(document) == TEMPLATES}
    constraints = [document for document in given if _group(document) == CONSTRAINTS]
    for constraint in constraints:
        template = templates.get(str(constraint.value["kind"]))
        if template is None:
            yield _left(constraint, "kind", "its ConstraintTemplate is not among the files")
        else:
            yield _policy(template, constraint, release)
    used = {str(constraint.value["kind"]) for constraint in constraints}
    for kind, template in templates.items():
        if kind not in used:
            yield _left(
                template,
                "spec.crd.spec.names.kind",
                f"no {kind} is among the files: a template alone does not decide anything",
            )


def _left(document: Document, path: str, reason: str) -> Converted:
    return Converted(document, (), (Untranslated(document, path, reason),))


def _group(document: Document) -> str:
    return group_version(str(document.value.get("apiVersion")))[0]


def _kind(template: Document) -> str:
    return str(at(template.value, "spec", "crd", "spec", "names", "kind"))


def _policy(template: Document, constraint: Document, release: Release) -> Converted:
    target = next(iter(_list(at(template.value, "spec", "targets"))), None)
    code = _list(at(target, "code"))
    engines = [at(part, "engine") for part in code]
    if _ENGINE not in engines:
        reason = f"its template ({template.where}) has no code for {_ENGINE}: Rego cannot be translated"
        return _left(constraint, "kind", reason)
    number = engines.index(_ENGINE)
    place, source = f"spec.targets[0].code[{number}].source", at(code[number], "source")
    if not isinstance(source, dict):
        return _left(template, place, "expected an object")
    match = mapping(constraint.value, "spec", "match")
    action = at(constraint.value, "spec", "enforcementAction") or "deny"
    remarks = (*_of_source(template, place, source), *_of_constraint(constraint, match, action))
    operations = at(target, "operations") or _OPERATIONS
    own = _list(source.get("matchCondition"))
    parameters = _with_defaults(
        at(constraint.value, "spec", "parameters"),
        at(template.value, "spec", "crd", "spec", "validation", "openAPIV3Schema"),
    )
    first = [_OBJECT, {"name": "params", "expression": f"dyn({_literal(parameters)})"}]
    spec = {
        "failurePolicy": source.get("failurePolicy") or "Fail",
        "matchConstraints": _constraints(match, operations),
        "matchConditions": [*own, *_conditions(match)],
        "variables": [*first, *_list(source.get("variables"))],
        "validations": _list(source.get("validations")),
    }
    moved = {"spec": (constraint, "spec.match"), "spec.variables[1]": (constraint, "spec.parameters")}
    moved |= {f"spec.{key}": (template, f"{place}.{key}") for key in ("failurePolicy", "validations")}
    moved |= {
        f"spec.variables[{n + len(first)}]": (template, f"{place}.variables[{n}]")
        for n in range(len(_list(source.get("variables"))))
    }
    moved |= {f"spec.matchConditions[{n}]": (template, f"{place}.matchCondition[{n}]") for n in range(len(own))}
    name = f"{constraint.value['kind']}-{constraint.value['metadata']['name']}".lower()
    made = bound("Validating", name, spec, release, [_ACTIONS.get(str(action), "Deny")])
    return Converted(constraint, made, remarks, moved)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _of_source(template: Document, place: str, source: Mapping[str, Any]) -> Iterator[Untranslated]:
    for key in source:
        if key in _CODE:
            continue
        reason = (
            "Gatekeeper ignores this field: it reads matchCondition" if key == "matchConditions" else "unknown field"
        )
        yield Untranslated(template, f"{place}.{key}", reason, whole=key != "matchConditions")


def _of_constraint(constraint: Document, match: Mapping[str, Any], action: object) -> Iterator[Untranslated]:
    if str(action) not in _ACTIONS:
        yield Untranslated(constraint, "spec.enforcementAction", f'"{action}" is not one of {", ".join(_ACTIONS)}')
    for key in match:
        if key not in _MATCH:
            yield Untranslated(constraint, f"spec.match.{key}", "unknown field")
        elif key in _LISTS and not isinstance(match[key], list | None):
            yield Untranslated(constraint, f"spec.match.{key}", "expected a list")
    if match.get("source") not in (None, "", "All", "Original"):
        yield Untranslated(constraint, "spec.match.source", "the API server does not know what Gatekeeper generates")


def _constraints(match: Mapping[str, Any], operations: list[str]) -> dict[str, Any]:
    """The rules: all resources of the groups; which kinds of them, a condition says."""
    scope = {"scope": match["scope"]} if match.get("scope") in ("Cluster", "Namespaced") else {}
    groups = [_names(entry, "apiGroups") for entry in _kinds(match)] or [["*"]]
    rule = {"apiVersions": ["*"], "operations": operations, "resources": ["*"], **scope}
    rules = [{"apiGroups": list(group), **rule} for group in dict.fromkeys(map(tuple, groups))]
    selectors = {"objectSelector": match.get("labelSelector"), "namespaceSelector": match.get("namespaceSelector")}
    return {"resourceRules": rules} | {key: value for key, value in selectors.items() if value}


def _kinds(match: Mapping[str, Any]) -> list[Any]:
    return _list(match.get("kinds"))


def _names(entry: Any, key: str) -> list[str]:
    names = at(entry, key)
    return ["*"] if not isinstance(names, list) or not names or "*" in names else [str(name) for name in names]


def _conditions(match: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """What of a match needs an expression. Objects without a namespace match every list of namespaces."""
    if kinds := " || ".join(_of_kind(entry) for entry in _kinds(match)):
        yield {"name": "kinds", "expression": kinds}
    for key, sign in (("namespaces", ""), ("excludedNamespaces", "!")):
        if patterns := _list(match.get(key)):
            tests = " || ".join(_matches(_NAMESPACE, str(pattern)) for pattern in patterns)
            yield {"name": key.lower(), "expression": f'{_NAMESPACE} == "" || {sign}({tests})'}
    if name := match.get("name"):
        fields = ("name", "generateName") if str(name).endswith("*") else ("name",)
        texts = (f'({_OBJECT["expression"]}).metadata.?{field}.orValue("")' for field in fields)
        yield {"name": "name", "expression": " || ".join(_matches(text, str(name)) for text in texts)}


def _of_kind(entry: Any) -> str:
    tests = [
        f"request.kind.{field} in {_text(names)}"
        for field, key in (("group", "apiGroups"), ("kind", "kinds"))
        if (names := _names(entry, key)) != ["*"]
    ]
    return f"({' && '.join(tests) or 'true'})"


def _matches(text: str, pattern: str) -> str:
    """Whether a text is the pattern, which may begin or end with ``*``."""
    word = _text(pattern.strip("*"))
    before, after = pattern.startswith("*"), pattern.endswith("*")
    if before and after:
        return f"{text}.contains({word})"
    if before or after:
        return f"{text}.{'endsWith' if before else 'startsWith'}({word})"
    return f"{text} == {word}"


def _with_defaults(value: Any, schema: Any) -> Any:
    """Parameters with the defaults of their schema, as the API server stores a constraint."""
    value = value if value is not None else at(schema, "default")
    if isinstance(value, dict):
        properties = mapping(schema, "properties")
        filled = {key: _with_defaults(value.get(key), properties[key]) for key in properties}
        return {**value, **{key: item for key, item in filled.items() if item is not None}}
    if isinstance(value, list):
        return [_with_defaults(item, at(schema, "items")) for item in value]
    return value


def _literal(value: Any) -> str:
    """A JSON value as CEL. The API server wants items of one type: all are texts, or all are dynamic."""
    if not isinstance(value, dict | list):
        return _text(value)
    items = list(value.values()) if isinstance(value, dict) else value
    plain = all(isinstance(item, str) for item in items)
    texts = [_literal(item) if plain else f"dyn({_literal(item)})" for item in items]
    if isinstance(value, list):
        return f"[{', '.join(texts)}]"
    return "{" + ", ".join(f"{_text(str(key))}: {text}" for key, text in zip(value, texts, strict=True)) + "}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
