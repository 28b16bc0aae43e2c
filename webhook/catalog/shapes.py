"""``forms/<plural>.jsonl``: the definitions of a kind in all releases of its operator, the oldest first.

.. code-block:: json

    {"since": "0.4.0", "definition": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
    {"since": "0.4.8", "patch": [{"op": "add", "path": "/spec/versions/0/served", "value": true}]}

The first line is a whole definition. Each other line is a JSON Patch (RFC 6902) that makes the form since its release
from that of the line before it. A form counts until the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from webhook.admission import patch
from webhook.admission.errors import CatalogError, Problem
from webhook.policy.ranges import Version, version

FORMS: Final = "forms"
"""The folder of these files, in that of an API."""

Definition = Mapping[str, Any]

_OPERATIONS: Final = frozenset({"add", "replace", "remove"})
"""Without ``copy``, a form is not larger than the file."""


def forms(content: bytes, name: str) -> Iterator[tuple[str, Definition]]:
    """Each form with the release that it begins with. They share what they have in common.

    Raises:
        CatalogError: a line is not a form, with the place.
    """
    definition: Any = None
    before: Version = ((), ())
    for number, line in enumerate(content.splitlines(), 1):
        try:
            entry = orjson.loads(line)
            definition = entry["definition"] if definition is None else _patched(definition, entry["patch"])
            since = _later(entry["since"], before)
            definition = {**definition}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"not a form of a definition: {type(error).__name__}: {error}"[:300]
            raise CatalogError([Problem(f"{name}:{number}", "", message)]) from None
        before = since
        yield entry["since"], definition


def _later(release: str, before: Version) -> Version:
    place = version(release)
    if place <= before:
        raise ValueError(f"{release} must come after the release of the line before it")
    return place


def _patched(definition: Any, operations: Any) -> Any:
    if others := {str(operation["op"]) for operation in operations} - _OPERATIONS:
        raise ValueError(f"{min(others)[:60]} is not one of {', '.join(sorted(_OPERATIONS))}")
    return patch.apply(definition, operations)
