"""Tables of a pack: data that its rules read, by data alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modelgate import CatalogError, Gate
from tests.cli.test_packs import PACK
from tests.crds import crd, spec_schema
from tests.files import written
from webhook import catalog
from webhook.catalog.tables import schema_of
from webhook.cli import main

SKUS = "large: {gpus: 4, model: A, memory: 80.5}\nsmall: {gpus: 1, model: B, memory: 16}\n"
COLOURS = '{"A": ["red"], "B": ["blue", "green"]}'
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-widget}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  variables:
  - {name: sku, expression: "object.spec.?sku.orValue('')"}
  - {name: row, expression: "facts.tables.skus[variables.sku]"}
  validations:
  - code: AC201
    at: spec.sku
    rule: self in facts.tables.skus
    message: is not a size that there is; use large or small
    docs: Nodes have these sizes.
  - code: AC202
    at: spec.gpus
    when: variables.sku in facts.tables.skus
    rule: self <= variables.row.gpus
    messageExpression: "'a node has ' + string(variables.row.gpus) + ' GPUs; use as many'"
    docs: A widget runs on one node.
  - code: AC203
    at: spec.colour
    when: variables.sku in facts.tables.skus && double(variables.row.memory) > 10.0
    rule: self in facts.tables.colours[variables.row.model]
    message: is not a colour of this size; use another one
    docs: Sizes have colours.
"""


def pack_at(folder: Path, policy: str = POLICY, **tables: str) -> Path:
    text = {"type": "string"}
    definition = crd("acme.example.com", "Widget", spec_schema(sku=text, gpus={"type": "integer"}, colour=text))
    files = {"crds/widgets.yaml": definition, "widget.yaml": policy, "pack.yaml": PACK % ""}
    given = tables or {"skus.yaml": SKUS, "colours.json": COLOURS}
    return written(folder / "acme", {**files, **{f"tables/{name}": content for name, content in given.items()}})


def widget(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "acme.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def test_rules_read_tables(tmp_path: Path) -> None:
    gate = Gate(policies=pack_at(tmp_path))
    assert gate.check(widget(sku="large", gpus=4, colour="red")).codes == set()
    verdict = gate.check(widget(sku="small", gpus=4, colour="red"))
    assert verdict.codes == {"AC202", "AC203"}
    assert "a node has 1 GPUs; use as many" in str(verdict)
    assert gate.check(widget(sku="huge", gpus=400)).codes == {"AC201"}
    assert gate.check(widget()).codes == set()


def test_a_table_is_part_of_what_a_pack_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack = pack_at(tmp_path)
    before = catalog.load(packs=[pack]).digest
    (pack / "tables" / "skus.yaml").write_text(SKUS.replace("4", "8"))
    assert catalog.load(packs=[pack]).digest != before
    assert Gate(policies=pack).check(widget(sku="large", gpus=8)).allowed
    assert main(["export", "policies", "widget", f"--policies={pack}"]) == 0
    assert "only Modelgate can evaluate them: AC201, AC202, AC203" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"skus.yaml": "a: ["}, "tables/skus.yaml:2: while parsing a flow node"),
        ({"skus.yaml": "{}\n---\n{}"}, "tables/skus.yaml: must have one document, not 2"),
        ({"skus.yaml": SKUS, "skus.json": "{}"}, "another file has this name"),
        ({"a-b.yaml": SKUS}, "tables/a-b.yaml: use letters, digits and _ for the name of the file"),
        ({"skus.yaml": SKUS + "x: " + "a" * (1 << 20)}, "the tables have 1,0"),
        ({"skus.yaml": SKUS}, "undefined field 'colours'"),
        ({"skus.yaml": "large: {gpu: 4}\nsmall: {gpu: 1}", "colours.json": COLOURS}, "undefined field 'gpus'"),
        ({"skus.yaml": "[1, 2]", "colours.json": COLOURS}, "tables/skus.yaml"),
    ],
)
def test_a_mistake_is_an_error_with_its_place(tmp_path: Path, tables: dict[str, str], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        Gate(policies=pack_at(tmp_path, **tables))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("table", "schema"),
    [
        ({"a": 1, "b": 2.5}, {"type": "object", "additionalProperties": {"type": "number"}}),
        (
            {"a": [], "b": [1]},
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        ),
        (
            {"a": {"x": 1, "y": "z"}, "b": {"x": 2}},
            {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
                },
            },
        ),
        (
            {"a": {"m": {"s": 1}}, "b": {"m": {"t": 2}}},
            {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}},
                },
            },
        ),
        ({}, {"type": "object", "additionalProperties": {"type": "string"}}),
    ],
)
def test_the_types_of_a_table_are_those_of_its_data(table: Any, schema: Any) -> None:
    assert schema_of([table]) == schema
