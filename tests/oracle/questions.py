"""How a case of a table is asked of the oracle, and where its answer stands in the case.

A question is a function of the case that gives a request, or None where this one case cannot be asked; an answer is
a function of what the oracle said that gives the members of ``actual`` (or ``expect``, in the tables that it made
itself). Operations that are in neither table are not asked: ``NOT_ASKED`` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Case = dict[str, Any]
Request = dict[str, Any]
Answer = dict[str, Any]

_MEMBERS = {"badValue", "detail", "field", "message", "type"}


@dataclass(frozen=True, slots=True)
class Question:
    """``ask`` makes the request, ``tell`` the members of the answer, which stand in ``case[where]``."""

    ask: Callable[[Case], Request | None]
    tell: Callable[[Answer], dict[str, Any]]
    where: str = ""

    def place(self, case: Case) -> str:
        """The member of the case that has the answer: upstream's assertions are in ``expect`` and stay."""
        return self.where or ("expect" if "generated" in case.get("flags", ()) else "actual")


def errors(answer: Answer, *kinds: str) -> list[dict[str, Any]]:
    return [error for kind in kinds for error in answer.get(kind) or ()]


def plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Errors with the members that the tables have; the oracle calls the whole text ``error``."""
    named = [{"message": error["error"], **error} if "error" in error else error for error in found]
    return [{key: value for key, value in sorted(error.items()) if key in _MEMBERS} for error in named]


# x-kubernetes-validations


def _cel(case: Case) -> Request:
    nested = "not-allowed-in-crds" in case.get("flags", ())
    request = {"mode": "value", "path": "root", "only": ["cel"], "ratcheting": case["op"] == "cel-ratchet"}
    return {**request, "nestedRules": nested, **case["in"]}


def _cel_told(answer: Answer) -> dict[str, Any]:
    told = {"errors": plain(errors(answer, "cel"))}
    return told | ({"cost": answer["celCost"]} if "celCost" in answer else {})


def _ratchet_told(answer: Answer) -> dict[str, Any]:
    return {**_cel_told(answer), "warnings": answer.get("warnings", [])}


def _compile(case: Case) -> Request | None:
    given = case["in"]
    if "needs-fake-function" in case.get("flags", ()):
        return None
    return {"mode": "compile", "envType": given.get("env", "new"), "schema": given["schema"], "isRoot": given["isRoot"]}


def _compiled(answer: Answer) -> dict[str, Any]:
    return {"rules": [_compiled_rule(rule) for rule in answer["results"] if rule["path"] == ""]}


def _compiled_rule(rule: Answer) -> dict[str, Any]:
    told = {key: rule[key] for key in ("maxCardinality", "maxCost", "usesOldSelf")}
    told |= {key: rule.get(key) for key in ("error", "messageExpressionError")}
    return told | {"messageExpressionMaxCost": rule.get("messageExpressionMaxCost", 0)}


def _estimated(answer: Answer) -> dict[str, Any]:
    rule = next(rule for rule in answer["results"] if rule["path"] == "")
    return {"cost": rule["maxCost"], "maxCardinality": rule["maxCardinality"]}


# expressions


def _expression(case: Case) -> Request | None:
    given = case["in"]
    if "authorizer" in given["expr"] or given.get("lib") in _OWN_ENVIRONMENT:
        return None
    return {"mode": "expr", "expr": given["expr"]}


_OWN_ENVIRONMENT = {"authz"}


def _evaluated(answer: Answer) -> dict[str, Any]:
    return {key: answer[key] for key in ("value", "error", "programError", "compileErrors") if key in answer}


# steps over an object


def _steps(*names: str, **renamed: str) -> Callable[[Case], Request]:
    def ask(case: Case) -> Request:
        given = case["in"]
        request = {"mode": "steps", "steps": list(names), **given}
        return request | {new: given[old] for new, old in renamed.items()}

    return ask


def _told(*keys: str) -> Callable[[Answer], dict[str, Any]]:
    def tell(answer: Answer) -> dict[str, Any]:
        return {key: answer.get(key) for key in keys}

    return tell


def _present(*keys: str) -> Callable[[Answer], dict[str, Any]]:
    def tell(answer: Answer) -> dict[str, Any]:
        return {key: answer[key] for key in keys if answer.get(key) is not None}

    return tell


def _errors(*kinds: str) -> Callable[[Answer], dict[str, Any]]:
    return lambda answer: {"errors": plain(errors(answer, *kinds))}


# whole objects and definitions


def _value(*only: str) -> Callable[[Case], Request]:
    return lambda case: {"mode": "value", "isRoot": True, "only": list(only), **case["in"]}


def _texts(answer: Answer) -> dict[str, Any]:
    return {"errors": [error["detail"] for error in errors(answer, "openapi")]}


def _whole(answer: Answer) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in {"id", "ms", "celCost"}}


def _valid(answer: Answer) -> dict[str, Any]:
    return {"valid": answer["valid"]}


def _definition(case: Case) -> Request:
    version = {"name": "v1", "served": True, "storage": True, "schema": case["in"]}
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    spec = {"group": "x.io", "names": names, "scope": "Namespaced", "versions": [version]}
    return {"mode": "crd", "crd": {"metadata": {"name": "foos.x.io"}, "spec": spec}}


def _judged(answer: Answer) -> dict[str, Any]:
    return {"valid": answer["valid"], "errors": plain(answer["errors"] or [])}


def _v1(case: Case) -> Request | None:
    if "v1" not in case:  # the internal form alone, which no API server is sent
        return None
    return {"mode": "crd", "crd": case["in"]["crd"], "oldCrd": case["in"].get("oldCrd")}


# small functions


def _as(mode: str, **renamed: str) -> Callable[[Case], Request | None]:
    def ask(case: Case) -> Request | None:
        if "needs-fake-function" in case.get("flags", ()):
            return None
        names = {old: new for new, old in renamed.items()}
        return {"mode": mode, **{names.get(key, key): value for key, value in case["in"].items()}}

    return ask


def _all(answer: Answer) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in {"id", "ms"}}


def _rule(case: Case) -> Request:
    given = case["in"]
    rule = {key: value for key, value in given["rule"].items() if given["aspect"] != "scope" or key == "scope"}
    return {"mode": "rule", "matchRule": rule, "attributes": given["attributes"]}


def _formats(case: Case) -> Request | None:
    if isinstance(case["in"]["schema"].get("type"), list):  # no CRD can say that
        return None
    return {"mode": "formats", **case["in"]}


# MutatingAdmissionPolicy


def _mutation(policy: Callable[[Case], Any]) -> Callable[[Case], Request]:
    def ask(case: Case) -> Request:
        given = case["in"]
        kind = given["kind"]
        version = "/".join(part for part in (kind["group"], kind["version"]) if part)
        names = {"name": "", "namespace": "", "operation": "UPDATE" if given.get("oldObj") else "CREATE"}
        about = {"kind": kind, "resource": given["resource"]}
        attributes = {
            "object": {"apiVersion": version, "kind": kind["kind"], **given["obj"]},
            "oldObject": given.get("oldObj"),
            **names,
            **about,
        }
        request = {"mode": "map", "policy": policy(case), "attributes": attributes, "authorizerAllows": True}
        return request | {key: given[key] for key in ("params", "namespaceObject") if key in given}

    return ask


def _mutations(kind: str, member: str) -> Callable[[Case], Any]:
    def policy(case: Case) -> Any:
        mutation = {"patchType": kind, member: {"expression": case["in"]["expr"]}}
        return {"metadata": {"name": "p"}, "spec": {"mutations": [mutation]}}

    return policy


QUESTIONS: dict[str, Question] = {
    "cel-rule": Question(_cel, _cel_told),
    "cel-schema": Question(_cel, _cel_told),
    "cel-ratchet": Question(_cel, _ratchet_told),
    "cel-compile": Question(_compile, _compiled),
    "cel-cost": Question(_compile, _estimated),
    "cel-eval": Question(_expression, _evaluated),
    "field-path": Question(_steps("fieldPath"), _told("error")),
    "default": Question(_steps("default"), _told("obj")),
    "prune-nulls": Question(_steps("pruneNulls"), _told("obj")),
    "prune": Question(_steps("prune"), _told("obj", "pruned")),
    "listtype": Question(_steps("listtype"), _errors("listtype")),
    "objectmeta-coerce": Question(_steps("coerce", dropInvalid="dropInvalidFields"), _told("error", "obj", "unknown")),
    "objectmeta-get": Question(
        _steps("objectMeta", dropInvalid="dropMalformed"), _present("error", "objectMeta", "unknown")
    ),
    "objectmeta-validate": Question(_steps("embedded"), _errors("embedded")),
    "openapi": Question(_value("openapi"), _errors("openapi"), "actual"),
    "openapi-ratchet": Question(_value("openapi"), _texts),
    "openapi-cel": Question(_value("openapi", "cel"), _errors("openapi", "cel")),
    "escape": Question(_as("escape"), _all, "expect"),
    "max-elements": Question(_as("maxElements"), _all, "expect"),
    "unrecognized-formats": Question(_formats, _all, "expect"),
    "vap-compile": Question(_as("policyExpression", envType="env"), _told("error")),
    "authn-compile": Question(_as("authentication"), _told("error")),
    "authz-compile": Question(_as("authorization"), _told("error")),
    "rule-match": Question(_rule, _all, "expect"),
    "crd-validate": Question(_v1, _errors("errors"), "v1"),
    "crd-validate-update": Question(_v1, _errors("errors"), "v1"),
    "expr": Question(lambda case: {"mode": "expr", **case["in"]}, _evaluated),
    "cr-create": Question(lambda case: {"mode": "cr", **case["in"]}, _whole),
    "cr-update": Question(lambda case: {"mode": "cr", **case["in"]}, _whole),
    "probe": Question(lambda case: case["in"], _whole),
    "crd-create-v1": Question(_definition, _judged),
    "map-policy": Question(_mutation(lambda case: case["in"]["policy"]), _present("obj", "error")),
    "map-json-patch": Question(_mutation(_mutations("JSONPatch", "jsonPatch")), _present("obj", "error")),
    "map-apply-configuration": Question(
        _mutation(_mutations("ApplyConfiguration", "applyConfiguration")), _present("obj", "error")
    ),
}

_FAKES = "the test hands the code results of its own making, or a fake cluster"
_UNEXPORTED = "the test calls a function that the module does not export"
_OWN_PROGRAM = "the test builds a CEL program of its own, with options that no API server uses"

NOT_ASKED: dict[str, str] = {
    "cel-eval-cost": _OWN_PROGRAM + ": literals are not folded",
    "cel-vars": _OWN_PROGRAM + ": variables without a type whose values have schemas",
    "cel-vars-typed": _OWN_PROGRAM,
    "env-version": _OWN_PROGRAM + ": libraries and variables made for the test",
    "mutation-eval": _OWN_PROGRAM,
    "mutation-object": _UNEXPORTED,
    "mutation-typenames": _UNEXPORTED,
    "correlation": _UNEXPORTED,
    "equality": _UNEXPORTED,
    "lister": _UNEXPORTED,
    "mapper": _UNEXPORTED,
    "maplist": _UNEXPORTED,
    "max-cardinality": _UNEXPORTED,
    "crd-total-cost": _UNEXPORTED,
    "crd-deprecation-warning": _UNEXPORTED,
    "crd-schema-validate": _UNEXPORTED,
    "crd-stored-versions": _UNEXPORTED,
    "default-validate": _UNEXPORTED,
    "structural-completeness": _UNEXPORTED,
    "crd-create": "the definition is in the form that the API server has internally",
    "nonstructural-condition": "the definition is in the form that the API server has internally",
    "ratchet-ops": "steps with server-side apply; ratcheting_updates has the same steps as single updates",
    "map-dispatch": _FAKES,
    "vap-composition": _FAKES,
    "vap-eval": _FAKES,
    "vap-eval-budget": _FAKES,
    "vap-decisions": _FAKES,
    "vap-typecheck": _FAKES,
    "vap-types-to-check": _FAKES,
    "match-conditions": _FAKES,
    "match-resources": _FAKES,
    "object-selector": _FAKES,
    "param-ref": _FAKES,
}
