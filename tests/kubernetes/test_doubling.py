"""Twice as many items take at most 2.3 times the steps, in each list of a pod, whatever the items are."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest

from tests.hostile.bodies import kinds
from tests.hostile.places import Place, places
from tests.kubernetes.fillings import FILLINGS, Text, calls, items
from webhook.ground.budget import STEPS, Budget, SpentError
from webhook.kubernetes import validate, warned

RATIO: Final = 2.3
FEW: Final = 500
"""Steps of the rest of the pod, and of what is judged once."""
COUNT: Final = 160
SOME: Final = 60
"""Items of each of several lists."""
BASE: Final = {"spec": {"containers": [{"name": "main", "image": "a"}]}}
TOGETHER: Final = (
    "spec.volumes",
    "spec.resourceClaims",
    "spec.initContainers",
    "spec.containers[*].env",
    "spec.containers[*].ports",
    "spec.containers[*].resources.claims",
    "spec.containers[*].volumeDevices",
    "spec.containers[*].volumeMounts",
)
"""Lists of which one names the items of another, or items that are compared with those of another."""


UNREAD: Final = ("exitCodes.values", "capabilities.add", "capabilities.drop")
"""Lists whose items no rule looks at one by one."""


@cache
def lists() -> dict[str, Place]:
    """The lists and maps of a pod, by their paths."""
    spec = kinds()["ServingRuntime"].schema.raw["properties"]["spec"]["properties"]["engineConfig"]["properties"][
        "worker"
    ]
    pod = {"type": "object", "properties": {"spec": spec, "metadata": {}}}
    sized = (
        place for place in places(pod) if place.schema.get("type") == "array" or "additionalProperties" in place.schema
    )
    return {str(place): place for place in sized if "runner" not in place.steps}


def steps(template: Any) -> int:
    """The calls that Kubernetes' answer takes."""
    return calls(lambda: [validate("PodTemplateSpec", template), warned("PodTemplateSpec", template)])


def spent(template: Any) -> int:
    """The steps that the answer spends."""
    budget = Budget()
    validate("PodTemplateSpec", template, budget=budget)
    return STEPS - budget.left


@pytest.mark.parametrize("kind", [str, Text])
@pytest.mark.parametrize("name", FILLINGS)
def test_a_list_of_twice_the_length_takes_twice_the_steps(name, kind):
    slow = []
    for path, place in lists().items():
        once, twice = (steps(place.put(BASE, items(place, FILLINGS[name], n, kind))) for n in (COUNT, 2 * COUNT))
        if twice > RATIO * once + FEW:
            slow.append((path, once, twice))
    assert slow == []


@pytest.mark.parametrize("kind", [str, Text])
@pytest.mark.parametrize("one", FILLINGS)
@pytest.mark.parametrize("other", ["equal", "different"])
def test_lists_that_name_each_other_take_twice_the_steps_at_twice_the_length(one, other, kind):
    counts = []
    for n in (SOME, 2 * SOME):
        template: Any = BASE
        for index, path in enumerate(TOGETHER):
            place = lists()[path]
            template = place.put(template, items(place, FILLINGS[(one, other)[index % 2]], n, kind))
        counts.append(steps(template))
    assert counts[1] <= RATIO * counts[0] + FEW


def test_each_item_of_each_list_spends_the_budget():
    unspent = []
    for path, place in lists().items():
        if path.endswith(UNREAD):
            continue
        once, twice = (spent(place.put(BASE, items(place, FILLINGS["different"], n))) for n in (COUNT, 2 * COUNT))
        if twice < once + COUNT:
            unspent.append((path, once, twice))
    assert unspent == []


def test_a_budget_of_one_step_is_spent_by_any_pod():
    with pytest.raises(SpentError):
        validate("PodTemplateSpec", BASE, budget=Budget(limit=1))
    with pytest.raises(SpentError):
        warned("PodSpec", {"hostAliases": [{"ip": "a"}] * 3, "containers": []}, budget=Budget(limit=1))
