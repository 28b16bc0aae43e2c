"""The fields tell shapes of one group and version apart."""

from typing import Any

import pytest

from webhook.facts.llmd import shape_of


@pytest.mark.parametrize(
    ("spec", "name", "fields"),
    [
        ({}, "", ""),
        ({"modelID": "m"}, "", ""),
        ({"modelID": "m", "variantID": "m-A100-1"}, "", ""),
        ({"modelName": "m", "acceleratorType": "A100", "minReplicas": 1}, "the oldest", "modelName, acceleratorType"),
        ({"modelID": "m", "modelProfile": None}, "an older", "modelProfile"),
        ({"modelID": "m", "variantID": None, "modelProfile": {}}, "an older", "modelProfile"),
        ({"modelID": "m", "scaleTargetRef": {}, "variantCost": "1"}, "a newer", "scaleTargetRef, variantCost"),
    ],
)
def test_a_shape_is_named_by_its_fields(spec: dict[str, Any], name: str, fields: str) -> None:
    shape = shape_of(spec)
    assert (shape.name, shape.fields, shape.later) == (name, fields, "")


def test_a_later_form_of_the_shape_with_one_variant_is_not_another_shape() -> None:
    shape = shape_of({"variantID": "m-A100-1", "variantCost": "1", "maxReplicas": 2})
    assert (shape.name, shape.later) == ("", "variantCost, maxReplicas")
