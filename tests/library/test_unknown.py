"""Unknown values: nothing is said that does not hold for every value, and everything else is said."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.test_laws import CASES
from webhook import catalog
from webhook.catalog import KnownKind
from webhook.cli.cases import Case, written
from webhook.cluster import MemoryView
from webhook.engine import CHILD_CODES, Options
from webhook.ground.fieldpath import field_keys
from webhook.library.review import ReviewedManifest, Stored, review
from webhook.library.unknown import Substitutions, World, prepared, unknown_in
from webhook.manifests.documents import Document, parse
from webhook.policy import Dependence, Open, Profile

LOADED = catalog.load()
SAMPLE = 60
"""Objects of each kind; all of them (15,000) were run once, in minutes."""

Keys = tuple[str | int, ...]
Row = TypeVar("Row", bound=tuple[Any, ...])
FAULTY: set[tuple[str, Keys]] = {
    ("base model and runtime of a predictor", ("spec", "modelFormat", "name")),
    ("a runtime is selected for a predictor without one", ("spec", "supportedModelFormats", 0, "autoSelect")),
    ("mounts of volumes of the runtime and of the model", ("spec", "engineConfig", "volumes", 0, "name")),
    ("the cluster has no default mode", ("data", "deploy")),
    ("weights are migrated with the model", ("spec", "baseModelRef", "name")),
    ("two services derive one template with the same content", ("spec", "env", 0, "value")),
    ("a gateway alone disables the routing of the runtime config", ("spec", "routing", "enabled")),
    ("a predictor that only has containers is deprecated", ("spec", "runtime", "name")),
    ("a worker becomes the engine's", ("spec", "predictor", "model", "runtime")),
    ("cpu with claims", ("spec", "hardware", "gpu", "vendor")),
    ("the parts of pods do not matter on a Mac", ("metadata", "namespace")),
    ("the metal agent asks for the runtime from 0.7.3 on", ("spec", "modelRef")),
    ("the number of GPUs that the profile uses, in requests only", ("spec", "templateRef")),
    ("a mount at the place of the model", ("spec", "extraVolumes", 0, "name")),
    ("a utilization of 0", ("spec", "autoscaling", "metrics", 0, "type")),
    (
        "TP equal to the number of accelerators",
        ("spec", "inferenceConfig", "flavors", 0, "limits", "nvidia.com/gpu"),
    ),
    (
        "createdAt of a new object is the time at which the API server received it",
        ("metadata", "managedFields", 0, "time"),
    ),
}
"""Cases, and the values of which something false was said once: they are always in the sample."""


def leaves(value: Any, at: Keys = ()) -> Iterator[Keys]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for key, item in children:
        found = True
        yield from leaves(item, (*at, key))
    if at[1:] and not found and at[0] not in ("apiVersion", "kind", "status"):
        yield at


def changed(value: Any, path: Keys, new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def judged(value: dict[str, Any], case: Case, *, others: list[dict[str, Any]] | None = None) -> ReviewedManifest:
    given = case.others if others is None else others
    stored = Stored(world=World().extended([value, *given]))
    options = Options(Profile(case.profile), strict_fields=True, settings=case.settings)
    return review(Document("", 1, value), LOADED, MemoryView(given), options, stored)


def said(found: ReviewedManifest) -> set[tuple[str, str, str]]:
    decision = found.validation
    return {
        (each.field, each.label, _cause(each.label, each.message)) for each in (*decision.causes, *decision.warnings)
    }


def _cause(label: str, message: str) -> str:
    """The message without what becomes of it: of a pod, that is known only with all that completes it."""
    return re.split(r" \(|; ", message, maxsplit=1)[0] if label.startswith("KP") else message


def holds(found: set[tuple[str, str, str]], whole: set[tuple[str, str, str]]) -> bool:
    """Whether all that was found is said of the whole, too, where "${UNKNOWN}" in a message is the value.

    What Kubernetes says of a part of a pod, it says of the first child that has the part.
    """
    return all(
        any(
            field == other_field and _is_same(label, message, other_label, other)
            for other_field, other_label, other in whole
        )
        for field, label, message in found
    )


def _is_same(label: str, message: str, other_label: str, other: str) -> bool:
    if label == "KP001" and other_label in CHILD_CODES:
        return other.startswith(message)
    return label == other_label and re.fullmatch(_pattern(message), other, re.DOTALL) is not None


def _pattern(message: str) -> str:
    return ".*".join(map(re.escape, message.split("${UNKNOWN}")))


def sampled(found: list[Row]) -> Iterator[Row]:
    """Some rows, each of which starts with its case and ends with a path, and those of :data:`FAULTY`."""
    chosen = random.Random(33).sample(found, min(SAMPLE, len(found)))
    yield from chosen
    yield from (row for row in found if (row[0].name, row[-1]) in FAULTY and row not in chosen)


def rows(cases: list[Case], known: KnownKind) -> list[tuple[Case, dict[str, Any], Keys]]:
    return [(case, obj, path) for case in cases for obj in (written(case, known),) for path in leaves(obj)]


def is_blocked(whole: set[tuple[str, str, str]], path: Keys) -> bool:
    """Whether the value itself is refused: what else there is to say is then not said."""
    return any(tuple(field_keys(field))[: len(path)] == path or label == "schema" for field, label, _ in whole)


@pytest.mark.parametrize(("known", "cases"), CASES, ids=[known.gvk.kind for known, _ in CASES])
def test_what_is_said_of_an_object_with_an_unknown_value_is_true_of_one_with_that_value(
    known: KnownKind, cases: list[Case]
) -> None:
    for case, obj, path in sampled(rows(cases, known)):
        whole = said(judged(obj, case))
        if not is_blocked(whole, path):
            unknown = judged(changed(obj, path, "${UNKNOWN}"), case)
            assert holds(said(unknown), whole), (case.name, path)
            assert unknown.unknown == ("${UNKNOWN}",)


def other_rows(cases: list[Case]) -> list[tuple[Case, list[dict[str, Any]], Keys]]:
    return [
        (case, [*case.others[:index], changed(other, path, "${UNKNOWN}"), *case.others[index + 1 :]], path)
        for case in cases
        for index, other in enumerate(case.others)
        for path in leaves(other)
    ]


REFERRING = [(known, cases) for known, cases in CASES if any(case.others for case in cases)]


@pytest.mark.parametrize(("known", "cases"), REFERRING, ids=[known.gvk.kind for known, _ in REFERRING])
def test_what_is_said_beside_an_object_with_an_unknown_value_is_true_beside_one_with_that_value(
    known: KnownKind, cases: list[Case]
) -> None:
    for case, others, path in sampled(other_rows(cases)):
        obj = written(case, known)
        assert holds(said(judged(obj, case, others=others)), said(judged(obj, case))), (case.name, path)


def test_the_rows_in_which_something_false_was_said_are_still_there() -> None:
    found = [row for known, cases in CASES for row in (*rows(cases, known), *other_rows(cases))]
    assert {(case.name, path) for case, _, path in found} >= FAULTY


@pytest.mark.parametrize(
    ("code", "leaf", "expected"),
    [
        ("OM329", ("spec", "model"), True),
        ("OM407", ("spec", "runtime"), True),
        ("OM407", ("spec", "model", "kind"), False),
        ("OM378", ("metadata", "annotations", "ome.io/deploymentMode"), True),
        ("OM408", ("metadata", "annotations", "ome.io/deploymentMode"), False),
        ("OM317", ("spec", "engine"), False),
    ],
)
def test_a_rule_that_looks_for_a_leaf_in_the_stamp_depends_on_it(code: str, leaf: Keys, expected: bool) -> None:
    policy = next(known.policy for known, _ in CASES if "OM329" in known.policy.codes)
    rule = next(each for each in policy.validations if each.code == code)
    depends, values = Dependence(policy, rule), Open(leaves=[leaf])
    assert (depends.is_decided_wholly_by(values) or depends.is_worded_by(values)) == expected


def flux(text: str, values: dict[str, str] | None = None) -> Any:
    value = {"apiVersion": "v1", "kind": "K", "spec": {"a": text}}
    return prepared(Document("", 1, value), values).value["spec"]["a"]


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("${A:=x}", {}, "x"),
        ("${A:-x}", {}, "x"),
        ("${A=x}", {}, "x"),
        ("${A:=1}", {}, 1),
        ("${A:=true}", {}, True),
        ("v${A:=1}", {}, "v1"),
        ("${A:=x}", {"A": "z"}, "z"),
        ("${A:=x}", {"A": "y"}, True),  # as kubectl reads it
        ("${A:=x}", {"A": ""}, "x"),
        ("${A}", {"A": "3"}, 3),
        ("${A}", {"A": '"3"'}, "3"),
        ("${A}", {"A": ""}, None),
        ("${A}-${B}", {"A": "a", "B": "b"}, "a-b"),
        ("k: ${A}", {"A": "3"}, "k: 3"),
        ("$${A}", {"A": "x"}, "$${A}"),  # it stays as it is, so that it is not taken for a variable
        ("$A", {"A": "x"}, "$A"),
        ("${A}", {}, "${A}"),
        ("${A}-${B}", {"A": "a"}, "${A}-${B}"),
        ("${A^^}", {"A": "a"}, "${A^^}"),
        ("${A:=${B}}", {"A": ""}, "${A:=${B}}"),
        ("${A:=}", {}, None),
        ("${1}", {"1": "a"}, "${1}"),
    ],
)
def test_variables_are_substituted_as_flux_does(text: str, values: dict[str, str], expected: Any) -> None:
    assert flux(text, values) == expected


def test_what_depends_on_the_cluster_is_unknown_also_with_a_default() -> None:
    def applied(values: str) -> Document:
        text = f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps}}
spec: {{path: ./apps, postBuild: {{substitute: {values}}}}}
"""
        return parse(text, "f")[0]

    here = Path.cwd()
    found = Substitutions.of([applied("{A: x, B: y, C: z}"), applied("{A: x, B: w}")], here, {"D": "v"})
    values = found.values(here / "apps" / "model.yaml")
    assert values == {"A": "x", "B": None, "C": None, "D": "v"}
    assert [prepared(Document("", 1, {"kind": f"${{{each}:=d}}"}), values).value["kind"] for each in "ABCE"] == [
        "x",
        "${B:=d}",
        "${C:=d}",
        "d",
    ]


