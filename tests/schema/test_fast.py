"""The fast check of objects: in a list it gives the same answer as on a single object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webhook.schema import Structural

FIELDS: dict[str, Any] = {
    "name": {"type": "string"},
    "size": {"type": "integer", "minimum": 0},
    "ready": {"type": "boolean"},
    "child": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a"]), st.just({"name": "a"}), st.just({})
)
OBJECTS = st.one_of(VALUES, st.dictionaries(st.sampled_from([*FIELDS, "unknown"]), VALUES))


@given(required=st.lists(st.sampled_from([*FIELDS]), unique=True), items=st.lists(OBJECTS, max_size=3))
def test_a_list_is_clean_when_each_of_its_objects_is(required: list[str], items: list[Any]) -> None:
    item = {"type": "object", "required": required, "properties": FIELDS}
    of_one = Structural({"type": "object", "properties": {"x": item}})
    of_many = Structural({"type": "object", "properties": {"x": {"type": "array", "items": item}}})
    each = [of_one.is_clean({"x": value}) for value in items]
    assert of_many.is_clean({"x": items}) is all(each)
