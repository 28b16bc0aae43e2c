"""Operations on the rules in schemas: where they run, on which old values, what ratchets, what they cost."""

from __future__ import annotations

from typing import Any

from tests.conformance.compare import differs, errors_differ, first, warnings_differ
from tests.conformance.schema_ops import custom_resource
from webhook.cel.program import PER_CALL_LIMIT, RUNTIME_BUDGET, Budget
from webhook.schema import FieldError, Structural
from webhook.schema.correlate import Correlated, validate_lists
from webhook.schema.node import MISSING, SchemaNode, build
from webhook.schema.objectmeta.embedded import validate_embedded
from webhook.schema.rules.compile import compile_rules
from webhook.schema.rules.run import OldItems, RuleRun
from webhook.schema.validate import validate

Case = dict[str, Any]


def _run(node: SchemaNode, given: dict[str, Any], old: Any, *, ratchet: bool) -> tuple[RuleRun, int]:
    """The run and its cost; a run that the budget stops counts as one more than the budget."""
    limit = given.get("costBudget", RUNTIME_BUDGET)
    run = RuleRun(Budget(limit, given.get("perCallLimit", PER_CALL_LIMIT)))
    rules = compile_rules(node, is_root=given.get("isRoot", True), nested=True)
    correlated = Correlated(given["obj"], old, node) if ratchet else None
    if rules is not None:
        run.validate(rules, given["obj"], old, path=given.get("path", "root"), correlated=correlated)
    return run, limit + 1 if run.stopped else run.budget.spent


def cel_schema(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    run, cost = _run(build(given["schema"]), given, given.get("oldObj"), ratchet=False)
    if "errors" not in actual:
        texts = [str(error) for error in run.errors]
        unmet = [text for text in case["expect"]["errorsContain"] if not any(text in found for found in texts)]
        return differs("errors", [unmet, case["expect"]["valid"]], [[], not texts])
    return first(errors_differ(actual["errors"], run.errors), differs("cost", actual.get("cost", cost), cost))


def cel_ratchet(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    run, cost = _run(build(given["schema"]), given, given.get("oldObj"), ratchet=True)
    return first(
        errors_differ(actual["errors"], run.errors),
        warnings_differ(actual["warnings"], run.warnings),
        differs("cost", actual["cost"], cost),
    )


def openapi_cel(case: Case) -> str | None:
    given = case["in"]
    major, _, minor = given["compatVersion"].partition(".")
    node = build(given["schema"], version=(int(major), int(minor)))
    run, _ = _run(node, given | {"path": "", "isRoot": False}, given.get("oldObj"), ratchet=False)
    return errors_differ(case["actual"]["errors"], validate(node, given["obj"]) + run.errors)


def probe(case: Case) -> str | None:
    """A request to the oracle; in mode value a value is not decoded before it is validated."""
    given, wanted = case["in"], case["expect"]
    if given["mode"] != "value":
        return custom_resource(case)
    node, path, old = build(given["schema"]), given.get("path", ""), given.get("oldObj")
    steps: dict[str, list[FieldError]] = {
        "openapi": validate(node, given["obj"], path=path, old=MISSING if old is None else old),
        "embedded": validate_embedded(node, given["obj"], path=path),
        "listtype": validate_lists(node, given["obj"], path),
    }
    found = {key: errors for key, errors in steps.items() if key in given.get("only", steps)}
    problems = [errors_differ(wanted.get(key, []), errors) for key, errors in found.items()]
    if not wanted.get("celBlocked"):
        run, _ = _run(node, given | {"path": path, "isRoot": given.get("isRoot", False)}, old, ratchet=old is not None)
        problems.append(errors_differ(wanted.get("cel", []), run.errors))
        problems.append(warnings_differ(wanted.get("warnings", []), run.warnings))
    return first(*problems)


def correlation(case: Case) -> str | None:
    given, wanted = case["in"], case["expect"]
    here: Correlated | None = Correlated(given["obj"], given["oldObj"], build(given["schema"]))
    for step in given["keyPath"]:
        here = here and (here.index(step) if isinstance(step, int) else here.key(step))
    if here is None:
        return differs("correlated", [wanted["value"], wanted["oldValue"]], [None, None])
    return differs("correlated", wanted, {"value": here.value, "oldValue": here.old, "equal": here.unchanged})


def maplist(case: Case) -> str | None:
    given = case["in"]
    items = OldItems(build(given["schema"]), given.get("items", []))
    return differs("found", case["actual"]["found"], items.get(given["query"]))


def ratchet_ops(case: Case) -> str | None:
    """A sequence of schema changes and applies; an apply replaces the object of its name."""
    schema: Any = {}
    stored: dict[str, Any] = {}
    for step in case["in"]["operations"] or ():
        if step["op"] == "setSchema":
            schema = step["schema"]
        elif step["op"] == "mergePatchSchema":
            schema = _merge(schema, step["patch"])
        else:
            structural = Structural(schema)
            obj = structural.decode(step["obj"]).object
            errors = structural.check(obj, stored.get(step["name"])).errors
            if bool(errors) != step.get("expectError", False):
                return f"{step.get('description')}: {[*map(str, errors)]}"
            if not errors:
                stored[step["name"]] = obj
    return None


def _merge(value: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    base = value if isinstance(value, dict) else {}
    merged = {**base, **{key: _merge(base.get(key), item) for key, item in patch.items()}}
    return {key: item for key, item in merged.items() if item is not None}


OPS = {
    "cel-ratchet": cel_ratchet,
    "cel-schema": cel_schema,
    "correlation": correlation,
    "maplist": maplist,
    "openapi-cel": openapi_cel,
    "probe": probe,
    "ratchet-ops": ratchet_ops,
}
