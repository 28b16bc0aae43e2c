"""A user's object is never an internal fault: whatever stands at any field of any kind, both calls give a decision."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.laws import examples
from tests.policies.test_bad_input import KINDS, Keys, Object, fields, good_objects, of_name, placed, tried, written
from webhook import engine
from webhook.admission.decision import Request
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

WHOLE = (5.0, 1e9, 0.0, -0.0, -3.0)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, *WHOLE, 1.5, 1e300, 2**53, 2**63, -(10**30)),
    *("", "-", "text", "NaN", "Infinity", "1e9", "5.0", "0x10", "é\x00", "\ud800"),
    *([], [None], [""], [[]], [{}], [1, None, "x", {}], [{"name": None}]),
    *({}, {"": None}, {"x": None}, {"x": []}, {"x": {"x": None}}, {"name": 5}, {"name": "x", "time": 1}),
)
METADATA = [
    ("metadata", *keys)
    for keys in (
        *((), ("name",), ("generateName",), ("namespace",), ("uid",), ("generation",), ("selfLink",)),
        *(("creationTimestamp",), ("deletionTimestamp",), ("labels",), ("labels", "x"), ("annotations",)),
        *(("annotations", "modelgate.dev/normalised"), ("finalizers",), ("finalizers", 0), ("ownerReferences",)),
        *(("annotations", "kubectl.kubernetes.io/last-applied-configuration"), ("ownerReferences", 0)),
        *(("managedFields",), ("managedFields", 0), ("managedFields", 0, "time"), ("managedFields", 0, "manager")),
        *(("managedFields", 0, "fieldsV1"), ("managedFields", 0, "fieldsV1", "f:spec")),
    )
]
TOP: list[Keys] = [("spec",), ("status",), ("unknown",)]


def places(known: KnownKind) -> list[Keys]:
    """Metadata, the fields of the specification, and a part of the status."""
    status = [keys for keys, _ in fields(known.schema.raw) if keys[0] == "status"][1:40]
    return [*METADATA, *TOP, *(keys for keys, _ in tried(known)), *status]


def decided(known: KnownKind, loaded: Catalog, obj: Object, old: Object | None, options: Options) -> None:
    """Both calls about one object, as it came and as the first call leaves it."""
    request = Request(known.gvk, known.plural, "CREATE" if old is None else "UPDATE", obj, old)
    mutation = engine.mutate(request, loaded, MemoryView(), options)
    assert mutation.allowed
    for each in (request, replace(request, object=mutation.object)):
        validation = engine.validate(each, loaded, MemoryView(), options)
        assert validation.allowed is not bool(validation.causes)


@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_value_anywhere_gets_a_decision(kind: str, loaded: Catalog) -> None:
    known, dice = of_name(kind, loaded), random.Random(kind)
    good = good_objects()[kind]
    stored = engine.mutate(Request(known.gvk, known.plural, "CREATE", good), loaded, MemoryView()).object
    assert stored is not None
    tries = dice.sample([(keys, value) for keys in METADATA for value in ODD], 100)
    tries += [(keys, value) for keys in places(known) for value in (dice.choice(WHOLE), dice.choice(ODD))]
    for keys, value in dice.sample(tries, min(len(tries), examples(len(tries)))):
        options = Options(profile=dice.choice(list(Profile)), references=dice.random() < 0.5)
        new, odd = placed(good, keys, copy.deepcopy(value)), placed(stored, keys, copy.deepcopy(value))
        for obj, old in ((new, None), (odd, stored), (stored, odd), (odd, {**odd, "spec": stored.get("spec")})):
            try:
                decided(known, loaded, obj, old, options)
            except Exception as error:
                error.add_note(f"{written(keys)} = {value!r}, {options.profile}")
                raise


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_float_is_judged_like_the_integer(kind: str, loaded: Catalog) -> None:
    """The API server accepts 5.0 in an integer field, and sends it to webhooks as 5."""
    known = of_name(kind, loaded)
    good = good_objects()[kind]
    for keys, schema in tried(known):
        if schema.get("type") != "integer" and not schema.get("x-kubernetes-int-or-string"):
            continue
        for value in (-1, 0, 1, 3, 70_000):
            found = []
            for number in (value, float(value)):
                request = Request(known.gvk, known.plural, "CREATE", placed(good, keys, number))
                options = Options(references=False)
                mutation = engine.mutate(request, loaded, MemoryView(), options)
                request = replace(request, object=mutation.object)
                validation = engine.validate(request, loaded, MemoryView(), options)
                filled = [str(each) for each in mutation.defaults]
                found.append((filled, [*map(str, validation.causes)], [*map(str, validation.warnings)]))
            assert found[0] == found[1], (written(keys), value)
