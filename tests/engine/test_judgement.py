"""What a judgement puts together: findings of each sort, in their order, and what is written into the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_references import POLICY, pack_at
from tests.crds import crd, spec_schema
from webhook import catalog, engine
from webhook.admission import Decision, GroupVersionKind, Request
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.cluster.view import UNREADABLE
from webhook.engine import Options
from webhook.schema import load_crd

CACHE = GroupVersionKind("aim.silogen.ai", "v1alpha1", "AIMModelCache")
OPEN_MODEL = GroupVersionKind("llmaz.io", "v1alpha1", "OpenModel")
WIDGET = GroupVersionKind("acme.example.com", "v1", "Widget")
GAUGE = GroupVersionKind("acme.example.com", "v1", "Gauge")
LOADED = catalog.load()
GOOD = {"familyName": "a", "source": {"modelHub": {"modelID": "a/b"}}}


class Blind(MemoryView):
    """A view that may not read any object."""

    def get(self, *_: Any) -> dict[str, Any]:
        return UNREADABLE


def validated(
    gvk: GroupVersionKind, loaded: Catalog = LOADED, *, old: Any = None, view: Any = None, **parts: Any
) -> Decision:
    metadata = {"name": "a", "namespace": "n", **parts.pop("metadata", {})}
    head = {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": gvk.kind}
    obj = {**head, "metadata": metadata, **parts}
    stored = old and {**head, "metadata": metadata, **old}
    request = Request(gvk, "", "UPDATE" if old else "CREATE", obj, stored, name="a", namespace="n")
    return engine.validate(request, loaded, view or MemoryView(), Options())


def fields(findings: Any) -> list[str]:
    return [finding.field for finding in findings]


def test_the_audit_log_names_the_rules_and_nothing_that_there_is_not() -> None:
    assert validated(OPEN_MODEL, spec=GOOD).audit == {"catalog": LOADED.digest}
    many = {**GOOD, "inferenceConfig": {"flavors": [{"name": "f"}] * 2}}
    assert validated(OPEN_MODEL, spec=many).audit["codes"] == "LZ217"
    assert validated(OPEN_MODEL, spec={**GOOD, "ownedby": "a"}).audit["codes"] == "schema"


@pytest.mark.parametrize("parts", [{}, {"spec": None}])
def test_an_object_without_its_specification_has_no_effect_which_is_said_where_nothing_else_is_wrong(
    parts: dict[str, Any],
) -> None:
    (warning,) = validated(CACHE, **parts).warnings
    assert str(warning) == (
        "spec: is missing; the API server accepts this, but the object has no effect: set size, sourceUri"
    )
    wrong = validated(CACHE, metadata={"labels": {"a": 1}}, **parts)
    assert (fields(wrong.causes), fields(wrong.warnings)) == (["metadata.labels.a"], [])
    assert "spec" not in fields(validated(OPEN_MODEL, spec=GOOD).warnings)


def test_metadata_of_an_object_whose_schema_is_right_is_judged() -> None:
    assert fields(validated(OPEN_MODEL, spec=GOOD, metadata={"finalizers": "a"}).causes) == ["metadata.finalizers"]


RULED = spec_schema(size={"type": "integer"})
RULED["properties"]["spec"] |= {
    "required": ["size"],
    "x-kubernetes-validations": [
        {"rule": "self.size < 9", "message": "too big"},
        {"rule": "self.size >= oldSelf.size", "message": "shrinks"},
    ],
}


@pytest.mark.parametrize(
    ("size", "old", "messages"),
    [(1, None, []), (9, None, ["too big"]), (3, 2, []), (3, 4, ["shrinks"]), (9, 10, ["too big", "shrinks"])],
)
def test_the_rules_of_a_definition_are_run_on_an_object_whose_fields_are_right(
    size: int, old: int | None, messages: list[str]
) -> None:
    loaded = LOADED.extended([load_crd(crd("acme.example.com", "Gauge", RULED))])
    decision = validated(GAUGE, loaded, spec={"size": size}, old=old and {"spec": {"size": old}})
    assert [cause.message.rpartition(": ")[2] for cause in decision.causes] == messages


def test_of_a_kind_that_only_a_user_defines_nothing_is_said_but_by_its_schema() -> None:
    loaded = LOADED.extended([load_crd(crd("acme.example.com", "Gauge", RULED))])
    assert validated(GAUGE, loaded).warnings == ()


def test_what_a_reference_hides_is_told_once_and_only_if_a_rule_reads_it(tmp_path: Path) -> None:
    document = yaml.safe_load(POLICY)
    loaded = catalog.load(packs=[pack_at(tmp_path / "both")])
    (warning,) = validated(WIDGET, loaded, spec={"queue": "q", "size": 3}, view=Blind()).warnings
    assert (warning.code, warning.field) == ("AC401", "spec.queue")
    assert warning.message.startswith("not judged (nor by AC402): Queue objects may not be read")
    del document["spec"]["validations"][1]
    loaded = catalog.load(packs=[pack_at(tmp_path / "one", yaml.safe_dump(document))])
    decision = validated(WIDGET, loaded, spec={"queue": "q", "size": 3}, view=Blind())
    assert decision.warnings[0].message.startswith("not judged: Queue objects may not be read")
    assert decision.audit["aside"] == "AC401"
    document["spec"]["validations"] = [{"code": "AC403", "at": "spec.size", "rule": "self < 9", "docs": "A rule."}]
    for message, size in (("'is big'", 3), ("'is big for ' + facts.queue.name", 10)):
        document["spec"]["validations"][0] |= {"messageExpression": message}
        loaded = catalog.load(packs=[pack_at(tmp_path / f"none{size}", yaml.safe_dump(document))])
        assert validated(WIDGET, loaded, spec={"queue": "q", "size": size}, view=Blind()).warnings == ()
