"""The OpenModel's definition says what the API document says, field by field, with upstream's real constraints."""

import html
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.definitions import POLICIES, definition
from tests.policies.statements import descriptions_of, fields_of, schema_of, statements_of
from tests.shared import shared

CRD = POLICIES / "llmaz" / "crds" / "openmodels.yaml"


def upstream() -> dict[str, Any]:
    return yaml.safe_load((shared("upstream-crds", "llmaz") / "llmaz.io_openmodels.yaml").read_text())


def types_of_the_document() -> dict[str, dict[str, str]]:
    """Type → field → type of the field."""
    (path,) = shared("seeds").glob("000_*.txt")
    types: dict[str, dict[str, str]] = {}
    for name, body in re.findall(r"^## `(\w+)`.*?\n(.*?)(?=^## `|\Z)", path.read_text(), re.DOTALL | re.MULTILINE):
        rows = re.findall(r"<tr><td><code>(\w+)</code>(.*?)</td>\s*<td>", body, re.DOTALL)
        types[name] = {field: html.unescape(re.sub(r"<B>.*?</B>|<[^>]+>", "", rest)).strip() for field, rest in rows}
    return types


def fields_of_the_document(types: dict[str, dict[str, str]], name: str, path: str = "") -> Iterator[tuple[str, str]]:
    for field, kind in types[name].items():
        yield f"{path}.{field}", kind
        inner = kind.removeprefix("[]")
        if types.get(inner):
            yield from fields_of_the_document(types, inner, f"{path}.{field}" + "[*]" * (inner != kind))


def test_every_field_of_the_document_is_there_with_its_type() -> None:
    types = types_of_the_document()
    ours = fields_of(schema_of(definition(CRD)))
    document = dict(fields_of_the_document(types, "OpenModel"))
    assert document.keys() - ours.keys() == set()
    assert len(document) == 23
    for path, kind in document.items():
        if kind.startswith("[]"):
            expected = "array"
        else:
            expected = "object" if types.get(kind) or kind.startswith("map[") or "ResourceList" in kind else "string"
        assert ours[path]["type"] == expected, path


def test_nothing_is_there_that_the_document_does_not_have() -> None:
    document = {path for path, _ in fields_of_the_document(types_of_the_document(), "OpenModel")}
    ours = {path for path in fields_of(schema_of(definition(CRD))) if not path.startswith(".status.conditions[*]")}
    assert ours - document == {".metadata"}


def test_the_constraints_are_upstream_s() -> None:
    assert dict(statements_of(schema_of(definition(CRD)))) == dict(statements_of(schema_of(upstream())))


def test_upstream_s_names_columns_and_subresources_are_ours() -> None:
    parts = [dict(definition(CRD)["spec"]), upstream()["spec"]]
    versions = [part.pop("versions")[0] for part in parts]
    mine, theirs = (
        [{**column, "description": ""} for column in version["additionalPrinterColumns"]] for version in versions
    )
    assert parts[0] == parts[1]
    assert mine == theirs
    assert versions[0]["subresources"] == versions[1]["subresources"]
    assert definition(CRD)["metadata"]["name"] == upstream()["metadata"]["name"]


def test_descriptions_are_ours() -> None:
    mine = set(descriptions_of(schema_of(definition(CRD))))
    assert not mine & set(descriptions_of(schema_of(upstream())))
    assert len(mine) > 25
