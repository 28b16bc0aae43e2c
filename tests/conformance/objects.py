"""Tables of objects of built-in kinds (``objects-corpus/1``): the API server on a create, an update, a patch."""

from __future__ import annotations

from typing import Any

FORMAT = "objects-corpus/1"
FAMILY = "objects/"


def objects_cases(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases with their long texts; operations get the prefix of this family."""
    return [{**_unfolded(case), "op": FAMILY + case["op"]} for case in document["cases"]]


def _unfolded(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: _unfolded(item) for key, item in value.items()}
    return [_unfolded(item) for item in value] if isinstance(value, list) else value
