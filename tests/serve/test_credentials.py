"""No reply and no log line shows a credential, wherever in an object a user writes it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.hostile.bodies import good, kinds, review
from webhook.catalog import Catalog
from webhook.engine import Options
from webhook.policy import Profile
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call

SECRET = "s3cretPassw0rd0123"
CREDENTIALS = (
    f"https://ann:{SECRET}@example.com/m.gguf",
    f"https://example.com/{'long/' * 60}m?token={SECRET}",
    f"https://example.com/m.gguf?X-Amz-Signature={SECRET}&x=1",
    f"hf_{SECRET}",
    f"a b hf_{SECRET}",
)


def places(node: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values but the head of the object."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if key not in {"apiVersion", "kind", "metadata"} or path:
                yield (*path, key)
                yield from places(value, *path, key)


def put(obj: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed: Any = json.loads(json.dumps(obj))
    node = changed
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    found: dict[str, Any] = changed
    return found


@pytest.mark.parametrize("kind", kinds())
def test_no_answer_and_no_log_line_shows_a_credential(kind: str, loaded: Catalog, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "modelgate")
    gate = Gate(catalog=loaded, options=Options(Profile.STRICT))
    known, obj = kinds()[kind], good(kinds()[kind])
    refused = 0
    for path in places(obj):
        for value in (*CREDENTIALS, list(CREDENTIALS), {"a": CREDENTIALS[0]}):
            body = review(known, put(obj, path, value))
            refused += not said(gate, "validate", body)["allowed"]
            said(gate, "mutate", body)
    assert refused
    assert SECRET not in caplog.text


def said(gate: Gate, call: Call, body: bytes) -> dict[str, Any]:
    """The response without its patch, which must have the value as the user wrote it."""
    response: dict[str, Any] = orjson.loads(asyncio.run(gate.reply(call, body, None)))["response"]
    response.pop("patch", None)
    assert SECRET not in json.dumps(response)
    return response


def test_the_text_of_a_malformed_review_shows_no_credential(loaded: Catalog):
    body = review(kinds()["Model"], good(kinds()["Model"])).replace(b'"CREATE"', orjson.dumps(CREDENTIALS[0]))
    with pytest.raises(Exception, match=r"must be one of .*, not \"https://\*\*\*@example\.com/m\.gguf\""):
        asyncio.run(Gate(catalog=loaded).reply("validate", body, None))
