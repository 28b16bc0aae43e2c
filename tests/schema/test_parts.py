"""The exact walkers find the same errors whether or not they pass over clean parts."""

import random
from typing import Any

import pytest

from tests.engine.test_screen import mutant
from tests.policies.test_cases import files, read, target
from webhook.catalog import Catalog
from webhook.cli.cases import run
from webhook.schema import DecodeError, Structural, structural
from webhook.schema.node import NO_PARTS

CHANGES = 3
"""Changes of each case's object, one after the other."""


def test_clean_parts_have_no_errors_and_stay_as_they_are(loaded: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, refused, passed = random.Random(0), 0, 0
    for document in (document for file in files() for document in read(file)):
        known = target(document, loaded)
        for case in document.cases:
            old = obj = run(case, known, loaded).request.object or {}
            for _ in range(CHANGES):
                old, obj = obj, mutant(obj, dice)
                found = _all(known.schema, obj, old)
                refused += not known.schema.is_clean(obj)
                passed += bool(known.schema._parts.clean(obj))
                with monkeypatch.context() as patched:
                    patched.setattr(structural.Parts, "clean", lambda *_: NO_PARTS)
                    assert found == _all(known.schema, obj, old), (obj, old)
    assert refused > 1_000
    assert passed > 1_000


def _all(schema: Structural, obj: dict[str, Any], old: dict[str, Any]) -> Any:
    """What the walkers say of an object, as a creation and as an update."""
    try:
        decoded, unknown, _ = schema.decode(obj)
        before = schema.decode(old)[0]
    except DecodeError as error:
        return str(error)
    return decoded, unknown, schema.check(decoded), schema.check(decoded, before)
