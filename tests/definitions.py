"""The definitions of the checkout: written by hand as YAML, or made by ``make crds`` as JSON."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.shared import ROOT
from webhook.catalog import built_in
from webhook.facts import KNOWN

POLICIES = ROOT / "policies"
GROUPS = {api: group for api, pack in built_in().items() for group in pack.groups}
"""API → the group of its kinds."""
FETCHED = frozenset(each.kind for known in KNOWN.values() for each in known.fetched)
"""The kinds of which facts read one object by name."""


def definition_files() -> list[Path]:
    return sorted(path for path in POLICIES.glob("*/crds/*.*") if path.suffix in {".yaml", ".json"})


@cache
def definition(path: Path) -> dict[str, Any]:
    """One definition; shared, so leave it as it is."""
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)


def definitions() -> Iterator[dict[str, Any]]:
    return map(definition, definition_files())
