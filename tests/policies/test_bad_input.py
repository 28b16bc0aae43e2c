"""What no object should hold, at every field of every kind: the gate answers, names the field, and never breaks."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.fuzz.oracle import Oracle
from tests.fuzz.schema import disagreement
from tests.kinds import known_kind
from tests.laws import is_quick
from tests.oracle.build import find_oracle
from tests.policies.test_cases import files, read, target
from webhook import catalog, engine
from webhook.admission.decision import Decision, Request
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import run as run_case
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.golang.json import settle

Keys = tuple[str | int, ...]
Object = dict[str, Any]

KINDS = sorted(str(gvk) for gvk in catalog.load().kinds)
MANY = 300
"""Fields of a kind that are all tried; of one that embeds Pods so many of the first levels, and half as many below."""
LEVELS = 4
VALUES: tuple[Any, ...] = ("text", 7, 1.5, True, [], ["x"], {}, {"x": {}}, 2**63, -(10**30))
DEEP = json.loads("[" * 60 + "]" * 60)


@cache
def good_objects() -> dict[str, Object]:
    """A new object of each kind that the gate takes as it is, the largest of those in the cases."""
    loaded = catalog.load()
    found: dict[str, Object] = {}
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                request = run_case(case, known, loaded).request
                obj, name = request.object, str(known.gvk)
                if request.old_object is None and obj is not None and decide(obj, known, loaded)[1].allowed:
                    found[name] = max(obj, found.get(name, {}), key=lambda each: len(str(each)))
    return found


def decide(obj: Object, known: KnownKind, loaded: Catalog, *, strict_fields: bool = True) -> tuple[Decision, Decision]:
    options = Options(strict_fields=strict_fields, references=False)
    request = Request(known.gvk, known.plural, "CREATE", obj)
    mutation = engine.mutate(request, loaded, MemoryView(), options)
    assert mutation.object is not None
    stored = Request(known.gvk, known.plural, "CREATE", mutation.object)
    return mutation, engine.validate(stored, loaded, MemoryView(), options)


def fields(schema: Object, keys: Keys = ()) -> Iterator[tuple[Keys, Object]]:
    """Every place that a schema describes, with what it says there."""
    inner = [(key, each) for key, each in schema.get("properties", {}).items()]
    inner += [(0, schema["items"])] if "items" in schema else []
    inner += [("x", schema["additionalProperties"])] if isinstance(schema.get("additionalProperties"), dict) else []
    for key, each in inner:
        yield (*keys, key), each
        yield from fields(each, (*keys, key))


def tried(known: KnownKind) -> list[tuple[Keys, Object]]:
    found = [(keys, schema) for keys, schema in fields(known.schema.raw) if keys[0] == "spec"]
    if len(found) <= MANY:
        return found
    deep = [each for each in found if len(each[0]) > LEVELS]
    shallow = [each for each in found if len(each[0]) <= LEVELS]
    dice = random.Random(str(known.gvk))
    return dice.sample(shallow, min(MANY, len(shallow))) + dice.sample(deep, MANY // 2)


def placed(obj: Any, keys: Keys, value: Any) -> Any:
    """The object with a value at a place; missing parents are created."""
    if not keys:
        return value
    key, *more = keys
    if isinstance(key, int):
        items = list(obj) if isinstance(obj, list) and obj else [{}]
        return [placed(items[0], tuple(more), value), *items[1:]]
    members = obj if isinstance(obj, dict) else {}
    return {**members, key: placed(members.get(key), tuple(more), value)}


def written(keys: Keys) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def fits(value: Any, schema: Object) -> bool:
    """Whether a value is of the schema's type; nothing more."""
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return {
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": whole or (isinstance(value, float) and value.is_integer()),
        "number": whole or isinstance(value, float),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }.get(schema.get("type", ""), True)


