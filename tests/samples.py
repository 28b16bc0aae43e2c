"""What is expected of a file of real manifests, document by document."""

from collections import Counter
from dataclasses import dataclass, field

from tests.shared import shared
from tools.coverage.samples import verdicts
from webhook.catalog import Catalog


@dataclass(frozen=True)
class Expected:
    """Of one file: how many documents, which are refused (line → field of each cause), how often each rule warns."""

    documents: int
    denied: dict[int, list[str]] = field(default_factory=dict)
    warned: dict[str, int] = field(default_factory=dict)


def check(path: str, expected: Expected, loaded: Catalog) -> None:
    found = {each.line: each.validation for each in verdicts(shared("samples", *path.split("/")), loaded)}
    assert len(found) == expected.documents
    denied = {line: sorted(cause.field for cause in it.causes) for line, it in found.items() if not it.allowed}
    assert denied == expected.denied
    assert Counter(warning.code for it in found.values() for warning in it.warnings) == expected.warned
