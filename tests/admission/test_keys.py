"""Duplicate keys in a review are refused, however they are written."""

import json
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission.errors import Malformed
from webhook.admission.keys import check_keys

TEXTS = st.text(alphabet='ab":{}[],\\ \n\u2028é', max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
STYLES: list[dict[str, Any]] = [
    {},
    {"separators": (",", ":")},
    {"indent": 1},
    {"separators": (" , ", "\t: ")},
    {"ensure_ascii": False},
]


def without_escaped_quotes(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\\u0022" if found[1] == '"' else found[0], text)


@given(VALUES, st.sampled_from(STYLES), st.booleans())
def test_no_text_without_duplicate_keys_is_refused(value: Any, style: dict[str, Any], escaped: bool) -> None:
    text = json.dumps(value, **style)
    if escaped:
        text = without_escaped_quotes(text)
    check_keys(text.encode(), orjson.loads(text))


@given(VALUES, VALUES, TEXTS, TEXTS, st.sampled_from(STYLES), st.booleans())
def test_every_text_with_a_duplicate_key_is_refused(
    first: Any, second: Any, key: str, other: str, style: dict[str, Any], escaped: bool
) -> None:
    colon = style.get("separators", (",", ":"))[1]
    pairs = ",".join(
        f"{json.dumps(each)}{colon}{json.dumps(value, **style)}" for each, value in [(key, first), (key, second)]
    )
    text = f"[{{{pairs}}}, {json.dumps(other)}]"
    if escaped:
        text = without_escaped_quotes(text)
    with pytest.raises(Malformed, match="twice"):
        check_keys(text.encode(), orjson.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"a":1,"a":2,"b":"\\u0022:"}',
        '{"a":1,"a" :2,"b":"\\u0022:"}',
        '{"x":{"y":[{"a":1,"a":{}}]}}',
        '{"a":' * 300 + '{"b":1,"b":2}' + "}" * 300,
    ],
)
def test_a_key_counts_however_it_is_written(text: str) -> None:
    with pytest.raises(Malformed):
        check_keys(text.encode(), orjson.loads(text))


def test_the_message_names_the_key() -> None:
    with pytest.raises(Malformed, match=r'an object has the key "kind" twice'):
        check_keys(b'{"kind":1,"kind":2}', {"kind": 2})