def becomes_text(known: KnownKind, schema: Object) -> bool:
    """Whether a number becomes a quantity: 1.5 is refused where the kind's own webhook does not read it."""
    return known.policy.numeric_quantities and "KMGTPE" in schema.get("pattern", "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_field(kind: str, loaded: Catalog) -> None:
    known = of_name(kind, loaded)
    good, dice = good_objects()[kind], random.Random(kind)
    named = 0
    for keys, schema in tried(known):
        for value in dice.sample((*VALUES, DEEP), 4) if is_quick() else (*VALUES, DEEP):
            obj = settle(placed(good, keys, copy.deepcopy(value)))
            mutation, validation = decide(obj, known, loaded)
            assert "<nil>" not in {cause.field for cause in validation.causes}
            if fits(settle(value), schema) or (becomes_text(known, schema) and isinstance(settle(value), float)):
                continue
            field = written(keys)
            said = [cause for cause in validation.causes if cause.field == field]
            assert any(cause.code or "in body must be of type" in cause.message for cause in said), (
                f"{field} = {value!r}: {[str(cause) for cause in validation.causes]}"
            )
            assert mutation.allowed
            named += 1
    assert named > 30


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_nothing_anywhere(kind: str, loaded: Catalog) -> None:
    """It never breaks anything, and what it may not be is named."""
    known = of_name(kind, loaded)
    for keys, schema in tried(known):
        _, validation = decide(placed(good_objects()[kind], keys, None), known, loaded)
        if isinstance(keys[-1], int) and not schema.get("nullable"):
            field = written(keys)
            assert [cause for cause in validation.causes if cause.field == field], f"{field}: {validation.causes}"


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_stored_an_update_is_answered(kind: str, loaded: Catalog) -> None:
    """It may be of another definition under the same name, such as another shape of llmd.ai/v1alpha1."""
    known = of_name(kind, loaded)
    good = good_objects()[kind]
    spec = good["spec"]
    ruins = [{}, "text", *({k: v for k, v in spec.items() if k != key} for key in spec)]
    ruins += [{**spec, key: value} for key in spec for value in ("text", 7, True, [], ["x"], {}, {"x": {}})]
    for stored in ({k: v for k, v in good.items() if k != "spec"}, *({**good, "spec": ruin} for ruin in ruins)):
        update = Request(known.gvk, known.plural, "UPDATE", good, stored)
        mutation = engine.mutate(update, loaded, MemoryView())
        validation = engine.validate(replace(update, object=mutation.object), loaded, MemoryView())
        strange = [cause for cause in validation.causes if not cause.code and "is immutable" not in cause.message]
        assert not strange, stored.get("spec")


@pytest.mark.skipif(find_oracle() is None, reason="needs the API server's own code: make oracle")
@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_the_api_servers(kind: str, loaded: Catalog) -> None:
    """Of a few fields of each kind; the schema with all its descriptions goes to the API server's code each time."""
    known = of_name(kind, loaded)
    good = good_objects()[kind]
    places = tried(known)
    dice = random.Random(kind)
    with Oracle() as oracle:
        for _ in range(4 if len(places) > MANY else 40):
            keys, _schema = dice.choice(places)
            obj = settle(placed(good, keys, dice.choice((*VALUES, None))))
            assert disagreement({"schema": known.schema.raw, "obj": obj}, oracle) is None, (written(keys), obj)


LACKS = {
    "AIMClusterImage": ["spec.image", "spec.resources"],
    "AIMClusterRuntimeConfig": [],
    "AIMClusterServiceTemplate": ["spec.aimImageName"],
    "AIMImage": ["spec.image", "spec.resources"],
    "AIMModelCache": ["spec.size", "spec.sourceUri"],
    "AIMRuntimeConfig": [],
    "AIMService": ["spec.aimImageName"],
    "AIMServiceTemplate": ["spec.aimImageName"],
    "AIMTemplateCache": ["spec.templateRef"],
    "BaseModel": ["spec.storage"],
    "BenchmarkJob": [
        "spec.endpoint",
        "spec.maxRequestsPerIteration",
        "spec.maxTimePerIteration",
        "spec.outputLocation",
        "spec.task",
    ],
    "ClusterBaseModel": ["spec.storage"],
    "ClusterServingRuntime": [],
    "FineTunedWeight": ["spec.baseModelRef", "spec.hyperParameters", "spec.modelType", "spec.storage"],
    "InferenceService": [],
    "InferenceService.v1alpha1.inference.llmkube.dev": ["spec.modelRef"],
    "Model": ["spec.source"],
    "OpenModel": ["spec.familyName", "spec.source"],
    "ServingRuntime": [],
    "VariantAutoscaling": [
        "spec.accelerator",
        "spec.acceleratorCount",
        "spec.modelID",
        "spec.sloClassRef",
        "spec.variantID",
        "spec.variantProfile",
    ],
}
REFUSED_WITHOUT = {
    "Model": "spec",
    "InferenceService.v1alpha1.inference.llmkube.dev": "spec",
    "OpenModel": "spec.source",
    "VariantAutoscaling": "spec",
}
"""The others' own definitions do not ask for a specification: there it is a warning, where one must hold something."""


def lacks_of(known: KnownKind) -> list[str]:
    return LACKS.get(str(known.gvk)) or LACKS.get(known.gvk.kind, [])


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_specification_is_told_what_it_lacks(kind: str, loaded: Catalog) -> None:
    known = of_name(kind, loaded)
    _, validation = decide({**good_objects()[kind], "spec": {}}, known, loaded)
    assert sorted(cause.field for cause in validation.causes) == lacks_of(known)


@pytest.mark.parametrize("kind", KINDS)
def test_no_specification_and_null_are_told_so(kind: str, loaded: Catalog) -> None:
    known = of_name(kind, loaded)
    nulled = {**good_objects()[kind], "spec": None}
    for obj in (nulled, {key: value for key, value in nulled.items() if key != "spec"}):
        _, validation = decide(obj, known, loaded)
        lacks, refused = lacks_of(known), REFUSED_WITHOUT.get(str(known.gvk), REFUSED_WITHOUT.get(known.gvk.kind))
        assert [cause.field for cause in validation.causes] == ([refused] if refused else [])
        told = [str(warning) for warning in validation.warnings if warning.field == "spec" and not warning.code]
        assert len(told) == bool(lacks and not refused)
        assert all(field.removeprefix("spec.") in text for field in lacks for text in told)


@pytest.mark.parametrize("kind", KINDS)
def test_annotations_of_three_mebibytes_are_refused_in_a_sentence(kind: str, loaded: Catalog) -> None:
    known = of_name(kind, loaded)
    good = good_objects()[kind]
    sentences = []
    for given in ({"a/b": "x" * (3 << 20)}, {f"a/{index}": "x" * 20 for index in range(100_000)}):
        obj = {**good, "metadata": {**good["metadata"], "annotations": given}}
        mutation, validation = decide(obj, known, loaded)
        assert mutation.allowed
        sentences += [str(cause) for cause in validation.causes if cause.field in {"", "metadata.annotations"}]
    assert sentences[0] == "metadata.annotations: Too long: may not be more than 262144 bytes"
    assert re.fullmatch("the object has 100,[0-9]{3} values; the gate judges objects of at most 50,000", sentences[1])


def test_annotations_of_just_the_limit_are_taken(loaded: Catalog) -> None:
    known = of_name("Model.v1alpha1.inference.llmkube.dev", loaded)
    good = good_objects()[str(known.gvk)]
    for size, fields_refused in ((1 << 18, []), ((1 << 18) + 1, ["metadata.annotations"])):
        obj = {**good, "metadata": {**good["metadata"], "annotations": {"a": "é" * 2 + "x" * (size - 5)}}}
        request = Request(known.gvk, known.plural, "CREATE", obj)
        assert [cause.field for cause in engine.validate(request, loaded, MemoryView()).causes] == fields_refused


def misspelt(name: str) -> Iterator[str]:
    """As people write it by mistake: in another case, with joints, a letter left out, two exchanged."""
    yield name.upper()
    yield "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    if len(name) > 4:
        yield name[:2] + name[3:]
        yield name[:-2] + name[-1] + name[-2]


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_field_is_named_with_the_nearest_known_one(kind: str, loaded: Catalog) -> None:
    known = of_name(kind, loaded)
    good = good_objects()[kind]
    tested = 0
    places = {keys for keys, _ in fields(known.schema.raw)}
    for keys, _ in tried(known):
        *parents, name = keys
        if not isinstance(name, str) or name == "x" or len(name) < 4:
            continue
        for wrong in set(misspelt(name)):
            if (*parents, wrong) in places:
                continue
            obj = placed(without(good, keys), (*parents, wrong), "anything")
            if parents and is_map(known.schema.raw, tuple(parents)):
                continue
            field = written((*parents, wrong))
            said = [cause.message for cause in decide(obj, known, loaded)[1].causes if cause.field == field]
            assert len(said) == 1, field
            assert said[0].startswith("unknown field")
            same = wrong.replace("_", "").lower() == name.lower()
            assert not same or said == [f"unknown field; did you mean {name}?"] or "did you mean" not in said[0], field
            tested += "did you mean" in said[0]
    assert tested > 10


def test_nothing_is_suggested_where_nothing_is_near(loaded: Catalog) -> None:
    known = of_name("Model.v1alpha1.inference.llmkube.dev", loaded)
    good = good_objects()[str(known.gvk)]
    for wrong in ("prefetching", "x", "completelyDifferent", "ns"):
        _, validation = decide(placed(good, ("spec", wrong), 1), known, loaded)
        assert [str(cause) for cause in validation.causes] == [f"spec.{wrong}: unknown field"]


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("Model", ("spec", "hardware", "gpu", "Count"), "unknown field; did you mean count?"),
        ("Model", ("spec", "quantisation"), "unknown field; did you mean quantization?"),
        ("Model", ("spec", "hardware", "gpu", "resource_name"), "unknown field; did you mean resourceName?"),
        ("OpenModel", ("spec", "source", "modelHub", "modelId"), "unknown field; did you mean modelID?"),
        ("InferenceService", ("spec", "engine", "minReplica"), "unknown field; did you mean minReplicas?"),
        ("InferenceService", ("spec", "engine", "runner", "ports", 0, "containerport"), "did you mean containerPort?"),
        ("AIMImage", ("spec", "modelId"), "unknown field"),
    ],
)
def test_an_unknown_field_is_refused_with_the_closest_name(
    kind: str, keys: Keys, message: str, loaded: Catalog
) -> None:
    """The last has a rule of its own, which names the field of this release."""
    known = known_kind(kind, loaded)
    meant = message.rpartition(" ")[2].removesuffix("?")
    obj = placed(without(good_objects()[str(known.gvk)], (*keys[:-1], meant)), keys, 1)
    said = [cause.message for cause in decide(obj, known, loaded)[1].causes if cause.field == written(keys)]
    assert len(said) == 1
    assert said[0].endswith(message)


def of_name(kind: str, loaded: Catalog) -> KnownKind:
    return next(each for each in loaded.kinds.values() if str(each.gvk) == kind)


def without(obj: Any, keys: Keys) -> Any:
    """The object without what is at a place."""
    key, *more = keys
    if isinstance(key, int):
        return [without(obj[0], tuple(more)), *obj[1:]] if isinstance(obj, list) and obj and more else obj
    if not isinstance(obj, dict) or key not in obj:
        return obj
    if more:
        return {**obj, key: without(obj[key], tuple(more))}
    return {name: value for name, value in obj.items() if name != key}


def is_map(schema: Object, keys: Keys) -> bool:
    """Whether what is at a place may have fields of any name."""
    for key in keys:
        if isinstance(key, int):
            schema = schema["items"]
        else:
            schema = schema.get("properties", {}).get(key) or schema["additionalProperties"]
    return "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields", False)