def test_the_label_of_flux_opts_out() -> None:
    for part in ("labels", "annotations"):
        metadata = {"name": "m", part: {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}
        value = {"apiVersion": "v1", "kind": "K", "metadata": metadata, "spec": {"a": "${A:=1}", "b": "${B}"}}
        document = Document("", 1, value)
        assert prepared(document, {"B": "x"}) is document
        assert unknown_in(value) == {}


SECRET = "ENC[AES256_GCM,data:Zm9v,iv:aXY=,tag:dGFn,type:str]"


def test_what_sops_has_encrypted_is_unknown_and_its_own_part_is_dropped() -> None:
    value = {"apiVersion": "v1", "kind": "K", "spec": {"a": SECRET, "b": ["x", SECRET]}, "sops": {"mac": SECRET}}
    found = prepared(Document("", 1, value)).value
    assert "sops" not in found
    assert unknown_in(found) == {("spec", "a"): SECRET, ("spec", "b", 1): SECRET}
    kept = {**value, "sops": {"other": 1}}
    assert prepared(Document("", 1, kept)).value == kept


def test_a_map_with_an_unknown_key_is_unknown() -> None:
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"${K}": "a", "b": "${V}"}}}
    assert unknown_in(value) == {("metadata", "labels"): "${K}"}


def test_a_deep_or_odd_object_is_judged_too() -> None:
    deep: Any = "${X}"
    for _ in range(900):
        deep = [deep]
    value = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": "${M}", "spec": deep}
    assert len(unknown_in(value)) == 2
    names = {"name": ["${X}"]}
    for obj in (
        value,
        {**value, "metadata": names, "spec": "${S}"},
        {**value, "metadata": {"name": "a", "annotations": "${A}"}},
    ):
        found = review(Document("", 1, obj), LOADED, MemoryView(), Options(strict_fields=True), Stored())
        assert len(found.unknown) == len(unknown_in(obj))
